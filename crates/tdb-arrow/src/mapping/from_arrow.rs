//! Record batches as cells of an array.

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, DataType};
use tdb_array::WriteColumn;
use tdb_array::schema::{ArrayType, Enumeration, FieldKind};
use tdb_array::write::WriteBatch;

use super::Mapping;
use crate::cells::{FieldCells, Target};
use crate::error::{Error, Result};
use crate::types::describe;
use crate::{dictionary, metadata, types};

impl Mapping {
    /// Converts a batch to cells of this array, for a write or a stream. Columns are not copied,
    /// except for types that the table of types marks as copied. Dimensions of dense arrays are
    /// left out: the caller passes the range of the cells to the write.
    ///
    /// # Errors
    /// A column that the array does not have, one whose type does not fit its field, a null in a
    /// field that is not nullable, or a value that an enumeration does not have.
    pub fn write_batch(&self, batch: &RecordBatch) -> Result<ArrowCells> {
        let dense = self.schema.array_type == ArrayType::Dense;
        let mut columns = Vec::with_capacity(batch.num_columns());
        for (field, array) in batch.schema_ref().fields().iter().zip(batch.columns()) {
            let unknown = || Error::UnknownColumn { column: field.name().clone() };
            let found = self.schema.field(field.name()).ok_or_else(unknown)?;
            if dense && matches!(found.kind, FieldKind::Dimension(_)) {
                continue;
            }
            let target = Target::of(&found);
            let codes = !self.plain_values || field.metadata().contains_key(metadata::ENUMERATION);
            columns.push((field.name().clone(), self.field_cells(array, &target, codes)?));
        }
        Ok(ArrowCells { columns, rows: batch.num_rows() })
    }

    /// Passes the batches of a reader to a stream, one after the other, and returns the number of
    /// cells.
    ///
    /// ```no_run
    /// # fn example(mapping: tdb_arrow::Mapping, writer: tdb_array::ArrayWriter, reader: impl arrow_array::RecordBatchReader)
    /// # -> tdb_arrow::Result<()> {
    /// let mut stream = writer.sparse_stream(256 << 20)?;
    /// mapping.append_all(reader, |columns| stream.append(columns))?;
    /// stream.commit()?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Those of the reader, of [`Self::write_batch`] and of the stream.
    pub fn append_all(
        &self,
        batches: impl IntoIterator<Item = Result<RecordBatch, ArrowError>>,
        mut append: impl FnMut(&[WriteColumn<'_>]) -> tdb_array::Result<()>,
    ) -> Result<u64> {
        let mut cells = 0u64;
        for batch in batches {
            let batch = self.write_batch(&batch?)?;
            append(&batch.columns())?;
            cells = cells.saturating_add(u64::try_from(batch.rows).unwrap_or(u64::MAX));
        }
        Ok(cells)
    }

    /// The values of a batch that enumerations lack, each once: the enumeration's name, and the
    /// value. Columns that are no fields are skipped.
    ///
    /// # Errors
    /// As [`Self::write_batch`].
    pub fn missing_values(&self, batch: &RecordBatch) -> Result<Vec<(String, Vec<u8>)>> {
        let mut found = Vec::new();
        for (field, array) in batch.schema_ref().fields().iter().zip(batch.columns()) {
            let Some(own) = self.schema.field(field.name()) else { continue };
            let target = Target::of(&own);
            let codes = !self.plain_values || field.metadata().contains_key(metadata::ENUMERATION);
            if let Some(enumeration) = self.enumeration_of(array, &target, codes)? {
                let missing = dictionary::missing(array, &target, enumeration)?;
                found.extend(missing.into_iter().map(|value| (enumeration.name.clone(), value)));
            }
        }
        Ok(found)
    }

    /// The cells of one column. A column of an enumerated attribute contains the stored codes, if
    /// these are allowed, or the values of the enumeration.
    fn field_cells(&self, array: &ArrayRef, target: &Target<'_>, codes: bool) -> Result<FieldCells> {
        match self.enumeration_of(array, target, codes)? {
            Some(enumeration) => dictionary::enumerated(array, target, enumeration),
            None => FieldCells::new(array, target),
        }
    }

    /// The enumeration whose values a column has; `None` if it has what is stored.
    fn enumeration_of(
        &self,
        array: &ArrayRef,
        target: &Target<'_>,
        codes: bool,
    ) -> Result<Option<&Enumeration>> {
        let attribute = self.schema.attribute(target.name);
        let Some(name) = attribute.and_then(|attribute| attribute.enumeration.as_ref()) else {
            return Ok(None);
        };
        let plain = types::fits(array.data_type(), target.datatype, target.cell_val_num)
            && !matches!(array.data_type(), DataType::Dictionary(..));
        if plain && codes {
            return Ok(None);
        }
        let (column, enumeration) = (target.name.to_owned(), name.clone());
        let Some(known) = self.enumerations.get(name) else {
            return Err(Error::NoEnumeration { column, enumeration });
        };
        let Enumeration { datatype, cell_val_num, .. } = known.enumeration;
        if plain && !types::fits(array.data_type(), datatype, cell_val_num) {
            return Err(Error::Codes { column, enumeration, values: describe(datatype, cell_val_num) });
        }
        Ok(Some(&known.enumeration))
    }
}

/// A batch as cells of an array: made by [`Mapping::write_batch`].
#[derive(Clone, Debug)]
pub struct ArrowCells {
    columns: Vec<(String, FieldCells)>,
    rows: usize,
}

impl ArrowCells {
    /// Number of cells.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.rows
    }

    /// Whether there are no cells.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// The bytes of a cell of a column; `None` if there is no such column or row, and for cells
    /// that are null.
    #[must_use]
    pub fn cell(&self, column: &str, row: usize) -> Option<&[u8]> {
        let (_, cells) = self.columns.iter().find(|(name, _)| name == column)?;
        let valid =
            cells.validity.as_ref().is_none_or(|validity| validity.get(row).is_some_and(|byte| *byte != 0));
        cells.cell(row).filter(|_| valid)
    }

    /// The columns, in the form that writes and streams take.
    #[must_use]
    pub fn columns(&self) -> Vec<WriteColumn<'_>> {
        self.columns.iter().map(|(name, cells)| cells.column(name)).collect()
    }
}

impl WriteBatch for ArrowCells {
    fn columns(&self) -> Vec<WriteColumn<'_>> {
        Self::columns(self)
    }
}
