//! Cuts a dense query into regions, which jobs read side by side.

use tdb_codec::{Layout, to_usize};

use super::axis::Axis;
use super::chunk_rows::ChunkRows;
use super::region::Region;
use super::space::Space;
use crate::{Error, OrInternal, Result};

/// About the largest number of regions that a query is cut into: each costs some memory.
const MAX_REGIONS: u64 = 1 << 16;

/// A query with fewer cells is not cut finer than tiles: a thread that has just begun may have to
/// wait longer for a processor than the rest of the query takes.
const MIN_CELLS_TO_CUT_TILES: usize = 1 << 16;

/// A part of an axis that the axis does not have.
const OUTSIDE: &str = "a part of an axis lies outside it";

impl Space {
    /// The dimension along which the query is cut: the slowest of the result, of those with more
    /// than one cell.
    pub(super) fn slowest(&self) -> usize {
        let long = |dimension: &usize| self.axes().get(*dimension).is_some_and(|axis| axis.count() > 1);
        let mut dimensions = 0..self.axes().len();
        let found =
            if self.order == Layout::ColMajor { dimensions.rfind(long) } else { dimensions.find(long) };
        found.unwrap_or(0)
    }

    /// The regions of the query that are not cut finer than tiles or rows of them.
    pub fn rows(&self) -> Result<Vec<Region>> {
        self.regions(1, ChunkRows::default())
    }

    /// Cuts the query into regions, in result order. In global order each tile is one; otherwise
    /// each row of tiles along the result's slowest dimension is, cut further where there are too
    /// few rows for the threads.
    ///
    /// A further cut lies between chunks, as far as `chunks` tells where these end.
    pub(crate) fn regions(&self, threads: usize, chunks: ChunkRows) -> Result<Vec<Region>> {
        if self.cells() == 0 {
            return Ok(Vec::new());
        }
        if self.order == Layout::GlobalOrder {
            let mut regions = Vec::new();
            self.for_each_tile_of(self.axes(), |_, bounds| {
                regions.push(Region::within(self.axes(), &bounds, self.cell_order)?);
                Ok::<_, Error>(())
            })?;
            return Ok(regions);
        }
        let slow = self.slowest();
        let axis = self.axes().get(slow).or_internal("a query has no dimension")?;
        let mut parts = self.tile_rows(slow, axis)?;
        // If tiles are stored in the result's order, a cut along the slowest dimension costs
        // nothing: each part decodes its own chunks.
        let same_order = self.cell_order == self.order || self.axes().len() == 1;
        let wanted = threads.saturating_mul(2);
        if threads > 1 && parts.len() < wanted && self.cells() > MIN_CELLS_TO_CUT_TILES && same_order {
            let each = wanted.div_ceil(parts.len().max(1));
            let cut = parts.iter().map(|part| self.cut(slow, part, each, chunks));
            parts = cut.collect::<Result<Vec<_>>>()?.concat();
        }
        let region = |part| {
            let mut axes = self.axes().to_vec();
            *axes.get_mut(slow).or_internal("a region lacks a dimension")? = part;
            Region::new(axes, self.order)
        };
        parts.into_iter().map(region).collect()
    }

    /// Cuts a part of an axis in at most so many pieces. Where the part is one run, they end with a
    /// chunk of its tile.
    fn cut(
        &self,
        dimension: usize,
        part: &Axis,
        pieces: usize,
        ChunkRows(rows): ChunkRows,
    ) -> Result<Vec<Axis>> {
        let (count, rows) = (part.count(), rows.max(1));
        let step = count.div_ceil(pieces.max(1)).max(1);
        // The distance of its first ordinal from the start of the tile.
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
            slices.push(part.slice(from, end.min(count)).or_internal(OUTSIDE)?);
            from = end;
        }
        Ok(slices)
    }

    /// Cuts an axis at the borders of rows of tiles or, if there are many rows, of groups of rows:
    /// painting loops over the tiles of a region, so several rows of tiles may share one.
    fn tile_rows(&self, dimension: usize, axis: &Axis) -> Result<Vec<Axis>> {
        let rows = |(low, high): (u64, u64)| {
            let (first, last) = (self.tile_index(dimension, low), self.tile_index(dimension, high));
            last.saturating_sub(first).saturating_add(1)
        };
        let all = axis.runs().iter().map(|run| rows((run.low, run.high))).fold(0, u64::saturating_add);
        let max = (all / MAX_REGIONS).saturating_add(1);
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
                part.push(low, high).or_internal(OUTSIDE)?;
                match high.checked_add(1) {
                    Some(next) if high < run.high => low = next,
                    _ => break,
                }
            }
        }
        if part.count() > 0 {
            parts.push(part);
        }
        Ok(parts)
    }
}
