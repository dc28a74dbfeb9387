//! Partitioned hash aggregation, for very many groups.
//!
//! One hash table of so many groups is larger than the caches of a processor, so that each cell
//! would wait for memory, and only one thread at a time could merge the tables of others into it.
//! Instead groups are divided into partitions by a hash of their keys. The cells of some runs of
//! tiles are sorted by partition (`run_cells`), and then each partition adds up its own cells
//! (`partition`). Several threads can do both, because no run and no partition needs another.
//!
//! A key of numbers is represented by the numbers themselves, packed into words of 64 bits
//! (`key_layout`). Strings get ids first, as where groups are few, and the words contain the ids:
//! each thread assigns ids to the strings of its runs, and one thread merges them into shared ids.

mod key_layout;
mod partition;
mod result;
mod run_cells;

use core::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tdb_codec::to_u64;
use tdb_predicate::picked;
use tdb_scan::sparse::decode_cache::DecodeCache;
use tdb_scan::sparse::selection::TileSelection;

use self::key_layout::KeyLayout;
use self::partition::Partition;
use self::run_cells::{RunCells, partitions_of};
use super::GroupQuery;
use super::group_table::GroupTable;
use super::key_values::KeyValues;
use super::result::Grouped;
use super::thresholds::{MAX_WAITING_RUNS, PARTITIONS};
use crate::condition::Sources;
use crate::decode_buffers::PooledBuffers;
use crate::{Error, OrInternal, Result, parallel};

/// All groups.
pub(super) struct PartitionedGroups {
    /// For each key that is not a number, its values with their shared ids.
    values: Vec<Option<KeyValues>>,
    partitions: Vec<Partition>,
    layout: KeyLayout,
}

/// The query, its tiles, and the threads that may look at them.
#[derive(Clone, Copy)]
pub(super) struct Input<'a> {
    pub(super) query: &'a GroupQuery,
    pub(super) sources: &'a Sources<'a>,
    pub(super) cache: &'a DecodeCache,
    pub(super) threads: usize,
}

/// The memory of a thread while it looks at tiles, kept from run to run.
struct Scratch {
    number: usize,
    buffers: PooledBuffers,
    /// For each key that is not a number, the values that this scratch has assigned ids to.
    values: Vec<Option<KeyValues>>,
}

/// The shared ids of keys that are not numbers: by scratch, by key, and by the scratch's own id.
type SharedIds = Vec<Vec<Vec<u32>>>;

impl PartitionedGroups {
    pub(super) fn new(query: &GroupQuery) -> Self {
        let layout = KeyLayout::new(&query.keys);
        Self { values: no_values(query), partitions: partitions(query, layout.words()), layout }
    }

    /// Adds the groups of a table.
    pub(super) fn add_table(&mut self, table: GroupTable) -> Result<()> {
        let mut words = vec![vec![0; table.groups()]; self.layout.words()];
        for ((key_bits, values), own) in self.layout.keys().iter().zip(table.key_bits()?).zip(&self.values) {
            key_bits.put(&mut words, 0, values.iter().map(|(bits, _)| *bits))?;
            if own.is_none() && values.iter().any(|(_, is_null)| *is_null) {
                key_bits.put_nulls(&mut words, 0, values.iter().map(|(_, is_null)| *is_null))?;
            }
        }
        let (keys, counts, accumulators) = table.into_parts();
        for ((own, values), key_bits) in self.values.iter_mut().zip(&keys).zip(self.layout.keys()) {
            if let Some(own) = own {
                key_bits.replace_ids(&mut words, &own.merge(values)?)?;
            }
        }
        let mut groups: Vec<Vec<u32>> = vec![Vec::new(); PARTITIONS];
        for (partition, group) in partitions_of(&words).iter().zip(0u32..) {
            groups.get_mut(usize::from(*partition)).or_internal("a group has no shard")?.push(group);
        }
        let partitions = self.partitions.iter_mut().zip(&groups).filter(|(_, groups)| !groups.is_empty());
        for (partition, groups) in partitions {
            let words = words.iter().map(|words| picked(words, groups)).collect::<Result<Vec<_>>>()?;
            let words: Vec<_> = words.iter().map(Vec::as_slice).collect();
            let accumulators = accumulators.iter().map(|own| own.pick(groups)).collect::<Result<_>>()?;
            partition.merge(&words, &picked(&counts, groups)?, accumulators)?;
        }
        Ok(())
    }

    /// The number of groups.
    pub(super) fn groups(&self) -> usize {
        self.partitions.iter().map(Partition::len).sum()
    }

    /// Approximate bytes that it takes.
    pub(super) fn held(&self) -> u64 {
        held(&self.partitions, &self.values)
    }

    /// Adds the cells of some runs of tiles. `memory` is the limit of the bytes of cells that wait
    /// for their partition, if there is one; `check` is told the number of groups, and the bytes
    /// that they and the cells take. If this fails, the groups are as before.
    pub(super) fn add_runs(
        &mut self,
        input: Input<'_>,
        mut runs: &[&[TileSelection]],
        memory: Option<u64>,
        check: impl Fn(usize, u64) -> Result<()> + Sync,
    ) -> Result<()> {
        let Input { query, threads, .. } = input;
        let mut fresh = partitions(query, self.layout.words());
        let scratches = ScratchPool { query, free: Mutex::default(), string_bytes: AtomicU64::new(0) };
        let mut shared_ids = SharedIds::new();
        while !runs.is_empty() {
            let (now, later) = runs.split_at(runs_at_once(query, runs, threads, memory));
            runs = later;
            let before = self.held().saturating_add(held(&fresh, &[]));
            // Threads have their own copies of strings.
            let check_bytes =
                |cells: u64| check(0, before.saturating_add(scratches.string_bytes()).saturating_add(cells));
            let cells = self.sorted_cells(input, now, &scratches, &check_bytes, &mut shared_ids)?;
            let waiting = cells.iter().map(RunCells::held).fold(0, u64::saturating_add);
            let own = parallel::worth(threads, usize::try_from(waiting).unwrap_or(usize::MAX));
            let jobs: Vec<_> = fresh.iter_mut().enumerate().collect();
            let add = |(at, partition): (usize, &mut Partition), (): &mut ()| {
                cells.iter().try_for_each(|run| partition.add(query, &run.partition(at)?))
            };
            parallel::run(own, jobs, || (), add)?;
            let groups: usize = fresh.iter().map(Partition::len).sum();
            let bytes = self.held().saturating_add(held(&fresh, &[]));
            let bytes = bytes.saturating_add(scratches.string_bytes());
            check(groups.max(self.groups()), bytes.saturating_add(waiting))?;
        }
        let own = parallel::worth(threads, usize::try_from(held(&fresh, &[])).unwrap_or(usize::MAX));
        let jobs: Vec<_> = self.partitions.iter_mut().zip(fresh).collect();
        let merge = |(own, fresh): (&mut Partition, Partition), (): &mut ()| own.merge_partition(fresh);
        parallel::run(own, jobs, || (), merge)?;
        Ok(())
    }

    /// The cells of runs, sorted by their partitions. `check` is told the bytes of a run's cells.
    fn sorted_cells(
        &mut self,
        input: Input<'_>,
        runs: &[&[TileSelection]],
        scratches: &ScratchPool<'_>,
        check: &(dyn Fn(u64) -> Result<()> + Sync),
        shared_ids: &mut SharedIds,
    ) -> Result<Vec<RunCells>> {
        let layout = &self.layout;
        let are_numbers = self.values.iter().all(Option::is_none);
        // A thread has one scratch and takes its runs in their order, so that the ids of a scratch
        // follow each other in this order.
        let select = |run: &[TileSelection], lent: &mut LentScratch<'_>| {
            let scratch = &mut lent.scratch;
            let before = scratch.string_bytes();
            let mut cells = RunCells::of(&input, layout, run, scratch, check)?;
            scratches.count(scratch.string_bytes().saturating_sub(before));
            if are_numbers {
                cells.sort()?;
            }
            Ok(cells)
        };
        let mut cells = parallel::run(input.threads, runs.to_vec(), || scratches.lend(), select)?;
        if are_numbers {
            return Ok(cells);
        }
        for run in &mut cells {
            if shared_ids.len() <= run.scratch {
                shared_ids.resize(run.scratch + 1, vec![Vec::new(); self.values.len()]);
            }
            let ids = shared_ids.get_mut(run.scratch).or_internal("a scratch has no numbers")?;
            for ((own, new), ids) in self.values.iter_mut().zip(run.new_strings.drain(..)).zip(ids) {
                match (own, new) {
                    (Some(own), Some(new)) => ids.extend(own.merge(&new)?),
                    // A key of numbers needs no ids.
                    (None, None) => {}
                    _ => return Err(Error::internal("the values of one key have two kinds")),
                }
            }
        }
        let (shared_ids, values) = (&*shared_ids, &self.values);
        let sort = |mut run: RunCells, (): &mut ()| {
            let ids = shared_ids.get(run.scratch).or_internal("a scratch has no numbers")?;
            run.use_shared_ids(ids, layout, values)?;
            run.sort()?;
            Ok(run)
        };
        parallel::run(input.threads, cells, || (), sort)
    }

    pub(super) fn result(self, query: &GroupQuery, threads: usize) -> Result<Grouped> {
        result::of_partitions(query, (&self.layout, &self.values), self.partitions, threads)
    }
}

impl Scratch {
    /// Approximate bytes of its strings.
    fn string_bytes(&self) -> u64 {
        to_u64(self.values.iter().flatten().map(KeyValues::held).fold(0, usize::saturating_add))
    }
}

/// The scratches of a query.
struct ScratchPool<'a> {
    query: &'a GroupQuery,
    /// The number of scratches that there are, and those that no thread uses at the moment.
    free: Mutex<(usize, Vec<Scratch>)>,
    /// Approximate bytes of the strings of all of them.
    string_bytes: AtomicU64,
}

/// A scratch, given back to the pool when it is dropped.
struct LentScratch<'a> {
    scratch: Scratch,
    to: &'a ScratchPool<'a>,
}

impl Drop for LentScratch<'_> {
    fn drop(&mut self) {
        let none = Scratch { number: 0, buffers: PooledBuffers::default(), values: Vec::new() };
        self.to.lock().1.push(core::mem::replace(&mut self.scratch, none));
    }
}

impl ScratchPool<'_> {
    fn lock(&self) -> MutexGuard<'_, (usize, Vec<Scratch>)> {
        // Nothing that can panic runs under the lock.
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lend(&self) -> LentScratch<'_> {
        let mut free = self.lock();
        let (count, free) = &mut *free;
        let scratch = free.pop().unwrap_or_else(|| {
            let number = *count;
            *count += 1;
            Scratch { number, buffers: PooledBuffers::default(), values: no_values(self.query) }
        });
        LentScratch { scratch, to: self }
    }

    fn string_bytes(&self) -> u64 {
        self.string_bytes.load(Ordering::Relaxed)
    }

    fn count(&self, bytes: u64) {
        self.string_bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// For each key that is not a number, a table without values.
fn no_values(query: &GroupQuery) -> Vec<Option<KeyValues>> {
    query.keys.iter().map(|key| (!key.is_numeric()).then(|| KeyValues::new(&key.spec))).collect()
}

/// Partitions without groups, whose keys have this many words.
fn partitions(query: &GroupQuery, words: usize) -> Vec<Partition> {
    (0..PARTITIONS).map(|_| Partition::new(query, words)).collect()
}

/// Approximate bytes of some groups.
fn held(partitions: &[Partition], values: &[Option<KeyValues>]) -> u64 {
    let values = values.iter().flatten().map(KeyValues::held).fold(0, usize::saturating_add);
    to_u64(partitions.iter().map(Partition::held).fold(values, usize::saturating_add))
}

/// How many of some runs (at least one) have cells that may wait for their partition at the same
/// time, if these may take so much memory.
fn runs_at_once(query: &GroupQuery, runs: &[&[TileSelection]], threads: usize, memory: Option<u64>) -> usize {
    // While a field is sorted, it is there twice.
    let columns = query.keys.len() + query.wanted.len() + 1;
    let bytes_per_cell = columns.saturating_mul(size_of::<u64>());
    let waiting = MAX_WAITING_RUNS.max(threads.saturating_mul(2));
    let most = waiting.saturating_mul(query.thresholds.max_run_cells);
    let fits = memory.map(|memory| usize::try_from(memory).unwrap_or(usize::MAX) / bytes_per_cell.max(1));
    let most = fits.map_or(most, |fits| fits.min(most));
    let ends = runs.iter().scan(0usize, |cells, run| {
        let own = run.iter().map(TileSelection::count).fold(0, usize::saturating_add);
        *cells = cells.saturating_add(own);
        Some(*cells)
    });
    ends.take_while(|cells| *cells <= most).count().max(1)
}
