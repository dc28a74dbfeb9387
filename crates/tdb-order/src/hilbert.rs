//! Positions of cells on the Hilbert curve (docs/format/reading-rules.md). They are not stored:
//! readers compute them again.

use tdb_codec::{Native, PhysicalVisitor, to_u32};
use tdb_schema::{Dimension, MAX_HILBERT_DIMENSIONS};

use super::reals;

/// Bits of a position on the curve.
pub const BITS: u32 = 63;

/// The Hilbert curve of an array. Reading, writing, consolidating and verifying all use it to find
/// a cell's place on the curve.
#[derive(Clone, Copy, Debug)]
pub struct Curve<'a> {
    dimensions: &'a [Dimension],
    /// Bits that a dimension contributes.
    bits: u32,
}

impl<'a> Curve<'a> {
    /// The curve through cells with these dimensions.
    pub fn new(dimensions: &'a [Dimension]) -> Self {
        let bits = to_u32(dimensions.len()).and_then(|count| BITS.checked_div(count));
        Self { dimensions, bits: bits.unwrap_or(BITS) }
    }

    /// The position of a cell on the curve, a number of [`BITS`] bits; `coordinate` returns the
    /// cell's coordinate in a dimension. Arrays have at most [`MAX_HILBERT_DIMENSIONS`] dimensions:
    /// schemas with more are refused.
    pub fn place<'c>(&self, coordinate: impl Fn(usize) -> &'c [u8]) -> u64 {
        let mut point = [0; MAX_HILBERT_DIMENSIONS];
        let slots = point.iter_mut().zip(self.dimensions).enumerate();
        for (index, (slot, dimension)) in slots {
            *slot = bucket(dimension, coordinate(index), self.bits);
        }
        let dimensions = self.dimensions.len().min(point.len());
        value(point.get_mut(..dimensions).unwrap_or_default(), self.bits)
    }
}

/// The bucket of a coordinate: its position along the dimension's domain, in `bits` bits.
fn bucket(dimension: &Dimension, value: &[u8], bits: u32) -> u64 {
    let Some((low, high)) = &dimension.domain else { return string_bucket(value, bits) };
    struct ToF64<'a>(&'a [u8]);
    impl PhysicalVisitor for ToF64<'_> {
        type Output = f64;
        fn visit<T: Native>(self) -> f64 {
            T::from_le(self.0).map_or(0.0, T::to_f64)
        }
    }
    let number = |bytes: &[u8]| dimension.datatype.physical().visit(ToF64(bytes));
    let (low, high, value) = (number(low), number(high), number(value));
    reals::truncated((value - low) / (high - low) * max(bits) as f64)
}

/// The largest number with this many bits.
const fn max(bits: u32) -> u64 {
    (1 << bits) - 1
}

/// The first 8 bytes, most significant first. On x86 libtiledb sign-extends bytes of 0x80 and
/// above, which sets all higher bits.
fn string_bucket(value: &[u8], bits: u32) -> u64 {
    let mut word = 0u64;
    for at in 0..8 {
        let byte = value.get(at).copied().unwrap_or(0);
        word <<= 8;
        word |= u64::from(byte);
        if byte >= 0x80 {
            word |= !0xff;
        }
    }
    word >> (64 - bits)
}

/// The Hilbert value of a point of `point.len()` buckets of `bits` bits each. Overwrites the point.
///
/// J. Skilling, "Programming the Hilbert curve" (2004), with TileDB's form of the last step.
fn value(point: &mut [u64], bits: u32) -> u64 {
    // With a single dimension, the largest bucket is rounded up to one more than its bits can
    // represent. The same applies to a NaN, which occurs in a domain of one point, or in one that
    // is wider than the largest number.
    match point {
        [] => return 0,
        [only] => return (*only).min(max(bits)),
        [_, _, ..] => {}
    }
    let mut q = 1u64 << (bits - 1);
    while q > 1 {
        let p = q - 1;
        let Some((first, others)) = point.split_first_mut() else { return 0 };
        if *first & q != 0 {
            *first ^= p;
        }
        for here in others {
            if *here & q != 0 {
                *first ^= p;
            } else {
                let t = (*first ^ *here) & p;
                *first ^= t;
                *here ^= t;
            }
        }
        q >>= 1;
    }
    let mut before = 0;
    for slot in point.iter_mut() {
        *slot ^= before;
        before = *slot;
    }
    let Some((last, others)) = point.split_last_mut() else { return 0 };
    let before = *last;
    let mut shift = 1;
    while shift < bits {
        *last ^= *last >> shift;
        shift <<= 1;
    }
    let t = before ^ *last;
    for slot in others {
        *slot ^= t;
    }
    // The bits of all dimensions alternate: at most `BITS` of them.
    let mut value = 0u64;
    let mut at = 0u32;
    for bit in 0..bits {
        for axis in point.iter().rev() {
            value |= ((axis >> bit) & 1) << at;
            at += 1;
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_on_the_curve_are_neighbours_in_the_plane() {
        let bits = 4;
        let mut cells: Vec<(u64, u64, u64)> = (0..16u64)
            .flat_map(|x| (0..16u64).map(move |y| (x, y)))
            .map(|(x, y)| (value(&mut [x, y], bits), x, y))
            .collect();
        cells.sort_unstable();
        for (place, pair) in cells.windows(2).enumerate() {
            assert_eq!(pair[0].0, u64::try_from(place).unwrap(), "every value occurs once");
            let distance = pair[0].1.abs_diff(pair[1].1) + pair[0].2.abs_diff(pair[1].2);
            assert_eq!(distance, 1, "{pair:?}");
        }
    }

    #[test]
    fn places_at_both_ends_of_a_domain_fit_their_bits() {
        let place = |dimension: &Dimension, value: f64| {
            let bytes = value.to_le_bytes();
            Curve::new(core::slice::from_ref(dimension)).place(|_| &bytes)
        };
        let last = (1 << BITS) - 1;
        let line = Dimension::new("x", -10.0f64..=10.0);
        assert_eq!([-10.0, 0.0, 10.0].map(|value| place(&line, value)), [0, 1 << 62, last]);
        assert!(place(&line, 8.0) < place(&line, 9.5) && place(&line, 9.5) < last);
        // The distance from the low end overflows, or is not defined.
        let open = Dimension::new("x", -f64::MAX..=f64::MAX);
        assert_eq!([-f64::MAX, 1.0, f64::MAX].map(|value| place(&open, value)), [0, 0, last]);
        assert_eq!(place(&Dimension::new("x", 5.0f64..=5.0), 5.0), last);
    }
}
