//! Finds chunks header by header, without reading the whole tile.

use core::ops::Range;

use tdb_codec::{Budget, ErrorKind as FormatError, Reader, to_u64, to_usize};
use tdb_filters::{Decoder, Scratch};

use crate::chunks::CHUNK_HEADER_LEN;
use crate::error::{Error, ErrorKind, Result};

/// Number of bytes of the chunk count before the first header.
const COUNT_LEN: usize = 8;

/// Walks a tile's chunk headers, for callers that need few of its chunks and can read small ranges
/// cheaply. The position of a chunk is known only from the headers before it, except where no
/// filter changed the tile and its writer gave all chunks one length: [`Self::of_equal_chunks`].
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
///     // The count and the first header, then the second.
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
    /// Whether the writer of the tile gave all chunks but the last one length.
    is_equal: bool,
    /// This length, as long as no header that was read and the tile's own length say otherwise.
    each: Option<usize>,
    /// After a skip: the walk as it was before, should the header that was skipped to not be one.
    before: Option<Box<Self>>,
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

/// The number of chunks of a tile that no filter changed, from the bytes that it takes in its file
/// and those of its cells. `None` if these do not differ by the count and whole headers.
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
    /// A walk over the tile at the file range `tile`, whose chunks must add up to `original_len`
    /// bytes.
    #[must_use]
    pub const fn new(tile: Range<u64>, original_len: usize) -> Self {
        let next = tile.start;
        let (is_equal, each, before) = (false, None, None);
        Self { tile, original_len, next, left: None, index: 0, output: 0, is_equal, each, before }
    }

    /// The same for a tile that no filter changed, and whose writer gave all chunks but the last
    /// one length, as writers do with cells of one size. Values of variable length, and coordinates
    /// of several dimensions in one tile, are cut into chunks of different lengths
    /// ([`crate::split`]): there, cells could look like the header that is expected where they are.
    #[must_use]
    pub const fn of_equal_chunks(mut self) -> Self {
        self.is_equal = true;
        self
    }

    /// The file range to feed next; `None` at the end.
    #[must_use]
    pub fn needs(&self) -> Option<Range<u64>> {
        let both = COUNT_LEN.saturating_add(CHUNK_HEADER_LEN);
        let len = match self.left {
            None if self.tile.end.saturating_sub(self.next) >= to_u64(both) => both,
            None => COUNT_LEN,
            Some(0) => return None,
            Some(_) => CHUNK_HEADER_LEN,
        };
        Some(self.next..self.next.saturating_add(to_u64(len)))
    }

    /// The byte of the unfiltered tile at which the chunk of the next header begins.
    #[must_use]
    pub const fn position(&self) -> usize {
        self.output
    }

    /// Whether [`Self::skip_to`] may do anything.
    #[must_use]
    pub const fn can_skip(&self) -> bool {
        self.each.is_some()
    }

    /// The mean of stored bytes of a chunk whose header was not read yet, with its header; `None`
    /// before the count was read.
    #[must_use]
    pub fn mean_stored(&self) -> Option<u64> {
        self.tile.end.saturating_sub(self.next).checked_div(self.left?)
    }

    /// Goes on with the chunk that has byte `cell` of the unfiltered tile, without the headers
    /// before it, if the tile is one [of equal chunks](Self::of_equal_chunks), and neither its
    /// length nor a header says otherwise. Does nothing otherwise. If the header at that place is
    /// not that of such a chunk, the walk goes on from where it was.
    ///
    /// ```
    /// use tdb_tile::ChunkWalk;
    ///
    /// // Three chunks of 2, 2 and 1 bytes, without filters.
    /// let mut tile = vec![3, 0, 0, 0, 0, 0, 0, 0];
    /// tile.extend([2, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, b'a', b'b']);
    /// tile.extend([2, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, b'c', b'd']);
    /// tile.extend([1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, b'e']);
    ///
    /// let mut walk = ChunkWalk::new(0..tile.len() as u64, 5).of_equal_chunks();
    /// walk.feed(&tile[..20])?;
    /// assert!(walk.can_skip());
    /// walk.skip_to(4);
    /// assert_eq!(walk.needs(), Some(36..48));
    /// # Ok::<(), tdb_tile::Error>(())
    /// ```
    pub fn skip_to(&mut self, cell: usize) {
        let (Some(each), Some(left)) = (self.each, self.left) else { return };
        let chunks = cell.saturating_sub(self.output).checked_div(each).unwrap_or(0);
        // The header of the last one is always read.
        let Some(chunks) =
            to_usize(left.saturating_sub(1)).map(|most| chunks.min(most)).filter(|chunks| *chunks > 0)
        else {
            return;
        };
        let before = self.clone();
        self.output = self.output.saturating_add(chunks.saturating_mul(each));
        let stored = to_u64(each.saturating_add(CHUNK_HEADER_LEN));
        self.next = self.next.saturating_add(to_u64(chunks).saturating_mul(stored));
        self.index = self.index.saturating_add(to_u64(chunks));
        self.left = left.checked_sub(to_u64(chunks));
        self.before = Some(Box::new(before));
    }

    /// Takes the bytes that [`Self::needs`] returned; if a header is among them, returns the chunk
    /// it describes.
    ///
    /// # Errors
    /// If a chunk ends after the tile, or the chunks do not add up to the tile and its length.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<Option<ChunkPlace>> {
        let mut reader = Reader::with_offset(bytes, self.next);
        let Some(left) = self.left else {
            let count = reader.u64("chunk count")?;
            self.next = reader.offset();
            self.left = Some(count);
            if count == 0 {
                self.finish()?;
            }
            if count == 0 || reader.rest().is_empty() {
                return Ok(None);
            }
            let first = self.header(reader, count)?;
            self.each = if self.is_equal { self.length_of_each(&first, count) } else { None };
            return Ok(Some(first));
        };
        let before = self.before.take();
        let found = self.header(reader, left);
        let is_expected =
            found.as_ref().is_ok_and(|place| place.is_plain() && self.is_as_long_as_others(place));
        if let Some(before) = before.filter(|_| !is_expected) {
            *self = Self { each: None, ..*before };
            return Ok(None);
        }
        self.each = self.each.filter(|_| is_expected);
        found.map(Some)
    }

    /// The length of each chunk but the last, if the tile can be one of chunks as long as its first
    /// that no filter changed.
    fn length_of_each(&self, first: &ChunkPlace, count: u64) -> Option<usize> {
        let stored = self.tile.end.saturating_sub(self.tile.start);
        let each = first.output.len();
        let chunks =
            to_u64(self.original_len).checked_add(to_u64(each))?.checked_sub(1)?.checked_div(to_u64(each))?;
        let is_so = first.is_plain()
            && chunks == count
            && plain_chunks(stored, to_u64(self.original_len)) == Some(count);
        is_so.then_some(each)
    }

    /// Whether a chunk is as long as the first, or what is left of the tile.
    fn is_as_long_as_others(&self, place: &ChunkPlace) -> bool {
        let rest = self.original_len.saturating_sub(place.output.start);
        self.each.is_some_and(|each| place.output.len() == each.min(rest))
    }

    /// Reads a header, one of `left` that were not read or skipped.
    fn header(&mut self, mut reader: Reader<'_>, left: u64) -> Result<ChunkPlace> {
        let start = reader;
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
        Ok(place)
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
    /// Whether it is as long as its cells, and has no metadata. If no filter changed the tile, its
    /// body is its cells.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        let len = self.body.end.saturating_sub(self.body.start);
        self.metadata_len == 0 && len == to_u64(self.output.len())
    }

    /// Checks that it is plain.
    ///
    /// # Errors
    /// As [`Self::decode`] without filters: if its data is not as long as its cells, or it has
    /// metadata.
    pub fn expect_plain(&self) -> Result<()> {
        let data = self.body.end.saturating_sub(self.body.start).saturating_sub(to_u64(self.metadata_len));
        let kind = match self.metadata_len {
            0 if self.is_plain() => return Ok(()),
            0 => ErrorKind::WrongLength { expected: to_u64(self.output.len()), found: data },
            count => {
                let kind = FormatError::TrailingBytes { count: to_u64(count) };
                ErrorKind::Format(tdb_codec::Error::new("chunk metadata", self.body.start, kind))
            }
        };
        Err(Error::in_chunk(self.offset, self.index, kind))
    }

    /// Where bytes of the unfiltered tile are in the file, for chunks whose body is their cells
    /// ([`Self::is_plain`]). What `cells` has outside of [`Self::output`] is left out.
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
    use proptest::prelude::{Just, Strategy};

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

    /// A tile of chunks of these lengths, without filters.
    fn plain(lens: &[usize]) -> Vec<u8> {
        let mut tile = to_u64(lens.len()).to_le_bytes().to_vec();
        for (number, len) in (0u8..).zip(lens) {
            let stored = u32::try_from(*len).unwrap().to_le_bytes();
            tile.extend([&stored[..], &stored, &[0; 4], &vec![number; *len]].concat());
        }
        tile
    }

    /// The chunk that has a byte, and how many ranges were read to find it, in a tile that is said
    /// to have chunks of one length.
    fn place_of(tile: &[u8], len: usize, cell: usize) -> (ChunkPlace, usize) {
        place_in(ChunkWalk::new(0..to_u64(tile.len()), len).of_equal_chunks(), tile, cell)
    }

    fn place_in(mut walk: ChunkWalk, tile: &[u8], cell: usize) -> (ChunkPlace, usize) {
        for reads in 1.. {
            let range = walk.needs().unwrap();
            let place =
                walk.feed(&tile[to_usize(range.start).unwrap()..to_usize(range.end).unwrap()]).unwrap();
            if let Some(place) = place.filter(|place| place.output.contains(&cell)) {
                return (place, reads);
            }
            walk.skip_to(cell);
        }
        unreachable!()
    }

    #[test]
    fn chunks_of_one_length_are_found_with_two_reads_and_others_one_by_one() {
        for (lens, most) in
            [(vec![6; 20], 2), (vec![6, 6, 6, 6, 1], 2), (vec![6, 4, 6, 6, 3], 8), (vec![6, 5, 7], 5)]
        {
            let tile = plain(&lens);
            let len: usize = lens.iter().sum();
            for cell in 0..len {
                let (place, reads) = place_of(&tile, len, cell);
                let expected =
                    walk(&tile, len).unwrap().into_iter().find(|place| place.output.contains(&cell)).unwrap();
                assert_eq!(
                    (&place.output, place.index),
                    (&expected.output, expected.index),
                    "byte {cell} of {lens:?}"
                );
                assert!(place.is_plain() && place.body.start + 100 == expected.body.start);
                assert!(reads <= most, "{reads} reads for byte {cell} of {lens:?}");
            }
        }
    }

    #[test]
    fn a_place_that_only_looks_like_a_header_is_taken_for_one_only_if_it_says_the_expected_length() {
        // Were all chunks but the last as long as the first, the third header would be where cells
        // of the third chunk are.
        let lens = [30, 10, 30, 25];
        let mut tile = plain(&lens);
        let at = 8 + 2 * (12 + 30);
        let with = |tile: &mut Vec<u8>, len: u32| {
            tile[at..at + 12].copy_from_slice(&[len.to_le_bytes(), len.to_le_bytes(), [0; 4]].concat());
        };
        with(&mut tile, 29);
        assert_eq!(place_of(&tile, 95, 79).0.output, 70..95);
        // Nothing tells this tile from one of four chunks of 30, 30, 30 and 5 bytes, but its second
        // header. So it must not be said to have chunks of one length.
        with(&mut tile, 30);
        assert_eq!(place_of(&tile, 95, 79).0.output, 60..90);
        assert_eq!(place_in(ChunkWalk::new(0..to_u64(tile.len()), 95), &tile, 79).0.output, 70..95);
    }

    #[test]
    fn a_header_of_another_length_ends_the_skipping() {
        let lens = [30, 10, 30, 25];
        let tile = plain(&lens);
        let mut walk = ChunkWalk::new(0..to_u64(tile.len()), 95).of_equal_chunks();
        walk.feed(&tile[..20]).unwrap();
        assert!(walk.can_skip());
        walk.feed(&tile[50..62]).unwrap();
        assert!(!walk.can_skip());
        walk.skip_to(94);
        assert_eq!(walk.needs(), Some(72..84), "the third header");
        assert_eq!(walk.mean_stored(), Some((12 + 30 + 12 + 25) / 2));
    }

    #[test]
    fn a_chunk_that_is_not_plain_is_refused_where_no_filter_may_have_changed_it() {
        let places = walk(&tile(), 5).unwrap();
        for place in places {
            let error = place.expect_plain().unwrap_err();
            assert_eq!((error.offset, error.chunk), (place.offset, Some(place.index)));
        }
        for place in walk(&plain(&[6, 0, 3]), 9).unwrap() {
            place.expect_plain().unwrap();
        }
    }

    proptest::proptest! {
        /// Cells that look like headers, wherever one could be expected.
        #[test]
        fn every_byte_is_found_in_its_chunk_although_all_cells_look_like_headers(
            lens in proptest::prop_oneof![
                (1usize..60, 1usize..20).prop_map(|(each, count)| vec![each; count]),
                (1usize..60, 1usize..20, 1usize..60)
                    .prop_map(|(each, count, last)| [vec![each; count], vec![last.min(each)]].concat()),
                proptest::collection::vec(proptest::prop_oneof![Just(24usize), Just(36), Just(12)], 1..20),
                proptest::collection::vec(0usize..60, 1..20),
            ],
            phase in 0usize..12,
        ) {
            let len: usize = lens.iter().sum();
            let mut tile = plain(&lens);
            let each = u32::try_from(lens[0]).unwrap().to_le_bytes();
            let header = [&each[..], &each, &[0; 4]].concat();
            let mut at = 8;
            for len in &lens {
                for place in at + 12..at + 12 + len {
                    tile[place] = header[(place + phase) % 12];
                }
                at += 12 + len;
            }
            let places = walk(&tile, len).unwrap();
            let are_equal = lens[..lens.len() - 1].iter().all(|len| *len == lens[0])
                && lens.last().is_some_and(|last| *last <= lens[0]);
            for cell in 0..len {
                let expected = places.iter().find(|place| place.output.contains(&cell)).unwrap();
                let found = if are_equal {
                    place_of(&tile, len, cell).0
                } else {
                    place_in(ChunkWalk::new(0..to_u64(tile.len()), len), &tile, cell).0
                };
                proptest::prop_assert_eq!((found.output, found.index), (expected.output.clone(), expected.index));
            }
        }
    }

    #[test]
    fn truncated_tiles_wrong_lengths_and_trailing_bytes_are_refused() {
        let tile = tile();
        for len in 0..tile.len() {
            assert!(walk(&tile[..len], 5).is_err(), "{len}");
        }
        assert!(
            ChunkWalk::new(0..20, 5).feed(&tile[..8]).unwrap().is_none(),
            "the count alone may be passed in"
        );
        assert!(walk(&tile, 4).is_err());
        assert!(walk(&tile, 6).is_err());
        assert!(walk(&[&tile[..], &[0]].concat(), 5).is_err());
        assert!(walk(&u64::MAX.to_le_bytes(), 5).is_err());
    }
}
