//! The tiles that a box of dense cells touches, and the cells of the box in each of them.

use core::ops::Range as Cells;

use tdb_codec::{Layout, to_usize};
use tdb_schema::{ArraySchema, Range};

use crate::grid::{BoxMap, Side, place, strides};
use crate::statistics::join_runs;
use crate::{OrInternal, QueryError, Result};

/// The tiles that a box of cells touches, and where its cells are in each.
#[derive(Debug)]
pub struct TileGrid {
    sides: Vec<Side>,
    /// Sizes of a tile, and of the grid of tiles.
    pub(crate) extents: Vec<usize>,
    grid: Vec<usize>,
    /// Distances of neighbours in a tile, in cells.
    pub(crate) strides: Vec<usize>,
    tile_order: Layout,
}

/// The sides of a box.
pub(super) fn sides(schema: &ArraySchema, domain: &[Range]) -> Result<Vec<Side>> {
    let sides =
        domain.iter().zip(&schema.domain.dimensions).map(|(range, dimension)| Side::of(dimension, range));
    let sides: Option<Vec<Side>> = sides.collect();
    Ok(sides
        .filter(|_| domain.len() == schema.domain.dimensions.len())
        .ok_or(QueryError::RangeCount { given: domain.len(), dimensions: schema.domain.dimensions.len() })?)
}

/// The part of the box in a tile.
pub(crate) struct TilePart {
    /// First cell in the columns, and in the tile.
    pub(crate) source: usize,
    pub(crate) target: usize,
    pub(crate) counts: Vec<usize>,
}

impl TileGrid {
    /// `None` if a tile has more cells than fit in a `usize`.
    pub(crate) fn new(
        sides: Vec<Side>,
        extents: Vec<usize>,
        grid: Vec<usize>,
        schema: &ArraySchema,
    ) -> Option<Self> {
        let strides = strides(&extents, schema.cell_order)?;
        Some(Self { sides, extents, grid, strides, tile_order: schema.tile_order })
    }

    /// The number of cells of a tile; `None` if there are too many to count.
    pub fn tile_cells(&self) -> Option<usize> {
        self.extents.iter().try_fold(1usize, |cells, extent| cells.checked_mul(*extent))
    }

    /// The cells of tile `tile` that are in the box, as runs; `None` if all are.
    ///
    /// # Errors
    /// [`crate::Error::Internal`] if positions in the tile cannot be counted, which
    /// [`crate::BoxPlan::new`] rules out.
    pub fn written(&self, tile: usize) -> Result<Option<Vec<Cells<usize>>>> {
        // The positions of the cells outside the tile do not matter here.
        let part = self.part(tile, None)?;
        if part.counts == self.extents {
            return Ok(None);
        }
        let map = BoxMap::new(&part.counts, (part.source, &self.strides), (part.target, &self.strides));
        let mut runs = Vec::new();
        map.for_each_run(|_, target, cells| runs.push(target..target.saturating_add(cells)));
        join_runs(&mut runs);
        Ok(Some(runs))
    }

    /// The part of tile `tile` that is in the box, whose cells are `strides` apart in the source,
    /// if there is one.
    pub(crate) fn part(&self, tile: usize, strides: Option<&[usize]>) -> Result<TilePart> {
        self.part_of(&place(tile, &self.grid, self.tile_order), strides)
            .or_internal("a tile of the grid without a place in its box")
    }

    fn part_of(&self, places: &[u64], strides: Option<&[usize]>) -> Option<TilePart> {
        let mut part = TilePart { source: 0, target: 0, counts: Vec::with_capacity(self.sides.len()) };
        for (index, side) in self.sides.iter().enumerate() {
            let at = *places.get(index)?;
            let (start, (low, high)) = (side.start(at), side.cells_of(at, at.checked_add(1)?));
            let distance = |from: u64, to: u64| to_usize(to.checked_sub(from)?);
            let add = |sum: usize, distance: usize, strides: &[usize]| {
                sum.checked_add(distance.checked_mul(*strides.get(index)?)?)
            };
            if let Some(strides) = strides {
                part.source = add(part.source, distance(side.low, low)?, strides)?;
            }
            part.target = add(part.target, distance(start, low)?, &self.strides)?;
            part.counts.push(distance(low, high)?.checked_add(1)?);
        }
        Some(part)
    }
}
