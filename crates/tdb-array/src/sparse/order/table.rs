//! The cells that are put in order: their coordinates, where each is, and when it was written.

use core::cmp::{Ordering, Reverse};
use core::ops::Range;

use tdb_codec::{to_u32, to_u64, to_usize};
use tdb_schema::Dimension;

use super::super::select::{Coordinates, TileSelection};
use super::{Part, compare_part};
use crate::buffers::index_of;
use crate::{Column, QueryError, Result};

/// Coordinates of some cells in one dimension: values back to back, and for strings one more offset than cells.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CoordinatesRef<'a> {
    pub(crate) values: &'a [u8],
    pub(crate) offsets: Option<&'a [u64]>,
}

impl Coordinates {
    pub(crate) fn as_ref(&self) -> CoordinatesRef<'_> {
        CoordinatesRef { values: self.values.as_slice(), offsets: self.offsets.as_deref() }
    }
}

/// Cells that were decoded together.
#[derive(Debug)]
struct Batch<'a> {
    /// Number of the first cell.
    first: u32,
    coordinates: Vec<CoordinatesRef<'a>>,
    fragment: usize,
    timestamps: Option<&'a [u64]>,
    written: u64,
}

/// Cells of a batch that one job handles.
#[derive(Debug)]
pub(super) struct Piece {
    batch: usize,
    /// Its first cell in the batch.
    pub(super) at: usize,
    pub(super) cells: usize,
}

/// All cells, numbered from 0.
#[derive(Debug)]
pub(super) struct CellTable<'a> {
    batches: Vec<Batch<'a>>,
    pieces: Vec<Piece>,
    /// Bytes of a coordinate in each dimension of fixed size.
    sizes: Vec<usize>,
    cells: usize,
    /// Whether cells know when they were written.
    timed: bool,
}

/// Cells of a piece, at most.
const PIECE: usize = 1 << 16;

impl<'a> CellTable<'a> {
    fn new(dimensions: &[Dimension]) -> Self {
        let sizes = dimensions.iter().map(|dimension| dimension.datatype.size()).collect();
        Self { batches: Vec::new(), pieces: Vec::new(), sizes, cells: 0, timed: false }
    }

    fn push(&mut self, mut batch: Batch<'a>, cells: usize) -> Result<()> {
        let end = self.cells.saturating_add(cells);
        let too_large = || QueryError::TooLarge { cells: u128::from(to_u64(end)) };
        to_u32(end).ok_or_else(too_large)?;
        batch.first = to_u32(self.cells).ok_or_else(too_large)?;
        for at in (0..cells).step_by(PIECE) {
            let cells = cells.saturating_sub(at).min(PIECE);
            self.pieces.push(Piece { batch: self.batches.len(), at, cells });
        }
        self.batches.push(batch);
        self.cells = end;
        Ok(())
    }

    /// The cells of selections, in their order.
    pub(super) fn of_selections(dimensions: &[Dimension], selections: &'a [TileSelection]) -> Result<Self> {
        let mut table = Self::new(dimensions);
        table.timed = selections.iter().any(|selection| selection.timestamps.is_some());
        for selection in selections {
            let batch = Batch {
                first: 0,
                coordinates: selection.coordinates.iter().map(Coordinates::as_ref).collect(),
                fragment: selection.fragment,
                timestamps: selection.timestamps.as_deref(),
                written: selection.written,
            };
            table.push(batch, selection.len())?;
        }
        Ok(table)
    }

    /// The cells of selections whose coordinates are staged: a column a dimension.
    pub(super) fn of_staged(
        dimensions: &[Dimension],
        selections: &'a [TileSelection],
        columns: &'a [Column],
    ) -> Result<Self> {
        let mut table = Self::new(dimensions);
        table.timed = selections.iter().any(|selection| selection.timestamps.is_some());
        let mut start = 0usize;
        for selection in selections {
            let end = start.saturating_add(selection.len());
            let part = |(column, size): (&'a Column, &usize)| match column.offsets() {
                Some(offsets) => {
                    let offsets = offsets.get(start..end.saturating_add(1)).unwrap_or_default();
                    CoordinatesRef { values: column.bytes(), offsets: Some(offsets) }
                }
                None => {
                    let bytes = start.saturating_mul(*size)..end.saturating_mul(*size);
                    CoordinatesRef { values: column.bytes().get(bytes).unwrap_or_default(), offsets: None }
                }
            };
            let batch = Batch {
                first: 0,
                coordinates: columns.iter().zip(&table.sizes).map(part).collect(),
                fragment: selection.fragment,
                timestamps: selection.timestamps.as_deref(),
                written: selection.written,
            };
            table.push(batch, selection.len())?;
            start = end;
        }
        Ok(table)
    }

    /// Cells whose coordinates are plain columns.
    pub(super) fn of_columns(
        dimensions: &[Dimension],
        coordinates: &[CoordinatesRef<'a>],
        cells: usize,
    ) -> Result<Self> {
        let mut table = Self::new(dimensions);
        let coordinates = coordinates.to_vec();
        table.push(Batch { first: 0, coordinates, fragment: 0, timestamps: None, written: 0 }, cells)?;
        Ok(table)
    }

    pub(super) const fn cells(&self) -> usize {
        self.cells
    }

    pub(super) fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// A range of cells, batch by batch.
    pub(super) fn cut(&self, cells: Range<usize>) -> impl Iterator<Item = Piece> {
        let mut start = cells.start;
        let first = to_u32(start).map_or(0, |cell| self.place(cell).0);
        (first..self.batches.len()).map_while(move |batch| {
            let begin = self.batches.get(batch).map_or(0, |batch| index_of(batch.first));
            let next =
                self.batches.get(batch.saturating_add(1)).map_or(self.cells, |next| index_of(next.first));
            let end = next.min(cells.end);
            let count = end.checked_sub(start).filter(|count| *count > 0)?;
            let piece = Piece { batch, at: start.saturating_sub(begin), cells: count };
            start = end;
            Some(piece)
        })
    }

    /// The coordinates of a piece's whole batch.
    pub(super) fn coordinates(&self, piece: &Piece, dimension: usize) -> CoordinatesRef<'a> {
        let batch = self.batches.get(piece.batch);
        batch.and_then(|batch| batch.coordinates.get(dimension)).copied().unwrap_or_default()
    }

    /// A coordinate of a piece's cell.
    pub(super) fn value(&self, piece: &Piece, dimension: usize, index: usize) -> &'a [u8] {
        let coordinates = self.coordinates(piece, dimension);
        value(coordinates, piece.at.saturating_add(index), self.size(dimension))
    }

    /// Batch of a cell and its place there.
    fn place(&self, cell: u32) -> (usize, usize) {
        let at = self.batches.partition_point(|batch| batch.first <= cell).saturating_sub(1);
        let first = self.batches.get(at).map_or(0, |batch| batch.first);
        (at, index_of(cell.saturating_sub(first)))
    }

    fn value_at(&self, (batch, at): (usize, usize), dimension: usize) -> &'a [u8] {
        let coordinates = self.batches.get(batch).and_then(|batch| batch.coordinates.get(dimension));
        coordinates.map_or(&[][..], |coordinates| value(*coordinates, at, self.size(dimension)))
    }

    fn size(&self, dimension: usize) -> usize {
        self.sizes.get(dimension).copied().unwrap_or(0)
    }

    /// Orders two cells by the parts of a key.
    pub(super) fn compare(&self, parts: &[Part], dimensions: &[Dimension], a: u32, b: u32) -> Ordering {
        let (a, b) = (self.place(a), self.place(b));
        parts.iter().fold(Ordering::Equal, |ordering, part| {
            ordering.then_with(|| {
                let index = part.dimension();
                let Some(dimension) = dimensions.get(index) else { return Ordering::Equal };
                compare_part(*part, dimension, self.value_at(a, index), self.value_at(b, index))
            })
        })
    }

    /// Whether two cells have the same coordinates, byte for byte.
    pub(super) fn same(&self, dimensions: usize, a: u32, b: u32) -> bool {
        let (a, b) = (self.place(a), self.place(b));
        (0..dimensions).all(|dimension| self.value_at(a, dimension) == self.value_at(b, dimension))
    }

    /// Greater means newer. Among cells of one fragment written at one time, the first stored wins. Where some
    /// fragments know when their cells were written, the others' count as written when they were.
    pub(super) fn rank(&self, cell: u32) -> (u64, usize, Reverse<u32>) {
        let (batch, at) = self.place(cell);
        let Some(batch) = self.batches.get(batch) else { return (0, 0, Reverse(cell)) };
        let own = batch.timestamps.and_then(|timestamps| timestamps.get(at)).copied();
        let time = if self.timed { own.unwrap_or(batch.written) } else { 0 };
        (time, batch.fragment, Reverse(cell))
    }
}

fn value<'a>(coordinates: CoordinatesRef<'a>, at: usize, size: usize) -> &'a [u8] {
    let range = match coordinates.offsets {
        Some(offsets) => {
            let end = |at: usize| offsets.get(at).copied().and_then(to_usize).unwrap_or(0);
            end(at)..end(at.saturating_add(1))
        }
        None => at.saturating_mul(size)..at.saturating_add(1).saturating_mul(size),
    };
    coordinates.values.get(range).unwrap_or_default()
}
