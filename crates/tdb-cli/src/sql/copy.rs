//! `COPY … TO 'folder' STORED AS TILEDB`: the rows of a result become cells of an array, as those
//! of a file do in `tdb import`.

use core::sync::atomic::{AtomicBool, Ordering};
use std::fs::File;
use std::io::BufWriter;
use std::sync::Arc;

use tdb_convert::{BatchSink, Format, SinkOptions, sink};
use tdb_datafusion::datafusion::arrow::array::{RecordBatch, RecordBatchOptions};
use tdb_datafusion::datafusion::arrow::compute::cast;
use tdb_datafusion::datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use tdb_datafusion::datafusion::common::{not_impl_err, plan_err};
use tdb_datafusion::datafusion::error::DataFusionError;
use tdb_datafusion::datafusion::sql::parser::{CopyToSource, CopyToStatement, ExplainStatement, Statement};
use tdb_datafusion::datafusion::sql::sqlparser::ast::{self, Value};

use super::dictionaries::Dictionaries;
use super::error::StatementError;
use super::statements;
use crate::failure::{Failure, Result};
use crate::import::{Copied, ResultFile, ResultImport};
use crate::names::Unique;
use crate::place::Stores;
use crate::temporary::unnamed;

/// The name of the format in SQL.
const FORMAT: &str = "TILEDB";

/// A statement that copies rows to an array.
#[derive(Debug)]
pub(super) struct ArrayCopy {
    /// The query whose rows are copied.
    pub(super) query: Statement,
    pub(super) target: String,
    pub(super) options: Vec<(String, String)>,
}

impl ArrayCopy {
    /// What a statement copies to an array; `None` for all other statements.
    pub(super) fn of(statement: &Statement) -> tdb_datafusion::Result<Option<Self>> {
        let copy = match statement {
            Statement::CopyTo(copy) => copy,
            Statement::Explain(ExplainStatement { statement, options: _ }) => {
                return match Self::of(statement)? {
                    Some(_) => not_impl_err!(
                        "EXPLAIN of COPY … STORED AS TILEDB is not supported: write EXPLAIN and the query"
                    ),
                    None => Ok(None),
                };
            }
            _ => return Ok(None),
        };
        let CopyToStatement { source, target, partitioned_by, stored_as, options } = copy;
        if !stored_as.as_ref().is_some_and(|format| format.eq_ignore_ascii_case(FORMAT)) {
            return Ok(None);
        }
        if !partitioned_by.is_empty() {
            return plan_err!(
                "PARTITIONED BY: an array is one place; OPTIONS (dims '…') says what its cells are found by"
            );
        }
        let query = match source {
            CopyToSource::Query(query) => {
                Statement::Statement(Box::new(ast::Statement::Query(query.clone())))
            }
            CopyToSource::Relation(name) => statements::whole_table(name)?,
        };
        let text = |value: &Value| match value {
            Value::Number(digits, _) => digits.clone(),
            other => other.clone().into_string().unwrap_or_else(|| other.to_string()),
        };
        let options = options.iter().map(|(name, value)| (name.clone(), text(value))).collect();
        Ok(Some(Self { query, target: target.clone(), options }))
    }
}

/// The rows of a result in a temporary file.
pub(super) struct Spool {
    file: File,
    sink: Box<dyn BatchSink>,
    schema: SchemaRef,
    dictionaries: Dictionaries,
}

impl Spool {
    /// A file for rows of these columns, whose names must differ: an array has each once. Values of
    /// dictionaries are written as they are, because each batch may have a dictionary of its own;
    /// those of all batches become an enumeration.
    pub(super) fn new(schema: &Schema) -> Result<Self, StatementError> {
        let mut unique = Unique::exact();
        for field in schema.fields() {
            if unique.name(field.name()) != *field.name() {
                return Err(Failure::Usage(format!(
                    "two columns are called {:?}: AS gives one of them another name",
                    field.name()
                ))
                .into());
            }
        }
        let plain = |field: &Arc<Field>| {
            let data_type = match field.data_type() {
                DataType::Dictionary(_, values) => values.as_ref().clone(),
                other => other.clone(),
            };
            Field::new(field.name(), data_type, field.is_nullable())
        };
        let dictionaries = Dictionaries::new(schema).map_err(DataFusionError::from)?;
        let schema = Arc::new(Schema::new(schema.fields().iter().map(plain).collect::<Vec<_>>()));
        let file = unnamed().map_err(|error| temporary(&error))?;
        let out = file.try_clone().map_err(|error| temporary(&error))?;
        let sink = sink(Format::ArrowStream, BufWriter::new(out), &schema, &SinkOptions::new());
        Ok(Self { file, sink: sink.map_err(failed)?, schema, dictionaries })
    }

    pub(super) fn write(&mut self, batch: &RecordBatch) -> Result<(), StatementError> {
        self.dictionaries.add(batch).map_err(DataFusionError::from)?;
        let columns = batch.columns().iter().zip(self.schema.fields());
        let columns = columns.map(|(column, field)| cast(column, field.data_type()));
        let columns = columns.collect::<Result<Vec<_>, _>>().map_err(DataFusionError::from)?;
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let batch = RecordBatch::try_new_with_options(self.schema.clone(), columns, &options);
        let batch = batch.map_err(DataFusionError::from)?;
        Ok(self.sink.write(&batch).map_err(failed)?)
    }

    /// Ends the file; returns an import of it, which can be stopped.
    pub(super) fn finish(self, import: ResultImport, stores: Stores) -> Result<PendingCopy, StatementError> {
        self.sink.finish().map_err(failed)?;
        let stop = Stop(Arc::default());
        let dictionaries = self.dictionaries.finish().map_err(DataFusionError::from)?;
        let rows = ResultFile::new(self.file, dictionaries, stop.0.clone());
        Ok(PendingCopy { import, rows, stores, stop })
    }
}

/// A copy whose rows are all known.
pub(super) struct PendingCopy {
    import: ResultImport,
    rows: ResultFile,
    stores: Stores,
    stop: Stop,
}

impl PendingCopy {
    /// Writes the array on a thread that may block. If nobody waits for it any more, nothing is
    /// written. Returns what was done, and notes on it.
    pub(super) async fn run(self) -> Result<(Copied, Vec<u8>)> {
        let Self { import, rows, stores, stop } = self;
        let writing = tokio::task::spawn_blocking(move || {
            let mut notes = Vec::new();
            import.run(rows, &stores, &mut notes).map(|copied| (copied, notes))
        });
        let written = writing.await.map_err(|error| Failure::Fault(error.to_string()))?;
        drop(stop);
        written
    }
}

/// Stops an import when it is dropped.
struct Stop(Arc<AtomicBool>);

impl Drop for Stop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// A failure of the file between a query and an array.
fn failed(error: tdb_convert::Error) -> Failure {
    temporary(&std::io::Error::other(match error {
        tdb_convert::Error::Output(what) => what,
        other => other.to_string(),
    }))
}

fn temporary(error: &std::io::Error) -> Failure {
    Failure::at(&std::env::temp_dir(), format!("a temporary file of this copy: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(sql: &str) -> tdb_datafusion::Result<Option<ArrayCopy>> {
        ArrayCopy::of(&statements::query(sql).unwrap())
    }

    #[test]
    fn copies_to_arrays_are_told_from_those_to_files() {
        let copy =
            of("COPY (SELECT 1 AS a) TO 'x' STORED AS tiledb OPTIONS (dims 'a', force true, memory 5)");
        let copy = copy.unwrap().unwrap();
        assert_eq!(copy.target, "x");
        let options: Vec<_> =
            copy.options.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(options, [("dims", "a"), ("force", "true"), ("memory", "5")]);
        assert_eq!(
            of("COPY 'a b' TO 'x' STORED AS TILEDB").unwrap().unwrap().query.to_string(),
            "SELECT * FROM 'a b'"
        );
        for other in ["COPY t TO 'x.csv'", "COPY t TO 'x' STORED AS PARQUET", "SELECT 1", "EXPLAIN SELECT 1"]
        {
            assert!(of(other).unwrap().is_none(), "{other}");
        }
        for (wrong, part) in [
            ("COPY t TO 'x' STORED AS TILEDB PARTITIONED BY (a)", "PARTITIONED BY"),
            ("EXPLAIN COPY t TO 'x' STORED AS TILEDB", "EXPLAIN"),
        ] {
            let refused = of(wrong).unwrap_err().to_string();
            assert!(refused.contains(part), "{refused}");
        }
    }
}
