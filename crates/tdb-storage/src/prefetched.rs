//! Prefetch: a remote storage, and the bytes that were fetched from it before they are read.
//!
//! Code that opens an array or runs a query reads as if every call were cheap. Before each step it
//! announces what the step will read ([`ReadSet`]). A storage with [`FetchHints`] then fetches all
//! of that at once, and the step finds it here. Reads that were not announced still work; each is a
//! separate request.

use core::ops::Range;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tdb_codec::{to_u64, to_usize};

use crate::{ByteRange, Entry, FetchHints, Reply, Request, Storage, StoredFile, Tally, range_from};

/// The requests that a step will make.
#[derive(Debug, Default)]
pub struct ReadSet {
    /// Listings of folders and ends of files.
    pub files: Vec<Request>,
    /// Ranges of files; they may touch each other.
    pub ranges: Vec<(Arc<str>, Range<u64>)>,
}

/// The maximum number of bytes of ranges that one step prefetches. Metadata may state any wrong
/// size of a file, and a step without a memory budget would otherwise hold all stored bytes in
/// addition to everything it decodes from them. Chosen, not measured.
const MAX_PREFETCHED: u64 = 1 << 30;

/// A storage, and what was fetched from it.
#[derive(Debug)]
pub struct PrefetchedStorage {
    storage: Arc<dyn Storage>,
    hints: FetchHints,
    held: Mutex<HeldBytes>,
}

/// The listings, sizes and bytes that were fetched and may still be read.
#[derive(Debug, Default)]
struct HeldBytes {
    /// Each listing is read once: a caller that lists a folder again wants to see what changed.
    /// `None` is a folder that does not exist.
    listings: HashMap<String, Option<Vec<Entry>>>,
    /// Sizes of files, and their last bytes; `None` is a file that does not exist.
    tails: HashMap<String, Option<(u64, Bytes)>>,
    /// Pieces of files, by their start offset.
    pieces: HashMap<Arc<str>, BTreeMap<u64, Bytes>>,
}

impl HeldBytes {
    /// The bytes from the start of a range on, as far as a single piece contains them.
    fn part(&self, key: &str, range: &Range<u64>) -> Option<Bytes> {
        let from_piece = || {
            let (start, piece) = self.pieces.get(key)?.range(..=range.start).next_back()?;
            slice(piece, *start, range)
        };
        let from_tail = || {
            let (size, tail) = self.tails.get(key)?.as_ref()?;
            slice(tail, size.saturating_sub(to_u64(tail.len())), range)
        };
        from_piece().or_else(from_tail)
    }

    /// Whether the whole range is held.
    fn has(&self, key: &str, range: &Range<u64>) -> bool {
        let mut rest = range.clone();
        while !rest.is_empty() {
            let Some(part) = self.part(key, &rest) else { return false };
            rest.start = rest.start.saturating_add(to_u64(part.len()));
        }
        true
    }
}

/// The part of `bytes` (which start at `start`) with which a range begins; `None` if the range does
/// not begin in them.
fn slice(bytes: &Bytes, start: u64, range: &Range<u64>) -> Option<Bytes> {
    let from = to_usize(range.start.checked_sub(start)?)?;
    let to = to_usize(range.end.checked_sub(start)?).unwrap_or(usize::MAX).min(bytes.len());
    (from < to).then(|| bytes.slice(from..to))
}

impl PrefetchedStorage {
    /// Wraps a storage if it wants requests to be made together.
    pub fn wrap(storage: Arc<dyn Storage>) -> Option<Self> {
        let hints = storage.hints()?;
        Some(Self { storage, hints, held: Mutex::default() })
    }

    /// The same storage, with nothing fetched.
    pub fn anew(&self) -> Self {
        Self { storage: self.storage.clone(), hints: self.hints, held: Mutex::default() }
    }

    fn held(&self) -> MutexGuard<'_, HeldBytes> {
        // No code that can panic runs while this is locked.
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Drops everything that was fetched.
    pub fn forget(&self) {
        *self.held() = HeldBytes::default();
    }

    /// Drops the ranges of files that were fetched: those of a step that is done.
    pub fn drop_ranges(&self) {
        self.held().pieces.clear();
    }

    /// The number of bytes in ranges that would have to be fetched, including the gaps between
    /// them.
    pub fn missing_bytes(&self, read_set: &ReadSet) -> u64 {
        let merged = self.merged(&read_set.ranges);
        merged.iter().map(|(_, range)| range.end.saturating_sub(range.start)).fold(0, u64::saturating_add)
    }

    /// Fetches the parts that are not held yet. If a request fails, the later read of that part
    /// makes it again, and returns the error.
    pub fn prefetch(&self, read_set: &ReadSet) {
        let mut requests: Vec<Request> = Vec::new();
        {
            let (held, mut asked) = (self.held(), HashSet::new());
            for request in &read_set.files {
                let known = match request {
                    Request::List(folder) => held.listings.contains_key(folder),
                    Request::Tail(key, max) => held
                        .tails
                        .get(key)
                        .is_some_and(|own| own.as_ref().is_none_or(|own| reaches(own, *max))),
                    Request::Range(own) => held.has(&own.key, &own.range),
                };
                if !known && asked.insert(request) {
                    requests.push(request.clone());
                }
            }
        }
        let files = requests.len();
        let mut left = MAX_PREFETCHED;
        let mut ranges = self.requests(&read_set.ranges);
        ranges.retain(|(_, range)| {
            let rest = left.checked_sub(range.end.saturating_sub(range.start));
            left = rest.unwrap_or(left);
            rest.is_some()
        });
        requests.extend(ranges.iter().map(|(key, range)| Request::range(&**key, range.clone())));
        if requests.is_empty() {
            return;
        }
        let mut replies = self.storage.fetch(&requests).into_iter();
        let mut held = self.held();
        for (request, reply) in requests.into_iter().zip(replies.by_ref().take(files)) {
            match (request, reply) {
                (Request::List(folder), Ok(Reply::Entries(entries))) => {
                    held.listings.insert(folder, Some(entries));
                }
                (Request::List(folder), Err(error)) if error.kind() == io::ErrorKind::NotFound => {
                    held.listings.insert(folder, None);
                }
                (Request::Tail(key, _), Ok(Reply::Tail(size, bytes))) => {
                    held.tails.insert(key, Some((size, bytes)));
                }
                (Request::Tail(key, _), Err(error)) if error.kind() == io::ErrorKind::NotFound => {
                    held.tails.insert(key, None);
                }
                _ => {}
            }
        }
        for ((key, range), reply) in ranges.into_iter().zip(replies) {
            // A reply of another length is not valid.
            if let Ok(Reply::Bytes(bytes)) = reply
                && to_u64(bytes.len()) == range.end.saturating_sub(range.start)
            {
                let pieces = held.pieces.entry(key).or_default();
                // Pieces that begin inside this one would be found instead of it, but end earlier.
                let inside = pieces.range(range.clone());
                let ends =
                    |(start, piece): (&u64, &Bytes)| (*start, start.saturating_add(to_u64(piece.len())));
                let inside: Vec<u64> =
                    inside.map(ends).filter(|(_, end)| *end <= range.end).map(|(start, _)| start).collect();
                inside.iter().for_each(|start| drop(pieces.remove(start)));
                pieces.insert(range.start, bytes);
            }
        }
    }

    /// The requests for ranges that are not held yet. A range longer than the maximum that is
    /// fetched ahead is one request: it is left to the code that reads it, which first compares it
    /// with the size of the file.
    pub fn requests(&self, ranges: &[(Arc<str>, Range<u64>)]) -> Vec<(Arc<str>, Range<u64>)> {
        let mut requests = Vec::new();
        for (key, range) in self.merged(ranges) {
            let whole = range.end.saturating_sub(range.start) > MAX_PREFETCHED;
            let largest = if whole { u64::MAX } else { self.hints.largest.max(1) };
            let mut start = range.start;
            while start < range.end {
                let end = range.end.min(start.saturating_add(largest));
                requests.push((key.clone(), start..end));
                start = end;
            }
        }
        requests
    }

    /// Ranges that are not held yet, merged where the gaps between them are small.
    fn merged(&self, ranges: &[(Arc<str>, Range<u64>)]) -> Vec<(Arc<str>, Range<u64>)> {
        let held = self.held();
        let missing = ranges.iter().filter(|(key, range)| !range.is_empty() && !held.has(key, range));
        let mut missing: Vec<_> = missing.cloned().collect();
        drop(held);
        missing.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.start.cmp(&b.1.start)).then(a.1.end.cmp(&b.1.end)));
        let mut merged: Vec<(Arc<str>, Range<u64>)> = Vec::with_capacity(missing.len());
        for (key, range) in missing {
            match merged.last_mut() {
                Some((last, own))
                    if *last == key && range.start <= own.end.saturating_add(self.hints.gap) =>
                {
                    own.end = own.end.max(range.end);
                }
                _ => merged.push((key, range)),
            }
        }
        merged
    }

    /// Bytes of a range, if they are held.
    fn range(&self, key: &str, range: &Range<u64>) -> Option<Bytes> {
        let held = self.held();
        let first = held.part(key, range)?;
        let len = range.end.saturating_sub(range.start);
        if to_u64(first.len()) == len {
            return Some(first);
        }
        if !held.has(key, range) {
            return None;
        }
        let mut joined = Vec::with_capacity(to_usize(len)?);
        while to_u64(joined.len()) < len {
            let rest = range.start.saturating_add(to_u64(joined.len()))..range.end;
            joined.extend_from_slice(&held.part(key, &rest)?);
        }
        Some(joined.into())
    }
}

/// Whether the held last bytes of a file are at least its last `max` bytes, or all of it.
fn reaches((size, bytes): &(u64, Bytes), max: u64) -> bool {
    to_u64(bytes.len()) >= max.min(*size)
}

#[deny(clippy::missing_trait_methods)]
impl Storage for PrefetchedStorage {
    fn list(&self, folder: &str) -> io::Result<Vec<Entry>> {
        let fetched = self.held().listings.remove(folder);
        match fetched {
            Some(entries) => entries.ok_or_else(|| io::ErrorKind::NotFound.into()),
            None => self.storage.list(folder),
        }
    }

    fn size(&self, key: &str) -> io::Result<u64> {
        let known = self.held().tails.get(key).map(|own| own.as_ref().map(|(size, _)| *size));
        match known {
            Some(size) => size.ok_or_else(|| io::ErrorKind::NotFound.into()),
            None => self.storage.size(key),
        }
    }

    fn read(&self, key: &str) -> io::Result<Bytes> {
        self.read_tail(key, u64::MAX).map(|(_, bytes)| bytes)
    }

    fn read_tail(&self, key: &str, max: u64) -> io::Result<(u64, Bytes)> {
        let fetched = self.held().tails.get(key).cloned();
        let Some(fetched) = fetched.filter(|own| own.as_ref().is_none_or(|own| reaches(own, max))) else {
            return self.storage.read_tail(key, max);
        };
        let Some((size, bytes)) = fetched else { return Err(io::ErrorKind::NotFound.into()) };
        let wanted = to_usize(max.min(size)).unwrap_or(usize::MAX);
        Ok((size, bytes.slice(bytes.len().saturating_sub(wanted)..)))
    }

    fn read_into(&self, key: &str, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let mut rest = range_from(offset, out.len())?;
        let mut left = &mut *out;
        // The bytes are copied while the lock is not held.
        while !rest.is_empty() {
            let part = self.held().part(key, &rest);
            let Some(part) = part else { return self.storage.read_into(key, rest.start, left) };
            let (slot, later) = left.split_at_mut(part.len());
            slot.copy_from_slice(&part);
            rest.start = rest.start.saturating_add(to_u64(part.len()));
            left = later;
        }
        Ok(())
    }

    /// Every small read would be a request, so there is no open file.
    fn open(&self, _: &str) -> io::Result<Option<Box<dyn StoredFile + '_>>> {
        Ok(None)
    }

    fn read_ranges(&self, ranges: &[ByteRange]) -> io::Result<Vec<Bytes>> {
        let fetched = ranges.iter().map(|own| self.range(&own.key, &own.range)).collect::<Option<Vec<_>>>();
        fetched.map_or_else(|| self.storage.read_ranges(ranges), Ok)
    }

    fn fetch(&self, requests: &[Request]) -> Vec<io::Result<Reply>> {
        self.storage.fetch(requests)
    }

    fn hints(&self) -> Option<FetchHints> {
        Some(self.hints)
    }

    fn describe(&self, key: &str) -> String {
        self.storage.describe(key)
    }

    /// The storage behind this one already has its tally.
    fn with_tally(&self, _: &Arc<dyn Tally>) -> Option<Box<dyn Storage>> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemoryStorage;
    use core::sync::atomic::{AtomicUsize, Ordering};

    /// Files for which every call is counted.
    #[derive(Debug)]
    struct Far(MemoryStorage, AtomicUsize, FetchHints);

    impl Far {
        fn called(&self) -> &MemoryStorage {
            self.1.fetch_add(1, Ordering::Relaxed);
            &self.0
        }
    }

    impl Storage for Far {
        fn list(&self, folder: &str) -> io::Result<Vec<Entry>> {
            self.called().list(folder)
        }
        fn read_tail(&self, key: &str, max: u64) -> io::Result<(u64, Bytes)> {
            self.called().read_tail(key, max)
        }
        fn read_into(&self, key: &str, offset: u64, out: &mut [u8]) -> io::Result<()> {
            self.called().read_into(key, offset, out)
        }
        fn read_ranges(&self, ranges: &[ByteRange]) -> io::Result<Vec<Bytes>> {
            self.called().read_ranges(ranges)
        }
        fn fetch(&self, requests: &[Request]) -> Vec<io::Result<Reply>> {
            self.called().fetch(requests)
        }
        fn hints(&self) -> Option<FetchHints> {
            Some(self.2)
        }
        fn describe(&self, key: &str) -> String {
            key.to_owned()
        }
    }

    fn far(gap: u64, largest: u64) -> (Arc<Far>, PrefetchedStorage) {
        let bytes: Vec<u8> = (0..200).collect();
        let files = MemoryStorage::new([("a/x", bytes.clone()), ("a/y", bytes)]);
        let far = Arc::new(Far(files, AtomicUsize::new(0), FetchHints { gap, largest }));
        let prefetched = PrefetchedStorage::wrap(far.clone()).unwrap();
        (far, prefetched)
    }

    fn ranges(list: &[(&str, Range<u64>)]) -> ReadSet {
        ReadSet {
            ranges: list.iter().map(|(key, range)| ((*key).into(), range.clone())).collect(),
            ..ReadSet::default()
        }
    }

    #[test]
    fn ranges_that_were_announced_are_fetched_by_one_call_and_read_without_another() {
        for (gap, largest) in [(0, 1000), (10, 1000), (1000, 7), (0, 1), (5, 33)] {
            let (far, prefetched) = far(gap, largest);
            prefetched.prefetch(&ranges(&[
                ("a/x", 40..60),
                ("a/y", 0..5),
                ("a/x", 10..35),
                ("a/x", 20..41),
                ("a/x", 90..200),
            ]));
            for range in [40..60, 10..35, 20..41, 90..200, 12..58] {
                let expected: Vec<u8> =
                    (u8::try_from(range.start).unwrap()..u8::try_from(range.end).unwrap()).collect();
                let mut out = vec![0; expected.len()];
                prefetched.read_into("a/x", range.start, &mut out).unwrap();
                assert_eq!(out, expected);
                let read = prefetched.read_ranges(&[ByteRange { key: "a/x".into(), range }]).unwrap();
                assert_eq!(read[0][..], expected);
            }
            assert_eq!(far.1.load(Ordering::Relaxed), 1, "gap {gap}, largest {largest}");
        }
    }

    #[test]
    fn what_is_here_is_not_fetched_again_and_what_is_not_is_read_by_a_call() {
        let (far, prefetched) = far(0, 1000);
        let read_set = ranges(&[("a/x", 0..50)]);
        assert_eq!(prefetched.missing_bytes(&read_set), 50);
        prefetched.prefetch(&read_set);
        prefetched.prefetch(&read_set);
        assert_eq!((prefetched.missing_bytes(&read_set), far.1.load(Ordering::Relaxed)), (0, 1));
        let mut out = [0; 30];
        prefetched.read_into("a/x", 40, &mut out).unwrap();
        assert_eq!((out[0], out[29], far.1.load(Ordering::Relaxed)), (40, 69, 2));
        prefetched.drop_ranges();
        assert_eq!(prefetched.missing_bytes(&read_set), 50);
        assert!(prefetched.read_into("a/x", 190, &mut out).is_err(), "the file ends before");
    }

    #[test]
    fn a_piece_inside_a_later_one_does_not_hide_what_follows_it() {
        let (far, prefetched) = far(100, 1000);
        prefetched.prefetch(&ranges(&[("a/x", 27..135)]));
        prefetched.prefetch(&ranges(&[("a/x", 0..27), ("a/x", 135..160)]));
        let mut out = [0; 60];
        prefetched.read_into("a/x", 100, &mut out).unwrap();
        assert_eq!((out[0], out[59], far.1.load(Ordering::Relaxed)), (100, 159, 2));
    }

    #[test]
    fn a_range_that_no_file_is_long_enough_for_is_not_fetched_ahead_and_keeps_nothing_else_from_it() {
        let (far, prefetched) = far(0, 10);
        let read_set = ranges(&[("a/x", 0..u64::MAX), ("a/y", 0..50), ("a/z", 5..1 << 60)]);
        assert_eq!(prefetched.requests(&read_set.ranges).len(), 2 + 5);
        prefetched.prefetch(&read_set);
        assert_eq!(
            (prefetched.missing_bytes(&ranges(&[("a/y", 0..50)])), far.1.load(Ordering::Relaxed)),
            (0, 1)
        );
        let mut out = [0; 4];
        prefetched.read_into("a/x", 3, &mut out).unwrap();
        assert_eq!((out, far.1.load(Ordering::Relaxed)), ([3, 4, 5, 6], 2));
    }

    #[test]
    fn ends_of_files_serve_sizes_tails_and_ranges() {
        let (far, prefetched) = far(0, 1000);
        let files = vec![Request::Tail("a/x".into(), 20), Request::whole("a/y"), Request::whole("a/none")];
        prefetched.prefetch(&ReadSet { files, ..ReadSet::default() });
        assert_eq!(prefetched.size("a/x").unwrap(), 200);
        assert_eq!(prefetched.read_tail("a/x", 3).unwrap().1[..], [197, 198, 199]);
        assert_eq!(prefetched.read("a/y").unwrap().len(), 200);
        let mut out = [0; 2];
        prefetched.read_into("a/x", 185, &mut out).unwrap();
        assert_eq!((out, far.1.load(Ordering::Relaxed)), ([185, 186], 1));
        assert_eq!(prefetched.read("a/x").unwrap().len(), 200, "more than was fetched");
        assert_eq!(prefetched.read("a/none").unwrap_err().kind(), io::ErrorKind::NotFound);
        assert_eq!(far.1.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn a_listing_is_used_once_so_that_changes_are_seen() {
        let (far, prefetched) = far(0, 1000);
        prefetched.prefetch(&ReadSet {
            files: vec![Request::List("a".into()), Request::List("none".into())],
            ..ReadSet::default()
        });
        assert_eq!(prefetched.list("a").unwrap().len(), 2);
        far.0.insert("a/z", &b"1"[..]);
        assert_eq!(prefetched.list("a").unwrap().len(), 3);
        assert_eq!(prefetched.list("none").unwrap_err().kind(), io::ErrorKind::NotFound);
        assert_eq!(far.1.load(Ordering::Relaxed), 2);
    }
}
