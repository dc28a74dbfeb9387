//! All versions of all cells of some fragments, in global order, newest first, a batch at a time.

use core::cmp::Reverse;
use core::mem;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use tdb_codec::to_u64;

use super::source::{MergeKey, Place, Source, Step};
use crate::{Error, Result};

/// A source's next cell. The greatest one is next: of equal coordinates the newest, by time, then by fragment.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Head<K> {
    key: Reverse<K>,
    time: u64,
    /// Sources are numbered as the fragments count, oldest first.
    source: usize,
}

/// Merges sources. Memory is a tile of each, and a batch.
#[derive(Debug)]
pub(super) struct Merge<'a, K> {
    sources: Vec<Source<'a, K>>,
    heap: BinaryHeap<Head<K>>,
    /// The source that was found out of order.
    pub(super) unsorted: Option<usize>,
}

/// Cells in the order they are to be stored.
#[derive(Debug, Default)]
pub(super) struct Batch {
    /// Tiles that cells come from.
    pub(super) slots: Vec<Slot>,
    /// For each cell its tile (of `slots`) and place there.
    pub(super) cells: Vec<(u32, u32)>,
    /// Coordinates by dimension.
    pub(super) coordinates: Vec<Gathered>,
    /// When each cell was written.
    pub(super) times: Vec<u64>,
    /// Whether each cell has other coordinates than the one before.
    pub(super) first: Vec<bool>,
}

/// A tile of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    pub(super) source: usize,
    pub(super) tile: usize,
    /// Cells of the whole tile.
    pub(super) cells: usize,
}

/// Coordinates put together.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    pub(super) values: Vec<u8>,
    /// One more than cells, for strings.
    pub(super) offsets: Vec<u64>,
}

impl<'a, K: MergeKey> Merge<'a, K> {
    pub(super) fn new(sources: Vec<Source<'a, K>>) -> Result<Self> {
        let heap = BinaryHeap::with_capacity(sources.len());
        let mut merge = Self { sources, heap, unsorted: None };
        for index in 0..merge.sources.len() {
            let Some(source) = merge.sources.get_mut(index) else { continue };
            match source.begin()? {
                Step::More => {
                    let place = source.place();
                    if let Some(head) = head(source, place, index) {
                        merge.heap.push(head);
                    }
                }
                Step::End => {}
                Step::Unsorted => return Ok(Self { unsorted: Some(index), ..merge }),
            }
        }
        Ok(merge)
    }

    /// The next cells, about `most` of them; all of equal coordinates if `whole`. None are left if the batch is empty.
    pub(super) fn next(&mut self, most: usize, whole: bool) -> Result<Batch> {
        let mut batch = Batch::default();
        // The slot of each source's tile in this batch.
        let mut slots: Vec<Vec<(usize, u32)>> = vec![Vec::new(); self.sources.len()];
        let mut last: Option<K> = None;
        while let Some(mut top) = self.heap.peek_mut() {
            let same = last.as_ref() == Some(&top.key.0);
            if batch.cells.len() >= most && !(whole && same) {
                break;
            }
            let index = top.source;
            let (Some(source), Some(known)) = (self.sources.get_mut(index), slots.get_mut(index)) else {
                PeekMut::pop(top);
                continue;
            };
            let place = source.place();
            let (tile, cells) = source.tile(place);
            let slot = match known.iter().rev().find(|(known, _)| *known == tile) {
                Some((_, slot)) => *slot,
                None => {
                    let slot = index32(batch.slots.len())?;
                    batch.slots.push(Slot { source: index, tile, cells });
                    known.push((tile, slot));
                    slot
                }
            };
            batch.push(source.coordinates(place), place.cell);
            batch.cells.push((slot, index32(place.cell)?));
            batch.times.push(top.time);
            batch.first.push(!same);
            let next = match source.advance()? {
                Step::More => head(source, source.place(), index),
                Step::End => None,
                Step::Unsorted => {
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
}

fn head<K: MergeKey>(source: &Source<'_, K>, place: Place, index: usize) -> Option<Head<K>> {
    Some(Head { key: Reverse(source.key(place)?), time: source.time(place), source: index })
}

fn index32(index: usize) -> Result<u32> {
    let too_large = || crate::QueryError::TooLarge { cells: u128::from(to_u64(index)) };
    Ok(u32::try_from(index).map_err(|_| too_large())?)
}

impl Batch {
    fn push(&mut self, coordinates: &[super::source::Coordinates], cell: usize) {
        self.coordinates.resize_with(coordinates.len(), Gathered::default);
        for (own, from) in self.coordinates.iter_mut().zip(coordinates) {
            own.values.extend_from_slice(from.cell(cell));
            if from.offsets.is_some() {
                if own.offsets.is_empty() {
                    own.offsets.push(0);
                }
                own.offsets.push(to_u64(own.values.len()));
            }
        }
    }

    /// Leaves only the cells that `keep` says.
    pub(super) fn retain(&mut self, keep: &[bool], sizes: &[Option<usize>]) {
        fn filter<T: Copy>(all: &mut Vec<T>, keep: &[bool]) {
            let mut keep = keep.iter();
            all.retain(|_| keep.next().copied().unwrap_or(true));
        }
        for (own, size) in self.coordinates.iter_mut().zip(sizes) {
            let cells = keep.iter().enumerate().filter(|(_, keep)| **keep).map(|(cell, _)| cell);
            let mut kept = Gathered::default();
            for cell in cells {
                let next = cell.saturating_add(1);
                let range = match size {
                    Some(size) => cell.saturating_mul(*size)..next.saturating_mul(*size),
                    None => {
                        let at =
                            |i: usize| own.offsets.get(i).copied().and_then(tdb_codec::to_usize).unwrap_or(0);
                        at(cell)..at(next)
                    }
                };
                kept.values.extend_from_slice(own.values.get(range).unwrap_or_default());
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
    }
}
