//! Explains a query of a dense array.

use tdb_codec::to_u64;
use tdb_schema::FieldKind;

use super::{Chunks, Explain, FieldPlan, FragmentPlan, Outcome, Purpose, asked, column_bytes};
use crate::Result;
use crate::condition::{Columns, Verdict};
use crate::dense::condition::{Lacking, Matcher};
use crate::dense::space::Region;
use crate::dense::{FieldSources, Overlay, Space, fragment_box, intersect};
use crate::plan::Plan;
use crate::spec::ColumnSpec;
use crate::worker::Worker;

/// A field and its tiles in all fragments.
struct PlannedField<'a> {
    kind: FieldKind,
    spec: ColumnSpec,
    sources: FieldSources<'a>,
    plan: FieldPlan,
    /// Bytes of values of variable length.
    values: u64,
    /// The number of tiles that are read of each fragment.
    read: Vec<u64>,
}

pub(super) fn explain(plan: &Plan, fetched: bool) -> Result<Explain> {
    let context = plan.array.context();
    let array_fragments = plan.array.fragments();
    let space = Space::new(plan)?;
    // Cells of sparse fragments are not looked up, so their tiles are not counted.
    let overlays: Vec<Option<Overlay>> =
        array_fragments.iter().map(|fragment| (!fragment.is_dense()).then(Overlay::default)).collect();
    let mut fields = Vec::new();
    for (kind, spec) in asked(plan) {
        let sources = match kind {
            FieldKind::Attribute(_) => {
                FieldSources::open(context, array_fragments, &overlays, space.query(), kind, &spec)?
            }
            FieldKind::Dimension(_) => FieldSources::default(),
        };
        let plan = FieldPlan::new(&spec.name, Purpose::Result, fetched);
        fields.push(PlannedField {
            kind,
            spec,
            sources,
            plan,
            values: 0,
            read: vec![0; array_fragments.len()],
        });
    }
    let matcher = match &plan.condition {
        Some(program) => Some(Matcher::open(plan, program, &space, &overlays, Lacking::Fails)?),
        None => None,
    };
    let mut looked_at: Vec<FieldPlan> = Vec::new();
    for field in plan.condition.iter().flat_map(|program| &program.fields) {
        looked_at.push(FieldPlan::new(&field.spec.name, Purpose::Condition, fetched));
    }
    let mut ruled_out = vec![0u64; array_fragments.len()];
    let mut worker = Worker::default();
    // Where no fragment has cells, nothing is read: a domain may have more tiles than can be
    // visited.
    let domains = array_fragments.iter().map(|fragment| fragment_box(fragment));
    let domains = domains.collect::<Result<Vec<_>>>()?;
    let has_cells =
        |region: &&Region| domains.iter().flatten().any(|domain| intersect(domain, &region.bounds).is_some());
    for region in space.rows().iter().filter(has_cells) {
        space.for_each_tile(region, |index, _, bounds| -> Result<()> {
            let Some(part) = region.part(&bounds, space.order) else { return Ok(()) };
            let mut verdict = Verdict::All;
            let mut looked = Vec::new();
            if let Some(matcher) = &matcher {
                let columns = matcher.columns(index, &part, &mut worker);
                let facts = |field: usize| columns.facts(field);
                verdict = matcher.program.verdict(0, &facts);
                for field in matcher.program.undecided(0, &facts) {
                    let pair = matcher.fields.get(field).zip(looked_at.get_mut(field));
                    let Some((own, planned)) = pair else { continue };
                    looked.push(own.kind);
                    layers(
                        plan,
                        &space,
                        &part,
                        (own.kind, &own.spec, &own.sources),
                        Some(planned),
                        |_, _| (),
                    )?;
                }
            }
            let mut hidden = vec![0u64; array_fragments.len()];
            for field in &mut fields {
                let PlannedField { kind, spec, sources, plan: planned, values, read } = field;
                let of = (*kind, &*spec, &*sources);
                if verdict == Verdict::None {
                    layers(plan, &space, &part, of, None, |fragment, _| {
                        if let Some(slot) = hidden.get_mut(fragment) {
                            *slot = 1;
                        }
                    })?;
                    continue;
                }
                // What the condition decodes goes directly into the column, unless it is of
                // variable length.
                let again = looked.contains(kind);
                let there = again && spec.cell_size.is_some();
                let before = planned.tiles;
                layers(plan, &space, &part, of, (!there).then_some(&mut *planned), |fragment, bytes| {
                    *values = values.saturating_add(bytes);
                    if let Some(slot) = read.get_mut(fragment) {
                        *slot = slot.saturating_add(1);
                    }
                })?;
                if again {
                    planned.again = planned.again.saturating_add(planned.tiles.saturating_sub(before));
                }
            }
            ruled_out.iter_mut().zip(hidden).for_each(|(sum, more)| *sum = sum.saturating_add(more));
            Ok(())
        })?;
    }
    let (cells, _) = space.result();
    let (mut result_bytes, mut largest, mut exact) = (0u64, 0u64, plan.condition.is_none());
    let mut read = vec![0u64; array_fragments.len()];
    let mut plans = Vec::with_capacity(fields.len());
    for field in fields {
        for (max, count) in read.iter_mut().zip(&field.read) {
            *max = (*max).max(*count);
        }
        exact &= field.spec.cell_size.is_some();
        let bytes = column_bytes(&field.spec, to_u64(cells), field.values);
        (result_bytes, largest) = (result_bytes.saturating_add(bytes), largest.max(bytes));
        plans.push(field.plan);
    }
    plans.extend(looked_at.into_iter().filter(|field| field.tiles > 0));
    let mut fragments = Vec::new();
    let counts = read.into_iter().zip(ruled_out).zip(&domains);
    for (fragment, ((tiles, ruled_out), domain)) in array_fragments.iter().zip(counts) {
        let inside = domain.as_ref().is_some_and(|domain| intersect(domain, space.query()).is_some());
        let outcome = match (tiles, inside) {
            (0, false) => Outcome::OutsideRanges,
            (0, true) if ruled_out > 0 => Outcome::OutsideCondition,
            (0, true) => Outcome::Hidden,
            (tiles, _) => Outcome::Read { tiles, whole: tiles },
        };
        let all = if fragment.is_dense() {
            fragment.footer().tile_count(fragment.schema()).unwrap_or(0)
        } else {
            fragment.footer().sparse_tile_num
        };
        fragments.push(FragmentPlan::of(fragment, all, ruled_out, outcome));
    }
    let again = if space.arrangement().is_some() { largest } else { 0 };
    let memory_bytes = result_bytes.saturating_add(again);
    let cells = to_u64(cells);
    let (order, matching) = (space.order, None);
    Ok(Explain { order, fragments, fields: plans, cells, matching, exact, result_bytes, memory_bytes })
}

/// Visits everything that painting a part of a space tile reads of a field: the number of each
/// fragment, and the bytes of its values of variable length. Adds it to `planned`, if there is one.
fn layers(
    plan: &Plan,
    space: &Space,
    part: &Region,
    (kind, spec, sources): (FieldKind, &ColumnSpec, &FieldSources<'_>),
    mut planned: Option<&mut FieldPlan>,
    mut visit: impl FnMut(usize, u64),
) -> Result<()> {
    let context = plan.array.context();
    sources.for_each_layer(space, part, |fragment, tiles, tile| {
        visit(fragment, tile.map_or(0, |tile| tiles.var_size(tile)));
        let own = plan.array.fragments().get(fragment);
        let own = own.and_then(|own| Some(Chunks::of(own, spec.own_field(own.schema(), kind)?)));
        match (tile, own, &mut planned) {
            (Some(tile), Some(chunks), Some(planned)) => {
                planned.read(context, (tiles, chunks), tile, to_u64(space.tile_cells))
            }
            _ => Ok(()),
        }
    })
}
