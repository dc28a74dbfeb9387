//! Sparse matrices shown as dense arrays: each chunk is a box of cells, and where there is none, a
//! zero.

use bytes::Bytes;
use tdb_array::{Array, Column, Layout, MemoryBudget};
use tdb_cells::OrInternal;

use crate::Result;
use crate::chunk::Content;
use crate::form::Form;
use crate::grid::Side;
use crate::thresholds::{MATRIX_COLUMNS, MATRIX_ROWS};

/// Where the cells of a matrix are. Both dimensions count from 0, in INT64.
#[derive(Clone, Debug)]
pub(crate) struct Matrix {
    /// The dimensions, and the field.
    pub(crate) names: [String; 3],
    /// The axes.
    pub(crate) sides: [Side; 2],
    /// What a read may take.
    pub(crate) memory: MemoryBudget,
}

impl Matrix {
    /// The axes of so many rows and columns.
    pub(crate) fn sides(rows: u64, columns: u64) -> [Side; 2] {
        [(rows, MATRIX_ROWS), (columns, MATRIX_COLUMNS)]
            .map(|(count, most)| Side { count, chunk: count.clamp(1, most) })
    }

    /// A chunk; `None` if there is none, or it has no cell.
    pub(crate) fn chunk(&self, array: &Array, index: &[u64], content: &Content) -> Result<Option<Bytes>> {
        let [row, column] = index else { return Ok(None) };
        let [rows, columns] = &self.sides;
        let (Some(first), Some(left)) = (span(rows, *row), span(columns, *column)) else { return Ok(None) };
        let [row, column, field] = self.names.each_ref().map(String::as_str);
        let read = array.read().fields([row, column, field]).order(Layout::Unordered).memory(self.memory);
        let cells = read.range(row, first.0..=first.1).range(column, left.0..=left.1).collect()?;
        let found = <&[Column; 3]>::try_from(cells.columns()).ok();
        let [at_rows, at_columns, values] = found.or_internal("a result lacks a column")?;
        if cells.is_empty() {
            return Ok(None);
        }
        let size = content.shown.cell_bytes().or_internal("the values of a matrix have any length")?;
        let wide = usize::try_from(columns.chunk).ok();
        let wide = wide.or_internal("a chunk is larger than memory")?;
        let high = usize::try_from(rows.chunk).ok().or_internal("a chunk is larger than memory")?;
        // At most 2 MiB: a matrix has one number at each place.
        let bytes = high.checked_mul(wide).and_then(|cells| cells.checked_mul(size));
        let mut out = vec![0; bytes.or_internal("a chunk is larger than memory")?];
        let places = positions(at_rows, first.0).zip(positions(at_columns, left.0));
        for ((down, right), value) in places.zip(values.bytes().chunks_exact(size)) {
            let at = (down? * wide + right?) * size;
            let place = out.get_mut(at..at + size).or_internal("a cell is outside of its box")?;
            place.copy_from_slice(value);
            if content.shown.form == Form::Bool {
                place.iter_mut().for_each(|byte| *byte = u8::from(*byte != 0));
            }
        }
        Ok(Some(Bytes::from(out)))
    }
}

/// The first and the last coordinate of a chunk along an axis.
fn span(side: &Side, index: u64) -> Option<(i64, i64)> {
    let first = index.checked_mul(side.chunk).filter(|first| *first < side.count)?;
    let last = side.count.min(first.checked_add(side.chunk)?).checked_sub(1)?;
    Some((i64::try_from(first).ok()?, i64::try_from(last).ok()?))
}

/// Distances of coordinates from the first one of a chunk.
fn positions(column: &Column, first: i64) -> impl Iterator<Item = Result<usize>> {
    column.bytes().chunks(8).map(move |bytes| {
        let number = bytes.try_into().ok().map(i64::from_le_bytes);
        let position = number.and_then(|number| usize::try_from(number.checked_sub(first)?).ok());
        Ok(position.or_internal("a coordinate is before its box")?)
    })
}
