//! Lists what a query of a sparse array reads.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use tdb_codec::to_u64;
use tdb_predicate::Program;
use tdb_schema::FieldKind;

use super::{Chunks, FieldReads, FragmentPlan, Outcome, Purpose, ReadPlan, column_bytes, requested};
use crate::budget::MemoryBudget;
use crate::condition::Sources;
use crate::context::Context;
use crate::fragment::Fragment;
use crate::plan::{CACHED_COLUMN_BYTES, MAX_CACHED_BYTES, Plan, TIMESTAMPS};
use crate::sparse::candidate::{is_compared, matching};
use crate::sparse::deletes::{DeleteFields, applies, stored_program};
use crate::sparse::filter::Filter;
use crate::sparse::versions::meeting;
use crate::sparse::{Candidate, Sorting, candidates};
use crate::spec::ColumnSpec;
use crate::tile_id::TileId;
use crate::tiles::FieldTiles;
use crate::{Error, Result};

/// The name of the times at which consolidation found cells deleted.
const DELETE_TIMESTAMPS: &str = "__delete_timestamps";
/// Bytes of the key and the number of a cell that is sorted.
const KEY_BYTES: u64 = 16;

/// The tiles of a query.
struct Tiles {
    /// Those whose cells may be in the result.
    matching: Vec<Candidate>,
    /// If a condition is applied before older versions of cells are searched for: the tiles that
    /// may contain such versions; otherwise empty.
    versions: Vec<Candidate>,
}

impl Tiles {
    /// The tiles that cells are taken from.
    fn taken(&self, sorting: Sorting, conditioned: bool) -> &[Candidate] {
        if sorting.dedup && conditioned { &self.versions } else { &self.matching }
    }
}

/// Tiles whose cells were already looked at, by field.
type Looked = HashMap<FieldKind, HashSet<TileId>>;

/// A field of the result.
struct Column<'t> {
    kind: FieldKind,
    spec: ColumnSpec,
    field: FieldReads,
    /// Tiles of the field that were already looked at.
    looked_at: Vec<&'t Candidate>,
}

pub(super) fn read_plan(plan: &Plan, locates: bool, memory: Option<MemoryBudget>) -> Result<ReadPlan> {
    let context = plan.array.context();
    let sorting = Sorting::of(plan);
    let sources =
        plan.condition.as_ref().map(|program| Sources::new(context, program, plan.array.fragments()));
    let (tiles, fragments) = tiles(plan, sorting, sources.as_ref())?;
    let taken = tiles.taken(sorting, sources.is_some());
    let mut looked = Looked::new();
    let mut conditioned = Vec::new();
    if let Some(sources) = &sources {
        conditioned = conditions(plan, sources, &tiles.matching, &mut looked, locates)?;
    }
    let mut searched = searches(plan, sorting, &tiles, &mut looked, locates)?;
    let mut deleted = deletes(plan, taken, &mut looked, locates)?;
    let cells = tiles.matching.iter().fold(0, |sum: u64, tile| sum.saturating_add(to_u64(tile.tile_cells)));
    let (mut result_bytes, mut largest) = (0u64, 0u64);
    let mut columns = Vec::new();
    for (kind, spec) in requested(plan) {
        let mut field = FieldReads::new(&spec.name, Purpose::Result, locates);
        let of = own_field(plan, &spec, kind);
        let was_looked_at =
            |tile: &&Candidate| looked.get(&kind).is_some_and(|tiles| tiles.contains(&tile.id));
        let (looked_at, others): (Vec<_>, Vec<_>) = taken.iter().partition(was_looked_at);
        let mut values = read(plan, &mut field, others, &of)?;
        values =
            values.saturating_add(read(plan, &mut FieldReads::default(), looked_at.iter().copied(), &of)?);
        let bytes = column_bytes(&spec, cells, values);
        (result_bytes, largest) = (result_bytes.saturating_add(bytes), largest.max(bytes));
        // Coordinates that were decoded for the order are still available.
        let at_hand = sorting.sorts && matches!(kind, FieldKind::Dimension(_));
        let looked_at = if at_hand { Vec::new() } else { looked_at };
        drop(of);
        columns.push(Column { kind, spec, field, looked_at });
    }
    let ordering = if sorting.sorts { cells.saturating_mul(KEY_BYTES).saturating_add(largest) } else { 0 };
    let memory_bytes = result_bytes.saturating_add(ordering);
    // The part of a budget that is not needed for the result is used to keep decoded tiles.
    let max = memory.map(|memory| (memory.bytes() / 4).saturating_mul(3).saturating_sub(memory_bytes));
    let mut fields = decoded_again(plan, columns, max.unwrap_or(MAX_CACHED_BYTES))?;
    fields.append(&mut conditioned);
    fields.append(&mut searched);
    fields.append(&mut deleted);
    fields.retain(|field| field.plan.purpose == Purpose::Result || field.plan.tiles > 0);
    let whole = tiles.matching.iter().all(|tile| tile.whole);
    let exact = whole && !sorting.dedup && !applies(plan) && plan.condition.is_none();
    let matching = sources.as_ref().map(|sources| matching(sources, &tiles.matching)).transpose()?.flatten();
    Ok(ReadPlan { fragments, fields, cells, matching, exact, result_bytes, memory_bytes })
}

/// The tiles that the condition looks at, field by field.
fn conditions(
    plan: &Plan,
    sources: &Sources<'_>,
    tiles: &[Candidate],
    looked: &mut Looked,
    locates: bool,
) -> Result<Vec<FieldReads>> {
    let fields = |tile: &Candidate| sources.undecided(0, tile.id, tile.tile_cells);
    let looked_at = by_field(sources.program, tiles, fields)?;
    looks(plan, sources.program, looked_at, looked, (Purpose::Condition, locates))
}

/// The tiles that deletes look at, field by field, and the times of deletion that consolidation
/// stored.
fn deletes(plan: &Plan, tiles: &[Candidate], looked: &mut Looked, locates: bool) -> Result<Vec<FieldReads>> {
    if !applies(plan) {
        return Ok(Vec::new());
    }
    let context = plan.array.context();
    let program = stored_program(&plan.array)?;
    let sources = Sources::new(context, &program, plan.array.fragments());
    let all = DeleteFields::new(&plan.array, &sources)?;
    let fields = |tile: &Candidate| Ok(all.fields(tile.id, tile.tile_cells)?.into_iter().collect());
    let looked_at = by_field(&program, tiles, fields)?;
    let mut fields = looks(plan, &program, looked_at, looked, (Purpose::Delete, locates))?;
    let field = FieldReads::new(DELETE_TIMESTAMPS, Purpose::Delete, locates);
    fields.push(system(plan, tiles, field, FieldTiles::delete_timestamps)?);
    Ok(fields)
}

/// For each field of a program, the tiles for which `fields` names it.
fn by_field<'t>(
    program: &Program,
    tiles: &'t [Candidate],
    fields: impl Fn(&Candidate) -> Result<Vec<usize>>,
) -> Result<Vec<Vec<&'t Candidate>>> {
    let mut looked_at = vec![Vec::new(); program.fields.len()];
    for tile in tiles {
        for field in fields(tile)? {
            looked_at.get_mut(field).into_iter().for_each(|list| list.push(tile));
        }
    }
    Ok(looked_at)
}

/// The plans of a program's fields, each with the tiles that it is looked at in.
fn looks(
    plan: &Plan,
    program: &Program,
    looked_at: Vec<Vec<&Candidate>>,
    looked: &mut Looked,
    (purpose, locates): (Purpose, bool),
) -> Result<Vec<FieldReads>> {
    let fields = program.fields.iter().zip(looked_at).map(|(field, tiles)| {
        let mut planned = FieldReads::new(&field.spec.name, purpose, locates);
        looked.entry(field.kind).or_default().extend(tiles.iter().map(|tile| tile.id));
        read(plan, &mut planned, tiles, own_field(plan, &field.spec, field.kind))?;
        Ok(planned)
    });
    fields.collect()
}

/// The tiles that are also needed to find and order cells.
fn searches(
    plan: &Plan,
    sorting: Sorting,
    tiles: &Tiles,
    looked: &mut Looked,
    locates: bool,
) -> Result<Vec<FieldReads>> {
    let mut fields = Vec::new();
    for (index, dimension) in plan.array.schema().domain.dimensions.iter().enumerate() {
        let mut field = FieldReads::new(&dimension.name, Purpose::Search, locates);
        let kind = FieldKind::Dimension(index);
        let looked = looked.entry(kind).or_default();
        // A tile that is looked at a second time was kept.
        let compared = plan.ranges.get(index).is_some_and(|set| is_compared(&plan.scope, set));
        let looks = |tile: &Candidate| sorting.sorts || (!tile.whole && compared);
        let fresh = |tile: &&Candidate| looks(tile) && looked.insert(tile.id);
        let all: Vec<&Candidate> = tiles.matching.iter().chain(&tiles.versions).filter(fresh).collect();
        read(plan, &mut field, all, |_| Some(kind))?;
        fields.push(field);
    }
    // Wherever fragments have them.
    let field = FieldReads::new(TIMESTAMPS, Purpose::Search, locates);
    let all = tiles.matching.iter().chain(&tiles.versions);
    fields.push(system(plan, all, field, FieldTiles::timestamps)?);
    Ok(fields)
}

/// The field in each fragment's schema that a column is read from.
fn own_field<'p>(
    plan: &'p Plan,
    spec: &'p ColumnSpec,
    kind: FieldKind,
) -> impl Fn(usize) -> Option<FieldKind> + use<'p> {
    move |fragment| spec.own_field(plan.array.fragments().get(fragment)?.schema(), kind)
}

/// The plans of columns, including the tiles that must be decoded again because `max` bytes are not
/// enough to keep them after they are first looked at.
fn decoded_again(plan: &Plan, columns: Vec<Column<'_>>, max: u64) -> Result<Vec<FieldReads>> {
    let mut left = max;
    let fields = columns.into_iter().map(|Column { kind, spec, mut field, looked_at }| {
        let of = own_field(plan, &spec, kind);
        let mut again = Vec::new();
        let mut all = FieldReads::default();
        read(plan, &mut all, looked_at.iter().copied(), &of)?;
        let pieces = to_u64(looked_at.len()).saturating_mul(CACHED_COLUMN_BYTES);
        if let Some(rest) = left.checked_sub(all.plan.decoded.saturating_add(pieces)) {
            left = rest;
            return Ok(field);
        }
        for tile in looked_at {
            let mut one = FieldReads::default();
            read(plan, &mut one, [tile], &of)?;
            match left.checked_sub(one.plan.decoded.saturating_add(CACHED_COLUMN_BYTES)) {
                Some(rest) => left = rest,
                None => again.push(tile),
            }
        }
        field.plan.again = to_u64(again.len());
        read(plan, &mut field, again, of)?;
        Ok(field)
    });
    fields.collect()
}

/// The tiles of a query, and the outcome for each fragment.
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
        let matching: Vec<TileId> = tiles.matching.iter().map(|tile| tile.id).collect();
        let all = found.iter().flatten().cloned().collect();
        tiles.versions = if matching.is_empty() { Vec::new() } else { meeting(plan, &matching, all)? };
    }
    let taken: BTreeSet<TileId> =
        tiles.taken(sorting, condition.is_some()).iter().map(|tile| tile.id).collect();
    let plans = fragments.iter().zip(&found).map(|(fragment, in_ranges)| {
        let read = || in_ranges.iter().filter(|tile| taken.contains(&tile.id));
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

/// Adds tiles of a field to `planned`; `own` returns the field's kind in each fragment. Returns the
/// bytes of their values of variable length.
fn read<'t>(
    plan: &Plan,
    field: &mut FieldReads,
    tiles: impl IntoIterator<Item = &'t Candidate>,
    own: impl Fn(usize) -> Option<FieldKind>,
) -> Result<u64> {
    let context = plan.array.context();
    let mut values = 0u64;
    let mut opened: Option<(usize, Option<(FieldTiles, Chunks)>)> = None;
    for tile in tiles {
        let index = tile.id.fragment;
        if opened.as_ref().is_none_or(|(of, _)| *of != index) {
            let found = plan.array.fragments().get(index).zip(own(index)).map(|(fragment, kind)| {
                Ok::<_, Error>((FieldTiles::open(context, fragment, kind)?, Chunks::of(fragment, kind)))
            });
            opened = Some((index, found.transpose()?));
        }
        let Some((_, Some((tiles, chunks)))) = &opened else { continue };
        field.add_tile(context, (tiles, *chunks), tile.id.tile, to_u64(tile.tile_cells))?;
        values = values.saturating_add(tiles.var_size(tile.id.tile));
    }
    Ok(values)
}

/// Adds tiles of a system field, such as the timestamps of cells, of the fragments that have it.
fn system<'t>(
    plan: &Plan,
    tiles: impl IntoIterator<Item = &'t Candidate>,
    mut field: FieldReads,
    open: impl Fn(&Context, &Fragment) -> Result<Option<FieldTiles>>,
) -> Result<FieldReads> {
    let context = plan.array.context();
    let mut own: BTreeMap<usize, BTreeMap<usize, u64>> = BTreeMap::new();
    for tile in tiles {
        own.entry(tile.id.fragment).or_default().insert(tile.id.tile, to_u64(tile.tile_cells));
    }
    for (index, tiles) in own {
        let Some(fragment) = plan.array.fragments().get(index) else { continue };
        let Some(opened) = open(context, fragment)? else { continue };
        for (tile, cells) in tiles {
            field.add_tile(context, (&opened, Chunks::of_system(fragment)), tile, cells)?;
        }
    }
    Ok(field)
}
