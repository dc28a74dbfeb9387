use std::fs;
use std::path::Path;

use tdb_array::{Array, OpenOptions};
use tdb_codec::{FormatVersion, Layout};
use tdb_storage::MemoryStorage;
use tdb_tile::GenericTile;

/// The files of a fixture whose fragment metadata libtiledb consolidated.
fn fixture() -> Vec<(String, Vec<u8>)> {
    fn walk(folder: &Path, key: &str, files: &mut Vec<(String, Vec<u8>)>) {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let key = super::join(key, entry.file_name().to_str().unwrap());
            if entry.file_type().unwrap().is_dir() {
                walk(&entry.path(), &key, files);
            } else {
                files.push((key, fs::read(entry.path()).unwrap()));
            }
        }
    }
    let mut files = Vec::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../xtask/fixtures/arrays/2.30.0/fragment_meta");
    walk(&root, "", &mut files);
    files
}

fn open(files: Vec<(String, Vec<u8>)>) -> crate::Result<Array> {
    OpenOptions::new().open_storage(MemoryStorage::new(files))
}

fn digest(array: &Array) -> Vec<Vec<u8>> {
    let cells = array.read().order(Layout::RowMajor).collect().unwrap();
    cells.columns().iter().map(|column| column.bytes().to_vec()).collect()
}

fn is_footer(key: &str) -> bool {
    key.ends_with("__fragment_metadata.tdb")
}

#[test]
fn footers_that_are_consolidated_are_not_read_from_their_fragments() {
    let listed: Vec<_> = fixture().into_iter().filter(|(key, _)| !is_footer(key)).collect();
    let array = open(listed).unwrap();
    assert!(array.fragments().len() > 1);
    assert!(array.non_empty_domain().is_some());
    assert!(array.read().collect().is_err(), "tile offsets are in the fragments' own files");
}

#[test]
fn the_cells_are_the_same_with_and_without_consolidated_footers() {
    let with = open(fixture()).unwrap();
    let without = open(fixture().into_iter().filter(|(key, _)| !key.ends_with(".meta")).collect()).unwrap();
    assert_eq!(digest(&with), digest(&without));
}

#[test]
fn damaged_consolidated_footers_are_not_trusted() {
    let whole = open(fixture()).unwrap();
    for damage in [0usize, 3, 20, 60] {
        let mut files = fixture();
        for (_, bytes) in files.iter_mut().filter(|(key, _)| key.ends_with(".meta")) {
            let at = bytes.len() * damage / 100;
            bytes.truncate(at);
        }
        assert_eq!(digest(&open(files).unwrap()), digest(&whole), "cut at {damage} %");
    }
}

#[test]
fn a_fragment_that_no_consolidated_metadata_lists_is_read_from_its_own_file() {
    let whole = open(fixture()).unwrap();
    let mut files = fixture();
    let name = files.iter().find(|(key, _)| key.ends_with(".meta")).unwrap().0.clone();
    files.retain(|(key, _)| !key.ends_with(".meta"));
    let empty = GenericTile::encode(&0u32.to_le_bytes(), FormatVersion::CURRENT).unwrap();
    files.push((name, empty));
    assert_eq!(digest(&open(files).unwrap()), digest(&whole));
}
