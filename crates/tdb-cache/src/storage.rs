//! A cached storage.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use tdb_storage::{
    ByteRange, Durability, Entry, FetchHints, FileVersion, FileWriter, Reply, Request, Storage, StorageLock,
    StoredFile, Tally, WriteStorage,
};
use tdb_storage::{other_answer, range_from};

use crate::cache::Cache;
use crate::front::Front;
use crate::origin::Origin;

/// A cached storage, created by [`Cache::over`](crate::Cache::over).
///
/// A call asks the cache first; the remaining requests go to the storage in one call, in the same
/// order and with the storage's hints.
#[derive(Debug)]
pub struct CachedStorage<S> {
    storage: Arc<S>,
    front: Front,
}

impl<S> CachedStorage<S> {
    const fn new(storage: Arc<S>, front: Front) -> Self {
        Self { storage, front }
    }
}

impl<S> Clone for CachedStorage<S> {
    fn clone(&self) -> Self {
        Self { storage: self.storage.clone(), front: self.front.clone() }
    }
}

impl Cache {
    /// Puts this cache in front of a storage. Files with equal keys and equal origins are taken for
    /// the same file: see [`Origin`].
    ///
    /// In the storage, a file must exist as a whole or not at all, as in object stores. If a file
    /// is still being written, as may be visible in a local folder, the cache would store the part
    /// that exists.
    pub fn over<S: Storage + 'static>(&self, storage: S, origin: Origin) -> CachedStorage<S> {
        CachedStorage::new(Arc::new(storage), Front::new(self.clone(), origin))
    }
}

#[deny(clippy::missing_trait_methods)]
impl<S: Storage + 'static> Storage for CachedStorage<S> {
    /// Listings determine what exists, so they are never cached.
    fn list(&self, folder: &str) -> io::Result<Vec<Entry>> {
        self.storage.list(folder)
    }

    /// Only the storage knows whether a file exists.
    fn size(&self, key: &str) -> io::Result<u64> {
        self.storage.size(key)
    }

    fn read(&self, key: &str) -> io::Result<Bytes> {
        self.read_tail(key, u64::MAX).map(|(_, bytes)| bytes)
    }

    fn read_tail(&self, key: &str, max: u64) -> io::Result<(u64, Bytes)> {
        let request = Request::Tail(key.to_owned(), max);
        if let Some(reply) = self.front.ask_one(&request) {
            return reply.into_tail();
        }
        let (size, bytes) = self.storage.read_tail(key, max)?;
        self.front.keep(&request, &Reply::Tail(size, bytes.clone()));
        Ok((size, bytes))
    }

    fn read_into(&self, key: &str, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let request = Request::range(key, range_from(offset, out.len())?);
        if let Some(reply) = self.front.ask_one(&request) {
            return reply.copy_into(out);
        }
        self.storage.read_into(key, offset, out)?;
        self.front.keep_read(&request, out);
        Ok(())
    }

    /// If small reads are cheap, they need no cache.
    fn open(&self, key: &str) -> io::Result<Option<Box<dyn StoredFile + '_>>> {
        self.storage.open(key)
    }

    fn read_ranges(&self, ranges: &[ByteRange]) -> io::Result<Vec<Bytes>> {
        let asked = self.front.ask(ranges.iter().cloned().map(Request::Range).collect());
        let misses = asked.misses();
        let ranges: Vec<ByteRange> = misses
            .into_iter()
            .filter_map(|request| if let Request::Range(range) = request { Some(range) } else { None })
            .collect();
        let read = if ranges.is_empty() { Vec::new() } else { self.storage.read_ranges(&ranges)? };
        if read.len() != ranges.len() {
            return Err(other_answer());
        }
        let read = read.into_iter().map(|bytes| Ok(Reply::Bytes(bytes))).collect();
        self.front.complete(asked, read).into_iter().map(|reply| reply?.into_bytes()).collect()
    }

    fn fetch(&self, requests: &[Request]) -> Vec<io::Result<Reply>> {
        let asked = self.front.ask(requests.to_vec());
        let misses = asked.misses();
        let answers = if misses.is_empty() { Vec::new() } else { self.storage.fetch(&misses) };
        self.front.complete(asked, answers)
    }

    fn hints(&self) -> Option<FetchHints> {
        self.storage.hints()
    }

    fn describe(&self, key: &str) -> String {
        self.storage.describe(key)
    }

    fn with_tally(&self, tally: &Arc<dyn Tally>) -> Option<Box<dyn Storage>> {
        let front = self.front.with_tally(tally);
        Some(match self.storage.with_tally(tally) {
            Some(storage) => Box::new(CachedStorage::new(Arc::new(Arc::<dyn Storage>::from(storage)), front)),
            None => Box::new(Self::new(self.storage.clone(), front)),
        })
    }
}

/// Everything goes to the storage. If a file is written or removed, its cached parts are removed,
/// though names of cached files are never used twice.
#[deny(clippy::missing_trait_methods)]
impl<S: WriteStorage + 'static> WriteStorage for CachedStorage<S> {
    fn list_named(&self, folder: &str, beginning: &str) -> io::Result<Vec<Entry>> {
        self.storage.list_named(folder, beginning)
    }

    fn has_folders(&self) -> bool {
        self.storage.has_folders()
    }

    fn create_folder(&self, key: &str) -> io::Result<()> {
        self.storage.create_folder(key)
    }

    fn create_file(&self, key: &str) -> io::Result<Box<dyn FileWriter + '_>> {
        self.front.forget(key);
        self.storage.create_file(key)
    }

    fn put_file(&self, key: &str, bytes: &[u8], durability: Durability) -> io::Result<()> {
        self.front.forget(key);
        self.storage.put_file(key, bytes, durability)
    }

    fn read_versioned(&self, key: &str) -> io::Result<(Bytes, FileVersion)> {
        self.storage.read_versioned(key)
    }

    fn swap_file(
        &self,
        key: &str,
        expected: Option<&FileVersion>,
        bytes: &[u8],
        durability: Durability,
    ) -> io::Result<FileVersion> {
        self.front.forget(key);
        self.storage.swap_file(key, expected, bytes, durability)
    }

    fn replace_file(&self, key: &str, bytes: &[u8], durability: Durability) -> io::Result<()> {
        self.front.forget(key);
        self.storage.replace_file(key, bytes, durability)
    }

    fn lock(&self) -> io::Result<StorageLock> {
        self.storage.lock()
    }

    fn sync_folder(&self, key: &str) -> io::Result<()> {
        self.storage.sync_folder(key)
    }

    fn remove_file(&self, key: &str) -> io::Result<()> {
        self.front.forget(key);
        self.storage.remove_file(key)
    }

    fn remove_folder(&self, key: &str) -> io::Result<()> {
        self.storage.remove_folder(key)
    }
}
