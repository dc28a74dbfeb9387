//! The caller's buffers as columns of cells.

use std::borrow::Cow;

use tdb_array::WriteColumn;
use tdb_array::schema::{ArraySchema, ArrayType};

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
    offsets: Option<Cow<'a, [u64]>>,
    validity: Option<&'a [u8]>,
}

/// A copy of the cells of a field, for a write whose fields come apart.
#[derive(Debug)]
pub(crate) struct KeptColumn {
    name: String,
    values: Vec<u8>,
    offsets: Option<Vec<u64>>,
    validity: Option<Vec<u8>>,
}

impl KeptColumn {
    /// A copy of a column.
    pub(super) fn of(column: &Column<'_>) -> Self {
        Self {
            name: column.name.to_owned(),
            values: column.values.to_vec(),
            offsets: column.offsets.as_ref().map(|offsets| offsets.to_vec()),
            validity: column.validity.map(<[u8]>::to_vec),
        }
    }

    /// The field's name.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The column.
    pub(super) fn column(&self) -> Column<'_> {
        Column {
            name: &self.name,
            values: &self.values,
            offsets: self.offsets.as_deref().map(Cow::Borrowed),
            validity: self.validity.as_deref(),
        }
    }
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
            Some(Cow::Owned(format.starts(name, given, field.datatype.size(), values.len())?))
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

    /// The field's name.
    pub(super) const fn name(&self) -> &'a str {
        self.name
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

    /// The first cells. libtiledb takes as many cells of an attribute as there are coordinates.
    fn cut(self, cells: usize, field: &FieldType) -> Self {
        if self.cells(field) <= cells {
            return self;
        }
        let first = |bytes: &'a [u8], count: usize| bytes.get(..count).unwrap_or(bytes);
        let (bytes, offsets) = match &self.offsets {
            Some(offsets) => {
                let kept = offsets.get(..=cells).unwrap_or(offsets);
                let end = kept.last().and_then(|end| usize::try_from(*end).ok());
                (end.unwrap_or(self.values.len()), Some(Cow::Owned(kept.to_vec())))
            }
            None => {
                let each = self.values.len().checked_div(self.cells(field)).unwrap_or(0);
                (each.saturating_mul(cells), None)
            }
        };
        let validity = self.validity.map(|validity| first(validity, cells));
        Self { name: self.name, values: first(self.values, bytes), offsets, validity }
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
    let mut coordinates = None;
    for (name, own) in buffers {
        match FieldType::of(schema, name) {
            Some(field) if field.origin != Origin::Label => {
                let column = Column::new(name, &field, own, format)?;
                if field.origin == Origin::Dimension && schema.array_type == ArrayType::Sparse {
                    coordinates.get_or_insert_with(|| column.cells(&field));
                }
                columns.push((column, field));
            }
            _ => {}
        }
    }
    let cut = |(column, field): (Column<'a>, FieldType)| match coordinates {
        Some(cells) if field.origin == Origin::Attribute => column.cut(cells, &field),
        _ => column,
    };
    Ok(columns.into_iter().map(cut).collect())
}
