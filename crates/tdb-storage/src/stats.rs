//! Counters of what reading costs.

use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::io;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use tdb_codec::to_u64;

use crate::{ByteRange, Entry, FetchHints, Reply, Request, Storage, StoredFile, Tally, other_answer};

/// Counters of the work done through an opened array: by one query (`Read::collect_with_stats`), or
/// since it was opened (`Array::stats`).
///
/// The counters belong to the array, and are updated once per tile. Queries that run on the same
/// array at the same time are counted together; open the array twice to count them separately.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueryStats {
    /// Reads from the storage, including listings; reads answered by a cache are not counted.
    pub requests: u64,
    /// Calls to the storage, each of which may make many requests at once; small reads of an open
    /// file count one by one. If one thread makes all calls, this is the number of waits.
    pub rounds: u64,
    /// Attempts of requests that failed, because a server was too busy or a connection broke, so
    /// that the request was made again. They are not counted as requests. Only storages that know
    /// about them report them.
    pub retries: u64,
    /// Bytes the storage delivered.
    pub bytes_read: u64,
    /// Reads answered by a cache.
    pub cache_hits: u64,
    /// Bytes delivered by a cache.
    pub cache_bytes: u64,
    /// Tiles decoded, at least in part; offsets, values and validity each count as one.
    pub tiles: u64,
    /// Chunks decoded, at least in part.
    pub chunks: u64,
    /// Bytes of cells decoded; where no filter changed a tile, those that were read.
    pub bytes_decoded: u64,
    /// Bytes of cells (values, validity, codes of strings) that were moved after they were decoded:
    /// out of a tile into the result, aside until they are collected, or to another order. Each
    /// move counts. Cells that are decoded where they stay were not moved; offsets of strings are
    /// computed anew; and a buffer that grows or shrinks does not count.
    pub bytes_copied: u64,
    /// Cells whose coordinates were compared with the ranges, or whose timestamps with the time
    /// window.
    pub cells_tested: u64,
    /// Time spent reading sections of fragment metadata (offsets, R-trees). It is also contained in
    /// the times of the other stages.
    pub sections: Duration,
    /// Time spent finding cells: R-trees, coordinates. Sparse arrays only.
    pub select: Duration,
    /// Time spent ordering cells: keys, sorting, duplicates, deletes. Sparse arrays only.
    pub order: Duration,
    /// Time spent on fields: reading, decoding, copying cells into the result.
    pub decode: Duration,
    /// Time of the whole query.
    pub total: Duration,
}

impl QueryStats {
    /// The work done since `before`.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self {
            requests: self.requests.saturating_sub(before.requests),
            rounds: self.rounds.saturating_sub(before.rounds),
            retries: self.retries.saturating_sub(before.retries),
            bytes_read: self.bytes_read.saturating_sub(before.bytes_read),
            cache_hits: self.cache_hits.saturating_sub(before.cache_hits),
            cache_bytes: self.cache_bytes.saturating_sub(before.cache_bytes),
            tiles: self.tiles.saturating_sub(before.tiles),
            chunks: self.chunks.saturating_sub(before.chunks),
            bytes_decoded: self.bytes_decoded.saturating_sub(before.bytes_decoded),
            bytes_copied: self.bytes_copied.saturating_sub(before.bytes_copied),
            cells_tested: self.cells_tested.saturating_sub(before.cells_tested),
            sections: self.sections.saturating_sub(before.sections),
            select: self.select.saturating_sub(before.select),
            order: self.order.saturating_sub(before.order),
            decode: self.decode.saturating_sub(before.decode),
            total: self.total.saturating_sub(before.total),
        }
    }
}

/// A stage of a query whose time is measured.
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
    /// Requests, rounds and bytes, including those answered by a cache.
    requests: AtomicU64,
    rounds: AtomicU64,
    retries: AtomicU64,
    bytes_read: AtomicU64,
    cache_hits: AtomicU64,
    cache_rounds: AtomicU64,
    cache_bytes: AtomicU64,
    tiles: AtomicU64,
    chunks: AtomicU64,
    bytes_decoded: AtomicU64,
    bytes_copied: AtomicU64,
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

    /// Counts bytes of cells that were moved after they were decoded. Callers add up the cells of a
    /// tile or a column first.
    pub fn copied(&self, bytes: usize) {
        self.bytes_copied.fetch_add(to_u64(bytes), Ordering::Relaxed);
    }

    /// Counts cells that were compared with ranges or a time window.
    pub fn tested(&self, cells: usize) {
        self.cells_tested.fetch_add(to_u64(cells), Ordering::Relaxed);
    }

    /// Adds the time until the returned guard is dropped to the time of a stage.
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

    /// The current sums.
    pub fn stats(&self) -> QueryStats {
        let time = |stage| Duration::from_nanos(self.slot(stage).load(Ordering::Relaxed));
        let cache_hits = self.cache_hits.load(Ordering::Relaxed);
        let cache_bytes = self.cache_bytes.load(Ordering::Relaxed);
        let cache_rounds = self.cache_rounds.load(Ordering::Relaxed);
        QueryStats {
            requests: self.requests.load(Ordering::Relaxed).saturating_sub(cache_hits),
            rounds: self.rounds.load(Ordering::Relaxed).saturating_sub(cache_rounds),
            retries: self.retries.load(Ordering::Relaxed),
            bytes_read: self.bytes_read.load(Ordering::Relaxed).saturating_sub(cache_bytes),
            cache_hits,
            cache_bytes,
            tiles: self.tiles.load(Ordering::Relaxed),
            chunks: self.chunks.load(Ordering::Relaxed),
            bytes_decoded: self.bytes_decoded.load(Ordering::Relaxed),
            bytes_copied: self.bytes_copied.load(Ordering::Relaxed),
            cells_tested: self.cells_tested.load(Ordering::Relaxed),
            sections: time(Stage::Sections),
            select: time(Stage::Select),
            order: time(Stage::Order),
            decode: time(Stage::Decode),
            total: time(Stage::Total),
        }
    }
}

/// Every call is counted as a call to the storage; what a cache answered is subtracted again.
impl Tally for Counters {
    fn kept(&self, requests: usize, bytes: usize, whole: bool) {
        self.cache_hits.fetch_add(to_u64(requests), Ordering::Relaxed);
        self.cache_bytes.fetch_add(to_u64(bytes), Ordering::Relaxed);
        self.cache_rounds.fetch_add(u64::from(whole), Ordering::Relaxed);
    }

    fn retried(&self) {
        self.retries.fetch_add(1, Ordering::Relaxed);
    }
}

/// Measures the time of a stage until it is dropped.
#[derive(Debug)]
pub struct Clock<'a> {
    counters: &'a Counters,
    stage: Stage,
    /// `None` where there is no clock: times stay 0.
    start: Option<Instant>,
}

/// The current time, to measure how long something takes; `None` in WebAssembly without a host,
/// where reading the clock panics.
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

/// A storage whose requests are counted and whose replies are checked for their length: if a
/// storage returns fewer bytes than requested without an error, later bytes must not be taken for
/// the missing ones.
#[derive(Debug)]
pub struct Counted {
    storage: Box<dyn Storage>,
    counters: Arc<Counters>,
}

impl Counted {
    /// Counts the requests made to `storage`.
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
        // Read with its size, to verify that all of it arrived.
        self.read_tail(key, u64::MAX).map(|(_, bytes)| bytes)
    }

    fn fetch(&self, requests: &[Request]) -> Vec<io::Result<Reply>> {
        let replies = self.storage.fetch(requests);
        self.counters.round();
        for reply in &replies {
            self.counters.request(reply.as_ref().map_or(0, Reply::len));
        }
        if replies.len() != requests.len() {
            // It is unknown which reply is missing.
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

    fn read_tail(&self, key: &str, max: u64) -> io::Result<(u64, Bytes)> {
        let read = self.storage.read_tail(key, max);
        self.counters.round();
        self.counters.request(read.as_ref().map_or(0, |(_, bytes)| bytes.len()));
        let (size, bytes) = read?;
        Request::Tail(String::new(), max).checked(Reply::Tail(size, bytes))?.into_tail()
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

    /// The storage behind this one already reports to these counters.
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

    fn will_need(&self, range: &core::ops::Range<u64>) -> bool {
        self.file.will_need(range)
    }
}
