//! Exclusive-or with the predecessor, and back.

kernel! {
    /// `dst[i] = src[i] ^ src[i − 1]` for values of `size` bytes; the first value is copied. `src` and `dst`
    /// have the same length.
    pub(crate) fn xor_previous(size: usize, src: &[u8], dst: &mut [u8]) { plain: previous }
}

kernel! {
    /// `data[i] ^= data[i − 1]`, first to last, for values of `size` bytes: the inverse of [`xor_previous`].
    pub(crate) fn xor_scan(size: usize, data: &mut [u8]) {
        plain: scan, avx2: x86::scan_avx2, avx512: x86::scan_avx512
    }
}

/// Exclusive-or knows no carry, so the width of a value is only a distance.
#[inline(always)]
fn previous(size: usize, src: &[u8], dst: &mut [u8]) {
    let Some(((first, later), (first_out, later_out))) =
        src.split_at_checked(size).zip(dst.split_at_mut_checked(size))
    else {
        return dst.copy_from_slice(src);
    };
    first_out.copy_from_slice(first);
    for ((slot, &byte), &before) in later_out.iter_mut().zip(later).zip(src) {
        *slot = byte ^ before;
    }
}

#[inline(always)]
fn scan(size: usize, data: &mut [u8]) {
    match size {
        1 => scan_words::<1>(data),
        2 => scan_words::<2>(data),
        4 => scan_words::<4>(data),
        _ => scan_words::<8>(data),
    }
}

/// Values of `N` bytes, as many at a time as a word holds. Only one operation a word waits for the word before.
#[inline(always)]
fn scan_words<const N: usize>(data: &mut [u8]) {
    let (words, rest) = data.as_chunks_mut::<8>();
    let mut before = 0u64;
    for word in words {
        let mut x = u64::from_le_bytes(*word);
        for by in [1, 2, 4] {
            if N <= by {
                x ^= x << (8 * by);
            }
        }
        *word = (x ^ before).to_le_bytes();
        before ^= last_value::<N>(x);
    }
    scan_rest::<N>(&before.to_le_bytes(), rest);
}

/// The last value of a word, in every place.
#[inline(always)]
const fn last_value<const N: usize>(x: u64) -> u64 {
    match N {
        1 => (x >> 56) * 0x0101_0101_0101_0101,
        2 => (x >> 48) * 0x0001_0001_0001_0001,
        4 => (x >> 32) * 0x0000_0001_0000_0001,
        _ => x,
    }
}

/// The values behind the last whole register: `before` repeats the value before them.
fn scan_rest<const N: usize>(before: &[u8], rest: &mut [u8]) {
    let Some(mut last) = before.first_chunk::<N>().copied() else { return };
    for value in rest.as_chunks_mut::<N>().0 {
        for (byte, last) in value.iter_mut().zip(&mut last) {
            *byte ^= *last;
            *last = *byte;
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use core::arch::x86_64::*;

    use bytemuck::must_cast;

    use super::scan_rest;

    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn scan_avx2(size: usize, data: &mut [u8]) {
        match size {
            1 => avx2::<1>(data),
            2 => avx2::<2>(data),
            4 => avx2::<4>(data),
            _ => avx2::<8>(data),
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    pub(super) fn scan_avx512(size: usize, data: &mut [u8]) {
        match size {
            1 => avx512::<1>(data),
            2 => avx512::<2>(data),
            4 => avx512::<4>(data),
            _ => avx512::<8>(data),
        }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn avx2<const N: usize>(data: &mut [u8]) {
        let (registers, rest) = data.as_chunks_mut::<32>();
        // The last value of each half, in every place of it.
        let last = must_cast(const { super::repeated::<32>(N, 16) });
        let mut before = _mm256_setzero_si256();
        for register in registers {
            let mut x: __m256i = must_cast(*register);
            if N <= 1 {
                x = _mm256_xor_si256(x, _mm256_slli_si256::<1>(x));
            }
            if N <= 2 {
                x = _mm256_xor_si256(x, _mm256_slli_si256::<2>(x));
            }
            if N <= 4 {
                x = _mm256_xor_si256(x, _mm256_slli_si256::<4>(x));
            }
            x = _mm256_xor_si256(x, _mm256_slli_si256::<8>(x));
            let totals = _mm256_shuffle_epi8(x, last);
            // Zero below, the lower half's total above.
            x = _mm256_xor_si256(x, _mm256_permute2x128_si256::<0x08>(totals, totals));
            *register = must_cast(_mm256_xor_si256(x, before));
            let swapped = _mm256_permute4x64_epi64::<0b01_00_11_10>(totals);
            before = _mm256_xor_si256(before, _mm256_xor_si256(totals, swapped));
        }
        scan_rest::<N>(&must_cast::<_, [u8; 32]>(before), rest);
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    fn avx512<const N: usize>(data: &mut [u8]) {
        let (registers, rest) = data.as_chunks_mut::<64>();
        let last = must_cast(const { super::repeated::<64>(N, 64) });
        let mut before = _mm512_setzero_si512();
        for register in registers {
            let mut x: __m512i = must_cast(*register);
            if N <= 1 {
                x = _mm512_xor_si512(x, shifted::<1>(x));
            }
            if N <= 2 {
                x = _mm512_xor_si512(x, shifted::<2>(x));
            }
            if N <= 4 {
                x = _mm512_xor_si512(x, shifted::<4>(x));
            }
            x = _mm512_xor_si512(x, shifted::<8>(x));
            x = _mm512_xor_si512(x, shifted::<16>(x));
            x = _mm512_xor_si512(x, shifted::<32>(x));
            *register = must_cast(_mm512_xor_si512(x, before));
            before = _mm512_xor_si512(before, _mm512_permutexvar_epi8(last, x));
        }
        scan_rest::<N>(&must_cast::<_, [u8; 64]>(before), rest);
    }

    /// All bytes `BY` places higher, zeros below.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    fn shifted<const BY: usize>(x: __m512i) -> __m512i {
        let from = must_cast(const { super::shift(BY) });
        _mm512_maskz_permutexvar_epi8(u64::MAX << BY, from, x)
    }
}

/// The places of the last `size` bytes of `part`, again and again.
#[cfg(target_arch = "x86_64")]
const fn repeated<const LEN: usize>(size: usize, part: usize) -> [u8; LEN] {
    let mut table = [0; LEN];
    let mut at = 0;
    while at < LEN {
        #[expect(
            clippy::indexing_slicing,
            clippy::cast_possible_truncation,
            reason = "evaluated when compiling"
        )]
        {
            table[at] = (part - size + at % size) as u8;
        }
        at += 1;
    }
    table
}

/// The place `by` bytes before each.
#[cfg(target_arch = "x86_64")]
const fn shift(by: usize) -> [u8; 64] {
    let mut table = [0; 64];
    let mut at = by;
    while at < 64 {
        #[expect(
            clippy::indexing_slicing,
            clippy::cast_possible_truncation,
            reason = "evaluated when compiling"
        )]
        {
            table[at] = (at - by) as u8;
        }
        at += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::Level;

    #[test]
    fn every_level_writes_the_definition_and_takes_it_back() {
        for size in [1, 2, 4, 8] {
            for len in (0..700).chain([4096, 4104, 65536]) {
                let src: Vec<u8> = (0..len).map(|i: usize| (i * 31 % 251).to_le_bytes()[0]).collect();
                let expected: Vec<u8> =
                    (0..len).map(|i| if i < size { src[i] } else { src[i] ^ src[i - size] }).collect();
                for level in Level::ALL {
                    let mut out = vec![0; len];
                    xor_previous::at(level, size, &src, &mut out);
                    assert_eq!(out, expected, "{level:?} {size} {len}");
                    // A part of a value at the end is nobody's predecessor and has none.
                    let whole = len / size * size;
                    xor_scan::at(level, size, &mut out[..whole]);
                    assert_eq!(out[..whole], src[..whole], "{level:?} {size} {len}");
                }
            }
        }
    }
}
