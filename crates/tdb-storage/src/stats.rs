//! What reading costs, counted as it happens.

use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::io;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use tdb_codec::to_u64;

use crate::storage::{
    ByteRange, Entry, FetchHints, Reply, Request, Storage, StoredFile, Tally, other_answer,
};

/// What was done through an opened array: by one query (`Read::collect_with_stats`),
/// or since it was opened (`Array::stats`).
///
/// Counters are of the array, added to once a tile. What queries of the same array do at the same time counts for all of
/// them; open it twice to have them apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueryStats {
    /// Reads of the storage, listings included; what a cache answered does not count.
    pub requests: u64,
    /// Calls of the storage, each of which may make many requests at once: as many waits, where one thread makes them all.
    pub rounds: u64,
    /// Bytes the storage delivered.
    pub bytes_read: u64,
    /// Reads that a cache answered.
    pub cache_hits: u64,
    /// Bytes that a cache delivered.
    pub cache_bytes: u64,
    /// Tiles of which something was decoded; offsets, values and validity each count.
    pub tiles: u64,
    /// Chunks decoded.
    pub chunks: u64,
    /// Bytes of cells decoded.
    pub bytes_decoded: u64,
    /// Cells whose coordinates were compared with the ranges, or whose timestamps with the window.
    pub cells_tested: u64,
    /// Time spent on reading sections of fragment metadata (offsets, R-trees), which happens inside the other stages.
    pub sections: Duration,
    /// Time spent on finding cells: R-trees, coordinates. Sparse arrays only.
    pub select: Duration,
    /// Time spent on order: keys, sorting, duplicates, deletes. Sparse arrays only.
    pub order: Duration,
    /// Time spent on fields: reading, decoding, putting cells in their places.
    pub decode: Duration,
    /// Time of the whole query.
    pub total: Duration,
}

impl QueryStats {
    /// What was done since `before`.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self {
            requests: self.requests.saturating_sub(before.requests),
            rounds: self.rounds.saturating_sub(before.rounds),
            bytes_read: self.bytes_read.saturating_sub(before.bytes_read),
            cache_hits: self.cache_hits.saturating_sub(before.cache_hits),
            cache_bytes: self.cache_bytes.saturating_sub(before.cache_bytes),
            tiles: self.tiles.saturating_sub(before.tiles),
            chunks: self.chunks.saturating_sub(before.chunks),
            bytes_decoded: self.bytes_decoded.saturating_sub(before.bytes_decoded),
            cells_tested: self.cells_tested.saturating_sub(before.cells_tested),
            sections: self.sections.saturating_sub(before.sections),
            select: self.select.saturating_sub(before.select),
            order: self.order.saturating_sub(before.order),
            decode: self.decode.saturating_sub(before.decode),
            total: self.total.saturating_sub(before.total),
        }
    }
}

/// A stage of a query, for its time.
#[derive(Clone, Copy, Debug)]
pub enum Stage {
    /// Reading sections of fragment metadata.
    Sections,
    /// Finding cells.
    Select,
    /// Putting them in order.
    Order,
    /// Reading and decoding fields.
    Decode,
    /// The whole query.
    Total,
}

/// Sums that all threads of an array add to.
#[derive(Debug, Default)]
pub struct Counters {
    /// Requests, rounds and bytes, those included that a cache answered.
    requests: AtomicU64,
    rounds: AtomicU64,
    bytes_read: AtomicU64,
    cache_hits: AtomicU64,
    cache_rounds: AtomicU64,
    cache_bytes: AtomicU64,
    tiles: AtomicU64,
    chunks: AtomicU64,
    bytes_decoded: AtomicU64,
    cells_tested: AtomicU64,
    /// Nanoseconds of each [`Stage`].
    nanoseconds: [AtomicU64; 5],
}

impl Counters {
    pub(crate) fn round(&self) {
        self.rounds.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn request(&self, bytes: usize) {
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.bytes_read.fetch_add(to_u64(bytes), Ordering::Relaxed);
    }

    /// Counts a tile that was decoded, at least in part.
    pub fn tile(&self, chunks: usize, bytes: usize) {
        self.tiles.fetch_add(1, Ordering::Relaxed);
        self.chunks.fetch_add(to_u64(chunks), Ordering::Relaxed);
        self.bytes_decoded.fetch_add(to_u64(bytes), Ordering::Relaxed);
    }

    /// Counts cells that were compared with ranges or a window.
    pub fn tested(&self, cells: usize) {
        self.cells_tested.fetch_add(to_u64(cells), Ordering::Relaxed);
    }

    /// Adds the time until the guard is dropped to a stage's.
    #[must_use]
    pub fn time(&self, stage: Stage) -> Clock<'_> {
        Clock { counters: self, stage, start: start() }
    }

    fn slot(&self, stage: Stage) -> &AtomicU64 {
        let [sections, select, order, decode, total] = &self.nanoseconds;
        match stage {
            Stage::Sections => sections,
            Stage::Select => select,
            Stage::Order => order,
            Stage::Decode => decode,
            Stage::Total => total,
        }
    }

    /// The sums so far.
    pub fn stats(&self) -> QueryStats {
        let time = |stage| Duration::from_nanos(self.slot(stage).load(Ordering::Relaxed));
        let cache_hits = self.cache_hits.load(Ordering::Relaxed);
        let cache_bytes = self.cache_bytes.load(Ordering::Relaxed);
        let cache_rounds = self.cache_rounds.load(Ordering::Relaxed);
        QueryStats {
            requests: self.requests.load(Ordering::Relaxed).saturating_sub(cache_hits),
            rounds: self.rounds.load(Ordering::Relaxed).saturating_sub(cache_rounds),
            bytes_read: self.bytes_read.load(Ordering::Relaxed).saturating_sub(cache_bytes),
            cache_hits,
            cache_bytes,
            tiles: self.tiles.load(Ordering::Relaxed),
            chunks: self.chunks.load(Ordering::Relaxed),
            bytes_decoded: self.bytes_decoded.load(Ordering::Relaxed),
            cells_tested: self.cells_tested.load(Ordering::Relaxed),
            sections: time(Stage::Sections),
            select: time(Stage::Select),
            order: time(Stage::Order),
            decode: time(Stage::Decode),
            total: time(Stage::Total),
        }
    }
}

/// A storage counts every call; what a cache answered of it is taken off again.
impl Tally for Counters {
    fn kept(&self, requests: usize, bytes: usize, whole: bool) {
        self.cache_hits.fetch_add(to_u64(requests), Ordering::Relaxed);
        self.cache_bytes.fetch_add(to_u64(bytes), Ordering::Relaxed);
        self.cache_rounds.fetch_add(u64::from(whole), Ordering::Relaxed);
    }
}

/// A stage's time, which runs until this is dropped.
#[derive(Debug)]
pub struct Clock<'a> {
    counters: &'a Counters,
    stage: Stage,
    /// `None` where there is no clock: times stay 0.
    start: Option<Instant>,
}

/// When something began, to measure how long it takes; `None` in WebAssembly without a host, where asking for the time panics.
fn start() -> Option<Instant> {
    (!cfg!(all(target_family = "wasm", target_os = "unknown"))).then(Instant::now)
}

impl Drop for Clock<'_> {
    fn drop(&mut self) {
        let Some(start) = self.start else { return };
        let passed = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.counters.slot(self.stage).fetch_add(passed, Ordering::Relaxed);
    }
}

/// A storage whose requests are counted, and whose replies are as long as they have to be: a storage that gives less, without
/// an error, must not have other bytes taken for those.
#[derive(Debug)]
pub struct Counted {
    storage: Box<dyn Storage>,
    counters: Arc<Counters>,
}

impl Counted {
    /// Counts what `storage` is asked.
    pub fn new(storage: Box<dyn Storage>, counters: Arc<Counters>) -> Self {
        let tally: Arc<dyn Tally> = counters.clone();
        let storage = storage.with_tally(&tally).unwrap_or(storage);
        Self { storage, counters }
    }
}

#[deny(clippy::missing_trait_methods)]
impl Storage for Counted {
    fn size(&self, key: &str) -> io::Result<u64> {
        self.counters.round();
        self.counters.request(0);
        self.storage.size(key)
    }

    fn read(&self, key: &str) -> io::Result<Bytes> {
        // With its size, to see that all of it came.
        self.read_tail(key, u64::MAX).map(|(_, bytes)| bytes)
    }

    fn fetch(&self, requests: &[Request]) -> Vec<io::Result<Reply>> {
        let replies = self.storage.fetch(requests);
        self.counters.round();
        for reply in &replies {
            self.counters.request(reply.as_ref().map_or(0, Reply::len));
        }
        if replies.len() != requests.len() {
            // Nobody knows which is missing.
            return requests.iter().map(|_| Err(other_answer())).collect();
        }
        let checked = |(request, reply): (&Request, io::Result<Reply>)| request.checked(reply?);
        requests.iter().zip(replies).map(checked).collect()
    }

    fn hints(&self) -> Option<FetchHints> {
        self.storage.hints()
    }

    fn list(&self, folder: &str) -> io::Result<Vec<Entry>> {
        self.counters.round();
        self.counters.request(0);
        self.storage.list(folder)
    }

    fn read_tail(&self, key: &str, most: u64) -> io::Result<(u64, Bytes)> {
        let read = self.storage.read_tail(key, most);
        self.counters.round();
        self.counters.request(read.as_ref().map_or(0, |(_, bytes)| bytes.len()));
        let (size, bytes) = read?;
        Request::Tail(String::new(), most).checked(Reply::Tail(size, bytes))?.into_tail()
    }

    fn read_into(&self, key: &str, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.counters.round();
        self.counters.request(out.len());
        self.storage.read_into(key, offset, out)
    }

    fn open(&self, key: &str) -> io::Result<Option<Box<dyn StoredFile + '_>>> {
        let file = self.storage.open(key)?;
        let counted =
            |file| -> Box<dyn StoredFile + '_> { Box::new(CountedFile { file, counters: &self.counters }) };
        Ok(file.map(counted))
    }

    fn read_ranges(&self, ranges: &[ByteRange]) -> io::Result<Vec<Bytes>> {
        let read = self.storage.read_ranges(ranges);
        self.counters.round();
        read.iter().flatten().for_each(|bytes| self.counters.request(bytes.len()));
        let read = read?;
        if read.len() != ranges.len() {
            return Err(other_answer());
        }
        let checked = |(range, bytes): (&ByteRange, Bytes)| {
            Request::range("", range.range.clone()).checked(Reply::Bytes(bytes))?.into_bytes()
        };
        ranges.iter().zip(read).map(checked).collect()
    }

    fn describe(&self, key: &str) -> String {
        self.storage.describe(key)
    }

    /// What stands behind tells these counters already.
    fn with_tally(&self, _: &Arc<dyn Tally>) -> Option<Box<dyn Storage>> {
        None
    }
}

#[derive(Debug)]
struct CountedFile<'a> {
    file: Box<dyn StoredFile + 'a>,
    counters: &'a Counters,
}

impl StoredFile for CountedFile<'_> {
    fn read_into(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.counters.round();
        self.counters.request(out.len());
        self.file.read_into(offset, out)
    }
}
