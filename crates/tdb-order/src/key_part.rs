//! The parts of a sort key, and which of them an order compares.

use core::cmp::Ordering;

use tdb_codec::Layout;
use tdb_schema::{ArraySchema, Dimension};

use crate::bits::{bit_width, float_bits};
use crate::reals;

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
