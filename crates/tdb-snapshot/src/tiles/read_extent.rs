//! Decides how much of a tile is read: all of it, the chunks that have wanted cells, or only those
//! cells.
//!
//! Sums and products in this module are costs of reads, in bytes: estimates that stop at the
//! greatest number.

use core::ops::Range;

use tdb_codec::{to_u64, to_usize};
use tdb_tile::plain_chunks;

use crate::thresholds::{MIN_PARTIAL_TILE_BYTES, READ_COST_BYTES};

/// Bytes of cells in most chunks.
pub const USUAL_CHUNK: usize = 64 << 10;
/// How much of a tile is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ReadExtent {
    /// All of it, at once.
    Whole,
    /// Chunk headers, one by one, and the chunks that have wanted cells.
    Chunks,
    /// These ranges of the unfiltered tile, ascending and apart, and the headers of chunks. Only
    /// where no filter changed it.
    Pieces {
        ranges: Vec<Range<usize>>,
        /// Whether reading the whole tile would be the other choice: then a file that is not in
        /// memory must be read ahead.
        else_whole: bool,
    },
}

impl ReadExtent {
    /// The cheapest way to read a tile of `len` bytes, `stored` bytes in its file. `wanted` says
    /// whether a range has wanted bytes. `runs` are the wanted bytes, ascending, if no filter
    /// changed them.
    pub(super) fn of(
        stored: u64,
        len: usize,
        wanted: &mut impl FnMut(Range<usize>) -> bool,
        runs: Option<impl Iterator<Item = Range<usize>>>,
    ) -> Self {
        if stored < MIN_PARTIAL_TILE_BYTES {
            return Self::Whole;
        }
        let chunks = len.div_ceil(USUAL_CHUNK);
        let starts = (0..len).step_by(USUAL_CHUNK);
        let found = starts.filter(|start| wanted(*start..len.min(start.saturating_add(USUAL_CHUNK)))).count();
        let bytes = to_usize(stored).unwrap_or(usize::MAX);
        let whole = reads(1, bytes);
        let in_chunks =
            reads(chunks.saturating_add(found), found.saturating_mul(bytes.div_ceil(chunks.max(1))));
        let few = found.saturating_mul(3) <= chunks && in_chunks < whole;
        let headers = plain_chunks(stored, to_u64(len)).and_then(to_usize);
        match runs.zip(headers) {
            Some((runs, headers)) => {
                let most = if few { in_chunks } else { whole };
                Self::Pieces { ranges: joined(runs, (headers, len), most), else_whole: !few }
            }
            None if few => Self::Chunks,
            None => Self::Whole,
        }
    }
}

/// The cost of a number of reads of some bytes, in bytes that are copied in the same time.
const fn reads(reads: usize, bytes: usize) -> usize {
    reads.saturating_mul(READ_COST_BYTES).saturating_add(bytes)
}

/// Joins runs of a tile, whose `headers` lie in it at equal distances, where they are so close to
/// each other that one read costs less than two. If reading them so costs `most` or more, only what
/// is further apart than a chunk is not joined.
fn joined(
    runs: impl Iterator<Item = Range<usize>>,
    (headers, len): (usize, usize),
    most: usize,
) -> Vec<Range<usize>> {
    let (mut fine, mut coarse) = (Vec::new(), Vec::new());
    let (mut bytes, mut is_too_much) = (0usize, false);
    for run in runs {
        join(&mut coarse, &run, USUAL_CHUNK);
        if is_too_much {
            continue;
        }
        bytes = bytes.saturating_add(join(&mut fine, &run, READ_COST_BYTES));
        // A header before each piece, and those inside of pieces, which are read with them.
        let inside = bytes.saturating_mul(headers).checked_div(len).unwrap_or(0);
        let before = fine.len().min(headers.saturating_sub(inside));
        is_too_much = reads(fine.len().saturating_add(before), bytes) >= most;
    }
    if is_too_much { coarse } else { fine }
}

/// Appends a run, or joins it to the last one if it begins less than `near` after it. Returns the
/// number of bytes that are added.
fn join(pieces: &mut Vec<Range<usize>>, run: &Range<usize>, near: usize) -> usize {
    if let Some(last) = pieces.last_mut().filter(|last| run.start.saturating_sub(last.end) < near) {
        let old = last.end;
        last.end = old.max(run.end);
        return last.end.saturating_sub(old);
    }
    pieces.push(run.clone());
    run.len()
}

/// The parts of `pieces`, which are ascending, that lie in `range`.
pub(super) fn pieces_in<'p>(
    pieces: &'p [Range<usize>],
    range: &Range<usize>,
) -> impl Iterator<Item = Range<usize>> + use<'p> {
    let range = range.clone();
    let first = pieces.partition_point(|piece| piece.end <= range.start);
    let pieces = pieces.get(first..).unwrap_or_default().iter();
    let parts = pieces.map(move |piece| piece.start.max(range.start)..piece.end.min(range.end));
    parts.take_while(|part| part.start < part.end)
}

#[cfg(test)]
#[expect(clippy::single_range_in_vec_init, reason = "lists of one range are meant")]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;
    /// A tile of 2 MiB in 32 chunks.
    const STORED: u64 = 8 + 32 * 12 + (2 << 20);

    fn extent(runs: &[Range<usize>], plain: bool) -> ReadExtent {
        let mut wanted =
            |range: Range<usize>| runs.iter().any(|run| run.start < range.end && range.start < run.end);
        ReadExtent::of(STORED, 2 * MIB, &mut wanted, plain.then(|| runs.iter().cloned()))
    }

    fn pieces(ranges: Vec<Range<usize>>, else_whole: bool) -> ReadExtent {
        ReadExtent::Pieces { ranges, else_whole }
    }

    #[test]
    fn cells_that_lie_far_apart_are_read_alone_if_no_filter_changed_them() {
        let column: Vec<_> = (0..256).map(|row| row * 8192 + 40..row * 8192 + 48).collect();
        assert_eq!(extent(&column, true), pieces(column.clone(), true));
        assert_eq!(extent(&column, false), ReadExtent::Whole, "each chunk has some");
        assert_eq!(extent(&column[..64], false), ReadExtent::Chunks, "a quarter of the chunks have some");
        assert_eq!(extent(&column[..1], true), pieces(vec![40..48], false));
    }

    #[test]
    fn runs_with_small_gaps_are_read_together() {
        let rows: Vec<_> = (0..64).map(|row| row * 2048..row * 2048 + 100).collect();
        assert_eq!(extent(&rows, true), pieces(vec![0..63 * 2048 + 100], false));
        assert_eq!(
            extent(&[0..8, 8 + READ_COST_BYTES..9000], true),
            pieces(vec![0..8, 8 + READ_COST_BYTES..9000], false)
        );
    }

    #[test]
    fn much_is_read_in_one_piece() {
        let all = |ranges| pieces(ranges, true);
        assert_eq!(extent(&[0..2 * MIB], true), all(vec![0..2 * MIB]));
        let dense: Vec<_> = (0..256).map(|row| row * 8192..row * 8192 + 7000).collect();
        let whole = 0..255 * 8192 + 7000;
        assert_eq!(
            extent(&dense, true),
            all(vec![whole]),
            "reading between runs costs less than a read for each"
        );
        let far = |first: usize| (0..10).map(move |run| first + run * 6000..first + run * 6000 + 500);
        let two = || far(70_000).chain(far(1 << 20));
        assert_eq!(joined(two(), (32, 2 * MIB), MIB), two().collect::<Vec<_>>());
        let coarse = [70_000..124_500, 1 << 20..(1 << 20) + 54_500];
        assert_eq!(joined(two(), (32, 2 * MIB), 20 * READ_COST_BYTES), coarse, "two reads instead of 20");
    }

    #[test]
    fn a_tile_of_a_wrong_length_is_read_whole_and_one_of_very_many_chunks_in_one_piece() {
        let column = || (0..256).map(|row| row * 8192..row * 8192 + 8);
        let of = |stored| ReadExtent::of(stored, 2 * MIB, &mut |_| true, Some(column()));
        assert_eq!(of(STORED), pieces(column().collect(), true));
        assert_eq!(of(STORED + 900 * 12), pieces(vec![0..255 * 8192 + 8], true), "932 headers");
        assert_eq!(of(STORED + 1), ReadExtent::Whole, "chunks have more than headers and cells");
        assert_eq!(of(STORED - (1 << 20)), ReadExtent::Whole, "chunks have fewer bytes than cells");
    }

    #[test]
    fn of_filtered_tiles_chunks_are_read_alone_only_if_that_is_less() {
        let of = |stored| {
            ReadExtent::of(stored, 2 * MIB, &mut |range| range.start < 100, None::<core::iter::Empty<_>>)
        };
        assert_eq!(of(MIB as u64), ReadExtent::Chunks);
        assert_eq!(of(150 << 10), ReadExtent::Whole, "33 reads cost more than 150 KiB");
    }

    #[test]
    fn pieces_are_cut_where_chunks_end() {
        let pieces = [10..20, 30..70, 90..95];
        let within = |range| pieces_in(&pieces, &range).collect::<Vec<_>>();
        assert_eq!(within(0..40), [10..20, 30..40]);
        assert_eq!(within(40..80), [40..70]);
        assert_eq!(within(70..90), []);
        assert_eq!(within(90..100), [90..95]);
    }

    #[test]
    fn small_tiles_are_read_whole() {
        assert_eq!(ReadExtent::of(1000, 2 * MIB, &mut |_| true, Some([0..8].into_iter())), ReadExtent::Whole);
    }
}
