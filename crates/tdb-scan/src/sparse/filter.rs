//! Applies a query's condition to sparse cells, as early as duplicates allow.
//!
//! If no duplicates must be searched for, the cells of a tile that fail are dropped before
//! coordinates are decoded or sorted. Otherwise an older version of a cell must not be returned
//! when the newest one fails. So the condition is applied to all cells first; then all cells with
//! the same coordinates as a matching cell take part in the search for duplicates, whatever their
//! values, and no others do, unless most cells match. Coordinates are compared by hashes
//! (`coordinate_filter`).

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use tdb_codec::to_u64;
use tdb_predicate::{Verdict, picked};
use tdb_schema::FieldKind;

use super::candidate::{Candidate, all_candidates, tiles_meeting};
use super::coordinate_filter::CoordinateFilter;
use super::decode_cache::DecodeCache;
use super::select::{CoordinateUse, select, select_in};
use super::selection::TileSelection;
use crate::buffers::index_of;
use crate::condition::{Decoded, Sources};
use crate::decode_buffers::PooledBuffers;
use crate::plan::Plan;
use crate::{OrInternal, Result};

/// Which cells [`select`] takes, apart from the ranges.
#[derive(Clone, Copy)]
pub enum Filter<'a> {
    /// All cells.
    All,
    /// Those that satisfy the first condition of the program.
    Matching(&'a Sources<'a>),
    /// Those with the coordinates of a matching cell.
    Coordinates(&'a CoordinateFilter<'a>),
}

/// The cells of a tile that are wanted, judged by attributes.
pub(super) struct FilteredTile {
    /// A byte per cell, 0 for those that are not taken; `None` if all are taken.
    pub(super) wanted: Option<Vec<u8>>,
    /// The columns that were decoded for this.
    pub(super) looked_at: Vec<(FieldKind, Decoded)>,
}

/// Cells of a query that may be in its result, before duplicates are dropped and deletes are
/// applied.
#[derive(Clone)]
pub struct Selected {
    /// The selected cells of each tile that has any.
    pub selections: Vec<TileSelection>,
    /// If cells that fail the condition had to be taken: a byte per cell, 0 for these.
    pub matches: Option<Vec<u8>>,
}

/// Selects the cells of a query, as a stage of it. `coordinates` says whether their coordinates are
/// needed, `dedup` whether older versions of cells may be among them.
pub(super) fn selected(
    plan: &Plan,
    coordinates: bool,
    dedup: bool,
    cache: &DecodeCache,
) -> Result<Arc<Selected>> {
    let context = plan.array.context();
    let coordinates = if coordinates { CoordinateUse::Keep } else { CoordinateUse::Skip };
    cache.stage(plan, || {
        let Some(program) = &plan.condition else {
            return Ok(Selected {
                selections: select(plan, coordinates, Filter::All, cache)?,
                matches: None,
            });
        };
        let sources = Sources::new(context, program, plan.array.fragments()).within(&plan.scope);
        if dedup {
            return selected_in(plan, all_candidates(plan, Filter::All)?, Some(&sources), cache);
        }
        let selections = select(plan, coordinates, Filter::Matching(&sources), cache)?;
        Ok(Selected { selections, matches: None })
    })
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
    let tiles: Vec<(usize, usize)> = matching.iter().map(|own| (own.fragment, own.tile)).collect();
    let candidates = meeting(plan, &tiles, candidates)?;
    let others = candidates.iter().map(|own| own.tile_cells).fold(0, usize::saturating_add);
    // If most cells match, taking all of the others is faster than finding those with their
    // coordinates.
    let mut selections = if cells > others / 2 {
        select_in(plan, candidates, CoordinateUse::Keep, Filter::All, cache)?
    } else {
        cache.reserve(to_u64(cells).saturating_mul(CoordinateFilter::BYTES_A_CELL))?;
        let coordinates = CoordinateFilter::new(&matching)?;
        select_in(plan, candidates, CoordinateUse::Keep, Filter::Coordinates(&coordinates), cache)?
    };
    let matches = matches(&selections, &matching)?;
    let mut flags = matches.as_slice();
    for selection in &mut selections {
        let (own, rest) = flags.split_at_checked(selection.count()).or_internal(NO_FLAG)?;
        selection.only_replaces = !own.contains(&1);
        flags = rest;
    }
    cache.widen(&selections, &matches)?;
    Ok(Selected { selections, matches: Some(matches) })
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

/// With more rectangles than this, none are compared.
const MAX_RECTANGLES: usize = 1 << 16;

/// Drops the tiles that cannot contain the coordinates of a match, because their rectangles are
/// elsewhere. `matching` lists the tiles with matches (fragment and number).
pub(crate) fn meeting(
    plan: &Plan,
    matching: &[(usize, usize)],
    candidates: Vec<Candidate>,
) -> Result<Vec<Candidate>> {
    let array = &plan.array;
    if matching.len().saturating_mul(array.fragments().len()) > MAX_RECTANGLES {
        return Ok(candidates);
    }
    let mut met: HashSet<(usize, usize)> = HashSet::new();
    for (fragment, tile) in matching {
        let tree = plan.fragment(*fragment)?.rtree(array.context())?;
        let Some(mbr) = tree.leaf(*tile) else { return Ok(candidates) };
        for (index, fragment) in array.fragments().iter().enumerate() {
            met.extend(tiles_meeting(plan, &mbr, fragment)?.into_iter().map(|tile| (index, tile)));
        }
    }
    let is_met = |candidate: &Candidate| met.contains(&(candidate.fragment, candidate.tile));
    Ok(candidates.into_iter().filter(is_met).collect())
}

/// For every cell of `selections` whether it is also in `matching`.
fn matches(selections: &[TileSelection], matching: &[TileSelection]) -> Result<Vec<u8>> {
    let by_tile: HashMap<(usize, usize), &TileSelection> =
        matching.iter().map(|selection| ((selection.fragment, selection.tile), selection)).collect();
    let mut flags = vec![0u8; selections.iter().map(TileSelection::count).sum()];
    let mut rest = flags.as_mut_slice();
    for selection in selections {
        let (own, others) = rest.split_at_mut_checked(selection.count()).or_internal(NO_FLAG)?;
        rest = others;
        match by_tile.get(&(selection.fragment, selection.tile)).copied() {
            None => {}
            Some(TileSelection { cells: None, .. }) => own.fill(1),
            Some(TileSelection { cells: Some(matching), .. }) => match &selection.cells {
                None => {
                    for cell in matching {
                        *own.get_mut(index_of(*cell)).or_internal(NO_FLAG)? = 1;
                    }
                }
                // Both ascend.
                Some(cells) => {
                    let mut matching = matching.iter().peekable();
                    for (flag, cell) in own.iter_mut().zip(cells) {
                        while matching.next_if(|own| *own < cell).is_some() {}
                        *flag = u8::from(matching.next_if_eq(&cell).is_some());
                    }
                }
            },
        }
    }
    Ok(flags)
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
            let Candidate { fragment, tile, tile_cells, .. } = candidate;
            if sources.tile_verdict(0, fragment, tile, tile_cells)? != Verdict::None {
                kept.push(candidate);
            }
        }
        Ok(kept)
    }

    /// The cells of a tile that the condition allows, of those in the mask `among` or of all.
    /// `again` says that coordinates of all of them will be looked at.
    pub(super) fn wanted(
        &self,
        (fragment, tile, cells): (usize, usize, usize),
        (among, again): (Option<Vec<u8>>, bool),
        buffers: &mut PooledBuffers,
    ) -> Result<FilteredTile> {
        let Self::Matching(sources) = self else {
            return Ok(FilteredTile { wanted: among, looked_at: Vec::new() });
        };
        sources.context.tile_len(cells, 1)?;
        let mut wanted = among.unwrap_or_else(|| vec![1u8; cells]);
        let mut columns = sources.tile(fragment, tile, cells, buffers)?.whole_coordinates(again);
        sources.program.apply(0, &mut columns, &mut wanted)?;
        let decoded = sources.program.fields.iter().zip(columns.into_decoded());
        // A column that a part of a disjunction decoded may lack cells that another part took: it
        // is decoded again for those few.
        let decoded = decoded.map(|(field, decoded)| (field.kind, decoded.filter(|own| own.has(&wanted))));
        let looked_at = decoded.filter_map(|(kind, decoded)| Some((kind, decoded?))).collect();
        Ok(FilteredTile { wanted: Some(wanted), looked_at })
    }

    /// Whether cells can only be judged by their coordinates.
    pub(super) const fn needs_coordinates(&self) -> bool {
        matches!(self, Self::Coordinates(_))
    }
}

/// Reduces selections, and what was kept of them, to the cells whose `keep` is not 0; selections
/// without cells are dropped.
///
/// # Errors
/// [`Error::Internal`](crate::Error::Internal) if `keep` has no flag of some cell.
pub fn narrow(
    selections: Vec<TileSelection>,
    keep: &[u8],
    cache: &DecodeCache,
) -> Result<Vec<TileSelection>> {
    let mut rest = keep;
    let mut narrowed = Vec::with_capacity(selections.len());
    for mut selection in selections {
        let (flags, later) = rest.split_at_checked(selection.count()).or_internal(NO_FLAG)?;
        rest = later;
        if !flags.contains(&0) {
            narrowed.push(selection);
            continue;
        }
        let numbers: Vec<u32> =
            (0u32..).zip(flags).filter(|(_, keep)| **keep != 0).map(|(at, _)| at).collect();
        cache.narrow(&selection, &numbers)?;
        let cells: Vec<u32> = match &selection.cells {
            Some(cells) => picked(cells, &numbers)?,
            None => numbers,
        };
        // Coordinates, keys and timestamps no longer match the cells.
        selection.coordinates = Vec::new();
        selection.keys = None;
        selection.timestamps = None;
        selection.cells = Some(cells);
        if selection.count() > 0 {
            narrowed.push(selection);
        }
    }
    Ok(narrowed)
}

/// A mask has fewer flags than there are selected cells.
const NO_FLAG: &str = "a selected cell has no flag";
