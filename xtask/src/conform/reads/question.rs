//! Converts a query from the peer's form to one of tdb.

use serde_json::Value;
use tdb_array::query::{Aggregate, Coordinate, Operand, QueryCondition};
use tdb_array::{Array, Layout, Read, field};
use tdb_codec::Datatype;

use crate::conform::form::{hex, list, text};

/// The query without its answers.
pub(super) fn show(query: &Value) -> String {
    let answers = ["fields", "values", "truth", "cells", "model", "repeats", "refused", "order", "rules"];
    let parts = query.as_object().into_iter().flatten();
    let parts = parts.filter(|(name, value)| !answers.contains(&name.as_str()) && !value.is_null());
    parts.map(|(name, value)| format!("{name} {value}")).collect::<Vec<_>>().join(", ")
}

/// The query, without its aggregates.
pub(super) fn read(array: &Array, query: &Value) -> Result<Read, String> {
    let mut read = array.read().order(match text(query, "layout") {
        "row-major" => Layout::RowMajor,
        "col-major" => Layout::ColMajor,
        "global-order" => Layout::GlobalOrder,
        _ => Layout::Unordered,
    });
    for (dimension, ranges) in array.schema().domain.dimensions.iter().zip(list(query, "ranges")) {
        let mut ends = Vec::new();
        for range in ranges.as_array().into_iter().flatten() {
            // Null means an open end.
            let end = |at: usize| range.get(at).and_then(Value::as_str).map(hex).transpose();
            ends.push((end(0)?, end(1)?));
        }
        // Several points are passed as points, so both ways are tested.
        if ends.len() > 1 && ends.iter().all(|(low, high)| low.is_some() && low == high) {
            let points = ends.iter().flat_map(|(low, _)| low).map(|low| coordinate(dimension.datatype, low));
            read = read.points(dimension.name.clone(), points);
        } else {
            for (low, high) in ends {
                read = read.range_bytes(dimension.name.clone(), low, high);
            }
        }
    }
    for label in list(query, "labels") {
        let word = |at: usize| label.get(at).and_then(Value::as_str).unwrap_or_default();
        read = read.label_range_bytes(word(0), Some(hex(word(2))?), Some(hex(word(3))?));
    }
    if let Some(names) = query.get("names").and_then(Value::as_array) {
        // In the order of the peer's columns, so errors show the same cells.
        read = read.fields(names.iter().filter_map(Value::as_str));
    }
    if let Some(tree) = query.get("condition").filter(|tree| tree.is_array()) {
        let built = condition(tree)?;
        let shown = built.to_string();
        match QueryCondition::parse(&shown) {
            Ok(parsed) if parsed == built => read = read.condition(parsed),
            other => return Err(format!("{shown} is read as {other:?}")),
        }
    }
    Ok(read)
}

/// The aggregates of a query.
pub(super) fn aggregates(query: &Value) -> Result<Vec<Aggregate>, String> {
    let mut found = Vec::new();
    for aggregate in list(query, "aggregates") {
        let word = |at: usize| aggregate.get(at).and_then(Value::as_str);
        let name = word(1).unwrap_or_default();
        found.push(match word(0).unwrap_or_default() {
            "count" => Aggregate::count(),
            "null_count" => Aggregate::null_count(name),
            "sum" => Aggregate::sum(name),
            "min" => Aggregate::min(name),
            "max" => Aggregate::max(name),
            "mean" => Aggregate::mean(name),
            other => return Err(format!("no aggregate is called {other:?}")),
        });
    }
    Ok(found)
}

/// The kinds of nodes in a condition.
pub(super) fn condition_kinds(tree: &Value, kinds: &mut Vec<String>) {
    let Some(parts) = tree.as_array() else { return };
    let word = |at: usize| parts.get(at).and_then(Value::as_str);
    match word(0) {
        Some(joint @ ("and" | "or" | "not")) => {
            kinds.push(format!("condition: {joint}"));
            parts.iter().skip(1).for_each(|part| condition_kinds(part, kinds));
        }
        _ => {
            let null = parts.get(2).is_some_and(Value::is_null);
            let comparison = match word(1).unwrap_or_default() {
                "==" if null => "is null",
                "!=" if null => "is not null",
                other => other,
            };
            kinds.push(format!("condition: {comparison}"));
        }
    }
}

/// The fields of a condition's tests, and whether each test is a test for null.
pub(super) fn tests(tree: &Value) -> Vec<(&str, bool)> {
    let Some(parts) = tree.as_array() else { return Vec::new() };
    match parts.first().and_then(Value::as_str) {
        Some("and" | "or" | "not") => parts.iter().skip(1).flat_map(tests).collect(),
        name => name.into_iter().map(|name| (name, parts.get(2).is_some_and(Value::is_null))).collect(),
    }
}

/// Converts a condition from its tree: `["and" | "or", left, right]`, `["not", inner]`, or a test
/// `[field, comparison, operand as hex, type of the operand]`.
fn condition(tree: &Value) -> Result<QueryCondition, String> {
    let wrong = || format!("{tree} is not a condition");
    let parts = tree.as_array().ok_or_else(wrong)?;
    let word = |at: usize| parts.get(at).and_then(Value::as_str);
    let inner = |at: usize| condition(parts.get(at).unwrap_or(&Value::Null));
    match word(0).ok_or_else(wrong)? {
        "and" => return Ok(inner(1)?.and(inner(2)?)),
        "or" => return Ok(inner(1)?.or(inner(2)?)),
        "not" => return Ok(!inner(1)?),
        _ => {}
    }
    let of = || field(word(0).unwrap_or_default());
    let datatype = word(3).and_then(Datatype::from_name).ok_or_else(wrong)?;
    let value = |text: &Value| -> Result<Operand, String> {
        Ok(operand(datatype, &hex(text.as_str().unwrap_or_default())?))
    };
    let given = parts.get(2).unwrap_or(&Value::Null);
    let several = || given.as_array().into_iter().flatten().map(value).collect::<Result<Vec<_>, String>>();
    Ok(match word(1).unwrap_or_default() {
        "==" if given.is_null() => of().is_null(),
        "!=" if given.is_null() => of().is_not_null(),
        "==" => of().eq(value(given)?),
        "!=" => of().ne(value(given)?),
        "<" => of().lt(value(given)?),
        "<=" => of().le(value(given)?),
        ">" => of().gt(value(given)?),
        ">=" => of().ge(value(given)?),
        "in" => of().is_in(several()?),
        "not-in" => of().not_in(several()?),
        _ => return Err(wrong()),
    })
}

fn operand(datatype: Datatype, bytes: &[u8]) -> Operand {
    match datatype {
        Datatype::Bool => Operand::Bool(bytes != [0]),
        _ => coordinate(datatype, bytes).into(),
    }
}

/// A value of a type from its little-endian bytes.
fn coordinate(datatype: Datatype, bytes: &[u8]) -> Coordinate {
    if matches!(datatype, Datatype::Char | Datatype::StringAscii | Datatype::StringUtf8) {
        return Coordinate::Bytes(bytes.to_vec());
    }
    let physical = datatype.physical();
    if physical.is_float() {
        let double = bytes.try_into().map(f64::from_le_bytes);
        let single = bytes.try_into().map(|bytes| f64::from(f32::from_le_bytes(bytes)));
        return Coordinate::Float(double.or(single).unwrap_or_default());
    }
    let negative = physical.is_signed_integer() && bytes.last().is_some_and(|last| *last >= 0x80);
    let mut word = [if negative { 0xff } else { 0 }; 16];
    word.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    Coordinate::Int(i128::from_le_bytes(word))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_tree_becomes_the_condition_that_it_says() {
        let tree = json!([
            "and",
            ["a", "<", "ff", "INT8"],
            [
                "not",
                [
                    "or",
                    ["s", "in", ["61", "6262"], "STRING_ASCII"],
                    ["or", ["n", "==", null, "INT8"], ["f", ">=", "0000c03f", "FLOAT32"]]
                ]
            ]
        ]);
        let built = condition(&tree).unwrap();
        let expected = "a < -1 and not (s in ('a', 'bb') or n is null or f >= 1.5)".parse().unwrap();
        assert_eq!(built, expected);
        for wrong in
            [json!(null), json!(["a", "~", "00", "INT8"]), json!(["a", "<", "00", "INT9"]), json!(["not"])]
        {
            assert!(condition(&wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn values_are_of_their_type() {
        assert_eq!(coordinate(Datatype::Uint8, &[255]), Coordinate::Int(255));
        assert_eq!(coordinate(Datatype::Int16, &[0, 0x80]), Coordinate::Int(-0x8000));
        assert_eq!(coordinate(Datatype::Float64, &1.5f64.to_le_bytes()), Coordinate::Float(1.5));
        assert_eq!(coordinate(Datatype::Char, b"x"), Coordinate::Bytes(b"x".to_vec()));
        assert_eq!(operand(Datatype::Bool, &[1]), Operand::Bool(true));
    }
}
