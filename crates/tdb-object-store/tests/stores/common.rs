//! Fixtures in stores.

use std::path::{Path, PathBuf};

use tdb_array::Cells;
use tdb_array::storage::{Durability, WriteStorage};

/// The folder of the fixtures.
pub(crate) fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../xtask/fixtures/arrays")
}

/// Copies a folder into a storage.
pub(crate) fn upload(from: &Path, to: &dyn WriteStorage) {
    let mut folders = vec![String::new()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(from.join(&folder)).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            let key = if folder.is_empty() { name } else { format!("{folder}/{name}") };
            if entry.file_type().unwrap().is_dir() {
                folders.push(key);
            } else {
                to.put_file(&key, &std::fs::read(entry.path()).unwrap(), Durability::Synced).unwrap();
            }
        }
    }
}

/// Values and offsets of all columns.
pub(crate) fn bytes(cells: &Cells) -> Vec<(Vec<u8>, Option<Vec<u64>>)> {
    let column =
        |column: &tdb_array::Column| (column.bytes().to_vec(), column.offsets().map(<[u64]>::to_vec));
    cells.columns().iter().map(column).collect()
}
