//! Very many groups.
//!
//! One table of so many groups is larger than the caches of a processor, so that each cell would wait for memory, and only one thread
//! at a time could put the tables of others into it. Instead the cells are sent to shards, which have all groups whose keys have certain
//! hashes: the cells of some runs of tiles are sorted by shards (`cells`), and then each shard adds up its own (`shard`). All of it
//! is done by as many threads as there are, and no shard needs another.
//!
//! The words of a key are the cells themselves where they are numbers. Strings are numbered first, as where groups are few, so that
//! their numbers are the words.

mod cells;
mod packing;
mod result;
mod shard;

use std::sync::{Mutex, PoisonError};

use tdb_codec::to_u64;

use self::cells::{RunCells, shards_of};
use self::packing::Packing;
use self::shard::Shard;
use super::keys::Values;
use super::result::Grouped;
use super::total::Total;
use super::{Asked, RUN};
use crate::condition::Sources;
use crate::sparse::keep::Keep;
use crate::sparse::select::TileSelection;
use crate::worker::Worker;
use crate::{Result, parallel};

/// The parts that groups are divided into. The tables of each fit in a cache, and a processor can write to so many places at a time.
const SHARDS: usize = 128;

/// Runs whose cells are sorted before the shards add them up, if memory is enough.
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
    /// The groups that were found so far.
    pub(super) fn of(asked: &Asked, total: Total) -> Self {
        let packing = Packing::new(&asked.keys);
        let mut words = vec![vec![0; total.groups()]; packing.words()];
        for (packed, values) in packing.keys().iter().zip(total.words()) {
            packed.put(&mut words, 0, values.iter().map(|(word, _)| *word));
            packed.put_nulls(&mut words, 0, values.iter().map(|(_, is_null)| *is_null));
        }
        let (keys, counts, folds) = total.into_parts();
        let mut groups: Vec<Vec<u32>> = vec![Vec::new(); SHARDS];
        for (shard, group) in shards_of(&words).iter().zip(0u32..) {
            groups.get_mut(usize::from(*shard)).into_iter().for_each(|groups| groups.push(group));
        }
        let mut own = Self { values: Vec::new(), shards: shards(asked, packing.words()), packing };
        for (shard, groups) in own.shards.iter_mut().zip(&groups).filter(|(_, groups)| !groups.is_empty()) {
            let words: Vec<_> = words.iter().map(|words| picked(words, groups)).collect();
            let words: Vec<_> = words.iter().map(Vec::as_slice).collect();
            let folds = folds.iter().map(|fold| fold.pick(groups)).collect();
            shard.merge(&words, &picked(&counts, groups), folds);
        }
        let numbered = keys.into_iter().zip(&asked.keys);
        own.values = numbered.map(|(values, key)| (!key.is_word()).then_some(values)).collect();
        own
    }

    pub(super) fn groups(&self) -> usize {
        self.shards.iter().map(Shard::len).fold(0, usize::saturating_add)
    }

    /// Approximate bytes that it takes.
    pub(super) fn held(&self) -> u64 {
        held(&self.shards, &self.values)
    }

    /// Adds the cells of some runs of tiles, with at most so many threads. `memory` is what cells that wait may take, if it is limited;
    /// `check` is told how many groups there are, and their bytes. If this fails, the groups are as before.
    pub(super) fn take(
        &mut self,
        (asked, sources): (&Asked, &Sources<'_>),
        runs: &[&[TileSelection]],
        keep: &Keep<'_>,
        (threads, memory): (usize, Option<u64>),
        check: impl Fn(usize, u64) -> Result<()>,
    ) -> Result<()> {
        let mut fresh = shards(asked, self.packing.words());
        let scratches = Scratches { asked, free: Mutex::default() };
        let mut known = Known::new();
        let most = runs_at_once(asked, memory);
        for runs in runs.chunks(most) {
            let cells = self.cells((asked, sources), runs, keep, (&scratches, threads), &mut known)?;
            let waiting = cells.iter().map(RunCells::len).fold(0, usize::saturating_add);
            let jobs: Vec<_> = fresh.iter_mut().enumerate().collect();
            parallel::run(
                threads,
                jobs,
                || (),
                |(at, shard), ()| {
                    cells.iter().for_each(|run| shard.add(asked, &run.shard(at)));
                    Ok(())
                },
            )?;
            let waiting = to_u64(waiting).saturating_mul(bytes_of_cell(asked));
            let groups = fresh.iter().map(Shard::len).fold(0, usize::saturating_add);
            let before = self.shards.iter().map(Shard::held).fold(0, usize::saturating_add);
            let all = held(&fresh, &self.values).saturating_add(to_u64(before));
            check(groups, all.saturating_add(waiting))?;
        }
        let jobs: Vec<_> = self.shards.iter_mut().zip(fresh).collect();
        parallel::run(
            threads,
            jobs,
            || (),
            |(shard, fresh), ()| {
                shard.merge_shard(fresh);
                Ok(())
            },
        )?;
        Ok(())
    }

    /// The cells of runs, sorted by their shards.
    fn cells(
        &mut self,
        (asked, sources): (&Asked, &Sources<'_>),
        runs: &[&[TileSelection]],
        keep: &Keep<'_>,
        (scratches, threads): (&Scratches<'_>, usize),
        known: &mut Known,
    ) -> Result<Vec<RunCells>> {
        let packing = &self.packing;
        let are_words = self.values.iter().all(Option::is_none);
        let look = |run: &[TileSelection], (): &mut ()| {
            let mut scratch = scratches.take();
            let mut cells = RunCells::of((asked, sources, packing), run, keep, &mut scratch)?;
            scratches.give_back(scratch);
            if are_words {
                cells.sort();
            }
            Ok(cells)
        };
        let mut cells = parallel::run(threads, runs.to_vec(), || (), look)?;
        if are_words {
            return Ok(cells);
        }
        // A scratch looks at its runs in their order, so that its numbers follow each other here.
        for run in &mut cells {
            if known.len() <= run.scratch {
                known.resize(run.scratch.saturating_add(1), vec![Vec::new(); self.values.len()]);
            }
            let known = known.get_mut(run.scratch).into_iter().flatten();
            for ((own, fresh), known) in self.values.iter_mut().zip(run.fresh.drain(..)).zip(known) {
                if let (Some(own), Some(fresh)) = (own, fresh) {
                    known.extend(own.merge(&fresh));
                }
            }
        }
        let (known, values) = (&*known, &self.values);
        let sort = |mut run: RunCells, (): &mut ()| {
            run.renumber(known.get(run.scratch).map(Vec::as_slice).unwrap_or_default(), packing, values);
            run.sort();
            Ok(run)
        };
        parallel::run(threads, cells, || (), sort)
    }

    pub(super) fn result(self, asked: &Asked, threads: usize) -> Result<Grouped> {
        result::of_shards(asked, (&self.packing, &self.values), self.shards, threads)
    }
}

/// Scratches that no thread uses at the moment.
struct Scratches<'a> {
    asked: &'a Asked,
    /// The number of scratches that there are, and those that are free.
    free: Mutex<(usize, Vec<Scratch>)>,
}

impl Scratches<'_> {
    fn take(&self) -> Scratch {
        // Nothing that can panic runs under the lock.
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let (count, free) = &mut *free;
        free.pop().unwrap_or_else(|| {
            let number = *count;
            *count = number.saturating_add(1);
            let values = self.asked.keys.iter().map(|key| (!key.is_word()).then(|| Values::new(&key.spec)));
            Scratch { number, worker: Worker::default(), values: values.collect() }
        })
    }

    fn give_back(&self, scratch: Scratch) {
        self.free.lock().unwrap_or_else(PoisonError::into_inner).1.push(scratch);
    }
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

/// The bytes of a cell that waits.
fn bytes_of_cell(asked: &Asked) -> u64 {
    to_u64(asked.keys.len().saturating_add(asked.wanted.len()).saturating_add(1).saturating_mul(8))
}

/// How many runs have cells that wait, if these may take so much memory.
fn runs_at_once(asked: &Asked, memory: Option<u64>) -> usize {
    let of_run = bytes_of_cell(asked).saturating_mul(to_u64(RUN)).max(1);
    let runs = memory.map_or(u64::MAX, |memory| memory / of_run);
    usize::try_from(runs).unwrap_or(usize::MAX).clamp(1, MOST_RUNS)
}

fn picked<T: Copy>(all: &[T], groups: &[u32]) -> Vec<T> {
    groups.iter().filter_map(|group| all.get(crate::buffers::index_of(*group)).copied()).collect()
}
