//! Options for opening a table.

use std::sync::Arc;

use tdb_array::storage::WriteStorage;
use tdb_array::{Array, Key, OpenOptions, TimeWindow, WriteOptions};
use tdb_arrow::Options;

/// Options for opening a table: the time, the key, and the types of its columns.
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
    since: Option<u64>,
    key: Option<Key>,
    threads: usize,
    pub(crate) arrow: Options,
    pub(crate) location: Option<Arc<str>>,
}

impl Default for TableOptions {
    fn default() -> Self {
        Self { window: None, since: None, key: None, threads: 1, arrow: Options::new(), location: None }
    }
}

impl TableOptions {
    /// The state of the array when the table is opened, one thread per partition, the default types
    /// of `tdb-arrow`.
    pub fn new() -> Self {
        Self::default()
    }

    /// Shows only what was written in this time window. Such a table is read-only.
    pub const fn window(mut self, window: TimeWindow) -> Self {
        (self.window, self.since) = (Some(window), None);
        self
    }

    /// Shows only what was written from this time until the table is opened. Such a table is
    /// read-only.
    pub const fn since(mut self, start: u64) -> Self {
        (self.window, self.since) = (None, Some(start));
        self
    }

    /// Opens an encrypted array.
    pub fn key(mut self, key: Key) -> Self {
        self.key = Some(key);
        self
    }

    /// Uses at most this many threads in each partition of a query. DataFusion runs partitions at
    /// the same time, so one thread each is enough unless there are few partitions.
    pub const fn threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Chooses the Arrow types of the columns.
    pub const fn arrow(mut self, options: Options) -> Self {
        self.arrow = options;
        self
    }

    /// Says where other processes find the array
    /// ([`TdbTable::describe`](crate::TdbTable::describe)). Nothing is opened there.
    pub fn location(mut self, location: impl Into<String>) -> Self {
        self.location = Some(location.into().into());
        self
    }

    /// The key of an encrypted array.
    pub(crate) fn encryption_key(&self) -> Option<Key> {
        self.key.clone()
    }

    /// Whether the table shows a part of the history, which no write can change.
    pub(crate) const fn is_past(&self) -> bool {
        self.window.is_some() || self.since.is_some()
    }

    /// Opens the array in its present state, or in a past one.
    pub(crate) fn array(&self, storage: &Arc<dyn WriteStorage>) -> tdb_array::Result<Array> {
        self.open_options().open_storage(storage.clone())
    }

    /// Opens the array with all that was ever written, also for the future.
    pub(crate) fn whole_array(&self, storage: &Arc<dyn WriteStorage>) -> tdb_array::Result<Array> {
        self.open_options().window(TimeWindow::ALL).open_storage(storage.clone())
    }

    /// The options for opening arrays and groups.
    pub(crate) fn open_options(&self) -> OpenOptions {
        let mut options = OpenOptions::new().threads(self.threads);
        if let Some(window) = self.window {
            options = options.window(window);
        }
        if let Some(start) = self.since {
            options = options.since(start);
        }
        if let Some(key) = &self.key {
            options = options.key(key.clone());
        }
        options
    }

    /// The options for opening the array for writing.
    pub(crate) fn write_options(&self) -> WriteOptions {
        let options = WriteOptions::new();
        match &self.key {
            Some(key) => options.key(key.clone()),
            None => options,
        }
    }
}
