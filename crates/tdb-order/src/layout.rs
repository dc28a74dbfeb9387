//! The layout of sort keys: how many bits of a key each part of an order takes, most significant
//! part first.
//!
//! A part takes no more bits than its values need to be distinguished, so that most keys fit in 64
//! bits: ordinals are counted from the least one, a cell inside its space tile from the tile's
//! start, and strings lose their common prefix, or are replaced by their ranks. Parts that do not
//! fit in 128 bits are left out, and cells whose keys are equal are compared
//! ([`KeyLayout::exact`] means that this is not necessary).

use tdb_codec::to_u64;
use tdb_schema::{ArraySchema, Dimension};

use super::hilbert;
use super::measure::{StringStats, ValueRange, string_stats, value_range};
use super::ranks::StringRanks;
use super::reals;
use super::table::CellTable;
use crate::bits::{bit_width, float_from_bits};
use crate::key_part::{CellOrder, KeyPart, compare_part, parts};
use crate::{OrInternal, Result};

/// The value that a part of a key is computed from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PartSource {
    /// The space tile's index.
    Tile,
    /// The distance from the space tile's start, if the tile's index is already in the key.
    Within,
    /// The coordinate.
    Cell,
    /// The rank among the different strings of the dimension.
    Rank,
    /// The first `bytes` bytes after the common prefix of `prefix` bytes, and the number of all
    /// bytes after it if they all fit (`length_bits` is 0 otherwise).
    Text { prefix: usize, bytes: u32, length_bits: u32, signed: bool },
    /// The position on the Hilbert curve.
    Hilbert,
}

/// A part of a key and its position in it.
#[derive(Clone, Copy, Debug)]
pub(super) struct PackedPart {
    pub(super) dimension: usize,
    pub(super) source: PartSource,
    /// The value that is subtracted from its values.
    pub(super) base: u64,
    pub(super) bits: u32,
    /// The number of bits of the parts after it.
    pub(super) shift: u32,
}

/// The layout of keys.
#[derive(Debug)]
pub(super) struct KeyLayout<'a> {
    pub(super) parts: Vec<PackedPart>,
    pub(super) dimensions: &'a [Dimension],
    /// Bits of a key.
    bits: u32,
    /// Whether equal keys mean equal coordinates.
    pub(super) exact: bool,
    /// The ranks of strings, by dimension.
    pub(super) ranks: Vec<Option<StringRanks>>,
}

impl<'a> KeyLayout<'a> {
    /// The layout for the cells of a table. Their coordinates are looked at only if keys for the
    /// whole domain do not fit in 64 bits.
    pub(super) fn new(
        threads: usize,
        schema: &'a ArraySchema,
        table: &CellTable<'_>,
        order: CellOrder,
    ) -> Result<Self> {
        let dimensions = schema.domain.dimensions.as_slice();
        let order_parts = parts(schema, order);
        if order == CellOrder::Hilbert {
            let (source, bits) = (PartSource::Hilbert, hilbert::BITS);
            let part = PackedPart { dimension: 0, source, base: 0, bits, shift: 0 };
            return Ok(Self { parts: vec![part], dimensions, bits, exact: false, ranks: Vec::new() });
        }
        let declared: Vec<ValueRange> = dimensions
            .iter()
            .map(|dimension| ValueRange { min: 0, max: dimension.last_ordinal().unwrap_or(u64::MAX) })
            .collect();
        let narrow = Self::fit(dimensions, &order_parts, &declared, &[])?;
        if narrow.is_exact_word() {
            return Ok(narrow);
        }
        // Domains are often far wider than the values in them.
        let mut ranges = Vec::with_capacity(dimensions.len());
        let mut strings = Vec::with_capacity(dimensions.len());
        for (index, dimension) in dimensions.iter().enumerate() {
            if dimension.is_var() {
                strings.push(string_stats(threads, table, index)?);
                ranges.push(ValueRange { min: 0, max: 0 });
            } else {
                strings.push(None);
                ranges.push(value_range(threads, table, dimension, index)?);
            }
        }
        let layout = Self::fit(dimensions, &order_parts, &ranges, &strings)?;
        if layout.exact || !dimensions.iter().any(Dimension::is_var) {
            return Ok(layout);
        }
        // Comparing cells whose keys are equal takes far longer than ranking all strings.
        let mut ranks = Vec::with_capacity(dimensions.len());
        let measured = strings.iter_mut().zip(&mut ranges);
        for ((index, dimension), (strings, range)) in dimensions.iter().enumerate().zip(measured) {
            let part = order_parts.iter().find(|part| part.dimension() == index);
            let Some(part) = part.filter(|_| dimension.is_var()) else {
                ranks.push(None);
                continue;
            };
            let compare = |a: &[u8], b: &[u8]| compare_part(*part, dimension, a, b);
            let Some(own) = StringRanks::new(threads, table, index, compare)? else { return Ok(layout) };
            *strings = None;
            range.max = own.last;
            ranks.push(Some(own));
        }
        let ranked = Self::fit(dimensions, &order_parts, &ranges, &strings)?;
        Ok(if ranked.exact { Self { ranks, ..ranked } } else { layout })
    }

    /// The layout for values of fixed-size dimensions that are known to be in these ranges. `None`
    /// for positions on a Hilbert curve, and if there is not a range for each dimension.
    pub(super) fn of_ranges(
        schema: &'a ArraySchema,
        order: CellOrder,
        ranges: &[ValueRange],
    ) -> Option<Self> {
        let dimensions = schema.domain.dimensions.as_slice();
        let parts = Some(parts(schema, order)).filter(|_| order != CellOrder::Hilbert)?;
        Self::fit(dimensions, &parts, ranges, &[]).ok()
    }

    /// Gives each part as many bits as it needs, while there are bits left. `ranges` has a range
    /// for each dimension. If a dimension of strings has no statistics in `strings`, its range is
    /// that of their ranks; without any `strings`, nothing is known of strings.
    fn fit(
        dimensions: &'a [Dimension],
        order_parts: &[KeyPart],
        ranges: &[ValueRange],
        strings: &[Option<StringStats>],
    ) -> Result<Self> {
        let parts = Vec::with_capacity(order_parts.len());
        let mut layout = Self { parts, dimensions, bits: 0, exact: true, ranks: Vec::new() };
        for part in order_parts {
            let index = part.dimension();
            let known = dimensions.get(index).zip(ranges.get(index));
            let (dimension, range) = known.or_internal("a part of an order without its dimension")?;
            let left = u128::BITS - layout.bits;
            let (packed, is_whole) = match strings.get(index).copied().flatten() {
                Some(stats) if dimension.is_var() => text_part(*part, stats, left),
                _ if dimension.is_var() && strings.is_empty() => {
                    layout.exact = false;
                    break;
                }
                _ if dimension.is_var() => {
                    (PackedPart::new(index, PartSource::Rank, 0, bit_width(range.max)), true)
                }
                _ => (layout.number_part(*part, dimension, *range), true),
            };
            if packed.bits > left {
                layout.exact = false;
                break;
            }
            layout.bits += packed.bits;
            layout.parts.push(packed);
            if !is_whole {
                layout.exact = false;
                break;
            }
        }
        let mut shift = 0;
        for part in layout.parts.iter_mut().rev() {
            part.shift = shift;
            shift += part.bits;
        }
        Ok(layout)
    }

    /// A part for a dimension of numbers whose values are in `range`.
    fn number_part(&self, part: KeyPart, dimension: &Dimension, range: ValueRange) -> PackedPart {
        let index = part.dimension();
        let tile = |value: u64| tile_of(dimension, value);
        let is_real = dimension.datatype.physical().is_float();
        let mut before = self.parts.iter();
        let has_tile = before.any(|own| own.dimension == index && own.source == PartSource::Tile);
        match part {
            // Tiles of reals are numbered from 0 again where there are too many
            // ([`reals::tiles_ascend`]). If the last index is below the first, no cell fits in its
            // key, and cells are compared.
            KeyPart::Tile(_) => {
                let (mut first, mut last) = (tile(range.min), tile(range.max));
                if is_real {
                    // The index is computed in rounded steps: it may be one more or less.
                    (first, last) = (first.saturating_sub(1), last.saturating_add(1));
                }
                PackedPart::new(index, PartSource::Tile, first, bit_width(last.saturating_sub(first)))
            }
            KeyPart::Cell(_) | KeyPart::Bytes(_) if has_tile && !is_real => {
                let last = extent(dimension) - 1;
                PackedPart::new(index, PartSource::Within, 0, bit_width(last.min(range.max)))
            }
            KeyPart::Cell(_) | KeyPart::Bytes(_) => {
                let bits = bit_width(range.max.abs_diff(range.min));
                PackedPart::new(index, PartSource::Cell, range.min, bits)
            }
        }
    }

    pub(super) const fn dimensions(&self) -> &'a [Dimension] {
        self.dimensions
    }

    /// Whether keys of 64 bits tell all coordinates apart (except zeros of both signs).
    pub(super) const fn is_exact_word(&self) -> bool {
        self.exact && self.is_narrow()
    }

    /// Whether keys fit in 64 bits.
    pub(super) const fn is_narrow(&self) -> bool {
        self.bits <= u64::BITS
    }
}

impl PackedPart {
    /// A part whose position is not known yet.
    const fn new(dimension: usize, source: PartSource, base: u64, bits: u32) -> Self {
        Self { dimension, source, base, bits, shift: 0 }
    }
}

/// A part for strings in at most `left` bits, and whether it contains all of each string.
fn text_part(part: KeyPart, stats: StringStats, left: u32) -> (PackedPart, bool) {
    let signed = !matches!(part, KeyPart::Bytes(_));
    let length_bits = bit_width(to_u64(stats.longest));
    let longest = u32::try_from(stats.longest).ok();
    let whole = longest.filter(|bytes| {
        let bits = bytes.checked_mul(8).and_then(|bits| bits.checked_add(length_bits));
        bits.is_some_and(|bits| bits <= left)
    });
    let (bytes, length_bits) = whole.map_or((left / 8, 0), |bytes| (bytes, length_bits));
    let source = PartSource::Text { prefix: stats.prefix, bytes, length_bits, signed };
    (PackedPart::new(part.dimension(), source, 0, bytes * 8 + length_bits), whole.is_some())
}

/// Cells of a space tile along a dimension; only dimensions that have tiles need it.
pub(super) fn extent(dimension: &Dimension) -> u64 {
    dimension.extent_cells().unwrap_or(1).max(1)
}

/// The tile of a value in the form that [`ValueRange`] uses: an ordinal, or a real's ordered bits.
fn tile_of(dimension: &Dimension, value: u64) -> u64 {
    if dimension.datatype.physical().is_float() {
        reals::tile(dimension, &float_from_bits(value, dimension.datatype.size()))
    } else {
        value / extent(dimension)
    }
}
