//! Dates: converts ticks of a unit since 1970-01-01 to ISO 8601 and back, in the proleptic
//! Gregorian calendar.

mod moment;

use self::moment::{first_tick, span_ticks};
use crate::Datatype;

/// The finest unit of the format: attoseconds.
const ATTOS_PER_DAY: i128 = 86_400 * ATTOS_PER_SECOND;
const ATTOS_PER_SECOND: i128 = 1_000_000_000_000_000_000;

/// The unit of a date type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Unit {
    /// Calendar years.
    Year,
    /// Calendar months.
    Month,
    /// Days per tick.
    Days(i128),
    /// Ticks per day.
    Clock(i128),
}

/// The unit of a date type; `None` for types that are not dates.
pub fn unit(datatype: Datatype) -> Option<Unit> {
    Some(match datatype {
        Datatype::DatetimeYear => Unit::Year,
        Datatype::DatetimeMonth => Unit::Month,
        Datatype::DatetimeWeek => Unit::Days(7),
        Datatype::DatetimeDay => Unit::Days(1),
        Datatype::DatetimeHr => Unit::Clock(24),
        Datatype::DatetimeMin => Unit::Clock(1_440),
        Datatype::DatetimeSec => Unit::Clock(86_400),
        Datatype::DatetimeMs => Unit::Clock(86_400_000),
        Datatype::DatetimeUs => Unit::Clock(86_400_000_000),
        Datatype::DatetimeNs => Unit::Clock(86_400_000_000_000),
        Datatype::DatetimePs => Unit::Clock(86_400_000_000_000_000),
        Datatype::DatetimeFs => Unit::Clock(86_400_000_000_000_000_000),
        Datatype::DatetimeAs => Unit::Clock(ATTOS_PER_DAY),
        _ => return None,
    })
}

/// A point in time of a date type, as precise as the type's unit: `2020-02-29`,
/// `2020-02-29T12:00:00.001`. Libraries use the smallest value for "not a time". `None` for types
/// that are not dates.
pub fn format(datatype: Datatype, ticks: i64) -> Option<String> {
    let unit = unit(datatype)?;
    if ticks == i64::MIN {
        return Some("NaT".to_owned());
    }
    Some(format_ticks(unit, i128::from(ticks)))
}

/// Milliseconds since 1970-01-01 UTC, as in the names of files.
pub fn format_millis(millis: u64) -> String {
    format_ticks(Unit::Clock(86_400_000), i128::from(millis)) + "Z"
}

/// Milliseconds with their date, for display.
pub fn time_text(millis: u64) -> String {
    format!("{millis} ({})", format_millis(millis))
}

/// A range of milliseconds, for display.
pub fn span_text(first: u64, last: u64) -> String {
    if first == last { time_text(first) } else { format!("{} to {}", time_text(first), time_text(last)) }
}

fn format_ticks(unit: Unit, ticks: i128) -> String {
    let date = |days| {
        let (year, month, day) = civil_from_days(days);
        format!("{}-{month:02}-{day:02}", format_year(year))
    };
    match unit {
        Unit::Year => format_year(1970 + ticks),
        Unit::Month => {
            let year = 1970 + ticks.div_euclid(12);
            format!("{}-{:02}", format_year(year), ticks.rem_euclid(12) + 1)
        }
        Unit::Days(days) => date(ticks * days),
        Unit::Clock(per_day) => {
            let (day, rest) = (ticks.div_euclid(per_day), ticks.rem_euclid(per_day));
            // Every clock unit divides a day, and attoseconds divide every unit.
            let attos = rest * (ATTOS_PER_DAY / per_day);
            let (seconds, fraction) = (attos / ATTOS_PER_SECOND, attos % ATTOS_PER_SECOND);
            let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
            let mut text = format!("{}T{hours:02}", date(day));
            if per_day >= 1_440 {
                text += &format!(":{minutes:02}");
            }
            if per_day >= 86_400 {
                text += &format!(":{seconds:02}");
            }
            let digits = (per_day / 86_400).checked_ilog10().unwrap_or(0);
            if digits > 0 {
                let fraction = format!("{fraction:018}");
                let digits = usize::try_from(digits).unwrap_or(0);
                text += ".";
                text += fraction.get(..digits).unwrap_or_default();
            }
            text
        }
    }
}

fn format_year(year: i128) -> String {
    if (0..=9999).contains(&year) { format!("{year:04}") } else { format!("{year:+05}") }
}

/// The reason why a date cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadDate {
    /// It is not an ISO date.
    Syntax,
    /// It is between two ticks of the unit.
    TooFine,
    /// It does not fit 64 bits of the unit.
    TooFar,
}

/// The ticks of a date such as `2020-02`, `2020-02-29`, `2020-02-29T12:30`,
/// `2020-02-29 12:30:00.5+01:00`: its first instant.
pub fn parse(datatype: Datatype, text: &str) -> Result<i64, BadDate> {
    let unit = unit(datatype).ok_or(BadDate::Syntax)?;
    match usual_ticks(unit, text.as_bytes()) {
        Some(ticks) => Ok(ticks),
        None => i64::try_from(first_tick(unit, text)?).map_err(|_| BadDate::TooFar),
    }
}

/// The first and the last tick of what a date names: of a month, a day, an hour, a minute or a
/// second. With a fraction of a second it is an instant.
///
/// ```
/// use tdb_codec::Datatype;
/// use tdb_codec::calendar::span;
///
/// assert_eq!(span(Datatype::DatetimeDay, "1970-02"), Ok((31, 58)));
/// assert_eq!(span(Datatype::DatetimeHr, "1970-01-02"), Ok((24, 47)));
/// assert_eq!(span(Datatype::DatetimeHr, "1970-01-02T01+01:00"), Ok((24, 24)));
/// ```
///
/// # Errors
/// A text that is not a date, or names less than a tick, or nothing that 64 bits of the unit can
/// hold.
pub fn span(datatype: Datatype, text: &str) -> Result<(i64, i64), BadDate> {
    let (first, last) = span_ticks(unit(datatype).ok_or(BadDate::Syntax)?, text)?;
    // The smallest value is not a time.
    let (least, most) = (i128::from(i64::MIN + 1), i128::from(i64::MAX));
    if last < least || first > most {
        return Err(BadDate::TooFar);
    }
    let fit = |ticks: i128| i64::try_from(ticks.clamp(least, most)).map_err(|_| BadDate::TooFar);
    Ok((fit(first)?, fit(last)?))
}

/// The same as [`first_tick`] for the most frequent kinds of dates, `2020-02-29`,
/// `2020-02-29T12:30:00` and `2020-02-29 12:30:00.123`, without its numbers of 128 bits; `None` for
/// everything else.
fn usual_ticks(unit: Unit, text: &[u8]) -> Option<i64> {
    let (date, clock) = text.split_at_checked(10)?;
    let [y0, y1, y2, y3, b'-', m0, m1, b'-', d0, d1] = *<&[u8; 10]>::try_from(date).ok()? else {
        return None;
    };
    let (year, month, day) = (digits(&[y0, y1, y2, y3])?, digits(&[m0, m1])?, digits(&[d0, d1])?);
    // Days that not every month has are left to the calendar.
    let real = (1..=12).contains(&month) && (1..=28).contains(&day);
    let days = real.then(|| {
        let year = if month <= 2 { year - 1 } else { year };
        let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
        let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
        era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
    })?;
    let millis = match *clock {
        [] => 0,
        [b'T' | b' ', h0, h1, b':', m0, m1, b':', s0, s1, ref fraction @ ..] => {
            let (hours, minutes, seconds) = (digits(&[h0, h1])?, digits(&[m0, m1])?, digits(&[s0, s1])?);
            let millis = match *fraction {
                [] => 0,
                [b'.', a, b, c] => digits(&[a, b, c])?,
                _ => return None,
            };
            let real = hours < 24 && minutes < 60 && seconds < 60;
            real.then_some(((hours * 60 + minutes) * 60 + seconds) * 1_000 + millis)?
        }
        _ => return None,
    };
    match unit {
        Unit::Days(1) if millis == 0 => Some(days),
        Unit::Clock(86_400_000) => Some(days * 86_400_000 + millis),
        Unit::Clock(86_400_000_000) => Some((days * 86_400_000 + millis) * 1_000),
        _ => None,
    }
}

/// The ticks of a year in the unit of years; `None` if they do not fit 64 bits.
pub fn year_ticks(year: i128) -> Option<i64> {
    year.checked_sub(1970).and_then(|ticks| i64::try_from(ticks).ok())
}

/// A number of at most four digits.
fn digits(text: &[u8]) -> Option<i64> {
    text.iter().try_fold(0, |value, byte| byte.is_ascii_digit().then(|| value * 10 + i64::from(byte - b'0')))
}

/// The first and the last millisecond since 1970-01-01 UTC of what a date names: see [`span`].
pub fn span_millis(text: &str) -> Result<(u64, u64), BadDate> {
    let (first, last) = span_ticks(Unit::Clock(86_400_000), text)?;
    let fit = |ticks| u64::try_from(ticks).map_err(|_| BadDate::TooFar);
    Ok((fit(first)?, fit(last)?))
}

/// Days since 1970-01-01. Counts in eras of 400 years that begin on 1 March, so that leap days come
/// last.
pub fn days_from_civil(year: i128, month: i128, day: i128) -> i128 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// Year, month and day of a day since 1970-01-01: the inverse of [`days_from_civil`].
pub fn civil_from_days(days: i128) -> (i128, i128, i128) {
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = era * 400 + year_of_era + i128::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests;
