//! Runs queries within a memory limit that return no cells, such as aggregates: part by part, or
//! for groups of tiles.

use std::sync::Arc;

use tdb_codec::to_u64;
use tdb_scan::run;

use super::plan::Parts;
use super::{DEFAULT_BUDGET, whole_query};
use crate::batch_scope::{self, Reservation};
use crate::budget::MemoryBudget;
use crate::plan::Plan;
use crate::sparse::Candidate;
use crate::{Cells, Error, QueryError, Result};

/// The memory of a query without a result: for everything, and for the cells that are looked at
/// together.
#[derive(Clone, Copy, Debug)]
pub struct Allowance {
    pub(super) budget: MemoryBudget,
    pub(super) batch: Option<MemoryBudget>,
}

impl Allowance {
    /// `None` if no memory limit was set.
    pub fn new(budget: Option<MemoryBudget>, batch: Option<MemoryBudget>) -> Option<Self> {
        budget.or(batch)?;
        Some(Self { budget: budget.unwrap_or(DEFAULT_BUDGET), batch })
    }

    /// The budget of the query.
    pub const fn budget(self) -> MemoryBudget {
        self.budget
    }
}

/// Runs a query without a result part by part, each with a share of the memory. If a part turns out
/// to be too large and fails with [`QueryError::OverBudget`], it is cut, and `run` is called again
/// for the smaller parts. Where a caller awaits, all of this is repeated: what `run` decodes are
/// stages.
pub fn for_each_part(
    plan: &Plan,
    Allowance { budget, batch }: Allowance,
    mut run: impl FnMut(&Plan) -> Result<()>,
) -> Result<()> {
    let (mut parts, _) = Parts::new(plan, budget, batch)?;
    while let Some(part) = parts.next(plan)? {
        match run(&part.plan(plan)?) {
            Ok(()) => parts.done(plan, &part),
            Err(Error::Query(error @ QueryError::OverBudget { .. })) => {
                if !parts.put_back(part)? {
                    return Err(batch_scope::smallest(error).into());
                }
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// A plan that reads dense tiles chunk by chunk if whole ones take too much.
pub fn within(plan: Plan, memory: Option<Allowance>) -> Plan {
    let Some(Allowance { budget, batch }) = memory else { return plan };
    whole_query::by_chunk(plan, budget, |plan| Parts::new(plan, budget, batch).is_ok())
}

/// Runs a query without a result that reads whole tiles if it was spared the search for older
/// versions of cells. If its tiles do not fit the memory, `run` is called again for the query that
/// searches, since that one is cut inside tiles; it must begin anew. If neither fits, the error
/// names the smaller memory.
///
/// # Errors
/// Those of `run`.
pub fn whole_tiles_or_less<T>(plan: &Plan, mut run: impl FnMut(&Plan) -> Result<T>) -> Result<T> {
    let result = run(plan);
    if !plan.skips_deduplication() || plan.scope.tiles.is_some() {
        return result;
    }
    let Err(Error::Query(QueryError::BudgetTooSmall { budget: own, min: whole })) = result else {
        return result;
    };
    run(&plan.clone().with_deduplication()?).map_err(|error| match error {
        Error::Query(QueryError::BudgetTooSmall { budget, min }) if budget == own => {
            QueryError::BudgetTooSmall { budget, min: min.min(whole) }.into()
        }
        other => other,
    })
}

/// The error of a budget that was too small: this one, or the one of a plan for some tiles whose
/// parts need more.
pub fn dearer(error: Error, plan: &Plan, memory: Allowance, tiles: &[Candidate]) -> Error {
    let min = |error: &Error| match error {
        Error::Query(QueryError::BudgetTooSmall { min, .. }) => Some(*min),
        _ => None,
    };
    match (min(&error), parts_or_at_once(plan, memory, tiles)) {
        (Some(own), Err(other)) if min(&other).is_some_and(|other| other > own) => other,
        _ => error,
    }
}

/// Fails if a budget is too small both for the parts of a plan and for all cells of its tiles at
/// once.
pub fn parts_or_at_once(
    plan: &Plan,
    Allowance { budget, batch }: Allowance,
    tiles: &[Candidate],
) -> Result<()> {
    let Err(error) = Parts::new(plan, budget, batch) else { return Ok(()) };
    let overhead = whole_query::Overhead::of(plan)?;
    let bytes = cost_of_all(plan, tiles, overhead.per_cell());
    match (error, batch_scope::check_budget(budget, overhead.with(bytes))) {
        (Error::Query(QueryError::BudgetTooSmall { min, .. }), Err(at_once)) => Err(match at_once {
            QueryError::BudgetTooSmall { min: other, .. } if other < min => at_once.into(),
            _ => QueryError::BudgetTooSmall { budget, min }.into(),
        }),
        (error, _) => Err(error),
    }
}

/// The plan with memory for some tiles at once, if that is enough for all of their cells.
pub fn at_once(
    plan: &Plan,
    Allowance { budget, batch }: Allowance,
    tiles: &[Candidate],
) -> Result<Option<Plan>> {
    let mut room = match whole_query::room_of_all(plan, budget) {
        Ok(room) => room,
        // Parts may need less.
        Err(Error::Query(QueryError::BudgetTooSmall { .. } | QueryError::OverBudget { .. })) => {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    if let Some(max) = batch {
        room = room.limited_to(max);
    }
    if cost_of_all(plan, tiles, room.per_cell()) > room.bytes() {
        return Ok(None);
    }
    let mut part = plan.clone();
    part.scope.reservation = Some(kept(plan, room)?);
    Ok(Some(part))
}

/// Bytes of tiles together when all of their cells are selected, and compared with each other. With
/// a condition, they are selected twice: those that satisfy it, then their other versions.
fn cost_of_all(plan: &Plan, tiles: &[Candidate], per_cell: u64) -> u64 {
    let again = if plan.condition.is_some() { tiles } else { &[] };
    tiles.iter().chain(again).map(|tile| cost(tile, per_cell)).fold(0, u64::saturating_add)
}

/// Bytes of a tile when all of its cells are selected: besides those of the cells themselves, a
/// number, a timestamp and a flag per cell, the columns of deletes, and the header of a list.
fn cost(tile: &Candidate, per_cell: u64) -> u64 {
    to_u64(tile.tile_cells).saturating_mul(per_cell.saturating_add(4 + 8 + 1)).saturating_add(512)
}

/// Runs a query on groups of tiles that fit the memory, in their order.
pub fn for_each_group(
    plan: &Plan,
    Allowance { budget, batch }: Allowance,
    tiles: Vec<Candidate>,
    mut run: impl FnMut(&Plan, Vec<Candidate>) -> Result<()>,
) -> Result<()> {
    let overhead = whole_query::Overhead::of(plan)?;
    let cost = |tile: &Candidate| cost(tile, overhead.per_cell());
    // A group has one tile at least.
    let Some(dearest) = tiles.iter().map(cost).max() else { return Ok(()) };
    batch_scope::check_budget(budget, overhead.with(dearest))?;
    let mut room = overhead.room(budget)?;
    if let Some(max) = batch {
        room = room.limited_to(max);
    }
    let mut tiles = tiles.into_iter().peekable();
    while let Some(first) = tiles.next() {
        let (mut bytes, mut group) = (cost(&first), vec![first]);
        while let Some(next) = tiles.next_if(|next| bytes.saturating_add(cost(next)) <= room.bytes()) {
            bytes = bytes.saturating_add(cost(&next));
            group.push(next);
        }
        let mut part = plan.clone();
        part.scope.reservation = Some(kept(plan, room.unreserved())?);
        match run(&part, group) {
            Err(Error::Query(error)) => return Err(batch_scope::smallest(error).into()),
            other => other?,
        }
    }
    Ok(())
}

/// Reads a plan whole, if that can be done within a budget.
pub fn read_within(plan: Plan, budget: MemoryBudget) -> Result<Cells> {
    let mut plan = whole_query::by_chunk(plan, budget, |plan| whole_query::room_of_all(plan, budget).is_ok());
    plan.scope.reservation = Some(kept(&plan, whole_query::room_of_all(&plan, budget)?)?);
    run(&plan)
}

/// The memory of a part of a query, which counts what its finished stages have taken where it is
/// repeated.
fn kept(plan: &Plan, room: Reservation) -> Result<Arc<Reservation>> {
    plan.array.context().kept(|| Arc::new(room))
}
