//! How a table is opened.

use std::sync::Arc;

use tdb_array::{Array, Key, LocalStorage, OpenOptions, TimeWindow, WriteOptions, WriteStorage};
use tdb_arrow::Options;

use crate::{Result, TdbTable};

/// How a table is opened: at which time, with which key, and what its columns become.
///
/// ```no_run
/// use tdb_array::TimeWindow;
/// use tdb_datafusion::TableOptions;
///
/// let table = TableOptions::new().window(TimeWindow::until(1_700_000_000_000)).open("path/to/array")?;
/// # Ok::<(), datafusion::error::DataFusionError>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "options do nothing until a table is opened with them"]
pub struct TableOptions {
    window: Option<TimeWindow>,
    key: Option<Key>,
    threads: usize,
    pub(crate) arrow: Options,
}

impl Default for TableOptions {
    fn default() -> Self {
        Self { window: None, key: None, threads: 1, arrow: Options::new() }
    }
}

impl TableOptions {
    /// The array as it is when the table is opened, one thread a partition, the types of `tdb-arrow`'s defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sees only what was written in this window. Such a table cannot be written to.
    pub const fn window(mut self, window: TimeWindow) -> Self {
        self.window = Some(window);
        self
    }

    /// Opens an encrypted array.
    pub fn key(mut self, key: Key) -> Self {
        self.key = Some(key);
        self
    }

    /// Uses at most this many threads in each partition of a query. DataFusion runs partitions beside each other, so one each is
    /// enough unless there are few of them.
    pub const fn threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Chooses which types of Arrow the columns have.
    pub const fn arrow(mut self, options: Options) -> Self {
        self.arrow = options;
        self
    }

    /// Opens the table over the array in a local folder.
    ///
    /// # Errors
    /// No array there, a damaged file, or something this build does not support.
    pub fn open(self, path: impl Into<String>) -> Result<TdbTable> {
        self.open_storage(LocalStorage::new(path.into()))
    }

    /// Opens the table over the array in a storage.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_storage(self, storage: impl WriteStorage + 'static) -> Result<TdbTable> {
        let storage: Arc<dyn WriteStorage> = Arc::new(storage);
        let array = self.array(&storage).map_err(crate::error::of_array)?;
        TdbTable::at(array, Some((storage, self.clone())), self.arrow)
    }

    /// Whether the table shows a part of history, which no write can change.
    pub(crate) const fn is_past(&self) -> bool {
        self.window.is_some()
    }

    /// Opens the array as it is now, or was.
    pub(crate) fn array(&self, storage: &Arc<dyn WriteStorage>) -> tdb_array::Result<Array> {
        let mut options = OpenOptions::new().threads(self.threads);
        if let Some(window) = self.window {
            options = options.window(window);
        }
        if let Some(key) = &self.key {
            options = options.key(key.clone());
        }
        options.open_storage(storage.clone())
    }

    /// How the array is opened for writing.
    pub(crate) fn write_options(&self) -> WriteOptions {
        let options = WriteOptions::new();
        match &self.key {
            Some(key) => options.key(key.clone()),
            None => options,
        }
    }
}
