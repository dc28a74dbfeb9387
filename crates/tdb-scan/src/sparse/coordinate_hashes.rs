//! Hashes of the coordinates of cells.

use tdb_codec::{Buffer, to_u64};
use tdb_predicate::StringView;

use crate::buffers::zeroed;
use crate::{Error, Result};

/// A column of coordinates: values back to back, and for strings also offsets, one more than cells.
pub(super) type Column<'c> = (&'c [u8], Option<&'c [u64]>);

/// Cells are looked at in blocks, so that sums stay in registers and in the nearest cache.
const BLOCK: usize = 512;

/// A hash of each cell's coordinates, four bytes each. Coordinates that are equal in the
/// search for duplicates have equal hashes.
///
/// # Errors
/// [`Error::Internal`](crate::Error::Internal) if a column does not have so many cells.
pub(super) fn coordinate_hashes(columns: &[Column<'_>], cells: usize) -> Result<Buffer> {
    let is_whole = |(values, offsets): &Column<'_>| match offsets {
        Some(offsets) => offsets.len().checked_sub(1) == Some(cells),
        None => values.len().checked_rem(cells).unwrap_or(0) == 0,
    };
    if !columns.iter().all(is_whole) {
        return Err(Error::internal("a column of coordinates lacks some of its cells"));
    }
    let mut coordinate_hashes = zeroed(cells.saturating_mul(4))?;
    let mut sums = [0u64; BLOCK];
    let blocks = coordinate_hashes.as_mut_slice().as_chunks_mut::<4>().0.chunks_mut(BLOCK);
    for (block, first) in blocks.zip((0usize..).step_by(BLOCK)) {
        let Some(sums) = sums.get_mut(..block.len()) else { break };
        sums.fill(0);
        let mut factor = FACTOR;
        for (values, offsets) in columns {
            match (offsets, values.len().checked_div(cells).unwrap_or(0)) {
                (Some(offsets), _) => {
                    let offsets = offsets.get(first..).unwrap_or_default();
                    add(sums, factor, StringView { values, offsets }.iter().map(text));
                }
                (None, 4) => {
                    let values = values.as_chunks::<4>().0.get(first..).unwrap_or_default().iter();
                    add(sums, factor, values.map(|word| u32::from_le_bytes(*word).into()));
                }
                (None, 8) => {
                    let values = values.as_chunks::<8>().0.get(first..).unwrap_or_default().iter();
                    add(sums, factor, values.map(|word| u64::from_le_bytes(*word)));
                }
                (None, size) => {
                    let values = values.chunks_exact(size.max(1)).skip(first);
                    add(sums, factor, values.map(little_endian));
                }
            }
            factor = mix(factor, 1) | 1;
        }
        for (hash, sum) in block.iter_mut().zip(sums) {
            let [.., a, b, c, d] = mix(*sum, 0).to_le_bytes();
            *hash = [a, b, c, d];
        }
    }
    Ok(coordinate_hashes)
}

/// An odd number without a pattern: the bits of the golden ratio.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

const fn mix(sum: u64, word: u64) -> u64 {
    let mixed = (sum ^ word).wrapping_mul(FACTOR);
    mixed ^ (mixed >> 29)
}

/// Adds a dimension's coordinates, each times an odd number. The upper half of each, in which reals
/// differ, also goes into the lower.
fn add(sums: &mut [u64], factor: u64, words: impl Iterator<Item = u64>) {
    for (sum, word) in sums.iter_mut().zip(words) {
        *sum = sum.wrapping_add((word ^ (word >> 32)).wrapping_mul(factor));
    }
}

/// A number for a string.
fn text(cell: &[u8]) -> u64 {
    cell.chunks(8).fold(to_u64(cell.len()), |sum, chunk| mix(sum, little_endian(chunk)))
}

fn little_endian(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
}

/// Hashes as numbers.
pub(super) fn words(coordinate_hashes: &[u8]) -> impl Iterator<Item = u32> {
    coordinate_hashes.as_chunks::<4>().0.iter().map(|hash| u32::from_le_bytes(*hash))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn bytes<const N: usize>(values: impl Iterator<Item = [u8; N]>) -> Vec<u8> {
        values.flatten().collect()
    }

    fn distinct(columns: &[Column<'_>], cells: usize) -> usize {
        words(coordinate_hashes(columns, cells).unwrap().as_slice()).collect::<HashSet<u32>>().len()
    }

    #[test]
    fn cells_of_grids_of_integers_and_of_reals_hardly_ever_share_a_fingerprint() {
        let grid = || (0..300u16).flat_map(|x| (0..300u16).map(move |y| (x, y)));
        let integers =
            |of: fn((u16, u16)) -> u16| bytes(grid().map(move |cell| i64::from(of(cell)).to_le_bytes()));
        let reals =
            |of: fn((u16, u16)) -> u16| bytes(grid().map(move |cell| f64::from(of(cell)).to_le_bytes()));
        let small = |of: fn((u16, u16)) -> u16| bytes(grid().map(move |cell| of(cell).to_le_bytes()));
        for make in [&integers as &dyn Fn(fn((u16, u16)) -> u16) -> Vec<u8>, &reals, &small] {
            let (x, y) = (make(|cell| cell.0), make(|cell| cell.1));
            assert!(distinct(&[(&x, None), (&y, None)], 90_000) > 89_990);
        }
    }

    #[test]
    fn strings_have_fingerprints_of_their_own_whatever_their_length() {
        let texts: Vec<String> =
            (0..5000).map(|number| "x".repeat(number % 19) + &number.to_string()).collect();
        let mut offsets = vec![0u64];
        offsets.extend(texts.iter().scan(0, |end, text| {
            *end += to_u64(text.len());
            Some(*end)
        }));
        assert!(distinct(&[(texts.concat().as_bytes(), Some(&offsets))], 5000) >= 4998);
    }

    #[test]
    fn a_cell_has_the_same_fingerprint_at_every_place() {
        let x = bytes((0..2000u32).map(|x| (x % 7).to_le_bytes()));
        let all: Vec<u32> = words(coordinate_hashes(&[(&x, None)], 2000).unwrap().as_slice()).collect();
        assert!((0..1993).all(|cell| all[cell] == all[cell + 7]));
    }
}
