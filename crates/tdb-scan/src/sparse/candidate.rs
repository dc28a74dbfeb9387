//! Finds the tiles that may have cells that a query wants, by metadata alone.

use tdb_codec::{to_u64, to_usize};
use tdb_predicate::Verdict;
use tdb_schema::{ArraySchema, FieldKind};

use super::filter::Filter;
use crate::batch_scope::BatchScope;
use crate::condition::Sources;
use crate::fragment::Fragment;
use crate::plan::Plan;
use crate::ranges::RangeSet;
use crate::tile_id::TileId;
use crate::tiles::FieldTiles;
use crate::{Error, Result, parallel};

/// A tile whose MBR overlaps the query.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// Which tile it is.
    pub id: TileId,
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

impl Filter<'_> {
    /// Whether any cell of a fragment may be taken.
    pub(crate) fn takes_fragment(&self, fragment: usize) -> Result<bool> {
        match self {
            Self::Matching(sources) => Ok(sources.fragment_verdict(0, fragment)? != Verdict::None),
            Self::All | Self::Coordinates(_) => Ok(true),
        }
    }

    /// Drops the tiles of which no cell can be taken.
    pub(crate) fn keep_candidates(&self, candidates: Vec<Candidate>) -> Result<Vec<Candidate>> {
        let Self::Matching(sources) = self else { return Ok(candidates) };
        let mut kept = Vec::with_capacity(candidates.len());
        for candidate in candidates {
            let Candidate { id, tile_cells, .. } = candidate;
            if sources.tile_verdict(0, id, tile_cells)? != Verdict::None {
                kept.push(candidate);
            }
        }
        Ok(kept)
    }
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
        let ids = (0..tiles).map(|tile| TileId { fragment: index, tile });
        for id in ids.filter(|id| plan.has_tile(*id)) {
            let tile_cells = fragment.tile_cells(context, id.tile)?;
            let whole = !looks || plan.is_decided(id);
            candidates.push(Candidate { id, tile_cells, whole });
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
    let ids = tree.search(overlaps).into_iter().map(|tile| TileId { fragment: index, tile });
    for id in ids.filter(|id| plan.has_tile(*id)) {
        let inside = tree.leaf(id.tile).is_some_and(|mbr| lies_inside(plan, mbr.ranges()));
        let whole = (inside && !looks) || plan.is_decided(id);
        let tile_cells = fragment.tile_cells(context, id.tile)?;
        candidates.push(Candidate { id, tile_cells, whole });
    }
    Ok(candidates)
}

/// Whether a box (one interval per dimension) is inside the ranges.
pub fn lies_inside<'r>(plan: &Plan, intervals: impl Iterator<Item = (&'r [u8], &'r [u8])>) -> bool {
    let sets = plan.ranges.iter().zip(&plan.array.schema().domain.dimensions);
    intervals.zip(sets).all(|((low, high), (set, dimension))| set.covers(dimension, low, high))
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
    for Candidate { id, tile_cells, .. } in tiles {
        let (share, by_values) = sources.tile_share(0, *id, *tile_cells)?;
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
