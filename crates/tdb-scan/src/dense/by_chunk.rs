//! Cells of a part of a tile, taken out of the tile's chunks one after the other.

use core::ops::Range;

use tdb_codec::{Layout, to_u64};

use super::boxes::{Box, intersect};
use super::region::Region;
use super::space::Space;
use crate::Result;

/// Takes the cells of a box of a region out of the chunks of a space tile.
pub(super) struct ByChunk<'p> {
    pub(super) space: &'p Space,
    pub(super) region: &'p Region,
    pub(super) tile_box: &'p Box,
    pub(super) bounds: &'p Box,
    /// Bytes of a cell.
    pub(super) size: usize,
    /// The beginning of a cell of which the rest is in the next chunk: writers cut no cells, but a
    /// chunk may have any length.
    pub(super) cut_cell: Vec<u8>,
    /// Whether all cells so far have found their places.
    pub(super) copied: Result<()>,
}

impl ByChunk<'_> {
    /// Copies the cells that are in the bytes `range` of the tile to their places in the region.
    pub(super) fn take(&mut self, range: &Range<usize>, mut bytes: &[u8], target: &mut [u8]) {
        let size = self.size.max(1);
        let mut cell = range.start.checked_div(size).unwrap_or(0);
        let into = range.start.checked_rem(size).unwrap_or(0);
        if into > 0 {
            let (rest, later) = bytes.split_at(bytes.len().min(size.saturating_sub(into)));
            // A chunk without wanted cells was not passed on, and so the beginning of a cell is not
            // missed.
            if self.cut_cell.len() == into {
                self.cut_cell.extend_from_slice(rest);
            }
            if into.saturating_add(rest.len()) < size {
                return;
            }
            if self.cut_cell.len() == size {
                let cut_cell = core::mem::take(&mut self.cut_cell);
                self.note(cell, &cut_cell, target);
            }
            (cell, bytes) = (cell.saturating_add(1), later);
        }
        let rest = bytes.len().checked_rem(size).unwrap_or(0);
        let (whole, cut_cell) = bytes.split_at(bytes.len().saturating_sub(rest));
        self.note(cell, whole, target);
        self.cut_cell.clear();
        self.cut_cell.extend_from_slice(cut_cell);
    }

    /// Copies cells, unless others were missing before.
    fn note(&mut self, first: usize, cells: &[u8], target: &mut [u8]) {
        if self.copied.is_ok() {
            self.copied = self.copy(first, cells, target);
        }
    }

    /// Copies those of the tile's cells from `first` on that are in the box.
    fn copy(&self, first: usize, cells: &[u8], target: &mut [u8]) -> Result<()> {
        let mut copied = Ok(());
        let count = cells.len().checked_div(self.size).unwrap_or(0);
        let mut slow_first: Vec<usize> = (0..self.space.tile_counts.len()).collect();
        if self.space.cell_order == Layout::ColMajor {
            slow_first.reverse();
        }
        let all: Vec<Range<usize>> = self.space.tile_counts.iter().map(|count| 0..*count).collect();
        boxes_of(
            &self.space.tile_strides,
            &slow_first,
            first..first.saturating_add(count),
            all,
            &mut |own| {
                let ends = own.iter().zip(self.tile_box).map(|(own, (low, _))| {
                    let at = |cell: usize| low.saturating_add(to_u64(cell));
                    (at(own.start), at(own.end.saturating_sub(1)))
                });
                if let Some(shared) = intersect(&ends.collect::<Vec<_>>(), self.bounds) {
                    let map = self.region.map(&shared, Some((self.tile_box, &self.space.tile_strides)));
                    let own = map.copy_from(cells, first, target, self.size);
                    copied = core::mem::replace(&mut copied, Ok(())).and(own);
                }
            },
        );
        copied
    }
}

/// Passes on the boxes that some neighbours in the order of a tile's cells make up, in that order:
/// `cells` counts from the first cell of `within`, which is a whole tile along the dimensions
/// `slow_first`, and one cell along all others.
fn boxes_of(
    strides: &[usize],
    slow_first: &[usize],
    cells: Range<usize>,
    within: Vec<Range<usize>>,
    visit: &mut dyn FnMut(&[Range<usize>]),
) {
    if cells.is_empty() {
        return;
    }
    let Some(((dimension, faster), stride)) =
        slow_first.split_first().and_then(|(first, faster)| Some(((*first, faster), *strides.get(*first)?)))
    else {
        visit(&within);
        return;
    };
    let part = |along: Range<usize>| {
        let mut part = within.clone();
        if let Some(slot) = part.get_mut(dimension) {
            *slot = along;
        }
        part
    };
    let place = |cell: usize| (cell.checked_div(stride).unwrap_or(0), cell.checked_rem(stride).unwrap_or(0));
    let ((mut from, head), (to, tail)) = (place(cells.start), place(cells.end));
    if from == to {
        return boxes_of(strides, faster, head..tail, part(from..from.saturating_add(1)), visit);
    }
    if head > 0 {
        boxes_of(strides, faster, head..stride, part(from..from.saturating_add(1)), visit);
        from = from.saturating_add(1);
    }
    if from < to {
        visit(&part(from..to));
    }
    boxes_of(strides, faster, 0..tail, part(to..to.saturating_add(1)), visit);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::grid::strides;

    proptest! {
        #[test]
        fn neighbours_in_a_tile_are_cut_into_boxes_that_follow_each_other(
            counts in proptest::collection::vec(1usize..6, 1..5),
            columns: bool,
            ends in (0.0f64..=1.0, 0.0f64..=1.0),
        ) {
            let order = if columns { Layout::ColMajor } else { Layout::RowMajor };
            let strides = strides(&counts, order).unwrap();
            let cells: usize = counts.iter().product();
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss, reason = "small numbers")]
            let at = |end: f64| (end * cells as f64) as usize;
            let asked = at(ends.0).min(at(ends.1))..at(ends.0).max(at(ends.1));
            let mut slow_first: Vec<usize> = (0..counts.len()).collect();
            if columns {
                slow_first.reverse();
            }
            let (mut seen, mut boxes) = (Vec::new(), 0);
            boxes_of(&strides, &slow_first, asked.clone(), counts.iter().map(|count| 0..*count).collect(), &mut |own| {
                boxes += 1;
                let mut numbers = vec![0usize];
                for dimension in &slow_first {
                    let along = own[*dimension].clone();
                    numbers = numbers.iter().flat_map(|from| along.clone().map(move |at| (*from, at)))
                        .map(|(from, at)| from + at * strides[*dimension]).collect();
                }
                seen.extend(numbers);
            });
            prop_assert_eq!(seen, asked.collect::<Vec<_>>());
            prop_assert!(boxes < 2 * counts.len());
        }
    }
}
