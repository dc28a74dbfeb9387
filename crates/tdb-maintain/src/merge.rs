//! Merges sparse fragments: returns all versions of all cells in global order, newest first, a
//! batch at a time.

use core::cmp::Reverse;
use core::mem;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use tdb_codec::{to_u64, to_usize};

use crate::buffers::index_of;
use crate::merge_key::{Coordinates, MergeKey};
use crate::merge_source::{Advance, KnownCells, Source};
use crate::thresholds::{BAND_CELLS, MIN_SORTED_CELLS};
use crate::{Error, OrInternal, Result, parallel};

/// The next cell of a source. The greatest one is next: of equal coordinates the newest, by time,
/// then by fragment.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct HeapCell<K> {
    key: Reverse<K>,
    time: u64,
    /// Sources are numbered in the order of the fragments, oldest first.
    source: usize,
}

/// Merges sources. It needs memory for one tile of each, and a batch.
#[derive(Debug)]
pub(super) struct Merge<'a, K> {
    threads: usize,
    sources: Vec<Source<'a, K>>,
    heap: BinaryHeap<HeapCell<K>>,
    /// The source that turned out to be out of order.
    pub(super) unsorted: Option<usize>,
}

/// Cells in the order in which they are stored.
#[derive(Debug, Default)]
pub(super) struct Batch {
    /// Tiles that cells come from.
    pub(super) slots: Vec<TileSlot>,
    /// For each cell, its tile (index into `slots`) and its position there.
    pub(super) cells: Vec<(u32, u32)>,
    /// Coordinates by dimension.
    pub(super) coordinates: Vec<GatheredCoordinates>,
    /// When each cell was written.
    pub(super) times: Vec<u64>,
    /// Whether the coordinates of each cell differ from those of the previous one.
    pub(super) first: Vec<bool>,
}

/// A tile of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TileSlot {
    pub(super) source: usize,
    pub(super) tile: usize,
    /// Number of cells of the whole tile.
    pub(super) cells: usize,
}

/// Coordinates collected from several tiles.
#[derive(Debug, Default)]
pub(super) struct GatheredCoordinates {
    pub(super) values: Vec<u8>,
    /// One more than the number of cells, for strings.
    pub(super) offsets: Vec<u64>,
}

impl<'a, K: MergeKey> Merge<'a, K> {
    pub(super) fn new(threads: usize, mut sources: Vec<Source<'a, K>>) -> Result<Self> {
        let begin = |source: &mut Source<'a, K>, (): &mut ()| source.begin();
        let steps = parallel::run(threads, sources.iter_mut().collect(), || (), begin)?;
        let unsorted = steps.iter().position(|step| *step == Advance::Unsorted);
        let mut merge = Self { threads, sources, heap: BinaryHeap::new(), unsorted };
        merge.fill_heap()?;
        Ok(merge)
    }

    /// Puts the next cell of each source on the heap.
    fn fill_heap(&mut self) -> Result<()> {
        let heads = self.sources.iter().enumerate();
        self.heap =
            heads.filter_map(|(index, source)| head(source, index).transpose()).collect::<Result<_>>()?;
        Ok(())
    }

    /// The next cells, about `max` of them; if `whole`, all cells with the same coordinates. The
    /// batch is empty if there are no more cells.
    pub(super) fn next(&mut self, max: usize, whole: bool) -> Result<Batch> {
        let mut batch = Batch::default();
        // The slot of each source's tile in this batch.
        let mut slots: TileSlots = vec![Vec::new(); self.sources.len()];
        let mut last: Option<K> = None;
        // The number of cells to take one by one before trying again to take many at once.
        let mut singles = 0usize;
        loop {
            if singles == 0 {
                let room = max.saturating_sub(batch.cells.len());
                last = self.take_many(&mut batch, &mut slots, room, last)?;
                singles = self.sources.len().saturating_mul(4);
            }
            singles = singles.saturating_sub(1);
            let Some(mut top) = self.heap.peek_mut() else { break };
            let same = last.as_ref() == Some(&top.key.0);
            if batch.cells.len() >= max && !(whole && same) {
                break;
            }
            let index = top.source;
            let both = self.sources.get_mut(index).zip(slots.get_mut(index));
            let (source, known) = both.or_internal("a cell on the heap without a source")?;
            let place = source.place().or_internal("a cell on the heap that its source does not have")?;
            let slot = batch.slot(index, source.tile(place)?, known)?;
            batch
                .push(source.coordinates(place)?, place.cell)
                .or_internal("a tile without a coordinate of a cell")?;
            batch.cells.push((slot, index32(place.cell)?));
            batch.times.push(top.time);
            batch.first.push(!same);
            let next = match source.advance()? {
                Advance::More => {
                    Some(head(source, index)?.or_internal("a source without the cell that it announced")?)
                }
                Advance::End => None,
                Advance::Unsorted => {
                    self.unsorted = Some(index);
                    return Err(Error::refused("consolidation", "a fragment's cells are not in order"));
                }
            };
            last = Some(match next {
                Some(next) => mem::replace(&mut *top, next).key.0,
                None => PeekMut::pop(top).key.0,
            });
        }
        Ok(batch)
    }

    /// Takes up to about `max` cells at once, sorted by all threads, or none if there are too few
    /// to be worth it. Takes and returns the key of the last cell of the batch.
    ///
    /// Only cells before a certain key are known so far: the smallest last key of those tiles that
    /// are followed by another one.
    fn take_many(
        &mut self,
        batch: &mut Batch,
        slots: &mut TileSlots,
        max: usize,
        before: Option<K>,
    ) -> Result<Option<K>> {
        let Some(runs) = self.sources.iter().map(Source::run).collect::<Option<Vec<_>>>() else {
            return Ok(before);
        };
        let end = runs.iter().filter(|run| run.more).filter_map(|run| run.keys.last()).min();
        let known = |run: &KnownCells<'_, K>| match end {
            Some(end) => run.keys.partition_point(|key| key < end),
            None => run.keys.len(),
        };
        let known: Option<Vec<&[K]>> = runs.iter().map(|run| run.keys.get(..known(run))).collect();
        let known = known.or_internal("a run without its known keys")?;
        let count = known.iter().map(|keys| keys.len()).sum::<usize>();
        if count.min(max) < MIN_SORTED_CELLS.max(runs.len()) {
            return Ok(before);
        }
        let bounds = bounds(&known, count, max);
        let counts = bounds.last().cloned().or_internal("bounds without the last one")?;
        let taken = counts.iter().sum::<usize>();
        if taken == 0 || taken > max.saturating_mul(2) {
            // Very many cells have equal coordinates: taken one by one, they can be split.
            return Ok(before);
        }
        let mut numbers = Vec::with_capacity(runs.len());
        for (index, (source, count)) in self.sources.iter().zip(&counts).enumerate() {
            if *count == 0 {
                // No cell has this number.
                numbers.push(u32::MAX);
                continue;
            }
            let known = slots.get_mut(index).or_internal("a source without its slots")?;
            let place = source.place().or_internal("a run whose cells its source does not have")?;
            numbers.push(batch.slot(index, source.tile(place)?, known)?);
        }
        let bands = bounds.iter().zip(bounds.iter().skip(1)).collect();
        let sort =
            |(from, to): (&Vec<usize>, &Vec<usize>), (): &mut ()| SortedBand::sort(&runs, &numbers, from, to);
        let sorted = parallel::run(self.threads, bands, || (), sort)?;
        if sorted.iter().map(|band| band.batch.cells.len()).sum::<usize>() != taken {
            return Err(Error::internal("bands without all of the cells that are taken"));
        }
        let mut last = before;
        for mut band in sorted {
            // A band may be empty.
            let Some((first, end)) = band.ends else { continue };
            if last.as_ref() == Some(&first)
                && let Some(slot) = band.batch.first.first_mut()
            {
                *slot = false;
            }
            batch.append(band.batch);
            last = Some(end);
        }
        let jobs = self.sources.iter_mut().zip(counts).filter(|(_, count)| *count > 0).collect();
        let skip = |(source, count): (&mut Source<'a, K>, usize), (): &mut ()| source.skip(count);
        let steps = parallel::run(self.threads, jobs, || (), skip)?;
        if steps.contains(&Advance::Unsorted) {
            self.unsorted = self.sources.iter().position(Source::is_unsorted);
            return Err(Error::refused("consolidation", "a fragment's cells are not in order"));
        }
        self.fill_heap()?;
        Ok(last)
    }
}

/// The slots of each source's tiles in a batch.
type TileSlots = Vec<Vec<(usize, u32)>>;

/// Positions in each of several sorted runs that divide the cells into jobs of about the same size;
/// at most about `max` cells are before the last position. The first position is the beginning of
/// each run; equal keys are never separated.
fn bounds<K: MergeKey>(runs: &[&[K]], count: usize, max: usize) -> Vec<Vec<usize>> {
    // A sample of the keys; each represents `each` cells.
    let each = (count / 4096).clamp(1, BAND_CELLS / 8);
    let mut sample: Vec<&K> = runs.iter().flat_map(|keys| keys.iter().skip(each / 2).step_by(each)).collect();
    sample.sort_unstable();
    let taken = (max / each).min(sample.len());
    let step = (BAND_CELLS / each).max(1);
    let place =
        |key: &K| -> Vec<usize> { runs.iter().map(|keys| keys.partition_point(|own| own < key)).collect() };
    let mut bounds = vec![vec![0; runs.len()]];
    bounds.extend((step..taken).step_by(step).filter_map(|at| sample.get(at)).map(|key| place(key)));
    bounds.push(match sample.get(taken) {
        Some(key) if count > max => place(key),
        _ => runs.iter().map(|keys| keys.len()).collect(),
    });
    bounds
}

/// Cells that a job has sorted, and the first and the last key.
struct SortedBand<K> {
    batch: Batch,
    ends: Option<(K, K)>,
}

impl<K: MergeKey> SortedBand<K> {
    /// Sorts the cells between two positions of each run.
    fn sort(runs: &[KnownCells<'_, K>], slots: &[u32], from: &[usize], to: &[usize]) -> Result<Self> {
        let mut cells: Vec<(HeapCell<K>, Reverse<usize>)> = Vec::new();
        for (source, (run, (from, to))) in runs.iter().zip(from.iter().zip(to)).enumerate() {
            let keys = run.keys.get(*from..*to).or_internal("a run without the keys of a band")?;
            for (at, key) in (*from..*to).zip(keys) {
                let cell = run.start.saturating_add(at);
                cells.push((
                    HeapCell { key: Reverse(key.clone()), time: run.time(cell)?, source },
                    Reverse(cell),
                ));
            }
        }
        // The greatest is next, as on the heap; equal cells of one source keep their order.
        cells.sort_unstable_by(|a, b| b.cmp(a));
        let mut batch = Batch::default();
        let mut ends: Option<(K, K)> = None;
        for (head, Reverse(cell)) in cells {
            let both = runs.get(head.source).zip(slots.get(head.source));
            let (run, slot) = both.or_internal("a cell of a band without a run")?;
            let Reverse(key) = head.key;
            batch.push(run.coordinates, cell).or_internal("a tile without a coordinate of a cell")?;
            batch.cells.push((*slot, index32(cell)?));
            batch.times.push(head.time);
            batch.first.push(ends.as_ref().is_none_or(|(_, last)| *last != key));
            ends = Some(match ends {
                Some((first, _)) => (first, key),
                None => (key.clone(), key),
            });
        }
        Ok(Self { batch, ends })
    }
}

/// The next cell of a source; `None` at its end.
fn head<K: MergeKey>(source: &Source<'_, K>, index: usize) -> Result<Option<HeapCell<K>>> {
    let Some(place) = source.place() else { return Ok(None) };
    Ok(Some(HeapCell { key: Reverse(source.key(place)?), time: source.time(place)?, source: index }))
}

fn index32(index: usize) -> Result<u32> {
    let too_large = || crate::QueryError::TooLarge { cells: u128::from(to_u64(index)) };
    Ok(u32::try_from(index).map_err(|_| too_large())?)
}

impl Batch {
    /// The slot of a source's tile; `known` contains the slots so far.
    fn slot(
        &mut self,
        source: usize,
        (tile, cells): (usize, usize),
        known: &mut Vec<(usize, u32)>,
    ) -> Result<u32> {
        if let Some((_, slot)) = known.iter().rev().find(|(known, _)| *known == tile) {
            return Ok(*slot);
        }
        let slot = index32(self.slots.len())?;
        self.slots.push(TileSlot { source, tile, cells });
        known.push((tile, slot));
        Ok(slot)
    }

    /// Appends cells; they are in the same slots.
    fn append(&mut self, mut other: Self) {
        self.coordinates
            .resize_with(other.coordinates.len().max(self.coordinates.len()), GatheredCoordinates::default);
        for (own, other) in self.coordinates.iter_mut().zip(&mut other.coordinates) {
            let before = to_u64(own.values.len());
            if !other.offsets.is_empty() {
                own.offsets.pop();
                own.offsets.extend(other.offsets.iter().map(|offset| before.saturating_add(*offset)));
            }
            own.values.append(&mut other.values);
        }
        self.cells.append(&mut other.cells);
        self.times.append(&mut other.times);
        self.first.append(&mut other.first);
    }

    /// Adds the coordinates of a cell; `None` if they lack it.
    fn push(&mut self, coordinates: &[Coordinates], cell: usize) -> Option<()> {
        self.coordinates.resize_with(coordinates.len(), GatheredCoordinates::default);
        for (own, from) in self.coordinates.iter_mut().zip(coordinates) {
            own.values.extend_from_slice(from.cell(cell)?);
            if from.offsets.is_some() {
                if own.offsets.is_empty() {
                    own.offsets.push(0);
                }
                own.offsets.push(to_u64(own.values.len()));
            }
        }
        Some(())
    }

    /// Checks once that each cell is in a tile of the batch, and has a time.
    pub(super) fn check(&self) -> Result<()> {
        let count = self.cells.len();
        let has_cell = |(slot, cell): &(u32, u32)| {
            self.slots.get(index_of(*slot)).is_some_and(|slot| index_of(*cell) < slot.cells)
        };
        match self.times.len() == count && self.first.len() == count && self.cells.iter().all(has_cell) {
            true => Ok(()),
            false => Err(Error::internal("a cell of a batch without its tile or time")),
        }
    }

    /// Keeps only the cells for which `keep` is true; there is one flag for each.
    pub(super) fn retain(&mut self, keep: &[bool], sizes: &[Option<usize>]) -> Result<()> {
        fn filter<T: Copy>(all: &mut Vec<T>, keep: &[bool]) {
            let mut keep = keep.iter();
            all.retain(|_| keep.next().copied().unwrap_or(true));
        }
        if keep.len() != self.cells.len() || sizes.len() != self.coordinates.len() {
            return Err(Error::internal("a batch without a flag of each cell, or a size of each dimension"));
        }
        for (own, size) in self.coordinates.iter_mut().zip(sizes) {
            let cells = keep.iter().enumerate().filter(|(_, keep)| **keep).map(|(cell, _)| cell);
            let mut kept = GatheredCoordinates::default();
            for cell in cells {
                let value = own.cell(cell, *size).or_internal("a batch without a coordinate of a cell")?;
                kept.values.extend_from_slice(value);
                if size.is_none() {
                    if kept.offsets.is_empty() {
                        kept.offsets.push(0);
                    }
                    kept.offsets.push(to_u64(kept.values.len()));
                }
            }
            *own = kept;
        }
        filter(&mut self.cells, keep);
        filter(&mut self.times, keep);
        filter(&mut self.first, keep);
        Ok(())
    }
}

impl GatheredCoordinates {
    /// The bytes of a cell of this size, or of a string.
    fn cell(&self, cell: usize, size: Option<usize>) -> Option<&[u8]> {
        let next = cell.checked_add(1)?;
        let range = match size {
            Some(size) => cell.checked_mul(size)?..next.checked_mul(size)?,
            None => to_usize(*self.offsets.get(cell)?)?..to_usize(*self.offsets.get(next)?)?,
        };
        self.values.get(range)
    }
}

#[cfg(test)]
mod tests {
    use core::ops::ControlFlow;

    use tdb_codec::{CellValNum, Datatype, Layout};
    use tdb_query::OpenOptions;
    use tdb_schema::{ArraySchema, Attribute, Dimension};
    use tdb_storage::MemoryStorage;
    use tdb_write::{WriteColumn, WriteOptions};

    use super::*;
    use crate::{Consolidation, Stored, TimeWindow};

    /// The result of a read at a time: coordinates and values.
    fn read(storage: &MemoryStorage, end: u64) -> (Vec<i32>, Vec<i64>) {
        let window = TimeWindow { start: 0, end };
        let array = OpenOptions::new().window(window).open_storage(storage.clone()).unwrap();
        let cells = array.read().order(Layout::GlobalOrder).collect().unwrap();
        let field = |name| cells.field(name).unwrap();
        (field("x").values().unwrap().to_vec(), field("a").values().unwrap().to_vec())
    }

    /// Two cells of one tile, with the strings "a" and "bc".
    fn batch() -> Batch {
        Batch {
            slots: vec![TileSlot { source: 0, tile: 0, cells: 2 }],
            cells: vec![(0, 0), (0, 1)],
            coordinates: vec![GatheredCoordinates { values: b"abc".to_vec(), offsets: vec![0, 1, 3] }],
            times: vec![1, 2],
            first: vec![true, true],
        }
    }

    #[test]
    fn a_batch_that_lacks_something_of_its_cells_is_a_fault() {
        let is_fault = |result| assert!(matches!(result, Err(Error::Internal(_))));
        batch().check().unwrap();
        is_fault(Batch { cells: vec![(0, 0), (0, 2)], ..batch() }.check());
        is_fault(Batch { cells: vec![(0, 0), (1, 0)], ..batch() }.check());
        is_fault(Batch { times: vec![1], ..batch() }.check());
        is_fault(batch().retain(&[true], &[None]));
        is_fault(batch().retain(&[true, false], &[]));
        let short = vec![GatheredCoordinates { values: b"a".to_vec(), offsets: vec![0, 1] }];
        is_fault(Batch { coordinates: short, ..batch() }.retain(&[false, true], &[None]));
        let mut kept = batch();
        kept.retain(&[false, true], &[None]).unwrap();
        assert_eq!((kept.cells, kept.times), (vec![(0, 1)], vec![2]));
        let [GatheredCoordinates { values, offsets }] = kept.coordinates.as_slice() else { panic!() };
        assert_eq!((values.as_slice(), offsets.as_slice()), (&b"bc"[..], &[0, 2][..]));
    }

    #[test]
    fn many_overlapping_cells_of_many_tiles_are_the_same_at_every_time_with_any_number_of_threads() {
        for (duplicates, threads) in [(false, 1), (false, 3), (true, 3)] {
            let mut schema = ArraySchema::sparse()
                .dimension(Dimension::new("x", 0i32..=99_999))
                .attribute(Attribute::new("a", Datatype::Int64, CellValNum::ONE))
                .capacity(700)
                .build()
                .unwrap();
            schema.allows_duplicates = duplicates;
            let storage = MemoryStorage::default();
            WriteOptions::new().create_storage(&storage, &schema).unwrap();
            let at = |time| {
                WriteOptions::new().threads(threads).timestamp(time).open_storage(storage.clone()).unwrap()
            };
            for time in 1..=5u64 {
                // Some coordinates are the same in several fragments; one fragment has tiles of a
                // single coordinate, if duplicates are allowed.
                let step = i32::try_from(time).unwrap();
                let x: Vec<i32> = match time {
                    4 if duplicates => vec![12_000; 3000],
                    _ => (0..7000).map(|cell| cell * step).collect(),
                };
                let a: Vec<i64> =
                    (0..x.len()).map(|cell| i64::try_from(cell).unwrap() * 10 + i64::from(step)).collect();
                let write = at(time)
                    .write()
                    .column(WriteColumn::fixed("x", &x))
                    .column(WriteColumn::fixed("a", &a))
                    .commit();
                write.unwrap();
            }
            let before: Vec<_> = (1..=5).map(|time| read(&storage, time)).collect();
            let writer = at(9);
            let plan = Consolidation::new(Stored::Fragments).plan(&writer).unwrap();
            plan.run(&writer, &mut |_| ControlFlow::Continue(())).unwrap();
            assert_eq!(OpenOptions::new().open_storage(storage.clone()).unwrap().fragments().len(), 1);
            for (time, before) in (1..=5).zip(before) {
                let after = read(&storage, time);
                let pairs = |(x, a): (Vec<i32>, Vec<i64>)| {
                    let mut pairs: Vec<_> = x.into_iter().zip(a).collect();
                    pairs.sort_unstable();
                    pairs
                };
                assert!(after.0.is_sorted());
                assert_eq!(pairs(after), pairs(before), "{duplicates} {threads} at {time}");
            }
        }
    }
}
