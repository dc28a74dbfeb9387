//! An open array, and how it is opened.

use std::path::PathBuf;
use std::sync::Arc;

use tdb_codec::Limits;
use tdb_filters::Key;
use tdb_scan::labels::open_label;
use tdb_schema::{ArrayMetadata, ArraySchema, Enumeration, Range};
use tdb_snapshot::Fragment;
use tdb_snapshot::directory::ExactFiles;

use crate::awaited::run_async;
use crate::replay::{AsyncStorage, Spawn};
use crate::stats::QueryStats;
use crate::storage::{LocalStorage, Places, Storage};
use crate::{ConditionTarget, Group, Result, Snapshot, SnapshotOptions, TimeWindow};

/// A TileDB array, opened for reading at one point of its history.
///
/// Clones are cheap: they share what was read of the array. A query holds a clone, so it outlives
/// the value it was made from, and can be sent to other threads and tasks.
#[derive(Clone, Debug)]
pub struct Array(Snapshot);

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
    /// The folder contains no array, a file is damaged, or the array uses something that this build
    /// does not support.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self> {
        OpenOptions::new().open(path)
    }

    /// The array that is in this state, for the crates of the engine.
    #[doc(hidden)]
    #[must_use]
    pub const fn from_snapshot(snapshot: Snapshot) -> Self {
        Self(snapshot)
    }

    /// Opens the array in a local folder as it was in `window`.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_at(path: impl Into<PathBuf>, window: TimeWindow) -> Result<Self> {
        OpenOptions::new().window(window).open(path)
    }

    /// Runs a function that reads anything of the array except its cells (its metadata, an
    /// enumeration, the array of a label), for callers that await the result. `ask` may be called
    /// several times.
    ///
    /// ```
    /// use tdb_array::OpenOptions;
    /// use tdb_array::storage::{Immediate, LocalStorage};
    ///
    /// # async fn example(path: &str) -> tdb_array::Result<()> {
    /// let array = OpenOptions::new().open_async(Immediate::new(LocalStorage::new(path))).await?;
    /// let metadata = array.run_async(|array| array.metadata()).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The errors of `ask`, and an I/O error if the spawner drops the work.
    pub async fn run_async<T: Send + 'static>(
        &self,
        ask: impl Fn(&Self) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        run_async(&self.0, ask, |snapshot, ask| ask(&Self(snapshot.clone()))).await
    }

    /// Opens the array of a dimension label, in the same window; `None` if the schema has no label
    /// of that name.
    ///
    /// # Errors
    /// A label whose array is not inside the folder of this array, or any error of opening an
    /// array.
    pub fn label(&self, name: &str) -> Result<Option<Self>> {
        let label = self.schema().labels.iter().find(|label| label.name == name);
        label.map(|label| open_label(&self.0, label).map(Self)).transpose()
    }

    /// The array's key-value metadata, as of the window.
    ///
    /// # Errors
    /// A damaged metadata file.
    pub fn metadata(&self) -> Result<ArrayMetadata> {
        self.0.metadata()
    }

    /// An enumeration of the schema, by name; `None` if the schema has none of that name.
    ///
    /// # Errors
    /// A missing or damaged enumeration file.
    pub fn enumeration(&self, name: &str) -> Result<Option<Enumeration>> {
        self.0.enumeration(name)
    }

    /// The rectangles of a sparse fragment's tiles, in order, from its R-tree: one interval per
    /// dimension. None for a dense fragment, whose tiles are those of the domain.
    ///
    /// # Errors
    /// Damaged metadata.
    pub fn tile_bounds(&self, fragment: &Fragment) -> Result<Vec<Vec<Range>>> {
        self.0.tile_bounds(fragment)
    }

    /// The schema in force at the end of the window.
    #[must_use]
    pub fn schema(&self) -> &ArraySchema {
        self.0.schema()
    }

    /// Key of that schema's file.
    #[must_use]
    pub fn schema_key(&self) -> &str {
        self.0.schema_key()
    }

    /// Keys of all schema files, oldest first.
    #[must_use]
    pub fn schema_keys(&self) -> &[String] {
        self.0.schema_keys()
    }

    /// The window the array was opened in; by default, it ends at the time of opening.
    #[must_use]
    pub const fn window(&self) -> TimeWindow {
        self.0.window()
    }

    /// The visible fragments, oldest first: if they overlap, later ones win.
    #[must_use]
    pub fn fragments(&self) -> &[Arc<Fragment>] {
        self.0.fragments()
    }

    /// Keys of the fragments that visible ones replace, as long as a vacuum has not removed them,
    /// in the order of their names.
    ///
    /// # Errors
    /// The fragments of the array cannot be listed.
    pub fn replaced_fragments(&self) -> Result<Vec<String>> {
        self.0.replaced_fragments()
    }

    /// The same array with one of its fragments, without deletes, and with the schema that the
    /// fragment was written with.
    #[must_use]
    pub fn only(&self, fragment: &Fragment) -> Self {
        Self(self.0.only(fragment))
    }

    /// The non-empty domain according to the visible fragments, one interval per dimension; `None`
    /// if there are none. See [`Self::bounds`].
    #[must_use]
    pub fn non_empty_domain(&self) -> Option<Vec<Range>> {
        self.0.non_empty_domain()
    }

    /// The domain of the visible fragments' cells, one interval per dimension; `None` if there are
    /// none. It differs from the non-empty domain where [`Fragment::bounds`] does, and of a dense
    /// array it ends where the current domain does.
    #[must_use]
    pub fn bounds(&self) -> Option<Vec<Range>> {
        self.0.bounds()
    }

    /// Whether all cells of the visible fragments have coordinates inside the current domain in a
    /// dimension. Others were written before there was a current domain, or are read at a time at
    /// which it was smaller. No read returns them.
    #[must_use]
    pub fn is_inside_current_domain(&self, dimension: usize) -> bool {
        self.0.is_inside_current_domain(dimension)
    }

    /// Whether the folder has the empty lock file of version 10 and before. libtiledb 1.7 to 2.5 do
    /// not open such an array without it; other versions ignore it.
    #[must_use]
    pub fn has_lock_file(&self) -> bool {
        self.0.has_lock_file()
    }

    /// Whether delete conditions are in force, so that cells of the fragments may not count.
    #[must_use]
    pub fn has_deletes(&self) -> bool {
        !self.0.deletes().is_empty()
    }

    /// Keys of the update files in the window. They are read as libtiledb reads them: the cells
    /// that an update concerns are dropped, and its new values are not used.
    pub fn updates(&self) -> impl Iterator<Item = &str> {
        self.0.updates()
    }

    /// Counts of the bytes that were read and decoded since the array was opened, including the
    /// opening itself.
    #[must_use]
    pub fn stats(&self) -> QueryStats {
        self.0.stats()
    }

    /// The path of a key of this array's storage, for messages.
    #[must_use]
    pub fn describe(&self, key: &str) -> String {
        self.0.describe(key)
    }

    /// The state behind the array, which the crates of the engine work on.
    #[doc(hidden)]
    #[must_use]
    pub const fn snapshot(&self) -> &Snapshot {
        &self.0
    }
}

/// Options for opening an array.
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
    /// The default options: the array as it is at the moment of opening, as many threads as the
    /// machine has, default limits. As in libtiledb, data written with a later timestamp is not
    /// seen. What this process wrote is seen, unless it chose a later timestamp itself.
    pub fn new() -> Self {
        Self(SnapshotOptions::new())
    }

    /// Sees only what was written in this window, which may extend into the future:
    /// [`TimeWindow::ALL`] sees everything. Where there is no clock, as in a browser, this is the
    /// only way to choose the time.
    pub fn window(self, window: TimeWindow) -> Self {
        Self(self.0.window(window))
    }

    /// Sees only what was written from `start` until now; if `start` is in the future, everything
    /// written from then on.
    pub fn since(self, start: u64) -> Self {
        Self(self.0.since(start))
    }

    /// Uses at most this many threads. Each query starts them and ends them when it is done; with
    /// 1, no thread is started.
    pub fn threads(self, threads: usize) -> Self {
        Self(self.0.threads(threads))
    }

    /// Limits the size of any single allocation that a file requests.
    pub fn limits(self, limits: Limits) -> Self {
        Self(self.0.limits(limits))
    }

    /// Opens an encrypted array with its key. The commit files, names and footers of encrypted
    /// arrays are not encrypted; everything else is AES-256-GCM.
    pub fn key(self, key: Key) -> Self {
        Self(self.0.key(key))
    }

    /// Opens the array in a local folder.
    ///
    /// # Errors
    /// The folder contains no array, a file is damaged, or the array uses something that this build
    /// does not support.
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

    /// Opens the array in an asynchronous storage. Nothing blocks: what is read of the array later
    /// is awaited, too ([`Read::collect_async`](crate::Read::collect_async), [`Array::run_async`]).
    /// It starts no threads, unless [`Self::threads`] is set, and works under any executor that the
    /// storage works under. Dropping the future cancels the requests.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub async fn open_async(self, storage: impl AsyncStorage + 'static) -> Result<Array> {
        self.0.open_async(Arc::new(storage)).await.map(Array)
    }

    /// Has `spawner` run work that takes the processor for a while, for callers that await it.
    /// Without a spawner, this work runs while futures are polled.
    pub fn spawner(self, spawner: Arc<dyn Spawn>) -> Self {
        Self(self.0.spawner(spawner))
    }

    /// Opens the array in a storage as if it contained only these files.
    pub(crate) fn open_exactly(self, storage: impl Storage + 'static, files: &ExactFiles) -> Result<Array> {
        self.0.open_exactly(storage, files).map(Array)
    }

    /// [`Self::open_exactly`] in an asynchronous storage.
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
    /// The folder contains no group, or a file is damaged.
    pub fn open_group(self, path: impl Into<PathBuf>) -> Result<Group> {
        self.0.open_group(path)
    }

    /// Opens the group at a location that `places` resolves.
    ///
    /// # Errors
    /// As [`Self::open_group`].
    pub fn open_group_in(self, places: Arc<dyn Places>, location: impl Into<String>) -> Result<Group> {
        self.0.open_group_in(places, location)
    }

    /// The key-value metadata of the array or group in a local folder, without opening its
    /// fragments or members.
    ///
    /// # Errors
    /// The folder contains neither an array nor a group, or a metadata file is damaged.
    pub fn metadata(self, path: impl Into<PathBuf>) -> Result<ArrayMetadata> {
        self.0.metadata(path)
    }

    /// The key-value metadata of the array or group in a storage, without opening its fragments or
    /// members.
    ///
    /// # Errors
    /// As [`Self::metadata`].
    pub fn metadata_storage(self, storage: impl Storage + 'static) -> Result<ArrayMetadata> {
        self.0.metadata_storage(storage)
    }
}
