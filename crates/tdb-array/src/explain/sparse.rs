//! What a query of a sparse array would do.

use tdb_codec::to_u64;
use tdb_schema::FieldKind;

use super::{Explain, FieldPlan, FragmentPlan, Outcome, asked, column_bytes};
use crate::Result;
use crate::query::Plan;
use crate::sparse::{Candidate, Sorting, candidates};
use crate::tiles::FieldTiles;

/// Bytes of the key and the number of a cell that is sorted.
const KEY_BYTES: u64 = 16;

pub(super) fn explain(plan: &Plan<'_>) -> Result<Explain> {
    let context = &plan.array.context;
    let schema = plan.array.schema();
    let sorting = Sorting::of(plan);
    let mut fragments = Vec::new();
    let mut chosen: Vec<Vec<Candidate>> = Vec::new();
    let mut cells = 0u64;
    for (index, fragment) in plan.array.fragments.iter().enumerate() {
        let found = candidates(plan, index, fragment)?;
        let tiles = fragment.footer().sparse_tile_num;
        let whole = to_u64(found.iter().filter(|candidate| candidate.whole).count());
        let outcome = match to_u64(found.len()) {
            0 => Outcome::OutsideRanges,
            tiles => Outcome::Read { tiles, whole },
        };
        fragments.push(FragmentPlan::of(fragment, tiles, outcome));
        cells = found.iter().fold(cells, |sum, candidate| sum.saturating_add(to_u64(candidate.tile_cells)));
        chosen.push(found);
    }
    let pairs = || plan.array.fragments.iter().zip(&chosen).filter(|(_, chosen)| !chosen.is_empty());
    let mut fields = Vec::new();
    let (mut result_bytes, mut largest) = (0u64, 0u64);
    for (kind, spec) in asked(plan) {
        let mut field = FieldPlan::new(&spec.name, true);
        let mut values = 0u64;
        // Coordinates that ordering needs are at hand, unless they are strings.
        let at_hand = sorting.sorts && matches!(kind, FieldKind::Dimension(_)) && spec.cell_size.is_some();
        for (fragment, chosen) in pairs().filter(|_| !at_hand) {
            let Some(tiles) = spec.tiles(context, fragment, kind)? else { continue };
            for candidate in chosen {
                field.read(context, &tiles, candidate.tile)?;
                values = values.saturating_add(tiles.var_size(candidate.tile));
            }
        }
        let bytes = column_bytes(&spec, cells, values);
        (result_bytes, largest) = (result_bytes.saturating_add(bytes), largest.max(bytes));
        fields.push(field);
    }
    for (index, dimension) in schema.domain.dimensions.iter().enumerate() {
        let mut field = FieldPlan::new(&dimension.name, false);
        for (fragment, chosen) in pairs() {
            if !sorting.sorts && chosen.iter().all(|candidate| candidate.whole) {
                continue;
            }
            let tiles = FieldTiles::open(context, fragment, FieldKind::Dimension(index))?;
            for candidate in chosen.iter().filter(|candidate| sorting.sorts || !candidate.whole) {
                field.read(context, &tiles, candidate.tile)?;
            }
        }
        if field.tiles > 0 {
            fields.push(field);
        }
    }
    let mut timestamps = FieldPlan::new("__timestamps", false);
    for (fragment, chosen) in pairs() {
        let Some(tiles) = FieldTiles::timestamps(context, fragment)? else { continue };
        for candidate in chosen {
            timestamps.read(context, &tiles, candidate.tile)?;
        }
    }
    if timestamps.tiles > 0 {
        fields.push(timestamps);
    }
    let ordering = if sorting.sorts { cells.saturating_mul(KEY_BYTES).saturating_add(largest) } else { 0 };
    let memory_bytes = result_bytes.saturating_add(ordering);
    let whole = chosen.iter().flatten().all(|candidate| candidate.whole);
    let exact = whole && !sorting.dedup && plan.array.deletes.is_empty();
    Ok(Explain { order: plan.order, fragments, fields, cells, exact, result_bytes, memory_bytes })
}
