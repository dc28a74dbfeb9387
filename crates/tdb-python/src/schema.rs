//! Schemas in JSON, in the notation of the command.

use pyo3::prelude::*;
use serde_json::json;
use tdb_array::WriteOptions;
use tdb_array::schema::{ArraySchema, CellValNum};
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

/// How an array with these enumerations is created.
pub(crate) fn options_for(place: &Place, described: &Described, time: Option<u64>) -> WriteOptions {
    let enumerations = described.enumerations.iter().cloned();
    enumerations.fold(place.write_options(time), WriteOptions::enumeration)
}

/// Creates an array.
#[pyfunction]
#[pyo3(signature = (place, json, time=None))]
pub(crate) fn create(py: Python<'_>, place: &Place, json: &str, time: Option<u64>) -> PyResult<()> {
    let described = described(json)?;
    watch::run(py, || -> Result<(), Failure> {
        let options = options_for(place, &described, time);
        let made = options.create_storage(&*place.write_storage()?, &described.schema);
        made.map_err(Failure::of_new(place.location()))
    })
}

/// The number of a date, in the unit of its datatype. The date is a text of schemas in JSON, which
/// is exact in every unit.
#[pyfunction]
pub(crate) fn ticks_of_text(datatype: &str, text: &str) -> Result<i64, Failure> {
    let wrong = |what: String| Failure::Argument(what);
    let datatype = tdb_text::schema::datatype(datatype).map_err(wrong)?;
    let cell =
        tdb_text::value::json_cell(datatype, CellValNum::ONE, &Json::Text(text.to_owned())).map_err(wrong)?;
    let bytes = cell.try_into().map_err(|_| wrong(format!("{datatype} is not a type of dates")))?;
    Ok(i64::from_le_bytes(bytes))
}

/// A pipeline in the notation of one line, such as `byteshuffle, zstd(level 5)`, as JSON.
#[pyfunction]
pub(crate) fn filters_of_text(text: &str) -> Result<String, Failure> {
    let wrong = |what| Failure::Argument(format!("filters: {what}"));
    let pipeline = tdb_text::schema::pipeline_of_text(text).map_err(wrong)?;
    Ok(tdb_text::pipeline::pipeline_json(&pipeline).to_string())
}
