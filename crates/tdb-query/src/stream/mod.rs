//! Results as a stream of batches, inside a memory budget.
//!
//! A batch is an ordinary read of a part of the query. What the parts are is planned from metadata:
//!
//! - dense arrays, and sparse ones whose dimensions are of fixed size: boxes that follow each other in the result's order
//!   (`cut.rs`), as large as an estimate of their cost allows (`spread.rs`);
//! - sparse cells in storage order: runs of tiles (`runs.rs`);
//! - string dimensions, Hilbert order, and where boxes would be next to empty: intervals of keys (`keys.rs`).
//!
//! Where the cells are not spread as evenly as was thought, a read notices before it takes more than it may (`crate::share`),
//! and its part is cut smaller. No cells are carried from one batch to the next.

mod boxes;
mod cost;
mod cut;
mod keyed;
mod keys;
mod line;
mod plan;
mod progress;
mod runs;
mod spread;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use tdb_codec::{ArrayType, Layout, to_u64, to_usize};

pub(crate) use self::boxes::{bounds_of, lines_of, several, volume};
pub(crate) use self::cut::Bounds;
pub(crate) use self::line::{Line, last_where};
pub(crate) use self::plan::order_of;
pub(crate) use self::progress::OnProgress;
pub use self::progress::Progress;

use self::plan::Parts;
use crate::budget::MemoryBudget;
use crate::dense::dense_order;
use crate::engine::run;
use crate::explain::fetch_sections;
use crate::plan::Plan;
use crate::share;
use crate::sparse::Candidate;
use crate::{Cells, Error, QueryError, Result};

/// The budget of a stream that was given none.
pub(crate) const DEFAULT_BUDGET: MemoryBudget = MemoryBudget::from_bytes(1 << 30);

/// The cells of a query, batch by batch, in the order that was asked for.
///
/// Made by [`Read::batches`](crate::Read::batches). Each batch is as large as the memory budget allows; what was handed out
/// no longer counts. A query without cells has one batch without cells, so that there always are columns to look at. After
/// an error there are no more batches. Dropping the iterator ends the query.
#[derive(Debug)]
#[must_use = "batches are read as the iterator is advanced"]
pub struct Batches {
    plan: Plan,
    budget: MemoryBudget,
    /// `None` when all is done.
    parts: Option<Parts>,
    progress: Progress,
    on_progress: Option<OnProgress>,
    any: bool,
}

impl Batches {
    pub(crate) fn new(
        plan: Plan,
        budget: MemoryBudget,
        batch: Option<MemoryBudget>,
        on_progress: Option<OnProgress>,
    ) -> Result<Self> {
        if let Some(ahead) = &plan.array.context().ahead {
            fetch_sections(&plan, ahead);
        }
        let (parts, progress) = Parts::new(&plan, budget, batch)?;
        Ok(Self { plan, budget, parts: Some(parts), progress, on_progress, any: false })
    }

    /// How far the query is.
    #[must_use]
    pub const fn progress(&self) -> &Progress {
        &self.progress
    }

    /// The order the cells come in.
    #[must_use]
    pub fn order(&self) -> Layout {
        match self.plan.array.schema().array_type {
            ArrayType::Dense => dense_order(&self.plan),
            ArrayType::Sparse => self.plan.order,
        }
    }

    /// For dense arrays read in row- or column-major order, the number of cells along each dimension, of all batches
    /// together.
    #[must_use]
    pub fn shape(&self) -> Option<Vec<usize>> {
        let schema = self.plan.array.schema();
        if schema.array_type == ArrayType::Sparse || self.order() == Layout::GlobalOrder {
            return None;
        }
        let sets = self.plan.ranges.iter().zip(&schema.domain.dimensions);
        let count = |intervals: Vec<(u64, u64)>| {
            let counts = intervals.iter().map(|(low, high)| high.saturating_sub(*low).saturating_add(1));
            to_usize(counts.fold(0, u64::saturating_add))
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
            let Some(parts) = &mut self.parts else { return Ok(None) };
            let Some(part) = parts.next(&self.plan)? else {
                self.parts = None;
                self.progress.finish();
                self.report();
                if self.any {
                    return Ok(None);
                }
                self.any = true;
                return empty(&self.plan).map(Some);
            };
            let cells = match run(&part.plan(&self.plan)) {
                Ok(cells) => cells,
                Err(Error::Query(error @ QueryError::OverBudget { .. })) => {
                    if parts.put_back(part) {
                        continue;
                    }
                    return Err(share::smallest(error).into());
                }
                Err(error) => return Err(error),
            };
            parts.done(&self.plan, &part);
            self.progress.add(&cells, part.tiles);
            self.report();
            if !cells.is_empty() {
                self.any = true;
                return Ok(Some(cells));
            }
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
            self.parts = None;
            self.any = true;
        }
        next.transpose()
    }
}

impl core::iter::FusedIterator for Batches {}

/// The memory of a query that leaves no result: of all of it, and of the cells that are looked at together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allowance {
    budget: MemoryBudget,
    batch: Option<MemoryBudget>,
}

impl Allowance {
    /// `None` if nothing was said of memory.
    pub(crate) fn new(budget: Option<MemoryBudget>, batch: Option<MemoryBudget>) -> Option<Self> {
        budget.or(batch)?;
        Some(Self { budget: budget.unwrap_or(DEFAULT_BUDGET), batch })
    }
}

/// Runs a query that leaves no result part after part, each with a share of the memory. `run` may be called again for a part
/// that turned out too large, which fails with [`QueryError::OverBudget`], when that was cut.
pub(crate) fn for_each_part(
    plan: &Plan,
    Allowance { budget, batch }: Allowance,
    mut run: impl FnMut(&Plan) -> Result<()>,
) -> Result<()> {
    let (mut parts, _) = Parts::new(plan, budget, batch)?;
    while let Some(part) = parts.next(plan)? {
        match run(&part.plan(plan)) {
            Ok(()) => parts.done(plan, &part),
            Err(Error::Query(error @ QueryError::OverBudget { .. })) => {
                if !parts.put_back(part) {
                    return Err(share::smallest(error).into());
                }
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The error of a budget that was too small: this one, or that of a plan whose parts need more.
pub(crate) fn dearer(error: Error, plan: &Plan, Allowance { budget, batch }: Allowance) -> Error {
    let least = |error: &Error| match error {
        Error::Query(QueryError::BudgetTooSmall { least, .. }) => Some(*least),
        _ => None,
    };
    match (least(&error), Parts::new(plan, budget, batch)) {
        (Some(own), Err(other)) if least(&other).is_some_and(|other| other > own) => other,
        _ => error,
    }
}

/// Runs a query on groups of tiles that the memory has room for, in their order.
pub(crate) fn for_each_group(
    plan: &Plan,
    Allowance { budget, batch }: Allowance,
    tiles: Vec<Candidate>,
    mut run: impl FnMut(&Plan, Vec<Candidate>) -> Result<()>,
) -> Result<()> {
    let mut room = plan::room_of_all(plan, budget)?;
    if let Some(most) = batch {
        room = room.at_most(most);
    }
    // A number, a timestamp and a flag a cell, what deletes look at, and the head of a list.
    let cost = |tile: &Candidate| {
        to_u64(tile.tile_cells).saturating_mul(room.per_cell().saturating_add(4 + 8 + 1)).saturating_add(512)
    };
    let mut tiles = tiles.into_iter().peekable();
    while let Some(first) = tiles.next() {
        let (mut bytes, mut group) = (cost(&first), vec![first]);
        while let Some(next) = tiles.next_if(|next| bytes.saturating_add(cost(next)) <= room.bytes()) {
            bytes = bytes.saturating_add(cost(&next));
            group.push(next);
        }
        let mut part = plan.clone();
        part.share.room = Some(Arc::new(room.again()));
        match run(&part, group) {
            Err(Error::Query(error)) => return Err(share::smallest(error).into()),
            other => other?,
        }
    }
    Ok(())
}

/// Reads a plan whole, if that can be done within a budget.
pub(crate) fn read_within(plan: &mut Plan, budget: MemoryBudget) -> Result<Cells> {
    let room = Arc::new(plan::room_of_all(plan, budget)?);
    plan.share.room = Some(room);
    run(plan)
}

/// A result without cells: that of no tiles at all.
fn empty(plan: &Plan) -> Result<Cells> {
    let mut plan = plan.clone();
    plan.share.tiles = Some(Arc::default());
    run(&plan)
}

/// An estimate as a whole number.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "an estimate; sums of sizes are not negative, and saturate"
)]
pub(crate) fn whole(estimate: f64) -> u64 {
    estimate.ceil() as u64
}
