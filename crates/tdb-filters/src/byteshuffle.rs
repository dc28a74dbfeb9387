//! BYTESHUFFLE (9): bytes of equal significance next to each other.
//!
//! Chunk metadata:
//!
//! | Field | Type |
//! |---|---|
//! | part count | u32 |
//! | per part: length | u32 |
//!
//! Data keeps its length. In a part of `n` values, output byte `j·n + i` is byte `j` of value `i`;
//! bytes after the last whole value are copied. The size is that of the datatype, not of the cell.

use tdb_codec::{Reader, Writer};

use crate::error::Kind;
use crate::kernels::{shuffle, unshuffle};
use crate::parts::{each_part, read_lengths};

/// Reads the metadata block and undoes the shuffle of `src` into `dst`, which has the same length.
pub(crate) fn decode(size: usize, block: &mut Reader<'_>, src: &[u8], dst: &mut [u8]) -> Kind<()> {
    let lengths = read_lengths(block, src.len())?;
    each_part(lengths, src, dst, |src, dst| unshuffle(size, src, dst));
    Ok(())
}

/// Appends the metadata block, and writes the shuffled bytes of the one part `src` to `dst`, which
/// has the same length.
pub(crate) fn encode(size: usize, src: &[u8], block: &mut Writer, dst: &mut [u8]) -> Kind<()> {
    block.u32(1);
    block.len_u32(src.len(), "part length")?;
    shuffle(size, src, dst);
    Ok(())
}

/// Appends the bytes of values of `size` bytes: all first ones, then all second ones, and so on.
/// What is no whole value stays behind them.
///
/// ```
/// let mut out = Vec::new();
/// tdb_filters::shuffle_bytes(2, &[1, 2, 3, 4, 5], &mut out);
/// assert_eq!(out, [1, 3, 2, 4, 5]);
/// ```
pub fn shuffle_bytes(size: usize, src: &[u8], out: &mut Vec<u8>) {
    if matches!(size, 2 | 4 | 8) {
        with_kernel(size, src, out, shuffle);
        return;
    }
    let count = src.len().checked_div(size).unwrap_or(0);
    let (values, rest) = src.split_at_checked(count.saturating_mul(size)).unwrap_or((src, &[]));
    for place in 0..size.min(values.len()) {
        out.extend(values.iter().skip(place).step_by(size));
    }
    out.extend_from_slice(rest);
}

/// The inverse of [`shuffle_bytes`].
///
/// ```
/// let mut out = Vec::new();
/// tdb_filters::unshuffle_bytes(2, &[1, 3, 2, 4, 5], &mut out);
/// assert_eq!(out, [1, 2, 3, 4, 5]);
/// ```
pub fn unshuffle_bytes(size: usize, src: &[u8], out: &mut Vec<u8>) {
    if matches!(size, 2 | 4 | 8) {
        with_kernel(size, src, out, unshuffle);
        return;
    }
    let count = src.len().checked_div(size).unwrap_or(0);
    let (values, rest) = src.split_at_checked(count.saturating_mul(size)).unwrap_or((src, &[]));
    let start = out.len();
    out.resize(start.saturating_add(values.len()), 0);
    for (place, plane) in values.chunks_exact(count.max(1)).enumerate() {
        let targets = out.iter_mut().skip(start.saturating_add(place)).step_by(size);
        targets.zip(plane).for_each(|(target, byte)| *target = *byte);
    }
    out.extend_from_slice(rest);
}

/// Appends what a kernel makes of bytes.
fn with_kernel(size: usize, src: &[u8], out: &mut Vec<u8>, kernel: impl Fn(usize, &[u8], &mut [u8])) {
    let start = out.len();
    out.resize(start.saturating_add(src.len()), 0);
    if let Some(dst) = out.get_mut(start..) {
        kernel(size, src, dst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_u16_are_the_reference_s_bytes() {
        let input: Vec<u8> =
            [0x0102u16, 0x0304, 0x0506].iter().flat_map(|value| value.to_le_bytes()).collect();
        let mut out = vec![0; 6];
        let mut block = Writer::new();
        encode(2, &input, &mut block, &mut out).unwrap();
        assert_eq!(out, [2, 4, 6, 1, 3, 5]);
        assert_eq!(block.as_slice(), [1, 0, 0, 0, 6, 0, 0, 0]);
    }

    #[test]
    fn values_of_any_size_are_shuffled_and_come_back() {
        for size in 0..20 {
            for len in [0, 1, 5, 8, 64, 65, 240] {
                let input: Vec<u8> = (0..len).map(|at: u8| at.wrapping_mul(37)).collect();
                let (mut there, mut back) = (b"there".to_vec(), b"back".to_vec());
                shuffle_bytes(size, &input, &mut there);
                unshuffle_bytes(size, &there[5..], &mut back);
                assert_eq!(back[4..], input, "{size} {len}");
                let width = size.max(1);
                let whole = input.len() / width * width;
                let planes = (0..width).flat_map(|at| input[..whole].iter().skip(at).step_by(width));
                let expected: Vec<u8> = planes.chain(&input[whole..]).copied().collect();
                assert_eq!(there[5..], expected, "{size} {len}");
            }
        }
    }

    #[test]
    fn parts_are_shuffled_one_by_one() {
        let block = [2, 0, 0, 0, 4, 0, 0, 0, 2, 0, 0, 0];
        let mut out = [0; 6];
        decode(2, &mut Reader::new(&block), &[1, 3, 2, 4, 5, 6], &mut out).unwrap();
        assert_eq!(out, [1, 2, 3, 4, 5, 6]);
        for total in [5, 7] {
            assert!(decode(2, &mut Reader::new(&block), &vec![0; total], &mut vec![0; total]).is_err());
        }
    }
}
