//! Tiles that are read chunk by chunk, so that no more of one is held than a chunk: for queries
//! whose memory has no room for whole tiles.

use core::ops::Range;
use std::io;

use tdb_codec::{Gate, to_usize};
use tdb_filters::Pipeline;
use tdb_schema::{Field, FieldKind};

use super::encoded::EncodedTiles;
use super::partial_read::TileSource;
use super::truncated::may_be_truncated;
use super::{CoordsPart, FieldTiles, ValidityTiles, ambiguous_validity};
use crate::context::Context;
use crate::decode_buffers::{ChunkBuffers, PooledBuffers};
use crate::fragment::Fragment;
use crate::storage::{Storage, StoredFile};
use crate::thresholds::MAX_READ_BYTES;
use crate::{Error, Result};

/// Sizes of the chunks of a field's tiles in a fragment: about the bytes of the largest chunk, or
/// `None` where tiles are read whole, because they are not cut, or because their chunks do not show
/// what the tile contains.
///
/// Both the memory that a query plans for ([`Self::of`]) and the memory that it uses
/// ([`FieldTiles::visit_chunks`]) follow from it. Sizes are estimates, whose sums stop at the
/// greatest number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Chunks {
    /// Chunks of its cells; `None` for fields of variable length.
    pub values: Option<usize>,
    /// Chunks of the validity of its cells.
    pub validity: Option<usize>,
}

/// Which part of a field's cells is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cells {
    /// The cells, which are of fixed size.
    Values,
    /// A byte per cell that says whether it is not null.
    Validity,
}

impl Chunks {
    /// The chunks of field `kind` of the fragment's own schema.
    pub fn of(fragment: &Fragment, kind: FieldKind) -> Self {
        let field = fragment.schema().field_of(kind).filter(|_| fragment.is_dense());
        field.map_or(Self::default(), |field| Self::of_field(fragment, &field))
    }

    fn of_field(fragment: &Fragment, field: &Field<'_>) -> Self {
        let (schema, version) = (fragment.schema(), fragment.version());
        let Some(size) = field.cell_size() else { return Self::default() };
        // The number of cells that are missing at the end of such a tile follows from all its
        // chunks.
        if may_be_truncated(schema) {
            return Self::default();
        }
        let chunk = |pipeline: &Pipeline, size: usize| {
            let usual = pipeline.usual_chunk(false)?;
            let own =
                if version.has(Gate::DimensionFiles) { usual } else { pipeline.max_chunk_size.max(usual) };
            Some(to_usize(own.into()).unwrap_or(usize::MAX).max(size))
        };
        let is_ambiguous =
            !version.has(Gate::ByteValidity) && ambiguous_validity::may_be_ambiguous(schema, field);
        let validity = if is_ambiguous { None } else { chunk(&schema.validity_filters, 1) };
        Self {
            values: chunk(schema.filters_in(field, version), size),
            validity: validity.filter(|_| field.nullable),
        }
    }

    /// About the bytes that a thread holds of a tile with chunks of so many bytes: what it has read
    /// of the file, and the decoded chunk.
    pub const fn held(chunk: usize) -> usize {
        MAX_READ_BYTES.saturating_add(chunk.saturating_mul(2))
    }
}

impl FieldTiles {
    /// Decodes the wanted chunks of a tile of `len` bytes one after the other, and passes on each
    /// with its position in the tile. `false` if the tile is read whole: where it has no
    /// [`Chunks`], or where the query has room for it.
    pub fn visit_chunks(
        &self,
        context: &Context,
        (tile, cells, len): (usize, Cells, usize),
        wanted: impl FnMut(Range<usize>) -> bool,
        show: impl FnMut(Range<usize>, &[u8]),
        buffers: &mut PooledBuffers,
    ) -> Result<bool> {
        let coded = match (cells, &self.validity) {
            (Cells::Values, _) if self.chunks.values.is_some() && self.coords == CoordsPart::Alone => {
                &self.fixed
            }
            (Cells::Validity, Some(ValidityTiles::Plain(coded))) if self.chunks.validity.is_some() => coded,
            _ => return Ok(false),
        };
        if !context.by_chunk || coded.truncated.is_some() {
            return Ok(false);
        }
        coded.visit_chunks(context, (tile, len), wanted, show, buffers.for_chunks()).map(|()| true)
    }
}

impl EncodedTiles {
    fn visit_chunks(
        &self,
        context: &Context,
        (tile, len): (usize, usize),
        wanted: impl FnMut(Range<usize>) -> bool,
        mut show: impl FnMut(Range<usize>, &[u8]),
        ChunkBuffers { scratch, raw, chunk }: ChunkBuffers<'_>,
    ) -> Result<()> {
        let location = self.file.tile(context, tile)?;
        let path = || context.describe(&location.key);
        let opened = context.storage.open(&location.key).map_err(|error| Error::io(path(), error))?;
        let file =
            opened.unwrap_or_else(|| Box::new(Requested { storage: &*context.storage, key: &location.key }));
        let source = TileSource { file: &*file, tile: location.range.clone(), len };
        let is_identity = self.decoder.is_identity();
        let (mut count, mut bytes) = (0usize, 0usize);
        let done = source.visit_chunks(self.can_skip(), wanted, raw, |place, body| {
            count += 1;
            bytes += place.output.len();
            if is_identity && place.is_plain() {
                show(place.output.clone(), body);
                return Ok(());
            }
            chunk.reset(place.output.len());
            place.decode(body, &self.decoder, chunk.as_mut_slice(), scratch, &context.budget)?;
            show(place.output.clone(), chunk.as_slice());
            Ok(())
        });
        context.counters.tile(count, bytes);
        done.map_err(|fault| fault.of(context, &location))
    }
}

/// A file of a storage that opens none: each read is a request.
#[derive(Debug)]
struct Requested<'s> {
    storage: &'s dyn Storage,
    key: &'s str,
}

impl StoredFile for Requested<'_> {
    fn read_into(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.storage.read_into(self.key, offset, out)
    }
}
