//! Floats as scaled integers.
//!
//! Every operation is exactly the one that the format specifies, in the specified precision: no
//! reciprocal, no fused multiply-add. All levels therefore give the same bits.

use crate::filter::{ByteWidth, ScaleFloat};

/// Width of the floats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Float {
    F32,
    F64,
}

impl Float {
    /// The float type of values of `size` bytes.
    pub(crate) const fn of_size(size: usize) -> Option<Self> {
        match size {
            4 => Some(Self::F32),
            8 => Some(Self::F64),
            _ => None,
        }
    }

    pub(crate) const fn size(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::F64 => 8,
        }
    }
}

kernel! {
    /// Converts the integers in `src` to the same number of floats in `dst`.
    pub(crate) fn unscale_floats(float: Float, options: ScaleFloat, src: &[u8], dst: &mut [u8]) { plain: unscale_plain }
}

kernel! {
    /// Converts the floats in `src` to the same number of integers in `dst`. Returns whether all of
    /// them fit; if not, `dst` contains unspecified bytes.
    pub(crate) fn scale_floats(float: Float, options: ScaleFloat, src: &[u8], dst: &mut [u8]) -> bool {
        plain: scale_plain
    }
}

#[inline(always)]
fn unscale_plain(float: Float, options: ScaleFloat, src: &[u8], dst: &mut [u8]) {
    let ScaleFloat { scale, offset, .. } = options;
    macro_rules! each {
        ($int:ty, $float:ty, $round:expr) => {{
            let integers = src.as_chunks::<{ size_of::<$int>() }>().0;
            let floats = dst.as_chunks_mut::<{ size_of::<$float>() }>().0;
            for (slot, &bytes) in floats.iter_mut().zip(integers) {
                let integer = f64::from(<$int>::from_le_bytes(bytes) as $float);
                *slot = $round(scale * integer + offset).to_le_bytes();
            }
        }};
    }
    match (float, options.byte_width) {
        (Float::F32, ByteWidth::One) => each!(i8, f32, narrow),
        (Float::F32, ByteWidth::Two) => each!(i16, f32, narrow),
        (Float::F32, ByteWidth::Four) => each!(i32, f32, narrow),
        (Float::F32, ByteWidth::Eight) => each!(i64, f32, narrow),
        (Float::F64, ByteWidth::One) => each!(i8, f64, core::convert::identity),
        (Float::F64, ByteWidth::Two) => each!(i16, f64, core::convert::identity),
        (Float::F64, ByteWidth::Four) => each!(i32, f64, core::convert::identity),
        (Float::F64, ByteWidth::Eight) => each!(i64, f64, core::convert::identity),
    }
}

#[inline(always)]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "an integer in range fits in its low bytes"
)]
fn scale_plain(float: Float, options: ScaleFloat, src: &[u8], dst: &mut [u8]) -> bool {
    macro_rules! each {
        ($float:ty, $scaled:expr, $integer:expr, $int:ty, $outside:ty) => {{
            // −2^(bits−1) ≤ value < 2^(bits−1): both ends are exact, and a NaN is inside neither.
            let min = <$int>::MIN as $float;
            let mut outside: $outside = 0;
            let floats = src.as_chunks::<{ size_of::<$float>() }>().0;
            let integers = dst.as_chunks_mut::<{ size_of::<$int>() }>().0;
            for (slot, &bytes) in integers.iter_mut().zip(floats) {
                let value = $scaled(bytes, options);
                outside |= <$outside>::from(!(value >= min && value < -min));
                *slot = ($integer(value) as $int).to_le_bytes();
            }
            outside == 0
        }};
    }
    match (float, options.byte_width) {
        (Float::F32, ByteWidth::One) => each!(f32, scaled_f32, low_16, i8, u32),
        (Float::F32, ByteWidth::Two) => each!(f32, scaled_f32, low_16, i16, u32),
        (Float::F32, ByteWidth::Four) => each!(f32, scaled_f32, |value: f32| low_32(value.into()), i32, u32),
        (Float::F32, ByteWidth::Eight) => each!(f32, scaled_f32, |value: f32| all_64(value.into()), i64, u32),
        (Float::F64, ByteWidth::One) => each!(f64, scaled_f64, low_32, i8, u64),
        (Float::F64, ByteWidth::Two) => each!(f64, scaled_f64, low_32, i16, u64),
        (Float::F64, ByteWidth::Four) => each!(f64, scaled_f64, low_32, i32, u64),
        (Float::F64, ByteWidth::Eight) => each!(f64, scaled_f64, all_64, i64, u64),
    }
}

// Conversions of whole numbers without `as`, which the compiler does not vectorise because of
// values outside the integer's range. If a number is added to 1.5 · 2^(mantissa bits), the low bits
// of the sum are the number in two's complement. For numbers out of range the result is
// unspecified.

/// The integer `value`, with |`value`| ≤ 2^15, in the low 16 bits.
#[inline(always)]
const fn low_16(value: f32) -> u32 {
    (value + 12_582_912.0).to_bits()
}

/// The integer `value`, with |`value`| ≤ 2^32, in the low 33 bits, including the sign.
#[inline(always)]
const fn low_32(value: f64) -> u64 {
    (value + 6_755_399_441_055_744.0).to_bits()
}

/// The integer `value`, with |`value`| ≤ 2^63.
#[inline(always)]
fn all_64(value: f64) -> u64 {
    const HALF: f64 = 4_294_967_296.0;
    // Multiplying by powers of two is exact, so both halves are exact.
    let high = (value * (1.0 / HALF)).floor();
    (low_32(high) << 32) | (low_32(value - high * HALF) & 0xffff_ffff)
}

/// `round((value − offset) / scale)`, with halves rounded away from zero.
#[inline(always)]
fn scaled_f32(bytes: [u8; 4], options: ScaleFloat) -> f32 {
    ((f32::from_le_bytes(bytes) - narrow(options.offset)) / narrow(options.scale)).round()
}

/// As [`scaled_f32`].
#[inline(always)]
fn scaled_f64(bytes: [u8; 8], options: ScaleFloat) -> f64 {
    ((f64::from_le_bytes(bytes) - options.offset) / options.scale).round()
}

#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "the format computes in the float's own precision")]
const fn narrow(value: f64) -> f32 {
    value as f32
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::kernels::Level;

    const WIDTHS: [ByteWidth; 4] = [ByteWidth::One, ByteWidth::Two, ByteWidth::Four, ByteWidth::Eight];

    fn options(scale: f64, offset: f64, byte_width: ByteWidth) -> ScaleFloat {
        ScaleFloat { scale, offset, byte_width }
    }

    /// The integer of one float that fits.
    #[expect(clippy::cast_possible_truncation, reason = "it fits")]
    fn defined(value: &[u8], options: ScaleFloat) -> Vec<u8> {
        let integer = match *value {
            [a, b, c, d] => scaled_f32([a, b, c, d], options) as i64,
            _ => scaled_f64(*value.first_chunk().unwrap(), options) as i64,
        };
        integer.to_le_bytes()[..options.byte_width.bytes()].to_vec()
    }

    fn check(float: Float, size: usize, options: ScaleFloat, bytes: &[u8]) {
        let width = options.byte_width.bytes();
        let integers = &bytes[..bytes.len() / width * width];
        let floats = &bytes[..bytes.len() / size * size];
        let results = Level::ALL.map(|level| {
            let mut back = vec![0xaa; integers.len() / width * size];
            unscale_floats::at(level, float, options, integers, &mut back);
            // Without the floats that do not fit. Often none are left.
            let kept: Vec<u8> = floats
                .chunks_exact(size)
                .filter(|float_bytes| {
                    let mut one = vec![0; width];
                    scale_floats::at(Level::Plain, float, options, float_bytes, &mut one)
                })
                .flatten()
                .copied()
                .collect();
            let mut scaled = vec![0xaa; kept.len() / size * width];
            assert!(scale_floats::at(level, float, options, &kept, &mut scaled));
            for (value, integer) in kept.chunks_exact(size).zip(scaled.chunks_exact(width)) {
                assert_eq!(integer, defined(value, options), "{level:?} {options:?}");
            }
            let all =
                scale_floats::at(level, float, options, floats, &mut vec![0; floats.len() / size * width]);
            assert_eq!(all, kept.len() == floats.len(), "{level:?} {options:?}");
            (back, scaled)
        });
        assert_eq!(results[0], results[1], "{options:?}");
        assert_eq!(results[0], results[2], "{options:?}");
    }

    #[test]
    fn halves_are_rounded_away_from_zero_and_the_ends_are_sharp_at_every_level() {
        for level in Level::ALL {
            let values = [0.5f32, -0.5, 1.5, -2.5, 0.499_999_97, -0.0, 127.49, -128.49];
            let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
            let mut out = [0; 8];
            assert!(scale_floats::at(level, Float::F32, options(1.0, 0.0, ByteWidth::One), &bytes, &mut out));
            assert_eq!(out.map(u8::cast_signed), [1, -1, 2, -3, 0, 0, 127, -128]);
            let values = [0.5f64, -0.5, 1.5, -2.5, 0.499_999_999_999_999_94, -0.0, 127.49, -128.49];
            let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
            assert!(scale_floats::at(level, Float::F64, options(1.0, 0.0, ByteWidth::One), &bytes, &mut out));
            assert_eq!(out.map(u8::cast_signed), [1, -1, 2, -3, 0, 0, 127, -128]);
            for width in WIDTHS {
                let end = 2f64.powi(i32::try_from(width.bytes()).unwrap() * 8 - 1);
                for (value, fits) in [(-end, true), (end, false), (f64::NAN, false), (f64::INFINITY, false)] {
                    // After many values that fit: sometimes as the last one of a vector, sometimes
                    // outside any vector.
                    for count in [1, 16, 17, 64, 70] {
                        let mut values = vec![1.0; count];
                        *values.last_mut().unwrap() = value;
                        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
                        let mut out = vec![0; count * width.bytes()];
                        let found =
                            scale_floats::at(level, Float::F64, options(1.0, 0.0, width), &bytes, &mut out);
                        assert_eq!(found, fits, "{level:?} {width:?} {value} {count}");
                        #[expect(clippy::cast_possible_truncation, reason = "powers of two")]
                        let bytes: Vec<u8> =
                            values.iter().flat_map(|value| (*value as f32).to_le_bytes()).collect();
                        let found =
                            scale_floats::at(level, Float::F32, options(1.0, 0.0, width), &bytes, &mut out);
                        assert_eq!(found, fits, "{level:?} {width:?} {value} {count}");
                    }
                }
            }
        }
    }

    #[test]
    #[expect(clippy::cast_possible_truncation, reason = "any floats will do")]
    fn whole_numbers_of_every_size_convert_exactly() {
        for shift in 0..=63 {
            for by in [-3, -1, 0, 1, 3] {
                for sign in [-1.0, 1.0] {
                    let value = sign * (2f64.powi(shift) + f64::from(by)).round();
                    for float in [value.to_le_bytes().to_vec(), (value as f32).to_le_bytes().to_vec()] {
                        let kind = Float::of_size(float.len()).unwrap();
                        for width in WIDTHS {
                            check(kind, float.len(), options(1.0, 0.0, width), &float.repeat(9));
                        }
                    }
                }
            }
        }
    }

    proptest! {
        #[test]
        fn random_bytes_and_gentle_floats_scale_alike_at_every_level(
            noise in proptest::collection::vec(any::<u8>(), 0..600),
            gentle in proptest::collection::vec(-2e3f64..2e3, 0..90),
            scale in -3f64..3.0,
            offset in -100f64..100.0,
        ) {
            for width in WIDTHS {
                let options = options(scale, offset, width);
                check(Float::F32, 4, options, &noise);
                check(Float::F64, 8, options, &noise);
                let bytes: Vec<u8> = gentle.iter().flat_map(|value| value.to_le_bytes()).collect();
                check(Float::F64, 8, options, &bytes);
                #[expect(clippy::cast_possible_truncation, reason = "any floats will do")]
                let bytes: Vec<u8> = gentle.iter().flat_map(|value| (*value as f32).to_le_bytes()).collect();
                check(Float::F32, 4, options, &bytes);
            }
        }
    }
}
