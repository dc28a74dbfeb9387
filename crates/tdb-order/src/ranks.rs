//! Strings that are too long for a key: each is replaced by its rank among the different strings of
//! its dimension.
//!
//! Arrays mostly hold a string many times: a gene for each cell of a person, a name for each day.
//! Then few strings are sorted, and a key needs only as many bits as their ranks.

use core::cmp::Ordering;
use std::collections::HashMap;

use foldhash::fast::RandomState;
use tdb_codec::{to_u32, to_u64};

use super::sort::useful_threads;
use super::table::{CellTable, Piece};
use crate::buffers::{index_of, split_exactly};
use crate::{OrInternal, Result, parallel};

/// The fault if a string has an id that no string was given.
const NO_RANK: &str = "a string without a rank";

/// The rank of each cell's string.
#[derive(Debug)]
pub(super) struct StringRanks {
    ranks: Vec<u32>,
    /// The greatest rank.
    pub(super) last: u64,
}

/// Different strings, numbered in the order in which they first appear. The hashes are seeded at
/// random, so that no file can be made whose strings collide.
#[derive(Default)]
struct StringIds<'a> {
    ids: HashMap<&'a [u8], u32, RandomState>,
    strings: Vec<&'a [u8]>,
}

impl<'a> StringIds<'a> {
    fn id(&mut self, string: &'a [u8]) -> Result<u32> {
        // A table has at most 2³² - 1 cells.
        let next = to_u32(self.strings.len()).or_internal("more strings than cells")?;
        let id = *self.ids.entry(string).or_insert(next);
        if id == next {
            self.strings.push(string);
        }
        Ok(id)
    }
}

impl StringRanks {
    /// The ranks of the strings of a dimension, in the order of `compare`. `None` if most strings
    /// are there only once: then nearly as many strings as cells would be searched for and sorted,
    /// and keys of their first bytes mostly tell them apart.
    pub(super) fn new(
        threads: usize,
        table: &CellTable<'_>,
        dimension: usize,
        compare: impl Fn(&[u8], &[u8]) -> Ordering,
    ) -> Result<Option<Self>> {
        let threads = useful_threads(threads, table.cells());
        let lengths = || table.pieces().iter().map(|piece| piece.cells);
        let mut ranks = vec![0u32; table.cells()];
        let jobs = table.pieces().iter().zip(split_exactly(&mut ranks, lengths())?).collect();
        // First the id of each string among those of its piece.
        let found = parallel::run(
            threads,
            jobs,
            || (),
            |(piece, out): (&Piece, &mut [u32]), ()| {
                let mut ids = StringIds::default();
                let mut last: Option<(&[u8], u32)> = None;
                for (index, out) in out.iter_mut().enumerate() {
                    let string = table.value(piece, dimension, index);
                    // Neighbours are often equal.
                    let id = match last.filter(|(last, _)| *last == string) {
                        Some((_, id)) => id,
                        None => ids.id(string)?,
                    };
                    last = Some((string, id));
                    *out = id;
                }
                Ok(ids.strings)
            },
        )?;
        if found.iter().map(Vec::len).sum::<usize>() > table.cells() / 2 {
            return Ok(None);
        }
        let mut all = StringIds::default();
        let mut own: Vec<Vec<u32>> = Vec::with_capacity(found.len());
        for strings in &found {
            own.push(strings.iter().map(|string| all.id(string)).collect::<Result<_>>()?);
        }
        let mut order: Vec<(u32, &[u8])> = (0u32..).zip(all.strings.iter().copied()).collect();
        order.sort_unstable_by(|(_, a), (_, b)| compare(a, b));
        let mut rank_of = vec![0u32; order.len()];
        for ((id, _), rank) in order.iter().zip(0u32..) {
            *rank_of.get_mut(index_of(*id)).or_internal(NO_RANK)? = rank;
        }
        for id in own.iter_mut().flatten() {
            *id = *rank_of.get(index_of(*id)).or_internal(NO_RANK)?;
        }
        let jobs = own.iter().zip(split_exactly(&mut ranks, lengths())?).collect();
        parallel::run(
            threads,
            jobs,
            || (),
            |(own, out): (&Vec<u32>, &mut [u32]), ()| {
                for rank in out {
                    *rank = *own.get(index_of(*rank)).or_internal(NO_RANK)?;
                }
                Ok(())
            },
        )?;
        let last = order.len().checked_sub(1).or_internal("ranks of no strings")?;
        Ok(Some(Self { ranks, last: to_u64(last) }))
    }

    /// The ranks of a piece's cells.
    pub(super) fn of(&self, table: &CellTable<'_>, piece: &Piece) -> Option<&[u32]> {
        let first = table.first(piece);
        self.ranks.get(first..first.checked_add(piece.cells)?)
    }
}

#[cfg(test)]
mod tests {
    use tdb_schema::Dimension;

    use super::super::table::{CellBatch, CoordinatesRef};
    use super::*;

    fn ranks(batches: &[&[&str]]) -> Option<Vec<u32>> {
        let columns: Vec<(Vec<u8>, Vec<u64>)> = batches
            .iter()
            .map(|strings| {
                let mut offsets = vec![0];
                offsets.extend(strings.iter().scan(0, |end, string| {
                    *end += to_u64(string.len());
                    Some(*end)
                }));
                (strings.concat().into_bytes(), offsets)
            })
            .collect();
        let mut cells = Vec::new();
        for ((values, offsets), strings) in columns.iter().zip(batches) {
            let coordinates = vec![CoordinatesRef { values, offsets: Some(offsets) }];
            cells.push(CellBatch { coordinates, cells: strings.len(), ..CellBatch::default() });
        }
        let table = CellTable::new(&[Dimension::string("s")], cells).unwrap();
        let found = StringRanks::new(2, &table, 0, |a: &[u8], b: &[u8]| a.cmp(b)).unwrap()?;
        assert_eq!(found.last, u64::from(*found.ranks.iter().max().unwrap()));
        Some(found.ranks)
    }

    #[test]
    fn a_string_has_the_same_rank_in_every_batch() {
        let found =
            ranks(&[&["b", "b", "", "b", "b"], &["c", "b", "b", "", "b"], &["a", "a", "a", "b", "b"]]);
        assert_eq!(found.unwrap(), [2, 2, 0, 2, 2, 3, 2, 2, 0, 2, 1, 1, 1, 2, 2]);
    }

    #[test]
    fn strings_of_which_most_are_there_once_have_no_ranks() {
        assert_eq!(ranks(&[&["a", "b", "c"], &["d"]]), None);
    }
}
