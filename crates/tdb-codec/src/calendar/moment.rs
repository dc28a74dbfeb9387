//! Dates in ISO 8601 as what they name: from a moment to another one.

use super::{ATTOS_PER_DAY, ATTOS_PER_SECOND, BadDate, Unit, civil_from_days, days_from_civil};

/// A point in time: days since 1970-01-01, and attoseconds of the day.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Moment {
    days: i128,
    attos: i128,
}

impl Moment {
    /// Adds so many attoseconds, fewer than a few days.
    const fn plus(self, attos: i128) -> Self {
        let attos = self.attos + attos;
        Self { days: self.days + attos.div_euclid(ATTOS_PER_DAY), attos: attos.rem_euclid(ATTOS_PER_DAY) }
    }

    /// The first tick of a unit that is not before this moment, and whether it is at this moment.
    fn tick(self, unit: Unit) -> Result<(i128, bool), BadDate> {
        // A part of a tick counts as a whole one.
        let up = |whole: i128, is_more: bool| (whole + i128::from(is_more), !is_more);
        let (year, month, day) = civil_from_days(self.days);
        let in_day = self.attos != 0;
        let in_month = in_day || day != 1;
        Ok(match unit {
            Unit::Clock(per_day) => {
                let length = ATTOS_PER_DAY / per_day;
                let begin = self.days.checked_mul(per_day).ok_or(BadDate::TooFar)?;
                let whole = begin.checked_add(self.attos / length).ok_or(BadDate::TooFar)?;
                up(whole, self.attos % length != 0)
            }
            Unit::Days(length) => {
                up(self.days.div_euclid(length), in_day || self.days.rem_euclid(length) != 0)
            }
            Unit::Month => up((year - 1970) * 12 + month - 1, in_month),
            Unit::Year => up(year - 1970, in_month || month != 1),
        })
    }
}

/// The first moment of what a text names, and the first one after it; none for an instant.
struct Named {
    begin: Moment,
    end: Option<Moment>,
}

/// The tick at the first moment of what a text names.
pub(super) fn first_tick(unit: Unit, text: &str) -> Result<i128, BadDate> {
    match parse(text).ok_or(BadDate::Syntax)?.begin.tick(unit)? {
        (tick, true) => Ok(tick),
        (_, false) => Err(BadDate::TooFine),
    }
}

/// The first and the last tick of what a text names.
pub(super) fn span_ticks(unit: Unit, text: &str) -> Result<(i128, i128), BadDate> {
    let Named { begin, end } = parse(text).ok_or(BadDate::Syntax)?;
    let (first, is_exact) = begin.tick(unit)?;
    let last = match end {
        Some(end) => end.tick(unit)?.0 - 1,
        None if is_exact => first,
        None => return Err(BadDate::TooFine),
    };
    // A tick may be inside although its unit is coarser than the text.
    if last < first { Err(BadDate::TooFine) } else { Ok((first, last)) }
}

fn parse(text: &str) -> Option<Named> {
    let (date, clock) = match text.split_once(['T', 't', ' ']) {
        Some((date, clock)) => (date, Some(clock)),
        None => (text, None),
    };
    let (year, month, day) = parse_date(date)?;
    let begin = Moment { days: days_from_civil(year, month, day.unwrap_or(1)), attos: 0 };
    if let Some(clock) = clock {
        let Clock { attos, length, offset } = parse_clock(clock)?;
        let begin = begin.plus(attos - offset);
        return Some(Named { begin, end: length.map(|length| begin.plus(length)) });
    }
    let days = match (day, month) {
        (Some(_), _) => begin.days + 1,
        (None, 12) => days_from_civil(year + 1, 1, 1),
        (None, _) => days_from_civil(year, month + 1, 1),
    };
    Some(Named { begin, end: Some(Moment { days, attos: 0 }) })
}

/// `±YYYY-MM` or `±YYYY-MM-DD`. A year alone would be an integer.
fn parse_date(text: &str) -> Option<(i128, i128, Option<i128>)> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let mut parts = digits.split('-');
    let year = sign * parts.next().filter(|year| (4..=18).contains(&year.len())).and_then(number)?;
    let month = two_digits(parts.next()?, 1..=12)?;
    let day = parts.next().map(|day| two_digits(day, 1..=31));
    let day = match day {
        Some(day) => Some(day?),
        None => None,
    };
    // A day after the end of its month becomes one of the next month.
    let own = day.unwrap_or(1);
    let real = civil_from_days(days_from_civil(year, month, own)) == (year, month, own);
    (real && parts.next().is_none()).then_some((year, month, day))
}

/// A time of day.
struct Clock {
    /// Attoseconds of the day where it is said.
    attos: i128,
    /// The attoseconds of what is named: an hour, a minute or a second; none for an instant.
    length: Option<i128>,
    /// How many attoseconds clocks there are before UTC.
    offset: i128,
}

/// `HH[:MM[:SS[.fraction]]]` and `Z`, `±HH`, `±HH:MM`, `±HHMM` or nothing.
fn parse_clock(text: &str) -> Option<Clock> {
    let (text, offset) = match text.find(['Z', 'z', '+', '-']) {
        Some(at) => {
            let (clock, zone) = text.split_at_checked(at)?;
            (clock, parse_offset(zone)?)
        }
        None => (text, 0),
    };
    let mut parts = text.split(':');
    let hours = two_digits(parts.next()?, 0..=23)?;
    let (mut seconds, mut length, mut fraction) = (hours * 3600, Some(3600), 0);
    if let Some(part) = parts.next() {
        seconds += two_digits(part, 0..=59)? * 60;
        length = Some(60);
    }
    if let Some(part) = parts.next() {
        let (own, behind) = part.split_once('.').map_or((part, None), |(own, behind)| (own, Some(behind)));
        seconds += two_digits(own, 0..=59)?;
        length = behind.is_none().then_some(1);
        fraction = behind.map_or(Some(0), parse_fraction)?;
    }
    if parts.next().is_some() {
        return None;
    }
    let attos = seconds * ATTOS_PER_SECOND + fraction;
    Some(Clock { attos, length: length.map(|length: i128| length * ATTOS_PER_SECOND), offset })
}

/// An offset from UTC, in attoseconds.
fn parse_offset(zone: &str) -> Option<i128> {
    if zone.eq_ignore_ascii_case("Z") {
        return Some(0);
    }
    let (sign, digits) = match zone.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, zone.strip_prefix('+')?),
    };
    let (hours, minutes) = digits.split_at_checked(2)?;
    let minutes = match minutes {
        "" => 0,
        _ => two_digits(minutes.strip_prefix(':').unwrap_or(minutes), 0..=59)?,
    };
    Some(sign * (two_digits(hours, 0..=23)? * 60 + minutes) * 60 * ATTOS_PER_SECOND)
}

fn parse_fraction(digits: &str) -> Option<i128> {
    let missing = u32::try_from(18usize.checked_sub(digits.len())?).ok()?;
    Some(number(digits)? * 10i128.checked_pow(missing)?)
}

fn two_digits(text: &str, allowed: core::ops::RangeInclusive<i128>) -> Option<i128> {
    number(text).filter(|value| text.len() == 2 && allowed.contains(value))
}

fn number(digits: &str) -> Option<i128> {
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::super::{parse, span};
    use super::*;
    use crate::Datatype;

    #[test]
    fn a_date_names_all_that_is_inside_of_it() {
        let day = |text| span(Datatype::DatetimeDay, text);
        assert_eq!(day("2020-02"), Ok((18_293, 18_321)));
        assert_eq!(day("2020-12"), Ok((18_597, 18_627)));
        assert_eq!(day("2020-02-29"), Ok((18_321, 18_321)));
        assert_eq!(day("2020-02-29T00"), Ok((18_321, 18_321)), "midnight is inside");
        assert_eq!(day("2020-02-29T01"), Err(BadDate::TooFine));
        assert_eq!(span(Datatype::DatetimeMonth, "2020-01-01"), Ok((600, 600)));
        assert_eq!(span(Datatype::DatetimeMonth, "2020-01-02"), Err(BadDate::TooFine));
        assert_eq!(span(Datatype::DatetimeYear, "2020-01"), Ok((50, 50)));
        assert_eq!(span(Datatype::DatetimeYear, "2020-02"), Err(BadDate::TooFine));
        // Weeks begin on Thursdays.
        assert_eq!(span(Datatype::DatetimeWeek, "1970-01"), Ok((0, 4)));
        assert_eq!(span(Datatype::DatetimeWeek, "1970-01-02"), Err(BadDate::TooFine));
        let millis = |text| span(Datatype::DatetimeMs, text);
        assert_eq!(millis("1970-01-02"), Ok((86_400_000, 172_799_999)));
        assert_eq!(millis("1970-01-01T01"), Ok((3_600_000, 7_199_999)));
        assert_eq!(millis("1970-01-01 01:30"), Ok((5_400_000, 5_459_999)));
        assert_eq!(millis("1970-01-01T01:30:15"), Ok((5_415_000, 5_415_999)));
        assert_eq!(millis("1970-01-01T01:30:15.5"), Ok((5_415_500, 5_415_500)));
        assert_eq!(millis("1970-01-01T01:30:15.0005"), Err(BadDate::TooFine));
    }

    #[test]
    fn clocks_may_be_before_or_behind_utc() {
        let minute = |text| parse(Datatype::DatetimeMin, text);
        assert_eq!(minute("1970-01-01T00:30+01:00"), Ok(-30));
        assert_eq!(minute("1970-01-01T23:30-0130"), Ok(25 * 60));
        assert_eq!(minute("1970-01-01T12:00+00"), Ok(720));
        assert_eq!(minute("1970-01-01t12:00z"), Ok(720));
        assert_eq!(span(Datatype::DatetimeMin, "1970-01-01T00+01:30"), Ok((-90, -31)));
        assert_eq!(parse(Datatype::DatetimeMs, "1970-01-01T00:00:00.250-00:01"), Ok(60_250));
        for text in [
            "1970-01-01+01:00",
            "1970-01-01T12+1",
            "1970-01-01T12+1:00",
            "1970-01-01T12+24:00",
            "1970-01-01T12:00ZZ",
            "1970-01-01T12:00+01:00Z",
            "1970-01-01T+01:00",
            "1970-01-01T12:00+01:60",
            "1970-01-01T12:00+0",
            "1970-01-01T12:00+",
        ] {
            assert_eq!(minute(text), Err(BadDate::Syntax), "{text}");
        }
    }

    #[test]
    fn what_reaches_out_of_64_bits_is_cut_and_what_is_outside_is_refused() {
        let nanos = |text| span(Datatype::DatetimeNs, text);
        assert_eq!(nanos("2262-04-12"), Err(BadDate::TooFar));
        assert_eq!(nanos("2262-04-11").unwrap().1, i64::MAX);
        assert_eq!(nanos("1677-09-21").unwrap().0, i64::MIN + 1, "the smallest value is not a time");
        assert_eq!(span(Datatype::DatetimeAs, "300000000000000000-01"), Err(BadDate::TooFar));
    }
}
