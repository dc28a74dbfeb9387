//! Sort keys as numbers: the parts of an order packed into 64 or 128 bits, most significant first.
//!
//! A part takes no more bits than its values need to be distinguished, so that most keys fit in a
//! word: ordinals are counted from the least one, a cell inside its space tile from the tile's
//! start, and strings lose their common prefix, or become ranks. What does not fit is left out, and
//! cells whose keys are equal are compared (`Packing::exact` means that this is not necessary).

use core::ops::Range;

use tdb_codec::{Native, PhysicalVisitor, to_u64, to_usize};
use tdb_schema::{ArraySchema, Dimension};

use super::hilbert::{self, Curve};
use super::measure::{Spread, Text, domain_low, spread, text};
use super::ranks::Ranks;
use super::sort::{Key, Keyed, Source as KeySource, useful_threads};
use super::table::{CellTable, Piece};
use super::{
    CellOrder, Part, compare_part, float_bits, float_from_bits, integer, is_negative_zero, parts, reals,
};
use crate::buffers::split_exactly;
use crate::{Result, parallel};

/// What a part of a key is computed from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    /// The space tile's index.
    Tile,
    /// The distance from the space tile's start, if the tile's index is already in the key.
    Within,
    /// The coordinate.
    Cell,
    /// The rank among the different strings of the dimension.
    Rank,
    /// The characters after the common prefix, and their number if all of them fit.
    Text { prefix: usize, bytes: usize, length_bits: u32, signed: bool },
    /// The place on the Hilbert curve.
    Hilbert,
}

/// A part of a key and its position in it.
#[derive(Clone, Copy, Debug)]
struct Slot {
    dimension: usize,
    source: Source,
    /// The value that is subtracted from its values.
    base: u64,
    bits: u32,
    shift: u32,
}

/// The layout of keys.
#[derive(Debug)]
pub(super) struct Packing<'a> {
    slots: Vec<Slot>,
    dimensions: &'a [Dimension],
    bits: u32,
    /// Whether equal keys mean equal coordinates.
    exact: bool,
    /// The ranks of strings, by dimension.
    ranks: Vec<Option<Ranks>>,
}

const fn bits_of(max: u64) -> u32 {
    u64::BITS - max.leading_zeros()
}

impl<'a> Packing<'a> {
    pub(super) fn new(
        threads: usize,
        schema: &'a ArraySchema,
        table: &CellTable<'_>,
        order: CellOrder,
    ) -> Result<Self> {
        let dimensions = schema.domain.dimensions.as_slice();
        let wanted = parts(schema, order);
        if order == CellOrder::Hilbert {
            let slot = Slot { dimension: 0, source: Source::Hilbert, base: 0, bits: hilbert::BITS, shift: 0 };
            let ranks = Vec::new();
            return Ok(Self { slots: vec![slot], dimensions, bits: hilbert::BITS, exact: false, ranks });
        }
        let declared: Vec<Spread> = dimensions
            .iter()
            .map(|dimension| Spread { min: 0, max: dimension.last_ordinal().unwrap_or(u64::MAX) })
            .collect();
        let narrow = Self::fit(dimensions, &wanted, &declared, &[]);
        if narrow.is_exact_word() {
            return Ok(narrow);
        }
        // Domains are often far wider than the values in them.
        let mut spreads = Vec::with_capacity(dimensions.len());
        let mut texts = Vec::with_capacity(dimensions.len());
        for (index, dimension) in dimensions.iter().enumerate() {
            if dimension.is_var() {
                texts.push(text(threads, table, index)?);
                spreads.push(Spread { min: 0, max: 0 });
            } else {
                texts.push(None);
                spreads.push(spread(threads, table, dimension, index)?);
            }
        }
        let packing = Self::fit(dimensions, &wanted, &spreads, &texts);
        if packing.exact || !dimensions.iter().any(Dimension::is_var) {
            return Ok(packing);
        }
        // To compare cells whose keys are equal takes far longer than to know the place of each
        // string among the others.
        let mut ranks = Vec::with_capacity(dimensions.len());
        let measured = texts.iter_mut().zip(&mut spreads);
        for ((index, dimension), (text, spread)) in dimensions.iter().enumerate().zip(measured) {
            let part = wanted.iter().find(|part| part.dimension() == index);
            let Some(part) = part.filter(|_| dimension.is_var()) else {
                ranks.push(None);
                continue;
            };
            let compare = |a: &[u8], b: &[u8]| compare_part(*part, dimension, a, b);
            let Some(own) = Ranks::new(threads, table, index, compare)? else { return Ok(packing) };
            *text = None;
            spread.max = own.last;
            ranks.push(Some(own));
        }
        let ranked = Self::fit(dimensions, &wanted, &spreads, &texts);
        Ok(if ranked.exact { Self { ranks, ..ranked } } else { packing })
    }

    /// The layout for values of dimensions of fixed size that are known to be in these ranges.
    /// `None` for places on a Hilbert curve.
    pub(super) fn of_spreads(schema: &'a ArraySchema, order: CellOrder, spreads: &[Spread]) -> Option<Self> {
        let dimensions = schema.domain.dimensions.as_slice();
        (order != CellOrder::Hilbert).then(|| Self::fit(dimensions, &parts(schema, order), spreads, &[]))
    }

    /// Gives each part as many bits as it needs, while there are bits left.
    fn fit(dimensions: &'a [Dimension], wanted: &[Part], spreads: &[Spread], texts: &[Option<Text>]) -> Self {
        let mut slots: Vec<Slot> = Vec::with_capacity(wanted.len());
        let (mut bits, mut exact) = (0u32, true);
        for part in wanted {
            let index = part.dimension();
            let (Some(dimension), Some(spread)) = (dimensions.get(index), spreads.get(index)) else {
                // Cells are compared by what is not in their keys.
                exact = false;
                break;
            };
            let left = u128::BITS.saturating_sub(bits);
            if dimension.is_var() {
                let Some(text) = texts.get(index).copied().flatten() else {
                    // The spread is that of their ranks, if they have any.
                    let width = bits_of(spread.max);
                    if texts.is_empty() || width > left {
                        exact = false;
                        break;
                    }
                    let slot =
                        Slot { dimension: index, source: Source::Rank, base: 0, bits: width, shift: 0 };
                    slots.push(slot);
                    bits = bits.saturating_add(width);
                    continue;
                };
                let length_bits = bits_of(to_u64(text.longest));
                let all = u32::try_from(text.longest).unwrap_or(u32::MAX).saturating_mul(8);
                let fits = all.saturating_add(length_bits) <= left;
                let bytes = if fits { text.longest } else { to_usize(u64::from(left / 8)).unwrap_or(0) };
                let length_bits = if fits { length_bits } else { 0 };
                let width = u32::try_from(bytes).unwrap_or(0).saturating_mul(8).saturating_add(length_bits);
                let signed = !matches!(part, Part::Bytes(_));
                let source = Source::Text { prefix: text.prefix, bytes, length_bits, signed };
                slots.push(Slot { dimension: index, source, base: 0, bits: width, shift: 0 });
                bits = bits.saturating_add(width);
                if !fits {
                    exact = false;
                    break;
                }
                continue;
            }
            let tile = |value: u64| tile_of(dimension, value);
            let has_tile = slots.iter().any(|slot| slot.dimension == index && slot.source == Source::Tile);
            let real = dimension.datatype.physical().is_float();
            let (source, base, width) = match part {
                // The index of a real tile is computed in rounded steps: it may be one more at its
                // ends.
                Part::Tile(_) if real => {
                    let (first, last) =
                        (tile(spread.min).saturating_sub(1), tile(spread.max).saturating_add(1));
                    (Source::Tile, first, bits_of(last.saturating_sub(first)))
                }
                Part::Tile(_) => {
                    let first = tile(spread.min);
                    (Source::Tile, first, bits_of(tile(spread.max).saturating_sub(first)))
                }
                Part::Cell(_) | Part::Bytes(_) if has_tile && !real => {
                    let extent = dimension.extent_cells().unwrap_or(1).max(1);
                    (Source::Within, 0, bits_of(extent.saturating_sub(1).min(spread.max)))
                }
                Part::Cell(_) | Part::Bytes(_) => {
                    (Source::Cell, spread.min, bits_of(spread.max.saturating_sub(spread.min)))
                }
            };
            if width > left {
                exact = false;
                break;
            }
            slots.push(Slot { dimension: index, source, base, bits: width, shift: 0 });
            bits = bits.saturating_add(width);
        }
        let mut shift = bits;
        for slot in &mut slots {
            shift = shift.saturating_sub(slot.bits);
            slot.shift = shift;
        }
        Self { slots, dimensions, bits, exact, ranks: Vec::new() }
    }

    pub(super) const fn dimensions(&self) -> &'a [Dimension] {
        self.dimensions
    }

    /// Whether keys of 64 bits tell all coordinates apart (but zeros of both signs).
    pub(super) const fn is_exact_word(&self) -> bool {
        self.exact && self.is_narrow()
    }

    /// Whether keys fit in 64 bits.
    pub(super) const fn is_narrow(&self) -> bool {
        self.bits <= u64::BITS
    }

    /// The keys of all cells; `None` if a cell does not fit in its key. Such cells are outside the
    /// domain, which happens only in damaged files, or those of a careless writer.
    pub(super) fn all<K: Key>(&self, threads: usize, table: &CellTable<'_>) -> Result<Option<Keyed<K>>> {
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
                let first = out.first().copied().unwrap_or_default();
                let (mut min, mut max) = (first, first);
                for key in out.iter() {
                    (min, max) = (min.min(*key), max.max(*key));
                }
                Ok(Some((min, max, exact)))
            },
        )?;
        let Some(seen) = seen.into_iter().collect::<Option<Vec<_>>>() else { return Ok(None) };
        Ok(Some(Keyed {
            keys,
            min: seen.iter().map(|(min, ..)| *min).min().unwrap_or_default(),
            max: seen.iter().map(|(_, max, _)| *max).max().unwrap_or_default(),
            exact: seen.iter().all(|(.., exact)| *exact),
        }))
    }

    /// Adds the parts of the keys of a piece's cells to keys that are 0; `None` if one does not
    /// fit, otherwise whether equal keys mean equal coordinates.
    pub(super) fn fill<K: Key>(&self, table: &CellTable<'_>, piece: &Piece, out: &mut [K]) -> Option<bool> {
        let mut exact = self.exact;
        for (at, slot) in self.slots.iter().enumerate() {
            if slot.source == Source::Hilbert {
                self.fill_hilbert(table, piece, out);
                continue;
            }
            let dimension = self.dimensions.get(slot.dimension)?;
            if slot.source == Source::Rank {
                let ranks = self.ranks.get(slot.dimension)?.as_ref()?.of(table, piece)?;
                for (key, rank) in out.iter_mut().zip(ranks) {
                    *key = key.with(K::place(u64::from(*rank), slot.shift));
                }
                continue;
            }
            let coordinates = table.coordinates(piece, slot.dimension);
            if let Source::Text { prefix, bytes, length_bits, signed } = slot.source {
                let flip = if signed { 0x80 } else { 0 };
                for (index, key) in out.iter_mut().enumerate() {
                    let value = table.value(piece, slot.dimension, index);
                    *key = key.with(text_key(value, prefix, bytes, length_bits, (slot.shift, flip)));
                }
                continue;
            }
            // A dimension's tile and the position within it are computed together.
            let other = |source| {
                let mut of_dimension = self.slots.iter().filter(|other| other.dimension == slot.dimension);
                of_dimension.find(|other| other.source == source)
            };
            if slot.source == Source::Within
                && self.slots.iter().take(at).any(|s| s.dimension == slot.dimension)
            {
                continue;
            }
            let size = dimension.datatype.size();
            let start = piece.at.saturating_mul(size);
            let end = start.saturating_add(piece.cells.saturating_mul(size));
            let values = coordinates.values.get(start..end)?;
            let within = if slot.source == Source::Tile { other(Source::Within) } else { None };
            let visitor = Fill { values, dimension, slot, within, out: &mut *out };
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

/// Sets keys to 0 that are 0 already. [`Packing::fill`] reads before it writes, and fresh memory
/// that is read first is mapped twice: the second time, the system stops the threads on other
/// cores. The compiler would leave this out where it sees the allocation.
#[inline(never)]
pub(super) fn clear<K: Key>(keys: &mut [K]) {
    keys.fill(K::default());
}

/// The keys of a table's cells, computed when they are needed.
pub(super) struct Keys<'a> {
    pub(super) packing: &'a Packing<'a>,
    pub(super) table: &'a CellTable<'a>,
}

impl<K: Key> KeySource<K> for Keys<'_> {
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
            out.resize(from.saturating_add(piece.cells), K::default());
            exact &= self.packing.fill(self.table, &piece, out.get_mut(from..)?)?;
        }
        Some(exact)
    }
}

/// The tile of a value in the form that [`Spread`] uses: an ordinal, or a real's ordered bits.
fn tile_of(dimension: &Dimension, value: u64) -> u64 {
    if dimension.datatype.physical().is_float() {
        reals::tile(dimension, &float_from_bits(value, dimension.datatype.size()))
    } else {
        value.checked_div(dimension.extent_cells().unwrap_or(1)).unwrap_or(0)
    }
}

/// The characters after the prefix, each with the bits of `flip` inverted, followed by their
/// number.
fn text_key<K: Key>(
    value: &[u8],
    prefix: usize,
    bytes: usize,
    length_bits: u32,
    (shift, flip): (u32, u8),
) -> K {
    // All values have the prefix.
    let rest = value.get(prefix..).unwrap_or_default();
    let mut key = K::place(to_u64(rest.len()), shift);
    if length_bits == 0 {
        key = K::default();
    }
    let top =
        u32::try_from(bytes).unwrap_or(0).saturating_mul(8).saturating_add(shift).saturating_add(length_bits);
    for (byte, place) in rest.iter().take(bytes).zip(1u32..) {
        key = key.with(K::place(u64::from(*byte ^ flip), top.saturating_sub(place.saturating_mul(8))));
    }
    key
}

/// Cells that are looked at together: when all of them are in one space tile, nothing is divided.
const BLOCK: usize = 32;

const HIGHEST: u64 = 1 << 63;

/// Adds a dimension's part to the keys.
struct Fill<'a, K> {
    values: &'a [u8],
    dimension: &'a Dimension,
    slot: &'a Slot,
    within: Option<&'a Slot>,
    out: &'a mut [K],
}

impl<K: Key> PhysicalVisitor for Fill<'_, K> {
    /// Whether every word fits in its bits, and whether there was a negative zero: it has the same
    /// place as the positive one, but is another coordinate.
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
                *key = key.with(K::place(word, slot.shift));
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
                *key = key.with(K::place(word, slot.shift));
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
        // Neighbours are mostly in the same tile: divide only when a value is outside the last
        // tile.
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
            // What lies outside the tile sets the highest bit: few processors compare several words
            // of 64 bits at once.
            let all = ordinals().fold(0, |all, ordinal| {
                let rest = ordinal.wrapping_sub(start);
                all | rest | last.wrapping_sub(rest) & HIGHEST
            });
            if all & HIGHEST == 0 {
                // All are in one tile: a loop without branches.
                fits &= tile.wrapping_sub(slot.base) <= max && all & !most_within == 0;
                for (key, ordinal) in keys.iter_mut().zip(ordinals()) {
                    *key = key.with(part(tile, ordinal.wrapping_sub(start)));
                }
                continue;
            }
            for (key, ordinal) in keys.iter_mut().zip(ordinals()) {
                let (tile, start) = enter(ordinal);
                let rest = ordinal.wrapping_sub(start);
                fits &= tile.wrapping_sub(slot.base) <= max && rest <= most_within;
                *key = key.with(part(tile, rest));
            }
        }
        (fits, false)
    }
}
