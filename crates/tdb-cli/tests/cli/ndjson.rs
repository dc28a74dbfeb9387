//! `tdb read --format ndjson`: an object for each cell, which `tdb import` reads back.

use std::fs;

use serde_json::Value;

use crate::common::{Scratch, fixture, said, tdb, text};

fn objects(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn each_cell_is_an_object_with_the_values_of_the_other_formats() {
    for id in ["2.30.0/sparse2d_rr", "2.30.0/dense2d_rr"] {
        let array = fixture(id);
        let array = text(&array);
        let rows = objects(&said(&["read", array, "--format", "ndjson"]));
        let csv = said(&["read", array, "--format", "csv"]);
        let mut lines = csv.lines();
        let names: Vec<&str> = lines.next().unwrap().split(',').collect();
        assert_eq!(rows.len(), lines.clone().count(), "{id}");
        for (row, line) in rows.iter().zip(lines) {
            let row = row.as_object().unwrap();
            assert_eq!(row.len(), names.len());
            for (name, value) in names.iter().zip(line.split(',')) {
                let own = match &row[*name] {
                    Value::Null => String::new(),
                    Value::String(text) => text.clone(),
                    other => other.to_string(),
                };
                // CSV quotes a text that is empty, which is not null.
                let value = value.trim_matches('"').trim_end_matches(".0");
                assert_eq!(own.trim_end_matches(".0"), value, "{id} {name}");
            }
        }
        let some = objects(&said(&["read", array, "--format", "ndjson", "--limit", "3"]));
        assert_eq!(some[..], rows[..3], "{id}");
    }
}

#[test]
fn what_is_written_to_a_file_is_imported_again() {
    let scratch = Scratch::new();
    let place = |name: &str| scratch.path().join(name);
    fs::write(
        place("t.ndjson"),
        "{\"k\":\"a\\\"b\",\"n\":1,\"x\":0.1,\"s\":\"ü, \\n\"}\n{\"k\":\"c\",\"n\":-9007199254740993,\"x\":null,\"s\":null}\n",
    )
    .unwrap();
    let (first, second, out) = (place("first"), place("second"), place("out.ndjson"));
    said(&["import", text(&first), text(&place("t.ndjson")), "--dims", "k"]);
    assert_eq!(said(&["read", text(&first), "--format", "ndjson", "--out", text(&out)]), "");
    said(&["import", text(&second), text(&out), "--dims", "k"]);
    let read = |array: &str| said(&["read", array, "--format", "ndjson"]);
    let cells = read(text(&first));
    assert_eq!(cells, read(text(&second)));
    assert_eq!(cells, fs::read_to_string(&out).unwrap());
    assert_eq!(objects(&cells)[1]["n"].to_string(), "-9007199254740993");
}

#[test]
fn every_format_goes_to_a_file_and_aggregates_are_one_object() {
    let scratch = Scratch::new();
    let array = fixture("2.30.0/sparse2d_rr");
    for format in ["table", "csv", "json", "ndjson"] {
        let out = scratch.path().join(format);
        let args = ["read", text(&array), "--format", format];
        assert_eq!(said(&[&args[..], &["--out", text(&out)]].concat()), "");
        assert_eq!(fs::read_to_string(&out).unwrap(), said(&args), "{format}");
    }
    let counted = said(&["read", text(&array), "--aggregate", "count", "--format", "ndjson"]);
    assert_eq!(objects(&counted).len(), 1);
    let raw = tdb(&["read", text(&array), "--aggregate", "count", "--format", "raw"]);
    assert!(raw.err.contains("ndjson"), "{}", raw.err);
}
