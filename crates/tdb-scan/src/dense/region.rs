//! A region of a dense query: the cells that one job reads.

use tdb_codec::Layout;

use super::axis::{Axis, OrdinalRun};
use super::boxes::Box;
use crate::buffers::split_exactly;
use crate::grid::strides;
use crate::{OrInternal, Result};

/// A region has more cells than the result that it is a part of.
const TOO_LARGE: &str = "a region has more cells than can be counted";

/// A mask has fewer flags than the result has cells.
const SHORT_MASK: &str = "a mask lacks flags of some cells";

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
}

/// One piece of the validity bytes for each region, if there are any.
pub(super) fn split_validity<'v>(
    validity: &'v mut Option<Vec<u8>>,
    regions: &[Region],
) -> Result<Vec<Option<&'v mut [u8]>>> {
    let Some(validity) = validity else { return Ok(regions.iter().map(|_| None).collect()) };
    let pieces = split_exactly(validity, regions.iter().map(Region::cells))?;
    Ok(pieces.into_iter().map(Some).collect())
}

/// The part of the mask for each region, if there is a mask.
pub(super) fn split_wanted<'w>(
    wanted: Option<&'w [u8]>,
    regions: &[Region],
) -> Result<Vec<Option<&'w [u8]>>> {
    let Some(mut wanted) = wanted else { return Ok(vec![None; regions.len()]) };
    let take = |region: &Region| wanted.split_off(..region.cells()).or_internal(SHORT_MASK).map(Some);
    regions.iter().map(take).collect()
}
