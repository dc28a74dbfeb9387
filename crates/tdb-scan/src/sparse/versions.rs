//! Tiles that may have other versions of some cells: cells with the same coordinates.

use std::collections::HashSet;

use tdb_fragment::Mbr;
use tdb_schema::Range;

use super::candidate::{Candidate, rounds};
use crate::Result;
use crate::fragment::Fragment;
use crate::overlap::OverlappingFragments;
use crate::plan::Plan;
use crate::ranges::RangeSet;
use crate::tile_id::TileId;

/// With more rectangles than this, none are compared.
const MAX_RECTANGLES: usize = 1 << 16;

/// Drops the tiles that cannot contain the coordinates of a match, because their rectangles are
/// elsewhere. `matching` lists the tiles with matches.
pub(crate) fn meeting(
    plan: &Plan,
    matching: &[TileId],
    candidates: Vec<Candidate>,
) -> Result<Vec<Candidate>> {
    let array = &plan.array;
    if matching.len().saturating_mul(array.fragments().len()) > MAX_RECTANGLES {
        return Ok(candidates);
    }
    let mut met: HashSet<TileId> = HashSet::new();
    for TileId { fragment, tile } in matching {
        let tree = plan.fragment(*fragment)?.rtree(array.context())?;
        let Some(mbr) = tree.leaf(*tile) else { return Ok(candidates) };
        for (index, fragment) in array.fragments().iter().enumerate() {
            met.extend(
                tiles_meeting(plan, &mbr, fragment)?.into_iter().map(|tile| TileId { fragment: index, tile }),
            );
        }
    }
    let is_met = |candidate: &Candidate| met.contains(&candidate.id);
    Ok(candidates.into_iter().filter(is_met).collect())
}

/// The tiles of a fragment that may have cells with the coordinates of some in `mbr`.
fn tiles_meeting(plan: &Plan, mbr: &Mbr<'_>, fragment: &Fragment) -> Result<Vec<usize>> {
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

/// Whether no other fragment can have cells with the coordinates of a tile.
pub fn tile_is_disjoint(plan: &Plan, overlapping: &OverlappingFragments, id: TileId) -> Result<bool> {
    let Some(overlapping) = overlapping.of(id.fragment) else { return Ok(false) };
    if overlapping.is_empty() {
        return Ok(true);
    }
    let array = &plan.array;
    let tree = plan.fragment(id.fragment)?.rtree(array.context())?;
    let Some(mbr) = tree.leaf(id.tile) else { return Ok(false) };
    for other in overlapping {
        if !tiles_meeting(plan, &mbr, plan.fragment(*other)?)?.is_empty() {
            return Ok(false);
        }
    }
    Ok(true)
}
