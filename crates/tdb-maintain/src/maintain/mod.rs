//! Maintenance: making many files into few, and removing what they replace.
//!
//! Everything here comes as a [`MaintenancePlan`] first: what it would read, write and remove, with sizes. Running the
//! plan reports progress, can be cancelled, and verifies what it wrote before that counts.
//!
//! What is written replaces what it was made of by three files in this order, each durable before the next begins, so
//! that it may end anywhere (docs/maintenance.md argues each step):
//!
//! ```text
//! __fragments/<new>/…         invisible
//! __commits/<new>.wrt         visible beside its inputs: the same cells at every time
//! __commits/<new>.vac         hides the inputs, wherever the new one is seen
//! ```
//!
//! Nothing is removed here; [`Vacuum`] does that.

mod choose;
mod claim;
mod commits;
mod dense;
mod fields;
mod footers;
mod fragments;
mod merge;
mod plan;
mod remove;
mod source;
mod sparse;
mod timed;
mod vacuum;

use core::ops::ControlFlow;
use std::sync::Arc;

use crate::context::Context;
use crate::storage::WriteStorage;
use crate::write::{GroupWriter, WriteOptions};
use crate::{ArrayWriter, Error, Result, WriteError};

pub use plan::{MaintenancePlan, MaintenanceProgress, MaintenanceStep, PlannedFile};
pub use vacuum::Vacuum;

use plan::Work;

/// What is maintained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stored {
    /// Cells: fragments become larger ones.
    Fragments,
    /// Footers of fragments, gathered in one file.
    FragmentMetadata,
    /// Commit files, gathered in one.
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
    fn context(self) -> &'a Context {
        match self {
            Self::Array(array) => array.context(),
            Self::Group(group) => group.context(),
        }
    }

    fn storage(self) -> &'a Arc<dyn WriteStorage> {
        match self {
            Self::Array(array) => array.storage(),
            Self::Group(group) => group.storage(),
        }
    }

    fn options(self) -> &'a WriteOptions {
        match self {
            Self::Array(array) => array.options(),
            Self::Group(group) => group.options(),
        }
    }

    /// Renews the manifest of what is published, without files and folders that are about to be removed.
    fn renew_manifest(self, without: &[&str]) -> Result<()> {
        match self {
            Self::Array(array) => array.renew_manifest(without),
            Self::Group(group) => group.renew_manifest(without),
        }
    }

    fn array(self, what: &'static str) -> Result<&'a ArrayWriter> {
        match self {
            Self::Array(array) => Ok(array),
            Self::Group(_) => Err(Error::refused(what, "a group has key-value metadata only")),
        }
    }
}

/// How to make many files into few.
///
/// ```
/// use core::ops::ControlFlow;
/// use tdb_array::{ArraySchema, CellValNum, Consolidation, Datatype, Layout, MemoryStorage, OpenOptions, Stored};
/// use tdb_array::{WriteColumn, WriteOptions};
/// use tdb_array::schema::{Attribute, Dimension};
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
    what: Stored,
    chosen: Option<Vec<String>>,
    fewest: usize,
    most: usize,
    ratio: f64,
    input_bytes: u64,
    steps: usize,
    settings: Settings,
}

/// What running a step needs to know.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    purge: bool,
    amplification: f64,
    memory: u64,
    fragment_bytes: u64,
    verify: bool,
}

/// Memory that consolidation takes, unless told otherwise.
const MEMORY: u64 = 512 << 20;

impl Consolidation {
    /// All there is in one step: as many fragments at once as can be, half a GiB of memory, verified.
    pub const fn new(what: Stored) -> Self {
        let settings = Settings {
            purge: false,
            amplification: 1.0,
            memory: MEMORY,
            fragment_bytes: u64::MAX,
            verify: true,
        };
        Self {
            what,
            chosen: None,
            fewest: 2,
            most: usize::MAX,
            ratio: 0.0,
            input_bytes: u64::MAX,
            steps: 1,
            settings,
        }
    }

    /// These fragments, by name, instead of those that sizes and counts choose.
    pub fn fragments<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.chosen = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// Not fewer and not more fragments at a time than these.
    pub const fn counts(mut self, fewest: usize, most: usize) -> Self {
        self.fewest = if fewest < 2 { 2 } else { fewest };
        self.most = most;
        self
    }

    /// Only fragments next to each other of which the smaller one has at least this part of the larger one's size.
    pub const fn size_ratio(mut self, ratio: f64) -> Self {
        self.ratio = ratio;
        self
    }

    /// Not more bytes of fragments at a time than these.
    pub const fn input_bytes(mut self, bytes: u64) -> Self {
        self.input_bytes = bytes;
        self
    }

    /// At most so many new fragments, each of others.
    pub const fn steps(mut self, steps: usize) -> Self {
        self.steps = steps;
        self
    }

    /// Leaves cells out that were deleted, with everything they replaced, instead of noting when they were: they are then
    /// gone at all times.
    pub const fn purge(mut self, purge: bool) -> Self {
        self.settings.purge = purge;
        self
    }

    /// Refuses dense fragments whose common box has more than so many times their cells.
    pub const fn amplification(mut self, most: f64) -> Self {
        self.settings.amplification = most;
        self
    }

    /// Takes about so much memory beside the tiles that threads are at work on.
    pub const fn memory(mut self, bytes: u64) -> Self {
        self.settings.memory = bytes;
        self
    }

    /// Begins another fragment where one would get more bytes of data than these.
    pub const fn fragment_bytes(mut self, bytes: u64) -> Self {
        self.settings.fragment_bytes = bytes;
        self
    }

    /// Whether what was written is read back, down to the last chunk, before it counts.
    pub const fn verify(mut self, verify: bool) -> Self {
        self.settings.verify = verify;
        self
    }

    /// What would be done.
    ///
    /// # Errors
    /// A damaged array, fragments by name that cannot be consolidated, or what this build does not support. If nothing can
    /// be done, the plan has no steps, and notes that say why.
    pub fn plan<'a>(&self, object: impl Into<MaintainedObject<'a>>) -> Result<MaintenancePlan> {
        let object = object.into();
        match self.what {
            Stored::Fragments => fragments::plan(object.array("consolidation of fragments")?, self),
            Stored::FragmentMetadata => footers::plan(object.array("consolidation of footers")?),
            Stored::Commits => commits::plan(object.array("consolidation of commits")?),
            Stored::Metadata => timed::plan(object),
        }
    }
}

impl MaintenancePlan {
    /// Does what the plan says. `watch` hears of progress, and cancels with [`ControlFlow::Break`].
    ///
    /// # Errors
    /// Whatever the system says, damage that is found, an array that changed since the plan was made, or
    /// [`WriteError::Cancelled`]. Steps before the one that failed stay done; of that one nothing counts, or all.
    pub fn run<'a>(
        &self,
        object: impl Into<MaintainedObject<'a>>,
        watch: &mut dyn FnMut(&MaintenanceProgress) -> ControlFlow<()>,
    ) -> Result<()> {
        let object = object.into();
        let done = self.run_steps(object, watch);
        // Steps before one that failed are done.
        let renewed = if self.steps().is_empty() { Ok(()) } else { object.renew_manifest(&[]) };
        done.and(renewed)
    }

    fn run_steps(
        &self,
        object: MaintainedObject<'_>,
        watch: &mut dyn FnMut(&MaintenanceProgress) -> ControlFlow<()>,
    ) -> Result<()> {
        let steps = self.steps().len();
        for (index, step) in self.steps().iter().enumerate() {
            let mut told = |done, total| {
                let progress = MaintenanceProgress { step: index, steps, done, total };
                match watch(&progress) {
                    ControlFlow::Continue(()) => Ok(()),
                    ControlFlow::Break(()) => Err(WriteError::Cancelled.into()),
                }
            };
            told(0, 1)?;
            match &step.work {
                Work::Fragments(work) => fragments::run(object.array("consolidation")?, work, &mut told)?,
                Work::Footers => footers::run(object.array("consolidation")?)?,
                Work::Commits => commits::run(object.array("consolidation")?)?,
                Work::Metadata(keys) => timed::run(object, keys)?,
                Work::Remove(removal) => remove::run(object, removal, &mut told)?,
            }
            // Behind the last step there is nothing left to cancel.
            let stopped = told(1, 1);
            if index.saturating_add(1) < steps {
                stopped?;
            }
        }
        Ok(())
    }
}

/// Hears of progress and says whether to go on.
pub(crate) type Tell<'t> = dyn FnMut(u64, u64) -> Result<()> + 't;
