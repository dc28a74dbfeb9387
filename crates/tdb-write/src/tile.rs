//! Filters one tile of one field, and computes its statistics.

use core::mem;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tdb_codec::{Datatype, FormatVersion, Gate, to_u64};
use tdb_filters::{Encoder, Filter, Key, Pipeline, Scratch, TileContext};
use tdb_schema::{ArraySchema, Field, FieldKind, Range};
use tdb_tile::split;
use tdb_tile::{ChunkBuffers, EMPTY_TILE, encode_string_tile, encode_tile_into};

use crate::facts::Rule;
use crate::statistics::{self, TileStatistics};
use crate::tile_cells::{TileBuffers, TileCells, TileSource};
use crate::{Error, OrInternal, Result, WriteError};

/// The working memory of a filtering thread.
#[derive(Debug)]
pub(crate) struct EncodeBuffers<'s> {
    pub room: TileBuffers,
    pub(crate) encoding: EncodeScratch<'s>,
}

/// Working memory of the filters.
#[derive(Debug)]
pub(crate) struct EncodeScratch<'s> {
    scratch: Scratch,
    buffers: ChunkBuffers,
    offsets: Vec<u8>,
    spare: &'s BufferPool,
}

impl<'s> EncodeScratch<'s> {
    pub(crate) fn new(scratch: Scratch, spare: &'s BufferPool) -> Self {
        Self { scratch, buffers: ChunkBuffers::default(), offsets: Vec::new(), spare }
    }

    fn encode(
        &mut self,
        encoder: &Encoder,
        bytes: &[u8],
        split: split::Cells<'_>,
    ) -> tdb_tile::Result<Vec<u8>> {
        let mut out = self.spare.take();
        encode_tile_into(encoder, bytes, split, &mut self.scratch, &mut self.buffers, &mut out)?;
        Ok(out)
    }
}

/// Buffers of tiles that were written, for later tiles: fresh memory for each would cost as much as
/// copying it.
#[derive(Debug, Default)]
pub(crate) struct BufferPool(Mutex<Vec<Vec<u8>>>);

impl BufferPool {
    fn buffers(&self) -> MutexGuard<'_, Vec<Vec<u8>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self) -> Vec<u8> {
        self.buffers().pop().unwrap_or_default()
    }

    /// Takes back the buffers of tiles.
    pub(crate) fn give(&self, tiles: Vec<EncodedTile>) {
        let mut buffers = self.buffers();
        for tile in tiles {
            buffers.extend(tile.values.map(|(bytes, _)| bytes).into_iter().chain(tile.validity));
            buffers.push(tile.fixed);
        }
    }
}

/// Filters the tiles of a field.
#[derive(Debug)]
pub(crate) struct FieldEncoder {
    pub kind: FieldKind,
    name: String,
    pub datatype: Datatype,
    /// `None` for var-length fields.
    pub cell_size: Option<usize>,
    pub rule: Rule,
    /// Values of fixed size, or offsets.
    fixed: Encoder,
    values: Option<Encoder>,
    validity: Option<Encoder>,
    /// Whether chunks of var-length values begin at cells.
    whole_cells: bool,
    /// Number of dimensions whose coordinates are in one file, or 0.
    zipped: usize,
}

/// The filtered bytes of a tile and its statistics.
#[derive(Debug)]
pub(crate) struct EncodedTile {
    pub cells: usize,
    pub fixed: Vec<u8>,
    /// With the unfiltered size.
    pub values: Option<(Vec<u8>, u64)>,
    pub validity: Option<Vec<u8>>,
    pub statistics: TileStatistics,
    /// The intervals spanned by the coordinates of one dimension, or of all of them.
    pub(crate) intervals: Vec<Range>,
}

impl EncodedTile {
    /// The number of bytes in all files.
    pub(crate) fn len(&self) -> u64 {
        let values = self.values.as_ref().map_or(0, |(bytes, _)| bytes.len());
        let validity = self.validity.as_ref().map_or(0, Vec::len);
        to_u64(self.fixed.len().saturating_add(values).saturating_add(validity))
    }
}

/// The version in the headers of a fragment's metadata: that of the array, because libraries of
/// that age know no later one. For some versions it would mean that validity tiles may be filtered
/// as if they had the attribute's type. Validity written here has bytes, and those libraries read
/// it as bytes; so in these cases the version before is used.
pub(super) fn writer_version(schema: &ArraySchema) -> FormatVersion {
    let may_be_typed = TileContext::validity(schema.version).typed_validity(Datatype::Uint64).is_some();
    let asks = schema.validity_filters.filters.iter().any(Filter::depends_on_type);
    match may_be_typed && asks && schema.fields().any(|field| field.nullable) {
        true => FormatVersion::before(Gate::TypedValidity),
        false => schema.version,
    }
}

impl FieldEncoder {
    pub(crate) fn new(schema: &ArraySchema, field: &Field<'_>, key: Option<&Key>) -> Result<Self> {
        let encoder = |pipeline: &Pipeline, datatype, cell_size: usize, var| {
            let context = TileContext {
                datatype,
                cell_size: to_u64(cell_size),
                schema_version: schema.version,
                fragment_version: schema.version,
                writer_version: writer_version(schema),
                var,
                string_mode: None,
            };
            pipeline.encoder_with_key(context, key).map_err(|error| {
                let error =
                    tdb_tile::Error { offset: 0, chunk: None, kind: tdb_tile::ErrorKind::Filter(error) };
                WriteError::Filter { field: field.name.to_owned(), error: error.into() }
            })
        };
        let size = field.datatype.size();
        let zipped = match field.kind {
            FieldKind::Dimension(_) if !schema.version.has(Gate::DimensionFiles) => {
                schema.domain.dimensions.len()
            }
            _ => 0,
        };
        let filters = schema.filters_in(field, schema.version);
        let (fixed, values) = match field.cell_size() {
            Some(cell_size) => {
                let cell_size = cell_size.saturating_mul(zipped.max(1));
                (encoder(filters, field.datatype, cell_size, false)?, None)
            }
            None => {
                let offsets = encoder(&schema.offsets_filters, Datatype::Uint64, 8, false)?;
                (offsets, Some(encoder(filters, field.datatype, size, true)?))
            }
        };
        let validity = field
            .nullable
            .then(|| encoder(&schema.validity_filters, Datatype::Uint8, 1, false))
            .transpose()?;
        let rule = match field.kind {
            FieldKind::Attribute(_) => Rule::attribute(field.datatype, field.cell_val_num, field.nullable),
            FieldKind::Dimension(_) => Rule::dimension(field.datatype, field.cell_val_num),
        };
        Ok(Self {
            kind: field.kind,
            name: field.name.to_owned(),
            datatype: field.datatype,
            cell_size: field.cell_size(),
            rule,
            fixed,
            values,
            validity,
            whole_cells: schema.version.has(Gate::WholeCellChunks),
            zipped,
        })
    }

    /// Whether cells may be null.
    pub(crate) const fn is_nullable(&self) -> bool {
        self.validity.is_some()
    }

    /// Filters a tile of a source, and computes its statistics.
    pub(crate) fn encode(
        &self,
        source: &dyn TileSource,
        tile: usize,
        worker: &mut EncodeBuffers<'_>,
    ) -> Result<EncodedTile> {
        let EncodeBuffers { room, encoding } = worker;
        if self.zipped > 0 {
            return self.encode_zipped(source, tile, room, encoding);
        }
        let cells = source.cells(self.kind, tile, room)?;
        self.encode_cells(&cells, encoding)
    }

    /// Filters the coordinates of all dimensions, one dimension after the other.
    fn encode_zipped(
        &self,
        source: &dyn TileSource,
        tile: usize,
        room: &mut TileBuffers,
        encoding: &mut EncodeScratch<'_>,
    ) -> Result<EncodedTile> {
        let (mut values, mut intervals, mut count) = (Vec::new(), Vec::new(), 0);
        for index in 0..self.zipped {
            let cells = source.cells(FieldKind::Dimension(index), tile, room)?;
            values.extend_from_slice(cells.values);
            let statistics = statistics::of_tile(self.rule, self.datatype, &cells, self.cell_size)?;
            intervals.extend(interval(&statistics));
            count = cells.count;
        }
        let size = to_u64(self.cell_size.or_internal("coordinates in one file without a size")?);
        let split = split::Cells::Coordinates { dimensions: to_u64(self.zipped), size };
        let fixed = encoding.encode(&self.fixed, &values, split);
        let fixed = fixed.map_err(|error| self.failed(error))?;
        let statistics = TileStatistics::default();
        Ok(EncodedTile { cells: count, fixed, values: None, validity: None, statistics, intervals })
    }

    fn failed(&self, error: tdb_tile::Error) -> WriteError {
        WriteError::Filter { field: self.name.clone(), error: error.into() }
    }

    fn encode_cells(&self, cells: &TileCells<'_>, encoding: &mut EncodeScratch<'_>) -> Result<EncodedTile> {
        let failed = |error| self.failed(error);
        if self.validity.is_some() && cells.validity.len() != cells.count {
            return Err(Error::internal("a tile of a nullable field without validity"));
        }
        let statistics = statistics::of_tile(self.rule, self.datatype, cells, self.cell_size)?;
        let intervals = match self.kind {
            // Fields with extremes of their own are not in the R-tree: the times of cells.
            FieldKind::Dimension(_) if !self.rule.extremes => interval(&statistics).into_iter().collect(),
            _ => Vec::new(),
        };
        let (fixed, values) = match &self.values {
            None => {
                let size = to_u64(self.cell_size.or_internal("cells of fixed size without a size")?);
                let tile = encoding.encode(&self.fixed, cells.values, split::Cells::Fixed { size });
                (tile.map_err(failed)?, None)
            }
            Some(encoder) if encoder.encodes_strings() => {
                let tile = encode_string_tile(encoder, cells.values, cells.offsets, &mut encoding.scratch);
                (EMPTY_TILE.to_vec(), Some(tile.map_err(failed)?))
            }
            Some(encoder) => {
                let mut bytes = mem::take(&mut encoding.offsets);
                bytes.resize(cells.offsets.len().saturating_mul(8), 0);
                for (place, offset) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(cells.offsets) {
                    *place = offset.to_le_bytes();
                }
                let offsets = encoding.encode(&self.fixed, &bytes, split::Cells::Fixed { size: 8 });
                encoding.offsets = bytes;
                let value_size = to_u64(self.datatype.size());
                let tile = match self.whole_cells {
                    true => {
                        let split = split::Cells::Var { offsets: cells.offsets, value_size };
                        encoding.encode(encoder, cells.values, split)
                    }
                    // libtiledb up to 2.6 split values anywhere, and rejects chunks without bytes.
                    false if cells.values.is_empty() => Ok(EMPTY_TILE.to_vec()),
                    false => {
                        let split = split::Cells::Fixed { size: value_size };
                        encoding.encode(encoder, cells.values, split)
                    }
                };
                (offsets.map_err(failed)?, Some(tile.map_err(failed)?))
            }
        };
        let validity = self.validity.as_ref();
        let validity = validity
            .map(|encoder| encoding.encode(encoder, cells.validity, split::Cells::Fixed { size: 1 }))
            .transpose()
            .map_err(failed)?;
        let values = values.map(|tile| (tile, to_u64(cells.values.len())));
        Ok(EncodedTile { cells: cells.count, fixed, values, validity, statistics, intervals })
    }
}

/// The interval that a dimension's coordinates in a tile span; `None` if there are none.
fn interval(statistics: &TileStatistics) -> Option<Range> {
    let (low, high) = statistics.extremes.clone()?;
    Some(Range::new(low, high))
}
