//! The memory of a query as a whole: whether it has room for whole tiles, and for all cells at
//! once.

use tdb_codec::{ArrayType, to_u64};

use super::boxes::{bounds_of, ordinal_axes, volume};
use super::cost::CellCost;
use super::thresholds::MAX_TILES_INVERSE;
use crate::Result;
use crate::batch_scope::Reservation;
use crate::budget::MemoryBudget;
use crate::plan::Plan;
use crate::sparse::Sorting;

/// The same query, which reads tiles of dense arrays chunk by chunk, if whole ones would take a
/// good part of a budget, or `fits` says that the query does not fit it with whole ones.
pub(crate) fn by_chunk(plan: Plan, budget: MemoryBudget, fits: impl Fn(&Plan) -> bool) -> Plan {
    let context = plan.array.context();
    if plan.array.schema().array_type != ArrayType::Dense || context.by_chunk || !context.is_local() {
        return plan;
    }
    let by_chunk = Plan { array: plan.array.by_chunk(), ..plan.clone() };
    // If tiles are small, the sizes of their values need not be read.
    let cost = CellCost::new(&plan, false);
    let least = Reservation::min(cost.per_cell_looked_at());
    let without_values = |plan: &Plan| Overhead::threads(plan, &CellCost::new(plan, false));
    if without_values(&plan).saturating_sub(without_values(&by_chunk)) <= least {
        return plan;
    }
    let (Ok(whole), Ok(chunks)) = (Overhead::of(&plan), Overhead::of(&by_chunk)) else { return plan };
    let saved = whole.bytes.saturating_sub(chunks.bytes);
    let is_better = saved > least && (saved > budget.bytes() / MAX_TILES_INVERSE || !fits(&plan));
    if is_better { by_chunk } else { plan }
}

/// The memory that a query which is run whole holds beside its cells.
#[derive(Debug)]
pub(crate) struct Overhead {
    cost: CellCost,
    bytes: u64,
}

impl Overhead {
    pub(crate) fn of(plan: &Plan) -> Result<Self> {
        let dense = plan.array.schema().array_type == ArrayType::Dense;
        let cost = CellCost::new(plan, !dense && Sorting::of(plan).sorts);
        for fragment in plan.array.fragments() {
            // Records the size of its values.
            cost.var_sizes(plan.array.context(), fragment)?;
        }
        let bytes = Self::threads(plan, &cost).saturating_add(plan.scope.overhead);
        Ok(Self { cost, bytes })
    }

    /// Working memory of all threads, as far as the sizes of values are known.
    fn threads(plan: &Plan, cost: &CellCost) -> u64 {
        let thread = cost.thread(cost.largest_tile(plan.array.fragments()), cost.largest_value_tile());
        thread.saturating_mul(to_u64(plan.array.context().threads))
    }

    /// The memory that is held, with cells that take this much.
    pub(crate) fn with(&self, cells: u64) -> u64 {
        Reservation::min(self.bytes).max(self.bytes.saturating_add(cells))
    }

    /// Bytes per cell after it was selected.
    pub(crate) const fn per_cell(&self) -> u64 {
        self.cost.per_selected_cell()
    }

    /// The room that a budget leaves.
    pub(crate) fn room(&self, budget: MemoryBudget) -> Result<Reservation> {
        Ok(Reservation::new(budget, self.bytes, self.cost.per_selected_cell())?)
    }
}

/// The room for the whole query at once.
pub(crate) fn room_of_all(plan: &Plan, budget: MemoryBudget) -> Result<Reservation> {
    let overhead = Overhead::of(plan)?;
    let room = overhead.room(budget)?;
    let axes = ordinal_axes(plan).filter(|_| plan.array.schema().array_type == ArrayType::Dense);
    if let Some(all) = axes.and_then(|axes| bounds_of(plan, &axes)) {
        let (cost, cells) = (&overhead.cost, volume(&all));
        let tile = cost.largest_tile(plan.array.fragments());
        let less = cost.not_looked_at_at_once(cells, tile, to_u64(plan.array.context().threads));
        room.reserve(cells.saturating_mul(cost.per_decoded_cell()).saturating_sub(less))?;
    }
    Ok(room)
}
