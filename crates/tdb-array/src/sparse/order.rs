//! Putting cells in order, and keeping only the newest of those with equal coordinates.

use core::cmp::Ordering;

use tdb_codec::{Layout, Native, PhysicalVisitor, to_u32, to_u64, to_usize};
use tdb_schema::{ArraySchema, Dimension};

use super::hilbert;
use super::select::{Coordinates, TileSelection};
use crate::context::Context;
use crate::{QueryError, Result, parallel};

/// What one part of a sort key is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// The space tile's index along a dimension.
    Tile(usize),
    /// The coordinate in a dimension.
    Cell(usize),
}

/// Sort keys as numbers: every part of fixed width, most significant first. Equal keys mean equal coordinates.
#[derive(Debug)]
struct NumericKeys<'a> {
    parts: Vec<(Part, u32)>,
    dimensions: &'a [Dimension],
}

/// How the cells of a result must be ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CellOrder {
    RowMajor,
    ColMajor,
    /// Space tiles in tile order, cells of a tile in cell order.
    Global,
    Hilbert,
}

impl CellOrder {
    pub(crate) const fn of(layout: Layout, schema: &ArraySchema) -> Self {
        match (layout, schema.cell_order) {
            (Layout::RowMajor, _) => Self::RowMajor,
            (Layout::ColMajor, _) => Self::ColMajor,
            (_, Layout::Hilbert) => Self::Hilbert,
            _ => Self::Global,
        }
    }
}

/// The order of the selected cells (numbered across the selections, as they stand), and without duplicates if
/// `dedup`: of cells with equal coordinates the one written last is kept, by timestamp, then by fragment.
pub(crate) fn permutation(
    context: &Context,
    schema: &ArraySchema,
    selections: &[TileSelection],
    order: CellOrder,
    dedup: bool,
) -> Result<Vec<u32>> {
    let cells: usize = selections.iter().map(TileSelection::len).sum();
    if to_u32(cells).is_none() {
        return Err(QueryError::TooLarge { cells: u128::from(to_u64(cells)) }.into());
    }
    let parts = parts(schema, order);
    let dimensions = &schema.domain.dimensions;
    let bits: Option<u32> = if order == CellOrder::Hilbert {
        None
    } else {
        parts.iter().try_fold(0u32, |sum, part| sum.checked_add(width(dimensions, *part)?))
    };
    let ranks = Ranks::new(selections, cells);
    let keys = NumericKeys::new(&parts, dimensions);
    // Cells outside the domain, which only a damaged or careless file has, do not fit the keys' bits.
    let sorted = match bits {
        Some(bits) if bits <= 64 => sorted::<u64>(context, &keys, selections, &ranks)?
            .map(|keyed| finish(keyed, dedup, &ranks, |a, b| a == b)),
        Some(bits) if bits <= 128 => sorted::<u128>(context, &keys, selections, &ranks)?
            .map(|keyed| finish(keyed, dedup, &ranks, |a, b| a == b)),
        _ => None,
    };
    Ok(sorted.unwrap_or_else(|| by_comparison(schema, selections, order, dedup, &ranks, cells)))
}

/// The parts of an order's keys, most significant first; ties of a Hilbert order are broken row by row.
pub(crate) fn parts(schema: &ArraySchema, order: CellOrder) -> Vec<Part> {
    let count = schema.domain.dimensions.len();
    let directed = |layout: Layout, part: fn(usize) -> Part| -> Vec<Part> {
        match layout {
            Layout::ColMajor => (0..count).rev().map(part).collect(),
            _ => (0..count).map(part).collect(),
        }
    };
    match order {
        CellOrder::RowMajor | CellOrder::Hilbert => directed(Layout::RowMajor, Part::Cell),
        CellOrder::ColMajor => directed(Layout::ColMajor, Part::Cell),
        CellOrder::Global => {
            let mut parts = directed(schema.tile_order, Part::Tile);
            parts.retain(|part| match part {
                Part::Tile(index) => {
                    schema.domain.dimensions.get(*index).is_some_and(|d| d.tile_extent.is_some())
                }
                Part::Cell(_) => true,
            });
            parts.extend(directed(schema.cell_order, Part::Cell));
            parts
        }
    }
}

/// Bits of a part; `None` for strings.
pub(crate) fn width(dimensions: &[Dimension], part: Part) -> Option<u32> {
    let (Part::Tile(index) | Part::Cell(index)) = part;
    let dimension = dimensions.get(index)?;
    if dimension.is_var() {
        return None;
    }
    let bits_of = |most: u64| u64::BITS.saturating_sub(most.leading_zeros());
    match (part, dimension.last_ordinal()) {
        (Part::Cell(_), Some(last)) => Some(bits_of(last)),
        (Part::Tile(_), Some(last)) => Some(bits_of(last.checked_div(dimension.extent_cells()?)?)),
        // Reals: order-preserving bits, and tile indices that may be anything.
        (Part::Cell(_), None) => u32::try_from(dimension.datatype.size().checked_mul(8)?).ok(),
        (Part::Tile(_), None) => Some(64),
    }
}

/// When each cell was written, for choosing between equal coordinates.
struct Ranks {
    /// Selection of each cell's tile: first cell number and fragment, ascending by cell number.
    starts: Vec<(u32, usize)>,
    /// Timestamps of all cells, if any fragment has them; fragments without count as their own.
    timestamps: Option<Vec<u64>>,
}

impl Ranks {
    fn new(selections: &[TileSelection], cells: usize) -> Self {
        let mut starts = Vec::with_capacity(selections.len());
        let mut next = 0u32;
        let timed = selections.iter().any(|selection| selection.timestamps.is_some());
        let mut timestamps = timed.then(|| Vec::with_capacity(cells));
        for selection in selections {
            starts.push((next, selection.fragment));
            next = next.saturating_add(to_u32(selection.len()).unwrap_or(u32::MAX));
            if let Some(timestamps) = &mut timestamps {
                match &selection.timestamps {
                    Some(own) => timestamps.extend_from_slice(own),
                    None => timestamps.extend(core::iter::repeat_n(selection.written, selection.len())),
                }
            }
        }
        Self { starts, timestamps }
    }

    fn fragment(&self, cell: u32) -> usize {
        let at = self.starts.partition_point(|(start, _)| *start <= cell);
        at.checked_sub(1).and_then(|at| self.starts.get(at)).map_or(0, |(_, fragment)| *fragment)
    }

    /// Greater means newer. Among cells of one fragment written at one time, the first stored wins.
    fn rank(&self, cell: u32) -> (u64, usize, core::cmp::Reverse<u32>) {
        let time = self.timestamps.as_ref().and_then(|all| all.get(to_usize(u64::from(cell))?));
        (time.copied().unwrap_or(0), self.fragment(cell), core::cmp::Reverse(cell))
    }
}

/// An unsigned integer that keys are packed into.
trait Key: Copy + Ord + Send + Default {
    fn push(self, bits: u32, value: u64) -> Self;
}

impl Key for u64 {
    fn push(self, bits: u32, value: u64) -> Self {
        self.checked_shl(bits).unwrap_or(0) | value
    }
}

impl Key for u128 {
    fn push(self, bits: u32, value: u64) -> Self {
        self.checked_shl(bits).unwrap_or(0) | Self::from(value)
    }
}

impl<'a> NumericKeys<'a> {
    fn new(parts: &[Part], dimensions: &'a [Dimension]) -> Self {
        let parts = parts.iter().filter_map(|part| Some((*part, width(dimensions, *part)?))).collect();
        Self { parts, dimensions }
    }

    /// Writes the keys of a tile's wanted cells to `out`, numbered from `first` on; false if one does not fit.
    fn append<K: Key>(&self, coordinates: &[Coordinates], first: u32, out: &mut [(K, u32)]) -> bool {
        for ((_, number), cell) in out.iter_mut().zip(first..) {
            *number = cell;
        }
        for (part, bits) in &self.parts {
            let (Part::Tile(index) | Part::Cell(index)) = *part;
            let (Some(values), Some(dimension)) = (coordinates.get(index), self.dimensions.get(index)) else {
                continue;
            };
            let visitor = PushPart { values: &values.values, dimension, part: *part, bits: *bits, out };
            if !dimension.datatype.physical().visit(visitor) {
                return false;
            }
        }
        true
    }
}

struct PushPart<'a, K> {
    values: &'a [u8],
    dimension: &'a Dimension,
    part: Part,
    bits: u32,
    out: &'a mut [(K, u32)],
}

impl<K: Key> PhysicalVisitor for PushPart<'_, K> {
    /// Whether every word fits its bits: cells outside the domain need not.
    type Output = bool;

    fn visit<T: Native>(self) -> bool {
        let Self { values, dimension, part, bits, out } = self;
        let cells = out.iter_mut().zip(values.chunks_exact(T::SIZE));
        let Some(low) = dimension.domain.as_ref().map(|(low, _)| low) else { return false };
        if T::PHYSICAL.is_float() {
            for ((key, _), value) in cells {
                let word = match part {
                    Part::Cell(_) => float_bits(value),
                    Part::Tile(_) => float_tile(dimension, value),
                };
                *key = key.push(bits, word);
            }
            return true;
        }
        let low = integer(low, T::PHYSICAL.is_signed_integer());
        let extent = dimension.extent_cells().unwrap_or(1).max(1);
        // Extents are mostly powers of two or small: a division a cell is what the order costs.
        let mut spilled = 0u64;
        for ((key, _), value) in cells {
            let ordinal = integer(value, T::PHYSICAL.is_signed_integer()).wrapping_sub(low);
            let word = match part {
                Part::Cell(_) => ordinal,
                Part::Tile(_) => ordinal.wrapping_div(extent),
            };
            spilled |= word.checked_shr(bits).unwrap_or(0);
            *key = key.push(bits, word);
        }
        spilled == 0
    }
}

/// The integer sign- or zero-extended to 64 bits.
#[inline]
fn integer(bytes: &[u8], signed: bool) -> u64 {
    match *bytes {
        [a] if signed => i64::from(i8::from_le_bytes([a])).cast_unsigned(),
        [a] => u64::from(a),
        [a, b] if signed => i64::from(i16::from_le_bytes([a, b])).cast_unsigned(),
        [a, b] => u64::from(u16::from_le_bytes([a, b])),
        [a, b, c, d] if signed => i64::from(i32::from_le_bytes([a, b, c, d])).cast_unsigned(),
        [a, b, c, d] => u64::from(u32::from_le_bytes([a, b, c, d])),
        [a, b, c, d, e, f, g, h] => u64::from_le_bytes([a, b, c, d, e, f, g, h]),
        _ => 0,
    }
}

/// Bits that order as the reals do. Different bit patterns stay different.
fn float_bits(bytes: &[u8]) -> u64 {
    match *bytes {
        [a, b, c, d] => {
            let bits = u32::from_le_bytes([a, b, c, d]);
            u64::from(if bits >> 31 == 0 { bits | 1 << 31 } else { !bits })
        }
        [a, b, c, d, e, f, g, h] => {
            let bits = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
            if bits >> 63 == 0 { bits | 1 << 63 } else { !bits }
        }
        _ => 0,
    }
}

/// The index of the space tile of a real coordinate, computed in the dimension's own precision as libtiledb does.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "truncation is the definition of a real dimension's tile index; out-of-domain values saturate"
)]
fn float_tile(dimension: &Dimension, value: &[u8]) -> u64 {
    let (Some((low, _)), Some(extent)) = (&dimension.domain, &dimension.tile_extent) else { return 0 };
    match (f32::from_le(value), f32::from_le(low), f32::from_le(extent)) {
        (Some(value), Some(low), Some(extent)) => ((value - low) / extent) as u64,
        _ => match (f64::from_le(value), f64::from_le(low), f64::from_le(extent)) {
            (Some(value), Some(low), Some(extent)) => ((value - low) / extent) as u64,
            _ => 0,
        },
    }
}

/// Cells a parallel job sorts.
const SORT_BAND: usize = 1 << 16;

/// All cells with their keys, sorted by key; equal keys in cell order. `None` if a cell does not fit its key.
fn sorted<K: Key>(
    context: &Context,
    keys: &NumericKeys<'_>,
    selections: &[TileSelection],
    ranks: &Ranks,
) -> Result<Option<Vec<(K, u32)>>> {
    let cells: usize = selections.iter().map(TileSelection::len).sum();
    let mut keyed: Vec<(K, u32)> = vec![(K::default(), 0); cells];
    let slots = crate::gather::split_lengths(&mut keyed, selections.iter().map(TileSelection::len));
    let starts = ranks.starts.iter().map(|(start, _)| *start);
    let jobs = slots.into_iter().zip(selections.iter().zip(starts)).collect();
    let fit = parallel::run(
        context.threads,
        jobs,
        || (),
        |(slot, (selection, start)): (&mut [_], _), ()| {
            let selection: &TileSelection = selection;
            Ok(keys.append(&selection.coordinates, start, slot))
        },
    )?;
    if fit.contains(&false) {
        return Ok(None);
    }
    // The numbers make all pairs different, so stability needs no stable sort; the stable one is used because
    // it finds the sorted runs that fragments are.
    if !keyed.is_sorted() {
        let bands = context.threads.min(cells.div_ceil(SORT_BAND)).max(1);
        let pieces = keyed.chunks_mut(cells.div_ceil(bands).max(1)).collect();
        parallel::run(
            context.threads,
            pieces,
            || (),
            |piece: &mut [(K, u32)], ()| {
                piece.sort();
                Ok(())
            },
        )?;
        if bands > 1 {
            keyed.sort();
        }
    }
    Ok(Some(keyed))
}

/// The cell numbers of sorted cells; among equal ones, newest first, or only the newest if `dedup`.
fn finish<K: Copy>(
    keyed: Vec<(K, u32)>,
    dedup: bool,
    ranks: &Ranks,
    same: impl Fn(K, K) -> bool,
) -> Vec<u32> {
    let mut order = Vec::with_capacity(keyed.len());
    for group in keyed.chunk_by(|a, b| same(a.0, b.0)) {
        match group {
            [(_, cell)] => order.push(*cell),
            _ if dedup => {
                order.extend(group.iter().map(|(_, cell)| *cell).max_by_key(|cell| ranks.rank(*cell)));
            }
            _ => {
                let start = order.len();
                order.extend(group.iter().map(|(_, cell)| *cell));
                if let Some(group) = order.get_mut(start..) {
                    group.sort_by_key(|cell| core::cmp::Reverse(ranks.rank(*cell)));
                }
            }
        }
    }
    order
}

/// The slow way: strings, Hilbert order, keys over 128 bits.
fn by_comparison(
    schema: &ArraySchema,
    selections: &[TileSelection],
    order: CellOrder,
    dedup: bool,
    ranks: &Ranks,
    cells: usize,
) -> Vec<u32> {
    let dimensions = &schema.domain.dimensions;
    // Where each cell's coordinates are: selection and place in it.
    let mut places = Vec::with_capacity(cells);
    let mut curve = Vec::new();
    let bits = hilbert::bits(dimensions.len());
    for (index, selection) in selections.iter().enumerate() {
        for at in 0..selection.len() {
            places.push((index, at));
            if order == CellOrder::Hilbert {
                let mut point: Vec<u64> = dimensions
                    .iter()
                    .enumerate()
                    .map(|(d, dimension)| {
                        hilbert::bucket(dimension, coordinate(selection, dimension, d, at), bits)
                    })
                    .collect();
                curve.push(hilbert::value(&mut point, bits));
            }
        }
    }
    let parts = parts(schema, order);
    let place = |cell: u32| places.get(crate::gather::index_of(cell)).copied().unwrap_or((0, 0));
    let compare = |a: u32, b: u32| -> Ordering {
        let hilbert = |cell: u32| curve.get(crate::gather::index_of(cell)).copied().unwrap_or(0);
        let (pa, pb) = (place(a), place(b));
        parts.iter().fold(hilbert(a).cmp(&hilbert(b)), |ordering, part| {
            ordering.then_with(|| {
                let (Part::Tile(index) | Part::Cell(index)) = *part;
                let Some(dimension) = dimensions.get(index) else { return Ordering::Equal };
                let value = |(selection, at): (usize, usize)| {
                    selections.get(selection).map_or(&[][..], |s| coordinate(s, dimension, index, at))
                };
                compare_part(*part, dimension, value(pa), value(pb))
            })
        })
    };
    let mut sorted: Vec<(u32, u32)> =
        (0..to_u32(cells).unwrap_or(u32::MAX)).map(|cell| (cell, cell)).collect();
    sorted.sort_by(|a, b| compare(a.0, b.0));
    finish(sorted, dedup, ranks, |a, b| compare(a, b) == Ordering::Equal)
}

/// The coordinate of a selected cell.
pub(crate) fn coordinate<'a>(
    selection: &'a TileSelection,
    dimension: &Dimension,
    index: usize,
    at: usize,
) -> &'a [u8] {
    let Some(values) = selection.coordinates.get(index) else { return &[] };
    let range = match &values.offsets {
        Some(offsets) => {
            let end = |at: usize| offsets.get(at).copied().and_then(to_usize).unwrap_or(0);
            end(at)..end(at.saturating_add(1))
        }
        None => {
            let size = dimension.datatype.size();
            at.saturating_mul(size)..at.saturating_add(1).saturating_mul(size)
        }
    };
    values.values.get(range).unwrap_or_default()
}

/// Orders two coordinates of a dimension by one part of a key.
pub(crate) fn compare_part(part: Part, dimension: &Dimension, a: &[u8], b: &[u8]) -> Ordering {
    if dimension.is_var() {
        // The reference implementation compares cells of string dimensions as signed characters.
        return a.iter().map(|byte| byte.cast_signed()).cmp(b.iter().map(|byte| byte.cast_signed()));
    }
    part_word(part, dimension, a).unwrap_or(0).cmp(&part_word(part, dimension, b).unwrap_or(0))
}

/// A part of the key of a coordinate that is no string, as a number; `None` for one that is no value of the dimension.
pub(crate) fn part_word(part: Part, dimension: &Dimension, value: &[u8]) -> Option<u64> {
    if dimension.datatype.physical().is_float() {
        return Some(match part {
            Part::Tile(_) => float_tile(dimension, value),
            Part::Cell(_) => float_bits(value),
        });
    }
    let ordinal = dimension.ordinal(value)?;
    Some(match part {
        Part::Tile(_) => ordinal.checked_div(dimension.extent_cells().unwrap_or(1)).unwrap_or(0),
        Part::Cell(_) => ordinal,
    })
}
