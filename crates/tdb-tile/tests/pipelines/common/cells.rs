//! Cells to encode: kinds of values that have caused errors in filters.

use tdb_codec::{Datatype, Physical};

use super::Random;

/// Kinds of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Values {
    Constant,
    Sorted,
    FullRange,
    Extremes,
    /// Quiet and signalling NaNs with payloads, and zeros of both signs; for other types, the bits
    /// of these floats.
    NanAndNegativeZero,
}

impl Values {
    pub(crate) const ALL: [Self; 5] =
        [Self::Constant, Self::Sorted, Self::FullRange, Self::Extremes, Self::NanAndNegativeZero];

    /// `count` values of a type.
    pub(crate) fn bytes(self, datatype: Datatype, count: usize) -> Vec<u8> {
        let size = datatype.size();
        let mut out = Vec::with_capacity(count * size);
        let mut random = Random(u64::from(datatype.code()));
        let extremes = extremes(datatype.physical());
        for i in 0..count {
            match self {
                Self::Constant => out.extend_from_slice(&number(datatype, 42)),
                Self::Sorted => out.extend_from_slice(&number(datatype, i as u64 / 3)),
                Self::FullRange => out.extend_from_slice(&random.next().to_le_bytes()[..size]),
                Self::Extremes => out.extend_from_slice(&extremes[i % extremes.len()]),
                Self::NanAndNegativeZero => out.extend_from_slice(&odd_float(size, i)),
            }
        }
        out
    }
}

/// A small number as a value; numbers too large for a type become its maximum, so that they never
/// decrease.
fn number(datatype: Datatype, number: u64) -> Vec<u8> {
    let most = match datatype.physical() {
        Physical::F32 => return f32::from(u16::try_from(number.min(60_000)).unwrap()).to_le_bytes().into(),
        Physical::F64 => return f64::from(u32::try_from(number).unwrap()).to_le_bytes().into(),
        Physical::I8 | Physical::U8 => 127,
        Physical::I16 | Physical::U16 => 32_767,
        _ => u64::MAX,
    };
    number.min(most).to_le_bytes()[..datatype.size()].into()
}

/// The smallest and largest values, neighbours of zero, infinities.
fn extremes(physical: Physical) -> Vec<Vec<u8>> {
    let size = physical.size();
    let integer = |value: i128| value.to_le_bytes()[..size].to_vec();
    let bits = 8 * u32::try_from(size).unwrap();
    match physical {
        Physical::F32 => {
            [f32::MIN, f32::MAX, f32::INFINITY, f32::NEG_INFINITY, f32::MIN_POSITIVE, 1e-45, 0.5, -2.5]
                .map(|value| value.to_le_bytes().to_vec())
                .to_vec()
        }
        Physical::F64 => {
            [f64::MIN, f64::MAX, f64::INFINITY, f64::NEG_INFINITY, f64::MIN_POSITIVE, 5e-324, 0.5, -2.5]
                .map(|value| value.to_le_bytes().to_vec())
                .to_vec()
        }
        _ if physical.is_signed_integer() => {
            let (min, max) = (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1);
            [min, max, 0, -1, 1, max, max - 1, min + 1, min].map(integer).to_vec()
        }
        _ => {
            let max = (1i128 << bits) - 1;
            [0, max, max / 2, 1, max - 1, max / 2 + 1, max, 0].map(integer).to_vec()
        }
    }
}

fn odd_float(size: usize, i: usize) -> Vec<u8> {
    let single = [0x7fc0_0000u32, 0x7fa0_0001, 0xffc1_2345, 0x8000_0000, 0];
    let double =
        [0x7ff8_0000_0000_0000u64, 0x7ff4_0000_0000_0001, 0xfff8_0123_4567_89ab, 0x8000_0000_0000_0000, 0];
    match size {
        8 => double[i % 5].to_le_bytes().into(),
        // Types too small for a float take the upper bytes of one.
        _ => single[i % 5].to_le_bytes()[4 - size..].into(),
    }
}

/// Cuts `count` values into cells of 0, 1, 2 and 5 values in turn; returns the start of each cell
/// in bytes.
pub(crate) fn starts(count: usize, value_size: usize) -> Vec<u64> {
    let (mut starts, mut at) = (Vec::new(), 0usize);
    for length in [0, 1, 2, 5].into_iter().cycle() {
        starts.push((at * value_size) as u64);
        at += length;
        if at >= count {
            return starts;
        }
    }
    starts
}
