//! Sorts keys by distributing them over buckets by their leading bits (a radix sort of one step),
//! and sorting each bucket.

use tdb_codec::{to_u32, to_u64, to_usize};

use super::{CellKeys, JobResult, Key, ResolveTies};
use crate::bits::{bit_width, low_bits};
use crate::buffers::{split_exactly, split_lengths};
use crate::thresholds::{BAND_CELLS, BUCKET_CELLS_LOG2, MAX_BUCKET_BITS, MIN_SHARED_BUCKET_CELLS};
use crate::{OrInternal, Result, parallel};

/// Distributes keys over buckets by their leading bits, and sorts each bucket.
pub(super) fn distribute<K: Key, F: ResolveTies>(
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
