//! DOUBLE_DELTA (6): differences of differences, bit-packed.
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
//! Bits fill each u64 from its most significant end; the words themselves are little-endian.
//! Options: compressor = 6, level i32 (ignored), and a reinterpret datatype since
//! [`Gate::DoubleDeltaReinterpret`](tdb_codec::Gate::DoubleDeltaReinterpret). Framing of parts:
//! [`crate::compress`].

use tdb_codec::{Datatype, DatatypeClass, Physical, Reader, to_u64, to_usize};

use crate::error::{ErrorKind, Kind};
use crate::int::with_uint;
use crate::kernels::{Survey, pack, survey, unpack};

/// The lowest bitsize for which a body of 8-byte values is raw.
const RAW: u8 = 63;

/// The integer type as which delta filters read values of a datatype; `None` for floats.
pub(crate) const fn integers(datatype: Datatype) -> Option<Physical> {
    match datatype.class() {
        DatatypeClass::Real => None,
        DatatypeClass::String | DatatypeClass::Any | DatatypeClass::Byte => Some(Physical::U8),
        _ => Some(datatype.physical()),
    }
}

/// Unpacks one part of `size`-byte values; it must fill `out` exactly.
pub(crate) fn decode(size: usize, input: &[u8], out: &mut [u8]) -> Kind<()> {
    // libtiledb writes a garbage value after n = 0.
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
    let expected = words(count, bitsize).saturating_mul(8);
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
        unpack::<N>(words, u32::from(bitsize).saturating_add(1), b, b.wrapping_sub(a), rest);
    });
    Ok(())
}

fn zero_extend(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |value, &byte| (value << 8) | u64::from(byte))
}

/// Packs one part and appends it.
pub(crate) fn encode(physical: Physical, input: &[u8], out: &mut Vec<u8>) -> Kind<()> {
    let size = physical.size();
    if !input.len().is_multiple_of(size) {
        return Err(ErrorKind::PartialValue { bytes: to_u64(input.len()), size: to_u64(size) });
    }
    let count = to_u64(input.len().checked_div(size).unwrap_or(0));
    let bitsize = bits_needed(physical, input);
    out.push(bitsize);
    out.extend_from_slice(&count.to_le_bytes());
    if is_raw(bitsize, size) {
        out.extend_from_slice(input);
        return Ok(());
    }
    out.extend_from_slice(input.get(..size.saturating_mul(2)).unwrap_or(input));
    let words = words(count, bitsize).checked_mul(8).and_then(to_usize).unwrap_or(usize::MAX);
    let start = out.len();
    out.resize(start.saturating_add(words), 0);
    let words = out.get_mut(start..).unwrap_or_default().as_chunks_mut().0;
    pack(physical, input, bitsize.into(), words);
    Ok(())
}

/// Number of bits of the largest |double delta|, or of the first |delta| if that is larger, as in
/// libtiledb since 2.29; at least 1 for three or more values. 63, which means raw for every type,
/// if a difference does not fit `i64`.
fn bits_needed(physical: Physical, input: &[u8]) -> u8 {
    let size = physical.size();
    if input.len() <= size.saturating_mul(2) {
        // Two values have one difference, which can overflow only with 8-byte integers.
        let overflows = match *input.as_chunks::<8>().0 {
            [a, b] => i64::from_le_bytes(b).checked_sub(i64::from_le_bytes(a)).is_none(),
            _ => false,
        };
        return if overflows && size == 8 { RAW } else { 0 };
    }
    let Survey { bits, overflows } = survey(physical, input);
    let needed = 64u32.saturating_sub((bits | 1).leading_zeros());
    if overflows { RAW } else { u8::try_from(needed).unwrap_or(RAW).min(RAW) }
}

/// Number of words in the bit stream for `count` values.
fn words(count: u64, bitsize: u8) -> u64 {
    count.saturating_sub(2).saturating_mul(u64::from(bitsize).saturating_add(1)).div_ceil(64)
}

/// Whether packing would not save anything, so the body is the input.
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
    fn two_values_are_raw_only_if_their_difference_does_not_fit() {
        let longs = |values: [i64; 2]| round_trip(Physical::I64, &values.map(i64::to_le_bytes).concat());
        assert_eq!((longs([1, 2])[0], longs([i64::MIN, 1])[0]), (0, RAW));
        // These bytes are a single value of eight.
        assert_eq!(round_trip(Physical::I32, &bytes(&[i32::MIN, i32::MAX]))[0], 0);
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
        // Bytes that libtiledb 2.29 and later write for a constant step of 10: 4 bits because of
        // the first delta.
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
