//! `strftime(time, format)`: a time as text.

use std::fmt::Write;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, StringArray, StringBuilder};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::plan_err;
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility};
use tdb_codec::calendar::{civil_from_days, days_from_civil};

use super::{Instants, check_time, constant};
use crate::Result;
use crate::exact::{DAY, SECOND};

const NAME: &str = "strftime";

const DAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// The function.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Strftime {
    signature: Signature,
}

impl Strftime {
    pub(super) fn new() -> Self {
        Self { signature: Signature::user_defined(Volatility::Immutable) }
    }
}

const fn is_text(given: &DataType) -> bool {
    matches!(given, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

impl ScalarUDFImpl for Strftime {
    fn name(&self) -> &str {
        NAME
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, given: &[DataType]) -> Result<Vec<DataType>> {
        // SQLite has the format first, and DuckDB takes both orders.
        let (time, format) = match given {
            [format, time] if is_text(format) && !is_text(time) => (time, format),
            [time, format] => (time, format),
            _ => return plan_err!("{NAME} takes a time and a format: {NAME}(time, '%Y-%m-%d')"),
        };
        check_time(NAME, time)?;
        if !is_text(format) && *format != DataType::Null {
            return plan_err!("the format of {NAME} is a text such as '%Y-%m-%d', not {format}");
        }
        Ok(given.to_vec())
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let rows = arguments.number_rows;
        let (time, format) = match arguments.args.as_slice() {
            [format, time] if is_text(&format.data_type()) => (time, format),
            [time, format] => (time, format),
            _ => return plan_err!("{NAME} takes a time and a format"),
        };
        let Some(format) = constant(NAME, "format", format)? else {
            return Ok(ColumnarValue::Array(Arc::new(StringArray::new_null(rows))));
        };
        let parts = parse(&format)?;
        let times = Instants::of(&time.to_array(rows)?);
        let mut texts = StringBuilder::with_capacity(rows, rows * format.len() * 2);
        let mut text = String::new();
        for instant in &times.values {
            match instant {
                Some(instant) => {
                    let shown = times.shown(*instant)?;
                    text.clear();
                    let clock = Clock::new(shown, shown - instant, times.zone.as_deref());
                    parts.iter().for_each(|part| clock.write(part, &mut text));
                    texts.append_value(&text);
                }
                None => texts.append_null(),
            }
        }
        let texts: ArrayRef = Arc::new(texts.finish());
        Ok(ColumnarValue::Array(texts))
    }
}

/// A part of a format.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    /// A letter behind `%`, and whether it has no zeros in front (`%-d`).
    Field(char, bool),
}

/// The letters that DuckDB has, and what they are short for.
fn parse(format: &str) -> Result<Vec<Piece>> {
    let mut parts = Vec::new();
    let mut text = String::new();
    let mut letters = format.chars();
    while let Some(letter) = letters.next() {
        if letter != '%' {
            text.push(letter);
            continue;
        }
        let (bare, letter) = match letters.next() {
            Some('-') => (true, letters.next()),
            letter => (false, letter),
        };
        let long = match (bare, letter) {
            (false, Some('%')) => {
                text.push('%');
                continue;
            }
            (false, Some('c')) => "%Y-%m-%d %H:%M:%S",
            (false, Some('x')) => "%Y-%m-%d",
            (false, Some('X' | 'T')) => "%H:%M:%S",
            _ => "",
        };
        let wrong = match letter {
            None => Some("%".to_owned()),
            Some(letter) => {
                let known = if bare { "djmyHIMS" } else { "aAwdjmBbhyYGuVUWHIMSfgnzZp" };
                let dash = if bare { "-" } else { "" };
                (long.is_empty() && !known.contains(letter)).then(|| format!("%{dash}{letter}"))
            }
        };
        if let Some(wrong) = wrong {
            return plan_err!(
                "{NAME} has no {wrong}: there are %Y %y %m %B %b %d %j %a %A %w %u %G %V %U %W %H %I %p %M %S %f %g %n %z %Z %c %x %X %T %%, and %-d, \
                 %-m, … without zeros in front"
            );
        }
        if !text.is_empty() {
            parts.push(Piece::Text(core::mem::take(&mut text)));
        }
        if long.is_empty() {
            parts.extend(letter.map(|letter| Piece::Field(letter, bare)));
        } else {
            parts.extend(parse(long)?);
        }
    }
    if !text.is_empty() {
        parts.push(Piece::Text(text));
    }
    Ok(parts)
}

/// What clocks and calendars show at an instant.
struct Clock<'a> {
    /// Days since 1970, and nanoseconds of the day.
    day: i128,
    nanoseconds: i128,
    date: (i128, i128, i128),
    /// Nanoseconds before UTC.
    offset: i128,
    zone: Option<&'a str>,
}

impl<'a> Clock<'a> {
    fn new(shown: i128, offset: i128, zone: Option<&'a str>) -> Self {
        let day = shown.div_euclid(DAY);
        Self { day, nanoseconds: shown.rem_euclid(DAY), date: civil_from_days(day), offset, zone }
    }

    /// The day of the week; Sunday is 0.
    const fn weekday(&self) -> i128 {
        (self.day + 4).rem_euclid(7)
    }

    /// The day of the week; Monday is 1, and Sunday 7.
    const fn iso_weekday(&self) -> i128 {
        (self.day + 3).rem_euclid(7) + 1
    }

    /// The day of the year, from 1.
    fn year_day(&self) -> i128 {
        self.day - days_from_civil(self.date.0, 1, 1) + 1
    }

    /// The year and the week of ISO 8601: those of the Thursday.
    fn iso_week(&self) -> (i128, i128) {
        let thursday = self.day + 4 - self.iso_weekday();
        let year = civil_from_days(thursday).0;
        (year, (thursday - days_from_civil(year, 1, 1)) / 7 + 1)
    }

    fn write(&self, part: &Piece, out: &mut String) {
        let (letter, bare) = match part {
            Piece::Text(text) => return out.push_str(text),
            Piece::Field(letter, bare) => (*letter, *bare),
        };
        let (year, month, day) = self.date;
        let second = self.nanoseconds / SECOND;
        let fraction = self.nanoseconds % SECOND;
        let hour = second / 3600;
        let name = |names: &[&'static str], at: i128| {
            usize::try_from(at).ok().and_then(|at| names.get(at)).copied().unwrap_or("")
        };
        let short = |name: &'static str| name.get(..3).unwrap_or(name);
        let (width, number) = match letter {
            'Y' => (4, year),
            'G' => (4, self.iso_week().0),
            'y' => (2, year.rem_euclid(100)),
            'm' => (2, month),
            'd' => (2, day),
            'j' => (3, self.year_day()),
            'w' => (1, self.weekday()),
            'u' => (1, self.iso_weekday()),
            'V' => (2, self.iso_week().1),
            'U' => (2, (self.year_day() + 6 - self.weekday()) / 7),
            'W' => (2, (self.year_day() + 7 - self.iso_weekday()) / 7),
            'H' => (2, hour),
            'I' => (2, (hour + 11) % 12 + 1),
            'M' => (2, second / 60 % 60),
            'S' => (2, second % 60),
            'f' => (6, fraction / 1000),
            'g' => (3, fraction / 1_000_000),
            'n' => (9, fraction),
            'a' => return out.push_str(short(name(&DAYS, self.weekday()))),
            'A' => return out.push_str(name(&DAYS, self.weekday())),
            'B' => return out.push_str(name(&MONTHS, month - 1)),
            'b' | 'h' => return out.push_str(short(name(&MONTHS, month - 1))),
            'p' => return out.push_str(if hour < 12 { "AM" } else { "PM" }),
            'Z' => return out.push_str(self.zone.unwrap_or("")),
            // %z: the others are refused before.
            _ => {
                let minutes = self.offset / SECOND / 60;
                let sign = if minutes < 0 { '-' } else { '+' };
                let minutes = minutes.abs();
                // A text takes everything.
                let _ = write!(out, "{sign}{:02}", minutes / 60);
                if minutes % 60 != 0 {
                    let _ = write!(out, ":{:02}", minutes % 60);
                }
                return;
            }
        };
        let width = if bare { 1 } else { width };
        let _ = write!(out, "{number:0width$}");
    }
}

#[cfg(test)]
mod tests {
    use tdb_codec::Datatype;
    use tdb_codec::calendar::parse as ticks;

    use super::*;

    fn shown(time: &str, format: &str) -> String {
        let instant = i128::from(ticks(Datatype::DatetimeUs, time).unwrap()) * 1000;
        let clock = Clock::new(instant, 0, None);
        let mut out = String::new();
        parse(format).unwrap().iter().for_each(|part| clock.write(part, &mut out));
        out
    }

    /// The answers of DuckDB 2.0.1.
    #[test]
    fn each_letter_is_what_duckdb_writes() {
        let time = "2024-03-05T07:08:09.123456";
        for (format, text) in [
            ("%a %A %w %u", "Tue Tuesday 2 2"),
            ("%d %j %m %B %b %h", "05 065 03 March Mar Mar"),
            ("%y %Y %G", "24 2024 2024"),
            ("%V %U %W", "10 09 10"),
            ("%H %I %p %M %S", "07 07 AM 08 09"),
            ("%f %g %n", "123456 123 123456000"),
            ("%z|%Z|%%", "+00||%"),
            ("%c|%x|%X|%T", "2024-03-05 07:08:09|2024-03-05|07:08:09|07:08:09"),
            ("%-d %-j %-m %-y %-H %-I %-M %-S", "5 65 3 24 7 7 8 9"),
            ("no", "no"),
        ] {
            assert_eq!(shown(time, format), text, "{format}");
        }
        assert_eq!(shown("2024-03-31T12:30:00", "%I %p"), "12 PM");
        assert_eq!(shown("2024-03-31T00:30:00", "%I %p"), "12 AM");
        assert_eq!(shown("0044-01-01", "%Y %y"), "0044 44");
        assert_eq!(shown("2021-01-03", "%G-%V %U %W %j"), "2020-53 01 00 003");
        for wrong in ["%e", "%-Y", "%", "%-", "a %Q"] {
            assert!(parse(wrong).unwrap_err().to_string().contains("strftime has no %"), "{wrong}");
        }
    }
}
