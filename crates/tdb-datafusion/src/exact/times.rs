//! Dates, times and durations in nanoseconds, in which those of all units can be compared.
//!
//! Nanoseconds of 128 bits have room for 64 bits of days, the largest unit: no product below can
//! overflow.

use std::sync::Arc;

use datafusion::arrow::array::timezone::Tz;
use datafusion::arrow::array::types::TimestampSecondType;
use datafusion::arrow::datatypes::{DataType, TimeUnit};
use datafusion::arrow::temporal_conversions::as_datetime_with_timezone;
use datafusion::common::{ScalarValue, plan_datafusion_err};

use super::position::{Position, among};
use crate::Result;

/// Nanoseconds of a second, and of a day.
pub(crate) const SECOND: i128 = 1_000_000_000;
pub(crate) const DAY: i128 = 86_400 * SECOND;

/// The position of a time or a duration among the values of a type.
pub(super) fn among_times(nanoseconds: i128, of: &DataType) -> Option<Position> {
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
        Position::At(time) => Some(time),
        Position::Above(_) => None,
    }
}

/// The nanoseconds of a unit.
pub(crate) const fn unit(unit: TimeUnit) -> i128 {
    match unit {
        TimeUnit::Second => SECOND,
        TimeUnit::Millisecond => 1_000_000,
        TimeUnit::Microsecond => 1_000,
        TimeUnit::Nanosecond => 1,
    }
}

/// The nanoseconds since 1970 of a date or a time, as a column of this type counts them.
pub(super) fn instant(value: &ScalarValue, of: &DataType) -> Result<Option<i128>> {
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
    let nanoseconds = i128::from(count) * step;
    match (from, zone) {
        (Some(from), None) => local(nanoseconds, from).map(Some),
        // A time without a zone is one of the zone of the other side.
        (None, Some(zone)) => {
            let DataType::Timestamp(step, _) = value.data_type() else { return Ok(None) };
            let placed = value.cast_to(&DataType::Timestamp(step, Some(zone)))?;
            instant(&placed, of)
        }
        _ => Ok(Some(nanoseconds)),
    }
}

/// The local time that clocks of a zone show at an instant.
pub(crate) fn local(nanoseconds: i128, zone: &str) -> Result<i128> {
    let wrong = || plan_datafusion_err!("a time is not one that the zone {zone} has");
    let parsed: Tz = zone.parse()?;
    let seconds = i64::try_from(nanoseconds.div_euclid(SECOND)).map_err(|_| wrong())?;
    let there = as_datetime_with_timezone::<TimestampSecondType>(seconds, parsed).ok_or_else(wrong)?;
    let shown = i128::from(there.naive_local().and_utc().timestamp());
    Ok(shown * SECOND + nanoseconds.rem_euclid(SECOND))
}

/// The nanoseconds since 1970 of a text, also those that do not fit in 64 bits. `None` if the text
/// is not a time.
pub(crate) fn instant_of_text(text: &str, zone: Option<Arc<str>>) -> Option<i128> {
    let value = ScalarValue::Utf8(Some(text.to_owned()));
    let parse = |step| value.cast_to(&DataType::Timestamp(step, zone.clone())).ok();
    if let Some(ScalarValue::TimestampNanosecond(Some(count), _)) = parse(TimeUnit::Nanosecond) {
        return Some(count.into());
    }
    // Digits after those of microseconds would be lost.
    let behind = text.rsplit_once('.').map_or("", |(_, behind)| behind);
    let digits = behind.find(|digit: char| !digit.is_ascii_digit()).unwrap_or(behind.len());
    match parse(TimeUnit::Microsecond) {
        Some(ScalarValue::TimestampMicrosecond(Some(count), _)) if digits <= 6 => {
            Some(i128::from(count) * unit(TimeUnit::Microsecond))
        }
        _ => None,
    }
}

/// The nanoseconds of a duration. An interval of days is one, one of months is not.
pub(super) fn duration(value: &ScalarValue) -> Option<i128> {
    use ScalarValue as S;
    let (count, step) = match value {
        S::DurationSecond(count) => ((*count)?, SECOND),
        S::DurationMillisecond(count) => ((*count)?, unit(TimeUnit::Millisecond)),
        S::DurationMicrosecond(count) => ((*count)?, unit(TimeUnit::Microsecond)),
        S::DurationNanosecond(count) => ((*count)?, 1),
        S::IntervalDayTime(Some(interval)) => {
            let days = i128::from(interval.days) * DAY;
            let rest = i128::from(interval.milliseconds) * unit(TimeUnit::Millisecond);
            return Some(days + rest);
        }
        S::IntervalMonthDayNano(Some(interval)) if interval.months == 0 => {
            let days = i128::from(interval.days) * DAY;
            return Some(days + i128::from(interval.nanoseconds));
        }
        _ => return None,
    };
    Some(i128::from(count) * step)
}
