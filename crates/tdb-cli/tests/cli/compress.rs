//! `--compress`: filters that suit the datatype and the data.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::common::{Scratch, files, refused, said, schema_json, tdb, text};

/// A number that looks like chance.
fn chance(row: u64) -> u64 {
    let mut bits = (row + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb)
}

/// A table with a rising time, a smooth real, small numbers, long names of which there are few, and
/// a text that never repeats.
fn table(path: &Path) {
    let mut csv = "time,level,noise,station,note\n".to_owned();
    for row in 0..5_000u64 {
        let (time, level) = (1_577_836_800_000 + row * 60_000, 20.0 + (row as f64 / 500.0).sin());
        let (noise, name) = (chance(row) >> 50, chance(chance(row) % 100));
        let station = format!("{name:x}{name:x}{:x}", name % 65_537);
        writeln!(csv, "{time},{level},{noise},{station},note number {row}").unwrap();
    }
    fs::write(path, csv).unwrap();
}

/// The names of the filters of each field.
fn filters(array: &Path) -> Vec<(String, Vec<String>)> {
    let schema = schema_json(array);
    let fields = ["dimensions", "attributes"].map(|key| schema[key].as_array().unwrap().clone());
    let names = |field: &Value| {
        let filters = field["filters"].as_array().unwrap().iter();
        let filters = filters.map(|filter| filter["name"].as_str().unwrap().to_owned()).collect();
        (field["name"].as_str().unwrap().to_owned(), filters)
    };
    fields.concat().iter().map(names).collect()
}

/// The bytes of all data files of an array.
fn size(array: &Path) -> u64 {
    let data = files(array).into_iter().filter(|file| !text(file).contains("/__schema/"));
    data.map(|file| fs::metadata(file).unwrap().len()).sum()
}

#[test]
fn an_import_chooses_filters_by_type_and_data_and_prints_them() {
    let scratch = Scratch::new();
    let at = |name: &str| scratch.path().join(name);
    table(&at("table.csv"));
    let import = |name: &str, more: &[&str]| {
        said(&[&["import", text(&at(name)), text(&at("table.csv")), "--dims", "time"], more].concat())
    };
    let read = |name: &str| said(&["read", text(&at(name)), "--order", "row", "--format", "csv"]);
    import("plain", &[]);
    let small = import("small", &["--compress", "small"]);
    let of = |name: &str| {
        let found = filters(&at("small")).into_iter().find(|(field, _)| field == name).unwrap();
        found.1.join(", ")
    };
    assert_eq!(of("time"), "delta, zstd", "equal steps");
    assert_eq!(of("level"), "byteshuffle, zstd");
    assert!(
        ["bit-width-reduction, zstd", "byteshuffle, zstd"].contains(&of("noise").as_str()),
        "{}",
        of("noise")
    );
    assert_eq!(of("station"), "dictionary");
    assert_eq!(of("note"), "zstd");
    assert!(small.contains("filters of station: dictionary\n"), "{small}");
    assert!(small.contains("filters of level: byteshuffle, zstd(level 9)\n"), "{small}");
    assert!(small.ends_with("5000 cells written\n"), "{small}");
    assert!(size(&at("small")) < size(&at("plain")), "{} {}", size(&at("small")), size(&at("plain")));

    let fast = import("fast", &["--compress", "fast"]);
    assert!(fast.contains("filters of time: byteshuffle, lz4\n"), "{fast}");
    assert!(filters(&at("fast")).iter().all(|(_, filters)| filters.last().unwrap() == "lz4"));
    import("none", &["--compress", "none"]);
    assert!(filters(&at("none")).iter().all(|(_, filters)| filters.is_empty()));
    assert_eq!(schema_json(&at("none"))["offsets_filters"], json!([]));
    for name in ["small", "fast", "none"] {
        assert!(read(name) == read("plain"), "{name}");
        assert_eq!(tdb(&["verify", text(&at(name))]).code, 0);
        // Later rows get the same filters, whatever they are like.
        fs::write(
            at("odd.csv"),
            "time,level,noise,station,note\n-7,nan,-9000000000,\"\",x\n7,inf,9000000000,é,\"\"\n",
        )
        .unwrap();
        said(&["import", text(&at(name)), text(&at("odd.csv"))]);
        assert_eq!(read(name).lines().count(), 5_003, "{name}");
        assert_eq!(tdb(&["verify", text(&at(name))]).code, 0);
    }
    let (small, csv) = (at("small"), at("table.csv"));
    refused(
        &["import", text(&small), text(&csv), "--compress", "fast"],
        2,
        "--compress is only for a new array",
    );
    refused(
        &["import", text(&at("new")), text(&at("table.csv")), "--compress", "tiny"],
        2,
        "small, fast, none",
    );
}

#[test]
fn a_dry_run_shows_the_filters_and_an_image_has_some_too() {
    let scratch = Scratch::new();
    let (csv, npy) = (scratch.path().join("table.csv"), scratch.path().join("image.npy"));
    let array = scratch.path().join("array");
    table(&csv);
    let shown = said(&["import", text(&array), text(&csv), "--compress", "small", "--dry-run"]);
    let schema: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(schema["dimensions"][0]["name"], "row");
    assert_eq!(schema["dimensions"][0]["filters"][0]["name"], "delta");
    assert!(!array.exists());
    let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (64, 64), }\n";
    let cells: Vec<u8> = (0..4096u16).flat_map(|at| f32::from(at).sqrt().to_le_bytes()).collect();
    let len = u16::try_from(header.len()).unwrap().to_le_bytes();
    fs::write(&npy, [b"\x93NUMPY\x01\x00", &len[..], header.as_bytes(), &cells].concat()).unwrap();
    let made = said(&["import", text(&array), text(&npy), "--compress", "small"]);
    assert_eq!(made, "filters of a: byteshuffle, zstd(level 9)\n4096 cells written\n");
}

#[test]
fn create_chooses_what_a_schema_leaves_open_and_its_version_has() {
    let scratch = Scratch::new();
    let file = scratch.path().join("schema.json");
    let schema = json!({
        "type": "sparse",
        "dimensions": [{"name": "x", "datatype": "INT64", "domain": [0, 99], "extent": 10}],
        "attributes": [
            {"name": "count", "datatype": "UINT32"},
            {"name": "level", "datatype": "FLOAT64"},
            {"name": "mine", "datatype": "FLOAT64", "filters": ["gzip"]},
            {"name": "note", "datatype": "STRING_ASCII"},
            {"name": "day", "datatype": "DATETIME_DAY"},
        ],
    });
    fs::write(&file, schema.to_string()).unwrap();
    for version in ["3", "7", "12", "18", "22"] {
        let array = scratch.path().join(version);
        let made = said(&[
            "create",
            text(&array),
            "--schema",
            text(&file),
            "--version",
            version,
            "--compress",
            "small",
        ]);
        assert!(
            made.contains("filters of count: bit-width-reduction(max window 256), zstd(level 9)\n"),
            "{made}"
        );
        assert!(made.contains("filters of level: byteshuffle, zstd(level 9)\n"), "{made}");
        assert!(made.contains("filters of note: zstd(level 9)\n") && !made.contains("mine"), "{made}");
        assert_eq!(made.contains("filters of x: "), version != "3", "{made}");
        let chosen = filters(&array);
        let of = |name: &str| chosen.iter().find(|(field, _)| field == name).unwrap().1.clone();
        assert_eq!(of("mine"), ["gzip"]);
        assert!(chosen.iter().flat_map(|(_, filters)| filters).all(|filter| filter != "delta"), "{chosen:?}");
        // Dates were no numbers to this filter before.
        assert_eq!(of("day").contains(&"bit-width-reduction".to_owned()), version == "22", "{version}");
    }
}
