//! Keys that are made where coordinates are decoded, while these are still in the cache of a core.
//!
//! A query that only needs to know which cells are replaced uses coordinates for nothing but their
//! keys. If the layout of keys is known before any cell is, a tile can be reduced to its keys as
//! soon as it is decoded: half as much memory for two dimensions of eight bytes, and the
//! coordinates are not read a second time.

use tdb_schema::{ArraySchema, Range};

use super::keys::clear;
use super::layout::KeyLayout;
use super::measure::ValueRange;
use super::sort::{self, CellKeys, KeySource, key_range};
use super::table::{CellBatch, CellTable, CoordinatesRef};
use super::{EqualKeys, SortRequest, order_to_compare};
use crate::key_part::{KeyPart, part_word};
use crate::{Error, Result};

/// The layout of keys of 64 bits which tell all coordinates of an array apart.
#[derive(Debug)]
pub struct KeyEncoder<'s>(KeyLayout<'s>);

impl<'s> KeyEncoder<'s> {
    /// The layout for an array whose cells lie in `bounds`, a range for each dimension. `None` if
    /// 64 bits are not enough, or are not known to be (then [`replaced`](super::replaced) finds a
    /// layout that fits the cells), and where keys would take more memory than coordinates.
    #[must_use]
    pub fn new(schema: &'s ArraySchema, bounds: &[Range]) -> Option<Self> {
        let dimensions = schema.domain.dimensions.as_slice();
        let ranges = dimensions.iter().zip(bounds).map(|(dimension, range)| {
            if dimension.is_var() {
                return None;
            }
            let word = |value: &[u8]| part_word(KeyPart::Cell(0), dimension, value);
            let (min, max) = (word(&range.low)?, word(&range.high)?);
            (min <= max).then_some(ValueRange { min, max })
        });
        let ranges: Vec<ValueRange> = ranges.collect::<Option<_>>()?;
        let bytes: usize = dimensions.iter().map(|dimension| dimension.datatype.size()).sum();
        if ranges.len() != dimensions.len() || bytes < size_of::<u64>() {
            return None;
        }
        let layout = KeyLayout::of_ranges(schema, order_to_compare(schema), &ranges)?;
        layout.is_exact_word().then_some(Self(layout))
    }

    /// The key of each of so many cells; `None` if one of them is not between the bounds, or has
    /// the key of another coordinate (zeros of both signs).
    pub fn keys(&self, coordinates: Vec<CoordinatesRef<'_>>, cells: usize) -> Option<Vec<u64>> {
        let batch = CellBatch { coordinates, cells, ..CellBatch::default() };
        // Without keys, the coordinates themselves are sorted: their table is checked again there,
        // with an error.
        let table = CellTable::new(self.0.dimensions(), vec![batch]).ok()?;
        let mut keys = vec![0; cells];
        let mut rest = keys.as_mut_slice();
        for piece in table.pieces() {
            let (own, others) = rest.split_at_mut_checked(piece.cells)?;
            clear(own);
            self.0.fill(&table, piece, own)?.then_some(())?;
            rest = others;
        }
        Some(keys)
    }
}

/// [`replaced`](super::replaced) for cells whose keys were made by one [`KeyEncoder`]: each batch
/// comes with the keys of its cells, and needs no coordinates.
pub fn replaced_by_keys<'k>(
    threads: usize,
    batches: impl IntoIterator<Item = (CellBatch<'k>, &'k [u64])>,
) -> Result<Vec<u32>> {
    let (batches, keys): (Vec<_>, Vec<_>) = batches.into_iter().unzip();
    if batches.iter().zip(&keys).any(|(batch, keys)| batch.cells != keys.len()) {
        return Err(Error::internal("a cell without its key"));
    }
    let table = CellTable::new(&[], batches)?;
    if table.cells() == 0 {
        return Ok(Vec::new());
    }
    let request = SortRequest { order: false, dedup: true };
    let ties = EqualKeys { table: &table, parts: &[], dimensions: &[], request };
    let source = PreparedKeys { table: &table, keys: &keys };
    let sorted = match sort::merge::<u64, _, _>(threads, &source, &ties, false)? {
        Some(sorted) => sorted,
        None => sort::sort(threads, &source.all(), &ties, false)?,
    };
    let mut cells = sorted.dropped;
    cells.sort_unstable();
    Ok(cells)
}

/// The keys of a table's cells, batch by batch.
struct PreparedKeys<'a> {
    table: &'a CellTable<'a>,
    keys: &'a [&'a [u64]],
}

impl PreparedKeys<'_> {
    fn all(&self) -> CellKeys<u64> {
        let keys = self.keys.concat();
        let (min, max) = key_range(&keys);
        CellKeys { keys, min, max, exact: true }
    }
}

impl KeySource<u64> for PreparedKeys<'_> {
    fn cells(&self) -> usize {
        self.table.cells()
    }

    fn batches(&self) -> impl Iterator<Item = usize> {
        self.table.ends()
    }

    fn keys(&self, cells: core::ops::Range<usize>, out: &mut Vec<u64>) -> Option<bool> {
        for piece in self.table.cut(cells) {
            let end = piece.at.checked_add(piece.cells)?;
            out.extend_from_slice(self.keys.get(piece.batch)?.get(piece.at..end)?);
        }
        Some(true)
    }
}
