//! An array that is open: for reading, or for changes.

use std::sync::Arc;

use tdb_array::schema::{ArrayMetadata, ArraySchema, MetadataValue};
use tdb_array::write::MetadataChanges;
use tdb_array::{Array, ArrayWriter, TimeWindow};

use super::{READ, failure};
use crate::array_schema::{Origin, Schema};
use crate::config::Config;
use crate::context::Context;
use crate::ffi::{Failure, Outcome};
use crate::object::check_exists;
use crate::place::{self, Place};

/// An open array.
pub(crate) struct OpenArray {
    mode: Mode,
    schema: Schema,
    /// The schema as it was loaded, for queries and subarrays.
    shape: Arc<ArraySchema>,
    /// The last time of which it is opened.
    end: u64,
}

/// What an open array can do.
enum Mode {
    /// Read cells; metadata is read when it is asked for.
    Read(Array, Option<ArrayMetadata>),
    /// Write cells and metadata, which is written when the array is closed.
    Write(Arc<ArrayWriter>, MetadataChanges),
}

impl OpenArray {
    /// Opens the array of a place from a first time to a last one.
    pub(super) fn new(
        context: &Context,
        config: &Config,
        place: &Place,
        query_type: u32,
        (start, end): (u64, Option<u64>),
    ) -> Result<Self, Failure> {
        check_exists(place)?;
        if query_type != READ {
            let mut options = place::write_options(context, config)?;
            if let Some(end) = end.filter(|end| *end > 0) {
                options = options.timestamp(end);
            }
            let writer = Arc::new(options.open_storage(place.storage()?)?);
            let schema = Schema::of(Origin::Writer(writer.clone()));
            let shape = Arc::new(schema.schema.clone());
            let mode = Mode::Write(writer, MetadataChanges::new());
            return Ok(Self { mode, schema, shape, end: end.unwrap_or(u64::MAX) });
        }
        let mut options = place::open_options(context, config)?;
        if let Some(end) = end {
            options = options.window(TimeWindow::between(start, end));
        } else if start > 0 {
            options = options.since(start);
        }
        let array = options.open_storage(place.storage()?)?;
        let (schema, end) = (Schema::of(Origin::Array(array.clone())), array.window().end);
        let shape = Arc::new(schema.schema.clone());
        Ok(Self { mode: Mode::Read(array, None), schema, shape, end })
    }

    /// The last time of which it is opened.
    pub(crate) const fn end(&self) -> u64 {
        self.end
    }

    /// The schema as it was loaded.
    pub(super) const fn shape(&self) -> &Arc<ArraySchema> {
        &self.shape
    }

    /// The schema, with the enumerations that were loaded.
    pub(crate) const fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The schema, to load enumerations.
    pub(crate) const fn schema_mut(&mut self) -> &mut Schema {
        &mut self.schema
    }

    /// The array, if it is open for reading.
    ///
    /// # Errors
    /// It is open for something else; the text begins with `what`.
    pub(crate) fn reading(&self, what: &str) -> Result<&Array, Failure> {
        match &self.mode {
            Mode::Read(array, _) => Ok(array),
            Mode::Write(..) => Err(failure(format!("{what}; Array was not opened in read mode"))),
        }
    }

    /// The array, if it is open for changes.
    ///
    /// # Errors
    /// It is open for reading; the text begins with `what`.
    pub(crate) fn writing(&self, what: &str) -> Result<&Arc<ArrayWriter>, Failure> {
        match &self.mode {
            Mode::Write(writer, _) => Ok(writer),
            Mode::Read(..) => Err(failure(format!("{what}; Array was not opened in write mode"))),
        }
    }

    /// The metadata, as of the time of the array.
    pub(super) fn metadata(&mut self) -> Result<&ArrayMetadata, Failure> {
        let Mode::Read(array, metadata) = &mut self.mode else {
            return Err(failure("Cannot get metadata; Array was not opened in read mode"));
        };
        if metadata.is_none() {
            *metadata = Some(array.metadata()?);
        }
        metadata.as_ref().ok_or_else(|| failure("Cannot get metadata"))
    }

    /// Changes the value of a key, or removes it, when the array is closed.
    pub(super) fn change_metadata(&mut self, key: &str, value: Option<MetadataValue>) -> Outcome {
        let Mode::Write(_, changes) = &mut self.mode else {
            let what = if value.is_some() { "put" } else { "delete" };
            let why = "Array was not opened in write or modify_exclusive mode";
            return Err(failure(format!("Cannot {what} metadata; {why}")));
        };
        let pending = core::mem::take(changes);
        *changes = match value {
            Some(value) => pending.put(key, value),
            None => pending.remove(key),
        };
        Ok(())
    }

    /// Writes what was not written yet.
    pub(super) fn close(self) -> Outcome {
        if let Mode::Write(writer, changes) = self.mode {
            writer.write_metadata(&changes)?;
        }
        Ok(())
    }
}
