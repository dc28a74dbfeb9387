//! Results: columns for numpy, batches for Arrow, streams of them.

use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3_arrow::PyRecordBatch;
use tdb_array::Column;
use tdb_array::schema::{CellValNum, Enumeration};
use tdb_arrow::{Mapping, Options};

use crate::errors::Failure;
use crate::memory::Memory;
use crate::open_array::Array;
use crate::watch;

/// A column for Python: name, datatype, values per cell (`None`: any number), values, offsets,
/// validity.
pub(crate) type Parts = (String, &'static str, Option<u32>, Memory, Option<Memory>, Option<Memory>);

/// The cells of a result, or of a batch.
#[pyclass(module = "tdb._tdb", frozen)]
#[derive(Debug)]
pub(crate) struct Cells(Mutex<Option<tdb_array::Cells>>);

impl From<tdb_array::Cells> for Cells {
    fn from(cells: tdb_array::Cells) -> Self {
        Self(Mutex::new(Some(cells)))
    }
}

/// A column for Python.
pub(crate) fn parts(column: Column) -> Parts {
    let count = match column.cell_val_num {
        CellValNum::Fixed(count) => Some(count.get()),
        CellValNum::Var => None,
    };
    let (name, datatype) = (column.name.clone(), column.datatype.name());
    let (data, offsets, validity) = column.into_parts();
    (name, datatype, count, data.into(), offsets.map(Memory::from), validity.map(Memory::from))
}

/// The values of an enumeration.
pub(crate) fn enumeration_parts(enumeration: &Enumeration) -> Parts {
    let values = (0..enumeration.len()).filter_map(|index| enumeration.value(index));
    let (mut data, mut offsets) = (Vec::new(), vec![0]);
    for value in values {
        data.extend_from_slice(value);
        offsets.push(u64::try_from(data.len()).unwrap_or(u64::MAX));
    }
    let (count, offsets) = match enumeration.cell_val_num {
        CellValNum::Fixed(count) => (Some(count.get()), None),
        CellValNum::Var => (None, Some(offsets.into())),
    };
    (enumeration.name.clone(), enumeration.datatype.name(), count, data.into(), offsets, None)
}

#[pymethods]
impl Cells {
    /// Number of cells.
    fn __len__(&self) -> usize {
        let cells = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        cells.as_ref().map_or(0, tdb_array::Cells::len)
    }

    /// The number of cells along each dimension, for dense results in row- or column-major order;
    /// and the order.
    fn shape(&self) -> (Option<Vec<usize>>, &'static str) {
        let cells = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match cells.as_ref() {
            Some(cells) => (cells.shape().map(<[usize]>::to_vec), cells.order().name()),
            None => (None, ""),
        }
    }

    /// The columns, with their memory. They can be taken once.
    fn take_columns(&self) -> Result<Vec<Parts>, Failure> {
        let cells = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let cells =
            cells.ok_or_else(|| Failure::Argument("these cells were handed over before".to_owned()))?;
        Ok(cells.into_columns().into_iter().map(parts).collect())
    }

    /// The cells that satisfy the condition, as rows that are in no box. They can be taken once.
    fn take_rows(&self, py: Python<'_>) -> PyResult<Self> {
        let cells = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let cells =
            cells.ok_or_else(|| Failure::Argument("these cells were handed over before".to_owned()))?;
        Ok(watch::run(py, move || cells.into_selected())?.into())
    }

    /// The cells that satisfy the condition, or the first ones of them, as a record batch. They are
    /// copied once, unless `take` is set.
    #[pyo3(signature = (array, take, first=None))]
    fn to_arrow(
        &self,
        py: Python<'_>,
        array: &Array,
        take: bool,
        first: Option<usize>,
    ) -> PyResult<PyRecordBatch> {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let cells = if take { held.take() } else { held.clone() };
        drop(held);
        let cells =
            cells.ok_or_else(|| Failure::Argument("these cells were handed over before".to_owned()))?;
        let batch = watch::run(py, move || -> tdb_arrow::Result<_> {
            let names: Vec<&str> = cells.columns().iter().map(|column| column.name.as_str()).collect();
            let mapping = Mapping::of_fields(array.inner(), &names, Options::new())?;
            mapping.record_batch(cells.into_selected()?)
        })?;
        let cells = batch.num_rows();
        Ok(PyRecordBatch::new(batch.slice(0, first.unwrap_or(cells).min(cells))))
    }
}

/// Batches of a query, one after the other.
#[pyclass(module = "tdb._tdb", frozen)]
#[derive(Debug)]
pub(crate) struct Batches(pub(crate) Mutex<Option<tdb_array::query::Batches>>);

#[pymethods]
impl Batches {
    /// The next batch; `None` after the last one.
    fn next(&self, py: Python<'_>) -> PyResult<Option<Cells>> {
        let next = watch::run(py, || {
            let mut batches = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            batches.as_mut().and_then(Iterator::next).transpose()
        })?;
        Ok(next.map(Cells::from))
    }

    /// Ends the stream, and frees what it holds.
    fn close(&self, py: Python<'_>) {
        py.detach(|| drop(self.0.lock().unwrap_or_else(PoisonError::into_inner).take()));
    }

    /// The share of the query that was read, from 0 to 1.
    fn fraction(&self) -> Option<f64> {
        let batches = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        batches.as_ref().map(|batches| batches.progress().fraction())
    }
}
