//! Stores bits of equal significance next to each other.
//!
//! A block is shuffled in three steps. First the bytes of its values are shuffled into planes. Then
//! every eight bytes of a plane are transposed as an 8×8 matrix of bits, so byte `k` contains bit
//! `k` of eight values. Then the bytes of each plane are shuffled as values of eight bytes.

use super::byteshuffle::{shuffle_plain, unshuffle_plain};

/// Number of bytes transformed at a time; for all three steps they are in the processor's
/// first-level cache.
pub(crate) const BLOCK: usize = 8192;

/// The buffers for a block between the steps: its byte planes and its rows of bits. Rows are short
/// and far apart in memory. Reading and writing memory in order is faster, so rows are copied from
/// or to this buffer.
#[repr(align(64))]
pub(crate) struct Planes {
    bytes: [u8; BLOCK],
    rows: [u8; BLOCK],
}

impl Default for Planes {
    fn default() -> Self {
        Self { bytes: [0; BLOCK], rows: [0; BLOCK] }
    }
}

kernel! {
    /// Shuffles the bits of at most [`BLOCK`] bytes, a multiple of eight values of `size` bytes:
    /// row `8·b + k` of `dst` contains bit `k` of byte `b` of each value.
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

    use super::{Planes, shuffle_with, transpose, unshuffle_with};
    use crate::kernels::byteshuffle::x86 as bytes;
    use crate::kernels::byteshuffle::x86::avx512::{rotation, transpose as exchange};

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
        let done = match size {
            1 => shuffle_lines::<1>(src, dst),
            2 => shuffle_lines::<2>(src, dst),
            4 => shuffle_lines::<4>(src, dst),
            // 64 rows of two lines each are faster with the code below, which copies whole blocks.
            _ => None,
        };
        if done.is_none() {
            let shuffle = |size: usize, src: &[u8], dst: &mut [u8]| bytes::shuffle_avx512(size, src, dst);
            shuffle_with(size, src, dst, planes, shuffle, |planes: &mut [u8]| gfni(planes));
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
    pub(super) fn unshuffle_avx512(size: usize, src: &[u8], dst: &mut [u8], planes: &mut Planes) {
        let done = match size {
            1 => unshuffle_lines::<1>(src, dst),
            2 => unshuffle_lines::<2>(src, dst),
            4 => unshuffle_lines::<4>(src, dst),
            _ => None,
        };
        if done.is_none() {
            let unshuffle = |size: usize, src: &[u8], dst: &mut [u8]| bytes::unshuffle_avx512(size, src, dst);
            unshuffle_with(size, src, dst, planes, unshuffle, |planes: &mut [u8]| gfni(planes));
        }
    }

    /// For rows of whole cache lines, as in whole blocks: processes 512 values at a time, which are
    /// one line of each row. Intermediate results stay in registers, except those that do not fit.
    /// `None` for other rows.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
    fn shuffle_lines<const N: usize>(src: &[u8], dst: &mut [u8]) -> Option<()> {
        let per_row = lines_per_row::<N>(src.len())?;
        let (src, dst) = (src.as_chunks::<64>().0, dst.as_chunks_mut::<64>().0);
        let reversing = must_cast(const { reversed(rotation(N.trailing_zeros())) });
        let gathering: __m512i = must_cast(const { gathering() });
        for (step, values) in src.chunks_exact(const { 8 * N }).enumerate() {
            let mut planes = [[_mm512_setzero_si512(); 8]; N];
            for (i, group) in values.as_chunks::<N>().0.iter().enumerate() {
                let mut rows = [_mm512_setzero_si512(); N];
                for (row, &line) in rows.iter_mut().zip(group) {
                    *row = _mm512_permutexvar_epi8(reversing, must_cast(line));
                }
                for (plane, row) in planes.iter_mut().zip(exchange(rows)) {
                    *plane.get_mut(i)? = _mm512_permutexvar_epi8(gathering, transpose_reversed(row));
                }
            }
            for (b, plane) in planes.into_iter().enumerate() {
                for (k, row) in exchange(plane).into_iter().enumerate() {
                    *dst.get_mut((8 * b + k) * per_row + step)? = must_cast(row);
                }
            }
        }
        Some(())
    }

    /// The inverse of [`shuffle_lines`].
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
    fn unshuffle_lines<const N: usize>(src: &[u8], dst: &mut [u8]) -> Option<()> {
        let per_row = lines_per_row::<N>(src.len())?;
        let (src, dst) = (src.as_chunks::<64>().0, dst.as_chunks_mut::<64>().0);
        let scattering = must_cast(const { reversed(gathering()) });
        let order = must_cast(const { rotation(6 - N.trailing_zeros()) });
        for (step, values) in dst.chunks_exact_mut(const { 8 * N }).enumerate() {
            let mut groups = [[_mm512_setzero_si512(); N]; 8];
            for b in 0..N {
                let mut rows = [_mm512_setzero_si512(); 8];
                for (k, row) in rows.iter_mut().enumerate() {
                    *row = must_cast(*src.get((8 * b + k) * per_row + step)?);
                }
                for (group, row) in groups.iter_mut().zip(exchange(rows)) {
                    *group.get_mut(b)? = transpose_reversed(_mm512_permutexvar_epi8(scattering, row));
                }
            }
            for (lines, group) in values.as_chunks_mut::<N>().0.iter_mut().zip(groups) {
                for (line, row) in lines.iter_mut().zip(exchange(group)) {
                    *line = must_cast(_mm512_permutexvar_epi8(order, row));
                }
            }
        }
        Some(())
    }

    /// The number of lines in each of the `8·N` rows of a block; `None` if the rows are not whole
    /// lines.
    #[inline]
    const fn lines_per_row<const N: usize>(len: usize) -> Option<usize> {
        match len % (64 * 8 * N) {
            0 if len > 0 => Some(len / (64 * 8 * N)),
            _ => None,
        }
    }

    /// The byte permutation that reads eight rows of eight bytes by columns.
    const fn gathering() -> [u8; 64] {
        rotation(3)
    }

    /// The same permutation, with each group of eight in reverse order.
    const fn reversed(from: [u8; 64]) -> [u8; 64] {
        let mut table = [0; 64];
        let mut at = 0;
        while at < 64 {
            #[expect(clippy::indexing_slicing, reason = "evaluated when compiling")]
            {
                table[at] = from[at ^ 7];
            }
            at += 1;
        }
        table
    }

    /// Transposes 8×8 matrices of bits whose rows are in reverse order. The product of a matrix and
    /// the unit matrix is the transpose, because the instruction reads one factor by rows and the
    /// other by columns.
    #[inline]
    #[target_feature(enable = "avx512f,gfni")]
    fn transpose_reversed(matrices: __m512i) -> __m512i {
        let unit = _mm512_set1_epi64(0x8040_2010_0804_0201_u64.cast_signed());
        _mm512_gf2p8affine_epi64_epi8::<0>(unit, matrices)
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,gfni")]
    fn gfni(data: &mut [u8]) {
        let reversal = _mm512_set4_epi32(0x0809_0a0b, 0x0c0d_0e0f, 0x0001_0203, 0x0405_0607);
        let (registers, rest) = data.as_chunks_mut::<64>();
        for register in registers {
            let reversed = _mm512_shuffle_epi8(must_cast(*register), reversal);
            *register = must_cast(transpose_reversed(reversed));
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
            for values in (0..400).step_by(8).chain([512, 1024, BLOCK / size]) {
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
                    shuffle_bits::at(level, size, &src, &mut mixed, &mut Planes::default());
                    assert_eq!(mixed, expected, "{level:?} {size} {len}");
                    let mut back = vec![0; len];
                    unshuffle_bits::at(level, size, &mixed, &mut back, &mut Planes::default());
                    assert_eq!(back, src, "{level:?} {size} {len}");
                }
            }
        }
    }
}
