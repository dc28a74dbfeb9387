//! Batches as they are shown: without the cells that do not satisfy a condition, and with nothing
//! for cells that were never written.

use std::rc::Rc;

use tdb_array::{Array, Cells, Column};
use tdb_text::value::is_text;

use super::args::ReadArgs;
use crate::failure::Result;

/// A column of a batch.
pub(crate) struct ShownColumn {
    pub(crate) column: Column,
    /// A byte per cell: 0 if the array has no such cell. `None` if it has all.
    written: Option<Rc<[u8]>>,
    /// The text that cells have which are older than the column, where that is no text that anybody
    /// has written: the format has no empty fill value.
    of_older: Option<Vec<u8>>,
}

/// One cell of a column.
pub(crate) enum Cell<'c> {
    Value(&'c [u8]),
    Null,
    /// The cell was never written, and the column has a fill value instead.
    Nothing,
}

impl ShownColumn {
    /// A column of which all cells are shown as they are.
    pub(super) const fn whole(column: Column) -> Self {
        Self { column, written: None, of_older: None }
    }

    /// A cell; there is nothing past the last one.
    pub(crate) fn cell(&self, row: usize) -> Cell<'_> {
        if self.written.as_ref().is_some_and(|written| written.get(row) == Some(&0)) {
            return Cell::Nothing;
        }
        match self.column.cell(row) {
            _ if self.column.is_null(row) => Cell::Null,
            Some(bytes) if self.of_older.as_deref() == Some(bytes) => Cell::Value(&[]),
            Some(bytes) => Cell::Value(bytes),
            None => Cell::Nothing,
        }
    }

    /// The bytes of a cell, unless it is null or there is nothing.
    pub(crate) fn value(&self, row: usize) -> Option<&[u8]> {
        match self.cell(row) {
            Cell::Value(bytes) => Some(bytes),
            Cell::Null | Cell::Nothing => None,
        }
    }
}

/// The cells of a batch that are shown, with the values of enumerations unless codes are wanted.
/// Coordinates are shown of all cells.
pub(super) fn of_cells(args: &ReadArgs, array: &Array, cells: Cells) -> Result<(usize, Vec<ShownColumn>)> {
    let failed = |error| super::failed(args, error);
    let cells = if super::finds(args) { cells.into_selected().map_err(failed)? } else { cells };
    columns(array, cells, args.shows_values()).map_err(failed)
}

/// The number of cells of a batch, and its columns; with the values of enumerations, or with codes.
pub(crate) fn columns(
    array: &Array,
    cells: Cells,
    values: bool,
) -> tdb_array::Result<(usize, Vec<ShownColumn>)> {
    let written: Option<Rc<[u8]>> = cells.selected().filter(|written| written.contains(&0)).map(Rc::from);
    let len = cells.len();
    let shown = |mut column: Column| {
        let is_attribute = array.schema().attribute(&column.name).is_some();
        if values && let Some(values) = array.enumerated(&column)? {
            column = values;
        }
        let of_older = fill_of_older(array, &column);
        Ok(ShownColumn { column, written: written.clone().filter(|_| is_attribute), of_older })
    };
    Ok((len, cells.into_columns().into_iter().map(shown).collect::<tdb_array::Result<_>>()?))
}

/// The zero character that is the fill value of a column of text, where a fragment was written
/// before the column was added.
fn fill_of_older(array: &Array, column: &Column) -> Option<Vec<u8>> {
    if !(is_text(column.datatype) && column.cell_val_num.is_var()) {
        return None;
    }
    let own = array.schema().attribute(&column.name).filter(|own| own.enumeration.is_none())?;
    let is_zero = own.fill_value.len() == own.datatype.size() && own.fill_value.iter().all(|byte| *byte == 0);
    let lacks = || array.fragments().iter().any(|one| one.schema().attribute(&column.name).is_none());
    (is_zero && lacks()).then(|| own.fill_value.clone())
}
