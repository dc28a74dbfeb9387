//! The fragments that a dense field's cells come from, and how they overlap.

use std::sync::Arc;

use tdb_codec::{Layout, to_u64, to_usize};
use tdb_schema::FieldKind;

use super::boxes::{Box, beside, fragment_box, intersect};
use super::cell_map::fill_runs;
use super::overlay::Overlay;
use super::places::Places;
use super::region::Region;
use super::space::Space;
use crate::context::Context;
use crate::fragment::Fragment;
use crate::spec::ColumnSpec;
use crate::tiles::FieldTiles;
use crate::{Error, OrInternal, Result, parallel};

/// An index of intervals names a fragment that is not listed.
const NO_FRAGMENT: &str = "an interval lacks its fragment";

/// One fragment, as a source of the field that is being read.
#[derive(Debug)]
struct Source<'a> {
    /// The number of the fragment in the array.
    fragment: usize,
    /// The domain of the fragment's cells.
    domain: Box,
    /// For a sparse fragment of a dense array, the cells that it has; dense fragments have all
    /// cells of their domain.
    overlay: Option<&'a Overlay>,
    /// Its values of the field. If the fragment's schema lacks the field, there are none: its cells
    /// have the fill value, and still hide those of older fragments.
    values: Option<Values>,
}

impl Source<'_> {
    const fn is_dense(&self) -> bool {
        self.overlay.is_none()
    }

    /// Returns how its cells in a space tile are painted.
    fn paint(&self, index: &[u64]) -> Paint<'_> {
        match (&self.values, self.overlay) {
            (Some(values), None) => Paint::Tile(&values.tiles, values.data_tile(index)),
            (Some(values), Some(overlay)) => Paint::Cells(&values.tiles, overlay),
            (None, None) => Paint::Fill,
            (None, Some(overlay)) => Paint::FillCells(overlay),
        }
    }
}

/// A fragment's values of a field.
#[derive(Debug)]
struct Values {
    tiles: FieldTiles,
    /// For a dense fragment, the first space tile along each dimension.
    first: Vec<u64>,
    /// The distance in data tiles between neighbouring space tiles.
    strides: Vec<u64>,
}

impl Values {
    fn of(context: &Context, fragment: &Fragment, tiles: FieldTiles) -> Result<Self> {
        if !fragment.is_dense() {
            return Ok(Self { tiles, first: Vec::new(), strides: Vec::new() });
        }
        let corrupt = |error| Error::corrupt(context.describe(fragment.metadata_key()), error);
        let footer = fragment.footer();
        let grid = footer.tile_grid(fragment.schema()).map_err(corrupt)?;
        let count = footer.tile_count(fragment.schema()).map_err(corrupt)?;
        if to_u64(tiles.tile_count()) != count {
            let detail =
                format!("the fragment covers {count} tiles, but lists {} offsets", tiles.tile_count());
            let path = context.describe(fragment.metadata_key());
            return Err(Error::inconsistent(path, "tile offsets", footer.offset, detail));
        }
        let strides = tile_strides(&grid, fragment.schema().tile_order);
        Ok(Self { tiles, first: grid.iter().map(|span| span.0).collect(), strides })
    }

    /// Number of the data tile that holds a space tile.
    fn data_tile(&self, index: &[u64]) -> usize {
        let parts = index.iter().zip(&self.first).zip(&self.strides);
        let number = parts.fold(0u64, |sum, ((index, first), stride)| {
            sum.wrapping_add(index.wrapping_sub(*first).wrapping_mul(*stride))
        });
        to_usize(number).unwrap_or(usize::MAX)
    }
}

/// All fragments that have the field, oldest first, and those without the field that are newer than
/// one of these.
#[derive(Debug, Default)]
pub struct FieldSources<'a> {
    sources: Vec<Source<'a>>,
    /// Their positions along the first dimension.
    places: Places,
}

/// A source's part of one space tile.
pub(super) struct Layer<'s, 'a> {
    source: &'s Source<'a>,
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

/// A data tile that alone contains the cells of a part of a space tile.
#[derive(Clone, Copy, Debug)]
pub struct SingleTile {
    /// Number of the source.
    pub source: usize,
    /// The number of the tile in the fragment.
    pub tile: usize,
    /// Whether the part contains all cells of the tile.
    pub all: bool,
    /// Number of cells of the part that were written.
    pub cells: usize,
}

impl<'a> FieldSources<'a> {
    pub(crate) fn open(
        context: &Context,
        fragments: &[Arc<Fragment>],
        overlays: &'a [Option<Overlay>],
        query: &[(u64, u64)],
        kind: FieldKind,
        spec: &ColumnSpec,
    ) -> Result<Self> {
        let all: Vec<_> = fragments.iter().zip(overlays).enumerate().collect();
        let open = |(index, (fragment, overlay)): &(usize, (&Arc<Fragment>, &'a Option<Overlay>))| {
            let Some(domain) = fragment_box(fragment)? else { return Ok(None) };
            // A fragment outside the query is not opened.
            if intersect(&domain, query).is_none() {
                return Ok(None);
            }
            let values = FieldTiles::of_column(context, fragment, spec, kind)?;
            let values = values.map(|tiles| Values::of(context, fragment, tiles)).transpose()?;
            Ok(Some(Source { fragment: *index, domain, overlay: overlay.as_ref(), values }))
        };
        let mut sources: Vec<Source<'a>> = parallel::filter_map(context.threads, &all, open)?;
        // Fragments without the field hide nothing if no older fragment has it.
        let first = sources.iter().position(|source| source.values.is_some()).unwrap_or(sources.len());
        sources.drain(..first);
        let places = Places::new(sources.iter().filter_map(|source| source.domain.first().copied()));
        Ok(Self { sources, places })
    }

    /// The sources that have cells in a box of one space tile, oldest first, and whether they cover
    /// the whole box.
    fn layers(&self, bounds: &Box) -> (Vec<Layer<'_, 'a>>, bool) {
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

    /// The number of fragments that are read for a box of one space tile.
    pub(super) fn depth(&self, bounds: &Box) -> usize {
        self.layers(bounds).0.len()
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

    /// Numbers of the sources' fragments.
    pub(crate) fn fragments(&self) -> impl Iterator<Item = usize> {
        self.sources.iter().map(|source| source.fragment)
    }

    /// Whether no fragment has the field in the query.
    pub const fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }

    /// The data tile that contains all written cells of a part of a space tile, if there is only
    /// one.
    pub fn single_tile(&self, space: &Space, index: &[u64], part: &Region) -> Option<SingleTile> {
        let (layers, _) = self.layers(&part.bounds);
        let [Layer { source, bounds }] = layers.as_slice() else { return None };
        let Paint::Tile(_, tile) = source.paint(index) else { return None };
        let number = self.sources.iter().position(|other| other.fragment == source.fragment)?;
        let written = intersect(&source.domain, &space.tile_box(index))?;
        let cells = part.cells_in(bounds);
        if cells == 0 {
            return None;
        }
        let all = part.is_box() && written == *bounds;
        Some(SingleTile { source: number, tile, all, cells })
    }

    /// Sets `present` to 1 for the cells of a region that some source has, unless a newer one
    /// without the field covers them.
    pub(crate) fn paint_presence(&self, region: &Region, present: &mut [u8]) -> Result<()> {
        for source in &self.sources {
            let Some(shared) = intersect(&source.domain, &region.bounds) else { continue };
            let has = u8::from(source.values.is_some());
            paint_cells(region, &shared, source.overlay, has, present)?;
        }
        Ok(())
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

/// Which cells some fragment has, whichever fields it has.
#[derive(Debug)]
pub struct Written<'a> {
    /// The domain of each fragment, and for a sparse one the cells that it has.
    domains: Vec<(Box, Option<&'a Overlay>)>,
    /// Their positions along the first dimension.
    places: Places,
}

impl<'a> Written<'a> {
    /// The domains of all fragments, with the cells of those that are sparse (`overlays`).
    pub fn new(fragments: &[Arc<Fragment>], overlays: &'a [Option<Overlay>]) -> Result<Self> {
        let domains = fragments.iter().zip(overlays).filter_map(|(fragment, overlay)| {
            let domain = fragment_box(fragment).transpose()?;
            Some(domain.map(|domain| (domain, overlay.as_ref())))
        });
        let domains = domains.collect::<Result<Vec<_>>>()?;
        let places = Places::new(domains.iter().filter_map(|(domain, _)| domain.first().copied()));
        Ok(Self { domains, places })
    }

    /// Sets `written` to 1 for the cells of a region that some fragment has.
    pub fn paint(&self, region: &Region, written: &mut [u8]) -> Result<()> {
        for number in self.places.meeting(region.bounds.first().copied().unwrap_or((0, u64::MAX))) {
            let (domain, overlay) = self.domains.get(number).or_internal(NO_FRAGMENT)?;
            let Some(shared) = intersect(domain, &region.bounds) else { continue };
            paint_cells(region, &shared, *overlay, 1, written)?;
        }
        Ok(())
    }
}

/// Gives the cells of a box in a region a byte: all of them, or those that an overlay has.
fn paint_cells(
    region: &Region,
    bounds: &Box,
    overlay: Option<&Overlay>,
    byte: u8,
    target: &mut [u8],
) -> Result<()> {
    match overlay {
        None => fill_runs(region, bounds, |to, cells| {
            target.get_mut(to..to.checked_add(cells)?)?.fill(byte);
            Some(())
        }),
        Some(overlay) => overlay.for_each_in(region, bounds, |to| {
            *target.get_mut(to)? = byte;
            Some(())
        }),
    }
}

/// Distances in data tiles between neighbouring space tiles of a grid.
pub fn tile_strides(grid: &[(u64, u64)], order: Layout) -> Vec<u64> {
    let mut strides = vec![1u64; grid.len()];
    let mut next = 1u64;
    let mut set = |(stride, (low, high)): (&mut u64, &(u64, u64))| {
        *stride = next;
        next = next.wrapping_mul(high.wrapping_sub(*low).wrapping_add(1));
    };
    match order {
        Layout::ColMajor => strides.iter_mut().zip(grid).for_each(&mut set),
        _ => strides.iter_mut().zip(grid).rev().for_each(&mut set),
    }
    strides
}
