//! Maintenance: combining many files into few, and removing replaced files.
//!
//! Every operation is a [`MaintenancePlan`] first: what it will read, write and remove, with sizes.
//! Running the plan reports progress, can be cancelled, and verifies what it wrote before that
//! takes effect.
//!
//! New fragments replace their inputs with three steps in this order, each durable before the next
//! begins, so that the process may stop at any point (docs/maintenance.md justifies each step):
//!
//! ```text
//! __fragments/<new>/…         invisible
//! __commits/<new>.wrt         visible together with its inputs: the same cells at every time
//! __commits/<new>.vac         hides the inputs wherever the new fragment is visible
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
mod merge_key;
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

    /// Renews the manifest, if there is one, without files and folders that are about to be
    /// removed.
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

/// Options for combining many files into few.
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
    max: usize,
    ratio: f64,
    input_bytes: u64,
    steps: usize,
    settings: Settings,
}

/// The settings needed to run a step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    purge: bool,
    amplification: f64,
    memory: u64,
    fragment_bytes: u64,
    verify: bool,
}

/// The default memory of a consolidation.
const MEMORY: u64 = 512 << 20;

impl Consolidation {
    /// The defaults: one step with as many fragments as possible, half a GiB of memory, and
    /// verification.
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
            max: usize::MAX,
            ratio: 0.0,
            input_bytes: u64::MAX,
            steps: 1,
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

    /// Plans what would be done.
    ///
    /// # Errors
    /// A damaged array, fragments given by name that cannot be consolidated, or something that this
    /// build does not support. If there is nothing to do, the plan has no steps, and notes that
    /// give the reasons.
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
    /// Carries out the plan. `watch` receives progress reports, and cancels by returning
    /// [`ControlFlow::Break`].
    ///
    /// # Errors
    /// Any I/O error of the storage, damage that is found, an array that changed since the plan was
    /// made, or [`WriteError::Cancelled`]. Steps before the one that failed remain done; the failed
    /// step takes effect as a whole or not at all.
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
            // After the last step there is nothing left to cancel.
            let stopped = told(1, 1);
            if index.saturating_add(1) < steps {
                stopped?;
            }
        }
        Ok(())
    }
}

/// Reports progress and returns whether to continue.
pub(crate) type Tell<'t> = dyn FnMut(u64, u64) -> Result<()> + 't;
