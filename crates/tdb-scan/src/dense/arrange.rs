//! Results whose ranges were asked for out of order, or more than once.

use core::ops::Range;

use tdb_codec::{Buffer, Layout, to_usize};

use super::axis::Axis;
use super::cell_map::{CellMap, Stretch};
use crate::buffers::{check_room, lengths_to_offsets, unfilled, write_lengths};
use crate::grid::strides;
use crate::{Column, OrInternal, QueryError, Result};

/// Moves the cells of a result, each of which was read once, to the places where they were asked
/// for.
#[derive(Debug)]
pub(crate) struct Arrangement {
    counts: Vec<usize>,
    cells: usize,
    map: CellMap,
}

impl Arrangement {
    /// Compares the intervals, in the order they were asked for, with the axes they were merged to;
    /// `None` if both are the same.
    pub(crate) fn new(asked: &[Vec<(u64, u64)>], axes: &[Axis], order: Layout) -> Result<Option<Self>> {
        let too_large = || {
            let count = |(low, high): &(u64, u64)| u128::from(high.saturating_sub(*low)).saturating_add(1);
            let sum = |intervals: &Vec<_>| intervals.iter().map(count).fold(0, u128::saturating_add);
            QueryError::TooLarge { cells: asked.iter().map(sum).fold(1, u128::saturating_mul) }
        };
        let mut counts = Vec::with_capacity(axes.len());
        let mut stretches = Vec::with_capacity(axes.len());
        let mut same = true;
        for (intervals, axis) in asked.iter().zip(axes) {
            let mut at = 0usize;
            let mut list: Vec<Stretch> = Vec::with_capacity(intervals.len());
            for (low, high) in intervals {
                let from = axis.position(*low).or_internal("an interval lies outside its axis")?;
                let count = to_usize(high.saturating_sub(*low)).and_then(|count| count.checked_add(1));
                let count = count.ok_or_else(too_large)?;
                same &= from == at;
                list.push((from, at, count));
                at = at.checked_add(count).ok_or_else(too_large)?;
            }
            same &= at == axis.count();
            counts.push(at);
            stretches.push(list);
        }
        if same {
            return Ok(None);
        }
        let cells = counts.iter().try_fold(1usize, |product, count| product.checked_mul(*count));
        let cells = cells.filter(|cells| *cells < isize::MAX.unsigned_abs()).ok_or_else(too_large)?;
        let read: Vec<usize> = axes.iter().map(Axis::count).collect();
        let source = strides(&read, order).ok_or_else(too_large)?;
        let target = strides(&counts, order).ok_or_else(too_large)?;
        Ok(Some(Self { cells, map: CellMap::new(&stretches, &source, &target), counts }))
    }

    /// Cells along each dimension.
    pub(crate) fn counts(&self) -> &[usize] {
        &self.counts
    }

    /// Number of cells.
    pub(crate) const fn cells(&self) -> usize {
        self.cells
    }

    /// Puts a column's cells in their places.
    pub(crate) fn apply(&self, column: Column) -> Result<Column> {
        let validity = match column.validity() {
            Some(validity) => Some(self.bytes(validity)?),
            None => None,
        };
        let (data, offsets) = match column.offsets() {
            None => {
                let size = column.cell_size().unwrap_or(1);
                let mut data = unfilled(self.cells.saturating_mul(size))?;
                self.map.copy(column.bytes(), data.as_mut_slice(), size)?;
                (data, None)
            }
            Some(from) => {
                let (data, offsets) = self.strings(column.bytes(), from)?;
                (data, Some(offsets))
            }
        };
        Ok(Column { data, offsets, validity, ..column })
    }

    /// Puts values of a byte each in their places.
    pub(super) fn bytes(&self, values: &[u8]) -> Result<Vec<u8>> {
        check_room(self.cells)?;
        let mut out = vec![0; self.cells];
        self.map.copy(values, &mut out, 1)?;
        Ok(out)
    }

    fn strings(&self, values: &[u8], from: &[u64]) -> Result<(Buffer, Vec<u64>)> {
        check_room(self.cells.saturating_add(1).saturating_mul(8))?;
        let mut offsets = vec![0u64; self.cells.saturating_add(1)];
        let mut found = true;
        self.map.for_each_run(|source, target, cells| {
            let own = source.checked_add(cells).and_then(|end| from.get(source..=end));
            let slots = target.checked_add(cells).and_then(|end| offsets.get_mut(target..end));
            found &= own.zip(slots).is_some_and(|(own, slots)| write_lengths(own, slots).is_ok());
        });
        found.then_some(()).or_internal(NO_VALUES)?;
        lengths_to_offsets(&mut offsets)?;
        let total = offsets.last().copied().unwrap_or(0);
        let mut out = unfilled(to_usize(total).ok_or(QueryError::OutOfMemory { bytes: total })?)?;
        self.map.for_each_run(|source, target, cells| {
            let values = bytes_of(from, source, cells).and_then(|bytes| values.get(bytes));
            let slot = bytes_of(&offsets, target, cells).and_then(|bytes| out.as_mut_slice().get_mut(bytes));
            match values.zip(slot).filter(|(values, slot)| values.len() == slot.len()) {
                Some((values, slot)) => slot.copy_from_slice(values),
                None => found = false,
            }
        });
        found.then_some(()).or_internal(NO_VALUES)?;
        Ok((out, offsets))
    }
}

/// A column of strings lacks cells of its result.
const NO_VALUES: &str = "a string to be arranged is missing";

/// The bytes of neighbouring strings.
fn bytes_of(offsets: &[u64], cell: usize, cells: usize) -> Option<Range<usize>> {
    let start = *offsets.get(cell)?;
    let end = *offsets.get(cell.checked_add(cells)?)?;
    Some(to_usize(start)?..to_usize(end)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbouring_strings_are_from_the_start_of_the_first_to_the_end_of_the_last() {
        let offsets = [0, 3, 3, 7];
        assert_eq!([bytes_of(&offsets, 0, 1), bytes_of(&offsets, 1, 2)], [Some(0..3), Some(3..7)]);
        assert_eq!([bytes_of(&offsets, 3, 0), bytes_of(&offsets, 2, 2)], [Some(7..7), None]);
    }
}
