//! Round dates along an axis.

use tdb_codec::Datatype;
use tdb_text::calendar::{self, Unit};

/// Seconds of the round steps below a day.
const SECONDS: [i128; 17] =
    [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200];
const DAY: i128 = 86_400;

/// The distance of two dates.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Step {
    Ticks(i128),
    Months(i128),
}

/// Round dates from `low` to `high` (ticks of a date type), at most `most` of them, with short
/// texts: the first of each day has its date, the others only their time. `None` for types that are
/// no dates.
pub(crate) fn round(datatype: Datatype, low: i128, high: i128, most: i128) -> Option<Vec<(i128, String)>> {
    let unit = calendar::unit(datatype)?;
    let step = step(unit, low, high, most);
    let found = match step {
        Step::Ticks(step) => {
            let first = low.div_euclid(step).checked_add(i128::from(low.rem_euclid(step) != 0))?;
            (0..=most).map_while(|more| first.checked_add(more)?.checked_mul(step)).collect::<Vec<_>>()
        }
        Step::Months(step) => {
            let first = month_of(unit, low).div_euclid(step);
            (0..=most + 1)
                .map_while(|more| ticks_of(unit, first.checked_add(more)?.checked_mul(step)?))
                .collect()
        }
    };
    let inside = found.into_iter().filter(|tick| (low..=high).contains(tick));
    let mut before = String::new();
    Some(
        inside
            .map(|tick| {
                let full =
                    calendar::format(datatype, i64::try_from(tick).unwrap_or(i64::MAX)).unwrap_or_default();
                let text = short(&full, step, &before);
                before = full;
                (tick, text)
            })
            .collect(),
    )
}

/// The least round part of a day, or number of days, that has at least so many ticks. `None` for
/// types whose ticks are days or more, or no dates.
pub(super) fn round_part(datatype: Datatype, least: i128) -> Option<i128> {
    let Some(Unit::Clock(per_day)) = calendar::unit(datatype) else { return None };
    let part = below_a_day(per_day).find(|ticks| *ticks >= least);
    Some(part.unwrap_or_else(|| super::axis::round_width((least + per_day - 1) / per_day) * per_day))
}

/// Round steps below a day, in ticks.
fn below_a_day(per_day: i128) -> impl Iterator<Item = i128> {
    let second = per_day / DAY;
    let fractions = (0..18u32).flat_map(|power| [1, 2, 5].map(|digit| digit * 10i128.pow(power)));
    let exact = move |seconds: i128| (seconds * per_day % DAY == 0).then_some(seconds * per_day / DAY);
    fractions.take_while(move |ticks| *ticks < second).chain(SECONDS.into_iter().filter_map(exact))
}

/// The smallest round step by which there are at most `most` dates.
fn step(unit: Unit, low: i128, high: i128, most: i128) -> Step {
    let most = most.max(1);
    let fits = |ticks: &i128| *ticks > 0 && (high - low) / *ticks < most;
    let fixed: Vec<i128> = match unit {
        Unit::Clock(per_day) => {
            below_a_day(per_day).chain([1, 2, 5, 10].map(|days| days * per_day)).collect()
        }
        Unit::Days(length) => {
            let exact = |days: i128| (days % length == 0).then_some(days / length);
            [1, 2, 5, 7, 10, 14].into_iter().filter_map(exact).collect()
        }
        Unit::Year | Unit::Month => Vec::new(),
    };
    if let Some(ticks) = fixed.into_iter().find(fits) {
        return Step::Ticks(ticks);
    }
    let months = month_of(unit, high) - month_of(unit, low);
    let years = (0..18u32).flat_map(|power| [12, 24, 60].map(|months| months * 10i128.pow(power)));
    let mut steps = [1, 2, 3, 6].into_iter().chain(years).filter(|step| unit != Unit::Year || step % 12 == 0);
    Step::Months(steps.find(|step| months / step < most).unwrap_or(i128::from(i64::MAX)))
}

/// Months since the year 0.
fn month_of(unit: Unit, tick: i128) -> i128 {
    let of_day = |day| {
        let (year, month, _) = calendar::civil_from_days(day);
        year * 12 + month - 1
    };
    match unit {
        Unit::Year => (1970 + tick) * 12,
        Unit::Month => 1970 * 12 + tick,
        Unit::Days(length) => of_day(tick * length),
        Unit::Clock(per_day) => of_day(tick.div_euclid(per_day)),
    }
}

/// The first tick in a month.
fn ticks_of(unit: Unit, month: i128) -> Option<i128> {
    let day = calendar::days_from_civil(month.div_euclid(12), month.rem_euclid(12) + 1, 1);
    match unit {
        Unit::Year => Some(month.div_euclid(12) - 1970),
        Unit::Month => Some(month - 1970 * 12),
        Unit::Days(length) => Some((day + length - 1).div_euclid(length)),
        Unit::Clock(per_day) => day.checked_mul(per_day),
    }
}

/// As much of a date as it differs from the one before, and as the step is precise.
fn short(full: &str, step: Step, before: &str) -> String {
    if let Step::Months(months) = step {
        let year = full.char_indices().skip(1).find(|(_, c)| *c == '-').map_or(full.len(), |(at, _)| at);
        let end = if months % 12 == 0 { year } else { year.saturating_add(3) };
        return full.get(..end).unwrap_or(full).to_owned();
    }
    let Some((date, clock)) = full.split_once('T') else { return full.to_owned() };
    let clock = match clock.trim_end_matches('0').strip_suffix('.') {
        Some(whole) => whole,
        None => clock,
    };
    let clock = clock.strip_suffix(":00").filter(|clock| clock.contains(':')).unwrap_or(clock);
    if clock.bytes().all(|byte| matches!(byte, b'0' | b':')) {
        return date.to_owned();
    }
    if before.split('T').next() == Some(date) { clock.to_owned() } else { format!("{date}T{clock}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(datatype: Datatype, low: &str, high: &str) -> Vec<String> {
        let ticks = |text| i128::from(calendar::parse(datatype, text).unwrap());
        let found = round(datatype, ticks(low), ticks(high), 5).unwrap();
        assert!(found.len() <= 6, "{found:?}");
        found.into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn steps_are_those_of_clocks_and_calendars() {
        assert_eq!(
            texts(Datatype::DatetimeMs, "2026-01-01", "2026-01-02T23:00"),
            ["2026-01-01", "12:00", "2026-01-02", "12:00"]
        );
        assert_eq!(
            texts(Datatype::DatetimeSec, "2026-01-01T10:20:07", "2026-01-01T10:21:00"),
            ["2026-01-01T10:20:15", "10:20:30", "10:20:45", "10:21"]
        );
        assert_eq!(
            texts(Datatype::DatetimeDay, "2020-02-10", "2020-06-20"),
            ["2020-03", "2020-04", "2020-05", "2020-06"]
        );
        assert_eq!(
            texts(Datatype::DatetimeDay, "1950-01-01", "2049-01-01"),
            ["1960", "1980", "2000", "2020", "2040"]
        );
        assert_eq!(
            texts(Datatype::DatetimeMonth, "2020-01", "2020-08"),
            ["2020-01", "2020-03", "2020-05", "2020-07"]
        );
        assert_eq!(
            texts(Datatype::DatetimeNs, "2020-01-01", "2020-01-01T00:00:00.000001")[1],
            "00:00:00.000000500"
        );
    }

    #[test]
    fn the_ends_of_time_have_dates_or_none() {
        for datatype in
            [Datatype::DatetimeYear, Datatype::DatetimeDay, Datatype::DatetimeWeek, Datatype::DatetimeAs]
        {
            let found = round(datatype, i64::MIN.into(), i64::MAX.into(), 5).unwrap();
            assert!(found.len() <= 7, "{datatype}: {found:?}");
        }
        assert_eq!(round(Datatype::Int32, 0, 9, 5), None);
    }
}
