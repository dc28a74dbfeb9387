//! Samples of sort keys, for orders that boxes cannot be cut along: strings, and the Hilbert curve.
//!
//! Coordinates are decoded twice. A first pass lists, for each tile, the keys of some of its cells,
//! evenly spaced; the number of cells between two of them is known. A batch is then an interval of
//! keys, as long as the cells that may be in it fit.
//!
//! If there is no room for all keys, the first ones are kept, up to a horizon; the cells after it
//! are listed later.

use std::collections::BTreeMap;
use std::sync::Arc;

use tdb_codec::to_u64;
use tdb_order::key_range::{Key, KeyOrder, KeyRange};

use super::tile_runs::TileSet;
use crate::TileId;
use crate::sparse::selection::TileSelection;
use crate::{Error, Result};

/// A sample of a tile's keys: the first and the last key of some consecutive cells.
#[derive(Clone, Debug)]
struct KeySample {
    id: TileId,
    low: Key,
    high: Key,
    /// The most that its cells cost.
    bytes: u64,
}

impl KeySample {
    fn held(&self) -> u64 {
        self.low.held().saturating_add(self.high.held()).saturating_add(64)
    }
}

/// The samples of all cells of a query, and the position of the next key range.
#[derive(Clone, Debug)]
pub(crate) struct KeySamples {
    order: Arc<KeyOrder>,
    /// Sorted by low key, then by high key.
    samples: Vec<KeySample>,
    from: Option<Key>,
    /// No cell from this key on is listed.
    horizon: Option<Key>,
    done: bool,
    held: u64,
    /// Bytes that samples may take; they take more only if they all begin with the same key.
    most_held: u64,
    /// Whether each sample is of one cell.
    finest: bool,
}

/// A range of keys, whose cells are a batch, and the tiles that may have some of them.
#[derive(Clone, Debug)]
pub(crate) struct SampledRange {
    pub(crate) range: KeyRange,
    pub(crate) tiles: TileSet,
    /// Whether a shorter range is possible.
    pub(crate) divisible: bool,
    to: Option<Key>,
}

impl KeySamples {
    pub(crate) fn new(order: KeyOrder) -> Self {
        Self {
            order: Arc::new(order),
            samples: Vec::new(),
            from: None,
            horizon: None,
            done: false,
            held: 0,
            most_held: u64::MAX,
            finest: true,
        }
    }

    /// Limits the bytes that samples may take.
    pub(super) fn within(self, most_held: u64) -> Self {
        Self { most_held, ..self }
    }

    /// An empty list with the same settings, for what is left, or for what is left before the end
    /// of a key range.
    pub(super) fn anew(&self, before: Option<&SampledRange>) -> Self {
        let from = self.from.clone();
        let horizon = before.and_then(|sampled| sampled.to.clone());
        let order = self.order.clone();
        Self { order, from, horizon, samples: Vec::new(), done: false, held: 0, finest: true, ..*self }
    }

    /// Whether the next cells are not listed yet.
    pub(super) fn is_at_horizon(&self) -> bool {
        self.horizon.is_some() && self.from == self.horizon
    }

    /// Whether each sample is of one cell.
    pub(super) const fn is_finest(&self) -> bool {
        self.finest
    }

    /// The keys that must be listed.
    pub(super) fn left(&self) -> KeyRange {
        KeyRange { order: self.order.clone(), from: self.from.clone(), to: self.horizon.clone() }
    }

    /// Lists the keys of a tile in `max` samples; `bytes` is the cost of all its cells.
    pub(crate) fn add(&mut self, selection: &TileSelection, max: usize, bytes: u64) -> Result<()> {
        let cells = selection.count();
        let order = self.order.clone();
        // Without them, keys would be wrong, and cells lost.
        if selection.coordinates.len() != order.dimensions.len() {
            return Err(Error::internal("a selected cell has no key"));
        }
        let value = |dimension: usize, at: usize| {
            let own = order.dimensions.get(dimension);
            let values = selection.coordinates.get(dimension).zip(own);
            values.map_or(&[][..], |(values, own)| values.as_ref().value(at, own.datatype.size()))
        };
        let curves: Vec<u64> = if order.hilbert {
            (0..cells).map(|at| order.curve(|dimension| value(dimension, at))).collect()
        } else {
            Vec::new()
        };
        let curve = |at: usize| curves.get(at).copied().unwrap_or(0);
        let compare = |a: &usize, b: &usize| {
            order.compare((curve(*a), |index| value(index, *a)), (curve(*b), |index| value(index, *b)))
        };
        // Tiles are mostly sorted, unless the order differs from their stored order or an early
        // library wrote them.
        let mut sorted: Vec<usize> = (0..cells).collect();
        if !sorted.is_sorted_by(|a, b| compare(a, b).is_le()) {
            sorted.sort_by(|a, b| compare(a, b));
        }
        let key = |at: usize| Key {
            curve: curve(at),
            cell: (0..order.dimensions.len()).map(|index| value(index, at).to_vec()).collect(),
        };
        let len = cells.div_ceil(max.max(1)).max(1);
        self.finest &= len == 1;
        for sample in sorted.chunks(len) {
            let (Some(first), Some(last)) = (sample.first(), sample.last()) else { continue };
            let (low, high) = (key(*first), key(*last));
            if self.horizon.as_ref().is_some_and(|horizon| order.compare_keys(&low, horizon).is_ge()) {
                continue;
            }
            let share = u128::from(bytes).saturating_mul(u128::from(to_u64(sample.len())));
            let share = share.checked_div(u128::from(to_u64(cells))).unwrap_or(0);
            let bytes = u64::try_from(share).unwrap_or(u64::MAX);
            let sample = KeySample { id: selection.id, low, high, bytes };
            self.held = self.held.saturating_add(sample.held());
            self.samples.push(sample);
        }
        if self.held > self.most_held {
            self.draw_in();
        }
        Ok(())
    }

    /// Moves the horizon closer, until the list takes somewhat less than it may.
    fn draw_in(&mut self) {
        self.sort();
        let order = self.order.clone();
        while self.held > self.most_held / 4 * 3 {
            let (Some(first), Some(last)) = (self.samples.first(), self.samples.last()) else { return };
            if order.compare_keys(&first.low, &last.low).is_eq() {
                return;
            }
            // Other samples that begin at this key must go too.
            let horizon = last.low.clone();
            let behind = |sample: &KeySample| order.compare_keys(&sample.low, &horizon).is_ge();
            while let Some(gone) = self.samples.pop_if(|sample| behind(sample)) {
                self.held = self.held.saturating_sub(gone.held());
            }
            self.horizon = Some(horizon);
        }
    }

    /// Must be called after the last [`Self::add`].
    pub(crate) fn sort(&mut self) {
        let order = self.order.clone();
        self.samples.sort_by(|a, b| {
            order.compare_keys(&a.low, &b.low).then_with(|| order.compare_keys(&a.high, &b.high))
        });
    }

    /// Bytes that the samples themselves hold.
    pub(crate) const fn held(&self) -> u64 {
        self.held
    }

    /// Whether cells of a fragment are left.
    pub(crate) fn has_fragment(&self, fragment: usize) -> bool {
        self.samples.iter().any(|sample| sample.id.fragment == fragment)
    }

    /// The next range whose cells cost at most `room`, or the shortest possible one. `None` after
    /// the last cell.
    pub(crate) fn next(&self, room: u64) -> Option<SampledRange> {
        if self.done {
            return None;
        }
        let mut sum = 0u64;
        let mut to: Option<&Key> = None;
        // A range can end before a sample that begins later than all samples before it, and later
        // than the range.
        let (mut first_end, mut end): (Option<&Key>, Option<&Key>) = (None, None);
        let mut last: Option<&Key> = None;
        for sample in &self.samples {
            let low = &sample.low;
            let later = last.is_some_and(|last| self.order.compare_keys(last, low).is_lt())
                && self.from.as_ref().is_none_or(|from| self.order.compare_keys(from, low).is_lt());
            if later {
                first_end = first_end.or(Some(low));
                end = Some(low);
                if sum > room {
                    to = end;
                    break;
                }
            }
            sum = sum.saturating_add(sample.bytes);
            if sum > room && end.is_some() {
                to = end;
                break;
            }
            last = Some(low);
        }
        let to = to.or(self.horizon.as_ref());
        let divisible = first_end.is_some() && first_end != to;
        let to = to.cloned();
        let mut tiles: TileSet = BTreeMap::new();
        for sample in &self.samples {
            if to.as_ref().is_some_and(|to| self.order.compare_keys(&sample.low, to).is_ge()) {
                break;
            }
            tiles.entry(sample.id.fragment).or_default().push(sample.id.tile);
        }
        for own in tiles.values_mut() {
            own.sort_unstable();
            own.dedup();
        }
        let range = KeyRange { order: self.order.clone(), from: self.from.clone(), to: to.clone() };
        Some(SampledRange { range, tiles, divisible, to })
    }

    /// Continues after a key range.
    pub(crate) fn advance(&mut self, sampled: &SampledRange) {
        let Some(to) = &sampled.to else {
            self.done = true;
            self.samples.clear();
            return;
        };
        let order = self.order.clone();
        self.samples.retain(|sample| order.compare_keys(&sample.high, to).is_ge());
        self.from = Some(to.clone());
    }
}
