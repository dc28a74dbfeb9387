//! A column of a dense result whose values have a variable length.

use tdb_codec::{Buffer, to_u64, to_usize};
use tdb_schema::FieldKind;

use super::cell_map::{CellMap, fill_runs};
use super::decode_work;
use super::fixed_column::fill_validity;
use super::layers::Paint;
use super::partial_column::{KeptCells, PartialCells, PartialColumn};
use super::region::{Region, split_validity, split_wanted};
use super::sources::FieldSources;
use super::space::Space;
use super::tile_part::TilePart;
use crate::buffers::{VarTile, check_room, lengths_to_offsets, room_for, split_exactly};
use crate::context::Context;
use crate::decode_buffers::PooledBuffers;
use crate::gather::concat;
use crate::plan::Plan;
use crate::spec::ColumnSpec;
use crate::tiles::Cells;
use crate::{Column, Error, OrInternal, QueryError, Result, parallel};

/// A tile of variable length lacks values of cells that it has.
const NO_VALUES: &str = "a cell of variable length lacks its value";

/// Reads the column, or what is missing of it. Cells that are not wanted get the fill value.
pub(super) fn var_column(
    plan: &Plan,
    space: &Space,
    regions: &[Region],
    sources: &FieldSources<'_>,
    (wanted, partial): (Option<&[u8]>, Option<PartialColumn>),
    (kind, spec): (FieldKind, ColumnSpec),
) -> Result<Column> {
    let context = plan.array.context();
    let kept = match partial {
        Some(PartialColumn { cells: PartialCells::Var(kept), .. }) => kept,
        _ => Vec::new(),
    };
    check_room(space.bytes(8)?)?;
    let mut offsets = vec![0u64; space.cells().saturating_add(1)];
    let mut validity = spec.nullable.then(|| vec![0; space.cells()]);
    // The last offset is no cell's.
    let cells = regions.iter().map(Region::cells).chain([1]);
    let pieces = split_exactly(&mut offsets, cells)?;
    let validities = split_validity(&mut validity, regions)?;
    let rest = validities.into_iter().zip(split_wanted(wanted, regions)?);
    let kept = kept.into_iter().chain(core::iter::repeat_with(Vec::new));
    let jobs: Vec<_> = regions.iter().zip(pieces.into_iter().zip(rest)).zip(kept).collect();
    let values = parallel::run(
        decode_work::threads(plan, space, regions, [(kind, sources)]),
        jobs,
        PooledBuffers::sharing(context.threads, regions.len()),
        |((region, (lengths, (validity, wanted))), kept), buffers| {
            let mut target = VarTarget::new(lengths, validity, wanted, kept);
            sources.paint_var(context, space, region, &spec, &mut target, buffers)?;
            target.fill_unwanted(&spec);
            let values = target.into_values(context)?;
            // The values are held twice: as pieces, and joined.
            plan.scope.reserve(to_u64(values.len()).saturating_mul(2))?;
            Ok(values)
        },
    )?;
    lengths_to_offsets(&mut offsets)?;
    let (data, moved) = concat(context.threads, values)?;
    context.counters.copied(moved);
    Ok(spec.column(data, Some(offsets), validity))
}

/// The memory that the cells of a var-length field in a region are painted into.
pub(crate) struct VarTarget<'t> {
    lengths: &'t mut [u64],
    validity: Option<&'t mut [u8]>,
    /// A cell with 0 here gets the fill value.
    wanted: Option<&'t [u8]>,
    /// The cells of those of the region's space tiles that are decoded already, with the numbers of
    /// these, ascending.
    kept: Vec<(usize, KeptCells)>,
    /// The start of each cell's value in `arena` or, from [`LENT`] on, in `lent`.
    starts: Vec<usize>,
    arena: Vec<u8>,
    /// Values that were decoded before, one tile after the other, and where each begins.
    lent: Vec<(usize, Buffer)>,
    /// The values, where one tile holds exactly the region's cells.
    whole: Option<Buffer>,
    /// Bytes that were copied into the arena.
    copied: usize,
}

/// The start of the first value of [`VarTarget::lent`]: no vector of bytes is as long.
const LENT: usize = 1 << (usize::BITS - 1);

impl FieldSources<'_> {
    /// Paints the cells of a region that are wanted, and possibly others.
    pub(crate) fn paint_var(
        &self,
        context: &Context,
        space: &Space,
        region: &Region,
        spec: &ColumnSpec,
        target: &mut VarTarget<'_>,
        buffers: &mut PooledBuffers,
    ) -> Result<()> {
        // The fill value is stored once, at the start.
        target.arena.extend_from_slice(&spec.fill);
        let mut decoded = VarTile::default();
        let mut kept = core::mem::take(&mut target.kept).into_iter().peekable();
        let mut numbers = 0usize..;
        space.for_each_tile(region, |index, tile_box, bounds| -> Result<()> {
            let number = numbers.next();
            if let Some((_, kept)) = kept.next_if(|(own, _)| number == Some(*own)) {
                target.take_kept(kept)?;
                return Ok(());
            }
            let (layers, covered) = self.layers_wanted(region, &bounds, target.wanted)?;
            if !covered {
                fill_runs(region, &bounds, |to, cells| target.fill(spec, to, cells))?;
            }
            // The only layer of the only tile: its values need not be separated.
            let all_wanted = target.wanted.is_none_or(|wanted| !wanted.contains(&0));
            let bounds_are_region = layers.len() == 1 && bounds == region.bounds && all_wanted;
            for layer in layers {
                let bounds = &layer.bounds;
                match layer.paint(index) {
                    Paint::Tile(tiles, tile) => {
                        let part = TilePart::new(space, region, tile_box, bounds);
                        let cells = (tile, space.tile_cells);
                        let wanted = |cells| part.has_any(space, &cells);
                        tiles.decode_var_where(context, cells, &mut decoded, wanted, buffers)?;
                        if bounds_are_region && part.whole_tile(space).is_some() {
                            target.take_whole(&mut decoded)?;
                        } else {
                            target.paint(&decoded, &part.map)?;
                        }
                        if let Some(validity) = target.validity.as_deref_mut() {
                            part.copy(context, space, (tiles, tile, Cells::Validity, 1), validity, buffers)?;
                        }
                    }
                    Paint::Cells(tiles, overlay) => {
                        overlay.paint_var(context, region, bounds, tiles, target, buffers)?;
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
}

impl<'t> VarTarget<'t> {
    pub(super) fn new(
        lengths: &'t mut [u64],
        validity: Option<&'t mut [u8]>,
        wanted: Option<&'t [u8]>,
        kept: Vec<(usize, KeptCells)>,
    ) -> Self {
        let starts = vec![0; lengths.len()];
        Self {
            lengths,
            validity,
            wanted,
            kept,
            starts,
            arena: Vec::new(),
            lent: Vec::new(),
            whole: None,
            copied: 0,
        }
    }

    /// Gives neighbouring cells the fill value at the start of the arena.
    fn fill(&mut self, spec: &ColumnSpec, to: usize, cells: usize) -> Option<()> {
        let end = to.checked_add(cells)?;
        self.lengths.get_mut(to..end)?.fill(to_u64(spec.fill.len()));
        self.starts.get_mut(to..end)?.fill(0);
        if let Some(validity) = &mut self.validity {
            validity.get_mut(to..end)?.fill(spec.fill_validity);
        }
        Some(())
    }

    /// Takes cells that were decoded before.
    fn take_kept(&mut self, KeptCells { mut tile, validity, map }: KeptCells) -> Result<()> {
        let (all, mut in_order) = (self.lengths.len(), false);
        map.for_each_run(|from, to, cells| in_order = (from, to, cells) == (0, 0, all));
        if in_order && self.wanted.is_none_or(|wanted| !wanted.contains(&0)) {
            self.take_whole(&mut tile)?;
        } else {
            // Values of two tiles are never one run: a place between them is nobody's.
            let next = |(base, own): &(usize, Buffer)| base.saturating_add(own.len()).saturating_add(1);
            let base = self.lent.last().map_or(LENT, next);
            self.place(&tile, &map, base)?;
            self.lent.push((base, tile.values));
        }
        if let Some((own, valid)) = self.validity.as_deref_mut().zip(validity) {
            map.copy(&valid, own, 1)?;
        }
        Ok(())
    }

    /// Takes a decoded tile that is exactly the region.
    fn take_whole(&mut self, tile: &mut VarTile) -> Result<()> {
        if tile.offsets.len().checked_sub(1) != Some(self.lengths.len()) {
            return Err(Error::internal(NO_VALUES));
        }
        self.lengths.iter_mut().zip(tile.lengths()).for_each(|(slot, length)| *slot = length);
        self.whole = Some(core::mem::take(&mut tile.values));
        Ok(())
    }

    /// Takes the cells of a decoded tile that `map` maps into the region.
    pub(super) fn paint(&mut self, tile: &VarTile, map: &CellMap) -> Result<()> {
        let (mut low, mut high, mut found) = (usize::MAX, 0usize, true);
        map.for_each_run(|from, _, cells| {
            let ends = start_of(tile, from).zip(from.checked_add(cells).and_then(|end| start_of(tile, end)));
            found &= ends.is_some();
            let (start, end) = ends.unwrap_or((low, high));
            (low, high) = (low.min(start), high.max(end));
        });
        // A box between two ranges has no cells of the region.
        if found && low > high {
            return Ok(());
        }
        let base = self.arena.len();
        let values = tile.values.as_slice().get(low..high).filter(|_| found).or_internal(NO_VALUES)?;
        self.arena.extend_from_slice(values);
        self.copied = self.copied.saturating_add(values.len());
        // Modulo the size of an address, as the values before `low` were left out.
        self.place(tile, map, base.wrapping_sub(low))
    }

    /// Notes where the values of cells are: `base` is where those of the tile would begin.
    fn place(&mut self, tile: &VarTile, map: &CellMap, base: usize) -> Result<()> {
        let mut found = true;
        map.for_each_run(|from, to, cells| {
            found &= self.place_run(tile, (from, to, cells), base).is_some();
        });
        found.then_some(()).or_internal(NO_VALUES)
    }

    /// As [`Self::place`] for neighbouring cells: the first one in the tile and in the region, and
    /// their number.
    fn place_run(
        &mut self,
        tile: &VarTile,
        (from, to, cells): (usize, usize, usize),
        base: usize,
    ) -> Option<()> {
        let end = to.checked_add(cells)?;
        let starts = self.starts.get_mut(to..end)?.iter_mut();
        let lengths = self.lengths.get_mut(to..end)?.iter_mut();
        let offsets = tile.offsets.get(from..=from.checked_add(cells)?)?;
        let ends = offsets.get(1..)?;
        for ((offset, end), (start, length)) in offsets.iter().zip(ends).zip(starts.zip(lengths)) {
            *start = base.wrapping_add(to_usize(*offset)?);
            *length = end.checked_sub(*offset)?;
        }
        Some(())
    }

    /// Sets whether a cell is null, for nullable fields.
    pub(super) fn set_validity(&mut self, cell: usize, valid: u8) -> Result<()> {
        if let Some(validity) = &mut self.validity {
            *validity.get_mut(cell).or_internal("a cell lies outside its region")? = valid;
        }
        Ok(())
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

    /// The values of all cells in result order.
    pub(crate) fn into_values(self, context: &Context) -> Result<Buffer> {
        if let Some(values) = self.whole {
            return Ok(values);
        }
        let total = self.lengths.iter().fold(0u64, |sum, length| sum.saturating_add(*length));
        let total = to_usize(total).ok_or(QueryError::OutOfMemory { bytes: total })?;
        let mut values = room_for(total)?;
        // Neighbours in the result are mostly neighbours in a tile: copies runs, not cells.
        let (mut start, mut end) = (0usize, 0usize);
        let mut flush = |start: usize, end: usize| -> Result<()> {
            values.extend_from_slice(self.run(start, end).or_internal(NO_VALUES)?);
            Ok(())
        };
        for (from, len) in self.starts.iter().zip(self.lengths.iter()) {
            if *from != end {
                flush(start, end)?;
                start = *from;
            }
            end = to_usize(*len).and_then(|len| from.checked_add(len)).or_internal(NO_VALUES)?;
        }
        flush(start, end)?;
        context.counters.copied(self.copied.saturating_add(total));
        Ok(values)
    }

    /// The bytes of a run of values.
    fn run(&self, start: usize, end: usize) -> Option<&[u8]> {
        if start < LENT {
            return self.arena.get(start..end);
        }
        let after = self.lent.partition_point(|(base, _)| *base <= start);
        let (base, lent) = self.lent.get(after.checked_sub(1)?)?;
        lent.as_slice().get(start.checked_sub(*base)?..end.checked_sub(*base)?)
    }
}

/// The start of a cell's value; for the number of cells, the end of the last value.
fn start_of(tile: &VarTile, cell: usize) -> Option<usize> {
    tile.offsets.get(cell).copied().and_then(to_usize)
}
