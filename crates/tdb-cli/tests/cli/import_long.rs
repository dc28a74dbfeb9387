//! `tdb import` of files that are longer than what the types are inferred from.

use std::fs::File;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::json;

use crate::common::{Scratch, refused, said, schema_json, tdb, text};
use crate::import::{csv, file};

/// The number of rows of a table of about 5 MB.
const ROWS: usize = 250_000;

/// A table of numbers and texts, whose last row is given.
fn table(scratch: &Scratch, name: &str, last: &str) -> PathBuf {
    let mut rows = String::from("x,a,s\n");
    for row in 0..ROWS {
        rows.push_str(&format!("{},{},text {}\n", row * 3, row % 1000, row % 7));
    }
    rows.push_str(last);
    file(scratch, name, rows)
}

fn count(array: &str) -> String {
    said(&["read", array, "--aggregate", "count,max(a)", "--format", "csv"])
}

#[test]
fn a_later_row_that_does_not_fit_is_named_with_its_line_and_a_remedy() {
    let scratch = Scratch::new();
    let line = ROWS + 2;
    let array = scratch.path().join("array");
    for (last, wrong, dims) in [
        ("9,1.5,x\n", "column \"a\": \"1.5\"", None),
        ("9,007,x\n", "column \"a\": 007 would lose its leading zeros", None),
        ("much,1,x\n", "column \"x\": \"much\"", Some("x")),
        ("0012,1,x\n", "column \"x\": 0012 would lose its leading zeros", Some("x")),
    ] {
        let bad = table(&scratch, "bad.csv", last);
        let dims = dims.map_or(vec![], |dims| vec!["--dims", dims]);
        let import = [&["import", text(&array), text(&bad)][..], &dims].concat();
        let outcome = tdb(&import);
        assert_eq!(outcome.code, if dims.is_empty() { 1 } else { 2 }, "{}", outcome.err);
        let column = wrong.split('"').nth(1).unwrap();
        for part in [format!("line {line}, {wrong}"), format!("--types '{column}=TYPE'")] {
            assert!(outcome.err.contains(&part), "{part}: {}", outcome.err);
        }
        assert!(!array.exists());
    }
    let good = table(&scratch, "good.csv", "9,1.5,x\n");
    said(&["import", text(&array), text(&good), "--types", "a=float64"]);
    assert_eq!(count(text(&array)), format!("count,max(a)\n{},999.0\n", ROWS + 1));
    assert_eq!(tdb(&["verify", text(&array)]).err, "");
}

#[test]
fn a_later_row_that_does_not_fit_leaves_the_array_that_was_to_be_replaced() {
    let scratch = Scratch::new();
    let array = scratch.path().join("array");
    let old = file(&scratch, "old.csv", "x,a\n1,2\n");
    said(&["import", text(&array), text(&old)]);
    for last in ["9,1.5,x\n", "9,1\n"] {
        let bad = table(&scratch, "bad.csv", last);
        refused(&["import", text(&array), text(&bad), "--force"], 1, &format!("line {}", ROWS + 2));
        let new = scratch.path().join("new");
        refused(&["import", text(&new), text(&bad), "--dry-run"], 1, &format!("line {}", ROWS + 2));
        assert_eq!(count(text(&array)), "count,max(a)\n1,2\n");
    }
    let good = table(&scratch, "good.csv", "9,1,x\n");
    said(&["import", text(&array), text(&good), "--force"]);
    assert_eq!(count(text(&array)), format!("count,max(a)\n{},999\n", ROWS + 1));
}

#[test]
fn cells_behind_the_first_rows_may_be_empty_and_the_domain_has_them_all() {
    let scratch = Scratch::new();
    let array = scratch.path().join("array");
    let long = table(&scratch, "long.csv", "-5,,\n");
    said(&["import", text(&array), text(&long), "--dims", "x"]);
    let last = i64::try_from((ROWS - 1) * 3).unwrap();
    assert_eq!(schema_json(&array)["current_domain"], json!([[-5, last]]));
    let ends = said(&[
        "read",
        text(&array),
        "--points",
        &format!("x=-5,{last}"),
        "--format",
        "csv",
        "--order",
        "row",
    ]);
    assert_eq!(ends, format!("x,a,s\n-5,,\n{last},{},text {}\n", (ROWS - 1) % 1000, (ROWS - 1) % 7));
    assert_eq!(count(text(&array)), format!("count,max(a)\n{},999\n", ROWS + 1));
    // Again into the array that is there, which grows.
    let more = table(&scratch, "more.csv", "1000000000,1,\n");
    let grew = said(&["import", text(&array), text(&more)]);
    assert_eq!(grew, format!("the current domain grew: x=-5..1000000000\n{} cells written\n", ROWS + 1));
    assert_eq!(count(text(&array)), format!("count,max(a)\n{},999\n", ROWS + 2));
    assert_eq!(tdb(&["verify", text(&array)]).err, "");
}

#[test]
fn rows_of_a_long_table_are_numbered_and_come_in_one_fragment() {
    let scratch = Scratch::new();
    let array = scratch.path().join("array");
    let long = table(&scratch, "long.csv", "");
    said(&["import", text(&array), text(&long)]);
    let all = csv(text(&array));
    let expected = std::fs::read_to_string(&long).unwrap();
    assert_eq!(all.lines().count(), ROWS + 1);
    let numbered = expected.lines().skip(1).enumerate().map(|(row, line)| format!("{row},{line}"));
    assert!(all.lines().skip(1).eq(numbered));
    let info: serde_json::Value = serde_json::from_str(&said(&["info", text(&array), "--json"])).unwrap();
    assert_eq!(info["fragments"].as_array().unwrap().len(), 1);
    let dense = scratch.path().join("dense");
    said(&["import", text(&dense), text(&long), "--dense"]);
    assert!(csv(text(&dense)) == all, "a dense array has the same rows");
}

#[test]
fn standard_input_may_be_long() {
    let scratch = Scratch::new();
    let (array, long) = (scratch.path().join("array"), table(&scratch, "long.csv", ""));
    let mut command = Command::new(env!("CARGO_BIN_EXE_tdb"));
    command.args(["import", text(&array), "-", "--format", "csv", "--dims", "x"]);
    let status = command.stdin(File::open(&long).unwrap()).stdout(Stdio::null()).status().unwrap();
    assert!(status.success());
    assert_eq!(count(text(&array)), format!("count,max(a)\n{ROWS},999\n"));
}

#[test]
fn types_are_given_for_columns_of_new_arrays() {
    let scratch = Scratch::new();
    let (array, short) = (scratch.path().join("array"), file(&scratch, "t.csv", "x,zip,h\n1,02134,3\n"));
    let types = ["--types", "x=int32,zip=string", "--types", "h=float32"];
    let import = [&["import", text(&array), text(&short), "--dims", "x"][..], &types].concat();
    said(&import);
    let schema = schema_json(&array);
    assert_eq!(schema["dimensions"][0]["datatype"], json!("INT32"));
    assert_eq!(schema["attributes"][1]["datatype"], json!("FLOAT32"));
    assert_eq!(csv(text(&array)), "x,zip,h\n1,02134,3.0\n");
    refused(&import, 2, "--types is only for a new array");
    let new = scratch.path().join("new");
    let wrong = |types: &str, why: &str| {
        refused(&["import", text(&new), text(&short), "--types", types], 2, why);
    };
    wrong("zap=string", "--types: there is no column \"zap\" (there are x, zip, h); did you mean \"zip\"?");
    wrong("zip", "is not NAME=TYPE");
    wrong("zip=strin", "--types \"zip=strin\"");
    let outcome = tdb(&["import", text(&new), text(&short), "--types", "zip=int8"]);
    assert!(outcome.code == 1 && outcome.err.contains("line 2, column \"zip\""), "{}", outcome.err);
    assert!(!new.exists());
}

#[test]
fn objects_that_lack_a_field_are_null_in_it() {
    let scratch = Scratch::new();
    let (array, table) = (scratch.path().join("array"), file(&scratch, "t.csv", "x,a,b\n1,2,\n2,3,4\n"));
    said(&["import", text(&array), text(&table), "--dims", "x"]);
    let objects = file(&scratch, "t.ndjson", "{\"x\":3,\"a\":5}\n");
    said(&["import", text(&array), text(&objects)]);
    assert_eq!(csv(text(&array)), "x,a,b\n1,2,\n2,3,4\n3,5,\n");
    let bad = file(&scratch, "bad.ndjson", "{\"x\":3,\"b\":5}\n");
    refused(
        &["import", text(&array), text(&bad)],
        1,
        "line 1, column \"a\": is empty, but cells cannot be null",
    );
    let long: String = (0..400_000).map(|row| format!("{{\"x\":{row},\"a\":{row}}}\n")).collect();
    let late = file(&scratch, "late.ndjson", long + "{\"x\":1,\"a\":2,\"c\":3}\n");
    let new = scratch.path().join("new");
    refused(
        &["import", text(&new), text(&late)],
        1,
        "line 400001: the array has no field \"c\" (it has row, x, a)",
    );
    assert!(!new.exists());
}
