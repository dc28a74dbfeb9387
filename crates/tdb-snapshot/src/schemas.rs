//! Schemas and enumerations of an array, read from their files.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tdb_fragment::is_plain_name;
use tdb_schema::{ArraySchema, Enumeration, EnumerationName};

use crate::context::Context;
use crate::paths::{ENUMERATIONS, OLD_SCHEMA, SCHEMA_FOLDER};
use crate::storage::join;
use crate::{Error, Result};

/// Schemas by key. Fragments name their schema's file; each different one is loaded once.
#[derive(Debug)]
pub struct Schemas<'a> {
    context: &'a Context,
    known: Mutex<HashMap<String, Arc<ArraySchema>>>,
}

impl<'a> Schemas<'a> {
    /// A cache without schemas.
    pub fn new(context: &'a Context) -> Self {
        Self { context, known: Mutex::default() }
    }

    /// The schema that a footer names; in versions without schema names, the old schema file.
    pub fn named(&self, name: Option<&str>) -> Result<Arc<ArraySchema>> {
        if let Some(name) = name.filter(|name| !is_plain_name(name)) {
            let detail = format!("\"{}\" is not a file name", name.escape_debug());
            return Err(Error::inconsistent(self.context.describe(""), "schema name", 0, detail));
        }
        match name {
            Some(name) if name != OLD_SCHEMA => self.at(&join(SCHEMA_FOLDER, name)),
            _ => self.at(OLD_SCHEMA),
        }
    }

    /// The schema in a file.
    pub fn at(&self, key: &str) -> Result<Arc<ArraySchema>> {
        let cache = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(schema) = cache().get(key) {
            return Ok(schema.clone());
        }
        let schema = Arc::new(load_schema(self.context, key)?);
        cache().insert(key.to_owned(), schema.clone());
        Ok(schema)
    }
}

/// Reads the schema in file `key`.
pub fn load_schema(context: &Context, key: &str) -> Result<ArraySchema> {
    let payload = context.generic_file(key)?;
    ArraySchema::parse(&payload).map_err(|error| Error::corrupt(context.describe(key), error))
}

/// Reads an enumeration that is named in the schema file `schema_key`.
pub fn load_enumeration(context: &Context, schema_key: &str, entry: &EnumerationName) -> Result<Enumeration> {
    if !is_plain_name(&entry.file_name) {
        let detail = format!("\"{}\" is not a file name", entry.file_name.escape_debug());
        let path = context.describe(schema_key);
        return Err(Error::inconsistent(path, "enumeration file name", 0, detail));
    }
    let key = join(&join(SCHEMA_FOLDER, ENUMERATIONS), &entry.file_name);
    let payload = context.generic_file(&key)?;
    Enumeration::parse(&payload).map_err(|error| Error::corrupt(context.describe(&key), error))
}
