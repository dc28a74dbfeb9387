//! Decodes tiles one by one, those of all columns side by side, where a query has regions for at
//! most half of the threads.
//!
//! One thread paints all tiles of a region, and one column after another is painted: in a row of a
//! few tiles, and in tiles of values of variable length, which are not cut, a second thread would
//! find nothing to do. What is decoded here is copied to its place once more, so this is for work
//! that takes long enough.

use tdb_codec::to_u64;
use tdb_schema::FieldKind;

use super::amount::of_part;
use super::begun::{Begun, KeptRoom, begin, parts_of};
use super::condition::{MatchField, Painted};
use super::overlay::Overlay;
use super::sources::{FieldSources, has_wanted};
use super::space::{Region, Space};
use super::split_wanted;
use crate::plan::{MOST_KEPT, Plan};
use crate::spec::ColumnSpec;
use crate::worker::Worker;
use crate::{Result, parallel};

/// The effort of filters from which on values of variable length are worth it, of which more than
/// their bytes must be moved.
const SLOW: u16 = 15;

/// A part of a space tile that a region takes.
struct TilePart {
    /// The number of the region.
    region: usize,
    part: Region,
    wanted: bool,
}

/// Decodes the columns that have regions for at most half of the threads, unless they are `begun`
/// already.
pub(super) fn decode(
    plan: &Plan,
    space: &Space,
    (regions, rows): (&[Region], &[Region]),
    overlays: &[Option<Overlay>],
    wanted: Option<&[u8]>,
    begun: &[Begun],
) -> Result<Vec<Begun>> {
    let context = plan.array.context();
    // There are never more rows than regions.
    let few_regions = |regions: &[Region]| regions.len() <= context.threads / 2;
    // A budget is planned for one tile a thread, not for those that wait for their turn to be
    // copied.
    let room = KeptRoom::of(plan);
    if !few_regions(rows) || !room.any() {
        return Ok(Vec::new());
    }
    let schema = plan.array.schema();
    let few = |kind: &&FieldKind| {
        let few = schema.field_of(**kind).is_some_and(|field| match field.cell_size() {
            Some(_) => few_regions(regions),
            None => field.filters.effort() >= SLOW,
        });
        few && matches!(kind, FieldKind::Attribute(_)) && !begun.iter().any(|begun| begun.kind == **kind)
    };
    let kinds: Vec<FieldKind> = plan.fields.iter().filter(few).copied().collect();
    // A field of a tile is decoded by one thread, or its chunks by several.
    if kinds.is_empty() || (kinds.len() < 2 && space.is_in_one_tile()) {
        return Ok(Vec::new());
    }
    let Some(tiles) = parts(space, rows, wanted) else { return Ok(Vec::new()) };
    // Such tiles are painted piece by piece, or refused, elsewhere.
    let sizes = kinds.iter().filter_map(|kind| schema.field_of(*kind)?.cell_size());
    let widest = sizes.max().unwrap_or(0).max(size_of::<u64>());
    let cells = tiles.iter().map(|tile| tile.part.cells()).max().unwrap_or(0);
    if to_u64(cells.saturating_mul(widest)) > MOST_KEPT.min(context.limits.tile_bytes) {
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
        let Some(field) = schema.field_of(kind) else { continue };
        let spec = ColumnSpec::new(schema, &field);
        let sources =
            FieldSources::open(context, plan.array.fragments(), overlays, space.query(), kind, &spec)?;
        fields.push(MatchField::new(kind, spec, sources));
    }
    let mut columns = begin(plan, fields.iter().map(|field| (field.kind, &field.spec)), space, rows)?;
    let mut slots = parts_of(&mut columns, rows);
    let jobs: Vec<(usize, usize)> =
        (0..fields.len()).flat_map(|field| (0..tiles.len()).map(move |tile| (field, tile))).collect();
    let paint = |(field, tile): (usize, usize), worker: &mut Worker| {
        let own = fields.get(field).zip(tiles.get(tile).filter(|tile| tile.wanted));
        let painted = own.map(|(own, tile)| own.paint(&plan.array, space, &tile.part, worker)).transpose()?;
        Ok((field, tile, painted))
    };
    let take = |(field, tile, mut painted): (usize, usize, Option<Painted>)| {
        let Some(TilePart { region, part, .. }) = tiles.get(tile) else { return Ok(()) };
        let own = slots.get_mut(*region).into_iter().flatten().find(|slot| slot.field == field);
        if let Some((own, row)) = own.zip(rows.get(*region)) {
            let copied = own.take(&room, &row.map_of_part(part), &mut painted, true)?;
            context.counters.copied(copied);
        }
        Ok(())
    };
    let workers = Worker::sharing(context.threads, jobs.len());
    parallel::run_in_order(context.threads, jobs.into_iter(), workers, paint, take)?;
    Ok(columns)
}

/// With more tiles than this, a list of them takes too much memory, and there is enough to do for
/// each thread without it.
const MOST_TILES: usize = 1 << 12;

/// The parts of all space tiles of some regions, in their order; `None` if there are too many.
fn parts(space: &Space, rows: &[Region], wanted: Option<&[u8]>) -> Option<Vec<TilePart>> {
    let mut parts = Vec::new();
    for (region, (row, wanted)) in rows.iter().zip(split_wanted(wanted, rows)).enumerate() {
        let all: core::result::Result<(), ()> = space.for_each_tile(row, |_, _, bounds| {
            let part = row.part(&bounds, space.order).filter(|_| parts.len() < MOST_TILES);
            let Some(part) = part else { return Err(()) };
            parts.push(TilePart { region, part, wanted: has_wanted(row, &bounds, wanted) });
            Ok(())
        });
        all.ok()?;
    }
    Some(parts)
}
