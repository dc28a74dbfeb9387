//! About how much a query decodes: whether that is worth a second thread.

use tdb_schema::{Field, FieldKind};

use super::region::Region;
use super::sources::FieldSources;
use super::space::Space;
use crate::parallel;
use crate::plan::Plan;
use crate::tiles::{USUAL_CHUNK, work};

/// About how many bytes a value of variable length has.
const USUAL_VALUE: usize = 16;

/// The cost of finding and reading a tile and setting up its filters, in bytes that are decoded in
/// that time.
const A_TILE: usize = 8 << 10;

/// About how much is decoded of a field for a box that lies in one tile: the bytes, and as many as
/// zstd decodes in that time.
pub(super) fn of_part(
    plan: &Plan,
    space: &Space,
    field: &Field<'_>,
    bounds: &[(u64, u64)],
) -> (usize, usize) {
    let of = |effort: u16, bytes: usize| {
        let bytes = bytes.saturating_add(A_TILE);
        (bytes, work(effort, bytes))
    };
    let (size, offsets) = match field.cell_size() {
        Some(size) => (size, (0, 0)),
        // All offsets of a tile are decoded.
        None => {
            let effort = plan.array.schema().offsets_filters.effort();
            (USUAL_VALUE, of(effort, space.tile_cells.saturating_mul(size_of::<u64>())))
        }
    };
    // The chunks that have the first and the last cell are decoded whole.
    let span = space.span(bounds).saturating_mul(size).saturating_add(USUAL_CHUNK);
    let values = of(field.filters.effort(), span.min(space.tile_cells.saturating_mul(size)));
    (values.0.saturating_add(offsets.0), values.1.saturating_add(offsets.1))
}

/// The threads that are worth it for some fields of some regions.
pub(super) fn threads<'f, 'a: 'f>(
    plan: &Plan,
    space: &Space,
    regions: &[Region],
    fields: impl IntoIterator<Item = (FieldKind, &'f FieldSources<'a>)>,
) -> usize {
    let all = plan.array.context().threads;
    if regions.len() < 2 {
        return 1;
    }
    let own = |(kind, sources)| Some((plan.array.schema().field_of(kind)?, sources));
    let fields: Vec<(Field<'_>, &FieldSources<'_>)> = fields.into_iter().filter_map(own).collect();
    let mut sum = 0usize;
    // As far as it takes to know that it is enough.
    let count = regions.iter().try_for_each(|region| {
        space.for_each_tile(region, |_, _, bounds| {
            for (field, sources) in &fields {
                let (bytes, work) = of_part(plan, space, field, &bounds);
                sum = sum.saturating_add(bytes.max(work).saturating_mul(sources.depth(&bounds).max(1)));
            }
            if parallel::worth(all, sum) > 1 { Err(()) } else { Ok(()) }
        })
    });
    if count.is_err() { all } else { 1 }
}
