//! Queries in parts that are made of tiles.

use std::sync::Arc;

use tdb_codec::{ArrayType, Layout, to_u64};
use tdb_scan::visible_cells::Visibility;

use super::{Read, conjunction};
use crate::partition;
use crate::plan::Plan;
use crate::sparse::candidate::rarity;
use crate::sparse::filter::Filter;
use crate::sparse::{Candidate, all_candidates};
use crate::stream::{Allowance, Common, TileSet};
use crate::{Error, OrInternal, QueryCondition, QueryError, Result};

/// A part of a query that is made of tiles.
#[derive(Clone, Debug)]
pub(super) struct TilePart {
    tiles: Arc<TileSet>,
    /// The findings that the parts share.
    common: Arc<Common>,
    /// As many threads as all parts together may use: when one of them finds out what all want to
    /// know, the others wait.
    threads: usize,
}

impl TilePart {
    pub(super) fn into_tiles(self) -> Arc<TileSet> {
        self.tiles
    }
}

/// Each part has tiles of about so many places in the array, so that a range that a later condition
/// leaves is not in one part alone.
const STRIPES: usize = 8;

impl Read {
    /// Cuts the query into at most `max` parts by its tiles, to be read by threads of this process.
    /// They are parts as those of [`Self::partitions`] are, but have no order among each other, and
    /// no tile is read by two of them.
    ///
    /// If fragments may hold versions of each other's cells, the parts find out together which
    /// cells are the newest ones, and satisfy the condition: the first part that is read does so
    /// within its own memory budget, and others wait for it. Later conditions
    /// ([`Self::and_condition`]) do not change what was found.
    ///
    /// If a condition leaves few of these cells, the query is not cut: it is one part, with the
    /// threads of all. To find its cells is all the work that there is.
    ///
    /// A query of a dense array, in an order, or of an array in a storage that is asked from afar
    /// is cut as [`Self::partitions`] cuts it: into boxes. Parts that are made of tiles cannot be
    /// [described](Self::describe), and take no further ranges ([`QueryError::TilePartition`]).
    ///
    /// ```
    /// use tdb_array::Array;
    ///
    /// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../xtask/fixtures/arrays/2.30.0/sparse2d_rr");
    /// let array = Array::open(path)?;
    /// let parts = array.read().tile_partitions(2)?;
    /// let cells = parts.into_iter().map(|part| Ok(part.collect()?.len())).sum::<tdb_array::Result<usize>>()?;
    /// assert_eq!(cells, array.read().collect()?.len());
    /// # Ok::<(), tdb_array::Error>(())
    /// ```
    ///
    /// # Errors
    /// A field, range or condition that does not fit the array, or damaged metadata.
    pub fn tile_partitions(self, max: usize) -> Result<Vec<Self>> {
        let plan = self.clone().plan()?;
        let context = plan.array.context();
        let is_sparse = plan.array.schema().array_type == ArrayType::Sparse;
        if !context.is_local() || !is_sparse || plan.order != Layout::Unordered {
            return self.partitions(max);
        }
        let tiles = all_candidates(&plan, Filter::All)?;
        let rare = plan.overlap.any() && is_rare(&plan, &tiles)?;
        if rare && self.tiles.is_none() {
            // Each thread needs memory of its own.
            let threads = if self.memory.is_some() { 1 } else { max.max(1) };
            let threads = context.threads.saturating_mul(threads);
            return Ok(vec![self.threads(threads)]);
        }
        // The parts of a part follow each other; it is made of stripes already.
        let stripes = if self.tiles.is_some() { 1 } else { STRIPES };
        let sets = cut(&tiles, max, stripes)?;
        let (common, threads) = match &self.tiles {
            Some(own) => (own.common.clone(), own.threads),
            None => (Arc::default(), context.threads.saturating_mul(sets.len())),
        };
        let resolved = Some(Arc::new(partition::ranges(&plan)));
        let whole = Self { ranges: Vec::new(), labels: Vec::new(), resolved, ..self };
        let part = |tiles: TileSet| Self {
            tiles: Some(TilePart { tiles: Arc::new(tiles), common: common.clone(), threads }),
            ..whole.clone()
        };
        Ok(sets.into_iter().map(part).collect())
    }

    /// Whether the query is a part that is made of tiles ([`Self::tile_partitions`]), for a caller
    /// that schedules parts and has to know whether they depend on each other.
    #[must_use]
    pub const fn is_tile_partition(&self) -> bool {
        self.tiles.is_some()
    }

    /// Asks for the cells that satisfy one more condition. It is the same as [`Self::condition`],
    /// but if the query is a part that is made of tiles ([`Self::tile_partitions`]), what the parts
    /// have found out together stays valid. It is for conditions that a caller learns while it
    /// reads, such as those of the joins of a query engine.
    pub fn and_condition(mut self, condition: QueryCondition) -> Self {
        let slot = if self.tiles.is_some() { &mut self.later_condition } else { &mut self.condition };
        *slot = conjunction(slot.take(), Some(condition));
        self
    }

    /// Finds out now which cells of a query are visible, if this is one of its parts that are made
    /// of tiles ([`Self::tile_partitions`]), within the memory budget of this part. Other queries
    /// do nothing. Without it the first part that is read does so; a caller that accounts for
    /// memory calls it before it divides the memory among the parts.
    ///
    /// # Errors
    /// As [`Self::collect`]; [`QueryError::BudgetTooSmall`].
    pub fn find_visible_cells(&self) -> Result<()> {
        let memory = Allowance::new(self.memory, None);
        if self.tiles.is_some() { self.clone().ready(memory).map(drop) } else { Ok(()) }
    }

    /// The plan of the query, with what its part has to know of others.
    pub(super) fn ready(self, memory: Option<Allowance>) -> Result<Plan> {
        let Some(part) = self.tiles.clone() else { return self.plan() };
        let whole = Self { tiles: None, later_condition: None, ..self.clone() };
        let (exact, condition) = (self.later_condition.is_none(), self.condition.clone());
        let mut plan = self.plan()?;
        if plan.overlap.any() {
            let find = |whole: Self| part.common.of(&whole.plan()?, condition.as_ref(), memory);
            let cells = match find(whole.clone().threads(part.threads)) {
                // Each thread needs memory of its own.
                Err(Error::Query(QueryError::BudgetTooSmall { .. })) => find(whole)?,
                found => found?,
            };
            plan.scope.overhead = plan.scope.overhead.saturating_add(cells.held());
            plan.visibility = Some(Visibility { cells, exact });
        }
        Ok(plan)
    }
}

/// A condition that leaves one of so many cells, or fewer, is rare.
const RARE: u64 = 16;

/// Whether only few cells of some tiles satisfy the condition, as far as metadata tells.
fn is_rare(plan: &Plan, tiles: &[Candidate]) -> Result<bool> {
    Ok(rarity(plan, tiles)?.is_some_and(|rarity| rarity >= RARE))
}

/// Deals tiles out to at most so many parts, each of about as many cells; there is at least one
/// part, which may have no tiles. Parts take turns: in each of the stripes every one takes what it
/// lacks of its share so far.
fn cut(tiles: &[Candidate], max: usize, stripes: usize) -> Result<Vec<TileSet>> {
    let mut parts = vec![(0u64, TileSet::new()); max.clamp(1, tiles.len().max(1))];
    let cells = tiles.iter().fold(0u64, |sum, tile| sum.saturating_add(to_u64(tile.tile_cells)));
    let pieces = to_u64(parts.len().saturating_mul(stripes));
    let share = |stripe: usize| {
        let all = u128::from(cells).saturating_mul(u128::from(to_u64(stripe)));
        all.checked_div(u128::from(pieces)).and_then(|share| u64::try_from(share).ok()).unwrap_or(u64::MAX)
    };
    let (mut stripe, mut turn) = (1usize, 0usize);
    for Candidate { id, tile_cells, .. } in tiles {
        let own = to_u64(*tile_cells);
        let has_all = |given: u64, stripe| given.saturating_add(own / 2) > share(stripe);
        while stripe <= stripes && parts.get(turn).is_none_or(|(given, _)| has_all(*given, stripe)) {
            (stripe, turn) = if turn < parts.len() {
                (stripe, turn.saturating_add(1))
            } else {
                (stripe.saturating_add(1), 0)
            };
        }
        // After the last stripe only halves of tiles are left.
        let next = if stripe <= stripes {
            parts.get_mut(turn)
        } else {
            parts.iter_mut().min_by_key(|(given, _)| *given)
        };
        let (given, set) = next.or_internal("a tile has no part of the query")?;
        *given = given.saturating_add(own);
        set.entry(id.fragment).or_default().push(id.tile);
    }
    let mut sets: Vec<TileSet> = parts.into_iter().map(|(_, set)| set).collect();
    sets.retain(|set| !set.is_empty());
    if sets.is_empty() {
        sets.push(TileSet::new());
    }
    sets.iter_mut().flat_map(|set| set.values_mut()).for_each(|tiles| tiles.sort_unstable());
    Ok(sets)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use tdb_scan::TileId;

    use super::*;

    proptest! {
        #[test]
        fn every_tile_is_dealt_out_once_and_parts_differ_by_about_a_tile(
            tiles in prop::collection::vec((0..3usize, 1..5000usize), 0..200), max in 0..9usize, stripes in 1..9usize,
        ) {
            let mut tiles = tiles;
            tiles.sort_by_key(|(fragment, _)| *fragment);
            let tiles: Vec<Candidate> = tiles
                .into_iter()
                .enumerate()
                .map(|(tile, (fragment, tile_cells))| Candidate {
                    id: TileId { fragment, tile },
                    tile_cells,
                    whole: true,
                })
                .collect();
            let sets = cut(&tiles, max, stripes).unwrap();
            prop_assert!(!sets.is_empty() && sets.len() <= max.max(1));
            let of = |set: &TileSet| -> Vec<TileId> {
                set.iter().flat_map(|(fragment, own)| own.iter().map(|tile| TileId { fragment: *fragment, tile: *tile })).collect()
            };
            let mut all: Vec<TileId> = sets.iter().flat_map(of).collect();
            all.sort_unstable();
            prop_assert!(all.iter().copied().eq(tiles.iter().map(|tile| tile.id)));
            let cells = |set: &TileSet| -> usize { of(set).iter().map(|id| tiles[id.tile].tile_cells).sum() };
            let largest = tiles.iter().map(|tile| tile.tile_cells).max().unwrap_or(0);
            let mean = sets.iter().map(cells).sum::<usize>() / sets.len();
            for set in &sets {
                prop_assert!(cells(set).abs_diff(mean) <= 2 * largest, "{} cells, {mean} on average", cells(set));
            }
        }
    }

    #[test]
    fn a_stripe_of_two_and_a_half_tiles_favours_nobody() {
        let tile = |tile| Candidate { id: TileId { fragment: 0, tile }, tile_cells: 50_000, whole: true };
        let sets = cut(&(0..40).map(tile).collect::<Vec<_>>(), 2, STRIPES).unwrap();
        assert_eq!(sets.iter().map(|set| set[&0].len()).collect::<Vec<_>>(), [20, 20]);
    }
}
