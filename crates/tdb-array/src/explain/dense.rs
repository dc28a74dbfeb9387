//! What a query of a dense array would do.

use tdb_codec::to_u64;
use tdb_schema::FieldKind;

use super::{Explain, FieldPlan, FragmentPlan, Outcome, asked, column_bytes};
use crate::Result;
use crate::dense::{FieldSources, Overlay, Space, domain_box, intersect};
use crate::query::Plan;

pub(super) fn explain(plan: &Plan<'_>) -> Result<Explain> {
    let context = &plan.array.context;
    let schema = plan.array.schema();
    let space = Space::new(plan)?;
    let regions = space.regions(1);
    // Cells of sparse fragments are not looked up: their tiles are not counted.
    let overlays: Vec<Option<Overlay>> =
        plan.array.fragments.iter().map(|fragment| (!fragment.is_dense()).then(Overlay::default)).collect();
    let mut read = vec![0u64; plan.array.fragments.len()];
    let mut fields = Vec::new();
    let (cells, _) = space.result();
    let (mut result_bytes, mut largest, mut exact) = (0u64, 0u64, true);
    for (kind, spec) in asked(plan) {
        let mut field = FieldPlan::new(&spec.name, true);
        let (mut values, mut of_field) = (0u64, vec![0u64; read.len()]);
        if let FieldKind::Attribute(_) = kind {
            let fragments = &plan.array.fragments;
            let sources = FieldSources::open(context, fragments, &overlays, space.query(), kind, &spec)?;
            for region in &regions {
                sources.for_each_layer(&space, region, |fragment, tiles, tile| {
                    if let Some(count) = of_field.get_mut(fragment) {
                        *count = count.saturating_add(1);
                    }
                    let Some(tile) = tile else { return Ok(()) };
                    values = values.saturating_add(tiles.var_size(tile));
                    field.read(context, tiles, tile)
                })?;
            }
        }
        for (most, count) in read.iter_mut().zip(of_field) {
            *most = count.max(*most);
        }
        exact &= spec.cell_size.is_some();
        let bytes = column_bytes(&spec, to_u64(cells), values);
        (result_bytes, largest) = (result_bytes.saturating_add(bytes), largest.max(bytes));
        fields.push(field);
    }
    let mut fragments = Vec::new();
    for (fragment, tiles) in plan.array.fragments.iter().zip(read) {
        let domain =
            fragment.non_empty_domain().and_then(|domain| domain_box(&schema.domain.dimensions, domain));
        let inside = domain.is_some_and(|domain| intersect(&domain, space.query()).is_some());
        let outcome = match (tiles, inside) {
            (0, false) => Outcome::OutsideRanges,
            (0, true) => Outcome::Hidden,
            (tiles, _) => Outcome::Read { tiles, whole: tiles },
        };
        let all = if fragment.is_dense() {
            fragment.footer().tile_count(fragment.schema()).unwrap_or(0)
        } else {
            fragment.footer().sparse_tile_num
        };
        fragments.push(FragmentPlan::of(fragment, all, outcome));
    }
    let again = if space.arrangement().is_some() { largest } else { 0 };
    let memory_bytes = result_bytes.saturating_add(again);
    let cells = to_u64(cells);
    Ok(Explain { order: space.order, fragments, fields, cells, exact, result_bytes, memory_bytes })
}
