//! An open array, which objects of Python share.

use pyo3::prelude::*;

/// An array at a time.
#[pyclass(module = "tdb._tdb", frozen)]
#[derive(Clone, Debug)]
pub(crate) struct Array(tdb_array::Array);

impl From<tdb_array::Array> for Array {
    fn from(array: tdb_array::Array) -> Self {
        Self(array)
    }
}

impl Array {
    /// The array itself.
    pub(crate) const fn inner(&self) -> &tdb_array::Array {
        &self.0
    }
}
