//! Reads a tile in parts, through a small buffer that stays in the processor's cache: bytes that no
//! filter changed, and the positions of chunks.
//!
//! The number of bytes that are read ahead is an estimate: its sums stop at the greatest number.

use core::ops::Range;
use std::io;

use tdb_codec::{Buffer, to_u64, to_usize};
use tdb_tile::{ChunkPlace, ChunkWalk};

use super::read_extent::{USUAL_CHUNK, pieces_in};
use crate::InternalError;
use crate::storage::StoredFile;
use crate::thresholds::{MAX_READ_BYTES, MIN_CHUNK_LIST_BYTES, READ_COST_BYTES};

/// A tile of a file.
#[derive(Debug)]
pub(super) struct TileSource<'s> {
    pub(super) file: &'s dyn StoredFile,
    /// The range of the file that has it.
    pub(super) tile: Range<u64>,
    /// The length of the unfiltered tile.
    pub(super) len: usize,
}

/// Why a tile could not be read.
#[derive(Debug)]
pub(super) enum ReadFault {
    /// The tile's chunks are not what its length, or the lack of filters, says they must be.
    Format(tdb_tile::Error),
    /// This range of the file could not be read.
    Read(Range<u64>, io::Error),
    /// The buffer does not have the bytes that were read.
    Internal(InternalError),
}

impl TileSource<'_> {
    /// Passes on pieces of the unfiltered tile, ascending and apart, cut where chunks end and where
    /// the buffer does. Returns the number of chunks that they are in, and their bytes.
    pub(super) fn visit(
        &self,
        pieces: &[Range<usize>],
        mut show: impl FnMut(Range<usize>, &[u8]),
        buffer: &mut Buffer,
    ) -> Result<(usize, usize), ReadFault> {
        let mut window = ReadWindow { source: self, buffer, held: 0..0 };
        let mut walk = ChunkWalk::new(self.tile.clone(), self.len).of_equal_chunks();
        let (mut chunks, mut bytes) = (0usize, 0usize);
        let end = pieces.last().map_or(0, |last| last.end);
        while let Some(header) = walk.needs() {
            let len = header.end - header.start;
            let ahead = self.near(pieces, walk.position()).saturating_add(len).max(headers_ahead(&walk));
            let place = walk.feed(window.bytes(&header, ahead)?).map_err(ReadFault::Format)?;
            let Some(place) = place else { continue };
            let before = bytes;
            for part in pieces_in(pieces, &place.output) {
                place.expect_plain().map_err(ReadFault::Format)?;
                bytes += part.len();
                self.pass_on(pieces, &place, part, &mut show, &mut window)?;
            }
            chunks += usize::from(bytes > before);
            if place.output.end >= end {
                break;
            }
            let next = pieces.get(pieces.partition_point(|piece| piece.end <= place.output.end));
            walk.skip_to(next.map_or(0, |piece| piece.start));
        }
        Ok((chunks, bytes))
    }

    /// The places of the chunks that `wanted` accepts, from the headers of all chunks up to the
    /// last of them; `None` if the list of them would be longer than the stored tile. Headers are
    /// left out where they can be skipped: `are_equal` says that no filter changed the tile, and
    /// that its writer gave all chunks but the last one length.
    pub(super) fn places(
        &self,
        are_equal: bool,
        mut wanted: impl FnMut(Range<usize>) -> bool,
        buffer: &mut Buffer,
    ) -> Result<Option<Vec<ChunkPlace>>, ReadFault> {
        let list_bytes = self.stored_len().max(MIN_CHUNK_LIST_BYTES);
        let max = to_usize(list_bytes).unwrap_or(usize::MAX) / size_of::<ChunkPlace>();
        // The last wanted block is searched once: a search after each chunk would look at all cells
        // behind it each time.
        let block = |start: usize| start..self.len.min(start.saturating_add(USUAL_CHUNK));
        let last = (0..self.len).step_by(USUAL_CHUNK).rev().map(block).find(|block| wanted(block.clone()));
        let Some(last) = last else { return Ok(Some(Vec::new())) };
        let mut window = ReadWindow { source: self, buffer, held: 0..0 };
        let walk = ChunkWalk::new(self.tile.clone(), self.len);
        let mut walk = if are_equal { walk.of_equal_chunks() } else { walk };
        let mut places = Vec::new();
        while let Some(header) = walk.needs() {
            let ahead = headers_ahead(&walk);
            let place = walk.feed(window.bytes(&header, ahead)?).map_err(ReadFault::Format)?;
            let Some(place) = place else { continue };
            let place_end = place.output.end;
            if wanted(place.output.clone()) {
                if places.len() >= max {
                    return Ok(None);
                }
                places.push(place);
            }
            if place_end >= last.end || (place_end >= last.start && !wanted(place_end..last.end)) {
                break;
            }
            if walk.can_skip() {
                let mut starts = (place_end..last.end).step_by(USUAL_CHUNK);
                let next = starts.find(|start| wanted(block(*start)));
                walk.skip_to(next.unwrap_or(place_end));
            }
        }
        Ok(Some(places))
    }

    /// Passes on the chunks that `wanted` accepts, one after the other, each with its body. No more
    /// of the tile is held than a chunk, or as much as is read at once. `are_equal` as in
    /// [`Self::places`].
    pub(super) fn visit_chunks(
        &self,
        are_equal: bool,
        mut wanted: impl FnMut(Range<usize>) -> bool,
        buffer: &mut Buffer,
        mut show: impl FnMut(&ChunkPlace, &[u8]) -> tdb_tile::Result<()>,
    ) -> Result<(), ReadFault> {
        let block = |start: usize| start..self.len.min(start.saturating_add(USUAL_CHUNK));
        let mut window = ReadWindow { source: self, buffer, held: 0..0 };
        let walk = ChunkWalk::new(self.tile.clone(), self.len);
        let mut walk = if are_equal { walk.of_equal_chunks() } else { walk };
        // The first wanted block that does not end before the next chunk.
        let mut next = 0usize;
        loop {
            let at = walk.position();
            if at >= next {
                match (at..self.len).step_by(USUAL_CHUNK).find(|start| wanted(block(*start))) {
                    Some(start) => next = start,
                    None => break,
                }
            }
            walk.skip_to(next);
            let Some(header) = walk.needs() else { break };
            // Headers of wanted neighbours are read together with bodies.
            let ahead = if at >= next { to_u64(MAX_READ_BYTES) } else { headers_ahead(&walk) };
            let place = walk.feed(window.bytes(&header, ahead)?).map_err(ReadFault::Format)?;
            let Some(place) = place else { continue };
            if wanted(place.output.clone()) {
                let body = window.bytes(&place.body, to_u64(MAX_READ_BYTES))?;
                show(&place, body).map_err(ReadFault::Format)?;
            }
        }
        Ok(())
    }

    /// The length of the stored tile.
    fn stored_len(&self) -> u64 {
        self.tile.end.saturating_sub(self.tile.start)
    }

    /// Passes on a part of a chunk.
    fn pass_on(
        &self,
        pieces: &[Range<usize>],
        place: &ChunkPlace,
        part: Range<usize>,
        show: &mut impl FnMut(Range<usize>, &[u8]),
        window: &mut ReadWindow<'_, '_>,
    ) -> Result<(), ReadFault> {
        for start in part.clone().step_by(MAX_READ_BYTES) {
            let part = start..part.end.min(start.saturating_add(MAX_READ_BYTES));
            let ahead = self.near(pieces, start);
            show(part.clone(), window.bytes(&place.stored(&part), ahead)?);
        }
        Ok(())
    }

    /// About how many stored bytes follow byte `from` of the unfiltered tile before the end of a
    /// piece that is near.
    fn near(&self, pieces: &[Range<usize>], from: usize) -> u64 {
        let next = pieces.get(pieces.partition_point(|piece| piece.end <= from));
        let near = next.filter(|piece| piece.start.saturating_sub(from) < READ_COST_BYTES);
        let len = to_u64(near.map_or(0, |piece| piece.end.saturating_sub(from)));
        // Headers are stored between the cells.
        let more = self.stored_len().saturating_sub(to_u64(self.len));
        let headers = u128::from(len).saturating_mul(u128::from(more)).checked_div(to_u64(self.len).into());
        len.saturating_add(headers.and_then(|bytes| u64::try_from(bytes).ok()).unwrap_or(0))
    }
}

/// The number of bytes to read from the next header on where it is not skipped: many, if so many
/// headers lie close to each other that a read for each would take longer.
fn headers_ahead(walk: &ChunkWalk) -> u64 {
    let are_close = walk.mean_stored().is_some_and(|mean| mean < to_u64(READ_COST_BYTES));
    if are_close && !walk.can_skip() { to_u64(MAX_READ_BYTES) } else { 0 }
}

/// The part of a tile that is in memory.
struct ReadWindow<'w, 's> {
    source: &'w TileSource<'s>,
    buffer: &'w mut Buffer,
    /// The file range that the buffer begins with.
    held: Range<u64>,
}

impl ReadWindow<'_, '_> {
    /// The bytes of a range of the file, which is not longer than a few headers or
    /// [`MAX_READ_BYTES`]. If they must be read, so are about `ahead` bytes from the range's start
    /// on.
    fn bytes(&mut self, range: &Range<u64>, ahead: u64) -> Result<&[u8], ReadFault> {
        if range.start < self.held.start || range.end > self.held.end {
            self.read(range, ahead)?;
        }
        let at = |offset: u64| offset.checked_sub(self.held.start).and_then(to_usize);
        let held = at(range.start).zip(at(range.end));
        let held = held.and_then(|(start, end)| self.buffer.as_slice().get(start..end));
        held.ok_or_else(|| {
            ReadFault::Internal(InternalError::new("a part of a tile that was read without its bytes"))
        })
    }

    fn read(&mut self, range: &Range<u64>, ahead: u64) -> Result<(), ReadFault> {
        let TileSource { file, tile, .. } = self.source;
        let ahead = range.start.saturating_add(ahead.min(to_u64(MAX_READ_BYTES))).min(tile.end);
        let end = range.end.max(ahead);
        let len = to_usize(end.saturating_sub(range.start)).unwrap_or(usize::MAX);
        // Bytes of it that are already held move to the front.
        let mut kept = 0usize;
        if self.held.contains(&range.start) && self.buffer.len() >= len {
            let at = |offset: u64| offset.checked_sub(self.held.start).and_then(to_usize);
            let held = at(range.start).zip(at(self.held.end));
            let held = held.filter(|(start, end)| start <= end && *end <= self.buffer.len());
            let Some((start, end)) = held else {
                return Err(ReadFault::Internal(InternalError::new(
                    "held bytes of a tile that are not there",
                )));
            };
            self.buffer.as_mut_slice().copy_within(start..end, 0);
            kept = end - start;
        }
        if self.buffer.len() < len {
            self.buffer.reset(len);
        }
        self.held = 0..0;
        let from = range.start.saturating_add(to_u64(kept));
        let out = self.buffer.as_mut_slice().get_mut(kept..len);
        let no_room =
            || ReadFault::Internal(InternalError::new("a part of a tile without room for its bytes"));
        file.read_into(from, out.ok_or_else(no_room)?).map_err(|error| ReadFault::Read(from..end, error))?;
        self.held = range.start..end;
        Ok(())
    }
}

#[cfg(test)]
#[expect(clippy::single_range_in_vec_init, reason = "lists of one range are meant")]
mod tests {
    use super::*;
    use crate::storage::{MemoryStorage, Storage};
    use proptest::prelude::*;
    use std::cell::Cell;

    /// A file that counts its reads and their bytes.
    #[derive(Debug)]
    struct Counted<'f>(Box<dyn StoredFile + 'f>, Cell<(usize, usize)>);

    impl StoredFile for Counted<'_> {
        fn read_into(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
            let (reads, bytes) = self.1.get();
            self.1.set((reads + 1, bytes + out.len()));
            self.0.read_into(offset, out)
        }
    }

    /// Bytes of which neighbours differ.
    fn cells(len: usize) -> Vec<u8> {
        (0..len).map(|at| u8::try_from(at % 251).unwrap()).collect()
    }

    /// A tile of these cells in chunks of these lengths, and others around it in its file.
    fn file(cells: &[u8], lens: &[usize]) -> (MemoryStorage, Range<u64>) {
        let mut stored = vec![7; 33];
        let start = to_u64(stored.len());
        stored.extend(to_u64(lens.len()).to_le_bytes());
        let mut rest = cells;
        for len in lens {
            let (chunk, later) = rest.split_at(*len);
            let header = u32::try_from(*len).unwrap().to_le_bytes();
            stored.extend([&header[..], &header, &[0; 4], chunk].concat());
            rest = later;
        }
        let end = to_u64(stored.len());
        stored.extend([9; 50]);
        (MemoryStorage::new([("tile", stored)]), start..end)
    }

    /// The parts that were passed on, each with its position.
    struct Shown(Vec<(Range<usize>, Vec<u8>)>);

    impl Shown {
        fn bytes(&self) -> Vec<u8> {
            self.0.iter().flat_map(|(_, bytes)| bytes.clone()).collect()
        }
    }

    /// The chunks that were passed on, and the bytes of their cells.
    type Found = Result<(usize, usize), ReadFault>;

    /// Passes on pieces of a tile. Returns them with the number of reads and of their bytes.
    fn visit(
        (storage, tile): &(MemoryStorage, Range<u64>),
        len: usize,
        pieces: &[Range<usize>],
    ) -> (Found, Shown, (usize, usize)) {
        let file = Counted(storage.open("tile").unwrap().unwrap(), Cell::default());
        let mut shown = Vec::new();
        let source = TileSource { file: &file, tile: tile.clone(), len };
        let found =
            source.visit(pieces, |range, bytes| shown.push((range, bytes.to_vec())), &mut Buffer::new());
        (found, Shown(shown), file.1.get())
    }

    const KIB: usize = 1 << 10;

    #[test]
    fn one_cell_takes_three_reads_and_a_long_piece_one_for_each_quarter_of_a_mebibyte() {
        let cells = cells(2 * KIB * KIB);
        let tile = file(&cells, &[64 * KIB; 32]);
        let (found, shown, reads) = visit(&tile, cells.len(), &[1_500_000..1_500_008]);
        assert_eq!((found.unwrap(), reads), ((1, 8), (3, 20 + 12 + 8)));
        assert_eq!(shown.0, [(1_500_000..1_500_008, cells[1_500_000..1_500_008].to_vec())]);
        let piece = 64 * KIB + 100..2 * KIB * KIB;
        let (found, shown, (reads, bytes)) = visit(&tile, cells.len(), core::slice::from_ref(&piece));
        assert_eq!(found.unwrap(), (31, piece.len()));
        assert_eq!(shown.bytes(), cells[piece.clone()]);
        assert!(
            reads <= 3 + 31 * 64 / 192 + 1 && bytes < piece.len() + KIB,
            "{reads} reads of {bytes} bytes"
        );
    }

    #[test]
    fn a_chunk_of_a_mebibyte_comes_in_parts() {
        let cells = cells(KIB * KIB);
        let (found, shown, _) = visit(&file(&cells, &[KIB * KIB]), cells.len(), &[5..KIB * KIB - 5]);
        assert_eq!(found.unwrap(), (1, cells.len() - 10));
        assert!(shown.0.len() == 4 && shown.0.iter().all(|(_, bytes)| bytes.len() <= MAX_READ_BYTES));
        assert_eq!(shown.bytes(), cells[5..cells.len() - 5]);
    }

    #[test]
    fn a_chunk_with_metadata_and_what_is_missing_in_the_file_are_errors() {
        let cells = cells(300);
        let (storage, tile) = file(&cells, &[100; 3]);
        let bytes = storage.read("tile").unwrap();
        let mut other = bytes.to_vec();
        let second = 33 + 8 + 112;
        // Ten bytes are metadata, not cells.
        other[second + 4..second + 12].copy_from_slice(&[90, 0, 0, 0, 10, 0, 0, 0]);
        let other = (MemoryStorage::new([("tile", other)]), tile.clone());
        let (found, shown, _) = visit(&other, 300, &[90..110, 250..260]);
        assert!(matches!(&found, Err(ReadFault::Format(error)) if error.chunk == Some(1)), "{found:?}");
        assert_eq!(shown.bytes(), cells[90..100]);
        let cut = (MemoryStorage::new([("tile", bytes.slice(..second + 50))]), tile.clone());
        let (found, _, _) = visit(&cut, 300, &[90..110, 190..195]);
        assert!(matches!(found, Err(ReadFault::Read(..))), "{found:?}");
        let (found, _, _) = visit(&(storage, tile), 301, &[90..110, 299..301]);
        assert!(matches!(found, Err(ReadFault::Format(_))), "{found:?}: the chunks have 300 bytes");
    }

    #[test]
    fn very_many_headers_are_read_in_parts_and_not_one_by_one() {
        let lens: Vec<_> = [1, 3].repeat(50_000);
        let cells = cells(200_000);
        let tile = file(&cells, &lens);
        let (found, shown, (reads, _)) = visit(&tile, cells.len(), &[199_990..199_992]);
        assert_eq!((found.unwrap(), shown.bytes()), ((1, 2), cells[199_990..199_992].to_vec()));
        let parts = (200_000 + 100_000 * 12) / MAX_READ_BYTES + 1;
        assert!(reads <= parts + 2, "{reads} reads");
        let file = Counted(tile.0.open("tile").unwrap().unwrap(), Cell::default());
        let source = TileSource { file: &file, tile: tile.1.clone(), len: cells.len() };
        let wanted = |range: Range<usize>| range.start < 199_992 && 199_991 < range.end;
        let places = source.places(false, wanted, &mut Buffer::new()).unwrap().unwrap();
        assert_eq!(places.into_iter().map(|place| place.output).collect::<Vec<_>>(), [199_989..199_992]);
        assert!(file.1.get().0 <= parts + 2, "{:?}", file.1);
    }

    #[test]
    fn a_list_of_chunks_is_no_longer_than_the_stored_tile_and_cells_are_looked_at_once() {
        let cells = cells(2_000_000);
        let tile = file(&cells, &vec![1; cells.len()]);
        let file = Counted(tile.0.open("tile").unwrap().unwrap(), Cell::default());
        let source = TileSource { file: &file, tile: tile.1.clone(), len: cells.len() };
        assert_eq!(source.places(false, |_| true, &mut Buffer::new()).unwrap(), None);
        // As a mask is looked at, from the beginning of a range to the first wanted cell.
        let looked_at = Cell::new(0usize);
        let last = cells.len() - 1;
        let wanted = |range: Range<usize>| {
            looked_at.set(looked_at.get() + range.end.min(last + 1) - range.start);
            range.contains(&last)
        };
        let places = source.places(false, wanted, &mut Buffer::new()).unwrap().unwrap();
        assert_eq!(places.iter().map(|place| place.output.clone()).collect::<Vec<_>>(), [last..last + 1]);
        // Behind the beginning of the last block, each chunk looks at the rest of the block.
        let inside = USUAL_CHUNK * USUAL_CHUNK / 2;
        assert!(looked_at.get() < inside + 2 * cells.len(), "{looked_at:?}");
    }

    proptest! {
        #[test]
        fn what_is_passed_on_are_the_bytes_of_the_pieces(
            lens in prop_oneof![
                (1usize..3000, 1usize..40).prop_map(|(each, count)| vec![each; count]),
                (1usize..3000, 1usize..40, 1usize..3000)
                    .prop_map(|(each, count, last)| [vec![each; count], vec![last.min(each)]].concat()),
                prop::collection::vec(1usize..20_000, 1..40),
                prop::collection::vec(prop_oneof![Just(500usize), Just(400), Just(600)], 1..40),
            ],
            cuts in prop::collection::vec(0.0f64..1.0, 2..40),
        ) {
            let len: usize = lens.iter().sum();
            let cells = cells(len);
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss, reason = "small numbers")]
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| (cut * len as f64) as usize).collect();
            cuts.sort_unstable();
            cuts.dedup();
            let pieces: Vec<_> = cuts.chunks_exact(2).map(|cut| cut[0]..cut[1]).collect();
            let (found, shown, _) = visit(&file(&cells, &lens), len, &pieces);
            let bytes = pieces.iter().map(Range::len).sum::<usize>();
            prop_assert!(matches!(found, Ok((_, all)) if all == bytes), "{:?}", found);
            let expected: Vec<u8> = pieces.iter().flat_map(|piece| cells[piece.clone()].to_vec()).collect();
            prop_assert_eq!(shown.bytes(), expected);
            for (range, bytes) in shown.0 {
                prop_assert_eq!(&cells[range], &bytes[..]);
            }
        }
    }
}
