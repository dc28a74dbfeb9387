//! Results as a stream of batches, within a memory budget.
//!
//! A batch is an ordinary read of a part of the query, which is a narrowed plan. The parts are
//! planned from metadata:
//!
//! - *Boxes* (`boxes`, `cut`), for dense arrays and for sorted reads of sparse ones whose
//!   dimensions are of fixed size. Boxes follow each other in the order of the result: the query is
//!   cut along the first part of the sort key (a space tile, or a coordinate along some dimension),
//!   at the ends of tiles if possible; a single value that does not fit is cut along the next part.
//!   The size of a box follows from an estimate (`cost_model`): the cells and value bytes of each
//!   tile, spread evenly over its MBR, or its place in a dense grid. Dense queries with several
//!   ranges per dimension are cut by their places in the sequence that was asked for.
//! - *Runs of tiles* (`tile_runs`), for sparse cells in storage order. Cells of fragments that may
//!   replace each other's are read so, too, if boxes would read each tile several times: then it is
//!   found out first which cells are visible (`visible_cells`).
//! - *Key ranges* (`key_samples`, `key_ranges`), for string dimensions, whose order on disk is not
//!   that of ranges, and for Hilbert order. A first pass decodes coordinates and lists up to 16
//!   keys per tile; a batch takes the cells between two of them. Nearly empty boxes are replaced by
//!   key ranges: after 256 boxes of fewer than 16 cells (1,024 if a condition may be the reason),
//!   the rest is taken by keys. The list of keys takes at most a quarter of the room. If it does
//!   not fit, the first keys are kept, up to a horizon, and the cells after it are listed later; a
//!   key range with too many cells for a batch is listed with more keys. A stream that would list
//!   all its keys more than a few times requests more room instead.
//!
//! No plan is a promise: all cells of a tile may be in one corner. So a read counts what it is
//! about to take (`Reservation::reserve` in `tdb_scan::batch_scope`): cells as they are selected,
//! values as they are decoded, keys and columns once the number of cells is known. If that exceeds
//! its room, its part is put back and cut smaller. None of this relies on sorted tiles, because
//! early libraries did not always sort them. No cells are carried from one batch to the next, so a
//! batch handles time windows, deletes and duplicates like a whole read: all versions of a cell
//! have the same key and are in the same part.
//!
//! # What is counted
//!
//! Three quarters of a budget are available for planning; the rest is what allocators lose between
//! blocks. From the three quarters are subtracted:
//!
//! - for each thread, the largest tile as stored and as decoded (with its values of variable
//!   length, and with all columns that a condition or aggregates look at), 384 KiB for its stack
//!   and codec states, three chunks between filters, and 4 MiB if bzip2 is used. Where tiles of a
//!   dense array would take more than a quarter of the budget, or more than there is, they are read
//!   chunk by chunk (`whole_query`): then it is 256 KiB of the file and two chunks, and what is
//!   looked at counts among the cells. Values of variable length have no such chunks;
//! - 160 bytes per fragment, and the cost model or the key samples themselves (about 100 bytes per
//!   tile; with more than 65,536 tiles in a fragment, neighbours share an entry).
//!
//! The rest is for cells. Each costs its columns, a second copy of the widest of them, and if cells
//! are sorted 52 bytes of keys in addition to its coordinates. Statistics that only save work are
//! not read if they would take half of what is left. Offset lists and R-trees of a fragment are
//! released when the stream has passed it. A batch that was returned no longer counts.
//!
//! A budget that leaves less than 64 KiB, or that a single cell or tile does not fit in, is
//! rejected with the least budget that works (`BudgetTooSmall`), in whole kibibytes; any smaller
//! one is rejected, except for key ranges, for which less may be enough. For boxes, the least
//! is computed from the tiles that overlap at one place of a dimension, for the dimension with the
//! fewest: at least one cell of each tile, with all values of variable length of the tile. Metadata
//! does not tell how many cells share coordinates (duplicates, histories that consolidation kept):
//! a batch may need more for those, and the error then says how much.

mod boxes;
mod codec_memory;
mod cost;
mod cost_model;
mod cut;
mod key_ranges;
mod key_samples;
mod ordinal_axis;
mod partwise;
mod plan;
mod progress;
mod thresholds;
mod tile_runs;
mod visible_cells;
mod whole_query;

use std::sync::Arc;

use tdb_codec::{ArrayType, Layout, to_usize};
use tdb_scan::run;

pub(crate) use self::boxes::{bounds_of, ordinal_axes, several, volume};
pub(crate) use self::cut::OrdinalBox;
pub(crate) use self::ordinal_axis::{OrdinalAxis, last_where};
pub use self::partwise::{
    Allowance, at_once, dearer, for_each_group, for_each_part, parts_or_at_once, read_within,
    whole_tiles_or_less, within,
};
pub(crate) use self::plan::order_of;
pub use self::progress::OnProgress;
pub use self::progress::Progress;
pub(crate) use self::progress::whole;
pub use self::tile_runs::TileSet;
pub use self::visible_cells::Common;

use self::plan::{Part, Parts, PartsState};
use self::thresholds::MAX_REPEATS;
use crate::batch_scope;
use crate::budget::MemoryBudget;
use crate::dense::dense_order;
use crate::plan::Plan;
use crate::prefetch::prefetch_sections;
use crate::replay::ReplayStorage;
use crate::visible_cells::Visibility;
use crate::{Cells, Error, QueryError, Result};

/// The budget of a stream without an explicit one.
pub const DEFAULT_BUDGET: MemoryBudget = MemoryBudget::from_bytes(1 << 30);

/// The cells of a query, batch by batch, in the order that was asked for.
///
/// Made by `Read::batches`. Each batch is as large as the memory budget
/// allows; batches that were returned no longer count. A query without cells has one batch without
/// cells, so that there are always columns to look at. After an error there are no more batches.
/// Dropping the iterator ends the query.
#[derive(Debug)]
#[must_use = "batches are read as the iterator is advanced"]
pub struct Batches {
    plan: Plan,
    budget: MemoryBudget,
    parts: Parts,
    /// The part that was planned, and is not read yet.
    part: Option<Part>,
    /// Whether duplicates are resolved once, before the first batch, so that no tile is read for
    /// several parts.
    chooses: bool,
    /// Everything was read, or something failed.
    done: bool,
    progress: Progress,
    on_progress: Option<OnProgress>,
    any: bool,
    /// For a caller that awaits, the place from which everything is repeated.
    checkpoint: Option<Checkpoint>,
}

/// The place in a query from which it can go on.
#[derive(Debug)]
struct Checkpoint {
    parts: PartsState,
    chooses: bool,
    done: bool,
    progress: Progress,
    any: bool,
}

impl Batches {
    /// The batches of a plan. Nothing is read before the first batch is asked for, but sections of
    /// fragments that are needed to cut the query.
    #[doc(hidden)]
    pub fn new(
        plan: Plan,
        budget: MemoryBudget,
        sizes: BatchSizes,
        on_progress: Option<OnProgress>,
    ) -> Result<Self> {
        let mut plan = within(plan, Some(Allowance { budget, batch: sizes.max }));
        if plan.skips_deduplication() && plan.scope.tiles.is_none() && !plan.array.context().is_local() {
            // Whether whole tiles fit is in metadata, which may be far away.
            plan = plan.with_deduplication()?;
        }
        if let Some(prefetched) = &plan.array.context().prefetched {
            prefetch_sections(&plan, prefetched)?;
        }
        let (plan, mut parts, progress) = whole_tiles_or_less(&plan, |plan| {
            let (parts, progress) = Parts::new(plan, budget, sizes.max)?;
            if plan.skips_deduplication() && plan.scope.tiles.is_none() {
                parts.check_tiles(plan)?;
            }
            Ok((plan.clone(), parts, progress))
        })?;
        if plan.scope.tiles.is_some() && sizes.first.is_none() && plan.array.context().prefetched.is_none() {
            // Before anything is returned: another budget can still be asked for.
            parts.check_tiles(&plan)?;
        }
        parts.grow_from(sizes.first);
        let chooses = chooses(&plan, sizes, &parts);
        let (part, checkpoint) = (None, None);
        let (done, any) = (false, false);
        Ok(Self { plan, budget, parts, part, chooses, done, progress, on_progress, any, checkpoint })
    }

    /// The progress of the query.
    #[must_use]
    pub const fn progress(&self) -> &Progress {
        &self.progress
    }

    /// The order of the cells.
    #[must_use]
    pub fn order(&self) -> Layout {
        match self.plan.array.schema().array_type {
            ArrayType::Dense => dense_order(&self.plan),
            ArrayType::Sparse => self.plan.order,
        }
    }

    /// For dense arrays read in row- or column-major order, the number of cells along each
    /// dimension, of all batches together.
    #[must_use]
    pub fn shape(&self) -> Option<Vec<usize>> {
        let schema = self.plan.array.schema();
        if schema.array_type == ArrayType::Sparse || self.order() == Layout::GlobalOrder {
            return None;
        }
        let sets = self.plan.ranges.iter().zip(&schema.domain.dimensions);
        let count = |intervals: Vec<(u64, u64)>| {
            let add =
                |sum: u64, (low, high): (u64, u64)| sum.checked_add(high.checked_sub(low)?.checked_add(1)?);
            to_usize(intervals.into_iter().try_fold(0, add)?)
        };
        sets.map(|(set, dimension)| count(set.ordinals(dimension)?)).collect()
    }

    /// The memory it may use.
    #[must_use]
    pub const fn budget(&self) -> MemoryBudget {
        self.budget
    }

    fn read_next(&mut self) -> Result<Option<Cells>> {
        loop {
            let small = self.parts.grows().then(|| self.parts.left());
            match (self.read_one(), small) {
                // Too little memory for a first batch is no error: more is allowed.
                (
                    Err(Error::Query(QueryError::OverBudget { .. } | QueryError::BudgetTooSmall { .. })),
                    Some(small),
                ) => {
                    self.parts.go_back(small);
                    self.parts.grow();
                }
                (result, _) => return result,
            }
        }
    }

    fn read_one(&mut self) -> Result<Option<Cells>> {
        if core::mem::take(&mut self.chooses) {
            self.choose()?;
        }
        loop {
            if self.done {
                return Ok(None);
            }
            if self.part.is_none() {
                self.part = self.parts.next(&self.plan)?;
                self.reach();
            }
            let Some(part) = self.part.take() else {
                self.done = true;
                self.progress.finish();
                self.report();
                if self.any {
                    return Ok(None);
                }
                self.any = true;
                return empty(&self.plan).map(Some);
            };
            let cells = match part.plan(&self.plan).and_then(|plan| run(&plan)) {
                Ok(cells) => cells,
                Err(Error::Query(error @ QueryError::OverBudget { .. })) => {
                    if self.parts.put_back(part)? {
                        self.reach();
                        continue;
                    }
                    return Err(batch_scope::smallest(error).into());
                }
                Err(error) => {
                    // It is read again when what was missing has arrived.
                    self.part = Some(part);
                    return Err(error);
                }
            };
            self.parts.done(&self.plan, &part);
            self.progress.add(&cells, part.tiles);
            self.report();
            if !cells.is_empty() {
                self.any = true;
                return Ok(Some(cells));
            }
            self.reach();
        }
    }

    /// Resolves duplicates: finds the visible cells, so that tiles are read one after the other. If
    /// the memory is too small for that, or for a tile, nothing changes.
    fn choose(&mut self) -> Result<()> {
        let mut plan = self.plan.clone();
        plan.visibility = Some(Visibility { cells: Arc::default(), exact: false });
        let by_tiles = |plan: &Plan| {
            let found = Parts::new(plan, self.budget, self.parts.batch())?;
            found.0.check_tiles(plan).map(|()| found)
        };
        if by_tiles(&plan).is_err() {
            return Ok(());
        }
        let memory = Allowance { budget: self.budget, batch: None };
        let cells = match visible_cells::find(&self.plan, Some(memory)) {
            Ok(cells) => Arc::new(cells),
            Err(Error::Query(QueryError::BudgetTooSmall { .. } | QueryError::OverBudget { .. })) => {
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        plan.scope.overhead = plan.scope.overhead.saturating_add(cells.held());
        plan.visibility = Some(Visibility { cells, exact: true });
        if let Ok((parts, progress)) = by_tiles(&plan) {
            (self.plan, self.parts, self.progress) = (plan, parts, progress);
        }
        Ok(())
    }

    /// The next batch for an asynchronous caller. If something that it reads has not arrived yet,
    /// the returned value is ignored, and the next call returns the same batch.
    #[doc(hidden)]
    pub fn try_next(&mut self, replay_storage: &ReplayStorage) -> Option<Result<Cells>> {
        self.checkpoint = Some(self.place());
        let next = self.next();
        let checkpoint = self.checkpoint.take();
        if let Some(Checkpoint { parts, chooses, done, progress, any }) =
            checkpoint.filter(|_| replay_storage.is_waiting())
        {
            self.parts.go_back(parts);
            (self.chooses, self.done, self.progress, self.any) = (chooses, done, progress, any);
        } else {
            self.forget();
        }
        next
    }

    /// A caller that awaits need not repeat what led here.
    fn reach(&mut self) {
        if self.checkpoint.is_none() {
            return;
        }
        self.checkpoint = Some(self.place());
        self.forget();
        if let Some(replay_storage) = &self.plan.array.context().replay_storage {
            replay_storage.checkpoint();
        }
    }

    fn place(&self) -> Checkpoint {
        let (parts, progress) = (self.parts.left(), self.progress.clone());
        Checkpoint { parts, chooses: self.chooses, done: self.done, progress, any: self.any }
    }

    /// Drops what was fetched for the last part.
    fn forget(&self) {
        if let Some(prefetched) = &self.plan.array.context().prefetched {
            prefetched.forget();
        }
    }

    fn report(&self) {
        if let Some(on_progress) = &self.on_progress {
            on_progress.call(&self.progress);
        }
    }
}

impl Iterator for Batches {
    type Item = Result<Cells>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.read_next();
        if next.is_err() {
            (self.done, self.any) = (true, true);
        }
        next.transpose()
    }
}

impl core::iter::FusedIterator for Batches {}

/// Whether to resolve duplicates once, before the first batch. This pays off only if the caller is
/// likely to read every batch, and only on local storage: on a remote one the coordinates would be
/// fetched twice.
fn chooses(plan: &Plan, sizes: BatchSizes, parts: &Parts) -> bool {
    let contested = plan.array.schema().array_type == ArrayType::Sparse
        && plan.order == Layout::Unordered
        && plan.overlap.any()
        && plan.visibility.is_none();
    contested && plan.array.context().is_local() && sizes.first.is_none() && parts.repeats(plan) > MAX_REPEATS
}

/// The limits of the memory of a batch's cells while they are made, if the caller has set any.
#[derive(Clone, Copy, Debug, Default)]
pub struct BatchSizes {
    /// The most of any batch.
    pub max: Option<MemoryBudget>,
    /// The most of the first batch; those after it grow.
    pub first: Option<MemoryBudget>,
}

/// A result without cells: that of a read without tiles.
fn empty(plan: &Plan) -> Result<Cells> {
    let mut plan = plan.clone();
    plan.scope.tiles = Some(Arc::default());
    run(&plan)
}
