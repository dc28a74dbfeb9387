//! `tdb copy`.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tdb_array::schema::{ArraySchema, ArrayType, CellValNum, Datatype};
use tdb_array::{Array, WriteColumn, WriteOptions};
use tdb_schema::{Attribute, Dimension};

use crate::common::{
    NAN, Scratch, fixture, json_file, open_fixtures, refused, said, schema, schema_json, sparse, tdb, text,
};

/// Fixtures with lossy filters.
const LOSSY: &str = "webp_lossy";

fn csv(array: &Path, more: &[&str]) -> String {
    said(&[&["read", text(array), "--format", "csv", "--order", "row"], more].concat())
}

/// The type of each field and the bytes of its buffers, in row-major order.
fn buffers(array: &Path, scratch: &Scratch, name: &str) -> Vec<(Value, Vec<Option<Vec<u8>>>)> {
    let folder = scratch.path().join(name);
    said(&["read", text(array), "--format", "raw", "--order", "row", "--out", text(&folder)]);
    let manifest = json_file(&folder.join("manifest.json"));
    let field = |field: &Value| {
        let file = |kind: &str| field[kind].as_str().map(|name| fs::read(folder.join(name)).unwrap());
        (field["datatype"].clone(), ["data", "offsets", "validity"].map(file).to_vec())
    };
    manifest["fields"].as_array().unwrap().iter().map(field).collect()
}

#[test]
fn a_condition_leaves_out_cells_and_takes_null_only_if_it_asks_for_it() {
    let scratch = Scratch::new();
    let (array, copy) = (scratch.path().join("array"), scratch.path().join("copy"));
    sparse(&array);
    let copied = |condition: &str| {
        said(&["copy", text(&array), text(&copy), "--force", "--where", condition]);
        csv(&copy, &[])
    };
    for condition in ["v <= 7", "v <= 7 or v is null", "not (k in (1, 2))", "k > 100"] {
        assert_eq!(copied(condition), csv(&array, &["--where", condition]), "{condition}");
    }
    assert!(copied("v <= 7 or v is null").lines().count() > copied("v <= 7").lines().count());
    let to_copy = |array: &Path, condition: &str| {
        let place = scratch.path().join("none");
        let outcome = tdb(&["copy", text(array), text(&place), "--where", condition]);
        assert!(!place.exists());
        (outcome.code, outcome.err)
    };
    let (code, error) = to_copy(&array, "q = 1");
    assert!(code == 2 && error.contains("the array has no field \"q\""), "{error}");
    let (code, error) = to_copy(&fixture("2.30.0/quickstart"), "a > 1");
    assert!(code == 2 && error.contains("choose ranges"), "{error}");
}

#[test]
fn a_copy_holds_the_cells_the_labels_and_the_metadata() {
    let mut copied = 0;
    // The oldest and the newest only: each write waits for the disk.
    let ends = |id: &&String| ["1.", "2.30.0/"].iter().any(|version| id.starts_with(version));
    for id in open_fixtures().iter().filter(ends).filter(|id| !id.contains(LOSSY)) {
        let scratch = Scratch::new();
        let (array, copy) = (fixture(id), scratch.path().join("copy"));
        let outcome = tdb(&["copy", text(&array), text(&copy)]);
        if id == NAN {
            assert!(outcome.err.contains("the coordinate NaN"), "{}", outcome.err);
            assert!(!copy.exists());
            continue;
        }
        assert_eq!((outcome.code, outcome.err.as_str()), (0, ""), "{id}");
        if schema(&array).array_type == ArrayType::Dense {
            // A copy has cells with fill values where the array has none, so CSV shows more of it.
            assert!(buffers(&copy, &scratch, "of the copy") == buffers(&array, &scratch, "own"), "{id}");
        } else {
            // The attribute that 1.x called __attr is anonymous in later versions.
            let expected = csv(&array, &[]).replacen("__attr", "\"\"", 1);
            assert!(csv(&copy, &[]) == expected, "{id}");
        }
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
    assert!(csv(&path("part"), &[]).contains("\n1,1,\n"), "cells outside the part do not exist");

    refused(&["copy", text(&dense), text(&path("part"))], 1, "already");
    refused(
        &["copy", text(&dense), text(&path("x")), "--filters", "a=zst"],
        2,
        "\"zst\" is not a valid filter",
    );
    refused(
        &["copy", text(&dense), text(&path("x")), "--range", "rows=1", "--range", "rows=3"],
        2,
        "several ranges",
    );
    assert!(!path("x").exists());
}

#[test]
fn a_copy_of_cells_stored_out_of_order_is_in_order_in_every_version() {
    let mut copied = 0;
    for id in ["2.2.9/hilbert_alone_int32", "2.2.9/hilbert_alone_days", "1.6.3/sparse_dim_float64"] {
        let array = fixture(id);
        let expected = csv(&array, &[]);
        for version in tdb_codec::FormatVersion::all().map(|version| version.number().to_string()) {
            let scratch = Scratch::new();
            let copy = scratch.path().join("copy");
            let outcome = tdb(&["copy", text(&array), text(&copy), "--version", &version]);
            if outcome.code != 0 {
                assert!(outcome.err.contains("version"), "{id}, {version}: {}", outcome.err);
                assert!(!outcome.err.contains("out of global order"), "{id}, {version}: {}", outcome.err);
                continue;
            }
            assert!(csv(&copy, &[]) == expected, "{id}, {version}");
            assert_eq!(tdb(&["verify", text(&copy)]).code, 0, "{id}, {version}");
            let global = |array: &Path| said(&["read", text(array), "--order", "global", "--format", "csv"]);
            let again = scratch.path().join("again");
            said(&["copy", text(&copy), text(&again), "--version", &version]);
            assert!(global(&again) == global(&copy), "{id}, {version}");
            copied += 1;
        }
    }
    assert!(copied > 45, "{copied}");
}

#[test]
fn arrays_at_the_limits_of_their_types_are_made_and_copied() {
    let scratch = Scratch::new();
    let path = |name: &str| scratch.path().join(name);
    // As made by TileDB-Vector-Search.
    let schema = json!({
        "type": "sparse",
        "dimensions": [{"name": "i", "datatype": "INT32", "domain": [0, i32::MAX], "extent": 4_000_000}],
        "attributes": [{"name": "a", "datatype": "UINT8"}],
    });
    for kind in ["sparse", "dense"] {
        let mut schema = schema.clone();
        schema["type"] = json!(kind);
        let file = path("schema.json");
        fs::write(&file, schema.to_string()).unwrap();
        let array = path(kind);
        said(&["create", text(&array), "--schema", text(&file)]);
        let options = WriteOptions::new().open(&array).unwrap();
        let write = match kind {
            "sparse" => options.write().column(WriteColumn::fixed("i", &[0, i32::MAX])),
            _ => options.write().range("i", i32::MAX - 1..=i32::MAX),
        };
        write.column(WriteColumn::fixed("a", &[7u8, 9])).commit().unwrap();
        let copy = path(&format!("{kind} copy"));
        assert_eq!(said(&["copy", text(&array), text(&copy)]), "2 cells copied\n");
        let last = ["read", text(&copy), "--format", "csv", "--range", "i=2147483647"];
        assert_eq!(said(&last), "i,a\n2147483647,9\n", "{kind}");
        assert_eq!(tdb(&["verify", text(&copy)]).code, 0);
    }
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
    // A copy of NaN coordinates is refused whatever its memory.
    let copied = |id: &&String| !id.contains("webp") && !id.contains("nan_coordinates");
    for id in open_fixtures().iter().filter(copied).step_by(11) {
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
fn a_copy_of_one_tile_has_room_for_its_cells_and_for_what_is_made_of_them() {
    let scratch = Scratch::new();
    let (array, copy) = (scratch.path().join("array"), scratch.path().join("copy"));
    let schema = ArraySchema::dense()
        .dimension(Dimension::new("x", 1i32..=1_000_000).with_tile(1_000_000i32))
        .attribute(Attribute::new("a", Datatype::Int64, CellValNum::ONE));
    WriteOptions::new().create(&array, &schema.build().unwrap()).unwrap();
    let a: Vec<i64> = (0..1_000_000).collect();
    let writer = WriteOptions::new().open(&array).unwrap();
    writer.write().column(WriteColumn::fixed("a", &a)).commit().unwrap();
    // The cells, the tile that is assembled of them, and the filtered one.
    let least = (3 * 8_000_000u64).next_multiple_of(1024);
    let within = |memory: u64| tdb(&["copy", text(&array), text(&copy), "--memory", &memory.to_string()]);
    let refused = within(least - 1);
    assert_eq!(refused.code, 2, "{}", refused.err);
    assert!(refused.err.contains("needs at least 23438 KiB"), "{}", refused.err);
    assert!(!copy.exists());
    assert_eq!(within(least).code, 0);
    assert!(csv(&copy, &[]) == csv(&array, &[]));
}

#[test]
fn a_failed_copy_leaves_nothing() {
    let scratch = Scratch::new();
    let (array, copy) = (fixture("2.30.0/sparse2d_rr"), scratch.path().join("copy"));
    refused(
        &["copy", text(&array), text(&copy), "--memory", "100KiB"],
        2,
        "--memory: 100 KiB is not enough for this copy",
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
    // The key of the copy does not open the array.
    let one = ["copy", text(&array), text(&copy), "--key-file", text(&key)];
    refused(&one, 1, "give it with --source-key-file (--key-file is the key of the copy)");
    let keys = ["--source-key-file", text(&key), "--key-file", text(&other)];
    said(&[&["copy", text(&array), text(&copy)], &keys[..]].concat());
    assert_eq!(csv(&copy, &["--key-file", text(&other)]), csv(&plain, &[]));
    assert_ne!(tdb(&["read", text(&copy), "--key-file", text(&key)]).code, 0);
}

#[test]
fn what_libraries_of_the_copy_s_version_do_not_know_is_refused_before_there_is_a_copy() {
    let scratch = Scratch::new();
    let copy = scratch.path().join("copy");
    let to = |id: &str, version: &str, part: &str| {
        refused(&["copy", text(&fixture(id)), text(&copy), "--version", version], 1, part);
        assert!(!copy.exists(), "{id} at {version}");
    };
    let metadata = "2.30.0/meta_types";
    to(metadata, "21", "format version 21 cannot hold the datatype GEOM_WKB of key \"k20_geom_wkb\"");
    to(metadata, "10", "cannot hold the datatype BLOB of key");
    to("2.30.0/base_meta", "3", "arrays of format version 3 have no metadata");
    to("2.12.3/filter_xor", "15", "format version 15 cannot hold the filter 'xor' of");
    to("2.30.0/hilbert_int32", "6", "format version 6 cannot hold the order of cells \"hilbert\"");
    said(&["copy", text(&fixture(metadata)), text(&copy), "--version", "22"]);
}

#[test]
fn the_attribute_without_a_name_is_what_libraries_of_1_x_call_it_in_copies_for_them() {
    let source = fixture("2.30.0/anonymous_sparse");
    for version in ["3", "4"] {
        let scratch = Scratch::new();
        let (copy, again) = (scratch.path().join("copy"), scratch.path().join("again"));
        said(&["copy", text(&source), text(&copy), "--version", version]);
        let fragment = Array::open(&copy).unwrap().fragments()[0].name().to_owned();
        assert!(copy.join(&fragment).join("__attr.tdb").is_file(), "{fragment}");
        assert_eq!(csv(&copy, &[]), csv(&source, &[]).replacen("\"\"", "__attr", 1));
        said(&["copy", text(&copy), text(&again)]);
        assert_eq!(csv(&again, &[]), csv(&source, &[]));
    }
}
