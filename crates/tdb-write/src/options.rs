//! Options of writers, and the context in which they read the array that they write to.

use std::sync::Arc;

use tdb_codec::{Budget, Limits};
use tdb_filters::{Key, Pipeline};
use tdb_schema::Enumeration;

use crate::context::Context;
use crate::stats::{Counted, Counters};
use crate::storage::{Durability, Storage, WriteStorage};
use crate::{WriteError, clock, parallel};

/// The time of something that is written, and whether the caller gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WriteTime {
    pub(crate) time: u64,
    pub(crate) given: bool,
}

/// Options for creating and writing arrays.
///
/// ```
/// use tdb_array::schema::{ArraySchema, ArrayType, Attribute, CellValNum, Datatype, Dimension, Domain};
/// use tdb_array::storage::MemoryStorage;
/// use tdb_array::{Layout, OpenOptions, WriteColumn, WriteOptions};
///
/// let rows = Dimension::fixed("rows", Datatype::Int32, 1i32.to_le_bytes(), 8i32.to_le_bytes());
/// let schema = ArraySchema::new(ArrayType::Dense, Domain::new(vec![rows.with_tile_bytes(4i32.to_le_bytes())]))
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
    pub(crate) threads: usize,
    pub(crate) limits: Limits,
    pub(crate) key: Option<Key>,
    pub(crate) timestamp: Option<u64>,
    #[doc(hidden)]
    pub durability: Durability,
    pub(crate) fragment_bytes: Option<u64>,
    pub(crate) enumerations: Vec<Enumeration>,
    /// Names of labels with the filters of their values.
    pub(crate) label_filters: Vec<(String, Pipeline)>,
    /// Names of labels with the tile extents of their arrays.
    pub(crate) label_tiles: Vec<(String, Vec<u8>)>,
    pub(crate) without_lock: bool,
    pub(crate) replace: bool,
    pub(crate) any_codes: bool,
    pub(crate) any_filters: bool,
    pub(crate) older_schema: bool,
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
            label_filters: Vec::new(),
            label_tiles: Vec::new(),
            any_filters: false,
            older_schema: false,
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
    /// use tdb_array::schema::{ArraySchema, Dimension};
    /// use tdb_array::storage::MemoryStorage;
    /// use tdb_array::{Array, OpenOptions, WriteOptions};
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

    /// Whether an array that is there is replaced ([`Self::replace`]).
    #[must_use]
    pub const fn replaces(&self) -> bool {
        self.replace
    }

    /// Writes codes past the end of an enumeration as they are, which read as null: for copies of
    /// cells that are stored like this. Otherwise such a write is refused, except under a null and
    /// where the code is the attribute's fill value.
    pub const fn any_codes(mut self) -> Self {
        self.any_codes = true;
        self
    }

    /// Does not check whether the filters of a schema fit its fields, nor the ranges of their
    /// levels, as libtiledb does not. A write of cells fails where a filter cannot do its work; but
    /// integers that are scaled as if they were floats are other integers afterwards, as for
    /// libtiledb.
    pub const fn any_filters(mut self) -> Self {
        self.any_filters = true;
        self
    }

    /// Lets a change of a schema have a time before that of the newest schema, as libtiledb does.
    /// Reads at times between the two see the change, and reads at later times do not.
    pub const fn older_schema(mut self) -> Self {
        self.older_schema = true;
        self
    }

    /// Gives the values of an enumeration that the schema of a new array refers to.
    pub fn enumeration(mut self, enumeration: Enumeration) -> Self {
        self.enumerations.push(enumeration);
        self
    }

    /// Sets the filters of the values of a dimension label of a new array. Otherwise it has none.
    ///
    /// ```
    /// use tdb_array::schema::{ArraySchema, Attribute, CellValNum, Datatype, Dimension, DimensionLabel, Filter, Pipeline};
    /// use tdb_array::storage::MemoryStorage;
    /// use tdb_array::WriteOptions;
    ///
    /// let schema = ArraySchema::dense()
    ///     .dimension(Dimension::new("x", 0i32..=99))
    ///     .attribute(Attribute::new("a", Datatype::Int8, CellValNum::ONE))
    ///     .label(DimensionLabel::new(0, "metres", "__labels/l0", Datatype::Float64, CellValNum::ONE))
    ///     .build()?;
    /// let storage = MemoryStorage::default();
    /// let filters = Pipeline::new(vec![Filter::Zstd { level: 5 }]);
    /// let options = WriteOptions::new().label_filters("metres", filters.clone());
    /// options.label_tile_bytes("metres", 10i32.to_le_bytes()).create_storage(&storage, &schema)?;
    /// let label = WriteOptions::new().open_storage(storage)?.label("metres")?;
    /// assert_eq!(label.schema().attributes[0].filters, filters);
    /// assert_eq!(label.schema().domain.dimensions[0].extent_cells(), Some(10));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn label_filters(mut self, label: impl Into<String>, filters: Pipeline) -> Self {
        self.label_filters.push((label.into(), filters));
        self
    }

    /// Sets the tile extent in the array of a dimension label of a new array: the little-endian
    /// bytes of a number of the dimension's type. Otherwise it is that of the dimension.
    pub fn label_tile_bytes(mut self, label: impl Into<String>, extent: impl Into<Vec<u8>>) -> Self {
        self.label_tiles.push((label.into(), extent.into()));
        self
    }

    /// The context for reading a storage with these options.
    #[doc(hidden)]
    pub fn context(&self, storage: Arc<dyn WriteStorage>) -> Context {
        let counters = Arc::<Counters>::default();
        // A truncated reply must not become a part of what is written.
        let storage: Arc<dyn Storage> = Arc::new(Counted::new(Box::new(storage), counters.clone()));
        Context {
            storage,
            prefetched: None,
            replay_storage: None,
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
    pub(crate) fn given_time(&self) -> Option<u64> {
        self.timestamp.filter(|time| *time != 0)
    }

    /// The time of a write that begins now.
    pub(crate) fn when(&self) -> Result<WriteTime, WriteError> {
        self.given_or(clock::for_writing)
    }

    /// The time given by the caller, or else the one of a clock.
    pub(crate) fn given_or(&self, clock: impl FnOnce() -> Option<u64>) -> Result<WriteTime, WriteError> {
        let given = self.given_time();
        let time = given.or_else(clock).ok_or(WriteError::NoClock)?;
        Ok(WriteTime { time, given: given.is_some() })
    }
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self::new()
    }
}

/// The treatment of cells with equal coordinates in one write, if the array does not allow them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Duplicates {
    /// The write fails.
    #[default]
    Refuse,
    /// The first of these cells is written.
    KeepFirst,
    /// The last of these cells is written.
    KeepLast,
    /// Nobody looks for such cells, so all are written: for callers who know that there are none.
    /// Where there are, readers see one of them or all.
    Unchecked,
}
