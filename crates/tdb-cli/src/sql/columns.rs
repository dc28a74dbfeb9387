//! Results as Parquet and Arrow files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tdb_convert::{BatchSink, Error, Format, SinkOptions};
use tdb_datafusion::datafusion::arrow::array::{RecordBatch, RecordBatchOptions};
use tdb_datafusion::datafusion::arrow::datatypes::{Field, Schema, SchemaRef};
use tdb_datafusion::datafusion::error::DataFusionError;

use super::error::StatementError;
use super::formats::Sink;
use crate::failure::{Failure, Result};
use crate::names::Unique;
use crate::output::Out;
use crate::piped::Piped;

/// A file whose batches are those of a result.
pub(super) struct Columns<'o> {
    piped: Piped<'o>,
    /// The file; `None` for standard output.
    path: Option<PathBuf>,
    schema: SchemaRef,
}

impl<'o> Columns<'o> {
    /// Begins a file. Its columns have different names, also where those of the result have the
    /// same.
    pub(super) fn new(out: Out<'o>, path: Option<PathBuf>, format: Format, schema: &Schema) -> Result<Self> {
        let schema = distinct(schema);
        let piped = Piped::new(format, out, &schema, &SinkOptions::new());
        let piped = piped.map_err(|error| failed(path.as_deref(), error))?;
        Ok(Self { piped, path, schema })
    }

    fn failure(&mut self, error: Error) -> Failure {
        let path = self.path.as_deref();
        self.piped.failure().unwrap_or_else(|| failed(path, error))
    }
}

/// The columns of a result with different names.
pub(super) fn distinct(schema: &Schema) -> SchemaRef {
    let mut unique = Unique::exact();
    // Metadata of an array is not that of a result, whose columns may be anything.
    let field = |field: &Arc<Field>| {
        let name = unique.name(field.name());
        Field::new(name, field.data_type().clone(), field.is_nullable())
    };
    Arc::new(Schema::new(schema.fields().iter().map(field).collect::<Vec<_>>()))
}

/// A batch with other names of its columns.
pub(super) fn renamed(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch, DataFusionError> {
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    let columns = batch.columns().to_vec();
    Ok(RecordBatch::try_new_with_options(schema.clone(), columns, &options)?)
}

impl Sink for Columns<'_> {
    fn take(&mut self, batch: &RecordBatch) -> Result<(), StatementError> {
        let batch = renamed(batch, &self.schema)?;
        Ok(self.piped.write(&batch).map_err(|error| self.failure(error))?)
    }

    fn finish(mut self: Box<Self>) -> Result {
        self.piped.end().map_err(|error| self.failure(error))
    }
}

/// An error that is not the output's: the format lacks something that the result has.
fn failed(path: Option<&Path>, error: Error) -> Failure {
    let what = match error {
        Error::Output(what) => what,
        other => other.to_string(),
    };
    Failure::at(path.unwrap_or_else(|| Path::new("standard output")), what)
}
