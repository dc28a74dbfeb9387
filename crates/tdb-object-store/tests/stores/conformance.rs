//! The rules for storages, checked with stores of the `object_store` crate.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use object_store::local::LocalFileSystem;
use object_store::memory::InMemory;
use tdb_array::storage::testing::conformance::{check_openings, check_storage, check_write_storage};
use tdb_array::storage::{Bytes, Durability, WriteStorage};
use tdb_object_store::ObjectStorage;

fn in_memory() -> ObjectStorage {
    ObjectStorage::new(Arc::new(InMemory::new()), "some/where").unwrap()
}

#[test]
fn a_store_in_memory_keeps_all_rules() {
    let checked = check_storage(|files: &[(&str, Bytes)]| {
        let storage = in_memory();
        files.iter().for_each(|(key, bytes)| storage.put_file(key, bytes, Durability::Synced).unwrap());
        storage
    });
    assert_eq!(checked.unwrap().not_offered, [""; 0]);
    assert_eq!(check_write_storage(in_memory).unwrap().not_offered, [""; 0]);
    let checked = check_openings(|| {
        let store = Arc::new(InMemory::new());
        let open = || ObjectStorage::new(store.clone(), "some/where").unwrap();
        (open(), open())
    });
    assert_eq!(checked.unwrap().not_offered, [""; 0]);
}

/// A folder that is removed at the end of the test; each store has its own subfolder.
struct Folder(PathBuf, AtomicUsize);

impl Folder {
    fn store(&self) -> Arc<LocalFileSystem> {
        let path = self.0.join(self.1.fetch_add(1, Ordering::Relaxed).to_string());
        std::fs::create_dir_all(&path).unwrap();
        // Folders without files do not exist, as in other stores.
        Arc::new(LocalFileSystem::new_with_prefix(path).unwrap().with_automatic_cleanup(true))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_store_of_local_files_keeps_all_rules_but_has_no_versions_to_replace() {
    let path = std::env::temp_dir().join(format!("tdb-object-store-{}", std::process::id()));
    let folder = Folder(path, AtomicUsize::new(0));
    let checked = check_write_storage(|| ObjectStorage::new(folder.store(), "some/where").unwrap()).unwrap();
    let about_versions =
        |rule: &str| ["version", "gone", "where none"].iter().any(|word| rule.contains(word));
    assert!(checked.not_offered.iter().all(|rule| about_versions(rule)), "{:?}", checked.not_offered);
    let checked = check_openings(|| {
        let store = folder.store();
        let open = || ObjectStorage::new(store.clone(), "some/where").unwrap();
        (open(), open())
    });
    let not_offered = checked.unwrap().not_offered;
    assert!(not_offered.iter().all(|rule| about_versions(rule)), "{not_offered:?}");
}
