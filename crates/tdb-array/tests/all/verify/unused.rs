//! Bytes that nothing refers to.

use std::collections::BTreeMap;
use std::path::Path;

use tdb_array::maintain::{Verification, verify_with};
use tdb_array::storage::MemoryStorage;
use tdb_filters::Key;

use crate::verify::load;

/// Fixtures by release, with their keys.
fn fixtures() -> Vec<(String, Option<Key>)> {
    let manifest = std::fs::read(crate::common::fixtures().join("manifest.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_slice(&manifest).unwrap();
    let arrays = manifest.as_array().unwrap().iter().filter(|entry| entry["object"].is_null());
    let key = |text: &str| Key::new(text.as_bytes()[..32].try_into().unwrap());
    arrays.map(|entry| (entry["id"].as_str().unwrap().to_owned(), entry["key"].as_str().map(key))).collect()
}

/// The kind of a file: its folder, and its name without the parts that differ between writes.
fn kind(key: &str) -> String {
    let parts = key.split('/').map(|part| match part.rsplit_once('.') {
        _ if !part.starts_with("__") || part.starts_with("__fragment") || part.starts_with("__commits") => {
            part
        }
        Some((_, suffix)) if part.matches('_').count() > 4 => suffix,
        _ if part.matches('_').count() > 4 || part.len() > 30 => "name",
        _ => part,
    });
    let kind: Vec<&str> = parts.collect();
    let text = kind.join("/");
    // Data files of any field.
    match text.rsplit_once('/') {
        Some((folder, file)) if file.ends_with(".tdb") && !file.starts_with("__frag") => {
            format!("{folder}/data")
        }
        _ => text,
    }
}

fn about<'v>(found: &'v [tdb_array::maintain::Problem], key: &str) -> Vec<&'v str> {
    found.iter().filter(|problem| problem.path.ends_with(key)).map(|problem| problem.what.as_str()).collect()
}

/// A release, a kind of file, and whether the array is encrypted.
type Place = (String, String, bool);
/// An array with such a file, its key, and the file's key.
type Example = (String, Option<Key>, String);

#[test]
fn appended_bytes_are_noticed_in_every_kind_of_file_of_every_release() {
    let mut kinds: BTreeMap<Place, Example> = BTreeMap::new();
    for (id, key) in fixtures() {
        let storage = load(&crate::common::fixtures().join("arrays").join(&id));
        let release = id.split('/').next().unwrap().to_owned();
        for file in storage.keys() {
            // Whole arrays of labels, and a file that is never read.
            if file.starts_with("__labels/") || file == "__lock.tdb" {
                continue;
            }
            let place = (release.clone(), kind(&file), key.is_some());
            kinds.entry(place).or_insert_with(|| (id.clone(), key.clone(), file));
        }
    }
    let (mut silent, mut noted, mut refused) = (Vec::new(), 0, 0);
    for (id, key, file) in kinds.values() {
        let storage = load(&crate::common::fixtures().join("arrays").join(id));
        let check = |storage: &MemoryStorage| -> Verification { verify_with(storage.clone(), key.clone()) };
        let before = check(&storage);
        for filler in [0u8, b'x'] {
            let mut bytes = storage.remove(file).unwrap().to_vec();
            let size = bytes.len();
            bytes.extend([filler; 4096]);
            storage.insert(file.clone(), bytes.clone());
            let after = check(&storage);
            let more = |a: &[tdb_array::maintain::Problem], b: &[tdb_array::maintain::Problem]| {
                about(a, file).len() > about(b, file).len()
            };
            if more(&after.notes, &before.notes) && after.problems == before.problems {
                noted += 1;
            } else if after.problems.len() > before.problems.len() {
                refused += 1;
            } else {
                silent.push(format!("{id}/{file} with {filler}"));
            }
            bytes.truncate(size);
            storage.insert(file.clone(), bytes);
        }
    }
    assert_eq!(silent, [""; 0]);
    println!("{} kinds of files: {noted} noted, {refused} refused", kinds.len());
    assert!(noted > 200 && refused > 20, "{noted} noted, {refused} refused");
}

#[test]
fn bytes_appended_to_schemas_metadata_and_data_are_notes_with_their_place_also_where_they_are_encrypted() {
    for (id, files) in [
        ("2.30.0/encrypted_dense", &["__schema/", "/a0.tdb"][..]),
        ("2.30.0/base_meta", &["__schema/", "__meta/"]),
        ("1.6.3/base_dense", &["__array_schema.tdb", "/a.tdb"]),
    ] {
        let (_, key) =
            fixtures().into_iter().find(|(known, _)| known == id).unwrap_or_else(|| (id.to_owned(), None));
        let folder = crate::common::fixtures().join("arrays").join(id);
        if !Path::new(&folder).exists() {
            continue;
        }
        for part in files {
            let storage = load(&folder);
            let Some(file) = storage.keys().into_iter().find(|key| key.contains(part)) else { continue };
            let mut bytes = storage.remove(&file).unwrap().to_vec();
            let size = bytes.len();
            bytes.extend([0; 4096]);
            storage.insert(file.clone(), bytes);
            let found = verify_with(storage, key.clone());
            assert!(found.is_clean(), "{id}: {:?}", found.problems);
            let expected = format!("nothing refers to 4096 of its bytes, from offset {size} on");
            assert_eq!(about(&found.notes, &file), [expected], "{id}/{file}");
        }
    }
}
