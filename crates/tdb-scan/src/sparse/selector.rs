//! Looks at one tile: which of its cells a query wants, and what is kept of them.

use core::ops::Range;

use tdb_codec::to_u64;
use tdb_order::{CoordinatesRef, KeyEncoder};
use tdb_predicate::{StringView, picked};
use tdb_schema::{Dimension, FieldKind};

use super::cached_column::CachedColumn;
use super::candidate::{Candidate, is_compared};
use super::coordinate_filter::Found;
use super::coordinate_hashes::coordinate_hashes;
use super::decode_cache::{CachedPart, DecodeCache, TAKEN};
use super::filter::Filter;
use super::select::{CoordinateUse, SearchedFragment};
use super::selection::{Coordinates, TileSelection};
use crate::condition::Decoded;
use crate::context::Context;
use crate::decode_buffers::PooledBuffers;
use crate::plan::{CACHED_COLUMN_BYTES, Plan};
use crate::ranges::RangeSet;
use crate::tile_id::TileId;
use crate::tiles::FieldTiles;
use crate::{Error, OrInternal, Result, TimeWindow};

/// A tile is compared by coordinates that were not decoded.
const NO_COORDINATES: &str = "a tile lacks coordinates that are compared";
/// One cell in so many is few.
const MANY: usize = 16;

/// Columns that a condition has decoded, and their fields.
type LookedAt = Vec<(FieldKind, Decoded)>;

/// Selects the cells of tiles, one after another.
pub(super) struct Selector<'a> {
    pub(super) plan: &'a Plan,
    pub(super) context: &'a Context,
    pub(super) dimensions: &'a [Dimension],
    pub(super) window: TimeWindow,
    pub(super) coordinates: CoordinateUse,
    pub(super) key_encoder: Option<&'a KeyEncoder<'a>>,
    pub(super) filter: Filter<'a>,
    pub(super) cache: &'a DecodeCache,
}

impl Selector<'_> {
    /// The wanted cells of a tile; `None` if it is known early that there are none.
    pub(super) fn run(
        &self,
        candidate: Candidate,
        source: &SearchedFragment,
        buffers: &mut PooledBuffers,
    ) -> Result<Option<TileSelection>> {
        let Candidate { id, tile_cells, whole } = candidate;
        // The condition comes first: if no cell satisfies it, coordinates are not even read.
        let (mut filtered, mut looked_at) = self.filtered(&candidate, buffers)?;
        if let Filter::Coordinates(among) = self.filter {
            match among.find(self.cache, id, tile_cells)? {
                Some(Found::Nothing) => return Ok(None),
                // What was selected before is all that is wanted now.
                Some(Found::Matching(own)) => {
                    let timestamps = self.timestamps(id, source, tile_cells, buffers)?;
                    let timestamps = of_cells(timestamps, own.cells.as_deref())?;
                    return Ok(Some(TileSelection { timestamps, ..own.clone() }));
                }
                Some(Found::Cells(cells)) => filtered = Some(cells),
                None => {}
            }
        }
        if filtered.as_ref().is_some_and(|wanted| !wanted.contains(&1)) {
            return Ok(None);
        }
        let judged = !whole || filtered.is_some() || self.filter.needs_coordinates();
        let mut wanted = filtered.unwrap_or_else(|| if judged { vec![1u8; tile_cells] } else { Vec::new() });
        let mut decoded = self.inside((&candidate, source, judged), &mut looked_at, &mut wanted, buffers)?;
        let timestamps = self.timestamps(id, source, tile_cells, buffers)?;
        let mut cells = None;
        if judged {
            if !whole {
                self.context.counters.tested(tile_cells);
            }
            self.judge(source, &decoded, timestamps.as_deref(), &mut wanted)?;
            if wanted.contains(&0) {
                cells = Some(numbers_of(&wanted));
            }
        }
        let timestamps = of_cells(timestamps, cells.as_deref())?;
        for looked_at in looked_at {
            self.cache.put_selected(id, cells.as_deref(), looked_at, buffers)?;
        }
        let again = self.coordinates == CoordinateUse::KeepAndCompare;
        if again && is_few(cells.as_deref(), tile_cells) {
            let bytes = CACHED_COLUMN_BYTES.saturating_add(to_u64(tile_cells).saturating_mul(4));
            self.cache.put((id, CachedPart::Hashes), bytes, || {
                let values = coordinate_hashes(&views(&decoded), tile_cells)?;
                Ok(CachedColumn { cells: tile_cells, values, offsets: None, validity: None })
            })?;
        }
        let keys = self.keys(&decoded, (cells.as_deref(), tile_cells))?;
        if keys.is_some() {
            decoded.drain(..).flatten().for_each(|own| own.give_back(buffers));
        }
        let coordinates = self.take(id, decoded, cells.as_deref(), buffers)?;
        let (written, only_replaces) = (source.written, false);
        Ok(Some(TileSelection {
            id,
            tile_cells,
            cells,
            coordinates,
            keys,
            timestamps,
            written,
            only_replaces,
        }))
    }

    /// The cells of a tile that the condition allows, of those that are visible: a byte per cell, 0
    /// for those that are not taken; `None` if all are taken. With the columns that were decoded
    /// for this, if any cell is taken.
    fn filtered(
        &self,
        candidate: &Candidate,
        buffers: &mut PooledBuffers,
    ) -> Result<(Option<Vec<u8>>, LookedAt)> {
        let Candidate { id, tile_cells: cells, .. } = *candidate;
        let visible = self.plan.visibility.as_ref().map(|visible| visible.mask(id, cells));
        let visible = visible.transpose()?.flatten();
        let sources = match self.filter {
            Filter::Matching(sources) if !self.plan.is_decided(id) => sources,
            _ => return Ok((visible, Vec::new())),
        };
        sources.context.tile_len(cells, 1)?;
        let mut wanted = visible.unwrap_or_else(|| vec![1u8; cells]);
        // Coordinates of all cells will be looked at, not only of those that are taken.
        let again = self.coordinates == CoordinateUse::KeepAndCompare;
        let mut columns = sources.tile(id, cells, buffers)?.whole_coordinates(again);
        sources.program.apply(0, &mut columns, &mut wanted)?;
        let looked_at = columns.into_wanted(&wanted);
        Ok((Some(wanted), looked_at))
    }

    /// The coordinates of a tile that are needed, by dimension: they are decoded, or taken out of
    /// `looked_at`. Clears `wanted`, if cells are `judged`, for those outside the ranges.
    fn inside(
        &self,
        (candidate, source, judged): (&Candidate, &SearchedFragment, bool),
        looked_at: &mut LookedAt,
        wanted: &mut [u8],
        buffers: &mut PooledBuffers,
    ) -> Result<Vec<Option<Decoded>>> {
        let Candidate { id, tile_cells, whole } = *candidate;
        let mut decoded = Vec::with_capacity(source.dimensions.len());
        let all = self.coordinates != CoordinateUse::Skip || self.filter.needs_coordinates();
        let again = self.coordinates == CoordinateUse::KeepAndCompare || self.filter.needs_coordinates();
        if whole && !all {
            return Ok(decoded);
        }
        for (index, (dimension, set)) in self.dimensions.iter().zip(&self.plan.ranges).enumerate() {
            let field = source.dimensions.get(index).or_internal(NO_COORDINATES)?;
            let kind = FieldKind::Dimension(index);
            if !(all || is_compared(&self.plan.scope, set)) {
                decoded.push(None);
                continue;
            }
            let known =
                looked_at.iter().position(|(of, _)| *of == kind).map(|at| looked_at.swap_remove(at).1);
            let values = match known {
                Some(known) => known,
                None => {
                    // Strings may stay codes if only ranges are compared with them, and not all
                    // cells of the tile.
                    let coded = !whole && !again && !set.is_all();
                    let wanted = judged.then_some(&*wanted);
                    self.decode((id, kind), field, (wanted, coded), tile_cells, buffers)?
                }
            };
            if !whole {
                keep_inside(&values, dimension, set, wanted)?;
            }
            decoded.push(Some(values));
        }
        Ok(decoded)
    }

    /// Decodes a dimension of a tile, unless it was kept when it was first looked at. Chunks
    /// without a wanted cell are left out; if `coded`, strings may stay as they are stored.
    fn decode(
        &self,
        (id, kind): (TileId, FieldKind),
        field: &FieldTiles,
        (wanted, coded): (Option<&[u8]>, bool),
        cells: usize,
        buffers: &mut PooledBuffers,
    ) -> Result<Decoded> {
        let context = self.context;
        if let Some(CachedColumn { cells, values, offsets, validity }) =
            self.cache.take(&(id, CachedPart::Whole(kind)))
        {
            return Ok(Decoded { cells, values, offsets, validity, ..Decoded::default() });
        }
        // Cells that a condition or the previous dimensions rule out are not looked at again.
        let wanted = wanted.filter(|_| self.coordinates != CoordinateUse::KeepAndCompare);
        let any = |cells: Range<usize>| {
            wanted.is_none_or(|wanted| wanted.get(cells).is_none_or(|cells| cells.contains(&1)))
        };
        if field.cell_val_num.is_var() {
            return Decoded::strings(context, field, (id.tile, cells), coded, any, buffers);
        }
        let size = field.cell_size();
        let mut values = buffers.take_buffer(context.tile_len(cells, size)?)?;
        let any = |bytes: Range<usize>| {
            any(bytes.start.checked_div(size).unwrap_or(0)..bytes.end.div_ceil(size.max(1)))
        };
        field.decode_fixed(context, id.tile, values.as_mut_slice(), any, buffers)?;
        Ok(Decoded { cells, values, ..Decoded::default() })
    }

    /// When each cell of a tile was written, if its fragment knows.
    fn timestamps(
        &self,
        id: TileId,
        source: &SearchedFragment,
        cells: usize,
        buffers: &mut PooledBuffers,
    ) -> Result<Option<Vec<u64>>> {
        let again = self.coordinates == CoordinateUse::KeepAndCompare;
        // The first time, only the time window needs them.
        let Some(field) = source.timestamps.as_ref().filter(|_| !again || source.filter_time) else {
            return Ok(None);
        };
        let place = (id, CachedPart::Timestamps);
        let values = match self.cache.take(&place) {
            Some(kept) => kept.values,
            None => {
                let mut values = buffers.take_buffer(self.context.tile_len(cells, 8)?)?;
                field.decode_fixed(self.context, id.tile, values.as_mut_slice(), |_| true, buffers)?;
                values
            }
        };
        let words = values.as_slice().as_chunks::<8>().0;
        let timestamps: Vec<u64> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
        if timestamps.len() != cells {
            return Err(Error::internal("a tile lacks times of its cells"));
        }
        let mut decoded = Some(Decoded { cells, values, ..Decoded::default() });
        if let Some(bytes) = decoded.as_ref().filter(|_| again).map(|decoded| decoded.held_by(None)) {
            self.cache.put(place, bytes, || decoded.take().or_internal(TAKEN)?.whole())?;
        }
        decoded.into_iter().for_each(|decoded| decoded.give_back(buffers));
        Ok(Some(timestamps))
    }

    /// Clears `wanted` for cells that the filter, the time window or the range of keys excludes.
    fn judge(
        &self,
        source: &SearchedFragment,
        decoded: &[Option<Decoded>],
        timestamps: Option<&[u64]>,
        wanted: &mut [u8],
    ) -> Result<()> {
        if let Filter::Coordinates(among) = self.filter {
            among.keep(&views(decoded), wanted)?;
        }
        if let (true, Some(timestamps)) = (source.filter_time, timestamps) {
            for (keep, time) in wanted.iter_mut().zip(timestamps) {
                *keep &= u8::from(self.window.contains((*time, *time)));
            }
        }
        if let Some(key_range) = &self.plan.scope.key_range {
            let has_all = |own: &Option<Decoded>| own.as_ref().is_some_and(|own| own.cells >= wanted.len());
            if decoded.len() != self.dimensions.len() || !decoded.iter().all(has_all) {
                return Err(Error::internal(NO_COORDINATES));
            }
            let size = |dimension: usize| self.dimensions.get(dimension).map_or(0, |own| own.datatype.size());
            key_range.keep(wanted, |dimension, at| {
                let own = decoded.get(dimension).and_then(Option::as_ref);
                own.map_or(&[], |own| own.value(at, size(dimension)))
            });
        }
        Ok(())
    }

    /// The keys of the selected cells (`None` for all) of a tile of so many, if keys will do and
    /// all of them have one.
    fn keys(
        &self,
        decoded: &[Option<Decoded>],
        (cells, all): (Option<&[u32]>, usize),
    ) -> Result<Option<Vec<u64>>> {
        let Some(key_encoder) = self.key_encoder else { return Ok(None) };
        let whole = |(values, offsets)| CoordinatesRef { values, offsets };
        let Some(cells) = cells else {
            return Ok(key_encoder.keys(views(decoded).into_iter().map(whole).collect(), all));
        };
        let picked = decoded.iter().flatten().map(|own| Ok(self.cache.picked(own, cells)?.into()));
        let picked: Vec<Coordinates> = picked.collect::<Result<_>>()?;
        Ok(key_encoder.keys(picked.iter().map(Coordinates::as_ref).collect(), cells.len()))
    }

    /// The coordinates of the selected cells (`None` for all), if they are needed. Fields of the
    /// result are kept.
    fn take(
        &self,
        id: TileId,
        decoded: Vec<Option<Decoded>>,
        cells: Option<&[u32]>,
        buffers: &mut PooledBuffers,
    ) -> Result<Vec<Coordinates>> {
        let mut coordinates = Vec::new();
        let again = self.coordinates == CoordinateUse::KeepAndCompare
            && cells.is_none_or(|cells| !cells.is_empty())
            && !is_few(cells, decoded.iter().flatten().map(|own| own.cells).next().unwrap_or(0));
        for (index, decoded) in decoded.into_iter().enumerate() {
            let Some(decoded) = decoded else { continue };
            let kind = FieldKind::Dimension(index);
            if self.coordinates == CoordinateUse::Skip {
                self.cache.put_selected(id, cells, (kind, decoded), buffers)?;
                continue;
            }
            match (cells, again) {
                (Some(cells), _) => coordinates.push(self.cache.picked(&decoded, cells)?.into()),
                (None, true) => {
                    self.context.counters.copied(decoded.values.len());
                    let values = decoded.values.as_slice().into();
                    coordinates.push(Coordinates { values, offsets: decoded.offsets.clone() });
                }
                (None, false) => {
                    coordinates.push(decoded.whole()?.into());
                    continue;
                }
            }
            let bytes = again.then(|| decoded.held_by(None));
            let mut left = Some(decoded);
            if let Some(bytes) = bytes {
                let place = (id, CachedPart::Whole(kind));
                self.cache.put(place, bytes, || left.take().or_internal(TAKEN)?.whole())?;
            }
            left.into_iter().for_each(|decoded| decoded.give_back(buffers));
        }
        Ok(coordinates)
    }
}

/// Clears `wanted` for cells outside the ranges.
fn keep_inside(values: &Decoded, dimension: &Dimension, set: &RangeSet, wanted: &mut [u8]) -> Result<()> {
    match &values.offsets {
        None => set.keep(dimension, &values.values, wanted),
        Some(offsets) => {
            let strings = StringView { values: values.values.as_slice(), offsets };
            let Some(codes) = &values.codes else { return set.keep_strings(strings.iter(), wanted) };
            let mut kept = Ok(());
            strings.test_coded(codes, wanted, |strings, wanted| {
                kept = set.keep_strings(strings.iter(), wanted);
            })?;
            kept
        }
    }
}

/// The numbers of the cells that are marked.
fn numbers_of(wanted: &[u8]) -> Vec<u32> {
    let mut numbers = Vec::with_capacity(wanted.iter().map(|keep| usize::from(*keep != 0)).sum());
    let (blocks, rest) = wanted.as_chunks::<8>();
    // Wanted cells are mostly next to each other, and so are the others: `run` is where the
    // present run of wanted blocks begins.
    let (mut first, mut run) = (0u32, 0u32);
    for block in blocks {
        let next = first.saturating_add(8);
        if block.contains(&0) {
            numbers.extend(run..first);
            run = next;
            if u64::from_le_bytes(*block) != 0 {
                let marked = (first..next).zip(block).filter(|(_, keep)| **keep != 0);
                numbers.extend(marked.map(|(cell, _)| cell));
            }
        }
        first = next;
    }
    numbers.extend(run..first);
    numbers.extend((first..).zip(rest).filter(|(_, keep)| **keep != 0).map(|(cell, _)| cell));
    numbers
}

/// The timestamps of some cells of a tile; `None` for all cells.
fn of_cells(timestamps: Option<Vec<u64>>, cells: Option<&[u32]>) -> Result<Option<Vec<u64>>> {
    let (Some(all), Some(cells)) = (&timestamps, cells) else { return Ok(timestamps) };
    picked(all, cells).map(Some)
}

/// Whether so few cells of a tile are wanted that in most tiles hashes will say that there
/// are no others.
fn is_few(cells: Option<&[u32]>, all: usize) -> bool {
    cells.is_some_and(|cells| !cells.is_empty() && cells.len() <= all / MANY)
}

/// The values of columns, and the offsets of strings.
fn views(decoded: &[Option<Decoded>]) -> Vec<(&[u8], Option<&[u64]>)> {
    decoded.iter().flatten().map(|own| (own.values.as_slice(), own.offsets.as_deref())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marked_cells_have_their_numbers_wherever_they_lie() {
        for len in [0usize, 1, 7, 8, 9, 40] {
            for mask in 0..4u32 {
                let marked = |cell: &u32| match mask {
                    0 => false,
                    1 => true,
                    2 => (8..19).contains(cell),
                    _ => cell.is_multiple_of(3),
                };
                let all = 0..u32::try_from(len).unwrap();
                let wanted: Vec<u8> = all.clone().map(|cell| u8::from(marked(&cell))).collect();
                assert_eq!(numbers_of(&wanted), all.filter(marked).collect::<Vec<u32>>());
            }
        }
    }
}
