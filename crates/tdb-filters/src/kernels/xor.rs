//! XOR with the previous value, and its inverse.

kernel! {
    /// `dst[i] = src[i] ^ src[i − 1]` for values of `size` bytes; the first value is copied. `src`
    /// and `dst` have the same length.
    pub(crate) fn xor_previous(size: usize, src: &[u8], dst: &mut [u8]) { plain: previous }
}

kernel! {
    /// `dst[i] = src[0] ^ … ^ src[i]` for values of `size` bytes: the inverse of [`xor_previous`].
    /// `src` and `dst` have the same length.
    pub(crate) fn xor_scan(size: usize, src: &[u8], dst: &mut [u8]) {
        plain: scan, avx2: x86::scan_avx2, avx512: x86::scan_avx512
    }
}

kernel! {
    /// As [`xor_scan`], in place.
    pub(crate) fn xor_scan_in_place(size: usize, data: &mut [u8]) {
        plain: in_place, avx2: x86::in_place_avx2, avx512: x86::in_place_avx512
    }
}

/// XOR has no carry, so the width of a value matters only as the distance between values.
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

/// Calls `$scan` with the width of the values as its const argument.
macro_rules! with_size {
    ($size:expr, $($scan:ident)::+ ($($arg:expr),*)) => {
        match $size {
            1 => $($scan)::+::<1>($($arg),*),
            2 => $($scan)::+::<2>($($arg),*),
            4 => $($scan)::+::<4>($($arg),*),
            _ => $($scan)::+::<8>($($arg),*),
        }
    };
}

#[inline(always)]
fn scan(size: usize, src: &[u8], dst: &mut [u8]) {
    with_size!(size, scan_words(src, dst));
}

#[inline(always)]
fn in_place(size: usize, data: &mut [u8]) {
    with_size!(size, scan_words_in_place(data));
}

#[inline(always)]
fn scan_words<const N: usize>(src: &[u8], dst: &mut [u8]) {
    let (words, rest) = src.as_chunks::<8>();
    let (slots, rest_slots) = dst.as_chunks_mut::<8>();
    let mut before = 0;
    for (&word, slot) in words.iter().zip(slots) {
        *slot = scan_word::<N>(word, &mut before);
    }
    rest_slots.copy_from_slice(rest);
    scan_rest::<N>(&before.to_le_bytes(), rest_slots);
}

#[inline(always)]
fn scan_words_in_place<const N: usize>(data: &mut [u8]) {
    let (words, rest) = data.as_chunks_mut::<8>();
    let mut before = 0;
    for word in words {
        *word = scan_word::<N>(*word, &mut before);
    }
    scan_rest::<N>(&before.to_le_bytes(), rest);
}

/// Scans one word of `N`-byte values. Only one operation depends on the previous word.
#[inline(always)]
const fn scan_word<const N: usize>(word: [u8; 8], before: &mut u64) -> [u8; 8] {
    let mut x = u64::from_le_bytes(word);
    if N <= 1 {
        x ^= x << 8;
    }
    if N <= 2 {
        x ^= x << 16;
    }
    if N <= 4 {
        x ^= x << 32;
    }
    let word = (x ^ *before).to_le_bytes();
    *before ^= last_value::<N>(x);
    word
}

/// The last value of a word, repeated in every position.
#[inline(always)]
const fn last_value<const N: usize>(x: u64) -> u64 {
    match N {
        1 => (x >> 56) * 0x0101_0101_0101_0101,
        2 => (x >> 48) * 0x0001_0001_0001_0001,
        4 => (x >> 32) * 0x0000_0001_0000_0001,
        _ => x,
    }
}

/// Scans the values after the last whole register: `before` repeats the value before them.
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

    use super::{repeated, scan_rest};

    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn scan_avx2(size: usize, src: &[u8], dst: &mut [u8]) {
        with_size!(size, avx2::scan(src, dst));
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn in_place_avx2(size: usize, data: &mut [u8]) {
        with_size!(size, avx2::in_place(data));
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    pub(super) fn scan_avx512(size: usize, src: &[u8], dst: &mut [u8]) {
        with_size!(size, avx512::scan(src, dst));
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    pub(super) fn in_place_avx512(size: usize, data: &mut [u8]) {
        with_size!(size, avx512::in_place(data));
    }

    mod avx2 {
        use super::*;

        #[inline]
        #[target_feature(enable = "avx2")]
        pub(super) fn scan<const N: usize>(src: &[u8], dst: &mut [u8]) {
            let (registers, rest) = src.as_chunks::<32>();
            let (slots, rest_slots) = dst.as_chunks_mut::<32>();
            let mut before = _mm256_setzero_si256();
            for (&register, slot) in registers.iter().zip(slots) {
                *slot = step::<N>(register, &mut before);
            }
            rest_slots.copy_from_slice(rest);
            scan_rest::<N>(&must_cast::<_, [u8; 32]>(before), rest_slots);
        }

        #[inline]
        #[target_feature(enable = "avx2")]
        pub(super) fn in_place<const N: usize>(data: &mut [u8]) {
            let (registers, rest) = data.as_chunks_mut::<32>();
            let mut before = _mm256_setzero_si256();
            for register in registers {
                *register = step::<N>(*register, &mut before);
            }
            scan_rest::<N>(&must_cast::<_, [u8; 32]>(before), rest);
        }

        /// Scans one register after `before`, in which every value is the last one. `before` has
        /// this form again afterwards.
        #[inline]
        #[target_feature(enable = "avx2")]
        fn step<const N: usize>(register: [u8; 32], before: &mut __m256i) -> [u8; 32] {
            let mut x: __m256i = must_cast(register);
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
            // The last value of each half, repeated in every position of that half.
            let totals = _mm256_shuffle_epi8(x, must_cast(const { repeated::<32>(N, 16) }));
            // Zeros in the lower half, the lower half's total in the upper half.
            x = _mm256_xor_si256(x, _mm256_permute2x128_si256::<0x08>(totals, totals));
            let scanned = _mm256_xor_si256(x, *before);
            let swapped = _mm256_permute4x64_epi64::<0b01_00_11_10>(totals);
            *before = _mm256_xor_si256(*before, _mm256_xor_si256(totals, swapped));
            must_cast(scanned)
        }
    }

    mod avx512 {
        use super::*;

        #[inline]
        #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
        pub(super) fn scan<const N: usize>(src: &[u8], dst: &mut [u8]) {
            let (registers, rest) = src.as_chunks::<64>();
            let (slots, rest_slots) = dst.as_chunks_mut::<64>();
            let mut before = _mm512_setzero_si512();
            for (&register, slot) in registers.iter().zip(slots) {
                *slot = step::<N>(register, &mut before);
            }
            rest_slots.copy_from_slice(rest);
            scan_rest::<N>(&must_cast::<_, [u8; 64]>(before), rest_slots);
        }

        #[inline]
        #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
        pub(super) fn in_place<const N: usize>(data: &mut [u8]) {
            let (registers, rest) = data.as_chunks_mut::<64>();
            let mut before = _mm512_setzero_si512();
            for register in registers {
                *register = step::<N>(*register, &mut before);
            }
            scan_rest::<N>(&must_cast::<_, [u8; 64]>(before), rest);
        }

        /// Scans one register after `before`, in which every value is the last one. `before` has
        /// this form again afterwards.
        #[inline]
        #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
        fn step<const N: usize>(register: [u8; 64], before: &mut __m512i) -> [u8; 64] {
            let mut x: __m512i = must_cast(register);
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
            let scanned = _mm512_xor_si512(x, *before);
            let last = must_cast(const { repeated::<64>(N, 64) });
            *before = _mm512_xor_si512(*before, _mm512_permutexvar_epi8(last, x));
            must_cast(scanned)
        }
    }

    /// All bytes moved up by `BY` positions, with zeros below.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    fn shifted<const BY: usize>(x: __m512i) -> __m512i {
        let from = must_cast(const { super::shift(BY) });
        _mm512_maskz_permutexvar_epi8(u64::MAX << BY, from, x)
    }
}

/// The positions of the last `size` bytes of `part`, repeated.
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

/// For each position, the position `by` bytes before it.
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
                    // A partial value at the end is not the previous value of any value, and has no
                    // previous value.
                    let whole = len / size * size;
                    let mut back = vec![0xaa; whole];
                    xor_scan::at(level, size, &out[..whole], &mut back);
                    assert_eq!(back, src[..whole], "{level:?} {size} {len}");
                    xor_scan_in_place::at(level, size, &mut out[..whole]);
                    assert_eq!(out[..whole], src[..whole], "in place, {level:?} {size} {len}");
                }
            }
        }
    }
}
