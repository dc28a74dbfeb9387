//! Conditions and aggregates on the command line.

use tdb_array::schema::{ArraySchema, CellValNum, Datatype};
use tdb_array::{WriteColumn, WriteOptions};
use tdb_schema::{Attribute, Dimension};

use crate::common::{Scratch, fixture, said, tdb, text};

fn read(id: &str, args: &[&str]) -> String {
    let outcome = tdb(&[&["read", text(&fixture(id))], args].concat());
    assert_eq!(outcome.code, 0, "{}", outcome.err);
    outcome.out
}

fn refused(id: &str, args: &[&str]) -> String {
    let outcome = tdb(&[&["read", text(&fixture(id))], args].concat());
    assert_eq!((outcome.code, outcome.out.as_str()), (2, ""), "{}", outcome.err);
    outcome.err
}

#[test]
fn a_condition_leaves_the_cells_that_satisfy_it() {
    let array = "2.30.0/quickstart";
    let all = read(array, &["--format", "csv"]);
    assert_eq!(all.lines().count(), 17);
    let some = ["--where", "a > 14 or a in (1, 2) or rows = 2 and a < 6"];
    let csv = "rows,cols,a\n1,1,1\n1,2,2\n2,1,5\n4,3,15\n4,4,16\n";
    assert_eq!(read(array, &[&some[..], &["--format", "csv"]].concat()), csv);
    let json = "{\"cells\":5,\"shape\":null,\"fields\":{\"rows\":[1,1,2,4,4],\"cols\":[1,2,1,3,4],\"a\":[1,2,5,15,16]}}\n";
    assert_eq!(read(array, &[&some[..], &["--format", "json"]].concat()), json);
    let table = read(array, &some);
    assert!(
        table
            .lines()
            .skip(2)
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(","))
            .eq(csv.lines().skip(1))
    );
    // The first cells are the first of those that satisfy it.
    let limited = read(array, &["--format", "csv", "--where", "a > 14", "--limit", "1"]);
    assert_eq!(limited, "rows,cols,a\n4,3,15\n");
    assert_eq!(
        read(array, &["--where", "a > 14", "--limit", "1"]),
        "rows  cols   a\n----  ----  --\n   4     3  15\n"
    );
    let none = read(array, &["--where", "a > 16"]);
    assert_eq!(none, "rows  cols  a\n----  ----  -\n");
    let dates = read("2.30.0/sparse_dim_datetime_day", &["--format", "csv", "--where", "x < '1970-01-01'"]);
    let ticks = read("2.30.0/sparse_dim_datetime_day", &["--format", "csv", "--where", "x < 0"]);
    assert_eq!(dates, ticks);
}

#[test]
fn what_is_wrong_with_a_condition_is_pointed_at() {
    let error = refused("2.30.0/quickstart", &["--where", "a > 3 and nothing = 1"]);
    let (line, pointer) = error.split_once('\n').unwrap();
    assert!(line.starts_with("error: "), "{error}");
    let rest = "--where: column 11: the array has no field \"nothing\" (it has rows, cols, a)";
    assert!(line.ends_with(rest), "{error}");
    assert_eq!(pointer, "  a > 3 and nothing = 1\n            ^\n");
    let error = refused("2.30.0/quickstart", &["--where", "a >"]);
    assert!(error.contains("column 4: a value is expected, not the end"), "{error}");
    let error = refused("2.30.0/sparse_dim_datetime_day", &["--where", "x = 'yesterday'"]);
    assert!(error.contains("column 5: \"yesterday\" is neither a date"), "{error}");
}

#[test]
fn aggregates_are_one_row() {
    let array = "2.30.0/quickstart";
    let list = "sum(a),count,mean(a),min(a),null_count(a)";
    let expected = "\
sum(a)  count  mean(a)  min(a)  null_count(a)
------  -----  -------  ------  -------------
   136     16      8.5       1              0
";
    assert_eq!(read(array, &["--aggregate", list]), expected);
    assert_eq!(read(array, &["--aggregate", "sum(a),max(a)", "--format", "csv"]), "sum(a),max(a)\n136,16\n");
    let json = read(array, &["--aggregate", "count,max(a)", "--format", "json", "--where", "a < 4"]);
    assert_eq!(json, "{\"count\":3,\"max(a)\":3}\n");
    let above = read(array, &["--aggregate", "count,sum(a),mean(a)", "--format", "csv", "--where", "a > 10"]);
    assert_eq!(above, "count,sum(a),mean(a)\n6,81,13.5\n");
    let none = read(array, &["--aggregate", "max(a)", "--format", "json", "--where", "a < -4"]);
    assert_eq!(none, "{\"max(a)\":null}\n");
}

#[test]
fn what_is_wrong_with_a_list_of_aggregates_is_pointed_at() {
    let error = refused("2.30.0/quickstart", &["--aggregate", "count,median(a)"]);
    assert!(error.ends_with("  count,median(a)\n        ^\n"), "{error}");
    let error = refused("2.30.0/quickstart", &["--aggregate", "sum(b)"]);
    assert!(error.contains("no field \"b\""), "{error}");
    refused("2.30.0/quickstart", &["--aggregate", "count", "--format", "raw"]);
}

/// A dense array of two rows and three columns, of which a part was written.
fn partly_written(scratch: &Scratch) -> std::path::PathBuf {
    let path = scratch.path().join("array");
    let schema = ArraySchema::dense()
        .dimension(Dimension::new("y", 1i32..=2))
        .dimension(Dimension::new("x", 1i32..=3))
        .attribute(Attribute::new("a", Datatype::Int32, CellValNum::ONE))
        .attribute(Attribute::new("s", Datatype::StringUtf8, CellValNum::Var).with_nulls())
        .build()
        .unwrap();
    WriteOptions::new().create(&path, &schema).unwrap();
    let writer = WriteOptions::new().open(&path).unwrap();
    let write = writer.write().range("y", 1..=2).range("x", 2..=3);
    let write = write.column(WriteColumn::fixed("a", &[i32::MIN, 2, 3, 4]));
    write.column(WriteColumn::var("s", b"pqr", &[0, 1, 1, 2, 3]).nullable(&[1, 0, 1, 1])).commit().unwrap();
    path
}

#[test]
fn cells_that_were_never_written_are_shown_as_nothing() {
    let scratch = Scratch::new();
    let path = partly_written(&scratch);
    let read = |args: &[&str]| said(&[&["read", text(&path)], args].concat());
    // A written cell may be equal to the fill value.
    let grid = "a\ny\\x  1            2  3\n  1     -2147483648  2\n  2               3  4\n";
    assert_eq!(read(&["--fields", "a"]), grid);
    let rows = "y  x            a  s\n-  -  -----------  ----\n1  1\n1  2  -2147483648  p\n1  3            2  null\n";
    assert_eq!(read(&["--limit", "3"]), rows);
    assert_eq!(read(&["--limit", "3", "--format", "csv"]), "y,x,a,s\n1,1,,\n1,2,-2147483648,p\n1,3,2,\n");
    let json: serde_json::Value =
        serde_json::from_str(&read(&["--format", "json", "--fields", "x,a"])).unwrap();
    let expected = serde_json::json!({"cells": 6, "shape": [2, 3],
        "fields": {"x": [1, 2, 3, 1, 2, 3], "a": [null, i32::MIN, 2, null, 3, 4]}});
    assert_eq!(json, expected);
    // No condition finds them, not even one that the fill value satisfies.
    assert_eq!(read(&["--where", "a < 2", "--format", "csv"]), "y,x,a,s\n1,2,-2147483648,p\n");
    let raw = scratch.path().join("raw");
    read(&["--format", "raw", "--where", "a = 4", "--out", text(&raw)]);
    let values: Vec<i32> = std::fs::read(raw.join("a.data"))
        .unwrap()
        .as_chunks::<4>()
        .0
        .iter()
        .map(|cell| i32::from_le_bytes(*cell))
        .collect();
    assert_eq!(values, [i32::MIN, i32::MIN, i32::MIN, i32::MIN, i32::MIN, 4], "raw buffers have fill values");
}
