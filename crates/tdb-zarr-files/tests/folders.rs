//! Folders of Zarr become arrays, and arrays folders: whole, or not at all.

#![expect(clippy::unwrap_used, reason = "helpers of tests: a panic is a failure")]

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tdb_array::group::{LocalPlaces, Places};
use tdb_array::schema::{ArraySchema, Attribute, CellValNum, Datatype, Dimension, Filter, Pipeline};
use tdb_array::storage::{LocalStorage, WriteStorage};
use tdb_array::write::MetadataChanges;
use tdb_array::{Array, OpenOptions, WriteColumn, WriteOptions};
use tdb_zarr_files::{
    Blocks, ExportOptions, ImportOptions, Imported, Kind, Opened, Reader, Version, export, export_group,
    import, kind, schemas,
};

/// A folder that is gone with its owner.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("tdb-zarr-files-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(&self.0)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn put(path: PathBuf, bytes: impl AsRef<[u8]>) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

fn to(target: &Path, from: &Path, options: &ImportOptions) -> tdb_zarr_files::Result<Imported> {
    let place = |path: &str| -> io::Result<Arc<dyn WriteStorage>> {
        Ok(Arc::new(LocalStorage::new(if path.is_empty() { target.to_owned() } else { target.join(path) })))
    };
    import(from, &place, options)
}

fn imported(target: &Path, from: &Path) -> tdb_zarr_files::Result<Imported> {
    to(target, from, &ImportOptions::new())
}

fn values(path: &Path) -> Vec<i32> {
    Array::open(path)
        .unwrap()
        .read()
        .collect()
        .unwrap()
        .field("values")
        .unwrap()
        .values::<i32>()
        .unwrap()
        .to_vec()
}

/// Documents of an array of 32-bit integers, with one chunk of this shape for each file.
fn document(shape: &[u64], chunk: &[u64]) -> Value {
    json!({
        "zarr_format": 3, "node_type": "array", "shape": shape, "data_type": "int32",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunk}},
        "chunk_key_encoding": {"name": "default"}, "fill_value": -1,
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
    })
}

fn bytes(values: &[i32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

#[test]
fn what_is_exported_is_imported_again_with_every_filter_and_in_both_versions() {
    let scratch = Scratch::new("filters");
    let pipelines: [&[Filter]; 8] = [
        &[],
        &[Filter::Gzip { level: 6 }],
        &[Filter::Zstd { level: 5 }],
        &[Filter::Bzip2 { level: 1 }],
        &[Filter::Lz4 { level: -1 }],
        &[Filter::ByteShuffle, Filter::Zstd { level: 5 }],
        &[Filter::BitShuffle, Filter::Lz4 { level: -1 }],
        &[Filter::Rle { level: -1 }],
    ];
    let cells: Vec<i32> = (0..23 * 17).map(|at| at / 5 - 20).collect();
    for (number, filters) in pipelines.into_iter().enumerate() {
        let schema = ArraySchema::dense()
            .dimension(Dimension::new("y", 0i64..=22).with_tile(8i64))
            .dimension(Dimension::new("x", 0i64..=16).with_tile(5i64))
            .attribute(
                Attribute::of::<i32>("a")
                    .with_filters(Pipeline::new(filters.to_vec()))
                    .with_fill((-7i32).to_le_bytes()),
            )
            .build()
            .unwrap();
        let place = scratch.at(&format!("{number}"));
        WriteOptions::new().create(&place, &schema).unwrap();
        let writer = WriteOptions::new().open(&place).unwrap();
        writer.write().column(WriteColumn::fixed("a", &cells)).commit().unwrap();
        let array = Array::open(&place).unwrap();
        for version in [Version::V2, Version::V3] {
            let (folder, back) = (
                scratch.at(&format!("{number}-{version:?}.zarr")),
                scratch.at(&format!("{number}-{version:?}")),
            );
            let exported = export(&array, &folder, &ExportOptions::new().version(version)).unwrap();
            assert_eq!((exported.arrays, exported.groups, exported.chunks), (1, 0, 12), "{filters:?}");
            assert_eq!(exported.notes.is_empty(), number != 7, "{:?}", exported.notes);
            assert_eq!(kind(&folder), Some(Kind::Array));
            let found = imported(&back, &folder).unwrap();
            assert_eq!((found.cells, found.notes), (23 * 17, vec![]));
            assert_eq!(values(&back), cells, "{filters:?} {version:?}");
            let copy = Array::open(&back).unwrap();
            let attribute = copy.schema().attribute("values").unwrap();
            assert_eq!(attribute.fill_value, (-7i32).to_le_bytes());
            let dimensions = &copy.schema().domain.dimensions;
            assert_eq!(dimensions.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), ["y", "x"]);
            assert_eq!(dimensions[0].extent_cells(), Some(8));
            if number < 7 {
                assert_eq!(attribute.filters.filters, filters, "{version:?}");
            }
        }
    }
}

#[test]
fn chunks_that_are_not_there_are_not_written_and_read_as_the_fill_value() {
    let scratch = Scratch::new("empty");
    let folder = scratch.at("x.zarr");
    put(folder.join("zarr.json"), document(&[1_000_000_000_000, 5], &[2, 2]).to_string());
    put(folder.join("c/1/0"), bytes(&[1, 2, 3, 4]));
    put(folder.join("c/1/2"), bytes(&[5, 0, 6, 0]));
    // Outside of the shape.
    put(folder.join("c/1/3"), bytes(&[9, 9, 9, 9]));
    put(folder.join("c/499999999999/1"), bytes(&[7, 8, 9, 10]));
    let found = imported(&scratch.at("x"), &folder).unwrap();
    assert_eq!(found.cells, 4 + 2 + 4);
    let array = Array::open(scratch.at("x")).unwrap();
    assert_eq!(array.fragments().len(), 3);
    let rows = |low: i64, high: i64| {
        let cells = array.read().range("d0", low..=high).collect().unwrap();
        cells.field("values").unwrap().values::<i32>().unwrap().to_vec()
    };
    assert_eq!(rows(1, 3), [-1, -1, -1, -1, -1, 1, 2, -1, -1, 5, 3, 4, -1, -1, 6]);
    assert_eq!(rows(999_999_999_999, 999_999_999_999), [-1, -1, 9, 10, -1]);
    // Back again: three chunks, and no more.
    let exported = export(&array, &scratch.at("y.zarr"), &ExportOptions::new()).unwrap();
    assert_eq!(exported.chunks, 3);
    assert!(scratch.at("y.zarr/c/499999999999/1").exists());
}

#[test]
fn shards_become_many_tiles() {
    let scratch = Scratch::new("shards");
    let folder = scratch.at("x.zarr");
    let mut sharded = document(&[6], &[4]);
    sharded["codecs"] = json!([{"name": "sharding_indexed", "configuration": {
        "chunk_shape": [2], "codecs": ["bytes"], "index_codecs": ["bytes"], "index_location": "end",
    }}]);
    put(folder.join("zarr.json"), sharded.to_string());
    let index =
        |entries: [u64; 4]| -> Vec<u8> { entries.iter().flat_map(|entry| entry.to_le_bytes()).collect() };
    // The second chunk of the first shard comes first; of the second shard, there is one.
    put(folder.join("c/0"), [bytes(&[3, 4, 1, 2]), index([8, 8, 0, 8])].concat());
    put(folder.join("c/1"), [bytes(&[5, 6]), index([0, 8, u64::MAX, u64::MAX])].concat());
    imported(&scratch.at("x"), &folder).unwrap();
    assert_eq!(values(&scratch.at("x")), [1, 2, 3, 4, 5, 6]);
    let array = Array::open(scratch.at("x")).unwrap();
    assert_eq!(array.schema().domain.dimensions[0].extent_cells(), Some(2));
    for wrong in [[8, 9, 0, 8], [u64::MAX, 8, 0, 8], [1 << 40, 8, 0, 8], [0, 1 << 60, 0, 8], [0, 4, 0, 8]] {
        put(folder.join("c/0"), [bytes(&[3, 4, 1, 2]), index(wrong)].concat());
        let error = imported(&scratch.at("y"), &folder).unwrap_err().to_string();
        assert!(error.contains("c/0"), "{error}");
        assert!(!scratch.at("y").exists());
    }
}

#[test]
fn texts_of_any_length_come_whole() {
    let scratch = Scratch::new("texts");
    let schema = ArraySchema::dense()
        .dimension(Dimension::new("x", 0i64..=6).with_tile(3i64))
        .attribute(Attribute::new("a", Datatype::StringUtf8, CellValNum::Var))
        .build()
        .unwrap();
    WriteOptions::new().create(scratch.at("a"), &schema).unwrap();
    let writer = WriteOptions::new().open(scratch.at("a")).unwrap();
    let texts = "bébéhello";
    writer
        .write()
        .column(WriteColumn::var("a", texts.as_bytes(), &[0, 1, 1, 3, 4, 6, 6, 11]))
        .commit()
        .unwrap();
    for version in [Version::V2, Version::V3] {
        let (folder, back) = (scratch.at(&format!("{version:?}.zarr")), scratch.at(&format!("{version:?}")));
        export(&Array::open(scratch.at("a")).unwrap(), &folder, &ExportOptions::new().version(version))
            .unwrap();
        imported(&back, &folder).unwrap();
        let cells = Array::open(&back).unwrap().read().collect().unwrap();
        let column = cells.field("values").unwrap();
        let found: Vec<&[u8]> = (0..7).map(|at| column.cell(at).unwrap()).collect();
        assert_eq!(found, ["b".as_bytes(), b"", "é".as_bytes(), b"b", "é".as_bytes(), b"", b"hello"]);
    }
}

/// Texts of a chunk as numcodecs stores them.
fn texts(texts: &[&str]) -> Vec<u8> {
    let len = |len: usize| u32::try_from(len).unwrap().to_le_bytes();
    let cells = texts.iter().flat_map(|text| [&len(text.len())[..], text.as_bytes()].concat());
    len(texts.len()).into_iter().chain(cells).collect()
}

fn strings(path: &Path) -> Vec<String> {
    let cells = Array::open(path).unwrap().read().collect().unwrap();
    let column = cells.field("values").unwrap();
    let text = |at: usize| String::from_utf8(column.cell(at).unwrap().to_vec()).unwrap();
    (0..cells.len()).map(text).collect()
}

#[test]
fn texts_of_order_f_are_the_cells_that_zarr_python_reads() {
    let scratch = Scratch::new("order-f");
    let folder = scratch.at("x.zarr");
    let document = json!({
        "zarr_format": 2, "shape": [3, 4], "chunks": [2, 3], "dtype": "|O", "order": "F", "fill_value": "-",
        "filters": [{"id": "vlen-utf8"}], "compressor": null,
    });
    put(folder.join(".zarray"), document.to_string());
    // What zarr 2.18.7 and 3.1.6 write for the texts "0" to "11" in row-major order.
    put(folder.join("0.0"), texts(&["0", "4", "1", "5", "2", "6"]));
    put(folder.join("0.1"), texts(&["3", "7", "", "", "", ""]));
    put(folder.join("1.1"), texts(&["11", "", "", "", "", ""]));
    for threads in [1, 3] {
        let target = scratch.at(&format!("x{threads}"));
        to(&target, &folder, &ImportOptions::new().threads(threads)).unwrap();
        assert_eq!(strings(&target), ["0", "1", "2", "3", "4", "5", "6", "7", "-", "-", "-", "11"]);
    }
}

#[test]
fn texts_that_are_longer_than_the_memory_are_refused() {
    let scratch = Scratch::new("long");
    let folder = scratch.at("x.zarr");
    let mut document = document(&[2], &[1]);
    document["data_type"] = json!("string");
    document["fill_value"] = json!("");
    document["codecs"] = json!(["vlen-utf8", {"name": "zstd", "configuration": {"level": 3}}]);
    put(folder.join("zarr.json"), document.to_string());
    let text = vec![b'a'; 400_000];
    let chunk = [&1u32.to_le_bytes()[..], &400_000u32.to_le_bytes(), &text].concat();
    put(folder.join("c/0"), zstd::bulk::compress(&chunk, 3).unwrap());
    let options = ImportOptions::new().memory(24 << 20);
    assert_eq!(to(&scratch.at("x"), &folder, &options).unwrap().cells, 2);
    let small = ImportOptions::new().memory(2 << 20);
    let error = to(&scratch.at("y"), &folder, &small).unwrap_err().to_string();
    assert!(error.contains("c/0") && error.contains("more than the 349525 bytes"), "{error}");
    assert!(!scratch.at("y").exists());
}

#[test]
fn chunks_that_a_shard_does_not_have_are_not_written() {
    let scratch = Scratch::new("absent");
    let folder = scratch.at("x.zarr");
    let mut sharded = document(&[14], &[4]);
    sharded["codecs"] = json!([{"name": "sharding_indexed", "configuration": {
        "chunk_shape": [1], "codecs": ["bytes"], "index_codecs": ["bytes"], "index_location": "end",
    }}]);
    put(folder.join("zarr.json"), sharded.to_string());
    let shard = |there: [bool; 4]| -> Vec<u8> {
        let entries = there.iter().flat_map(|there| if *there { [0, 4] } else { [u64::MAX; 2] });
        bytes(&[7]).into_iter().chain(entries.flat_map(u64::to_le_bytes)).collect()
    };
    put(folder.join("c/0"), shard([true; 4]));
    put(folder.join("c/1"), shard([true, false, false, true]));
    put(folder.join("c/2"), shard([false; 4]));
    // Of the last one, two chunks are outside of the array, and one of these is there.
    put(folder.join("c/3"), shard([false, true, true, false]));
    let found = imported(&scratch.at("x"), &folder).unwrap();
    assert_eq!(found.cells, 4 + 2 + 1);
    assert_eq!(values(&scratch.at("x")), [7, 7, 7, 7, 7, -1, -1, 7, -1, -1, -1, -1, -1, 7]);
    let exported =
        export(&Array::open(scratch.at("x")).unwrap(), &scratch.at("y.zarr"), &ExportOptions::new());
    assert_eq!(exported.unwrap().chunks, 7);
    // Block by block, files that are not there can be passed over.
    fs::remove_file(folder.join("c/1")).unwrap();
    let opened = Reader::new(&folder, 1 << 20).open("").unwrap();
    let array = if let Some(Opened::Array(array)) = opened { Some(array) } else { None }.unwrap();
    let starts = |blocks: Blocks<'_>| -> Vec<u64> { blocks.flat_map(|block| block.unwrap().start).collect() };
    assert_eq!(starts(array.written_blocks().unwrap()), [0, 1, 2, 3, 8, 9, 10, 11, 12, 13]);
    assert_eq!(starts(array.blocks()), (0..14).collect::<Vec<_>>());
    // Nothing at all.
    for shard in 0..4 {
        put(folder.join(format!("c/{shard}")), [0xff; 64]);
    }
    assert_eq!(imported(&scratch.at("z"), &folder).unwrap().cells, 0);
}

#[test]
fn attributes_that_contradict_each_other_are_all_exported() {
    let scratch = Scratch::new("attributes");
    let schema = ArraySchema::dense()
        .dimension(Dimension::new("x", 0i64..=3).with_tile(2i64))
        .attribute(Attribute::of::<i32>("a"))
        .build()
        .unwrap();
    WriteOptions::new().create(scratch.at("x"), &schema).unwrap();
    let export_as = |version: Version, own: &str| -> PathBuf {
        let changes = MetadataChanges::new().put_text("units", "K").put_text("__tiledb_attr.a.units", own);
        WriteOptions::new().open(scratch.at("x")).unwrap().write_metadata(&changes).unwrap();
        let folder = scratch.at("x.zarr");
        let options = ExportOptions::new().version(version).replace();
        export(&Array::open(scratch.at("x")).unwrap(), &folder, &options).unwrap();
        folder
    };
    let read = |path: PathBuf| -> Value { serde_json::from_slice(&fs::read(path).unwrap()).unwrap() };
    let folder = export_as(Version::V3, "m");
    assert_eq!(read(folder.join("zarr.json"))["attributes"]["units"], "K");
    assert_eq!(read(folder.join("a/zarr.json"))["attributes"]["units"], "m");
    let folder = export_as(Version::V2, "m");
    assert_eq!(read(folder.join(".zattrs"))["units"], "K");
    assert_eq!(read(folder.join("a/.zattrs"))["units"], "m");
    let folder = export_as(Version::V3, "K");
    assert_eq!(read(folder.join("zarr.json"))["node_type"], "array");
}

#[test]
fn an_array_is_replaced_once_all_chunks_were_decoded() {
    let scratch = Scratch::new("replaced");
    let folder = scratch.at("x.zarr");
    put(folder.join("zarr.json"), document(&[4], &[2]).to_string());
    put(folder.join("c/0"), bytes(&[1, 2]));
    imported(&scratch.at("x"), &folder).unwrap();
    let replace = ImportOptions::new().write(WriteOptions::new().replace());
    put(folder.join("c/0"), bytes(&[3, 4]));
    put(folder.join("c/1"), b"short");
    assert!(to(&scratch.at("x"), &folder, &replace).unwrap_err().to_string().contains("c/1"));
    assert_eq!(values(&scratch.at("x")), [1, 2, -1, -1]);
    put(folder.join("c/1"), bytes(&[5, 6]));
    assert!(imported(&scratch.at("x"), &folder).is_err());
    assert_eq!(values(&scratch.at("x")), [1, 2, -1, -1]);
    to(&scratch.at("x"), &folder, &replace).unwrap();
    assert_eq!(values(&scratch.at("x")), [3, 4, 5, 6]);
}

/// A group of so many arrays of one chunk.
fn group(folder: &Path, arrays: usize) {
    put(folder.join("zarr.json"), json!({"zarr_format": 3, "node_type": "group"}).to_string());
    for number in 0..arrays {
        let array = folder.join(format!("a{number}"));
        put(array.join("zarr.json"), document(&[2], &[2]).to_string());
        put(array.join("c/0"), bytes(&[1, 2]));
    }
}

#[test]
fn a_second_import_of_a_group_takes_nothing_away_from_the_first() {
    let scratch = Scratch::new("second");
    let (folder, target) = (scratch.at("x.zarr"), scratch.at("x"));
    group(&folder, 2);
    // The second one begins when the first has written an array, and waits for it.
    let second = Arc::new(Mutex::new(None));
    let (begun, from, into) = (second.clone(), folder.clone(), target.clone());
    let options = ImportOptions::new().on_progress(move |_, _| {
        let (from, into) = (from.clone(), into.clone());
        begun.lock().unwrap().get_or_insert_with(|| {
            let thread = std::thread::spawn(move || imported(&into, &from).map(drop));
            std::thread::sleep(std::time::Duration::from_millis(100));
            thread
        });
    });
    to(&target, &folder, &options).unwrap();
    let second = second.lock().unwrap().take().unwrap().join().unwrap();
    assert!(second.unwrap_err().to_string().contains("something here already"));
    assert_eq!((values(&target.join("a0")), values(&target.join("a1"))), (vec![1, 2], vec![1, 2]));
    // An array that somebody else has made meanwhile is nobody's to remove.
    let (other, theirs) = (scratch.at("y"), scratch.at("y/a1"));
    let schema = schemas(&folder.join("a0"), &ImportOptions::new()).unwrap().remove(0).1;
    let options = ImportOptions::new().on_progress(move |_, _| {
        let _ = WriteOptions::new().create(&theirs, &schema);
    });
    assert!(to(&other, &folder, &options).is_err());
    assert!(Array::open(other.join("a1")).is_ok() && !other.join("a0").exists());
    // Nor is a file.
    let (other, theirs) = (scratch.at("z"), scratch.at("z/notes.txt"));
    fs::create_dir(&other).unwrap();
    fs::write(folder.join("a1/c/0"), b"short").unwrap();
    let options = ImportOptions::new().on_progress(move |_, _| fs::write(&theirs, b"notes").unwrap());
    assert!(to(&other, &folder, &options).is_err());
    let left: Vec<_> = fs::read_dir(&other).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["notes.txt"]);
}

#[cfg(target_os = "linux")]
#[test]
fn an_import_of_many_arrays_has_few_open_files() {
    let scratch = Scratch::new("many");
    let (folder, target) = (scratch.at("x.zarr"), scratch.at("x"));
    group(&folder, 40);
    let most = Arc::new(Mutex::new(0));
    let (seen, within) = (most.clone(), target.clone());
    let options = ImportOptions::new().on_progress(move |_, _| {
        let open = fs::read_dir("/proc/self/fd").unwrap().filter_map(Result::ok);
        let open = open.filter(|file| fs::read_link(file.path()).is_ok_and(|path| path.starts_with(&within)));
        let mut most = seen.lock().unwrap();
        *most = open.count().max(*most);
    });
    assert_eq!(to(&target, &folder, &options).unwrap().arrays, 40);
    assert!((1..10).contains(&*most.lock().unwrap()), "{most:?}");
    assert_eq!(values(&target.join("a39")), [1, 2]);
}

#[test]
fn a_group_becomes_a_group_and_comes_back_with_its_attributes() {
    let scratch = Scratch::new("groups");
    let folder = scratch.at("x.zarr");
    let nested = json!({"a": [null, {"b": 1.5}], "": "empty"});
    let group = json!({"zarr_format": 3, "node_type": "group", "attributes": nested});
    put(folder.join("zarr.json"), group.to_string());
    put(folder.join("in/zarr.json"), group.to_string());
    put(folder.join("not a node/file"), b"1");
    let mut array = document(&[3], &[3]);
    array["attributes"] = json!({"units": "K", "limits": [1, 2]});
    array["dimension_names"] = json!(["x"]);
    put(folder.join("in/b/zarr.json"), array.to_string());
    put(folder.join("in/b/c/0"), bytes(&[1, 2, 3]));
    array["dimension_names"] = json!(["values"]);
    put(folder.join("c/zarr.json"), array.to_string());
    assert_eq!(kind(&folder), Some(Kind::Group));
    let found = imported(&scratch.at("x"), &folder).unwrap();
    assert_eq!((found.arrays, found.groups, found.cells), (2, 2, 3));
    assert_eq!(values(&scratch.at("x/in/b")), [1, 2, 3]);
    let schema = Array::open(scratch.at("x/c")).unwrap().schema().clone();
    assert_eq!(schema.attributes[0].name, "values_1");
    let shown: Vec<String> =
        schemas(&folder, &ImportOptions::new()).unwrap().into_iter().map(|(path, _)| path).collect();
    assert_eq!(shown, ["c", "in/b"]);

    let places: Arc<dyn Places> = Arc::new(LocalPlaces);
    let location = scratch.at("x").to_str().unwrap().to_owned();
    for version in [Version::V2, Version::V3] {
        let back = scratch.at(&format!("{version:?}.zarr"));
        let options = ExportOptions::new().version(version);
        let exported = export_group(&places, &location, OpenOptions::new(), &back, &options).unwrap();
        // Each array is a group of its attribute.
        assert_eq!((exported.arrays, exported.groups, exported.chunks), (2, 4, 1));
        let read =
            |name: &str| -> Value { serde_json::from_slice(&fs::read(back.join(name)).unwrap()).unwrap() };
        if version == Version::V3 {
            assert_eq!(read("in/zarr.json")["attributes"], nested);
            assert_eq!(read("in/b/zarr.json")["attributes"], json!({"limits": [1, 2], "units": "K"}));
            assert_eq!(read("in/b/values/zarr.json")["dimension_names"], json!(["x"]));
        } else {
            assert_eq!(read(".zattrs"), nested);
            let all = read(".zmetadata");
            assert_eq!(all["metadata"]["in/b/values/.zarray"], read("in/b/values/.zarray"));
        }
    }
    // It is not made twice, and nothing is changed.
    let error = imported(&scratch.at("x"), &folder).unwrap_err().to_string();
    assert!(error.contains("something here already"), "{error}");
    assert_eq!(values(&scratch.at("x/in/b")), [1, 2, 3]);
}

#[test]
fn an_import_that_fails_leaves_nothing_and_one_that_was_killed_is_in_nobody_s_way() {
    let scratch = Scratch::new("fails");
    let folder = scratch.at("x.zarr");
    put(folder.join("zarr.json"), json!({"zarr_format": 3, "node_type": "group"}).to_string());
    for name in ["a", "b"] {
        put(folder.join(name).join("zarr.json"), document(&[4], &[2]).to_string());
        put(folder.join(name).join("c/0"), bytes(&[1, 2]));
    }
    put(folder.join("b/c/1"), b"short");
    let error = imported(&scratch.at("x"), &folder).unwrap_err().to_string();
    assert!(error.contains("b/c/1") && error.contains("bytes"), "{error}");
    let error = imported(&scratch.at("y"), &folder.join("b")).unwrap_err().to_string();
    assert!(error.contains("c/1"), "{error}");
    assert_eq!(scratch.names(), ["x.zarr"]);
    // What a killed import leaves.
    let schema = schemas(&folder.join("a"), &ImportOptions::new()).unwrap().remove(0).1;
    let begun = WriteOptions::new().begin(scratch.at("begun"), &schema).unwrap();
    fs::create_dir(scratch.at("x")).unwrap();
    fs::rename(scratch.at("begun"), scratch.at("x/a")).unwrap();
    drop(begun);
    fs::remove_file(folder.join("b/c/1")).unwrap();
    assert_eq!(imported(&scratch.at("x"), &folder).unwrap().cells, 4);
    assert_eq!(values(&scratch.at("x/b")), [1, 2, -1, -1]);
}

#[test]
fn memory_is_bounded_and_parts_that_do_not_fit_are_written_one_after_the_other() {
    let scratch = Scratch::new("memory");
    let folder = scratch.at("x.zarr");
    put(folder.join("zarr.json"), document(&[40, 512, 512], &[2, 64, 64]).to_string());
    let cell = |z: usize, y: usize, x: usize| i32::try_from(z * 1_000_000 + y * 1000 + x).unwrap();
    for z in 0..20 {
        for y in 0..8 {
            for x in 0..8 {
                let cells = (0..2 * 64 * 64)
                    .map(|at| cell(z * 2 + at / 4096, y * 64 + at / 64 % 64, x * 64 + at % 64));
                put(folder.join(format!("c/{z}/{y}/{x}")), bytes(&cells.collect::<Vec<_>>()));
            }
        }
    }
    let seen = Arc::new(Mutex::new(Vec::new()));
    let watched = seen.clone();
    // A row of chunks has 2 MiB, and a sixth of this is 1 MiB.
    let options = ImportOptions::new()
        .memory(6 << 20)
        .threads(2)
        .on_progress(move |done, all| watched.lock().unwrap().push((done, all)));
    to(&scratch.at("x"), &folder, &options).unwrap();
    let array = Array::open(scratch.at("x")).unwrap();
    assert_eq!(array.fragments().len(), 2);
    let cells = array.read().range("d0", 7i64..=8).collect().unwrap();
    let expected: Vec<i32> =
        (7..9).flat_map(|z| (0..512).flat_map(move |y| (0..512).map(move |x| cell(z, y, x)))).collect();
    assert!(cells.field("values").unwrap().values::<i32>().unwrap() == expected);
    let all = 40 * 512 * 512;
    let seen = seen.lock().unwrap();
    assert!(seen.len() == 40 && seen.is_sorted() && seen.last() == Some(&(all, all)), "{seen:?}");
    let error = to(&scratch.at("y"), &folder, &ImportOptions::new().memory(100_000)).unwrap_err().to_string();
    assert!(error.contains("a chunk needs 32768 bytes of memory"), "{error}");
}
