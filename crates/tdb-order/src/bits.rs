//! The bits of integers and reals, as numbers that order as they do.

use tdb_codec::{to_u32, to_usize};

/// Bits of the numbers from 0 to `max`.
pub(crate) const fn bit_width(max: u64) -> u32 {
    u64::BITS - max.leading_zeros()
}

/// The greatest number of so many bits, at most 64: a mask of the lowest bits.
pub(crate) fn low_bits(bits: u32) -> u64 {
    u64::BITS.checked_sub(bits).map_or(u64::MAX, |unset| u64::MAX.checked_shr(unset).unwrap_or(0))
}

/// The integer sign- or zero-extended to 64 bits; 0 for bytes of another size than an integer has.
#[inline]
pub(crate) fn integer(bytes: &[u8], signed: bool) -> u64 {
    match *bytes {
        [a] if signed => i64::from(i8::from_le_bytes([a])).cast_unsigned(),
        [a] => u64::from(a),
        [a, b] if signed => i64::from(i16::from_le_bytes([a, b])).cast_unsigned(),
        [a, b] => u64::from(u16::from_le_bytes([a, b])),
        [a, b, c, d] if signed => i64::from(i32::from_le_bytes([a, b, c, d])).cast_unsigned(),
        [a, b, c, d] => u64::from(u32::from_le_bytes([a, b, c, d])),
        [a, b, c, d, e, f, g, h] => u64::from_le_bytes([a, b, c, d, e, f, g, h]),
        _ => 0,
    }
}

/// Bits with the same order as the reals: zeros of both signs are equal, other bit patterns differ.
pub(crate) fn float_bits(bytes: &[u8]) -> u64 {
    match *bytes {
        [a, b, c, d] => {
            let bits = u32::from_le_bytes([a, b, c, d]);
            let sign = 1 << 31;
            u64::from(if bits & sign == 0 || bits == sign { bits | sign } else { !bits })
        }
        [a, b, c, d, e, f, g, h] => {
            let bits = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
            let sign = 1 << 63;
            if bits & sign == 0 || bits == sign { bits | sign } else { !bits }
        }
        _ => 0,
    }
}

/// Whether the bytes of a real are those of −0.0.
pub fn is_negative_zero(bytes: &[u8]) -> bool {
    bytes.split_last().is_some_and(|(sign, rest)| *sign == 0x80 && rest.iter().all(|byte| *byte == 0))
}

/// The bytes of the real of `size` bytes for which [`float_bits`] returns `bits`.
pub(crate) fn float_from_bits(bits: u64, size: usize) -> Vec<u8> {
    if size == 4 {
        // More than 32 bits stand for the end of a range that is not known: the last one in
        // the order of reals, a NaN.
        let bits = to_usize(bits).and_then(to_u32).unwrap_or(u32::MAX);
        let sign = 1u32 << 31;
        return if bits & sign == 0 { !bits } else { bits & !sign }.to_le_bytes().to_vec();
    }
    let sign = 1u64 << 63;
    if bits & sign == 0 { !bits } else { bits & !sign }.to_le_bytes().to_vec()
}
