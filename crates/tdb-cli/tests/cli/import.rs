//! `tdb import`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Instant;

use serde_json::{Value, json};
use tdb_array::Array;

use crate::common::{Scratch, fixture, refused, said, schema_json, tdb, text};

const WEATHER: &str = "\
station,day,t,rain,note
OSLO,2020-01-02,-3.5,true,\"cold, very\"
OSLO,2020-01-01,2,false,
ROMA,2020-01-01,,true,\"\"
";

pub(crate) fn file(scratch: &Scratch, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
    let path = scratch.path().join(name);
    fs::write(&path, content).unwrap();
    path
}

pub(crate) fn csv(array: &str) -> String {
    said(&["read", array, "--format", "csv", "--order", "row"])
}

#[test]
fn a_table_becomes_a_sparse_array_of_which_the_dry_run_shows_the_schema() {
    let scratch = Scratch::new();
    let (table, array) = (file(&scratch, "weather.csv", WEATHER), scratch.path().join("array"));
    let import = ["import", text(&array), text(&table), "--dims", "station,day"];
    let shown = said(&[&import[..], &["--dry-run"]].concat());
    assert!(!array.exists());
    let schema: Value = serde_json::from_str(&shown).unwrap();
    let types: Vec<&str> =
        schema["attributes"].as_array().unwrap().iter().map(|a| a["datatype"].as_str().unwrap()).collect();
    assert_eq!(types, ["FLOAT64", "BOOL", "STRING_UTF8"]);
    assert_eq!(schema["dimensions"][1]["domain"], json!(["0001-01-01", "9999-12-31"]));
    assert_eq!(schema["current_domain"], json!([["", "\\xff"], ["2020-01-01", "2020-01-02"]]));
    assert_eq!(said(&import), "3 cells written\n");
    let expected = "\
station,day,t,rain,note
OSLO,2020-01-01,2.0,false,
OSLO,2020-01-02,-3.5,true,\"cold, very\"
ROMA,2020-01-01,,true,\"\"
";
    assert_eq!(csv(text(&array)), expected);
    let other = scratch.path().join("other");
    said(&["create", text(&other), "--schema", text(&file(&scratch, "schema.json", &shown))]);
    assert_eq!(schema_json(&other), schema_json(&array));

    let more = file(&scratch, "more.csv", "t,rain,note,station,day\n1,false,x,BERN,2020-01-02\n");
    assert_eq!(said(&["import", text(&array), text(&more), "--dry-run"]), "1 cell would be written\n");
    assert_eq!(csv(text(&array)), expected);
    said(&["import", text(&array), text(&more)]);
    assert_eq!(csv(text(&array)).lines().nth(1), Some("BERN,2020-01-02,1.0,false,x"));
}

#[test]
fn a_table_without_dimensions_has_numbered_rows_and_a_second_file_continues_them() {
    let scratch = Scratch::new();
    let (table, array) = (file(&scratch, "t.csv", "a,b\n1,x\n,y\n"), scratch.path().join("array"));
    said(&["import", text(&array), text(&table)]);
    assert_eq!(csv(text(&array)), "row,a,b\n0,1,x\n1,,y\n");
    let more = file(&scratch, "more.csv", "b,a\nz,3\n");
    let import = ["import", text(&array), text(&more)];
    assert_eq!(
        said(&[&import[..], &["--dry-run"]].concat()),
        "the current domain would grow: row=0..2\n1 cell would be written\n"
    );
    assert_eq!(said(&import), "the current domain grew: row=0..2\n1 cell written\n");
    assert_eq!(csv(text(&array)), "row,a,b\n0,1,x\n1,,y\n2,3,z\n");
    assert_eq!(said(&["read", text(&array), "--where", "a > 1", "--format", "csv"]), "row,a,b\n2,3,z\n");
    // What an export says of rows is where they go.
    let third = file(&scratch, "third.csv", "row,a,b\n9,4,w\n");
    said(&["import", text(&array), text(&third)]);
    said(&import);
    assert_eq!(csv(text(&array)).lines().skip(4).collect::<Vec<_>>(), ["9,4,w", "10,3,z"]);
    let schema = schema_json(&array);
    assert_eq!((&schema["type"], &schema["current_domain"]), (&json!("sparse"), &json!([[0, 10]])));
    assert_eq!(tdb(&["verify", text(&array)]).err, "");
}

#[test]
fn the_row_number_has_the_name_of_no_column() {
    let scratch = Scratch::new();
    let (table, array) = (file(&scratch, "t.csv", "row,row_number\n7,x\n"), scratch.path().join("array"));
    said(&["import", text(&array), text(&table)]);
    said(&["import", text(&array), text(&table)]);
    assert_eq!(csv(text(&array)), "row_number_2,row,row_number\n0,7,x\n1,7,x\n");
}

#[test]
fn a_table_may_become_dense_along_its_rows() {
    let scratch = Scratch::new();
    let (table, array) = (file(&scratch, "t.csv", "a,b\n1,x\n,y\n"), scratch.path().join("array"));
    let import = ["import", text(&array), text(&table), "--dense"];
    said(&import);
    assert_eq!(schema_json(&array)["type"], json!("dense"));
    assert_eq!(csv(text(&array)), "row,a,b\n0,1,x\n1,,y\n");
    let outcome = tdb(&["import", text(&array), text(&table), "--dense", "--dims", "a"]);
    assert!(outcome.code == 2 && outcome.err.contains("cannot be used with"), "{}", outcome.err);
    let rows = scratch.path().join("rows");
    said(&["import", text(&rows), text(&table)]);
    refused(
        &["import", text(&rows), text(&table), "--dense"],
        2,
        "--dense is only for a new array, and this one is sparse",
    );
}

#[test]
fn what_a_table_does_not_fit_is_named_with_its_line() {
    let scratch = Scratch::new();
    let (table, array) = (file(&scratch, "weather.csv", WEATHER), scratch.path().join("array"));
    refused(&["import", text(&array), text(&table), "--dims", "town"], 2, "no column \"town\"");
    said(&["import", text(&array), text(&table), "--dims", "station,day"]);
    for (content, why) in [
        ("station,day,t,rain,note\nA,2020-01-01,much,true,x\n", "line 2, column \"t\": \"much\""),
        ("station,day,t,rain,note\nA,2020-01-01,1,,x\n", "line 2, column \"rain\": is empty"),
        ("station,day,t,rain,note\nA,2020-01-01,1\n", "line 2: there are 3 cells for 5 columns"),
        ("station,day,t,rain,snow\nA,2020-01-01,1,true,x\n", "no field \"snow\""),
        ("station,day,t,rain\nA,2020-01-01,1,true\n", "field \"note\" is missing"),
        (
            "station,day,t,rain,note\nA,2021-01-01,1,true,x\nA,+10000-01-01,1,true,x\n",
            "line 3, column \"day\": +10000-01-01 is outside its domain, 0001-01-01..9999-12-31; a domain cannot grow",
        ),
        ("station,day,t,rain,note\nA,2020-01-01,1,true,\"x\n", "line 2: a closing quote is missing"),
        ("", "there is no header"),
    ] {
        let bad = file(&scratch, "bad.csv", content);
        refused(&["import", text(&array), text(&bad)], 1, why);
    }
    assert_eq!(csv(text(&array)).lines().count(), 4, "the array is as before");
    let nulls = file(&scratch, "nulls.csv", "x,a\n1,2\n,3\n");
    refused(
        &["import", text(&scratch.path().join("y")), text(&nulls), "--dims", "x"],
        2,
        "line 3: column \"x\" is empty",
    );
    refused(
        &["import", text(&scratch.path().join("y")), text(scratch.path())],
        2,
        "this is a folder: a pattern in quotes names the files in it",
    );
    refused(&["import", text(&fixture("2.30.0/quickstart")), text(&table)], 1, "sparse array");
}

#[test]
fn a_failed_import_leaves_nothing_and_the_obvious_retry_has_each_cell_once() {
    let scratch = Scratch::new();
    let array = scratch.path().join("array");
    let twice = file(&scratch, "twice.csv", "x,a\n1,2\n3,4\n1,5\n");
    let import = ["import", text(&array), text(&twice), "--dims", "x"];
    refused(&import, 1, "coordinates");
    assert!(!array.exists());
    assert_eq!(said(&[&import[..], &["--allow-duplicates"]].concat()), "3 cells written\n");
    assert_eq!(csv(text(&array)).lines().count(), 4);
    // An empty folder stays, and is treated like a missing one.
    let empty = scratch.path().join("empty");
    fs::create_dir(&empty).unwrap();
    let import = ["import", text(&empty), text(&twice), "--dims", "x"];
    refused(&import, 1, "coordinates");
    assert_eq!(fs::read_dir(&empty).unwrap().count(), 0);
    said(&[&import[..], &["--allow-duplicates"]].concat());
    assert_eq!(csv(text(&empty)), csv(text(&array)));
}

#[test]
fn what_a_killed_import_left_is_replaced() {
    let scratch = Scratch::new();
    let (left, table) = (scratch.path().join("left"), file(&scratch, "t.csv", "x,a\n1,2\n3,4\n"));
    said(&["import", text(&left), text(&table), "--dims", "x", "--allow-duplicates"]);
    // Everything but the last step: cells are committed, but the schema does not exist yet.
    let schema = fs::read_dir(left.join("__schema")).unwrap().map(|entry| entry.unwrap().path());
    schema.filter(|path| path.is_file()).for_each(|path| fs::remove_file(path).unwrap());
    refused(&["read", text(&left)], 1, "no schema");
    refused(&["import", text(&left), text(&table)], 1, "no schema");
    fs::write(left.join("__unfinished.tdb"), []).unwrap();
    said(&["import", text(&left), text(&table), "--dims", "x", "--allow-duplicates"]);
    assert_eq!(csv(text(&left)), "x,a\n1,2\n3,4\n");
    assert!(!left.join("__unfinished.tdb").exists());
    assert_eq!(tdb(&["verify", text(&left)]).err, "");
}

#[test]
fn an_import_that_is_killed_can_be_made_again_and_has_each_cell_once() {
    let scratch = Scratch::new();
    let rows: Vec<String> = (0..2000).map(|row| format!("{},{row},{}\n", row % 7, row * 3)).collect();
    let table = file(&scratch, "t.csv", format!("x,y,a\n{}", rows.concat()));
    let start = |array: &Path| {
        let import = ["import", text(array), text(&table), "--dims", "x", "--allow-duplicates"];
        Command::new(env!("CARGO_BIN_EXE_tdb")).args(import).stdout(Stdio::null()).spawn().unwrap()
    };
    let begun = Instant::now();
    assert!(start(&scratch.path().join("whole")).wait().unwrap().success());
    let whole = begun.elapsed();
    for step in 0..10 {
        let array = scratch.path().join(step.to_string());
        let mut child = start(&array);
        sleep(whole * step / 9);
        child.kill().unwrap();
        child.wait().unwrap();
        // An import that was finished is not repeated.
        let done = Array::open(&array).is_ok();
        let again = tdb(&["import", text(&array), text(&table), "--dims", "x", "--allow-duplicates"]);
        assert_eq!(again.code, if done { 2 } else { 0 }, "step {step}: {}", again.err);
        assert_eq!(csv(text(&array)).lines().count(), 2001, "step {step}");
    }
}

#[test]
fn options_about_a_new_array_are_refused_where_there_is_one() {
    let scratch = Scratch::new();
    let (array, table) = (scratch.path().join("array"), file(&scratch, "t.csv", "x,y,a\n1,2,3\n"));
    said(&["import", text(&array), text(&table), "--dims", "x,y"]);
    let import = ["import", text(&array), text(&table)];
    refused(
        &[&import[..], &["--dims", "x"]].concat(),
        2,
        "--dims is only for a new array, and this one has the dimensions x, y",
    );
    refused(&[&import[..], &["--allow-duplicates"]].concat(), 2, "--allow-duplicates");
    said(&[&import[..], &["--dims", "x,y"]].concat());
    assert_eq!(csv(text(&array)), "x,y,a\n1,2,3\n");
}

#[test]
fn an_array_of_numpy_becomes_a_dense_array_in_its_order() {
    let scratch = Scratch::new();
    let npy = |order: &str, cells: &[i16]| {
        let header = format!("{{'descr': '<i2', 'fortran_order': {order}, 'shape': (2, 3), }}\n");
        let cells: Vec<u8> = cells.iter().flat_map(|cell| cell.to_le_bytes()).collect();
        let len = u16::try_from(header.len()).unwrap().to_le_bytes();
        [&b"\x93NUMPY\x01\x00"[..], &len, header.as_bytes(), &cells].concat()
    };
    let expected = "d0,d1,a\n0,0,1\n0,1,2\n0,2,3\n1,0,4\n1,1,5\n1,2,6\n";
    for (order, cells) in [("False", [1, 2, 3, 4, 5, 6]), ("True", [1, 4, 2, 5, 3, 6])] {
        let (file, array) = (file(&scratch, "a.npy", npy(order, &cells)), scratch.path().join(order));
        let shown: Value =
            serde_json::from_str(&said(&["import", text(&array), text(&file), "--dry-run"])).unwrap();
        assert_eq!(shown["dimensions"][1]["domain"], json!([0, 2]));
        assert_eq!(said(&["import", text(&array), text(&file)]), "6 cells written\n");
        assert_eq!(csv(text(&array)), expected);
        refused(&["import", text(&array), text(&file)], 1, "has cells at 0..1, 0..2 already: --overwrite");
        said(&["import", text(&array), text(&file), "--overwrite"]);
        assert_eq!(csv(text(&array)), expected, "a second time, over the first");
    }
    let array = fixture("2.30.0/quickstart");
    let file = file(&scratch, "a.npy", npy("False", &[0; 6]));
    refused(&["import", text(&array), text(&file)], 1, "the file contains INT16, but the array INT32");
}
