//! Files other than data and fragment metadata (for those see `rewrite.rs`), which tdb writes from
//! the contents of libtiledb's: the same bytes, except for names (times and uuids), the version in
//! the header of a generic tile (each library writes its own newest), and the compressed bytes of
//! gzip.

#![expect(clippy::unwrap_used, reason = "helpers of tests: a panic is a failure")]

use std::fs;
use std::path::{Path, PathBuf};

use tdb_array::WriteOptions;
use tdb_array::schema::ArraySchema;
use tdb_array::storage::{MemoryStorage, Storage};
use tdb_array::write::MetadataChanges;
use tdb_codec::{Budget, Limits};
use tdb_schema::{Dimension, MetadataEntry};
use tdb_tile::GenericTile;

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
    metadata_files(&crate::common::fixtures().join("arrays"), &mut files);
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
        // A consolidated file may contain a key more than once, or in the order of a hash table.
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

/// Commits are consolidated, then fragments, and the replaced ones are vacuumed. libtiledb up to
/// 2.30 leaves an array that it does not open any more, because the commit files of the removed
/// fragments are still there.
#[test]
fn a_commit_file_that_is_to_be_ignored_commits_nothing_once_its_fragment_is_gone() {
    use tdb_array::schema::{Attribute, CellValNum, Datatype};
    use tdb_array::{OpenOptions, TimeWindow, WriteColumn};

    let schema = ArraySchema::sparse()
        .dimension(Dimension::new("x", 0i32..=9))
        .attribute(Attribute::new("a", Datatype::Int32, CellValNum::ONE))
        .build()
        .unwrap();
    let storage = MemoryStorage::default();
    WriteOptions::new().create_storage(&storage, &schema).unwrap();
    let write = |time: u64, x: i32| {
        let writer = WriteOptions::new().timestamp(time).open_storage(storage.clone()).unwrap();
        let (x, a) = ([x], [x * 10]);
        writer
            .write()
            .column(WriteColumn::fixed("x", &x))
            .column(WriteColumn::fixed("a", &a))
            .commit()
            .unwrap()
    };
    let (gone, kept) = (write(10, 1), write(20, 2));
    let count = |storage: &MemoryStorage| {
        let array = OpenOptions::new().window(TimeWindow::ALL).open_storage(storage.clone())?;
        array.read().collect().map(|cells| cells.len())
    };
    let name = |folder: &str| folder.rsplit('/').next().unwrap().to_owned();
    let ignored = format!("__commits/{}.wrt\n__commits/{}.wrt\n", name(&gone), name(&kept));
    storage.insert("__commits/__10_20_0123456789abcdef0123456789abcdef_22.ign", ignored.into_bytes());
    // libtiledb sees both, and so does tdb.
    assert_eq!(count(&storage).unwrap(), 2);
    let folder = format!("__fragments/{}/", name(&gone));
    for key in storage.keys().iter().filter(|key| key.starts_with(&folder)) {
        storage.remove(key);
    }
    assert_eq!(count(&storage).unwrap(), 1);
    // Without the list, a missing fragment is corruption.
    storage.remove("__commits/__10_20_0123456789abcdef0123456789abcdef_22.ign");
    assert!(count(&storage).is_err());
}
