//! The framing of a filtered tile: a list of chunks (docs/format/tiles-and-chunks.md).

use core::ops::Range;

use tdb_codec::{Budget, ErrorKind as FormatError, Reader, to_u64, to_usize};
use tdb_filters::{CodedStrings, Decoder, Scratch};

use crate::error::{Error, ErrorKind, Result};

/// Number of bytes before a chunk's metadata.
pub const CHUNK_HEADER_LEN: usize = 12;

/// A filtered tile whose framing has been checked from end to end.
///
/// | Field | Type |
/// |---|---|
/// | chunk count | u64 |
/// | per chunk: original length | u32 |
/// | … data length | u32 |
/// | … metadata length | u32 |
/// | … metadata, data | bytes |
///
/// Tiles without chunks, chunks without bytes and chunks over 64 KiB are all normal. Parsing
/// allocates nothing.
///
/// ```
/// use tdb_tile::TileChunks;
///
/// // One chunk of 3 bytes, without filters.
/// let bytes = [1, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, b'a', b'b', b'c'];
/// let tile = TileChunks::parse(&bytes, 0)?;
/// assert_eq!((tile.len(), tile.original_len()), (1, 3));
/// assert_eq!(tile.chunks().next().unwrap().data, b"abc");
/// # Ok::<(), tdb_tile::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct TileChunks<'a> {
    /// The reader, at the first chunk header.
    chunks: Reader<'a>,
    base_offset: u64,
    count: usize,
    original_len: u64,
}

/// One chunk of a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk<'a> {
    /// Number of the chunk in its tile, from 0.
    pub index: u64,
    /// Absolute file offset of its header.
    pub offset: u64,
    /// Length of its cells in bytes.
    pub original_len: u32,
    /// Position of its cells in the unfiltered tile.
    pub output_start: u64,
    /// The metadata of the filters, the last filter first.
    pub metadata: &'a [u8],
    /// The filtered cells.
    pub data: &'a [u8],
}

impl Chunk<'_> {
    /// The byte range of its cells in the unfiltered tile.
    #[must_use]
    pub fn range(&self) -> Range<usize> {
        let start = to_usize(self.output_start).unwrap_or(usize::MAX);
        start..start.saturating_add(to_usize(u64::from(self.original_len)).unwrap_or(usize::MAX))
    }

    /// Decodes the chunk into `out`, which has the length of its cells.
    ///
    /// # Errors
    /// If a filter fails on it.
    pub fn decode(
        &self,
        decoder: &Decoder,
        out: &mut [u8],
        scratch: &mut Scratch,
        budget: &Budget,
    ) -> Result<()> {
        decoder
            .decode_chunk(self.metadata, self.data, out, scratch, budget)
            .map_err(|error| Error::in_chunk(self.offset, self.index, ErrorKind::Filter(error)))
    }
}

impl<'a> TileChunks<'a> {
    /// Checks the framing of `bytes`, which are the whole tile, at file offset `base_offset`.
    ///
    /// # Errors
    /// If the headers describe more bytes than there are, or if bytes are left after the last
    /// chunk.
    pub fn parse(bytes: &'a [u8], base_offset: u64) -> Result<Self> {
        Self::parse_from(Reader::with_offset(bytes, base_offset))
    }

    /// Checks the framing with a reader from the caller, for example a traced one, which must end
    /// with the tile.
    ///
    /// # Errors
    /// As [`Self::parse`].
    pub fn parse_from(mut reader: Reader<'a>) -> Result<Self> {
        let tile = Self::parse_next(&mut reader)?;
        reader.finish("tile")?;
        Ok(tile)
    }

    /// Reads the tile at the position of `reader`, and leaves the reader at the end of the tile:
    /// for consecutive tiles whose offsets are not known.
    ///
    /// # Errors
    /// If the headers describe more bytes than there are.
    pub fn parse_next(reader: &mut Reader<'a>) -> Result<Self> {
        let base_offset = reader.offset();
        let count = reader.count_u64(CHUNK_HEADER_LEN, "chunk count")?;
        let chunks = reader.untraced();
        let mut original_len = 0u64;
        for _ in 0..count {
            let (chunk_len, ..) = read_chunk(reader)?;
            // Cannot overflow: at most 2^32 bytes in each chunk and 2^60 chunks.
            original_len = original_len.saturating_add(u64::from(chunk_len));
        }
        Ok(Self { chunks, base_offset, count, original_len })
    }

    /// Number of chunks.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.count
    }

    /// Whether there are no chunks, as in the offsets tiles of fields whose filters store the
    /// strings' lengths.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Length of the unfiltered tile in bytes, according to the chunk headers. Not trusted until it
    /// has been compared with the length that follows from the schema or the fragment.
    #[must_use]
    pub const fn original_len(&self) -> u64 {
        self.original_len
    }

    /// Absolute file offset of the tile.
    #[must_use]
    pub const fn offset(&self) -> u64 {
        self.base_offset
    }

    /// The chunks in order.
    pub fn chunks(&self) -> impl Iterator<Item = Chunk<'a>> + use<'a> {
        let mut reader = self.chunks;
        let mut output_start = 0u64;
        (0u64..to_u64(self.count)).map_while(move |index| {
            let offset = reader.offset();
            // Cannot fail: `parse` has read the same bytes.
            let (original_len, metadata, data) = read_chunk(&mut reader).ok()?;
            let chunk = Chunk { index, offset, original_len, output_start, metadata, data };
            output_start = output_start.saturating_add(u64::from(original_len));
            Some(chunk)
        })
    }

    /// One job for each chunk: each owns its part of `out`, so they can run in any order and on any
    /// thread.
    ///
    /// # Errors
    /// If `out` is not [`Self::original_len`] bytes long.
    pub fn jobs<'o>(
        &self,
        out: &'o mut [u8],
    ) -> Result<impl Iterator<Item = ChunkJob<'a, 'o>> + use<'a, 'o>> {
        self.expect_len(out.len())?;
        let mut rest = out;
        Ok(self.chunks().map_while(move |chunk| {
            let len = to_usize(u64::from(chunk.original_len))?;
            let (out, later) = core::mem::take(&mut rest).split_at_mut_checked(len)?;
            rest = later;
            Some(ChunkJob { chunk, out })
        }))
    }

    /// Decodes the whole tile into `out`.
    ///
    /// # Errors
    /// If `out` is not [`Self::original_len`] bytes long, or a filter fails on a chunk.
    pub fn decode(
        &self,
        decoder: &Decoder,
        out: &mut [u8],
        scratch: &mut Scratch,
        budget: &Budget,
    ) -> Result<()> {
        self.jobs(out)?.try_for_each(|job| job.run(decoder, scratch, budget))
    }

    /// Decodes the chunks whose byte range in the tile `wanted` accepts, and leaves the rest of
    /// `out` unchanged.
    ///
    /// # Errors
    /// As [`Self::decode`].
    pub fn decode_where(
        &self,
        decoder: &Decoder,
        out: &mut [u8],
        mut wanted: impl FnMut(Range<usize>) -> bool,
        scratch: &mut Scratch,
        budget: &Budget,
    ) -> Result<()> {
        self.jobs(out)?
            .filter(|job| wanted(job.range()))
            .try_for_each(|job| job.run(decoder, scratch, budget))
    }

    /// Decodes a tile of strings whose pipeline [stores their lengths](Decoder::decodes_strings).
    /// Returns the bytes of all strings and the start of each.
    ///
    /// # Errors
    /// As [`Self::decode_strings_into`].
    pub fn decode_strings(
        &self,
        decoder: &Decoder,
        scratch: &mut Scratch,
        budget: &Budget,
    ) -> Result<(Vec<u8>, Vec<u64>)> {
        let (mut values, mut offsets) = (Vec::new(), Vec::new());
        self.decode_strings_into(decoder, &mut values, &mut offsets, scratch, budget)?;
        Ok((values, offsets))
    }

    /// As [`Self::decode_strings`], but appends to the vectors. Offsets are positions in `values`,
    /// so several tiles can be decoded one after another into the same vectors.
    ///
    /// # Errors
    /// If the pipeline does not store strings, or a filter fails on a chunk.
    pub fn decode_strings_into(
        &self,
        decoder: &Decoder,
        values: &mut Vec<u8>,
        offsets: &mut Vec<u64>,
        scratch: &mut Scratch,
        budget: &Budget,
    ) -> Result<()> {
        for chunk in self.chunks() {
            let before = values.len();
            let error = |kind| Error::in_chunk(chunk.offset, chunk.index, kind);
            decoder
                .decode_string_chunk(chunk.metadata, chunk.data, values, offsets, scratch, budget)
                .map_err(|cause| error(ErrorKind::Filter(cause)))?;
            let (expected, found) =
                (u64::from(chunk.original_len), to_u64(values.len().saturating_sub(before)));
            if expected != found {
                return Err(error(ErrorKind::WrongLength { expected, found }));
            }
        }
        Ok(())
    }

    /// As [`Self::decode_strings_into`], but strings that are stored once stay so. Returns the
    /// bytes of all cells' strings together.
    ///
    /// # Errors
    /// As [`Self::decode_strings_into`].
    pub fn decode_codes_into(
        &self,
        decoder: &Decoder,
        into: &mut CodedStrings,
        scratch: &mut Scratch,
        budget: &Budget,
    ) -> Result<u64> {
        let mut all = 0u64;
        for chunk in self.chunks() {
            let error = |kind| Error::in_chunk(chunk.offset, chunk.index, kind);
            let found = decoder
                .decode_coded_chunk(chunk.metadata, chunk.data, into, scratch, budget)
                .map_err(|cause| error(ErrorKind::Filter(cause)))?;
            let (expected, found) = (u64::from(chunk.original_len), to_u64(found));
            if expected != found {
                return Err(error(ErrorKind::WrongLength { expected, found }));
            }
            all = all.saturating_add(found);
        }
        Ok(all)
    }

    /// Checks that the tile has the expected length.
    ///
    /// # Errors
    /// [`ErrorKind::WrongLength`] if the chunks add up to another length.
    pub fn expect_len(&self, expected: usize) -> Result<()> {
        let (expected, found) = (to_u64(expected), self.original_len);
        if expected != found {
            return Err(Error::new(self.base_offset, ErrorKind::WrongLength { expected, found }));
        }
        Ok(())
    }
}

/// A chunk together with the output for its cells.
#[derive(Debug)]
pub struct ChunkJob<'a, 'o> {
    chunk: Chunk<'a>,
    out: &'o mut [u8],
}

impl<'a> ChunkJob<'a, '_> {
    /// The chunk.
    #[must_use]
    pub const fn chunk(&self) -> &Chunk<'a> {
        &self.chunk
    }

    /// The byte range of its cells in the unfiltered tile.
    #[must_use]
    pub fn range(&self) -> Range<usize> {
        let start = to_usize(self.chunk.output_start).unwrap_or(usize::MAX);
        start..start.saturating_add(self.out.len())
    }

    /// Decodes the chunk.
    ///
    /// # Errors
    /// If a filter fails on it.
    pub fn run(self, decoder: &Decoder, scratch: &mut Scratch, budget: &Budget) -> Result<()> {
        self.chunk.decode(decoder, self.out, scratch, budget)
    }
}

/// Reads a chunk: original length, metadata, data.
fn read_chunk<'a>(reader: &mut Reader<'a>) -> tdb_codec::Result<(u32, &'a [u8], &'a [u8])> {
    let start = *reader;
    let original_len = reader.u32("chunk original length")?;
    let data_len = reader.u32("chunk filtered length")?;
    let metadata_len = reader.u32("chunk metadata length")?;
    // Both lengths are compared together, so the error has the offset of the header and not one
    // past it.
    let promised = u64::from(data_len).saturating_add(u64::from(metadata_len));
    if let Some(missing) = promised.checked_sub(to_u64(reader.remaining()))
        && missing > 0
    {
        return Err(start.error("chunk", FormatError::UnexpectedEnd { missing }));
    }
    let metadata = reader.take_u64(u64::from(metadata_len), "chunk metadata")?;
    let data = reader.take_u64(u64::from(data_len), "chunk data")?;
    Ok((original_len, metadata, data))
}
