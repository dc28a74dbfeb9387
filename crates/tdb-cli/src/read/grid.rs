//! A plane of one dense attribute as a grid, with the coordinates as headings.

use std::io::{self, Write};

use tdb_array::Layout;
use tdb_text::value::is_single;

use super::CollectedCells;
use super::rows::{heading, text, title};
use super::shown::ShownColumn;
use crate::table::{self, Rule};
use crate::thresholds::MAX_GRID_COLUMNS;

/// A plane of cells.
pub(super) struct Grid<'a> {
    answer: &'a CollectedCells<'a>,
    values: &'a ShownColumn,
    rows: Axis<'a>,
    columns: Axis<'a>,
    caption: Option<String>,
}

/// One direction of the grid.
struct Axis<'a> {
    coordinates: &'a ShownColumn,
    count: usize,
    /// Distance between neighbours in the result.
    stride: usize,
}

impl<'a> Grid<'a> {
    /// The result as a grid, if it is a plane of one single-valued attribute: two dimensions, or
    /// all others fixed.
    pub(super) fn of(answer: &'a CollectedCells<'a>) -> Option<Self> {
        let [values] = answer.fields() else { return None };
        let shape = answer.shape.as_deref()?;
        let (coordinates, _) = answer.columns.split_at_checked(answer.coordinates)?;
        if !is_single(values.column.datatype, values.column.cell_val_num) || coordinates.len() != shape.len()
        {
            return None;
        }
        let strides = strides(shape, answer.order)?;
        let mut axes = coordinates
            .iter()
            .zip(shape.iter().zip(strides))
            .filter(|(_, (count, _))| shape.len() == 2 || **count > 1)
            .map(|(coordinates, (count, stride))| Axis { coordinates, count: *count, stride });
        let (rows, columns) = (axes.next()?, axes.next()?);
        if axes.next().is_some() || columns.count > MAX_GRID_COLUMNS {
            return None;
        }
        let fixed: Vec<_> = coordinates
            .iter()
            .zip(shape)
            .filter(|(_, count)| shape.len() > 2 && **count == 1)
            .map(|(coordinate, _)| format!("{} = {}", title(&coordinate.column), text(coordinate, 0)))
            .collect();
        let several = answer.schema().attributes.len() > 1;
        let caption = match (several || !fixed.is_empty(), fixed.is_empty()) {
            (false, _) => None,
            (true, true) => Some(title(&values.column)),
            (true, false) => Some(format!("{} at {}", title(&values.column), fixed.join(", "))),
        };
        Some(Self { answer, values, rows, columns, caption })
    }

    pub(super) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        if let Some(caption) = &self.caption {
            writeln!(out, "{caption}")?;
        }
        let Self { values, rows, columns, .. } = self;
        let corner = format!("{}\\{}", title(&rows.coordinates.column), title(&columns.coordinates.column));
        let mut headings = vec![heading(&corner, &rows.coordinates.column)];
        headings.extend((0..columns.count).map(|index| heading(&columns.text(index), &values.column)));
        table::write(out, 0, &headings, Rule::None, self.row_count(), |row, column| {
            match column.checked_sub(1) {
                None => rows.text(row),
                Some(column) => text(values, rows.cell(row).saturating_add(columns.cell(column))),
            }
        })
    }

    fn row_count(&self) -> usize {
        if self.answer.cells == 0 { 0 } else { self.rows.count }
    }
}

impl Axis<'_> {
    /// Index of the first cell with the axis's coordinate `index`.
    const fn cell(&self, index: usize) -> usize {
        index.saturating_mul(self.stride)
    }

    fn text(&self, index: usize) -> String {
        text(self.coordinates, self.cell(index))
    }
}

/// Distance between neighbours along each dimension of a result.
fn strides(shape: &[usize], order: Layout) -> Option<Vec<usize>> {
    let product = |counts: &[usize]| counts.iter().product();
    let stride = |dimension: usize| {
        let after = shape.get(dimension.checked_add(1)?..)?;
        let before = shape.get(..dimension)?;
        match order {
            Layout::RowMajor => Some(product(after)),
            Layout::ColMajor => Some(product(before)),
            _ => None,
        }
    };
    (0..shape.len()).map(stride).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strides_follow_the_order() {
        assert_eq!(strides(&[2, 3, 4], Layout::RowMajor), Some(vec![12, 4, 1]));
        assert_eq!(strides(&[2, 3, 4], Layout::ColMajor), Some(vec![1, 2, 6]));
        assert_eq!(strides(&[2, 3], Layout::GlobalOrder), None);
    }
}
