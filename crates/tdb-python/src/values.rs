//! Single values from Python.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use tdb_array::query::Coordinate;

use crate::errors::Failure;

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

/// The first and the last tick of what a date names, in the unit of a type.
#[pyfunction]
pub(crate) fn date_span(datatype: &str, text: &str) -> Result<(i64, i64), Failure> {
    let datatype = tdb_text::schema::datatype(datatype).map_err(Failure::Argument)?;
    tdb_text::parse::date_span(datatype, text).map_err(Failure::Argument)
}

/// The known word that was probably meant by another one, as `; did you mean "temperature"?`, or
/// nothing.
#[pyfunction]
pub(crate) fn hint(word: &str, known: Vec<String>) -> String {
    tdb_text::suggest::hint(word, known.iter().map(String::as_str))
}
