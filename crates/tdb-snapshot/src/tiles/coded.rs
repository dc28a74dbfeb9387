//! The tiles of one file: fetched, and decoded whole or in part.

use core::ops::Range;

use tdb_codec::{Buffer, to_u64, to_usize};
use tdb_filters::{Decoder, Scratch};
use tdb_tile::{Chunk, ChunkJob, ChunkPlace, TileChunks};

use super::pieces::{Extent, USUAL_CHUNK};
use super::short::Short;
use super::stream::{Fault, Source};
use super::work;
use crate::context::Context;
use crate::fragment::{TileFile, TileLocation};
use crate::storage::StoredFile;
use crate::worker::{Hands, Worker};
use crate::{Error, OrInternal, Result, parallel};

/// The length of a longer read is compared with the file's real size before memory is allocated for
/// it.
const TRUSTED_READ: usize = 16 << 20;

/// Of a tile of more chunks, one after the other is decoded: a list of all of them would take too
/// much memory.
pub(super) const MOST_SHARED: usize = 1 << 16;
/// So are longer chunks: filters need memory for each that is being decoded.
const LARGEST_SHARED: usize = 4 << 20;

/// What is wrong if a chunk, which is inside its tile, does not fit where it is decoded to.
const NO_ROOM: &str = "a chunk without room for its cells";

/// The open file of a tile, and where its wanted chunks are.
type FewChunks<'c> = (Box<dyn StoredFile + 'c>, Vec<ChunkPlace>);

/// A file of tiles, and how to decode them.
#[derive(Debug)]
pub(super) struct Coded {
    pub(super) file: TileFile,
    pub(super) decoder: Decoder,
    /// Where tiles may lack cells.
    pub(super) short: Option<Short>,
    /// Whether writers give all chunks of a tile but the last one length, if no filter changes it:
    /// they do with cells of one size, but not with values of variable length, nor with the
    /// coordinates of several dimensions in one tile.
    pub(super) has_equal_chunks: bool,
}

impl Coded {
    /// The number of the `len` bytes of a tile that are stored.
    pub(super) fn stored(&self, tile: usize, chunks: &TileChunks<'_>, len: usize) -> usize {
        self.short.as_ref().map_or(len, |short| short.stored(tile, chunks.original_len(), len))
    }

    /// How much of a tile of `len` bytes is read. `runs` are the wanted bytes, where the caller
    /// takes no others.
    fn extent(
        &self,
        location: &TileLocation,
        len: usize,
        wanted: &mut impl FnMut(Range<usize>) -> bool,
        runs: Option<impl Iterator<Item = Range<usize>>>,
    ) -> Extent {
        // What should be empty may not be: only the whole tile tells.
        if self.short.is_some() || len == 0 {
            return Extent::Whole;
        }
        let stored = location.range.end.saturating_sub(location.range.start);
        Extent::of(stored, len, wanted, runs.filter(|_| self.can_skip()))
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
        Hands { scratch, raw, threads }: Hands<'_>,
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
            count = count.saturating_add(usize::from(wanted));
            bytes = bytes.saturating_add(if wanted { len } else { 0 });
            wanted
        };
        let wrong = |error| Error::from_tile(context.describe(&self.file.key), None, error);
        let chunks = TileChunks::parse(raw.as_slice(), location.range.start).map_err(wrong)?;
        let stored = self.stored(tile, &chunks, out.len());
        let split = out.split_at_mut_checked(stored);
        let (out, lacking) = split.or_internal("a tile without room for what is stored of it")?;
        lacking.fill(0);
        if threads < 2 || chunks.len() > MOST_SHARED {
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
        let is_large = |job: &ChunkJob<'_, '_>| job.range().len() > LARGEST_SHARED;
        let pieces = jobs.iter().map(|job| work(self.decoder.effort(), job.range().len()));
        if !parallel::can_be_shared(pieces) || jobs.iter().any(is_large) {
            return jobs.into_iter().try_for_each(|job| run(job, scratch));
        }
        parallel::run(threads, jobs, Worker::default, |job, worker| run(job, &mut worker.scratch)).map(drop)
    }

    /// Decodes the wanted chunks of a tile of `len` bytes into `out`. `out` begins at the first
    /// wanted chunk, or up to `size` bytes before it; this position in the tile is returned. So
    /// reading a few cells of a large tile does not take the memory of the whole tile.
    #[expect(clippy::too_many_arguments, reason = "what to read, from where, to where, with what")]
    pub(super) fn decode_part(
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
        // Room for the chunks from the first to the last, in whole cells counted from the tile's
        // start.
        let room = |out: &mut Buffer, first: Option<Range<usize>>, last: Option<Range<usize>>| {
            let start = first.map_or(0, |range| range.start);
            let base = start.saturating_sub(start.checked_rem(size).unwrap_or(0));
            out.reset(last.map_or(base, |range| range.end).saturating_sub(base));
            base
        };
        let slot = |out: &'_ mut Buffer, range: &Range<usize>, base: usize| {
            range.start.saturating_sub(base)..range.end.saturating_sub(base).min(out.len())
        };
        if let Some((file, places)) = self.few(context, &location, len, &mut wanted, raw)? {
            let range = |place: Option<&ChunkPlace>| place.map(|place| place.output.clone());
            let base = room(out, range(places.first()), range(places.last()));
            context.counters.tile(places.len(), places.iter().map(|place| place.output.len()).sum());
            for place in places {
                read_piece(context, &location, &*file, &place.body, raw)?;
                let slot = slot(out, &place.output, base);
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
            let slot = slot(out, &lacking, base);
            let slot = out.as_mut_slice().get_mut(slot);
            slot.or_internal("a tile without room for the cells that it lacks")?.fill(0);
        }
        context.counters.tile(found.len(), found.iter().map(|chunk| chunk.range().len()).sum());
        for chunk in found {
            let slot = slot(out, &chunk.range(), base);
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
    #[expect(clippy::too_many_arguments, reason = "what to read, from where, to where, with what")]
    pub(super) fn visit(
        &self,
        context: &Context,
        tile: usize,
        len: usize,
        (mut wanted, runs): (impl FnMut(Range<usize>) -> bool, impl Iterator<Item = Range<usize>>),
        mut show: impl FnMut(Range<usize>, &[u8]),
        scratch: &mut Scratch,
        (raw, room): (&mut Buffer, &mut Buffer),
    ) -> Result<()> {
        let location = self.file.tile(context, tile)?;
        let corrupt = |error| Error::from_tile(context.describe(&location.key), None, error);
        let (mut count, mut bytes) = (0usize, 0usize);
        let mut counted = |len: usize| {
            count = count.saturating_add(1);
            bytes = bytes.saturating_add(len);
        };
        let extent = self.extent(&location, len, &mut wanted, Some(runs));
        if extent != Extent::Whole {
            let fail = |error| Error::io(context.describe(&location.key), error);
            let file = context.storage.open(&location.key).map_err(fail)?;
            if let Some(file) = file.filter(|file| announce(&extent, &location, &**file)) {
                if let Extent::Pieces { ranges, .. } = &extent {
                    let source = Source { file: &*file, tile: location.range.clone(), len };
                    let (chunks, bytes) =
                        source.visit(ranges, &mut show, raw).map_err(|fault| fault.of(context, &location))?;
                    context.counters.tile(chunks, bytes);
                    return Ok(());
                }
                if let Some(places) = self.places(context, &location, &*file, len, &mut wanted, raw)? {
                    for place in places {
                        read_piece(context, &location, &*file, &place.body, raw)?;
                        room.reset(place.output.len());
                        let out = room.as_mut_slice();
                        place
                            .decode(raw.as_slice(), &self.decoder, out, scratch, &context.budget)
                            .map_err(corrupt)?;
                        counted(place.output.len());
                        show(place.output.clone(), room.as_slice());
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
            room.reset(range.len());
            chunk.decode(&self.decoder, room.as_mut_slice(), scratch, &context.budget).map_err(corrupt)?;
            show(range, room.as_slice());
        }
        if stored < len && wanted(stored..len) {
            room.reset(len.saturating_sub(stored));
            room.as_mut_slice().fill(0);
            show(stored..len, room.as_slice());
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
        if self.extent(location, len, wanted, None::<core::iter::Empty<_>>) != Extent::Chunks {
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
        let source = Source { file, tile: location.range.clone(), len };
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
            count = count.saturating_add(1);
            bytes = bytes.saturating_add(place.output.len());
        }
        context.counters.tile(count, bytes);
        Ok(())
    }
}

impl Fault {
    /// The error of a tile that could not be read.
    pub(super) fn of(self, context: &Context, location: &TileLocation) -> Error {
        match self {
            Self::Format(error) => Error::from_tile(context.describe(&location.key), None, error),
            Self::Read(range, error) => Error::short_read(context.describe(&location.key), &range, error),
            Self::Internal(error) => error.into(),
        }
    }
}

/// Tells the file what is going to be read of it in small parts. `false` if that may take much
/// longer than one read of all, because the file does not read ahead.
fn announce(extent: &Extent, location: &TileLocation, file: &dyn StoredFile) -> bool {
    let Extent::Pieces { ranges, else_whole } = extent else { return true };
    let (first, last) =
        (ranges.first().map_or(0, |range| range.start), ranges.last().map_or(0, |range| range.end));
    if *else_whole {
        // One range is read in order, which file systems notice.
        let end = if ranges.len() > 1 { location.range.end } else { location.range.start };
        return file.will_need(&(location.range.start..end));
    }
    if ranges.len() > 1 && last.saturating_sub(first) <= ranges.len().saturating_mul(USUAL_CHUNK) {
        // Headers move cells by little: what is announced need not be exact.
        let at = |cell: usize| location.range.start.saturating_add(to_u64(cell)).min(location.range.end);
        file.will_need(&(at(first)..at(last.saturating_add(USUAL_CHUNK))));
    }
    true
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
    check_claim(context, location, len, range.end, raw)?;
    raw.reset(len);
    file.read_into(range.start, raw.as_mut_slice())
        .map_err(|error| Error::short_read(context.describe(&location.key), range, error))
}

/// Before memory is allocated for a long read that ends at `end`: whether the file is as long.
fn check_claim(context: &Context, location: &TileLocation, len: usize, end: u64, raw: &Buffer) -> Result<()> {
    if len > TRUSTED_READ && len > raw.capacity() {
        let fail = |error| Error::io(context.describe(&location.key), error);
        let size = context.storage.size(&location.key).map_err(fail)?;
        crate::storage::range_len(&(location.range.start..end), size).map_err(fail)?;
    }
    Ok(())
}

/// Reads a tile's bytes into `raw`.
pub(super) fn fetch(context: &Context, location: &TileLocation, raw: &mut Buffer) -> Result<()> {
    let fail = |error| Error::io(context.describe(&location.key), error);
    let len = location.range.end.saturating_sub(location.range.start);
    let len = to_usize(len).ok_or_else(|| fail(std::io::ErrorKind::OutOfMemory.into()))?;
    check_claim(context, location, len, location.range.end, raw)?;
    raw.reset(len);
    context
        .storage
        .read_into(&location.key, location.range.start, raw.as_mut_slice())
        .map_err(|error| Error::short_read(context.describe(&location.key), &location.range, error))
}
