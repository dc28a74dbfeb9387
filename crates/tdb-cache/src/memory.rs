//! Segments in memory: the most recently used ones, within a limit in bytes.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tdb_codec::to_u64;

use crate::origin::FileId;
use crate::segment::{Segment, Wanted};

/// The approximate memory of a segment in addition to its bytes.
const OVERHEAD: u64 = 256;
/// How many segments of a file are examined, of those that begin before the wanted part: the
/// nearest ones.
const LOOKED_AT: usize = 64;
/// The maximum size of a segment is the limit of the memory divided by this.
const LARGEST: u64 = 8;

/// Recently used segments, and the limit of their bytes.
#[derive(Debug)]
pub(crate) struct Memory {
    bound: u64,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    files: HashMap<FileId, Parts>,
    /// By last use: a number that only increases.
    uses: BTreeMap<u64, (FileId, Place)>,
    last_use: u64,
    bytes: u64,
}

/// The begin and the end of a segment.
type Place = (u64, u64);

/// The cached parts of one file.
type Parts = BTreeMap<Place, Part>;

#[derive(Debug)]
struct Part {
    size: Option<u64>,
    bytes: Bytes,
    used: u64,
}

impl Part {
    const fn segment(&self, (start, end): Place) -> Segment {
        Segment { range: start..end, size: self.size }
    }
}

impl Kept {
    fn next_use(&mut self) -> u64 {
        self.last_use = self.last_use.saturating_add(1);
        self.last_use
    }

    fn remove(&mut self, file: &FileId, place: Place) {
        let Some(parts) = self.files.get_mut(file) else { return };
        if let Some(part) = parts.remove(&place) {
            self.uses.remove(&part.used);
            self.bytes = self.bytes.saturating_sub(cost(&part.bytes));
        }
        if parts.is_empty() {
            self.files.remove(file);
        }
    }

    fn forget(&mut self, file: &FileId) {
        for part in self.files.remove(file).unwrap_or_default().into_values() {
            self.uses.remove(&part.used);
            self.bytes = self.bytes.saturating_sub(cost(&part.bytes));
        }
    }
}

fn cost(bytes: &Bytes) -> u64 {
    to_u64(bytes.len()).saturating_add(OVERHEAD)
}

impl Memory {
    pub(crate) fn new(bound: u64) -> Self {
        Self { bound, kept: Mutex::default() }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        // No code that can panic runs while this is locked.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A segment that contains the whole wanted part of a file.
    pub(crate) fn find(&self, file: &FileId, wanted: &Wanted) -> Option<(Segment, Bytes)> {
        let mut kept = self.kept();
        let used = kept.next_use();
        let Kept { files, uses, .. } = &mut *kept;
        let begin = match wanted {
            Wanted::Tail(_) => u64::MAX,
            Wanted::Range(range) => range.start,
        };
        let before = files.get_mut(file)?.range_mut(..=(begin, u64::MAX)).rev().take(LOOKED_AT);
        let mut candidates = before.map(|(place, part)| (*place, part));
        let (place, part) = candidates.find(|(place, part)| part.segment(*place).place(wanted).is_some())?;
        uses.remove(&core::mem::replace(&mut part.used, used));
        uses.insert(used, (*file, place));
        Some((part.segment(place), part.bytes.clone()))
    }

    /// Caches a segment, and removes the least recently used ones if there are too many bytes then.
    pub(crate) fn keep(&self, file: &FileId, segment: &Segment, bytes: &Bytes) {
        if cost(bytes) > self.bound.checked_div(LARGEST).unwrap_or(0) {
            return;
        }
        // A part of a larger buffer would keep the whole buffer in memory.
        let bytes = Bytes::copy_from_slice(bytes);
        let place = (segment.range.start, segment.range.end);
        let mut kept = self.kept();
        if let Some(parts) = kept.files.get(file) {
            let all = || parts.iter().map(|(place, part)| (*place, part.segment(*place)));
            if all().any(|(_, own)| !own.agrees(segment)) {
                // Files that never change have one size: one of these segments is wrong.
                kept.forget(file);
            } else if parts
                .range(..=place)
                .rev()
                .take(LOOKED_AT)
                .any(|(p, part)| part.segment(*p).covers(segment))
            {
                return;
            } else {
                let within = parts.range((place.0, 0)..=(place.1, u64::MAX));
                let covered: Vec<Place> =
                    within.filter(|(p, part)| segment.covers(&part.segment(**p))).map(|(p, _)| *p).collect();
                covered.into_iter().for_each(|place| kept.remove(file, place));
            }
        }
        let used = kept.next_use();
        kept.bytes = kept.bytes.saturating_add(cost(&bytes));
        kept.uses.insert(used, (*file, place));
        kept.files.entry(*file).or_default().insert(place, Part { size: segment.size, bytes, used });
        while kept.bytes > self.bound {
            let Some((_, (file, place))) = kept.uses.pop_first() else { break };
            kept.remove(&file, place);
        }
    }

    /// Removes a file from the cache.
    pub(crate) fn forget(&self, file: &FileId) {
        self.kept().forget(file);
    }

    /// The number of cached bytes, including their overhead.
    #[cfg(test)]
    pub(crate) fn bytes(&self) -> u64 {
        self.kept().bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Origin;

    fn file(name: &str) -> FileId {
        Origin::of(["here"]).file(name)
    }

    fn segment(start: u64, bytes: &Bytes, size: Option<u64>) -> Segment {
        Segment { range: start..start + to_u64(bytes.len()), size }
    }

    fn has(memory: &Memory, name: &str, wanted: Wanted) -> bool {
        memory.find(&file(name), &wanted).is_some()
    }

    #[test]
    fn what_was_used_longest_ago_goes_first_and_the_bound_holds() {
        let bytes = Bytes::from(vec![7; 744]);
        let memory = Memory::new(10_000);
        for number in 0..10 {
            memory.keep(&file(&number.to_string()), &segment(0, &bytes, None), &bytes);
            assert!(has(&memory, "0", Wanted::Range(0..1)), "it was used each time");
        }
        assert_eq!(memory.bytes(), 10_000);
        memory.keep(&file("10"), &segment(0, &bytes, None), &bytes);
        assert_eq!(memory.bytes(), 10_000);
        let there: Vec<_> =
            (0..=10).filter(|number| has(&memory, &number.to_string(), Wanted::Range(0..744))).collect();
        assert_eq!(there, [0, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    }

    #[test]
    fn a_large_segment_does_not_drive_out_all_others() {
        let memory = Memory::new(8_000);
        let large = Bytes::from(vec![0; 800]);
        memory.keep(&file("a"), &segment(0, &large, None), &large);
        assert_eq!((memory.bytes(), has(&memory, "a", Wanted::Range(0..1))), (0, false));
    }

    #[test]
    fn a_segment_takes_the_place_of_those_in_it() {
        let memory = Memory::new(1 << 20);
        let bytes = Bytes::from((0..100).collect::<Vec<u8>>());
        for (range, size) in [(10..20, None), (0..10, None), (15..30, None), (0..100, Some(100))] {
            let part = bytes.slice(range.clone());
            memory.keep(&file("a"), &segment(to_u64(range.start), &part, size), &part);
        }
        assert_eq!(memory.bytes(), 100 + OVERHEAD);
        memory.keep(&file("a"), &segment(5, &bytes.slice(5..9), None), &bytes.slice(5..9));
        assert_eq!(memory.bytes(), 100 + OVERHEAD, "it was there already");
        assert!(has(&memory, "a", Wanted::Tail(100)) && has(&memory, "a", Wanted::Range(3..99)));
    }

    #[test]
    fn a_file_that_has_another_size_is_another_file() {
        let memory = Memory::new(1 << 20);
        let bytes = Bytes::from(vec![1; 100]);
        memory.keep(&file("a"), &segment(0, &bytes, Some(100)), &bytes);
        memory.keep(&file("a"), &segment(50, &bytes, Some(150)), &bytes);
        assert!(!has(&memory, "a", Wanted::Range(0..10)) && has(&memory, "a", Wanted::Tail(10)));
        memory.keep(&file("a"), &segment(60, &bytes, None), &bytes);
        assert!(!has(&memory, "a", Wanted::Tail(10)), "it goes beyond the end");
        memory.forget(&file("a"));
        assert_eq!(memory.bytes(), 0);
    }
}
