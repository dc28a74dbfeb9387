//! Computes the sort keys of cells from their coordinates, in the bits that their
//! [layout](KeyLayout) gives each part.

use core::iter::repeat_n;
use core::ops::Range;

use tdb_codec::{Native, PhysicalVisitor, to_u64};
use tdb_schema::Dimension;

use super::hilbert::Curve;
use super::layout::{KeyLayout, PackedPart, PartSource, extent};
use super::measure::domain_low;
use super::reals;
use super::sort::{CellKeys, Key, KeySource, key_range, useful_threads};
use super::table::{CellTable, Piece};
use crate::bits::{float_bits, integer, is_negative_zero, low_bits};
use crate::buffers::{index_of, split_exactly};
use crate::thresholds::TILE_BLOCK_CELLS;
use crate::{Result, parallel};

impl KeyLayout<'_> {
    /// The keys of all cells; `None` if a cell does not fit in its key. Such cells are outside the
    /// domain, which happens only in damaged files, or those of a careless writer.
    pub(super) fn all<K: Key>(&self, threads: usize, table: &CellTable<'_>) -> Result<Option<CellKeys<K>>> {
        let threads = useful_threads(threads, table.cells());
        let mut keys = vec![K::default(); table.cells()];
        let slots = split_exactly(&mut keys, table.pieces().iter().map(|piece| piece.cells))?;
        let jobs = table.pieces().iter().zip(slots).collect();
        let seen = parallel::run(
            threads,
            jobs,
            || (),
            |(piece, out): (&Piece, &mut [K]), ()| {
                clear(out);
                let Some(exact) = self.fill(table, piece, out) else { return Ok(None) };
                let (min, max) = key_range(out);
                Ok(Some((min, max, exact)))
            },
        )?;
        let Some(seen) = seen.into_iter().collect::<Option<Vec<_>>>() else { return Ok(None) };
        // There are keys: a table without cells is not sorted.
        let min = seen.iter().map(|(min, ..)| *min).min().unwrap_or_default();
        let max = seen.iter().map(|(_, max, _)| *max).max().unwrap_or_default();
        Ok(Some(CellKeys { keys, min, max, exact: seen.iter().all(|(.., exact)| *exact) }))
    }

    /// Adds the parts of the keys of a piece's cells to keys that are 0. Returns whether equal keys
    /// mean equal coordinates; `None` if a cell does not fit in its key. Then cells are compared
    /// instead, which is slower, but always right: so this also returns `None`, instead of an
    /// error, if the table or this layout lacks something that it must have.
    pub(super) fn fill<K: Key>(&self, table: &CellTable<'_>, piece: &Piece, out: &mut [K]) -> Option<bool> {
        let mut exact = self.exact;
        for (at, part) in self.parts.iter().enumerate() {
            if part.source == PartSource::Hilbert {
                self.fill_hilbert(table, piece, out);
                continue;
            }
            let dimension = self.dimensions.get(part.dimension)?;
            if part.source == PartSource::Rank {
                let ranks = self.ranks.get(part.dimension)?.as_ref()?.of(table, piece)?;
                for (key, rank) in out.iter_mut().zip(ranks) {
                    *key = key.with(K::place(u64::from(*rank), part.shift));
                }
                continue;
            }
            if let PartSource::Text { prefix, bytes, length_bits, signed } = part.source {
                let flip = if signed { 0x80 } else { 0 };
                let text = TextPart { prefix, bytes: index_of(bytes), length_bits, flip, part };
                for (index, key) in out.iter_mut().enumerate() {
                    *key = key.with(text.key(table.value(piece, part.dimension, index)));
                }
                continue;
            }
            // A dimension's tile and the position within it are computed together.
            let other = |source| {
                let mut of_dimension = self.parts.iter().filter(|other| other.dimension == part.dimension);
                of_dimension.find(|other| other.source == source)
            };
            if part.source == PartSource::Within
                && self.parts.iter().take(at).any(|other| other.dimension == part.dimension)
            {
                continue;
            }
            let values = table.fixed_values(piece, part.dimension)?;
            let within = if part.source == PartSource::Tile { other(PartSource::Within) } else { None };
            let visitor = FillPart { values, dimension, part, within, out: &mut *out };
            let (fits, zeros) = dimension.datatype.physical().visit(visitor);
            if !fits {
                return None;
            }
            exact &= !zeros;
        }
        Some(exact)
    }

    fn fill_hilbert<K: Key>(&self, table: &CellTable<'_>, piece: &Piece, out: &mut [K]) {
        let curve = Curve::new(self.dimensions);
        for (index, key) in out.iter_mut().enumerate() {
            *key = K::place(curve.place(|dimension| table.value(piece, dimension, index)), 0);
        }
    }
}

/// Sets keys to 0 that are 0 already. [`KeyLayout::fill`] reads before it writes, and fresh memory
/// that is read first is mapped twice: the second time, the system stops the threads on other
/// cores. The compiler would leave this out where it sees the allocation.
#[inline(never)]
pub(super) fn clear<K: Key>(keys: &mut [K]) {
    keys.fill(K::default());
}

/// The keys of a table's cells, computed when they are needed.
pub(super) struct ComputedKeys<'a> {
    pub(super) layout: &'a KeyLayout<'a>,
    pub(super) table: &'a CellTable<'a>,
}

impl<K: Key> KeySource<K> for ComputedKeys<'_> {
    fn cells(&self) -> usize {
        self.table.cells()
    }

    fn batches(&self) -> impl Iterator<Item = usize> {
        self.table.ends()
    }

    fn keys(&self, cells: Range<usize>, out: &mut Vec<K>) -> Option<bool> {
        let mut exact = true;
        for piece in self.table.cut(cells) {
            let from = out.len();
            out.extend(repeat_n(K::default(), piece.cells));
            exact &= self.layout.fill(self.table, &piece, out.get_mut(from..)?)?;
        }
        Some(exact)
    }
}

/// The part of a key that is made of a string.
struct TextPart<'a> {
    /// Bytes at the start of all strings, which are not in the key.
    prefix: usize,
    /// Bytes after the prefix that are in the key.
    bytes: usize,
    /// Bits for the number of bytes after the prefix; 0 if it is not in the key.
    length_bits: u32,
    /// The bits that are inverted in each byte.
    flip: u8,
    part: &'a PackedPart,
}

impl TextPart<'_> {
    fn key<K: Key>(&self, value: &[u8]) -> K {
        // All values have the prefix.
        let rest = value.get(self.prefix..).unwrap_or_default();
        let PackedPart { shift, bits, .. } = *self.part;
        let mut key = if self.length_bits == 0 { K::default() } else { K::place(to_u64(rest.len()), shift) };
        let mut place = shift.wrapping_add(bits);
        for byte in rest.iter().take(self.bytes) {
            place = place.wrapping_sub(8);
            key = key.with(K::place(u64::from(*byte ^ self.flip), place));
        }
        key
    }
}

/// The sign of a signed word.
const HIGHEST: u64 = 1 << 63;

/// Adds a part of a dimension of numbers to the keys, and, for a tile, also its position in the
/// tile.
struct FillPart<'a, K> {
    values: &'a [u8],
    dimension: &'a Dimension,
    part: &'a PackedPart,
    within: Option<&'a PackedPart>,
    out: &'a mut [K],
}

impl<K: Key> PhysicalVisitor for FillPart<'_, K> {
    /// Whether every word fits in its bits, and whether there was a negative zero: it has the same
    /// place as the positive one, but is another coordinate.
    type Output = (bool, bool);

    fn visit<T: Native>(self) -> (bool, bool) {
        let Self { values, dimension, part, within, out } = self;
        let cells = out.iter_mut().zip(values.chunks_exact(T::SIZE));
        let max = low_bits(part.bits);
        let mut fits = true;
        if T::PHYSICAL.is_float() {
            let mut negative_zero = false;
            for (key, value) in cells {
                let word = match part.source {
                    PartSource::Tile => reals::tile(dimension, value),
                    _ => float_bits(value),
                };
                negative_zero |= is_negative_zero(value);
                let word = word.wrapping_sub(part.base);
                fits &= word <= max;
                *key = key.with(K::place(word, part.shift));
            }
            return (fits, negative_zero);
        }
        let low = domain_low::<T>(dimension);
        let ordinal = |value: &[u8]| integer(value, T::PHYSICAL.is_signed_integer()).wrapping_sub(low);
        if part.source == PartSource::Cell {
            let mut all = 0;
            for (key, value) in cells {
                let word = ordinal(value).wrapping_sub(part.base);
                all |= word;
                *key = key.with(K::place(word, part.shift));
            }
            return (all & !max == 0, false);
        }
        let extent = extent(dimension);
        let last = extent.wrapping_sub(1);
        let most_within = within.map_or(u64::MAX, |within| low_bits(within.bits));
        let key_of = |tile: u64, rest: u64| {
            let key = K::place(tile.wrapping_sub(part.base), part.shift);
            within.map_or(key, |within| key.with(K::place(rest, within.shift)))
        };
        // Neighbours are mostly in the same tile: divide only when a value is outside the last
        // tile.
        let (mut tile, mut start) = (0u64, 0u64);
        for (keys, values) in out.chunks_mut(TILE_BLOCK_CELLS).zip(values.chunks(TILE_BLOCK_CELLS * T::SIZE))
        {
            let ordinals = || values.chunks_exact(T::SIZE).map(ordinal);
            let mut enter = |ordinal: u64| {
                if ordinal.wrapping_sub(start) >= extent {
                    tile = ordinal.wrapping_div(extent);
                    start = tile.wrapping_mul(extent);
                }
                (tile, start)
            };
            let (tile, start) = enter(ordinals().next().unwrap_or(0));
            // A cell outside the tile sets the highest bit: few processors compare several words of
            // 64 bits at once.
            let all = ordinals().fold(0, |all, ordinal| {
                let rest = ordinal.wrapping_sub(start);
                all | rest | last.wrapping_sub(rest) & HIGHEST
            });
            if all & HIGHEST == 0 {
                // All are in one tile: a loop without branches.
                fits &= tile.wrapping_sub(part.base) <= max && all & !most_within == 0;
                for (key, ordinal) in keys.iter_mut().zip(ordinals()) {
                    *key = key.with(key_of(tile, ordinal.wrapping_sub(start)));
                }
                continue;
            }
            for (key, ordinal) in keys.iter_mut().zip(ordinals()) {
                let (tile, start) = enter(ordinal);
                let rest = ordinal.wrapping_sub(start);
                fits &= tile.wrapping_sub(part.base) <= max && rest <= most_within;
                *key = key.with(key_of(tile, rest));
            }
        }
        (fits, false)
    }
}
