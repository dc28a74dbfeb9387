//! Ranges of sort keys: keys that give the position of a cell in an order, and intervals between
//! two of them.

use core::cmp::Ordering;
use std::sync::Arc;

use tdb_codec::to_u64;
use tdb_schema::{ArraySchema, Dimension};

use super::hilbert::Curve;
use crate::key_part::{CellOrder, KeyPart, compare_part, parts};

/// An order of cells, as a comparison.
#[derive(Clone, Debug)]
pub struct KeyOrder {
    /// The array's dimensions.
    pub dimensions: Vec<Dimension>,
    parts: Vec<KeyPart>,
    /// Whether cells are in the order of a Hilbert curve.
    pub hilbert: bool,
}

/// A cell's position in the order: its value on the Hilbert curve (0 in other orders) and its
/// coordinates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// Its value on the Hilbert curve; 0 in other orders.
    pub curve: u64,
    /// Its coordinates, one per dimension.
    pub cell: Vec<Vec<u8>>,
}

/// An interval of keys, including its first key and excluding its end.
#[derive(Clone, Debug)]
pub struct KeyRange {
    /// The order of the keys.
    pub order: Arc<KeyOrder>,
    /// The first key; `None` is open.
    pub from: Option<Key>,
    /// The key after the last one; `None` is open.
    pub to: Option<Key>,
}

impl KeyOrder {
    /// An order of an array's cells.
    pub fn new(schema: &ArraySchema, order: CellOrder) -> Self {
        let dimensions = schema.domain.dimensions.clone();
        Self { dimensions, parts: parts(schema, order), hilbert: order == CellOrder::Hilbert }
    }

    /// A cell's position on the Hilbert curve, or 0 in other orders.
    pub fn curve<'c>(&self, cell: impl Fn(usize) -> &'c [u8]) -> u64 {
        if !self.hilbert {
            return 0;
        }
        Curve::new(&self.dimensions).place(cell)
    }

    /// Compares two cells, given by their positions on the curve and their coordinates.
    pub fn compare<'a, 'b>(
        &self,
        a: (u64, impl Fn(usize) -> &'a [u8]),
        b: (u64, impl Fn(usize) -> &'b [u8]),
    ) -> Ordering {
        self.parts.iter().fold(a.0.cmp(&b.0), |ordering, part| {
            ordering.then_with(|| {
                let index = part.dimension();
                let dimension = self.dimensions.get(index);
                dimension.map_or(Ordering::Equal, |dimension| {
                    compare_part(*part, dimension, a.1(index), b.1(index))
                })
            })
        })
    }

    /// Compares two keys.
    pub fn compare_keys(&self, a: &Key, b: &Key) -> Ordering {
        self.compare((a.curve, |index| a.value(index)), (b.curve, |index| b.value(index)))
    }
}

impl Key {
    fn value(&self, dimension: usize) -> &[u8] {
        self.cell.get(dimension).map_or(&[], Vec::as_slice)
    }

    /// Approximate bytes that it takes. Like all estimates of memory, it stops at the greatest
    /// number.
    pub fn held(&self) -> u64 {
        let cell = self.cell.iter().map(|value| value.len().saturating_add(size_of::<Vec<u8>>() + 16));
        to_u64(cell.sum::<usize>().saturating_add(size_of::<Self>()))
    }
}

impl KeyRange {
    /// Clears `wanted` for cells outside the range.
    pub fn keep<'c>(&self, wanted: &mut [u8], value: impl Fn(usize, usize) -> &'c [u8]) {
        for (at, keep) in wanted.iter_mut().enumerate().filter(|(_, keep)| **keep != 0) {
            let cell = |dimension: usize| value(dimension, at);
            let curve = self.order.curve(cell);
            let side =
                |key: &Key| self.order.compare((curve, cell), (key.curve, |index: usize| key.value(index)));
            let inside = self.from.as_ref().is_none_or(|from| side(from).is_ge())
                && self.to.as_ref().is_none_or(|to| side(to).is_lt());
            *keep = u8::from(inside);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_holds_the_bytes_of_its_coordinates_and_little_more() {
        let held = |cell: Vec<Vec<u8>>| Key { curve: 0, cell }.held();
        let empty = held(Vec::new());
        let each = held(vec![Vec::new()]) - empty;
        assert!((24..=64).contains(&each), "{each} bytes for a coordinate beside its own");
        assert_eq!(held(vec![vec![1; 100], vec![2; 50]]), empty + 2 * each + 150);
    }
}
