//! Changes of schemas.

use pyo3::prelude::*;
use tdb_array::TimeWindow;
use tdb_array::schema::Range;
use tdb_array::write::SchemaEvolution;
use tdb_text::json::{Json, JsonError};
use tdb_text::schema::{At, attribute, ends, enumeration};
use tdb_text::value::json_cell;

use crate::errors::Failure;
use crate::place::Place;
use crate::watch;

/// Changes the schema as the JSON says, and returns the name of the new one. The keys are those of
/// the Python function.
#[pyfunction]
#[pyo3(signature = (place, json, time=None))]
pub(crate) fn evolve(py: Python<'_>, place: &Place, json: &str, time: Option<u64>) -> PyResult<String> {
    let wrong = |error: JsonError| Failure::Argument(error.to_string());
    let asked = Json::parse(json.as_bytes()).map_err(wrong)?;
    watch::run(py, move || -> Result<String, Failure> {
        // The newest schema is changed, whatever its time.
        let window = (TimeWindow::ALL.start, TimeWindow::ALL.end);
        let array = place.open_options(Some(window)).open_storage(place.storage()?)?;
        let evolution = evolution(&array, &At::root(&asked))?;
        Ok(place.write_options(time).evolve_storage(place.write_storage()?, &evolution)?)
    })
}

fn evolution(array: &tdb_array::Array, asked: &At<'_>) -> Result<SchemaEvolution, Failure> {
    let argument = Failure::Argument;
    let mut evolution = SchemaEvolution::new();
    for at in asked.list("add_enumerations").map_err(argument)? {
        evolution = evolution.add_enumeration(enumeration(&at).map_err(argument)?);
    }
    for at in asked.list("add").map_err(argument)? {
        evolution = evolution.add_attribute(attribute(&at).map_err(argument)?);
    }
    for at in asked.list("drop").map_err(argument)? {
        evolution = evolution.drop_attribute(at.text().map_err(argument)?);
    }
    for at in asked.list("extend_enumerations").map_err(argument)? {
        let name = at.need("name").and_then(|name| name.text()).map_err(argument)?;
        let known = array.enumeration(name)?;
        let known = known.ok_or_else(|| argument(format!("the array has no enumeration {name:?}")))?;
        let values = at.list("values").map_err(argument)?;
        let values = values.iter().map(|value| json_cell(known.datatype, known.cell_val_num, value.value));
        evolution =
            evolution.extend_enumeration(name, values.collect::<Result<Vec<_>, _>>().map_err(argument)?);
    }
    for at in asked.list("drop_enumerations").map_err(argument)? {
        evolution = evolution.drop_enumeration(at.text().map_err(argument)?);
    }
    if let Some(at) = asked.get("expand") {
        evolution = evolution.expand_current_domain(expanded(array, &at).map_err(argument)?);
    }
    if asked.get("upgrade").map_or(Ok(false), |at| at.flag()).map_err(argument)? {
        evolution = evolution.upgrade();
    }
    Ok(evolution)
}

/// The current domain (or the domain) with some dimensions' ranges replaced.
fn expanded(array: &tdb_array::Array, asked: &At<'_>) -> Result<Vec<Range>, String> {
    let schema = array.schema();
    let names: Vec<&str> = schema.domain.dimensions.iter().map(|one| one.name.as_str()).collect();
    asked.object(&names)?;
    let mut ranges = Vec::with_capacity(names.len());
    for (index, dimension) in schema.domain.dimensions.iter().enumerate() {
        let current = schema.current_domain.as_ref().and_then(|current| current.ranges.get(index));
        let (low, high) = match (asked.get(&dimension.name), current) {
            (Some(at), _) => ends(&at, dimension)?,
            (None, Some(range)) => (range.low.clone(), range.high.clone()),
            (None, None) => dimension.domain.clone().unwrap_or_default(),
        };
        ranges.push(Range::new(low, high));
    }
    Ok(ranges)
}
