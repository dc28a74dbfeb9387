//! Numbers as words of 64 bits that have the same order.

use tdb_codec::{Native, Physical, PhysicalVisitor};

/// The bit by which a word differs from the signed integer that it stands for.
pub(super) const SIGN: u64 = 1 << 63;

pub(super) const fn of_integer(value: i64) -> u64 {
    value.cast_unsigned() ^ SIGN
}

/// The integer that a word stands for.
pub(super) const fn to_integer(word: u64) -> i64 {
    (word ^ SIGN).cast_signed()
}

/// Of a real number: two numbers of different order have different words. `None` for NaN.
pub(super) fn of_real(value: f64) -> Option<u64> {
    let bits = value.to_bits();
    let word = if bits & SIGN == 0 { bits | SIGN } else { !bits };
    (!value.is_nan()).then_some(word)
}

/// Appends the number that a word stands for; NaN if it is the word `none`, of no real number.
pub(super) struct Push<'a> {
    pub(super) word: u64,
    pub(super) none: u64,
    pub(super) data: &'a mut Vec<u8>,
}

impl PhysicalVisitor for Push<'_> {
    type Output = ();

    fn visit<T: Native>(self) {
        let physical = T::PHYSICAL;
        if !physical.is_float() {
            let signed = physical.is_signed_integer();
            let bits = if signed { to_integer(self.word).cast_unsigned() } else { self.word };
            self.data.extend(bits.to_le_bytes().iter().take(T::SIZE));
            return;
        }
        let real = match self.word {
            word if word == self.none => f64::NAN,
            word if word & SIGN != 0 => f64::from_bits(word ^ SIGN),
            word => f64::from_bits(!word),
        };
        match physical {
            #[expect(clippy::cast_possible_truncation, reason = "it was a number of 32 bits")]
            Physical::F32 => self.data.extend_from_slice(&(real as f32).to_le_bytes()),
            _ => self.data.extend_from_slice(&real.to_le_bytes()),
        }
    }
}
