//! The encoded tiles of one data file: fetches them, and decodes them whole or in part.

use core::ops::Range;

use tdb_codec::Buffer;
use tdb_filters::{Decoder, Scratch};
use tdb_tile::{Chunk, ChunkJob, ChunkPlace, TileChunks};

use super::fetch::{announce, fetch, read_piece};
use super::partial_read::{ReadFault, TileSource};
use super::read_extent::ReadExtent;
use super::truncated::TruncatedTiles;
use super::work;
use crate::context::Context;
use crate::decode_buffers::{ChunkBuffers, DecodeResources, PooledBuffers};
use crate::fragment::{TileFile, TileLocation};
use crate::storage::StoredFile;
use crate::thresholds::{MAX_SHARED_CHUNK_BYTES, MAX_SHARED_CHUNKS};
use crate::{Error, OrInternal, Result, parallel};

/// The fault if a chunk, which is inside its tile, does not fit into the buffer for its tile.
const NO_ROOM: &str = "a chunk without room for its cells";

/// The open file of a tile, and the positions of its wanted chunks.
type FewChunks<'c> = (Box<dyn StoredFile + 'c>, Vec<ChunkPlace>);

/// A file of tiles, and how to decode them.
#[derive(Debug)]
pub(super) struct EncodedTiles {
    pub(super) file: TileFile,
    pub(super) decoder: Decoder,
    /// Set if tiles may lack cells.
    pub(super) truncated: Option<TruncatedTiles>,
    /// Whether writers give all chunks of a tile but the last one length, if no filter changes it:
    /// they do with cells of one size, but not with values of variable length, nor with the
    /// coordinates of several dimensions in one tile.
    pub(super) has_equal_chunks: bool,
}

impl EncodedTiles {
    /// The number of the `len` bytes of a tile that are stored.
    pub(super) fn stored(&self, tile: usize, chunks: &TileChunks<'_>, len: usize) -> usize {
        self.truncated.as_ref().map_or(len, |truncated| truncated.stored(tile, chunks.original_len(), len))
    }

    /// How much of a tile of `len` bytes is read. `runs` are the wanted bytes, where the caller
    /// takes no others.
    fn extent(
        &self,
        location: &TileLocation,
        len: usize,
        wanted: &mut impl FnMut(Range<usize>) -> bool,
        runs: Option<impl Iterator<Item = Range<usize>>>,
    ) -> ReadExtent {
        // A tile that should be empty may have bytes, which only the whole tile shows.
        if self.truncated.is_some() || len == 0 {
            return ReadExtent::Whole;
        }
        ReadExtent::of(location.stored_len(), len, wanted, runs.filter(|_| self.can_skip()))
    }

    /// Whether the place of a chunk follows from its number.
    pub(super) fn can_skip(&self) -> bool {
        self.has_equal_chunks && self.decoder.is_identity()
    }

    pub(super) fn decode(
        &self,
        context: &Context,
        tile: usize,
        out: &mut [u8],
        mut wanted: impl FnMut(Range<usize>) -> bool,
        DecodeResources { scratch, raw, threads }: DecodeResources<'_>,
    ) -> Result<()> {
        let location = self.file.tile(context, tile)?;
        if let Some((file, places)) = self.few(context, &location, out.len(), &mut wanted, raw)? {
            return self.decode_few(context, &location, (&*file, places), out, scratch, raw);
        }
        fetch(context, &location, raw)?;
        let (mut count, mut bytes) = (0usize, 0usize);
        let counted = |range: Range<usize>| {
            let len = range.len();
            let wanted = wanted(range);
            count += usize::from(wanted);
            bytes += if wanted { len } else { 0 };
            wanted
        };
        let wrong = |error| Error::from_tile(context.describe(&self.file.key), None, error);
        let chunks = TileChunks::parse(raw.as_slice(), location.range.start).map_err(wrong)?;
        let stored = self.stored(tile, &chunks, out.len());
        let split = out.split_at_mut_checked(stored);
        let (out, lacking) = split.or_internal("a tile without room for what is stored of it")?;
        lacking.fill(0);
        if threads < 2 || chunks.len() > MAX_SHARED_CHUNKS {
            let done = chunks.decode_where(&self.decoder, out, counted, scratch, &context.budget);
            context.counters.tile(count, bytes);
            return done.map_err(wrong);
        }
        let mut counted = counted;
        let jobs: Vec<_> = chunks.jobs(out).map_err(wrong)?.filter(|job| counted(job.range())).collect();
        context.counters.tile(count, bytes);
        self.run(context, jobs.into_iter(), (scratch, threads))
    }

    /// Decodes chunks, by several threads if that is worth it.
    pub(super) fn run<'c>(
        &self,
        context: &Context,
        mut jobs: impl Iterator<Item = ChunkJob<'c, 'c>>,
        (scratch, threads): (&mut Scratch, usize),
    ) -> Result<()> {
        let wrong = |error| Error::from_tile(context.describe(&self.file.key), None, error);
        let run = |job: ChunkJob<'c, 'c>, scratch: &mut Scratch| {
            job.run(&self.decoder, scratch, &context.budget).map_err(wrong)
        };
        if threads < 2 {
            return jobs.try_for_each(|job| run(job, scratch));
        }
        let jobs: Vec<_> = jobs.collect();
        let is_large = |job: &ChunkJob<'_, '_>| job.range().len() > MAX_SHARED_CHUNK_BYTES;
        let pieces = jobs.iter().map(|job| work(self.decoder.effort(), job.range().len()));
        if !parallel::can_be_shared(pieces) || jobs.iter().any(is_large) {
            return jobs.into_iter().try_for_each(|job| run(job, scratch));
        }
        parallel::run(threads, jobs, PooledBuffers::default, |job, buffers| run(job, &mut buffers.scratch))
            .map(drop)
    }

    /// Decodes the wanted chunks of a tile of `len` bytes into `out`. `out` begins at the first
    /// wanted chunk, or up to `size` bytes before it; this position in the tile is returned. So
    /// reading a few cells of a large tile does not take the memory of the whole tile.
    pub(super) fn decode_part(
        &self,
        context: &Context,
        tile: usize,
        (len, size): (usize, usize),
        out: &mut Buffer,
        mut wanted: impl FnMut(Range<usize>) -> bool,
        DecodeResources { scratch, raw, .. }: DecodeResources<'_>,
    ) -> Result<usize> {
        let location = self.file.tile(context, tile)?;
        let corrupt = |error| Error::from_tile(context.describe(&location.key), None, error);
        // Room for the chunks from the first to the last, in whole cells counted from the tile's
        // start.
        let room = |out: &mut Buffer, first: Option<Range<usize>>, last: Option<Range<usize>>| {
            let start = first.map_or(0, |range| range.start);
            let base = start - start.checked_rem(size).unwrap_or(0);
            // Chunks ascend: otherwise the slot of one of them is not in `out`.
            out.reset(last.map_or(base, |range| range.end).saturating_sub(base));
            base
        };
        let slot = |range: &Range<usize>, base: usize| {
            let slot = range.start.checked_sub(base).zip(range.end.checked_sub(base));
            slot.map(|(start, end)| start..end).or_internal(NO_ROOM)
        };
        if let Some((file, places)) = self.few(context, &location, len, &mut wanted, raw)? {
            let range = |place: Option<&ChunkPlace>| place.map(|place| place.output.clone());
            let base = room(out, range(places.first()), range(places.last()));
            context.counters.tile(places.len(), places.iter().map(|place| place.output.len()).sum());
            for place in places {
                read_piece(context, &location, &*file, &place.body, raw)?;
                let slot = slot(&place.output, base)?;
                let slot = out.as_mut_slice().get_mut(slot).or_internal(NO_ROOM)?;
                place
                    .decode(raw.as_slice(), &self.decoder, slot, scratch, &context.budget)
                    .map_err(corrupt)?;
            }
            return Ok(base);
        }
        fetch(context, &location, raw)?;
        let chunks = TileChunks::parse(raw.as_slice(), location.range.start).map_err(corrupt)?;
        let stored = self.stored(tile, &chunks, len);
        chunks.expect_len(stored).map_err(corrupt)?;
        let found: Vec<Chunk<'_>> = chunks.chunks().filter(|chunk| wanted(chunk.range())).collect();
        let lacking = (stored < len).then_some(stored..len);
        let last = lacking.clone().or_else(|| found.last().map(Chunk::range));
        let base = room(out, found.first().map(Chunk::range).or(lacking.clone()), last);
        if let Some(lacking) = lacking {
            let slot = slot(&lacking, base)?;
            let slot = out.as_mut_slice().get_mut(slot);
            slot.or_internal("a tile without room for the cells that it lacks")?.fill(0);
        }
        context.counters.tile(found.len(), found.iter().map(|chunk| chunk.range().len()).sum());
        for chunk in found {
            let slot = slot(&chunk.range(), base)?;
            let slot = out.as_mut_slice().get_mut(slot).or_internal(NO_ROOM)?;
            chunk.decode(&self.decoder, slot, scratch, &context.budget).map_err(corrupt)?;
        }
        Ok(base)
    }

    /// Decodes the wanted chunks of a tile of `len` bytes, one after another, and passes on each
    /// with its position in the tile. So data is copied out of a chunk while it is still in the
    /// cache, and bytes that no filter changed are not copied before. `runs` are the bytes that the
    /// caller takes out of the chunks, ascending: where no filter changed them and they lie far
    /// apart, nothing else is read and passed on.
    pub(super) fn visit(
        &self,
        context: &Context,
        tile: usize,
        len: usize,
        (mut wanted, runs): (impl FnMut(Range<usize>) -> bool, impl Iterator<Item = Range<usize>>),
        mut show: impl FnMut(Range<usize>, &[u8]),
        ChunkBuffers { scratch, raw, chunk: decoded }: ChunkBuffers<'_>,
    ) -> Result<()> {
        let location = self.file.tile(context, tile)?;
        let corrupt = |error| Error::from_tile(context.describe(&location.key), None, error);
        let (mut count, mut bytes) = (0usize, 0usize);
        let mut counted = |len: usize| {
            count += 1;
            bytes += len;
        };
        let extent = self.extent(&location, len, &mut wanted, Some(runs));
        if extent != ReadExtent::Whole {
            let fail = |error| Error::io(context.describe(&location.key), error);
            let file = context.storage.open(&location.key).map_err(fail)?;
            if let Some(file) = file.filter(|file| announce(&extent, &location, &**file)) {
                if let ReadExtent::Pieces { ranges, .. } = &extent {
                    let source = TileSource { file: &*file, tile: location.range.clone(), len };
                    let (chunks, bytes) =
                        source.visit(ranges, &mut show, raw).map_err(|fault| fault.of(context, &location))?;
                    context.counters.tile(chunks, bytes);
                    return Ok(());
                }
                if let Some(places) = self.places(context, &location, &*file, len, &mut wanted, raw)? {
                    for place in places {
                        read_piece(context, &location, &*file, &place.body, raw)?;
                        decoded.reset(place.output.len());
                        let out = decoded.as_mut_slice();
                        place
                            .decode(raw.as_slice(), &self.decoder, out, scratch, &context.budget)
                            .map_err(corrupt)?;
                        counted(place.output.len());
                        show(place.output.clone(), decoded.as_slice());
                    }
                    context.counters.tile(count, bytes);
                    return Ok(());
                }
            }
        }
        fetch(context, &location, raw)?;
        let chunks = TileChunks::parse(raw.as_slice(), location.range.start).map_err(corrupt)?;
        let stored = self.stored(tile, &chunks, len);
        chunks.expect_len(stored).map_err(corrupt)?;
        for chunk in chunks.chunks() {
            let range = chunk.range();
            if !wanted(range.clone()) {
                continue;
            }
            counted(range.len());
            if self.decoder.is_identity() && chunk.metadata.is_empty() && chunk.data.len() == range.len() {
                show(range, chunk.data);
                continue;
            }
            decoded.reset(range.len());
            chunk.decode(&self.decoder, decoded.as_mut_slice(), scratch, &context.budget).map_err(corrupt)?;
            show(range, decoded.as_slice());
        }
        if stored < len && wanted(stored..len) {
            decoded.reset(len - stored);
            decoded.as_mut_slice().fill(0);
            show(stored..len, decoded.as_slice());
        }
        context.counters.tile(count, bytes);
        Ok(())
    }

    /// The open file of a tile of which few chunks are wanted, and their positions; `None` if all
    /// of it is read.
    fn few<'c>(
        &self,
        context: &'c Context,
        location: &'c TileLocation,
        len: usize,
        wanted: &mut impl FnMut(Range<usize>) -> bool,
        raw: &mut Buffer,
    ) -> Result<Option<FewChunks<'c>>> {
        if self.extent(location, len, wanted, None::<core::iter::Empty<_>>) != ReadExtent::Chunks {
            return Ok(None);
        }
        let file = context.storage.open(&location.key);
        let fail = |error| Error::io(context.describe(&location.key), error);
        let Some(file) = file.map_err(fail)? else { return Ok(None) };
        Ok(self.places(context, location, &*file, len, wanted, raw)?.map(|places| (file, places)))
    }

    /// The positions of the wanted chunks; `None` if a list of them would take more memory than the
    /// tile.
    fn places(
        &self,
        context: &Context,
        location: &TileLocation,
        file: &dyn StoredFile,
        len: usize,
        wanted: impl FnMut(Range<usize>) -> bool,
        raw: &mut Buffer,
    ) -> Result<Option<Vec<ChunkPlace>>> {
        let source = TileSource { file, tile: location.range.clone(), len };
        source.places(self.can_skip(), wanted, raw).map_err(|fault| fault.of(context, location))
    }

    /// Decodes only these chunks, and reads no others.
    fn decode_few(
        &self,
        context: &Context,
        location: &TileLocation,
        (file, places): (&dyn StoredFile, Vec<ChunkPlace>),
        out: &mut [u8],
        scratch: &mut Scratch,
        raw: &mut Buffer,
    ) -> Result<()> {
        let (mut count, mut bytes) = (0usize, 0usize);
        for place in places {
            read_piece(context, location, file, &place.body, raw)?;
            let slot = out.get_mut(place.output.clone()).or_internal(NO_ROOM)?;
            place
                .decode(raw.as_slice(), &self.decoder, slot, scratch, &context.budget)
                .map_err(|error| Error::from_tile(context.describe(&location.key), None, error))?;
            count += 1;
            bytes += place.output.len();
        }
        context.counters.tile(count, bytes);
        Ok(())
    }
}

impl ReadFault {
    /// The error of a tile that could not be read.
    pub(super) fn of(self, context: &Context, location: &TileLocation) -> Error {
        match self {
            Self::Format(error) => Error::from_tile(context.describe(&location.key), None, error),
            Self::Read(range, error) => Error::short_read(context.describe(&location.key), &range, error),
            Self::Internal(error) => error.into(),
        }
    }
}
