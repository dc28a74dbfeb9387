//! Values of fields as numbers.

use tdb_codec::{CellValNum, Datatype, Native};
use tdb_text::value::is_text;

/// A number: exact where its type is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value {
    Whole(i128),
    Real(f64),
}

impl Value {
    /// One value of a type that is no text; `None` for values that are no number: NaN, infinity,
    /// not a time.
    pub(super) fn of(datatype: Datatype, bytes: &[u8]) -> Option<Self> {
        let physical = datatype.physical();
        if physical.is_float() {
            let value = match bytes.len() {
                4 => f32::from_le(bytes).map(f64::from),
                _ => f64::from_le(bytes),
            };
            return value.filter(|value| value.is_finite()).map(Self::Real);
        }
        let negative = physical.is_signed_integer() && bytes.last().is_some_and(|byte| byte & 0x80 != 0);
        let mut wide = if negative { [0xff; 16] } else { [0; 16] };
        wide.get_mut(..bytes.len())?.copy_from_slice(bytes);
        let value = i128::from_le_bytes(wide);
        let not_a_time = datatype.is_datetime() && value == i128::from(i64::MIN);
        (!not_a_time).then_some(Self::Whole(value))
    }

    /// The lesser of two values of one type.
    pub(super) const fn least(self, other: Self) -> Self {
        if other.is_less(self) { other } else { self }
    }

    /// The greater of two values of one type.
    pub(super) const fn greatest(self, other: Self) -> Self {
        if self.is_less(other) { other } else { self }
    }

    const fn is_less(self, other: Self) -> bool {
        match (self, other) {
            (Self::Whole(own), Self::Whole(other)) => own < other,
            (own, other) => own.real() < other.real(),
        }
    }

    /// The nearest real number.
    pub(super) const fn real(self) -> f64 {
        match self {
            Self::Whole(value) => value as f64,
            Self::Real(value) => value,
        }
    }
}

/// Whether each cell is one number, or one date.
pub(super) fn is_number(datatype: Datatype, count: CellValNum) -> bool {
    !is_text(datatype) && count == CellValNum::ONE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_integer_is_exact_and_what_is_no_number_is_left_out() {
        let of = |datatype, bytes: &[u8]| Value::of(datatype, bytes);
        assert_eq!(of(Datatype::Int8, &[0xfe]), Some(Value::Whole(-2)));
        assert_eq!(of(Datatype::Uint64, &[0xff; 8]), Some(Value::Whole(i128::from(u64::MAX))));
        assert_eq!(of(Datatype::Float32, &0.5f32.to_le_bytes()), Some(Value::Real(0.5)));
        assert_eq!(of(Datatype::Float64, &f64::NAN.to_le_bytes()), None);
        assert_eq!(of(Datatype::Float64, &f64::INFINITY.to_le_bytes()), None);
        assert_eq!(of(Datatype::DatetimeDay, &i64::MIN.to_le_bytes()), None);
        assert_eq!(of(Datatype::Int64, &i64::MIN.to_le_bytes()), Some(Value::Whole(i64::MIN.into())));
        assert!(!is_number(Datatype::StringAscii, CellValNum::ONE));
    }
}
