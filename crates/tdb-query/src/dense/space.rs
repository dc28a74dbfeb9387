//! The space of a dense query: its box, its tiles, and the regions that jobs own.

use tdb_codec::{Layout, to_u64, to_usize};
use tdb_schema::Dimension;

use super::arrange::Arrangement;
use super::axis::Axis;
use super::boxes::{Box, covers};
use super::cell_map::{CellMap, Stretch};
use super::chunk_rows::ChunkRows;
use crate::grid::strides;
use crate::plan::Plan;
use crate::{OrInternal, QueryError, Result};

/// The order of a dense result. Unordered means the cheapest order: that of the cells in their
/// tiles.
pub(crate) fn dense_order(plan: &Plan) -> Layout {
    match (plan.order, plan.array.schema().cell_order) {
        (Layout::Unordered | Layout::Hilbert, Layout::ColMajor) => Layout::ColMajor,
        (Layout::Unordered | Layout::Hilbert, _) => Layout::RowMajor,
        (order, _) => order,
    }
}

/// A query's cells and the array's tiling.
#[derive(Debug)]
pub(crate) struct Space {
    dimensions: Vec<Dimension>,
    /// The cells asked for, each once.
    axes: Vec<Axis>,
    /// The smallest box that contains them.
    query: Box,
    counts: Vec<usize>,
    /// Where cells go if ranges were asked for out of order or more than once.
    arrangement: Option<Arrangement>,
    cells: usize,
    /// Cells of a space tile along each dimension; `None` if one tile spans the whole dimension.
    extents: Vec<Option<u64>>,
    /// Distance between neighbouring cells of a tile along each dimension.
    pub(crate) tile_strides: Vec<usize>,
    /// Cells of a tile along each dimension.
    pub(crate) tile_counts: Vec<usize>,
    /// Cells of a tile.
    pub(crate) tile_cells: usize,
    pub(crate) tile_order: Layout,
    pub(crate) cell_order: Layout,
    /// Order of the result.
    pub(crate) order: Layout,
}

/// A part of the query whose cells are contiguous in the result: what one job owns.
#[derive(Clone, Debug)]
pub(crate) struct Region {
    axes: Vec<Axis>,
    /// The smallest box that contains its cells.
    pub(crate) bounds: Box,
    cells: usize,
    /// Distance in the region between neighbours along each dimension.
    pub(crate) strides: Vec<usize>,
}

impl Region {
    fn new(axes: Vec<Axis>, order: Layout) -> Option<Self> {
        let bounds = axes.iter().map(Axis::bounds).collect::<Option<_>>()?;
        let counts: Vec<usize> = axes.iter().map(Axis::count).collect();
        let strides = strides(&counts, order)?;
        let cells = counts.iter().try_fold(1usize, |product, count| product.checked_mul(*count))?;
        Some(Self { axes, bounds, cells, strides })
    }

    /// The cells of axes that are inside a box.
    fn within(axes: &[Axis], bounds: &[(u64, u64)], order: Layout) -> Option<Self> {
        let part = |(axis, (low, high)): (&Axis, &(u64, u64))| {
            let mut part = Axis::default();
            axis.within(*low, *high).try_for_each(|run| part.push(run.low, run.high))?;
            Some(part)
        };
        Self::new(axes.iter().zip(bounds).map(part).collect::<Option<_>>()?, order)
    }

    /// The part of the region that is inside a box, in the given order.
    pub(crate) fn part(&self, bounds: &[(u64, u64)], order: Layout) -> Option<Self> {
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

    /// Number of cells.
    pub(crate) const fn cells(&self) -> usize {
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

impl Space {
    pub(crate) fn new(plan: &Plan) -> Result<Self> {
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

    /// The dimensions.
    pub(crate) fn dimensions(&self) -> &[Dimension] {
        &self.dimensions
    }

    /// Number of cells to read.
    pub(crate) const fn cells(&self) -> usize {
        self.cells
    }

    /// How the cells must be rearranged after they were read, if at all.
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
    pub(crate) fn has_all(&self, bounds: &[(u64, u64)]) -> bool {
        covers(&self.query, bounds) && self.axes.iter().all(|axis| axis.runs().len() <= 1)
    }

    /// The smallest box that contains all cells.
    pub(crate) fn query(&self) -> &[(u64, u64)] {
        &self.query
    }

    /// Bytes of a column with cells of `size` bytes.
    pub(crate) fn bytes(&self, size: usize) -> Result<usize> {
        let bytes = self.cells.checked_mul(size).filter(|bytes| *bytes < isize::MAX.unsigned_abs());
        Ok(bytes.ok_or(QueryError::TooLarge { cells: u128::from(to_u64(self.cells)) })?)
    }

    /// Runs a function on the bytes of the coordinate of each of a region's cells in one dimension.
    pub(crate) fn coordinates(
        &self,
        region: &Region,
        dimension: usize,
        mut take: impl FnMut(&[u8]),
    ) -> Result<()> {
        const NO_DIMENSION: &str = "a region lacks a dimension";
        let of = self.dimensions.get(dimension).or_internal(NO_DIMENSION)?;
        let axis = region.axis(dimension).or_internal(NO_DIMENSION)?;
        let stride = region.strides.get(dimension).copied().or_internal(NO_DIMENSION)?.max(1);
        let mut along = Vec::with_capacity(axis.count());
        for ordinal in axis.runs().iter().flat_map(|run| run.low..=run.high) {
            along.push(of.coordinate(ordinal).or_internal("an ordinal has no coordinate")?);
        }
        // The region repeats each coordinate for the cells of the dimensions behind, and all of
        // them for those before.
        let repeated = along.iter().flat_map(|value| core::iter::repeat_n(value, stride)).cycle();
        repeated.take(region.cells()).for_each(|value| take(value));
        Ok(())
    }

    /// The index of the space tile that contains an ordinal of a dimension.
    pub(crate) fn tile_index(&self, dimension: usize, ordinal: u64) -> u64 {
        let extent = self.extents.get(dimension).copied().flatten();
        extent.and_then(|extent| ordinal.checked_div(extent)).unwrap_or(0)
    }

    /// First and last ordinal of a space tile along a dimension. The last may be outside the
    /// domain.
    fn tile_span(&self, dimension: usize, index: u64) -> (u64, u64) {
        match self.extents.get(dimension).copied().flatten() {
            Some(extent) => {
                let low = index.saturating_mul(extent);
                (low, low.saturating_add(extent.saturating_sub(1)))
            }
            None => (0, u64::MAX),
        }
    }

    /// The box of a space tile.
    pub(crate) fn tile_box(&self, index: &[u64]) -> Box {
        index.iter().enumerate().map(|(dimension, index)| self.tile_span(dimension, *index)).collect()
    }

    /// Calls `visit` for every space tile that has cells of a region, in tile order: with its
    /// index, its box, and the smallest box that contains those cells.
    pub(crate) fn for_each_tile<E>(
        &self,
        region: &Region,
        mut visit: impl FnMut(&[u64], &Box, Box) -> Result<(), E>,
    ) -> Result<(), E> {
        self.for_each_tile_of(&region.axes, |index, bounds| visit(index, &self.tile_box(index), bounds))
    }

    fn for_each_tile_of<E>(
        &self,
        axes: &[Axis],
        mut visit: impl FnMut(&[u64], Box) -> Result<(), E>,
    ) -> Result<(), E> {
        let steps: Vec<Vec<TileStep>> =
            axes.iter().enumerate().map(|(dimension, axis)| self.tile_steps(dimension, axis)).collect();
        let mut at = vec![0usize; steps.len()];
        let mut fast_first: Vec<usize> = (0..steps.len()).collect();
        if self.tile_order != Layout::ColMajor {
            fast_first.reverse();
        }
        loop {
            let here = steps.iter().zip(&at).map(|(steps, at)| steps.get(*at).copied());
            let Some(here) = here.collect::<Option<Vec<TileStep>>>() else { return Ok(()) };
            let index: Vec<u64> = here.iter().map(|step| step.index).collect();
            visit(&index, here.iter().map(|step| step.span).collect())?;
            let mut done = true;
            for dimension in &fast_first {
                let (Some(slot), Some(steps)) = (at.get_mut(*dimension), steps.get(*dimension)) else {
                    continue;
                };
                *slot = slot.saturating_add(1);
                if *slot < steps.len() {
                    done = false;
                    break;
                }
                *slot = 0;
            }
            if done {
                return Ok(());
            }
        }
    }

    /// The space tiles that an axis touches, and the part of each that the axis needs. There are at
    /// most as many as ordinals.
    fn tile_steps(&self, dimension: usize, axis: &Axis) -> Vec<TileStep> {
        let mut steps: Vec<TileStep> = Vec::new();
        for run in axis.runs() {
            let mut low = run.low;
            loop {
                let index = self.tile_index(dimension, low);
                let high = self.tile_span(dimension, index).1.min(run.high);
                match steps.last_mut() {
                    Some(last) if last.index == index => last.span.1 = high,
                    _ => steps.push(TileStep { index, span: (low, high) }),
                }
                match high.checked_add(1) {
                    Some(next) if high < run.high => low = next,
                    _ => break,
                }
            }
        }
        steps
    }

    /// The dimension along which the query is cut: the slowest of the result, of those with more
    /// than one cell.
    pub(super) fn slowest(&self) -> usize {
        let long = |dimension: &usize| self.axes.get(*dimension).is_some_and(|axis| axis.count() > 1);
        let mut dimensions = 0..self.axes.len();
        let found =
            if self.order == Layout::ColMajor { dimensions.rfind(long) } else { dimensions.find(long) };
        found.unwrap_or(0)
    }

    /// Whether all cells are in one space tile.
    pub(super) fn is_in_one_tile(&self) -> bool {
        let same = |(dimension, (low, high)): (usize, &(u64, u64))| {
            self.tile_index(dimension, *low) == self.tile_index(dimension, *high)
        };
        self.query.iter().enumerate().all(same)
    }

    /// The number of cells from the first to the last one of a box that lies in a tile.
    pub(super) fn span(&self, bounds: &[(u64, u64)]) -> usize {
        let along = |((low, high), stride): (&(u64, u64), &usize)| {
            to_usize(high.saturating_sub(*low)).unwrap_or(usize::MAX).saturating_mul(*stride)
        };
        bounds.iter().zip(&self.tile_strides).map(along).fold(1, usize::saturating_add).min(self.tile_cells)
    }

    /// The regions of the query that are not cut finer than tiles or rows of them.
    pub(crate) fn rows(&self) -> Vec<Region> {
        self.regions(1, ChunkRows::default())
    }

    /// Cuts the query into regions, in result order. In global order each tile is one; otherwise
    /// each row of tiles along the result's slowest dimension is, cut further where there are too
    /// few rows for the threads.
    ///
    /// A further cut lies between chunks, as far as `chunks` tells where these end.
    pub(crate) fn regions(&self, threads: usize, chunks: ChunkRows) -> Vec<Region> {
        if self.order == Layout::GlobalOrder {
            let mut regions = Vec::new();
            let all: Result<(), ()> = self.for_each_tile_of(&self.axes, |_, bounds| {
                regions.extend(Region::within(&self.axes, &bounds, self.cell_order));
                Ok(())
            });
            debug_assert!(all.is_ok());
            return regions;
        }
        let slow = self.slowest();
        let Some(axis) = self.axes.get(slow) else { return Vec::new() };
        let mut parts = self.tile_rows(slow, axis);
        // If tiles are stored in the result's order, a cut along the slowest dimension costs
        // nothing: each part decodes its own chunks.
        let same_order = self.cell_order == self.order || self.axes.len() == 1;
        let wanted = threads.saturating_mul(2);
        if threads > 1 && parts.len() < wanted && self.cells > SMALL && same_order {
            let each = wanted.div_ceil(parts.len().max(1));
            parts = parts.into_iter().flat_map(|part| self.cut(slow, &part, each, chunks)).collect();
        }
        let region = |part| {
            let mut axes = self.axes.clone();
            *axes.get_mut(slow)? = part;
            Region::new(axes, self.order)
        };
        parts.into_iter().filter_map(region).collect()
    }

    /// Cuts a part of an axis in at most so many pieces. Where the part is one run, they end with a
    /// chunk of its tile.
    fn cut(&self, dimension: usize, part: &Axis, pieces: usize, ChunkRows(rows): ChunkRows) -> Vec<Axis> {
        let (count, rows) = (part.count(), rows.max(1));
        let step = count.div_ceil(pieces.max(1)).max(1);
        // How far into its tile it begins.
        let before = match part.runs() {
            [run] => {
                let tile = self.tile_index(dimension, run.low);
                to_usize(run.low.saturating_sub(self.tile_span(dimension, tile).0))
            }
            _ => None,
        };
        let mut slices = Vec::new();
        let mut from = 0usize;
        while from < count {
            let even = from.saturating_add(step);
            let end = before.map_or(even, |before| {
                before.saturating_add(even).div_ceil(rows).saturating_mul(rows).saturating_sub(before)
            });
            slices.extend(part.slice(from, end.min(count)));
            from = end;
        }
        slices
    }

    /// Cuts an axis at the borders of rows of tiles or, if there are many rows, of groups of rows:
    /// painting loops over the tiles of a region, so several rows of tiles may share one.
    fn tile_rows(&self, dimension: usize, axis: &Axis) -> Vec<Axis> {
        let rows = |(low, high): (u64, u64)| {
            let (first, last) = (self.tile_index(dimension, low), self.tile_index(dimension, high));
            last.saturating_sub(first).saturating_add(1)
        };
        let all = axis.runs().iter().map(|run| rows((run.low, run.high))).fold(0, u64::saturating_add);
        let max = (all / MOST_REGIONS).saturating_add(1);
        let mut parts = Vec::new();
        let (mut part, mut taken, mut last) = (Axis::default(), 0u64, None);
        for run in axis.runs() {
            let mut low = run.low;
            loop {
                let row = self.tile_index(dimension, low);
                if last != Some(row) && taken >= max {
                    parts.push(core::mem::take(&mut part));
                    taken = 0;
                }
                if last != Some(row) || taken == 0 {
                    taken = taken.saturating_add(1);
                }
                let end = row.saturating_add(max.saturating_sub(taken));
                let high = self.tile_span(dimension, end).1.min(run.high);
                taken = taken.saturating_add(rows((low, high)).saturating_sub(1));
                last = Some(self.tile_index(dimension, high));
                if part.push(low, high).is_none() {
                    return parts;
                }
                match high.checked_add(1) {
                    Some(next) if high < run.high => low = next,
                    _ => break,
                }
            }
        }
        if part.count() > 0 {
            parts.push(part);
        }
        parts
    }
}

/// A space tile along one dimension, and the smallest span of ordinals that contains the part
/// needed of it.
#[derive(Clone, Copy, Debug)]
struct TileStep {
    index: u64,
    span: (u64, u64),
}

/// About the largest number of regions that a query is cut into: each costs some memory.
const MOST_REGIONS: u64 = 1 << 16;

/// A query with fewer cells is not cut finer than tiles: a thread that has just begun may have to
/// wait longer for a processor than the rest of the query takes.
const SMALL: usize = 1 << 16;
