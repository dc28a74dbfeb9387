//! Cells as aligned columns, one row per cell.

use std::io::{self, Write};

use tdb_array::Column;
use tdb_text::value::{cell_text, is_single, is_text};

use super::CollectedCells;
use super::shown::{Cell, ShownColumn};
use crate::table::{self, Heading, Rule};

pub(super) fn write(answer: &CollectedCells<'_>, out: &mut dyn Write) -> io::Result<()> {
    let headings: Vec<_> =
        answer.columns.iter().map(|shown| heading(&title(&shown.column), &shown.column)).collect();
    let cell = |row: usize, column: usize| -> String {
        let part = answer.more.partition_point(|(before, _)| *before <= row).checked_sub(1);
        let part = part.and_then(|part| answer.more.get(part));
        let (before, columns) = part.map_or((0, &answer.columns), |(before, columns)| (*before, columns));
        columns.get(column).map(|column| text(column, row.saturating_sub(before))).unwrap_or_default()
    };
    table::write(out, 0, &headings, Rule::Dashes, answer.cells, cell)
}

/// A cell as text for display.
pub(crate) fn text(shown: &ShownColumn, row: usize) -> String {
    match shown.cell(row) {
        Cell::Null => "null".to_owned(),
        Cell::Value(bytes) => cell_text(shown.column.datatype, shown.column.cell_val_num, bytes),
        Cell::Nothing => String::new(),
    }
}

/// A heading with the same alignment as the column's cells: numbers to the right.
pub(crate) fn heading(title: &str, column: &Column) -> Heading {
    let number = is_single(column.datatype, column.cell_val_num)
        && !is_text(column.datatype)
        && !column.datatype.is_datetime();
    if number { Heading::right(title) } else { Heading::left(title) }
}

/// A column's name, or a placeholder if it is anonymous.
pub(crate) fn title(column: &Column) -> String {
    if column.name.is_empty() { "(anonymous)".to_owned() } else { crate::failure::one_line(&column.name) }
}
