//! Arrays and groups as Zarr hierarchies.

use bytes::Bytes;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tdb_array::group::{ObjectType, object_type};
use tdb_zarr::{Formats, Hierarchy, Options, Span};

use crate::errors::Failure;
use crate::place::Place;
use crate::watch;

/// An array or a group as a Zarr hierarchy, at a time.
#[pyclass(module = "tdb._tdb", frozen)]
#[derive(Debug)]
pub(crate) struct Zarr(Hierarchy);

#[pymethods]
impl Zarr {
    /// Shows the array or group at a place: at a time window in milliseconds, or now; with the
    /// documents of version 2 or 3 of Zarr, and chunks of `rows` cells for sparse arrays.
    #[staticmethod]
    #[pyo3(signature = (place, window=None, zarr_format=3, rows=None))]
    fn open(
        py: Python<'_>,
        place: &Place,
        window: Option<(u64, u64)>,
        zarr_format: u8,
        rows: Option<u64>,
    ) -> PyResult<Self> {
        let formats = match zarr_format {
            2 => Formats::V2,
            3 => Formats::V3,
            other => {
                let what = format!("zarr_format is 2 or 3, not {other}");
                return Err(Failure::Argument(what).into());
            }
        };
        let mut options = Options::new().formats(formats);
        if let Some(rows) = rows {
            options = options.rows(rows);
        }
        let open = || -> Result<Hierarchy, Failure> {
            let storage = place.storage()?;
            let found = object_type(&storage);
            if found.is_ok_and(|found| found == ObjectType::Group) {
                let open = place.open_options(window);
                return Ok(Hierarchy::of_group(&place.places(), place.location(), open, &options)?);
            }
            // What is no array has an error that says so.
            let array = place.open_options(window).open_storage(storage)?;
            Ok(Hierarchy::new(&array, &options)?)
        };
        watch::run(py, open).map(Self)
    }

    /// The bytes of a key from `start` to `end`, or up to its end; with a negative `start`, so many
    /// at its end. `None` if there is no such key.
    #[pyo3(signature = (key, start=None, end=None))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        key: &str,
        start: Option<i64>,
        end: Option<u64>,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let span = match (start.unwrap_or(0), end) {
            (start @ ..0, None) => Span::Last(start.unsigned_abs()),
            (start @ ..0, Some(_)) => {
                let what = format!("a range of bytes from {start} has no other end");
                return Err(Failure::Argument(what).into());
            }
            (start, Some(end)) => Span::Between(start.unsigned_abs(), end),
            (start, None) => Span::From(start.unsigned_abs()),
        };
        let found: Option<Bytes> = watch::run(py, || self.0.get(key, span))?;
        Ok(found.map(|bytes| PyBytes::new(py, &bytes)))
    }

    /// The keys that begin with a prefix.
    fn list(&self, py: Python<'_>, prefix: &str) -> PyResult<Vec<String>> {
        watch::run(py, || self.0.list(prefix))
    }

    /// The names of what lies directly below a path.
    fn children(&self, py: Python<'_>, path: &str) -> PyResult<Vec<String>> {
        watch::run(py, || self.0.children(path))
    }

    /// The first and the last millisecond of what is seen.
    fn window(&self) -> (u64, u64) {
        let window = self.0.window();
        (window.start, window.end)
    }

    /// Paths of what cannot be shown, and the reasons.
    fn refused(&self) -> Vec<(String, String)> {
        self.0.refused().iter().map(|one| (one.path.clone(), one.reason.clone())).collect()
    }
}
