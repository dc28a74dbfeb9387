//! The space of a dense query: its box, its tiles, and the regions that jobs own.

use tdb_codec::{Layout, to_u64, to_usize};
use tdb_schema::{Dimension, Range};

use crate::coordinate::Ends;
use crate::grid::strides;
use crate::query::Plan;
use crate::{QueryError, Result};

/// A box of cells as inclusive ordinals, one pair a dimension: distances from the domain's low end.
pub(crate) type Box = Vec<(u64, u64)>;

/// The part two boxes share.
pub(crate) fn intersect(a: &[(u64, u64)], b: &[(u64, u64)]) -> Option<Box> {
    a.iter()
        .zip(b)
        .map(|(a, b)| {
            let (low, high) = (a.0.max(b.0), a.1.min(b.1));
            (low <= high).then_some((low, high))
        })
        .collect()
}

/// Whether `outer` holds all of `inner`.
pub(crate) fn covers(outer: &[(u64, u64)], inner: &[(u64, u64)]) -> bool {
    outer.iter().zip(inner).all(|(outer, inner)| outer.0 <= inner.0 && inner.1 <= outer.1)
}

/// A query's box and the array's tiling.
#[derive(Debug)]
pub(crate) struct Space {
    dimensions: Vec<Dimension>,
    /// The cells asked for.
    query: Box,
    counts: Vec<usize>,
    cells: usize,
    /// Cells of a space tile along each dimension; `None` where one tile spans it all.
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

/// A box of the query whose cells are contiguous in the result: what one job owns.
#[derive(Clone, Debug)]
pub(crate) struct Region {
    pub(crate) bounds: Box,
    cells: usize,
    /// Distance in the region between neighbours along each dimension.
    pub(crate) strides: Vec<usize>,
}

impl Region {
    pub(crate) fn new(bounds: Box, order: Layout) -> Option<Self> {
        let counts = counts_of(&bounds)?;
        let strides = strides(&counts, order)?;
        let cells = counts.iter().try_fold(1usize, |product, count| product.checked_mul(*count))?;
        Some(Self { bounds, cells, strides })
    }

    /// Number of cells.
    pub(crate) const fn cells(&self) -> usize {
        self.cells
    }

    /// First and last ordinal along a dimension.
    pub(crate) fn range(&self, dimension: usize) -> Option<(u64, u64)> {
        self.bounds.get(dimension).copied()
    }

    /// Cells along each dimension.
    pub(crate) fn counts(&self) -> Vec<usize> {
        counts_of(&self.bounds).unwrap_or_default()
    }

    /// Number of the cell at these ordinals.
    pub(crate) fn position(&self, ordinals: impl Iterator<Item = u64>) -> usize {
        position(&self.bounds, &self.strides, ordinals)
    }
}

/// Cells of a box along each dimension, if they fit.
pub(crate) fn counts_of(bounds: &[(u64, u64)]) -> Option<Vec<usize>> {
    bounds.iter().map(|(low, high)| to_usize(high.checked_sub(*low)?.checked_add(1)?)).collect()
}

/// Number of a cell in a box of these strides.
pub(crate) fn position(
    bounds: &[(u64, u64)],
    strides: &[usize],
    ordinals: impl Iterator<Item = u64>,
) -> usize {
    bounds.iter().zip(strides).zip(ordinals).fold(0usize, |sum, (((low, _), stride), ordinal)| {
        let distance = to_usize(ordinal.wrapping_sub(*low)).unwrap_or(usize::MAX);
        sum.wrapping_add(distance.wrapping_mul(*stride))
    })
}

impl Space {
    pub(crate) fn new(plan: &Plan<'_>) -> Result<Self> {
        let schema = plan.array.schema();
        let dimensions = schema.domain.dimensions.clone();
        let mut query = Vec::with_capacity(dimensions.len());
        for (dimension, ends) in dimensions.iter().zip(&plan.ranges) {
            query.push(ordinals(dimension, ends)?);
        }
        let too_large = || {
            let cells = query.iter().fold(1u128, |product, (low, high)| {
                product.saturating_mul(u128::from(high.saturating_sub(*low)).saturating_add(1))
            });
            QueryError::TooLarge { cells }
        };
        let counts = counts_of(&query).ok_or_else(too_large)?;
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
        // Unordered means whatever is cheapest: the order cells have in their tiles.
        let order = match (plan.order, schema.cell_order) {
            (Layout::Unordered | Layout::Hilbert, Layout::ColMajor) => Layout::ColMajor,
            (Layout::Unordered | Layout::Hilbert, _) => Layout::RowMajor,
            (order, _) => order,
        };
        let (tile_order, cell_order) = (schema.tile_order, schema.cell_order);
        Ok(Self {
            dimensions,
            query,
            counts,
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

    /// Number of cells asked for.
    pub(crate) const fn cells(&self) -> usize {
        self.cells
    }

    /// Cells asked for along each dimension.
    pub(crate) fn counts(&self) -> &[usize] {
        &self.counts
    }

    /// The box asked for.
    pub(crate) fn query(&self) -> &[(u64, u64)] {
        &self.query
    }

    /// Bytes of a column with cells of `size` bytes.
    pub(crate) fn bytes(&self, size: usize) -> Result<usize> {
        let bytes = self.cells.checked_mul(size).filter(|bytes| *bytes < isize::MAX.unsigned_abs());
        Ok(bytes.ok_or(QueryError::TooLarge { cells: u128::from(to_u64(self.cells)) })?)
    }

    /// The coordinate at an ordinal of a dimension, as bytes.
    pub(crate) fn coordinate(&self, dimension: usize, ordinal: u64) -> Vec<u8> {
        self.dimensions.get(dimension).and_then(|dimension| dimension.coordinate(ordinal)).unwrap_or_default()
    }

    /// The index of the space tile that holds an ordinal of a dimension.
    pub(crate) fn tile_index(&self, dimension: usize, ordinal: u64) -> u64 {
        let extent = self.extents.get(dimension).copied().flatten();
        extent.and_then(|extent| ordinal.checked_div(extent)).unwrap_or(0)
    }

    /// First and last ordinal of a space tile along a dimension. The last may lie outside the domain.
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

    /// Calls `visit` with the index of every space tile a box touches, in tile order.
    pub(crate) fn for_each_tile<E>(
        &self,
        bounds: &[(u64, u64)],
        mut visit: impl FnMut(&[u64]) -> Result<(), E>,
    ) -> Result<(), E> {
        let spans: Vec<(u64, u64)> = bounds
            .iter()
            .enumerate()
            .map(|(dimension, (low, high))| {
                (self.tile_index(dimension, *low), self.tile_index(dimension, *high))
            })
            .collect();
        let mut index: Vec<u64> = spans.iter().map(|span| span.0).collect();
        let mut fast_first: Vec<usize> = (0..spans.len()).collect();
        if self.tile_order != Layout::ColMajor {
            fast_first.reverse();
        }
        loop {
            visit(&index)?;
            let mut done = true;
            for dimension in &fast_first {
                let (Some(slot), Some((low, high))) = (index.get_mut(*dimension), spans.get(*dimension))
                else {
                    continue;
                };
                if *slot < *high {
                    *slot = slot.saturating_add(1);
                    done = false;
                    break;
                }
                *slot = *low;
            }
            if done {
                return Ok(());
            }
        }
    }

    /// Cuts the query into regions, in result order. In global order each tile is one; otherwise each row of tiles
    /// along the result's slowest dimension is, cut further where there are too few rows for the threads.
    pub(crate) fn regions(&self, threads: usize) -> Vec<Region> {
        if self.order == Layout::GlobalOrder {
            let mut regions = Vec::new();
            let all: Result<(), ()> = self.for_each_tile(&self.query, |index| {
                let shared = intersect(&self.tile_box(index), &self.query);
                regions.extend(shared.and_then(|bounds| Region::new(bounds, self.cell_order)));
                Ok(())
            });
            debug_assert!(all.is_ok());
            return regions;
        }
        let slow = if self.order == Layout::ColMajor { self.query.len().saturating_sub(1) } else { 0 };
        let Some((low, high)) = self.query.get(slow).copied() else { return Vec::new() };
        let mut spans = Vec::new();
        // Painting loops over the tiles of a region, so several rows of tiles may share one.
        let (mut index, end) = (self.tile_index(slow, low), self.tile_index(slow, high));
        let more = end.saturating_sub(index) / MOST_REGIONS;
        loop {
            let last = end.min(index.saturating_add(more));
            spans.push((self.tile_span(slow, index).0.max(low), self.tile_span(slow, last).1.min(high)));
            if last >= end {
                break;
            }
            index = last.saturating_add(1);
        }
        // Where tiles are stored in the result's order, a cut along the slowest dimension costs nothing: each
        // part decodes its own chunks.
        let wanted = threads.saturating_mul(2);
        let same_order = self.cell_order == self.order || self.query.len() == 1;
        if threads > 1 && spans.len() < wanted && self.cells > SMALL && same_order {
            let parts = to_u64(wanted.div_ceil(spans.len().max(1)));
            let cut = |(first, last): (u64, u64)| {
                let step = (last - first).checked_div(parts).unwrap_or(0).saturating_add(1);
                (0..parts).filter_map(move |part| {
                    let start = first.checked_add(part.checked_mul(step)?)?;
                    (start <= last).then(|| (start, last.min(start.saturating_add(step - 1))))
                })
            };
            spans = spans.into_iter().flat_map(cut).collect();
        }
        let region = |span| {
            let mut bounds = self.query.clone();
            *bounds.get_mut(slow)? = span;
            Region::new(bounds, self.order)
        };
        spans.into_iter().filter_map(region).collect()
    }
}

/// Most regions a query is cut into, about: each costs some memory of its own.
const MOST_REGIONS: u64 = 1 << 16;

/// Queries of fewer cells are not worth cutting finer than tiles.
const SMALL: usize = 1 << 16;

/// A range of an integral dimension as ordinals.
fn ordinals(dimension: &Dimension, ends: &Ends) -> Result<(u64, u64), QueryError> {
    let wrong =
        || QueryError::RangeType { dimension: dimension.name.clone(), datatype: dimension.datatype.name() };
    let end = |end: &Option<Vec<u8>>, open: u64| match end {
        Some(value) => dimension.ordinal(value).ok_or_else(wrong),
        None => Ok(open),
    };
    Ok((end(&ends.low, 0)?, end(&ends.high, dimension.last_ordinal().ok_or_else(wrong)?)?))
}

/// A non-empty domain as a box.
pub(crate) fn domain_box(dimensions: &[Dimension], domain: &[Range]) -> Option<Box> {
    domain
        .iter()
        .zip(dimensions)
        .map(|(range, dimension)| Some((dimension.ordinal(&range.low)?, dimension.ordinal(&range.high)?)))
        .collect()
}
