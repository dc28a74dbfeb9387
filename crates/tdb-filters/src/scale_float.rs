//! SCALE_FLOAT (15): floats as scaled integers (section 6.14).
//!
//! Chunk metadata:
//!
//! | Field | Type |
//! |---|---|
//! | part count | u32 |
//! | per part: **encoded** length | u32 |
//!
//! Data: signed little-endian integers of the option's width. Encoding computes
//! `round((value − offset) / scale)` in the input's own precision, halves away from zero; decoding computes
//! `scale · integer + offset` in `f64`, from the integer as the input's type. Any type of 4 or 8 bytes is
//! read as `f32` or `f64`. Values that do not fit the integer are refused (in libtiledb the result is
//! undefined).
//!
//! Options: scale f64, offset f64, byte width u64 (1, 2, 4 or 8).

use tdb_codec::{Reader, Writer, to_u64};

use crate::error::{ErrorKind, Kind};
use crate::filter::{ByteWidth, ScaleFloat};
use crate::parts::read_lengths;

/// Width of the floats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Float {
    F32,
    F64,
}

impl Float {
    /// The float behind values of `size` bytes.
    pub(crate) const fn of_size(size: usize) -> Option<Self> {
        match size {
            4 => Some(Self::F32),
            8 => Some(Self::F64),
            _ => None,
        }
    }

    const fn size(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::F64 => 8,
        }
    }
}

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
    // Parts are whole numbers of integers, so the whole is one run of them.
    macro_rules! kernel {
        ($int:ty, $float:ty, $round:expr) => {{
            let integers = src.as_chunks::<{ size_of::<$int>() }>().0;
            let floats = dst.as_chunks_mut::<{ size_of::<$float>() }>().0;
            for (slot, &bytes) in floats.iter_mut().zip(integers) {
                let integer = f64::from(<$int>::from_le_bytes(bytes) as $float);
                *slot = $round(options.scale * integer + options.offset).to_le_bytes();
            }
        }};
    }
    match (float, options.byte_width) {
        (Float::F32, ByteWidth::One) => kernel!(i8, f32, narrow),
        (Float::F32, ByteWidth::Two) => kernel!(i16, f32, narrow),
        (Float::F32, ByteWidth::Four) => kernel!(i32, f32, narrow),
        (Float::F32, ByteWidth::Eight) => kernel!(i64, f32, narrow),
        (Float::F64, ByteWidth::One) => kernel!(i8, f64, core::convert::identity),
        (Float::F64, ByteWidth::Two) => kernel!(i16, f64, core::convert::identity),
        (Float::F64, ByteWidth::Four) => kernel!(i32, f64, core::convert::identity),
        (Float::F64, ByteWidth::Eight) => kernel!(i64, f64, core::convert::identity),
    }
    Ok(())
}

/// Appends the metadata block, and the integers for the floats in `src` to `out`.
pub(crate) fn encode(
    float: Float,
    options: ScaleFloat,
    src: &[u8],
    block: &mut Writer,
    out: &mut Vec<u8>,
) -> Kind<()> {
    if !src.len().is_multiple_of(float.size()) {
        return Err(ErrorKind::PartialValue { bytes: to_u64(src.len()), size: to_u64(float.size()) });
    }
    let width = options.byte_width.bytes();
    match float {
        Float::F32 => {
            let (scale, offset) = (narrow(options.scale), narrow(options.offset));
            let values = src.as_chunks::<4>().0.iter();
            put(
                values.map(|&bytes| f64::from(((f32::from_le_bytes(bytes) - offset) / scale).round())),
                width,
                out,
            )?;
        }
        Float::F64 => {
            let values = src.as_chunks::<8>().0.iter();
            let scaled =
                |&bytes: &[u8; 8]| ((f64::from_le_bytes(bytes) - options.offset) / options.scale).round();
            put(values.map(scaled), width, out)?;
        }
    }
    block.u32(1);
    block.len_u32(out.len(), "part length")?;
    Ok(())
}

#[expect(clippy::cast_possible_truncation, reason = "the format computes in the float's own precision")]
const fn narrow(value: f64) -> f32 {
    value as f32
}

/// Appends rounded values as integers of `width` bytes.
fn put(values: impl Iterator<Item = f64>, width: usize, out: &mut Vec<u8>) -> Kind<()> {
    // −2^(bits−1) ≤ value < 2^(bits−1): both bounds are exact in f64, and a NaN is inside neither.
    let end = match width {
        1 => 128.0,
        2 => 32_768.0,
        4 => 2_147_483_648.0,
        _ => 9_223_372_036_854_775_808.0,
    };
    for (index, value) in values.enumerate() {
        if !(value >= -end && value < end) {
            return Err(ErrorKind::OutOfRange { index });
        }
        #[expect(
            clippy::cast_possible_truncation,
            reason = "a whole number inside the range of i64, as checked"
        )]
        let integer = value as i64;
        // The low bytes are all of it: the value is inside the range of the width.
        out.extend_from_slice(integer.to_le_bytes().get(..width).unwrap_or_default());
    }
    Ok(())
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
