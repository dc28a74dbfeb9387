//! The cells that a dense query asks for, and how the array divides them into tiles.

use tdb_codec::{Layout, to_u64, to_usize};
use tdb_schema::Dimension;

use super::arrange::Arrangement;
use super::axis::Axis;
use super::boxes::{Box, covers};
use crate::grid::strides;
use crate::plan::Plan;
use crate::{QueryError, Result};

/// The order of a dense result. Unordered means the cheapest order: that of the cells in their
/// tiles.
pub fn dense_order(plan: &Plan) -> Layout {
    match (plan.order, plan.array.schema().cell_order) {
        (Layout::Unordered | Layout::Hilbert, Layout::ColMajor) => Layout::ColMajor,
        (Layout::Unordered | Layout::Hilbert, _) => Layout::RowMajor,
        (order, _) => order,
    }
}

/// A query's cells and the array's tiling.
#[derive(Debug)]
pub struct Space {
    dimensions: Vec<Dimension>,
    /// The cells asked for, each once.
    axes: Vec<Axis>,
    /// The smallest box that contains them.
    query: Box,
    counts: Vec<usize>,
    /// The places of the cells if ranges were asked for out of order or more than once.
    arrangement: Option<Arrangement>,
    cells: usize,
    /// Cells of a space tile along each dimension; `None` if one tile spans the whole dimension.
    extents: Vec<Option<u64>>,
    /// Distance between neighbouring cells of a tile along each dimension.
    pub(crate) tile_strides: Vec<usize>,
    /// Cells of a tile along each dimension.
    pub(crate) tile_counts: Vec<usize>,
    /// Cells of a tile.
    pub tile_cells: usize,
    pub(crate) tile_order: Layout,
    pub(crate) cell_order: Layout,
    /// Order of the result.
    pub(crate) order: Layout,
}

impl Space {
    /// The space of a query: its axes, and the tiles that they touch.
    pub fn new(plan: &Plan) -> Result<Self> {
        let schema = plan.array.schema();
        let dimensions = schema.domain.dimensions.clone();
        let asked = plan.ranges.iter().zip(&dimensions).map(|(set, dimension)| {
            let (name, datatype) = (dimension.name.clone(), dimension.datatype.name());
            set.ordinals(dimension).ok_or(QueryError::RangeType { dimension: name, datatype })
        });
        let asked: Vec<Vec<(u64, u64)>> = asked.collect::<Result<_, _>>()?;
        let too_large = || {
            let count = |(low, high): &(u64, u64)| u128::from(high.saturating_sub(*low)).saturating_add(1);
            let sum = |intervals: &Vec<_>| intervals.iter().map(count).fold(0, u128::saturating_add);
            QueryError::TooLarge { cells: asked.iter().map(sum).fold(1, u128::saturating_mul) }
        };
        let axes: Option<Vec<Axis>> = asked.iter().map(|asked| Axis::merged(asked.clone())).collect();
        let axes = axes.ok_or_else(too_large)?;
        let counts: Vec<usize> = axes.iter().map(Axis::count).collect();
        // Without cells there is no box. Any box will do, because nothing is read.
        let query: Box = axes.iter().map(|axis| axis.bounds().unwrap_or((0, 0))).collect();
        let cells = counts
            .iter()
            .try_fold(1usize, |product, count| product.checked_mul(*count))
            .filter(|cells| *cells < isize::MAX.unsigned_abs())
            .ok_or_else(too_large)?;
        let extents: Vec<Option<u64>> = dimensions.iter().map(Dimension::extent_cells).collect();
        let tile_counts = dimensions
            .iter()
            .zip(&extents)
            .map(|(dimension, extent)| {
                let cells = extent.or_else(|| dimension.last_ordinal()?.checked_add(1));
                cells.and_then(to_usize)
            })
            .collect::<Option<Vec<usize>>>()
            .ok_or_else(too_large)?;
        let tile_strides = strides(&tile_counts, schema.cell_order).ok_or_else(too_large)?;
        let tile_cells = tile_counts
            .iter()
            .try_fold(1usize, |product, count| product.checked_mul(*count))
            .ok_or_else(too_large)?;
        let order = dense_order(plan);
        let (tile_order, cell_order) = (schema.tile_order, schema.cell_order);
        let arrangement = match order {
            Layout::GlobalOrder => None,
            order => Arrangement::new(&asked, &axes, order)?,
        };
        Ok(Self {
            dimensions,
            axes,
            query,
            counts,
            arrangement,
            cells,
            extents,
            tile_strides,
            tile_counts,
            tile_cells,
            tile_order,
            cell_order,
            order,
        })
    }

    /// The cells asked for along each dimension, each once.
    pub(super) fn axes(&self) -> &[Axis] {
        &self.axes
    }

    /// Cells of a space tile along a dimension; `None` if one tile spans the whole dimension.
    pub(super) fn extent(&self, dimension: usize) -> Option<u64> {
        self.extents.get(dimension).copied().flatten()
    }

    /// The dimensions.
    pub fn dimensions(&self) -> &[Dimension] {
        &self.dimensions
    }

    /// Number of cells to read.
    pub const fn cells(&self) -> usize {
        self.cells
    }

    /// Returns how the cells must be rearranged after they were read, if at all.
    pub(crate) const fn arrangement(&self) -> Option<&Arrangement> {
        self.arrangement.as_ref()
    }

    /// Number of cells of the result, and their number along each dimension.
    pub(crate) fn result(&self) -> (usize, &[usize]) {
        match &self.arrangement {
            Some(arrangement) => (arrangement.cells(), arrangement.counts()),
            None => (self.cells, &self.counts),
        }
    }

    /// Whether all cells of a box are asked for.
    pub fn has_all(&self, bounds: &[(u64, u64)]) -> bool {
        covers(&self.query, bounds) && self.axes.iter().all(|axis| axis.runs().len() <= 1)
    }

    /// The smallest box that contains all cells.
    pub fn query(&self) -> &[(u64, u64)] {
        &self.query
    }

    /// Bytes of a column with cells of `size` bytes.
    pub(crate) fn bytes(&self, size: usize) -> Result<usize> {
        let bytes = self.cells.checked_mul(size).filter(|bytes| *bytes < isize::MAX.unsigned_abs());
        Ok(bytes.ok_or(QueryError::TooLarge { cells: u128::from(to_u64(self.cells)) })?)
    }
}
