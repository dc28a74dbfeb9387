//! The position of a constant among the values of a type: equal to one of them, or between two.

use datafusion::arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::ScalarValue;

use super::reals::among_reals;
use super::times::{among_times, duration, instant};
use crate::Result;
use crate::statistics::scalar;

/// The position of a constant among the values of a type.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Position {
    /// It equals this value.
    At(ScalarValue),
    /// It is none of them. The greatest value below it, if there is one.
    Above(Option<ScalarValue>),
}

/// The type of the values of a dictionary; any other type itself.
pub(super) fn values_of(data_type: &DataType) -> &DataType {
    match data_type {
        DataType::Dictionary(_, values) => values,
        plain => plain,
    }
}

/// The position of a constant among the values of a type. `None` if it is null, or if the two
/// cannot be compared exactly here.
pub(super) fn position(value: &ScalarValue, of: &DataType) -> Result<Option<Position>> {
    if let ScalarValue::Dictionary(_, value) = value {
        return position(value, of);
    }
    if value.is_null() {
        return Ok(None);
    }
    let of = values_of(of);
    Ok(match of {
        _ if of.is_integer() => whole(value).and_then(|(floor, exact)| among(floor, exact, of)),
        DataType::Float32 | DataType::Float64 => among_reals(value, *of == DataType::Float32),
        DataType::Decimal128(precision, scale) => among_decimals(value, *precision, *scale),
        DataType::FixedSizeBinary(size) => bytes(value).and_then(|bytes| among_bytes(bytes, *size)),
        DataType::Date32 | DataType::Date64 | DataType::Timestamp(..) => {
            instant(value, of)?.and_then(|nanoseconds| among_times(nanoseconds, of))
        }
        DataType::Duration(_) => duration(value).and_then(|nanoseconds| among_times(nanoseconds, of)),
        _ => None,
    })
}

/// The greatest integer that is not above a number, and whether it is that number.
pub(super) fn whole(value: &ScalarValue) -> Option<(i128, bool)> {
    use ScalarValue as S;
    Some(match value {
        S::Int8(value) => ((*value)?.into(), true),
        S::Int16(value) => ((*value)?.into(), true),
        S::Int32(value) => ((*value)?.into(), true),
        S::Int64(value) => ((*value)?.into(), true),
        S::UInt8(value) => ((*value)?.into(), true),
        S::UInt16(value) => ((*value)?.into(), true),
        S::UInt32(value) => ((*value)?.into(), true),
        S::UInt64(value) => ((*value)?.into(), true),
        S::Float32(value) => whole_of_real((*value)?.into()),
        S::Float64(value) => whole_of_real((*value)?),
        _ => {
            let (digits, scale) = decimal(value)?;
            let power = 10i128.checked_pow(scale.unsigned_abs().into())?;
            if scale < 0 {
                (digits.checked_mul(power)?, true)
            } else {
                (digits.div_euclid(power), digits.rem_euclid(power) == 0)
            }
        }
    })
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a number out of range becomes the nearest end of the range, which no type has"
)]
fn whole_of_real(value: f64) -> (i128, bool) {
    if value.is_nan() {
        // SQL orders NaN after all numbers, or before them if it has a sign.
        return (if value.is_sign_negative() { i128::MIN } else { i128::MAX }, false);
    }
    let floor = value.floor();
    (floor as i128, floor == value)
}

/// The digits of a decimal number and how many of them are behind the point.
pub(super) fn decimal(value: &ScalarValue) -> Option<(i128, i8)> {
    Some(match value {
        ScalarValue::Decimal32(value, _, scale) => ((*value)?.into(), *scale),
        ScalarValue::Decimal64(value, _, scale) => ((*value)?.into(), *scale),
        ScalarValue::Decimal128(value, _, scale) => ((*value)?, *scale),
        ScalarValue::Decimal256(value, _, scale) => ((*value)?.to_i128()?, *scale),
        _ => return None,
    })
}

/// The position of a number among integers, or among times in their unit, given the greatest
/// integer that is not above it.
pub(super) fn among(floor: i128, exact: bool, of: &DataType) -> Option<Position> {
    let (least, greatest) = limits(of)?;
    Some(if floor < least {
        Position::Above(None)
    } else if floor > greatest {
        Position::Above(Some(integer(greatest, of)?))
    } else if exact {
        Position::At(integer(floor, of)?)
    } else {
        Position::Above(Some(integer(floor, of)?))
    })
}

/// The least and the greatest value of a type of integers or times.
fn limits(of: &DataType) -> Option<(i128, i128)> {
    Some(match of {
        DataType::Int8 => (i8::MIN.into(), i8::MAX.into()),
        DataType::Int16 => (i16::MIN.into(), i16::MAX.into()),
        DataType::Int32 | DataType::Date32 => (i32::MIN.into(), i32::MAX.into()),
        DataType::UInt8 => (0, u8::MAX.into()),
        DataType::UInt16 => (0, u16::MAX.into()),
        DataType::UInt32 => (0, u32::MAX.into()),
        DataType::UInt64 => (0, u64::MAX.into()),
        DataType::Int64 | DataType::Date64 | DataType::Timestamp(..) | DataType::Duration(_) => {
            (i64::MIN.into(), i64::MAX.into())
        }
        _ => return None,
    })
}

/// A value of a type of integers or times.
fn integer(value: i128, of: &DataType) -> Option<ScalarValue> {
    use ScalarValue as S;
    use TimeUnit as U;
    let long = || i64::try_from(value).ok();
    Some(match of {
        DataType::Date64 => S::Date64(Some(long()?)),
        DataType::Timestamp(U::Second, zone) => S::TimestampSecond(Some(long()?), zone.clone()),
        DataType::Timestamp(U::Millisecond, zone) => S::TimestampMillisecond(Some(long()?), zone.clone()),
        DataType::Timestamp(U::Microsecond, zone) => S::TimestampMicrosecond(Some(long()?), zone.clone()),
        DataType::Timestamp(U::Nanosecond, zone) => S::TimestampNanosecond(Some(long()?), zone.clone()),
        DataType::Duration(U::Second) => S::DurationSecond(Some(long()?)),
        DataType::Duration(U::Millisecond) => S::DurationMillisecond(Some(long()?)),
        DataType::Duration(U::Microsecond) => S::DurationMicrosecond(Some(long()?)),
        DataType::Duration(U::Nanosecond) => S::DurationNanosecond(Some(long()?)),
        other => return scalar(value, other),
    })
}

/// The position of a number among decimal numbers.
fn among_decimals(value: &ScalarValue, precision: u8, scale: i8) -> Option<Position> {
    let behind = u32::try_from(scale).ok()?;
    let (floor, exact) = match value {
        ScalarValue::Float32(real) => scaled((*real)?.into(), behind)?,
        ScalarValue::Float64(real) => scaled((*real)?, behind)?,
        _ => {
            let (digits, scale) = decimal(value).or_else(|| whole(value).map(|(whole, _)| (whole, 0)))?;
            let own = u32::try_from(scale).ok()?;
            let power = 10i128.checked_pow(own.abs_diff(behind))?;
            if own > behind {
                (digits.div_euclid(power), digits.rem_euclid(power) == 0)
            } else {
                // If that saturates, it is above or below all numbers of the type, as the product
                // is.
                (digits.saturating_mul(power), true)
            }
        }
    };
    let greatest = 10i128.checked_pow(precision.into())? - 1;
    let at = |digits: i128| ScalarValue::Decimal128(Some(digits), precision, scale);
    Some(if floor < -greatest {
        Position::Above(None)
    } else if floor > greatest {
        Position::Above(Some(at(greatest)))
    } else if exact {
        Position::At(at(floor))
    } else {
        Position::Above(Some(at(floor)))
    })
}

/// The digits of a floating-point number, rounded down to so many of them after the point, and
/// whether there are no more.
fn scaled(real: f64, behind: u32) -> Option<(i128, bool)> {
    if real.is_nan() || real.abs() > 1e38 {
        let first = if real.is_sign_negative() { i128::MIN } else { i128::MAX };
        return Some((first, false));
    }
    let text = format!("{:.1074}", real.abs());
    let (whole, fraction) = text.split_once('.')?;
    let (kept, rest) = fraction.split_at_checked(usize::try_from(behind).ok()?)?;
    // More digits than these are those of a number that no type has.
    let digits = format!("{whole}{kept}").parse().unwrap_or(i128::MAX);
    let exact = rest.bytes().all(|digit| digit == b'0');
    let floor = if real < 0.0 { -digits - i128::from(!exact) } else { digits };
    Some((floor, exact))
}

/// The position of bytes among those of a fixed size, which are padded with NUL.
fn among_bytes(bytes: &[u8], size: i32) -> Option<Position> {
    let width = usize::try_from(size).ok()?;
    let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    let mut padded: Vec<u8> = bytes.get(..end.min(width))?.to_vec();
    padded.resize(width, 0);
    let value = ScalarValue::FixedSizeBinary(size, Some(padded));
    Some(if end <= width { Position::At(value) } else { Position::Above(Some(value)) })
}

fn bytes(value: &ScalarValue) -> Option<&[u8]> {
    use ScalarValue as S;
    match value {
        S::Utf8(text) | S::LargeUtf8(text) | S::Utf8View(text) => text.as_deref().map(str::as_bytes),
        S::Binary(bytes) | S::LargeBinary(bytes) | S::BinaryView(bytes) | S::FixedSizeBinary(_, bytes) => {
            bytes.as_deref()
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(value: ScalarValue, of: &DataType) -> Option<Position> {
        position(&value, of).unwrap()
    }

    #[test]
    fn reals_have_a_place_among_decimal_numbers_and_the_other_way_round() {
        let cents = DataType::Decimal128(5, 2);
        let at = |digits| ScalarValue::Decimal128(Some(digits), 5, 2);
        for (real, position) in [
            (1.5, Position::At(at(150))),
            (-0.25, Position::At(at(-25))),
            (0.1, Position::Above(Some(at(10)))),
            (-0.1, Position::Above(Some(at(-11)))),
            (1e300, Position::Above(Some(at(99_999)))),
            (f64::NAN, Position::Above(Some(at(99_999)))),
            (f64::NEG_INFINITY, Position::Above(None)),
        ] {
            assert_eq!(of(ScalarValue::Float64(Some(real)), &cents), Some(position), "{real}");
        }
        let tenth = ScalarValue::Decimal128(Some(1), 5, 1);
        // The nearest double is above a tenth.
        let below = Position::Above(Some(ScalarValue::Float64(Some(0.1f64.next_down()))));
        assert_eq!(of(tenth, &DataType::Float64), Some(below));
    }

    #[test]
    fn bytes_are_padded_and_longer_ones_are_between_two_values() {
        let three = DataType::FixedSizeBinary(3);
        let at = |bytes: &[u8]| ScalarValue::FixedSizeBinary(3, Some(bytes.to_vec()));
        let text = |text: &str| ScalarValue::Utf8(Some(text.to_owned()));
        assert_eq!(of(text("a"), &three), Some(Position::At(at(b"a\0\0"))));
        assert_eq!(of(text("abc\0"), &three), Some(Position::At(at(b"abc"))));
        assert_eq!(of(text("abcd"), &three), Some(Position::Above(Some(at(b"abc")))));
    }
}
