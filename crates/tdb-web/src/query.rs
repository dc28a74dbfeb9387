//! Queries, from the requests of the host.

use tdb_array::query::Aggregate;
use tdb_array::schema::{ArraySchema, Datatype};
use tdb_array::{Array, Layout, MemoryBudget, Read};
use tdb_text::condition;
use tdb_text::parse::{date_span, parse_integer, parse_real_end};
use tdb_text::schema::At;
use tdb_text::value::is_text;

use crate::failure::Failure;
use crate::thresholds::FIRST_BATCH;

/// The keys that say which cells a query is about.
pub const CELLS: [&str; 4] = ["op", "array", "ranges", "where"];

/// A query of these cells. Ranges are `[[name, [[low, high], …]], …]`, whose ends are texts,
/// `{"bytes"}` in hexadecimal, or null for the end of the domain.
///
/// # Errors
/// What does not fit the array; some of it is found later, by the engine.
pub fn selection(array: &Array, request: &At<'_>) -> Result<Read, Failure> {
    let mut read = array.read();
    for range in request.list("ranges")? {
        let [name, ranges] = &range.items()?[..] else {
            return Err(range.error("a name and its ranges are expected").into());
        };
        let (name, ranges) = (name.text()?, ranges.items()?);
        let label = array.schema().labels.iter().find(|label| label.name == name);
        let datatype = label.map(|label| label.datatype).or_else(|| dimension_type(array.schema(), name));
        let ranges = ranges.iter().map(|range| ends(range, name, datatype));
        let ranges = ranges.collect::<Result<Vec<_>, _>>()?;
        read = if label.is_some() {
            ranges.into_iter().fold(read, |read, (low, high)| read.label_range_bytes(name, low, high))
        } else {
            read.ranges_bytes(name, ranges)
        };
    }
    if let Some(text) = request.get("where") {
        let parsed = condition::parse(text.text()?, array.schema());
        read = read.condition(parsed.map_err(|error| Failure::query(format!("condition: {error}")))?);
    }
    Ok(read)
}

fn dimension_type(schema: &ArraySchema, name: &str) -> Option<Datatype> {
    schema.domain.dimensions.iter().find(|own| own.name == name).map(|own| own.datatype)
}

type Ends = (Option<Vec<u8>>, Option<Vec<u8>>);

/// Both ends of a range, as bytes of the dimension's type.
fn ends(range: &At<'_>, name: &str, datatype: Option<Datatype>) -> Result<Ends, Failure> {
    let [low, high] = &range.items()?[..] else {
        return Err(range.error("a range has two ends").into());
    };
    let end = |end: &At<'_>, is_high: bool| -> Result<Option<Vec<u8>>, Failure> {
        if end.value.is_null() {
            return Ok(None);
        }
        if let Some(bytes) = end.get("bytes") {
            return Ok(Some(bytes.understood(bytes_of_hex)?));
        }
        let text = end.text()?;
        // The engine names the dimensions that there are.
        let Some(datatype) = datatype else { return Ok(Some(Vec::new())) };
        let bytes = coordinate(datatype, text, is_high);
        bytes.map(Some).map_err(|error| Failure::query(format!("the range of \"{name}\": {error}")))
    };
    Ok((end(low, false)?, end(high, true)?))
}

/// Bytes in hexadecimal.
///
/// # Errors
/// Anything else.
pub fn bytes_of_hex(text: &str) -> Result<Vec<u8>, String> {
    let pair = |pair: &[u8]| {
        let digits = core::str::from_utf8(pair).ok().filter(|pair| pair.len() == 2)?;
        u8::from_str_radix(digits, 16).ok()
    };
    let bytes = text.as_bytes().chunks(2).map(pair).collect::<Option<Vec<u8>>>();
    bytes.ok_or_else(|| format!("{text:?} is not hexadecimal"))
}

/// A coordinate. A date is all that is inside of it, so that as a high end it stands for its last
/// instant.
fn coordinate(datatype: Datatype, text: &str, is_high: bool) -> Result<Vec<u8>, String> {
    if is_text(datatype) {
        return Ok(text.as_bytes().to_vec());
    }
    match parse_integer(datatype, text)? {
        Some(bytes) => Ok(bytes),
        None if datatype.physical().is_float() => parse_real_end(datatype, text),
        None if datatype.is_datetime() => {
            let (first, last) = date_span(datatype, text)?;
            Ok(if is_high { last } else { first }.to_le_bytes().to_vec())
        }
        None => Err(format!("{text:?} is not an integer")),
    }
}

/// A query that returns cells.
///
/// # Errors
/// As [`selection`], and unknown keys and orders.
pub fn read(array: &Array, request: &At<'_>) -> Result<Read, Failure> {
    let known = ["fields", "order", "selection", "batchBytes", "first"];
    request.object(&[&CELLS[..], &known[..]].concat())?;
    let mut read = selection(array, request)?;
    if request.get("fields").is_some() {
        read = read.fields(texts(request, "fields")?);
    }
    if let Some(order) = request.get("order") {
        let named = |name: &str| (0..4).filter_map(Layout::from_code).find(|order| order.name() == name);
        read = read.order(order.parsed("order", named)?);
    }
    if let Some(selection) = request.get("selection") {
        read = read.selection(selection.flag()?);
    }
    if let Some(bytes) = request.get("batchBytes") {
        read = read.batch_memory(MemoryBudget::from_bytes(bytes.whole()?));
    }
    if let Some(first) = request.get("first")
        && first.flag()?
    {
        read = read.initial_batch_memory(FIRST_BATCH);
    }
    Ok(read)
}

/// The texts of a list.
pub fn texts(request: &At<'_>, key: &str) -> Result<Vec<String>, Failure> {
    let items = request.list(key)?;
    Ok(items.iter().map(|item| item.text().map(str::to_owned)).collect::<Result<_, _>>()?)
}

/// What is computed of each query or group.
pub fn aggregates(request: &At<'_>) -> Result<Vec<Aggregate>, Failure> {
    let mut aggregates = Vec::new();
    for text in texts(request, "aggregates")? {
        let parsed = Aggregate::parse(&text);
        aggregates.extend(parsed.map_err(|error| Failure::query(format!("aggregate: {error}")))?);
    }
    Ok(aggregates)
}
