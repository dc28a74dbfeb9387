//! Differences to the previous value, and the running sums that undo them.
//!
//! A running sum depends on all values before it. A vector is summed in log₂ steps, each of which
//! adds the vector to itself, moved up by 1, 2, 4, … values. The last sum is then added to all
//! values of the next vector, so from vector to vector only one addition and one permutation depend
//! on each other.

use tdb_codec::Physical;

use crate::int::{with_int, with_uint};

kernel! {
    /// `dst[i] = carry + src[0] + … + src[i]` for values of `N` bytes, wrapping; bytes after the
    /// last value are not changed. `src` and `dst` have the same length.
    pub(crate) fn running_sums<const N: usize>(carry: [u8; N], src: &[u8], dst: &mut [u8]) {
        plain: sums_plain::<N>, avx2: sums_avx2::<N>, avx512: sums_avx512::<N>
    }
}

kernel! {
    /// As [`running_sums`], in place.
    pub(crate) fn running_sums_in_place<const N: usize>(carry: [u8; N], data: &mut [u8]) {
        plain: in_place_plain::<N>, avx2: in_place_avx2::<N>, avx512: in_place_avx512::<N>
    }
}

kernel! {
    /// `dst[i] = src[i] − src[i − 1]` for values of `N` bytes, wrapping; `before` is the value
    /// before the first. `src` and `dst` have the same length.
    pub(crate) fn differences<const N: usize>(before: [u8; N], src: &[u8], dst: &mut [u8]) {
        plain: differences_plain::<N>
    }
}

kernel! {
    /// As [`differences`] from the first value on (the first difference is 0). Returns whether no
    /// value is less than the previous one.
    pub(crate) fn rising_differences(physical: Physical, src: &[u8], dst: &mut [u8]) -> bool {
        plain: rising_plain
    }
}

#[inline(always)]
fn sums_plain<const N: usize>(carry: [u8; N], src: &[u8], dst: &mut [u8]) {
    sums_one_by_one(carry, src.as_chunks().0.iter().copied().zip(dst.as_chunks_mut().0));
}

#[inline(always)]
fn in_place_plain<const N: usize>(carry: [u8; N], data: &mut [u8]) {
    sums_one_by_one(carry, data.as_chunks_mut().0.iter_mut().map(|slot| (*slot, slot)));
}

/// Adds up values of `N` bytes, and writes each sum to the slot that belongs to the value.
#[inline(always)]
fn sums_one_by_one<'d, const N: usize>(
    carry: [u8; N],
    values: impl Iterator<Item = ([u8; N], &'d mut [u8; N])>,
) {
    with_uint!(N, T, {
        let mut sum = carry.first_chunk().map_or(0, |&carry| T::from_le_bytes(carry));
        for (value, slot) in values {
            let (Some(&value), Some(slot)) = (value.first_chunk(), slot.first_chunk_mut()) else { return };
            sum = sum.wrapping_add(T::from_le_bytes(value));
            *slot = sum.to_le_bytes();
        }
    });
}

#[inline(always)]
fn differences_plain<const N: usize>(before: [u8; N], src: &[u8], dst: &mut [u8]) {
    with_uint!(N, T, {
        let values = src.as_chunks::<{ size_of::<T>() }>().0;
        let slots = dst.as_chunks_mut::<{ size_of::<T>() }>().0;
        let (Some((first, later)), Some((first_slot, slots))) =
            (values.split_first(), slots.split_first_mut())
        else {
            return;
        };
        let before = before.first_chunk().map_or(0, |&before| T::from_le_bytes(before));
        *first_slot = T::from_le_bytes(*first).wrapping_sub(before).to_le_bytes();
        for ((slot, &value), &before) in slots.iter_mut().zip(later).zip(values) {
            *slot = T::from_le_bytes(value).wrapping_sub(T::from_le_bytes(before)).to_le_bytes();
        }
    });
}

#[inline(always)]
fn rising_plain(physical: Physical, src: &[u8], dst: &mut [u8]) -> bool {
    with_int!(physical, T, {
        let values = src.as_chunks::<{ size_of::<T>() }>().0;
        let slots = dst.as_chunks_mut::<{ size_of::<T>() }>().0;
        let (Some((_, later)), Some((first_slot, slots))) = (values.split_first(), slots.split_first_mut())
        else {
            return true;
        };
        *first_slot = T::to_le_bytes(0);
        let mut falls: T = 0;
        for ((slot, &value), &before) in slots.iter_mut().zip(later).zip(values) {
            let (value, before) = (T::from_le_bytes(value), T::from_le_bytes(before));
            falls |= T::from(value < before);
            // Wrapping: the difference of two signed values may need all bits.
            *slot = value.wrapping_sub(before).to_le_bytes();
        }
        falls == 0
    })
}

#[cfg(target_arch = "x86_64")]
use x86::{in_place_avx2, in_place_avx512, sums_avx2, sums_avx512};

#[cfg(target_arch = "x86_64")]
pub(super) mod x86 {
    use core::arch::x86_64::*;

    use bytemuck::must_cast;

    use super::{in_place_plain, sums_plain};

    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn sums_avx2<const N: usize>(carry: [u8; N], src: &[u8], dst: &mut [u8]) {
        // For 8-byte values, the plain loop with one addition per cycle takes as long as the four
        // permutations of a vector.
        if N == 8 {
            return sums_plain::<N>(carry, src, dst);
        }
        let (vectors, rest) = src.as_chunks::<32>();
        let (slots, rest_slots) = dst.as_chunks_mut::<32>();
        let mut sum = spread_256(carry);
        for (vector, slot) in vectors.iter().zip(slots) {
            *slot = step_256::<N>(*vector, &mut sum);
        }
        sums_plain::<N>(first(must_cast::<_, [u8; 32]>(sum)), rest, rest_slots);
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn in_place_avx2<const N: usize>(carry: [u8; N], data: &mut [u8]) {
        if N == 8 {
            return in_place_plain::<N>(carry, data);
        }
        let (vectors, rest) = data.as_chunks_mut::<32>();
        let mut sum = spread_256(carry);
        for vector in vectors {
            *vector = step_256::<N>(*vector, &mut sum);
        }
        in_place_plain::<N>(first(must_cast::<_, [u8; 32]>(sum)), rest);
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    pub(super) fn sums_avx512<const N: usize>(carry: [u8; N], src: &[u8], dst: &mut [u8]) {
        let (vectors, rest) = src.as_chunks::<64>();
        let (slots, rest_slots) = dst.as_chunks_mut::<64>();
        let mut sum = spread_512(carry);
        for (vector, slot) in vectors.iter().zip(slots) {
            *slot = step_512::<N>(*vector, &mut sum);
        }
        sums_plain::<N>(first(must_cast::<_, [u8; 64]>(sum)), rest, rest_slots);
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    pub(super) fn in_place_avx512<const N: usize>(carry: [u8; N], data: &mut [u8]) {
        let (vectors, rest) = data.as_chunks_mut::<64>();
        let mut sum = spread_512(carry);
        for vector in vectors {
            *vector = step_512::<N>(*vector, &mut sum);
        }
        in_place_plain::<N>(first(must_cast::<_, [u8; 64]>(sum)), rest);
    }

    /// The running sums of one vector after `carry`, in which every value is the last sum. `carry`
    /// has this form again afterwards.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn step_256<const N: usize>(vector: [u8; 32], carry: &mut __m256i) -> [u8; 32] {
        let mut sums: __m256i = must_cast(vector);
        // Moves stay inside 16 bytes, so the last sum of the low half is added to the high half
        // after them.
        if N <= 1 {
            sums = add_256::<N>(sums, _mm256_bslli_epi128::<1>(sums));
        }
        if N <= 2 {
            sums = add_256::<N>(sums, _mm256_bslli_epi128::<2>(sums));
        }
        if N <= 4 {
            sums = add_256::<N>(sums, _mm256_bslli_epi128::<4>(sums));
        }
        sums = add_256::<N>(sums, _mm256_bslli_epi128::<8>(sums));
        let lasts = _mm256_shuffle_epi8(sums, must_cast(const { pattern::<32>(16 - N, N) }));
        sums = add_256::<N>(sums, _mm256_permute2x128_si256::<0x08>(lasts, lasts));
        let total = add_256::<N>(lasts, _mm256_permute2x128_si256::<0x08>(lasts, lasts));
        sums = add_256::<N>(sums, *carry);
        *carry = add_256::<N>(*carry, _mm256_permute2x128_si256::<0x11>(total, total));
        must_cast(sums)
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    pub(in crate::kernels) fn step_512<const N: usize>(vector: [u8; 64], carry: &mut __m512i) -> [u8; 64] {
        let mut sums: __m512i = must_cast(vector);
        macro_rules! steps {
            ($($by:literal)*) => {$(
                if N <= $by {
                    let moved = _mm512_maskz_permutexvar_epi8(u64::MAX << $by, must_cast(const { up($by) }), sums);
                    sums = add_512::<N>(sums, moved);
                }
            )*};
        }
        steps!(1 2 4 8 16 32);
        // Computed from the sums without the carry, so this permutation does not have to wait for
        // the carry.
        let total = _mm512_permutexvar_epi8(must_cast(const { pattern::<64>(64 - N, N) }), sums);
        sums = add_512::<N>(sums, *carry);
        *carry = add_512::<N>(*carry, total);
        must_cast(sums)
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn add_256<const N: usize>(a: __m256i, b: __m256i) -> __m256i {
        match N {
            2 => _mm256_add_epi16(a, b),
            4 => _mm256_add_epi32(a, b),
            8 => _mm256_add_epi64(a, b),
            _ => _mm256_add_epi8(a, b),
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn add_512<const N: usize>(a: __m512i, b: __m512i) -> __m512i {
        match N {
            2 => _mm512_add_epi16(a, b),
            4 => _mm512_add_epi32(a, b),
            8 => _mm512_add_epi64(a, b),
            _ => _mm512_add_epi8(a, b),
        }
    }

    /// Byte indexes that repeat the `n` bytes from `start`.
    #[expect(clippy::indexing_slicing, clippy::cast_possible_truncation, reason = "computed by the compiler")]
    const fn pattern<const LEN: usize>(start: usize, n: usize) -> [u8; LEN] {
        let mut indexes = [0; LEN];
        let mut i = 0;
        while i < LEN {
            indexes[i] = (start + i % n) as u8;
            i += 1;
        }
        indexes
    }

    /// Byte indexes that move a vector up by `by` bytes; the lowest bytes are masked.
    #[expect(clippy::indexing_slicing, clippy::cast_possible_truncation, reason = "computed by the compiler")]
    const fn up(by: usize) -> [u8; 64] {
        let mut indexes = [0; 64];
        let mut i = by;
        while i < 64 {
            indexes[i] = (i - by) as u8;
            i += 1;
        }
        indexes
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn spread_256<const N: usize>(value: [u8; N]) -> __m256i {
        must_cast(spread::<N, 32>(value))
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn spread_512<const N: usize>(value: [u8; N]) -> __m512i {
        must_cast(spread::<N, 64>(value))
    }

    #[inline]
    fn spread<const N: usize, const LEN: usize>(value: [u8; N]) -> [u8; LEN] {
        let mut bytes = [0; LEN];
        bytes.as_chunks_mut().0.fill(value);
        bytes
    }

    #[inline]
    fn first<const N: usize, const LEN: usize>(bytes: [u8; LEN]) -> [u8; N] {
        bytes.first_chunk().copied().unwrap_or([0; N])
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::kernels::Level;

    /// The definition, one value at a time.
    fn sums<const N: usize>(carry: [u8; N], src: &[u8]) -> Vec<u8> {
        let read =
            |bytes: [u8; N]| bytes.iter().rev().fold(0u64, |value, &byte| (value << 8) | u64::from(byte));
        let mut sum = read(carry);
        let whole = src.as_chunks::<N>().0.iter().flat_map(|&value| {
            sum = sum.wrapping_add(read(value));
            sum.to_le_bytes()[..N].to_vec()
        });
        whole.collect()
    }

    fn check<const N: usize>(carry: u64, src: &[u8]) {
        let carry: [u8; N] = *carry.to_le_bytes().first_chunk().unwrap();
        let src = &src[..src.len() / N * N];
        let expected = sums(carry, src);
        for level in Level::ALL {
            let mut out = vec![0xaa; src.len()];
            running_sums::at::<N>(level, carry, src, &mut out);
            assert_eq!(out, expected, "{level:?} {N}");
            let mut back = vec![0xaa; src.len()];
            differences::at::<N>(level, carry, &out, &mut back);
            assert_eq!(back, src, "{level:?} {N}");
            out.copy_from_slice(src);
            running_sums_in_place::at::<N>(level, carry, &mut out);
            assert_eq!(out, expected, "in place, {level:?} {N}");
        }
    }

    fn check_all(carry: u64, src: &[u8]) {
        check::<1>(carry, src);
        check::<2>(carry, src);
        check::<4>(carry, src);
        check::<8>(carry, src);
    }

    #[test]
    fn every_level_sums_every_length_and_width() {
        for len in (0..300).chain([4096, 4104]) {
            let src: Vec<u8> = (0..len).map(|i: usize| (i * 37 % 251).to_le_bytes()[0]).collect();
            check_all(0, &src);
            check_all(0xfedc_ba98_7654_3210, &src);
        }
        check_all(u64::MAX, &[0xff; 1000]);
        check_all(1 << 63, &[0x80; 1000]);
    }

    #[test]
    fn a_fall_anywhere_is_seen_at_every_level() {
        use Physical::*;
        for physical in [I8, U8, I16, U16, I32, U32, I64, U64] {
            let size = physical.size();
            // The smallest value of the type, then increasing ones; they only increase if the bytes
            // are read in the right order.
            let min = if physical.is_signed_integer() { 0x80 } else { 0 };
            for count in 1..130usize {
                let mut src: Vec<u8> = vec![0; count * size];
                for (i, value) in src.chunks_exact_mut(size).enumerate() {
                    value[size - 1] = min;
                    value[size - 1] = value[size - 1].wrapping_add(u8::try_from(i).unwrap());
                }
                for level in Level::ALL {
                    let mut out = vec![0xaa; src.len()];
                    assert!(rising_differences::at(level, physical, &src, &mut out), "{physical:?} {count}");
                    running_sums_in_place_of(size, &src, &mut out);
                    assert_eq!(out, src);
                }
                if count > 2 {
                    let last = src.len() - 1;
                    src[last] = min;
                    for level in Level::ALL {
                        let mut out = vec![0; src.len()];
                        assert!(
                            !rising_differences::at(level, physical, &src, &mut out),
                            "{physical:?} {count}"
                        );
                    }
                }
            }
        }
    }

    fn running_sums_in_place_of(size: usize, first: &[u8], data: &mut [u8]) {
        with_uint!(size, T, {
            const N: usize = size_of::<T>();
            running_sums_in_place::<N>(*first.first_chunk().unwrap(), data);
        });
    }

    proptest! {
        #[test]
        fn random_values_sum_up_alike_at_every_level(
            carry in any::<u64>(),
            src in proptest::collection::vec(any::<u8>(), 0..700),
        ) {
            check_all(carry, &src);
        }
    }
}
