//! `tdb write`: what `tdb read --format raw` has written.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tdb_array::schema::ArrayType;

use crate::common::{NAN, Scratch, created_like, fixture, open_fixtures, refused, said, schema, tdb, text};

/// Fixtures with lossy filters.
const LOSSY: &str = "webp_lossy";

/// The files written by `tdb read --format raw`; of the manifest, only what describes the cells.
fn raw(array: &Path, folder: &Path, order: &str) -> Vec<(String, Vec<u8>)> {
    said(&["read", text(array), "--format", "raw", "--out", text(folder), "--order", order]);
    let mut files: Vec<_> = crate::common::files(folder)
        .into_iter()
        .map(|path| {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            let mut bytes = fs::read(&path).unwrap();
            if name == "manifest.json" {
                let mut manifest: Value = serde_json::from_slice(&bytes).unwrap();
                manifest["array"] = Value::Null;
                manifest["timestamps"] = Value::Null;
                bytes = manifest.to_string().into_bytes();
            }
            (name, bytes)
        })
        .collect();
    files.sort();
    files
}

#[test]
fn what_was_read_as_raw_buffers_writes_the_same_cells() {
    let mut written = 0;
    for id in open_fixtures().iter().filter(|id| id.starts_with("2.30.0/") && !id.contains(LOSSY)) {
        let scratch = Scratch::new();
        let dense = schema(&fixture(id)).array_type == ArrayType::Dense;
        for order in if dense { ["row", "col"] } else { ["row", "global"] } {
            let (first, second) =
                (scratch.path().join(format!("{order}1")), scratch.path().join(format!("{order}2")));
            let cells = raw(&fixture(id), &first, order);
            let (copy, outcome) = created_like(&fixture(id), &scratch, order);
            assert_eq!(outcome.code, 0, "{id}: {}", outcome.err);
            let outcome = tdb(&["write", text(&copy), text(&first)]);
            if id == NAN {
                assert!(outcome.err.contains("the coordinate NaN"), "{}", outcome.err);
                continue;
            }
            assert_eq!((outcome.code, outcome.err.as_str()), (0, ""), "{id}, {order}");
            assert!(raw(&copy, &second, order) == cells, "{id}, {order}");
        }
        written += 1;
    }
    assert!(written > 100, "{written}");
}

#[test]
fn a_part_of_a_dense_array_is_written_where_it_was() {
    let scratch = Scratch::new();
    let (buffers, array) = (scratch.path().join("buffers"), fixture("2.30.0/quickstart"));
    let args = ["--subarray", "2:3,3", "--format", "raw", "--out", text(&buffers), "--fields", "cols,a"];
    said(&[&["read", text(&array)], &args[..]].concat());
    let (copy, _) = created_like(&array, &scratch, "copy");
    let name = said(&["write", text(&copy), text(&buffers), "--time", "9"]);
    assert!(name.starts_with("__9_9_"), "{name}");
    let shown = said(&["read", text(&copy), "--format", "csv"]);
    assert_eq!(
        shown.lines().filter(|line| !line.ends_with(',')).skip(1).collect::<Vec<_>>(),
        ["2,3,7", "3,3,11"]
    );
}

#[test]
fn buffers_that_do_not_fit_the_array_are_refused_with_their_place() {
    let scratch = Scratch::new();
    let (buffers, array) = (scratch.path().join("buffers"), fixture("2.30.0/attr_strings_var_sparse"));
    raw(&array, &buffers, "row");
    let (copy, _) = created_like(&array, &scratch, "copy");
    let path = buffers.join("manifest.json");
    let good: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let place =
        good["fields"].as_array().unwrap().iter().position(|field| !field["offsets"].is_null()).unwrap();
    let field = |key: &str| format!("/fields/{place}/{key}");
    for (pointer, wrong, why) in [
        ("/order".to_owned(), json!("any"), "order: \"any\" is not a valid order"),
        ("/cells".to_owned(), json!(-1), "cells: -1"),
        ("/cells".to_owned(), json!(3), "the offsets have"),
        (field("name"), json!("nobody"), "the array has no field \"nobody\""),
        (field("datatype"), json!("FLOAT64"), "the buffers contain FLOAT64"),
        (field("data"), json!("../manifest.json"), "is not a valid name of a file in the folder"),
        (field("data"), json!("missing"), "missing: No such file"),
    ] {
        let mut bad = good.clone();
        *bad.pointer_mut(&pointer).unwrap() = wrong;
        fs::write(&path, bad.to_string()).unwrap();
        refused(&["write", text(&copy), text(&buffers)], 1, why);
    }
    fs::write(&path, good.to_string()).unwrap();
    refused(&["write", text(&fixture("2.30.0/quickstart")), text(&buffers)], 1, "");
    let first = said(&["read", text(&copy), "--format", "csv"]);
    assert_eq!(first.lines().count(), 1, "nothing was written");
    let dense = scratch.path().join("dense");
    said(&[
        "read",
        text(&fixture("2.30.0/quickstart")),
        "--limit",
        "3",
        "--format",
        "raw",
        "--out",
        text(&dense),
    ]);
    let (copy, _) = created_like(&fixture("2.30.0/quickstart"), &scratch, "other");
    refused(&["write", text(&copy), text(&dense)], 1, "do not form a whole box");
}
