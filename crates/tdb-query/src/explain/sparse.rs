//! What a query of a sparse array would do.

use std::collections::BTreeSet;

use tdb_codec::to_u64;
use tdb_schema::FieldKind;

use super::{Chunks, Explain, FieldPlan, FragmentPlan, Outcome, Purpose, asked, column_bytes};
use crate::condition::Sources;
use crate::plan::{Plan, TIMESTAMPS};
use crate::sparse::filter::{Filter, meeting};
use crate::sparse::{Candidate, Sorting, candidates};
use crate::tiles::FieldTiles;
use crate::{Error, Result};

/// Bytes of the key and the number of a cell that is sorted.
const KEY_BYTES: u64 = 16;

/// The tiles of a query.
struct Tiles {
    /// Those whose cells may be in the result.
    matching: Vec<Candidate>,
    /// Where a condition is asked before older versions of cells are looked for, those that may hold such versions; else none.
    versions: Vec<Candidate>,
}

impl Tiles {
    /// Those that cells are taken of.
    fn taken(&self, sorting: Sorting, conditioned: bool) -> &[Candidate] {
        if sorting.dedup && conditioned { &self.versions } else { &self.matching }
    }
}

pub(super) fn explain(plan: &Plan, fetched: bool) -> Result<Explain> {
    let context = plan.array.context();
    let schema = plan.array.schema();
    let sorting = Sorting::of(plan);
    let sources =
        plan.condition.as_ref().map(|program| Sources::new(context, program, plan.array.fragments()));
    let (tiles, fragments) = tiles(plan, sorting, sources.as_ref())?;
    let taken = tiles.taken(sorting, sources.is_some());
    let mut fields = Vec::new();
    let cells = tiles.matching.iter().fold(0, |sum: u64, tile| sum.saturating_add(to_u64(tile.tile_cells)));
    let (mut result_bytes, mut largest) = (0u64, 0u64);
    for (kind, spec) in asked(plan) {
        let mut field = FieldPlan::new(&spec.name, Purpose::Result, fetched);
        let mut values = 0u64;
        // Coordinates that ordering needs are at hand, unless they are strings.
        let at_hand = sorting.sorts && matches!(kind, FieldKind::Dimension(_)) && spec.cell_size.is_some();
        let of =
            |fragment: usize| plan.array.fragments().get(fragment).map(|f| spec.own_field(f.schema(), kind));
        if !at_hand {
            read(plan, &mut field, taken, |fragment| of(fragment).flatten(), &mut values)?;
        }
        let bytes = column_bytes(&spec, cells, values);
        (result_bytes, largest) = (result_bytes.saturating_add(bytes), largest.max(bytes));
        fields.push(field);
    }
    if let (Some(sources), Some(program)) = (&sources, &plan.condition) {
        let mut looked_at = vec![Vec::new(); program.fields.len()];
        for tile in &tiles.matching {
            for field in sources.undecided(0, tile.fragment, tile.tile, tile.tile_cells)? {
                looked_at.get_mut(field).into_iter().for_each(|list: &mut Vec<_>| list.push(tile.clone()));
            }
        }
        for (field, tiles) in program.fields.iter().zip(looked_at) {
            let mut planned = FieldPlan::new(&field.spec.name, Purpose::Condition, fetched);
            let of = |fragment: usize| {
                plan.array.fragments().get(fragment).map(|f| field.spec.own_field(f.schema(), field.kind))
            };
            read(plan, &mut planned, &tiles, |fragment| of(fragment).flatten(), &mut 0)?;
            fields.push(planned);
        }
    }
    for (index, dimension) in schema.domain.dimensions.iter().enumerate() {
        let mut field = FieldPlan::new(&dimension.name, Purpose::Search, fetched);
        let compared = |tile: &&Candidate| sorting.sorts || !tile.whole;
        let all: Vec<Candidate> =
            tiles.matching.iter().chain(&tiles.versions).filter(compared).cloned().collect();
        read(plan, &mut field, &all, |_| Some(FieldKind::Dimension(index)), &mut 0)?;
        fields.push(field);
    }
    fields.push(timestamps(plan, &tiles, fetched)?);
    fields.retain(|field| field.purpose == Purpose::Result || field.tiles > 0);
    let ordering = if sorting.sorts { cells.saturating_mul(KEY_BYTES).saturating_add(largest) } else { 0 };
    let memory_bytes = result_bytes.saturating_add(ordering);
    let whole = tiles.matching.iter().all(|tile| tile.whole);
    let exact = whole && !sorting.dedup && plan.array.deletes().is_empty() && plan.condition.is_none();
    Ok(Explain { order: plan.order, fragments, fields, cells, exact, result_bytes, memory_bytes })
}

/// The tiles of a query, and what becomes of each fragment.
fn tiles(
    plan: &Plan,
    sorting: Sorting,
    condition: Option<&Sources<'_>>,
) -> Result<(Tiles, Vec<FragmentPlan>)> {
    let fragments = plan.array.fragments();
    let mut found = Vec::with_capacity(fragments.len());
    for (index, fragment) in fragments.iter().enumerate() {
        found.push(candidates(plan, index, fragment)?);
    }
    let mut tiles = Tiles { matching: Vec::new(), versions: Vec::new() };
    for (index, in_ranges) in found.iter().enumerate() {
        let filter = condition.map_or(Filter::All, Filter::Matching);
        if !in_ranges.is_empty() && filter.takes_fragment(index)? {
            tiles.matching.append(&mut filter.keep_candidates(in_ranges.clone())?);
        }
    }
    if sorting.dedup && condition.is_some() {
        let matching: Vec<(usize, usize)> =
            tiles.matching.iter().map(|tile| (tile.fragment, tile.tile)).collect();
        let all = found.iter().flatten().cloned().collect();
        tiles.versions = if matching.is_empty() { Vec::new() } else { meeting(plan, &matching, all)? };
    }
    let taken: BTreeSet<(usize, usize)> =
        tiles.taken(sorting, condition.is_some()).iter().map(|tile| (tile.fragment, tile.tile)).collect();
    let plans = fragments.iter().zip(&found).map(|(fragment, in_ranges)| {
        let read = || in_ranges.iter().filter(|tile| taken.contains(&(tile.fragment, tile.tile)));
        let ruled_out = in_ranges.len().saturating_sub(read().count());
        let whole = to_u64(read().filter(|tile| tile.whole).count());
        let outcome = match (in_ranges.len(), to_u64(read().count())) {
            (0, _) => Outcome::OutsideRanges,
            (_, 0) => Outcome::OutsideCondition,
            (_, tiles) => Outcome::Read { tiles, whole },
        };
        FragmentPlan::of(fragment, fragment.footer().sparse_tile_num, to_u64(ruled_out), outcome)
    });
    let plans = plans.collect();
    Ok((tiles, plans))
}

/// Adds tiles of a field, of which `own` says what it is in each fragment, and the bytes of their values.
fn read(
    plan: &Plan,
    field: &mut FieldPlan,
    tiles: &[Candidate],
    own: impl Fn(usize) -> Option<FieldKind>,
    values: &mut u64,
) -> Result<()> {
    let context = plan.array.context();
    for of_fragment in tiles.chunk_by(|a, b| a.fragment == b.fragment) {
        let Some(index) = of_fragment.first().map(|tile| tile.fragment) else { continue };
        let (Some(fragment), Some(kind)) = (plan.array.fragments().get(index), own(index)) else { continue };
        let opened = (&FieldTiles::open(context, fragment, kind)?, Chunks::of(fragment, kind));
        for tile in of_fragment {
            field.read(context, opened, tile.tile, to_u64(tile.tile_cells))?;
            *values = values.saturating_add(opened.0.var_size(tile.tile));
        }
    }
    Ok(())
}

/// The timestamps of cells, which are looked at wherever fragments have them.
fn timestamps(plan: &Plan, tiles: &Tiles, fetched: bool) -> Result<FieldPlan, Error> {
    let context = plan.array.context();
    let mut field = FieldPlan::new(TIMESTAMPS, Purpose::Search, fetched);
    for (index, fragment) in plan.array.fragments().iter().enumerate() {
        let mut own =
            tiles.matching.iter().chain(&tiles.versions).filter(|tile| tile.fragment == index).peekable();
        if own.peek().is_none() {
            continue;
        }
        let Some(opened) = FieldTiles::timestamps(context, fragment)? else { continue };
        for tile in own {
            field.read(
                context,
                (&opened, Chunks::of_system(fragment)),
                tile.tile,
                to_u64(tile.tile_cells),
            )?;
        }
    }
    Ok(field)
}
