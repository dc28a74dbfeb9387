//! Makes columns of selected cells in their stored order: decoded tile by tile, or taken from the
//! cache.

use core::ops::Range;

use tdb_codec::{Buffer, to_u64, to_usize};
use tdb_schema::FieldKind;

use super::cached_column::CachedColumn;
use super::decode_cache::DecodeCache;
use super::pick::{copy_var_cells, pick};
use super::reorder::SpareBuffers;
use super::selection::TileSelection;
use crate::buffers::{
    check_room, fill_cells, index_of, lengths_to_offsets, split_exactly, unfilled, write_lengths, zeroed,
};
use crate::context::Context;
use crate::decode_buffers::PooledBuffers;
use crate::gather::concat;
use crate::plan::{NO_FIELD, Plan};
use crate::spec::ColumnSpec;
use crate::tiles::FieldTiles;
use crate::{Column, Error, OrInternal, QueryError, Result, parallel};

/// The coordinates of the selected cells, one column per dimension.
pub(super) fn stage_coordinates(
    plan: &Plan,
    selections: &[TileSelection],
    cells: usize,
) -> Result<Vec<Column>> {
    let schema = plan.array.schema();
    let dimensions = (0..schema.domain.dimensions.len()).map(FieldKind::Dimension);
    let fields = dimensions.map(|kind| schema.field_of(kind).or_internal(NO_FIELD));
    // Nothing was kept of tiles that were not looked at.
    let cache = DecodeCache::nothing(plan)?;
    let stage = |field: Result<tdb_schema::Field<'_>>| {
        let field = field?;
        let spec = ColumnSpec::new(schema, &field);
        let threads = plan.array.context().threads;
        // They are compared, cell by cell.
        let coded = false;
        stage(
            plan,
            selections,
            (field.kind, spec, coded),
            (cells, threads, false),
            &cache,
            &mut SpareBuffers::default(),
        )
    };
    fields.map(stage).collect()
}

/// Values are decoded where they stay if they claim to be at most this many times as large as what
/// is stored of them. Otherwise memory is taken tile by tile.
const MAX_GROWTH: u64 = 1024;

/// A column that is being made of selected cells.
pub(super) struct Stage<'s> {
    pub(super) context: &'s Context,
    pub(super) threads: usize,
    pub(super) cache: &'s DecodeCache,
    pub(super) kind: FieldKind,
    spec: &'s ColumnSpec,
    /// The field's tiles in the fragments that have selected cells and the field, by fragment
    /// number.
    tiles: Vec<(usize, FieldTiles)>,
}

/// A column of the selected cells, in the order of the selections, made by so many threads: in the
/// caller's memory if it `stays` in this order, or else in spare memory if there is any. If
/// `coded`, strings may stay as they are stored.
pub(super) fn stage(
    plan: &Plan,
    selections: &[TileSelection],
    (kind, spec, coded): (FieldKind, ColumnSpec, bool),
    (cells, threads, stays): (usize, usize, bool),
    cache: &DecodeCache,
    spare: &mut SpareBuffers,
) -> Result<Column> {
    let context = plan.array.context();
    let mut used: Vec<usize> = selections.iter().map(|selection| selection.id.fragment).collect();
    used.sort_unstable();
    used.dedup();
    // Only fragments with selected cells: there may be thousands without.
    let tiles = parallel::filter_map(threads, &used, |index| {
        let fragment = plan.fragment(*index)?;
        Ok(FieldTiles::of_column(context, fragment, &spec, kind)?.map(|tiles| (*index, tiles)))
    })?;
    let stage = Stage { context, threads, cache, kind, spec: &spec, tiles };
    // The number of selected cells is only what the fragments claim: test the allocation before
    // relying on it.
    check_room(cells.saturating_mul(8))?;
    let mut validity = spec.nullable.then(|| vec![0u8; cells]);
    let lengths = || selections.iter().map(TileSelection::count);
    let validities: Vec<Option<&mut [u8]>> = match &mut validity {
        Some(validity) => split_exactly(validity, lengths())?.into_iter().map(Some).collect(),
        None => selections.iter().map(|_| None).collect(),
    };
    let Some(size) = spec.cell_size else {
        let mut validities = validities;
        if coded && let Some(coded) = stage.coded(selections, cells, &mut validities)? {
            let column = spec.column(coded.values, Some(coded.offsets), validity);
            return Ok(Column { codes: Some(coded.codes), ..column });
        }
        let mut offsets = vec![0u64; cells.saturating_add(1)];
        if let Some(sizes) = stage.sizes_of_whole_tiles(selections)? {
            let data = stage.whole_strings(selections, &sizes, &mut offsets, validities)?;
            return Ok(spec.column(data, Some(offsets), validity));
        }
        // The last offset is no cell's.
        let slots = split_exactly(&mut offsets, lengths().chain([1]))?;
        let jobs: Vec<_> = selections.iter().zip(slots.into_iter().zip(validities)).collect();
        let threads = stage.threads(selections, size_of::<u64>());
        let pool = PooledBuffers::sharing(stage.threads, selections.len());
        let values = parallel::run(threads, jobs, pool, |(selection, (slot, valid)), buffers| {
            let values = stage.values(selection, slot, valid, buffers)?;
            // Held twice: as pieces, and joined or in order.
            cache.reserve(to_u64(values.len()).saturating_mul(2))?;
            Ok(values)
        })?;
        lengths_to_offsets(&mut offsets)?;
        let (data, moved) = concat(stage.threads, values)?;
        context.counters.copied(moved);
        return Ok(spec.column(data, Some(offsets), validity));
    };
    let bytes = cells.checked_mul(size).filter(|bytes| *bytes < isize::MAX.unsigned_abs());
    let bytes = bytes.ok_or(QueryError::TooLarge { cells: u128::from(to_u64(cells)) })?;
    let mut data = if stays { plan.column_buffer(&spec.name, bytes)? } else { spare.take(bytes)? };
    let slots = split_exactly(data.as_mut_slice(), lengths().map(|len| len.saturating_mul(size)))?;
    let jobs: Vec<_> = selections.iter().zip(slots.into_iter().zip(validities)).collect();
    parallel::run(
        stage.threads(selections, size),
        jobs,
        PooledBuffers::sharing(stage.threads, selections.len()),
        |(selection, (slot, valid)), buffers| stage.fixed(selection, size, slot, valid, buffers),
    )?;
    Ok(spec.column(data, None, validity))
}

impl Stage<'_> {
    /// The field's tiles in the fragment of a selection, if it has the field.
    pub(super) fn tiles_of(&self, selection: &TileSelection) -> Option<&FieldTiles> {
        let at = self.tiles.binary_search_by_key(&selection.id.fragment, |(index, _)| *index).ok()?;
        self.tiles.get(at).map(|(_, tiles)| tiles)
    }

    /// The threads that are worth it for some tiles: cells that are at hand are only copied; of
    /// other tiles, what lies from the first to the last wanted cell is decoded.
    pub(super) fn threads(&self, selections: &[TileSelection], size: usize) -> usize {
        let (mut copied, mut decoded) = (0usize, 0usize);
        for selection in selections {
            if self.is_at_hand(selection) {
                copied = copied.saturating_add(selection.count());
            } else {
                decoded = decoded.saturating_add(selection.decoded(size));
            }
        }
        self.worth(copied.saturating_mul(size), decoded.saturating_mul(size))
    }

    /// The threads that are worth it where so many bytes are copied, and so many decoded.
    fn worth(&self, copied: usize, decoded: usize) -> usize {
        let work = self.tiles.iter().map(|(_, tiles)| tiles.work(decoded)).max().unwrap_or(decoded);
        parallel::worth(self.threads, copied.saturating_add(work))
    }

    /// Whether nothing of a selection must be decoded: its cells were decoded before, or will be
    /// dropped.
    pub(super) fn is_at_hand(&self, selection: &TileSelection) -> bool {
        let is_coordinate = match self.kind {
            FieldKind::Dimension(at) => selection.coordinates.len() > at,
            FieldKind::Attribute(_) => false,
        };
        is_coordinate || selection.only_replaces || self.cache.has(selection, self.kind)
    }

    /// The bytes of each selection's values, if all selections are tiles that are decoded whole,
    /// and their values have a size that is known beforehand and likely enough to be relied on.
    fn sizes_of_whole_tiles(&self, selections: &[TileSelection]) -> Result<Option<Vec<usize>>> {
        let mut sizes = Vec::with_capacity(selections.len());
        let (mut all, mut stored) = (0u64, 0u64);
        for selection in selections {
            if selection.cells.is_some() || self.is_at_hand(selection) {
                return Ok(None);
            }
            let Some(tiles) = self.tiles_of(selection) else { return Ok(None) };
            let size = tiles.var_size(selection.id.tile);
            (all, stored) = (
                all.saturating_add(size),
                stored.saturating_add(tiles.cost(self.context, selection.id.tile)?.1),
            );
            let Some(size) = to_usize(size) else { return Ok(None) };
            sizes.push(size);
        }
        Ok((all / MAX_GROWTH <= stored).then_some(sizes))
    }

    /// The values of whole tiles, decoded where they stay; writes their offsets and validity.
    fn whole_strings(
        &self,
        selections: &[TileSelection],
        sizes: &[usize],
        offsets: &mut [u64],
        validities: Vec<Option<&mut [u8]>>,
    ) -> Result<Buffer> {
        let all = sizes.iter().fold(0usize, |all, size| all.saturating_add(*size));
        // Held twice if they are put in order.
        self.cache.reserve(to_u64(all).saturating_mul(2))?;
        let mut data = unfilled(all)?;
        *offsets.last_mut().or_internal("a column of strings has no offsets")? = to_u64(all);
        let slots = split_exactly(offsets, selections.iter().map(TileSelection::count).chain([1]))?;
        let places = split_exactly(data.as_mut_slice(), sizes.iter().copied())?;
        let bases = sizes.iter().scan(0u64, |next, size| {
            let base = *next;
            *next = base.saturating_add(to_u64(*size));
            Some(base)
        });
        let jobs = selections.iter().zip(slots).zip(places).zip(validities).zip(bases).collect();
        type Job<'j> = ((((&'j TileSelection, &'j mut [u64]), &'j mut [u8]), Option<&'j mut [u8]>), u64);
        let pool = PooledBuffers::sharing(self.threads, selections.len());
        parallel::run(self.worth(0, all), jobs, pool, |job: Job<'_>, buffers| {
            let ((((selection, starts), place), valid), base) = job;
            self.validity(selection, None, valid, buffers)?;
            let tiles = self.tiles_of(selection).or_internal("a tile of strings lacks its fragment")?;
            tiles.decode_var_to(self.context, selection.id.tile, (&mut *starts, place), buffers)?;
            starts.iter_mut().for_each(|start| *start = start.saturating_add(base));
            Ok(())
        })?;
        Ok(data)
    }

    /// Writes the validity of a selection's cells, if the column has any.
    pub(super) fn validity(
        &self,
        selection: &TileSelection,
        piece: Option<&CachedColumn>,
        slot: Option<&mut [u8]>,
        buffers: &mut PooledBuffers,
    ) -> Result<()> {
        let Some(slot) = slot else { return Ok(()) };
        if let Some(piece) = piece {
            match &piece.validity {
                Some(kept) if kept.len() == slot.len() => {
                    slot.copy_from_slice(kept);
                    self.context.counters.copied(slot.len());
                }
                Some(_) => return Err(Error::internal("a kept cell has no validity")),
                None => slot.fill(1),
            }
            return Ok(());
        }
        match self.tiles_of(selection) {
            Some(tiles) if tiles.is_nullable() => {
                let Some(cells) = &selection.cells else {
                    return tiles.decode_validity(self.context, selection.id.tile, slot, |_| true, buffers);
                };
                let mut part = core::mem::take(&mut buffers.cells);
                let wanted = |bytes| has_any(cells, &bytes);
                let (tile, len) = (selection.id.tile, selection.tile_cells);
                let base = tiles.decode_validity_part(self.context, tile, len, &mut part, wanted, buffers);
                let picked = base.and_then(|base| self.pick(&part, (base, 1), cells, slot));
                buffers.cells = part;
                picked?;
            }
            Some(_) => slot.fill(1),
            None => slot.fill(self.spec.fill_validity),
        }
        Ok(())
    }

    /// The values of a selection's cells of variable length; writes their lengths and validity.
    fn values(
        &self,
        selection: &TileSelection,
        slot: &mut [u64],
        valid: Option<&mut [u8]>,
        buffers: &mut PooledBuffers,
    ) -> Result<Buffer> {
        // Its cells will be dropped, whatever their values.
        if selection.only_replaces {
            return Ok(Buffer::new());
        }
        let piece = self.cache.take_selected(selection, self.kind);
        self.validity(selection, piece.as_ref(), valid, buffers)?;
        if let Some(CachedColumn { values, offsets: Some(offsets), .. }) = piece {
            write_lengths(&offsets, slot)?;
            return Ok(values);
        }
        // Coordinates that were decoded for the order are still available.
        if let FieldKind::Dimension(dimension) = self.kind
            && let Some(own) = selection.coordinates.get(dimension)
            && let Some(offsets) = &own.offsets
        {
            write_lengths(offsets, slot)?;
            self.context.counters.copied(own.values.len());
            return Ok(own.values.as_slice().into());
        }
        let Some(tiles) = self.tiles_of(selection) else {
            slot.fill(to_u64(self.spec.fill.len()));
            let mut values = zeroed(self.spec.fill.len().saturating_mul(slot.len()))?;
            fill_cells(values.as_mut_slice(), &self.spec.fill);
            return Ok(values);
        };
        let mut decoded = core::mem::take(&mut buffers.strings);
        let tile = (selection.id.tile, selection.tile_cells);
        let wanted = |range| selection.cells.as_ref().is_none_or(|cells| has_any(cells, &range));
        tiles.decode_var_where(self.context, tile, &mut decoded, wanted, buffers)?;
        let Some(cells) = &selection.cells else {
            // If all cells of a tile are wanted, the tile's buffer is used as it is.
            write_lengths(&decoded.offsets, slot)?;
            return Ok(decoded.values);
        };
        let mut values = Buffer::new();
        let tile = (decoded.values.as_slice(), decoded.offsets.as_slice());
        copy_var_cells(tile, cells, slot, |value| values.extend_from_slice(value))?;
        self.context.counters.copied(values.len());
        buffers.strings = decoded;
        Ok(values)
    }

    /// Writes the values of a selection's cells of `size` bytes, and their validity.
    fn fixed(
        &self,
        selection: &TileSelection,
        size: usize,
        slot: &mut [u8],
        valid: Option<&mut [u8]>,
        buffers: &mut PooledBuffers,
    ) -> Result<()> {
        // Its cells will be dropped, whatever their values.
        if selection.only_replaces {
            return Ok(());
        }
        let piece = self.cache.take_selected(selection, self.kind);
        self.validity(selection, piece.as_ref(), valid, buffers)?;
        if let Some(piece) = piece.filter(|piece| piece.values.len() == slot.len()) {
            slot.copy_from_slice(piece.values.as_slice());
            self.context.counters.copied(slot.len());
            return Ok(());
        }
        // Coordinates that were decoded for the order are still available.
        if let FieldKind::Dimension(dimension) = self.kind
            && let Some(own) = selection.coordinates.get(dimension)
            && own.values.len() == slot.len()
        {
            slot.copy_from_slice(own.values.as_slice());
            self.context.counters.copied(slot.len());
            return Ok(());
        }
        let Some(tiles) = self.tiles_of(selection) else {
            fill_cells(slot, &self.spec.fill);
            return Ok(());
        };
        let Some(cells) = &selection.cells else {
            return tiles.decode_fixed(self.context, selection.id.tile, slot, |_| true, buffers);
        };
        let mut part = core::mem::take(&mut buffers.cells);
        let len = self.context.tile_len(selection.tile_cells, size)?;
        let wanted = |bytes: Range<usize>| {
            let first = bytes.start.checked_div(size).unwrap_or(0);
            has_any(cells, &(first..bytes.end.div_ceil(size.max(1))))
        };
        let base =
            tiles.decode_fixed_part(self.context, selection.id.tile, (len, size), &mut part, wanted, buffers);
        let result = base.and_then(|base| self.pick(&part, (base, size), cells, slot));
        buffers.cells = part;
        result
    }

    /// Copies cells of `size` bytes out of a part of their tile that begins at byte `base`.
    fn pick(
        &self,
        part: &Buffer,
        (base, size): (usize, usize),
        cells: &[u32],
        slot: &mut [u8],
    ) -> Result<()> {
        pick(part.as_slice(), base, size, cells, slot)?;
        self.context.counters.copied(slot.len());
        Ok(())
    }
}

/// Whether any of `cells`, which are ascending, is in a range.
fn has_any(cells: &[u32], range: &Range<usize>) -> bool {
    let at = cells.partition_point(|cell| index_of(*cell) < range.start);
    cells.get(at).is_some_and(|cell| index_of(*cell) < range.end)
}
