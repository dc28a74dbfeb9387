//! The storages of this crate keep the rules, and storages that break them are detected.

use core::time::Duration;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::testing::{FarStorage, FaultyStorage};
use crate::{
    Below, ByteRange, Entry, FetchHints, FileVersion, FileWriter, LocalStorage, MemoryStorage, Reply,
    Request, StorageLock, StoredFile,
};

/// Folders that are removed at the end of the test.
#[derive(Debug)]
struct Folders {
    path: PathBuf,
    count: AtomicUsize,
}

impl Folders {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("tdb-conformance-{}-{name}", std::process::id()));
        Self { path, count: AtomicUsize::new(0) }
    }

    fn next(&self) -> PathBuf {
        self.path.join(self.count.fetch_add(1, Ordering::Relaxed).to_string())
    }
}

impl Drop for Folders {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

fn memory(files: &[(&str, Bytes)]) -> MemoryStorage {
    MemoryStorage::new(files.iter().cloned())
}

/// All rules of the two suites are checked; none is unsupported.
fn all_offered(checked: Result<Checked, BrokenRules>) {
    assert_eq!(checked.unwrap().not_offered, [""; 0]);
}

#[test]
fn a_local_folder_keeps_all_rules() {
    let folders = Folders::new("local");
    all_offered(check_write_storage(|| LocalStorage::new(folders.next())));
    all_offered(check_openings(|| {
        let path = folders.next();
        (LocalStorage::new(&path), LocalStorage::new(path))
    }));
}

#[test]
fn a_storage_in_memory_keeps_all_rules() {
    all_offered(check_storage(memory));
    all_offered(check_write_storage(MemoryStorage::default));
    all_offered(check_openings(|| {
        let storage = MemoryStorage::default();
        (storage.clone(), storage)
    }));
}

#[test]
fn storages_that_stand_before_others_keep_all_rules() {
    let far = |storage| FarStorage::new(storage, Duration::from_micros(50));
    all_offered(check_storage(|files| far(memory(files))));
    all_offered(check_write_storage(|| far(MemoryStorage::default())));
    all_offered(check_write_storage(|| FaultyStorage::new(MemoryStorage::default())));
    let hints = Some(FetchHints::OBJECT_STORE);
    all_offered(check_storage(|files| FaultyStorage::new(memory(files)).with_hints(hints)));
    all_offered(check_write_storage(|| Arc::new(MemoryStorage::default())));
    all_offered(check_write_storage(|| Below::new(Arc::new(MemoryStorage::default()), "some/where")));
    all_offered(check_openings(|| {
        let storage = MemoryStorage::default();
        (FaultyStorage::new(storage.clone()), FaultyStorage::new(storage))
    }));
}

#[test]
fn what_is_read_ahead_keeps_the_rules_of_storages() {
    all_offered(check_storage(|files| {
        let far = FarStorage::new(memory(files), Duration::ZERO);
        crate::PrefetchedStorage::wrap(Arc::new(far)).unwrap()
    }));
    all_offered(check_storage(|files| crate::stats::Counted::new(Box::new(memory(files)), Arc::default())));
}

/// What a storage does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wrong {
    /// A read beyond the end of a file returns the bytes that exist.
    Eof,
    /// A request that fails stops all others.
    Fetch,
    /// Putting a file replaces an existing one.
    Put,
    /// Versions are not compared.
    Swap,
    /// Checks first and writes later.
    Race,
    /// Names that begin otherwise are among those that were asked for.
    Named,
    /// Everybody gets the lock.
    Lock,
    /// Everything whose key begins with the folder's name is removed with it.
    Remove,
    /// Nothing: it supports neither conditional puts nor locks.
    Unable,
}

#[derive(Clone, Debug)]
struct Flawed(MemoryStorage, Wrong);

impl Storage for Flawed {
    fn list(&self, folder: &str) -> io::Result<Vec<Entry>> {
        self.0.list(folder)
    }
    fn read_tail(&self, key: &str, max: u64) -> io::Result<(u64, Bytes)> {
        self.0.read_tail(key, max)
    }
    fn read_into(&self, key: &str, offset: u64, out: &mut [u8]) -> io::Result<()> {
        match self.0.read_into(key, offset, out) {
            Err(error) if self.1 == Wrong::Eof && error.kind() == io::ErrorKind::UnexpectedEof => Ok(()),
            read => read,
        }
    }
    fn read_ranges(&self, ranges: &[ByteRange]) -> io::Result<Vec<Bytes>> {
        self.0.read_ranges(ranges)
    }
    fn fetch(&self, requests: &[Request]) -> Vec<io::Result<Reply>> {
        let mut replies = self.0.fetch(requests);
        if let Some(failed) = replies.iter().position(Result::is_err)
            && self.1 == Wrong::Fetch
        {
            replies.truncate(failed + 1);
        }
        replies
    }
    fn describe(&self, key: &str) -> String {
        self.0.describe(key)
    }
    fn open(&self, key: &str) -> io::Result<Option<Box<dyn StoredFile + '_>>> {
        self.0.open(key)
    }
}

impl WriteStorage for Flawed {
    fn list_named(&self, folder: &str, beginning: &str) -> io::Result<Vec<Entry>> {
        if self.1 == Wrong::Named { self.0.list(folder) } else { self.0.list_named(folder, beginning) }
    }
    fn create_folder(&self, key: &str) -> io::Result<()> {
        self.0.create_folder(key)
    }
    fn create_file(&self, key: &str) -> io::Result<Box<dyn FileWriter + '_>> {
        self.0.create_file(key)
    }
    fn put_file(&self, key: &str, bytes: &[u8], durability: Durability) -> io::Result<()> {
        match self.1 {
            Wrong::Put => self.0.replace_file(key, bytes, durability),
            Wrong::Race => {
                if self.0.size(key).is_ok() {
                    return Err(io::ErrorKind::AlreadyExists.into());
                }
                std::thread::sleep(Duration::from_millis(1));
                self.0.replace_file(key, bytes, durability)
            }
            Wrong::Unable => Err(io::ErrorKind::Unsupported.into()),
            _ => self.0.put_file(key, bytes, durability),
        }
    }
    fn read_versioned(&self, key: &str) -> io::Result<(Bytes, FileVersion)> {
        if self.1 == Wrong::Unable {
            Err(io::ErrorKind::Unsupported.into())
        } else {
            self.0.read_versioned(key)
        }
    }
    fn swap_file(
        &self,
        key: &str,
        expected: Option<&FileVersion>,
        bytes: &[u8],
        durability: Durability,
    ) -> io::Result<FileVersion> {
        match (self.1, expected) {
            (Wrong::Unable, _) => Err(io::ErrorKind::Unsupported.into()),
            (Wrong::Swap, Some(_)) => {
                self.0.replace_file(key, bytes, durability)?;
                Ok(self.0.read_versioned(key)?.1)
            }
            _ => self.0.swap_file(key, expected, bytes, durability),
        }
    }
    fn replace_file(&self, key: &str, bytes: &[u8], durability: Durability) -> io::Result<()> {
        self.0.replace_file(key, bytes, durability)
    }
    fn lock(&self) -> io::Result<StorageLock> {
        match self.1 {
            Wrong::Lock => Ok(StorageLock::new(())),
            Wrong::Unable => Ok(StorageLock::none()),
            _ => self.0.lock(),
        }
    }
    fn sync_folder(&self, key: &str) -> io::Result<()> {
        self.0.sync_folder(key)
    }
    fn remove_file(&self, key: &str) -> io::Result<()> {
        self.0.remove_file(key)
    }
    fn remove_folder(&self, key: &str) -> io::Result<()> {
        if self.1 == Wrong::Remove {
            self.0
                .keys()
                .iter()
                .filter(|other| other.starts_with(key))
                .for_each(|key| drop(self.0.remove(key)));
        }
        match self.0.remove_folder(key) {
            Err(_) if self.1 == Wrong::Remove => Ok(()),
            removed => removed,
        }
    }
}

#[test]
fn each_rule_that_is_broken_is_named() {
    for (wrong, named) in [
        (Wrong::Eof, "filling a buffer beyond the end of a file fails with UnexpectedEof"),
        (Wrong::Fetch, "if one request fails, the others are still answered"),
        (Wrong::Put, "a file is put whole, and cannot be put again"),
        (Wrong::Swap, "a caller with an old version does not replace the file, which stays as it is"),
        (Wrong::Race, "if several callers put the same file at once, one succeeds and the others fail"),
        (Wrong::Named, "names that begin in some way are those of the listing that do, files and folders"),
        (Wrong::Lock, "only one caller at a time holds the lock"),
        (
            Wrong::Remove,
            "removing a folder removes everything in it and nothing else, and cannot be repeated",
        ),
    ] {
        let broken = check_write_storage(|| Flawed(MemoryStorage::default(), wrong)).unwrap_err();
        assert!(broken.rules().iter().any(|(rule, _)| *rule == named), "{wrong:?}: {broken}");
        assert!(broken.to_string().contains(named));
    }
}

#[test]
fn what_a_storage_refuses_to_do_is_told_and_breaks_no_rule() {
    let checked = check_write_storage(|| Flawed(MemoryStorage::default(), Wrong::Unable)).unwrap();
    assert!(checked.not_offered.len() >= 8, "{checked:?}");
    assert!(checked.not_offered.contains(&"a file is put whole, and cannot be put again"));
    assert!(
        checked.kept.contains(&"a file can be replaced, whatever the lengths of the old and the new one")
    );
}
