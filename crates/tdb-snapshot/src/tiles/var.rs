//! Decodes tiles of fields of variable length: offsets and values, or strings that are stored with
//! their lengths.

use core::ops::Range;

use tdb_codec::{to_u64, to_usize};
use tdb_filters::CodedStrings;
use tdb_tile::TileChunks;

use super::encoded::EncodedTiles;
use super::fetch::fetch;
use super::{FieldTiles, copy_checked, no_values};
use crate::buffers::VarTile;
use crate::context::Context;
use crate::decode_buffers::{DecodeBuffers, PooledBuffers};
use crate::thresholds::MAX_SHARED_CHUNKS;
use crate::{Error, OrInternal, Result};

impl FieldTiles {
    /// Decodes a tile of `cells` cells of a var-length field.
    pub fn decode_var(
        &self,
        context: &Context,
        tile: usize,
        cells: usize,
        into: &mut VarTile,
        buffers: &mut PooledBuffers,
    ) -> Result<()> {
        self.decode_var_where(context, (tile, cells), into, |_| true, buffers)
    }

    /// As [`Self::decode_var`], but chunks of values are decoded only if `wanted` accepts the
    /// numbers of the cells that have bytes in them. The values of other cells are whatever was in
    /// the buffer before. Offsets are decoded whole, because each is compared with the one before.
    pub fn decode_var_where(
        &self,
        context: &Context,
        (tile, cells): (usize, usize),
        into: &mut VarTile,
        mut wanted: impl FnMut(Range<usize>) -> bool,
        buffers: &mut PooledBuffers,
    ) -> Result<()> {
        let Some((values, _)) = &self.values else { return no_values() };
        let size = self.values_size(context, values, tile)?;
        let offsets = &mut into.offsets;
        let room = move || {
            let offsets = { offsets };
            offsets.resize(cells, 0);
            offsets.as_mut_slice()
        };
        if !self.decode_offsets(context, (tile, size, cells), room, buffers)? {
            self.decode_strings(context, tile, (size, cells), &mut into.offsets, buffers)?;
            into.offsets.push(to_u64(size));
            into.values.reset(size);
            copy_checked(Some(&buffers.text), into.values.as_mut_slice())?;
            context.counters.copied(size);
            return Ok(());
        }
        // The end of the last cell.
        into.offsets.push(to_u64(size));
        into.values.reset(size);
        let (ends, starts) =
            into.offsets.get(1..).zip(into.offsets.get(..cells)).or_internal("cells without offsets")?;
        let any = |bytes: Range<usize>| {
            let (start, end) = (to_u64(bytes.start), to_u64(bytes.end));
            wanted(ends.partition_point(|at| *at <= start)..starts.partition_point(|at| *at < end))
        };
        values.decode(context, tile, into.values.as_mut_slice(), any, buffers.resources())
    }

    /// Decodes a tile of a var-length field to where it is wanted: the starts of its cells, counted
    /// from the start of the tile's values, and [`Self::var_size`] bytes of values.
    pub fn decode_var_to(
        &self,
        context: &Context,
        tile: usize,
        (starts, out): (&mut [u64], &mut [u8]),
        buffers: &mut PooledBuffers,
    ) -> Result<()> {
        let Some((values, _)) = &self.values else { return no_values() };
        let size = self.values_size(context, values, tile)?;
        let cells = starts.len();
        if self.decode_offsets(context, (tile, size, cells), || &mut *starts, buffers)? {
            return values.decode(context, tile, out, |_| true, buffers.resources());
        }
        let mut offsets = core::mem::take(&mut buffers.strings.offsets);
        self.decode_strings(context, tile, (size, cells), &mut offsets, buffers)?;
        // `decode_strings` has checked that there is an offset for each cell.
        starts.iter_mut().zip(&offsets).for_each(|(slot, start)| *slot = *start);
        buffers.strings.offsets = offsets;
        copy_checked(Some(&buffers.text), out)?;
        context.counters.copied(size);
        Ok(())
    }

    /// [`Self::var_size`] of a tile, within the limits.
    fn values_size(&self, context: &Context, values: &EncodedTiles, tile: usize) -> Result<usize> {
        let listed = self.values.as_ref().and_then(|(_, sizes)| sizes.get(tile)).copied();
        let fits = |size: u64| to_usize(size).filter(|_| size <= context.limits.tile_bytes);
        if let Some(size) = listed.and_then(fits) {
            return Ok(size);
        }
        let at = values.file.tile(context, tile)?.range.start;
        let detail = match listed {
            Some(size) => format!("tile {tile} has {size} bytes, which is over the limit"),
            None => format!("tile {tile} is needed, but the fragment does not list its size"),
        };
        Err(Error::inconsistent(context.describe(&values.file.key), "tile var sizes", at, detail))
    }

    /// Decodes the starts of a tile's cells, whose values have `size` bytes, into `room`, which is
    /// asked for when the tile is known to be as large as `cells` cells claim. False if the tile
    /// has no offsets: then the values contain the strings' lengths.
    fn decode_offsets<'r>(
        &self,
        context: &Context,
        (tile, size, cells): (usize, usize, usize),
        room: impl FnOnce() -> &'r mut [u64],
        buffers: &mut PooledBuffers,
    ) -> Result<bool> {
        let DecodeBuffers { scratch, raw, threads, .. } = &mut **buffers;
        let path = || context.describe(&self.fixed.file.key);
        let at = self.fixed.file.tile(context, tile)?;
        fetch(context, &at, raw)?;
        let chunks = TileChunks::parse(raw.as_slice(), at.range.start)
            .map_err(|error| Error::from_tile(path(), None, error))?;
        // The offsets tile has no chunks, although there are cells.
        if chunks.is_empty() && cells > 0 {
            return Ok(false);
        }
        let len = self.fixed.stored(tile, &chunks, context.tile_len(cells, 8)?);
        chunks.expect_len(len).map_err(|error| Error::from_tile(path(), None, error))?;
        let starts = room();
        let (stored, lacking) =
            bytemuck::cast_slice_mut::<u64, u8>(starts).split_at_mut_checked(len).ok_or_else(|| {
                Error::inconsistent(
                    path(),
                    "offsets",
                    at.range.start,
                    format!("{len} bytes of offsets for fewer cells"),
                )
            })?;
        let jobs = chunks.jobs(stored).map_err(|error| Error::from_tile(path(), None, error))?;
        let threads = if chunks.len() > MAX_SHARED_CHUNKS { 1 } else { *threads };
        self.fixed.run(context, jobs, (scratch, threads))?;
        context.counters.tile(chunks.len(), len);
        // Cells that the tile lacks are empty.
        let end = to_u64(size);
        for slot in lacking.as_chunks_mut::<8>().0 {
            *slot = end.to_le_bytes();
        }
        let mut before = 0u64;
        for (cell, start) in starts.iter_mut().enumerate() {
            *start = u64::from_le(*start);
            if *start < before {
                let detail = format!(
                    "the offset of cell {} of tile {tile} is past the one after it",
                    cell.saturating_sub(1)
                );
                return Err(Error::inconsistent(path(), "offsets", at.range.start, detail));
            }
            before = *start;
        }
        if before > end {
            let detail = format!(
                "the offset of cell {} of tile {tile} is past the one after it",
                starts.len().saturating_sub(1)
            );
            return Err(Error::inconsistent(path(), "offsets", at.range.start, detail));
        }
        if starts.first().is_some_and(|first| *first != 0) {
            let detail = format!("the first offset of tile {tile} is not 0");
            return Err(Error::inconsistent(path(), "offsets", at.range.start, detail));
        }
        Ok(true)
    }

    /// Decodes a tile of values that contain the strings' lengths into the buffers' text, and the
    /// starts of its cells.
    fn decode_strings(
        &self,
        context: &Context,
        tile: usize,
        (size, cells): (usize, usize),
        offsets: &mut Vec<u64>,
        buffers: &mut PooledBuffers,
    ) -> Result<()> {
        let Some((values, _)) = &self.values else { return no_values() };
        let DecodeBuffers { scratch, raw, text, .. } = &mut **buffers;
        let location = values.file.tile(context, tile)?;
        let path = || context.describe(&values.file.key);
        let bad = |detail: String| Error::inconsistent(path(), "strings", location.range.start, detail);
        let Some(decoder) = &self.strings else {
            return Err(bad(format!(
                "{cells} cells without offsets, and no filter that holds their lengths"
            )));
        };
        fetch(context, &location, raw)?;
        offsets.clear();
        text.clear();
        let wrong = |error| Error::from_tile(path(), None, error);
        let chunks = TileChunks::parse(raw.as_slice(), location.range.start).map_err(wrong)?;
        chunks.decode_strings_into(decoder, text, offsets, scratch, &context.budget).map_err(wrong)?;
        context.counters.tile(chunks.len(), text.len());
        if offsets.len() != cells || text.len() != size {
            let (strings, found) = (offsets.len(), text.len());
            return Err(bad(format!(
                "{strings} strings of {found} bytes where {cells} of {size} were promised"
            )));
        }
        Ok(())
    }

    /// Whether the field's filters may store each string once.
    pub const fn may_have_codes(&self) -> bool {
        self.strings.is_some()
    }

    /// Decodes a tile of `cells` strings that are stored once each, or once a run, as codes. False
    /// if the tile stores every string, as it is read with [`Self::decode_var`].
    pub fn decode_codes(
        &self,
        context: &Context,
        tile: usize,
        cells: usize,
        into: &mut CodedStrings,
        buffers: &mut PooledBuffers,
    ) -> Result<bool> {
        let (Some((values, _)), Some(decoder)) = (&self.values, &self.strings) else { return Ok(false) };
        let size = self.values_size(context, values, tile)?;
        let DecodeBuffers { scratch, raw, .. } = &mut **buffers;
        let wrong =
            |coded: &EncodedTiles, error| Error::from_tile(context.describe(&coded.file.key), None, error);
        let offsets = self.fixed.file.tile(context, tile)?;
        fetch(context, &offsets, raw)?;
        let chunks = TileChunks::parse(raw.as_slice(), offsets.range.start);
        if !chunks.map_err(|error| wrong(&self.fixed, error))?.is_empty() {
            return Ok(false);
        }
        let location = values.file.tile(context, tile)?;
        fetch(context, &location, raw)?;
        into.clear();
        let chunks =
            TileChunks::parse(raw.as_slice(), location.range.start).map_err(|error| wrong(values, error))?;
        let found = chunks
            .decode_codes_into(decoder, into, scratch, &context.budget)
            .map_err(|error| wrong(values, error))?;
        context.counters.tile(chunks.len(), into.values.len());
        let strings = into.codes.len();
        if strings != cells || found != to_u64(size) {
            let detail = format!("{strings} strings of {found} bytes where {cells} of {size} were promised");
            let path = context.describe(&values.file.key);
            return Err(Error::inconsistent(path, "strings", location.range.start, detail));
        }
        Ok(true)
    }
}
