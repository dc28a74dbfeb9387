//! Files that other programs leave in an array's folders: they change nothing.

use std::collections::BTreeSet;
use std::fs;

use tdb_array::group::Group;
use tdb_array::history::history;
use tdb_array::maintain::verify;
use tdb_array::storage::{MemoryStorage, Storage};
use tdb_array::{Layout, OpenOptions};

/// The bytes that macOS begins such files with.
const APPLE_DOUBLE: [u8; 8] = [0, 5, 0x16, 7, 0, 2, 0, 0];

/// The keys of the folders of some files, with the root.
fn folders(keys: &[String]) -> BTreeSet<String> {
    keys.iter().map(|key| key.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned()).collect()
}

/// Adds what macOS leaves beside each file and in each folder, and files of others that end like
/// commit files.
fn soil(storage: &MemoryStorage) {
    let keys = storage.keys();
    for key in &keys {
        let (folder, name) = key.rsplit_once('/').map_or(("", &**key), |(folder, name)| (folder, name));
        let beside = format!("{folder}/._{name}");
        storage.insert(beside.trim_start_matches('/').to_owned(), APPLE_DOUBLE.to_vec());
    }
    for folder in folders(&keys) {
        let hidden = format!("{folder}/.DS_Store");
        storage.insert(hidden.trim_start_matches('/').to_owned(), APPLE_DOUBLE.to_vec());
    }
    for suffix in ["con", "ign", "vac", "del", "upd", "meta", "ok", "wrt"] {
        for folder in ["", "__commits/"] {
            storage.insert(format!("{folder}notes.{suffix}"), b"strange".to_vec());
        }
    }
}

#[test]
fn files_of_other_programs_change_nothing() {
    for name in [
        "2.30.0/commits_con",
        "2.30.0/commits_ign",
        "2.30.0/commits_vac_sparse",
        "2.30.0/deletes_commits_con",
        "2.30.0/delete_operators",
        "2.30.0/meta_consolidated",
        "2.30.0/fragment_meta",
        "2.30.0/enumeration_extended",
        "2.4.3/vac_old",
        "2.4.3/fragment_meta_old",
    ] {
        let storage = crate::verify::load(&crate::common::fixtures().join("arrays").join(name));
        let digest = |storage: &MemoryStorage| {
            let array = OpenOptions::new().open_storage(storage.clone()).unwrap();
            let cells = array.read().order(Layout::RowMajor).collect().unwrap();
            let columns: Vec<_> = cells.columns().iter().map(|column| column.bytes().to_vec()).collect();
            let events = history(storage.clone(), None).unwrap().events.into_iter();
            let events: Vec<_> = events.map(|event| (event.key, event.timestamps)).collect();
            (columns, array.metadata().unwrap(), events)
        };
        let clean = digest(&storage);
        soil(&storage);
        assert!(digest(&storage) == clean, "{name}");
        let found = verify(storage.clone());
        assert!(found.problems.is_empty(), "{name}: {:?}", found.problems);
        let beside = |what: &str| found.notes.iter().filter(|note| note.what.contains(what)).count();
        assert!(beside("hidden file of another program") > 0, "{name}: {:?}", found.notes);
    }
}

#[test]
fn hidden_files_in_groups_change_nothing() {
    for name in ["group_flat", "group_removed", "group_meta_consolidated"] {
        let fixture = crate::common::fixtures().join("arrays/2.30.0").join(name);
        let folder = std::env::temp_dir().join(format!("tdb-strays-{}-{name}", std::process::id()));
        let storage = crate::verify::load(&fixture);
        soil(&storage);
        for key in storage.keys() {
            let path = folder.join(&key);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, storage.read_tail(&key, u64::MAX).unwrap().1).unwrap();
        }
        let digest = |group: Group| (group.members().cloned().collect::<Vec<_>>(), group.metadata().unwrap());
        let [clean, soiled] = [&fixture, &folder].map(|path| digest(Group::open(path).unwrap()));
        assert!(clean == soiled, "{name}");
        fs::remove_dir_all(folder).unwrap();
    }
}
