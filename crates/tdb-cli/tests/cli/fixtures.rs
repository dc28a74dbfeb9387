//! Reads every fixture as plain buffers, compares it with what libtiledb read, and verifies it.

use std::cmp::Ordering;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::common::{Scratch, base64, fixture, fixtures, has_tag, json_file, manifest, objects, tdb, text};

/// Features that this build does not support, with a specific error. Their fixtures must not be
/// readable.
const UNSUPPORTED: [&str; 1] = ["commits:upd"];

type Outcome = Result<(), String>;

#[test]
fn raw_buffers_of_every_fixture_are_those_of_libtiledb() {
    let mut failures = Vec::new();
    let mut queries = 0;
    for entry in manifest() {
        let id = entry["id"].as_str().unwrap();
        let expected = json_file(&fixtures().join("expected").join(format!("{id}.json")));
        if has_tag(&entry, &UNSUPPORTED) {
            let outcome = tdb(&["read", text(&fixture(id))]);
            if outcome.code != 1
                || !(outcome.err.contains("not supported") || outcome.err.contains("encrypted"))
            {
                failures.push(format!("{id}: should be refused, but: {}{}", outcome.code, outcome.err));
            }
            continue;
        }
        let key = Key::of(&expected);
        for query in expected["queries"].as_array().unwrap() {
            queries += 1;
            if let Err(error) = check(&fixture(id), &expected, query, &key) {
                failures.push(format!("{id} {}: {error}", query["id"]));
            }
        }
    }
    assert!(queries > manifest().len() / 2, "only {queries} queries were found");
    assert!(failures.is_empty(), "{} of {queries} queries:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn verify_is_clean_on_every_fixture() {
    let mut failures = Vec::new();
    for entry in manifest() {
        let id = entry["id"].as_str().unwrap();
        let outcome = Key::of(&entry).run(&["verify", text(&fixture(id))]);
        let supported = !has_tag(&entry, &UNSUPPORTED);
        if (outcome.code == 0) != supported
            || (supported && !outcome.out.contains("\nok: ") && !outcome.out.starts_with("ok: "))
        {
            failures.push(format!("{id}: {}\n{}{}", outcome.code, outcome.out, outcome.err));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn info_describes_every_fixture() {
    for entry in manifest() {
        let id = entry["id"].as_str().unwrap();
        if has_tag(&entry, &UNSUPPORTED) {
            continue;
        }
        let expected = json_file(&fixtures().join("expected").join(format!("{id}.json")));
        let key = Key::of(&expected);
        let outcome = key.run(&["info", text(&fixture(id)), "--json"]);
        assert_eq!(outcome.code, 0, "{id}: {}", outcome.err);
        let info: Value = serde_json::from_str(&outcome.out).unwrap();
        assert_eq!(info["version"], expected["schema"]["version"], "{id}");
        assert_eq!(info["type"], expected["schema"]["array_type"], "{id}");
        let names = |schema: &Value, part: &str| -> Vec<Value> {
            schema[part].as_array().unwrap().iter().map(|field| field["name"].clone()).collect()
        };
        assert_eq!(names(&info, "dimensions"), names(&expected["schema"], "dimensions"), "{id}");
        assert_eq!(names(&info, "attributes"), names(&expected["schema"], "attributes"), "{id}");
        let keys = expected["metadata"].as_array().map_or(0, Vec::len);
        assert_eq!(info["metadata"].as_object().unwrap().len(), keys, "{id}");
        assert!(key.run(&["info", text(&fixture(id))]).out.contains("format version"), "{id}");
    }
}

#[test]
fn every_format_version_has_dense_arrays_sparse_arrays_and_strings() {
    if std::env::var_os("TDB_FIXTURES").is_some() {
        return; // another collection need not be complete
    }
    let manifest = manifest();
    for version in 1..=22 {
        let of_version: Vec<&Value> =
            manifest.iter().filter(|entry| entry["format_version"] == version).collect();
        assert!(of_version.len() >= 3, "{} arrays of version {version}", of_version.len());
        for kind in [&["dense"][..], &["sparse"], &["var", "dim:string"]] {
            assert!(of_version.iter().any(|entry| has_tag(entry, kind)), "version {version}: no {kind:?}");
        }
        let nullable = of_version.iter().any(|entry| has_tag(entry, &["nullable"]));
        assert_eq!(nullable, version >= 7, "version {version}");
    }
}

#[test]
fn key_value_objects_are_refused_by_name() {
    for entry in objects("kv") {
        let id = entry["id"].as_str().unwrap();
        for command in ["read", "info"] {
            let outcome = tdb(&[command, text(&fixture(id))]);
            assert_eq!(outcome.code, 1, "{id}: {}{}", outcome.out, outcome.err);
            assert!(outcome.err.contains("key-value"), "{id}: {}", outcome.err);
        }
    }
}

/// The key file of an encrypted fixture, and the arguments for it.
struct Key(Option<Scratch>);

impl Key {
    fn of(expected: &Value) -> Self {
        Self(expected["key"].as_str().map(|key| {
            let scratch = Scratch::new();
            fs::write(scratch.path().join("key"), key).unwrap();
            scratch
        }))
    }

    /// Runs a command with the key, if there is one.
    fn run(&self, command: &[&str]) -> crate::common::Outcome {
        let key = self.args();
        tdb(&command.iter().copied().chain(key.iter().map(String::as_str)).collect::<Vec<_>>())
    }

    fn args(&self) -> Vec<String> {
        let file = self.0.as_ref().map(|scratch| text(&scratch.path().join("key")).to_owned());
        file.map_or_else(Vec::new, |file| vec!["--key-file".to_owned(), file])
    }
}

fn check(array: &Path, expected: &Value, query: &Value, key: &Key) -> Outcome {
    let scratch = Scratch::new();
    let mut args: Vec<String> = vec!["read".into(), text(array).into(), "--format".into(), "raw".into()];
    args.extend(["--out".into(), text(scratch.path()).into(), "--threads".into(), "2".into()]);
    args.extend(key.args());
    let order = match query["layout"].as_str().unwrap() {
        "row-major" => "row",
        "col-major" => "col",
        "global-order" => "global",
        _ => "unordered",
    };
    args.extend(["--order".into(), order.into()]);
    let dimensions = expected["schema"]["dimensions"].as_array().unwrap();
    for (dimension, range) in dimensions.iter().zip(query["ranges"].as_array().into_iter().flatten()) {
        if let Some([low, high]) = range.as_array().map(Vec::as_slice) {
            let end =
                |end: &Value| notation(dimension["type"].as_str().unwrap(), &hex(end.as_str().unwrap()));
            args.push(format!("--range={}={}..{}", dimension["name"].as_str().unwrap(), end(low), end(high)));
        }
    }
    if let Some([start, end]) = query["timestamps"].as_array().map(Vec::as_slice) {
        let end_of = |end: &Value| end.as_u64().map_or(String::new(), |end| end.to_string());
        args.push(format!("--between={},{}", end_of(start), end_of(end)));
    }
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let outcome = tdb(&args);
    if outcome.code != 0 {
        return Err(outcome.err.trim_end().to_owned());
    }
    compare(scratch.path(), dimensions, query)
}

/// A value in the notation of `--range`.
fn notation(datatype: &str, bytes: &[u8]) -> String {
    let int = |signed: bool| {
        let negative = signed && bytes.last().unwrap() & 0x80 != 0;
        let mut wide = [if negative { 0xff } else { 0 }; 16];
        wide[..bytes.len()].copy_from_slice(bytes);
        i128::from_le_bytes(wide).to_string()
    };
    match datatype {
        "FLOAT32" => format!("{:?}", f32::from_le_bytes(bytes.try_into().unwrap())),
        "FLOAT64" => format!("{:?}", f64::from_le_bytes(bytes.try_into().unwrap())),
        "STRING_ASCII" => bytes.iter().map(|byte| format!("\\x{byte:02x}")).collect(),
        unsigned if unsigned.starts_with('U') => int(false),
        _ => int(true),
    }
}

/// A cell as the bytes of its fields; `None` is null.
type Cell = Vec<Option<Vec<u8>>>;

fn compare(folder: &Path, dimensions: &[Value], query: &Value) -> Outcome {
    let manifest = json_file(&folder.join("manifest.json"));
    let fields = manifest["fields"].as_array().unwrap();
    let wanted = query["fields"].as_object().unwrap();
    let count = usize::try_from(query["cells"].as_u64().unwrap()).unwrap();
    if manifest["cells"].as_u64() != query["cells"].as_u64() {
        return Err(format!("{} cells instead of {count}", manifest["cells"]));
    }
    if fields.len() != wanted.len() {
        return Err(format!("{} fields instead of {}", fields.len(), wanted.len()));
    }
    let mut found = vec![Cell::new(); count];
    let mut expected = vec![Cell::new(); count];
    let mut coordinates = 0;
    for field in fields {
        let name = field["name"].as_str().unwrap();
        let want = wanted.get(name).ok_or_else(|| format!("libtiledb has no field {name:?}"))?;
        if dimensions.iter().any(|dimension| dimension["name"] == field["name"]) {
            coordinates += 1;
        }
        if field["datatype"] != want["type"] {
            return Err(format!("{name}: {} instead of {}", field["datatype"], want["type"]));
        }
        let read = |part: &str| field[part].as_str().map(|file| fs::read(folder.join(file)).unwrap());
        let base = |part: &str| want[part].as_str().map(base64);
        push(&mut found, read("data").unwrap(), read("offsets"), read("validity"));
        push(&mut expected, base("data").unwrap(), base("offsets"), base("validity"));
    }
    match query["order"].as_str().unwrap() {
        "canonical" => {
            found.sort();
            expected.sort();
        }
        "layout" => {
            // Only the order of cells with equal coordinates may differ.
            for cells in [&mut found, &mut expected] {
                let run = |a: &Cell, b: &Cell| a[..coordinates] == b[..coordinates];
                cells.chunk_by_mut(run).for_each(<[Cell]>::sort);
            }
        }
        _ => {}
    }
    match found.iter().zip(&expected).position(|(found, expected)| found.cmp(expected) != Ordering::Equal) {
        Some(cell) => Err(format!("cell {cell} is {:?} instead of {:?}", found[cell], expected[cell])),
        None => Ok(()),
    }
}

/// Adds a field to every cell.
fn push(cells: &mut [Cell], data: Vec<u8>, offsets: Option<Vec<u8>>, validity: Option<Vec<u8>>) {
    let count = cells.len();
    let starts: Vec<usize> = match offsets {
        Some(offsets) => {
            assert_eq!(offsets.len(), 8 * count, "one offset a cell");
            let word = |word: &[u8]| usize::try_from(u64::from_le_bytes(word.try_into().unwrap())).unwrap();
            offsets.chunks(8).map(word).chain([data.len()]).collect()
        }
        None => {
            assert!(count == 0 || data.len().is_multiple_of(count), "{} bytes for {count} cells", data.len());
            let size = data.len().checked_div(count).unwrap_or(0);
            (0..=count).map(|cell| cell * size).collect()
        }
    };
    for (index, cell) in cells.iter_mut().enumerate() {
        let valid = validity.as_ref().is_none_or(|validity| validity[index] != 0);
        cell.push(valid.then(|| data[starts[index]..starts[index + 1]].to_vec()));
    }
}

fn hex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

#[test]
fn the_test_reads_base64_and_notations_right() {
    assert_eq!(base64("AQID/w=="), [1, 2, 3, 255]);
    assert_eq!(hex("00ff"), [0, 255]);
    assert_eq!(notation("INT16", &[0xfe, 0xff]), "-2");
    assert_eq!(notation("UINT16", &[0xfe, 0xff]), "65534");
}
