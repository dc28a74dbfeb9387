//! Single values from Python, and texts as the format stores them.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use tdb_array::Coordinate;

use crate::errors::Failure;
use crate::memory::Memory;

/// A coordinate, as a caller gave it. Dates are numbers already.
#[derive(Clone, Debug)]
pub(crate) struct Value(Coordinate);

impl From<Value> for Coordinate {
    fn from(value: Value) -> Self {
        value.0
    }
}

impl<'py> FromPyObject<'_, 'py> for Value {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(text) = value.cast::<PyString>() {
            return Ok(Self(Coordinate::Bytes(text.to_str()?.as_bytes().to_vec())));
        }
        if let Ok(bytes) = value.cast::<PyBytes>() {
            return Ok(Self(Coordinate::Bytes(bytes.as_bytes().to_vec())));
        }
        if let Ok(number) = value.extract::<i128>() {
            return Ok(Self(Coordinate::Int(number)));
        }
        if let Ok(number) = value.extract::<f64>() {
            return Ok(Self(Coordinate::Float(number)));
        }
        let kind = value.get_type().to_string();
        Err(Failure::Argument(format!("{kind} is not a coordinate: numbers, texts, bytes and dates are"))
            .into())
    }
}

/// A limit of memory, such as `256MB`, in bytes.
#[pyfunction]
pub(crate) fn memory_bytes(text: &str) -> Result<u64, Failure> {
    let budget: tdb_array::MemoryBudget =
        text.parse().map_err(|error| Failure::Argument(format!("memory: {error}")))?;
    Ok(budget.bytes())
}

/// A column of texts or bytes for a write: values back to back, an offset for each cell and one more, and a byte for each
/// cell that is 0 for `None`.
#[pyfunction]
pub(crate) fn pack_texts(values: &Bound<'_, PyAny>) -> PyResult<(Memory, Memory, Memory)> {
    let mut bytes: Vec<u8> = Vec::new();
    let (mut offsets, mut validity) = (vec![0u64], Vec::new());
    for value in values.try_iter()? {
        let value = value?;
        validity.push(u8::from(!value.is_none()));
        if let Ok(text) = value.cast::<PyString>() {
            bytes.extend_from_slice(text.to_str()?.as_bytes());
        } else if let Ok(own) = value.cast::<PyBytes>() {
            bytes.extend_from_slice(own.as_bytes());
        } else if !value.is_none() {
            let kind = value.get_type().to_string();
            return Err(Failure::Argument(format!("{kind} is neither a text nor bytes")).into());
        }
        offsets.push(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
    }
    Ok((bytes.into(), offsets.into(), validity.into()))
}
