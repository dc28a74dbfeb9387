//! How a writer cuts a tile into chunks (docs/format/tiles-and-chunks.md).
//!
//! A reader uses the chunk headers and does not need this module.

use tdb_codec::{to_u64, to_usize};

use crate::error::{Error, ErrorKind, Result};

/// The facts about the cells of a tile that a writer needs to cut it.
#[derive(Clone, Copy, Debug)]
pub enum Cells<'a> {
    /// Cells of this many bytes; never split.
    Fixed {
        /// Size of a cell in bytes.
        size: u64,
    },
    /// Cells of any length; chunks begin at the start of a cell.
    Var {
        /// The start of each cell, in bytes from the start of the tile.
        offsets: &'a [u64],
        /// Size of one value in bytes.
        value_size: u64,
    },
    /// Chunks of a fixed number of bytes, which may split cells: values of variable length before
    /// [`Gate::WholeCellChunks`](tdb_codec::Gate::WholeCellChunks).
    Slices {
        /// Length of a chunk in bytes.
        len: u64,
    },
    /// Coordinates in one file, before [`Gate::DimensionFiles`](tdb_codec::Gate::DimensionFiles):
    /// each dimension has an equal share of the tile, and each share is cut separately.
    Coordinates {
        /// Number of dimensions.
        dimensions: u64,
        /// Size of one coordinate in bytes.
        size: u64,
    },
    /// The whole tile is one chunk: images, and pipelines whose max chunk size is 0.
    Whole,
}

/// The target length of chunks in bytes.
pub const TARGET_CHUNK_LEN: u64 = 65536;

/// The lengths of the chunks that a tile of `tile_len` bytes is cut into. There is at least one;
/// the last may be empty.
///
/// ```
/// use tdb_tile::split::{Cells, chunk_lengths};
///
/// // 100,000 cells of 3 bytes: chunks hold whole cells.
/// let lengths = chunk_lengths(300_000, Cells::Fixed { size: 3 })?;
/// assert_eq!(lengths, [65535, 65535, 65535, 65535, 37860]);
/// // Two strings of 60,000 and 10,000 bytes: the second joins the first, and an empty chunk follows.
/// let lengths = chunk_lengths(70_000, Cells::Var { offsets: &[0, 60_000], value_size: 1 })?;
/// assert_eq!(lengths, [70_000, 0]);
/// # Ok::<(), tdb_tile::Error>(())
/// ```
///
/// # Errors
/// If a tile of cells of any length is longer than a chunk, and offsets decrease or are past its
/// end.
pub fn chunk_lengths(tile_len: usize, cells: Cells<'_>) -> Result<Vec<usize>> {
    match cells {
        Cells::Whole => Ok(vec![tile_len]),
        Cells::Fixed { size } => Ok(fixed(tile_len, chunk_len(tile_len, size))),
        Cells::Slices { len } => Ok(fixed(tile_len, len.max(1))),
        Cells::Coordinates { dimensions, size } => Ok(coordinates(tile_len, dimensions, size)),
        Cells::Var { offsets, value_size } => var(tile_len, offsets, value_size),
    }
}

/// The target rounded down to whole `unit`s, and at least one.
fn chunk_len(tile_len: usize, unit: u64) -> u64 {
    let max = TARGET_CHUNK_LEN.min(to_u64(tile_len));
    let whole = max.saturating_sub(max.checked_rem(unit).unwrap_or(0));
    whole.max(unit).max(1)
}

fn fixed(tile_len: usize, chunk_len: u64) -> Vec<usize> {
    let chunk = to_usize(chunk_len).unwrap_or(usize::MAX);
    let mut lengths = Vec::with_capacity(tile_len.div_ceil(chunk).max(1));
    let mut rest = tile_len;
    while rest > chunk {
        lengths.push(chunk);
        rest = rest.saturating_sub(chunk);
    }
    lengths.push(rest);
    lengths
}

/// The chunks of each dimension, one dimension after the other. Bytes that are not part of any
/// dimension's share, which no writer produces, become a separate chunk.
fn coordinates(tile_len: usize, dimensions: u64, size: u64) -> Vec<usize> {
    let dimensions = to_usize(dimensions).unwrap_or(usize::MAX).max(1);
    let share = tile_len.checked_div(dimensions).unwrap_or(0);
    if share == 0 {
        return vec![tile_len];
    }
    let one = fixed(share, chunk_len(share, size));
    let rest = tile_len.saturating_sub(share.saturating_mul(dimensions));
    let mut lengths = one.repeat(dimensions);
    lengths.extend((rest > 0).then_some(rest));
    lengths
}

/// The same rule as `FilterPipeline::get_var_chunk_sizes` of libtiledb 2.7 and later.
fn var(tile_len: usize, offsets: &[u64], value_size: u64) -> Result<Vec<usize>> {
    let target = chunk_len(tile_len, value_size);
    let total = to_u64(tile_len);
    if total == target || tile_len == 0 {
        return Ok(vec![tile_len]);
    }
    let (low, high) = (target / 2, target.saturating_add(target / 2));
    let mut starts = vec![0u64];
    let mut current = 0u64;
    let ends = offsets.iter().copied().skip(1).chain([total]);
    for (cell, (&start, end)) in offsets.iter().zip(ends).enumerate() {
        let bad = |value| Error::new(0, ErrorKind::BadOffset { cell: to_u64(cell), value });
        let size = end.checked_sub(start).ok_or_else(|| bad(start))?;
        if end > total {
            return Err(bad(end));
        }
        let joined = current.saturating_add(size);
        if joined <= target {
            current = joined;
        } else if current <= low || joined <= high {
            starts.push(end);
            current = 0;
        } else {
            starts.push(start);
            current = size;
            if size > target {
                if cell.saturating_add(1) < offsets.len() {
                    starts.push(end);
                }
                current = 0;
            }
        }
    }
    let ends = starts.iter().copied().skip(1).chain([total]);
    let length = |(&start, end): (&u64, u64)| to_usize(end.saturating_sub(start)).unwrap_or(usize::MAX);
    Ok(starts.iter().zip(ends).map(length).collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of_cells(sizes: &[u64]) -> Vec<usize> {
        let mut offsets = Vec::new();
        let mut end = 0;
        for size in sizes {
            offsets.push(end);
            end += size;
        }
        let tile_len = usize::try_from(end).unwrap();
        chunk_lengths(tile_len, Cells::Var { offsets: &offsets, value_size: 1 }).unwrap()
    }

    #[test]
    fn var_cells_are_cut_where_libtiledb_was_seen_to_cut_them() {
        assert_eq!(of_cells(&[60000, 10000]), [70000, 0]);
        assert_eq!(of_cells(&[30000, 70000]), [100_000, 0]);
        assert_eq!(of_cells(&[40000, 70000]), [40000, 70000]);
        assert_eq!(of_cells(&[40000, 40000, 40000]), [80000, 40000]);
        assert_eq!(of_cells(&[65537]), [65537, 0]);
        assert_eq!(of_cells(&[10, 200_000]), [200_010, 0]);
        assert_eq!(of_cells(&[200_000, 10]), [200_000, 10]);
        assert_eq!(of_cells(&[65536, 40000]), [65536, 40000]);
        assert_eq!(of_cells(&[32769, 200_000, 5]), [32769, 200_000, 5]);
        assert_eq!(of_cells(&[40000, 70000, 5]), [40000, 70000, 5]);
        assert_eq!(of_cells(&[40000, 65536, 5]), [40000, 65541, 0]);
        assert_eq!(of_cells(&[70000, 70000, 70000]), [70000, 70000, 70000, 0]);
    }

    #[test]
    fn a_tile_of_empty_cells_is_one_empty_chunk_and_a_small_one_is_one_chunk() {
        assert_eq!(of_cells(&[0, 0, 0]), [0]);
        assert_eq!(of_cells(&[1, 0, 5]), [6]);
        assert_eq!(of_cells(&[65536]), [65536]);
    }

    #[test]
    fn fixed_cells_are_never_split() {
        let lengths = |len, size| chunk_lengths(len, Cells::Fixed { size }).unwrap();
        assert_eq!(lengths(200_000, 4), [65536, 65536, 65536, 3392]);
        assert_eq!(lengths(80_000, 40_000), [40_000, 40_000]);
        assert_eq!(lengths(200_000, 100_000), [100_000, 100_000]);
        assert_eq!(lengths(131_072, 8), [65536, 65536]);
        assert_eq!(lengths(0, 8), [0]);
    }

    #[test]
    fn slices_and_shared_coordinates_are_cut_as_old_libraries_cut_them() {
        assert_eq!(chunk_lengths(100, Cells::Slices { len: 24 }).unwrap(), [24, 24, 24, 24, 4]);
        assert_eq!(chunk_lengths(0, Cells::Slices { len: 0 }).unwrap(), [0]);
        // 20,000 pairs of f64: each dimension has its own short last chunk.
        let pairs = Cells::Coordinates { dimensions: 2, size: 8 };
        let lengths = chunk_lengths(320_000, pairs).unwrap();
        assert_eq!(lengths, [65536, 65536, 28928, 65536, 65536, 28928]);
        assert_eq!(chunk_lengths(0, pairs).unwrap(), [0]);
        assert_eq!(chunk_lengths(33, pairs).unwrap(), [16, 16, 1]);
        assert_eq!(chunk_lengths(8, Cells::Coordinates { dimensions: u64::MAX, size: 8 }).unwrap(), [8]);
    }

    #[test]
    fn offsets_that_decrease_or_go_past_the_end_are_refused() {
        for offsets in [[0, 80_000, 70_000], [0, 90_000, 200_000]] {
            assert!(chunk_lengths(100_000, Cells::Var { offsets: &offsets, value_size: 1 }).is_err());
        }
        // A tile that is one chunk is not cut, so nothing is looked up in its offsets.
        let short = Cells::Var { offsets: &[0, 80, 70], value_size: 1 };
        assert_eq!(chunk_lengths(100, short).unwrap(), [100]);
    }

    proptest! {
        #[test]
        fn chunks_cover_the_tile_and_begin_at_cells(sizes in proptest::collection::vec(0u64..100_000, 1..40)) {
            let lengths = of_cells(&sizes);
            let total: u64 = sizes.iter().sum();
            prop_assert_eq!(lengths.iter().map(|&len| len as u64).sum::<u64>(), total);
            let mut boundaries = vec![0];
            sizes.iter().for_each(|size| boundaries.push(boundaries[boundaries.len() - 1] + size));
            let mut at = 0;
            for len in lengths {
                prop_assert!(boundaries.contains(&at));
                at += len as u64;
            }
        }
    }
}
