//! Helpers for the command's tests: fixtures, scratch folders, running the command.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::Value;
use tdb_array::schema::{ArraySchema, CellValNum, Datatype};
use tdb_array::{Array, WriteColumn, WriteOptions};
use tdb_schema::{Attribute, Dimension, Enumeration};

/// The fixtures' folder; `TDB_FIXTURES` names another one of the same layout
/// (`xtask/peer/random_cases.py --run`).
pub(crate) fn fixtures() -> PathBuf {
    match std::env::var_os("TDB_FIXTURES") {
        Some(folder) => folder.into(),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../xtask/fixtures"),
    }
}

pub(crate) fn fixture(id: &str) -> PathBuf {
    fixtures().join("arrays").join(id)
}

pub(crate) fn json_file(path: &Path) -> Value {
    let bytes = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_slice(&bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The fixtures' manifest: one entry per array.
pub(crate) fn manifest() -> Vec<Value> {
    let path = fixtures().join("manifest.json");
    if !path.exists() {
        return unlisted();
    }
    let mut manifest = listed(&path);
    manifest.retain(|entry| entry["object"].is_null());
    manifest
}

/// Fixtures that are not arrays: entries of the manifest whose `object` is this kind.
pub(crate) fn objects(kind: &str) -> Vec<Value> {
    let path = fixtures().join("manifest.json");
    let mut manifest = if path.exists() { listed(&path) } else { Vec::new() };
    manifest.retain(|entry| entry["object"] == kind);
    manifest
}

fn listed(path: &Path) -> Vec<Value> {
    let manifest = json_file(path);
    manifest.as_array().expect("the manifest is a list").clone()
}

/// Entries for every recorded array of a folder without a manifest.
fn unlisted() -> Vec<Value> {
    let names = |folder: &Path| -> Vec<String> {
        let entries =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        entries.collect()
    };
    let expected = fixtures().join("expected");
    let mut entries = Vec::new();
    for version in names(&expected) {
        for file in names(&expected.join(&version)) {
            let recorded = json_file(&expected.join(&version).join(&file));
            let features = recorded["features"].clone();
            let features: Vec<&str> = features.as_str().unwrap_or_default().split(' ').collect();
            let id = format!("{version}/{}", file.trim_end_matches(".json"));
            entries.push(serde_json::json!({ "id": id, "features": features, "key": recorded["key"] }));
        }
    }
    entries
}

pub(crate) fn has_tag(entry: &Value, tags: &[&str]) -> bool {
    entry["features"].as_array().unwrap().iter().any(|tag| tags.contains(&tag.as_str().unwrap()))
}

/// A separate folder for each call, removed when dropped.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("tdb-cli-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// A scratch folder with a copy of a fixture.
    pub(crate) fn copy_of(id: &str) -> Self {
        let scratch = Self::new();
        copy(&fixture(id), scratch.path());
        scratch
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Copies a folder.
pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Every file below a folder.
pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

/// The first file of this name below a folder.
pub(crate) fn file_named(folder: &Path, name: &str) -> PathBuf {
    let found = files(folder).into_iter().find(|path| path.file_name().unwrap() == name);
    found.unwrap_or_else(|| panic!("{name} is not in {}", folder.display()))
}

/// Exit code, standard output, standard error.
pub(crate) struct Outcome {
    pub(crate) code: u8,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// Runs the command in this process.
pub(crate) fn tdb(args: &[&str]) -> Outcome {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let code = tdb_cli::run([&["tdb"], args].concat(), &mut out, &mut err);
    Outcome { code, out: String::from_utf8(out).unwrap(), err: String::from_utf8(err).unwrap() }
}

pub(crate) fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Checks the outcome of a command on a damaged array: one line on standard error that contains all
/// of `parts`, nothing on standard output, exit code 1.
pub(crate) fn assert_fails(outcome: &Outcome, parts: &[&str]) {
    assert_eq!(outcome.code, 1, "{}{}", outcome.out, outcome.err);
    assert_eq!(outcome.out, "");
    assert!(outcome.err.starts_with("error: "), "{}", outcome.err);
    assert_eq!(outcome.err.lines().count(), 1, "{}", outcome.err);
    for part in parts {
        assert!(outcome.err.contains(part), "{part:?} is not in {:?}", outcome.err);
    }
}

pub(crate) fn base64(text: &str) -> Vec<u8> {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut out, mut bits, mut len) = (Vec::with_capacity(text.len() / 4 * 3), 0u32, 0);
    for byte in text.bytes().filter(|byte| *byte != b'=') {
        let digit = ALPHABET.iter().position(|letter| *letter == byte).expect("base64");
        bits = (bits << 6) | u32::try_from(digit).unwrap();
        len += 6;
        if len >= 8 {
            len -= 8;
            out.push(u8::try_from((bits >> len) & 0xff).unwrap());
        }
    }
    out
}

pub(crate) fn said(args: &[&str]) -> String {
    let outcome = tdb(args);
    assert_eq!((outcome.code, outcome.err.as_str()), (0, ""), "{args:?}");
    outcome.out
}

/// Checks for an exit code, nothing on standard output, and an error that contains `part`.
pub(crate) fn refused(args: &[&str], code: u8, part: &str) {
    let outcome = tdb(args);
    assert_eq!((outcome.code, outcome.out.as_str()), (code, ""), "{args:?}: {}", outcome.err);
    assert!(outcome.err.starts_with("error: ") && outcome.err.contains(part), "{}", outcome.err);
}

/// The output of `tdb info --json` without the parts that describe the array rather than its
/// schema.
pub(crate) fn schema_json(array: &Path) -> Value {
    let mut info: Value = serde_json::from_str(&said(&["info", text(array), "--json"])).unwrap();
    let of_the_array = [
        "array",
        "schema",
        "schemas",
        "timestamps",
        "lock_file",
        "updates",
        "non_empty_domain",
        "fragments",
        "metadata",
    ];
    of_the_array.iter().for_each(|key| drop(info.as_object_mut().unwrap().remove(*key)));
    info
}

/// Creates an array with the schema of another one.
pub(crate) fn created_like(array: &Path, scratch: &Scratch, name: &str) -> (PathBuf, Outcome) {
    let (schema, copy) = (scratch.path().join("schema.json"), scratch.path().join(name));
    fs::write(&schema, said(&["info", text(array), "--json"])).unwrap();
    let outcome = tdb(&["create", text(&copy), "--schema", text(&schema)]);
    (copy, outcome)
}

/// An array with a cell at NaN, which libtiledb writes but tdb does not.
pub(crate) const NAN: &str = "2.30.0/nan_coordinates";
/// An array whose filters match each other only as understood by libraries before 2.17.
pub(crate) const OLD_TYPES: &str = "2.12.3/continued_types";

/// Fixtures with more cells in a tile than libraries of their versions can count: tdb reads them
/// and makes no such arrays.
pub(crate) const MISCOUNTED: [&str; 2] = ["2.7.2/dense_cut_tiles", "2.14.0/dense_counted_tiles"];

/// The fixtures that can be opened without a key.
pub(crate) fn open_fixtures() -> Vec<String> {
    let open = manifest().into_iter().filter(|entry| {
        !has_tag(entry, &["commits:upd"])
            && tdb(&["info", text(&fixture(entry["id"].as_str().unwrap()))]).code == 0
    });
    open.map(|entry| entry["id"].as_str().unwrap().to_owned()).collect()
}

pub(crate) fn schema(array: &Path) -> ArraySchema {
    Array::open(array).unwrap().schema().clone()
}

/// Cells 0 to 9 with `k`, `v` (null at 0) and `c`, an enumeration.
pub(crate) fn sparse(path: &Path) {
    let colours = ["red", "green"];
    let colours =
        Enumeration::new("colours", "__0123_0", Datatype::StringUtf8, CellValNum::Var, colours).unwrap();
    let schema = ArraySchema::sparse()
        .dimension(Dimension::new("x", 0i32..=99))
        .attribute(Attribute::new("k", Datatype::Int32, CellValNum::ONE))
        .attribute(Attribute::new("v", Datatype::Float64, CellValNum::ONE).with_nulls())
        .attribute(Attribute::new("c", Datatype::Int8, CellValNum::ONE).with_enumeration("colours"))
        .enumeration(&colours)
        .build()
        .unwrap();
    WriteOptions::new().timestamp(1).enumeration(colours).create(path, &schema).unwrap();
    let x: Vec<i32> = (0..10).collect();
    let v: Vec<f64> = (0..10).map(f64::from).collect();
    let c: Vec<i8> = (0..10).map(|at| at % 2).collect();
    let valid: Vec<u8> = (0..10).map(|at| u8::from(at > 0)).collect();
    let writer = WriteOptions::new().timestamp(2).open(path).unwrap();
    let write = writer.write().column(WriteColumn::fixed("x", &x)).column(WriteColumn::fixed("k", &x));
    let write = write.column(WriteColumn::fixed("v", &v).nullable(&valid));
    write.column(WriteColumn::fixed("c", &c)).commit().unwrap();
}
