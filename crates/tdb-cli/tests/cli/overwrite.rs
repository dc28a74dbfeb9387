//! Commands that are repeated where something exists: `--force` and `--overwrite`.

use std::fs;

use serde_json::json;

use crate::common::{Scratch, fixture, refused, said, schema_json, tdb, text};
use crate::import::{csv, file};

const QUICKSTART: &str = "2.30.0/quickstart";

#[test]
fn an_array_is_replaced_only_when_asked() {
    let scratch = Scratch::new();
    let schema = |name: &str| {
        let json = json!({"type": "sparse", "dimensions": [{"name": name, "datatype": "INT64", "domain": [0, 9], "extent": 10}],
            "attributes": [{"name": "a", "datatype": "INT64"}]});
        file(&scratch, &format!("{name}.json"), json.to_string())
    };
    let array = scratch.path().join("array");
    let create = |name: &str| {
        ["create".to_owned(), text(&array).to_owned(), "--schema".to_owned(), text(&schema(name)).to_owned()]
    };
    said(&create("x").each_ref().map(String::as_str));
    said(&["import", text(&array), text(&file(&scratch, "t.csv", "x,a\n1,2\n"))]);
    said(&["meta", "set", text(&array), "note", "old"]);
    fs::write(array.join("notes.txt"), "mine").unwrap();
    let again = create("y");
    let again = again.each_ref().map(String::as_str);
    let why =
        format!("error: {}: there is an array, a group or another file here already; --force", text(&array));
    refused(&again, 1, &why);
    assert_eq!(csv(text(&array)), "x,a\n1,2\n");
    said(&[&again[..], &["--force"]].concat());
    assert_eq!(schema_json(&array)["dimensions"][0]["name"], json!("y"));
    assert_eq!(csv(text(&array)), "y,a\n");
    assert_eq!(said(&["meta", text(&array), "--json"]).trim(), "[]");
    assert_eq!(fs::read_to_string(array.join("notes.txt")).unwrap(), "mine", "only the array goes");
    let group = scratch.path().join("group");
    said(&["group", "create", text(&group)]);
    let over = ["create", text(&group), "--schema", again[3], "--force"];
    refused(&over, 1, "--force replaces an array, and nothing else");
    // Where nothing is, there is nothing to replace.
    let new = scratch.path().join("new");
    said(&["create", text(&new), "--schema", again[3], "--force"]);
}

#[test]
fn a_copy_may_replace_an_array_but_never_its_source() {
    let scratch = Scratch::copy_of(QUICKSTART);
    let source = scratch.path();
    let other = Scratch::new();
    let (target, table) = (other.path().join("array"), file(&other, "t.csv", "x,a\n1,2\n"));
    said(&["import", text(&target), text(&table), "--dims", "x"]);
    let copy = ["copy", text(source), text(&target)];
    refused(&copy, 1, &format!("{}: there is an array", text(&target)));
    assert_eq!(said(&[&copy[..], &["--force"]].concat()), "16 cells copied\n");
    assert_eq!(csv(text(&target)), csv(text(&fixture(QUICKSTART))));
    assert_eq!(tdb(&["verify", text(&target)]).err, "");
    let inside = source.join("__meta");
    for target in [source, &source.join("."), &inside] {
        refused(&["copy", text(source), text(target), "--force"], 2, "--force would remove");
    }
    assert_eq!(csv(text(source)).lines().count(), 17);
}

#[test]
fn an_import_may_begin_again() {
    let scratch = Scratch::new();
    let (array, table) = (scratch.path().join("array"), file(&scratch, "t.csv", "x,a\n1,2\n"));
    said(&["import", text(&array), text(&table)]);
    let other = ["import", text(&array), text(&table), "--dims", "x", "--types", "a=float64"];
    refused(&other, 2, "--dims is only for a new array");
    assert_eq!(said(&[&other[..], &["--force"]].concat()), "1 cell written\n");
    assert_eq!(csv(text(&array)), "x,a\n1,2.0\n");
    // What is wrong with the file is found before anything is removed.
    let bad = file(&scratch, "bad.csv", "x,a\n1\n");
    refused(&["import", text(&array), text(&bad), "--force"], 1, "there is 1 cell for 2 columns");
    assert_eq!(csv(text(&array)), "x,a\n1,2.0\n");
    assert_eq!(tdb(&["verify", text(&array)]).err, "");
}

#[test]
fn rows_are_not_written_over_those_of_a_dense_array_unless_asked() {
    let scratch = Scratch::new();
    let (array, table) = (scratch.path().join("array"), file(&scratch, "t.csv", "a\n1\n2\n3\n"));
    said(&["import", text(&array), text(&table), "--dense"]);
    let other = file(&scratch, "other.csv", "a\n7\n8\n");
    let import = ["import", text(&array), text(&other)];
    let why = format!(
        "{}: the array is dense and has cells at 0..2 already: --overwrite writes over them",
        text(&array)
    );
    refused(&import, 1, &why);
    assert_eq!(csv(text(&array)), "row,a\n0,1\n1,2\n2,3\n");
    assert_eq!(said(&[&import[..], &["--overwrite"]].concat()), "2 cells written\n");
    assert_eq!(csv(text(&array)), "row,a\n0,7\n1,8\n2,3\n");
    // Where nothing was written, nothing is lost.
    let schema = said(&["info", text(&array), "--json"]);
    let empty = scratch.path().join("empty");
    said(&["create", text(&empty), "--schema", text(&file(&scratch, "schema.json", schema))]);
    said(&["import", text(&empty), text(&other)]);
    assert_eq!(csv(text(&empty)), "row,a\n0,7\n1,8\n2,\n");
    let long = file(&scratch, "long.csv", "a\n1\n2\n3\n4\n");
    let outcome = tdb(&["import", text(&empty), text(&long), "--overwrite"]);
    assert!(outcome.code != 0 && outcome.err.contains("row"), "{}", outcome.err);
}
