//! Tiles of one field of one fragment: fetched, decoded, checked.

use core::ops::Range;

use tdb_codec::{Buffer, CellValNum, Datatype, Gate, to_u64, to_usize};
use tdb_filters::{Decoder, Filter, Overrides, Pipeline, Scratch, TileContext};
use tdb_fragment::DataFilePart;
use tdb_schema::FieldKind;
use tdb_tile::{Chunk, ChunkPlace, ChunkWalk, TileChunks};

use std::sync::Arc;

use crate::context::Context;
use crate::fragment::{Fragment, TileFile, TileLocation};
use crate::storage::StoredFile;
use crate::worker::{Tools, Worker};
use crate::{Error, Result};

/// Reads longer than this are compared with the file's real size before memory is set aside for them.
const TRUSTED_READ: usize = 16 << 20;

/// A file of tiles and how to decode them.
#[derive(Debug)]
struct Coded {
    file: TileFile,
    decoder: Decoder,
}

/// How a fragment stores a dimension's coordinates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CoordsPart {
    /// In a file of its own.
    Alone,
    /// As the `index`-th of `count` runs of values in a `__coords` tile.
    Split { index: usize, count: usize },
    /// As the `index`-th value of each tuple of `count`.
    Zipped { index: usize, count: usize },
}

/// The tiles of one field of one fragment.
#[derive(Debug)]
pub(crate) struct FieldTiles {
    pub(crate) datatype: Datatype,
    pub(crate) cell_val_num: CellValNum,
    fixed: Coded,
    values: Option<(Coded, Arc<Vec<u64>>)>,
    /// For fields whose filters may hold the strings' lengths: how to decode values that do.
    strings: Option<Decoder>,
    validity: Option<Coded>,
    coords: CoordsPart,
}

/// A decoded tile of a var-length field: cell `i` is `values[starts[i]..starts[i] + lens[i]]`.
#[derive(Debug, Default)]
pub(crate) struct VarTile {
    /// One more than there are cells.
    pub(crate) offsets: Vec<u64>,
    pub(crate) values: Buffer,
}

impl VarTile {
    /// Length of each cell in bytes.
    pub(crate) fn lengths(&self) -> impl Iterator<Item = u64> {
        self.offsets
            .windows(2)
            .map(|pair| pair.last().zip(pair.first()).map_or(0, |(end, start)| end.saturating_sub(*start)))
    }
}

impl FieldTiles {
    /// The tiles of the field `kind` of the fragment's own schema.
    pub(crate) fn open(context: &Context, fragment: &Fragment, kind: FieldKind) -> Result<Self> {
        let schema = fragment.schema();
        let Some(field) = schema.field_of(kind) else {
            let detail = format!("{kind:?} is not in the fragment's schema");
            return Err(Error::inconsistent(context.describe(fragment.metadata_key()), "field", 0, detail));
        };
        let version = fragment.version();
        let tile = |datatype: Datatype, cell_size: usize, var| TileContext {
            datatype,
            cell_size: to_u64(cell_size),
            schema_version: schema.version,
            fragment_version: version,
            var,
            overrides: Overrides::default(),
        };
        let open = |part, pipeline: &Pipeline, tile| -> Result<Coded> {
            let file = fragment.file(context, kind, part)?;
            let decoder = decoder(context, &file.key, field.name, pipeline, tile)?;
            Ok(Coded { file, decoder })
        };
        let size = field.datatype.size();
        let old_coords = matches!(kind, FieldKind::Dimension(_)) && !version.has(Gate::DimensionFiles);
        let coords = match kind {
            FieldKind::Dimension(index) if old_coords => {
                let count = schema.domain.dimensions.len();
                let compressed = schema.coords_filters.filters.iter().any(is_compressor);
                if version.has(Gate::SplitCoordinates) || compressed {
                    CoordsPart::Split { index, count }
                } else {
                    CoordsPart::Zipped { index, count }
                }
            }
            _ => CoordsPart::Alone,
        };
        let filters = schema.filters_in(&field, version);
        let mut strings = None;
        let (fixed, values) = match field.cell_size() {
            None => {
                let fixed =
                    open(DataFilePart::Fixed, &schema.offsets_filters, tile(Datatype::Uint64, 8, false))?;
                let file = fragment.file(context, kind, DataFilePart::Var)?;
                let mut plain = tile(field.datatype, size, true);
                plain.overrides.string_mode = Some(false);
                let mut lengths = plain;
                lengths.overrides.string_mode = Some(true);
                if stores_strings(filters, field.datatype) {
                    strings = decoder(context, &file.key, field.name, filters, lengths).ok();
                }
                // The dictionary filter has no plain mode: values without offsets are then all there can be.
                let decoder = match (decoder(context, &file.key, field.name, filters, plain), &strings) {
                    (Err(_), Some(strings)) => strings.clone(),
                    (plain, _) => plain?,
                };
                (fixed, Some((Coded { file, decoder }, fragment.var_sizes(context, kind)?)))
            }
            Some(cell_size) => {
                let tuple = match coords {
                    CoordsPart::Alone => cell_size,
                    CoordsPart::Split { count, .. } | CoordsPart::Zipped { count, .. } => {
                        cell_size.saturating_mul(count)
                    }
                };
                (open(DataFilePart::Fixed, filters, tile(field.datatype, tuple, false))?, None)
            }
        };
        let validity = if field.nullable {
            Some(open(DataFilePart::Validity, &schema.validity_filters, tile(Datatype::Uint8, 1, false))?)
        } else {
            None
        };
        let (datatype, cell_val_num) = (field.datatype, field.cell_val_num);
        Ok(Self { datatype, cell_val_num, fixed, values, strings, validity, coords })
    }

    /// The cell timestamps of a fragment, if it has them, as a field of one `u64` a cell.
    pub(crate) fn timestamps(context: &Context, fragment: &Fragment) -> Result<Option<Self>> {
        let file = fragment.timestamps_file(context)?;
        file.map(|file| Self::system(context, fragment, file, "__timestamps")).transpose()
    }

    /// When each cell of a fragment was deleted, if it knows, as a field of one `u64` a cell.
    pub(crate) fn delete_timestamps(context: &Context, fragment: &Fragment) -> Result<Option<Self>> {
        let file = fragment.delete_timestamps_file(context)?;
        file.map(|file| Self::system(context, fragment, file, "__delete_timestamps")).transpose()
    }

    fn system(context: &Context, fragment: &Fragment, file: TileFile, name: &str) -> Result<Self> {
        let schema = fragment.schema();
        let tile = TileContext {
            datatype: Datatype::Uint64,
            cell_size: 8,
            schema_version: schema.version,
            fragment_version: fragment.version(),
            var: false,
            overrides: Overrides::default(),
        };
        let decoder = decoder(context, &file.key, name, &schema.coords_filters, tile)?;
        Ok(Self {
            datatype: Datatype::Uint64,
            cell_val_num: CellValNum::ONE,
            fixed: Coded { file, decoder },
            values: None,
            strings: None,
            validity: None,
            coords: CoordsPart::Alone,
        })
    }

    /// Number of tiles.
    pub(crate) fn tile_count(&self) -> usize {
        self.fixed.file.tile_count()
    }

    /// Reads of the storage that a tile takes, and its stored bytes.
    pub(crate) fn cost(&self, context: &Context, tile: usize) -> Result<(u64, u64)> {
        let values = self.values.as_ref().map(|(values, _)| values);
        let parts = [Some(&self.fixed), values, self.validity.as_ref()];
        let (mut requests, mut bytes) = (0u64, 0u64);
        for part in parts.into_iter().flatten() {
            let range = part.file.tile(context, tile)?.range;
            requests = requests.saturating_add(1);
            bytes = bytes.saturating_add(range.end.saturating_sub(range.start));
        }
        Ok((requests, bytes))
    }

    /// Bytes of the values of a tile of a var-length field; 0 for others.
    pub(crate) fn var_size(&self, tile: usize) -> u64 {
        self.values.as_ref().and_then(|(_, sizes)| sizes.get(tile)).copied().unwrap_or(0)
    }

    /// Bytes of a cell; of an offset for var-length fields.
    pub(crate) fn cell_size(&self) -> usize {
        match self.cell_val_num {
            CellValNum::Fixed(count) => {
                usize::try_from(count.get()).unwrap_or(usize::MAX).saturating_mul(self.datatype.size())
            }
            CellValNum::Var => 8,
        }
    }

    /// Whether cells may be null.
    pub(crate) const fn is_nullable(&self) -> bool {
        self.validity.is_some()
    }

    /// Decodes a tile of a fixed-size field into `out`, which is exactly its cells. Only chunks whose byte range
    /// `wanted` accepts are decoded; the rest of `out` is left as it is.
    pub(crate) fn decode_fixed(
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

    /// Decodes the chunks of a tile of `len` bytes of a fixed-size field that are wanted. `out` begins at the byte of the
    /// tile that is returned, a whole number of cells of `size` bytes.
    pub(crate) fn decode_fixed_part(
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

    /// The same of the validity bytes of a tile of a nullable field.
    pub(crate) fn decode_validity_part(
        &self,
        context: &Context,
        tile: usize,
        cells: usize,
        out: &mut Buffer,
        wanted: impl FnMut(Range<usize>) -> bool,
        worker: &mut Worker,
    ) -> Result<usize> {
        let Some(validity) = &self.validity else {
            out.reset(cells);
            out.as_mut_slice().fill(1);
            return Ok(0);
        };
        let Tools { scratch, raw, .. } = &mut **worker;
        validity.decode_part(context, tile, (cells, 1), out, wanted, scratch, raw)
    }

    /// Decodes the validity bytes of a tile of a nullable field.
    pub(crate) fn decode_validity(
        &self,
        context: &Context,
        tile: usize,
        out: &mut [u8],
        wanted: impl FnMut(Range<usize>) -> bool,
        worker: &mut Worker,
    ) -> Result<()> {
        match &self.validity {
            Some(validity) => {
                let Tools { scratch, raw, .. } = &mut **worker;
                validity.decode(context, tile, out, wanted, scratch, raw)
            }
            None => {
                out.fill(1);
                Ok(())
            }
        }
    }

    /// Decodes a tile of `cells` cells of a var-length field.
    pub(crate) fn decode_var(
        &self,
        context: &Context,
        tile: usize,
        cells: usize,
        into: &mut VarTile,
        worker: &mut Worker,
    ) -> Result<()> {
        let Some((values, sizes)) = &self.values else { return Ok(()) };
        let Tools { scratch, raw, offsets, .. } = &mut **worker;
        let describe = |coded: &Coded| context.describe(&coded.file.key);
        let size = sizes.get(tile).copied().unwrap_or(0);
        let location = values.file.tile(context, tile)?;
        let too_large = |size: u64| {
            let detail = format!("tile {tile} has {size} bytes, which is over the limit");
            Error::inconsistent(describe(values), "tile var sizes", location.range.start, detail)
        };
        if size > context.limits.tile_bytes {
            return Err(too_large(size));
        }
        let size = to_usize(size).ok_or_else(|| too_large(size))?;

        // An offsets tile without chunks, although there are cells: the values hold the strings' lengths.
        let at = self.fixed.file.tile(context, tile)?;
        fetch(context, &at, raw)?;
        let chunks = TileChunks::parse(raw.as_slice(), at.range.start)
            .map_err(|error| Error::from_tile(describe(&self.fixed), None, error))?;
        if chunks.is_empty() && cells > 0 {
            let strings = self.strings.as_ref();
            return decode_strings(context, values, strings, &location, (size, cells), into, (scratch, raw));
        }
        let len = context.tile_len(cells, 8)?;
        chunks.expect_len(len).map_err(|error| Error::from_tile(describe(&self.fixed), None, error))?;
        offsets.reset(len);
        chunks
            .decode(&self.fixed.decoder, offsets.as_mut_slice(), scratch, &context.budget)
            .map_err(|error| Error::from_tile(describe(&self.fixed), None, error))?;
        context.counters.tile(chunks.len(), len);
        into.offsets.clear();
        into.offsets.extend(offsets.as_slice().as_chunks::<8>().0.iter().map(|o| u64::from_le_bytes(*o)));
        into.offsets.push(to_u64(size));
        if let Some(cell) = into.offsets.windows(2).position(|pair| pair.first() > pair.last()) {
            let detail = format!("the offset of cell {cell} of tile {tile} is past the one after it");
            return Err(Error::inconsistent(describe(&self.fixed), "offsets", at.range.start, detail));
        }
        if into.offsets.first().is_some_and(|first| *first != 0 && cells > 0) {
            let detail = format!("the first offset of tile {tile} is not 0");
            return Err(Error::inconsistent(describe(&self.fixed), "offsets", at.range.start, detail));
        }
        into.values.reset(size);
        values.decode(context, tile, into.values.as_mut_slice(), |_| true, scratch, raw)
    }
}

/// Decodes a tile of values that hold the strings' lengths.
fn decode_strings(
    context: &Context,
    values: &Coded,
    decoder: Option<&Decoder>,
    location: &TileLocation,
    (size, cells): (usize, usize),
    into: &mut VarTile,
    (scratch, raw): (&mut Scratch, &mut Buffer),
) -> Result<()> {
    let path = || context.describe(&values.file.key);
    let bad = |detail: String| Error::inconsistent(path(), "strings", location.range.start, detail);
    let Some(decoder) = decoder else {
        return Err(bad(format!("{cells} cells without offsets, and no filter that holds their lengths")));
    };
    fetch(context, location, raw)?;
    let decoded = TileChunks::parse(raw.as_slice(), location.range.start)
        .and_then(|chunks| chunks.decode_strings(decoder, scratch, &context.budget));
    let (bytes, offsets) = decoded.map_err(|error| Error::from_tile(path(), None, error))?;
    context.counters.tile(1, bytes.len());
    if offsets.len() != cells || bytes.len() != size {
        let (strings, found) = (offsets.len(), bytes.len());
        return Err(bad(format!("{strings} strings of {found} bytes where {cells} of {size} were promised")));
    }
    into.offsets = offsets;
    into.offsets.push(to_u64(size));
    into.values.reset(size);
    into.values.as_mut_slice().copy_from_slice(&bytes);
    Ok(())
}

impl Coded {
    fn decode(
        &self,
        context: &Context,
        tile: usize,
        out: &mut [u8],
        mut wanted: impl FnMut(Range<usize>) -> bool,
        scratch: &mut Scratch,
        raw: &mut Buffer,
    ) -> Result<()> {
        let location = self.file.tile(context, tile)?;
        if few_are_wanted(&location, out.len(), &mut wanted) {
            let file = context.storage.open(&location.key);
            let fail = |error| Error::io(context.describe(&location.key), error);
            if let Some(file) = file.map_err(fail)? {
                return self.decode_few(context, &location, &*file, out, wanted, scratch, raw);
            }
        }
        fetch(context, &location, raw)?;
        let (mut count, mut bytes) = (0usize, 0usize);
        let counted = |range: Range<usize>| {
            let len = range.len();
            let wanted = wanted(range);
            count = count.saturating_add(usize::from(wanted));
            bytes = bytes.saturating_add(if wanted { len } else { 0 });
            wanted
        };
        let chunks = TileChunks::parse(raw.as_slice(), location.range.start)
            .and_then(|chunks| chunks.decode_where(&self.decoder, out, counted, scratch, &context.budget));
        context.counters.tile(count, bytes);
        chunks.map_err(|error| Error::from_tile(context.describe(&self.file.key), None, error))
    }

    /// Decodes the chunks of a tile of `len` bytes that are wanted into `out`, which begins where the first of them does,
    /// or up to `size` bytes before: where that is, in the tile. So a few cells of a large tile cost no memory for it.
    #[expect(clippy::too_many_arguments, reason = "what to read, from where, to where, with what")]
    fn decode_part(
        &self,
        context: &Context,
        tile: usize,
        (len, size): (usize, usize),
        out: &mut Buffer,
        mut wanted: impl FnMut(Range<usize>) -> bool,
        scratch: &mut Scratch,
        raw: &mut Buffer,
    ) -> Result<usize> {
        let location = self.file.tile(context, tile)?;
        let corrupt = |error| Error::from_tile(context.describe(&location.key), None, error);
        // Room for chunks from the first to the last, in whole cells from the tile's start on.
        let room = |out: &mut Buffer, first: Option<Range<usize>>, last: Option<Range<usize>>| {
            let start = first.map_or(0, |range| range.start);
            let base = start.saturating_sub(start.checked_rem(size).unwrap_or(0));
            out.reset(last.map_or(base, |range| range.end).saturating_sub(base));
            base
        };
        let slot = |out: &'_ mut Buffer, range: &Range<usize>, base: usize| {
            range.start.saturating_sub(base)..range.end.saturating_sub(base).min(out.len())
        };
        if few_are_wanted(&location, len, &mut wanted) {
            let fail = |error| Error::io(context.describe(&location.key), error);
            if let Some(file) = context.storage.open(&location.key).map_err(fail)? {
                let places = self.places(context, &location, &*file, len, wanted, raw)?;
                let range = |place: Option<&ChunkPlace>| place.map(|place| place.output.clone());
                let base = room(out, range(places.first()), range(places.last()));
                context.counters.tile(places.len(), places.iter().map(|place| place.output.len()).sum());
                for place in places {
                    read_piece(context, &location, &*file, &place.body, raw)?;
                    let slot = slot(out, &place.output, base);
                    let slot = out.as_mut_slice().get_mut(slot).unwrap_or_default();
                    place
                        .decode(raw.as_slice(), &self.decoder, slot, scratch, &context.budget)
                        .map_err(corrupt)?;
                }
                return Ok(base);
            }
        }
        fetch(context, &location, raw)?;
        let chunks = TileChunks::parse(raw.as_slice(), location.range.start).map_err(corrupt)?;
        chunks.expect_len(len).map_err(corrupt)?;
        let found: Vec<Chunk<'_>> = chunks.chunks().filter(|chunk| wanted(chunk.range())).collect();
        let base = room(out, found.first().map(Chunk::range), found.last().map(Chunk::range));
        context.counters.tile(found.len(), found.iter().map(|chunk| chunk.range().len()).sum());
        for chunk in found {
            let slot = slot(out, &chunk.range(), base);
            let slot = out.as_mut_slice().get_mut(slot).unwrap_or_default();
            chunk.decode(&self.decoder, slot, scratch, &context.budget).map_err(corrupt)?;
        }
        Ok(base)
    }

    /// Where the wanted chunks are: their headers say where each begins, and are read one by one.
    fn places(
        &self,
        context: &Context,
        location: &TileLocation,
        file: &dyn StoredFile,
        len: usize,
        mut wanted: impl FnMut(Range<usize>) -> bool,
        raw: &mut Buffer,
    ) -> Result<Vec<ChunkPlace>> {
        let mut walk = ChunkWalk::new(location.range.clone(), len);
        let mut places = Vec::new();
        while let Some(range) = walk.needs() {
            read_piece(context, location, file, &range, raw)?;
            let place = walk.feed(raw.as_slice());
            let place =
                place.map_err(|error| Error::from_tile(context.describe(&location.key), None, error))?;
            places.extend(place.filter(|place| wanted(place.output.clone())));
        }
        Ok(places)
    }

    /// Decodes the wanted chunks only, and reads no others.
    #[expect(clippy::too_many_arguments, reason = "what to read, from where, to where, with what")]
    fn decode_few(
        &self,
        context: &Context,
        location: &TileLocation,
        file: &dyn StoredFile,
        out: &mut [u8],
        wanted: impl FnMut(Range<usize>) -> bool,
        scratch: &mut Scratch,
        raw: &mut Buffer,
    ) -> Result<()> {
        let (mut count, mut bytes) = (0usize, 0usize);
        for place in self.places(context, location, file, out.len(), wanted, raw)? {
            read_piece(context, location, file, &place.body, raw)?;
            let slot = out.get_mut(place.output.clone()).unwrap_or_default();
            place
                .decode(raw.as_slice(), &self.decoder, slot, scratch, &context.budget)
                .map_err(|error| Error::from_tile(context.describe(&location.key), None, error))?;
            count = count.saturating_add(1);
            bytes = bytes.saturating_add(place.output.len());
        }
        context.counters.tile(count, bytes);
        Ok(())
    }
}

/// Reads a range of a tile into `raw`.
fn read_piece(
    context: &Context,
    location: &TileLocation,
    file: &dyn StoredFile,
    range: &Range<u64>,
    raw: &mut Buffer,
) -> Result<()> {
    let len = to_usize(range.end.saturating_sub(range.start)).unwrap_or(usize::MAX);
    raw.reset(len);
    file.read_into(range.start, raw.as_mut_slice())
        .map_err(|error| Error::short_read(context.describe(&location.key), range, error))
}

/// Tiles of fewer stored bytes than this are read whole: one read costs less than many small ones.
const SMALL_TILE: u64 = 128 << 10;
/// Bytes of cells most chunks hold.
const USUAL_CHUNK: usize = 64 << 10;

/// Whether so few chunks of a large tile are wanted that walking its headers costs less than reading it.
fn few_are_wanted(
    location: &TileLocation,
    len: usize,
    wanted: &mut impl FnMut(Range<usize>) -> bool,
) -> bool {
    if location.range.end.saturating_sub(location.range.start) < SMALL_TILE {
        return false;
    }
    let chunks = len.div_ceil(USUAL_CHUNK);
    let starts = (0..len).step_by(USUAL_CHUNK);
    let found = starts.filter(|start| wanted(*start..len.min(start.saturating_add(USUAL_CHUNK)))).count();
    found.saturating_mul(3) <= chunks
}

/// Reads a tile's bytes into `raw`.
fn fetch(context: &Context, location: &TileLocation, raw: &mut Buffer) -> Result<()> {
    let fail = |error| Error::io(context.describe(&location.key), error);
    let len = location.range.end.saturating_sub(location.range.start);
    let len = to_usize(len).ok_or_else(|| fail(std::io::ErrorKind::OutOfMemory.into()))?;
    if len > TRUSTED_READ && len > raw.capacity() {
        let (size, _) = context.storage.read_tail(&location.key, 0).map_err(fail)?;
        crate::storage::range_len(&location.range, size).map_err(fail)?;
    }
    raw.reset(len);
    context
        .storage
        .read_into(&location.key, location.range.start, raw.as_mut_slice())
        .map_err(|error| Error::short_read(context.describe(&location.key), &location.range, error))
}

fn decoder(
    context: &Context,
    key: &str,
    field: &str,
    pipeline: &Pipeline,
    tile: TileContext,
) -> Result<Decoder> {
    pipeline
        .decoder_with_key(tile, context.key.as_ref())
        .map_err(|error| Error::unsupported(context.describe(key), error.in_field(field).to_string()))
}

/// Whether a var-length field's filters may hold the strings' lengths (specification, "RLE", "Dictionary").
fn stores_strings(pipeline: &Pipeline, datatype: Datatype) -> bool {
    matches!(datatype, Datatype::StringAscii | Datatype::StringUtf8)
        && pipeline
            .filters
            .iter()
            .any(|filter| matches!(filter, Filter::Rle { .. } | Filter::Dictionary { .. }))
}

fn is_compressor(filter: &Filter) -> bool {
    tdb_filters::registry::by_code(filter.code()).is_some_and(|row| row.compressor.is_some())
}

fn copy_checked(from: Option<&[u8]>, to: &mut [u8]) {
    if let Some(from) = from.filter(|from| from.len() == to.len()) {
        to.copy_from_slice(from);
    }
}
