//! Very many groups.
//!
//! One table of so many groups is larger than the caches of a processor, so that each cell would
//! wait for memory, and only one thread at a time could put the tables of others into it. Instead
//! the cells are sent to shards, which have all groups whose keys have certain hashes: the cells of
//! some runs of tiles are sorted by shards (`cells`), and then each shard adds up its own
//! (`shard`). Several threads can do both, because no run and no shard needs another.
//!
//! The words of a key are the cells themselves where they are numbers. Strings are numbered first,
//! as where groups are few, so that their numbers are the words: each thread numbers those of its
//! runs, and one puts them together.

mod cells;
mod packing;
mod result;
mod shard;

use core::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tdb_codec::to_u64;

use self::cells::{RunCells, shards_of};
use self::packing::Packing;
use self::shard::Shard;
use super::keys::Values;
use super::result::Grouped;
use super::total::Total;
use super::{Asked, RUN};
use crate::condition::{Sources, picked};
use crate::sparse::keep::Keep;
use crate::sparse::select::TileSelection;
use crate::worker::Worker;
use crate::{OrInternal, Result, parallel};

/// The parts that groups are divided into. The tables of each fit in a cache, and a processor can
/// write to so many places at a time.
const SHARDS: usize = 128;

/// Runs whose cells are sorted before the shards add them up, if memory is enough: 2^21 cells. Many
/// threads have two each.
const MOST_RUNS: usize = 16;

/// All groups.
pub(super) struct Wide {
    /// For each key that is no number, the numbers of its values.
    values: Vec<Option<Values>>,
    shards: Vec<Shard>,
    packing: Packing,
}

/// What a thread has while it looks at tiles, and keeps from run to run.
struct Scratch {
    number: usize,
    worker: Worker,
    /// For each key that is no number, numbers of the scratch's own.
    values: Vec<Option<Values>>,
}

/// Of each scratch and each key, the shared numbers of its numbers.
type Known = Vec<Vec<Vec<u32>>>;

impl Wide {
    pub(super) fn new(asked: &Asked) -> Self {
        let packing = Packing::new(&asked.keys);
        Self { values: no_values(asked), shards: shards(asked, packing.words()), packing }
    }

    /// Adds few groups.
    pub(super) fn add(&mut self, total: Total) -> Result<()> {
        let mut words = vec![vec![0; total.groups()]; self.packing.words()];
        for ((packed, values), own) in self.packing.keys().iter().zip(total.words()?).zip(&self.values) {
            packed.put(&mut words, 0, values.iter().map(|(word, _)| *word))?;
            if own.is_none() && values.iter().any(|(_, is_null)| *is_null) {
                packed.put_nulls(&mut words, 0, values.iter().map(|(_, is_null)| *is_null))?;
            }
        }
        let (keys, counts, folds) = total.into_parts();
        let numbers = self.values.iter_mut().zip(&keys).zip(self.packing.keys());
        for ((own, values), packed) in
            numbers.filter_map(|((own, values), packed)| Some(((own.as_mut()?, values), packed)))
        {
            packed.renumber(&mut words, &own.merge(values)?)?;
        }
        let mut groups: Vec<Vec<u32>> = vec![Vec::new(); SHARDS];
        for (shard, group) in shards_of(&words).iter().zip(0u32..) {
            groups.get_mut(usize::from(*shard)).or_internal("a group has no shard")?.push(group);
        }
        for (shard, groups) in self.shards.iter_mut().zip(&groups).filter(|(_, groups)| !groups.is_empty()) {
            let words = words.iter().map(|words| picked(words, groups)).collect::<Result<Vec<_>>>()?;
            let words: Vec<_> = words.iter().map(Vec::as_slice).collect();
            let folds = folds.iter().map(|fold| fold.pick(groups)).collect::<Result<_>>()?;
            shard.merge(&words, &picked(&counts, groups)?, folds)?;
        }
        Ok(())
    }

    pub(super) fn groups(&self) -> usize {
        self.shards.iter().map(Shard::len).fold(0, usize::saturating_add)
    }

    /// Approximate bytes that it takes.
    pub(super) fn held(&self) -> u64 {
        held(&self.shards, &self.values)
    }

    /// Adds the cells of some runs of tiles, with at most so many threads. `memory` is what cells
    /// that wait may take, if it is limited; `check` is told how many groups there are, and their
    /// bytes. If this fails, the groups are as before.
    pub(super) fn take(
        &mut self,
        (asked, sources): (&Asked, &Sources<'_>),
        mut runs: &[&[TileSelection]],
        keep: &Keep<'_>,
        (threads, memory): (usize, Option<u64>),
        check: impl Fn(usize, u64) -> Result<()> + Sync,
    ) -> Result<()> {
        let mut fresh = shards(asked, self.packing.words());
        let scratches = Scratches { asked, free: Mutex::default(), strings: AtomicU64::new(0) };
        let mut known = Known::new();
        while !runs.is_empty() {
            let (now, later) = runs.split_at(at_once(asked, runs, (threads, memory)));
            runs = later;
            let before = self.held().saturating_add(held(&fresh, &[]));
            // Threads have their own copies of strings.
            let check_bytes =
                |cells: u64| check(0, before.saturating_add(scratches.strings()).saturating_add(cells));
            let cells =
                self.cells((asked, sources), now, keep, (&scratches, threads, &check_bytes), &mut known)?;
            let waiting = cells.iter().map(RunCells::held).fold(0, u64::saturating_add);
            let own = parallel::worth(threads, usize::try_from(waiting).unwrap_or(usize::MAX));
            let jobs: Vec<_> = fresh.iter_mut().enumerate().collect();
            let add = |(at, shard): (usize, &mut Shard), (): &mut ()| {
                cells.iter().try_for_each(|run| shard.add(asked, &run.shard(at)))
            };
            parallel::run(own, jobs, || (), add)?;
            let groups = fresh.iter().map(Shard::len).fold(0, usize::saturating_add);
            let bytes = self.held().saturating_add(held(&fresh, &[])).saturating_add(scratches.strings());
            check(groups.max(self.groups()), bytes.saturating_add(waiting))?;
        }
        let own = parallel::worth(threads, usize::try_from(held(&fresh, &[])).unwrap_or(usize::MAX));
        let jobs: Vec<_> = self.shards.iter_mut().zip(fresh).collect();
        let merge = |(shard, fresh): (&mut Shard, Shard), (): &mut ()| shard.merge_shard(fresh);
        parallel::run(own, jobs, || (), merge)?;
        Ok(())
    }

    /// The cells of runs, sorted by their shards. `check` is told the bytes of a run's cells.
    fn cells(
        &mut self,
        (asked, sources): (&Asked, &Sources<'_>),
        runs: &[&[TileSelection]],
        keep: &Keep<'_>,
        (scratches, threads, check): (&Scratches<'_>, usize, &(dyn Fn(u64) -> Result<()> + Sync)),
        known: &mut Known,
    ) -> Result<Vec<RunCells>> {
        let packing = &self.packing;
        let are_words = self.values.iter().all(Option::is_none);
        // A worker has one scratch and takes its runs in their order, so that the numbers of a
        // scratch follow each other in this order.
        let look = |run: &[TileSelection], lent: &mut Lent<'_>| {
            let scratch = &mut lent.scratch;
            let before = scratch.strings();
            let mut cells = RunCells::of((asked, sources, packing), run, keep, scratch, check)?;
            scratches.count(scratch.strings().saturating_sub(before));
            if are_words {
                cells.sort()?;
            }
            Ok(cells)
        };
        let mut cells = parallel::run(threads, runs.to_vec(), || scratches.lend(), look)?;
        if are_words {
            return Ok(cells);
        }
        for run in &mut cells {
            if known.len() <= run.scratch {
                known.resize(run.scratch.saturating_add(1), vec![Vec::new(); self.values.len()]);
            }
            let known = known.get_mut(run.scratch).or_internal("a scratch has no numbers")?;
            for ((own, fresh), known) in self.values.iter_mut().zip(run.fresh.drain(..)).zip(known) {
                if let (Some(own), Some(fresh)) = (own, fresh) {
                    known.extend(own.merge(&fresh)?);
                }
            }
        }
        let (known, values) = (&*known, &self.values);
        let sort = |mut run: RunCells, (): &mut ()| {
            let known = known.get(run.scratch).or_internal("a scratch has no numbers")?;
            run.renumber(known, packing, values)?;
            run.sort()?;
            Ok(run)
        };
        parallel::run(threads, cells, || (), sort)
    }

    pub(super) fn result(self, asked: &Asked, threads: usize) -> Result<Grouped> {
        result::of_shards(asked, (&self.packing, &self.values), self.shards, threads)
    }
}

impl Scratch {
    /// Approximate bytes of its strings.
    fn strings(&self) -> u64 {
        to_u64(self.values.iter().flatten().map(Values::held).fold(0, usize::saturating_add))
    }
}

/// The scratches of a query.
struct Scratches<'a> {
    asked: &'a Asked,
    /// The number of scratches that there are, and those that no thread uses at the moment.
    free: Mutex<(usize, Vec<Scratch>)>,
    /// Approximate bytes of the strings of all of them.
    strings: AtomicU64,
}

/// A scratch, given back when it is dropped.
struct Lent<'a> {
    scratch: Scratch,
    to: &'a Scratches<'a>,
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        let none = Scratch { number: 0, worker: Worker::default(), values: Vec::new() };
        self.to.lock().1.push(core::mem::replace(&mut self.scratch, none));
    }
}

impl Scratches<'_> {
    fn lock(&self) -> MutexGuard<'_, (usize, Vec<Scratch>)> {
        // Nothing that can panic runs under the lock.
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lend(&self) -> Lent<'_> {
        let mut free = self.lock();
        let (count, free) = &mut *free;
        let scratch = free.pop().unwrap_or_else(|| {
            let number = *count;
            *count = number.saturating_add(1);
            Scratch { number, worker: Worker::default(), values: no_values(self.asked) }
        });
        Lent { scratch, to: self }
    }

    fn strings(&self) -> u64 {
        self.strings.load(Ordering::Relaxed)
    }

    fn count(&self, bytes: u64) {
        self.strings.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// For each key that is no number, a table without values.
fn no_values(asked: &Asked) -> Vec<Option<Values>> {
    asked.keys.iter().map(|key| (!key.is_word()).then(|| Values::new(&key.spec))).collect()
}

/// Shards without groups, each of which has so many words.
fn shards(asked: &Asked, words: usize) -> Vec<Shard> {
    (0..SHARDS).map(|_| Shard::new(asked, words)).collect()
}

/// Approximate bytes of some groups.
fn held(shards: &[Shard], values: &[Option<Values>]) -> u64 {
    let values = values.iter().flatten().map(Values::held).fold(0, usize::saturating_add);
    to_u64(shards.iter().map(Shard::held).fold(values, usize::saturating_add))
}

/// How many of some runs (at least one) have cells that may wait, if these may take so much memory.
fn at_once(asked: &Asked, runs: &[&[TileSelection]], (threads, memory): (usize, Option<u64>)) -> usize {
    // While a field is sorted, it is there twice.
    let columns = asked.keys.len().saturating_add(asked.wanted.len()).saturating_add(1);
    let of_cell = columns.saturating_mul(size_of::<u64>());
    let most = MOST_RUNS.max(threads.saturating_mul(2)).saturating_mul(RUN);
    let fits = memory.map(|memory| usize::try_from(memory).unwrap_or(usize::MAX) / of_cell.max(1));
    let most = fits.map_or(most, |fits| fits.min(most));
    let ends = runs.iter().scan(0usize, |cells, run| {
        *cells = run.iter().map(TileSelection::len).fold(*cells, usize::saturating_add);
        Some(*cells)
    });
    ends.take_while(|cells| *cells <= most).count().max(1)
}
