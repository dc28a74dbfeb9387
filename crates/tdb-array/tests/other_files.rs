//! Files beside data and fragment metadata (for those see `rewrite.rs`), made by tdb of what libtiledb's say: the same
//! bytes, but for names (times and uuids), the version in the header of a generic tile (each library writes its own
//! newest), and the bytes that gzip chose.

#![expect(clippy::unwrap_used, reason = "helpers of tests: a panic is a failure")]

use std::fs;
use std::path::{Path, PathBuf};

use tdb_array::{ArraySchema, MemoryStorage, MetadataChanges, Storage, WriteOptions};
use tdb_codec::{Budget, Limits};
use tdb_schema::{Dimension, MetadataEntry};
use tdb_tile::GenericTile;

mod common;

/// The metadata files of all arrays and groups below a folder.
fn metadata_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let in_meta = folder.file_name().is_some_and(|name| name == "__meta");
        if path.is_dir() {
            metadata_files(&path, found);
        } else if in_meta && path.extension().is_none() {
            found.push(path);
        }
    }
}

fn payload(tile: &GenericTile<'_>) -> Vec<u8> {
    tile.decode(None, &Limits::default(), &Budget::unlimited()).unwrap()
}

#[test]
fn metadata_that_libtiledb_wrote_is_written_again_as_the_same_file() {
    let schema = ArraySchema::sparse().dimension(Dimension::new("x", 0i32..=9)).build().unwrap();
    let mut files = Vec::new();
    metadata_files(&common::fixtures().join("arrays"), &mut files);
    let (mut same, mut encrypted, mut unordered) = (0, 0, 0);
    for path in files {
        let bytes = fs::read(&path).unwrap();
        let theirs = GenericTile::parse(&bytes, 0).unwrap();
        if theirs.encryption != tdb_tile::Encryption::None {
            encrypted += 1;
            continue;
        }
        let expected = payload(&theirs);
        let entries = MetadataEntry::parse_all(&expected).unwrap();
        // A consolidated file may hold a key more than once, or in the order of a hash table.
        if !entries.is_sorted_by(|a, b| a.key < b.key) {
            unordered += 1;
            continue;
        }
        let changes = entries.into_iter().fold(MetadataChanges::new(), |changes, entry| match entry.value {
            Some(value) => changes.put(entry.key, value),
            None => changes.remove(entry.key),
        });
        let storage = MemoryStorage::default();
        WriteOptions::new().create_storage(&storage, &schema).unwrap();
        let writer = WriteOptions::new().open_storage(storage.clone()).unwrap();
        let Some(key) = writer.write_metadata(&changes).unwrap() else {
            assert!(expected.is_empty(), "{}", path.display());
            continue;
        };
        let (_, bytes) = storage.read_tail(&key, u64::MAX).unwrap();
        let ours = GenericTile::parse(&bytes, 0).unwrap();
        assert_eq!(payload(&ours), expected, "{}", path.display());
        let head = |tile: &GenericTile<'_>| {
            (tile.datatype, tile.cell_size, tile.encryption, tile.pipeline.filters.clone(), tile.tile_size)
        };
        assert_eq!(head(&ours), head(&theirs), "{}", path.display());
        same += 1;
    }
    println!("{same} files are the same, {encrypted} are encrypted, {unordered} are in no order of keys");
    assert!(same >= 20 && unordered * 10 <= same, "{same} {unordered}");
}
