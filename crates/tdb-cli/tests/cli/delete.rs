//! `tdb delete`.

use std::fs;

use crate::common::{Scratch, created_like, fixture, refused, said, sparse, tdb, text};

fn count(array: &str) -> u64 {
    said(&["read", array, "--format", "csv"]).lines().count() as u64 - 1
}

#[test]
fn a_delete_takes_what_its_dry_run_counts_and_earlier_times_keep_it() {
    let scratch = Scratch::new();
    let path = scratch.path().join("array");
    sparse(&path);
    let array = text(&path);
    let delete = |condition, more: &[&str]| said(&[&["delete", array, "--where", condition], more].concat());
    assert_eq!(delete("k >= 7 or k in (2, 3)", &["--dry-run"]), "5 of 10 cells would be deleted\n");
    assert_eq!(count(array), 10, "nothing was done");
    let key = delete("k >= 7 or k in (2, 3)", &["--time", "10"]);
    assert!(
        key.starts_with("5 of 10 cells deleted by __commits/__10_10_") && key.ends_with(".del\n"),
        "{key}"
    );
    assert_eq!(count(array), 5);
    assert_eq!(delete("not (k >= 1)", &["--dry-run"]), "1 of 5 cells would be deleted\n");
    assert_eq!(delete("c = 'green'", &["--dry-run"]), "2 of 5 cells would be deleted\n");
    delete("c == 'green' and x < 5", &["--time", "11"]);
    assert_eq!(count(array), 4);
    let dry = ["--dry-run", "--time", "5"];
    assert_eq!(delete("k >= 7", &dry), "3 of 10 cells would be deleted\n", "what was there by then");
    let before = said(&["read", array, "--format", "csv", "--at", "9"]);
    assert_eq!(before.lines().count(), 11);
}

#[test]
fn a_delete_that_finds_no_cell_now_takes_those_that_are_written_later_with_an_earlier_time() {
    let scratch = Scratch::new();
    let path = scratch.path().join("array");
    let (empty, csv) = (scratch.path().join("empty"), scratch.path().join("late.csv"));
    sparse(&path);
    assert_eq!(created_like(&path, &scratch, "empty").1.code, 0);
    fs::write(&csv, "x,k,v,c\n50,77,1,red\n51,78,1,red\n").unwrap();
    for (array, cells) in [(text(&path), 10), (text(&empty), 0)] {
        let dry = said(&["delete", array, "--where", "k = 77", "--dry-run"]);
        assert_eq!(dry, format!("0 of {cells} cells would be deleted\n"));
        assert_eq!(said(&["log", array, "--json"]).matches("\"delete\"").count(), 0);
        let key = said(&["delete", array, "--where", "k = 77", "--time", "20"]);
        assert!(
            key.starts_with(&format!("0 of {cells} cells deleted by __commits/__20_20_"))
                && key.ends_with(".del\n"),
            "{key}"
        );
        // A delete that no cell can ever satisfy is written, too.
        let key = said(&["delete", array, "--where", "k > 5 and k < 5", "--time", "21"]);
        assert!(key.ends_with(".del\n"), "{key}");
        for (time, left) in [(15, 1), (20, 1), (25, 2)] {
            said(&["import", array, text(&csv), "--time", &time.to_string()]);
            assert_eq!(count(array), cells + left, "written at {time}");
        }
    }
}

#[test]
fn cells_of_which_the_condition_cannot_be_known_go_only_if_that_is_said() {
    let scratch = Scratch::new();
    let path = scratch.path().join("array");
    sparse(&path);
    let array = text(&path);
    let dry = said(&["delete", array, "--where", "v > 7", "--dry-run"]);
    assert!(dry.starts_with("3 of 10 cells would be deleted, 1 of them only because"), "{dry}");
    refused(&["delete", array, "--where", "v > 7"], 1, "--unknown-too");
    assert_eq!(count(array), 10);
    said(&["delete", array, "--where", "v > 7", "--unknown-too"]);
    assert_eq!(count(array), 7);
}

#[test]
fn cells_are_deleted_by_their_coordinates_where_others_are_null() {
    let scratch = Scratch::new();
    let path = scratch.path().join("array");
    sparse(&path);
    let array = text(&path);
    let by = |condition: &str, more: &[&str]| {
        said(&[&["delete", array, "--where", condition, "--by-coordinates"], more].concat())
    };
    assert_eq!(by("v > 7", &["--dry-run"]), "2 of 10 cells would be deleted\n");
    assert_eq!(count(array), 10);
    assert!(by("v > 7", &[]).starts_with("2 of 10 cells deleted by __commits/"));
    assert!(by("v is null", &[]).starts_with("1 of 8 cells deleted by __commits/"));
    assert_eq!(count(array), 7);
    assert_eq!(by("v is null or v > 7", &[]), "no cell satisfies the condition\n");
    refused(&["delete", array, "--where", "v is null"], 2, "--by-coordinates finds the cells first");
    refused(
        &["delete", array, "--where", "v > 7", "--by-coordinates", "--unknown-too"],
        2,
        "cannot be used with",
    );
    let duplicates = text(&fixture("2.30.0/sparse_dups")).to_owned();
    refused(
        &["delete", &duplicates, "--where", "a > 1", "--by-coordinates", "--dry-run"],
        1,
        "tdb copy --where",
    );
}

#[test]
fn a_condition_that_cannot_be_stored_is_refused_at_its_column() {
    let scratch = Scratch::new();
    let path = scratch.path().join("array");
    sparse(&path);
    let array = text(&path);
    for (condition, why) in [
        ("k == 7 and v >", "column 15"),
        ("k > 1 and q = 3", "column 11: the array has no field \"q\""),
        ("k = 'x'", "column 5: field \"k\" is of type INT32"),
        ("c = 'blue'", "column 5: the enumeration \"colours\" has no"),
        ("c < 'red'", "has no order"),
        ("k = 1 or v is null", "column 10: delete conditions cannot test whether a field is null"),
    ] {
        let outcome = tdb(&["delete", array, "--where", condition]);
        assert_eq!((outcome.code, outcome.out.as_str()), (2, ""), "{condition}: {}", outcome.err);
        assert!(outcome.err.contains(why) && outcome.err.lines().count() == 3, "{}", outcome.err);
    }
    refused(
        &["delete", text(&fixture("2.30.0/single_dense")), "--where", "a = 1", "--dry-run"],
        1,
        "sparse arrays only",
    );
    refused(
        &["delete", text(&fixture("2.2.9/base_sparse")), "--where", "a = 1"],
        1,
        "do not support deletes",
    );
    assert_eq!(count(array), 10);
}
