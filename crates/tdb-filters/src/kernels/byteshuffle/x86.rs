//! The byte shuffle for AVX2 and AVX-512.
//!
//! Both load the bytes of a group of values into `N` registers and rotate the bits of each byte's
//! address in the group: from (value number, byte number) to (byte number, value number), or back.
//!
//! Memory limits their speed, and how memory is written matters more than how bytes are permuted:
//! planes are written fastest in half cache lines, values in whole and aligned lines.

use core::arch::x86_64::*;
use core::ops::Range;

use bytemuck::must_cast;

use super::{planes, planes_mut, shuffle_rest, unshuffle_rest};

#[inline]
#[target_feature(enable = "avx2")]
pub(crate) fn shuffle_avx2(size: usize, src: &[u8], dst: &mut [u8]) {
    match size {
        2 => avx2::shuffle::<2>(src, dst),
        4 => avx2::shuffle::<4>(src, dst),
        8 => avx2::shuffle::<8>(src, dst),
        _ => dst.copy_from_slice(src),
    }
}

#[inline]
#[target_feature(enable = "avx2")]
pub(crate) fn unshuffle_avx2(size: usize, src: &[u8], dst: &mut [u8]) {
    match size {
        2 => avx2::unshuffle::<2>(src, dst),
        4 => avx2::unshuffle::<4>(src, dst),
        8 => avx2::unshuffle::<8>(src, dst),
        _ => dst.copy_from_slice(src),
    }
}

/// For data that stays in the first-level cache. Chunks are shuffled by [`shuffle_avx2`] on every
/// machine: writing half lines to memory takes four fifths of the time.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
pub(crate) fn shuffle_avx512(size: usize, src: &[u8], dst: &mut [u8]) {
    match size {
        2 => avx512::shuffle::<2>(src, dst),
        4 => avx512::shuffle::<4>(src, dst),
        8 => avx512::shuffle::<8>(src, dst),
        _ => dst.copy_from_slice(src),
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
pub(crate) fn unshuffle_avx512(size: usize, src: &[u8], dst: &mut [u8]) {
    match size {
        2 => avx512::unshuffle::<2>(src, dst),
        4 => avx512::unshuffle::<4>(src, dst),
        8 => avx512::unshuffle::<8>(src, dst),
        _ => dst.copy_from_slice(src),
    }
}

/// Ranges of `count` values to process in whole groups of `group` values: all values if `lead` is
/// 0; otherwise the values from `lead` on, preceded by one group for the values before them. If
/// values are left over at the end, one more group covers them. Groups may overlap, which is
/// harmless and faster than a loop over single values. The ranges are empty if there are fewer
/// values than one group.
#[inline(always)]
fn passes(count: usize, lead: usize, group: usize) -> [Range<usize>; 3] {
    if count < group {
        return [0..0, 0..0, 0..0];
    }
    let head = if lead == 0 { 0 } else { group };
    let over = count.saturating_sub(lead) % group;
    let last = if over == 0 { count } else { count.saturating_sub(group) };
    [0..head, lead..count, last..count]
}

/// The number of values (of two bytes or more) before the first one at the start of a cache line:
/// less than 32. 0 if no value is at the start of a line.
#[inline(always)]
fn before_line<const N: usize>(values: &[[u8; N]]) -> usize {
    let bytes = values.as_flattened().as_ptr().align_offset(64);
    if bytes.is_multiple_of(N) { bytes / N } else { 0 }
}

/// `range` of each plane, as pieces of `W` bytes.
#[inline(always)]
fn pieces<'a, const N: usize, const W: usize>(
    planes: &[&'a [u8]; N],
    range: &Range<usize>,
) -> Option<[&'a [[u8; W]]; N]> {
    let mut all = [[].as_slice(); N];
    for (pieces, plane) in all.iter_mut().zip(planes) {
        *pieces = plane.get(range.clone())?.as_chunks::<W>().0;
    }
    Some(all)
}

/// As [`pieces`], writable.
#[inline(always)]
fn pieces_mut<'a, const N: usize, const W: usize>(
    planes: &'a mut [&mut [u8]; N],
    range: &Range<usize>,
) -> Option<[&'a mut [[u8; W]]; N]> {
    let mut all = [const { [].as_mut_slice() }; N];
    for (pieces, plane) in all.iter_mut().zip(planes) {
        *pieces = plane.get_mut(range.clone())?.as_chunks_mut::<W>().0;
    }
    Some(all)
}

/// Groups of 32 values, 16 in each half of the registers: instructions do not mix the halves.
mod avx2 {
    use super::*;

    /// Interleaves the bytes of the first half of the registers with those of the second: rotates
    /// an address to the left by one bit.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn interleave<const N: usize>(rows: [__m256i; N]) -> [__m256i; N] {
        let mut out = rows;
        let (low, high) = rows.split_at(N / 2);
        for ((pair, &low), &high) in out.as_chunks_mut::<2>().0.iter_mut().zip(low).zip(high) {
            *pair = [_mm256_unpacklo_epi8(low, high), _mm256_unpackhi_epi8(low, high)];
        }
        out
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn shuffle<const N: usize>(src: &[u8], dst: &mut [u8]) {
        let (values, tail) = src.as_chunks::<N>();
        let (mut planes, rest) = planes_mut::<N>(dst);
        rest.copy_from_slice(tail);
        if values.len() < 32 {
            return shuffle_rest(values, 0, &mut planes);
        }
        for range in passes(values.len(), 0, 32) {
            if range.is_empty() {
                continue;
            }
            let groups = values.get(range.clone()).unwrap_or_default().as_chunks::<32>().0;
            let Some(mut planes) = pieces_mut::<N, 32>(&mut planes, &range) else { return };
            for (i, group) in groups.iter().enumerate() {
                let (low, high) = group.as_flattened().split_at(16 * N);
                let (low, high) = (low.as_chunks::<16>().0, high.as_chunks::<16>().0);
                let mut rows = [_mm256_setzero_si256(); N];
                for ((row, &low), &high) in rows.iter_mut().zip(low).zip(high) {
                    *row = _mm256_set_m128i(must_cast(high), must_cast(low));
                }
                // Four bits of the value number move to the right of the bits of the byte number.
                let rows = interleave(interleave(interleave(interleave(rows))));
                for (plane, row) in planes.iter_mut().zip(rows) {
                    if let Some(slot) = plane.get_mut(i) {
                        *slot = must_cast(row);
                    }
                }
            }
        }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn unshuffle<const N: usize>(src: &[u8], dst: &mut [u8]) {
        let (planes, tail) = planes::<N>(src);
        let (values, rest) = dst.as_chunks_mut::<N>();
        rest.copy_from_slice(tail);
        if values.len() < 32 {
            return unshuffle_rest(&planes, 0, values);
        }
        for range in passes(values.len(), before_line(values), 32) {
            if range.is_empty() {
                continue;
            }
            let Some(planes) = pieces::<N, 32>(&planes, &range) else { return };
            let groups = values.get_mut(range).unwrap_or_default().as_chunks_mut::<32>().0;
            for (i, group) in groups.iter_mut().enumerate() {
                let mut rows = [_mm256_setzero_si256(); N];
                for (row, plane) in rows.iter_mut().zip(&planes) {
                    let Some(&bytes) = plane.get(i) else { return };
                    *row = must_cast(bytes);
                }
                for _ in 0..N.trailing_zeros() {
                    rows = interleave(rows);
                }
                let (low, high) = group.as_flattened_mut().as_chunks_mut::<32>().0.split_at_mut(N / 2);
                for ((&[a, b], low), high) in rows.as_chunks::<2>().0.iter().zip(low).zip(high) {
                    *low = must_cast(_mm256_permute2x128_si256::<0x20>(a, b));
                    *high = must_cast(_mm256_permute2x128_si256::<0x31>(a, b));
                }
            }
        }
    }
}

/// Groups of 64 values. First the register number is exchanged with the number of the part within
/// the register (each has `N` parts); then a permutation of bytes rotates the address in each
/// register.
pub(in crate::kernels) mod avx512 {
    use super::*;

    /// The byte permutation that rotates the six bits of each address to the left.
    pub(in crate::kernels) const fn rotation(by: u32) -> [u8; 64] {
        let mut table = [0; 64];
        let mut at = 0u8;
        while at < 64 {
            #[expect(clippy::indexing_slicing, reason = "evaluated when compiling")]
            {
                table[at as usize] = ((at << by) | (at >> (6 - by))) & 63;
            }
            at += 1;
        }
        table
    }

    /// The indices, among the sixteen words of two registers, that interleave the registers' parts,
    /// `parts` of them in each: for the lower halves and for the upper halves.
    const fn interleaving(parts: usize) -> [[u64; 8]; 2] {
        let mut tables = [[0; 8]; 2];
        let words = 8 / parts;
        let mut at = 0;
        while at < 8 {
            let (part, word) = (at / words, at % words);
            let from = ((part % 2) * 8 + (part / 2) * words + word) as u64;
            #[expect(clippy::indexing_slicing, reason = "evaluated when compiling")]
            {
                tables[0][at] = from;
                tables[1][at] = from + 4;
            }
            at += 1;
        }
        tables
    }

    /// Exchanges part `j` of register `i` with part `i` of register `j`.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(in crate::kernels) fn transpose<const N: usize>(mut rows: [__m512i; N]) -> [__m512i; N] {
        let [lower, upper] = const { interleaving(N) };
        let (lower, upper) = (must_cast(lower), must_cast(upper));
        for _ in 0..N.trailing_zeros() {
            let before = rows;
            let (low, high) = before.split_at(N / 2);
            for ((pair, &low), &high) in rows.as_chunks_mut::<2>().0.iter_mut().zip(low).zip(high) {
                *pair = [
                    _mm512_permutex2var_epi64(low, lower, high),
                    _mm512_permutex2var_epi64(low, upper, high),
                ];
            }
        }
        rows
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    pub(super) fn shuffle<const N: usize>(src: &[u8], dst: &mut [u8]) {
        let (values, tail) = src.as_chunks::<N>();
        let (mut planes, rest) = planes_mut::<N>(dst);
        rest.copy_from_slice(tail);
        if values.len() < 64 {
            return shuffle_rest(values, 0, &mut planes);
        }
        let order = must_cast(const { rotation(N.trailing_zeros()) });
        for range in passes(values.len(), 0, 64) {
            if range.is_empty() {
                continue;
            }
            let groups = values.get(range.clone()).unwrap_or_default().as_chunks::<64>().0;
            let Some(mut planes) = pieces_mut::<N, 64>(&mut planes, &range) else { return };
            for (i, group) in groups.iter().enumerate() {
                let mut rows = [_mm512_setzero_si512(); N];
                for (row, &line) in rows.iter_mut().zip(group.as_flattened().as_chunks::<64>().0) {
                    *row = _mm512_permutexvar_epi8(order, must_cast(line));
                }
                for (plane, row) in planes.iter_mut().zip(transpose(rows)) {
                    if let Some(slot) = plane.get_mut(i) {
                        *slot = must_cast(row);
                    }
                }
            }
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    pub(super) fn unshuffle<const N: usize>(src: &[u8], dst: &mut [u8]) {
        let (planes, tail) = planes::<N>(src);
        let (values, rest) = dst.as_chunks_mut::<N>();
        rest.copy_from_slice(tail);
        if values.len() < 64 {
            return unshuffle_rest(&planes, 0, values);
        }
        let order = must_cast(const { rotation(6 - N.trailing_zeros()) });
        for range in passes(values.len(), before_line(values), 64) {
            if range.is_empty() {
                continue;
            }
            let Some(planes) = pieces::<N, 64>(&planes, &range) else { return };
            let groups = values.get_mut(range).unwrap_or_default().as_chunks_mut::<64>().0;
            for (i, group) in groups.iter_mut().enumerate() {
                let mut rows = [_mm512_setzero_si512(); N];
                for (row, plane) in rows.iter_mut().zip(&planes) {
                    let Some(&bytes) = plane.get(i) else { return };
                    *row = must_cast(bytes);
                }
                let lines = group.as_flattened_mut().as_chunks_mut::<64>().0;
                for (line, row) in lines.iter_mut().zip(transpose(rows)) {
                    *line = must_cast(_mm512_permutexvar_epi8(order, row));
                }
            }
        }
    }
}
