//! Prefetches the tiles that a sparse query reads.

use super::candidate::{Candidate, is_compared};
use super::decode_cache::DecodeCache;
use super::filter::Filter;
use super::select::{CoordinateUse, SearchedFragment};
use crate::plan::Plan;
use crate::ranges::RangeSet;
use crate::storage::ReadSet;
use crate::{OrInternal, Result};

/// Lists what is read to find the wanted cells of some tiles: the fields of the condition,
/// coordinates, and times of cells.
pub(super) fn search(
    plan: &Plan,
    candidates: &[Candidate],
    sources: &[SearchedFragment],
    (coordinates, filter): (CoordinateUse, Filter<'_>),
    cache: &DecodeCache,
) -> Result<ReadSet> {
    let mut read_set = ReadSet::default();
    for Candidate { fragment, tile, tile_cells, whole } in candidates {
        let at = sources.binary_search_by_key(fragment, |source| source.fragment);
        let source = at.ok().and_then(|at| sources.get(at)).or_internal("a tile lacks its fragment")?;
        if let Filter::Matching(condition) = filter {
            for field in condition.undecided(0, *fragment, *tile, *tile_cells)? {
                condition.need(field, (*fragment, *tile), &mut read_set)?;
            }
        }
        let known = match filter {
            Filter::Coordinates(among) => among.are_known(cache, (*fragment, *tile))?,
            _ => false,
        };
        let all = coordinates != CoordinateUse::Skip || filter.needs_coordinates();
        let looks = |set: &RangeSet| !known && (all || (!whole && is_compared(&plan.scope, set)));
        let dimensions = source.dimensions.iter().zip(&plan.ranges).filter(|(_, set)| looks(set));
        for tiles in dimensions.map(|(tiles, _)| tiles).chain(source.timestamps.as_deref()) {
            tiles.need(plan.array.context(), *tile, &mut read_set.ranges)?;
        }
    }
    Ok(read_set)
}
