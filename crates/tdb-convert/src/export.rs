//! From a query to a file.

use std::io::Write;
use std::sync::Arc;

use arrow_array::{Array as _, RecordBatch, RecordBatchReader as _};
use arrow_schema::{ArrowError, DataType, FieldRef, Schema, SchemaRef};
use tdb_array::Read;
use tdb_arrow::{BatchReader, Options, batches};

use crate::error::{Error, Result};
use crate::format::Format;
use crate::metadata::{self, Subarray};
use crate::sink::{BatchSink, SinkOptions, sink};

/// A query whose cells go to a file, batch by batch: see the [front page](crate).
#[derive(Debug)]
#[must_use = "nothing is written yet"]
pub struct Export {
    reader: BatchReader,
    schema: SchemaRef,
}

impl Export {
    /// Begins a query: its first batch is read here, so that errors come before a file is made. For
    /// a read of one box of a dense array, `subarray` says which one and in which order; without
    /// it, the file cannot become a dense array again.
    ///
    /// # Errors
    /// A query that does not fit the array, and errors of reading its first batch.
    pub fn new(read: Read, subarray: Option<&Subarray>, options: Options) -> Result<Self> {
        let array = read.array().clone();
        let reader = batches(read, options)?;
        let plain = reader.schema();
        let mut known = plain.metadata().clone();
        metadata::put(&mut known, &array, subarray)?;
        let schema = Arc::new(Schema::new_with_metadata(plain.fields().clone(), known));
        Ok(Self { reader, schema })
    }

    /// The schema of all batches, with the metadata of the file.
    #[must_use]
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Writes a whole file; returns the number of cells.
    ///
    /// # Errors
    /// As for [`Self::into_sink`] and [`sink`].
    pub fn write(self, format: Format, out: impl Write + Send, options: &SinkOptions) -> Result<u64> {
        check_types(format, &self.schema)?;
        let mut rows = sink(format, out, &self.schema, options)?;
        let cells = self.into_sink(format, &mut *rows)?;
        rows.finish()?;
        Ok(cells)
    }

    /// Writes all batches to a sink of this format, without finishing it; returns the number of
    /// cells.
    ///
    /// # Errors
    /// Errors of the array and of the sink; text that is not UTF-8; a number that its enumeration
    /// does not have, in a format that does not store it.
    pub fn into_sink(self, format: Format, sink: &mut dyn BatchSink) -> Result<u64> {
        check_types(format, &self.schema)?;
        let mut cells = 0u64;
        for batch in self.reader {
            let batch = batch.map_err(unwrapped)?;
            if format == Format::Parquet {
                check_numbers(&batch)?;
            }
            cells = cells.saturating_add(u64::try_from(batch.num_rows()).unwrap_or(u64::MAX));
            sink.write(&batch.with_schema(self.schema.clone()).map_err(tdb_arrow::Error::from)?)?;
        }
        Ok(cells)
    }
}

/// The reader hands its own errors on as errors of Arrow.
fn unwrapped(error: ArrowError) -> Error {
    let error = match error {
        ArrowError::ExternalError(inner) => match inner.downcast::<tdb_arrow::Error>() {
            Ok(own) => *own,
            Err(other) => ArrowError::ExternalError(other).into(),
        },
        other => other.into(),
    };
    error.into()
}

/// Parquet has no dictionaries of lists.
fn check_types(format: Format, schema: &Schema) -> Result<()> {
    let nested = |field: &&FieldRef| match field.data_type() {
        DataType::Dictionary(_, values) => values.is_nested(),
        _ => false,
    };
    match schema.fields().iter().find(nested).filter(|_| format == Format::Parquet) {
        Some(field) => Err(Error::Enumerated {
            column: field.name().clone(),
            why: "the values of its enumeration are lists",
        }),
        None => Ok(()),
    }
}

/// A number outside of an enumeration is null in Arrow, with the number below it, which Parquet
/// does not store.
fn check_numbers(batch: &RecordBatch) -> Result<()> {
    for (field, column) in batch.schema_ref().fields().iter().zip(batch.columns()) {
        let nullable =
            field.metadata().get(tdb_arrow::metadata::NULLABLE).map(String::as_str) != Some("false");
        if !nullable && column.null_count() > 0 {
            let why = "a cell has a number that the enumeration does not have";
            return Err(Error::Enumerated { column: field.name().clone(), why });
        }
    }
    Ok(())
}
