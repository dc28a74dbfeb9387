//! Columns of cells to write: their checks against the schema, and tiles cut from them.

use core::ops::Range;

use tdb_codec::{Native, Physical, to_u64, to_usize};
use tdb_schema::{ArraySchema, Field, FieldKind};

use crate::tile_cells::{TileBuffers, TileCells, TileSource};
use crate::{Cells, Column, Error, OrInternal, Result, WriteError};

/// The cells of one field to be written: values back to back, with separate offsets and validity,
/// as reads return them.
#[derive(Clone, Copy, Debug)]
pub struct WriteColumn<'a> {
    name: &'a str,
    values: &'a [u8],
    /// One more than the number of cells.
    offsets: Option<&'a [u64]>,
    validity: Option<&'a [u8]>,
    /// The machine type of the values, if the caller gave typed ones.
    physical: Option<Physical>,
}

impl<'a> WriteColumn<'a> {
    /// Cells of fixed size; the field defines the number of values per cell.
    #[must_use]
    pub fn fixed<T: Native>(name: &'a str, values: &'a [T]) -> Self {
        Self { physical: Some(T::PHYSICAL), ..Self::bytes(name, bytemuck::cast_slice(values)) }
    }

    /// Cells of fixed size as little-endian bytes.
    #[must_use]
    pub const fn bytes(name: &'a str, values: &'a [u8]) -> Self {
        Self { name, values, offsets: None, validity: None, physical: None }
    }

    /// Cells of variable length: cell `i` is bytes `offsets[i]..offsets[i + 1]` of `values`.
    #[must_use]
    pub const fn var(name: &'a str, values: &'a [u8], offsets: &'a [u64]) -> Self {
        Self { offsets: Some(offsets), ..Self::bytes(name, values) }
    }

    /// The field's name.
    pub(super) const fn name(&self) -> &'a str {
        self.name
    }

    /// The values of all cells, as they were given.
    #[must_use]
    pub const fn values(&self) -> &'a [u8] {
        self.values
    }

    /// The offsets of cells of variable length, as they were given.
    #[must_use]
    pub const fn offsets(&self) -> Option<&'a [u64]> {
        self.offsets
    }

    /// The same cells, with a validity byte for each: 0 means null.
    #[must_use]
    pub const fn nullable(mut self, validity: &'a [u8]) -> Self {
        self.validity = Some(validity);
        self
    }
}

impl<'a> From<&'a Column> for WriteColumn<'a> {
    fn from(column: &'a Column) -> Self {
        Self {
            name: &column.name,
            values: column.bytes(),
            offsets: column.offsets(),
            validity: column.validity(),
            physical: None,
        }
    }
}

/// Cells of some or all fields of a write: the input of streams.
pub trait WriteBatch: Send {
    /// The fields' cells.
    fn columns(&self) -> Vec<WriteColumn<'_>>;
}

impl WriteBatch for Vec<WriteColumn<'_>> {
    fn columns(&self) -> Vec<WriteColumn<'_>> {
        self.clone()
    }
}

impl WriteBatch for Cells {
    fn columns(&self) -> Vec<WriteColumn<'_>> {
        Self::columns(self).iter().map(WriteColumn::from).collect()
    }
}

/// A column that fits its field.
#[derive(Clone, Copy, Debug)]
pub struct CheckedColumn<'a> {
    /// The field of the schema.
    pub kind: FieldKind,
    /// Size of a cell in bytes; `None` for var-length fields.
    pub cell_size: Option<usize>,
    /// Size of a value in bytes.
    pub value_size: usize,
    /// Whether values are floating-point numbers.
    pub is_real: bool,
    /// The values, one after another.
    pub values: &'a [u8],
    /// The start of each cell, for var-length fields; one more than the number of cells.
    pub offsets: &'a [u64],
    /// A byte for each cell, for nullable fields; 0 means null.
    pub validity: &'a [u8],
    /// Number of cells.
    pub cells: usize,
}

impl<'a> CheckedColumn<'a> {
    fn new(field: &Field<'_>, column: &WriteColumn<'a>) -> Result<Self, WriteError> {
        let wrong = |wrong| WriteError::Column { field: field.name.to_owned(), wrong };
        if column.physical.is_some_and(|physical| physical != field.datatype.physical()) {
            return Err(wrong("is of another type"));
        }
        let cells = match (field.cell_size(), column.offsets) {
            (Some(_), Some(_)) => return Err(wrong("has cells of fixed size, so it must not have offsets")),
            (None, None) => return Err(wrong("has cells of variable length, so it needs offsets")),
            (Some(size), None) => {
                if !column.values.len().is_multiple_of(size) {
                    return Err(wrong("does not have a whole number of cells"));
                }
                // No field has cells of 0 bytes.
                column.values.len().checked_div(size).unwrap_or(0)
            }
            (None, Some(offsets)) => {
                let end = offsets.last().ok_or_else(|| wrong("needs one more offset than it has cells"))?;
                if *end > to_u64(column.values.len()) || !offsets.is_sorted() {
                    return Err(wrong("has offsets that decrease or exceed the values"));
                }
                let size = to_u64(field.datatype.size());
                if size > 1 && offsets.iter().any(|offset| !offset.is_multiple_of(size)) {
                    return Err(wrong("has offsets that are inside a value"));
                }
                offsets.len().saturating_sub(1)
            }
        };
        match (field.nullable, column.validity) {
            (false, Some(_)) => return Err(wrong("cannot be null, so it must not have validity")),
            (true, None) => return Err(wrong("may be null, so it needs validity")),
            (true, Some(validity)) if validity.len() != cells => {
                return Err(wrong("does not have one validity byte for each cell"));
            }
            _ => {}
        }
        Ok(Self {
            kind: field.kind,
            cell_size: field.cell_size(),
            value_size: field.datatype.size(),
            is_real: field.datatype.physical().is_float(),
            values: column.values,
            offsets: column.offsets.unwrap_or_default(),
            validity: column.validity.unwrap_or_default(),
            cells,
        })
    }

    /// A column that was read, as one to be written to the field of this kind.
    pub fn of(kind: FieldKind, column: &'a Column, cells: usize) -> Self {
        Self {
            kind,
            cell_size: column.cell_size(),
            value_size: column.datatype.size(),
            is_real: column.datatype.physical().is_float(),
            values: column.bytes(),
            offsets: column.offsets().unwrap_or_default(),
            validity: column.validity().unwrap_or_default(),
            cells,
        }
    }

    /// The bytes of a cell.
    pub fn cell(&self, index: usize) -> Option<&'a [u8]> {
        let next = index.checked_add(1)?;
        match self.cell_size {
            Some(size) => self.values.get(index.checked_mul(size)?..next.checked_mul(size)?),
            None => {
                self.values.get(to_usize(*self.offsets.get(index)?)?..to_usize(*self.offsets.get(next)?)?)
            }
        }
    }

    /// The number of bytes of all cells.
    pub fn bytes(&self) -> usize {
        [self.values.len(), size_of_val(self.offsets), self.validity.len()].iter().sum()
    }

    /// A part of the cells as a column.
    pub fn part(&self, cells: Range<usize>) -> Result<Self> {
        let (values, offsets) = match self.cell_size {
            Some(_) => (self.run(cells.clone())?, &[][..]),
            None => {
                let offsets = self.offsets.get(cells.start..=cells.end);
                (self.values, offsets.or_internal("a column without the offsets of its cells")?)
            }
        };
        let validity = self.validity_of(cells.clone())?;
        Ok(Self { values, offsets, validity, cells: cells.len(), ..*self })
    }

    /// The values of a run of cells of fixed size.
    pub fn run(&self, run: Range<usize>) -> Result<&'a [u8]> {
        let size = self.cell_size.or_internal("a run of cells without a size")?;
        let bytes = run.start.saturating_mul(size)..run.end.saturating_mul(size);
        self.values.get(bytes).or_internal("a column without the values of its cells")
    }

    /// The validity of a run of cells; empty if no cell can be null.
    fn validity_of(&self, run: Range<usize>) -> Result<&'a [u8]> {
        match self.validity {
            [] => Ok(&[]),
            all => all.get(run).or_internal("a column without the validity of its cells"),
        }
    }

    /// Whether there are values, ascending offsets and validity for all cells, so that
    /// [`Self::cell`] returns each.
    fn is_whole(&self) -> bool {
        let has_values = match self.cell_size {
            Some(size) => self.cells.checked_mul(size) == Some(self.values.len()),
            None => {
                let end = self.offsets.last().is_some_and(|end| *end <= to_u64(self.values.len()));
                end && self.cells.checked_add(1) == Some(self.offsets.len()) && self.offsets.is_sorted()
            }
        };
        has_values && (self.validity.is_empty() || self.validity.len() == self.cells)
    }

    /// A run of cells as a tile; offsets that do not begin at 0 are recomputed in `room`.
    pub(crate) fn tile<'s>(&'s self, run: Range<usize>, room: &'s mut TileBuffers) -> Result<TileCells<'s>> {
        let count = run.len();
        let validity = self.validity_of(run.clone())?;
        let (values, offsets) = match self.cell_size {
            Some(_) => (self.run(run)?, &[][..]),
            None => {
                let offsets = self.offsets.get(run.start..=run.end);
                let (end, starts) = offsets
                    .and_then(<[u64]>::split_last)
                    .or_internal("a column without the offsets of its cells")?;
                // A run without cells has no values.
                let first = starts.first().copied().unwrap_or(*end);
                let bytes = to_usize(first).zip(to_usize(*end));
                let values = bytes.and_then(|(first, end)| self.values.get(first..end));
                let values = values.or_internal("a column without the values of its cells")?;
                room.offsets.clear();
                room.offsets.extend(starts.iter().map(|start| start.wrapping_sub(first)));
                // An offset before the first one has wrapped around, and is too large as well.
                if room.offsets.iter().fold(0, |most: u64, start| most.max(*start)) > to_u64(values.len()) {
                    return Err(Error::internal("a column with offsets outside its values"));
                }
                (values, room.offsets.as_slice())
            }
        };
        Ok(TileCells { count, values, offsets, validity, runs: None })
    }
}

/// Checks once that columns have all of these cells, so that nothing is missing where they are
/// copied one by one.
pub(super) fn check_whole(columns: &[CheckedColumn<'_>], cells: usize) -> Result<()> {
    let whole = |column: &CheckedColumn<'_>| column.cells == cells && column.is_whole();
    if columns.iter().all(whole) { Ok(()) } else { Err(Error::internal("a column without all of its cells")) }
}

/// Checks that a write gives every field in `kinds`; returns the columns in that order, and the
/// number of cells.
pub(crate) fn check<'a>(
    schema: &ArraySchema,
    kinds: &[FieldKind],
    columns: &[WriteColumn<'a>],
) -> Result<(Vec<CheckedColumn<'a>>, usize), WriteError> {
    let mut found: Vec<Option<CheckedColumn<'a>>> = vec![None; kinds.len()];
    for column in columns {
        let unknown = || WriteError::Column { field: column.name.to_owned(), wrong: "is not written here" };
        let field = schema.field(column.name).ok_or_else(unknown)?;
        let at = kinds.iter().position(|kind| *kind == field.kind).ok_or_else(unknown)?;
        let slot = found.get_mut(at).ok_or_else(unknown)?;
        if slot.is_some() {
            return Err(WriteError::RepeatedField(column.name.to_owned()));
        }
        *slot = Some(CheckedColumn::new(&field, column)?);
    }
    let mut checked: Vec<CheckedColumn<'a>> = Vec::with_capacity(kinds.len());
    for (column, kind) in found.into_iter().zip(kinds) {
        // For messages.
        let name = || schema.field_of(*kind).map_or_else(String::new, |field| field.name.to_owned());
        let column = column.ok_or_else(|| WriteError::MissingField(name()))?;
        if let Some(first) = checked.first().filter(|first| first.cells != column.cells) {
            let (given, expected) = (to_u64(column.cells), to_u64(first.cells));
            return Err(WriteError::CellCount { field: name(), given, expected });
        }
        checked.push(column);
    }
    let cells = checked.first().map_or(0, |column| column.cells);
    Ok((checked, cells))
}

/// The column of a field of the fragment: there is one of each.
pub(super) fn column_of<'c, 'a>(
    columns: &'c [CheckedColumn<'a>],
    field: FieldKind,
) -> Result<&'c CheckedColumn<'a>> {
    columns.iter().find(|column| column.kind == field).or_internal("a field without a column")
}

/// Columns cut into tiles of this many cells; the last tile may be shorter.
pub(crate) struct TiledColumns<'c, 'a> {
    pub columns: &'c [CheckedColumn<'a>],
    pub tile_cells: usize,
    /// The range of cells to cut.
    pub cells: Range<usize>,
}

impl TiledColumns<'_, '_> {
    /// Number of tiles.
    pub(crate) fn tiles(&self) -> usize {
        self.cells.len().div_ceil(self.tile_cells.max(1))
    }
}

impl TileSource for TiledColumns<'_, '_> {
    fn cells<'s>(
        &'s self,
        field: FieldKind,
        tile: usize,
        room: &'s mut TileBuffers,
    ) -> Result<TileCells<'s>> {
        let start = self.cells.start.saturating_add(tile.saturating_mul(self.tile_cells));
        let end = start.saturating_add(self.tile_cells).min(self.cells.end);
        column_of(self.columns, field)?.tile(start..end, room)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;

    const STRINGS: CheckedColumn<'static> = CheckedColumn {
        kind: FieldKind::Attribute(0),
        cell_size: None,
        value_size: 1,
        is_real: false,
        values: b"abc",
        offsets: &[0, 1, 3],
        validity: &[1, 0],
        cells: 2,
    };

    #[track_caller]
    fn is_fault<T>(result: Result<T>) {
        assert!(matches!(result, Err(Error::Internal(_))));
    }

    #[test]
    fn a_column_that_lacks_some_of_its_cells_is_a_fault() {
        check_whole(&[STRINGS], 2).unwrap();
        is_fault(check_whole(&[STRINGS], 3));
        let numbers = CheckedColumn { cell_size: Some(2), offsets: &[], values: &[0; 4], ..STRINGS };
        check_whole(&[numbers], 2).unwrap();
        for column in [
            CheckedColumn { values: b"ab", ..STRINGS },
            CheckedColumn { offsets: &[0, 1], ..STRINGS },
            CheckedColumn { offsets: &[2, 1, 3], ..STRINGS },
            CheckedColumn { offsets: &[], ..STRINGS },
            CheckedColumn { validity: &[1], ..STRINGS },
            CheckedColumn { values: &[0; 3], ..numbers },
        ] {
            is_fault(check_whole(&[column], 2));
        }
    }

    #[test]
    fn tiles_and_parts_past_the_end_of_a_column_are_faults() {
        let mut room = TileBuffers::default();
        let tile = STRINGS.tile(1..2, &mut room).unwrap();
        assert_eq!((tile.values, tile.offsets, tile.validity), (&b"bc"[..], &[0][..], &[0][..]));
        is_fault(STRINGS.tile(1..3, &mut room));
        is_fault(STRINGS.part(1..3));
        is_fault(CheckedColumn { offsets: &[1, 0, 3], ..STRINGS }.tile(0..2, &mut room));
        is_fault(CheckedColumn { validity: &[], offsets: &[0, 9], ..STRINGS }.tile(0..1, &mut room));
        is_fault(column_of(&[STRINGS], FieldKind::Attribute(1)));
        let part = STRINGS.part(1..2).unwrap();
        assert_eq!((part.cell(0), part.cell(1)), (Some(&b"bc"[..]), None));
    }
}
