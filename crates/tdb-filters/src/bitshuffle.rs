//! BITSHUFFLE (8): bits of equal significance next to each other.
//!
//! Chunk metadata:
//!
//! | Field | Type |
//! |---|---|
//! | part count | u32 |
//! | per part: length | u32 |
//!
//! Data keeps its length. An input whose length is not a multiple of 8 is stored as two parts: the
//! largest multiple of 8, and the rest. A part that is a multiple of both 8 and the value size is
//! transformed in blocks of 8192 bytes: with `n` values in a block (rounded down to a multiple of
//! 8; the other values are copied after them), bit `i mod 8` of byte `(8·b + k)·n/8 + i/8` is bit
//! `k` of byte `b` of value `i`. Other parts are copied.

use tdb_codec::{Reader, Writer};

use crate::error::Kind;
use crate::kernels::{BLOCK, Planes, shuffle_bits, unshuffle_bits};
use crate::parts::{each_part, read_lengths};

/// Reads the metadata block and undoes the shuffle of `src` into `dst`, which has the same length.
pub(crate) fn decode(
    size: usize,
    block: &mut Reader<'_>,
    src: &[u8],
    dst: &mut [u8],
    planes: &mut Planes,
) -> Kind<()> {
    let lengths = read_lengths(block, src.len())?;
    each_part(lengths, src, dst, |src, dst| part(size, src, dst, unshuffle_bits, planes));
    Ok(())
}

/// Appends the metadata block, and writes the shuffled bits of `src` to `dst`, which has the same
/// length.
pub(crate) fn encode(
    size: usize,
    src: &[u8],
    block: &mut Writer,
    dst: &mut [u8],
    planes: &mut Planes,
) -> Kind<()> {
    let tail_len = src.len() % 8;
    let head_len = src.len().saturating_sub(tail_len);
    let (head, tail) = src.split_at_checked(head_len).unwrap_or_default();
    let (head_out, tail_out) = dst.split_at_mut_checked(head_len).unwrap_or_default();
    block.u32(if tail.is_empty() { 1 } else { 2 });
    block.len_u32(head_len, "part length")?;
    if !tail.is_empty() {
        block.len_u32(tail_len, "part length")?;
    }
    part(size, head, head_out, shuffle_bits, planes);
    part(size, tail, tail_out, shuffle_bits, planes);
    Ok(())
}

fn part(
    size: usize,
    src: &[u8],
    dst: &mut [u8],
    work: fn(usize, &[u8], &mut [u8], &mut Planes),
    planes: &mut Planes,
) {
    if !src.len().is_multiple_of(size) || !src.len().is_multiple_of(8) {
        dst.copy_from_slice(src);
        return;
    }
    let group = size.saturating_mul(8);
    for (src, dst) in src.chunks(BLOCK).zip(dst.chunks_mut(BLOCK)) {
        let whole = src.len().saturating_sub(src.len().checked_rem(group).unwrap_or(0));
        let (head, tail) = src.split_at_checked(whole).unwrap_or_default();
        let (head_out, tail_out) = dst.split_at_mut_checked(whole).unwrap_or_default();
        tail_out.copy_from_slice(tail);
        work(size, head, head_out, planes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shuffled(size: usize, input: &[u8]) -> (Vec<u8>, Vec<u8>) {
        let mut out = vec![0; input.len()];
        let mut block = Writer::new();
        let mut planes = Planes::default();
        encode(size, input, &mut block, &mut out, &mut planes).unwrap();
        let mut back = vec![0; input.len()];
        let mut reader = Reader::new(block.as_slice());
        decode(size, &mut reader, &out, &mut back, &mut planes).unwrap();
        reader.finish("block").unwrap();
        assert_eq!(back, input);
        (block.into_vec(), out)
    }

    #[test]
    fn nine_u32_are_the_reference_s_bytes() {
        let input: Vec<u8> = (0u32..9).flat_map(u32::to_le_bytes).collect();
        let (block, out) = shuffled(4, &input);
        assert_eq!(block, [2, 0, 0, 0, 32, 0, 0, 0, 4, 0, 0, 0]);
        assert_eq!(out[..4], [0xaa, 0xcc, 0xf0, 0]);
        assert_eq!(out[32..], [8, 0, 0, 0]);
    }

    #[test]
    fn four_bytes_are_an_empty_part_and_four_copied_bytes() {
        let (block, out) = shuffled(4, &[1, 2, 3, 4]);
        assert_eq!(block, [2, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0]);
        assert_eq!(out, [1, 2, 3, 4]);
    }

    /// The definition, bit by bit.
    fn slow_block(size: usize, src: &[u8]) -> Vec<u8> {
        let values = src.len() / size / 8 * 8;
        let mut out = vec![0u8; src.len()];
        out[values * size..].copy_from_slice(&src[values * size..]);
        for i in 0..values {
            for b in 0..size {
                for k in 0..8 {
                    let bit = (src[i * size + b] >> k) & 1;
                    out[(b * 8 + k) * (values / 8) + i / 8] |= bit << (i % 8);
                }
            }
        }
        out
    }

    #[test]
    fn every_size_and_length_agrees_with_the_definition() {
        for size in [1usize, 2, 4, 8] {
            for len in (0..700).chain([8184, 8192, 8200, 16384, 20000]) {
                let input: Vec<u8> =
                    (0..len).map(|i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes()[0]).collect();
                let (_, out) = shuffled(size, &input);
                let head = input.len() / 8 * 8;
                let mut expected = Vec::new();
                if head.is_multiple_of(size) {
                    input[..head].chunks(BLOCK).for_each(|block| expected.extend(slow_block(size, block)));
                } else {
                    expected.extend(&input[..head]);
                }
                // A tail of fewer than 8 bytes is never a multiple of 8.
                expected.extend(&input[head..]);
                assert_eq!(out, expected, "{size} {len}");
            }
        }
    }
}
