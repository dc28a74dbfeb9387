//! Boxes of cells of a dense array: the grid of their tiles, and the copy of a box from a buffer in
//! one cell order to a buffer in another, as from a dense tile to a result.

use tdb_codec::{Layout, to_u64};
use tdb_schema::{Dimension, Range};

use crate::thresholds::TRANSPOSE_CELLS;
use crate::{OrInternal, Result};

/// Strides of a box of `counts` cells in row- or column-major order: the distance in cells between
/// neighbours along each dimension. `None` if the box has more cells than fit in a `usize`.
pub fn strides(counts: &[usize], order: Layout) -> Option<Vec<usize>> {
    let mut strides = vec![1usize; counts.len()];
    let mut next = 1usize;
    let mut set = |index: usize| -> Option<()> {
        *strides.get_mut(index)? = next;
        next = next.checked_mul(*counts.get(index)?)?;
        Some(())
    };
    match order {
        Layout::ColMajor => (0..counts.len()).try_for_each(&mut set)?,
        _ => (0..counts.len()).rev().try_for_each(&mut set)?,
    }
    Some(strides)
}

/// The position of tile number `tile` in a grid of `counts` tiles: the number of tiles before it
/// along each dimension. A grid without tiles has only zeros.
pub fn place(tile: usize, counts: &[usize], order: Layout) -> Vec<u64> {
    let mut rest = tile;
    let mut places = vec![0u64; counts.len()];
    let mut set = |(place, count): (&mut u64, &usize)| {
        *place = to_u64(rest.checked_rem(*count).unwrap_or(0));
        rest = rest.checked_div(*count).unwrap_or(0);
    };
    match order {
        Layout::ColMajor => places.iter_mut().zip(counts).for_each(&mut set),
        _ => places.iter_mut().zip(counts).rev().for_each(&mut set),
    }
    places
}

/// One dimension of a box of cells in a dense array, in ordinals: distances from the low end of the
/// domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Side {
    /// The first cell.
    pub low: u64,
    /// The last cell.
    pub high: u64,
    /// Cells of a tile.
    pub extent: u64,
}

impl Side {
    /// The cells of a range; `None` if they are not in the domain, or if the dimension does not
    /// consist of whole numbers.
    pub fn of(dimension: &Dimension, range: &Range) -> Option<Self> {
        let last = dimension.last_ordinal()?;
        let (low, high) = (dimension.ordinal(&range.low)?, dimension.ordinal(&range.high)?);
        let extent = match dimension.extent_cells() {
            Some(extent) => extent,
            None => last.checked_add(1)?,
        };
        (low <= high && high <= last && extent > 0).then_some(Self { low, high, extent })
    }

    /// The number of the first tile that it touches; 0 if tiles have no cells, which [`Self::of`]
    /// excludes.
    const fn first_tile(self) -> u64 {
        match self.low.checked_div(self.extent) {
            Some(tile) => tile,
            None => 0,
        }
    }

    /// The number of tiles that it touches. A domain of all numbers of 64 bits has one cell more
    /// than 64 bits count: then the number, of tiles or cells, is the greatest one.
    pub fn tiles(self) -> u64 {
        let last = self.high.checked_div(self.extent).unwrap_or(0);
        last.saturating_sub(self.first_tile()).saturating_add(1)
    }

    /// The number of its cells.
    pub fn cells(self) -> u64 {
        self.high.saturating_sub(self.low).saturating_add(1)
    }

    /// The first cell of its tile `tile`, which may be before the box. Cells of tiles after the box
    /// may be past 64 bits: they are at the greatest number, which no box is behind.
    pub fn start(self, tile: u64) -> u64 {
        self.first_tile().saturating_add(tile).saturating_mul(self.extent)
    }

    /// The first and last cell of the box in its tiles `from..to`.
    pub fn cells_of(self, from: u64, to: u64) -> (u64, u64) {
        let end = self.start(to.saturating_sub(1)).saturating_add(self.extent.saturating_sub(1));
        (self.start(from).max(self.low), end.min(self.high))
    }
}

/// One dimension of a box, with its strides in the source and in the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Axis {
    count: usize,
    source: usize,
    target: usize,
}

/// A box of cells that is in a source and in a target, each with its own linear order.
#[derive(Clone, Debug)]
pub struct BoxMap {
    /// Outermost (largest target stride) first; neighbours that are contiguous on both sides are
    /// merged.
    axes: Vec<Axis>,
    source: usize,
    target: usize,
}

impl BoxMap {
    /// The box of `counts` cells whose first cell is cell `source` of the source and cell `target`
    /// of the target.
    pub fn new(
        counts: &[usize],
        (source, source_strides): (usize, &[usize]),
        (target, target_strides): (usize, &[usize]),
    ) -> Self {
        let all = counts.iter().zip(source_strides.iter().zip(target_strides));
        let mut axes: Vec<Axis> = all
            .filter(|(count, _)| **count != 1)
            .map(|(&count, (&source, &target))| Axis { count, source, target })
            .collect();
        axes.sort_by_key(|axis| core::cmp::Reverse(axis.target));
        axes.dedup_by(|inner, outer| {
            let merges = outer.source == inner.source.wrapping_mul(inner.count)
                && outer.target == inner.target.wrapping_mul(inner.count);
            if merges {
                *outer = Axis {
                    count: outer.count.wrapping_mul(inner.count),
                    source: inner.source,
                    target: inner.target,
                };
            }
            merges
        });
        Self { axes, source, target }
    }

    /// The same cells in a source that begins `cells` cells later.
    pub const fn later(mut self, cells: usize) -> Self {
        self.source = self.source.wrapping_sub(cells);
        self
    }

    /// Calls `run(source, target, cells)` for every run that is contiguous on both sides, or for
    /// every single cell if there is none.
    pub fn for_each_run(&self, mut run: impl FnMut(usize, usize, usize)) {
        match self.axes.split_last() {
            None => run(self.source, self.target, 1),
            Some((last, outer)) if last.source == 1 && last.target == 1 => {
                walk(outer, self.source, self.target, &mut |source, target| run(source, target, last.count));
            }
            Some(_) => {
                walk(&self.axes, self.source, self.target, &mut |source, target| run(source, target, 1));
            }
        }
    }

    /// Copies the box's cells of `size` bytes.
    ///
    /// # Errors
    /// [`crate::Error::Internal`] if the source or the target does not have all of them.
    pub fn copy(&self, source: &[u8], target: &mut [u8], size: usize) -> Result<()> {
        self.check(source.len(), target.len(), size).or_internal("a box without some of its cells")?;
        let contiguous = self.axes.last().is_none_or(|last| last.source == 1 && last.target == 1);
        if contiguous {
            self.for_each_run(|from, to, cells| {
                let len = cells.wrapping_mul(size);
                let from = from.wrapping_mul(size);
                let to = to.wrapping_mul(size);
                copy_bytes(source, from, target, to, len);
            });
            return Ok(());
        }
        match size {
            1 => self.transpose::<1>(source, target),
            2 => self.transpose::<2>(source, target),
            4 => self.transpose::<4>(source, target),
            8 => self.transpose::<8>(source, target),
            16 => self.transpose::<16>(source, target),
            _ => walk(&self.axes, self.source, self.target, &mut |from, to| {
                copy_bytes(source, from.wrapping_mul(size), target, to.wrapping_mul(size), size);
            }),
        }
        Ok(())
    }

    /// `Some` if the last cell of the box, and so every one, is inside a source and a target of
    /// these lengths, in bytes.
    fn check(&self, source: usize, target: usize, size: usize) -> Option<()> {
        if self.axes.iter().any(|axis| axis.count == 0) {
            return Some(());
        }
        let end = |first: usize, stride: fn(&Axis) -> usize| {
            let last = self.axes.iter().try_fold(first, |last, axis| {
                last.checked_add(axis.count.checked_sub(1)?.checked_mul(stride(axis))?)
            });
            last?.checked_add(1)?.checked_mul(size)
        };
        let fits = end(self.source, |axis| axis.source)? <= source
            && end(self.target, |axis| axis.target)? <= target;
        fits.then_some(())
    }

    /// Copies cells whose neighbours are not adjacent on one side, in blocks that stay in the
    /// cache.
    fn transpose<const N: usize>(&self, source: &[u8], target: &mut [u8]) {
        let source = source.as_chunks::<N>().0;
        let target = target.as_chunks_mut::<N>().0;
        let mut axes = self.axes.clone();
        let Some(fast_target) = axes.pop() else { return };
        // The dimension that is contiguous in the source, if there is one, is the other side of the
        // blocks.
        let near = axes.iter().enumerate().min_by_key(|(_, axis)| axis.source).map(|(index, _)| index);
        let fast_source = near.map_or(Axis { count: 1, source: 0, target: 0 }, |index| axes.remove(index));
        walk(&axes, self.source, self.target, &mut |from, to| {
            for i in (0..fast_source.count).step_by(TRANSPOSE_CELLS) {
                for j in (0..fast_target.count).step_by(TRANSPOSE_CELLS) {
                    for a in i..fast_source.count.min(i.wrapping_add(TRANSPOSE_CELLS)) {
                        let from = from.wrapping_add(a.wrapping_mul(fast_source.source));
                        let to = to.wrapping_add(a.wrapping_mul(fast_source.target));
                        for b in j..fast_target.count.min(j.wrapping_add(TRANSPOSE_CELLS)) {
                            let from = from.wrapping_add(b.wrapping_mul(fast_target.source));
                            let to = to.wrapping_add(b.wrapping_mul(fast_target.target));
                            // Both exist: `check` has checked it.
                            if let (Some(to), Some(from)) = (target.get_mut(to), source.get(from)) {
                                *to = *from;
                            }
                        }
                    }
                }
            }
        });
    }
}

/// Copies bytes; [`BoxMap::check`] has checked that both ranges exist.
fn copy_bytes(source: &[u8], from: usize, target: &mut [u8], to: usize, len: usize) {
    let source = source.get(from..from.wrapping_add(len));
    if let (Some(source), Some(target)) = (source, target.get_mut(to..to.wrapping_add(len))) {
        target.copy_from_slice(source);
    }
}

/// Calls `visit` with the positions in the source and in the target of every cell of a box.
fn walk(axes: &[Axis], source: usize, target: usize, visit: &mut impl FnMut(usize, usize)) {
    match axes.split_first() {
        None => visit(source, target),
        Some((axis, [])) => {
            for i in 0..axis.count {
                visit(
                    source.wrapping_add(i.wrapping_mul(axis.source)),
                    target.wrapping_add(i.wrapping_mul(axis.target)),
                );
            }
        }
        Some((axis, inner)) => {
            for i in 0..axis.count {
                let source = source.wrapping_add(i.wrapping_mul(axis.source));
                let target = target.wrapping_add(i.wrapping_mul(axis.target));
                walk(inner, source, target, visit);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Error;

    /// The same copy, cell by cell.
    fn slow(
        counts: &[usize],
        source: (usize, &[usize]),
        target: (usize, &[usize]),
        from: &[u8],
        to: &mut [u8],
        size: usize,
    ) {
        let cells: usize = counts.iter().product();
        for cell in 0..cells {
            let (mut rest, mut s, mut t) = (cell, source.0, target.0);
            for (d, count) in counts.iter().enumerate() {
                s += rest % count * source.1[d];
                t += rest % count * target.1[d];
                rest /= count;
            }
            to[t * size..][..size].copy_from_slice(&from[s * size..][..size]);
        }
    }

    proptest! {
        #[test]
        fn copies_agree_with_the_definition(
            dims in proptest::collection::vec((1usize..7, 0usize..3, 0usize..3, 0usize..3, 0usize..3), 1..4),
            orders in (any::<bool>(), any::<bool>()),
            size in prop_oneof![Just(1usize), Just(2), Just(3), Just(8), Just(16)],
        ) {
            let order = |col| if col { Layout::ColMajor } else { Layout::RowMajor };
            let counts: Vec<usize> = dims.iter().map(|d| d.0).collect();
            let source_box: Vec<usize> = dims.iter().map(|d| d.0 + d.1 + d.2).collect();
            let target_box: Vec<usize> = dims.iter().map(|d| d.0 + d.3 + d.4).collect();
            let source_strides = strides(&source_box, order(orders.0)).unwrap();
            let target_strides = strides(&target_box, order(orders.1)).unwrap();
            let source: usize = dims.iter().zip(&source_strides).map(|(d, s)| d.1 * s).sum();
            let target: usize = dims.iter().zip(&target_strides).map(|(d, s)| d.3 * s).sum();
            let from: Vec<u8> = (0..source_box.iter().product::<usize>() * size).map(|i| i.to_le_bytes()[0]).collect();
            let mut to = vec![0xaa; target_box.iter().product::<usize>() * size];
            let mut expected = to.clone();
            slow(&counts, (source, &source_strides), (target, &target_strides), &from, &mut expected, size);
            let map = BoxMap::new(&counts, (source, &source_strides), (target, &target_strides));
            map.copy(&from, &mut to, size).unwrap();
            prop_assert_eq!(to, expected);
        }
    }

    #[test]
    fn a_side_touches_tiles_that_begin_before_it_and_end_behind_it() {
        let side = Side { low: 7, high: 21, extent: 5 };
        assert_eq!((side.tiles(), side.cells()), (4, 15));
        assert_eq!([0, 1, 3].map(|tile| side.start(tile)), [5, 10, 20]);
        assert_eq!([0, 1, 3].map(|tile| side.cells_of(tile, tile + 1)), [(7, 9), (10, 14), (20, 21)]);
    }

    #[test]
    fn tiles_are_numbered_along_the_last_dimension_first_or_along_the_first() {
        assert_eq!(place(4, &[2, 3], Layout::RowMajor), [1, 1]);
        assert_eq!(place(4, &[2, 3], Layout::ColMajor), [0, 2]);
    }

    #[test]
    fn boxes_that_reach_past_their_source_or_target_are_not_copied() {
        let all = strides(&[2, 3], Layout::RowMajor).unwrap();
        let turned = strides(&[2, 3], Layout::ColMajor).unwrap();
        for target in [&all, &turned] {
            let map = BoxMap::new(&[2, 3], (1, &all), (2, target));
            for size in [1, 4, 5] {
                let copy = |source: usize, to: usize| {
                    map.copy(&vec![7; source * size], &mut vec![0; to * size], size)
                };
                assert!(copy(7, 8).is_ok());
                for (source, to) in [(6, 8), (7, 7), (0, 8), (7, 0)] {
                    assert!(matches!(copy(source, to), Err(Error::Internal(_))), "{source} {to}");
                }
            }
            assert!(map.clone().later(1).copy(&[7; 6], &mut [0; 8], 1).is_ok());
            assert!(
                map.later(2).copy(&[7; 6], &mut [0; 8], 1).is_err(),
                "the first cell is before the source"
            );
        }
        let none = BoxMap::new(&[2, 0], (9, &all), (9, &all));
        assert!(none.copy(&[], &mut [], 8).is_ok(), "no cells");
    }

    #[test]
    fn whole_rows_merge_into_one_run() {
        let strides = strides(&[4, 5, 6], Layout::RowMajor).unwrap();
        let map = BoxMap::new(&[4, 5, 6], (0, &strides), (0, &strides));
        let mut runs = Vec::new();
        map.for_each_run(|source, target, cells| runs.push((source, target, cells)));
        assert_eq!(runs, [(0, 0, 120)]);
    }
}
