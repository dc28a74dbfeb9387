//! Queries.

use core::ops::Bound;
use std::sync::Mutex;

use pyo3::prelude::*;
use pyo3_arrow::{PyRecordBatch, PyRecordBatchReader};
use tdb_array::error::QueryError;
use tdb_array::query::{Aggregate, AggregateValue, Coordinate, QueryDescription};
use tdb_array::storage::without_secrets;
use tdb_array::{Layout, MemoryBudget};
use tdb_arrow::Options;
use tdb_arrow::arrow_array::{RecordBatch, RecordBatchReader};
use tdb_arrow::arrow_schema::{ArrowError, SchemaRef};

use crate::cells::{Batches, Cells, Parts, parts};
use crate::condition::Condition;
use crate::errors::Failure;
use crate::open_array::Array;
use crate::values::Value;
use crate::watch;

/// A value of an aggregate: what was asked for, datatype, bytes, whether it does not fit.
type Aggregated = (String, &'static str, Option<Vec<u8>>, bool);

/// Groups of cells: the columns of the keys; of each aggregate its values, and whether one of them
/// does not fit.
type Groups = (Vec<Parts>, Vec<(Parts, bool)>);

/// Memory of the first batch if only the first cells are wanted. Batches grow until there are
/// enough cells.
const INITIAL_BATCH_MEMORY: MemoryBudget = MemoryBudget::from_bytes(256 << 10);

/// A query of an array. It is never changed: each method that narrows it returns another one.
#[pyclass(module = "tdb._tdb", frozen)]
#[derive(Clone, Debug)]
pub(crate) struct Read(tdb_array::Read);

impl From<tdb_array::Read> for Read {
    fn from(read: tdb_array::Read) -> Self {
        Self(read)
    }
}

impl Read {
    /// The query whose cells are rows of a table: cells of a dense array that do not satisfy the
    /// condition are none.
    fn of_rows(&self) -> tdb_array::Read {
        let finds = self.0.has_condition();
        self.0.clone().selection(finds)
    }

    /// The first cells as one record batch.
    fn first_batch(&self, py: Python<'_>, first: usize) -> PyResult<PyRecordBatch> {
        let read = self.of_first_rows(Some(first));
        let batch = watch::run(py, || -> tdb_arrow::Result<_> {
            let reader = tdb_arrow::batches(read, Options::new())?;
            let (schema, mut batches, mut left) = (reader.schema(), Vec::new(), first);
            for batch in reader {
                let batch = batch?;
                batches.push(batch.slice(0, batch.num_rows().min(left)));
                left = left.saturating_sub(batch.num_rows());
                if left == 0 {
                    break;
                }
            }
            Ok(arrow_select::concat::concat_batches(&schema, &batches)?)
        })?;
        Ok(PyRecordBatch::new(batch))
    }

    /// [`Self::of_rows`], whose batches begin small if only the first cells are wanted.
    fn of_first_rows(&self, first: Option<usize>) -> tdb_array::Read {
        let read = self.of_rows();
        if first.is_some() { read.initial_batch_memory(INITIAL_BATCH_MEMORY) } else { read }
    }
}

/// One end of a range: no end, or a value and whether the value itself is left out.
fn bound(end: Option<(Value, bool)>) -> Bound<Coordinate> {
    match end {
        None => Bound::Unbounded,
        Some((value, true)) => Bound::Excluded(value.into()),
        Some((value, false)) => Bound::Included(value.into()),
    }
}

/// An order by its name.
pub(crate) fn order(name: &str) -> Result<Layout, Failure> {
    let known = tdb_text::schema::layout(name);
    known.ok_or_else(|| {
        Failure::Argument(format!(
            "{name:?} is not an order: row-major, col-major, global-order and unordered are"
        ))
    })
}

#[pymethods]
impl Read {
    /// The same query of these fields.
    fn fields(&self, names: Vec<String>) -> Self {
        self.0.clone().fields(names).into()
    }

    /// The same query of a range of a dimension. Each end is a value and whether the value itself
    /// is left out.
    fn range(&self, dimension: String, low: Option<(Value, bool)>, high: Option<(Value, bool)>) -> Self {
        self.0.clone().range::<Coordinate>(dimension, (bound(low), bound(high))).into()
    }

    /// The same query of single values of a dimension.
    fn points(&self, dimension: String, values: Vec<Value>) -> Self {
        self.0.clone().points::<Coordinate>(dimension, values.into_iter().map(Into::into)).into()
    }

    /// The same query of a range of a label.
    fn label_range(&self, label: String, low: Option<(Value, bool)>, high: Option<(Value, bool)>) -> Self {
        self.0.clone().label_range::<Coordinate>(label, (bound(low), bound(high))).into()
    }

    /// The same query in an order.
    fn order(&self, name: &str) -> Result<Self, Failure> {
        Ok(self.0.clone().order(order(name)?).into())
    }

    /// The same query of the cells that satisfy a condition.
    fn condition(&self, condition: &Condition) -> Result<Self, Failure> {
        let condition = condition.0.as_ref().clone();
        let with_dates = tdb_text::condition::with_dates(condition, self.0.array().schema());
        let error = |error| tdb_array::Error::from(QueryError::Condition(error));
        Ok(self.0.clone().condition(with_dates.map_err(error)?).into())
    }

    /// The same query, unless one of its ranges lies wholly outside of the domain, or of the
    /// current domain.
    fn refuse_outside(&self) -> Result<Self, Failure> {
        Ok(self.0.clone().refuse_outside()?.into())
    }

    /// The same query with limits for its memory: for all, and for each batch.
    #[pyo3(signature = (memory=None, batch=None))]
    fn memory(&self, memory: Option<&str>, batch: Option<&str>) -> Result<Self, Failure> {
        let parse = |text: &str| -> Result<MemoryBudget, Failure> {
            text.parse().map_err(|error| Failure::Argument(format!("memory: {error}")))
        };
        let mut read = self.0.clone();
        if let Some(text) = memory {
            read = read.memory(parse(text)?);
        }
        if let Some(text) = batch {
            read = read.batch_memory(parse(text)?);
        }
        Ok(read.into())
    }

    /// All cells.
    fn collect(&self, py: Python<'_>) -> PyResult<Cells> {
        let read = self.0.clone();
        Ok(watch::run(py, || read.collect())?.into())
    }

    /// All cells that are rows of a table: with a condition, those that satisfy it, in no box.
    fn collect_rows(&self, py: Python<'_>) -> PyResult<Cells> {
        let read = self.of_rows();
        Ok(watch::run(py, || read.collect()?.into_selected())?.into())
    }

    /// The cells in batches, of which the caller wants the first cells, or all.
    #[pyo3(signature = (first=None))]
    fn batches(&self, py: Python<'_>, first: Option<usize>) -> PyResult<Batches> {
        let read = self.of_first_rows(first);
        Ok(Batches(Mutex::new(Some(watch::run(py, || read.batches())?))))
    }

    /// The cells, or the first ones, as a stream of Arrow.
    #[pyo3(signature = (first=None))]
    fn arrow_stream(&self, py: Python<'_>, first: Option<usize>) -> PyResult<PyRecordBatchReader> {
        let read = self.of_first_rows(first);
        let reader = watch::run(py, || tdb_arrow::batches(read, Options::new()))?;
        Ok(PyRecordBatchReader::new(Box::new(Watching { reader, left: first })))
    }

    /// All cells, or the first ones, as one record batch.
    #[pyo3(signature = (first=None))]
    fn arrow_batch(&self, py: Python<'_>, first: Option<usize>) -> PyResult<PyRecordBatch> {
        if let Some(first) = first {
            return self.first_batch(py, first);
        }
        let read = self.of_rows();
        let batch = watch::run(py, || -> tdb_arrow::Result<_> {
            let array = read.array().clone();
            let cells = read.collect()?.into_selected()?;
            let names: Vec<&str> = cells.columns().iter().map(|column| column.name.as_str()).collect();
            tdb_arrow::Mapping::of_fields(&array, &names, Options::new())?.record_batch(cells)
        })?;
        Ok(PyRecordBatch::new(batch))
    }

    /// Aggregates in the notation of the command, such as `count, mean(a)`: for each what was asked
    /// for, the datatype, the value's bytes (`None`: there is no value), and whether it does not
    /// fit the type.
    fn aggregate(&self, py: Python<'_>, list: &str) -> PyResult<Vec<Aggregated>> {
        let wanted = Aggregate::parse(list)
            .map_err(|error| Failure::from(tdb_array::Error::from(QueryError::Aggregate(error))))?;
        let read = self.0.clone();
        let found = watch::run(py, || read.aggregate(wanted))?;
        let value = |value: &AggregateValue| {
            let bytes = value.bytes().map(<[u8]>::to_vec);
            (value.aggregate.to_string(), value.datatype.name(), bytes, value.overflowed())
        };
        Ok(found.iter().map(value).collect())
    }

    /// Aggregates of groups of cells with equal values of some fields, in the notation of
    /// [`Self::aggregate`].
    fn group_by(&self, py: Python<'_>, keys: Vec<String>, list: &str) -> PyResult<Groups> {
        let wanted = if list.is_empty() { Ok(Vec::new()) } else { Aggregate::parse(list) };
        let wanted =
            wanted.map_err(|error| Failure::from(tdb_array::Error::from(QueryError::Aggregate(error))))?;
        let read = self.0.clone();
        let found = watch::run(py, || read.group_by(keys).aggregate(wanted))?;
        let (keys, values) = found.into_parts();
        let values = values.into_iter().map(|values| (parts(values.column), values.overflowed));
        Ok((keys.into_columns().into_iter().map(parts).collect(), values.collect()))
    }

    /// The report of what the query would read, as JSON.
    fn explain(&self, py: Python<'_>) -> PyResult<String> {
        let read = self.0.clone();
        let explain = watch::run(py, || read.explain())?;
        Ok(tdb_text::report::explain_json(&explain).to_string())
    }

    /// The query in parts of about equal cost.
    fn partitions(&self, py: Python<'_>, count: usize) -> PyResult<Vec<Self>> {
        let read = self.0.clone();
        let parts = watch::run(py, || read.partitions(count))?;
        Ok(parts.into_iter().map(Self::from).collect())
    }

    /// The query as bytes for another process.
    fn describe(&self, py: Python<'_>, uri: String) -> PyResult<Vec<u8>> {
        let read = &self.0;
        watch::run(py, || read.describe(uri).map(|description| description.to_bytes()))
    }

    /// The query of [`Self::describe`], opened at a place.
    #[staticmethod]
    fn from_description(py: Python<'_>, place: &crate::place::Place, bytes: Vec<u8>) -> PyResult<Self> {
        let opened = watch::run(py, || -> Result<_, Failure> {
            let description = QueryDescription::from_bytes(&bytes)?;
            Ok(description.open_storage(place.open_options(None), place.storage()?)?)
        })?;
        Ok(opened.into())
    }

    /// The array that is read.
    fn array(&self) -> Array {
        self.0.array().clone().into()
    }

    fn __repr__(&self) -> String {
        format!("Read({:?})", without_secrets(&self.0.array().describe("")))
    }
}

/// A reader whose batches are read as a call each, so that Ctrl-C ends it. The thread may or may
/// not hold the interpreter's lock.
struct Watching {
    reader: tdb_arrow::BatchReader,
    /// The cells that are still wanted; `None`: all.
    left: Option<usize>,
}

impl Iterator for Watching {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.left == Some(0) {
            return None;
        }
        let next = Python::attach(|py| watch::run(py, || Ok::<_, Failure>(self.reader.next())));
        let next = next.unwrap_or_else(|error| Some(Err(ArrowError::ExternalError(Box::new(error)))));
        match (next, &mut self.left) {
            (Some(Ok(batch)), Some(left)) => {
                let cells = batch.num_rows().min(*left);
                *left = left.saturating_sub(cells);
                Some(Ok(batch.slice(0, cells)))
            }
            (next, _) => next,
        }
    }
}

impl RecordBatchReader for Watching {
    fn schema(&self) -> SchemaRef {
        self.reader.schema()
    }
}
