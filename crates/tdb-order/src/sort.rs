//! Sorts keys with all threads: merges runs that are already sorted, or distributes keys over
//! buckets that fit in a core's cache.
//!
//! Both end with slices of entries in key order, no two of which share a key. Each is passed to a
//! [`ResolveTies`], which turns it into its part of the result. Merging needs only the keys of the
//! current band of each thread in memory: fresh memory costs more than computing a key twice.

mod buckets;
mod merge;

use core::ops::Range;

use self::buckets::distribute;
pub(super) use self::merge::merge;
use crate::thresholds::MIN_PARALLEL_CELLS;
use crate::{Error, Result};

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
