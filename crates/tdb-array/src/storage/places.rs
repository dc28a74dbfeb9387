//! Where the members of a group are, and the storages of those places.

use core::fmt::Debug;
use std::fs;
use std::io;

use bytes::Bytes;

use super::{ByteRange, Entry, LocalStorage, MemoryStorage, Storage, StoredFile, join};

/// Turns locations into storages: paths of local folders, or whatever URIs an implementation knows.
pub trait Places: Debug + Send + Sync {
    /// The storage at a location; `None` where this implementation does not look.
    fn storage(&self, location: &str) -> Option<Box<dyn Storage>>;

    /// One text for all the locations that mean the same folder, so that a walk notices where it has been.
    fn identity(&self, location: &str) -> String;
}

/// The local file system: locations are paths.
#[derive(Clone, Copy, Debug, Default)]
pub struct LocalPlaces;

impl Places for LocalPlaces {
    fn storage(&self, location: &str) -> Option<Box<dyn Storage>> {
        if location.contains("://") {
            return None;
        }
        Some(Box::new(LocalStorage::new(location)))
    }

    fn identity(&self, location: &str) -> String {
        // Links may lead a group into itself under ever longer names.
        let real = fs::canonicalize(location);
        real.map_or_else(|_| location.to_owned(), |path| path.to_string_lossy().into_owned())
    }
}

/// The folders of a storage in memory: locations are keys.
impl Places for MemoryStorage {
    fn storage(&self, location: &str) -> Option<Box<dyn Storage>> {
        if location.contains("://") || location.starts_with('/') {
            return None;
        }
        Some(Box::new(Folder { storage: self.clone(), key: self.identity(location) }))
    }

    fn identity(&self, location: &str) -> String {
        let mut parts: Vec<&str> = Vec::new();
        for part in location.split('/') {
            match part {
                "" | "." => {}
                ".." => {
                    parts.pop();
                }
                part => parts.push(part),
            }
        }
        parts.join("/")
    }
}

/// A folder of another storage as a storage of its own.
#[derive(Debug)]
pub(crate) struct Folder<S> {
    storage: S,
    key: String,
}

impl<S> Folder<S> {
    pub(crate) const fn new(storage: S, key: String) -> Self {
        Self { storage, key }
    }

    fn key(&self, key: &str) -> String {
        if key.is_empty() { self.key.clone() } else { join(&self.key, key) }
    }
}

impl<S: Storage> Storage for Folder<S> {
    fn list(&self, folder: &str) -> io::Result<Vec<Entry>> {
        self.storage.list(&self.key(folder))
    }

    fn read_tail(&self, key: &str, most: u64) -> io::Result<(u64, Bytes)> {
        self.storage.read_tail(&self.key(key), most)
    }

    fn read_into(&self, key: &str, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.storage.read_into(&self.key(key), offset, out)
    }

    fn open(&self, key: &str) -> io::Result<Option<Box<dyn StoredFile + '_>>> {
        self.storage.open(&self.key(key))
    }

    fn read_ranges(&self, ranges: &[ByteRange]) -> io::Result<Vec<Bytes>> {
        let inside = |range: &ByteRange| ByteRange { key: self.key(&range.key), range: range.range.clone() };
        self.storage.read_ranges(&ranges.iter().map(inside).collect::<Vec<_>>())
    }

    fn describe(&self, key: &str) -> String {
        self.storage.describe(&self.key(key))
    }
}
