//! Painting a region: older fragments first, newer ones over them.

use super::boxes::Box;
use super::cell_map::fill_runs;
use super::layers::{Layer, Paint};
use super::region::Region;
use super::sources::FieldSources;
use super::space::Space;
use super::target::Target;
use super::tile_part::TilePart;
use crate::Result;
use crate::context::Context;
use crate::decode_buffers::PooledBuffers;
use crate::spec::ColumnSpec;
use crate::tiles::Cells;

impl<'a> FieldSources<'a> {
    /// Paints the cells of a region that are wanted, and possibly others.
    pub(crate) fn paint_fixed(
        &self,
        context: &Context,
        space: &Space,
        region: &Region,
        spec: &ColumnSpec,
        target: &mut Target<'_>,
        buffers: &mut PooledBuffers,
    ) -> Result<()> {
        let size = spec.cell_size.unwrap_or(0);
        let mut tiles_done = target.tiles_done.iter();
        space.for_each_tile(region, |index, tile_box, bounds| -> Result<()> {
            if tiles_done.next() == Some(&true) {
                return Ok(());
            }
            let (layers, covered) = self.layers_wanted(region, &bounds, target.wanted)?;
            if !covered {
                fill_runs(region, &bounds, |to, cells| target.fill(spec, to, cells))?;
            }
            for layer in layers {
                let bounds = &layer.bounds;
                match layer.paint(index) {
                    Paint::Tile(tiles, tile) => {
                        let part = TilePart::new(space, region, tile_box, bounds);
                        let values = (tiles, tile, Cells::Values, size);
                        part.copy(context, space, values, target.values, buffers)?;
                        if let Some(validity) = target.validity.as_deref_mut() {
                            part.copy(context, space, (tiles, tile, Cells::Validity, 1), validity, buffers)?;
                        }
                    }
                    Paint::Cells(tiles, overlay) => {
                        overlay.paint_fixed(context, region, bounds, tiles, size, target, buffers)?;
                    }
                    Paint::Fill => fill_runs(region, bounds, |to, cells| target.fill(spec, to, cells))?,
                    Paint::FillCells(overlay) => {
                        overlay.for_each_in(region, bounds, |to| target.fill(spec, to, 1))?;
                    }
                }
            }
            Ok(())
        })
    }

    /// As [`Self::layers`], but without layers if no cell of the box is wanted.
    pub(super) fn layers_wanted(
        &self,
        region: &Region,
        bounds: &Box,
        wanted: Option<&[u8]>,
    ) -> Result<(Vec<Layer<'_, 'a>>, bool)> {
        Ok(if has_wanted(region, bounds, wanted)? { self.layers(bounds) } else { (Vec::new(), false) })
    }
}

/// Whether some of a region's cells in a box are wanted; without a mask, all are.
pub(super) fn has_wanted(region: &Region, bounds: &Box, wanted: Option<&[u8]>) -> Result<bool> {
    let Some(wanted) = wanted else { return Ok(true) };
    let mut any = false;
    fill_runs(region, bounds, |to, cells| {
        any |= wanted.get(to..to.checked_add(cells)?)?.contains(&1);
        Some(())
    })?;
    Ok(any)
}
