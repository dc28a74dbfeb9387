//! `tdb import` of more cells into an array that is there: its current domain grows.

use std::fs;

use serde_json::json;

use crate::common::{Scratch, refused, said, schema_json, tdb, text};
use crate::import::{csv, file};

const MONDAY: &str = "station,time,t\nOSLO,2020-01-01T10:00,1\nROMA,2020-01-01T11:00,2\n";
const TUESDAY: &str = "station,time,t\nOSLO,2020-01-02T10:00,3\n\u{c5}RHUS,2019-12-31T23:00,4\n";

#[test]
fn the_file_of_the_next_day_fits() {
    let scratch = Scratch::new();
    let array = scratch.path().join("array");
    let (monday, tuesday) = (file(&scratch, "monday.csv", MONDAY), file(&scratch, "tuesday.csv", TUESDAY));
    said(&["import", text(&array), text(&monday), "--dims", "station,time"]);
    let before = schema_json(&array);
    let spans = "time=2019-12-31T23:00:00.000..2020-01-02T10:00:00.000";
    assert_eq!(
        said(&["import", text(&array), text(&tuesday), "--dry-run"]),
        format!("the current domain would grow: {spans}\n2 cells would be written\n")
    );
    assert_eq!(schema_json(&array), before, "a dry run changes nothing");
    let grew = format!("the current domain grew: {spans}\n2 cells written\n");
    assert_eq!(said(&["import", text(&array), text(&tuesday)]), grew);
    assert_eq!(said(&["import", text(&array), text(&tuesday)]), "2 cells written\n", "there is room already");
    let expected = "\
station,time,t
OSLO,2020-01-01T10:00:00.000,1
OSLO,2020-01-02T10:00:00.000,3
ROMA,2020-01-01T11:00:00.000,2
\u{c5}RHUS,2019-12-31T23:00:00.000,4
";
    assert_eq!(csv(text(&array)), expected);
    assert_eq!(tdb(&["verify", text(&array)]).err, "");
    let only = said(&[
        "read",
        text(&array),
        "--range",
        "station=OSLO",
        "--range",
        "time=2020-01-02..",
        "--format",
        "csv",
    ]);
    assert_eq!(only.lines().count(), 2);
}

#[test]
fn an_import_that_is_refused_does_not_let_the_array_grow() {
    let scratch = Scratch::new();
    let array = scratch.path().join("array");
    let (table, twice) =
        (file(&scratch, "t.csv", "x,a\n5,1\n"), file(&scratch, "twice.csv", "x,a\n9,2\n9,3\n"));
    said(&["import", text(&array), text(&table), "--dims", "x"]);
    let before = schema_json(&array);
    refused(&["import", text(&array), text(&twice)], 1, "lines 2 and 3 have the same coordinates, x=9");
    fs::write(&twice, "x,a\n9,2\n8,much\n").unwrap();
    refused(&["import", text(&array), text(&twice)], 1, "line 3, column \"a\"");
    assert_eq!((csv(text(&array)), schema_json(&array)), ("x,a\n5,1\n".to_owned(), before));
    fs::write(&twice, "x,a\n9,2\n").unwrap();
    let grew = "the current domain grew: x=5..9\n1 cell written\n";
    assert_eq!(said(&["import", text(&array), text(&twice)]), grew);
    assert_eq!(csv(text(&array)), "x,a\n5,1\n9,2\n");
}

#[test]
fn numbers_of_each_kind_have_room() {
    let scratch = Scratch::new();
    let first = "i,u,f,d,a\n5,18446744073709551614,0.5,2020-01-01,1\n";
    let second = "i,u,f,d,a\n-7,0,-2.5e9,1900-01-01,2\n1000000000000,18446744073709551614,1e9,2100-12-31,3\n";
    let (first, second) = (file(&scratch, "1.csv", first), file(&scratch, "2.csv", second));
    let array = scratch.path().join("array");
    said(&["import", text(&array), text(&first), "--dims", "i,u,f,d"]);
    said(&["import", text(&array), text(&second)]);
    assert_eq!(
        schema_json(&array)["current_domain"],
        json!([
            [-7, 1_000_000_000_000u64],
            [0, 18_446_744_073_709_551_614u64],
            [-2.5e9, 1e9],
            ["1900-01-01", "2100-12-31"]
        ])
    );
    assert_eq!(csv(text(&array)).lines().count(), 4);
    assert_eq!(tdb(&["verify", text(&array)]).err, "");
}

#[test]
fn a_domain_that_was_given_is_never_left() {
    let scratch = Scratch::new();
    let array = scratch.path().join("array");
    let (table, far) =
        (file(&scratch, "t.csv", "x,a\n5,1\n"), file(&scratch, "far.csv", "x,a\n6,1\n101,2\n"));
    let import =
        |file, more: &[&str]| [&["import", text(&array), file, "--dims", "x"][..], more].concat().join("|");
    let args = import(text(&table), &["--domain", "x=0..100"]);
    let far_args = import(text(&far), &["--domain", "x=0..100"]);
    let split = |args: &str| args.split('|').map(str::to_owned).collect::<Vec<_>>();
    let refuse = |args: &str, code, why| {
        let args = split(args);
        refused(&args.iter().map(String::as_str).collect::<Vec<_>>(), code, why);
    };
    refuse(&far_args, 2, "line 3, column \"x\": 101 is outside its domain, 0..100; a domain cannot grow");
    refuse(
        &import(text(&table), &["--domain", "y=0..100"]),
        2,
        "--domain \"y=0..100\" does not begin with a dimension",
    );
    refuse(&import(text(&table), &["--domain", "x=a..b"]), 2, "is not a range of dimension \"x\"");
    assert!(!array.exists());
    let args = split(&args);
    said(&args.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(schema_json(&array)["dimensions"][0]["domain"], json!([0, 100]));
    refused(&["import", text(&array), text(&far)], 1, "new array with --domain 'x=LO..HI'");
    assert_eq!(csv(text(&array)), "x,a\n5,1\n", "nothing was written");
    assert_eq!(schema_json(&array)["current_domain"], json!([[5, 5]]), "and nothing grew");
    refuse(&import(text(&table), &["--domain", "x=0..200"]), 2, "--domain is only for a new array");
    let names = file(&scratch, "names.csv", "n,a\nx,1\n");
    let new = scratch.path().join("new");
    refused(
        &["import", text(&new), text(&names), "--dims", "n", "--domain", "n=a..z"],
        2,
        "which has no domain",
    );
}

#[test]
fn an_array_without_a_current_domain_has_the_room_that_it_has() {
    let scratch = Scratch::new();
    let array = scratch.path().join("array");
    let schema = json!({"type": "sparse", "dimensions": [{"name": "x", "datatype": "INT64", "domain": [0, 9], "extent": 10}],
        "attributes": [{"name": "a", "datatype": "INT64"}]});
    let schema = file(&scratch, "schema.json", schema.to_string());
    said(&["create", text(&array), "--schema", text(&schema)]);
    let table = file(&scratch, "t.csv", "x,a\n9,1\n");
    assert_eq!(said(&["import", text(&array), text(&table)]), "1 cell written\n");
    fs::write(&table, "x,a\n10,1\n").unwrap();
    refused(
        &["import", text(&array), text(&table)],
        1,
        "line 2, column \"x\": 10 is outside its domain, 0..9",
    );
    refused(
        &["evolve", text(&array), "--expand", "x=0..10"],
        2,
        "has the domain 0..9, and a domain cannot grow",
    );
}
