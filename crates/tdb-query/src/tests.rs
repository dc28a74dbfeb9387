//! Queries of arrays in memory and of the fixtures (`xtask/fixtures`), compared with a model or
//! with each other.

mod aggregates;
mod batches;
mod conditions;
mod dense;
mod groups;

use std::fs;
use std::path::{Path, PathBuf};

use tdb_filters::Key;

use crate::{Array, OpenOptions, Result};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../xtask/fixtures")
}

/// The array of a fixture without a key, such as `2.30.0/quickstart`.
fn fixture(name: &str) -> Array {
    open(&folder().join("arrays").join(name), None).unwrap()
}

/// The folder and the key of every fixture that is an array.
fn fixtures() -> Vec<(PathBuf, Option<Key>)> {
    let manifest = fs::read(folder().join("manifest.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_slice(&manifest).unwrap();
    let entries = manifest.as_array().unwrap().iter().filter(|entry| entry.get("object").is_none());
    entries
        .map(|entry| {
            let key = entry["key"].as_str().map(|key| Key::new(key.as_bytes().try_into().unwrap()));
            (folder().join("arrays").join(entry["id"].as_str().unwrap()), key)
        })
        .collect()
}

/// Opens an array that two threads read.
fn open(path: &Path, key: Option<Key>) -> Result<Array> {
    let options = OpenOptions::new().threads(2);
    key.into_iter().fold(options, OpenOptions::key).open(path)
}
