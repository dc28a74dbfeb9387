//! Numbers as 64 unsigned bits that compare as the numbers do.

use tdb_codec::{Native, Physical, PhysicalVisitor};

/// The bit by which ordered bits differ from the signed integer that they stand for.
pub(super) const SIGN: u64 = 1 << 63;

pub(super) const fn from_integer(value: i64) -> u64 {
    value.cast_unsigned() ^ SIGN
}

/// The integer that ordered bits stand for.
pub(super) const fn to_integer(bits: u64) -> i64 {
    (bits ^ SIGN).cast_signed()
}

/// The ordered bits of a real number, different for two numbers of different order; `None` for NaN.
pub(super) fn from_real(value: f64) -> Option<u64> {
    let bits = value.to_bits();
    let ordered = if bits & SIGN == 0 { bits | SIGN } else { !bits };
    (!value.is_nan()).then_some(ordered)
}

/// Appends the number that ordered bits stand for. `none` are the bits of no real number: NaN is
/// appended for them.
pub(super) struct AppendNumber<'a> {
    pub(super) bits: u64,
    pub(super) none: u64,
    pub(super) data: &'a mut Vec<u8>,
}

impl PhysicalVisitor for AppendNumber<'_> {
    type Output = ();

    fn visit<T: Native>(self) {
        let physical = T::PHYSICAL;
        if !physical.is_float() {
            let signed = physical.is_signed_integer();
            let bits = if signed { to_integer(self.bits).cast_unsigned() } else { self.bits };
            self.data.extend(bits.to_le_bytes().iter().take(T::SIZE));
            return;
        }
        let real = match self.bits {
            bits if bits == self.none => f64::NAN,
            bits if bits & SIGN != 0 => f64::from_bits(bits ^ SIGN),
            bits => f64::from_bits(!bits),
        };
        match physical {
            #[expect(clippy::cast_possible_truncation, reason = "it was a number of 32 bits")]
            Physical::F32 => self.data.extend_from_slice(&(real as f32).to_le_bytes()),
            _ => self.data.extend_from_slice(&real.to_le_bytes()),
        }
    }
}
