//! The schema of a new array for a table: detects the types of the columns.

use serde_json::{Map, Value, json};
use tdb_array::ArrayType;
use tdb_codec::{CellValNum, Datatype};
use tdb_schema::{Dimension, Range};

use super::grow;
use super::table::{Cell, Mark, Table, is_boolean, one};
use crate::ranges::date_ticks;
use crate::value::coordinate_json;

/// Types that a column may have, other than text: the first one that fits all of its cells is used.
const TYPES: [Datatype; 6] = [
    Datatype::Int64,
    Datatype::Uint64,
    Datatype::Bool,
    Datatype::Float64,
    Datatype::DatetimeDay,
    Datatype::DatetimeMs,
];

/// The high end of the current domain of text, as JSON: a byte that is not in any text. With an open end, libtiledb 2.30 refuses
/// ranges of the dimension, and finds no cells in global order.
const AFTER_TEXT: &str = "\\xff";

/// What the caller wants of a new array.
#[derive(Debug)]
pub(super) struct Wanted<'a> {
    /// The columns that are dimensions.
    pub(super) dims: Vec<String>,
    /// Domains of dimensions, as `DIM=LO..HI`.
    pub(super) domains: &'a [String],
    pub(super) allow_duplicates: bool,
}

/// A schema in JSON, and what its user should know about it.
#[derive(Debug)]
pub(super) struct Inferred {
    pub(super) schema: Value,
    pub(super) notes: Vec<String>,
}

/// The schema of an array for a table.
pub(super) fn schema(table: &Table, wanted: &Wanted<'_>) -> Result<Inferred, String> {
    let Wanted { dims, domains, allow_duplicates } = wanted;
    let mut notes = Vec::new();
    let mut found = Vec::new();
    for name in dims {
        let column = table.column(name).ok_or_else(|| {
            format!("--dims: there is no column {name:?} (there are {})", table.names().join(", "))
        })?;
        let datatype = datatype(table, column, &mut notes);
        found.push(dimension(table, column, name, datatype)?);
    }
    let (mut new, spans): (Vec<Dimension>, Vec<Option<Range>>) = found.into_iter().unzip();
    grow::limit(&mut new, domains)?;
    check_coordinates(table, &new)?;
    let mut dimensions: Vec<Value> = new.iter().map(dimension_json).collect();
    let mut attributes = Vec::new();
    for (column, name) in table.names().iter().enumerate().filter(|(_, name)| !dims.contains(name)) {
        let datatype = datatype(table, column, &mut notes);
        attributes.push(attribute(table, column, name, datatype));
    }
    let kind = if dims.is_empty() { ArrayType::Dense } else { ArrayType::Sparse };
    if dims.is_empty() {
        let last = table.len().saturating_sub(1);
        let extent = table.len().min(10_000);
        dimensions.push(json!({"name": "row", "datatype": "INT64", "domain": [0, last], "extent": extent}));
    }
    let mut schema = json!({"type": kind.name(), "dimensions": dimensions, "attributes": attributes});
    if let Some(schema) = schema.as_object_mut() {
        if *allow_duplicates {
            schema.insert("allows_duplicates".to_owned(), json!(true));
        }
        if spans.iter().any(Option::is_some) {
            let current =
                new.iter().zip(&spans).map(|(dimension, span)| current_json(dimension, span.as_ref()));
            schema.insert("current_domain".to_owned(), current.collect());
        }
    }
    Ok(Inferred { schema, notes })
}

/// The type of a column; `None` for text. Numbers with leading zeros are text, and a note says so.
fn datatype(table: &Table, column: usize, notes: &mut Vec<String>) -> Option<Datatype> {
    let given = || table.cells(column).filter(|(_, cell)| cell.mark != Mark::Null);
    given().next()?;
    let datatype = TYPES.into_iter().find(|datatype| given().all(|(_, cell)| fits(*datatype, cell)))?;
    let is_number = matches!(datatype, Datatype::Int64 | Datatype::Uint64 | Datatype::Float64);
    if let Some((line, cell)) = given().find(|(_, cell)| is_number && is_padded(cell.text)) {
        let name = table.names().get(column).map(String::as_str).unwrap_or_default();
        notes.push(format!(
            "column {name:?} becomes text, because it has numbers with leading zeros (line {line}: {})",
            cell.text
        ));
        return None;
    }
    Some(datatype)
}

/// Whether a column of this type may have this cell.
fn fits(datatype: Datatype, Cell { text, mark }: Cell<'_>) -> bool {
    if datatype.is_datetime() {
        // An integer would be accepted as a number of days.
        return text == "NaT" || date_ticks(datatype, text).is_ok();
    }
    match datatype {
        Datatype::Bool => mark == Mark::Open && is_boolean(text),
        // JSON has no other notation for what is not finite.
        Datatype::Float64 if mark == Mark::Text => text.parse().is_ok_and(|value: f64| !value.is_finite()),
        _ => mark == Mark::Open && one(datatype, text).is_ok(),
    }
}

/// Whether a text is an integer with leading zeros, which a number would lose.
fn is_padded(text: &str) -> bool {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let rest = digits.strip_prefix('0').filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    rest.is_some_and(|rest| !rest.contains('.'))
}

/// A dimension with a wide domain, and the range of the coordinates; `None` for text.
fn dimension(
    table: &Table,
    column: usize,
    name: &str,
    datatype: Option<Datatype>,
) -> Result<(Dimension, Option<Range>), String> {
    if let Some((line, _)) = table.cells(column).find(|(_, cell)| cell.mark == Mark::Null) {
        return Err(format!("line {line}: column {name:?} is empty, but coordinates cannot be null"));
    }
    let mut dimension = Dimension::string(name);
    let Some(datatype) = datatype.filter(|datatype| *datatype != Datatype::Bool) else {
        return Ok((dimension, None));
    };
    let mut span: Option<Range> = None;
    for (line, cell) in table.cells(column) {
        if datatype == Datatype::Float64 && !cell.text.parse().is_ok_and(f64::is_finite) {
            return Err(format!("line {line}: column {name:?} is {}, which is no coordinate", cell.text));
        }
        let value = one(datatype, cell.text)?;
        let value = Range::new(value.clone(), value);
        match &mut span {
            Some(span) => span.unite(datatype, &value),
            None => span = Some(value),
        }
    }
    let span = span.ok_or("there are no cells")?;
    let wide = grow::wide(datatype, &span)?;
    (dimension.datatype, dimension.cell_val_num) = (datatype, CellValNum::ONE);
    dimension.domain = Some((wide.low, wide.high));
    Ok((dimension, Some(span)))
}

/// Returns an error for the first coordinate outside a domain that was given.
fn check_coordinates(table: &Table, dimensions: &[Dimension]) -> Result<(), String> {
    for dimension in dimensions.iter().filter(|dimension| dimension.domain.is_some()) {
        for (line, cell) in table.column(&dimension.name).into_iter().flat_map(|column| table.cells(column)) {
            let value = one(dimension.datatype, cell.text)?;
            if !grow::is_inside(dimension, &value) {
                return Err(grow::outside(dimension, &format!("line {line}"), &value));
            }
        }
    }
    Ok(())
}

fn dimension_json(dimension: &Dimension) -> Value {
    let (name, datatype) = (&dimension.name, dimension.datatype.name());
    match &dimension.domain {
        None => json!({"name": name, "datatype": datatype}),
        Some((low, high)) => {
            let domain = [low, high].map(|end| coordinate_json(dimension, end));
            json!({"name": name, "datatype": datatype, "domain": domain, "extent": null})
        }
    }
}

/// The current domain of a dimension: the range of the coordinates, and for text everything.
fn current_json(dimension: &Dimension, span: Option<&Range>) -> Value {
    span.map_or_else(
        || json!(["", AFTER_TEXT]),
        |span| json!([&span.low, &span.high].map(|end| coordinate_json(dimension, end))),
    )
}

fn attribute(table: &Table, column: usize, name: &str, datatype: Option<Datatype>) -> Value {
    let mut attribute = Map::new();
    let mut tell = |key: &str, value: Value| drop(attribute.insert(key.to_owned(), value));
    tell("name", json!(name));
    tell("datatype", json!(datatype.unwrap_or(Datatype::StringUtf8).name()));
    if datatype.is_none() {
        tell("cell_val_num", json!("var"));
    }
    tell("nullable", json!(table.cells(column).any(|(_, cell)| cell.mark == Mark::Null)));
    tell("filters", json!([{"name": "zstd", "level": 3}]));
    Value::Object(attribute)
}

#[cfg(test)]
mod tests {
    use super::super::{csv, ndjson};
    use super::*;

    /// The type of the only column, and how many notes there are.
    fn of(table: &Table) -> (Option<Datatype>, usize) {
        let mut notes = Vec::new();
        (datatype(table, 0, &mut notes), notes.len())
    }

    #[test]
    fn a_column_has_the_first_type_that_fits_all_of_its_cells() {
        let csv = |text: &str| of(&csv::parse(text.as_bytes(), ',').unwrap());
        let is = |datatype| (Some(datatype), 0);
        assert_eq!(csv("a\n1\n\"-2\"\n\n0\n"), is(Datatype::Int64));
        assert_eq!(csv("a\n1\n18446744073709551615\n"), is(Datatype::Uint64));
        assert_eq!(csv("a\nTrue\nFALSE\ntrue\n"), is(Datatype::Bool));
        assert_eq!(csv("a\ntrue\n1\n"), (None, 0));
        assert_eq!(csv("a\n1\nnan\nNaN\n-inf\n"), is(Datatype::Float64));
        assert_eq!(csv("a\n1\nnone\n"), (None, 0));
        assert_eq!(csv("a\n2020-01-01\nNaT\n"), is(Datatype::DatetimeDay));
        assert_eq!(csv("a\n2020-01-01\n17\n"), (None, 0));
        assert_eq!(csv("a\n2020-01-01T10:30\n2020-01-01\n"), is(Datatype::DatetimeMs));
    }

    #[test]
    fn integers_with_leading_zeros_are_text_and_a_note_says_so() {
        let csv = |text: &str| of(&csv::parse(text.as_bytes(), ',').unwrap());
        assert_eq!(csv("a\n12\n01234\n"), (None, 1));
        assert_eq!(csv("a\n-007\n1.5\n"), (None, 1));
        assert_eq!(csv("a\n0\n-0\n0.5\n00.5\n"), (Some(Datatype::Float64), 0));
        assert_eq!(csv("a\n01234\nx\n"), (None, 0), "it would be text in any case");
    }

    #[test]
    fn strings_in_json_are_text_dates_or_what_numbers_in_json_cannot_be() {
        let json = |values: &[&str]| {
            let lines: Vec<String> = values.iter().map(|value| format!("{{\"a\":{value}}}\n")).collect();
            of(&ndjson::parse(lines.concat().as_bytes()).unwrap())
        };
        assert_eq!(json(&["\"1\"", "\"2\""]), (None, 0));
        assert_eq!(json(&["1", "null", "2"]), (Some(Datatype::Int64), 0));
        assert_eq!(json(&["1", "\"NaN\"", "2.5"]), (Some(Datatype::Float64), 0));
        assert_eq!(json(&["true", "false"]), (Some(Datatype::Bool), 0));
        assert_eq!(json(&["\"true\""]), (None, 0));
        assert_eq!(json(&["\"2020-01-01\""]), (Some(Datatype::DatetimeDay), 0));
        assert_eq!(json(&["[1,2]", "{}"]), (None, 0));
    }
}
