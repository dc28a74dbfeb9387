//! Finds chunks header by header, without reading the whole tile.

use core::ops::Range;

use tdb_codec::{Budget, ErrorKind as FormatError, Reader, to_u64, to_usize};
use tdb_filters::{Decoder, Scratch};

use crate::chunks::CHUNK_HEADER_LEN;
use crate::error::{Error, ErrorKind, Result};

/// Number of bytes of the chunk count before the first header.
const COUNT_LEN: usize = 8;

/// Walks a tile's chunk headers, for callers that need few of its chunks and can read small ranges cheaply. The
/// position of a chunk is known only from the headers before it.
///
/// The walk does no I/O. It returns which bytes it needs next, and the caller passes them in:
///
/// ```
/// use tdb_tile::ChunkWalk;
///
/// // Two chunks of 3 and 2 bytes, without filters.
/// let mut tile = vec![2, 0, 0, 0, 0, 0, 0, 0];
/// tile.extend([3, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, b'a', b'b', b'c']);
/// tile.extend([2, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, b'd', b'e']);
///
/// let mut walk = ChunkWalk::new(0..tile.len() as u64, 5);
/// let mut found = Vec::new();
/// while let Some(range) = walk.needs() {
///     if let Some(chunk) = walk.feed(&tile[range.start as usize..range.end as usize])? {
///         found.push(chunk.output);
///     }
/// }
/// assert_eq!(found, [0..3, 3..5]);
/// # Ok::<(), tdb_tile::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ChunkWalk {
    tile: Range<u64>,
    /// The length that the chunks must add up to.
    original_len: usize,
    /// File offset of the next field.
    next: u64,
    /// Number of chunks not read yet; `None` before the count was read.
    left: Option<u64>,
    index: u64,
    output: usize,
}

/// The position of a chunk, and of its cells in the output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChunkPlace {
    /// Number of the chunk in its tile, from 0.
    pub index: u64,
    /// Absolute file offset of its header.
    pub offset: u64,
    /// Byte range of its cells in the unfiltered tile.
    pub output: Range<usize>,
    /// Absolute file range of its metadata and data.
    pub body: Range<u64>,
    metadata_len: usize,
}

/// The number of chunks of a tile that no filter changed, from the bytes that it takes in its file and those of its cells. `None` if
/// these do not differ by the count and whole headers.
///
/// ```
/// // Two headers of 12 bytes, and the count.
/// assert_eq!(tdb_tile::plain_chunks(8 + 2 * 12 + 5, 5), Some(2));
/// assert_eq!(tdb_tile::plain_chunks(8 + 2 * 12 + 6, 5), None);
/// ```
#[must_use]
pub fn plain_chunks(stored: u64, cells: u64) -> Option<u64> {
    let headers = stored.checked_sub(to_u64(COUNT_LEN))?.checked_sub(cells)?;
    let each = to_u64(CHUNK_HEADER_LEN);
    headers.checked_div(each).filter(|_| headers.checked_rem(each) == Some(0))
}

impl ChunkWalk {
    /// A walk over the tile at the file range `tile`, whose chunks must add up to `original_len` bytes.
    #[must_use]
    pub const fn new(tile: Range<u64>, original_len: usize) -> Self {
        let next = tile.start;
        Self { tile, original_len, next, left: None, index: 0, output: 0 }
    }

    /// The file range to feed next; `None` at the end.
    #[must_use]
    pub fn needs(&self) -> Option<Range<u64>> {
        let len = match self.left {
            None => COUNT_LEN,
            Some(0) => return None,
            Some(_) => CHUNK_HEADER_LEN,
        };
        Some(self.next..self.next.saturating_add(to_u64(len)))
    }

    /// Takes the bytes that [`Self::needs`] returned; if they are a header, returns the chunk it describes.
    ///
    /// # Errors
    /// If a chunk ends after the tile, or the chunks do not add up to the tile and its length.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<Option<ChunkPlace>> {
        let mut reader = Reader::with_offset(bytes, self.next);
        let start = reader;
        let Some(left) = self.left else {
            let count = reader.u64("chunk count")?;
            self.next = reader.offset();
            self.left = Some(count);
            if count == 0 {
                self.finish()?;
            }
            return Ok(None);
        };
        let original_len = reader.u32("chunk original length")?;
        let data_len = reader.u32("chunk filtered length")?;
        let metadata_len = reader.u32("chunk metadata length")?;
        let body_start = reader.offset();
        let body_end = body_start.saturating_add(u64::from(data_len)).saturating_add(u64::from(metadata_len));
        if let Some(missing) = body_end.checked_sub(self.tile.end).filter(|missing| *missing > 0) {
            return Err(start.error("chunk", FormatError::UnexpectedEnd { missing }).into());
        }
        let output_end = to_usize(u64::from(original_len))
            .and_then(|len| self.output.checked_add(len))
            .filter(|end| *end <= self.original_len)
            .ok_or_else(|| self.wrong_length(u64::from(original_len)))?;
        let place = ChunkPlace {
            index: self.index,
            offset: self.next,
            output: self.output..output_end,
            body: body_start..body_end,
            metadata_len: to_usize(u64::from(metadata_len)).unwrap_or(usize::MAX),
        };
        self.index = self.index.saturating_add(1);
        self.next = body_end;
        self.output = output_end;
        self.left = left.checked_sub(1);
        if self.left == Some(0) {
            self.finish()?;
        }
        Ok(Some(place))
    }

    fn finish(&self) -> Result<()> {
        if self.output != self.original_len {
            return Err(self.wrong_length(0));
        }
        if let Some(count) = self.tile.end.checked_sub(self.next).filter(|count| *count > 0) {
            let kind = FormatError::TrailingBytes { count };
            return Err(tdb_codec::Error::new("tile", self.next, kind).into());
        }
        Ok(())
    }

    fn wrong_length(&self, more: u64) -> Error {
        let found = to_u64(self.output).saturating_add(more);
        Error::new(self.tile.start, ErrorKind::WrongLength { expected: to_u64(self.original_len), found })
    }
}

impl ChunkPlace {
    /// Whether it is as long as its cells, and has no metadata. If no filter changed the tile, its body is its cells.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        let len = self.body.end.saturating_sub(self.body.start);
        self.metadata_len == 0 && len == to_u64(self.output.len())
    }

    /// Where bytes of the unfiltered tile are in the file, for chunks whose body is their cells ([`Self::is_plain`]).
    /// What `cells` has outside of [`Self::output`] is left out.
    #[must_use]
    pub fn stored(&self, cells: &Range<usize>) -> Range<u64> {
        let at = |cell: usize| {
            let within = cell.clamp(self.output.start, self.output.end).saturating_sub(self.output.start);
            self.body.start.saturating_add(to_u64(within)).min(self.body.end)
        };
        at(cells.start)..at(cells.end)
    }

    /// Decodes the chunk from its `body` into `out`, which has the length of [`Self::output`].
    ///
    /// # Errors
    /// If a filter fails on it.
    pub fn decode(
        &self,
        body: &[u8],
        decoder: &Decoder,
        out: &mut [u8],
        scratch: &mut Scratch,
        budget: &Budget,
    ) -> Result<()> {
        let mut reader = Reader::with_offset(body, self.body.start);
        let metadata = reader.take(self.metadata_len, "chunk metadata")?;
        decoder
            .decode_chunk(metadata, reader.rest(), out, scratch, budget)
            .map_err(|error| Error::in_chunk(self.offset, self.index, ErrorKind::Filter(error)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walk(tile: &[u8], original_len: usize) -> Result<Vec<ChunkPlace>> {
        let mut walk = ChunkWalk::new(100..100 + to_u64(tile.len()), original_len);
        let mut places = Vec::new();
        while let Some(range) = walk.needs() {
            let local =
                usize::try_from(range.start - 100).unwrap()..usize::try_from(range.end - 100).unwrap();
            let bytes = tile.get(local).unwrap_or_default();
            places.extend(walk.feed(bytes)?);
        }
        Ok(places)
    }

    fn tile() -> Vec<u8> {
        let mut tile = vec![2, 0, 0, 0, 0, 0, 0, 0];
        tile.extend([3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 9, 9, 9]);
        tile.extend([2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        tile
    }

    #[test]
    fn places_are_those_the_headers_promise() {
        let places = walk(&tile(), 5).unwrap();
        assert_eq!(places.len(), 2);
        assert_eq!((places[0].offset, places[0].body.clone()), (108, 120..123));
        assert_eq!((places[1].output.clone(), places[1].body.clone()), (3..5, 135..135));
    }

    #[test]
    fn bytes_of_chunks_without_filters_are_found_in_the_file() {
        let mut plain = vec![2, 0, 0, 0, 0, 0, 0, 0];
        plain.extend([3, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, b'a', b'b', b'c']);
        plain.extend([2, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, b'd', b'e']);
        let places = walk(&plain, 5).unwrap();
        assert!(places.iter().all(ChunkPlace::is_plain));
        assert_eq!([places[0].stored(&(1..5)), places[1].stored(&(1..5))], [121..123, 135..137]);
        assert_eq!(places[1].stored(&(4..5)), 136..137);
        assert_eq!(places[1].stored(&(0..1)), 135..135, "outside of the chunk");
        assert!(!walk(&tile(), 5).unwrap().iter().any(ChunkPlace::is_plain));
    }

    #[test]
    fn truncated_tiles_wrong_lengths_and_trailing_bytes_are_refused() {
        let tile = tile();
        for len in 0..tile.len() {
            assert!(walk(&tile[..len], 5).is_err(), "{len}");
        }
        assert!(walk(&tile, 4).is_err());
        assert!(walk(&tile, 6).is_err());
        assert!(walk(&[&tile[..], &[0]].concat(), 5).is_err());
        assert!(walk(&u64::MAX.to_le_bytes(), 5).is_err());
    }
}
