//! Options of a consolidation and of a vacuum, and the object that they maintain.

use std::sync::Arc;

use crate::context::Context;
use crate::storage::WriteStorage;
use crate::thresholds::DEFAULT_MEMORY;
use crate::write::{GroupWriter, WriteOptions};
use crate::{ArrayWriter, Error, Result};

/// The kind of files that is maintained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stored {
    /// Cells: fragments are combined into larger ones.
    Fragments,
    /// Footers of fragments, collected in one file.
    FragmentMetadata,
    /// Commit files, collected in one file.
    Commits,
    /// Key-value metadata.
    Metadata,
}

/// An array or a group whose files are maintained.
#[derive(Clone, Copy, Debug)]
pub enum MaintainedObject<'a> {
    /// An array.
    Array(&'a ArrayWriter),
    /// A group, which has key-value metadata only.
    Group(&'a GroupWriter),
}

impl<'a> From<&'a ArrayWriter> for MaintainedObject<'a> {
    fn from(array: &'a ArrayWriter) -> Self {
        Self::Array(array)
    }
}

impl<'a> From<&'a GroupWriter> for MaintainedObject<'a> {
    fn from(group: &'a GroupWriter) -> Self {
        Self::Group(group)
    }
}

impl<'a> MaintainedObject<'a> {
    pub(crate) fn context(self) -> &'a Context {
        match self {
            Self::Array(array) => array.context(),
            Self::Group(group) => group.context(),
        }
    }

    pub(crate) fn storage(self) -> &'a Arc<dyn WriteStorage> {
        match self {
            Self::Array(array) => array.storage(),
            Self::Group(group) => group.storage(),
        }
    }

    pub(crate) fn options(self) -> &'a WriteOptions {
        match self {
            Self::Array(array) => array.options(),
            Self::Group(group) => group.options(),
        }
    }

    /// Renews the manifest, if there is one, without files and folders that are about to be
    /// removed.
    pub(crate) fn renew_manifest(self, without: &[&str]) -> Result<()> {
        match self {
            Self::Array(array) => array.renew_manifest(without),
            Self::Group(group) => group.renew_manifest(without),
        }
    }

    pub(crate) fn array(self, what: &'static str) -> Result<&'a ArrayWriter> {
        match self {
            Self::Array(array) => Ok(array),
            Self::Group(_) => Err(Error::refused(what, "a group has key-value metadata only")),
        }
    }
}

/// Options for combining many files into few.
///
/// ```
/// use core::ops::ControlFlow;
/// use tdb_array::maintain::{Consolidation, Stored};
/// use tdb_array::schema::{ArraySchema, Attribute, CellValNum, Datatype, Dimension};
/// use tdb_array::storage::MemoryStorage;
/// use tdb_array::{Layout, OpenOptions, WriteColumn, WriteOptions};
///
/// let schema = ArraySchema::sparse()
///     .dimension(Dimension::new("x", 0i32..=99))
///     .attribute(Attribute::new("a", Datatype::Int32, CellValNum::ONE))
///     .build()?;
/// let storage = MemoryStorage::default();
/// WriteOptions::new().timestamp(1).create_storage(&storage, &schema)?;
/// for time in 1..=3 {
///     let writer = WriteOptions::new().timestamp(time).open_storage(storage.clone())?;
///     let (x, a) = ([time as i32, 50], [time as i32, time as i32]);
///     let write = writer.write().order(Layout::GlobalOrder);
///     write.column(WriteColumn::fixed("x", &x)).column(WriteColumn::fixed("a", &a)).commit()?;
/// }
///
/// let writer = WriteOptions::new().open_storage(storage.clone())?;
/// let plan = Consolidation::new(Stored::Fragments).plan(&writer)?;
/// assert_eq!(plan.steps()[0].inputs.len(), 3);
/// plan.run(&writer, &mut |_| ControlFlow::Continue(()))?;
///
/// let array = OpenOptions::new().open_storage(storage)?;
/// assert_eq!((array.fragments().len(), array.read().collect()?.len()), (1, 4));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "a consolidation does nothing until its plan runs"]
pub struct Consolidation {
    pub(crate) what: Stored,
    pub(crate) chosen: Option<Vec<String>>,
    pub(crate) fewest: usize,
    pub(crate) max: usize,
    pub(crate) ratio: f64,
    pub(crate) input_bytes: u64,
    pub(crate) steps: usize,
    pub(crate) times: (u64, u64),
    pub(crate) settings: Settings,
}

/// The settings needed to run a step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) purge: bool,
    pub(crate) amplification: f64,
    pub(crate) memory: u64,
    pub(crate) fragment_bytes: u64,
    pub(crate) verify: bool,
}

impl Consolidation {
    /// The defaults: one step with as many fragments as possible, half a GiB of memory, and
    /// verification.
    pub const fn new(what: Stored) -> Self {
        let settings = Settings {
            purge: false,
            amplification: 1.0,
            memory: DEFAULT_MEMORY,
            fragment_bytes: u64::MAX,
            verify: true,
        };
        Self {
            what,
            chosen: None,
            fewest: 2,
            max: usize::MAX,
            ratio: 0.0,
            input_bytes: u64::MAX,
            steps: 1,
            times: (0, u64::MAX),
            settings,
        }
    }

    /// Consolidates these fragments, by name, instead of choosing them by sizes and counts.
    pub fn fragments<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.chosen = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// Sets the minimum and maximum number of fragments that become one.
    pub const fn counts(mut self, fewest: usize, max: usize) -> Self {
        self.fewest = if fewest < 2 { 2 } else { fewest };
        self.max = max;
        self
    }

    /// Consolidates neighbouring fragments only if the size of the smaller one is at least this
    /// fraction of the larger one's.
    pub const fn size_ratio(mut self, ratio: f64) -> Self {
        self.ratio = ratio;
        self
    }

    /// Limits the total bytes of the fragments that become one.
    pub const fn input_bytes(mut self, bytes: u64) -> Self {
        self.input_bytes = bytes;
        self
    }

    /// Chooses only fragments whose first and last times are between these, inclusive, in
    /// milliseconds.
    pub const fn between(mut self, first: u64, last: u64) -> Self {
        self.times = (first, last);
        self
    }

    /// Creates at most this many new fragments, each from different ones.
    pub const fn steps(mut self, steps: usize) -> Self {
        self.steps = steps;
        self
    }

    /// Omits deleted cells, and everything they replaced, instead of recording the time of their
    /// deletion: they are then gone at all times.
    pub const fn purge(mut self, purge: bool) -> Self {
        self.settings.purge = purge;
        self
    }

    /// Does not consolidate dense fragments if their common box has more than this many times their
    /// cells.
    pub const fn amplification(mut self, max: f64) -> Self {
        self.settings.amplification = max;
        self
    }

    /// Uses about this much memory, in addition to the tiles that threads are working on.
    pub const fn memory(mut self, bytes: u64) -> Self {
        self.settings.memory = bytes;
        self
    }

    /// Begins a new fragment where one would get more bytes of data than this.
    pub const fn fragment_bytes(mut self, bytes: u64) -> Self {
        self.settings.fragment_bytes = bytes;
        self
    }

    /// Sets whether the result is read back, down to the last chunk, before it takes effect.
    pub const fn verify(mut self, verify: bool) -> Self {
        self.settings.verify = verify;
        self
    }
}

/// Options for removing replaced files.
///
/// By default nothing is removed that a read at any time still sees. Data that only reads at some
/// times see, such as the fragments that a consolidated dense one replaces, is removed with
/// [`Self::drop_history`]; a vacuum of libtiledb always removes it.
///
/// Writers and other maintenance of this library may work on the array at the same time, except
/// with [`Self::orphans`], which takes a write that is not finished after a day for a leftover.
/// Readers that opened the array before may not find the removed files.
#[derive(Clone, Debug)]
#[must_use = "a vacuum does nothing until its plan runs"]
pub struct Vacuum {
    pub(crate) what: Option<Stored>,
    pub(crate) drop_history: bool,
    pub(crate) verify: bool,
    pub(crate) before: Option<u64>,
}

impl Vacuum {
    /// Removes files of a kind that consolidated ones replace.
    pub const fn new(what: Stored) -> Self {
        Self { what: Some(what), drop_history: false, verify: true, before: None }
    }

    /// Removes what crashes left behind: fragments that are not committed, and temporary files.
    pub const fn orphans() -> Self {
        Self { what: None, drop_history: false, verify: true, before: None }
    }

    /// Also removes data that only reads at earlier times see, so that they no longer see it. Data
    /// that reads see now stays: if it is replaced by something with a time in the future, it is
    /// still needed.
    pub const fn drop_history(mut self, drop: bool) -> Self {
        self.drop_history = drop;
        self
    }

    /// Sets whether consolidated fragments are verified, down to the last chunk, before what they
    /// replace is removed.
    pub const fn verify(mut self, verify: bool) -> Self {
        self.verify = verify;
        self
    }

    /// Removes only orphans whose names have a time before this, instead of a day ago: an
    /// unfinished write looks like an orphan, and would be committed without its files.
    pub const fn before(mut self, milliseconds: u64) -> Self {
        self.before = Some(milliseconds);
        self
    }
}

/// Options for removing fragments together with their cells, which are then gone at all times.
///
/// Only fragments that readers see can be removed. Those that a removed one replaces remain hidden
/// until a vacuum removes them.
///
/// ```
/// use core::ops::ControlFlow;
/// use tdb_array::maintain::FragmentRemoval;
/// use tdb_array::schema::{ArraySchema, Attribute, Dimension};
/// use tdb_array::storage::MemoryStorage;
/// use tdb_array::{OpenOptions, WriteColumn, WriteOptions};
///
/// let schema = ArraySchema::sparse()
///     .dimension(Dimension::new("x", 0i32..=99))
///     .attribute(Attribute::of::<i32>("a"))
///     .build()?;
/// let storage = MemoryStorage::default();
/// WriteOptions::new().timestamp(1).create_storage(&storage, &schema)?;
/// for time in 1..=3 {
///     let writer = WriteOptions::new().timestamp(time).open_storage(storage.clone())?;
///     let cells = [time as i32];
///     let write = writer.write().column(WriteColumn::fixed("x", &cells));
///     write.column(WriteColumn::fixed("a", &cells)).commit()?;
/// }
///
/// let writer = WriteOptions::new().open_storage(storage.clone())?;
/// let plan = FragmentRemoval::between(2, 3).plan(&writer)?;
/// plan.run(&writer, &mut |_| ControlFlow::Continue(()))?;
/// let cells = OpenOptions::new().open_storage(storage)?.read().collect()?;
/// assert_eq!(cells.field("a")?.values::<i32>()?, [1]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "a removal does nothing until its plan runs"]
pub struct FragmentRemoval {
    pub(crate) chosen: ChosenFragments,
}

/// The fragments that are removed.
#[derive(Clone, Debug)]
pub(crate) enum ChosenFragments {
    Named(Vec<String>),
    Between(u64, u64),
}

impl FragmentRemoval {
    /// Removes these fragments, by name.
    pub fn named<S: Into<String>>(names: impl IntoIterator<Item = S>) -> Self {
        Self { chosen: ChosenFragments::Named(names.into_iter().map(Into::into).collect()) }
    }

    /// Removes the fragments whose first and last times are between these, inclusive, in
    /// milliseconds.
    pub const fn between(first: u64, last: u64) -> Self {
        Self { chosen: ChosenFragments::Between(first, last) }
    }
}
