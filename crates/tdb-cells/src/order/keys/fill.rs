//! Writes the part of a dimension of fixed size to the keys of cells.

use tdb_codec::{Native, PhysicalVisitor};
use tdb_schema::Dimension;

use super::{Slot, Source, domain_low};
use crate::order::sort::Key;
use crate::order::{float_bits, integer, is_negative_zero, reals};

/// Cells that are looked at together: when all of them are in one space tile, nothing is divided.
const BLOCK: usize = 32;

const HIGHEST: u64 = 1 << 63;

/// Adds a dimension's part to the keys; if it is the first (`ADDS` is false), writes it.
pub(super) struct Fill<'a, K, const ADDS: bool> {
    pub(super) values: &'a [u8],
    pub(super) dimension: &'a Dimension,
    pub(super) slot: &'a Slot,
    pub(super) within: Option<&'a Slot>,
    pub(super) out: &'a mut [K],
}

impl<K: Key, const ADDS: bool> Fill<'_, K, ADDS> {
    #[inline]
    fn put(key: &mut K, part: K) {
        *key = if ADDS { key.with(part) } else { part };
    }
}

impl<K: Key, const ADDS: bool> PhysicalVisitor for Fill<'_, K, ADDS> {
    /// Whether every word fits in its bits, and whether there was a negative zero: it has the same place as the
    /// positive one, but is another coordinate.
    type Output = (bool, bool);

    fn visit<T: Native>(self) -> (bool, bool) {
        let Self { values, dimension, slot, within, out } = self;
        let cells = out.iter_mut().zip(values.chunks_exact(T::SIZE));
        let most_of = |slot: &Slot| u64::MAX.checked_shr(u64::BITS.saturating_sub(slot.bits)).unwrap_or(0);
        let max = most_of(slot);
        let mut fits = true;
        if T::PHYSICAL.is_float() {
            let mut negative_zero = false;
            for (key, value) in cells {
                let word = match slot.source {
                    Source::Tile => reals::tile(dimension, value),
                    _ => float_bits(value),
                };
                negative_zero |= is_negative_zero(value);
                let word = word.wrapping_sub(slot.base);
                fits &= word <= max;
                Self::put(key, K::place(word, slot.shift));
            }
            return (fits, negative_zero);
        }
        let low = domain_low::<T>(dimension);
        let ordinal = |value: &[u8]| integer(value, T::PHYSICAL.is_signed_integer()).wrapping_sub(low);
        if slot.source == Source::Cell {
            let mut all = 0;
            for (key, value) in cells {
                let word = ordinal(value).wrapping_sub(slot.base);
                all |= word;
                Self::put(key, K::place(word, slot.shift));
            }
            return (all & !max == 0, false);
        }
        let extent = dimension.extent_cells().unwrap_or(1).max(1);
        let last = extent.wrapping_sub(1);
        let most_within = within.map_or(u64::MAX, most_of);
        let part = |tile: u64, rest: u64| {
            let part = K::place(tile.wrapping_sub(slot.base), slot.shift);
            within.map_or(part, |within| part.with(K::place(rest, within.shift)))
        };
        // Neighbours are mostly in the same tile: divide only when a value is outside the last tile.
        let (mut tile, mut start) = (0u64, 0u64);
        for (keys, values) in out.chunks_mut(BLOCK).zip(values.chunks(BLOCK.saturating_mul(T::SIZE))) {
            let ordinals = || values.chunks_exact(T::SIZE).map(ordinal);
            let mut enter = |ordinal: u64| {
                if ordinal.wrapping_sub(start) >= extent {
                    tile = ordinal.wrapping_div(extent);
                    start = tile.wrapping_mul(extent);
                }
                (tile, start)
            };
            let (tile, start) = enter(ordinals().next().unwrap_or(0));
            // What lies outside the tile sets the highest bit: few processors compare several words of 64 bits at once.
            let all = ordinals().fold(0, |all, ordinal| {
                let rest = ordinal.wrapping_sub(start);
                all | rest | last.wrapping_sub(rest) & HIGHEST
            });
            if all & HIGHEST == 0 {
                // All are in one tile: a loop without branches.
                fits &= tile.wrapping_sub(slot.base) <= max && all & !most_within == 0;
                for (key, ordinal) in keys.iter_mut().zip(ordinals()) {
                    Self::put(key, part(tile, ordinal.wrapping_sub(start)));
                }
                continue;
            }
            for (key, ordinal) in keys.iter_mut().zip(ordinals()) {
                let (tile, start) = enter(ordinal);
                let rest = ordinal.wrapping_sub(start);
                fits &= tile.wrapping_sub(slot.base) <= max && rest <= most_within;
                Self::put(key, part(tile, rest));
            }
        }
        (fits, false)
    }
}
