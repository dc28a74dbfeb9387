//! `date_diff(part, start, end)`: how many boundaries of a part of the calendar are crossed from
//! one time to another.

use datafusion::arrow::array::{ArrayRef, Int64Array};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{DataFusionError, exec_err, plan_err};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility};
use tdb_codec::calendar::civil_from_days;

use super::{Instants, check_time, constant, zone_of};
use crate::Result;
use crate::exact::{DAY, SECOND, is_utc};

const NAME: &str = "date_diff";

/// The function.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct DateDiff {
    signature: Signature,
    aliases: Vec<String>,
}

impl DateDiff {
    pub(super) fn new() -> Self {
        let signature = Signature::user_defined(Volatility::Immutable);
        Self { signature, aliases: vec!["datediff".to_owned()] }
    }
}

impl ScalarUDFImpl for DateDiff {
    fn name(&self) -> &str {
        NAME
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, given: &[DataType]) -> Result<Vec<DataType>> {
        let [_, start, end] = given else {
            return plan_err!("{NAME} takes a part, a start and an end: {NAME}('day', start, end)");
        };
        check_time(NAME, start)?;
        check_time(NAME, end)?;
        let is_null = |side: &DataType| *side == DataType::Null;
        let is_zone = |side: &DataType| zone_of(side).is_some_and(|zone| !is_utc(&zone));
        let has_none = |side: &DataType| zone_of(side).is_none() && !is_null(side);
        if is_zone(start) && has_none(end) || has_none(start) && is_zone(end) {
            return plan_err!("{NAME} of a time with a zone and one without: {start} and {end}");
        }
        Ok(vec![DataType::Utf8, start.clone(), end.clone()])
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Int64)
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let rows = arguments.number_rows;
        let [part, start, end] = arguments.args.as_slice() else {
            return plan_err!("{NAME} takes a part, a start and an end");
        };
        let Some(part) = constant(NAME, "part", part)? else {
            return Ok(ColumnarValue::Array(std::sync::Arc::new(Int64Array::new_null(rows))));
        };
        let part = Part::of(&part)?;
        let (start, end) = (start.to_array(rows)?, end.to_array(rows)?);
        let (start, end) = (Instants::of(&start), Instants::of(&end));
        let mut counts = Vec::with_capacity(rows);
        for (from, to) in start.values.iter().zip(&end.values) {
            let (Some(from), Some(to)) = (from, to) else {
                counts.push(None);
                continue;
            };
            // The calendar is that of the zone in which the period begins.
            let count = part.count(*from, *to, |instant| start.shown(instant))?;
            let Ok(count) = i64::try_from(count) else {
                return exec_err!("{NAME}: {count} does not fit BIGINT");
            };
            counts.push(Some(count));
        }
        let counts: ArrayRef = std::sync::Arc::new(Int64Array::from(counts));
        Ok(ColumnarValue::Array(counts))
    }
}

/// A part of a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// So many nanoseconds, fewer than a day.
    Step(i128),
    Day,
    /// Seven days, whichever is the first.
    Week,
    /// So many months.
    Months(i128),
    /// So many years.
    Years(i128),
}

impl Part {
    fn of(name: &str) -> Result<Self> {
        Ok(match name.to_ascii_lowercase().as_str() {
            "microsecond" | "microseconds" | "us" | "usec" | "usecs" => Self::Step(1_000),
            "millisecond" | "milliseconds" | "ms" | "msec" | "msecs" => Self::Step(1_000_000),
            "second" | "seconds" | "s" | "sec" | "secs" => Self::Step(SECOND),
            "minute" | "minutes" | "m" | "min" | "mins" => Self::Step(60 * SECOND),
            "hour" | "hours" | "h" | "hr" | "hrs" => Self::Step(3600 * SECOND),
            "day" | "days" | "d" => Self::Day,
            "week" | "weeks" | "w" => Self::Week,
            "month" | "months" | "mon" | "mons" => Self::Months(1),
            "quarter" | "quarters" => Self::Months(3),
            "year" | "years" | "y" | "yr" | "yrs" => Self::Years(1),
            "decade" | "decades" | "dec" | "decs" => Self::Years(10),
            "century" | "centuries" | "cent" | "c" => Self::Years(100),
            "millennium" | "millennia" | "millenniums" | "mil" => Self::Years(1000),
            _ => {
                return plan_err!(
                    "{NAME} has no part {name:?}: there are microsecond, millisecond, second, minute, hour, day, week, month, quarter, year, \
                     decade, century and millennium"
                );
            }
        })
    }

    /// The number of boundaries from one instant to another. `shown` tells what clocks show at an
    /// instant.
    fn count(self, from: i128, to: i128, shown: impl Fn(i128) -> Result<i128>) -> Result<i128> {
        let day = |instant: i128| Ok::<_, DataFusionError>(shown(instant)?.div_euclid(DAY));
        let year = |instant: i128| Ok::<_, DataFusionError>(civil_from_days(day(instant)?).0);
        let month = |instant: i128| {
            let (year, month, _) = civil_from_days(day(instant)?);
            Ok::<_, DataFusionError>(year * 12 + month - 1)
        };
        Ok(match self {
            // Hours that clocks leave out or show twice are hours as well.
            Self::Step(step) => to.div_euclid(step) - from.div_euclid(step),
            Self::Day => day(to)? - day(from)?,
            Self::Week => (day(to)? - day(from)?) / 7,
            Self::Months(months) => month(to)?.div_euclid(months) - month(from)?.div_euclid(months),
            Self::Years(years) => year(to)? / years - year(from)? / years,
        })
    }
}

#[cfg(test)]
mod tests {
    use tdb_codec::Datatype;
    use tdb_codec::calendar::parse;

    use super::*;

    /// The answer of DuckDB 2.0.1 to each question.
    #[test]
    fn boundaries_are_counted_as_duckdb_counts_them() {
        let at = |text: &str| i128::from(parse(Datatype::DatetimeUs, text).unwrap()) * 1000;
        for (part, from, to, count) in [
            ("microseconds", "1999-12-30T23:59:59.999999", "2001-01-01T00:00:00", 31_708_800_000_001),
            ("ms", "1969-12-31T23:59:59.9995", "1970-01-01T00:00:00.0004", 1),
            ("second", "1969-12-31T23:59:59.5", "1970-01-01T00:00:00.4", 1),
            ("minute", "1969-12-31T23:30:30", "1969-12-31T23:31:10", 1),
            ("HOUR", "1960-12-31T22:30:00", "1960-12-31T23:10:00", 1),
            ("hour", "2024-01-01", "2024-01-03", 48),
            ("day", "1999-12-30T23:59:59.999999", "2001-01-01", 368),
            ("week", "2024-01-03", "2024-01-09", 0),
            ("week", "2024-01-03", "2024-01-10", 1),
            ("week", "2024-01-01T12:00", "2024-01-08T11:00", 1),
            ("week", "2024-01-03", "2023-12-27", -1),
            ("month", "2024-03-01", "2024-02-28", -1),
            ("quarter", "1969-12-31", "1970-01-01", 1),
            ("year", "-0009-01-01", "0001-01-01", 10),
            ("decade", "-0009-01-01", "0011-01-01", 1),
            ("century", "-0001-12-31", "0002-01-01", 0),
            ("century", "1899-12-31", "2024-01-01", 2),
            ("mil", "1999-12-31", "2000-01-01", 1),
        ] {
            let (from, to) = (at(from), at(to));
            let found = Part::of(part).unwrap().count(from, to, Ok);
            assert_eq!(found.unwrap(), count, "{part} {from} {to}");
        }
        assert!(Part::of("fortnight").unwrap_err().to_string().contains("no part \"fortnight\""));
    }
}
