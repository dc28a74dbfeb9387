//! Sorts keys with all threads: merges runs that are already sorted, or distributes keys over
//! buckets that fit in a core's cache.
//!
//! Both end with slices of entries in key order, no two of which share a key. Each is passed to a
//! [`Finish`], which turns it into its part of the result. Merging needs only the keys of the
//! current band of each thread in memory: fresh memory costs more than computing a key twice.

mod merge;

use core::ops::Range;

use tdb_codec::{to_u32, to_u64, to_usize};

pub(super) use self::merge::merge;
use crate::buffers::{split_exactly, split_lengths};
use crate::{Error, OrInternal, Result, parallel};

/// An unsigned integer that contains the packed parts of a sort key.
pub(super) trait Key: Copy + Ord + Send + Sync + Default {
    /// A part, moved to its position: to the left by fewer bits than a key has, unless it is 0.
    fn place(word: u64, shift: u32) -> Self;

    /// The bits of both keys.
    fn with(self, other: Self) -> Self;

    /// The distance of the key from `min`.
    fn above(self, min: Self) -> Self;

    /// The lowest 64 bits after a shift to the right.
    fn shifted(self, shift: u32) -> u64;

    /// The number of bits up to the highest one that is set.
    fn length(self) -> u32;
}

macro_rules! key {
    ($type:ty, $low:expr) => {
        impl Key for $type {
            #[inline]
            fn place(word: u64, shift: u32) -> Self {
                // Without a branch, processors move several words at once.
                Self::from(word).wrapping_shl(shift)
            }

            #[inline]
            fn with(self, other: Self) -> Self {
                self | other
            }

            #[inline]
            fn above(self, min: Self) -> Self {
                self.wrapping_sub(min)
            }

            #[inline]
            fn shifted(self, shift: u32) -> u64 {
                $low(self.checked_shr(shift).unwrap_or(0))
            }

            fn length(self) -> u32 {
                Self::BITS.saturating_sub(self.leading_zeros())
            }
        }
    };
}

key!(u64, |word: u64| word);
key!(u128, |word: u128| {
    #[expect(clippy::cast_possible_truncation, reason = "the lowest 64 bits are what is asked for")]
    let low = word as u64;
    low
});

/// Provides keys.
pub(super) trait Source<K>: Sync {
    /// Number of cells.
    fn cells(&self) -> usize;

    /// Ends of the batches whose cells are likely to be in order.
    fn batches(&self) -> impl Iterator<Item = usize>;

    /// Appends the keys of cells; `None` if a cell does not fit in its key, otherwise whether equal
    /// keys mean equal coordinates.
    fn keys(&self, cells: Range<usize>, out: &mut Vec<K>) -> Option<bool>;
}

/// Keys in cell order, and what is known about them.
pub(super) struct Keyed<K> {
    pub(super) keys: Vec<K>,
    pub(super) min: K,
    pub(super) max: K,
    /// Whether equal keys mean equal coordinates.
    pub(super) exact: bool,
}

/// Where a job's part of the result goes.
pub(super) struct Sink<'s> {
    /// Room for as many cell numbers as the job has cells; empty if only the dropped cells are
    /// wanted.
    slot: &'s mut [u32],
    kept: usize,
    dropped: Vec<u32>,
}

impl Sink<'_> {
    #[inline]
    pub(super) fn keep(&mut self, cell: u32) {
        if let Some(slot) = self.slot.get_mut(self.kept) {
            *slot = cell;
        }
        self.kept = self.kept.wrapping_add(1);
    }

    pub(super) fn drop(&mut self, cell: u32) {
        self.dropped.push(cell);
    }
}

/// The result of a sort.
#[derive(Debug, Default)]
pub(super) struct Sorted {
    /// The kept cells in order, if the order is wanted.
    pub(super) order: Vec<u32>,
    /// Dropped cells, in no particular order.
    pub(super) dropped: Vec<u32>,
}

/// Decides the order of cells with equal keys.
pub(super) trait Finish: Sync {
    /// Passes on entries in key order. `same` compares the keys of two entries, `cell` returns an
    /// entry's cell. If `exact`, equal keys mean equal coordinates.
    fn finish<E: Copy>(
        &self,
        exact: bool,
        sorted: &[E],
        same: impl Fn(E, E) -> bool,
        cell: impl Fn(E) -> u32,
        sink: &mut Sink<'_>,
    );
}

/// With fewer cells than this, starting a thread is not worth it.
const FEW_CELLS: usize = 1 << 15;

/// The most buckets: a core can keep this many places to write to in its cache.
const MOST_BUCKET_BITS: u32 = 13;
/// The desired number of cells per bucket, as a power of two.
const BUCKET_CELLS: u32 = 10;
/// Cells that a thread sorts at once: keys and numbers fit in a core's second-level cache.
const BAND: usize = 1 << 14;

/// How many threads are useful for a number of cells.
pub(super) fn useful_threads(threads: usize, cells: usize) -> usize {
    if cells < FEW_CELLS { 1 } else { threads.max(1) }
}

/// Sorts keys by distributing them. `ordered` says whether the order is wanted, or only the dropped
/// cells.
pub(super) fn sort<K: Key, F: Finish>(
    threads: usize,
    keyed: &Keyed<K>,
    finish: &F,
    ordered: bool,
) -> Result<Sorted> {
    let cells = keyed.keys.len();
    let mut order = if ordered { vec![0u32; cells] } else { Vec::new() };
    let parts = distribute(useful_threads(threads, cells), keyed, finish, &mut order)?;
    close_gaps(order, parts)
}

/// Closes gaps: if cells were dropped, a job's part of the order is shorter than its slot.
fn close_gaps(mut order: Vec<u32>, parts: Vec<Part>) -> Result<Sorted> {
    let cells = parts.iter().fold(0usize, |cells, part| cells.saturating_add(part.cells));
    if !order.is_empty() && cells != order.len() {
        return Err(Error::internal("an order without some of its cells"));
    }
    let (mut to, mut from, mut dropped) = (0usize, 0usize, Vec::new());
    for part in parts {
        let end = from.saturating_add(part.kept);
        if to < from && !order.is_empty() {
            order.copy_within(from..end, to);
        }
        to = to.saturating_add(part.kept);
        from = from.saturating_add(part.cells);
        dropped.extend(part.dropped);
    }
    order.truncate(to);
    Ok(Sorted { order, dropped })
}

/// The result of a job.
struct Part {
    cells: usize,
    kept: usize,
    dropped: Vec<u32>,
}

impl Part {
    /// The part of a job of so many cells, each of which `fill` keeps or drops.
    fn of(cells: usize, slot: &mut [u32], fill: impl FnOnce(&mut Sink<'_>)) -> Result<Self> {
        if !slot.is_empty() && slot.len() != cells {
            return Err(Error::internal("cells without room in their order"));
        }
        let mut sink = Sink { slot, kept: 0, dropped: Vec::new() };
        fill(&mut sink);
        if sink.kept.checked_add(sink.dropped.len()) != Some(cells) {
            return Err(Error::internal("a cell that is neither kept nor dropped"));
        }
        Ok(Self { cells, kept: sink.kept, dropped: sink.dropped })
    }
}

/// Distributes keys over buckets by their leading bits, and sorts each bucket.
fn distribute<K: Key, F: Finish>(
    threads: usize,
    keyed: &Keyed<K>,
    finish: &F,
    order: &mut [u32],
) -> Result<Vec<Part>> {
    let cells = keyed.keys.len();
    let key_bits = keyed.max.above(keyed.min).length();
    let number_bits = u64::BITS.saturating_sub(to_u64(cells.saturating_sub(1)).leading_zeros());
    let wanted = number_bits.saturating_sub(BUCKET_CELLS).min(MOST_BUCKET_BITS);
    let bucket_bits = wanted.min(key_bits);
    let shift = key_bits.saturating_sub(bucket_bits);
    let buckets = Buckets { min: keyed.min, shift, count: 1usize << bucket_bits };
    // The bucket determines the leading bits of its keys. If the other bits and a cell's number fit
    // in a word, only that word is sorted.
    if shift.saturating_add(number_bits) <= u64::BITS {
        let low = u64::MAX.checked_shr(u64::BITS.saturating_sub(shift)).unwrap_or(0);
        let number = u64::MAX.checked_shr(u64::BITS.saturating_sub(number_bits)).unwrap_or(0);
        let pack = |above: K, cell: u32| {
            (above.shifted(0) & low).checked_shl(number_bits).unwrap_or(0) | u64::from(cell)
        };
        let mut entries = buckets.fill(threads, &keyed.keys, pack)?;
        let same = |a: u64, b: u64| (a ^ b) & !number == 0;
        let cell = |entry: u64| to_u32(to_usize(entry & number).unwrap_or(0)).unwrap_or(u32::MAX);
        return entries.sort(threads, (finish, keyed.exact), same, cell, order);
    }
    let mut entries = buckets.fill(threads, &keyed.keys, |above, cell| (above, cell))?;
    entries.sort(threads, (finish, keyed.exact), |a, b| a.0 == b.0, |entry| entry.1, order)
}

/// What is wrong if a key is above the greatest one.
const NO_BUCKET: &str = "a key without a place in a bucket";

/// How keys are distributed.
struct Buckets<K> {
    min: K,
    shift: u32,
    count: usize,
}

/// Entries by bucket.
struct Distributed<E> {
    entries: Vec<E>,
    /// Entries in each bucket.
    sizes: Vec<usize>,
}

impl<K: Key> Buckets<K> {
    fn bucket(&self, above: K) -> usize {
        to_usize(above.shifted(self.shift)).unwrap_or(usize::MAX)
    }

    fn fill<E: Copy + Default + Send + Sync>(
        &self,
        threads: usize,
        keys: &[K],
        entry: impl Fn(K, u32) -> E + Sync,
    ) -> Result<Distributed<E>> {
        // Each job handles one chunk of the keys: it counts its keys in each bucket, then writes
        // them to its places there.
        let pieces = if threads > 1 { threads.saturating_mul(2) } else { 1 };
        let chunk = keys.len().div_ceil(pieces).max(1);
        let counts = parallel::run(
            threads,
            keys.chunks(chunk).collect(),
            || (),
            |keys: &[K], ()| {
                let mut counts = vec![0usize; self.count];
                for key in keys {
                    let count = counts.get_mut(self.bucket(key.above(self.min))).or_internal(NO_BUCKET)?;
                    *count = count.wrapping_add(1);
                }
                Ok(counts)
            },
        )?;
        let mut entries = vec![E::default(); keys.len()];
        let mut places: Vec<Vec<core::slice::IterMut<'_, E>>> =
            counts.iter().map(|_| Vec::with_capacity(self.count)).collect();
        let mut sizes = Vec::with_capacity(self.count);
        let mut rest = entries.as_mut_slice();
        for bucket in 0..self.count {
            let mut size = 0usize;
            for (places, counts) in places.iter_mut().zip(&counts) {
                let count = *counts.get(bucket).or_internal(NO_BUCKET)?;
                let split = core::mem::take(&mut rest).split_at_mut_checked(count);
                let (place, after) = split.or_internal("keys without room in their bucket")?;
                places.push(place.iter_mut());
                rest = after;
                size = size.saturating_add(count);
            }
            sizes.push(size);
        }
        let starts = (0..).step_by(chunk).map(|start| to_u32(start).unwrap_or(u32::MAX));
        let jobs = keys.chunks(chunk).zip(starts).zip(places).collect();
        parallel::run(
            threads,
            jobs,
            || (),
            |((keys, start), mut places): ((&[K], u32), Vec<_>), ()| {
                for (key, cell) in keys.iter().zip(start..) {
                    let above = key.above(self.min);
                    let place = places.get_mut(self.bucket(above)).and_then(Iterator::next);
                    *place.or_internal(NO_BUCKET)? = entry(above, cell);
                }
                Ok(())
            },
        )?;
        Ok(Distributed { entries, sizes })
    }
}

impl<E: Copy + Ord + Send + Sync> Distributed<E> {
    fn sort<F: Finish>(
        &mut self,
        threads: usize,
        (finish, exact): (&F, bool),
        same: impl Fn(E, E) -> bool + Sync,
        cell: impl Fn(E) -> u32 + Sync,
        order: &mut [u32],
    ) -> Result<Vec<Part>> {
        self.sort_lopsided(threads)?;
        // Several neighbouring buckets are one job.
        let min = self.entries.len().div_ceil(threads.saturating_mul(16)).max(BAND);
        let mut groups: Vec<(usize, Vec<usize>)> = Vec::new();
        for size in self.sizes.iter().filter(|size| **size > 0) {
            match groups.last_mut() {
                Some((total, group)) if *total < min => {
                    *total = total.saturating_add(*size);
                    group.push(*size);
                }
                _ => groups.push((*size, vec![*size])),
            }
        }
        let lengths: Vec<usize> = groups.iter().map(|(total, _)| *total).collect();
        // There is no order if only the dropped cells are wanted.
        let slots = split_lengths(order, lengths.iter().copied());
        let pieces = split_exactly(&mut self.entries, lengths)?;
        let jobs = groups.into_iter().zip(pieces).zip(slots).collect();
        type Job<'j, E> = (((usize, Vec<usize>), &'j mut [E]), &'j mut [u32]);
        parallel::run(
            threads,
            jobs,
            || (),
            |(((cells, sizes), entries), slot): Job<'_, E>, ()| {
                // Entries may lack the bits that their bucket determines: buckets are finished one
                // by one.
                let buckets = split_exactly(entries, sizes)?;
                Part::of(cells, slot, |sink| {
                    for bucket in buckets {
                        if bucket.len() >= LOPSIDED {
                            // Detects the parts that are already sorted.
                            bucket.sort();
                        } else {
                            bucket.sort_unstable();
                        }
                        finish.finish(exact, bucket, &same, &cell, sink);
                    }
                })
            },
        )
    }

    /// Sorts parts of very large buckets with all threads, so that a single thread only has to
    /// merge them.
    fn sort_lopsided(&mut self, threads: usize) -> Result<()> {
        let large = self.sizes.iter().any(|size| *size >= LOPSIDED);
        if threads < 2 || !large {
            return Ok(());
        }
        let mut pieces = Vec::new();
        for bucket in split_exactly(&mut self.entries, self.sizes.iter().copied())? {
            if bucket.len() >= LOPSIDED {
                let piece = bucket.len().div_ceil(threads.saturating_mul(2)).max(1);
                pieces.extend(bucket.chunks_mut(piece));
            }
        }
        parallel::run(
            threads,
            pieces,
            || (),
            |piece: &mut [E], ()| {
                piece.sort_unstable();
                Ok(())
            },
        )?;
        Ok(())
    }
}

/// A bucket with this many entries is not left to one thread.
const LOPSIDED: usize = 1 << 18;
