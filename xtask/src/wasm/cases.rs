//! What the package is compared with: reads of fixtures, as tdb returns them natively, and a large
//! array.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tdb_array::schema::{ArraySchema, Attribute, Dimension, Filter, Pipeline};
use tdb_array::{Array, Key, Layout, OpenOptions, TimeWindow, WriteColumn, WriteOptions};

use super::{Browser, CHROMIUM};

/// The fixtures that are read, and the purpose of each.
const FIXTURES: [(&str, &str); 13] = [
    ("1.4.0/capacity_exact", "version 1, sparse"),
    ("1.7.7/base_dense", "version 4, dense, strings, several fragments"),
    ("2.2.9/base_nullable_dense", "the first nullable cells"),
    ("2.30.0/fragments_dense", "fragments that overlap, in every order and at several times"),
    ("2.30.0/fragments_sparse", "the same of sparse cells"),
    ("2.30.0/base_strings", "dimensions of strings and reals"),
    ("2.30.0/nullable_types", "nullable numbers, lists and strings"),
    ("2.30.0/hilbert_string", "cells along a Hilbert curve"),
    ("2.30.0/deletes", "delete conditions"),
    ("2.30.0/filter_chain_long", "gzip, zstd and lz4 in one chain"),
    ("2.30.0/filter_chain_dd_bzip2", "double delta and bzip2"),
    ("2.30.0/filter_webp", "images"),
    ("2.30.0/encrypted_sparse", "encryption"),
];

const ORDERS: [Layout; 4] = [Layout::RowMajor, Layout::ColMajor, Layout::GlobalOrder, Layout::Unordered];

/// Cells along each side of the large array, and of its tiles. With cells of 4 bytes it has 1 GiB.
const SIDE: i32 = 16384;
const TILE: i32 = 256;
/// Rows that are written at once, and the memory of the stream that makes one fragment of them.
const BAND: i32 = 2048;
const MEMORY: usize = 256 << 20;

/// Writes `cases.json` into the folder, and what it names.
pub(super) fn write(
    root: &Path,
    folder: &Path,
    zarrita: &Result<PathBuf, String>,
    browser: &Result<Browser, String>,
) -> Result<(), String> {
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut native = Vec::new();
    for (id, _) in FIXTURES {
        native.append(&mut reads(root, id)?);
    }
    let (chromium, playwright, reason) = match browser {
        Ok(browser) => (Some(CHROMIUM), Some(browser.playwright.display().to_string()), None),
        Err(reason) => (None, None, Some(reason)),
    };
    let cases = json!({
        "native": native,
        "large": large(folder).map_err(|error| format!("the large array: {error}"))?,
        "zarrita": zarrita.as_ref().ok().map(|folder| folder.display().to_string()),
        "zarrless": zarrita.as_ref().err(),
        "chromium": chromium, "playwright": playwright, "reason": reason,
    });
    let file = folder.join("cases.json");
    fs::write(&file, cases.to_string()).map_err(|error| format!("cannot write {}: {error}", file.display()))
}

/// The reads of one fixture: in every order, and row by row at every time that was recorded.
fn reads(root: &Path, id: &str) -> Result<Vec<Value>, String> {
    let fixtures = root.join("xtask/fixtures");
    let recorded = fixtures.join(format!("expected/{id}.json"));
    let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", recorded.display());
    let text = fs::read_to_string(&recorded).map_err(|error| failed(&error))?;
    let json: Value = serde_json::from_str(&text).map_err(|error| failed(&error))?;
    let key = json.get("key").and_then(Value::as_str);
    let mut asked: Vec<(TimeWindow, Layout)> = ORDERS.map(|order| (TimeWindow::ALL, order)).to_vec();
    for query in json.get("queries").and_then(Value::as_array).into_iter().flatten() {
        let time = |at: usize| query.get("timestamps")?.get(at)?.as_u64();
        let window = TimeWindow::between(time(0).unwrap_or(0), time(1).unwrap_or(u64::MAX));
        if !asked.contains(&(window, Layout::RowMajor)) {
            asked.push((window, Layout::RowMajor));
        }
    }
    let mut made = Vec::new();
    for (window, order) in asked {
        let path = fixtures.join("arrays").join(id);
        let mut options = OpenOptions::new().window(window);
        if let Some(key) = key {
            let bytes = key.as_bytes().try_into().map_err(|_| format!("a key of {} bytes", key.len()))?;
            options = options.key(Key::new(bytes));
        }
        let array = options.open(path).map_err(|error| error.to_string())?;
        // Not every array can be read in every order; the tests of the crate compare the failures.
        let Ok(cells) = array.read().order(order).collect() else { continue };
        let encoded = tdb_wasm_reader::encode(&cells, array.schema()).map_err(|failure| failure.message)?;
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        made.push(json!({
            "id": id, "start": window.start.to_string(), "end": window.end.to_string(), "order": order.name(),
            "key": key.map(|key| hex(key.as_bytes())), "digest": hex(&Sha256::digest(&encoded)),
        }));
    }
    Ok(made)
}

/// An array of 1 GiB, a window of it with the sum of its cells, and the stored bytes of the tiles
/// that the window touches.
fn large(folder: &Path) -> Result<Value, Box<dyn std::error::Error>> {
    let path = folder.join("large/array");
    let side = |name: &str| Dimension::new(name, 0..=SIDE - 1).with_tile(TILE);
    let filters = Pipeline::new(vec![Filter::ByteShuffle, Filter::Zstd { level: 1 }]);
    let schema = ArraySchema::dense()
        .dimension(side("row"))
        .dimension(side("column"))
        .attribute(Attribute::of::<i32>("a").with_filters(filters))
        .build()?;
    WriteOptions::new().create(&path, &schema)?;
    let writer = WriteOptions::new().open(&path)?;
    let cell =
        |row: i32, column: i32| (row.wrapping_mul(7919) ^ column.wrapping_mul(104_729)).rem_euclid(1000);
    let mut stream = writer.write().stream(MEMORY)?;
    for first in (0..SIDE).step_by(usize::try_from(BAND)?) {
        let rows = first..first + BAND;
        let values: Vec<i32> = rows.flat_map(|row| (0..SIDE).map(move |column| cell(row, column))).collect();
        stream.append(&[WriteColumn::fixed("a", &values)])?;
    }
    stream.commit()?;
    // Two tiles by two.
    let (low, high) = (3 * TILE - 100, 3 * TILE + 99);
    let window = |from: i32, to: i32| from..=to;
    let sum: i64 = window(low, high)
        .flat_map(|row| window(low, high).map(move |column| i64::from(cell(row, column))))
        .sum();
    let array = Array::open(&path)?;
    let explain = array.read().range("row", low..=high).range("column", low..=high).explain()?;
    let tile_bytes: u64 = explain.fields.iter().map(|field| field.bytes).sum();
    Ok(json!({
        "folder": folder.join("large").display().to_string(),
        "ranges": {"row": [low, high], "column": [low, high]}, "sum": sum, "tileBytes": tile_bytes,
    }))
}
