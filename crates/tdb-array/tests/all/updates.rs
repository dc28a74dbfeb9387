//! Update files are read as libtiledb 2.30 reads them: like deletes.
#![expect(clippy::unwrap_used, reason = "helpers of tests: a panic is a failure")]

use std::fs;
use std::path::Path;

use tdb_array::maintain::verify;
use tdb_array::storage::MemoryStorage;
use tdb_array::{Array, Layout, OpenOptions};
use tdb_codec::{Budget, FormatVersion, Limits};
use tdb_fragment::{Condition, Update};
use tdb_tile::GenericTile;

fn load(folder: &Path, prefix: &str, files: &mut Vec<(String, Vec<u8>)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let key = format!("{prefix}{}", entry.file_name().to_str().unwrap());
        if entry.path().is_dir() {
            load(&entry.path(), &format!("{key}/"), files);
        } else {
            files.push((key, fs::read(entry.path()).unwrap()));
        }
    }
}

/// Makes an update of the same cells from a delete file.
fn update_of(delete: &[u8]) -> Vec<u8> {
    let tile = GenericTile::parse(delete, 0).unwrap();
    let payload = tile.decode(None, &Limits::default(), &Budget::unlimited()).unwrap();
    let condition = Condition::parse(&payload).unwrap();
    let update = Update { condition, values: vec![("a".to_owned(), 7i32.to_le_bytes().to_vec())] };
    let payload = update.to_bytes(FormatVersion::CURRENT).unwrap();
    GenericTile::encode(&payload, FormatVersion::CURRENT).unwrap()
}

fn cells(array: &Array) -> String {
    format!("{:?}", array.read().order(Layout::RowMajor).collect().unwrap().into_columns())
}

#[test]
fn cells_that_an_update_is_about_are_gone_as_after_a_delete() {
    let mut files = Vec::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../xtask/fixtures/arrays/2.30.0/deletes");
    load(&folder, "", &mut files);
    let open =
        |files: Vec<(String, Vec<u8>)>| OpenOptions::new().open_storage(MemoryStorage::new(files)).unwrap();
    let deleted = open(files.clone());
    let mut undeleted = files.clone();
    undeleted.retain(|(key, _)| !key.ends_with(".del"));
    for (key, bytes) in files.iter_mut().filter(|(key, _)| key.ends_with(".del")) {
        *bytes = update_of(bytes);
        *key = key.replace(".del", ".upd");
    }
    let updated = open(files.clone());
    assert_eq!(updated.updates().count(), 2);
    assert_eq!(deleted.updates().count(), 0);
    assert_eq!(cells(&updated), cells(&deleted));
    assert_ne!(cells(&updated), cells(&open(undeleted)));
    let found = verify(MemoryStorage::new(files));
    assert!(found.is_clean(), "{:?}", found.problems);
    assert_eq!(found.notes.iter().filter(|note| note.what.contains("an update")).count(), 2);
}
