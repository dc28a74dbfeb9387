//! Finds the visible cells of an unordered query, once for all its parts: of several cells with the
//! same coordinates the newest, if it satisfies the condition.
//!
//! A query is usually cut into boxes, because all versions of a cell lie in the same box. But a
//! tile that many boxes meet is decoded for each of them, and tiles of fragments that were written
//! everywhere meet all boxes. Once it is known which of its cells count, a tile can be read by
//! itself, like one of an array that allows duplicates. So the coordinates of *overlapping* tiles
//! (those that may hold cells of other fragments) are decoded first, in as few boxes as the memory
//! allows, and what was found is kept as one bit a cell.

use std::sync::{Arc, Mutex, PoisonError};

use tdb_cells::QueryCondition;
use tdb_codec::{Layout, to_u64};

use super::thresholds::MAX_REMEMBERED;
use super::{Allowance, TileSet, for_each_part};
use crate::batch_scope::BatchScope;
use crate::buffers::index_of;
use crate::condition::Sources;
use crate::plan::Plan;
use crate::ranges::RangeSet;
use crate::sparse::decode_cache::DecodeCache;
use crate::sparse::filter::{Filter, selected_in};
use crate::sparse::selected::Selected;
use crate::sparse::selection::TileSelection;
use crate::sparse::versions::tile_is_disjoint;
use crate::sparse::{Candidate, all_candidates, replaced_among};
use crate::visible_cells::{TILE, VisibleCells};
use crate::{Error, OrInternal, Result};

/// Finds the cells that count of a query: those in its ranges that satisfy its condition, whatever
/// fields it asks for. With a memory limit this is done box by box.
pub(crate) fn find(plan: &Plan, memory: Option<Allowance>) -> Result<VisibleCells> {
    let whole = plan;
    let mut plan = Plan {
        // An order in which the parts of the query are boxes.
        order: Layout::GlobalOrder,
        fields: Vec::new(),
        scanned: Vec::new(),
        timestamps: None,
        labels: Vec::new(),
        visibility: None,
        scope: BatchScope::default(),
        ..plan.clone()
    };
    let overlaps = plan.overlapping()?;
    let (mut visible, mut overlapping) = (VisibleCells::default(), TileSet::new());
    let (mut bytes, mut all) = (0u64, true);
    for Candidate { id, tile_cells, .. } in all_candidates(&plan, Filter::All)? {
        if !tile_is_disjoint(&plan, &overlaps, id)? {
            overlapping.entry(id.fragment).or_default().push(id.tile);
            visible.note(id);
            bytes = bytes.saturating_add(to_u64(tile_cells) / 8).saturating_add(TILE);
        } else {
            all = false;
        }
    }
    if overlapping.is_empty() {
        return Ok(visible);
    }
    overlapping.values_mut().for_each(|tiles| tiles.sort_unstable());
    plan.scope.tiles = Some(Arc::new(overlapping));
    plan.scope.overhead = bytes;
    let context = plan.array.context();
    let condition =
        plan.condition.as_ref().map(|program| Sources::new(context, program, plan.array.fragments()));
    let mut older = 0usize;
    let mut part = |part: &Plan| {
        older += add(&mut visible, part, condition.as_ref())?;
        Ok(())
    };
    match memory {
        Some(memory) => for_each_part(&plan, memory, part)?,
        None => part(&plan)?,
    }
    // A tile that was not compared may hold a cell twice itself.
    if all {
        whole.note_older(older);
    }
    Ok(visible)
}

/// Adds the cells of a part of the query, and returns how many are older versions of others. If
/// this fails, nothing was added.
fn add(visible: &mut VisibleCells, part: &Plan, condition: Option<&Sources<'_>>) -> Result<usize> {
    let cache = DecodeCache::nothing(part)?;
    let found = cache.stage(part, || {
        let found = selected_in(part, all_candidates(part, Filter::All)?, condition, &cache)?;
        cache.reserve_cells(to_u64(found.selections.iter().map(TileSelection::count).sum()))?;
        let older = replaced_among(part, &found.selections)?;
        Ok((found, older))
    })?;
    let (Selected { selections, matches }, older) = &*found;
    let (mut left, mut flags) = (older.as_slice(), matches.as_deref());
    let mut first = 0usize;
    for selection in selections {
        let end = first + selection.count();
        let (own, rest) = left.split_at(left.partition_point(|cell| index_of(*cell) < end));
        let gone = own.iter().map(|cell| index_of(*cell).checked_sub(first)).collect::<Option<Vec<_>>>();
        let gone = gone.or_internal("older versions of cells are not in the order of the cells")?;
        (left, first) = (rest, end);
        let matching = flags.map(|flags| flags.split_at_checked(selection.count()));
        let matching = matching.map(|own| own.or_internal("a selected cell has no flag")).transpose()?;
        flags = matching.map(|(_, rest)| rest);
        let cells = visible.cells(selection.id);
        cells.add((selection.tile_cells, selection.cells.as_deref()), &gone, matching.map(|(own, _)| own))?;
    }
    if !left.is_empty() {
        return Err(Error::internal("older versions of cells were not selected"));
    }
    Ok(older.len())
}

/// The visible cells that the parts of a query have found together.
#[derive(Debug, Default)]
pub struct Common {
    found: Mutex<Vec<Remembered>>,
}

/// The cells that count of a query with these ranges and this condition.
#[derive(Debug)]
struct Remembered {
    ranges: Vec<RangeSet>,
    condition: Option<QueryCondition>,
    cells: Arc<VisibleCells>,
}

impl Common {
    /// The cells that count of a query, whose condition is `condition`. The first part that asks
    /// finds them, and others wait for it.
    pub fn of(
        &self,
        plan: &Plan,
        condition: Option<&QueryCondition>,
        memory: Option<Allowance>,
    ) -> Result<Arc<VisibleCells>> {
        // Nothing is left half done under the lock.
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let known = found.iter().find(|own| own.ranges == plan.ranges && own.condition.as_ref() == condition);
        if let Some(known) = known {
            return Ok(known.cells.clone());
        }
        let cells = Arc::new(find(plan, memory)?);
        let (ranges, condition) = (plan.ranges.clone(), condition.cloned());
        // A plan may be run again and again, with other ranges each time.
        if found.len() >= MAX_REMEMBERED {
            found.remove(0);
        }
        found.push(Remembered { ranges, condition, cells: cells.clone() });
        Ok(cells)
    }
}
