//! Decodes tiles one by one, those of all columns side by side, where a query has regions for at
//! most half of the threads.
//!
//! One thread paints all tiles of a region, and one column after another is painted: in a row of a
//! few tiles, and in tiles of values of variable length, which are not cut, a second thread would
//! find nothing to do. What is decoded here is copied to its place once more, so this is for work
//! that takes long enough.

use tdb_codec::to_u64;
use tdb_schema::FieldKind;

use super::condition::MatchField;
use super::decode_work::of_part;
use super::overlay::Overlay;
use super::paint::has_wanted;
use super::part_columns::Painted;
use super::partial_column::{KeptBudget, PartialColumn, new_columns, split_columns};
use super::region::{Region, split_wanted};
use super::sources::FieldSources;
use super::space::Space;
use crate::decode_buffers::PooledBuffers;
use crate::plan::{MAX_CACHED_BYTES, NO_FIELD, Plan};
use crate::spec::ColumnSpec;
use crate::{Error, OrInternal, Result, parallel};

/// A decoded tile belongs to no field or region.
const NO_JOB: &str = "a decoded tile lacks its field or its region";

/// The effort of filters from which on values of variable length are worth it, of which more than
/// their bytes must be moved.
const SLOW: u16 = 15;

/// A part of a space tile that a region takes.
struct RegionTile {
    /// The number of the region.
    region: usize,
    part: Region,
    wanted: bool,
}

/// Decodes the columns that have regions for at most half of the threads, unless some of their
/// tiles are decoded already (`partial`).
pub(super) fn decode(
    plan: &Plan,
    space: &Space,
    (regions, rows): (&[Region], &[Region]),
    overlays: &[Option<Overlay>],
    wanted: Option<&[u8]>,
    partial: &[PartialColumn],
) -> Result<Vec<PartialColumn>> {
    let context = plan.array.context();
    // There are never more rows than regions.
    let few_regions = |regions: &[Region]| regions.len() <= context.threads / 2;
    // A budget is planned for one tile a thread, not for those that wait for their turn to be
    // copied.
    let kept_budget = KeptBudget::of(plan);
    if !few_regions(rows) || !kept_budget.any() {
        return Ok(Vec::new());
    }
    let schema = plan.array.schema();
    let few = |kind: &&FieldKind| {
        let few = schema.field_of(**kind).is_some_and(|field| match field.cell_size() {
            Some(_) => few_regions(regions),
            None => field.filters.effort() >= SLOW,
        });
        few && matches!(kind, FieldKind::Attribute(_))
            && !partial.iter().any(|partial| partial.kind == **kind)
    };
    let kinds: Vec<FieldKind> = plan.fields.iter().filter(few).copied().collect();
    // A field of a tile is decoded by one thread, or its chunks by several.
    if kinds.is_empty() || (kinds.len() < 2 && space.is_in_one_tile()) {
        return Ok(Vec::new());
    }
    let Some(tiles) = parts(space, rows, wanted)? else { return Ok(Vec::new()) };
    // Such tiles are painted piece by piece, or refused, elsewhere.
    let sizes = kinds.iter().filter_map(|kind| schema.field_of(*kind)?.cell_size());
    let widest = sizes.max().unwrap_or(0).max(size_of::<u64>());
    let cells = tiles.iter().map(|tile| tile.part.cells()).max().unwrap_or(0);
    if to_u64(cells.saturating_mul(widest)) > MAX_CACHED_BYTES.min(context.limits.tile_bytes) {
        return Ok(Vec::new());
    }
    let amounts = kinds.iter().filter_map(|kind| schema.field_of(*kind)).flat_map(|field| {
        let wanted = tiles.iter().filter(|tile| tile.wanted);
        wanted.map(move |tile| of_part(plan, space, &field, &tile.part.bounds).1)
    });
    if !parallel::can_be_shared(amounts) {
        return Ok(Vec::new());
    }
    let mut fields = Vec::with_capacity(kinds.len());
    for kind in kinds {
        let field = schema.field_of(kind).or_internal(NO_FIELD)?;
        let spec = ColumnSpec::new(schema, &field);
        let sources =
            FieldSources::open(context, plan.array.fragments(), overlays, space.query(), kind, &spec)?;
        fields.push(MatchField::new(kind, spec, sources));
    }
    let mut columns = new_columns(plan, fields.iter().map(|field| (field.kind, &field.spec)), space, rows)?;
    let mut slots = split_columns(&mut columns, rows)?;
    let jobs: Vec<(usize, usize)> =
        (0..fields.len()).flat_map(|field| (0..tiles.len()).map(move |tile| (field, tile))).collect();
    let paint = |(field, tile): (usize, usize), buffers: &mut PooledBuffers| {
        let (own, of) = fields.get(field).zip(tiles.get(tile)).or_internal(NO_JOB)?;
        let paint = |buffers| own.paint(&plan.array, space, &of.part, buffers);
        let painted = of.wanted.then(|| paint(buffers)).transpose()?;
        Ok((field, tile, painted))
    };
    let take = |(field, tile, mut painted): (usize, usize, Option<Painted>)| {
        let RegionTile { region, part, .. } = tiles.get(tile).or_internal(NO_JOB)?;
        let own = slots.get_mut(*region).into_iter().flatten().find(|slot| slot.field == field);
        let (own, row) = own.zip(rows.get(*region)).or_internal(NO_JOB)?;
        let copied = own.take(&kept_budget, &row.map_of_part(part), &mut painted, true)?;
        context.counters.copied(copied);
        Ok(())
    };
    let pool = PooledBuffers::sharing(context.threads, jobs.len());
    parallel::run_in_order(context.threads, jobs.into_iter(), pool, paint, take)?;
    Ok(columns)
}

/// With more tiles than this, a list of them takes too much memory, and there is enough to do for
/// each thread without it.
const MAX_TILES: usize = 1 << 12;

/// The parts of all space tiles of some regions, in their order; `None` if there are too many.
fn parts(space: &Space, rows: &[Region], wanted: Option<&[u8]>) -> Result<Option<Vec<RegionTile>>> {
    let mut parts = Vec::new();
    for (region, (row, wanted)) in rows.iter().zip(split_wanted(wanted, rows)?).enumerate() {
        let all: Result<(), Option<Error>> = space.for_each_tile(row, |_, _, bounds| {
            if parts.len() >= MAX_TILES {
                return Err(None);
            }
            let part = row.part(&bounds, space.order).map_err(Some)?;
            let wanted = has_wanted(row, &bounds, wanted).map_err(Some)?;
            parts.push(RegionTile { region, part, wanted });
            Ok(())
        });
        match all {
            Ok(()) => {}
            Err(None) => return Ok(None),
            Err(Some(error)) => return Err(error),
        }
    }
    Ok(Some(parts))
}
