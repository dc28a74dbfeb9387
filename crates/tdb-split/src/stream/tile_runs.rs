//! Tiles in storage order, taken in runs that fit a batch.

use std::collections::BTreeMap;
use std::collections::VecDeque;

use tdb_codec::to_u64;

use super::cost::CellCost;
use crate::batch_scope::Reservation;
use crate::plan::Plan;
use crate::sparse::candidates;
use crate::{Result, TileId};

/// The position of a query in the storage.
#[derive(Clone, Debug, Default)]
pub(crate) struct TileRuns {
    /// The next fragment to open.
    fragment: usize,
    /// Tiles of opened fragments that were not taken yet.
    waiting: VecDeque<Tile>,
    /// Most tiles of the next run, if the last one was too long.
    max: Option<usize>,
}

/// A tile, and what it costs.
#[derive(Clone, Copy, Debug)]
struct Tile {
    id: TileId,
    cells: u64,
    /// All its cells; a read may take fewer of them (`cells`).
    whole: u64,
    /// Bytes of its values of variable length: counted as often as they are held, and counted once.
    held: u64,
    values: u64,
}

/// The most that a run may cost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit {
    /// The cost of its cells.
    pub(crate) cells: u64,
    /// The cost including the working memory of threads.
    pub(crate) all: u64,
}

/// Tiles of one batch, by fragment.
pub type TileSet = BTreeMap<usize, Vec<usize>>;

/// A run of tiles.
#[derive(Debug, Default)]
pub(crate) struct TileRun {
    tiles: Vec<Tile>,
    /// Its cost, including working memory.
    pub(crate) bytes: u64,
    /// The working memory of threads.
    pub(crate) threads: u64,
}

impl TileRun {
    /// Number of tiles.
    pub(crate) const fn len(&self) -> usize {
        self.tiles.len()
    }

    pub(crate) fn tiles(&self) -> TileSet {
        let mut set = TileSet::new();
        for tile in &self.tiles {
            set.entry(tile.id.fragment).or_default().push(tile.id.tile);
        }
        set
    }

    /// Bytes of a tile's values of variable length, counted as often as they are held.
    pub(crate) fn values(&self, id: TileId) -> u64 {
        let at = self.tiles.binary_search_by_key(&id, |tile| tile.id);
        at.ok().and_then(|at| self.tiles.get(at)).map_or(0, |tile| tile.held)
    }
}

impl TileRuns {
    /// The next tiles that fit the limit with this many threads; one tile if even that costs more.
    /// `None` after the last tile.
    pub(crate) fn next(
        &mut self,
        plan: &Plan,
        cost: &CellCost,
        limit: Limit,
        threads: u64,
    ) -> Result<Option<TileRun>> {
        let max = self.max.take().unwrap_or(usize::MAX);
        let mut run = TileRun::default();
        let (mut bytes, mut largest, mut values) = (0u64, 0u64, 0u64);
        while let Some(tile) = self.peek(plan, cost)? {
            let new = run.tiles.last().is_none_or(|last| last.id.fragment != tile.id.fragment);
            let touch = if new { cost.per_fragment() } else { cost.per_tile() };
            let cells = tile.cells.saturating_mul(cost.per_cell());
            let more =
                bytes.saturating_add(cells).saturating_add(tile.held).saturating_add(super::whole(touch));
            let (wider, longer) = (largest.max(tile.whole), values.max(tile.values));
            let working = cost.thread(wider, longer).saturating_mul(threads);
            let all = more.saturating_add(working);
            let fits = more <= limit.cells && all <= limit.all && run.tiles.len() < max;
            if !fits && !run.tiles.is_empty() {
                break;
            }
            self.waiting.pop_front();
            (bytes, largest, values) = (more, wider, longer);
            (run.bytes, run.threads) = (all, working);
            run.tiles.push(tile);
        }
        Ok((!run.tiles.is_empty()).then_some(run))
    }

    /// The bytes that the most expensive of the remaining tiles needs as a run.
    pub(crate) fn dearest(&mut self, plan: &Plan, cost: &CellCost, threads: u64) -> Result<u64> {
        let mut min = 0;
        while let Some(run) = self.next(plan, cost, Limit { cells: 0, all: 0 }, threads)? {
            min = min.max(run.bytes).max(Reservation::min(run.threads));
        }
        Ok(min)
    }

    /// Takes a run back that was too long. Fails if it is a single tile.
    pub(crate) fn put_back(&mut self, run: TileRun) -> bool {
        self.max = Some((run.tiles.len() / 2).max(1));
        let divisible = run.tiles.len() > 1;
        for tile in run.tiles.into_iter().rev() {
            self.waiting.push_front(tile);
        }
        divisible
    }

    /// Releases what fragments that are done hold.
    pub(crate) fn forget(&self, plan: &Plan, fragments: impl Iterator<Item = usize>) {
        let waiting = self.waiting.front().map(|tile| tile.id.fragment);
        for fragment in fragments.filter(|number| Some(*number) != waiting) {
            if let Some(fragment) = plan.array.fragments().get(fragment) {
                fragment.forget();
            }
        }
    }

    fn peek(&mut self, plan: &Plan, cost: &CellCost) -> Result<Option<Tile>> {
        while self.waiting.is_empty() {
            let number = self.fragment;
            let Some(fragment) = plan.array.fragments().get(number) else { return Ok(None) };
            self.fragment = number + 1;
            let tiles = candidates(plan, number, fragment)?;
            if tiles.is_empty() {
                fragment.forget();
                continue;
            }
            let sizes = cost.var_sizes(plan.array.context(), fragment)?;
            for candidate in tiles {
                let (id, whole) = (candidate.id, candidate.tile_cells);
                let cells = plan.visibility.as_ref().map_or(whole, |chosen| chosen.most(id, whole));
                let (cells, whole) = (to_u64(cells), to_u64(whole));
                let of = |list: &[u64]| list.get(id.tile).copied().unwrap_or(0);
                let held = sizes.iter().map(|(times, list)| of(list).saturating_mul(*times));
                let values = sizes.iter().map(|(_, list)| of(list)).max().unwrap_or(0);
                let held = held.fold(0u64, u64::saturating_add);
                self.waiting.push_back(Tile { id, cells, whole, held, values });
            }
        }
        Ok(self.waiting.front().copied())
    }
}
