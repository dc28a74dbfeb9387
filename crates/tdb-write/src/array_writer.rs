//! An array that is open for writing.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use tdb_codec::Gate;
use tdb_schema::{ArraySchema, Codes};

use crate::context::Context;
use crate::directory::Directory;
use crate::names::{self, Names};
use crate::options::{WriteOptions, WriteTime};
use crate::paths::FRAGMENTS;
use crate::schemas::load_schema;
use crate::storage::{Below, LocalStorage, WriteStorage};
use crate::{Error, OrInternal, Result, WriteError, clock};

/// An array, opened for writing. Any number of writers may write to an array at once.
#[derive(Debug)]
pub struct ArrayWriter {
    pub(crate) context: Context,
    pub(crate) storage: Arc<dyn WriteStorage>,
    pub(crate) options: WriteOptions,
    pub(crate) schema: ArraySchema,
    pub(crate) schema_key: String,
    /// The codes that each enumerated attribute may have, with the index of the attribute, once its
    /// enumeration was read.
    pub(crate) codes: OnceLock<Vec<(usize, Codes)>>,
    /// Whether the array is not finished: no other process writes to it, and its folder is locked.
    pub(crate) is_new: bool,
    /// For a label: the array it belongs to, and its path in that array.
    pub(crate) outer: Option<(Arc<dyn WriteStorage>, String)>,
}

impl ArrayWriter {
    /// The storage to read the array from, and the settings it was opened with.
    #[doc(hidden)]
    #[must_use]
    pub const fn context(&self) -> &Context {
        &self.context
    }

    /// The storage to write to.
    #[doc(hidden)]
    #[must_use]
    pub const fn storage(&self) -> &Arc<dyn WriteStorage> {
        &self.storage
    }

    /// The options it was opened with.
    #[doc(hidden)]
    pub const fn options(&self) -> &WriteOptions {
        &self.options
    }

    /// The schema of new fragments.
    #[must_use]
    pub const fn schema(&self) -> &ArraySchema {
        &self.schema
    }

    /// Opens the array that holds the values of a dimension label.
    ///
    /// # Errors
    /// A label that the schema does not have or that is outside the array; as for
    /// [`WriteOptions::open`].
    pub fn label(&self, name: &str) -> Result<Self> {
        let label = self.schema.labels.iter().find(|label| label.name == name);
        let label = label.filter(|label| label.relative && !label.external);
        let label = label.ok_or_else(|| WriteError::MissingField(name.to_owned()))?;
        if !label.uri.split('/').all(tdb_fragment::is_plain_name) {
            return Err(Error::unsupported(
                self.describe(&self.schema_key),
                "a label stored outside the array",
            ));
        }
        let own = Below::new(self.storage.clone(), label.uri.as_str());
        let outer = Some((self.storage.clone(), label.uri.clone()));
        Ok(Self { is_new: self.is_new, outer, ..self.options.clone().open_storage(own)? })
    }

    /// The same array, written with another of its schemas.
    #[doc(hidden)]
    pub fn with_schema(&self, schema: ArraySchema, schema_key: String) -> Self {
        let outer = self.outer.clone();
        Self { outer, ..self.options.clone().writer(self.storage.clone(), schema, schema_key) }
    }

    /// The time of cells or deletes that are written now. If the schema comes from a clock that is
    /// a little ahead, their time is that of the schema at least: a reader that sees the cells must
    /// also see their attributes.
    pub(crate) fn when(&self) -> Result<WriteTime, WriteError> {
        // The schemas of early versions have no time.
        let schema = names::time_of(&self.schema_key).unwrap_or(0);
        self.options.given_or(|| clock::for_writing_from(schema))
    }

    /// The names for new fragments of the array, of the present time.
    pub(crate) fn fragment_names(&self) -> Result<Names> {
        let folder = if self.schema.version.has(Gate::FragmentFolders) { FRAGMENTS } else { "" };
        Names::behind(&*self.storage, folder, self.when()?)
    }

    pub(crate) fn describe(&self, key: &str) -> String {
        self.context.describe(key)
    }
}

impl WriteOptions {
    /// Opens the array in a local folder for writing.
    ///
    /// # Errors
    /// No array there, a damaged file, or something this build does not support.
    pub fn open(self, path: impl Into<PathBuf>) -> Result<ArrayWriter> {
        self.open_storage(LocalStorage::new(path))
    }

    /// Opens the array in a storage for writing.
    ///
    /// # Errors
    /// As for [`Self::open`].
    pub fn open_storage(self, storage: impl WriteStorage + 'static) -> Result<ArrayWriter> {
        let storage: Arc<dyn WriteStorage> = Arc::new(storage);
        let context = self.context(storage.clone());
        // Writers use the last schema, whatever its time.
        let schema_key =
            Directory::schemas(&*context.storage)?.pop().or_internal("an array without a schema")?;
        let schema = load_schema(&context, &schema_key)?;
        if !schema.version.has(Gate::FragmentFooter) {
            let what = format!("writing into an array of version {} is not supported", schema.version);
            return Err(Error::unsupported(context.describe(&schema_key), what));
        }
        Ok(self.writer(storage, schema, schema_key))
    }

    /// Opens an array for writing whose schema is known.
    pub(crate) fn writer(
        self,
        storage: Arc<dyn WriteStorage>,
        schema: ArraySchema,
        schema_key: String,
    ) -> ArrayWriter {
        let context = self.context(storage.clone());
        let (codes, is_new, outer) = (OnceLock::new(), false, None);
        ArrayWriter { context, storage, options: self, schema, schema_key, codes, is_new, outer }
    }
}
