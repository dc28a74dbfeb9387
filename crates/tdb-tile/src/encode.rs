//! Writes a tile: cuts it into chunks, filters each chunk, and frames it. Chunks are independent
//! jobs, as in reading.

use tdb_codec::{to_u32, to_u64};
use tdb_filters::{Encoder, Scratch};

use crate::chunks::CHUNK_HEADER_LEN;
use crate::error::{Error, ErrorKind, Result};
use crate::split::{Cells, chunk_lengths};

/// Filters and frames a tile. Offsets in errors are relative to the start of the result.
///
/// ```
/// use tdb_codec::{Budget, Datatype, FormatVersion};
/// use tdb_filters::{Filter, Pipeline, Scratch, TileContext};
/// use tdb_tile::{TileChunks, encode_tile, split::Cells};
///
/// let pipeline = Pipeline::new(vec![Filter::ByteShuffle]);
/// let context = TileContext::new(Datatype::Uint16, 2, FormatVersion::CURRENT);
/// let mut scratch = Scratch::new();
/// let bytes = encode_tile(&pipeline.encoder(context)?, &[1, 0, 2, 0], Cells::Fixed { size: 2 }, &mut scratch)?;
///
/// let mut out = [0; 4];
/// let tile = TileChunks::parse(&bytes, 0)?;
/// tile.decode(&pipeline.decoder(context)?, &mut out, &mut scratch, &Budget::unlimited())?;
/// assert_eq!(out, [1, 0, 2, 0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If a filter fails on a chunk, a chunk is over 4 GiB, or cell offsets are out of order.
pub fn encode_tile(
    encoder: &Encoder,
    input: &[u8],
    cells: Cells<'_>,
    scratch: &mut Scratch,
) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    encode_tile_into(encoder, input, cells, scratch, &mut ChunkBuffers::default(), &mut out)?;
    Ok(out)
}

/// As [`encode_tile`], into a buffer of the caller: allocating fresh memory for each tile takes as
/// long as some filters. The old contents of the buffer are dropped.
///
/// # Errors
/// As [`encode_tile`].
pub fn encode_tile_into(
    encoder: &Encoder,
    input: &[u8],
    cells: Cells<'_>,
    scratch: &mut Scratch,
    buffers: &mut ChunkBuffers,
    out: &mut Vec<u8>,
) -> Result<()> {
    let jobs = encode_jobs(encoder, input, cells)?;
    let framing = CHUNK_HEADER_LEN.saturating_mul(jobs.len()).saturating_add(size_of::<u64>());
    // Reserves memory for chunks whose length does not change; for a tile that filters shrink, the
    // buffer grows as needed.
    let body = if encoder.keeps_sizes() { input.len() } else { 0 };
    out.clear();
    out.reserve(framing.saturating_add(body));
    out.extend_from_slice(&to_u64(jobs.len()).to_le_bytes());
    jobs.into_iter().try_for_each(|job| job.run(encoder, scratch, buffers, out))
}

/// The jobs of a tile, in order: one for each chunk that the tile is cut into, at least one. They
/// can run in any order and on any thread. The tile is their count as a u64, followed by the output
/// of each job.
///
/// ```
/// use tdb_codec::{Datatype, FormatVersion};
/// use tdb_filters::{Filter, Pipeline, Scratch, TileContext};
/// use tdb_tile::{ChunkBuffers, encode_jobs, encode_tile, split::Cells};
///
/// let pipeline = Pipeline::new(vec![Filter::ByteShuffle]);
/// let encoder = pipeline.encoder(TileContext::new(Datatype::Uint16, 2, FormatVersion::CURRENT))?;
/// let (cells, fixed) = ([7; 200_000], Cells::Fixed { size: 2 });
///
/// let jobs = encode_jobs(&encoder, &cells, fixed)?;
/// let mut tile = (jobs.len() as u64).to_le_bytes().to_vec();
/// for job in jobs {
///     // Each job could run on a separate thread here, with that thread's scratch and buffers.
///     job.run(&encoder, &mut Scratch::new(), &mut ChunkBuffers::default(), &mut tile)?;
/// }
/// assert_eq!(tile, encode_tile(&encoder, &cells, fixed, &mut Scratch::new())?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If cell offsets are out of order.
pub fn encode_jobs<'a>(
    encoder: &Encoder,
    input: &'a [u8],
    cells: Cells<'_>,
) -> Result<impl ExactSizeIterator<Item = EncodeJob<'a>> + use<'a>> {
    let cells = if encoder.needs_whole_tiles() { Cells::Whole } else { cells };
    let mut rest = input;
    Ok(chunk_lengths(input.len(), cells)?.into_iter().enumerate().map(move |(index, length)| {
        // The lengths add up to the length of the input.
        let (cells, later) = rest.split_at_checked(length).unwrap_or((rest, &[]));
        rest = later;
        EncodeJob { index: to_u64(index), cells }
    }))
}

/// A chunk that is to be filtered and framed.
#[derive(Clone, Copy, Debug)]
pub struct EncodeJob<'a> {
    index: u64,
    cells: &'a [u8],
}

/// The metadata and data of a chunk between filtering and framing; a worker reuses the buffers for
/// each chunk.
#[derive(Clone, Debug, Default)]
pub struct ChunkBuffers {
    metadata: Vec<u8>,
    data: Vec<u8>,
}

impl<'a> EncodeJob<'a> {
    /// Number of the chunk in its tile, from 0.
    #[must_use]
    pub const fn index(&self) -> u64 {
        self.index
    }

    /// Its cells.
    #[must_use]
    pub const fn cells(&self) -> &'a [u8] {
        self.cells
    }

    /// Filters the chunk and appends it with its header to `out`. Offsets in errors count from the
    /// start of `out`.
    ///
    /// # Errors
    /// If a filter fails on the chunk, or it is over 4 GiB.
    pub fn run(
        self,
        encoder: &Encoder,
        scratch: &mut Scratch,
        buffers: &mut ChunkBuffers,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let ChunkBuffers { metadata, data } = buffers;
        let offset = to_u64(out.len());
        let failed = |error| Error::in_chunk(offset, self.index, ErrorKind::Filter(error));
        if encoder.is_identity() {
            return push_chunk(self.cells.len(), &[], self.cells, out);
        }
        if !encoder.keeps_sizes() {
            encoder.encode_chunk(self.cells, scratch, metadata, data).map_err(failed)?;
            return push_chunk(self.cells.len(), metadata, data, out);
        }
        let start = out.len();
        let done = self.run_in_place(encoder, scratch, metadata, out).map_err(failed);
        let header =
            done.and_then(|()| header_of(offset, self.cells.len(), self.cells.len(), metadata.len()));
        let header = header.inspect_err(|_| out.truncate(start))?;
        let front = out.get_mut(start..).and_then(|chunk| chunk.split_at_mut_checked(CHUNK_HEADER_LEN));
        if let Some((first, rest)) = front {
            first.copy_from_slice(&header);
            rest.iter_mut().zip(metadata.iter()).for_each(|(place, byte)| *place = *byte);
        }
        Ok(())
    }

    /// Filters the chunk into its final place, after the space for a header and for the metadata.
    /// The metadata is returned in `metadata`.
    ///
    /// The metadata usually has the same length as that of the previous chunk, so this length is
    /// used for the space. If it turns out to be wrong, the data is moved.
    fn run_in_place(
        self,
        encoder: &Encoder,
        scratch: &mut Scratch,
        metadata: &mut Vec<u8>,
        out: &mut Vec<u8>,
    ) -> core::result::Result<(), tdb_filters::Error> {
        let header = out.len().saturating_add(CHUNK_HEADER_LEN);
        let tried = header.saturating_add(metadata.len());
        out.resize(tried.saturating_add(self.cells.len()), 0);
        let place = out.get_mut(tried..).unwrap_or_default();
        encoder.encode_chunk_into(self.cells, scratch, metadata, place)?;
        let right = header.saturating_add(metadata.len());
        if right != tried {
            let end = right.saturating_add(self.cells.len());
            out.resize(end.max(out.len()), 0);
            out.copy_within(tried..tried.saturating_add(self.cells.len()), right);
            out.truncate(end);
        }
        Ok(())
    }
}

/// Filters and frames a tile of strings whose pipeline stores their lengths: always one chunk.
/// `offsets` contains the start of each string in `values`. The offsets tile that belongs to it is
/// [`EMPTY_TILE`].
///
/// # Errors
/// If the pipeline does not store strings, offsets are out of order, or the chunk is over 4 GiB.
pub fn encode_string_tile(
    encoder: &Encoder,
    values: &[u8],
    offsets: &[u64],
    scratch: &mut Scratch,
) -> Result<Vec<u8>> {
    let (mut metadata, mut data) = (Vec::new(), Vec::new());
    encoder
        .encode_string_chunk(values, offsets, scratch, &mut metadata, &mut data)
        .map_err(|error| Error::in_chunk(to_u64(EMPTY_TILE.len()), 0, ErrorKind::Filter(error)))?;
    let mut out = 1u64.to_le_bytes().to_vec();
    push_chunk(values.len(), &metadata, &data, &mut out)?;
    Ok(out)
}

/// A tile without chunks, which is how the offsets of such strings are stored. Never encrypted.
pub const EMPTY_TILE: [u8; 8] = [0; 8];

/// The header of a chunk at `offset`: the lengths in bytes of its cells, its data and its metadata.
fn header_of(offset: u64, original: usize, data: usize, metadata: usize) -> Result<[u8; CHUNK_HEADER_LEN]> {
    let mut header = [0; CHUNK_HEADER_LEN];
    for (field, length) in header.as_chunks_mut::<4>().0.iter_mut().zip([original, data, metadata]) {
        let length = to_u32(length).ok_or(Error::new(offset, ErrorKind::TooLong { size: to_u64(length) }))?;
        *field = length.to_le_bytes();
    }
    Ok(header)
}

/// Appends a framed chunk.
fn push_chunk(original_len: usize, metadata: &[u8], data: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let header = header_of(to_u64(out.len()), original_len, data.len(), metadata.len())?;
    out.reserve(metadata.len().saturating_add(data.len()).saturating_add(CHUNK_HEADER_LEN));
    out.extend_from_slice(&header);
    out.extend_from_slice(metadata);
    out.extend_from_slice(data);
    Ok(())
}
