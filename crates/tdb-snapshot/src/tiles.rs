//! Tiles of one field of one fragment: fetched, decoded, checked.

mod coded;
mod doubt;
mod open;
mod short;

use core::ops::Range;

use tdb_codec::{Buffer, CellValNum, Datatype, to_u64, to_usize};
use tdb_filters::{CodedStrings, Decoder};
use tdb_schema::FieldKind;
use tdb_tile::TileChunks;

use std::sync::Arc;

use self::coded::{Coded, fetch};
use self::doubt::{Doubt, Validity};
pub use self::short::counted_cells;
use crate::buffers::VarTile;
use crate::context::Context;
use crate::fragment::Fragment;
use crate::spec::ColumnSpec;
use crate::worker::{Tools, Worker};
use crate::{Error, Result};

/// How a fragment stores a dimension's coordinates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CoordsPart {
    /// In a separate file.
    Alone,
    /// As the `index`-th of `count` runs of values in a `__coords` tile.
    Split { index: usize, count: usize },
    /// As the `index`-th value of each tuple of `count`.
    Zipped { index: usize, count: usize },
}

/// The validity tiles of a nullable field.
#[derive(Debug)]
enum ValidityTiles {
    /// Their chunks tell how they were filtered.
    Plain(Coded),
    /// Statistics may tell it.
    Doubtful(Validity, Doubt),
}

impl ValidityTiles {
    const fn coded(&self) -> &Coded {
        match self {
            Self::Plain(coded) | Self::Doubtful(Validity { typed: coded, .. }, _) => coded,
        }
    }
}

/// The tiles of one field of one fragment.
#[derive(Debug)]
pub struct FieldTiles {
    /// The type of its values.
    pub datatype: Datatype,
    /// How many values a cell has.
    pub cell_val_num: CellValNum,
    fixed: Coded,
    values: Option<(Coded, Arc<Vec<u64>>)>,
    /// For fields whose filters may store the strings' lengths: how to decode values that contain them.
    strings: Option<Decoder>,
    validity: Option<ValidityTiles>,
    coords: CoordsPart,
}

impl FieldTiles {
    /// The tiles of a column's field in a fragment: found by name in the fragment's own schema. `None` if that schema
    /// has no such field, or one of another type.
    pub fn of_column(
        context: &Context,
        fragment: &Fragment,
        spec: &ColumnSpec,
        kind: FieldKind,
    ) -> Result<Option<Self>> {
        let own = spec.own_field(fragment.schema(), kind);
        own.map(|own| Self::open(context, fragment, own)).transpose()
    }

    /// The cell timestamps of a fragment, if it has them, as a field of one `u64` per cell.
    pub fn timestamps(context: &Context, fragment: &Fragment) -> Result<Option<Self>> {
        let Some(slot) = fragment.footer().slots.timestamps() else { return Ok(None) };
        let file = fragment.timestamps_file(context)?;
        file.map(|file| Self::system(context, fragment, (file, slot), "__timestamps")).transpose()
    }

    /// The delete timestamp of each cell of a fragment, if it has them, as a field of one `u64` per cell.
    pub fn delete_timestamps(context: &Context, fragment: &Fragment) -> Result<Option<Self>> {
        let Some(slot) = fragment.footer().slots.delete_timestamps() else { return Ok(None) };
        let file = fragment.delete_timestamps_file(context)?;
        file.map(|file| Self::system(context, fragment, (file, slot), "__delete_timestamps")).transpose()
    }

    /// Number of tiles.
    pub fn tile_count(&self) -> usize {
        self.fixed.file.tile_count()
    }

    /// The number of read requests to the storage for a tile, and its stored bytes.
    pub fn cost(&self, context: &Context, tile: usize) -> Result<(u64, u64)> {
        let values = self.values.as_ref().map(|(values, _)| values);
        let parts = [Some(&self.fixed), values, self.validity.as_ref().map(ValidityTiles::coded)];
        let (mut requests, mut bytes) = (0u64, 0u64);
        for part in parts.into_iter().flatten() {
            let range = part.file.tile(context, tile)?.range;
            requests = requests.saturating_add(1);
            bytes = bytes.saturating_add(range.end.saturating_sub(range.start));
        }
        Ok((requests, bytes))
    }

    /// Adds the stored bytes of a tile to `needs`.
    pub fn need(
        &self,
        context: &Context,
        tile: usize,
        ranges: &mut Vec<(Arc<str>, Range<u64>)>,
    ) -> Result<()> {
        let values = self.values.as_ref().map(|(values, _)| values);
        let validity = self.validity.as_ref().map(ValidityTiles::coded);
        for part in [Some(&self.fixed), values, validity].into_iter().flatten() {
            let location = part.file.tile(context, tile)?;
            ranges.push((location.key, location.range));
        }
        Ok(())
    }

    /// Bytes of the values of a tile of a var-length field; 0 for others.
    pub fn var_size(&self, tile: usize) -> u64 {
        self.values.as_ref().and_then(|(_, sizes)| sizes.get(tile)).copied().unwrap_or(0)
    }

    /// Bytes of a cell; for var-length fields, bytes of an offset.
    pub fn cell_size(&self) -> usize {
        match self.cell_val_num {
            CellValNum::Fixed(count) => {
                usize::try_from(count.get()).unwrap_or(usize::MAX).saturating_mul(self.datatype.size())
            }
            CellValNum::Var => 8,
        }
    }

    /// Whether cells may be null.
    pub const fn is_nullable(&self) -> bool {
        self.validity.is_some()
    }

    /// Decodes a tile of a fixed-size field into `out`, which has exactly the size of its cells. Only chunks whose
    /// byte range `wanted` accepts are decoded; the rest of `out` is not changed.
    pub fn decode_fixed(
        &self,
        context: &Context,
        tile: usize,
        out: &mut [u8],
        wanted: impl FnMut(Range<usize>) -> bool,
        worker: &mut Worker,
    ) -> Result<()> {
        let Tools { scratch, raw, tile: whole, .. } = &mut **worker;
        match self.coords {
            CoordsPart::Alone => self.fixed.decode(context, tile, out, wanted, scratch, raw),
            CoordsPart::Split { index, count } => {
                let len = out.len();
                whole.reset(context.tile_len(len, count)?);
                let start = len.saturating_mul(index);
                let part = start..start.saturating_add(len);
                let mine = |range: Range<usize>| range.start < part.end && part.start < range.end;
                self.fixed.decode(context, tile, whole.as_mut_slice(), mine, scratch, raw)?;
                copy_checked(whole.as_slice().get(part.clone()), out);
                Ok(())
            }
            CoordsPart::Zipped { index, count } => {
                let size = self.datatype.size();
                whole.reset(context.tile_len(out.len(), count)?);
                self.fixed.decode(context, tile, whole.as_mut_slice(), |_| true, scratch, raw)?;
                let tuples = whole.as_slice().chunks_exact(size.saturating_mul(count));
                let start = index.saturating_mul(size);
                for (tuple, cell) in tuples.zip(out.chunks_exact_mut(size)) {
                    copy_checked(tuple.get(start..start.saturating_add(size)), cell);
                }
                Ok(())
            }
        }
    }

    /// Decodes the wanted chunks of a tile of `len` bytes of a fixed-size field. Returns the byte of the tile at
    /// which `out` begins, a multiple of the cell size `size`.
    pub fn decode_fixed_part(
        &self,
        context: &Context,
        tile: usize,
        (len, size): (usize, usize),
        out: &mut Buffer,
        wanted: impl FnMut(Range<usize>) -> bool,
        worker: &mut Worker,
    ) -> Result<usize> {
        if self.coords != CoordsPart::Alone {
            out.reset(len);
            self.decode_fixed(context, tile, out.as_mut_slice(), wanted, worker)?;
            return Ok(0);
        }
        let Tools { scratch, raw, .. } = &mut **worker;
        self.fixed.decode_part(context, tile, (len, size), out, wanted, scratch, raw)
    }

    /// Decodes the wanted chunks of a tile of `len` bytes of a fixed-size field, and passes each to `visit`; `false`
    /// if the tile must be decoded whole.
    pub fn visit_fixed(
        &self,
        context: &Context,
        tile: usize,
        len: usize,
        wanted: impl FnMut(Range<usize>) -> bool,
        show: impl FnMut(Range<usize>, &[u8]),
        worker: &mut Worker,
    ) -> Result<bool> {
        if self.coords != CoordsPart::Alone {
            return Ok(false);
        }
        let Tools { scratch, raw, tile: room, .. } = &mut **worker;
        self.fixed.visit(context, tile, len, wanted, show, scratch, (raw, room)).map(|()| true)
    }

    /// The same for the validity bytes of a tile of a nullable field.
    pub fn decode_validity_part(
        &self,
        context: &Context,
        tile: usize,
        cells: usize,
        out: &mut Buffer,
        wanted: impl FnMut(Range<usize>) -> bool,
        worker: &mut Worker,
    ) -> Result<usize> {
        let Tools { scratch, raw, .. } = &mut **worker;
        match &self.validity {
            None => {
                out.reset(cells);
                out.as_mut_slice().fill(1);
                Ok(0)
            }
            Some(ValidityTiles::Plain(coded)) => {
                coded.decode_part(context, tile, (cells, 1), out, wanted, scratch, raw)
            }
            Some(ValidityTiles::Doubtful(validity, doubt)) => {
                out.reset(cells);
                doubt.decode(context, validity, tile, out.as_mut_slice(), worker)?;
                Ok(0)
            }
        }
    }

    /// Decodes the validity bytes of a tile of a nullable field.
    pub fn decode_validity(
        &self,
        context: &Context,
        tile: usize,
        out: &mut [u8],
        wanted: impl FnMut(Range<usize>) -> bool,
        worker: &mut Worker,
    ) -> Result<()> {
        let Tools { scratch, raw, .. } = &mut **worker;
        match &self.validity {
            None => {
                out.fill(1);
                Ok(())
            }
            Some(ValidityTiles::Plain(coded)) => coded.decode(context, tile, out, wanted, scratch, raw),
            Some(ValidityTiles::Doubtful(validity, doubt)) => {
                doubt.decode(context, validity, tile, out, worker)
            }
        }
    }

    /// Decodes a tile of `cells` cells of a var-length field.
    pub fn decode_var(
        &self,
        context: &Context,
        tile: usize,
        cells: usize,
        into: &mut VarTile,
        worker: &mut Worker,
    ) -> Result<()> {
        let Some((values, _)) = &self.values else { return Ok(()) };
        let size = self.values_size(context, values, tile)?;
        let offsets = &mut into.offsets;
        let room = move || {
            let offsets = { offsets };
            offsets.resize(cells, 0);
            offsets.as_mut_slice()
        };
        if !self.decode_offsets(context, (tile, size, cells), room, worker)? {
            return self.decode_strings(context, tile, (size, cells), into, worker);
        }
        // The end of the last cell.
        into.offsets.push(to_u64(size));
        into.values.reset(size);
        let Tools { scratch, raw, .. } = &mut **worker;
        values.decode(context, tile, into.values.as_mut_slice(), |_| true, scratch, raw)
    }

    /// Decodes a tile of a var-length field to where it is wanted: the starts of its cells, counted from the start of the tile's
    /// values, and [`Self::var_size`] bytes of values.
    pub fn decode_var_to(
        &self,
        context: &Context,
        tile: usize,
        (starts, out): (&mut [u64], &mut [u8]),
        worker: &mut Worker,
    ) -> Result<()> {
        let Some((values, _)) = &self.values else { return Ok(()) };
        let size = self.values_size(context, values, tile)?;
        let cells = starts.len();
        if self.decode_offsets(context, (tile, size, cells), || &mut *starts, worker)? {
            let Tools { scratch, raw, .. } = &mut **worker;
            return values.decode(context, tile, out, |_| true, scratch, raw);
        }
        let mut decoded = core::mem::take(&mut worker.strings);
        self.decode_strings(context, tile, (size, cells), &mut decoded, worker)?;
        starts.iter_mut().zip(&decoded.offsets).for_each(|(slot, start)| *slot = *start);
        copy_checked(Some(decoded.values.as_slice()), out);
        worker.strings = decoded;
        Ok(())
    }

    /// [`Self::var_size`] of a tile, within the limits.
    fn values_size(&self, context: &Context, values: &Coded, tile: usize) -> Result<usize> {
        let size = self.var_size(tile);
        if let Some(size) = to_usize(size).filter(|_| size <= context.limits.tile_bytes) {
            return Ok(size);
        }
        let at = values.file.tile(context, tile)?.range.start;
        let detail = format!("tile {tile} has {size} bytes, which is over the limit");
        Err(Error::inconsistent(context.describe(&values.file.key), "tile var sizes", at, detail))
    }

    /// Decodes the starts of a tile's cells, whose values have `size` bytes, into `room`, which is asked for when the tile is known
    /// to be as large as `cells` cells claim. False if the tile has no offsets: then the values contain the strings' lengths.
    fn decode_offsets<'r>(
        &self,
        context: &Context,
        (tile, size, cells): (usize, usize, usize),
        room: impl FnOnce() -> &'r mut [u64],
        worker: &mut Worker,
    ) -> Result<bool> {
        let Tools { scratch, raw, .. } = &mut **worker;
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
        chunks
            .decode(&self.fixed.decoder, stored, scratch, &context.budget)
            .map_err(|error| Error::from_tile(path(), None, error))?;
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

    /// Decodes a tile of values that contain the strings' lengths.
    fn decode_strings(
        &self,
        context: &Context,
        tile: usize,
        (size, cells): (usize, usize),
        into: &mut VarTile,
        worker: &mut Worker,
    ) -> Result<()> {
        let Some((values, _)) = &self.values else { return Ok(()) };
        let Tools { scratch, raw, text, .. } = &mut **worker;
        let location = values.file.tile(context, tile)?;
        let path = || context.describe(&values.file.key);
        let bad = |detail: String| Error::inconsistent(path(), "strings", location.range.start, detail);
        let Some(decoder) = &self.strings else {
            return Err(bad(format!(
                "{cells} cells without offsets, and no filter that holds their lengths"
            )));
        };
        fetch(context, &location, raw)?;
        let VarTile { offsets, values: out } = into;
        offsets.clear();
        text.clear();
        TileChunks::parse(raw.as_slice(), location.range.start)
            .and_then(|chunks| chunks.decode_strings_into(decoder, text, offsets, scratch, &context.budget))
            .map_err(|error| Error::from_tile(path(), None, error))?;
        context.counters.tile(1, text.len());
        if offsets.len() != cells || text.len() != size {
            let (strings, found) = (offsets.len(), text.len());
            return Err(bad(format!(
                "{strings} strings of {found} bytes where {cells} of {size} were promised"
            )));
        }
        offsets.push(to_u64(size));
        out.reset(size);
        out.as_mut_slice().copy_from_slice(text);
        Ok(())
    }

    /// Whether the field's filters may store each string once.
    pub const fn may_have_codes(&self) -> bool {
        self.strings.is_some()
    }

    /// Decodes a tile of `cells` strings that are stored once each, or once a run, as codes. False if the tile stores every string,
    /// as it is read with [`Self::decode_var`].
    pub fn decode_codes(
        &self,
        context: &Context,
        tile: usize,
        cells: usize,
        into: &mut CodedStrings,
        worker: &mut Worker,
    ) -> Result<bool> {
        let (Some((values, _)), Some(decoder)) = (&self.values, &self.strings) else { return Ok(false) };
        let size = self.values_size(context, values, tile)?;
        let Tools { scratch, raw, .. } = &mut **worker;
        let wrong = |coded: &Coded, error| Error::from_tile(context.describe(&coded.file.key), None, error);
        let offsets = self.fixed.file.tile(context, tile)?;
        fetch(context, &offsets, raw)?;
        let chunks = TileChunks::parse(raw.as_slice(), offsets.range.start);
        if !chunks.map_err(|error| wrong(&self.fixed, error))?.is_empty() {
            return Ok(false);
        }
        let location = values.file.tile(context, tile)?;
        fetch(context, &location, raw)?;
        into.clear();
        let found = TileChunks::parse(raw.as_slice(), location.range.start)
            .and_then(|chunks| chunks.decode_codes_into(decoder, into, scratch, &context.budget))
            .map_err(|error| wrong(values, error))?;
        context.counters.tile(1, into.values.len());
        let strings = into.codes.len();
        if strings != cells || found != to_u64(size) {
            let detail = format!("{strings} strings of {found} bytes where {cells} of {size} were promised");
            let path = context.describe(&values.file.key);
            return Err(Error::inconsistent(path, "strings", location.range.start, detail));
        }
        Ok(true)
    }
}

fn copy_checked(from: Option<&[u8]>, to: &mut [u8]) {
    if let Some(from) = from.filter(|from| from.len() == to.len()) {
        to.copy_from_slice(from);
    }
}
