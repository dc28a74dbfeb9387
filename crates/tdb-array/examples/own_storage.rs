//! Reads an array through a storage that the program implements.
//!
//! tdb reads all files through the trait `Storage`. A program that keeps its arrays in an object
//! store, in an archive or behind a cache implements this trait. The storage in this example counts
//! the requests that reach another storage.
//!
//! Run it with `cargo run -p tdb-array --example own_storage`.

use std::error::Error;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tdb_array::OpenOptions;
use tdb_array::storage::{ByteRange, Bytes, Entry, LocalStorage, Storage};

/// An array that libtiledb 2.30.0 wrote.
const ARRAY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../xtask/fixtures/arrays/2.30.0/quickstart");

/// Counts requests, and passes them on to another storage.
///
/// Several threads use a storage at once, so the counters are atomic.
#[derive(Debug)]
struct CountingStorage<S> {
    inner: S,
    requests: AtomicU64,
    bytes: AtomicU64,
}

impl<S> CountingStorage<S> {
    const fn new(inner: S) -> Self {
        Self { inner, requests: AtomicU64::new(0), bytes: AtomicU64::new(0) }
    }

    /// The number of requests so far, and the number of bytes that were requested.
    fn counts(&self) -> (u64, u64) {
        (self.requests.load(Ordering::Relaxed), self.bytes.load(Ordering::Relaxed))
    }

    fn count(&self, bytes: usize) {
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }
}

/// Files have keys: paths relative to the array's folder, with `/` between the parts.
///
/// The method `open` is not implemented: without it, tdb makes a request for every read, which
/// suits an object store.
impl<S: Storage> Storage for CountingStorage<S> {
    fn list(&self, folder: &str) -> io::Result<Vec<Entry>> {
        self.count(0);
        self.inner.list(folder)
    }

    // Reads the end of a file and returns its size. Some files of an array are read from their end.
    fn read_tail(&self, key: &str, most: u64) -> io::Result<(u64, Bytes)> {
        let (size, bytes) = self.inner.read_tail(key, most)?;
        self.count(bytes.len());
        Ok((size, bytes))
    }

    fn read_into(&self, key: &str, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.count(out.len());
        self.inner.read_into(key, offset, out)
    }

    // Reads several ranges at once. An object store would send all these requests before it waits
    // for the first answer.
    fn read_ranges(&self, ranges: &[ByteRange]) -> io::Result<Vec<Bytes>> {
        let found = self.inner.read_ranges(ranges)?;
        found.iter().for_each(|bytes| self.count(bytes.len()));
        Ok(found)
    }

    // The name of a file in error messages.
    fn describe(&self, key: &str) -> String {
        self.inner.describe(key)
    }
}

/// Reads a cell, and prints how many requests that takes.
pub fn main() -> Result<(), Box<dyn Error>> {
    // The array owns its storage. This program wants to look at the counters later, so it shares
    // the storage by `Arc`.
    let storage = Arc::new(CountingStorage::new(LocalStorage::new(ARRAY)));
    let array = OpenOptions::new().open_storage(storage.clone())?;
    let opened = storage.counts();
    println!("opening the array: {} requests, {} bytes", opened.0, opened.1);

    let cells = array.read().range("rows", 4..=4).range("cols", 1..=1).collect()?;
    let read = storage.counts();
    println!("reading a cell: {} more requests, {} more bytes", read.0 - opened.0, read.1 - opened.1);

    assert_eq!(cells.field("a")?.values::<i32>()?, [13]);
    assert!(opened.0 > 0 && read.0 > opened.0, "the reads did not go through the storage");
    Ok(())
}
