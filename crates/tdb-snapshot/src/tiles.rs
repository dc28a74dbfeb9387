//! Tiles of one field of one fragment: fetches, decodes and checks them.

mod ambiguous_validity;
mod by_chunk;
mod encoded;
mod fetch;
mod open;
mod partial_read;
mod read_extent;
mod truncated;
mod var;

use core::ops::Range;
use std::sync::Arc;

use tdb_codec::{Buffer, CellValNum, Datatype};
use tdb_filters::Decoder;
use tdb_schema::FieldKind;

use self::ambiguous_validity::{AmbiguousValidity, ValidityDecoders};
pub use self::by_chunk::{Cells, Chunks};
use self::encoded::EncodedTiles;
pub use self::read_extent::USUAL_CHUNK;
pub use self::truncated::counted_cells;
use crate::context::Context;
use crate::decode_buffers::{DecodeBuffers, DecodeResources, PooledBuffers};
use crate::fragment::Fragment;
use crate::spec::ColumnSpec;
use crate::thresholds::ZSTD_EFFORT;
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

/// The work of decoding `bytes` with filters of this effort, as the number of bytes that zstd
/// decodes in the same time. It decides whether a second thread is worth it, and is an estimate
/// that stops at the greatest number.
#[must_use]
pub fn work(effort: u16, bytes: usize) -> usize {
    bytes.saturating_mul(usize::from(effort).max(1)) / ZSTD_EFFORT
}

/// The validity tiles of a nullable field.
#[derive(Debug)]
enum ValidityTiles {
    /// It is known how they were filtered, or their chunks tell it.
    Plain(EncodedTiles),
    /// Their chunks do not tell how they were filtered; statistics may.
    Ambiguous(ValidityDecoders, AmbiguousValidity),
}

impl ValidityTiles {
    const fn coded(&self) -> &EncodedTiles {
        match self {
            Self::Plain(coded) | Self::Ambiguous(ValidityDecoders { typed: coded, .. }, _) => coded,
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
    fixed: EncodedTiles,
    values: Option<(EncodedTiles, Arc<Vec<u64>>)>,
    /// For fields whose filters may store the strings' lengths: how to decode values that contain
    /// them.
    strings: Option<Decoder>,
    validity: Option<ValidityTiles>,
    coords: CoordsPart,
    chunks: Chunks,
}

impl FieldTiles {
    /// The tiles of a column's field in a fragment: found by name in the fragment's own schema.
    /// `None` if that schema has no such field, or one of another type.
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

    /// The delete timestamp of each cell of a fragment, if it has them, as a field of one `u64` per
    /// cell.
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
            requests += 1;
            bytes = bytes.saturating_add(part.file.tile(context, tile)?.stored_len());
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

    /// The [`work`] of decoding so many bytes of its tiles; at least that number, because they are
    /// also looked at or copied.
    pub fn work(&self, bytes: usize) -> usize {
        let values = self.values.as_ref().map_or(&self.fixed, |(values, _)| values);
        let effort = self.fixed.decoder.effort().max(values.decoder.effort());
        work(effort, bytes).max(bytes)
    }

    /// Bytes of the values of a tile of a var-length field; 0 for others, and for tiles that the
    /// fragment does not list.
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

    /// Decodes a tile of a fixed-size field into `out`, which has exactly the size of its cells.
    /// Only chunks whose byte range `wanted` accepts are decoded; the rest of `out` is not changed.
    pub fn decode_fixed(
        &self,
        context: &Context,
        tile: usize,
        out: &mut [u8],
        wanted: impl FnMut(Range<usize>) -> bool,
        buffers: &mut PooledBuffers,
    ) -> Result<()> {
        let DecodeBuffers { scratch, raw, tile: whole, threads, .. } = &mut **buffers;
        let resources = DecodeResources { scratch, raw, threads: *threads };
        match self.coords {
            CoordsPart::Alone => self.fixed.decode(context, tile, out, wanted, resources),
            CoordsPart::Split { index, count } => {
                let len = out.len();
                whole.reset(context.tile_len(len, count)?);
                let start = len.saturating_mul(index);
                let part = start..start.saturating_add(len);
                let mine = |range: Range<usize>| range.start < part.end && part.start < range.end;
                self.fixed.decode(context, tile, whole.as_mut_slice(), mine, resources)?;
                copy_checked(whole.as_slice().get(part.clone()), out)?;
                context.counters.copied(len);
                Ok(())
            }
            CoordsPart::Zipped { index, count } => {
                let size = self.datatype.size();
                whole.reset(context.tile_len(out.len(), count)?);
                self.fixed.decode(context, tile, whole.as_mut_slice(), |_| true, resources)?;
                let tuples = whole.as_slice().chunks_exact(size.saturating_mul(count));
                let start = index.saturating_mul(size);
                for (tuple, cell) in tuples.zip(out.chunks_exact_mut(size)) {
                    copy_checked(tuple.get(start..start.saturating_add(size)), cell)?;
                }
                context.counters.copied(out.len());
                Ok(())
            }
        }
    }

    /// Decodes the wanted chunks of a tile of `len` bytes of a fixed-size field. Returns the byte
    /// of the tile at which `out` begins, a multiple of the cell size `size`.
    pub fn decode_fixed_part(
        &self,
        context: &Context,
        tile: usize,
        (len, size): (usize, usize),
        out: &mut Buffer,
        wanted: impl FnMut(Range<usize>) -> bool,
        buffers: &mut PooledBuffers,
    ) -> Result<usize> {
        if self.coords != CoordsPart::Alone {
            out.reset(len);
            self.decode_fixed(context, tile, out.as_mut_slice(), wanted, buffers)?;
            return Ok(0);
        }
        self.fixed.decode_part(context, tile, (len, size), out, wanted, buffers.resources())
    }

    /// Decodes the wanted chunks of a tile of `len` bytes of a fixed-size field, and passes each to
    /// `show`, or, where no filter changed them, perhaps no more than the bytes of `runs`, which
    /// are all that the caller takes. `false` if the tile must be decoded whole.
    pub fn visit_fixed(
        &self,
        context: &Context,
        tile: usize,
        len: usize,
        wanted: (impl FnMut(Range<usize>) -> bool, impl Iterator<Item = Range<usize>>),
        show: impl FnMut(Range<usize>, &[u8]),
        buffers: &mut PooledBuffers,
    ) -> Result<bool> {
        if self.coords != CoordsPart::Alone {
            return Ok(false);
        }
        self.fixed.visit(context, tile, len, wanted, show, buffers.for_chunks()).map(|()| true)
    }

    /// The same for the validity bytes of a tile of a nullable field.
    pub fn decode_validity_part(
        &self,
        context: &Context,
        tile: usize,
        cells: usize,
        out: &mut Buffer,
        wanted: impl FnMut(Range<usize>) -> bool,
        buffers: &mut PooledBuffers,
    ) -> Result<usize> {
        match &self.validity {
            None => {
                out.reset(cells);
                out.as_mut_slice().fill(1);
                Ok(0)
            }
            Some(ValidityTiles::Plain(coded)) => {
                coded.decode_part(context, tile, (cells, 1), out, wanted, buffers.resources())
            }
            Some(ValidityTiles::Ambiguous(validity, ambiguous)) => {
                out.reset(cells);
                ambiguous.decode(context, validity, tile, out.as_mut_slice(), buffers)?;
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
        buffers: &mut PooledBuffers,
    ) -> Result<()> {
        match &self.validity {
            None => {
                out.fill(1);
                Ok(())
            }
            Some(ValidityTiles::Plain(coded)) => {
                coded.decode(context, tile, out, wanted, buffers.resources())
            }
            Some(ValidityTiles::Ambiguous(validity, ambiguous)) => {
                ambiguous.decode(context, validity, tile, out, buffers)
            }
        }
    }
}

fn copy_checked(from: Option<&[u8]>, to: &mut [u8]) -> Result<()> {
    match from {
        Some(from) if from.len() == to.len() => {
            to.copy_from_slice(from);
            Ok(())
        }
        _ => Err(Error::internal("a tile without room for its cells")),
    }
}

/// The error of a field that is decoded as if its cells had a variable length.
fn no_values<T>() -> Result<T> {
    Err(Error::internal("a field of variable length without values"))
}
