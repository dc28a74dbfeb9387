//! A region of a dense query: the cells that one job reads.

use tdb_codec::{Layout, to_usize};

use super::axis::{Axis, OrdinalRun};
use super::boxes::Box;
use super::cell_map::{CellMap, Stretch};
use crate::grid::strides;
use crate::{OrInternal, Result};

/// A region has more cells than the result that it is a part of.
const TOO_LARGE: &str = "a region has more cells than can be counted";

/// A part of the query whose cells are contiguous in the result: what one job owns.
#[derive(Clone, Debug)]
pub struct Region {
    axes: Vec<Axis>,
    /// The smallest box that contains its cells.
    pub bounds: Box,
    cells: usize,
    /// Distance in the region between neighbours along each dimension.
    pub(crate) strides: Vec<usize>,
}

impl Region {
    /// The cells of some axes, none of which is empty. A region is a part of a result, whose cells
    /// were counted.
    pub(super) fn new(axes: Vec<Axis>, order: Layout) -> Result<Self> {
        let bounds = axes.iter().map(Axis::bounds).collect::<Option<_>>();
        let bounds = bounds.or_internal("a region has no cells")?;
        let counts: Vec<usize> = axes.iter().map(Axis::count).collect();
        let cells = counts.iter().try_fold(1usize, |product, count| product.checked_mul(*count));
        let (strides, cells) = strides(&counts, order).zip(cells).or_internal(TOO_LARGE)?;
        Ok(Self { axes, bounds, cells, strides })
    }

    /// The cells of axes that are inside a box, of which there is at least one.
    pub(super) fn within(axes: &[Axis], bounds: &[(u64, u64)], order: Layout) -> Result<Self> {
        let part = |(axis, (low, high)): (&Axis, &(u64, u64))| {
            let mut part = Axis::default();
            axis.within(*low, *high).try_for_each(|run| part.push(run.low, run.high))?;
            Some(part)
        };
        let parts = axes.iter().zip(bounds).map(part).collect::<Option<_>>();
        Self::new(parts.or_internal(TOO_LARGE)?, order)
    }

    /// Number of its cells that are inside a box.
    pub(super) fn cells_in(&self, bounds: &[(u64, u64)]) -> usize {
        let along = |(axis, (low, high)): (&Axis, &(u64, u64))| -> usize {
            axis.within(*low, *high).map(OrdinalRun::count).sum()
        };
        self.axes.iter().zip(bounds).map(along).product()
    }

    /// The part of the region that is inside a box that has cells of it, in the given order.
    pub(crate) fn part(&self, bounds: &[(u64, u64)], order: Layout) -> Result<Self> {
        Self::within(&self.axes, bounds, order)
    }

    /// Maps the cells of a part to the region.
    pub(crate) fn map_of_part(&self, part: &Self) -> CellMap {
        let axes = self.axes.iter().zip(&part.bounds);
        let stretches: Vec<Vec<Stretch>> = axes
            .map(|(axis, (low, high))| {
                let first = axis.within(*low, *high).next().map_or(0, |run| run.at);
                axis.within(*low, *high)
                    .map(|run| (run.at.saturating_sub(first), run.at, run.count()))
                    .collect()
            })
            .collect();
        CellMap::new(&stretches, &part.strides, &self.strides)
    }

    /// Whether the region has all cells of its box.
    pub(crate) fn is_box(&self) -> bool {
        self.axes.iter().all(|axis| axis.runs().len() <= 1)
    }

    /// Its ordinals along each dimension.
    pub(super) fn axes(&self) -> &[Axis] {
        &self.axes
    }

    /// Number of cells.
    pub const fn cells(&self) -> usize {
        self.cells
    }

    /// The ordinals along a dimension.
    pub(crate) fn axis(&self, dimension: usize) -> Option<&Axis> {
        self.axes.get(dimension)
    }

    /// Number of the cell at these ordinals, if the region contains it.
    pub(crate) fn position(&self, ordinals: impl Iterator<Item = u64>) -> Option<usize> {
        self.axes
            .iter()
            .zip(&self.strides)
            .zip(ordinals)
            .try_fold(0usize, |sum, ((axis, stride), ordinal)| {
                sum.checked_add(axis.position(ordinal)?.checked_mul(*stride)?)
            })
    }

    /// Maps the region's cells in `bounds` from a box that begins at `origin` and has these strides
    /// to the region. Without such a box it maps the region onto itself.
    pub(crate) fn map(&self, bounds: &[(u64, u64)], source: Option<(&Box, &[usize])>) -> CellMap {
        let axes = self.axes.iter().zip(bounds).enumerate();
        let stretches: Vec<Vec<Stretch>> = axes
            .map(|(dimension, (axis, (low, high)))| {
                let origin = source.and_then(|(origin, _)| origin.get(dimension)).map(|(low, _)| *low);
                let distance =
                    |ordinal: u64, origin| to_usize(ordinal.wrapping_sub(origin)).unwrap_or(usize::MAX);
                let runs = axis.within(*low, *high);
                runs.map(|run| {
                    (origin.map_or(run.at, |origin| distance(run.low, origin)), run.at, run.count())
                })
                .collect()
            })
            .collect();
        CellMap::new(&stretches, source.map_or(&self.strides, |(_, strides)| strides), &self.strides)
    }
}
