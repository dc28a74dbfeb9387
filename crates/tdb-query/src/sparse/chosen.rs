//! Which cells of an unordered query count: of several with the same coordinates the newest, and of these the ones that satisfy the
//! condition. Found once, for all parts of the query.
//!
//! A query is usually cut into boxes, because all versions of a cell lie in the same box. But a tile that many boxes meet is decoded for
//! each of them, and tiles of fragments that were written everywhere meet all boxes. Once it is known which of its cells count, a tile can
//! be read by itself, like one of an array that allows duplicates. So the coordinates of *contested* tiles (those that may hold cells of
//! other fragments) are decoded first, in as few boxes as the memory allows, and what was found is kept as one bit a cell.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tdb_codec::{Layout, to_u64};

use super::candidate::{Candidate, all_candidates, tile_is_alone};
use super::filter::{Filter, Selected, selected_in};
use super::keep::Keep;
use super::select::TileSelection;
use super::views::own;
use crate::Result;
use crate::buffers::index_of;
use crate::condition::Sources;
use crate::order::replaced;
use crate::plan::Plan;
use crate::ranges::RangeSet;
use crate::share::BatchScope;
use crate::stream::{Allowance, TileSet, for_each_part};

/// Approximate bytes that are held for a tile, besides its bits.
const TILE: u64 = 64;

/// The cells that count of all contested tiles of a query. Of other tiles nothing is known, and nothing needs to be.
#[derive(Debug, Default)]
pub(crate) struct Chosen {
    tiles: BTreeMap<(usize, usize), Cells>,
}

/// The cells that count of a tile.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cells {
    /// How many there are.
    count: usize,
    /// A bit for each cell of the tile, the first one the lowest; `None` if none of them counts, or all do.
    bits: Option<Vec<u64>>,
}

/// What a plan knows about the cells that count.
#[derive(Clone, Debug)]
pub(crate) struct Choice {
    pub(crate) cells: Arc<Chosen>,
    /// Whether they are exactly what the plan asks for. Otherwise it asks for some of them, those in its ranges that satisfy its condition.
    pub(crate) exact: bool,
}

impl Choice {
    /// Whether a tile may have cells of the plan.
    pub(crate) fn has_tile(&self, fragment: usize, tile: usize) -> bool {
        self.cells.of(fragment, tile).is_none_or(|cells| cells.count > 0)
    }

    /// Whether it is known which cells of a tile the plan asks for.
    pub(crate) fn is_decided(&self, fragment: usize, tile: usize) -> bool {
        self.exact && self.cells.of(fragment, tile).is_some()
    }

    /// How many cells of a tile may be the plan's, of so many.
    pub(crate) fn most(&self, fragment: usize, tile: usize, cells: usize) -> usize {
        self.cells.of(fragment, tile).map_or(cells, |chosen| chosen.count.min(cells))
    }

    /// A byte for each cell of a tile, 0 for those that do not count; `None` if all may.
    pub(crate) fn mask(&self, fragment: usize, tile: usize, cells: usize) -> Option<Vec<u8>> {
        let chosen = self.cells.of(fragment, tile)?;
        match &chosen.bits {
            Some(bits) => {
                let mut mask = vec![0; cells];
                for (bytes, word) in mask.chunks_mut(64).zip(bits) {
                    (0u32..).zip(bytes).for_each(|(bit, byte)| *byte = u8::from(word >> bit & 1 != 0));
                }
                Some(mask)
            }
            None if chosen.count >= cells => None,
            None => Some(vec![0; cells]),
        }
    }
}

impl Chosen {
    fn of(&self, fragment: usize, tile: usize) -> Option<&Cells> {
        self.tiles.get(&(fragment, tile))
    }

    /// Approximate bytes that it holds.
    pub(crate) fn held(&self) -> u64 {
        let bits = |cells: &Cells| cells.bits.as_ref().map_or(0, |bits| bits.len().saturating_mul(8));
        self.tiles.values().fold(0, |sum, own| sum.saturating_add(TILE).saturating_add(to_u64(bits(own))))
    }

    /// Finds the cells that count of a query, in the order of its ranges and its condition alone, whatever its fields are. With a memory
    /// limit this is done box by box.
    pub(crate) fn find(plan: &Plan, memory: Option<Allowance>) -> Result<Self> {
        let mut plan = Plan {
            // An order in which the parts of the query are boxes.
            order: Layout::GlobalOrder,
            fields: Vec::new(),
            scanned: Vec::new(),
            timestamps: None,
            labels: Vec::new(),
            chosen: None,
            share: BatchScope::default(),
            ..plan.clone()
        };
        let rivals = plan.rivals();
        let (mut chosen, mut contested) = (Self::default(), TileSet::new());
        let mut bytes = 0u64;
        for Candidate { fragment, tile, tile_cells, .. } in all_candidates(&plan, Filter::All)? {
            if !tile_is_alone(&plan, &rivals, fragment, tile)? {
                contested.entry(fragment).or_default().push(tile);
                chosen.tiles.insert((fragment, tile), Cells::default());
                bytes = bytes.saturating_add(to_u64(tile_cells) / 8).saturating_add(TILE);
            }
        }
        if contested.is_empty() {
            return Ok(chosen);
        }
        contested.values_mut().for_each(|tiles| tiles.sort_unstable());
        plan.share.tiles = Some(Arc::new(contested));
        plan.share.beside = bytes;
        let context = plan.array.context();
        let condition =
            plan.condition.as_ref().map(|program| Sources::new(context, program, plan.array.fragments()));
        let mut part = |part: &Plan| chosen.add(part, condition.as_ref());
        match memory {
            Some(memory) => for_each_part(&plan, memory, part)?,
            None => part(&plan)?,
        }
        Ok(chosen)
    }

    /// Adds the cells of a part of the query. If this fails, nothing was added.
    fn add(&mut self, part: &Plan, condition: Option<&Sources<'_>>) -> Result<()> {
        let keep = Keep::nothing(part);
        let Selected { selections, matches } =
            selected_in(part, all_candidates(part, Filter::All)?, condition, &keep)?;
        keep.admit(to_u64(selections.iter().map(TileSelection::len).sum()))?;
        let array = &part.array;
        let older = replaced(array.context().threads, array.schema(), own(&selections))?;
        let (mut older, mut flags) = (older.as_slice(), matches.as_deref());
        let mut first = 0usize;
        for selection in &selections {
            let end = first.saturating_add(selection.len());
            let (own, rest) = older.split_at(older.partition_point(|cell| index_of(*cell) < end));
            let gone = own.iter().map(|cell| index_of(*cell).saturating_sub(first)).collect::<Vec<_>>();
            (older, first) = (rest, end);
            let matching = flags.and_then(|flags| flags.split_at_checked(selection.len()));
            flags = matching.map(|(_, rest)| rest);
            let cells = self.tiles.entry((selection.fragment, selection.tile)).or_default();
            cells.add(selection, &gone, matching.map(|(own, _)| own));
        }
        Ok(())
    }
}

impl Cells {
    /// Adds cells of a tile: those that are selected, without some of them, and if there are flags, those whose flag is set. No cell may be
    /// added twice.
    fn add(&mut self, selection: &TileSelection, gone: &[usize], flags: Option<&[u8]>) {
        let all = selection.tile_cells;
        if selection.cells.is_none() && gone.is_empty() && flags.is_none_or(|flags| !flags.contains(&0)) {
            *self = Self { count: all, bits: None };
            return;
        }
        let bits = self.bits.get_or_insert_with(|| vec![0; all.div_ceil(64)]);
        let mut gone = gone.iter().copied().peekable();
        for at in 0..selection.len() {
            if gone.next_if_eq(&at).is_some() || flags.is_some_and(|flags| flags.get(at) == Some(&0)) {
                continue;
            }
            let cell =
                selection.cells.as_ref().map_or(Some(at), |cells| cells.get(at).map(|own| index_of(*own)));
            let word = cell.and_then(|cell| Some((bits.get_mut(cell / 64)?, cell % 64)));
            if let Some((word, bit)) = word {
                *word |= 1 << bit;
                self.count = self.count.saturating_add(1);
            }
        }
    }
}

/// The most ranges and conditions of which it is remembered which cells count.
const MOST_KNOWN: usize = 2;

/// What the parts of a query have found out together.
#[derive(Debug, Default)]
pub(crate) struct Common {
    found: Mutex<Vec<Found>>,
}

/// The cells that count of a query with these ranges and this condition.
#[derive(Debug)]
struct Found {
    ranges: Vec<RangeSet>,
    condition: Option<crate::QueryCondition>,
    cells: Arc<Chosen>,
}

impl Common {
    /// The cells that count of a query, whose condition is `condition`. The first part that asks finds them, and others wait for it.
    pub(crate) fn of(
        &self,
        plan: &Plan,
        condition: Option<&crate::QueryCondition>,
        memory: Option<Allowance>,
    ) -> Result<Arc<Chosen>> {
        // Nothing is left half done under the lock.
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let known = found.iter().find(|own| own.ranges == plan.ranges && own.condition.as_ref() == condition);
        if let Some(known) = known {
            return Ok(known.cells.clone());
        }
        let cells = Arc::new(Chosen::find(plan, memory)?);
        // What is still on its way was not looked at.
        if plan.array.context().deferred.as_ref().is_none_or(|deferred| !deferred.is_waiting()) {
            let (ranges, condition) = (plan.ranges.clone(), condition.cloned());
            // A plan may be run again and again, with other ranges each time.
            if found.len() >= MOST_KNOWN {
                found.remove(0);
            }
            found.push(Found { ranges, condition, cells: cells.clone() });
        }
        Ok(cells)
    }
}
