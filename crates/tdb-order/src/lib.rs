//! Orders of the cells of TileDB arrays: puts cells in order, and keeps only the newest of those
//! with equal coordinates.
//!
//! Each cell gets a sort key (`layout`, `keys`): the parts of the order packed into 64 or 128 bits.
//! Parts that do not fit are left out, and in Hilbert order a key contains only the position on the
//! curve; cells with equal keys are then compared. Strings are compared as signed bytes in the
//! stored order of cells, and as unsigned bytes in row- and column-major order ([`KeyPart`]). If
//! they are too long for a key, the key contains their ranks among the different strings (`ranks`).
//!
//! Fragments are sorted runs in global order, so this order is merged (`sort`): samples of the runs
//! cut them into bands that fit the cache of a core, and the keys of a band are made, checked and
//! sorted when its turn comes. So there is never a key for each cell in memory. Runs that turn out
//! not to be sorted, and other orders, are sorted by buckets (a radix sort): cells are distributed
//! over buckets by the leading bits of their keys; the rest of a key and the number of the cell
//! mostly fit in 64 bits.
//!
//! A caller that only needs to know which cells are replaced by newer ones may pass the keys of
//! cells instead of their coordinates ([`KeyEncoder`]).
//!
//! The sorter takes batches of coordinates ([`CellBatch`]) and knows neither tiles nor selections.
//!
//! ```
//! use tdb_codec::{CellValNum, Datatype, Layout};
//! use tdb_order::{CellOrder, KeyPart, parts};
//! use tdb_schema::{ArraySchema, Attribute, Dimension};
//!
//! let schema = ArraySchema::sparse()
//!     .dimension(Dimension::new("row", 1i32..=4).with_tile(2))
//!     .dimension(Dimension::new("column", 1i32..=4).with_tile(2))
//!     .attribute(Attribute::new("a", Datatype::Int32, CellValNum::ONE))
//!     .build()?;
//! // The global order compares space tiles first, then the cells in them.
//! let global = parts(&schema, CellOrder::of(Layout::GlobalOrder, &schema));
//! assert_eq!(global, [KeyPart::Tile(0), KeyPart::Tile(1), KeyPart::Cell(0), KeyPart::Cell(1)]);
//! # Ok::<(), tdb_schema::SchemaProblem>(())
//! ```
//!
//! This crate is internal to the engine: programs use `tdb-array`, which re-exports what is meant
//! for them. Everything else here may change with any minor version.
#![forbid(unsafe_code)]

pub mod hilbert;
pub mod key_range;
mod keys;
mod layout;
mod measure;
mod ranks;
mod ready;
pub mod reals;
mod sort;
mod table;
mod thresholds;

use core::cmp::{Ordering, Reverse};

use tdb_codec::{Layout, to_u32, to_usize};
use tdb_schema::{ArraySchema, Dimension};

use self::keys::ComputedKeys;
use self::layout::KeyLayout;
pub use self::ready::{KeyEncoder, replaced_by_keys};
use self::sort::{CellKeys, JobOutput, Key, ResolveTies, Sorted};
use self::table::CellTable;
pub use self::table::{CellBatch, CoordinatesRef};
use tdb_cells::{Error, OrInternal, QueryError, Result, buffers, parallel};

/// A part of a sort key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyPart {
    /// The space tile's index along a dimension.
    Tile(usize),
    /// The coordinate in a dimension; strings as signed bytes.
    Cell(usize),
    /// The coordinate in a dimension of strings, as unsigned bytes.
    Bytes(usize),
}

impl KeyPart {
    /// The dimension of the part.
    pub const fn dimension(self) -> usize {
        let (Self::Tile(dimension) | Self::Cell(dimension) | Self::Bytes(dimension)) = self;
        dimension
    }
}

/// How the cells of a result must be ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellOrder {
    /// By the first dimension, then the second, and so on.
    RowMajor,
    /// By the last dimension, then the one before it, and so on.
    ColMajor,
    /// Space tiles in tile order, cells of a tile in cell order.
    Global,
    /// By their positions on the Hilbert curve.
    Hilbert,
}

impl CellOrder {
    /// The order of a query's layout for an array.
    pub const fn of(layout: Layout, schema: &ArraySchema) -> Self {
        match (layout, schema.cell_order) {
            (Layout::RowMajor, _) => Self::RowMajor,
            (Layout::ColMajor, _) => Self::ColMajor,
            (_, Layout::Hilbert) => Self::Hilbert,
            _ => Self::Global,
        }
    }
}

/// The numbers of the cells in this order, counted across the batches as they are. If `dedup`,
/// duplicates are removed: of cells with equal coordinates the one written last is kept, by
/// timestamp, then by fragment. Of cells that were written together the first is kept, and comes
/// first.
pub fn permutation(
    threads: usize,
    schema: &ArraySchema,
    batches: Vec<CellBatch<'_>>,
    order: CellOrder,
    dedup: bool,
) -> Result<Vec<u32>> {
    let table = CellTable::new(&schema.domain.dimensions, batches)?;
    Ok(sorted(threads, schema, &table, order, SortRequest { order: true, dedup })?.order)
}

/// The numbers of the cells that are replaced by others with equal coordinates, counted in the same
/// way, ascending. The order of the remaining cells does not matter.
pub fn replaced(threads: usize, schema: &ArraySchema, batches: Vec<CellBatch<'_>>) -> Result<Vec<u32>> {
    let table = CellTable::new(&schema.domain.dimensions, batches)?;
    let request = SortRequest { order: false, dedup: true };
    let mut cells = sorted(threads, schema, &table, order_to_compare(schema), request)?.dropped;
    cells.sort_unstable();
    Ok(cells)
}

/// The order in which replaced cells are looked for. Any order brings equal cells together. The
/// stored order is cheap, except for places on a Hilbert curve.
const fn order_to_compare(schema: &ArraySchema) -> CellOrder {
    match CellOrder::of(Layout::GlobalOrder, schema) {
        CellOrder::Hilbert => CellOrder::RowMajor,
        order => order,
    }
}

/// The results that a sort must compute.
#[derive(Clone, Copy, Debug)]
struct SortRequest {
    /// Whether the order is needed, and not only the dropped cells.
    order: bool,
    /// Whether only the newest of cells with equal coordinates is kept.
    dedup: bool,
}

fn sorted(
    threads: usize,
    schema: &ArraySchema,
    table: &CellTable<'_>,
    order: CellOrder,
    request: SortRequest,
) -> Result<Sorted> {
    if table.cells() == 0 {
        return Ok(Sorted::default());
    }
    let layout = KeyLayout::new(threads, schema, table, order)?;
    let parts = parts(schema, order);
    let ties = EqualKeys { table, parts: &parts, dimensions: &schema.domain.dimensions, request };
    if layout.is_narrow() {
        sorted_by::<u64>(threads, &layout, table, &ties)
    } else {
        sorted_by::<u128>(threads, &layout, table, &ties)
    }
}

fn sorted_by<K: Key>(
    threads: usize,
    layout: &KeyLayout<'_>,
    table: &CellTable<'_>,
    ties: &EqualKeys<'_>,
) -> Result<Sorted> {
    let ordered = ties.request.order;
    if let Some(sorted) = sort::merge::<K, _, _>(threads, &ComputedKeys { layout, table }, ties, ordered)? {
        return Ok(sorted);
    }
    // Without keys, all cells are compared.
    let no_keys = || CellKeys {
        keys: vec![K::default(); table.cells()],
        min: K::default(),
        max: K::default(),
        exact: false,
    };
    let keys = layout.all::<K>(threads, table)?.unwrap_or_else(no_keys);
    sort::sort(threads, &keys, ties, ordered)
}

/// Puts cells with equal keys in order, and drops those that others replace.
struct EqualKeys<'a> {
    table: &'a CellTable<'a>,
    parts: &'a [KeyPart],
    dimensions: &'a [Dimension],
    request: SortRequest,
}

impl ResolveTies for EqualKeys<'_> {
    fn resolve<E: Copy>(
        &self,
        exact: bool,
        sorted: &[E],
        same: impl Fn(E, E) -> bool,
        cell: impl Fn(E) -> u32,
        output: &mut JobOutput<'_>,
    ) {
        let mut cells = Vec::new();
        for group in sorted.chunk_by(|a, b| same(*a, *b)) {
            match group {
                [entry] => output.keep(cell(*entry)),
                _ => {
                    cells.clear();
                    cells.extend(group.iter().map(|entry| cell(*entry)));
                    self.resolve_duplicates(exact, &mut cells, output);
                }
            }
        }
    }
}

impl EqualKeys<'_> {
    /// Passes on cells with equal keys, which are in cell order.
    fn resolve_duplicates(&self, exact: bool, cells: &mut [u32], output: &mut JobOutput<'_>) {
        if exact {
            return self.equal(true, cells, output);
        }
        let compare = |a: u32, b: u32| self.table.compare(self.parts, self.dimensions, a, b);
        cells.sort_by(|a, b| compare(*a, *b));
        for group in cells.chunk_by_mut(|a, b| compare(*a, *b).is_eq()) {
            // Zeros of different signs have the same position, but are different coordinates.
            self.equal(false, group, output);
        }
    }

    /// Passes on cells with the same position in the order: the newest first, or only the newest
    /// cell of each coordinate.
    fn equal(&self, exact: bool, cells: &mut [u32], output: &mut JobOutput<'_>) {
        cells.sort_by_key(|cell| Reverse(self.table.recency(*cell)));
        for (index, cell) in cells.iter().enumerate() {
            let mut newer = cells.iter().take(index);
            let same = |newer: &u32| exact || self.table.same(self.dimensions.len(), *newer, *cell);
            if self.request.dedup && newer.any(same) {
                output.drop(*cell);
            } else {
                output.keep(*cell);
            }
        }
    }
}

/// The parts of an order's keys, most significant first. In Hilbert order, cells at the same
/// position are in row-major order.
///
/// Strings are compared as in libtiledb: as signed bytes in the stored order, as unsigned bytes in
/// row- and column-major order. For an array of one dimension these orders are the stored order.
pub fn parts(schema: &ArraySchema, order: CellOrder) -> Vec<KeyPart> {
    let count = schema.domain.dimensions.len();
    let directed = |layout: Layout, part: fn(usize) -> KeyPart| -> Vec<KeyPart> {
        match layout {
            Layout::ColMajor => (0..count).rev().map(part).collect(),
            _ => (0..count).map(part).collect(),
        }
    };
    let unsigned = |mut parts: Vec<KeyPart>| {
        let is_text = |index: usize| schema.domain.dimensions.get(index).is_some_and(Dimension::is_var);
        for part in parts.iter_mut().filter(|part| count > 1 && is_text(part.dimension())) {
            *part = KeyPart::Bytes(part.dimension());
        }
        parts
    };
    match order {
        CellOrder::RowMajor => unsigned(directed(Layout::RowMajor, KeyPart::Cell)),
        CellOrder::ColMajor => unsigned(directed(Layout::ColMajor, KeyPart::Cell)),
        CellOrder::Hilbert => directed(Layout::RowMajor, KeyPart::Cell),
        CellOrder::Global => {
            let mut parts = directed(schema.tile_order, KeyPart::Tile);
            parts.retain(|part| match part {
                KeyPart::Tile(index) => {
                    schema.domain.dimensions.get(*index).is_some_and(|d| d.tile_extent.is_some())
                }
                KeyPart::Cell(_) | KeyPart::Bytes(_) => true,
            });
            parts.extend(directed(schema.cell_order, KeyPart::Cell));
            parts
        }
    }
}

/// Bits of a part; `None` for strings.
pub fn width(dimensions: &[Dimension], part: KeyPart) -> Option<u32> {
    let dimension = dimensions.get(part.dimension())?;
    if dimension.is_var() {
        return None;
    }
    match (part, dimension.last_ordinal()) {
        (KeyPart::Tile(_), Some(last)) => Some(bit_width(last.checked_div(dimension.extent_cells()?)?)),
        (KeyPart::Cell(_) | KeyPart::Bytes(_), Some(last)) => Some(bit_width(last)),
        // Reals: order-preserving bits, and tile indices, which can be any number.
        (KeyPart::Cell(_) | KeyPart::Bytes(_), None) => {
            u32::try_from(dimension.datatype.size().checked_mul(8)?).ok()
        }
        (KeyPart::Tile(_), None) => Some(64),
    }
}

/// Bits of the numbers from 0 to `max`.
const fn bit_width(max: u64) -> u32 {
    u64::BITS - max.leading_zeros()
}

/// The greatest number of so many bits, at most 64: a mask of the lowest bits.
fn low_bits(bits: u32) -> u64 {
    u64::BITS.checked_sub(bits).map_or(u64::MAX, |unset| u64::MAX.checked_shr(unset).unwrap_or(0))
}

/// The integer sign- or zero-extended to 64 bits; 0 for bytes of another size than an integer has.
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

/// Bits with the same order as the reals: zeros of both signs are equal, other bit patterns differ.
fn float_bits(bytes: &[u8]) -> u64 {
    match *bytes {
        [a, b, c, d] => {
            let bits = u32::from_le_bytes([a, b, c, d]);
            let sign = 1 << 31;
            u64::from(if bits & sign == 0 || bits == sign { bits | sign } else { !bits })
        }
        [a, b, c, d, e, f, g, h] => {
            let bits = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
            let sign = 1 << 63;
            if bits & sign == 0 || bits == sign { bits | sign } else { !bits }
        }
        _ => 0,
    }
}

/// Whether the bytes of a real are those of −0.0.
pub fn is_negative_zero(bytes: &[u8]) -> bool {
    bytes.split_last().is_some_and(|(sign, rest)| *sign == 0x80 && rest.iter().all(|byte| *byte == 0))
}

/// The bytes of the real of `size` bytes for which [`float_bits`] returns `bits`.
fn float_from_bits(bits: u64, size: usize) -> Vec<u8> {
    if size == 4 {
        // More than 32 bits stand for the end of a range that is not known: the last one in
        // the order of reals, a NaN.
        let bits = to_usize(bits).and_then(to_u32).unwrap_or(u32::MAX);
        let sign = 1u32 << 31;
        return if bits & sign == 0 { !bits } else { bits & !sign }.to_le_bytes().to_vec();
    }
    let sign = 1u64 << 63;
    if bits & sign == 0 { !bits } else { bits & !sign }.to_le_bytes().to_vec()
}

/// Compares two coordinates of a dimension by one part of a key. Callers pass values of the
/// dimension; other bytes compare as 0.
pub fn compare_part(part: KeyPart, dimension: &Dimension, a: &[u8], b: &[u8]) -> Ordering {
    if matches!(part, KeyPart::Bytes(_)) {
        return a.cmp(b);
    }
    if dimension.is_var() {
        // The reference implementation stores cells of string dimensions in the order of signed
        // characters.
        return a.iter().map(|byte| byte.cast_signed()).cmp(b.iter().map(|byte| byte.cast_signed()));
    }
    if dimension.datatype.physical().is_float() && matches!(part, KeyPart::Cell(_)) {
        return float_bits(a).cmp(&float_bits(b));
    }
    part_word(part, dimension, a).unwrap_or(0).cmp(&part_word(part, dimension, b).unwrap_or(0))
}

/// One part of a coordinate's key, as a number; `None` for strings and for bytes that are not a
/// value of the dimension. Zeros of both signs have the same number, other coordinates different
/// ones.
pub fn part_word(part: KeyPart, dimension: &Dimension, value: &[u8]) -> Option<u64> {
    if dimension.datatype.physical().is_float() {
        return Some(match part {
            KeyPart::Tile(_) => reals::tile(dimension, value),
            KeyPart::Cell(_) | KeyPart::Bytes(_) => float_bits(value),
        });
    }
    let ordinal = dimension.ordinal(value)?;
    Some(match part {
        KeyPart::Tile(_) => ordinal.checked_div(dimension.extent_cells().unwrap_or(1)).unwrap_or(0),
        KeyPart::Cell(_) | KeyPart::Bytes(_) => ordinal,
    })
}

#[cfg(test)]
mod tests;
