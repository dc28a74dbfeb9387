//! Conditions as objects, and as text.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyString};
use tdb_array::error::QueryError;
use tdb_array::field;
use tdb_array::query::{Operand, QueryCondition};

use crate::errors::Failure;

/// A condition. It is checked against an array when a query uses it.
#[pyclass(module = "tdb._tdb", frozen)]
#[derive(Clone, Debug)]
pub(crate) struct Condition(pub(crate) Arc<QueryCondition>);

impl From<QueryCondition> for Condition {
    fn from(condition: QueryCondition) -> Self {
        Self(Arc::new(condition))
    }
}

fn operand(value: &Bound<'_, PyAny>) -> Result<Operand, Failure> {
    if let Ok(flag) = value.cast::<PyBool>() {
        return Ok(flag.is_true().into());
    }
    if let Ok(text) = value.cast::<PyString>() {
        let text = text.to_str().map_err(|_| Failure::Argument("the text is not Unicode".to_owned()))?;
        return Ok(Operand::Bytes(text.as_bytes().to_vec()));
    }
    if let Ok(bytes) = value.cast::<PyBytes>() {
        return Ok(Operand::Bytes(bytes.as_bytes().to_vec()));
    }
    if let Ok(number) = value.extract::<i128>() {
        return Ok(Operand::Int(number));
    }
    if let Ok(number) = value.extract::<f64>() {
        return Ok(Operand::Float(number));
    }
    let kind = value.get_type().to_string();
    Err(Failure::Argument(format!("{kind} cannot be compared: numbers, texts, bytes and dates can")))
}

#[pymethods]
impl Condition {
    /// Parses a condition.
    #[staticmethod]
    fn parse(text: &str) -> Result<Self, Failure> {
        let parsed = QueryCondition::parse(text)
            .map_err(|error| tdb_array::Error::from(QueryError::Condition(error)))?;
        Ok(parsed.into())
    }

    /// The comparison of a field with values: one, or for `in` and `not in` any number.
    #[staticmethod]
    fn compare(name: String, sign: &str, values: Vec<Bound<'_, PyAny>>) -> Result<Self, Failure> {
        let mut values = values.iter().map(operand).collect::<Result<Vec<_>, _>>()?;
        let field = field(name);
        let made = match sign {
            "in" => field.is_in(values),
            "not in" => field.not_in(values),
            "is null" => field.is_null(),
            "is not null" => field.is_not_null(),
            "is nan" => field.is_nan(),
            "is not nan" => field.is_not_nan(),
            _ => {
                let value = values.pop().ok_or_else(|| Failure::Argument(format!("{sign} needs a value")))?;
                match sign {
                    "==" => field.eq(value),
                    "!=" => field.ne(value),
                    "<" => field.lt(value),
                    "<=" => field.le(value),
                    ">" => field.gt(value),
                    ">=" => field.ge(value),
                    _ => return Err(Failure::Argument(format!("{sign:?} is not a comparison"))),
                }
            }
        };
        Ok(made.into())
    }

    fn __and__(&self, other: &Self) -> Self {
        QueryCondition::clone(&self.0).and(QueryCondition::clone(&other.0)).into()
    }

    fn __or__(&self, other: &Self) -> Self {
        QueryCondition::clone(&self.0).or(QueryCondition::clone(&other.0)).into()
    }

    fn __invert__(&self) -> Self {
        (!QueryCondition::clone(&self.0)).into()
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }
}
