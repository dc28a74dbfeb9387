//! Painting a region: older fragments first, newer ones over them.

use tdb_codec::{Buffer, Layout, to_u64, to_usize};
use tdb_schema::FieldKind;

use super::cell_map::CellMap;
use super::overlay::Overlay;
use super::part::TilePart;
use super::places::Places;
use super::space::{Box, Region, Space, covers, domain_box, intersect};
use crate::context::Context;
use crate::fragment::Fragment;
use crate::gather::{ColumnSpec, fill_cells, room_for};
use crate::tiles::{FieldTiles, VarTile};
use crate::worker::Worker;
use crate::{Error, QueryError, Result, parallel};

/// One fragment's tiles of the field that is being read.
#[derive(Debug)]
struct Source<'a> {
    /// Which of the array's fragments.
    fragment: usize,
    tiles: FieldTiles,
    /// What the fragment covers.
    domain: Box,
    kind: SourceKind<'a>,
}

#[derive(Debug)]
enum SourceKind<'a> {
    /// A dense fragment: first space tile along each dimension, and the distance in data tiles between
    /// neighbouring space tiles.
    Dense { first: Vec<u64>, strides: Vec<u64> },
    /// A sparse fragment of a dense array.
    Sparse(&'a Overlay),
}

/// All fragments that have the field, oldest first.
#[derive(Debug, Default)]
pub(crate) struct FieldSources<'a> {
    sources: Vec<Source<'a>>,
    /// Where they lie along the first dimension.
    places: Places,
}

/// Where a fixed-size field's cells of a region go.
pub(crate) struct Target<'t> {
    pub(crate) values: &'t mut [u8],
    pub(crate) validity: Option<&'t mut [u8]>,
    /// Cells that are 0 here get fill values.
    pub(crate) wanted: Option<&'t [u8]>,
}

/// Where a var-length field's cells of a region go.
pub(crate) struct VarTarget<'t> {
    lengths: &'t mut [u64],
    validity: Option<&'t mut [u8]>,
    /// Cells that are 0 here get fill values.
    wanted: Option<&'t [u8]>,
    /// Where each cell's value begins in `arena`.
    starts: Vec<usize>,
    arena: Vec<u8>,
    /// The values, where one tile holds exactly the region's cells.
    whole: Option<Buffer>,
}

impl<'t> VarTarget<'t> {
    pub(crate) fn new(
        lengths: &'t mut [u64],
        validity: Option<&'t mut [u8]>,
        wanted: Option<&'t [u8]>,
    ) -> Self {
        let starts = vec![0; lengths.len()];
        Self { lengths, validity, wanted, starts, arena: Vec::new(), whole: None }
    }

    /// The values of all cells in result order.
    pub(crate) fn into_values(self) -> Result<Buffer> {
        if let Some(values) = self.whole {
            return Ok(values);
        }
        let total = self.lengths.iter().fold(0u64, |sum, length| sum.saturating_add(*length));
        let total = to_usize(total).ok_or(QueryError::OutOfMemory { bytes: total })?;
        let mut values = room_for(total)?;
        // Neighbours in the result are mostly neighbours in a tile: copy runs, not cells.
        let (mut start, mut end) = (0usize, 0usize);
        let mut flush = |start: usize, end: usize| {
            values.extend_from_slice(self.arena.get(start..end).unwrap_or_default());
        };
        for (from, len) in self.starts.iter().zip(self.lengths.iter()) {
            if *from != end {
                flush(start, end);
                start = *from;
            }
            end = from.saturating_add(to_usize(*len).unwrap_or(0));
        }
        flush(start, end);
        Ok(values)
    }
}

impl Target<'_> {
    /// Fills the cells that are not wanted.
    fn fill_unwanted(&mut self, spec: &ColumnSpec) {
        let Some(wanted) = self.wanted else { return };
        let size = spec.cell_size.unwrap_or(0).max(1);
        for (slot, _) in self.values.chunks_exact_mut(size).zip(wanted).filter(|(_, wanted)| **wanted == 0) {
            fill_cells(slot, &spec.fill);
        }
        fill_validity(self.validity.as_deref_mut(), wanted, spec);
    }
}

/// Sets the validity of cells that are not wanted to that of the fill value.
fn fill_validity(validity: Option<&mut [u8]>, wanted: &[u8], spec: &ColumnSpec) {
    for (slot, _) in validity.into_iter().flatten().zip(wanted).filter(|(_, wanted)| **wanted == 0) {
        *slot = spec.fill_validity;
    }
}

/// A source's part of one space tile.
struct Layer<'s, 'a> {
    source: &'s Source<'a>,
    bounds: Box,
}

/// A data tile that alone holds the cells of a part of a space tile.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Only {
    /// Number of the source.
    pub(crate) source: usize,
    pub(crate) tile: usize,
    /// Whether the part has all cells that the tile holds.
    pub(crate) all: bool,
    /// Number of cells of the part that were written.
    pub(crate) cells: usize,
}

impl<'a> FieldSources<'a> {
    pub(crate) fn open(
        context: &Context,
        fragments: &[Fragment],
        overlays: &'a [Option<Overlay>],
        query: &[(u64, u64)],
        kind: FieldKind,
        spec: &ColumnSpec,
    ) -> Result<Self> {
        let all: Vec<_> = fragments.iter().zip(overlays).enumerate().collect();
        let open = |(index, (fragment, overlay)): &(usize, (&Fragment, &'a Option<Overlay>))| {
            let Some(domain) = fragment.bounds() else { return Ok(None) };
            let domain = domain_box(&fragment.schema().domain.dimensions, domain).unwrap_or_default();
            // A fragment outside the query costs nothing.
            if intersect(&domain, query).is_none() {
                return Ok(None);
            }
            let Some(tiles) = spec.tiles(context, fragment, kind)? else { return Ok(None) };
            let corrupt = |error| Error::corrupt(context.describe(fragment.metadata_key()), error);
            let source = match overlay {
                Some(overlay) => SourceKind::Sparse(overlay),
                None => {
                    let footer = fragment.footer();
                    let grid = footer.tile_grid(fragment.schema()).map_err(corrupt)?;
                    let count = footer.tile_count(fragment.schema()).map_err(corrupt)?;
                    if to_u64(tiles.tile_count()) != count {
                        let detail = format!(
                            "the fragment covers {count} tiles, but lists {} offsets",
                            tiles.tile_count()
                        );
                        let path = context.describe(fragment.metadata_key());
                        return Err(Error::inconsistent(path, "tile offsets", footer.offset, detail));
                    }
                    let strides = tile_strides(&grid, fragment.schema().tile_order);
                    SourceKind::Dense { first: grid.iter().map(|span| span.0).collect(), strides }
                }
            };
            Ok(Some(Source { fragment: *index, tiles, domain, kind: source }))
        };
        let sources: Vec<Source<'a>> = parallel::filter_map(context.threads, &all, open)?;
        let places =
            Places::new(sources.iter().map(|source| source.domain.first().copied().unwrap_or_default()));
        Ok(Self { sources, places })
    }

    /// The sources that have cells in a box of one space tile, oldest first, and whether they leave none out.
    fn layers(&self, bounds: &Box) -> (Vec<Layer<'_, 'a>>, bool) {
        let mut layers = Vec::new();
        let mut covered = false;
        for number in self.places.meeting(bounds.first().copied().unwrap_or((0, u64::MAX))).into_iter().rev()
        {
            let Some(source) = self.sources.get(number) else { continue };
            let Some(shared) = intersect(&source.domain, bounds) else { continue };
            // What a newer layer hides wholly need not be read.
            let hidden = layers.iter().any(|layer: &Layer<'_, '_>| {
                matches!(layer.source.kind, SourceKind::Dense { .. }) && covers(&layer.bounds, &shared)
            });
            if hidden {
                continue;
            }
            covered |= matches!(source.kind, SourceKind::Dense { .. }) && shared == *bounds;
            layers.push(Layer { source, bounds: shared });
            if covered {
                break;
            }
        }
        layers.reverse();
        (layers, covered)
    }

    /// As [`Self::layers`]; none of them if no cell of the box is wanted.
    fn layers_wanted(
        &self,
        region: &Region,
        bounds: &Box,
        wanted: Option<&[u8]>,
    ) -> (Vec<Layer<'_, 'a>>, bool) {
        let mut any = wanted.is_none();
        if let Some(wanted) = wanted {
            fill_runs(region, bounds, |to, cells| {
                any |= wanted.get(to..to.saturating_add(cells)).is_some_and(|run| run.contains(&1));
            });
        }
        if any { self.layers(bounds) } else { (Vec::new(), false) }
    }

    /// Numbers of the sources' fragments.
    pub(crate) fn fragments(&self) -> impl Iterator<Item = usize> {
        self.sources.iter().map(|source| source.fragment)
    }

    /// Whether no fragment has the field in the query.
    pub(crate) const fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }

    /// What the sources cover, oldest first; `None` for a sparse fragment.
    pub(crate) fn domains(&self) -> impl Iterator<Item = Option<&Box>> {
        self.sources
            .iter()
            .map(|source| matches!(source.kind, SourceKind::Dense { .. }).then_some(&source.domain))
    }

    /// The data tile that a part of a space tile comes from, if all of it that was written does from one.
    pub(crate) fn only(&self, space: &Space, index: &[u64], part: &Region) -> Option<Only> {
        let (layers, _) = self.layers(&part.bounds);
        let [Layer { source, bounds }] = layers.as_slice() else { return None };
        let SourceKind::Dense { first, strides } = &source.kind else { return None };
        let number = self.sources.iter().position(|other| other.fragment == source.fragment)?;
        let written = intersect(&source.domain, &space.tile_box(index))?;
        let cells = part.part(bounds, space.cell_order)?.cells();
        let all = part.is_box() && written == *bounds;
        Some(Only { source: number, tile: data_tile(index, first, strides), all, cells })
    }

    /// Sets `present` to 1 for the cells of a region that any source covers.
    pub(crate) fn paint_presence(&self, region: &Region, present: &mut [u8]) {
        for source in &self.sources {
            let Some(shared) = intersect(&source.domain, &region.bounds) else { continue };
            match &source.kind {
                SourceKind::Dense { .. } => fill_runs(region, &shared, |to, cells| {
                    present.get_mut(to..to.saturating_add(cells)).unwrap_or_default().fill(1);
                }),
                SourceKind::Sparse(overlay) => overlay.for_each_in(region, &shared, |to| {
                    if let Some(slot) = present.get_mut(to) {
                        *slot = 1;
                    }
                }),
            }
        }
    }

    /// What painting a region reads, in its order: the number of each fragment, its tiles of the field, and which of them;
    /// none for a sparse fragment.
    pub(crate) fn for_each_layer(
        &self,
        space: &Space,
        region: &Region,
        mut visit: impl FnMut(usize, &FieldTiles, Option<usize>) -> Result<()>,
    ) -> Result<()> {
        space.for_each_tile(region, |index, _, bounds| {
            let (layers, _) = self.layers(&bounds);
            layers.into_iter().try_for_each(|layer| {
                let tile = match &layer.source.kind {
                    SourceKind::Dense { first, strides } => Some(data_tile(index, first, strides)),
                    SourceKind::Sparse(_) => None,
                };
                visit(layer.source.fragment, &layer.source.tiles, tile)
            })
        })
    }

    pub(crate) fn paint_fixed(
        &self,
        context: &Context,
        space: &Space,
        region: &Region,
        spec: &ColumnSpec,
        target: &mut Target<'_>,
        worker: &mut Worker,
    ) -> Result<()> {
        let size = spec.cell_size.unwrap_or(0);
        space.for_each_tile(region, |index, tile_box, bounds| -> Result<()> {
            let (layers, covered) = self.layers_wanted(region, &bounds, target.wanted);
            if !covered {
                fill_runs(region, &bounds, |to, cells| {
                    let slot = target.values.get_mut(to * size..(to + cells) * size);
                    fill_cells(slot.unwrap_or_default(), &spec.fill);
                    if let Some(slot) = target.validity.as_mut().and_then(|v| v.get_mut(to..to + cells)) {
                        slot.fill(spec.fill_validity);
                    }
                });
            }
            for Layer { source, bounds } in layers {
                match &source.kind {
                    SourceKind::Dense { first, strides } => {
                        let tile = data_tile(index, first, strides);
                        let part = TilePart::new(space, region, tile_box, &bounds);
                        part.copy_fixed(context, space, &source.tiles, tile, size, target.values, worker)?;
                        if let Some(validity) = target.validity.as_deref_mut() {
                            part.copy_validity(context, space, &source.tiles, tile, validity, worker)?;
                        }
                    }
                    SourceKind::Sparse(overlay) => {
                        overlay.paint_fixed(context, region, &bounds, &source.tiles, size, target, worker)?;
                    }
                }
            }
            Ok(())
        })?;
        target.fill_unwanted(spec);
        Ok(())
    }

    pub(crate) fn paint_var(
        &self,
        context: &Context,
        space: &Space,
        region: &Region,
        spec: &ColumnSpec,
        target: &mut VarTarget<'_>,
        worker: &mut Worker,
    ) -> Result<()> {
        // The fill value is stored once, at the start.
        target.arena.extend_from_slice(&spec.fill);
        let fill = to_u64(spec.fill.len());
        let mut decoded = VarTile::default();
        space.for_each_tile(region, |index, tile_box, bounds| -> Result<()> {
            let (layers, covered) = self.layers_wanted(region, &bounds, target.wanted);
            if !covered {
                fill_runs(region, &bounds, |to, cells| {
                    target.lengths.get_mut(to..to + cells).unwrap_or_default().fill(fill);
                    target.starts.get_mut(to..to + cells).unwrap_or_default().fill(0);
                    if let Some(slot) = target.validity.as_mut().and_then(|v| v.get_mut(to..to + cells)) {
                        slot.fill(spec.fill_validity);
                    }
                });
            }
            // The only layer of the only tile: its values need not be picked apart.
            let all_wanted = target.wanted.is_none_or(|wanted| !wanted.contains(&0));
            let bounds_are_region = layers.len() == 1 && bounds == region.bounds && all_wanted;
            for Layer { source, bounds } in layers {
                match &source.kind {
                    SourceKind::Dense { first, strides } => {
                        let tile = data_tile(index, first, strides);
                        let part = TilePart::new(space, region, tile_box, &bounds);
                        source.tiles.decode_var(context, tile, space.tile_cells, &mut decoded, worker)?;
                        if bounds_are_region && part.whole_tile(space).is_some() {
                            target.take_whole(&mut decoded);
                        } else {
                            target.paint(&decoded, &part.map);
                        }
                        if let Some(validity) = target.validity.as_deref_mut() {
                            part.copy_validity(context, space, &source.tiles, tile, validity, worker)?;
                        }
                    }
                    SourceKind::Sparse(overlay) => {
                        overlay.paint_var(context, region, &bounds, &source.tiles, target, worker)?;
                    }
                }
            }
            Ok(())
        })?;
        target.fill_unwanted(spec);
        Ok(())
    }
}

impl VarTarget<'_> {
    /// Takes over a decoded tile that is exactly the region.
    fn take_whole(&mut self, tile: &mut VarTile) {
        self.lengths.iter_mut().zip(tile.lengths()).for_each(|(slot, length)| *slot = length);
        self.whole = Some(core::mem::take(&mut tile.values));
    }

    /// Takes over the cells of a decoded tile that `map` maps into the region.
    pub(super) fn paint(&mut self, tile: &VarTile, map: &CellMap) {
        let at = |cell: usize| tile.offsets.get(cell).copied().and_then(to_usize).unwrap_or(0);
        let (mut low, mut high) = (usize::MAX, 0usize);
        map.for_each_run(|from, _, cells| {
            low = low.min(at(from));
            high = high.max(at(from.saturating_add(cells)));
        });
        let base = self.arena.len();
        self.arena.extend_from_slice(tile.values.as_slice().get(low..high).unwrap_or_default());
        map.for_each_run(|from, to, cells| {
            let starts = self.starts.get_mut(to..).unwrap_or_default().iter_mut();
            let lengths = self.lengths.get_mut(to..).unwrap_or_default().iter_mut();
            for (cell, (start, length)) in (from..from.saturating_add(cells)).zip(starts.zip(lengths)) {
                let (first, end) = (at(cell), at(cell.saturating_add(1)));
                *start = base.saturating_add(first.saturating_sub(low));
                *length = to_u64(end.saturating_sub(first));
            }
        });
    }

    /// Fills the cells that are not wanted with the fill value at the start of the arena.
    fn fill_unwanted(&mut self, spec: &ColumnSpec) {
        let Some(wanted) = self.wanted else { return };
        let cells = self.lengths.iter_mut().zip(&mut self.starts).zip(wanted);
        for ((length, start), _) in cells.filter(|(_, wanted)| **wanted == 0) {
            (*length, *start) = (to_u64(spec.fill.len()), 0);
        }
        fill_validity(self.validity.as_deref_mut(), wanted, spec);
    }

    /// Marks a cell as null or not, for nullable fields.
    pub(super) fn set_validity(&mut self, cell: usize, valid: u8) {
        if let Some(slot) = self.validity.as_mut().and_then(|validity| validity.get_mut(cell)) {
            *slot = valid;
        }
    }
}

/// Runs of a box in its region, for filling.
fn fill_runs(region: &Region, bounds: &Box, mut fill: impl FnMut(usize, usize)) {
    region.map(bounds, None).for_each_run(|_, to, cells| fill(to, cells));
}

/// Number of the data tile that holds a space tile.
fn data_tile(index: &[u64], first: &[u64], strides: &[u64]) -> usize {
    let number = index.iter().zip(first).zip(strides).fold(0u64, |sum, ((index, first), stride)| {
        sum.wrapping_add(index.wrapping_sub(*first).wrapping_mul(*stride))
    });
    to_usize(number).unwrap_or(usize::MAX)
}

/// Distances in data tiles between neighbouring space tiles of a grid.
pub(crate) fn tile_strides(grid: &[(u64, u64)], order: Layout) -> Vec<u64> {
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
