//! `tdb copy`.

use std::fs;
use std::path::Path;

use crate::common::{Scratch, fixture, open_fixtures, refused, said, schema, schema_json, sparse, tdb, text};
use serde_json::json;
use tdb_array::{Array, ArraySchema, CellValNum, Datatype, WriteColumn, WriteOptions};
use tdb_schema::{Attribute, Dimension};

/// Fixtures whose filters lose something.
const LOSSY: &str = "webp_lossy";

fn csv(array: &Path, more: &[&str]) -> String {
    said(&[&["read", text(array), "--format", "csv", "--order", "row"], more].concat())
}

#[test]
fn a_copy_holds_the_cells_the_labels_and_the_metadata() {
    let mut copied = 0;
    // The oldest and the newest: each write waits for the disk.
    let ends = |id: &&String| ["1.", "2.30.0/"].iter().any(|version| id.starts_with(version));
    for id in open_fixtures().iter().filter(ends).filter(|id| !id.contains(LOSSY)) {
        let scratch = Scratch::new();
        let (array, copy) = (fixture(id), scratch.path().join("copy"));
        let outcome = tdb(&["copy", text(&array), text(&copy)]);
        assert_eq!((outcome.code, outcome.err.as_str()), (0, ""), "{id}");
        // What 1.x called __attr has no name since.
        let expected = csv(&array, &[]).replacen("__attr", "\"\"", 1);
        assert!(csv(&copy, &[]) == expected, "{id}");
        assert_eq!(said(&["meta", text(&copy), "--json"]), said(&["meta", text(&array), "--json"]), "{id}");
        for label in &schema(&array).labels {
            let fields = ["--fields", label.name.as_str()];
            assert!(csv(&copy, &fields) == csv(&array, &fields), "{id}, {}", label.name);
        }
        assert_eq!(schema_json(&copy)["version"], json!(22), "{id}");
        assert_eq!(tdb(&["verify", text(&copy)]).code, 0, "{id}");
        copied += 1;
    }
    assert!(copied > 150, "{copied}");
}

#[test]
fn a_copy_may_be_of_a_time_and_of_a_part_with_other_filters() {
    let scratch = Scratch::new();
    let path = |name: &str| scratch.path().join(name);
    let (sparse_array, copy) = (path("sparse"), path("copy"));
    sparse(&sparse_array);
    said(&["delete", text(&sparse_array), "--where", "k > 4", "--time", "10"]);
    let args =
        ["--at", "9", "--range", "x=3:7", "--filters", "gzip(level 6)", "--filters", "v=byteshuffle, lz4"];
    let told = said(&[&["copy", text(&sparse_array), text(&copy)], &args[..], &["--version", "20"]].concat());
    assert_eq!(told, "5 cells copied\n");
    assert_eq!(csv(&copy, &[]), csv(&sparse_array, &["--at", "9", "--range", "x=3:7"]));
    let made = schema_json(&copy);
    assert_eq!(
        (made["version"].as_u64(), &made["attributes"][0]["filters"][0]["name"]),
        (Some(20), &json!("gzip"))
    );
    assert_eq!(made["attributes"][1]["filters"][0]["name"], json!("byteshuffle"));
    assert_eq!(made["enumerations"], schema_json(&sparse_array)["enumerations"]);

    let dense = fixture("2.30.0/quickstart");
    said(&["copy", text(&dense), text(&path("part")), "--range", "rows=2:3", "--filters", "none"]);
    assert_eq!(csv(&path("part"), &["--subarray", "2:3,"]), csv(&dense, &["--subarray", "2:3,"]));
    assert!(csv(&path("part"), &[]).contains("\n1,1,-2147483648\n"));

    refused(&["copy", text(&dense), text(&path("part"))], 1, "already");
    refused(&["copy", text(&dense), text(&path("x")), "--filters", "a=zst"], 2, "\"zst\" is no filter");
    refused(
        &["copy", text(&dense), text(&path("x")), "--range", "rows=1", "--range", "rows=3"],
        2,
        "several ranges",
    );
    assert!(!path("x").exists());
}

#[test]
fn a_copy_in_little_memory_has_the_same_cells() {
    let scratch = Scratch::new();
    let array = scratch.path().join("array");
    let schema = ArraySchema::dense()
        .dimension(Dimension::new("row", 1i32..=4000).with_tile(100i32))
        .dimension(Dimension::new("column", 1i32..=50).with_tile(25i32))
        .attribute(Attribute::new("a", Datatype::Int64, CellValNum::ONE))
        .attribute(Attribute::new("s", Datatype::StringAscii, CellValNum::Var))
        .build()
        .unwrap();
    WriteOptions::new().create(&array, &schema).unwrap();
    let a: Vec<i64> = (0..200_000).collect();
    let values: Vec<u8> = a.iter().flat_map(|at| at.to_string().into_bytes()).collect();
    let lengths = a.iter().map(|at| at.to_string().len() as u64);
    let offsets: Vec<u64> = std::iter::once(0)
        .chain(lengths.scan(0, |sum, len| {
            *sum += len;
            Some(*sum)
        }))
        .collect();
    let writer = WriteOptions::new().open(&array).unwrap();
    let write = writer.write().column(WriteColumn::fixed("a", &a));
    write.column(WriteColumn::var("s", &values, &offsets)).commit().unwrap();
    let copy = scratch.path().join("copy");
    said(&["copy", text(&array), text(&copy), "--memory", "4MiB"]);
    assert!(csv(&copy, &[]) == csv(&array, &[]));
    assert!(Array::open(&copy).unwrap().fragments().len() > 1, "it did not fit at once");
}

#[test]
fn the_least_memory_that_a_copy_names_is_enough() {
    let mut named = 0;
    for id in open_fixtures().iter().filter(|id| !id.contains("webp")).step_by(11) {
        let scratch = Scratch::new();
        let (array, copy) = (fixture(id), scratch.path().join("copy"));
        let within = |memory: &str| tdb(&["copy", text(&array), text(&copy), "--memory", memory]);
        let outcome = within("1");
        if outcome.code == 0 {
            continue;
        }
        assert!(!copy.exists(), "{id}");
        let least = outcome.err.trim_end().split("needs at least ").nth(1);
        let least = least.unwrap_or_else(|| panic!("{id}: {}", outcome.err));
        assert!(outcome.err.contains(text(&array)), "{id}: {}", outcome.err);
        let outcome = within(least);
        assert_eq!((outcome.code, outcome.err.as_str()), (0, ""), "{id} in {least}");
        named += 1;
    }
    assert!(named > 20, "{named}");
}

#[test]
fn a_failed_copy_leaves_nothing() {
    let scratch = Scratch::new();
    let (array, copy) = (fixture("2.30.0/sparse2d_rr"), scratch.path().join("copy"));
    refused(
        &["copy", text(&array), text(&copy), "--memory", "100KiB"],
        2,
        "--memory: 100 KiB is too little for this copy",
    );
    assert!(!copy.exists());
    said(&["copy", text(&array), text(&copy)]);
    assert!(csv(&copy, &[]) == csv(&array, &[]));
}

#[test]
fn keys_of_array_and_copy_may_differ() {
    let scratch = Scratch::new();
    let (array, copy) = (scratch.path().join("array"), scratch.path().join("copy"));
    let (key, other) = (scratch.path().join("key"), scratch.path().join("other"));
    fs::write(&key, [7; 32]).unwrap();
    fs::write(&other, [8; 32]).unwrap();
    let plain = fixture("2.30.0/quickstart");
    said(&["copy", text(&plain), text(&array), "--key-file", text(&key)]);
    refused(&["read", text(&array)], 1, "encrypted");
    let keys = ["--source-key-file", text(&key), "--key-file", text(&other)];
    said(&[&["copy", text(&array), text(&copy)], &keys[..]].concat());
    assert_eq!(csv(&copy, &["--key-file", text(&other)]), csv(&plain, &[]));
    assert_ne!(tdb(&["read", text(&copy), "--key-file", text(&key)]).code, 0);
}
