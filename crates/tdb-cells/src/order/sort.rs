//! Sorts keys with all threads: merges runs that are already sorted, or distributes keys over
//! buckets that fit in a core's cache.
//!
//! Both end with slices of entries in key order, no two of which share a key. Each is passed to a
//! [`ResolveTies`], which turns it into its part of the result. Merging needs only the keys of the
//! current band of each thread in memory: fresh memory costs more than computing a key twice.

mod merge;

use core::ops::Range;

use tdb_codec::{to_u32, to_u64, to_usize};

pub(super) use self::merge::merge;
use super::{bit_width, low_bits};
use crate::buffers::{split_exactly, split_lengths};
use crate::thresholds::{
    BAND_CELLS, BUCKET_CELLS_LOG2, MAX_BUCKET_BITS, MIN_PARALLEL_CELLS, MIN_SHARED_BUCKET_CELLS,
};
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
pub(super) trait KeySource<K>: Sync {
    /// Number of cells.
    fn cells(&self) -> usize;

    /// Ends of the batches whose cells are likely to be in order.
    fn batches(&self) -> impl Iterator<Item = usize>;

    /// Appends the keys of cells; `None` if a cell does not fit in its key, otherwise whether equal
    /// keys mean equal coordinates.
    fn keys(&self, cells: Range<usize>, out: &mut Vec<K>) -> Option<bool>;
}

/// The keys of all cells, in cell order.
pub(super) struct CellKeys<K> {
    pub(super) keys: Vec<K>,
    pub(super) min: K,
    pub(super) max: K,
    /// Whether equal keys mean equal coordinates.
    pub(super) exact: bool,
}

/// A job's part of the result, while it is made.
pub(super) struct JobOutput<'s> {
    /// A place for each of the job's cells; empty if only the dropped cells are needed.
    slot: &'s mut [u32],
    kept: usize,
    dropped: Vec<u32>,
}

impl JobOutput<'_> {
    /// Adds the next cell of the order. [`JobResult::of`] checks how many there were.
    #[inline]
    pub(super) fn keep(&mut self, cell: u32) {
        if let Some(slot) = self.slot.get_mut(self.kept) {
            *slot = cell;
        }
        self.kept = self.kept.wrapping_add(1);
    }

    /// Adds a cell that another one replaces.
    pub(super) fn drop(&mut self, cell: u32) {
        self.dropped.push(cell);
    }
}

/// The result of a sort.
#[derive(Debug, Default)]
pub(super) struct Sorted {
    /// The kept cells in order, if the order is needed.
    pub(super) order: Vec<u32>,
    /// Dropped cells, in no particular order.
    pub(super) dropped: Vec<u32>,
}

/// Decides the order of cells with equal keys.
pub(super) trait ResolveTies: Sync {
    /// Passes on entries in key order. `same` compares the keys of two entries, `cell` returns an
    /// entry's cell. If `exact`, equal keys mean equal coordinates.
    fn resolve<E: Copy>(
        &self,
        exact: bool,
        sorted: &[E],
        same: impl Fn(E, E) -> bool,
        cell: impl Fn(E) -> u32,
        output: &mut JobOutput<'_>,
    );
}

/// The least and the greatest of some keys; both 0 if there are none.
pub(super) fn key_range<K: Key>(keys: &[K]) -> (K, K) {
    let first = keys.first().copied().unwrap_or_default();
    keys.iter().fold((first, first), |(min, max), key| (min.min(*key), max.max(*key)))
}

/// How many threads are useful for a number of cells.
pub(super) fn useful_threads(threads: usize, cells: usize) -> usize {
    if cells < MIN_PARALLEL_CELLS { 1 } else { threads.max(1) }
}

/// Sorts keys by distributing them. `ordered` says whether the order is needed, or only the dropped
/// cells.
pub(super) fn sort<K: Key, F: ResolveTies>(
    threads: usize,
    keys: &CellKeys<K>,
    ties: &F,
    ordered: bool,
) -> Result<Sorted> {
    let cells = keys.keys.len();
    let mut order = if ordered { vec![0u32; cells] } else { Vec::new() };
    let results = distribute(useful_threads(threads, cells), keys, ties, &mut order)?;
    close_gaps(order, results)
}

/// Closes gaps: if cells were dropped, a job's part of the order is shorter than its slot.
fn close_gaps(mut order: Vec<u32>, results: Vec<JobResult>) -> Result<Sorted> {
    // Cells are numbered in 32 bits, and a job keeps at most its own: none of these sums overflows.
    let cells: usize = results.iter().map(|result| result.cells).sum();
    if !order.is_empty() && cells != order.len() {
        return Err(Error::internal("an order without some of its cells"));
    }
    let (mut to, mut from, mut dropped) = (0, 0, Vec::new());
    for result in results {
        if to < from && !order.is_empty() {
            order.copy_within(from..from + result.kept, to);
        }
        to += result.kept;
        from += result.cells;
        dropped.extend(result.dropped);
    }
    order.truncate(to);
    Ok(Sorted { order, dropped })
}

/// The result of a job.
struct JobResult {
    cells: usize,
    kept: usize,
    dropped: Vec<u32>,
}

impl JobResult {
    /// The result of a job of so many cells, each of which `fill` keeps or drops.
    fn of(cells: usize, slot: &mut [u32], fill: impl FnOnce(&mut JobOutput<'_>)) -> Result<Self> {
        if !slot.is_empty() && slot.len() != cells {
            return Err(Error::internal("cells without room in their order"));
        }
        let mut output = JobOutput { slot, kept: 0, dropped: Vec::new() };
        fill(&mut output);
        if output.kept.checked_add(output.dropped.len()) != Some(cells) {
            return Err(Error::internal("a cell that is neither kept nor dropped"));
        }
        Ok(Self { cells, kept: output.kept, dropped: output.dropped })
    }
}

/// Distributes keys over buckets by their leading bits, and sorts each bucket.
fn distribute<K: Key, F: ResolveTies>(
    threads: usize,
    keys: &CellKeys<K>,
    ties: &F,
    order: &mut [u32],
) -> Result<Vec<JobResult>> {
    let cells = keys.keys.len();
    let key_bits = keys.max.above(keys.min).length();
    let last = cells.checked_sub(1).or_internal("no cells to sort")?;
    let number_bits = bit_width(to_u64(last));
    // Few cells are one bucket.
    let wanted = number_bits.saturating_sub(BUCKET_CELLS_LOG2).min(MAX_BUCKET_BITS);
    let bucket_bits = wanted.min(key_bits);
    let shift = key_bits - bucket_bits;
    let buckets = Buckets { min: keys.min, shift, count: 1usize << bucket_bits };
    // The bucket determines the leading bits of its keys. If the other bits and a cell's number fit
    // in 64 bits, only these are sorted.
    if shift + number_bits <= u64::BITS {
        let (low, number) = (low_bits(shift), low_bits(number_bits));
        let pack = |above: K, cell: u32| {
            (above.shifted(0) & low).checked_shl(number_bits).unwrap_or(0) | u64::from(cell)
        };
        let mut entries = buckets.fill(threads, &keys.keys, pack)?;
        let same = |a: u64, b: u64| (a ^ b) & !number == 0;
        let cell = |entry: u64| to_u32(to_usize(entry & number).unwrap_or(0)).unwrap_or(u32::MAX);
        return entries.sort(threads, (ties, keys.exact), same, cell, order);
    }
    let mut entries = buckets.fill(threads, &keys.keys, |above, cell| (above, cell))?;
    entries.sort(threads, (ties, keys.exact), |a, b| a.0 == b.0, |entry| entry.1, order)
}

/// The fault if a key is above the greatest one.
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
        // Two jobs a thread: one that is late is made up for by the others.
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
            let mut size = 0;
            for (places, counts) in places.iter_mut().zip(&counts) {
                let count = *counts.get(bucket).or_internal(NO_BUCKET)?;
                let split = core::mem::take(&mut rest).split_at_mut_checked(count);
                let (place, after) = split.or_internal("keys without room in their bucket")?;
                places.push(place.iter_mut());
                rest = after;
                size += count;
            }
            sizes.push(size);
        }
        // The table of the cells has checked that their numbers have 32 bits.
        let starts = (0..keys.len()).step_by(chunk).map(to_u32).collect::<Option<Vec<u32>>>();
        let starts = starts.or_internal("more cells than 32 bits count")?;
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
    fn sort<F: ResolveTies>(
        &mut self,
        threads: usize,
        (ties, exact): (&F, bool),
        same: impl Fn(E, E) -> bool + Sync,
        cell: impl Fn(E) -> u32 + Sync,
        order: &mut [u32],
    ) -> Result<Vec<JobResult>> {
        self.sort_lopsided(threads)?;
        // Several neighbouring buckets are one job.
        let min = self.entries.len().div_ceil(threads.saturating_mul(16)).max(BAND_CELLS);
        let mut groups: Vec<(usize, Vec<usize>)> = Vec::new();
        for size in self.sizes.iter().filter(|size| **size > 0) {
            match groups.last_mut() {
                Some((total, group)) if *total < min => {
                    *total += *size;
                    group.push(*size);
                }
                _ => groups.push((*size, vec![*size])),
            }
        }
        let lengths: Vec<usize> = groups.iter().map(|(total, _)| *total).collect();
        // There is no order if only the dropped cells are needed.
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
                JobResult::of(cells, slot, |output| {
                    for bucket in buckets {
                        if bucket.len() >= MIN_SHARED_BUCKET_CELLS {
                            // Detects the parts that are already sorted.
                            bucket.sort();
                        } else {
                            bucket.sort_unstable();
                        }
                        ties.resolve(exact, bucket, &same, &cell, output);
                    }
                })
            },
        )
    }

    /// Sorts parts of very large buckets with all threads, so that a single thread only has to
    /// merge them.
    fn sort_lopsided(&mut self, threads: usize) -> Result<()> {
        let large = self.sizes.iter().any(|size| *size >= MIN_SHARED_BUCKET_CELLS);
        if threads < 2 || !large {
            return Ok(());
        }
        let mut pieces = Vec::new();
        for bucket in split_exactly(&mut self.entries, self.sizes.iter().copied())? {
            if bucket.len() >= MIN_SHARED_BUCKET_CELLS {
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
