//! Arrays as tables of the Python package `datafusion`.
//!
//! That package has its own copy of DataFusion. The two pass tables through the interface of
//! `datafusion-ffi`, which is the same for all releases of one major version.

use std::sync::{Arc, OnceLock};

use datafusion_ffi::table_provider::FFI_TableProvider;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use tdb_datafusion::TdbTable;
use tdb_datafusion::datafusion::catalog::TableProvider;
use tdb_datafusion::datafusion::execution::TaskContextProvider;
use tdb_datafusion::datafusion::prelude::SessionContext;

use crate::open_array::Array;

/// The functions that conditions may contain. DataFusion looks them up here as long as a table is
/// used, so it lives as long as the process.
static FUNCTIONS: OnceLock<Arc<SessionContext>> = OnceLock::new();

/// An array as a table: read only, in the state in which the array is open.
#[pyclass(module = "tdb._tdb", frozen)]
#[derive(Debug)]
pub(crate) struct Table(Arc<TdbTable>);

#[pymethods]
impl Table {
    #[new]
    fn new(array: &Array) -> PyResult<Self> {
        let table = TdbTable::new(array.inner().clone()).map_err(failed)?;
        Ok(Self(Arc::new(table)))
    }

    /// The capsule that `SessionContext.register_table` of the package `datafusion` asks for. Newer
    /// releases pass their session.
    #[pyo3(signature = (session=None))]
    fn __datafusion_table_provider__<'py>(
        &self,
        py: Python<'py>,
        session: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The names of functions are enough: no other part of the session is needed.
        drop(session);
        let functions: Arc<dyn TaskContextProvider> =
            FUNCTIONS.get_or_init(|| Arc::new(SessionContext::new())).clone();
        let table: Arc<dyn TableProvider> = self.0.clone();
        let runtime = tdb_object_store::runtime()?;
        let provider = FFI_TableProvider::new(table, true, Some(runtime), &functions, None);
        PyCapsule::new_with_value(py, provider, c"datafusion_table_provider")
    }
}

fn failed(error: tdb_datafusion::datafusion::error::DataFusionError) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}
