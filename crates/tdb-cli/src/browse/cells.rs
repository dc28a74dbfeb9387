//! Cells of an array, page by page.

use std::collections::VecDeque;

use tdb_array::query::Batches;
use tdb_array::schema::ArrayType;
use tdb_array::{Array, Layout, Result};

use super::ask::{CellRange, Page};
use crate::read::all_columns;
use crate::read::rows::{heading, text, title};
use crate::read::shown::{ShownColumn, columns};
use crate::table::{shortened, write_rows};
use crate::thresholds::{BROWSED_BATCH_MEMORY, INITIAL_BATCH_MEMORY, MAX_BROWSED_BATCHES, MAX_BROWSED_TEXT};

/// Lines of headings above the cells, with the dashes below them.
const HEAD_LINES: usize = 2;

/// Reads pages of an array's cells.
pub(super) enum Pager {
    Dense(Dense),
    Sparse(Box<Sparse>),
}

impl Pager {
    pub(super) fn new(array: Array) -> Result<Self> {
        Ok(match array.schema().array_type {
            ArrayType::Dense => Self::Dense(Dense::new(array)),
            ArrayType::Sparse => Self::Sparse(Box::new(Sparse::new(array)?)),
        })
    }

    /// So many cells from this one on, or fewer at the end.
    pub(super) fn page(&mut self, first: u128, count: usize) -> Result<Option<Page>> {
        let (columns, cells) = match self {
            Self::Dense(dense) => dense.cells(first, count)?,
            Self::Sparse(sparse) => sparse.cells(first, count)?,
        };
        Ok(page(&columns, cells))
    }
}

/// Some rows of a batch: columns, the first row, and how many.
type Rows<'b> = (&'b [ShownColumn], usize, usize);

/// The text of cells, which may be from several batches.
fn page(parts: &[Rows<'_>], cells: CellRange) -> Option<Page> {
    let Some((columns, _, _)) = parts.first() else {
        return Some(Page { cells: Some(cells), ..Page::default() });
    };
    let headings: Vec<_> =
        columns.iter().map(|shown| heading(&title(&shown.column), &shown.column)).collect();
    let rows: Vec<Vec<String>> = parts
        .iter()
        .flat_map(|(columns, first, count)| {
            let rows = *first..first.saturating_add(*count);
            let cell = |column, row| shortened(text(column, row), MAX_BROWSED_TEXT);
            rows.map(move |row| columns.iter().map(|column| cell(column, row)).collect())
        })
        .collect();
    let mut table = Vec::new();
    write_rows(&mut table, 0, &headings, &rows).ok()?;
    let mut lines: Vec<String> = String::from_utf8_lossy(&table).lines().map(str::to_owned).collect();
    let rest = lines.split_off(HEAD_LINES.min(lines.len()));
    Some(Page { head: lines, lines: rest, cells: Some(cells) })
}

/// The cells of a dense array's non-empty domain, row by row. A page is where its number says, so
/// nothing before it is read.
pub(super) struct Dense {
    array: Array,
    /// For each dimension, the first ordinal and the number of coordinates.
    sides: Vec<(u64, u128)>,
    /// What was read last.
    parts: Vec<(usize, Vec<ShownColumn>)>,
}

impl Dense {
    fn new(array: Array) -> Self {
        let domain = array.bounds().unwrap_or_default();
        let dimensions = &array.schema().domain.dimensions;
        let sides = domain.iter().zip(dimensions).filter_map(|(range, dimension)| {
            let (low, high) = (dimension.ordinal(&range.low)?, dimension.ordinal(&range.high)?);
            Some((low, u128::from(high.checked_sub(low)?).saturating_add(1)))
        });
        Self { sides: sides.collect(), array, parts: Vec::new() }
    }

    fn cells(&mut self, first: u128, count: usize) -> Result<(Vec<Rows<'_>>, CellRange)> {
        let lengths: Vec<u128> = self.sides.iter().map(|(_, side)| *side).collect();
        let none = lengths.is_empty();
        let all = if none { 0 } else { lengths.iter().fold(1u128, |all, side| all.saturating_mul(*side)) };
        let first = first.min(all.saturating_sub(1));
        let wanted = u128::try_from(count).unwrap_or(u128::MAX).min(all.saturating_sub(first));
        let schema = self.array.schema();
        self.parts.clear();
        for ranges in boxes(&lengths, first, wanted) {
            let mut read =
                self.array.read().fields(all_columns(schema)).order(Layout::RowMajor).selection(true);
            let own = schema.domain.dimensions.iter().zip(&self.sides).zip(ranges);
            for ((dimension, (start, _)), (low, high)) in own {
                let coordinate = |at: u128| {
                    let ordinal = start.checked_add(u64::try_from(at).ok()?)?;
                    dimension.coordinate(ordinal)
                };
                read = read.range_bytes(&*dimension.name, coordinate(low), coordinate(high));
            }
            self.parts.push(columns(&self.array, read.collect()?, true)?);
        }
        let parts: Vec<Rows<'_>> =
            self.parts.iter().map(|(len, shown)| (shown.as_slice(), 0, *len)).collect();
        let count = parts.iter().map(|(_, _, len)| len).sum();
        let more = first.saturating_add(wanted) < all;
        Ok((parts, CellRange { first, count, all: Some(all), more }))
    }
}

/// The boxes whose cells, one box after the other and row by row in each, are those from the first
/// one on. There are at most two for each dimension.
fn boxes(sides: &[u128], first: u128, count: u128) -> Vec<Vec<(u128, u128)>> {
    let mut found = Vec::new();
    let (mut at, end) = (first, first.saturating_add(count));
    while at < end {
        let mut rest = at;
        let mut places: Vec<u128> = Vec::with_capacity(sides.len());
        for side in sides.iter().rev() {
            places.push(rest.checked_rem(*side).unwrap_or(0));
            rest = rest.checked_div(*side).unwrap_or(0);
        }
        places.reverse();
        // The dimension along which as many whole rows as possible are left.
        let left = end.saturating_sub(at);
        let (mut along, mut row) = (sides.len().saturating_sub(1), 1u128);
        while let (Some(0), Some(side)) = (places.get(along), sides.get(along)) {
            let longer = row.saturating_mul(*side);
            if along == 0 || longer > left {
                break;
            }
            (along, row) = (along.saturating_sub(1), longer);
        }
        let room =
            sides.get(along).zip(places.get(along)).map_or(1, |(side, place)| side.saturating_sub(*place));
        let rows = left.checked_div(row).unwrap_or(1).min(room).max(1);
        let range = |(index, (place, side)): (usize, (&u128, &u128))| match index.cmp(&along) {
            core::cmp::Ordering::Less => (*place, *place),
            core::cmp::Ordering::Equal => (*place, place.saturating_add(rows).saturating_sub(1)),
            core::cmp::Ordering::Greater => (0, side.saturating_sub(1)),
        };
        found.push(places.iter().zip(sides).enumerate().map(range).collect());
        at = at.saturating_add(rows.saturating_mul(row));
    }
    found
}

/// The cells of a sparse array in the order in which they are found. Some batches are kept, so that
/// going back reads nothing; before these, the read begins anew.
pub(super) struct Sparse {
    array: Array,
    batches: Batches,
    /// The first cell of each batch, its number of cells, and its columns.
    kept: VecDeque<(u128, usize, Vec<ShownColumn>)>,
    /// The number of cells so far.
    read: u128,
    has_ended: bool,
}

impl Sparse {
    fn new(array: Array) -> Result<Self> {
        let batches = batches(&array)?;
        Ok(Self { array, batches, kept: VecDeque::new(), read: 0, has_ended: false })
    }

    fn cells(&mut self, first: u128, count: usize) -> Result<(Vec<Rows<'_>>, CellRange)> {
        if self.kept.front().is_some_and(|(start, _, _)| first < *start) {
            *self = Self::new(self.array.clone())?;
        }
        let end = first.saturating_add(u128::try_from(count).unwrap_or(u128::MAX));
        // One more, to know whether there is one.
        while self.read <= end && !self.has_ended {
            let Some(cells) = self.batches.next().transpose()? else {
                self.has_ended = true;
                break;
            };
            let (len, shown) = columns(&self.array, cells, true)?;
            if len == 0 {
                continue;
            }
            self.kept.push_back((self.read, len, shown));
            self.read = self.read.saturating_add(u128::try_from(len).unwrap_or(0));
            let is_before = |(start, len, _): &(u128, usize, Vec<ShownColumn>)| {
                start.saturating_add(u128::try_from(*len).unwrap_or(0)) <= first
            };
            while self.kept.len() > MAX_BROWSED_BATCHES && self.kept.front().is_some_and(is_before) {
                self.kept.pop_front();
            }
        }
        let parts = self.kept.iter().filter_map(|(start, len, shown)| {
            let skip = usize::try_from(first.saturating_sub(*start)).ok()?.min(*len);
            let last = usize::try_from(end.saturating_sub(*start)).unwrap_or(usize::MAX).min(*len);
            let count = last.checked_sub(skip).filter(|count| *count > 0)?;
            Some((shown.as_slice(), skip, count))
        });
        let parts: Vec<Rows<'_>> = parts.collect();
        let count = parts.iter().map(|(_, _, len)| len).sum();
        let more = self.read > end;
        let all = self.has_ended.then_some(self.read);
        Ok((parts, CellRange { first, count, all, more }))
    }
}

fn batches(array: &Array) -> Result<Batches> {
    let read = array.read().fields(all_columns(array.schema()));
    read.initial_batch_memory(INITIAL_BATCH_MEMORY).batch_memory(BROWSED_BATCH_MEMORY).batches()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The cells of boxes, as numbers in row-major order.
    fn cells(sides: &[u128], boxes: &[Vec<(u128, u128)>]) -> Vec<u128> {
        let mut found = Vec::new();
        for ranges in boxes {
            let mut own = vec![0u128];
            for ((low, high), side) in ranges.iter().zip(sides) {
                own = own.iter().flat_map(|cell| (*low..=*high).map(move |at| cell * side + at)).collect();
            }
            found.extend(own);
        }
        found
    }

    #[test]
    fn boxes_have_the_cells_of_a_page_in_their_order() {
        for sides in [&[7][..], &[5, 4], &[3, 1, 4], &[2, 3, 2, 3]] {
            let all: u128 = sides.iter().product();
            for first in 0..all {
                for count in 1..=all - first {
                    let found = boxes(sides, first, count);
                    assert_eq!(cells(sides, &found), (first..first + count).collect::<Vec<_>>());
                    assert!(found.len() <= 2 * sides.len(), "{sides:?} {first} {count}: {found:?}");
                }
            }
        }
    }

    #[test]
    fn a_page_of_a_domain_too_large_to_count_is_one_row_of_it() {
        let whole = u128::from(u64::MAX) + 1;
        assert_eq!(boxes(&[whole, whole], whole * 5 + 7, 20), [[(5, 5), (7, 26)]]);
        assert!(boxes(&[], 0, 0).is_empty());
    }
}
