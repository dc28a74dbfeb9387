//! Rows of a file that have the same coordinates: found before anything is written, whatever the
//! size of the file.
//!
//! A row is known by a key of 128 bits and by its place: the line where it begins, or its number.
//! Keys and places are sorted, on disk if they are many, so equal keys are next to each other.
//! Coordinates that fit are the key; those that are longer are hashed with seeds that nobody knows
//! before, so that no file can have two coordinates with one key except by a chance of less than 1
//! : 10^18 for a billion rows.

use std::hash::{BuildHasher, RandomState};
use std::io;
use std::iter::Peekable;

use clap::ValueEnum;
use tdb_schema::{ArraySchema, Dimension};

use super::sorter::{Record, Sorted, Sorter};
use super::table::Table;
use super::tables::place;
use crate::buffers::Buffers;

/// What becomes of rows with the same coordinates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Rule {
    /// Nothing is imported.
    Error,
    /// The first one is imported.
    First,
    /// The last one is imported.
    Last,
    /// All are imported: the array allows duplicates.
    Allow,
}

/// The bytes of a key.
const KEY: usize = 16;

/// Makes keys of coordinates.
#[derive(Debug)]
pub(super) struct Keys {
    /// `None` if all coordinates of a row fit a key.
    seeds: Option<[RandomState; 2]>,
}

impl Keys {
    /// For dimensions with coordinates of these sizes; `None` for variable length.
    pub(super) fn new(sizes: impl IntoIterator<Item = Option<usize>>) -> Self {
        let all = sizes.into_iter().try_fold(0usize, |all, size| Some(all.saturating_add(size?)));
        let fit = all.is_some_and(|all| all <= KEY);
        Self { seeds: (!fit).then(|| [RandomState::new(), RandomState::new()]) }
    }

    /// For these dimensions.
    pub(super) fn of(dimensions: &[Dimension]) -> Self {
        let size = |dimension: &Dimension| (!dimension.is_var()).then(|| dimension.datatype.size());
        Self::new(dimensions.iter().map(size))
    }

    /// A row at a place, without coordinates yet.
    pub(super) const fn row(place: u64) -> Record {
        [0, 0, place]
    }

    /// Adds the row's coordinate in the next dimension.
    pub(super) fn add(&self, row: &mut Record, value: &[u8]) {
        let [high, low, _] = row;
        (*high, *low) = match &self.seeds {
            Some([a, b]) => {
                let both = (*high, *low, value);
                (a.hash_one(both), b.hash_one(both))
            }
            None => {
                let mut bytes = [0; KEY];
                bytes.iter_mut().zip(value).for_each(|(to, from)| *to = *from);
                let bits = u32::try_from(value.len().saturating_mul(8)).unwrap_or(u32::MAX);
                let key = (u128::from(*high) << 64 | u128::from(*low)).checked_shl(bits).unwrap_or(0);
                let key = key | u128::from_le_bytes(bytes);
                let [high, low] = [key >> 64, key & u128::from(u64::MAX)];
                (u64::try_from(high).unwrap_or(0), u64::try_from(low).unwrap_or(0))
            }
        };
    }

    /// The rows of a table, whose coordinates are in these columns. Rows that lacked a coordinate
    /// would seem equal, and be left out.
    pub(super) fn rows(
        &self,
        schema: &ArraySchema,
        table: &Table,
        columns: &[Buffers],
    ) -> Result<Vec<Record>, String> {
        let mut rows: Vec<Record> = places(table).map(Self::row).collect();
        let count = rows.len();
        for dimension in &schema.domain.dimensions {
            let column = columns.iter().find(|column| column.name == dimension.name);
            let mut values = column.into_iter().flat_map(|column| column.cells(count));
            for row in &mut rows {
                let value = values.next().ok_or_else(|| format!("a row has no {}", dimension.name))?;
                self.add(row, value);
            }
        }
        Ok(rows)
    }
}

/// The places of a table's rows: the file, and the lines where they begin.
pub(super) fn places(table: &Table) -> impl Iterator<Item = u64> + '_ {
    table.lines().map(|line| place(table.file(), line))
}

/// Two places with the same coordinates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pair {
    pub(super) first: u64,
    pub(super) second: u64,
}

/// Finds rows with the same coordinates.
#[derive(Debug, Default)]
pub(super) struct Finder(Sorter);

impl Finder {
    pub(super) fn add(&mut self, rows: impl IntoIterator<Item = Record>) -> io::Result<()> {
        rows.into_iter().try_for_each(|row| self.0.push(row))
    }

    /// The first row that repeats the coordinates of one before it.
    pub(super) fn first_pair(self) -> io::Result<Option<Pair>> {
        let mut found: Option<Pair> = None;
        pairs(self.0, &mut |pair| {
            if found.is_none_or(|found| pair.second < found.second) {
                found = Some(pair);
            }
            Ok(())
        })?;
        Ok(found)
    }

    /// The rows that are left out if the first or the last one with the same coordinates is kept.
    pub(super) fn left_out(self, keep_last: bool) -> io::Result<LeftOut> {
        let (mut places, mut count) = (Sorter::default(), 0u64);
        pairs(self.0, &mut |pair| {
            count = count.saturating_add(1);
            places.push([if keep_last { pair.first } else { pair.second }, 0, 0])
        })?;
        Ok(LeftOut { places: Some(places.finish()?.peekable()), count })
    }
}

/// Visits rows that have the same coordinates, each with the next one that has.
fn pairs(sorter: Sorter, visit: &mut dyn FnMut(Pair) -> io::Result<()>) -> io::Result<()> {
    let mut before: Option<Record> = None;
    for row in sorter.finish()? {
        let [high, low, second] = row?;
        if let Some([a, b, first]) = before
            && (a, b) == (high, low)
        {
            visit(Pair { first, second })?;
        }
        before = Some([high, low, second]);
    }
    Ok(())
}

/// Rows that are not imported, because others have the same coordinates.
#[derive(Debug, Default)]
pub(super) struct LeftOut {
    /// Their places, in order.
    places: Option<Peekable<Sorted>>,
    count: u64,
}

impl LeftOut {
    /// The number of these rows.
    pub(super) const fn len(&self) -> u64 {
        self.count
    }

    /// Whether the row at a place is left out. Places are asked for in their order.
    pub(super) fn has(&mut self, place: u64) -> io::Result<bool> {
        let Some(places) = self.places.as_mut().filter(|_| self.count > 0) else { return Ok(false) };
        let is_this = |one: &io::Result<Record>| one.as_ref().map_or(true, |[at, ..]| *at == place);
        places.next_if(is_this).transpose().map(|found| found.is_some())
    }
}

impl Iterator for LeftOut {
    type Item = io::Result<u64>;

    fn next(&mut self) -> Option<Self::Item> {
        let [place, ..] = match self.places.as_mut()?.next()? {
            Ok(record) => record,
            Err(error) => return Some(Err(error)),
        };
        Some(Ok(place))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    fn keyed(keys: &Keys, cells: &[[u8; 2]]) -> Finder {
        let mut finder = Finder::default();
        for (place, cell) in (0u64..).zip(cells) {
            let mut row = Keys::row(place);
            cell.iter().for_each(|value| keys.add(&mut row, &[*value]));
            finder.add([row]).unwrap();
        }
        finder
    }

    #[test]
    fn rows_with_the_same_coordinates_are_found_by_short_and_by_hashed_keys() {
        let mut state = 7u32;
        let mut next = move |most: u32| {
            state = state.wrapping_mul(1_103_515_245).wrapping_add(12345);
            u8::try_from((state >> 16) % most).unwrap()
        };
        for _ in 0..200 {
            let rows = next(40);
            let cells: Vec<[u8; 2]> = (0..rows).map(|_| [next(5), next(9)]).collect();
            let mut last: HashMap<[u8; 2], u64> = HashMap::new();
            let (mut first_pair, mut not_first, mut not_last) = (None, Vec::new(), Vec::new());
            for (place, cell) in (0u64..).zip(&cells) {
                if let Some(before) = last.insert(*cell, place) {
                    first_pair = first_pair.or(Some(Pair { first: before, second: place }));
                    not_first.push(place);
                    not_last.push(before);
                }
            }
            not_last.sort_unstable();
            for keys in [Keys::new([Some(1), Some(1)]), Keys::new([Some(1), None])] {
                assert_eq!(keyed(&keys, &cells).first_pair().unwrap(), first_pair);
                for (keep_last, expected) in [(false, &not_first), (true, &not_last)] {
                    let mut out = keyed(&keys, &cells).left_out(keep_last).unwrap();
                    assert_eq!(out.len(), u64::try_from(expected.len()).unwrap());
                    let found: Vec<u64> =
                        (0..u64::from(rows)).filter(|place| out.has(*place).unwrap()).collect();
                    assert_eq!(found, *expected);
                }
            }
        }
    }

    #[test]
    fn coordinates_that_fill_a_key_are_told_apart_in_every_bit() {
        let keys = Keys::new([Some(8), Some(8)]);
        assert!(keys.seeds.is_none() && Keys::new([Some(8), Some(8), Some(1)]).seeds.is_some());
        let key = |a: u64, b: u64| {
            let mut row = Keys::row(0);
            keys.add(&mut row, &a.to_le_bytes());
            keys.add(&mut row, &b.to_le_bytes());
            row
        };
        for bit in 0..64 {
            assert_ne!(key(1 << bit, 5), key(0, 5));
            assert_ne!(key(5, 1 << bit), key(5, 0));
        }
        assert_eq!(key(u64::MAX, 3), [u64::MAX, 3, 0]);
    }
}
