//! Divides a query into ranges of the sort keys of its cells: lists samples of the keys
//! (`key_samples.rs`), and makes parts of the ranges between them.

use std::sync::Arc;

use tdb_codec::{to_u64, to_usize};
use tdb_order::key_range::KeyOrder;

use super::boxes::{Narrowed, narrow};
use super::cost::CellCost;
use super::key_samples::{KeySamples, SampledRange};
use super::plan::{Part, PartSource};
use super::thresholds::{FINER, MAX_SAMPLES_PER_TILE, SAMPLE_BYTES};
use super::tile_runs::{Limit, TileRuns};
use crate::Result;
use crate::batch_scope::{BatchScope, Reservation, smallest};
use crate::plan::Plan;
use crate::sparse::decode_cache::DecodeCache;
use crate::sparse::filter::Filter;
use crate::sparse::select::{CoordinateUse, select};

/// Lists the keys of a query's cells, at most `max` samples for each tile. Returns how
/// many cells were decoded for this.
fn note_in(plan: &Plan, cost: &CellCost, samples: &mut KeySamples, max: usize, room: u64) -> Result<u64> {
    let mut looked = 0u64;
    let mut runs = TileRuns::default();
    let target = room.saturating_mul(3) / 4;
    let limit = Limit { cells: target, all: target };
    let key_range = plan.scope.key_range.clone();
    while let Some(run) = runs.next(plan, cost, limit, 0)? {
        let mut part = plan.clone();
        part.scope = BatchScope {
            tiles: Some(Arc::new(run.tiles())),
            key_range: key_range.clone(),
            ..BatchScope::default()
        };
        let empty = samples.anew(None);
        let mut listed = core::mem::replace(samples, empty);
        let listed = part.stage(|| {
            let mut looked = 0u64;
            for selection in select(&part, CoordinateUse::Keep, Filter::All, &*DecodeCache::nothing(&part)?)?
            {
                let cells = to_u64(selection.count());
                looked += to_u64(selection.tile_cells);
                let whole = run.values(selection.id);
                let values =
                    whole.saturating_mul(cells).checked_div(to_u64(selection.tile_cells)).unwrap_or(whole);
                let bytes = cells.saturating_mul(cost.per_cell()).saturating_add(values);
                listed.add(&selection, max, bytes)?;
            }
            Ok((listed, looked))
        })?;
        let own;
        (*samples, own) = Arc::unwrap_or_clone(listed);
        looked += own;
        runs.forget(plan, run.tiles().keys().copied());
    }
    samples.sort();
    Ok(looked)
}

/// A query, or a box of one, divided by the keys of its cells. As many keys are listed as there is
/// room for.
#[derive(Clone, Debug)]
pub(super) struct KeyRanges {
    samples: KeySamples,
    narrowed: Arc<Vec<Narrowed>>,
    /// The most samples of a tile.
    max: usize,
    /// A key range that must be listed with more samples, because it has too many cells for one
    /// batch.
    finer: Option<SampledRange>,
    /// The number of cells that were decoded to list keys: in all, and the first time.
    looked: u64,
    first: u64,
}

impl KeyRanges {
    /// Lists the first keys, in a quarter of the room.
    pub(super) fn new(
        plan: &Plan,
        cost: &CellCost,
        order: KeyOrder,
        room: u64,
        narrowed: Arc<Vec<Narrowed>>,
    ) -> Result<Self> {
        let samples = KeySamples::new(order).within(room / 4);
        let mut this = Self { samples, narrowed, max: 1, finer: None, looked: 0, first: 0 };
        this.note_on(plan, cost, room)?;
        this.first = this.looked;
        Ok(this)
    }

    fn note_on(&mut self, plan: &Plan, cost: &CellCost, room: u64) -> Result<()> {
        let mut plan = narrow(plan, &self.narrowed)?;
        self.max = match &self.finer {
            Some(sampled) => {
                plan.scope.tiles = Some(Arc::new(sampled.tiles.clone()));
                self.max.saturating_mul(FINER)
            }
            None => {
                let max = (room / 8).checked_div(notes(&plan)).unwrap_or(1).clamp(1, MAX_SAMPLES_PER_TILE);
                to_usize(max).unwrap_or(1)
            }
        };
        self.samples = self.samples.anew(self.finer.take().as_ref());
        plan.scope.key_range = Some(Arc::new(self.samples.left()));
        let looked = note_in(&plan, cost, &mut self.samples, self.max, room)?;
        self.looked += looked;
        Ok(())
    }

    /// Fails if cells were decoded more than `max` times for their keys: with more room the query
    /// is much faster.
    pub(super) fn check_pace(&self, room: &Reservation, max: u64) -> Result<()> {
        if self.looked / max <= self.first {
            return Ok(());
        }
        Err(smallest(room.over(room.bytes().saturating_mul(2))).into())
    }

    /// The next key range, in the share of the room that `scale` computes; `None` after the last
    /// cell.
    pub(super) fn next(
        &mut self,
        plan: &Plan,
        cost: &CellCost,
        room: &Reservation,
        scale: impl Fn(u64) -> u64,
    ) -> Result<Option<Part>> {
        if self.finer.is_some() || self.samples.is_at_horizon() {
            self.note_on(plan, cost, room.bytes())?;
        }
        let room = room.unreserved().with_overhead(self.samples.held());
        let target = scale(room.bytes());
        Ok(next_key_range(&self.samples, cost, room, target, &self.narrowed))
    }

    /// Takes a key range back, to be cut smaller. Fails if that is not possible.
    pub(super) fn put_back(&mut self, sampled: SampledRange) -> bool {
        if sampled.divisible {
            return true;
        }
        let finest = self.samples.is_finest();
        self.finer = (!finest).then_some(sampled);
        !finest
    }

    /// Continues after a key range.
    pub(super) fn advance(&mut self, sampled: &SampledRange) {
        self.samples.advance(sampled);
    }

    /// Whether cells of a fragment are left.
    pub(super) fn has_fragment(&self, fragment: usize) -> bool {
        self.samples.has_fragment(fragment)
    }
}

/// Bytes of the samples if every tile of all fragments has one; at least the bytes of one sample.
pub(super) fn notes(plan: &Plan) -> u64 {
    let counts = plan.array.fragments().iter().map(|fragment| fragment.footer().sparse_tile_num);
    counts.fold(1, u64::saturating_add).saturating_mul(SAMPLE_BYTES)
}

/// The next key range, whose cells cost no more than `target`, if there is a range this short.
pub(super) fn next_key_range(
    samples: &KeySamples,
    cost: &CellCost,
    room: Reservation,
    target: u64,
    narrowed: &Arc<Vec<Narrowed>>,
) -> Option<Part> {
    let sampled = samples.next(target)?;
    let tiles = Arc::new(sampled.tiles.clone());
    let touched: Vec<usize> = tiles.keys().copied().collect();
    let count: usize = tiles.values().map(Vec::len).sum();
    let key_range = Some(Arc::new(sampled.range.clone()));
    let scope = BatchScope { tiles: Some(tiles), key_range, ..BatchScope::default() };
    // If this is too much, reading the part will show it.
    let room = Arc::new(room);
    let counted = BatchScope { reservation: Some(room.clone()), ..BatchScope::default() };
    let _ = counted.reserve(super::whole(cost.per_fragment()).saturating_mul(to_u64(touched.len())));
    let (narrowed, tiles) = (narrowed.clone(), to_u64(count) as f64);
    Some(Part { source: PartSource::KeyRange(Box::new(sampled), scope), narrowed, room, tiles, touched })
}
