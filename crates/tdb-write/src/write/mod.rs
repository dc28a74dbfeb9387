//! Writing: new arrays, and new fragments in them.
//!
//! A write creates one fragment. Its data files are appended to tile by tile, its metadata file is
//! written when the last tile is known, and an empty commit file makes it part of the array:
//!
//! ```text
//! __fragments/<name>/a0.tdb …                  appended while tiles are filtered, in parallel
//! __fragments/<name>/__fragment_metadata.tdb   statistics, offsets, footer
//! __commits/<name>.wrt                         last: from here on readers see it
//! ```
//!
//! Until then nothing that a reader looks at has changed, and what a failed write left behind is
//! harmless. A write that becomes several fragments, because it is a stream or because
//! [`WriteOptions::fragment_bytes`] limits their size, commits all of them with one file,
//! `__commits/<name>.con`; before version 12, which has no such file, with one marker after the
//! other. Before version 5 the metadata file itself is the marker, so it is written last.
//!
//! All writes end in a [`FragmentWriter`]. It asks a `TileSource` for one tile of one field at a
//! time: a slice of the caller's column if the cells are in order already, or a buffer of the
//! thread. So memory is bounded by a few tiles per thread and the buffered cells. While one thread
//! appends the finished tiles in order, the others continue filtering (`parallel::run_in_order`).
//! Buffers of tiles that are stored are used again (`tile::Spare`), because fresh memory for each
//! would cost as much as copying.
//!
//! - *Dense cells* ([`ArrayWriter::write`], `dense`): tiles are assembled from a box, and padded
//!   with zeros. [`Write::stream`] (`dense_stream`) takes the cells of a box in batches, and
//!   buffers them until a row of tiles is complete (in global order: a tile); rows of tiles that
//!   are complete in one batch are not copied. Fragments are boxes, so the write is cut between
//!   rows of tiles of the slowest dimension (`boxes`).
//! - *Sparse cells in any order* (`unordered`) are not moved to be sorted: the reader's sorter
//!   returns the order of their numbers, and a `TileSource` picks the cells of each tile.
//!   [`ArrayWriter::sparse_stream`] (`stream`) collects cells until they fill its memory, together
//!   with the memory for sorting them, then writes a fragment.
//! - *Sparse cells in global order* ([`ArrayWriter::sparse_fragment`], `sorted`) are checked: one
//!   part of the key after the other, typed, by all threads; each further part only for neighbours
//!   that were equal so far. Zeros of both signs are equal in that order, as in libtiledb, but are
//!   different coordinates.
//! - Each stream has `append_all`: while one batch is filtered and stored, an iterator makes the
//!   next one (`parallel::overlap`).
//!
//! Creating an array (`create`) first writes what the schema refers to (enumerations, the arrays of
//! labels) and the schema last. An import or a copy begins an array ([`WriteOptions::begin`],
//! `new`): its cells are committed while there is no schema yet. A file, `__unfinished.tdb`, is
//! created before everything else and removed when the schema exists. Where this file exists
//! without a schema, a new array may be created in the same place, and what is in the way is
//! removed first.
//!
//! All other changes are small files that appear whole (`put`): schemas (`evolve`), deletes
//! (`delete`), key-value metadata (`keys`), members of groups (`group`). After every write, an
//! existing manifest is renewed (`publish`).

mod boxes;
mod codes;
mod column;
mod coordinates;
mod create;
mod delete;
mod dense;
mod dense_stream;
mod evolve;
mod fragment;
mod group;
mod keys;
mod merged;
mod metadata;
mod names;
mod new;
mod ordered;
mod output;
mod part;
mod publish;
mod put;
mod query;
mod sorted;
mod statistics;
mod stream;
mod tile;
mod transaction;
mod unordered;

pub use column::CheckedColumn;
pub use create::generic_tile;
pub use dense::{BoxPlan, TileGrid, append_box};
pub use merged::{Marks, Merged};
pub use names::Nonces;
use names::When;
pub use put::{ensure_folder, put};
pub use sorted::{GlobalOrder, Neighbours};
pub use tile::TileCells;
pub use transaction::Transaction;

#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use tdb_codec::{Budget, Gate, Limits};
use tdb_filters::Key;
use tdb_schema::{ArraySchema, Codes, Enumeration};

use crate::context::Context;
use crate::directory::Directory;
use crate::schemas::load_schema;
use crate::stats::{Counted, Counters};
use crate::storage::{Below, Durability, LocalStorage, Storage, WriteStorage};
use crate::{Error, OrInternal, Result, WriteError, clock, parallel};

pub use column::{WriteBatch, WriteColumn};
pub use create::is_free;
pub use dense_stream::DenseStream;
pub use evolve::SchemaEvolution;
pub use fragment::FragmentWriter;
pub use group::GroupWriter;
pub use keys::MetadataChanges;
pub use names::enumeration_file_name;
pub use new::NewArray;
pub use publish::Publication;
pub use query::Write;
pub use statistics::{Fold, TileStatistics, of_tile};
pub use stream::SparseStream;

/// Options for creating and writing arrays.
///
/// ```
/// use tdb_array::{ArraySchema, ArrayType, CellValNum, Datatype, Layout, MemoryStorage, OpenOptions};
/// use tdb_array::{WriteColumn, WriteOptions};
/// use tdb_array::schema::{Attribute, Dimension, Domain};
///
/// let rows = Dimension::fixed("rows", Datatype::Int32, 1i32.to_le_bytes(), 8i32.to_le_bytes());
/// let schema = ArraySchema::new(ArrayType::Dense, Domain::new(vec![rows.with_extent(4i32.to_le_bytes())]))
///     .with_attribute(Attribute::new("a", Datatype::Float64, CellValNum::ONE));
///
/// let storage = MemoryStorage::default();
/// WriteOptions::new().create_storage(&storage, &schema)?;
/// let writer = WriteOptions::new().open_storage(storage.clone())?;
/// writer.write().range("rows", 5..=8).column(WriteColumn::fixed("a", &[0.5, 1.5, 2.5, 3.5])).commit()?;
///
/// let cells = OpenOptions::new().open_storage(storage)?.read().range("rows", 4..=6).collect()?;
/// assert!(cells.field("a")?.values::<f64>()?[0].is_nan());
/// assert_eq!(cells.field("a")?.values::<f64>()?[1..], [0.5, 1.5]);
/// # Ok::<(), tdb_array::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "options do nothing until an array is created or opened with them"]
pub struct WriteOptions {
    threads: usize,
    limits: Limits,
    key: Option<Key>,
    timestamp: Option<u64>,
    #[doc(hidden)]
    pub durability: Durability,
    fragment_bytes: Option<u64>,
    enumerations: Vec<Enumeration>,
    without_lock: bool,
    replace: bool,
    any_codes: bool,
}

impl WriteOptions {
    /// As many threads as the machine has, the current time, forced to the medium.
    pub fn new() -> Self {
        let threads = parallel::available();
        let (limits, durability) = (Limits::default(), Durability::default());
        let (fragment_bytes, enumerations) = (None, Vec::new());
        Self {
            threads,
            limits,
            key: None,
            timestamp: None,
            durability,
            fragment_bytes,
            enumerations,
            without_lock: false,
            replace: false,
            any_codes: false,
        }
    }

    /// Uses at most this many threads. They are started by each write and end with it; with 1, none
    /// is started.
    pub const fn threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Limits the memory of a tile.
    pub const fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Encrypts a new array, or opens an encrypted one, with this key.
    pub const fn key(mut self, key: Key) -> Self {
        self.key = Some(key);
        self
    }

    /// Writes at this time, in milliseconds since 1970, instead of now. 0 also means now.
    pub const fn timestamp(mut self, milliseconds: u64) -> Self {
        self.timestamp = Some(milliseconds);
        self
    }

    /// Chooses whether writes survive a loss of power. If they need not, small writes are much
    /// faster.
    pub const fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// Limits the bytes of tiles in a fragment; a write with more becomes several fragments. They
    /// all take effect at once (before version 12, which has no lists of commits, one after the
    /// other).
    pub const fn fragment_bytes(mut self, bytes: u64) -> Self {
        self.fragment_bytes = Some(bytes);
        self
    }

    /// Evolves and maintains arrays also where the storage has no locks. Then the caller makes sure
    /// that only one process does so at a time: a second one could undo what the first one did, or
    /// make cells count twice. Where there are locks, they are used all the same.
    pub const fn without_lock(mut self) -> Self {
        self.without_lock = true;
        self
    }

    /// Replaces an array: if there is one where a new one is created or begun, it is removed first,
    /// with all its fragments and metadata, and with its manifest ([`Self::publish`]). Other files
    /// in its folder stay. A process that stops in between leaves either the old array, or no array
    /// and files that the next creation removes. Groups are not replaced.
    ///
    /// ```
    /// use tdb_array::{Array, ArraySchema, MemoryStorage, OpenOptions, WriteOptions};
    /// use tdb_array::schema::Dimension;
    ///
    /// let schema = |name: &str| ArraySchema::sparse().dimension(Dimension::new(name, 0i32..=99)).build();
    /// let storage = MemoryStorage::default();
    /// WriteOptions::new().create_storage(&storage, &schema("x")?)?;
    /// assert!(WriteOptions::new().create_storage(&storage, &schema("y")?).is_err());
    /// WriteOptions::new().replace().create_storage(&storage, &schema("y")?)?;
    /// assert!(OpenOptions::new().open_storage(storage)?.schema().dimension("y").is_some());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub const fn replace(mut self) -> Self {
        self.replace = true;
        self
    }

    /// Writes codes past the end of an enumeration as they are, which read as null: for copies of
    /// cells that are stored like this. Otherwise such a write is refused, except under a null and
    /// where the code is the attribute's fill value.
    pub const fn any_codes(mut self) -> Self {
        self.any_codes = true;
        self
    }

    /// Gives the values of an enumeration that the schema of a new array refers to.
    pub fn enumeration(mut self, enumeration: Enumeration) -> Self {
        self.enumerations.push(enumeration);
        self
    }

    /// Creates an array in a local folder, which is created if it does not exist.
    ///
    /// # Errors
    /// An array or group there already, a schema that breaks a rule or has something that its
    /// version cannot store, or any I/O error of the storage.
    pub fn create(self, path: impl Into<PathBuf>, schema: &ArraySchema) -> Result<()> {
        self.create_storage(&LocalStorage::new(path), schema)
    }

    /// Creates an array in a storage.
    ///
    /// # Errors
    /// As for [`Self::create`].
    pub fn create_storage(self, storage: &dyn WriteStorage, schema: &ArraySchema) -> Result<()> {
        create::create(storage, schema, &self)
    }

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

    /// A writer of an array with this schema.
    fn writer(self, storage: Arc<dyn WriteStorage>, schema: ArraySchema, schema_key: String) -> ArrayWriter {
        let context = self.context(storage.clone());
        let (codes, is_new, outer) = (OnceLock::new(), false, None);
        ArrayWriter { context, storage, options: self, schema, schema_key, codes, is_new, outer }
    }

    /// The context for reading a storage with these options.
    #[doc(hidden)]
    pub fn context(&self, storage: Arc<dyn WriteStorage>) -> Context {
        let counters = Arc::<Counters>::default();
        // A truncated reply must not become a part of what is written.
        let storage: Arc<dyn Storage> = Arc::new(Counted::new(Box::new(storage), counters.clone()));
        Context {
            storage,
            ahead: None,
            deferred: None,
            spawner: None,
            counters,
            threads: self.threads.max(1),
            by_chunk: false,
            limits: self.limits,
            budget: Arc::new(Budget::new(self.limits.scratch_bytes)),
            key: self.key.clone(),
        }
    }

    /// The time given by the caller.
    fn given_time(&self) -> Option<u64> {
        self.timestamp.filter(|time| *time != 0)
    }

    /// The time of a write that begins now.
    fn when(&self) -> Result<When, WriteError> {
        self.given_or(clock::for_writing)
    }

    /// The time given by the caller, or else the one of a clock.
    fn given_or(&self, clock: impl FnOnce() -> Option<u64>) -> Result<When, WriteError> {
        let given = self.given_time();
        let time = given.or_else(clock).ok_or(WriteError::NoClock)?;
        Ok(When { time, given: given.is_some() })
    }
}

/// A unique part for the name of a new file.
pub fn fresh_uuid() -> Result<String> {
    Ok(names::uuid()?)
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self::new()
    }
}

/// What happens to cells with equal coordinates in one write, if the array does not allow them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Duplicates {
    /// The write fails.
    #[default]
    Refuse,
    /// The first of these cells is written.
    KeepFirst,
    /// The last of these cells is written.
    KeepLast,
}

/// An array, opened for writing. Any number of writers may write to an array at once.
#[derive(Debug)]
pub struct ArrayWriter {
    context: Context,
    storage: Arc<dyn WriteStorage>,
    options: WriteOptions,
    schema: ArraySchema,
    schema_key: String,
    /// The codes that enumerated attributes may have, by the number of the attribute, once they are
    /// known.
    codes: OnceLock<Vec<(usize, Codes)>>,
    /// Whether the array is not finished: nobody else writes to it, and its place is locked.
    is_new: bool,
    /// For a label: the array it belongs to, and its path in that array.
    outer: Option<(Arc<dyn WriteStorage>, String)>,
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

    /// Starts a write of cells that are all given at once.
    pub const fn write(&self) -> Write<'_> {
        Write::new(self)
    }

    /// Starts a sparse fragment whose cells come in pieces, in the array's global order.
    ///
    /// # Errors
    /// A dense array, a filter that cannot be used for its field, or any I/O error of the storage.
    pub fn sparse_fragment(&self) -> Result<FragmentWriter<'_>> {
        FragmentWriter::sparse(self)
    }

    /// Starts a write of sparse cells that come in batches and in any order, with this many bytes
    /// of memory to buffer them. Each time they fill it, a fragment is written.
    ///
    /// # Errors
    /// A dense array, or a filter that cannot be used for its field.
    pub fn sparse_stream(&self, memory: usize) -> Result<SparseStream<'_>> {
        SparseStream::new(self, memory)
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
    /// a little ahead, they do not come before it: a reader that sees the cells must also see their
    /// attributes.
    fn when(&self) -> Result<When, WriteError> {
        // The schemas of early versions have no time.
        let schema = names::time_of(&self.schema_key).unwrap_or(0);
        self.options.given_or(|| clock::for_writing_from(schema))
    }

    fn describe(&self, key: &str) -> String {
        self.context.describe(key)
    }
}
