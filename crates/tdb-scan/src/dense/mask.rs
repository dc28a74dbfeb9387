//! Applies a query's condition to the cells of a dense array, one space tile after the other.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tdb_predicate::Program;

use super::condition::{Lacking, Matcher};
use super::overlay::Overlay;
use super::part_columns::NO_FIELD;
use super::partial_column::{KeptBudget, PartialColumn, new_columns, split_columns};
use super::region::Region;
use super::space::Space;
use super::{decode_work, prefetch};
use crate::buffers::{check_room, split_exactly};
use crate::decode_buffers::PooledBuffers;
use crate::plan::Plan;
use crate::{OrInternal, Result, parallel};

/// What a condition leaves of the cells of a query.
#[derive(Debug)]
pub(super) struct Masked {
    /// For every cell whether it satisfies the condition: a byte per cell, in the order of the
    /// result.
    pub(super) wanted: Vec<u8>,
    /// Columns of the result with the cells that were decoded for this. The result takes them over:
    /// it decodes these cells again if it is made again.
    columns: Mutex<Vec<PartialColumn>>,
}

impl Masked {
    /// The columns of the result, as far as they are there.
    pub(super) fn columns(&self) -> MutexGuard<'_, Vec<PartialColumn>> {
        self.columns.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Applies the condition to every cell of a query. Cells that are decoded for this go directly into
/// the columns of the result.
pub(super) fn mask(
    plan: &Plan,
    program: &Program,
    space: &Space,
    regions: &[Region],
    overlays: &[Option<Overlay>],
) -> Result<Masked> {
    let context = plan.array.context();
    check_room(space.bytes(1)?)?;
    prefetch::condition(plan, program, (space, regions), overlays)?;
    let mut mask = vec![0u8; space.cells()];
    let matcher = Matcher::open(plan, program, space, overlays, Lacking::Fails)?;
    let pieces = split_exactly(&mut mask, regions.iter().map(Region::cells))?;
    let fields = program.fields.iter().map(|field| (field.kind, &field.spec));
    let mut columns = new_columns(plan, fields, space, regions)?;
    let partial = split_columns(&mut columns, regions)?;
    let jobs: Vec<_> = regions.iter().zip(pieces.into_iter().zip(partial)).collect();
    let fields = matcher.fields.iter().map(|field| (field.kind, &field.sources));
    let threads = decode_work::threads(plan, space, regions, fields);
    let kept_budget = KeptBudget::of(plan);
    let pool = PooledBuffers::sharing(context.threads, jobs.len());
    parallel::run(threads, jobs, pool, |(region, (piece, mut partial)), buffers| {
        space.for_each_tile(region, |index, _, bounds| -> Result<()> {
            let part = region.part(&bounds, space.order)?;
            let mut wanted = vec![1u8; part.cells()];
            let mut painted = matcher.apply(index, &part, &mut wanted, buffers)?;
            let map = region.map_of_part(&part);
            map.copy(&wanted, piece, 1)?;
            let any = wanted.contains(&1);
            for partial in &mut partial {
                let own = painted.get_mut(partial.field).or_internal(NO_FIELD)?;
                context.counters.copied(partial.take(&kept_budget, &map, own, any)?);
            }
            Ok(())
        })
    })?;
    Ok(Masked { wanted: mask, columns: Mutex::new(columns) })
}
