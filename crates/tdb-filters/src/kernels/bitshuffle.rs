//! Bits of equal weight side by side.
//!
//! Of the values of a block, the bytes are shuffled; then, of every eight bytes of a plane as an 8×8 matrix of
//! bits, the transpose, whose byte `k` holds bit `k` of eight values; then the bytes of each plane as values of
//! eight bytes.

use super::byteshuffle::{shuffle_plain, unshuffle_plain};

/// Bytes transformed at a time; all three steps find them in the processor's first cache.
pub(crate) const BLOCK: usize = 8192;

/// Where a block is between the steps: its byte planes, and its rows of bits. Rows are short and lie far apart;
/// memory is read and written faster in order, so that they are copied from or to it.
#[repr(align(64))]
pub(crate) struct Planes {
    bytes: [u8; BLOCK],
    rows: [u8; BLOCK],
}

impl Planes {
    pub(crate) const fn new() -> Self {
        Self { bytes: [0; BLOCK], rows: [0; BLOCK] }
    }
}

kernel! {
    /// Shuffles the bits of at most [`BLOCK`] bytes, a multiple of eight values of `size` bytes: row `8·b + k`
    /// of `dst` holds bit `k` of byte `b` of each value.
    pub(crate) fn shuffle_bits(size: usize, src: &[u8], dst: &mut [u8], planes: &mut Planes) {
        plain: shuffle_bits_plain, avx2: x86::shuffle_avx2, avx512: x86::shuffle_avx512
    }
}

kernel! {
    /// The inverse of [`shuffle_bits`].
    pub(crate) fn unshuffle_bits(size: usize, src: &[u8], dst: &mut [u8], planes: &mut Planes) {
        plain: unshuffle_bits_plain, avx2: x86::unshuffle_avx2, avx512: x86::unshuffle_avx512
    }
}

#[inline(always)]
fn shuffle_bits_plain(size: usize, src: &[u8], dst: &mut [u8], planes: &mut Planes) {
    shuffle_with(size, src, dst, planes, shuffle_plain, transpose);
}

#[inline(always)]
fn unshuffle_bits_plain(size: usize, src: &[u8], dst: &mut [u8], planes: &mut Planes) {
    unshuffle_with(size, src, dst, planes, unshuffle_plain, transpose);
}

#[inline(always)]
fn shuffle_with(
    size: usize,
    src: &[u8],
    dst: &mut [u8],
    planes: &mut Planes,
    shuffle: impl Fn(usize, &[u8], &mut [u8]),
    transpose: impl Fn(&mut [u8]),
) {
    let Planes { bytes: planes, rows } = planes;
    let planes = planes.get_mut(..src.len()).unwrap_or_default();
    shuffle(size, src, planes);
    transpose(planes);
    let values = src.len().checked_div(size).unwrap_or(0).max(1);
    let rows = rows.get_mut(..src.len()).unwrap_or_default();
    for (plane, rows) in planes.chunks_exact(values).zip(rows.chunks_exact_mut(values)) {
        shuffle(8, plane, rows);
    }
    dst.copy_from_slice(rows);
}

#[inline(always)]
fn unshuffle_with(
    size: usize,
    src: &[u8],
    dst: &mut [u8],
    planes: &mut Planes,
    unshuffle: impl Fn(usize, &[u8], &mut [u8]),
    transpose: impl Fn(&mut [u8]),
) {
    let Planes { bytes: planes, rows } = planes;
    let rows = rows.get_mut(..src.len()).unwrap_or_default();
    rows.copy_from_slice(src);
    let planes = planes.get_mut(..src.len()).unwrap_or_default();
    let values = src.len().checked_div(size).unwrap_or(0).max(1);
    for (rows, plane) in rows.chunks_exact(values).zip(planes.chunks_exact_mut(values)) {
        unshuffle(8, rows, plane);
    }
    transpose(planes);
    unshuffle(size, planes, dst);
}

/// Transposes 8×8 matrices of bits: row `i` is byte `i`, column `j` its bit `j`.
#[inline(always)]
fn transpose(data: &mut [u8]) {
    for matrix in data.as_chunks_mut::<8>().0 {
        let x = u64::from_le_bytes(*matrix);
        let t = (x ^ (x >> 7)) & 0x00aa_00aa_00aa_00aa;
        let x = x ^ t ^ (t << 7);
        let t = (x ^ (x >> 14)) & 0x0000_cccc_0000_cccc;
        let x = x ^ t ^ (t << 14);
        let t = (x ^ (x >> 28)) & 0x0000_0000_f0f0_f0f0;
        *matrix = (x ^ t ^ (t << 28)).to_le_bytes();
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use core::arch::x86_64::*;

    use bytemuck::must_cast;

    use super::super::byteshuffle::x86 as bytes;
    use super::{Planes, shuffle_with, transpose, unshuffle_with};

    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn shuffle_avx2(size: usize, src: &[u8], dst: &mut [u8], planes: &mut Planes) {
        let shuffle = |size: usize, src: &[u8], dst: &mut [u8]| bytes::shuffle_avx2(size, src, dst);
        shuffle_with(size, src, dst, planes, shuffle, transpose);
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn unshuffle_avx2(size: usize, src: &[u8], dst: &mut [u8], planes: &mut Planes) {
        let unshuffle = |size: usize, src: &[u8], dst: &mut [u8]| bytes::unshuffle_avx2(size, src, dst);
        unshuffle_with(size, src, dst, planes, unshuffle, transpose);
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
    pub(super) fn shuffle_avx512(size: usize, src: &[u8], dst: &mut [u8], planes: &mut Planes) {
        let shuffle = |size: usize, src: &[u8], dst: &mut [u8]| bytes::shuffle_avx512(size, src, dst);
        shuffle_with(size, src, dst, planes, shuffle, |planes: &mut [u8]| gfni(planes));
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
    pub(super) fn unshuffle_avx512(size: usize, src: &[u8], dst: &mut [u8], planes: &mut Planes) {
        let unshuffle = |size: usize, src: &[u8], dst: &mut [u8]| bytes::unshuffle_avx512(size, src, dst);
        unshuffle_with(size, src, dst, planes, unshuffle, |planes: &mut [u8]| gfni(planes));
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,gfni")]
    fn gfni(data: &mut [u8]) {
        // A matrix times the unit matrix, which comes out transposed because one factor is taken by rows and
        // the other by columns. The instruction's rows begin with the last byte, hence the reversal.
        let unit = _mm512_set1_epi64(0x8040_2010_0804_0201_u64.cast_signed());
        let reversal = _mm512_set4_epi32(0x0809_0a0b, 0x0c0d_0e0f, 0x0001_0203, 0x0405_0607);
        let (registers, rest) = data.as_chunks_mut::<64>();
        for register in registers {
            let reversed = _mm512_shuffle_epi8(must_cast(*register), reversal);
            *register = must_cast(_mm512_gf2p8affine_epi64_epi8::<0>(unit, reversed));
        }
        transpose(rest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::Level;

    #[test]
    fn every_level_writes_the_definition_and_takes_it_back() {
        for size in [1, 2, 4, 8] {
            for values in (0..400).step_by(8).chain([BLOCK / size]) {
                let len = values * size;
                let src: Vec<u8> = (0..len).map(|i: usize| (i * i * 31 % 251).to_le_bytes()[0]).collect();
                let mut expected = vec![0; len];
                for i in 0..values {
                    for bit in 0..8 * size {
                        let value = (src[i * size + bit / 8] >> (bit % 8)) & 1;
                        expected[bit * (values / 8) + i / 8] |= value << (i % 8);
                    }
                }
                for level in Level::ALL {
                    let mut mixed = vec![0; len];
                    shuffle_bits::at(level, size, &src, &mut mixed, &mut Planes::new());
                    assert_eq!(mixed, expected, "{level:?} {size} {len}");
                    let mut back = vec![0; len];
                    unshuffle_bits::at(level, size, &mixed, &mut back, &mut Planes::new());
                    assert_eq!(back, src, "{level:?} {size} {len}");
                }
            }
        }
    }
}
