//! Differences of differences as a stream of sign-and-magnitude numbers of one width.
//!
//! The stream consists of 64-bit words, which are filled from their most significant bit. The word
//! in which a number begins, and whether it spans two words, are computed arithmetically, so there
//! are no branches for it here.

use tdb_codec::Physical;

use crate::int::with_int;

kernel! {
    /// Rebuilds the values after the first two: `value` is the second value, `delta` its difference
    /// to the first. Numbers have 1 ≤ `width` ≤ 63 bits, and `words` contains all of them.
    pub(crate) fn unpack<const N: usize>(words: &[[u8; 8]], width: u32, value: u64, delta: u64, out: &mut [u8]) {
        plain: unpack_plain::<N>, avx2: unpack_plain::<N>, avx512: unpack_avx512::<N>
    }
}

kernel! {
    /// Surveys the double deltas of three or more values, truncated to `i64`.
    pub(crate) fn survey(physical: Physical, input: &[u8]) -> Survey { plain: survey_plain }
}

kernel! {
    /// Writes the double deltas of three or more values into `words`, each as a sign and `bitsize`
    /// ≤ 62 bits.
    pub(crate) fn pack(physical: Physical, input: &[u8], bitsize: u32, words: &mut [[u8; 8]]) {
        plain: pack_plain
    }
}

/// The facts about double deltas that are needed before packing them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Survey {
    /// The bitwise OR of all magnitudes and of the first difference's magnitude.
    pub(crate) bits: u64,
    /// Whether a difference does not fit `i64`.
    pub(crate) overflows: bool,
}

/// Arithmetic in 64 bits is congruent to arithmetic in fewer bits, so only the low `N` bytes of
/// each sum are used, and the values' signs do not matter.
///
/// A sign without a magnitude is the number −2⁶³. libtiledb up to 2.28 writes it for that number
/// only, because it computes a width of 0 bits for its magnitude.
#[inline(always)]
fn unpack_plain<const N: usize>(words: &[[u8; 8]], width: u32, value: u64, delta: u64, out: &mut [u8]) {
    let (mut value, mut delta) = (value, delta);
    let sign_shift = width.wrapping_sub(1);
    let magnitude_mask = (1u64 << (sign_shift & 63)).wrapping_sub(1);
    let mut position = 0usize;
    let step = usize::try_from(width).unwrap_or(0);
    for slot in out.as_chunks_mut::<N>().0 {
        let index = position >> 6;
        let bit = position & 63;
        let (here, after) = match words.get(index..) {
            Some(&[here, after, ..]) => (u64::from_le_bytes(here), u64::from_le_bytes(after)),
            Some(&[here]) => (u64::from_le_bytes(here), 0),
            _ => (0, 0),
        };
        let bits = ((here << bit) | ((after >> 1) >> (63 ^ bit))) >> (64u32.wrapping_sub(width) & 63);
        position = position.wrapping_add(step);
        let magnitude = bits & magnitude_mask;
        let negative = (bits >> (sign_shift & 63)).wrapping_neg();
        let lost = u64::from(bits == 1 << (sign_shift & 63)) << 63;
        delta = delta.wrapping_add((magnitude ^ negative).wrapping_sub(negative)).wrapping_add(lost);
        value = value.wrapping_add(delta);
        if let Some(low) = value.to_le_bytes().first_chunk::<N>() {
            *slot = *low;
        }
    }
}

#[inline(always)]
fn survey_plain(physical: Physical, input: &[u8]) -> Survey {
    with_int!(physical, T, {
        const N: usize = size_of::<T>();
        let values = input.as_chunks::<N>().0;
        let first = match *values {
            [a, b, ..] => widen(T::from_le_bytes(b).into()).wrapping_sub(widen(T::from_le_bytes(a).into())),
            _ => 0,
        };
        let (mut bits, mut overflow) = (first.unsigned_abs(), 0i64);
        for (a, b, c) in triples(values) {
            let [a, b, c] = [a, b, c].map(|bytes| widen(T::from_le_bytes(bytes).into()));
            let (delta, next) = (b.wrapping_sub(a), c.wrapping_sub(b));
            let double = next.wrapping_sub(delta);
            bits |= double.unsigned_abs();
            // Narrower types cannot overflow 64 bits.
            if N == 8 {
                overflow |=
                    overflowed(b, a, delta) | overflowed(c, b, next) | overflowed(next, delta, double);
            }
        }
        Survey { bits, overflows: overflow < 0 }
    })
}

/// Negative if `difference`, computed as `a − b`, has overflowed.
#[inline(always)]
const fn overflowed(a: i64, b: i64, difference: i64) -> i64 {
    (a ^ b) & (a ^ difference)
}

#[inline(always)]
fn pack_plain(physical: Physical, input: &[u8], bitsize: u32, words: &mut [[u8; 8]]) {
    let width = bitsize.wrapping_add(1);
    let align = 64u32.wrapping_sub(width) & 63;
    let mut words = words.iter_mut();
    // A word that is not full yet, and the number of bits in it.
    let (mut word, mut fill) = (0u64, 0u32);
    let Some(mut slot) = words.next() else { return };
    with_int!(physical, T, {
        let values = input.as_chunks::<{ size_of::<T>() }>().0;
        let mut rest = values;
        while rest.len() > 2 {
            // Blocks overlap by two values.
            let count = rest.len().saturating_sub(2).min(BLOCK);
            let mut block = [0u64; BLOCK];
            for (number, (a, b, c)) in block.iter_mut().zip(triples(rest)) {
                let [a, b, c] = [a, b, c].map(|bytes| widen(T::from_le_bytes(bytes).into()));
                let double = c.wrapping_sub(b).wrapping_sub(b.wrapping_sub(a));
                *number = ((u64::from(double < 0) << (bitsize & 63)) | double.unsigned_abs()) << align;
            }
            for &number in block.iter().take(count) {
                word |= number >> fill;
                *slot = word.to_le_bytes();
                let over = (number << 1) << (63 ^ fill);
                fill = fill.wrapping_add(width);
                if fill >= 64 {
                    fill &= 63;
                    word = over;
                    // `None` only at the end, where no bits are left over.
                    let Some(next) = words.next() else { return };
                    slot = next;
                }
            }
            rest = rest.get(count..).unwrap_or_default();
        }
        *slot = word.to_le_bytes();
    });
}

/// Number of double deltas that are computed at a time before they are packed one by one.
const BLOCK: usize = 64;

/// Each value from the third on, preceded by the two values before it.
#[inline(always)]
fn triples<V: Copy>(values: &[V]) -> impl Iterator<Item = (V, V, V)> {
    let later = values.get(1..).unwrap_or_default();
    let last = values.get(2..).unwrap_or_default();
    values.iter().zip(later).zip(last).map(|((&a, &b), &c)| (a, b, c))
}

/// A value as `i128`, cut to the `i64` that libtiledb computes with.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "the format computes modulo 2^64")]
const fn widen(value: i128) -> i64 {
    value as i64
}

#[cfg(target_arch = "x86_64")]
use x86::unpack_avx512;

#[cfg(target_arch = "x86_64")]
mod x86 {
    use core::arch::x86_64::*;

    use bytemuck::must_cast;

    use crate::kernels::delta::x86::step_512;

    /// Eight numbers at a time. They are in at most nine words, which two loads and two
    /// permutations arrange for a shift across two words; the two running sums are computed as in
    /// the delta filter.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2")]
    pub(super) fn unpack_avx512<const N: usize>(
        words: &[[u8; 8]],
        width: u32,
        value: u64,
        delta: u64,
        out: &mut [u8],
    ) {
        let numbers = Numbers::new(words, width);
        if N == 8 {
            let (mut value, mut delta): (__m512i, __m512i) = (must_cast([value; 8]), must_cast([delta; 8]));
            let (blocks, rest) = out.as_chunks_mut::<64>();
            let mut position = 0;
            for block in blocks {
                let deltas = step_512::<8>(must_cast(numbers.at(position)), &mut delta);
                *block = step_512::<8>(deltas, &mut value);
                position = position.wrapping_add(numbers.step);
            }
            let deltas = step_512::<8>(must_cast(numbers.at(position)), &mut delta);
            put(rest, &step_512::<8>(deltas, &mut value));
        } else {
            // The low bytes of a sum depend only on the low bytes of the values, so four bytes are
            // enough for all narrower types.
            let low = |value: u64| must_cast::<_, [u32; 16]>([value; 8]);
            let low = |value: u64| low(value & 0xffff_ffff | value << 32);
            let (mut value, mut delta): (__m512i, __m512i) = (must_cast(low(value)), must_cast(low(delta)));
            let mut position = 0;
            for block in out.chunks_mut(const { N * 16 }) {
                let (a, b) = (numbers.at(position), numbers.at(position.wrapping_add(numbers.step)));
                let evens = must_cast([0u32, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30]);
                let doubles = _mm512_permutex2var_epi32(a, evens, b);
                let deltas = step_512::<4>(must_cast(doubles), &mut delta);
                let values = step_512::<4>(deltas, &mut value);
                match N {
                    4 => put(block, &values),
                    2 => put(block, &must_cast::<_, [u8; 32]>(_mm512_cvtepi32_epi16(must_cast(values)))),
                    _ => put(block, &must_cast::<_, [u8; 16]>(_mm512_cvtepi32_epi8(must_cast(values)))),
                }
                position = position.wrapping_add(numbers.step).wrapping_add(numbers.step);
            }
        }
    }

    /// Fills `block`, which may be shorter than `bytes`.
    #[inline]
    fn put<const LEN: usize>(block: &mut [u8], bytes: &[u8; LEN]) {
        match block.first_chunk_mut::<LEN>() {
            Some(whole) => *whole = *bytes,
            None => block.iter_mut().zip(bytes).for_each(|(slot, &byte)| *slot = byte),
        }
    }

    /// The stream, and the values that are the same for every group of eight numbers.
    struct Numbers<'w> {
        words: &'w [[u8; 8]],
        /// Number of bits of eight numbers.
        step: usize,
        /// The position in bits of each of the eight numbers, relative to the first.
        starts: __m512i,
        align: __m512i,
        sign: __m512i,
    }

    impl<'w> Numbers<'w> {
        #[inline]
        #[target_feature(enable = "avx512f")]
        fn new(words: &'w [[u8; 8]], width: u32) -> Self {
            let width = u64::from(width);
            Self {
                words,
                step: usize::try_from(width.wrapping_mul(8)).unwrap_or(0),
                starts: must_cast([0u64, 1, 2, 3, 4, 5, 6, 7].map(|i| i.wrapping_mul(width))),
                align: must_cast([64u64.wrapping_sub(width); 8]),
                sign: must_cast([1u64 << (width.wrapping_sub(1) & 63); 8]),
            }
        }

        /// The eight signed numbers from bit `position` on; 0 after the end of the stream.
        #[inline]
        #[target_feature(enable = "avx512f,avx512vbmi2")]
        fn at(&self, position: usize) -> __m512i {
            let words = self.words.get(position >> 6..).unwrap_or_default();
            let mut padded = [[0; 8]; 9];
            let nine = words.first_chunk::<9>().unwrap_or_else(|| {
                padded.iter_mut().zip(words).for_each(|(slot, &word)| *slot = word);
                &padded
            });
            let [here @ .., _] = nine;
            let [_, after @ ..] = nine;
            let starts = _mm512_add_epi64(self.starts, must_cast([(position & 63) as u64; 8]));
            let indexes = _mm512_srli_epi64::<6>(starts);
            let here = _mm512_permutexvar_epi64(indexes, must_cast(*here));
            let after = _mm512_permutexvar_epi64(indexes, must_cast(*after));
            // The shift uses only the low six bits of its count, which are the bit in the word.
            let bits = _mm512_srlv_epi64(_mm512_shldv_epi64(here, after, starts), self.align);
            let magnitudes = _mm512_andnot_epi64(self.sign, bits);
            let negative = _mm512_test_epi64_mask(bits, self.sign);
            let lost = _mm512_cmpeq_epi64_mask(bits, self.sign);
            let signed = _mm512_mask_sub_epi64(magnitudes, negative, _mm512_setzero_si512(), magnitudes);
            // A sign without a magnitude: see `unpack_plain`.
            _mm512_mask_mov_epi64(signed, lost, must_cast([1u64 << 63; 8]))
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tdb_codec::to_u64;

    use super::*;
    use crate::kernels::Level;

    /// Unpacks the stream bit by bit, as its definition says.
    fn defined(words: &[[u8; 8]], width: u32, value: u64, delta: u64, count: usize) -> Vec<u64> {
        let bit = |at: usize| u64::from_le_bytes(words[at / 64]) >> (63 - at % 64) & 1;
        let (mut value, mut delta, mut at) = (value, delta, 0);
        let mut values = Vec::new();
        for _ in 0..count {
            let negative = bit(at) == 1;
            let mut magnitude = 0u64;
            for _ in 1..width {
                at += 1;
                magnitude = magnitude << 1 | bit(at);
            }
            at += 1;
            delta = match (negative, magnitude) {
                (true, 0) => delta.wrapping_add(1 << 63),
                (true, _) => delta.wrapping_sub(magnitude),
                (false, _) => delta.wrapping_add(magnitude),
            };
            value = value.wrapping_add(delta);
            values.push(value);
        }
        values
    }

    fn check<const N: usize>(words: &[[u8; 8]], width: u32, value: u64, delta: u64, count: usize) {
        let expected: Vec<u8> = defined(words, width, value, delta, count)
            .iter()
            .flat_map(|value| value.to_le_bytes()[..N].to_vec())
            .collect();
        for level in Level::ALL {
            let mut out = vec![0xaa; count * N];
            unpack::at::<N>(level, words, width, value, delta, &mut out);
            assert_eq!(out, expected, "{level:?} {N} {width} {count}");
        }
    }

    fn check_all(words: &[[u8; 8]], width: u32, value: u64, delta: u64, count: usize) {
        check::<1>(words, width, value, delta, count);
        check::<2>(words, width, value, delta, count);
        check::<4>(words, width, value, delta, count);
        check::<8>(words, width, value, delta, count);
    }

    #[test]
    fn every_level_unpacks_every_width_and_length() {
        for width in 1..=63u32 {
            for count in (0..40).chain([100, 129]) {
                let len = (count * width as usize).div_ceil(64) as u64;
                let words: Vec<[u8; 8]> =
                    (1..=len).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes()).collect();
                check_all(&words, width, 0xfedc_ba98_7654_3210, u64::MAX, count);
            }
        }
    }

    #[test]
    fn every_level_surveys_and_packs_alike_and_unpacking_gives_the_values_back() {
        use Physical::*;
        for physical in [I8, U8, I16, U16, I32, U32, I64, U64] {
            for narrow in 0..64 {
                for count in [3usize, 4, 60, 66, 67, 131, 200] {
                    let word = |i: usize| to_u64(i).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> narrow;
                    let bytes = |i| word(i).to_le_bytes()[..physical.size()].to_vec();
                    let input: Vec<u8> = (0..count).flat_map(bytes).collect();
                    let known = survey::at(Level::Plain, physical, &input);
                    let bitsize = 64 - known.bits.leading_zeros();
                    if bitsize > 62 {
                        continue;
                    }
                    let len = ((count - 2) * (bitsize as usize + 1)).div_ceil(64);
                    let mut first = None;
                    for level in Level::ALL {
                        assert_eq!(survey::at(level, physical, &input), known, "{level:?} {physical:?}");
                        let mut words = vec![[0xaa; 8]; len];
                        pack::at(level, physical, &input, bitsize, &mut words);
                        assert_eq!(first.get_or_insert(words.clone()), &words, "{level:?} {physical:?}");
                    }
                    let (a, b) = (word(0), word(1));
                    let values = defined(&first.unwrap(), bitsize + 1, b, b.wrapping_sub(a), count - 2);
                    let back: Vec<u8> = values
                        .iter()
                        .flat_map(|value| value.to_le_bytes()[..physical.size()].to_vec())
                        .collect();
                    if (bitsize as usize) < 8 * physical.size() - 1 && !known.overflows {
                        assert_eq!(back, input[2 * physical.size()..], "{physical:?} {narrow} {count}");
                    }
                }
            }
        }
    }

    #[test]
    fn each_kind_of_overflow_is_surveyed() {
        let found = |values: [i64; 4]| {
            let input = values.map(i64::to_le_bytes).concat();
            Level::ALL.map(|level| survey::at(level, Physical::I64, &input).overflows)
        };
        let half = i64::MAX / 2 + 1;
        assert_eq!(found([0, 1, 2, 3]), [false; 3]);
        assert_eq!(found([-4, -3, -2, -1]), [false; 3]);
        assert_eq!(found([0, half, 0, 0]), [false; 3]);
        // The first difference, the last one, and a difference of differences.
        assert_eq!(found([i64::MIN, 1, 2, 3]), [true; 3]);
        assert_eq!(found([0, 0, i64::MAX, -2]), [true; 3]);
        assert_eq!(found([0, half, -1, 0]), [true; 3]);
    }

    proptest! {
        #[test]
        fn random_streams_unpack_alike_at_every_level(
            words in proptest::collection::vec(any::<[u8; 8]>(), 0..60),
            width in 1u32..64,
            value in any::<u64>(),
            delta in any::<u64>(),
        ) {
            check_all(&words, width, value, delta, words.len() * 64 / width as usize);
        }
    }
}
