//! The fragments that a dense field's cells come from.

use std::sync::Arc;

use tdb_codec::{Layout, to_u64, to_usize};
use tdb_schema::FieldKind;

use super::boxes::{Box, fragment_box, intersect};
use super::cell_map::fill_runs;
use super::overlay::Overlay;
use super::places::Places;
use super::region::Region;
use crate::context::Context;
use crate::fragment::Fragment;
use crate::spec::ColumnSpec;
use crate::tiles::FieldTiles;
use crate::{Error, OrInternal, Result, parallel};

/// An index of intervals names a fragment that is not listed.
const NO_FRAGMENT: &str = "an interval lacks its fragment";

/// One fragment, as a source of the field that is being read.
#[derive(Debug)]
pub(super) struct Source<'a> {
    /// The number of the fragment in the array.
    pub(super) fragment: usize,
    /// The domain of the fragment's cells.
    pub(super) domain: Box,
    /// For a sparse fragment of a dense array, the cells that it has; dense fragments have all
    /// cells of their domain.
    pub(super) overlay: Option<&'a Overlay>,
    /// Its values of the field. If the fragment's schema lacks the field, there are none: its cells
    /// have the fill value, and still hide those of older fragments.
    pub(super) values: Option<Values>,
}

impl Source<'_> {
    pub(super) const fn is_dense(&self) -> bool {
        self.overlay.is_none()
    }
}

/// A fragment's values of a field.
#[derive(Debug)]
pub(super) struct Values {
    pub(super) tiles: FieldTiles,
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
    pub(super) fn data_tile(&self, index: &[u64]) -> usize {
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
    pub(super) sources: Vec<Source<'a>>,
    /// Their positions along the first dimension.
    pub(super) places: Places,
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

    /// Numbers of the sources' fragments.
    pub(crate) fn fragments(&self) -> impl Iterator<Item = usize> {
        self.sources.iter().map(|source| source.fragment)
    }

    /// Whether no fragment has the field in the query.
    pub const fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }
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
