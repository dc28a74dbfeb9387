//! The caller's buffers as columns of cells.

use tdb_array::WriteColumn;
use tdb_array::schema::ArraySchema;

use super::{Buffers, OffsetsFormat, Origin};
use crate::ffi::Failure;
use crate::query::buffers::{FieldBuffers, FieldType};
use crate::query::failure;

/// The cells of a field, in the caller's memory.
#[derive(Debug)]
pub(super) struct Column<'a> {
    name: &'a str,
    values: &'a [u8],
    /// The start of each cell, and the end of the last one.
    offsets: Option<Vec<u64>>,
    validity: Option<&'a [u8]>,
}

impl<'a> Column<'a> {
    /// The cells of a field of the array.
    pub(super) fn new(
        name: &'a str,
        field: &FieldType,
        buffers: &'a FieldBuffers,
        format: OffsetsFormat,
    ) -> Result<Self, Failure> {
        let missing = || failure(format!("Input attribute/dimension '{name}' is not set correctly"));
        let values = buffers.data.as_ref().ok_or_else(missing)?.bytes()?;
        let offsets = if field.is_var() {
            let given = buffers.offsets.as_ref().ok_or_else(missing)?.bytes()?;
            Some(format.starts(name, given, field.datatype.size(), values.len())?)
        } else {
            None
        };
        let validity = match &buffers.validity {
            Some(validity) if field.nullable => Some(validity.bytes()?),
            None if field.nullable => return Err(missing()),
            _ => None,
        };
        Ok(Self { name, values, offsets, validity })
    }

    /// The same cells under another name.
    pub(super) fn named(self, name: &'a str) -> Self {
        Self { name, ..self }
    }

    /// Whether there are no cells.
    pub(super) fn is_empty(&self) -> bool {
        self.offsets.as_ref().map_or_else(|| self.values.is_empty(), |offsets| offsets.len() <= 1)
    }

    /// The number of cells.
    pub(super) fn cells(&self, field: &FieldType) -> usize {
        match (&self.offsets, field.cell_val_num) {
            (Some(offsets), _) => offsets.len().saturating_sub(1),
            (None, count) => {
                let count = usize::try_from(count.code()).unwrap_or(usize::MAX);
                self.values.len().checked_div(field.datatype.size().saturating_mul(count)).unwrap_or(0)
            }
        }
    }

    /// The column as the engine takes it.
    pub(super) fn written(&self) -> WriteColumn<'_> {
        let column = match &self.offsets {
            Some(offsets) => WriteColumn::var(self.name, self.values, offsets),
            None => WriteColumn::bytes(self.name, self.values),
        };
        match self.validity {
            Some(validity) => column.nullable(validity),
            None => column,
        }
    }
}

/// The columns of all fields of the array that have buffers.
pub(super) fn of<'a>(
    buffers: &'a Buffers,
    schema: &ArraySchema,
    format: OffsetsFormat,
) -> Result<Vec<Column<'a>>, Failure> {
    let mut columns = Vec::new();
    for (name, own) in buffers {
        match FieldType::of(schema, name) {
            Some(field) if field.origin != Origin::Label => {
                columns.push(Column::new(name, &field, own, format)?);
            }
            _ => {}
        }
    }
    Ok(columns)
}
