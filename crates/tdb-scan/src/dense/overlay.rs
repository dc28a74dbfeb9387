//! Sparse fragments of dense arrays: cells written one by one over older ones (libtiledb up to
//! 2.2).

use std::sync::Arc;

use tdb_codec::Buffer;
use tdb_schema::{Dimension, FieldKind};

use super::boxes::Box;
use super::cell_map::CellMap;
use super::region::Region;
use super::space::Space;
use super::target::Target;
use super::var_column::VarTarget;
use crate::buffers::{VarTile, zeroed};
use crate::context::Context;
use crate::decode_buffers::PooledBuffers;
use crate::fragment::Fragment;
use crate::plan::Plan;
use crate::storage::ReadSet;
use crate::tiles::FieldTiles;
use crate::{OrInternal, Result};

/// A tile or a region lacks a cell that a sparse fragment lists.
const NO_CELL: &str = "a cell of a sparse fragment lies outside its tile or region";

/// The cells of a sparse fragment that lie in the query's box.
#[derive(Debug, Default)]
pub struct Overlay {
    tiles: Vec<OverlayTile>,
}

/// The cells of one data tile.
#[derive(Debug)]
struct OverlayTile {
    tile: usize,
    /// Cells in the whole tile.
    count: usize,
    /// Number of each cell in the tile, and its ordinals.
    cells: Vec<(usize, Vec<u64>)>,
}

/// The cells of sparse fragments of a dense array, as a stage of the read: found once, for all
/// fields.
pub fn overlays(plan: &Plan, space: &Space) -> Result<Arc<Vec<Option<Overlay>>>> {
    let context = plan.array.context();
    let sparse = || plan.array.fragments().iter().filter(|fragment| !fragment.is_dense());
    plan.stage(|| {
        if let Some(prefetched) = context.prefetched.as_ref().filter(|_| sparse().next().is_some()) {
            let mut read_set = ReadSet::default();
            for fragment in sparse() {
                Overlay::need(context, fragment, space, &mut read_set)?;
            }
            plan.fetch_if_it_fits(prefetched, &read_set)?;
        }
        let load = |fragment: &Arc<Fragment>| {
            if fragment.is_dense() { Ok(None) } else { Overlay::load(context, fragment, space).map(Some) }
        };
        plan.array.fragments().iter().map(load).collect()
    })
}

impl Overlay {
    pub(crate) fn load(context: &Context, fragment: &Fragment, space: &Space) -> Result<Self> {
        let dimensions = space.dimensions();
        let query = space.query();
        let fields = coordinates(context, fragment, space)?;
        let mut buffers = PooledBuffers::default();
        let mut tiles = Vec::new();
        for tile in tiles_meeting(context, fragment, space)? {
            let count = fragment.tile_cells(context, tile)?;
            // The claimed count is trusted only after the coordinates were decoded.
            let mut columns = Vec::with_capacity(fields.len());
            for (field, dimension) in fields.iter().zip(dimensions) {
                let size = dimension.datatype.size();
                let mut values = zeroed(context.tile_len(count, size)?)?;
                field.decode_fixed(context, tile, values.as_mut_slice(), |_| true, &mut buffers)?;
                columns.push((values, size, dimension));
            }
            // A coordinate outside the domain has no ordinal, and is in no query. Each buffer has
            // all of the tile's coordinates.
            let ordinals_of = |cell: usize| -> Option<Vec<u64>> {
                let ordinal = |(values, size, dimension): &(Buffer, usize, &Dimension)| {
                    let start = cell.checked_mul(*size)?;
                    dimension.ordinal(values.as_slice().get(start..start.checked_add(*size)?)?)
                };
                columns.iter().map(ordinal).collect()
            };
            let all = (0..count).filter_map(|cell| Some((cell, ordinals_of(cell)?)));
            let cells: Vec<_> = all.filter(|(_, ordinals)| lies_in(ordinals, query)).collect();
            tiles.push(OverlayTile { tile, count, cells });
        }
        Ok(Self { tiles })
    }

    /// Adds what [`Self::load`] reads.
    pub(super) fn need(
        context: &Context,
        fragment: &Fragment,
        space: &Space,
        read_set: &mut ReadSet,
    ) -> Result<()> {
        let fields = coordinates(context, fragment, space)?;
        for tile in tiles_meeting(context, fragment, space)? {
            fields.iter().try_for_each(|field| field.need(context, tile, &mut read_set.ranges))?;
        }
        Ok(())
    }

    /// Numbers of the tiles with cells in `bounds`.
    pub(super) fn tiles_in<'o>(&'o self, bounds: &'o Box) -> impl Iterator<Item = usize> + use<'o> {
        let with_cells =
            self.tiles.iter().filter(|tile| tile.cells.iter().any(|(_, ordinals)| lies_in(ordinals, bounds)));
        with_cells.map(|tile| tile.tile)
    }

    /// The tiles with cells in `bounds`, with those cells: number in the tile, and position in the
    /// region.
    fn cells_in<'o>(
        &'o self,
        region: &'o Region,
        bounds: &'o Box,
    ) -> impl Iterator<Item = (&'o OverlayTile, Vec<(usize, usize)>)> {
        self.tiles.iter().filter_map(move |tile| {
            let inside = tile.cells.iter().filter(|(_, ordinals)| lies_in(ordinals, bounds));
            let position = |ordinals: &[u64]| region.position(ordinals.iter().copied());
            let cells: Vec<(usize, usize)> =
                inside.filter_map(|(cell, ordinals)| Some((*cell, position(ordinals)?))).collect();
            (!cells.is_empty()).then_some((tile, cells))
        })
    }

    /// Calls `visit` with the position in the region of each of the fragment's cells in `bounds`.
    /// A position for which it returns `None` lies outside the region.
    pub(crate) fn for_each_in(
        &self,
        region: &Region,
        bounds: &Box,
        mut visit: impl FnMut(usize) -> Option<()>,
    ) -> Result<()> {
        let mut cells = self.cells_in(region, bounds).flat_map(|(_, cells)| cells);
        cells.try_for_each(|(_, to)| visit(to)).or_internal(NO_CELL)
    }

    #[expect(clippy::too_many_arguments, reason = "what to read, from where, to where")]
    pub(crate) fn paint_fixed(
        &self,
        context: &Context,
        region: &Region,
        bounds: &Box,
        tiles: &FieldTiles,
        size: usize,
        target: &mut Target<'_>,
        buffers: &mut PooledBuffers,
    ) -> Result<()> {
        for (tile, cells) in self.cells_in(region, bounds) {
            let mut values = zeroed(context.tile_len(tile.count, size)?)?;
            tiles.decode_fixed(context, tile.tile, values.as_mut_slice(), |_| true, buffers)?;
            for (from, to) in &cells {
                let source = values.as_slice().get(from * size..(from + 1) * size);
                let slot = target.values.get_mut(to * size..(to + 1) * size);
                let (source, slot) = source.zip(slot).or_internal(NO_CELL)?;
                slot.copy_from_slice(source);
            }
            context.counters.copied(cells.len().saturating_mul(size));
            if let Some(validity) = target.validity.as_deref_mut() {
                let valid = decode_validity(context, tiles, tile, buffers)?;
                for (from, to) in &cells {
                    let (valid, slot) = valid.get(*from).zip(validity.get_mut(*to)).or_internal(NO_CELL)?;
                    *slot = *valid;
                }
                context.counters.copied(cells.len());
            }
        }
        Ok(())
    }

    pub(crate) fn paint_var(
        &self,
        context: &Context,
        region: &Region,
        bounds: &Box,
        tiles: &FieldTiles,
        target: &mut VarTarget<'_>,
        buffers: &mut PooledBuffers,
    ) -> Result<()> {
        let mut decoded = VarTile::default();
        for (tile, cells) in self.cells_in(region, bounds) {
            tiles.decode_var(context, tile.tile, tile.count, &mut decoded, buffers)?;
            let valid = decode_validity(context, tiles, tile, buffers)?;
            for (from, to) in cells {
                target.paint(&decoded, &CellMap::cell(from, to))?;
                target.set_validity(to, *valid.get(from).or_internal(NO_CELL)?)?;
            }
        }
        Ok(())
    }
}

/// Whether a cell with these ordinals lies in a box.
fn lies_in(ordinals: &[u64], bounds: &[(u64, u64)]) -> bool {
    ordinals.iter().zip(bounds).all(|(ordinal, (low, high))| low <= ordinal && ordinal <= high)
}

/// The tiles of a fragment whose rectangles meet the query's box.
fn tiles_meeting(context: &Context, fragment: &Fragment, space: &Space) -> Result<Vec<usize>> {
    let (dimensions, query) = (space.dimensions(), space.query());
    let overlaps = |dimension: usize, low: &[u8], high: &[u8]| {
        let ordinals = dimensions.get(dimension).and_then(|d| Some((d.ordinal(low)?, d.ordinal(high)?)));
        // A rectangle that cannot be compared may have cells of the query.
        match (ordinals, query.get(dimension)) {
            (Some((low, high)), Some(wanted)) => low <= wanted.1 && wanted.0 <= high,
            _ => true,
        }
    };
    Ok(fragment.rtree(context)?.search(overlaps))
}

/// The coordinates of a fragment, a field a dimension.
fn coordinates(context: &Context, fragment: &Fragment, space: &Space) -> Result<Vec<FieldTiles>> {
    let dimensions = (0..space.dimensions().len()).map(FieldKind::Dimension);
    dimensions.map(|kind| FieldTiles::open(context, fragment, kind)).collect()
}

fn decode_validity(
    context: &Context,
    tiles: &FieldTiles,
    tile: &OverlayTile,
    buffers: &mut PooledBuffers,
) -> Result<Vec<u8>> {
    let mut valid = vec![1; tile.count];
    tiles.decode_validity(context, tile.tile, &mut valid, |_| true, buffers)?;
    Ok(valid)
}
