//! SCALE_FLOAT (15): floats as scaled integers.
//!
//! Chunk metadata:
//!
//! | Field | Type |
//! |---|---|
//! | part count | u32 |
//! | per part: **encoded** length | u32 |
//!
//! Data: signed little-endian integers of the option's width. Encoding computes
//! `round((value − offset) / scale)` in the input's own precision and rounds halves away from zero;
//! decoding computes `scale · integer + offset` in `f64`, from the integer converted to the input's
//! type. Any type of 4 or 8 bytes is read as `f32` or `f64`. Values that do not fit the integer are
//! an error (in libtiledb the result is undefined).
//!
//! Options: scale f64, offset f64, byte width u64 (1, 2, 4 or 8).

use tdb_codec::{Reader, Writer, to_u64};

use crate::error::{ErrorKind, Kind};
use crate::filter::{ByteWidth, ScaleFloat};
use crate::kernels::{Float, scale_floats, unscale_floats};
use crate::parts::read_lengths;
use crate::scratch::room;

/// Length of the floats that `encoded_len` bytes of integers decode to.
pub(crate) fn decoded_len(float: Float, width: ByteWidth, encoded_len: usize) -> Kind<usize> {
    (encoded_len / width.bytes())
        .checked_mul(float.size())
        .ok_or(ErrorKind::OverBudget { size: to_u64(encoded_len) })
}

/// Reads the metadata block and turns the integers in `src` into floats in `dst`.
pub(crate) fn decode(
    float: Float,
    options: ScaleFloat,
    block: &mut Reader<'_>,
    src: &[u8],
    dst: &mut [u8],
) -> Kind<()> {
    let width = options.byte_width.bytes();
    for &length in read_lengths(block, src.len())? {
        let bytes = u64::from(u32::from_le_bytes(length));
        if !bytes.is_multiple_of(to_u64(width)) {
            return Err(ErrorKind::PartialValue { bytes, size: to_u64(width) });
        }
    }
    // Each part is a whole number of integers, so all parts together are one run of integers.
    unscale_floats(float, options, src, dst);
    Ok(())
}

/// Appends the metadata block, and writes the integers for the floats in `src` to the front of
/// `out`; returns their length in bytes.
pub(crate) fn encode(
    float: Float,
    options: ScaleFloat,
    src: &[u8],
    block: &mut Writer,
    out: &mut Vec<u8>,
) -> Kind<usize> {
    if !src.len().is_multiple_of(float.size()) {
        return Err(ErrorKind::PartialValue { bytes: to_u64(src.len()), size: to_u64(float.size()) });
    }
    let len = (src.len() / float.size()).saturating_mul(options.byte_width.bytes());
    if !scale_floats(float, options, src, room(out, 0, len)) {
        return Err(ErrorKind::OutOfRange { index: first_outside(float, options, src) });
    }
    block.u32(1);
    block.len_u32(len, "part length")?;
    Ok(len)
}

/// The index of the first value that does not fit.
fn first_outside(float: Float, options: ScaleFloat, src: &[u8]) -> usize {
    let mut integer = [0; 8];
    let slot = integer.get_mut(..options.byte_width.bytes()).unwrap_or_default();
    src.chunks_exact(float.size()).position(|value| !scale_floats(float, options, value, slot)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPTIONS: ScaleFloat = ScaleFloat { scale: 0.5, offset: 10.0, byte_width: ByteWidth::Two };

    #[test]
    fn values_are_shifted_scaled_and_rounded_half_away_from_zero() {
        let input: Vec<u8> = [10.0f64, 10.25, 9.75, 11.0].iter().flat_map(|v| v.to_le_bytes()).collect();
        let (mut block, mut out) = (Writer::new(), Vec::new());
        encode(Float::F64, OPTIONS, &input, &mut block, &mut out).unwrap();
        assert_eq!(block.as_slice(), [1, 0, 0, 0, 8, 0, 0, 0]);
        assert_eq!(out, [0, 0, 1, 0, 0xff, 0xff, 2, 0]);
        let mut back = [0; 32];
        assert_eq!(decoded_len(Float::F64, ByteWidth::Two, 8), Ok(32));
        decode(Float::F64, OPTIONS, &mut Reader::new(block.as_slice()), &out, &mut back).unwrap();
        let back: Vec<f64> = back.as_chunks().0.iter().map(|&bytes| f64::from_le_bytes(bytes)).collect();
        assert_eq!(back, [10.0, 10.5, 9.5, 11.0]);
    }

    #[test]
    fn values_outside_the_integer_and_nans_are_refused() {
        for (value, fits) in
            [(16_393.5f32, true), (16_394.0, false), (-16_374.0, true), (-16_375.0, false), (f32::NAN, false)]
        {
            let result =
                encode(Float::F32, OPTIONS, &value.to_le_bytes(), &mut Writer::new(), &mut Vec::new());
            assert_eq!(result.is_ok(), fits, "{value}");
        }
        assert!(encode(Float::F32, OPTIONS, &[0; 6], &mut Writer::new(), &mut Vec::new()).is_err());
    }

    #[test]
    fn parts_that_split_an_integer_are_refused() {
        let block = [2, 0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0];
        let error = decode(Float::F32, OPTIONS, &mut Reader::new(&block), &[0; 4], &mut [0; 8]).unwrap_err();
        assert_eq!(error, ErrorKind::PartialValue { bytes: 1, size: 2 });
    }
}
