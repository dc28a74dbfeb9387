//! A slow storage that records its requests.

use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use bytes::Bytes;
use tdb_codec::to_u64;

use crate::{
    ByteRange, Durability, Entry, FetchHints, FileVersion, FileWriter, Reply, Request, Storage, StorageLock,
    StoredFile, Tally, WriteStorage, named, range_from,
};

/// A storage each of whose calls takes a while, like those of an object store, however many
/// requests the call makes at once. It asks to be told what will be read ([`Storage::hints`]), and
/// counts its requests.
///
/// ```
/// use std::sync::Arc;
/// use core::time::Duration;
/// use tdb_array::OpenOptions;
/// use tdb_array::storage::LocalStorage;
/// use tdb_array::storage::testing::FarStorage;
///
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../xtask/fixtures/arrays/2.30.0/quickstart");
/// let storage = Arc::new(FarStorage::new(LocalStorage::new(path), Duration::from_millis(1)));
/// let array = OpenOptions::new().open_storage(storage.clone())?;
/// array.read().range("rows", 1..=2).collect()?;
/// assert!(storage.rounds() <= 5);
/// # Ok::<(), tdb_array::Error>(())
/// ```
#[derive(Debug)]
pub struct FarStorage<S> {
    storage: S,
    latency: Duration,
    hints: FetchHints,
    rounds: AtomicU64,
    bytes: AtomicU64,
    asked: Mutex<Vec<Request>>,
}

impl<S: Storage> FarStorage<S> {
    /// A storage whose every call takes `latency`, with the hints of object stores.
    pub const fn new(storage: S, latency: Duration) -> Self {
        Self {
            storage,
            latency,
            hints: FetchHints::OBJECT_STORE,
            rounds: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            asked: Mutex::new(Vec::new()),
        }
    }

    /// The same with other hints.
    #[must_use]
    pub const fn with_hints(mut self, hints: FetchHints) -> Self {
        self.hints = hints;
        self
    }

    /// The number of calls so far. If one thread made them all, this is the number of waits.
    pub fn rounds(&self) -> u64 {
        self.rounds.load(Ordering::Relaxed)
    }

    /// Bytes that were delivered so far.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// The requests since the last call of this method, in the order they were made.
    pub fn requests(&self) -> Vec<Request> {
        core::mem::take(&mut *self.asked.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Waits, then returns the storage.
    fn wait(&self) -> &S {
        self.rounds.fetch_add(1, Ordering::Relaxed);
        if !self.latency.is_zero() {
            thread::sleep(self.latency);
        }
        &self.storage
    }

    fn ask(&self, requests: &[Request]) -> Vec<io::Result<Reply>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(requests);
        let replies = self.wait().fetch(requests);
        let bytes = replies.iter().flatten().map(|reply| to_u64(reply.len())).fold(0, u64::saturating_add);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        replies
    }

    fn ask_one(&self, request: Request) -> io::Result<Reply> {
        self.ask(core::slice::from_ref(&request))
            .pop()
            .unwrap_or_else(|| Err(io::ErrorKind::UnexpectedEof.into()))
    }
}

#[deny(clippy::missing_trait_methods)]
impl<S: Storage> Storage for FarStorage<S> {
    fn list(&self, folder: &str) -> io::Result<Vec<Entry>> {
        self.ask_one(Request::List(folder.to_owned()))?.into_entries()
    }

    fn size(&self, key: &str) -> io::Result<u64> {
        self.read_tail(key, 0).map(|(size, _)| size)
    }

    fn read(&self, key: &str) -> io::Result<Bytes> {
        self.read_tail(key, u64::MAX).map(|(_, bytes)| bytes)
    }

    fn read_tail(&self, key: &str, max: u64) -> io::Result<(u64, Bytes)> {
        self.ask_one(Request::Tail(key.to_owned(), max))?.into_tail()
    }

    fn read_into(&self, key: &str, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let range = range_from(offset, out.len())?;
        self.ask_one(Request::range(key, range))?.copy_into(out)
    }

    fn open(&self, _: &str) -> io::Result<Option<Box<dyn StoredFile + '_>>> {
        Ok(None)
    }

    fn read_ranges(&self, ranges: &[ByteRange]) -> io::Result<Vec<Bytes>> {
        let requests: Vec<Request> = ranges.iter().cloned().map(Request::Range).collect();
        self.ask(&requests).into_iter().map(|reply| reply?.into_bytes()).collect()
    }

    fn fetch(&self, requests: &[Request]) -> Vec<io::Result<Reply>> {
        self.ask(requests)
    }

    fn hints(&self) -> Option<FetchHints> {
        Some(self.hints)
    }

    fn describe(&self, key: &str) -> String {
        self.storage.describe(key)
    }

    /// Each call takes its time, even if a cache answers it.
    fn with_tally(&self, _: &Arc<dyn Tally>) -> Option<Box<dyn Storage>> {
        None
    }
}

/// Appending to a file takes no time: the file is transferred when it is finished.
#[deny(clippy::missing_trait_methods)]
impl<S: WriteStorage> WriteStorage for FarStorage<S> {
    fn list_named(&self, folder: &str, beginning: &str) -> io::Result<Vec<Entry>> {
        named(self.list(folder), beginning)
    }

    fn has_folders(&self) -> bool {
        self.storage.has_folders()
    }

    fn create_folder(&self, key: &str) -> io::Result<()> {
        self.wait().create_folder(key)
    }

    fn create_file(&self, key: &str) -> io::Result<Box<dyn FileWriter + '_>> {
        self.wait().create_file(key)
    }

    fn put_file(&self, key: &str, bytes: &[u8], durability: Durability) -> io::Result<()> {
        self.wait().put_file(key, bytes, durability)
    }

    fn read_versioned(&self, key: &str) -> io::Result<(Bytes, FileVersion)> {
        self.wait().read_versioned(key)
    }

    fn swap_file(
        &self,
        key: &str,
        expected: Option<&FileVersion>,
        bytes: &[u8],
        durability: Durability,
    ) -> io::Result<FileVersion> {
        self.wait().swap_file(key, expected, bytes, durability)
    }

    fn replace_file(&self, key: &str, bytes: &[u8], durability: Durability) -> io::Result<()> {
        self.wait().replace_file(key, bytes, durability)
    }

    fn lock(&self) -> io::Result<StorageLock> {
        self.wait().lock()
    }

    fn sync_folder(&self, key: &str) -> io::Result<()> {
        self.wait().sync_folder(key)
    }

    fn remove_file(&self, key: &str) -> io::Result<()> {
        self.wait().remove_file(key)
    }

    fn remove_folder(&self, key: &str) -> io::Result<()> {
        self.wait().remove_folder(key)
    }
}
