//! Cells to filter: patterns of values, and the start of each cell of variable length.

use tdb_codec::{Datatype, DatatypeClass, Native, Physical, PhysicalVisitor, to_u64};

use crate::conform::random::Random;

/// The pattern of the values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pattern {
    Constant,
    Sorted,
    FullRange,
    Extremes,
    /// NaNs of several kinds, both zeros, infinities: reals only.
    Odd,
    /// Values of a grid that scale-float keeps exactly.
    Grid,
}

/// Scale and offset of [`Pattern::Grid`]: exact in binary.
pub(super) const GRID: (f64, f64) = (0.5, 8.0);

/// The little-endian bytes of `count` values.
pub(super) fn values(datatype: Datatype, pattern: Pattern, count: usize) -> Vec<u8> {
    let mut random = Random::new(to_u64(count) ^ u64::from(datatype.code()));
    let mut out = Vec::with_capacity(count.saturating_mul(datatype.size()));
    for index in 0..count {
        let bits = match pattern {
            Pattern::Constant => 7,
            // Never decreasing, and within a signed byte for a whole chunk.
            Pattern::Sorted if datatype.size() == 1 => to_u64(index) / 600,
            Pattern::Sorted => to_u64(index) / 3,
            Pattern::FullRange => random.next(),
            Pattern::Extremes | Pattern::Odd | Pattern::Grid => to_u64(index),
        };
        match pattern {
            Pattern::Extremes => out.extend(extreme(datatype.physical(), index)),
            Pattern::Odd => out.extend(odd(datatype.physical(), index)),
            Pattern::Grid if datatype.physical().is_float() => {
                let step = f64::from(u16::try_from(random.next() % 60_000).unwrap_or(0)) - 30_000.0;
                real(datatype.physical(), step * GRID.0 + GRID.1, &mut out);
            }
            Pattern::Constant | Pattern::Sorted if datatype.physical().is_float() => {
                let value = u16::try_from(bits % 60_000).unwrap_or(0);
                real(datatype.physical(), f64::from(value) / 4.0, &mut out);
            }
            _ => out.extend(bits.to_le_bytes().into_iter().take(datatype.size())),
        }
    }
    if datatype == Datatype::Bool {
        out.iter_mut().for_each(|byte| *byte &= 1);
    }
    if datatype.class() == DatatypeClass::String && pattern == Pattern::Sorted {
        // Letters, as in strings.
        out.iter_mut().filter(|byte| **byte != 0).for_each(|byte| *byte = b'a' + *byte % 26);
    }
    out
}

/// Both ends of the type, alternating with the values next to them.
fn extreme(physical: Physical, index: usize) -> Vec<u8> {
    if physical.is_float() {
        let ends = if physical == Physical::F32 {
            [f64::from(f32::MIN), f64::from(f32::MAX), f64::from(f32::MIN_POSITIVE), 1e-45]
        } else {
            [f64::MIN, f64::MAX, f64::MIN_POSITIVE, 5e-324]
        };
        let mut out = Vec::new();
        real(physical, ends.get(index % ends.len()).copied().unwrap_or(0.0), &mut out);
        return out;
    }
    let top = if physical.is_signed_integer() { 0x80 } else { 0x00u8 };
    let (first, rest): (u8, u8) = match index % 4 {
        0 => (top, 0),
        1 => (!top, 0xff),
        2 => (0, 0),
        _ => (0xff, 0xff),
    };
    let mut out = vec![rest; physical.size()];
    if let Some(last) = out.last_mut() {
        *last = first;
    }
    out
}

fn odd(physical: Physical, index: usize) -> Vec<u8> {
    const F32: [u32; 8] =
        [0x7fc0_0000, 0x8000_0000, 0, 0x7f80_0001, 0xffff_ffff, 0x7f80_0000, 0xff80_0000, 0x3f80_0000];
    const F64: [u64; 8] = [
        0x7ff8_0000_0000_0000,
        0x8000_0000_0000_0000,
        0,
        0x7ff0_0000_0000_0001,
        u64::MAX,
        0x7ff0_0000_0000_0000,
        0xfff0_0000_0000_0000,
        0x3ff0_0000_0000_0000,
    ];
    let at = index.wrapping_mul(5) % 8;
    match physical {
        Physical::F32 => F32.get(at).copied().unwrap_or(0).to_le_bytes().to_vec(),
        _ => F64.get(at).copied().unwrap_or(0).to_le_bytes().to_vec(),
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the nearest value is needed")]
fn real(physical: Physical, value: f64, out: &mut Vec<u8>) {
    match physical {
        Physical::F32 => out.extend((value as f32).to_le_bytes()),
        _ => out.extend(value.to_le_bytes()),
    }
}

/// `count` coordinates that increase.
pub(super) fn coordinates(datatype: Datatype, count: usize) -> Vec<u8> {
    struct Rising(usize);
    impl PhysicalVisitor for Rising {
        type Output = Vec<u8>;
        fn visit<T: Native>(self) -> Vec<u8> {
            let mut out = Vec::new();
            for index in 0..self.0 {
                if T::PHYSICAL.is_float() {
                    let value = f64::from(u32::try_from(index).unwrap_or(u32::MAX)) * GRID.0;
                    real(T::PHYSICAL, value, &mut out);
                } else {
                    out.extend(to_u64(index).to_le_bytes().into_iter().take(T::SIZE));
                }
            }
            out
        }
    }
    datatype.physical().visit(Rising(count))
}
