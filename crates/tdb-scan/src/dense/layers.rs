//! The layers of a space tile: the parts of the fragments that reach into it.

use super::boxes::{Box, beside, intersect};
use super::overlay::Overlay;
use super::region::Region;
use super::sources::{FieldSources, Source};
use super::space::Space;
use crate::Result;
use crate::tiles::FieldTiles;

/// A source's part of one space tile.
pub(super) struct Layer<'s, 'a> {
    pub(super) source: &'s Source<'a>,
    pub(super) bounds: Box,
}

impl<'s> Layer<'s, '_> {
    /// Returns how its cells in a space tile are painted.
    pub(super) fn paint(&self, index: &[u64]) -> Paint<'s> {
        self.source.paint(index)
    }
}

/// The values that a layer paints its cells with.
pub(super) enum Paint<'s> {
    /// A data tile of a dense fragment.
    Tile(&'s FieldTiles, usize),
    /// The cells of a sparse fragment.
    Cells(&'s FieldTiles, &'s Overlay),
    /// The fill value: a dense fragment lacks the field.
    Fill,
    /// The fill value, in the cells of a sparse fragment.
    FillCells(&'s Overlay),
}

impl Source<'_> {
    /// Returns how its cells in a space tile are painted.
    fn paint(&self, index: &[u64]) -> Paint<'_> {
        let Some(values) = &self.values else { return self.overlay.map_or(Paint::Fill, Paint::FillCells) };
        match self.overlay {
            None => Paint::Tile(&values.tiles, values.data_tile(index)),
            Some(overlay) => Paint::Cells(&values.tiles, overlay),
        }
    }
}

impl<'a> FieldSources<'a> {
    /// The number of fragments that are read for a box of one space tile.
    pub(super) fn depth(&self, bounds: &Box) -> usize {
        self.layers(bounds).0.len()
    }

    /// The sources that have cells in a box of one space tile, oldest first, and whether they cover
    /// the whole box.
    pub(super) fn layers(&self, bounds: &Box) -> (Vec<Layer<'_, 'a>>, bool) {
        let mut layers = Vec::new();
        let mut dense: Vec<Box> = Vec::new();
        let mut covered = false;
        for number in self.places.meeting(bounds.first().copied().unwrap_or((0, u64::MAX))).into_iter().rev()
        {
            let Some(source) = self.sources.get(number) else { continue };
            let Some(shared) = intersect(&source.domain, bounds) else { continue };
            // A part that newer layers hide need not be read.
            let Some(seen) = dense.iter().try_fold(shared.clone(), |seen, newer| beside(seen, newer)) else {
                continue;
            };
            let whole = source.is_dense() && shared == *bounds;
            if whole && source.values.is_none() {
                break;
            }
            layers.push(Layer { source, bounds: seen });
            dense.extend(source.is_dense().then_some(shared));
            if whole {
                covered = true;
                break;
            }
        }
        // Fill values need not be painted over fill values.
        while layers.pop_if(|layer| layer.source.values.is_none()).is_some() {}
        layers.reverse();
        (layers, covered)
    }

    /// Visits what painting a region reads, in its order: the number of each fragment, its tiles of
    /// the field, and the tile's number, which is none for a sparse fragment.
    pub(crate) fn for_each_layer(
        &self,
        space: &Space,
        region: &Region,
        mut visit: impl FnMut(usize, &FieldTiles, Option<usize>) -> Result<()>,
    ) -> Result<()> {
        space.for_each_tile(region, |index, _, bounds| {
            let (layers, _) = self.layers(&bounds);
            layers.into_iter().try_for_each(|layer| match layer.source.paint(index) {
                Paint::Tile(tiles, tile) => visit(layer.source.fragment, tiles, Some(tile)),
                Paint::Cells(tiles, _) => visit(layer.source.fragment, tiles, None),
                Paint::Fill | Paint::FillCells(_) => Ok(()),
            })
        })
    }
}
