//! Hierarchies of the fixtures, read as a reader of Zarr reads them: documents first, then chunks.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that panics has failed"
)]

use core::future::Future;
use core::pin::pin;
use core::task::{Context, Poll, Waker};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use tdb_array::group::{LocalPlaces, Places};
use tdb_array::schema::{ArraySchema, ArrayType, Attribute, Dimension};
use tdb_array::storage::{Immediate, LocalStorage, MemoryStorage};
use tdb_array::{Array, Column, Key, Layout, OpenOptions, TimeWindow, WriteColumn, WriteOptions};
use tdb_text::value::text_of;
use tdb_zarr::{Error, Formats, Hierarchy, Options, Span};

/// The most cells that a test reads of an array.
const MOST: u64 = 200_000;

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../xtask/fixtures")
}

/// Identifiers, folders and keys of all arrays.
fn arrays() -> Vec<(String, PathBuf, Option<Key>)> {
    let manifest: Value =
        serde_json::from_slice(&fs::read(fixtures().join("manifest.json")).unwrap()).unwrap();
    let entries = manifest.as_array().unwrap().iter().filter(|entry| entry["object"].is_null());
    let entry = |entry: &Value| {
        let id = entry["id"].as_str().unwrap().to_owned();
        let key = entry["key"].as_str().map(|key| Key::new(key.as_bytes().try_into().unwrap()));
        let folder = fixtures().join("arrays").join(&id);
        (id, folder, key)
    };
    entries.map(entry).collect()
}

fn open(id: &str) -> Array {
    OpenOptions::new().window(TimeWindow::ALL).open(fixtures().join("arrays").join(id)).unwrap()
}

fn document(hierarchy: &Hierarchy, key: &str) -> Value {
    let bytes = hierarchy.get(key, Span::All).unwrap().unwrap_or_else(|| panic!("no {key}"));
    serde_json::from_slice(&bytes).unwrap()
}

fn numbers(value: &Value) -> Vec<u64> {
    value.as_array().unwrap().iter().map(|one| one.as_u64().unwrap()).collect()
}

/// The bytes of a value of a fixed size in a chunk; `None` for texts and bytes of any length.
fn size_of(data_type: &Value) -> Option<usize> {
    match data_type {
        Value::String(name) if matches!(name.as_str(), "string" | "variable_length_bytes") => None,
        Value::String(name) if name == "bool" => Some(1),
        Value::String(name) => {
            let bits: usize = name.trim_start_matches(char::is_alphabetic).parse().unwrap();
            Some(bits / 8)
        }
        // Dates have no length.
        other => other["configuration"]["length_bytes"].as_u64().map_or(Some(8), |size| size.try_into().ok()),
    }
}

/// The cells of a chunk; `inner` values make one.
fn cells_of(chunk: &[u8], data_type: &Value, inner: usize) -> Vec<Vec<u8>> {
    if let Some(size) = size_of(data_type) {
        return chunk.chunks(size * inner).map(<[u8]>::to_vec).collect();
    }
    let number = |at: usize| u32::from_le_bytes(chunk[at..at + 4].try_into().unwrap()) as usize;
    let (count, mut at, mut cells) = (number(0), 4, Vec::new());
    for _ in 0..count {
        let len = number(at);
        cells.push(chunk[at + 4..at + 4 + len].to_vec());
        at += 4 + len;
    }
    assert_eq!(at, chunk.len(), "bytes are left behind the last cell");
    cells
}

/// Every place of a box of this shape, in row-major order.
fn places(shape: &[u64]) -> Vec<Vec<u64>> {
    shape.iter().fold(vec![Vec::new()], |before, count| {
        let longer =
            |place: &Vec<u64>| (0..*count).map(|at| [place.as_slice(), &[at]].concat()).collect::<Vec<_>>();
        before.iter().flat_map(longer).collect()
    })
}

/// All cells of an array in row-major order; a cell of a chunk that is not there is `None`. `None`
/// of an array that is too large for a test, or whose texts are none.
fn read(hierarchy: &Hierarchy, path: &str, axes: usize) -> Option<Vec<Option<Vec<u8>>>> {
    let said = document(hierarchy, &format!("{path}/zarr.json"));
    let (shape, chunks) =
        (numbers(&said["shape"]), numbers(&said["chunk_grid"]["configuration"]["chunk_shape"]));
    let inner: u64 = shape[axes..].iter().product();
    let (shape, chunks) = (&shape[..axes], &chunks[..axes]);
    if shape.iter().product::<u64>() > MOST {
        return None;
    }
    let behind = if said["shape"].as_array().unwrap().len() > axes { "/0" } else { "" };
    let mut found: BTreeMap<Vec<u64>, Vec<u8>> = BTreeMap::new();
    let grid: Vec<u64> = shape.iter().zip(chunks).map(|(shape, chunk)| shape.div_ceil(*chunk)).collect();
    for index in places(&grid) {
        let name: String = index.iter().map(|at| format!("/{at}")).collect();
        let key = format!("{path}/c{name}{behind}");
        let chunk = match hierarchy.get(&key, Span::All) {
            Ok(Some(chunk)) => chunk,
            Ok(None) => continue,
            Err(error @ Error::NotText { .. }) => {
                println!("{key}: {error}");
                return None;
            }
            Err(error) => panic!("{key}: {error}"),
        };
        let cells = cells_of(&chunk, &said["data_type"], inner.try_into().unwrap());
        let inside = places(chunks);
        assert_eq!(cells.len(), inside.len(), "{key}: edge chunks are padded");
        for (cell, place) in cells.into_iter().zip(inside) {
            let place: Vec<u64> =
                place.iter().zip(&index).zip(chunks).map(|((at, i), c)| at + i * c).collect();
            found.insert(place, cell);
        }
    }
    Some(places(shape).iter().map(|place| found.get(place).cloned()).collect())
}

/// What Zarr shows of the cells of a column.
fn shown(column: &Column, cells: usize, data_type: &Value) -> Vec<Vec<u8>> {
    let text = data_type == "string";
    let cell = |at| {
        let bytes = column.cell(at).unwrap();
        match column.datatype.name() {
            _ if size_of(data_type).is_none() && column.is_null(at) => Vec::new(),
            "BOOL" => bytes.iter().map(|byte| u8::from(*byte != 0)).collect(),
            "STRING_UTF16" | "STRING_UCS2" if text => {
                let units = bytes.chunks(2).map(|unit| u16::from_le_bytes(unit.try_into().unwrap()));
                char::decode_utf16(units).map(Result::unwrap).collect::<String>().into_bytes()
            }
            "STRING_UTF32" | "STRING_UCS4" if text => {
                let units = bytes.chunks(4).map(|unit| u32::from_le_bytes(unit.try_into().unwrap()));
                units.map(|unit| char::from_u32(unit).unwrap()).collect::<String>().into_bytes()
            }
            _ => bytes.to_vec(),
        }
    };
    (0..cells).map(cell).collect()
}

/// The cells that queries return: positions before the current domain have fill values in Zarr.
fn readable(schema: &ArraySchema, said: &Value, cells: Vec<Option<Vec<u8>>>) -> Vec<Option<Vec<u8>>> {
    let (ArrayType::Dense, Some(current)) = (schema.array_type, &schema.current_domain) else { return cells };
    let dimensions = &schema.domain.dimensions;
    let lows: Vec<u64> =
        dimensions.iter().zip(&current.ranges).map(|(one, range)| one.ordinal(&range.low).unwrap()).collect();
    let shape = numbers(&said["shape"]);
    let is_inside = |place: &Vec<u64>| place.iter().zip(&lows).all(|(at, low)| at >= low);
    let places = places(&shape[..lows.len()]).into_iter().zip(cells);
    places.filter(|(place, _)| is_inside(place)).map(|(_, cell)| cell).collect()
}

/// Compares what a hierarchy shows of a field with what a query returns. Whether it was compared.
fn compare(id: &str, array: &Array, hierarchy: &Hierarchy, field: &str) -> bool {
    let path = if matches!(field, "" | "__attr") { "values" } else { field };
    let schema = array.schema();
    let dense = schema.array_type == ArrayType::Dense;
    let axes = if dense { schema.domain.dimensions.len() } else { 1 };
    let Some(found) = read(hierarchy, path, axes) else { return false };
    let mut found = readable(schema, &document(hierarchy, &format!("{path}/zarr.json")), found);
    let cells = array.read().fields([field]).order(Layout::RowMajor).collect().unwrap();
    let column = &cells.columns()[0];
    let data_type = &document(hierarchy, &format!("{path}/zarr.json"))["data_type"];
    let mut said = shown(column, cells.len(), data_type);
    if id.contains("sparse_bytes_1d") {
        // Parts of such an array do not follow each other in the order of the whole.
        found.sort();
        said.sort();
    }
    assert_eq!(found.len(), said.len(), "{id} {field}");
    let fill = schema.attribute(field).map(|attribute| attribute.fill_value.clone());
    for (at, (found, said)) in found.iter().zip(&said).enumerate() {
        match found {
            Some(found) => assert_eq!(found, said, "{id} {field} cell {at}"),
            // The value below a null does not count.
            None if column.is_null(at) => {}
            None if data_type == "string" => {
                let fill = text_of(column.datatype, fill.as_ref().unwrap());
                assert_eq!(Some(said), fill.map(String::into_bytes).as_ref(), "{id} {field} cell {at}");
            }
            None => assert_eq!(Some(said), fill.as_ref(), "{id} {field} cell {at}"),
        }
    }
    if let Some(validity) = column.validity() {
        let found = read(hierarchy, &format!("{path}_validity"), axes).unwrap();
        let found = readable(schema, &document(hierarchy, &format!("{path}/zarr.json")), found);
        let unwritten = schema.attribute(field).map(|attribute| attribute.fill_validity);
        for (at, found) in found.iter().enumerate() {
            let found = found.as_ref().map_or_else(|| unwritten.unwrap(), |cell| cell[0]);
            assert_eq!(found != 0, validity[at] != 0, "{id} {field} validity {at}");
        }
    }
    true
}

/// What [`the_fixtures_are_shown_cell_by_cell`] found, per kind of array.
#[derive(Debug, Default, PartialEq, Eq)]
struct Found {
    fields: usize,
    large: usize,
}

#[test]
fn the_fixtures_are_shown_cell_by_cell() {
    let (mut dense, mut sparse) = (Found::default(), Found::default());
    let mut refused: BTreeMap<String, usize> = BTreeMap::new();
    for (id, folder, key) in arrays() {
        let mut options = OpenOptions::new().window(TimeWindow::ALL);
        if let Some(key) = key {
            options = options.key(key);
        }
        let Ok(array) = options.open(folder) else { continue };
        // Several chunks a column.
        let hierarchy = match Hierarchy::new(&array, &Options::new().rows(7)) {
            Ok(hierarchy) => hierarchy,
            Err(error) => panic!("{id}: {error}"),
        };
        for one in hierarchy.refused() {
            *refused.entry(one.reason.clone()).or_default() += 1;
        }
        let schema = array.schema();
        let is_dense = schema.array_type == ArrayType::Dense;
        let of = if is_dense { &mut dense } else { &mut sparse };
        let dimensions = schema.domain.dimensions.iter().map(|one| &one.name).filter(|_| !is_dense);
        for field in dimensions.chain(schema.attributes.iter().map(|one| &one.name)) {
            let path = if matches!(field.as_str(), "" | "__attr") { "values" } else { field };
            let is_refused = hierarchy.refused().iter().any(|one| one.path == path || one.path.is_empty());
            if is_refused {
                continue;
            }
            match compare(&id, &array, &hierarchy, field) {
                true => of.fields += 1,
                false => of.large += 1,
            }
        }
    }
    println!("dense {dense:?}, sparse {sparse:?}");
    refused.iter().for_each(|(reason, count)| println!("{count} × {reason}"));
    assert!(dense.fields > 300 && sparse.fields > 1000, "dense {dense:?}, sparse {sparse:?}");
}

#[test]
fn a_dense_array_has_documents_of_both_versions_or_of_one() {
    let array = open("2.30.0/quickstart");
    let both = Hierarchy::new(&array, &Options::new()).unwrap();
    let expected = json!({
        "zarr_format": 2, "shape": [4, 4], "chunks": [2, 2], "dtype": "<i4", "compressor": null,
        "fill_value": i32::MIN, "order": "C", "filters": null, "dimension_separator": ".",
    });
    assert_eq!(document(&both, "a/.zarray"), expected);
    assert_eq!(document(&both, "a/.zattrs"), json!({"_ARRAY_DIMENSIONS": ["rows", "cols"]}));
    assert_eq!(document(&both, "a/zarr.json")["dimension_names"], json!(["rows", "cols"]));
    assert_eq!(document(&both, ".zgroup"), json!({"zarr_format": 2}));
    assert_eq!(document(&both, "zarr.json")["node_type"], "group");
    let all = document(&both, ".zmetadata");
    let mut documents: Vec<&String> = all["metadata"].as_object().unwrap().keys().collect();
    documents.sort();
    let expected = [
        ".zattrs",
        ".zgroup",
        "a/.zarray",
        "a/.zattrs",
        "cols/.zarray",
        "cols/.zattrs",
        "rows/.zarray",
        "rows/.zattrs",
    ];
    assert_eq!(documents, expected);
    assert_eq!(all["metadata"]["a/.zarray"], document(&both, "a/.zarray"));
    // The domain begins with 1, so there are coordinates.
    let rows = both.get("rows/c/0", Span::All).unwrap().unwrap();
    assert_eq!(rows.chunks(4).map(|one| one[0]).collect::<Vec<_>>(), [1, 2, 3, 4]);

    let only = |formats, key: &str| {
        Hierarchy::new(&array, &Options::new().formats(formats))
            .unwrap()
            .get(key, Span::All)
            .unwrap()
            .is_some()
    };
    for key in ["zarr.json", "a/zarr.json", "a/c/0/0"] {
        assert!(only(Formats::V3, key) && !only(Formats::V2, key), "{key}");
    }
    for key in [".zgroup", ".zattrs", ".zmetadata", "a/.zarray", "a/.zattrs", "a/0.0"] {
        assert!(!only(Formats::V3, key) && only(Formats::V2, key), "{key}");
    }
}

#[test]
fn keys_that_name_nothing_have_no_bytes_and_parts_of_one_are_parts() {
    let hierarchy = Hierarchy::new(&open("2.30.0/quickstart"), &Options::new()).unwrap();
    for key in [
        "",
        "/",
        "zarr.jso",
        "a",
        "a/",
        "b/zarr.json",
        "a/zarr.json/",
        "a/c",
        "a/c/0",
        "a/c/0/0/0",
        "a/c/2/0",
        "a/c/00/0",
        "a/c/-1/0",
        "a/0.0.0",
        "a/0",
        "a/.zgroup",
        ".zarray",
        "a/.zmetadata",
        "../a/zarr.json",
        "a//zarr.json",
        "a/c/18446744073709551615/0",
    ] {
        assert_eq!(hierarchy.get(key, Span::All).unwrap(), None, "{key}");
    }
    let whole = hierarchy.get("a/c/1/1", Span::All).unwrap().unwrap();
    assert_eq!(hierarchy.get("a/c/1/1", Span::Between(4, 8)).unwrap().unwrap(), whole.slice(4..8));
    assert_eq!(hierarchy.get("a/c/1/1", Span::Last(4)).unwrap().unwrap(), whole.slice(12..));
}

#[test]
fn listings_have_the_keys_that_answer() {
    let hierarchy = Hierarchy::new(&open("2.30.0/quickstart"), &Options::new().formats(Formats::V3)).unwrap();
    let keys = hierarchy.list("").unwrap();
    let expected = [
        "a/c/0/0",
        "a/c/0/1",
        "a/c/1/0",
        "a/c/1/1",
        "a/zarr.json",
        "cols/c/0",
        "cols/zarr.json",
        "rows/c/0",
        "rows/zarr.json",
        "zarr.json",
    ];
    assert_eq!(keys, expected);
    assert_eq!(hierarchy.list("a/c/1").unwrap(), ["a/c/1/0", "a/c/1/1"]);
    assert_eq!(hierarchy.children("").unwrap(), ["zarr.json", "rows", "cols", "a"]);
    assert_eq!(hierarchy.children("a").unwrap(), ["c", "zarr.json"]);
    assert!(hierarchy.children("b").unwrap().is_empty() && hierarchy.list("b").unwrap().is_empty());
    for id in ["2.30.0/sparse2d_rr", "2.30.0/quickstart"] {
        let hierarchy = Hierarchy::new(&open(id), &Options::new().rows(5)).unwrap();
        for key in hierarchy.list("").unwrap() {
            assert!(hierarchy.get(&key, Span::All).unwrap().is_some(), "{id} {key}");
        }
    }
}

/// A dense array of 10^12 cells in which one tile was written.
fn large() -> Array {
    let side = |name| Dimension::new(name, 0i64..=999_999).with_tile(100i64);
    let schema = ArraySchema::dense()
        .dimension(side("x"))
        .dimension(side("y"))
        .attribute(Attribute::of::<i32>("a"))
        .build()
        .unwrap();
    let storage = MemoryStorage::default();
    WriteOptions::new().create_storage(&storage, &schema).unwrap();
    let values = vec![7i32; 10_000];
    let writer = WriteOptions::new().open_storage(storage.clone()).unwrap();
    let write = writer.write().range("x", 500..=599).range("y", 300..=399);
    write.column(WriteColumn::fixed("a", &values)).commit().unwrap();
    OpenOptions::new().window(TimeWindow::ALL).open_storage(storage).unwrap()
}

#[test]
fn of_an_array_of_a_trillion_cells_only_written_chunks_are_there() {
    let array = large();
    let hierarchy = Hierarchy::new(&array, &Options::new().formats(Formats::V3)).unwrap();
    assert_eq!(hierarchy.list("").unwrap(), ["a/c/5/3", "a/zarr.json", "zarr.json"]);
    let before = array.stats();
    assert_eq!(hierarchy.get("a/c/5/4", Span::All).unwrap(), None);
    assert_eq!(array.stats().since(&before).bytes_read, 0, "what was never written is not read");
    assert_eq!(hierarchy.get("a/c/5/3", Span::All).unwrap().unwrap().len(), 40_000);
}

#[test]
fn names_that_zarr_cannot_have_are_refused_with_the_reason() {
    let schema = ArraySchema::sparse()
        .dimension(Dimension::new("x", 0i64..=9).with_tile(10i64))
        .attribute(Attribute::of::<i32>("a/b"))
        .attribute(Attribute::of::<i32>(".zattrs"))
        .attribute(Attribute::of::<i32>("c"))
        .build()
        .unwrap();
    let storage = MemoryStorage::default();
    WriteOptions::new().create_storage(&storage, &schema).unwrap();
    let array = OpenOptions::new().window(TimeWindow::ALL).open_storage(storage).unwrap();
    let hierarchy = Hierarchy::new(&array, &Options::new()).unwrap();
    let refused: Vec<String> =
        hierarchy.refused().iter().map(|one| format!("{}: {}", one.path, one.reason)).collect();
    let expected = [
        "a/b: its name has a slash, which separates the names of Zarr's keys",
        ".zattrs: it has the name of one of Zarr's documents",
    ];
    assert_eq!(refused, expected);
    assert_eq!(document(&hierarchy, "c/zarr.json")["shape"], json!([0]));
    assert_eq!(hierarchy.get("c/c/0", Span::All).unwrap(), None);
}

/// Polls a future until it is ready.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(done) = future.as_mut().poll(&mut context) {
            return done;
        }
    }
}

#[test]
fn awaited_answers_are_those_that_block() {
    for (id, folder, _) in arrays().into_iter().filter(|(id, ..)| id.starts_with("2.30.0/")) {
        let Ok(array) = OpenOptions::new().window(TimeWindow::ALL).open(&folder) else { continue };
        let options = Options::new().rows(5);
        let blocking = Hierarchy::new(&array, &options).unwrap();
        let storage = Immediate::new(LocalStorage::new(&folder));
        let array = block_on(OpenOptions::new().window(TimeWindow::ALL).open_async(storage)).unwrap();
        let awaited = block_on(Hierarchy::new_async(&array, &options)).unwrap();
        assert_eq!(blocking.refused(), awaited.refused(), "{id}");
        let keys = blocking.list("").unwrap();
        assert_eq!(block_on(awaited.list_async("")).unwrap(), keys, "{id}");
        let step = keys.len() / 40 + 1;
        for key in keys.iter().step_by(step) {
            let (one, other) = (blocking.get(key, Span::All), block_on(awaited.get_async(key, Span::All)));
            let text = |error: Error| error.to_string();
            assert_eq!(one.map_err(text), other.map_err(text), "{id} {key}");
        }
    }
}

#[test]
fn a_group_shows_its_members_and_names_those_that_it_cannot() {
    let manifest: Value =
        serde_json::from_slice(&fs::read(fixtures().join("manifest.json")).unwrap()).unwrap();
    let groups = manifest.as_array().unwrap().iter().filter(|entry| entry["object"] == "group");
    let places: Arc<dyn Places> = Arc::new(LocalPlaces);
    let (mut arrays, mut refused) = (0, 0);
    for entry in groups {
        let location = fixtures().join("arrays").join(entry["id"].as_str().unwrap());
        let options = OpenOptions::new().window(TimeWindow::ALL);
        let hierarchy =
            Hierarchy::of_group(&places, location.to_str().unwrap(), options, &Options::new()).unwrap();
        refused += hierarchy.refused().len();
        for key in hierarchy.list("").unwrap().iter().filter(|key| key.ends_with(".zarray")) {
            arrays += 1;
            let said = document(&hierarchy, key);
            let path = key.trim_end_matches(".zarray");
            let first = said["shape"].as_array().unwrap().iter().map(|_| "0").collect::<Vec<_>>().join(".");
            hierarchy.get(&format!("{path}{first}"), Span::All).unwrap();
        }
    }
    assert!(arrays > 10 && refused > 0, "{arrays} arrays, {refused} refused");
}
