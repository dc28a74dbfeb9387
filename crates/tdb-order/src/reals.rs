//! Space tiles of real dimensions, and how libtiledb converts reals to whole numbers.

use tdb_codec::Native;
use tdb_schema::Dimension;

/// 2^64, the first number that is too large for 64 bits.
const TOO_LARGE: f64 = 18_446_744_073_709_551_616.0;

/// The whole part of a real that is not negative. C++ does not define the result for numbers that
/// are too large, or for NaN. The order of stored cells depends on both, so this returns what
/// libtiledb's code computes on x86: 0 and 2^63.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "truncation is the definition; only damaged files have numbers below the domain"
)]
pub(crate) fn truncated(value: f64) -> u64 {
    if value.is_nan() {
        1 << 63
    } else if value >= TOO_LARGE {
        0
    } else {
        value as u64
    }
}

/// The index of the space tile of a real coordinate, computed in the dimension's own precision as
/// libtiledb does.
pub fn tile(dimension: &Dimension, value: &[u8]) -> u64 {
    quotient(dimension, value).map_or(0, truncated)
}

/// Whether the index of the space tile grows with the coordinate. It does except in some real
/// dimensions, where the index starts again at 0 when it gets too large.
pub fn tiles_ascend(dimension: &Dimension) -> bool {
    let high = dimension.domain.as_ref().map_or(&[][..], |(_, high)| high);
    !quotient(dimension, high).is_some_and(|last| last >= TOO_LARGE)
}

/// How many tile extents a coordinate is from the low end of its domain; `None` for a dimension
/// that is not real or has no extent.
fn quotient(dimension: &Dimension, value: &[u8]) -> Option<f64> {
    if !dimension.datatype.physical().is_float() {
        return None;
    }
    let (low, extent) = (&dimension.domain.as_ref()?.0, dimension.tile_extent.as_ref()?);
    match (f32::from_le(value), f32::from_le(low), f32::from_le(extent)) {
        (Some(value), Some(low), Some(extent)) => Some(f64::from((value - low) / extent)),
        _ => match (f64::from_le(value), f64::from_le(low), f64::from_le(extent)) {
            (Some(value), Some(low), Some(extent)) => Some((value - low) / extent),
            _ => None,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tiles<const N: usize>(dimension: &Dimension, values: [f64; N]) -> [u64; N] {
        values.map(|value| tile(dimension, &value.to_le_bytes()))
    }

    #[test]
    fn what_has_no_whole_part_is_what_x86_makes_of_it() {
        let all = [-f64::MAX, -1.0, 0.0, 1.0, f64::MAX];
        let open = Dimension::new("x", -f64::MAX..=f64::MAX).with_tile(f64::INFINITY);
        // The distance of 1.0 is still the largest number; that of the high end is infinite.
        assert_eq!(tiles(&open, all), [0, 0, 0, 0, 1 << 63]);
        let point = Dimension::new("x", 5.0f64..=5.0).with_tile(0.0f64);
        assert_eq!(tiles(&point, [5.0]), [1 << 63]);
        let none = Dimension::new("x", 0.0f64..=1.0).with_tile(f64::NAN);
        assert_eq!(tiles(&none, [0.0, 0.5, 1.0]), [1 << 63; 3]);
        let narrow = Dimension::new("x", 0.0f64..=1e30).with_tile(1.0f64);
        assert_eq!(
            tiles(&narrow, [0.0, 1e19, 1.8e19, 1.9e19, 1e30]),
            [0, 10u64.pow(19), 18 * 10u64.pow(18), 0, 0]
        );
        assert_eq!([&open, &point, &none, &narrow].map(tiles_ascend), [true, true, true, false]);
    }
}
