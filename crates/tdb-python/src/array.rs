//! What Python asks of open arrays.

use pyo3::prelude::*;
use serde_json::{Value, json};
use tdb_array::schema::{ArrayMetadata, Enumeration, MetadataValue};
use tdb_text::report::{event_json, fragment_json};
use tdb_text::schema::{ranges_json, to_json};

use crate::cells::{Parts, enumeration_parts};
use crate::errors::Failure;
use crate::open_array::Array;
use crate::place::Place;
use crate::read::Read;
use crate::watch;

impl Array {
    /// The values of all its enumerations.
    fn enumerations(&self) -> tdb_array::Result<Vec<Enumeration>> {
        let names = self.inner().schema().enumerations.iter();
        names.filter_map(|one| self.inner().enumeration(&one.name).transpose()).collect()
    }
}

#[pymethods]
impl Array {
    /// Opens the array at a place: at a time window in milliseconds, or now.
    #[staticmethod]
    #[pyo3(signature = (place, window=None))]
    fn open(py: Python<'_>, place: &Place, window: Option<(u64, u64)>) -> PyResult<Self> {
        let open =
            || -> Result<_, Failure> { Ok(place.open_options(window).open_storage(place.storage()?)?) };
        watch::run(py, open).map(Self::from)
    }

    /// The schema without the values of enumerations, as JSON.
    fn schema(&self) -> String {
        to_json(self.inner().schema(), &[]).to_string()
    }

    /// The schema with the values of its enumerations, as JSON.
    fn whole_schema(&self, py: Python<'_>) -> PyResult<String> {
        let found = watch::run(py, || self.enumerations())?;
        Ok(to_json(self.inner().schema(), &found).to_string())
    }

    /// The values of an enumeration, as a column, and whether they have an order; `None` if there
    /// is no such enumeration.
    fn enumeration(&self, py: Python<'_>, name: &str) -> PyResult<Option<(Parts, bool)>> {
        let Some(found) = watch::run(py, || self.inner().enumeration(name))? else { return Ok(None) };
        Ok(Some((enumeration_parts(&found), found.ordered)))
    }

    /// The time window that is seen.
    fn window(&self) -> (u64, u64) {
        let window = self.inner().window();
        (window.start, window.end)
    }

    /// The fragments, as JSON.
    fn fragments(&self) -> String {
        self.inner().fragments().iter().map(|one| fragment_json(one)).collect::<Value>().to_string()
    }

    /// The box that contains all cells, as JSON.
    fn non_empty_domain(&self) -> String {
        json!(self.inner().non_empty_domain().map(|domain| ranges_json(self.inner().schema(), &domain)))
            .to_string()
    }

    /// Key-value metadata: key, datatype, number of values and bytes of each.
    fn metadata(&self, py: Python<'_>) -> PyResult<Vec<Entry>> {
        Ok(entries(&watch::run(py, || self.inner().metadata())?))
    }

    /// What was read and decoded since the array was opened, as JSON: counts, and seconds.
    fn stats(&self) -> String {
        let stats = self.inner().stats();
        json!({
            "requests": stats.requests,
            "rounds": stats.rounds,
            "retries": stats.retries,
            "bytes_read": stats.bytes_read,
            "cache_hits": stats.cache_hits,
            "cache_bytes": stats.cache_bytes,
            "tiles": stats.tiles,
            "chunks": stats.chunks,
            "bytes_decoded": stats.bytes_decoded,
            "bytes_copied": stats.bytes_copied,
            "cells_tested": stats.cells_tested,
            "select_seconds": stats.select.as_secs_f64(),
            "order_seconds": stats.order.as_secs_f64(),
            "decode_seconds": stats.decode.as_secs_f64(),
            "total_seconds": stats.total.as_secs_f64(),
        })
        .to_string()
    }

    /// A query of the whole array.
    fn read(&self) -> Read {
        self.inner().read().into()
    }
}

/// An entry of the metadata: key, datatype, number of values, bytes.
pub(crate) type Entry = (Vec<u8>, &'static str, usize, Vec<u8>);

/// All entries of the metadata.
fn entries(metadata: &ArrayMetadata) -> Vec<Entry> {
    let entry = |(key, value): (&[u8], &MetadataValue)| {
        (key.to_vec(), value.datatype.name(), value.count(), value.data.clone())
    };
    metadata.iter().map(entry).collect()
}

/// The metadata of an array or a group, without opening its fragments or members.
#[pyfunction]
#[pyo3(signature = (place, window=None))]
pub(crate) fn metadata(py: Python<'_>, place: &Place, window: Option<(u64, u64)>) -> PyResult<Vec<Entry>> {
    let found = watch::run(py, || -> Result<_, Failure> {
        Ok(place.open_options(window).metadata_storage(place.storage()?)?)
    })?;
    Ok(entries(&found))
}

/// Everything that happened to an array, as JSON.
#[pyfunction]
pub(crate) fn history(py: Python<'_>, place: &Place) -> PyResult<String> {
    let found = watch::run(py, || -> Result<_, Failure> {
        Ok(tdb_array::history::history(place.storage()?, place.key())?)
    })?;
    let schema = found.schema.as_deref();
    Ok(found.events.iter().map(|event| event_json(event, schema)).collect::<Value>().to_string())
}

/// The kind of object at a place: `array`, `group` or `invalid`.
#[pyfunction]
pub(crate) fn object_type(py: Python<'_>, place: &Place) -> PyResult<&'static str> {
    watch::run(py, || -> Result<_, Failure> {
        let storage = place.storage()?;
        match tdb_array::group::object_type(&storage) {
            Ok(kind) => Ok(kind.name()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                Ok(tdb_array::group::ObjectType::Invalid.name())
            }
            Err(error) => Err(Failure::Io(place.location().to_owned(), error)),
        }
    })
}
