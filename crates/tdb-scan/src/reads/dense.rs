//! Lists what a query of a dense array reads.

use tdb_codec::to_u64;
use tdb_predicate::{Columns, Verdict};
use tdb_schema::FieldKind;

use super::{Chunks, FieldReads, FragmentPlan, Outcome, Purpose, ReadPlan, column_bytes, requested};
use crate::decode_buffers::PooledBuffers;
use crate::dense::boxes::Box;
use crate::dense::condition::{Lacking, Matcher};
use crate::dense::region::Region;
use crate::dense::{FieldSources, Overlay, Space, fragment_box, intersect};
use crate::plan::Plan;
use crate::spec::ColumnSpec;
use crate::{OrInternal, Result};

/// A layer of a space tile that belongs to no fragment of the array.
const NO_FRAGMENT: &str = "a layer lacks its fragment";

/// A field of the result and its tiles in all fragments.
struct ResultField<'a> {
    kind: FieldKind,
    spec: ColumnSpec,
    sources: FieldSources<'a>,
    reads: FieldReads,
    /// Bytes of values of variable length.
    values: u64,
    /// The number of tiles that are read of each fragment.
    tiles: Vec<u64>,
}

/// The reads of a query, while space tiles are added one after the other.
struct DenseReads<'a> {
    plan: &'a Plan,
    space: &'a Space,
    matcher: Option<Matcher<'a>>,
    /// The fields of the result.
    fields: Vec<ResultField<'a>>,
    /// The fields that the condition looks at, in its order.
    conditioned: Vec<FieldReads>,
    /// The number of tiles of each fragment in which no cell satisfies the condition.
    ruled_out: Vec<u64>,
}

/// Lists what a query reads. Ranges of bytes are recorded only if `locates`.
pub(super) fn read_plan(plan: &Plan, locates: bool) -> Result<ReadPlan> {
    let space = Space::new(plan)?;
    // Cells of sparse fragments are not looked up, so their tiles are not counted.
    let overlays: Vec<Option<Overlay>> =
        plan.array.fragments().iter().map(|fragment| (!fragment.is_dense()).then(Overlay::default)).collect();
    let mut reads = DenseReads::new(plan, &space, &overlays, locates)?;
    let domains = plan.array.fragments().iter().map(|fragment| fragment_box(fragment));
    let domains = domains.collect::<Result<Vec<_>>>()?;
    // Rows without cells of any fragment are passed over: a domain may have more tiles than can be
    // visited.
    let has_cells =
        |region: &&Region| domains.iter().flatten().any(|domain| intersect(domain, &region.bounds).is_some());
    let mut buffers = PooledBuffers::default();
    for region in space.rows()?.iter().filter(has_cells) {
        space.for_each_tile(region, |index, _, bounds| {
            reads.add_space_tile(index, &region.part(&bounds, space.order)?, &mut buffers)
        })?;
    }
    reads.finish(&domains)
}

impl<'a> DenseReads<'a> {
    fn new(plan: &'a Plan, space: &'a Space, overlays: &'a [Option<Overlay>], locates: bool) -> Result<Self> {
        let (context, fragments) = (plan.array.context(), plan.array.fragments());
        let open = |(kind, spec): (FieldKind, ColumnSpec)| {
            let sources = match kind {
                FieldKind::Attribute(_) => {
                    FieldSources::open(context, fragments, overlays, space.query(), kind, &spec)?
                }
                FieldKind::Dimension(_) => FieldSources::default(),
            };
            let reads = FieldReads::new(&spec.name, Purpose::Result, locates);
            Ok(ResultField { kind, spec, sources, reads, values: 0, tiles: vec![0; fragments.len()] })
        };
        let fields = requested(plan).map(open).collect::<Result<_>>()?;
        let open = |program| Matcher::open(plan, program, space, overlays, Lacking::Fails);
        let matcher = plan.condition.as_ref().map(open).transpose()?;
        let conditioned = plan.condition.iter().flat_map(|program| &program.fields);
        let conditioned =
            conditioned.map(|field| FieldReads::new(&field.spec.name, Purpose::Condition, locates)).collect();
        Ok(Self { plan, space, matcher, fields, conditioned, ruled_out: vec![0; fragments.len()] })
    }

    /// Adds what is read of a part of a space tile.
    fn add_space_tile(&mut self, index: &[u64], part: &Region, buffers: &mut PooledBuffers) -> Result<()> {
        let (verdict, conditioned) = self.add_condition(index, part, buffers)?;
        let (plan, space) = (self.plan, self.space);
        let mut hidden = vec![false; self.ruled_out.len()];
        for field in &mut self.fields {
            let ResultField { kind, spec, sources, reads, values, tiles } = field;
            let of = (*kind, &*spec, &*sources);
            if verdict == Verdict::None {
                layers(plan, space, part, of, None, |fragment, _| {
                    *hidden.get_mut(fragment).or_internal(NO_FRAGMENT)? = true;
                    Ok(())
                })?;
                continue;
            }
            // The condition decodes directly into the column, unless the field is of variable
            // length.
            let again = conditioned.contains(kind);
            let in_place = again && spec.cell_size.is_some();
            let before = reads.plan.tiles;
            layers(plan, space, part, of, (!in_place).then_some(&mut *reads), |fragment, bytes| {
                *values = values.saturating_add(bytes);
                let count = tiles.get_mut(fragment).or_internal(NO_FRAGMENT)?;
                *count = count.saturating_add(1);
                Ok(())
            })?;
            if again {
                reads.plan.again = reads.plan.again.saturating_add(reads.plan.tiles.saturating_sub(before));
            }
        }
        for (sum, hidden) in self.ruled_out.iter_mut().zip(hidden) {
            *sum = sum.saturating_add(u64::from(hidden));
        }
        Ok(())
    }

    /// Adds what the condition looks at in a part of a space tile. Returns what statistics say of
    /// the part, and which fields the condition decodes.
    fn add_condition(
        &mut self,
        index: &[u64],
        part: &Region,
        buffers: &mut PooledBuffers,
    ) -> Result<(Verdict, Vec<FieldKind>)> {
        let Some(matcher) = &self.matcher else { return Ok((Verdict::All, Vec::new())) };
        let columns = matcher.columns(index, part, buffers);
        let facts = |field: usize| columns.facts(field);
        let mut decoded = Vec::new();
        for field in matcher.program.undecided(0, &facts) {
            let own = matcher.fields.get(field).zip(self.conditioned.get_mut(field));
            let (own, reads) = own.or_internal("a condition lacks one of its fields")?;
            decoded.push(own.kind);
            let of = (own.kind, &own.spec, &own.sources);
            layers(self.plan, self.space, part, of, Some(reads), |_, _| Ok(()))?;
        }
        Ok((matcher.program.verdict(0, &facts), decoded))
    }

    /// The list, after all space tiles were added. `domains` are those of the fragments.
    fn finish(self, domains: &[Option<Box>]) -> Result<ReadPlan> {
        let (cells, _) = self.space.result();
        let cells = to_u64(cells);
        let (mut result_bytes, mut largest, mut exact) = (0u64, 0u64, self.plan.condition.is_none());
        let mut tiles = vec![0u64; domains.len()];
        let mut fields = Vec::with_capacity(self.fields.len());
        for field in self.fields {
            for (max, count) in tiles.iter_mut().zip(&field.tiles) {
                *max = (*max).max(*count);
            }
            exact &= field.spec.cell_size.is_some();
            let bytes = column_bytes(&field.spec, cells, field.values);
            (result_bytes, largest) = (result_bytes.saturating_add(bytes), largest.max(bytes));
            fields.push(field.reads);
        }
        fields.extend(self.conditioned.into_iter().filter(|field| field.plan.tiles > 0));
        let mut fragments = Vec::with_capacity(domains.len());
        let counts = tiles.into_iter().zip(self.ruled_out).zip(domains);
        for (fragment, ((tiles, ruled_out), domain)) in self.plan.array.fragments().iter().zip(counts) {
            let inside = domain.as_ref().is_some_and(|own| intersect(own, self.space.query()).is_some());
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
        // An arrangement holds the largest column twice.
        let twice = if self.space.arrangement().is_some() { largest } else { 0 };
        let memory_bytes = result_bytes.saturating_add(twice);
        Ok(ReadPlan { fragments, fields, cells, matching: None, exact, result_bytes, memory_bytes })
    }
}

/// Visits everything that painting a part of a space tile reads of a field: the number of each
/// fragment, and the bytes of its values of variable length. Adds it to `planned`, if there is one.
fn layers(
    plan: &Plan,
    space: &Space,
    part: &Region,
    (kind, spec, sources): (FieldKind, &ColumnSpec, &FieldSources<'_>),
    mut planned: Option<&mut FieldReads>,
    mut visit: impl FnMut(usize, u64) -> Result<()>,
) -> Result<()> {
    let context = plan.array.context();
    sources.for_each_layer(space, part, |fragment, tiles, tile| {
        visit(fragment, tile.map_or(0, |tile| tiles.var_size(tile)))?;
        let own = plan.array.fragments().get(fragment);
        let own = own.and_then(|own| Some(Chunks::of(own, spec.own_field(own.schema(), kind)?)));
        match (tile, own, &mut planned) {
            (Some(tile), Some(chunks), Some(planned)) => {
                planned.add_tile(context, (tiles, chunks), tile, to_u64(space.tile_cells))
            }
            _ => Ok(()),
        }
    })
}
