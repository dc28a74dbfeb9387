//! How much of a tile is read: all of it, the chunks that have wanted cells, or no more than those cells.

use core::ops::Range;

use tdb_codec::{to_u64, to_usize};
use tdb_tile::plain_chunks;

/// Tiles with fewer stored bytes than this are read whole: one read costs less than many small ones.
const SMALL_TILE: u64 = 128 << 10;
/// Bytes of cells in most chunks.
pub const USUAL_CHUNK: usize = 64 << 10;
/// About as many bytes as can be copied in the time that one small read of an open file takes.
pub const READ_COST: usize = 2 << 10;

/// How much of a tile is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    /// All of it, at once.
    Whole,
    /// Chunk headers, one by one, and the chunks that have wanted cells.
    Chunks,
    /// Chunk headers, one by one, and these ranges of the unfiltered tile, ascending and apart. Only where no filter
    /// changed it.
    Pieces {
        ranges: Vec<Range<usize>>,
        /// Whether reading the whole tile would be the other choice: then a file that is not in memory must be read ahead.
        else_whole: bool,
    },
}

impl Extent {
    /// What costs least for a tile of `len` bytes, `stored` bytes in its file. `wanted` says whether a range has wanted
    /// bytes. `runs` are the wanted bytes if no filter changed them, ascending.
    pub(super) fn of(
        stored: u64,
        len: usize,
        wanted: &mut impl FnMut(Range<usize>) -> bool,
        runs: Option<impl Iterator<Item = Range<usize>>>,
    ) -> Self {
        if stored < SMALL_TILE {
            return Self::Whole;
        }
        let chunks = len.div_ceil(USUAL_CHUNK);
        let starts = (0..len).step_by(USUAL_CHUNK);
        let found = starts.filter(|start| wanted(*start..len.min(start.saturating_add(USUAL_CHUNK)))).count();
        let few = found.saturating_mul(3) <= chunks;
        let reads = |reads: usize, bytes: usize| reads.saturating_mul(READ_COST).saturating_add(bytes);
        let most = if few {
            reads(chunks.saturating_add(found), found.saturating_mul(USUAL_CHUNK))
        } else {
            reads(1, len)
        };
        let pieces = |runs| {
            let headers = to_usize(plain_chunks(stored, to_u64(len))?)?;
            joined(runs, most.saturating_sub(reads(headers, 0)))
        };
        match runs.and_then(pieces) {
            Some(ranges) => Self::Pieces { ranges, else_whole: !few },
            None if few => Self::Chunks,
            None => Self::Whole,
        }
    }
}

/// The parts of `pieces` that lie in `range`.
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

/// Joins runs that lie so close to each other that one read costs less than two. `None` if reading them costs `most` or
/// more.
fn joined(runs: impl Iterator<Item = Range<usize>>, most: usize) -> Option<Vec<Range<usize>>> {
    let mut pieces: Vec<Range<usize>> = Vec::new();
    let mut cost = 0usize;
    for run in runs {
        match pieces.last_mut() {
            Some(last) if run.start.saturating_sub(last.end) < READ_COST => {
                cost = cost.saturating_add(run.end.saturating_sub(last.end));
                last.end = last.end.max(run.end);
            }
            _ => {
                cost = cost.saturating_add(READ_COST).saturating_add(run.len());
                pieces.push(run);
            }
        }
        if cost >= most {
            return None;
        }
    }
    Some(pieces)
}

#[cfg(test)]
#[expect(clippy::single_range_in_vec_init, reason = "lists of one range are meant")]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;
    /// A tile of 2 MiB in 32 chunks.
    const STORED: u64 = 8 + 32 * 12 + (2 << 20);

    fn extent(runs: &[Range<usize>], plain: bool) -> Extent {
        let mut wanted =
            |range: Range<usize>| runs.iter().any(|run| run.start < range.end && range.start < run.end);
        Extent::of(STORED, 2 * MIB, &mut wanted, plain.then(|| runs.iter().cloned()))
    }

    fn pieces(ranges: Vec<Range<usize>>, else_whole: bool) -> Extent {
        Extent::Pieces { ranges, else_whole }
    }

    #[test]
    fn cells_that_lie_far_apart_are_read_alone_if_no_filter_changed_them() {
        let column: Vec<_> = (0..256).map(|row| row * 8192 + 40..row * 8192 + 48).collect();
        assert_eq!(extent(&column, true), pieces(column.clone(), true));
        assert_eq!(extent(&column, false), Extent::Whole, "each chunk has some");
        assert_eq!(extent(&column[..64], false), Extent::Chunks, "a quarter of the chunks have some");
        assert_eq!(extent(&column[..1], true), pieces(vec![40..48], false));
    }

    #[test]
    fn runs_with_small_gaps_are_read_together() {
        let rows: Vec<_> = (0..64).map(|row| row * 2048..row * 2048 + 100).collect();
        assert_eq!(extent(&rows, true), pieces(vec![0..63 * 2048 + 100], false));
        assert_eq!(
            extent(&[0..8, 8 + READ_COST..9000], true),
            pieces(vec![0..8, 8 + READ_COST..9000], false)
        );
    }

    #[test]
    fn much_is_read_at_once() {
        assert_eq!(extent(&[0..2 * MIB], true), Extent::Whole);
        assert_eq!(extent(&[0..2 * MIB - 4096], true), Extent::Whole, "32 headers cost more than the rest");
        let dense: Vec<_> = (0..256).map(|row| row * 8192..row * 8192 + 7000).collect();
        assert_eq!(
            extent(&dense, true),
            Extent::Whole,
            "reading between runs costs less than a read for each"
        );
    }

    #[test]
    fn a_tile_of_very_many_chunks_or_of_a_wrong_length_is_read_whole() {
        let column = || (0..256).map(|row| row * 8192..row * 8192 + 8);
        let of = |stored| Extent::of(stored, 2 * MIB, &mut |_| true, Some(column()));
        assert_eq!(of(STORED), pieces(column().collect(), true));
        assert_eq!(of(STORED + 900 * 12), Extent::Whole, "932 headers");
        assert_eq!(of(STORED + 1), Extent::Whole, "chunks have more than headers and cells");
        assert_eq!(of(STORED - (1 << 20)), Extent::Whole, "chunks have fewer bytes than cells");
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
        assert_eq!(Extent::of(1000, 2 * MIB, &mut |_| true, Some([0..8].into_iter())), Extent::Whole);
    }
}
