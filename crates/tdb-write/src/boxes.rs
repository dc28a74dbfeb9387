//! Cuts a dense write into fragments of limited size. A fragment is a box whose tiles are stored in
//! tile order, so the write is cut between rows of tiles of the slowest dimension. Only a row that
//! is too large by itself is cut along the next dimension.

use core::iter::once;
use core::mem;
use core::ops::Range as Tiles;

use tdb_codec::{Layout, to_u64, to_usize};
use tdb_schema::{ArraySchema, Dimension, Range};

use crate::grid::Side;
use crate::tile::EncodedTile;
use crate::{OrInternal, QueryError, Result, WriteError};

/// One tile of every field.
type Row = Vec<EncodedTile>;

/// Cuts the tiles of a box into fragments.
#[derive(Debug)]
pub(super) struct BoxCutter {
    dimensions: Vec<Dimension>,
    sides: Vec<Side>,
    /// Indexes of the dimensions, the slowest first, and the number of the box's tiles along each.
    slowest_first: Vec<usize>,
    grid: Vec<usize>,
    /// The maximum number of bytes of tiles in a fragment.
    pub(super) limit: u64,
    /// Tiles of the incomplete slab. A slab consists of all tiles with one index along the slowest
    /// dimension.
    rows: Vec<Row>,
    /// Number of slabs written, and the first one of the fragment that is being written.
    slabs: usize,
    first: usize,
}

/// Consecutive tiles that form a box: their numbers in the slab, and their indexes along each
/// dimension.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TileGroup {
    pub(super) rows: Tiles<usize>,
    places: Vec<Tiles<usize>>,
}

impl BoxCutter {
    pub(super) fn new(schema: &ArraySchema, domain: &[Range], limit: u64) -> Result<Self> {
        let sides = crate::tile_grid::sides(schema, domain)?;
        let mut slowest_first: Vec<usize> = (0..sides.len()).collect();
        if schema.tile_order == Layout::ColMajor {
            slowest_first.reverse();
        }
        let tiles = slowest_first.iter().filter_map(|index| to_usize(sides.get(*index)?.tiles()));
        let grid: Vec<usize> = tiles.collect();
        if grid.len() != sides.len() {
            return Err(QueryError::TooLarge { cells: u128::MAX }.into());
        }
        let dimensions = schema.domain.dimensions.clone();
        Ok(Self { dimensions, sides, slowest_first, grid, limit, rows: Vec::new(), slabs: 0, first: 0 })
    }

    /// Takes a tile of every field; returns those of a slab once it is complete.
    pub(super) fn push(&mut self, row: Row) -> Option<Vec<Row>> {
        self.rows.push(row);
        let slab = self.inner().iter().fold(1usize, |tiles, count| tiles.saturating_mul(*count));
        (self.rows.len() >= slab).then(|| mem::take(&mut self.rows))
    }

    fn inner(&self) -> &[usize] {
        // A box of an array without dimensions would be a single tile.
        self.grid.split_first().map_or(&[], |(_, inner)| inner)
    }

    /// Lets the next slab begin a new fragment.
    pub(super) const fn restart(&mut self) {
        self.first = self.slabs;
    }

    /// Counts a slab as written.
    pub(super) const fn advance(&mut self) {
        self.slabs = self.slabs.saturating_add(1);
    }

    /// Cuts a slab of tiles with these sizes, in bytes.
    pub(super) fn cut(&self, sizes: &[u64]) -> Result<Vec<TileGroup>, WriteError> {
        cut(self.inner(), sizes, self.limit)
    }

    /// The area that the slabs since the last fragment cover.
    pub(super) fn covered(&self) -> Result<Vec<Range>> {
        let inner = self.inner().iter().map(|count| 0..*count);
        self.domain(&once(self.first..self.slabs).chain(inner).collect::<Vec<_>>())
    }

    /// The area that a group of tiles of the current slab covers.
    pub(super) fn covered_by(&self, group: &TileGroup) -> Result<Vec<Range>> {
        let slab = self.slabs..self.slabs.saturating_add(1);
        self.domain(&once(slab).chain(group.places.iter().cloned()).collect::<Vec<_>>())
    }

    /// The cells of the box in the tiles with these indexes along each dimension, the slowest
    /// first.
    fn domain(&self, places: &[Tiles<usize>]) -> Result<Vec<Range>> {
        let range = |index: usize| -> Option<Range> {
            let (side, dimension) = (self.sides.get(index)?, self.dimensions.get(index)?);
            let at = self.slowest_first.iter().position(|slowest| *slowest == index)?;
            let tiles = places.get(at)?;
            let (low, high) = side.cells_of(to_u64(tiles.start), to_u64(tiles.end));
            Some(Range::new(dimension.coordinate(low)?, dimension.coordinate(high)?))
        };
        let domain: Option<Vec<Range>> = (0..self.sides.len()).map(range).collect();
        domain.or_internal("tiles without a range of each dimension")
    }

    /// Whether a slab is incomplete.
    pub(super) fn is_within_slab(&self) -> bool {
        !self.rows.is_empty()
    }
}

/// Cuts the tiles of a grid (slowest dimension first) into boxes of at most `limit` bytes, as few
/// as a greedy cut can make.
fn cut(grid: &[usize], sizes: &[u64], limit: u64) -> Result<Vec<TileGroup>, WriteError> {
    let mut groups = Vec::new();
    add(grid, 0, sizes, limit, &[], &mut groups)?;
    Ok(groups)
}

fn add(
    grid: &[usize],
    start: usize,
    sizes: &[u64],
    limit: u64,
    above: &[Tiles<usize>],
    groups: &mut Vec<TileGroup>,
) -> Result<(), WriteError> {
    let Some((count, inner)) = grid.split_first() else {
        let bytes = sizes.iter().sum();
        return Err(WriteError::TileSize { bytes, limit });
    };
    let unit = sizes.len().checked_div(*count).unwrap_or(0).max(1);
    let end_group = |from: usize, to: usize, groups: &mut Vec<TileGroup>| {
        if from < to {
            let rows = start.saturating_add(from.saturating_mul(unit))
                ..start.saturating_add(to.saturating_mul(unit));
            let places =
                above.iter().cloned().chain(once(from..to)).chain(inner.iter().map(|count| 0..*count));
            groups.push(TileGroup { rows, places: places.collect() });
        }
    };
    let (mut first, mut bytes) = (0usize, 0u64);
    for (at, part) in sizes.chunks(unit).enumerate() {
        let size: u64 = part.iter().sum();
        if bytes.saturating_add(size) <= limit {
            bytes = bytes.saturating_add(size);
            continue;
        }
        end_group(first, at, groups);
        (first, bytes) = (at, size);
        if size > limit {
            let above: Vec<Tiles<usize>> =
                above.iter().cloned().chain(once(at..at.saturating_add(1))).collect();
            add(inner, start.saturating_add(at.saturating_mul(unit)), part, limit, &above, groups)?;
            (first, bytes) = (at.saturating_add(1), 0);
        }
    }
    end_group(first, *count, groups);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_are_cut_into_boxes_that_follow_each_other() {
        let rows = |grid: &[usize], sizes: &[u64], limit| -> Vec<(Tiles<usize>, Vec<Tiles<usize>>)> {
            cut(grid, sizes, limit).unwrap().into_iter().map(|group| (group.rows, group.places)).collect()
        };
        // Three columns of two: all together, each column, then single tiles where a column is too
        // large.
        let sizes = [1, 1, 1, 1, 5, 5];
        assert_eq!(rows(&[3, 2], &sizes, 100), [(0..6, vec![0..3, 0..2])]);
        assert_eq!(rows(&[3, 2], &sizes, 10), [(0..4, vec![0..2, 0..2]), (4..6, vec![2..3, 0..2])]);
        assert_eq!(
            rows(&[3, 2], &sizes, 5),
            [(0..4, vec![0..2, 0..2]), (4..5, vec![2..3, 0..1]), (5..6, vec![2..3, 1..2])]
        );
        assert_eq!(cut(&[3, 2], &sizes, 4), Err(WriteError::TileSize { bytes: 5, limit: 4 }));
        // A slab of an array of one dimension is a single tile.
        assert_eq!(cut(&[], &[7], 6), Err(WriteError::TileSize { bytes: 7, limit: 6 }));
    }

    #[test]
    fn too_large_units_leave_their_neighbours_together() {
        let groups = cut(&[4, 2], &[1, 1, 9, 9, 1, 1, 1, 1], 9).unwrap();
        let rows: Vec<_> = groups.into_iter().map(|group| group.rows).collect();
        assert_eq!(rows, [0..2, 2..3, 3..4, 4..8]);
    }
}
