//! Schemas in JSON, in the notation of the command.

use pyo3::prelude::*;
use serde_json::json;
use tdb_array::schema::{ArraySchema, Enumeration};
use tdb_text::json::Json;
use tdb_text::schema::{At, Described, parse, to_json};

use crate::errors::Failure;
use crate::place::Place;
use crate::watch;

/// Parses a schema.
pub(crate) fn described(json: &str) -> Result<Described, Failure> {
    let wrong = |what: String| Failure::Argument(format!("schema: {what}"));
    let value = Json::parse(json.as_bytes()).map_err(|error| wrong(error.to_string()))?;
    let at = At::root(&value);
    if let Some(what) = tdb_text::schema::outside_limits(&at) {
        return Err(wrong(what));
    }
    parse(&at, None).map_err(wrong)
}

/// Parses the dimensions of a schema that has no attributes yet.
pub(crate) fn skeleton(json: &str) -> Result<ArraySchema, Failure> {
    let wrong = |what: String| Failure::Argument(format!("schema: {what}"));
    let mut value = Json::parse(json.as_bytes()).map_err(|error| wrong(error.to_string()))?;
    // A schema needs an attribute.
    value.insert("attributes", json!([{"name": "", "datatype": "UINT8"}]));
    parse(&At::root(&value), None).map(|described| described.schema).map_err(wrong)
}

/// The schema with everything that was left out, checked by all rules of the format.
#[pyfunction]
pub(crate) fn check_schema(json: &str) -> Result<String, Failure> {
    let described = described(json)?;
    Ok(to_json(&described.schema, &described.enumerations).to_string())
}

/// Creates an array.
#[pyfunction]
#[pyo3(signature = (place, json, time=None))]
pub(crate) fn create(py: Python<'_>, place: &Place, json: &str, time: Option<u64>) -> PyResult<()> {
    let described = described(json)?;
    watch::run(py, || -> Result<(), Failure> {
        let with = |options: tdb_array::WriteOptions, one: &Enumeration| options.enumeration(one.clone());
        let options = described.enumerations.iter().fold(place.write_options(time), with);
        Ok(options.create_storage(&*place.write_storage()?, &described.schema)?)
    })
}

/// A pipeline in the notation of one line, such as `byteshuffle, zstd(level 5)`, as JSON.
#[pyfunction]
pub(crate) fn filters_of_text(text: &str) -> Result<String, Failure> {
    let wrong = |what| Failure::Argument(format!("filters: {what}"));
    let pipeline = tdb_text::schema::pipeline_of_text(text).map_err(wrong)?;
    Ok(tdb_text::pipeline::pipeline_json(&pipeline).to_string())
}
