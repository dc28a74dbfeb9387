//! Applies a query's condition to sparse cells, as early as duplicates allow.
//!
//! If no duplicates must be searched for, the cells of a tile that fail are dropped before
//! coordinates are decoded or sorted. Otherwise an older version of a cell must not be returned
//! when the newest one fails. So the condition is applied to all cells first; then all cells with
//! the same coordinates as a matching cell take part in the search for duplicates, whatever their
//! values, and no others do, unless most cells match. Coordinates are compared by hashes
//! (`coordinate_filter`).

use tdb_codec::to_u64;

use super::candidate::Candidate;
use super::coordinate_filter::CoordinateFilter;
use super::decode_cache::DecodeCache;
use super::select::{CoordinateUse, select_in};
use super::selected::Selected;
use super::selection::TileSelection;
use super::versions::meeting;
use crate::Result;
use crate::condition::Sources;
use crate::plan::Plan;
use crate::tile_id::TileId;

/// Which cells [`select`](super::select::select) takes, apart from the ranges.
#[derive(Clone, Copy)]
pub enum Filter<'a> {
    /// All cells.
    All,
    /// Those that satisfy the first condition of the program.
    Matching(&'a Sources<'a>),
    /// Those with the coordinates of a matching cell.
    Coordinates(&'a CoordinateFilter<'a>),
}

impl Filter<'_> {
    /// Whether cells can only be judged by their coordinates.
    pub(super) const fn needs_coordinates(&self) -> bool {
        matches!(self, Self::Coordinates(_))
    }
}

/// Selects the cells of some tiles that may include older versions of cells, and what is needed to
/// find those. Finding the cells that satisfy the condition is a stage of its own.
pub fn selected_in(
    plan: &Plan,
    candidates: Vec<Candidate>,
    condition: Option<&Sources<'_>>,
    cache: &DecodeCache,
) -> Result<Selected> {
    let Some(sources) = condition else {
        return Ok(Selected { selections: with_keys(plan, candidates, cache)?, matches: None });
    };
    let matching = cache.stage(plan, || {
        let filter = Filter::Matching(sources);
        let own = filter.keep_candidates(candidates.clone())?;
        select_in(plan, own, CoordinateUse::KeepAndCompare, filter, cache)
    })?;
    if matching.is_empty() {
        return Ok(Selected { selections: Vec::new(), matches: None });
    }
    let cells: usize = matching.iter().map(TileSelection::count).sum();
    let tiles: Vec<TileId> = matching.iter().map(|own| own.id).collect();
    let candidates = meeting(plan, &tiles, candidates)?;
    let others = candidates.iter().map(|own| own.tile_cells).fold(0, usize::saturating_add);
    // If most cells match, taking all of the others is faster than finding those with their
    // coordinates.
    let selections = if cells > others / 2 {
        select_in(plan, candidates, CoordinateUse::Keep, Filter::All, cache)?
    } else {
        cache.reserve(to_u64(cells).saturating_mul(CoordinateFilter::BYTES_A_CELL))?;
        let coordinates = CoordinateFilter::new(&matching)?;
        select_in(plan, candidates, CoordinateUse::Keep, Filter::Coordinates(&coordinates), cache)?
    };
    Selected::of_versions(selections, &matching, cache)
}

/// Selects all cells of some tiles, with their keys; with their coordinates if not all of them have
/// a key.
fn with_keys(plan: &Plan, candidates: Vec<Candidate>, cache: &DecodeCache) -> Result<Vec<TileSelection>> {
    let selections = select_in(plan, candidates.clone(), CoordinateUse::KeysOnly, Filter::All, cache)?;
    let have = |with: bool| selections.iter().any(|own| own.keys.is_some() == with);
    if !(have(true) && have(false)) {
        return Ok(selections);
    }
    // Some cells lie outside the bounds of their fragment: a file is damaged, or its writer was
    // careless.
    plan.scope.release(selections.iter().map(TileSelection::held).sum());
    drop(selections);
    select_in(plan, candidates, CoordinateUse::Keep, Filter::All, cache)
}
