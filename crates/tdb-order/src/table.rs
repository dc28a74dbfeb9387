//! The cells that are put in order: their coordinates, the batch of each, and when it was written.

use core::cmp::{Ordering, Reverse};
use core::ops::Range;

use tdb_codec::{to_u32, to_u64, to_usize};
use tdb_schema::Dimension;

use crate::buffers::index_of;
use crate::key_part::{KeyPart, compare_part};
use crate::thresholds::PIECE_CELLS;
use crate::{Error, QueryError, Result};

/// Coordinates of some cells in one dimension: values back to back, and for strings also offsets,
/// one more than cells.
#[derive(Clone, Copy, Debug, Default)]
pub struct CoordinatesRef<'a> {
    /// The values, one after another.
    pub values: &'a [u8],
    /// The start of each string, and the end of the last one; `None` for values of a fixed size.
    pub offsets: Option<&'a [u64]>,
}

impl<'a> CoordinatesRef<'a> {
    /// The coordinate of a cell, of `size` bytes unless it is a string.
    ///
    /// Each cell has a coordinate: the owner of the coordinates has checked it, once for all cells.
    pub fn value(self, at: usize, size: usize) -> &'a [u8] {
        let next = at.wrapping_add(1);
        let range = match self.offsets {
            Some(offsets) => {
                let offset = |at: usize| offsets.get(at).copied().and_then(to_usize).unwrap_or(0);
                offset(at)..offset(next)
            }
            None => at.wrapping_mul(size)..next.wrapping_mul(size),
        };
        self.values.get(range).unwrap_or_default()
    }

    /// Whether there are coordinates of so many cells, of `size` bytes unless they are strings.
    fn has_all(self, cells: usize, size: usize) -> bool {
        let end = match self.offsets {
            Some(offsets) => offsets.get(cells).copied().and_then(to_usize),
            None => cells.checked_mul(size),
        };
        end.is_some_and(|end| end <= self.values.len())
    }
}

/// Consecutive cells of one fragment.
#[derive(Clone, Debug, Default)]
pub struct CellBatch<'a> {
    /// Their coordinates, by dimension.
    pub coordinates: Vec<CoordinatesRef<'a>>,
    /// Number of cells.
    pub cells: usize,
    /// The number of their fragment: greater is newer.
    pub fragment: usize,
    /// When each was written, if the fragment has cell timestamps.
    pub timestamps: Option<&'a [u64]>,
    /// When they were written, if the fragment has no cell timestamps.
    pub written: u64,
}

/// A batch and its position among all cells.
#[derive(Debug)]
struct Batch<'a> {
    /// Number of the first cell.
    first: u32,
    cells: CellBatch<'a>,
}

/// Cells of a batch that one job handles.
#[derive(Debug)]
pub(super) struct Piece {
    pub(super) batch: usize,
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
    /// Whether any cells have timestamps.
    timed: bool,
}

impl<'a> CellTable<'a> {
    /// A table of the cells of batches, in their order. The other functions rely on each cell
    /// having its coordinates and its time, which is checked here.
    pub(super) fn new(dimensions: &[Dimension], batches: Vec<CellBatch<'a>>) -> Result<Self> {
        let sizes = dimensions.iter().map(|dimension| dimension.datatype.size()).collect();
        let timed = batches.iter().any(|batch| batch.timestamps.is_some());
        let mut table = Self { batches: Vec::new(), pieces: Vec::new(), sizes, cells: 0, timed };
        batches.into_iter().try_for_each(|batch| table.push(batch))?;
        Ok(table)
    }

    fn push(&mut self, batch: CellBatch<'a>) -> Result<()> {
        let cells = batch.cells;
        let mut coordinates = batch.coordinates.iter().zip(&self.sizes);
        let complete = batch.coordinates.len() >= self.sizes.len()
            && coordinates.all(|(own, size)| own.has_all(cells, *size))
            && batch.timestamps.is_none_or(|timestamps| timestamps.len() >= cells);
        if cells > 0 && !complete {
            return Err(Error::internal("cells to be sorted without all of their coordinates and times"));
        }
        // Cells are numbered in 32 bits. So sums of numbers of cells do not overflow.
        let all = u128::from(to_u64(self.cells)) + u128::from(to_u64(cells));
        let too_large = || QueryError::TooLarge { cells: all };
        let end = u32::try_from(all).map_err(|_| too_large())?;
        let first = to_u32(self.cells).ok_or_else(too_large)?;
        for at in (0..cells).step_by(PIECE_CELLS) {
            let cells = PIECE_CELLS.min(cells - at);
            self.pieces.push(Piece { batch: self.batches.len(), at, cells });
        }
        self.batches.push(Batch { first, cells: batch });
        self.cells = index_of(end);
        Ok(())
    }

    pub(super) const fn cells(&self) -> usize {
        self.cells
    }

    pub(super) fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// The number of the cell after each piece.
    pub(super) fn ends(&self) -> impl Iterator<Item = usize> {
        self.pieces.iter().scan(0usize, |end, piece| {
            *end = end.checked_add(piece.cells)?;
            Some(*end)
        })
    }

    /// Splits a range of cells into pieces, batch by batch.
    pub(super) fn cut(&self, cells: Range<usize>) -> impl Iterator<Item = Piece> {
        let mut start = cells.start;
        let first = to_u32(start).map_or(0, |cell| self.place(cell).0);
        let pieces = (first..).zip(self.batches.iter().skip(first)).map_while(move |(batch, own)| {
            let begin = index_of(own.first);
            let end = begin.checked_add(own.cells.cells)?.min(cells.end);
            let piece = Piece { batch, at: start.checked_sub(begin)?, cells: end.checked_sub(start)? };
            start = end;
            (begin < cells.end).then_some(piece)
        });
        pieces.filter(|piece| piece.cells > 0)
    }

    /// The number of a piece's first cell.
    pub(super) fn first(&self, piece: &Piece) -> usize {
        let batch = self.batches.get(piece.batch).map_or(0, |batch| index_of(batch.first));
        batch.wrapping_add(piece.at)
    }

    /// The coordinates of a piece in a dimension of fixed size; `None` if the table does not have
    /// them.
    pub(super) fn fixed_values(&self, piece: &Piece, dimension: usize) -> Option<&'a [u8]> {
        let size = *self.sizes.get(dimension)?;
        let start = piece.at.checked_mul(size)?;
        let end = start.checked_add(piece.cells.checked_mul(size)?)?;
        self.batches.get(piece.batch)?.cells.coordinates.get(dimension)?.values.get(start..end)
    }

    /// The coordinate of one cell of a piece.
    pub(super) fn value(&self, piece: &Piece, dimension: usize, index: usize) -> &'a [u8] {
        self.value_at((piece.batch, piece.at.wrapping_add(index)), dimension)
    }

    /// The batch of a cell and its position there.
    fn place(&self, cell: u32) -> (usize, usize) {
        // The first batch begins with cell 0.
        let at = self.batches.partition_point(|batch| batch.first <= cell).wrapping_sub(1);
        let first = self.batches.get(at).map_or(0, |batch| batch.first);
        (at, index_of(cell.wrapping_sub(first)))
    }

    /// A coordinate by its batch and its position there. Every cell has one, as [`Self::new`] has
    /// checked.
    fn value_at(&self, (batch, at): (usize, usize), dimension: usize) -> &'a [u8] {
        let coordinates = self.batches.get(batch).and_then(|batch| batch.cells.coordinates.get(dimension));
        coordinates.map_or(&[][..], |coordinates| coordinates.value(at, self.size(dimension)))
    }

    fn size(&self, dimension: usize) -> usize {
        self.sizes.get(dimension).copied().unwrap_or(0)
    }

    /// Compares two cells by the parts of a key.
    pub(super) fn compare(&self, parts: &[KeyPart], dimensions: &[Dimension], a: u32, b: u32) -> Ordering {
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

    /// Puts cells in order of age: greater means newer. Among cells of one fragment with the same
    /// timestamp, the first one stored wins. If some fragments have cell timestamps, the cells of
    /// the others have the time when they were written.
    pub(super) fn recency(&self, cell: u32) -> (u64, usize, Reverse<u32>) {
        let (batch, at) = self.place(cell);
        let Some(Batch { cells: batch, .. }) = self.batches.get(batch) else {
            return (0, 0, Reverse(cell));
        };
        let own = batch.timestamps.and_then(|timestamps| timestamps.get(at)).copied();
        let time = if self.timed { own.unwrap_or(batch.written) } else { 0 };
        (time, batch.fragment, Reverse(cell))
    }
}
