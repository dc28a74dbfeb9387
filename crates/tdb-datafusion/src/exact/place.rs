//! Where a constant lies among the values of a type.

use core::cmp::Ordering;
use std::sync::Arc;

use datafusion::arrow::array::timezone::Tz;
use datafusion::arrow::array::types::TimestampSecondType;
use datafusion::arrow::datatypes::{DataType, TimeUnit};
use datafusion::arrow::temporal_conversions::as_datetime_with_timezone;
use datafusion::common::{ScalarValue, plan_datafusion_err};

use crate::Result;
use crate::statistics::scalar;

const SECOND: i128 = 1_000_000_000;
const DAY: i128 = 86_400 * SECOND;

/// Where a constant lies among the values of a type.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Place {
    /// It is one of them.
    At(ScalarValue),
    /// It is none of them. The greatest value that is less, if there is one.
    Above(Option<ScalarValue>),
}

/// The type of the values of a dictionary; any other type itself.
pub(super) fn values_of(data_type: &DataType) -> &DataType {
    match data_type {
        DataType::Dictionary(_, values) => values,
        plain => plain,
    }
}

/// The place of a constant among the values of a type. `None` if it is null, or if the two cannot
/// be compared exactly here.
pub(super) fn place(value: &ScalarValue, of: &DataType) -> Result<Option<Place>> {
    if let ScalarValue::Dictionary(_, value) = value {
        return place(value, of);
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
fn whole(value: &ScalarValue) -> Option<(i128, bool)> {
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
    reason = "what is out of range becomes the nearest end, which no type has"
)]
fn whole_of_real(value: f64) -> (i128, bool) {
    if value.is_nan() {
        // In SQL it is after all numbers, or before them if it has a sign.
        return (if value.is_sign_negative() { i128::MIN } else { i128::MAX }, false);
    }
    let floor = value.floor();
    (floor as i128, floor == value)
}

/// The digits of a decimal number and how many of them are behind the point.
fn decimal(value: &ScalarValue) -> Option<(i128, i8)> {
    Some(match value {
        ScalarValue::Decimal32(value, _, scale) => ((*value)?.into(), *scale),
        ScalarValue::Decimal64(value, _, scale) => ((*value)?.into(), *scale),
        ScalarValue::Decimal128(value, _, scale) => ((*value)?, *scale),
        ScalarValue::Decimal256(value, _, scale) => ((*value)?.to_i128()?, *scale),
        _ => return None,
    })
}

/// The place of a number among integers, or among times in their unit, given the greatest integer
/// that is not above it.
fn among(floor: i128, exact: bool, of: &DataType) -> Option<Place> {
    let (least, greatest) = ends(of)?;
    Some(if floor < least {
        Place::Above(None)
    } else if floor > greatest {
        Place::Above(Some(integer(greatest, of)?))
    } else if exact {
        Place::At(integer(floor, of)?)
    } else {
        Place::Above(Some(integer(floor, of)?))
    })
}

/// The least and the greatest value of a type of integers or times.
fn ends(of: &DataType) -> Option<(i128, i128)> {
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

/// The place of a number among reals.
fn among_reals(value: &ScalarValue, single: bool) -> Option<Place> {
    let real = match value {
        ScalarValue::Float32(value) => Some(f64::from((*value)?)),
        ScalarValue::Float64(value) => *value,
        _ => None,
    };
    // The nearest real, as a double, and on which side of the number it lies.
    let (nearest, side) = match real {
        Some(real) => {
            let nearest = if single { f64::from(to_single(real)) } else { real };
            (nearest, nearest.partial_cmp(&real).unwrap_or(Ordering::Equal))
        }
        None => {
            let (digits, scale) = decimal(value).or_else(|| whole(value).map(|(whole, _)| (whole, 0)))?;
            let text = format!("{digits}e{}", -i32::from(scale));
            let nearest = if single { f64::from(text.parse::<f32>().ok()?) } else { text.parse().ok()? };
            (nearest, compare(nearest, digits, scale)?)
        }
    };
    let at = |value: f64| match single {
        true => ScalarValue::Float32(Some(to_single(value))),
        false => ScalarValue::Float64(Some(value)),
    };
    Some(match side {
        Ordering::Equal => Place::At(at(nearest)),
        Ordering::Less => Place::Above(Some(at(nearest))),
        Ordering::Greater if single => Place::Above(Some(at(to_single(nearest).next_down().into()))),
        Ordering::Greater => Place::Above(Some(at(nearest.next_down()))),
    })
}

#[expect(clippy::cast_possible_truncation, reason = "the nearest real of single precision is asked for")]
const fn to_single(value: f64) -> f32 {
    value as f32
}

/// On which side of a decimal number a real lies. All digits of both are compared.
fn compare(real: f64, digits: i128, scale: i8) -> Option<Ordering> {
    if real.is_infinite() {
        return Some(if real > 0.0 { Ordering::Greater } else { Ordering::Less });
    }
    // A double has at most 1074 digits behind the point.
    let real_text = format!("{:.1074}", real.abs());
    let (whole, fraction) = real_text.split_once('.')?;
    let mut other = digits.unsigned_abs().to_string();
    let behind = usize::try_from(scale).unwrap_or(0);
    other.extend(core::iter::repeat_n('0', usize::from(scale.min(0).unsigned_abs())));
    while other.len() <= behind {
        other.insert(0, '0');
    }
    let (other_whole, other_fraction) = other.split_at_checked(other.len().checked_sub(behind)?)?;
    let [whole, other_whole] = [whole, other_whole].map(|digits| digits.trim_start_matches('0'));
    let [fraction, other_fraction] = [fraction, other_fraction].map(|digits| digits.trim_end_matches('0'));
    let sizes = whole.len().cmp(&other_whole.len()).then_with(|| whole.cmp(other_whole));
    let sizes = sizes.then_with(|| fraction.cmp(other_fraction));
    Some(if digits < 0 { sizes.reverse() } else { sizes })
}

/// The place of a number among decimal numbers.
fn among_decimals(value: &ScalarValue, precision: u8, scale: i8) -> Option<Place> {
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
                (digits.saturating_mul(power), true)
            }
        }
    };
    let greatest = 10i128.checked_pow(precision.into())?.saturating_sub(1);
    let at = |digits: i128| ScalarValue::Decimal128(Some(digits), precision, scale);
    Some(if floor < greatest.saturating_neg() {
        Place::Above(None)
    } else if floor > greatest {
        Place::Above(Some(at(greatest)))
    } else if exact {
        Place::At(at(floor))
    } else {
        Place::Above(Some(at(floor)))
    })
}

/// The digits of a real with so many of them behind the point, not above it, and whether there are
/// no more.
fn scaled(real: f64, behind: u32) -> Option<(i128, bool)> {
    if real.is_nan() || real.abs() > 1e38 {
        let first = if real.is_sign_negative() { i128::MIN } else { i128::MAX };
        return Some((first, false));
    }
    let text = format!("{:.1074}", real.abs());
    let (whole, fraction) = text.split_once('.')?;
    let (kept, rest) = fraction.split_at_checked(usize::try_from(behind).ok()?)?;
    let digits = format!("{whole}{kept}").parse().unwrap_or(i128::MAX);
    let exact = rest.bytes().all(|digit| digit == b'0');
    let floor = if real < 0.0 { digits.saturating_neg().saturating_sub((!exact).into()) } else { digits };
    Some((floor, exact))
}

/// The place of bytes among those of a fixed size, whose ends are NUL where they were shorter.
fn among_bytes(bytes: &[u8], size: i32) -> Option<Place> {
    let width = usize::try_from(size).ok()?;
    let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last.saturating_add(1));
    let mut padded: Vec<u8> = bytes.get(..end.min(width))?.to_vec();
    padded.resize(width, 0);
    let value = ScalarValue::FixedSizeBinary(size, Some(padded));
    Some(if end <= width { Place::At(value) } else { Place::Above(Some(value)) })
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

fn among_times(nanoseconds: i128, of: &DataType) -> Option<Place> {
    let step = match of {
        DataType::Date32 => DAY,
        DataType::Date64 => unit(TimeUnit::Millisecond),
        DataType::Timestamp(of, _) | DataType::Duration(of) => unit(*of),
        _ => return None,
    };
    among(nanoseconds.div_euclid(step), nanoseconds.rem_euclid(step) == 0, of)
}

/// A time as a value of a type, if that has it.
pub(crate) fn time(nanoseconds: i128, of: &DataType) -> Option<ScalarValue> {
    match among_times(nanoseconds, of)? {
        Place::At(time) => Some(time),
        Place::Above(_) => None,
    }
}

/// The nanoseconds of a unit.
pub(super) const fn unit(unit: TimeUnit) -> i128 {
    match unit {
        TimeUnit::Second => SECOND,
        TimeUnit::Millisecond => 1_000_000,
        TimeUnit::Microsecond => 1_000,
        TimeUnit::Nanosecond => 1,
    }
}

/// The nanoseconds since 1970 of a date or a time, as a column of this type counts them.
fn instant(value: &ScalarValue, of: &DataType) -> Result<Option<i128>> {
    use ScalarValue as S;
    let zone = match of {
        DataType::Timestamp(_, zone) => zone.clone(),
        _ => None,
    };
    let (count, step, from) = match value {
        S::Utf8(Some(text)) | S::LargeUtf8(Some(text)) | S::Utf8View(Some(text)) => {
            return Ok(instant_of_text(text, zone));
        }
        S::Date32(Some(days)) => (i64::from(*days), DAY, &None),
        S::Date64(Some(count)) => (*count, unit(TimeUnit::Millisecond), &None),
        S::TimestampSecond(Some(count), from) => (*count, SECOND, from),
        S::TimestampMillisecond(Some(count), from) => (*count, unit(TimeUnit::Millisecond), from),
        S::TimestampMicrosecond(Some(count), from) => (*count, unit(TimeUnit::Microsecond), from),
        S::TimestampNanosecond(Some(count), from) => (*count, 1, from),
        _ => return Ok(None),
    };
    let nanoseconds = i128::from(count).saturating_mul(step);
    match (from, zone) {
        (Some(from), None) => local(nanoseconds, from).map(Some),
        // What has no zone is a time of the zone of the other side.
        (None, Some(zone)) => {
            let DataType::Timestamp(step, _) = value.data_type() else { return Ok(None) };
            let placed = value.cast_to(&DataType::Timestamp(step, Some(zone)))?;
            instant(&placed, of)
        }
        _ => Ok(Some(nanoseconds)),
    }
}

/// What the clocks of a zone show at an instant.
fn local(nanoseconds: i128, zone: &str) -> Result<i128> {
    let wrong = || plan_datafusion_err!("a time is not one that the zone {zone} has");
    let parsed: Tz = zone.parse()?;
    let seconds = i64::try_from(nanoseconds.div_euclid(SECOND)).map_err(|_| wrong())?;
    let there = as_datetime_with_timezone::<TimestampSecondType>(seconds, parsed).ok_or_else(wrong)?;
    let shown = i128::from(there.naive_local().and_utc().timestamp());
    Ok(shown.saturating_mul(SECOND).saturating_add(nanoseconds.rem_euclid(SECOND)))
}

/// The nanoseconds since 1970 of a text, also beyond those that 64 bits hold. `None` if it is no
/// time.
pub(crate) fn instant_of_text(text: &str, zone: Option<Arc<str>>) -> Option<i128> {
    let value = ScalarValue::Utf8(Some(text.to_owned()));
    let parse = |step| value.cast_to(&DataType::Timestamp(step, zone.clone())).ok();
    if let Some(ScalarValue::TimestampNanosecond(Some(count), _)) = parse(TimeUnit::Nanosecond) {
        return Some(count.into());
    }
    // Digits behind microseconds would be lost.
    let behind = text.rsplit_once('.').map_or("", |(_, behind)| behind);
    let digits = behind.find(|digit: char| !digit.is_ascii_digit()).unwrap_or(behind.len());
    match parse(TimeUnit::Microsecond) {
        Some(ScalarValue::TimestampMicrosecond(Some(count), _)) if digits <= 6 => {
            Some(i128::from(count).saturating_mul(unit(TimeUnit::Microsecond)))
        }
        _ => None,
    }
}

/// The nanoseconds of a duration. An interval of days is one, one of months is not.
fn duration(value: &ScalarValue) -> Option<i128> {
    use ScalarValue as S;
    let (count, step) = match value {
        S::DurationSecond(count) => ((*count)?, SECOND),
        S::DurationMillisecond(count) => ((*count)?, unit(TimeUnit::Millisecond)),
        S::DurationMicrosecond(count) => ((*count)?, unit(TimeUnit::Microsecond)),
        S::DurationNanosecond(count) => ((*count)?, 1),
        S::IntervalDayTime(Some(interval)) => {
            let days = i128::from(interval.days).saturating_mul(DAY);
            let rest = i128::from(interval.milliseconds).saturating_mul(unit(TimeUnit::Millisecond));
            return Some(days.saturating_add(rest));
        }
        S::IntervalMonthDayNano(Some(interval)) if interval.months == 0 => {
            let days = i128::from(interval.days).saturating_mul(DAY);
            return Some(days.saturating_add(interval.nanoseconds.into()));
        }
        _ => return None,
    };
    Some(i128::from(count).saturating_mul(step))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(value: ScalarValue, of: &DataType) -> Option<Place> {
        place(&value, of).unwrap()
    }

    #[test]
    fn reals_have_a_place_among_decimal_numbers_and_the_other_way_round() {
        let cents = DataType::Decimal128(5, 2);
        let at = |digits| ScalarValue::Decimal128(Some(digits), 5, 2);
        for (real, place) in [
            (1.5, Place::At(at(150))),
            (-0.25, Place::At(at(-25))),
            (0.1, Place::Above(Some(at(10)))),
            (-0.1, Place::Above(Some(at(-11)))),
            (1e300, Place::Above(Some(at(99_999)))),
            (f64::NAN, Place::Above(Some(at(99_999)))),
            (f64::NEG_INFINITY, Place::Above(None)),
        ] {
            assert_eq!(of(ScalarValue::Float64(Some(real)), &cents), Some(place), "{real}");
        }
        let tenth = ScalarValue::Decimal128(Some(1), 5, 1);
        // The nearest double is above a tenth.
        let below = Place::Above(Some(ScalarValue::Float64(Some(0.1f64.next_down()))));
        assert_eq!(of(tenth, &DataType::Float64), Some(below));
    }

    #[test]
    fn bytes_are_padded_and_longer_ones_are_between_two_values() {
        let three = DataType::FixedSizeBinary(3);
        let at = |bytes: &[u8]| ScalarValue::FixedSizeBinary(3, Some(bytes.to_vec()));
        let text = |text: &str| ScalarValue::Utf8(Some(text.to_owned()));
        assert_eq!(of(text("a"), &three), Some(Place::At(at(b"a\0\0"))));
        assert_eq!(of(text("abc\0"), &three), Some(Place::At(at(b"abc"))));
        assert_eq!(of(text("abcd"), &three), Some(Place::Above(Some(at(b"abc")))));
    }
}
