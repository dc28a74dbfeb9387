//! Answers in SQL, as the command `tdb sql` gives them.

use core::num::NonZeroU16;
use std::path::Path;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3_arrow::PyRecordBatchReader;
use pyo3_arrow::input::AnyRecordBatch;
use tdb_array::storage::WriteStorage;
use tdb_array::{MemoryBudget, TimeWindow};
use tdb_arrow::arrow_array::{RecordBatch, RecordBatchIterator, RecordBatchReader};
use tdb_arrow::arrow_schema::{ArrowError, SchemaRef};
use tdb_cli::{SqlAnswer, SqlRows, SqlSession};
use tdb_datafusion::datafusion::error::DataFusionError;
use tdb_datafusion::{Locate, TableOptions, TdbTableFactory};
use tdb_object_store::Locations;

use crate::errors::Failure;
use crate::open_array::Array;
use crate::place::Place;
use crate::watch;

/// The answer of a text of SQL.
#[pyclass(module = "tdb._tdb", frozen)]
#[derive(Debug)]
pub(crate) struct Sql(SqlAnswer);

#[pymethods]
impl Sql {
    /// Runs a text. Places in it have the options and the key of `place`, whose location is not
    /// used, and are open at `window`; `arrays` and `rows` have names.
    #[new]
    #[pyo3(signature = (text, place, arrays, rows, window=None, memory=None, threads=None))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords of one Python function")]
    fn new(
        py: Python<'_>,
        text: &str,
        place: &Place,
        arrays: Vec<(String, PyRef<'_, Array>)>,
        rows: Vec<(String, AnyRecordBatch)>,
        window: Option<(u64, u64)>,
        memory: Option<&str>,
        threads: Option<u16>,
    ) -> PyResult<Self> {
        let memory = memory.map(str::parse::<MemoryBudget>).transpose();
        let memory = memory.map_err(|error| Failure::Argument(format!("memory: {error}")))?;
        let threads = threads.map(|threads| {
            let none = || Failure::Argument("threads: a query has one thread at least".to_owned());
            NonZeroU16::new(threads).ok_or_else(none)
        });
        let threads = threads.transpose()?;
        let mut options = TableOptions::new();
        if let Some((start, end)) = window {
            options = options.window(TimeWindow::between(start, end));
        }
        if let Some(key) = place.key() {
            options = options.key(key);
        }
        let factory = TdbTableFactory::new().locate(Arc::new(Places(place.locations().clone())));
        let session = SqlSession::new(&factory, options, memory, threads).map_err(Failure::from)?;
        for (name, array) in arrays {
            session.name_array(&name, array.inner().clone()).map_err(Failure::from)?;
        }
        let readers = rows.into_iter().map(|(name, rows)| Ok((name, rows.into_reader()?)));
        let readers = readers.collect::<PyResult<Vec<_>>>()?;
        let answer = watch::run(py, move || -> Result<_, Failure> {
            for (name, reader) in readers {
                let schema = reader.schema();
                let batches = reader.map(|batch| {
                    watch::look().map_err(|error| ArrowError::ExternalError(Box::new(error)))?;
                    batch
                });
                let batches = batches.collect::<Result<Vec<_>, _>>().map_err(tdb_arrow::Error::from)?;
                session.name_rows(&name, schema, batches)?;
            }
            Ok(session.run(text, &watch::look)?)
        })?;
        Ok(Self(answer))
    }

    /// The names of the columns, and their types in Arrow's words.
    fn columns(&self) -> Vec<(String, String)> {
        let schema = self.0.schema();
        let fields = schema.fields().iter();
        fields.map(|field| (field.name().clone(), field.data_type().to_string())).collect()
    }

    /// The rows as a stream of Arrow.
    fn arrow_stream(&self, py: Python<'_>) -> PyResult<PyRecordBatchReader> {
        let rows = watch::run(py, || Ok::<_, Failure>(self.0.rows(&watch::look)?))?;
        Ok(PyRecordBatchReader::new(Box::new(Rows { rows })))
    }

    /// All rows. What goes wrong has the class of its error, which a stream hands on as text alone.
    fn collected(&self, py: Python<'_>) -> PyResult<PyRecordBatchReader> {
        let (schema, batches) = watch::run(py, || -> Result<_, Failure> {
            let mut rows = self.0.rows(&watch::look)?;
            let mut batches = Vec::new();
            while let Some(batch) = rows.next(&watch::look)? {
                batches.push(Ok(batch));
            }
            Ok((rows.schema(), batches))
        })?;
        Ok(PyRecordBatchReader::new(Box::new(RecordBatchIterator::new(batches, schema))))
    }

    /// The first rows as a table for people, and whether there are more.
    fn table(&self, py: Python<'_>, first: usize) -> PyResult<(String, bool)> {
        watch::run(py, || Ok::<_, Failure>(self.0.table(first, &watch::look)?))
    }
}

/// Arrays at all places, with the options of one.
#[derive(Debug)]
struct Places(Locations);

impl Locate for Places {
    fn storage(&self, location: &str) -> tdb_datafusion::Result<Arc<dyn WriteStorage>> {
        let found = self.0.storage(location);
        found.map_err(|error| DataFusionError::External(error.to_string().into()))
    }

    fn absolute(&self, location: &str) -> String {
        let path =
            if location.contains("://") { None } else { std::path::absolute(Path::new(location)).ok() };
        path.and_then(|path| path.into_os_string().into_string().ok()).unwrap_or_else(|| location.to_owned())
    }
}

/// Rows whose batches are a call each, so that Ctrl-C ends it.
struct Rows {
    rows: SqlRows,
}

impl Iterator for Rows {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let rows = &mut self.rows;
        let next = Python::attach(|py| watch::run(py, || Ok::<_, Failure>(rows.next(&watch::look)?)));
        next.map_err(|error| ArrowError::ExternalError(Box::new(error))).transpose()
    }
}

impl RecordBatchReader for Rows {
    fn schema(&self) -> SchemaRef {
        self.rows.schema()
    }
}
