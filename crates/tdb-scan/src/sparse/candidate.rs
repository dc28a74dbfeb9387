//! Finds the tiles that may have cells that a query wants, by metadata alone.

use tdb_codec::{to_u64, to_usize};
use tdb_fragment::Mbr;
use tdb_schema::{ArraySchema, FieldKind, Range};

use super::filter::Filter;
use crate::batch_scope::BatchScope;
use crate::condition::Sources;
use crate::fragment::Fragment;
use crate::overlap::OverlappingFragments;
use crate::plan::Plan;
use crate::ranges::RangeSet;
use crate::tiles::FieldTiles;
use crate::{Error, Result, parallel};

/// A tile whose MBR overlaps the query.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The number of the fragment in the snapshot.
    pub fragment: usize,
    /// The number of the tile in the fragment.
    pub tile: usize,
    /// The number of cells in the tile.
    pub tile_cells: usize,
    /// Whether all its cells that are wanted are known, or all are in the ranges and in the window,
    /// so that their coordinates need not be looked at.
    pub whole: bool,
}

/// The tiles that may contain wanted cells, by metadata alone: fragments oldest first, tiles in
/// file order.
pub fn all_candidates(plan: &Plan, filter: Filter<'_>) -> Result<Vec<Candidate>> {
    let fragments: Vec<usize> = (0..plan.array.fragments().len()).collect();
    let found = parallel::filter_map(plan.array.context().threads, &fragments, |index| {
        let found = candidates_of(plan, *index, filter)?;
        Ok((!found.is_empty()).then_some(found))
    })?;
    Ok(found.into_iter().flatten().collect())
}

/// The tiles of one fragment that may contain wanted cells.
pub fn candidates_of(plan: &Plan, index: usize, filter: Filter<'_>) -> Result<Vec<Candidate>> {
    let fragment = plan.fragment(index)?;
    if !plan.meets(fragment) || !filter.takes_fragment(index)? {
        return Ok(Vec::new());
    }
    filter.keep_candidates(candidates(plan, index, fragment)?)
}

/// Whether cells of a fragment must be compared with the time window one by one.
pub fn filters_time(plan: &Plan, fragment: &Fragment) -> bool {
    fragment.footer().has_timestamps && !plan.array.window().contains(fragment.timestamps())
}

/// The tiles of a fragment that may contain cells of the query, in file order.
pub fn candidates(plan: &Plan, index: usize, fragment: &Fragment) -> Result<Vec<Candidate>> {
    let context = plan.array.context();
    if fragment.is_dense() {
        let path = context.describe(fragment.metadata_key());
        let detail = "a dense fragment in a sparse array";
        return Err(Error::inconsistent(path, "dense", fragment.footer().offset, detail));
    }
    let mut candidates = Vec::new();
    if !plan.scope.has_fragment(index) {
        return Ok(candidates);
    }
    // Only the coordinates show which cells of a tile are in a range of keys.
    let looks = filters_time(plan, fragment) || plan.scope.key_range.is_some();
    let dimensions = &plan.array.schema().domain.dimensions;
    let unbounded = plan.ranges.iter().all(RangeSet::is_all);
    if unbounded {
        let tiles = fragment.footer().sparse_tile_num;
        // The list of offsets limits the count by real bytes before anything is pushed.
        let max = FieldTiles::open(context, fragment, FieldKind::Dimension(0))?.tile_count();
        let tiles = to_usize(tiles).filter(|tiles| *tiles <= max).ok_or_else(|| {
            let detail = format!("{tiles} tiles, but only {max} offsets");
            let path = context.describe(fragment.metadata_key());
            Error::inconsistent(path, "sparse tile num", fragment.footer().offset, detail)
        })?;
        for tile in (0..tiles).filter(|tile| plan.has_tile(index, *tile)) {
            let tile_cells = fragment.tile_cells(context, tile)?;
            let whole = !looks || plan.is_decided(index, tile);
            candidates.push(Candidate { fragment: index, tile, tile_cells, whole });
        }
        return Ok(candidates);
    }
    let overlaps = |dimension: usize, low: &[u8], high: &[u8]| {
        let set = plan.ranges.get(dimension).zip(dimensions.get(dimension));
        set.is_none_or(|(set, dimension)| set.overlaps(dimension, low, high))
    };
    if !plan.meets(fragment) {
        return Ok(candidates);
    }
    let tree = fragment.rtree(context)?;
    for tile in tree.search(overlaps).into_iter().filter(|tile| plan.has_tile(index, *tile)) {
        let inside = tree.leaf(tile).is_some_and(|mbr| lies_inside(plan, mbr.ranges()));
        let whole = (inside && !looks) || plan.is_decided(index, tile);
        let tile_cells = fragment.tile_cells(context, tile)?;
        candidates.push(Candidate { fragment: index, tile, tile_cells, whole });
    }
    Ok(candidates)
}

/// Whether a box (one interval per dimension) is inside the ranges.
pub fn lies_inside<'r>(plan: &Plan, intervals: impl Iterator<Item = (&'r [u8], &'r [u8])>) -> bool {
    let sets = plan.ranges.iter().zip(&plan.array.schema().domain.dimensions);
    intervals.zip(sets).all(|((low, high), (set, dimension))| set.covers(dimension, low, high))
}

/// The tiles of a fragment that may have cells with the coordinates of some in `mbr`.
pub(crate) fn tiles_meeting(plan: &Plan, mbr: &Mbr<'_>, fragment: &Fragment) -> Result<Vec<usize>> {
    let dimensions = &plan.array.schema().domain.dimensions;
    let overlaps = |dimension: usize, low: &[u8], high: &[u8]| {
        let (Some(d), Some((own_low, own_high))) = (dimensions.get(dimension), mbr.range(dimension)) else {
            return true;
        };
        // Cells at NaN are in no rectangle. Only a range leaves them out. Nor are all cells whose
        // coordinates a filter rounds.
        let anywhere =
            plan.ranges.get(dimension).is_none_or(RangeSet::is_all) || rounds(plan.array.schema(), dimension);
        if d.datatype.physical().is_float() && anywhere {
            return true;
        }
        let compare = |a: &[u8], b: &[u8]| Range::compare(d.datatype, a, b);
        compare(low, own_high).is_le() && compare(own_low, high).is_le()
    };
    // If the fragment is elsewhere, not even its tree is read.
    let domain = fragment.bounds().unwrap_or_default().iter().enumerate();
    if !domain.into_iter().all(|(dimension, range)| overlaps(dimension, &range.low, &range.high)) {
        return Ok(Vec::new());
    }
    Ok(fragment.rtree(plan.array.context())?.search(overlaps))
}

/// Whether a filter changes the coordinates of a dimension, so that cells may lie a little outside
/// of their tile's rectangle.
pub fn rounds(schema: &ArraySchema, dimension: usize) -> bool {
    schema.field_of(FieldKind::Dimension(dimension)).is_some_and(|field| field.filters.changes_values())
}

/// Whether the cells of a tile that is cut are compared with the ranges of a dimension, or with a
/// range of keys.
pub(crate) const fn is_compared(scope: &BatchScope, set: &RangeSet) -> bool {
    scope.key_range.is_some() || !set.is_all()
}

/// Whether no other fragment can have cells with the coordinates of a tile.
pub fn tile_is_disjoint(
    plan: &Plan,
    overlapping: &OverlappingFragments,
    fragment: usize,
    tile: usize,
) -> Result<bool> {
    let Some(overlapping) = overlapping.of(fragment) else { return Ok(false) };
    if overlapping.is_empty() {
        return Ok(true);
    }
    let array = &plan.array;
    let tree = plan.fragment(fragment)?.rtree(array.context())?;
    let Some(mbr) = tree.leaf(tile) else { return Ok(false) };
    for other in overlapping {
        if !tiles_meeting(plan, &mbr, plan.fragment(*other)?)?.is_empty() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// One of how many cells of some tiles satisfies a query's condition, about; `None` if it has none,
/// or nothing is known of their values.
pub fn rarity(plan: &Plan, tiles: &[Candidate]) -> Result<Option<u64>> {
    let Some(program) = &plan.condition else { return Ok(None) };
    let sources = Sources::new(plan.array.context(), program, plan.array.fragments());
    let cells = tiles.iter().fold(0u64, |sum, tile| sum.saturating_add(to_u64(tile.tile_cells)));
    Ok(matching(&sources, tiles)?.map(|matching| cells.checked_div(matching).unwrap_or(u64::MAX)))
}

/// About how many cells of some tiles satisfy a query's condition; `None` if nothing is known of
/// their values.
pub(crate) fn matching(sources: &Sources<'_>, tiles: &[Candidate]) -> Result<Option<u64>> {
    let (mut all, mut known) = (0f64, tiles.is_empty());
    for Candidate { fragment, tile, tile_cells, .. } in tiles {
        let (share, by_values) = sources.tile_share(0, *fragment, *tile, *tile_cells)?;
        known |= by_values;
        all += share * *tile_cells as f64;
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an estimate, which is not negative"
    )]
    Ok(known.then_some(all.ceil() as u64))
}
