//! DOUBLE_DELTA (6): differences of differences, bit-packed (section 6.11).
//!
//! | Field | Type | |
//! |---|---|---|
//! | bitsize | u8 | bits of a magnitude |
//! | n | u64 | number of values |
//! | body | | raw values if bitsize ≥ 8·size − 1, else: |
//! | first value | T | if n ≥ 1 |
//! | second value | T | if n ≥ 2 |
//! | bit stream | `u64[ceil((n − 2)(bitsize + 1) / 64)]` | for each further value: sign, magnitude |
//!
//! Bits fill each u64 from its most significant end; the words themselves are little-endian. Options:
//! compressor = 6, level i32 (ignored), and a reinterpret datatype since
//! [`Gate::DoubleDeltaReinterpret`](tdb_codec::Gate::DoubleDeltaReinterpret). Framing of parts:
//! [`crate::compress`].

use tdb_codec::{Datatype, DatatypeClass, Physical, Reader, to_u64};

use crate::error::{ErrorKind, Kind};
use crate::int::{with_int, with_uint};

/// The bitsize from which on a body of 8-byte values is raw.
const RAW: u8 = 63;

/// The integers that delta filters read values of a type as; `None` for floats.
pub(crate) const fn integers(datatype: Datatype) -> Option<Physical> {
    match datatype.class() {
        DatatypeClass::Real => None,
        DatatypeClass::String | DatatypeClass::Any | DatatypeClass::Byte => Some(Physical::U8),
        _ => Some(datatype.physical()),
    }
}

/// Unpacks one part of `size`-byte values; it must fill `out` exactly.
pub(crate) fn decode(size: usize, input: &[u8], out: &mut [u8]) -> Kind<()> {
    // libtiledb writes a garbage value behind n = 0.
    if out.is_empty() {
        return Ok(());
    }
    let mut reader = Reader::new(input);
    let bitsize = reader.u8("bitsize").map_err(ErrorKind::Data)?;
    let count = reader.u64("value count").map_err(ErrorKind::Data)?;
    let len = count.saturating_mul(to_u64(size));
    if len != to_u64(out.len()) {
        return Err(ErrorKind::WrongLength { expected: to_u64(out.len()), found: len });
    }
    let body = reader.rest();
    if is_raw(bitsize, size) {
        return copy(body, out);
    }
    let (first, packed) = body.split_at_checked(out.len().min(size.saturating_mul(2))).ok_or_else(|| {
        ErrorKind::WrongLength { expected: to_u64(size).saturating_mul(2), found: to_u64(body.len()) }
    })?;
    let words_len = count.saturating_sub(2).saturating_mul(u64::from(bitsize).saturating_add(1)).div_ceil(64);
    let expected = words_len.saturating_mul(8);
    if to_u64(packed.len()) != expected {
        return Err(ErrorKind::WrongLength { expected, found: to_u64(packed.len()) });
    }
    let words = packed.as_chunks::<8>().0;
    with_uint!(size, T, {
        const N: usize = size_of::<T>();
        let (head, rest) = out.split_at_mut_checked(first.len()).unwrap_or_default();
        head.copy_from_slice(first);
        let mut start = first.as_chunks::<N>().0.iter().map(|&bytes| zero_extend(&bytes));
        let (a, b) = (start.next().unwrap_or(0), start.next().unwrap_or(0));
        unpack::<N>(words, u32::from(bitsize).saturating_add(1), a, b, rest);
    });
    Ok(())
}

fn zero_extend(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |value, &byte| (value << 8) | u64::from(byte))
}

/// Rebuilds the values behind the first two. Arithmetic in 64 bits is congruent to that in fewer, so only
/// the low `N` bytes of each sum count, and the values' signs do not matter.
fn unpack<const N: usize>(words: &[[u8; 8]], width: u32, a: u64, b: u64, out: &mut [u8]) {
    let (mut value, mut delta) = (b, b.wrapping_sub(a));
    // 1 <= width <= 63: the caller has taken out raw bodies, whose bitsize may be anything.
    let magnitude_mask = (1u64 << width.wrapping_sub(1)).wrapping_sub(1);
    let sign_shift = width.wrapping_sub(1);
    let shift = 64u32.wrapping_sub(width);
    let word = |index: usize| words.get(index).map_or(0, |&word| u64::from_le_bytes(word));
    // Which word the next value's bits begin in, and at which bit. No branch depends on the width: whether a
    // value straddles two words is as good as random to the processor.
    let (mut index, mut bit) = (0usize, 0u32);
    let (mut here, mut after) = (word(0), word(1));
    for slot in out.as_chunks_mut::<N>().0 {
        let bits = ((here << bit) | ((after >> 1) >> (63 ^ bit))) >> shift;
        bit = bit.wrapping_add(width);
        index = index.wrapping_add(usize::from(bit >= 64));
        bit &= 63;
        (here, after) = (word(index), word(index.wrapping_add(1)));
        let magnitude = bits & magnitude_mask;
        let negative = (bits >> sign_shift).wrapping_neg();
        delta = delta.wrapping_add((magnitude ^ negative).wrapping_sub(negative));
        value = value.wrapping_add(delta);
        if let Some(low) = value.to_le_bytes().first_chunk::<N>() {
            *slot = *low;
        }
    }
}

/// Packs one part and appends it.
pub(crate) fn encode(physical: Physical, input: &[u8], out: &mut Vec<u8>) -> Kind<()> {
    let size = physical.size();
    if !input.len().is_multiple_of(size) {
        return Err(ErrorKind::PartialValue { bytes: to_u64(input.len()), size: to_u64(size) });
    }
    let count = to_u64(input.len().checked_div(size).unwrap_or(0));
    let bitsize = with_int!(physical, T, {
        let values = input.as_chunks::<{ size_of::<T>() }>().0.iter();
        bits_needed(values.map(|&bytes| widen(T::from_le_bytes(bytes).into())))
    });
    out.push(bitsize);
    out.extend_from_slice(&count.to_le_bytes());
    if is_raw(bitsize, size) {
        out.extend_from_slice(input);
        return Ok(());
    }
    out.extend_from_slice(input.get(..size.saturating_mul(2)).unwrap_or(input));
    with_int!(physical, T, {
        let values = input.as_chunks::<{ size_of::<T>() }>().0.iter();
        pack(values.map(|&bytes| widen(T::from_le_bytes(bytes).into())), bitsize, out);
    });
    Ok(())
}

/// A value as `i128`, cut to the `i64` that libtiledb computes with.
#[expect(clippy::cast_possible_truncation, reason = "the format computes modulo 2^64")]
const fn widen(value: i128) -> i64 {
    value as i64
}

/// Bits of the largest |double delta|, or of the first |delta| if that is larger, as libtiledb counts since 2.29; at
/// least 1 from three values on. 63, which means raw for every type, if a difference leaves `i64`.
fn bits_needed(mut values: impl Iterator<Item = i64>) -> u8 {
    let (Some(first), Some(second)) = (values.next(), values.next()) else { return 0 };
    let Some(mut delta) = second.checked_sub(first) else { return RAW };
    let mut last = second;
    let first_delta = delta.unsigned_abs();
    let mut all = None::<u64>;
    for value in values {
        let Some(next) = value.checked_sub(last) else { return RAW };
        let Some(double) = next.checked_sub(delta) else { return RAW };
        all = Some(all.unwrap_or(1 | first_delta) | double.unsigned_abs());
        (last, delta) = (value, next);
    }
    all.map_or(0, |all| u8::try_from(64u32.saturating_sub(all.leading_zeros())).unwrap_or(RAW).min(RAW))
}

fn pack(mut values: impl Iterator<Item = i64>, bitsize: u8, out: &mut Vec<u8>) {
    let (Some(first), Some(second)) = (values.next(), values.next()) else { return };
    let width = u32::from(bitsize).saturating_add(1);
    let (mut last, mut delta) = (second, second.wrapping_sub(first));
    let (mut word, mut room) = (0u64, 64u32);
    for value in values {
        let next = value.wrapping_sub(last);
        let double = next.wrapping_sub(delta);
        (last, delta) = (value, next);
        let bits = (u64::from(double < 0) << bitsize) | double.unsigned_abs();
        if width <= room {
            room = room.wrapping_sub(width);
            word |= bits << room;
        } else {
            let over = width.wrapping_sub(room); // 1 <= over < 64
            out.extend_from_slice(&(word | (bits >> over)).to_le_bytes());
            room = 64u32.wrapping_sub(over);
            word = bits << room;
        }
        if room == 0 {
            out.extend_from_slice(&word.to_le_bytes());
            (word, room) = (0, 64);
        }
    }
    if room < 64 {
        out.extend_from_slice(&word.to_le_bytes());
    }
}

/// Whether packing would not save anything, and the body is the input.
fn is_raw(bitsize: u8, size: usize) -> bool {
    usize::from(bitsize) >= size.saturating_mul(8).saturating_sub(1)
}

fn copy(body: &[u8], out: &mut [u8]) -> Kind<()> {
    if body.len() != out.len() {
        return Err(ErrorKind::WrongLength { expected: to_u64(out.len()), found: to_u64(body.len()) });
    }
    out.copy_from_slice(body);
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn round_trip(physical: Physical, input: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        encode(physical, input, &mut out).unwrap();
        let mut back = vec![0xaa; input.len()];
        decode(physical.size(), &out, &mut back).unwrap();
        assert_eq!(back, input);
        out
    }

    fn bytes(values: &[i32]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_le_bytes()).collect()
    }

    #[test]
    fn five_values_are_the_reference_s_bytes() {
        let expected = [5, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x7e, 0x84];
        assert_eq!(round_trip(Physical::I32, &bytes(&[0, 5, 9, 20, 7])), expected);
    }

    #[test]
    fn up_to_two_values_have_bitsize_zero_and_no_stream() {
        assert_eq!(round_trip(Physical::I32, &[]), [0; 9]);
        assert_eq!(round_trip(Physical::I32, &bytes(&[7])).len(), 9 + 4);
        assert_eq!(round_trip(Physical::I32, &bytes(&[7, i32::MIN]))[0], 0);
        assert_eq!(round_trip(Physical::I32, &bytes(&[7, 8, 9]))[0], 1);
    }

    #[test]
    fn jumps_as_wide_as_the_type_are_stored_raw() {
        let input = bytes(&[i32::MIN, i32::MAX, i32::MIN]);
        assert_eq!(round_trip(Physical::I32, &input)[9..], input);
        let input: Vec<u8> = [0u64, u64::MAX, 1, 1 << 63].iter().flat_map(|v| v.to_le_bytes()).collect();
        round_trip(Physical::U64, &input);
        let input: Vec<u8> = [i64::MIN, 0, i64::MAX, -1].iter().flat_map(|v| v.to_le_bytes()).collect();
        round_trip(Physical::I64, &input);
    }

    #[test]
    fn a_wider_bitsize_than_needed_decodes_the_same() {
        // What libtiledb 2.29 and later write for a constant step of 10: 4 bits because of the first delta.
        let mut part = vec![4, 3, 0, 0, 0, 0, 0, 0, 0];
        part.extend(bytes(&[0, 10]));
        part.extend([0; 8]);
        let mut out = [0; 12];
        decode(4, &part, &mut out).unwrap();
        assert_eq!(out[..], bytes(&[0, 10, 20]));
    }

    #[test]
    fn an_empty_part_with_a_garbage_value_behind_it_is_read_as_nothing() {
        decode(4, &[0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4], &mut []).unwrap();
    }

    #[test]
    fn counts_that_do_not_match_the_output_are_refused() {
        let mut part = Vec::new();
        encode(Physical::I32, &bytes(&[0, 5, 9]), &mut part).unwrap();
        for len in [4, 8, 11, 13, 16] {
            assert!(decode(4, &part, &mut vec![0; len]).is_err());
        }
        for len in 0..part.len() {
            assert!(decode(4, &part[..len], &mut [0; 12]).is_err());
        }
        assert!(encode(Physical::I32, &[0; 7], &mut Vec::new()).is_err());
    }

    proptest! {
        #[test]
        fn every_integer_type_round_trips(
            words in proptest::collection::vec(any::<u64>(), 0..200),
            narrow in 0u32..64,
            which in 0usize..8,
        ) {
            use Physical::*;
            let physical = [I8, U8, I16, U16, I32, U32, I64, U64][which];
            let input: Vec<u8> = words
                .iter()
                .flat_map(|word| (word >> narrow).to_le_bytes()[..physical.size()].to_vec())
                .collect();
            round_trip(physical, &input);
        }
    }
}
