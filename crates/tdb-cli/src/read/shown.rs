//! Batches as they are shown: without the cells that do not satisfy a condition, and with nothing
//! for cells that were never written.

use std::rc::Rc;

use tdb_array::{Array, Cells, Column};

use super::args::ReadArgs;
use crate::failure::Result;

/// A column of a batch.
pub(super) struct ShownColumn {
    pub(super) column: Column,
    /// A byte per cell: 0 if the array has no such cell. `None` if it has all.
    written: Option<Rc<[u8]>>,
}

/// One cell of a column.
pub(super) enum Cell<'c> {
    Value(&'c [u8]),
    Null,
    /// The cell was never written, and the column has a fill value instead.
    Nothing,
}

impl ShownColumn {
    /// A cell; there is nothing past the last one.
    pub(super) fn cell(&self, row: usize) -> Cell<'_> {
        if self.written.as_ref().is_some_and(|written| written.get(row) == Some(&0)) {
            return Cell::Nothing;
        }
        match self.column.cell(row) {
            _ if self.column.is_null(row) => Cell::Null,
            Some(bytes) => Cell::Value(bytes),
            None => Cell::Nothing,
        }
    }

    /// The bytes of a cell, unless it is null or there is nothing.
    pub(super) fn value(&self, row: usize) -> Option<&[u8]> {
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
    let written: Option<Rc<[u8]>> = cells.selected().filter(|written| written.contains(&0)).map(Rc::from);
    let len = cells.len();
    let shown = |mut column: Column| {
        let is_attribute = array.schema().attribute(&column.name).is_some();
        if args.shows_values()
            && let Some(values) = array.enumerated(&column).map_err(failed)?
        {
            column = values;
        }
        Ok(ShownColumn { column, written: written.clone().filter(|_| is_attribute) })
    };
    Ok((len, cells.into_columns().into_iter().map(shown).collect::<Result<_>>()?))
}
