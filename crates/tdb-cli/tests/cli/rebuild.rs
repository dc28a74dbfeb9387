//! `tdb dump --json` omits nothing: every file of every fixture can be rebuilt from its output
//! alone.
#![allow(clippy::cast_possible_truncation, reason = "sizes of files of tests")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;
use tdb_array::Key;
use tdb_codec::{Budget, Limits};
use tdb_tile::GenericTile;

use crate::common::{Scratch, files, fixture, manifest, objects, tdb, text};

/// The bytes in a field's JSON.
fn hex(field: &Value) -> Vec<u8> {
    let digits = field["hex"].as_str().unwrap().as_bytes();
    let nibble = |digit: u8| char::from(digit).to_digit(16).unwrap() as u8;
    let bytes: Vec<u8> = digits.chunks(2).map(|pair| nibble(pair[0]) << 4 | nibble(pair[1])).collect();
    assert_eq!(bytes.len() as u64, field["length"].as_u64().unwrap(), "{field}");
    bytes
}

/// Bytes assembled from fields; panics if two disagree or a byte is missing.
struct Pieces(Vec<Option<u8>>);

impl Pieces {
    fn new(size: &Value) -> Self {
        Self(vec![None; size.as_u64().unwrap() as usize])
    }

    fn put(&mut self, field: &Value) {
        let at = field["offset"].as_u64().unwrap() as usize;
        for (slot, byte) in self.0[at..].iter_mut().zip(hex(field)) {
            assert!(slot.is_none_or(|known| known == byte), "{field} says something else than another field");
            *slot = Some(byte);
        }
    }

    fn whole(self) -> Vec<u8> {
        self.0
            .into_iter()
            .enumerate()
            .map(|(at, byte)| byte.unwrap_or_else(|| panic!("byte {at} is missing")))
            .collect()
    }
}

/// Checks that the value as text is the same number as the bytes.
fn assert_exact(field: &Value) {
    let Some(value) = field["value"].as_str() else { return };
    assert!(!value.contains('…'), "{field} is cut");
    let bytes = hex(field);
    let number: Option<u64> = value.split(' ').next().unwrap().parse().ok();
    if let Some(number) = number.filter(|_| matches!(bytes.len(), 1 | 2 | 4 | 8)) {
        assert_eq!(number.to_le_bytes()[..bytes.len()], bytes, "{field}");
    }
}

/// Builds a file and the payloads of its generic tiles from the text of its dump.
fn rebuild(dump: &str) -> (Vec<u8>, BTreeMap<u64, Vec<u8>>) {
    let dump: Value = serde_json::from_str(dump).unwrap();
    let mut file = Pieces::new(&dump["size"]);
    let mut payloads: BTreeMap<u64, Pieces> = BTreeMap::new();
    for block in dump["blocks"].as_array().unwrap() {
        let pieces = match block["payload_of"].as_u64() {
            Some(tile) => payloads.entry(tile).or_insert_with(|| Pieces::new(&block["payload_size"])),
            None => &mut file,
        };
        for field in block["fields"].as_array().unwrap() {
            assert_exact(field);
            pieces.put(field);
        }
    }
    (file.whole(), payloads.into_iter().map(|(tile, pieces)| (tile, pieces.whole())).collect())
}

/// Dumps a file and compares the output with the file. Returns the kind.
fn check(path: &Path, key: Option<&(PathBuf, Key)>) -> String {
    let mut args = vec!["dump", text(path), "--json"];
    if let Some((file, _)) = key {
        args.extend(["--key-file", text(file)]);
    }
    let outcome = tdb(&args);
    assert_eq!((outcome.code, outcome.err.as_str()), (0, ""), "{}", path.display());
    let (file, payloads) = rebuild(&outcome.out);
    assert!(file == fs::read(path).unwrap(), "{} is not what its dump says", path.display());
    for (offset, payload) in payloads {
        let tile = GenericTile::parse(&file[offset as usize..], offset).unwrap();
        let decoded = tile.decode(key.map(|(_, key)| key), &Limits::default(), &Budget::unlimited()).unwrap();
        assert!(payload == decoded, "{}: the payload at {offset}", path.display());
    }
    let dump: Value = serde_json::from_str(&outcome.out).unwrap();
    dump["kind"].as_str().unwrap_or("empty").to_owned()
}

#[test]
fn every_file_of_every_fixture_is_rebuilt_from_its_json_alone() {
    let scratch = Scratch::new();
    let mut work = Vec::new();
    for entry in manifest().into_iter().chain(objects("group")) {
        let id = entry["id"].as_str().unwrap();
        let key = entry["key"].as_str().map(|key| {
            let file = scratch.path().join(id.replace('/', "-"));
            fs::write(&file, key).unwrap();
            (file, Key::new(key.as_bytes().try_into().unwrap()))
        });
        work.extend(files(&fixture(id)).into_iter().map(|file| (file, key.clone())));
    }
    let (next, kinds) = (AtomicUsize::new(0), Mutex::new(BTreeSet::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some((file, key)) = work.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let kind = check(file, key.as_ref());
                    kinds.lock().unwrap().insert(kind);
                }
            });
        }
    });
    assert!(work.len() > 1000, "only {} files", work.len());
    let kinds = kinds.into_inner().unwrap();
    for kind in [
        "schema",
        "enumeration",
        "fragment-metadata",
        "data",
        "metadata",
        "commits",
        "paths",
        "condition",
        "group",
    ] {
        assert!(kinds.contains(kind), "no {kind} among {kinds:?}");
    }
}

#[test]
fn files_of_objects_that_are_not_supported_are_rebuilt_as_far_as_they_are_understood() {
    for entry in objects("kv") {
        for path in files(&fixture(entry["id"].as_str().unwrap())) {
            let outcome = tdb(&["dump", text(&path), "--json"]);
            assert!(rebuild(&outcome.out).0 == fs::read(&path).unwrap(), "{}", path.display());
        }
    }
}

#[test]
fn damaged_and_unknown_files_are_rebuilt_too() {
    let scratch = Scratch::new();
    let path = scratch.path().join("notes");
    fs::write(&path, "a file that no format knows, longer than one line of a dump").unwrap();
    assert_eq!(check(&path, None), "empty");
    let shown = tdb(&["dump", text(&path)]).out;
    assert!(shown.contains("give --kind") && shown.contains("  a file that no f\n"), "{shown}");

    let schema =
        files(&fixture("2.30.0/single_dense")).into_iter().find(|path| text(path).contains("__schema"));
    let mut bytes = fs::read(schema.unwrap()).unwrap();
    bytes.truncate(bytes.len() - 3);
    bytes[40] ^= 1;
    fs::write(&path, &bytes).unwrap();
    let outcome = tdb(&["dump", text(&path), "--kind", "schema", "--json"]);
    assert_eq!(outcome.code, 1);
    assert_eq!(rebuild(&outcome.out).0, bytes);
    let raw = tdb(&["dump", text(&path), "--kind", "raw", "--json"]);
    assert_eq!((raw.code, rebuild(&raw.out).0), (0, bytes));
}

#[test]
fn long_lists_are_whole_in_json_and_cut_for_people() {
    let path = crate::common::file_named(&fixture("2.30.0/many_attrs"), "__fragment_metadata.tdb");
    assert!(tdb(&["dump", text(&path)]).out.contains('…'));
    check(&path, None);
}
