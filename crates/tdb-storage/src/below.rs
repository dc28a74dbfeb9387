//! A folder of a storage as a separate storage: dimension labels are arrays in a folder of their
//! array, and members of a group in memory are in folders of the group.

use core::fmt::Debug;
use core::ops::Deref;
use std::io;
use std::sync::Arc;

use bytes::Bytes;

use crate::{
    ByteRange, Durability, Entry, FetchHints, FileVersion, FileWriter, Reply, Request, Storage, StorageLock,
    StoredFile, Tally, WriteStorage, join,
};

/// A folder of a storage.
#[derive(Clone, Debug)]
pub struct Below<S> {
    storage: S,
    folder: String,
}

impl<S> Below<S> {
    /// The folder of a storage.
    pub fn new(storage: S, folder: impl Into<String>) -> Self {
        Self { storage, folder: folder.into() }
    }

    fn key(&self, key: &str) -> String {
        if key.is_empty() { self.folder.clone() } else { join(&self.folder, key) }
    }
}

#[deny(clippy::missing_trait_methods)]
impl<S: Deref<Target: Storage> + Debug + Send + Sync> Storage for Below<S> {
    fn size(&self, key: &str) -> io::Result<u64> {
        self.storage.size(&self.key(key))
    }

    fn read(&self, key: &str) -> io::Result<Bytes> {
        self.storage.read(&self.key(key))
    }

    fn fetch(&self, requests: &[Request]) -> Vec<io::Result<Reply>> {
        let below: Vec<Request> =
            requests.iter().map(|request| request.with_key(self.key(request.key()))).collect();
        self.storage.fetch(&below)
    }

    fn hints(&self) -> Option<FetchHints> {
        self.storage.hints()
    }

    fn list(&self, folder: &str) -> io::Result<Vec<Entry>> {
        self.storage.list(&self.key(folder))
    }

    fn read_tail(&self, key: &str, max: u64) -> io::Result<(u64, Bytes)> {
        self.storage.read_tail(&self.key(key), max)
    }

    fn read_into(&self, key: &str, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.storage.read_into(&self.key(key), offset, out)
    }

    fn open(&self, key: &str) -> io::Result<Option<Box<dyn StoredFile + '_>>> {
        self.storage.open(&self.key(key))
    }

    fn read_ranges(&self, ranges: &[ByteRange]) -> io::Result<Vec<Bytes>> {
        let below =
            |ByteRange { key, range }: &ByteRange| ByteRange { key: self.key(key), range: range.clone() };
        self.storage.read_ranges(&ranges.iter().map(below).collect::<Vec<_>>())
    }

    fn describe(&self, key: &str) -> String {
        self.storage.describe(&self.key(key))
    }

    fn with_tally(&self, tally: &Arc<dyn Tally>) -> Option<Box<dyn Storage>> {
        let storage = self.storage.with_tally(tally)?;
        Some(Box::new(Below::new(storage, self.folder.clone())))
    }
}

#[deny(clippy::missing_trait_methods)]
impl<S: Deref<Target: WriteStorage> + Debug + Send + Sync> WriteStorage for Below<S> {
    fn list_named(&self, folder: &str, beginning: &str) -> io::Result<Vec<Entry>> {
        self.storage.list_named(&self.key(folder), beginning)
    }

    fn has_folders(&self) -> bool {
        self.storage.has_folders()
    }

    fn create_folder(&self, key: &str) -> io::Result<()> {
        self.storage.create_folder(&self.key(key))
    }

    fn create_file(&self, key: &str) -> io::Result<Box<dyn FileWriter + '_>> {
        self.storage.create_file(&self.key(key))
    }

    fn put_file(&self, key: &str, bytes: &[u8], durability: Durability) -> io::Result<()> {
        self.storage.put_file(&self.key(key), bytes, durability)
    }

    fn read_versioned(&self, key: &str) -> io::Result<(Bytes, FileVersion)> {
        self.storage.read_versioned(&self.key(key))
    }

    fn swap_file(
        &self,
        key: &str,
        expected: Option<&FileVersion>,
        bytes: &[u8],
        durability: Durability,
    ) -> io::Result<FileVersion> {
        self.storage.swap_file(&self.key(key), expected, bytes, durability)
    }

    fn replace_file(&self, key: &str, bytes: &[u8], durability: Durability) -> io::Result<()> {
        self.storage.replace_file(&self.key(key), bytes, durability)
    }

    /// The lock of the whole storage.
    fn lock(&self) -> io::Result<StorageLock> {
        self.storage.lock()
    }

    fn sync_folder(&self, key: &str) -> io::Result<()> {
        self.storage.sync_folder(&self.key(key))?;
        match self.folder.rsplit_once('/') {
            // The folder of the array itself is found in the folder above it.
            Some((above, _)) if key.is_empty() => self.storage.sync_folder(above),
            _ => Ok(()),
        }
    }

    fn remove_file(&self, key: &str) -> io::Result<()> {
        self.storage.remove_file(&self.key(key))
    }

    fn remove_folder(&self, key: &str) -> io::Result<()> {
        self.storage.remove_folder(&self.key(key))
    }
}
