//! BITSHUFFLE (8): bits of equal weight side by side (section 6.2).
//!
//! Chunk metadata:
//!
//! | Field | Type |
//! |---|---|
//! | part count | u32 |
//! | per part: length | u32 |
//!
//! Data keeps its length. An input that is no multiple of 8 bytes is stored as two parts: its multiple of 8,
//! and the rest. A part that is a multiple of both 8 and the value size is transformed in blocks of 8192
//! bytes: with `n` values in a block (rounded down to a multiple of 8; the others are copied behind), bit
//! `i mod 8` of byte `(8·b + k)·n/8 + i/8` is bit `k` of byte `b` of value `i`. Other parts are copied.
//!
//! The transform is a byte shuffle followed by an 8-way bit transpose of each byte plane; both stay in the
//! processor's first cache, as a block does.

use tdb_codec::{Reader, Writer};

use crate::byteshuffle::{planes, planes_mut, shuffle, transpose_bytes, unshuffle};
use crate::error::Kind;
use crate::parts::{each_part, read_lengths};

/// Bytes transformed at a time.
const BLOCK: usize = 8192;

/// Reads the metadata block and puts the bits of `src` back together in `dst`, which is as long.
pub(crate) fn decode(size: usize, block: &mut Reader<'_>, src: &[u8], dst: &mut [u8]) -> Kind<()> {
    let lengths = read_lengths(block, src.len())?;
    each_part(lengths, src, dst, |src, dst| part(size, src, dst, unshuffle_block));
    Ok(())
}

/// Appends the metadata block, and the shuffled bits of `src` to `dst`, which is as long.
pub(crate) fn encode(size: usize, src: &[u8], block: &mut Writer, dst: &mut [u8]) -> Kind<()> {
    let tail_len = src.len() % 8;
    let head_len = src.len().saturating_sub(tail_len);
    let (head, tail) = src.split_at_checked(head_len).unwrap_or_default();
    let (head_out, tail_out) = dst.split_at_mut_checked(head_len).unwrap_or_default();
    block.u32(if tail.is_empty() { 1 } else { 2 });
    block.len_u32(head_len, "part length")?;
    if !tail.is_empty() {
        block.len_u32(tail_len, "part length")?;
    }
    part(size, head, head_out, shuffle_block);
    part(size, tail, tail_out, shuffle_block);
    Ok(())
}

fn part(size: usize, src: &[u8], dst: &mut [u8], work: fn(usize, &[u8], &mut [u8], &mut [u8; BLOCK])) {
    if !src.len().is_multiple_of(size) || !src.len().is_multiple_of(8) {
        dst.copy_from_slice(src);
        return;
    }
    let mut planes = [0u8; BLOCK];
    let group = size.saturating_mul(8);
    for (src, dst) in src.chunks(BLOCK).zip(dst.chunks_mut(BLOCK)) {
        let whole = src.len().saturating_sub(src.len().checked_rem(group).unwrap_or(0));
        let (head, tail) = src.split_at_checked(whole).unwrap_or_default();
        let (head_out, tail_out) = dst.split_at_mut_checked(whole).unwrap_or_default();
        tail_out.copy_from_slice(tail);
        if whole > 0 {
            work(size, head, head_out, &mut planes);
        }
    }
}

fn shuffle_block(size: usize, src: &[u8], dst: &mut [u8], planes: &mut [u8; BLOCK]) {
    let planes = planes.get_mut(..src.len()).unwrap_or_default();
    shuffle(size, src, planes);
    let values = src.len().checked_div(size).unwrap_or(0).max(1);
    for (plane, rows) in planes.chunks_exact(values).zip(dst.chunks_exact_mut(values)) {
        split_bits(plane, rows);
    }
}

fn unshuffle_block(size: usize, src: &[u8], dst: &mut [u8], planes: &mut [u8; BLOCK]) {
    let values = src.len().checked_div(size).unwrap_or(0).max(1);
    if size == 1 {
        join_bits(src, dst);
        return;
    }
    let planes = planes.get_mut(..src.len()).unwrap_or_default();
    for (rows, plane) in src.chunks_exact(values).zip(planes.chunks_exact_mut(values)) {
        join_bits(rows, plane);
    }
    unshuffle(size, planes, dst);
}

/// `plane` holds one byte of each value. Row `k` of `rows` (an eighth of it) receives bit `k` of each byte.
/// Eight groups of eight values at a time, as a cube of 8×8×8 bits.
fn split_bits(plane: &[u8], rows: &mut [u8]) {
    let (mut rows, _) = planes_mut::<8>(rows);
    let (cubes, last) = plane.as_chunks::<64>();
    let mut slots = rows.each_mut().map(|row| row.as_chunks_mut::<8>().0.iter_mut());
    for cube in cubes {
        let words = split_cube(cube.as_chunks::<8>().0);
        let words = transpose_word_bits(transpose_bytes(words));
        for (slots, word) in slots.iter_mut().zip(words) {
            if let Some(slot) = slots.next() {
                *slot = word.to_le_bytes();
            }
        }
    }
    let done = cubes.len().saturating_mul(8);
    for (i, group) in last.as_chunks::<8>().0.iter().enumerate() {
        let bits = transpose_bits(u64::from_le_bytes(*group)).to_le_bytes();
        for (row, byte) in rows.iter_mut().zip(bits) {
            if let Some(slot) = row.get_mut(done.saturating_add(i)) {
                *slot = byte;
            }
        }
    }
}

#[inline]
fn split_cube(groups: &[[u8; 8]]) -> [u64; 8] {
    groups.first_chunk::<8>().map_or([0; 8], |groups| groups.map(u64::from_le_bytes))
}

/// The inverse of [`split_bits`].
fn join_bits(rows: &[u8], plane: &mut [u8]) {
    let (rows, _) = planes::<8>(rows);
    let (cubes, last) = plane.as_chunks_mut::<64>();
    let done = cubes.len().saturating_mul(8);
    let [a, b, c, d, e, f, g, h] = rows.map(|row| row.as_chunks::<8>().0);
    let low = a.iter().zip(b).zip(c).zip(d);
    let high = e.iter().zip(f).zip(g).zip(h);
    for ((cube, (((a, b), c), d)), (((e, f), g), h)) in cubes.iter_mut().zip(low).zip(high) {
        // Word k: bit k of 64 values. Swapping word and bit number gives words of value i mod 8; swapping
        // word and byte number puts values side by side.
        let words = [*a, *b, *c, *d, *e, *f, *g, *h].map(u64::from_le_bytes);
        let words = transpose_bytes(transpose_word_bits(words));
        for (group, word) in cube.as_chunks_mut::<8>().0.iter_mut().zip(words) {
            *group = word.to_le_bytes();
        }
    }
    for (i, group) in last.as_chunks_mut::<8>().0.iter_mut().enumerate() {
        let bytes = rows.map(|row| row.get(done.saturating_add(i)).copied().unwrap_or(0));
        *group = transpose_bits(u64::from_le_bytes(bytes)).to_le_bytes();
    }
}

/// Transposes an 8×8 matrix of bits: row `i` is byte `i`, column `j` its bit `j`.
#[inline]
const fn transpose_bits(x: u64) -> u64 {
    let t = (x ^ (x >> 7)) & 0x00aa_00aa_00aa_00aa;
    let x = x ^ t ^ (t << 7);
    let t = (x ^ (x >> 14)) & 0x0000_cccc_0000_cccc;
    let x = x ^ t ^ (t << 14);
    let t = (x ^ (x >> 28)) & 0x0000_0000_f0f0_f0f0;
    x ^ t ^ (t << 28)
}

/// Exchanges word number and bit number: bit `k` of each byte of word `i` and bit `i` of the same byte of
/// word `k` change places.
#[inline]
fn transpose_word_bits(words: [u64; 8]) -> [u64; 8] {
    const M1: u64 = 0x5555_5555_5555_5555;
    const M2: u64 = 0x3333_3333_3333_3333;
    const M4: u64 = 0x0f0f_0f0f_0f0f_0f0f;
    let [a, b, c, d, e, f, g, h] = words;
    let swap = |x: u64, y: u64, shift: u32, mask: u64| {
        let t = ((x >> shift) ^ y) & mask;
        (x ^ (t << shift), y ^ t)
    };
    let ((a, b), (c, d), (e, f), (g, h)) =
        (swap(a, b, 1, M1), swap(c, d, 1, M1), swap(e, f, 1, M1), swap(g, h, 1, M1));
    let ((a, c), (b, d), (e, g), (f, h)) =
        (swap(a, c, 2, M2), swap(b, d, 2, M2), swap(e, g, 2, M2), swap(f, h, 2, M2));
    let ((a, e), (b, f), (c, g), (d, h)) =
        (swap(a, e, 4, M4), swap(b, f, 4, M4), swap(c, g, 4, M4), swap(d, h, 4, M4));
    [a, b, c, d, e, f, g, h]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shuffled(size: usize, input: &[u8]) -> (Vec<u8>, Vec<u8>) {
        let mut out = vec![0; input.len()];
        let mut block = Writer::new();
        encode(size, input, &mut block, &mut out).unwrap();
        let mut back = vec![0; input.len()];
        let mut reader = Reader::new(block.as_slice());
        decode(size, &mut reader, &out, &mut back).unwrap();
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
