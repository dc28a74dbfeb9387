//! About how much a query decodes: whether that is worth a second thread.

use tdb_schema::{Field, FieldKind};

use super::space::{Region, Space};
use crate::parallel;
use crate::plan::Plan;
use crate::tiles::{USUAL_CHUNK, work};

/// About how many bytes a value of variable length has.
const USUAL_VALUE: usize = 16;

/// What finding and reading a tile costs, in bytes that are decoded in that time.
const A_TILE: usize = 8 << 10;

/// About how much is decoded of a field for a box that lies in one tile, in bytes of zstd.
pub(super) fn of_part(plan: &Plan, space: &Space, field: &Field<'_>, bounds: &[(u64, u64)]) -> usize {
    let (size, offsets) = match field.cell_size() {
        Some(size) => (size, 0),
        // All offsets of a tile are decoded.
        None => {
            let effort = plan.array.schema().offsets_filters.effort();
            (USUAL_VALUE, work(effort, space.tile_cells.saturating_mul(size_of::<u64>())))
        }
    };
    // The chunks that have the first and the last cell are decoded whole.
    let span = space.span(bounds).saturating_mul(size).saturating_add(USUAL_CHUNK);
    let values = work(field.filters.effort(), span.min(space.tile_cells.saturating_mul(size)));
    values.saturating_add(offsets).saturating_add(A_TILE)
}

/// The threads that are worth it for some fields of some regions.
pub(super) fn threads(
    plan: &Plan,
    space: &Space,
    regions: &[Region],
    fields: impl IntoIterator<Item = FieldKind>,
) -> usize {
    let all = plan.array.context().threads;
    let fields = fields.into_iter().filter_map(|kind| plan.array.schema().field_of(kind));
    let fields: Vec<Field<'_>> = fields.collect();
    let mut sum = 0usize;
    // As far as it takes to know that it is enough.
    let count = regions.iter().try_for_each(|region| {
        space.for_each_tile(region, |_, _, bounds| {
            let own = fields.iter().map(|field| of_part(plan, space, field, &bounds));
            sum = own.fold(sum, usize::saturating_add);
            if parallel::worth(all, sum) > 1 { Err(()) } else { Ok(()) }
        })
    });
    if count.is_err() { all } else { 1 }
}
