//! An open array, and how it is opened.

use core::ops::Deref;
use std::path::PathBuf;
use std::sync::Arc;

use tdb_codec::Limits;
use tdb_filters::Key;
use tdb_schema::{ArrayMetadata, ArraySchema, Enumeration};
use tdb_snapshot::directory::ExactFiles;

use crate::awaited::run_async;
use crate::deferred::{AsyncStorage, Spawn};
use crate::engine::open_label;
use crate::storage::{LocalStorage, Places, Storage};
use crate::{ConditionTarget, Group, Result, Snapshot, SnapshotOptions, TimeWindow};

/// A TileDB array, opened for reading at one point of its history.
///
/// Clones are cheap: they share what was read of the array. Queries hold one, so they outlive the value they were made from, and
/// can be sent to other threads and tasks. What an array is beside its cells are methods of its [`Snapshot`], which every array is.
#[derive(Clone, Debug)]
pub struct Array(Snapshot);

impl Deref for Array {
    type Target = Snapshot;

    fn deref(&self) -> &Snapshot {
        &self.0
    }
}

impl From<Snapshot> for Array {
    fn from(snapshot: Snapshot) -> Self {
        Self(snapshot)
    }
}

impl ConditionTarget for Array {
    fn schema(&self) -> &ArraySchema {
        self.0.schema()
    }

    fn enumeration(&self, name: &str) -> Result<Option<Enumeration>> {
        self.0.enumeration(name)
    }
}

impl Array {
    /// Opens the array in a local folder as it is now; see [`OpenOptions::new`].
    ///
    /// # Errors
    /// No array there, a damaged file, or something this build does not support.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self> {
        OpenOptions::new().open(path)
    }

    /// Opens the array in a local folder as it was in `window`.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_at(path: impl Into<PathBuf>, window: TimeWindow) -> Result<Self> {
        OpenOptions::new().window(window).open(path)
    }

    /// Runs something that reads of the array what is not its cells, for callers that await it: its metadata, an enumeration, the
    /// array of a label. `ask` may be called several times.
    ///
    /// ```
    /// use tdb_array::{AtOnce, LocalStorage, OpenOptions};
    ///
    /// # async fn example(path: &str) -> tdb_array::Result<()> {
    /// let array = OpenOptions::new().open_async(AtOnce::new(LocalStorage::new(path))).await?;
    /// let metadata = array.run_async(|array| array.metadata()).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// What `ask` returns, and a spawner that drops the work.
    pub async fn run_async<T: Send + 'static>(
        &self,
        ask: impl Fn(&Self) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        run_async(self, ask, |snapshot, ask| ask(&Self(snapshot.clone()))).await
    }

    /// Opens the array of a dimension label, in the same window; `None` if the schema has no label of that name.
    ///
    /// # Errors
    /// A label whose array lies elsewhere, or as for opening any array.
    pub fn label(&self, name: &str) -> Result<Option<Self>> {
        let label = self.schema().labels.iter().find(|label| label.name == name);
        label.map(|label| open_label(self, label).map(Self)).transpose()
    }
}

/// How to open an array.
///
/// ```no_run
/// use tdb_array::{OpenOptions, TimeWindow};
///
/// let array = OpenOptions::new().window(TimeWindow::until(1_700_000_000_000)).threads(4).open("path/to/array")?;
/// # Ok::<(), tdb_array::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
#[must_use = "options do nothing until an array is opened with them"]
pub struct OpenOptions(SnapshotOptions);

impl OpenOptions {
    /// As it is at the moment of opening, as many threads as the machine has, default limits. What is written under a later
    /// time is not seen, as in libtiledb. What this process wrote is seen, unless it gave a later time itself.
    pub fn new() -> Self {
        Self(SnapshotOptions::new())
    }

    /// Sees only what was written in this window, which may reach into the future: [`TimeWindow::ALL`] sees everything. Where
    /// there is no clock, as in a browser, there is no other way to say when.
    pub fn window(self, window: TimeWindow) -> Self {
        Self(self.0.window(window))
    }

    /// Sees only what was written from a time on, until now; from a time in the future on, all that is there.
    pub fn since(self, start: u64) -> Self {
        Self(self.0.since(start))
    }

    /// Uses at most this many threads. They are started by each query and end with it; with 1, none is.
    pub fn threads(self, threads: usize) -> Self {
        Self(self.0.threads(threads))
    }

    /// Bounds single allocations that a file asks for.
    pub fn limits(self, limits: Limits) -> Self {
        Self(self.0.limits(limits))
    }

    /// Opens an encrypted array with its key. Commit files, names and footers of encrypted arrays are plain;
    /// everything else is AES-256-GCM.
    pub fn key(self, key: Key) -> Self {
        Self(self.0.key(key))
    }

    /// Opens the array in a local folder.
    ///
    /// # Errors
    /// No array there, a damaged file, or something this build does not support.
    pub fn open(self, path: impl Into<PathBuf>) -> Result<Array> {
        self.open_storage(LocalStorage::new(path))
    }

    /// Opens the array in a storage.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_storage(self, storage: impl Storage + 'static) -> Result<Array> {
        self.0.open_storage(storage).map(Array)
    }

    /// Opens the array in a storage whose answers are awaited. Nothing blocks: what is read of the array later is awaited, too
    /// ([`Read::collect_async`](crate::Read::collect_async), [`Array::run_async`]). It starts no threads, unless [`Self::threads`] says so, and works under
    /// any executor that the storage works under. Dropping the future gives up what was asked for.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub async fn open_async(self, storage: impl AsyncStorage + 'static) -> Result<Array> {
        self.0.open_async(Arc::new(storage)).await.map(Array)
    }

    /// Has what takes the processor for a while run by `spawner`, for callers that await it. Without one it runs while futures are
    /// polled.
    pub fn spawner(self, spawner: Arc<dyn Spawn>) -> Self {
        Self(self.0.spawner(spawner))
    }

    /// Opens the array in a storage as if it had only these files.
    pub(crate) fn open_exactly(self, storage: impl Storage + 'static, files: &ExactFiles) -> Result<Array> {
        self.0.open_exactly(storage, files).map(Array)
    }

    /// [`Self::open_exactly`] in a storage whose answers are awaited.
    pub(crate) async fn open_exactly_async(
        self,
        storage: impl AsyncStorage + 'static,
        files: ExactFiles,
    ) -> Result<Array> {
        self.0.open_exactly_async(Arc::new(storage), files).await.map(Array)
    }

    /// Opens the group in a local folder.
    ///
    /// # Errors
    /// No group there, or a damaged file.
    pub fn open_group(self, path: impl Into<PathBuf>) -> Result<Group> {
        self.0.open_group(path)
    }

    /// Opens the group at a location of some places.
    ///
    /// # Errors
    /// As [`Self::open_group`].
    pub fn open_group_in(self, places: Arc<dyn Places>, location: impl Into<String>) -> Result<Group> {
        self.0.open_group_in(places, location)
    }

    /// The key-value metadata of the array or group in a local folder, without opening its fragments or members.
    ///
    /// # Errors
    /// Neither an array nor a group there, or a damaged metadata file.
    pub fn metadata(self, path: impl Into<PathBuf>) -> Result<ArrayMetadata> {
        self.0.metadata(path)
    }

    /// The key-value metadata of the array or group in a storage, without opening its fragments or members.
    ///
    /// # Errors
    /// As [`Self::metadata`].
    pub fn metadata_storage(self, storage: impl Storage + 'static) -> Result<ArrayMetadata> {
        self.0.metadata_storage(storage)
    }
}
