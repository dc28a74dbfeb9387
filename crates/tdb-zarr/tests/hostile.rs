//! Schemas that nobody means well: each is walked as a reader of Zarr walks it, every document and
//! some chunks, in a thread that has to be ready soon, in a process whose memory is looked at.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that panics has failed"
)]

use core::num::NonZeroU32;
use core::time::Duration;
use std::fs;
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;

use serde_json::{Value, json};
use tdb_array::schema::{
    ArraySchema, Attribute, CellValNum, Datatype, Dimension, DimensionLabel, Enumeration, SchemaBuilder,
};
use tdb_array::storage::MemoryStorage;
use tdb_array::{Array, Key, OpenOptions, TimeWindow, WriteColumn, WriteOptions};
use tdb_zarr::{Error, Hierarchy, Options, Span};

/// What a walk may take on a slow machine; what does not end takes longer.
const PATIENCE: Duration = Duration::from_secs(120);
/// Chunks of more cells than this are not read.
const MOST_CELLS: u64 = 1 << 20;

/// Runs a walk, which has to end.
fn soon<T: Send + 'static>(what: &str, walk: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, receiver) = channel();
    let walking = thread::spawn(move || sender.send(walk()));
    match receiver.recv_timeout(PATIENCE) {
        Ok(found) => found,
        Err(RecvTimeoutError::Timeout) => panic!("{what}: not ready after {PATIENCE:?}"),
        Err(RecvTimeoutError::Disconnected) => {
            let panicked = walking.join().unwrap_err();
            let message = panicked.downcast_ref::<String>().cloned().unwrap_or_default();
            panic!("{what}: {message}")
        }
    }
}

/// Checks that this process never had much more memory than a chunk, promised or in use. What other
/// tests of this file take meanwhile counts, too: each of the sizes that the schemas say would be
/// more than all that.
fn check_memory(what: &str) {
    let Ok(status) = fs::read_to_string("/proc/self/status") else { return };
    for (name, most) in [("VmPeak:", 4u64 << 30), ("VmHWM:", 2 << 30)] {
        let line = status.lines().find(|line| line.starts_with(name)).unwrap();
        let bytes = line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10;
        assert!(bytes < most, "{what}: {line}");
    }
}

/// What a walk found.
#[derive(Debug, Default)]
struct Walked {
    documents: usize,
    chunks: usize,
    refused: usize,
}

impl Walked {
    fn add(&mut self, other: &Self) {
        self.documents += other.documents;
        self.chunks += other.chunks;
        self.refused += other.refused;
    }
}

/// A list of keys, or that they are too many.
fn list(hierarchy: &Hierarchy, prefix: &str) -> Option<Vec<String>> {
    match hierarchy.list(prefix) {
        Ok(keys) => {
            assert!(keys.iter().all(|key| key.starts_with(prefix)), "{prefix}");
            Some(keys)
        }
        Err(Error::TooManyKeys { .. }) => None,
        Err(error) => panic!("{prefix}: {error}"),
    }
}

fn document(hierarchy: &Hierarchy, key: &str) -> Value {
    let bytes = hierarchy.get(key, Span::All).unwrap_or_else(|error| panic!("{key}: {error}"));
    serde_json::from_slice(&bytes.unwrap_or_else(|| panic!("no {key}"))).unwrap()
}

fn numbers(value: &Value) -> Vec<u64> {
    value.as_array().unwrap().iter().map(|one| one.as_u64().unwrap()).collect()
}

/// Gets the documents of an array and of all below it, lists, and gets chunks at both ends.
fn walk(array: &Array, options: &Options) -> Walked {
    let hierarchy = Hierarchy::new(array, options).unwrap();
    let mut walked = Walked { refused: hierarchy.refused().len(), ..Walked::default() };
    list(&hierarchy, "");
    let consolidated = document(&hierarchy, ".zmetadata");
    for (key, said) in consolidated["metadata"].as_object().unwrap() {
        assert_eq!(document(&hierarchy, key), *said, "{key}");
        walked.documents += 1;
        let Some((path, _)) = key.rsplit_once('/') else { continue };
        if key.ends_with("/.zgroup") {
            assert_eq!(document(&hierarchy, &format!("{path}/zarr.json"))["node_type"], "group");
        }
        if key.ends_with("/.zarray") {
            walked.documents += 1;
            walked.chunks += walk_array(&hierarchy, path, said);
        }
    }
    walked
}

/// Looks at an array; the number of chunks that were there.
fn walk_array(hierarchy: &Hierarchy, path: &str, said: &Value) -> usize {
    let v3 = document(hierarchy, &format!("{path}/zarr.json"));
    let (shape, chunks) = (numbers(&said["shape"]), numbers(&said["chunks"]));
    assert_eq!(v3["chunk_grid"]["configuration"]["chunk_shape"], said["chunks"], "{path}");
    assert_eq!(
        (&v3["shape"], v3["dimension_names"].as_array().unwrap().len()),
        (&said["shape"], shape.len())
    );
    let documents = [".zarray", ".zattrs", "zarr.json"].map(|name| format!("{path}/{name}"));
    for key in &documents {
        assert_eq!(list(hierarchy, key).unwrap(), [key.as_str()]);
    }
    match hierarchy.children(path) {
        Ok(names) => assert!(names.iter().any(|name| name == "zarr.json"), "{path}: {names:?}"),
        Err(Error::TooManyKeys { .. }) => {}
        Err(error) => panic!("{path}: {error}"),
    }
    let cells = chunks.iter().try_fold(1u64, |cells, count| cells.checked_mul(*count));
    let last: Vec<u64> =
        shape.iter().zip(&chunks).map(|(shape, chunk)| shape.saturating_sub(1) / chunk).collect();
    let mut found = 0;
    for index in [vec![0; last.len()], last] {
        let texts: Vec<String> = index.iter().map(u64::to_string).collect();
        for key in [format!("{path}/c/{}", texts.join("/")), format!("{path}/{}", texts.join("."))] {
            // Prefixes of all lengths, until there are too many keys: some end before a place, some
            // in one.
            let lens = (path.len() + 1..=key.len()).rev();
            let _: Option<()> = lens.map(|len| list(hierarchy, &key[..len]).map(drop)).collect();
            if cells.is_none_or(|cells| cells > MOST_CELLS) {
                continue;
            }
            match hierarchy.get(&key, Span::All) {
                Ok(chunk) => found += usize::from(chunk.is_some()),
                Err(Error::NotText { .. }) => {}
                Err(error) => panic!("{key}: {error}"),
            }
        }
    }
    found
}

/// An array of a schema, which nothing was written to.
fn create(schema: &ArraySchema, enumerations: &[Enumeration]) -> Array {
    let options = enumerations.iter().cloned().fold(WriteOptions::new(), WriteOptions::enumeration);
    let storage = MemoryStorage::default();
    options.create_storage(&storage, schema).unwrap();
    OpenOptions::new().window(TimeWindow::ALL).open_storage(storage).unwrap()
}

fn fixed(count: u32) -> CellValNum {
    CellValNum::Fixed(NonZeroU32::new(count).unwrap())
}

fn reasons(hierarchy: &Hierarchy) -> Vec<String> {
    hierarchy.refused().iter().map(|one| format!("{}: {}", one.path, one.reason)).collect()
}

#[test]
fn every_fixture_is_walked() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../xtask/fixtures");
    let manifest: Value = serde_json::from_slice(&fs::read(fixtures.join("manifest.json")).unwrap()).unwrap();
    let mut walked = Walked::default();
    for entry in manifest.as_array().unwrap().iter().filter(|entry| entry["object"].is_null()) {
        let id = entry["id"].as_str().unwrap().to_owned();
        let mut options = OpenOptions::new().window(TimeWindow::ALL);
        if let Some(key) = entry["key"].as_str() {
            options = options.key(Key::new(key.as_bytes().try_into().unwrap()));
        }
        let Ok(array) = options.open(fixtures.join("arrays").join(&id)) else { continue };
        walked.add(&soon(&id, move || walk(&array, &Options::new())));
    }
    println!("{walked:?}");
    assert!(walked.documents > 5000 && walked.chunks > 2000, "{walked:?}");
    check_memory("fixtures");
}

#[test]
fn enumerations_of_cells_that_no_memory_has_are_refused() {
    let types =
        [Datatype::Float64, Datatype::Char, Datatype::StringUtf8, Datatype::Blob, Datatype::StringUtf32];
    let mut schema = ArraySchema::sparse().dimension(Dimension::new("x", 0i64..=9).with_tile(10i64));
    let mut enumerations = Vec::new();
    for datatype in types {
        let name = format!("e_{datatype}");
        let none: [&[u8]; 0] = [];
        let huge = Enumeration::new(&name, format!("__{name}_0"), datatype, fixed(u32::MAX - 1), none);
        enumerations.push(huge.unwrap());
        schema = schema.attribute(Attribute::of::<u8>(format!("a_{datatype}")).with_enumeration(&name));
    }
    let schema = enumerations.iter().fold(schema, SchemaBuilder::enumeration).build().unwrap();
    let array = create(&schema, &enumerations);
    let hierarchy = Hierarchy::new(&array, &Options::new()).unwrap();
    let reasons = reasons(&hierarchy);
    assert_eq!(
        reasons[1..3],
        [
            "enumerations/e_CHAR: a cell has 4294967294 bytes, and a fill value, which Zarr's documents say, has \
             1048576 at most",
            "enumerations/e_FLOAT64: a cell has 34359738352 bytes, and a chunk has 268435456 at most",
        ]
    );
    assert_eq!(reasons.len(), types.len());
    // The fields are shown, and name no values that are not.
    let said = document(&hierarchy, "a_FLOAT64/zarr.json");
    assert_eq!((&said["data_type"], &said["attributes"]), (&json!("uint8"), &json!({})));
    assert_eq!(soon("enumerations", move || walk(&array, &Options::new())).refused, types.len());
    check_memory("enumerations");
}

#[test]
fn chunks_without_end_are_listed_by_their_prefix() {
    let schema = ArraySchema::dense()
        .dimension(Dimension::new("x", 0u64..=1 << 62).with_tile(1000u64))
        .attribute(Attribute::new("a", Datatype::Int8, fixed(2)).with_fill([7, 8]))
        .build()
        .unwrap();
    let array = create(&schema, &[]);
    soon("chunks", move || {
        let hierarchy = Hierarchy::new(&array, &Options::new()).unwrap();
        // The documents say 7 for 7 and 8, so that every chunk is there.
        assert_eq!(hierarchy.get("a/c/4611686018427387/0", Span::All).unwrap().unwrap()[..2], [7, 8]);
        assert_eq!(hierarchy.list("a/c/0").unwrap(), ["a/c/0/0"]);
        assert_eq!(hierarchy.list("a/0").unwrap(), ["a/0.0"]);
        assert_eq!(hierarchy.list("a/z").unwrap(), ["a/zarr.json"]);
        assert_eq!(hierarchy.list("a/.z").unwrap(), ["a/.zarray", "a/.zattrs"]);
        assert_eq!(hierarchy.list("a/c/461168601842738/").unwrap(), ["a/c/461168601842738/0"]);
        assert_eq!(hierarchy.list("a/c/4611686018427388").unwrap(), [""; 0]);
        assert!(matches!(hierarchy.list("a/c/1").unwrap_err(), Error::TooManyKeys { .. }));
        assert!(matches!(hierarchy.children("a").unwrap_err(), Error::TooManyKeys { .. }));
    });
}

#[test]
fn sixty_thousand_fields_are_found_by_their_names() {
    const FIELDS: usize = 60_000;
    let schema = ArraySchema::sparse().dimension(Dimension::new("x", 0i64..=9).with_tile(10i64));
    let attributes = (0..FIELDS).map(|at| Attribute::of::<i32>(format!("a{at}")));
    let array = create(&attributes.fold(schema, SchemaBuilder::attribute).build().unwrap(), &[]);
    soon("fields", move || {
        let hierarchy = Hierarchy::new(&array, &Options::new()).unwrap();
        assert_eq!(hierarchy.list("").unwrap().len(), 4 + 3 * (FIELDS + 1));
        for key in (0..FIELDS).flat_map(|at| ["zarr.json", ".zattrs"].map(|name| format!("a{at}/{name}"))) {
            assert!(hierarchy.get(&key, Span::All).unwrap().is_some(), "{key}");
        }
    });
}

#[test]
fn what_is_beside_a_field_leaves_names_to_fields() {
    let colours = ["red", "green"];
    let colours = Enumeration::new("e", "__e_0", Datatype::StringUtf8, CellValNum::Var, colours).unwrap();
    let schema = ArraySchema::sparse()
        .dimension(Dimension::new("x", 0i64..=9).with_tile(10i64))
        .attribute(Attribute::of::<i32>("a").with_nulls())
        .attribute(Attribute::of::<i32>("a_validity"))
        .attribute(Attribute::of::<u8>("enumerations").with_enumeration("e"))
        .attribute(Attribute::of::<i32>(""))
        .attribute(Attribute::of::<i32>("values"))
        .attribute(Attribute::of::<i32>(".zattrs").with_nulls())
        .enumeration(&colours)
        .build()
        .unwrap();
    let storage = MemoryStorage::default();
    WriteOptions::new().enumeration(colours).create_storage(&storage, &schema).unwrap();
    let writer = WriteOptions::new().open_storage(storage.clone()).unwrap();
    let write = writer.write().column(WriteColumn::fixed("x", &[3i64, 5]));
    let write = write.column(WriteColumn::fixed("a", &[10i32, 11]).nullable(&[1, 0]));
    let write = write.column(WriteColumn::fixed("a_validity", &[20i32, 21]));
    let write = write.column(WriteColumn::fixed("enumerations", &[1u8, 0]));
    let write = write.column(WriteColumn::fixed("", &[30i32, 31]));
    let write = write.column(WriteColumn::fixed("values", &[40i32, 41]));
    write.column(WriteColumn::fixed(".zattrs", &[50i32, 51]).nullable(&[1, 1])).commit().unwrap();
    let array = OpenOptions::new().window(TimeWindow::ALL).open_storage(storage).unwrap();
    let hierarchy = Hierarchy::new(&array, &Options::new()).unwrap();
    let attributes = |path: &str| document(&hierarchy, &format!("{path}/zarr.json"))["attributes"].clone();
    let chunk = |path: &str| hierarchy.get(&format!("{path}/c/0"), Span::All).unwrap().unwrap();
    let integers = |path: &str| chunk(path).chunks(4).map(|cell| cell[0]).collect::<Vec<_>>();
    assert_eq!(attributes("a"), json!({"tdb_validity": "a_validity_2"}));
    assert_eq!((integers("a"), &chunk("a_validity_2")[..]), (vec![10, 11], &[1, 0][..]));
    assert_eq!((attributes("a_validity"), integers("a_validity")), (json!({}), vec![20, 21]));
    assert_eq!(attributes("enumerations"), json!({"tdb_enumeration": "enumerations_2/e"}));
    assert_eq!(chunk("enumerations")[..], [1, 0]);
    assert!(chunk("enumerations_2/e").ends_with(b"green"));
    assert_eq!((integers("values"), integers("values_2")), (vec![40, 41], vec![30, 31]));
    // Nothing is left of what is not shown.
    assert_eq!(reasons(&hierarchy), [".zattrs: it has the name of one of Zarr's documents"]);
    assert_eq!(list(&hierarchy, ".zattrs").unwrap(), [".zattrs"]);
    assert_eq!(hierarchy.get(".zattrs_validity/zarr.json", Span::All).unwrap(), None);
}

/// Numbers that follow from the ones before, evenly enough (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(most).unwrap()).unwrap()
    }

    fn one<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())].clone()
    }
}

/// A schema of hostile parts, if they fit together.
fn hostile(random: &mut Random) -> Option<ArraySchema> {
    let long = "n".repeat(5000);
    let names = [
        "",
        "a",
        "a_validity",
        "a_validity_2",
        "a_value",
        "b",
        "b_validity",
        "c",
        "0",
        "1.0",
        "..",
        ".",
        "a/b",
        "zarr.json",
        ".zattrs",
        ".zmetadata",
        "__x",
        "enumerations",
        "values",
        "values_2",
        "cell",
        "é\u{0}\n\"",
        "%2e",
        " ",
        "x",
        &long,
    ];
    let types = [
        Datatype::Int8,
        Datatype::Float64,
        Datatype::Char,
        Datatype::StringUtf8,
        Datatype::StringUtf16,
        Datatype::StringUcs4,
        Datatype::Blob,
        Datatype::GeomWkt,
        Datatype::Bool,
        Datatype::DatetimeNs,
        Datatype::TimeHr,
        Datatype::Any,
    ];
    let counts = [1, 1, 1, 2, 3, 1000, 1 << 18, (1 << 20) + 1].map(fixed);
    let dense = random.below(2) == 0;
    let mut schema = if dense { ArraySchema::dense() } else { ArraySchema::sparse() };
    for at in 0..=random.below(4) {
        let name = if random.below(3) == 0 { random.one(&names).to_owned() } else { format!("x{at}") };
        // Lists of more keys than one has take seconds, so these are rare.
        let kind =
            if random.below(30) == 0 { random.one(&[2, 3]) } else { random.one(&[0, 1, 4, 5, 6, 7, 8]) };
        schema = schema.dimension(match kind {
            0 => Dimension::new(name, 0u8..=255).with_tile(1u8),
            1 => Dimension::new(name, i64::MIN..=i64::MAX - 1).with_tile(1i64),
            2 => Dimension::new(name, -(1i64 << 61)..=1 << 61).with_tile(1i64),
            3 => Dimension::new(name, 0u64..=(1 << 63) - 2).with_tile(1u64 << 40),
            4 => Dimension::new(name, -3i32..=90).with_tile(7i32),
            5 => Dimension::new(name, 1u64..=1 << 24).with_tile(1000u64),
            6 => Dimension::new(name, 0i64..=1 << 62).with_tile(1i64 << 61),
            7 => Dimension::new(name, -9i64..=9).with_tile(4i64).with_datatype(Datatype::DatetimeDay),
            _ if dense => Dimension::new(name, 1i16..=9).with_tile(2i16),
            _ => Dimension::string(name),
        });
    }
    for _ in 0..=random.below(6) {
        let count = if random.below(3) == 0 { CellValNum::Var } else { random.one(&counts) };
        let mut attribute = Attribute::new(random.one(&names), random.one(&types), count);
        if random.below(3) == 0 {
            attribute = attribute.with_nulls();
        }
        if random.below(3) == 0 && !count.is_var() {
            // Values that differ, some of them no text.
            let len = attribute.fill_value.len();
            attribute =
                attribute.with_fill((0..len).map(|at| u8::try_from(at % 251).unwrap()).collect::<Vec<_>>());
        } else if random.below(4) == 0 && count.is_var() {
            attribute = attribute.with_fill(vec![b'f'; random.one(&[16, 4096, 2 << 20])]);
        }
        schema = schema.attribute(attribute);
    }
    schema.build().ok()
}

#[test]
fn schemas_of_hostile_parts_are_walked() {
    let mut random = Random(0x5eed_0f0a_2a77);
    let (mut walked, mut arrays) = (Walked::default(), 0);
    for number in 0..200 {
        let Some(schema) = hostile(&mut random) else { continue };
        arrays += 1;
        let what = format!("number {number}, {:.2000?}", format!("{schema:?}"));
        let found = soon(&what, move || walk(&create(&schema, &[]), &Options::new()));
        walked.add(&found);
        check_memory(&what);
    }
    println!("{arrays} arrays: {walked:?}");
    assert!(arrays > 30 && walked.documents > 300 && walked.refused > 30, "{arrays} arrays: {walked:?}");
}

#[test]
fn arrays_of_more_dimensions_than_readers_have_are_refused() {
    let dense = |dimensions: usize, attributes: usize| {
        let dimension = |at: usize| Dimension::new(format!("x{at}"), 1u8..=1).with_tile(1u8);
        let schema = (0..dimensions).map(dimension).fold(ArraySchema::dense(), SchemaBuilder::dimension);
        let all = (0..attributes).map(|at| Attribute::of::<u8>(format!("a{at}")));
        create(&all.fold(schema, SchemaBuilder::attribute).build().unwrap(), &[])
    };
    let most = dense(64, 1);
    assert_eq!(soon("64 dimensions", move || walk(&most, &Options::new())).refused, 0);
    let many = dense(5000, 5000);
    let hierarchy = soon("5000 dimensions", move || Hierarchy::new(&many, &Options::new()).unwrap());
    let why = ": it has 5000 dimensions, and Zarr's readers, whose arrays are numpy's, have 64 at most";
    assert_eq!(reasons(&hierarchy), [why]);
    assert_eq!(document(&hierarchy, ".zmetadata")["metadata"].as_object().unwrap().len(), 2);
    check_memory("5000 dimensions");
}

#[test]
fn labels_that_are_not_shown_are_no_coordinates() {
    let label = |name: &str, at: usize| {
        DimensionLabel::new(0, name, format!("__labels/l{at}"), Datatype::Int64, CellValNum::ONE)
    };
    let schema = ArraySchema::dense()
        .dimension(Dimension::new("x", 0i64..=9).with_tile(10i64))
        .attribute(Attribute::of::<i32>("a"))
        .label(label("l/1", 0))
        .label(label("l2", 1));
    let hierarchy = Hierarchy::new(&create(&schema.build().unwrap(), &[]), &Options::new()).unwrap();
    assert_eq!(reasons(&hierarchy), ["l/1: its name has a slash, which separates the names of Zarr's keys"]);
    assert_eq!(document(&hierarchy, ".zattrs"), json!({"coordinates": "l2"}));
    assert_eq!(document(&hierarchy, "l2/zarr.json")["dimension_names"], json!(["x"]));
}
