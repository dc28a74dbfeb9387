//! Rows of a file with the same coordinates, and files without rows.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::common::{Scratch, refused, said, schema_json, tdb, text};
use crate::import::{csv, file};

/// A table with a row for each `x`, whose `a` is the number of the row; long ones are read batch by
/// batch.
fn table(scratch: &Scratch, name: &str, x: impl Iterator<Item = u64>) -> std::path::PathBuf {
    let rows: String =
        x.enumerate().map(|(row, x)| format!("{x},{row},some text for the length\n")).collect();
    file(scratch, name, format!("x,a,s\n{rows}"))
}

fn cell(array: &Path, x: u64) -> String {
    let found =
        said(&["read", text(array), "--points", &format!("x={x}"), "--fields", "a", "--format", "csv"]);
    found.lines().nth(1).unwrap_or_default().to_owned()
}

#[test]
fn one_rule_holds_for_duplicates_in_files_of_any_size() {
    for rows in [20u64, 200_000] {
        let scratch = Scratch::new();
        let array = scratch.path().join("array");
        let last = rows - 1;
        // The coordinate of row 7 comes again at the end.
        let twice = table(&scratch, "twice.csv", (0..rows).map(|row| if row == last { 14 } else { row * 2 }));
        let import = ["import", text(&array), text(&twice), "--dims", "x"];
        let with = |rule| [&import[..], &["--duplicates", rule]].concat();
        let error = format!("lines 9 and {} have the same coordinates, x=14", rows + 1);
        for part in [error.as_str(), "--duplicates first or last", "--duplicates allow"] {
            refused(&import, 1, part);
            refused(&with("error"), 1, part);
        }
        assert!(!array.exists());
        for (rule, cells, kept) in [("first", last, "7".to_owned()), ("last", last, last.to_string())] {
            let place = scratch.path().join(rule);
            let import = ["import", text(&place), text(&twice), "--dims", "x", "--duplicates", rule];
            let wrote =
                format!("{cells} cells written; 1 row was left out, whose coordinates another row has\n");
            assert_eq!(said(&import), wrote);
            assert_eq!(cell(&place, 14), kept);
            let count = said(&["read", text(&place), "--aggregate", "count", "--format", "csv"]);
            assert_eq!(count, format!("count\n{cells}\n"), "the count is of what is stored");
            // What was in the array before is replaced, and no duplicate.
            let once = table(&scratch, "once.csv", (0..rows).map(|row| row * 2));
            assert!(
                said(&["import", text(&place), text(&once)]).ends_with(&format!("{rows} cells written\n"))
            );
            assert_eq!(cell(&place, 14), "7");
            let before = (schema_json(&place), csv(text(&place)).len());
            let far = table(
                &scratch,
                "far.csv",
                (0..rows).map(|row| if row == last { 14 } else { row * 2 }).map(|x| x + rows),
            );
            refused(&["import", text(&place), text(&far)], 1, "have the same coordinates");
            assert_eq!((schema_json(&place), csv(text(&place)).len()), before, "nothing is left by it");
            refused(
                &["import", text(&place), text(&far), "--duplicates", "allow"],
                2,
                "does not allow duplicates",
            );
        }
        said(&with("allow"));
        assert_eq!(schema_json(&array)["allows_duplicates"], json!(true));
        let wrote = said(&["import", text(&array), text(&twice), "--duplicates", "allow"]);
        assert_eq!(wrote, format!("{rows} cells written\n"));
        assert_eq!(
            said(&["import", text(&array), text(&twice)]),
            wrote,
            "an array that allows them takes them"
        );
        refused(
            &["import", text(&array), text(&twice), "--duplicates", "error"],
            1,
            "--duplicates allow keeps",
        );
    }
}

#[test]
fn coordinates_of_any_type_are_compared_as_the_array_has_them() {
    let scratch = Scratch::new();
    let array = scratch.path().join("array");
    let mixed =
        "t,s,a\n2020-01-01,OSLO,1\n2020-01-01T10:00,OSLO,2\n2020-01-01,OSLO2,3\n2020-01-01T00:00,OSLO,4\n";
    let mixed = file(&scratch, "m.csv", mixed);
    let import = ["import", text(&array), text(&mixed), "--dims", "t,s"];
    refused(&import, 1, "lines 2 and 5 have the same coordinates, t=2020-01-01T00:00, s=OSLO");
    let objects = "{\"t\":1,\"s\":\"x\"}\n\n{\"t\":2,\"s\":\"x\"}\n{\"t\":1.0,\"s\":\"x\"}\n";
    let objects = file(&scratch, "m.ndjson", objects);
    refused(&["import", text(&array), text(&objects), "--dims", "t,s"], 1, "lines 1 and 4 have the same");
    let rows = file(&scratch, "rows.csv", "a\n1\n1\n");
    refused(&["import", text(&array), text(&rows), "--duplicates", "first"], 2, "rows are numbered");
    let report = said(&[&import[..], &["--duplicates", "last", "--json"]].concat());
    let report: Value = serde_json::from_str(&report).unwrap();
    assert_eq!((&report["cells"], &report["left_out"]), (&json!(3), &json!(1)));
    assert_eq!(tdb(&["verify", text(&array)]).err, "");
}

#[test]
fn a_file_without_rows_adds_nothing_to_an_array_and_is_no_failure() {
    let scratch = Scratch::new();
    let (header, none) = (file(&scratch, "h.csv", "x,a\n"), file(&scratch, "n.ndjson", "\n"));
    let full = file(&scratch, "f.csv", "x,a\n1,2\n");
    for (name, options) in [("coordinates", &["--dims", "x"][..]), ("rows", &[]), ("dense", &["--dense"])] {
        let array = scratch.path().join(name);
        said(&[&["import", text(&array), text(&full)], options].concat());
        let before = (csv(text(&array)), schema_json(&array));
        for empty in [&header, &none] {
            assert_eq!(said(&["import", text(&array), text(empty)]), "0 cells written\n", "{name}");
        }
        assert_eq!((csv(text(&array)), schema_json(&array)), before);
        fs::write(scratch.path().join("o.csv"), "x,b\n").unwrap();
        refused(&["import", text(&array), text(&scratch.path().join("o.csv"))], 1, "no field \"b\"");
    }
    refused(&["import", text(&scratch.path().join("new")), text(&header)], 1, "there are no cells");
    assert!(!scratch.path().join("new").exists());
}

#[test]
fn a_dimension_that_needs_all_values_of_its_type_is_refused_with_a_remedy() {
    let scratch = Scratch::new();
    let array = scratch.path().join("array");
    for (low, high, options, remedy) in [
        ("0", "255", &["--types", "x=uint8"][..], "--types 'x=uint16'"),
        ("-128", "127", &["--types", "x=int8"], "--types 'x=int16'"),
        ("-9223372036854775808", "9223372036854775807", &[], "--types 'x=string'"),
        ("0", "18446744073709551615", &[], "--types 'x=string'"),
    ] {
        let table = file(&scratch, "t.csv", format!("x,a\n{low},1\n{high},2\n"));
        let import = [&["import", text(&array), text(&table), "--dims", "x"], options].concat();
        let outcome = tdb(&import);
        let all = format!("from {low} to {high} are all values of");
        assert!(outcome.err.contains(&all) && outcome.err.contains(remedy), "{}", outcome.err);
        assert!(!array.exists());
        let types = remedy.trim_start_matches("--types '").trim_end_matches('\'');
        said(&["import", text(&array), text(&table), "--dims", "x", "--types", types]);
        assert_eq!(csv(text(&array)).lines().count(), 3);
        fs::remove_dir_all(&array).unwrap();
    }
}
