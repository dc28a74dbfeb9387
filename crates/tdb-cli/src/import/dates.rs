//! Dates and times of day in other notations than ISO 8601, and offsets from UTC.

use std::borrow::Cow;

use tdb_codec::Datatype;
use tdb_text::parse::date_ticks;

/// The names of months, of which the first three letters are enough.
const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// A notation of dates or times of day, as `strptime` takes it: `%d/%m/%Y`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DateFormat {
    pattern: String,
    items: Vec<Item>,
    /// Whether the numbers have a character between them, so that one digit is enough.
    apart: Vec<bool>,
    has_date: bool,
    has_clock: bool,
}

/// A part of a notation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Item {
    Literal(char),
    Year,
    /// Two digits: 69 to 99 are of the twentieth century, as in POSIX.
    ShortYear,
    Month,
    MonthName,
    Day,
    Hour,
    /// From 1 to 12, with [`Item::Half`].
    HalfHour,
    Half,
    Minute,
    Second,
    Fraction,
    Offset,
}

/// The notations of dates of a file: for all columns, or for one.
#[derive(Clone, Debug, Default)]
pub(super) struct DateFormats(Vec<(Option<String>, DateFormat)>);

/// The dates or times of day of one column.
#[derive(Debug)]
pub(super) struct ColumnDates<'d> {
    datatype: Datatype,
    formats: Vec<&'d DateFormat>,
    /// The notation that was given for this column.
    named: Option<&'d DateFormat>,
}

impl DateFormat {
    pub(super) fn parse(pattern: &str) -> Result<Self, String> {
        let expanded = [("%F", "%Y-%m-%d"), ("%T", "%H:%M:%S"), ("%R", "%H:%M"), ("%D", "%m/%d/%y")];
        let expanded =
            expanded.iter().fold(pattern.to_owned(), |text, (short, long)| text.replace(short, long));
        let mut items = Vec::new();
        let mut chars = expanded.chars();
        while let Some(c) = chars.next() {
            items.push(match (c, if c == '%' { chars.next() } else { None }) {
                ('%', Some('Y')) => Item::Year,
                ('%', Some('y')) => Item::ShortYear,
                ('%', Some('m')) => Item::Month,
                ('%', Some('b' | 'B' | 'h')) => Item::MonthName,
                ('%', Some('d' | 'e')) => Item::Day,
                ('%', Some('H')) => Item::Hour,
                ('%', Some('I')) => Item::HalfHour,
                ('%', Some('p' | 'P')) => Item::Half,
                ('%', Some('M')) => Item::Minute,
                ('%', Some('S')) => Item::Second,
                ('%', Some('f')) => Item::Fraction,
                ('%', Some('z')) => Item::Offset,
                ('%', Some('%')) => Item::Literal('%'),
                ('%', other) => {
                    let other = other.map(String::from).unwrap_or_default();
                    return Err(format!(
                        "--date-format {pattern:?}: %{other} is not known; known are %Y %y %m %b %d %H %I %p %M %S %f %z %F %T %R %D %%"
                    ));
                }
                (c, _) => Item::Literal(c),
            });
        }
        let is_number = |at: usize| items.get(at).is_some_and(|item| item.is_number());
        let apart = |at: usize| !at.checked_sub(1).is_some_and(is_number) && !is_number(at.saturating_add(1));
        let apart = (0..items.len()).map(apart).collect();
        let has = |wanted: &[Item]| items.iter().any(|item| wanted.contains(item));
        let year = has(&[Item::Year, Item::ShortYear]);
        let (month, day) = (has(&[Item::Month, Item::MonthName]), has(&[Item::Day]));
        let has_clock = has(&[Item::Hour, Item::HalfHour]);
        let finer = has(&[Item::Minute, Item::Second, Item::Fraction, Item::Offset, Item::Half]);
        let lacks = match () {
            () if (month || day) && !year => Some("a year (%Y)"),
            () if day && !month => Some("a month (%m)"),
            () if !has_clock && (finer || !year) => Some("an hour (%H), or a year (%Y)"),
            () if has(&[Item::HalfHour]) != has(&[Item::Half]) => Some("%I and %p together"),
            () => None,
        };
        match lacks {
            Some(what) => Err(format!("--date-format {pattern:?}: {what} is needed")),
            None => Ok(Self { pattern: pattern.to_owned(), items, apart, has_date: year, has_clock }),
        }
    }

    /// The same moment in ISO 8601, a time of day as one of the first day; `None` if the text is
    /// written in another way.
    pub(super) fn iso(&self, text: &str) -> Option<String> {
        let mut rest = text;
        let (mut year, mut month, mut day) = (1970, 1, 1);
        let (mut hour, mut minute, mut second) = (0, 0, 0);
        let (mut afternoon, mut fraction, mut offset) = (None, "", "");
        for (item, apart) in self.items.iter().zip(&self.apart) {
            let least = if *apart { 1 } else { 2 };
            match item {
                Item::Literal(c) => rest = rest.strip_prefix(*c)?,
                Item::Year => year = number(&mut rest, 4, 4)?,
                Item::ShortYear => {
                    let short = number(&mut rest, 2, 2)?;
                    year = if short < 69 { 2000 + short } else { 1900 + short };
                }
                Item::Month => month = number(&mut rest, least, 2)?,
                Item::MonthName => month = month_of(&mut rest)?,
                Item::Day => {
                    rest = rest.strip_prefix(' ').unwrap_or(rest);
                    day = number(&mut rest, least, 2)?;
                }
                Item::Hour => hour = number(&mut rest, least, 2)?,
                Item::HalfHour => {
                    hour = number(&mut rest, least, 2).filter(|hour| (1..=12).contains(hour))? % 12;
                }
                Item::Half => {
                    let (half, behind) = rest.split_at_checked(2)?;
                    let half = half.to_ascii_lowercase();
                    afternoon = Some(matches!(half.as_str(), "am" | "pm").then(|| half == "pm")?);
                    rest = behind;
                }
                Item::Minute => minute = number(&mut rest, least, 2)?,
                Item::Second => second = number(&mut rest, least, 2)?,
                Item::Fraction => fraction = taken(&mut rest, |c| c.is_ascii_digit())?,
                Item::Offset => {
                    offset = taken(&mut rest, |c| matches!(c, 'Z' | 'z' | '+' | '-' | ':' | '0'..='9'))?;
                }
            }
        }
        if !rest.is_empty() {
            return None;
        }
        let hour = if afternoon == Some(true) { hour + 12 } else { hour };
        let mut iso = format!("{year:04}-{month:02}-{day:02}");
        if self.has_clock {
            iso += &format!("T{hour:02}:{minute:02}:{second:02}");
            if !fraction.is_empty() {
                iso += &format!(".{fraction}");
            }
            iso += offset;
        }
        // Whether all this exists; attoseconds would leave no room for the years of history.
        tdb_codec::calendar::span(Datatype::DatetimeDay, iso.get(..10)?).ok()?;
        date_ticks(Datatype::DatetimeNs, &iso).or_else(|_| date_ticks(Datatype::DatetimeUs, &iso)).ok()?;
        Some(iso)
    }
}

impl Item {
    /// Whether it is written in digits.
    const fn is_number(self) -> bool {
        !matches!(self, Self::Literal(_) | Self::MonthName | Self::Half | Self::Offset)
    }
}

/// A number with so many digits, which is taken off a text.
fn number(rest: &mut &str, least: usize, most: usize) -> Option<u32> {
    let digits = rest.bytes().take(most).take_while(u8::is_ascii_digit).count();
    let (number, behind) = rest.split_at_checked(digits).filter(|_| digits >= least)?;
    *rest = behind;
    number.parse().ok()
}

/// Some characters, which are taken off a text.
fn taken<'t>(rest: &mut &'t str, is_part: impl Fn(char) -> bool) -> Option<&'t str> {
    let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
    let (part, behind) = rest.split_at_checked(end).filter(|_| end > 0)?;
    *rest = behind;
    Some(part)
}

/// The number of a month whose English name is taken off a text, or its first three letters.
fn month_of(rest: &mut &str) -> Option<u32> {
    let name = taken(rest, |c| c.is_ascii_alphabetic())?.to_ascii_lowercase();
    let is = |month: &str| month == name || name.len() == 3 && month.starts_with(&name);
    let at = MONTHS.iter().position(|month| is(month))?;
    u32::try_from(at).ok().map(|at| at.saturating_add(1))
}

impl DateFormats {
    /// Notations from the command line: `FORMAT`, or `NAME=FORMAT` for a column.
    pub(super) fn parse(texts: &[String]) -> Result<Self, String> {
        let one = |text: &String| {
            let before = text.find('%').and_then(|at| text.get(..at)).unwrap_or(text);
            let (name, pattern) = match before.rfind('=').and_then(|at| text.split_at_checked(at)) {
                Some((name, pattern)) => {
                    (Some(name.to_owned()), pattern.strip_prefix('=').unwrap_or(pattern))
                }
                None => (None, text.as_str()),
            };
            Ok((name, DateFormat::parse(pattern)?))
        };
        texts.iter().map(one).collect::<Result<_, String>>().map(Self)
    }

    /// The columns for which a notation was given.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|(name, _)| name.as_deref())
    }

    /// The first notation for all columns.
    pub(super) fn for_all(&self) -> Option<&str> {
        self.0.iter().find(|(name, _)| name.is_none()).map(|(_, format)| format.pattern.as_str())
    }

    /// The notations that a column may have: those that were given for it, or else those for all.
    pub(super) fn of(&self, column: &str) -> Vec<&DateFormat> {
        let of = |wanted: Option<&str>| -> Vec<&DateFormat> {
            let formats = self.0.iter().filter(|(name, _)| name.as_deref() == wanted);
            formats.map(|(_, format)| format).collect()
        };
        let own = of(Some(column));
        if own.is_empty() { of(None) } else { own }
    }

    /// How the cells of a column are read; `None` if they are as they are.
    pub(super) fn of_column(&self, column: &str, datatype: Datatype) -> Option<ColumnDates<'_>> {
        let formats = if datatype.is_datetime() || datatype.is_time() { self.of(column) } else { Vec::new() };
        let named = formats.first().copied().filter(|_| self.names().any(|name| name == column));
        let needed = !formats.is_empty() || datatype.is_time();
        needed.then_some(ColumnDates { datatype, formats, named })
    }
}

impl ColumnDates<'_> {
    /// The text of a cell as cells of its type are usually written.
    pub(super) fn text<'t>(&self, text: &'t str) -> Result<Cow<'t, str>, String> {
        let iso = self.formats.iter().find_map(|format| format.iso(text));
        if self.datatype.is_time() {
            let clock = iso.or_else(|| is_clock(text).then(|| format!("1970-01-01T{text}")));
            return match (clock, self.named) {
                (Some(clock), _) => Ok(date_ticks(date_of(self.datatype), &clock)?.to_string().into()),
                (None, Some(format)) => Err(other_notation(text, format)),
                (None, None) => Ok(text.into()),
            };
        }
        match (iso, self.named) {
            (Some(iso), _) => Ok(iso.into()),
            (None, _) if text == "NaT" => Ok(text.into()),
            (None, Some(format)) => Err(other_notation(text, format)),
            // What is a number in another notation must not become ticks.
            (None, None) => date_ticks(self.datatype, text).map(|_| text.into()),
        }
    }
}

fn other_notation(text: &str, format: &DateFormat) -> String {
    format!("{text:?} is not written as {}", format.pattern)
}

/// Whether a text is a time of day, such as `12:30:00`.
pub(super) fn is_clock(text: &str) -> bool {
    let is_start = matches!(text.as_bytes(), [a, b, b':', ..] if a.is_ascii_digit() && b.is_ascii_digit());
    let only = text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b':' | b'.'));
    is_start && only && tdb_codec::calendar::span(Datatype::DatetimeUs, &format!("1970-01-01T{text}")).is_ok()
}

/// The type of dates whose unit a time of day has.
const fn date_of(time: Datatype) -> Datatype {
    match time {
        Datatype::TimeHr => Datatype::DatetimeHr,
        Datatype::TimeMin => Datatype::DatetimeMin,
        Datatype::TimeSec => Datatype::DatetimeSec,
        Datatype::TimeMs => Datatype::DatetimeMs,
        Datatype::TimeUs => Datatype::DatetimeUs,
        Datatype::TimePs => Datatype::DatetimePs,
        Datatype::TimeFs => Datatype::DatetimeFs,
        Datatype::TimeAs => Datatype::DatetimeAs,
        _ => Datatype::DatetimeNs,
    }
}

/// The offset from UTC at the end of a date in ISO 8601, if there is one: `UTC`, `+02:00`.
pub(super) fn offset(text: &str) -> Option<String> {
    let at = text.find(['T', 't', ' '])?;
    let clock = text.get(at.saturating_add(1)..)?;
    let zone = clock.get(clock.find(['Z', 'z', '+', '-'])?..)?;
    let digits: String = zone.chars().filter(char::is_ascii_digit).collect();
    if digits.bytes().all(|digit| digit == b'0') {
        return Some("UTC".to_owned());
    }
    let (hours, minutes) = digits.split_at_checked(2)?;
    let minutes = if minutes.is_empty() { "00" } else { minutes };
    Some(format!("{}{hours}:{minutes}", zone.get(..1)?))
}

/// Notations that files often have: a column that is text may be written in one of them.
pub(super) const USUAL: [&str; 19] = [
    "%Y/%m/%d",
    "%d/%m/%Y",
    "%m/%d/%Y",
    "%d.%m.%Y",
    "%d-%m-%Y",
    "%d %b %Y",
    "%b %d %Y",
    "%b %d, %Y",
    "%Y/%m/%d %H:%M:%S",
    "%d/%m/%Y %H:%M:%S",
    "%m/%d/%Y %H:%M:%S",
    "%d.%m.%Y %H:%M:%S",
    "%d-%m-%Y %H:%M:%S",
    "%Y/%m/%d %H:%M",
    "%d/%m/%Y %H:%M",
    "%m/%d/%Y %H:%M",
    "%d.%m.%Y %H:%M",
    "%d-%m-%Y %H:%M",
    "%m/%d/%Y %I:%M:%S %p",
];

/// The types of what this notation says, from coarse to fine.
pub(super) fn types(formats: &[&DateFormat]) -> &'static [Datatype] {
    use Datatype as D;
    match formats.first() {
        Some(format) if !format.has_date => &[D::TimeSec, D::TimeMs, D::TimeUs, D::TimeNs],
        Some(format) if !format.has_clock => &[D::DatetimeDay],
        _ => &[D::DatetimeDay, D::DatetimeMs, D::DatetimeUs, D::DatetimeNs],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn iso(pattern: &str, text: &str) -> Option<String> {
        DateFormat::parse(pattern).unwrap().iso(text)
    }

    #[test]
    fn a_notation_says_what_the_parts_of_a_date_are() {
        for (pattern, text, wanted) in [
            ("%Y/%m/%d", "2012/1/31", "2012-01-31"),
            ("%d.%m.%y", "01.02.69", "1969-02-01"),
            ("%d.%m.%y", "01.02.68", "2068-02-01"),
            ("%Y%m%d", "20120131", "2012-01-31"),
            ("%b %d, %Y", "Sep 9, 2001", "2001-09-09"),
            ("%e %B %Y", " 9 september 2001", "2001-09-09"),
            ("%D %I:%M %p", "12/31/99 12:05 AM", "1999-12-31T00:05:00"),
            ("%D %I:%M%p", "12/31/99 12:05pm", "1999-12-31T12:05:00"),
            ("%F %T.%f %z", "2001-02-03 04:05:06.789 +02:00", "2001-02-03T04:05:06.789+02:00"),
            ("%R", "12:30", "1970-01-01T12:30:00"),
            ("%Y", "2012", "2012-01-01"),
            ("100%% %Y", "100% 2012", "2012-01-01"),
        ] {
            assert_eq!(iso(pattern, text).as_deref(), Some(wanted), "{pattern} {text}");
        }
        for (pattern, text) in [
            ("%Y/%m/%d", "2012/13/31"),
            ("%Y/%m/%d", "2013/02/29"),
            ("%Y/%m/%d", "2012/01/31 "),
            ("%Y/%m/%d", "12/01/31"),
            ("%Y%m%d", "2012021"),
            ("%R", "24:00"),
            ("%I %p", "13 pm"),
            ("%b %Y", "Sept 2001"),
            ("%F %R%z", "2012-01-01 12:00+99:00"),
            ("%T", ""),
        ] {
            assert_eq!(iso(pattern, text), None, "{pattern} {text}");
        }
    }

    #[test]
    fn a_notation_that_says_no_date_is_refused() {
        for (pattern, why) in [
            ("%d/%m", "a year"),
            ("%Y-%d", "a month"),
            ("%M:%S", "an hour"),
            ("x", "an hour"),
            ("%I", "together"),
            ("%Q", "%Q is not known"),
            ("%Y%", "% is not known"),
        ] {
            let error = DateFormat::parse(pattern).unwrap_err();
            assert!(error.contains(why), "{pattern}: {error}");
        }
    }

    #[test]
    fn a_notation_is_for_one_column_or_for_all_that_have_no_own() {
        let formats =
            DateFormats::parse(&["a=b=%Y".to_owned(), "%F".to_owned(), "c=%d=%m=%Y".to_owned()]).unwrap();
        assert_eq!(formats.names().collect::<Vec<_>>(), ["a=b", "c"]);
        let read = |column: &str, datatype, text: &str| {
            formats.of_column(column, datatype).unwrap().text(text).map(Cow::into_owned)
        };
        assert_eq!(read("c", Datatype::DatetimeDay, "01=02=2003").as_deref(), Ok("2003-02-01"));
        assert!(read("c", Datatype::DatetimeDay, "2003-02-01").unwrap_err().contains("%d=%m=%Y"));
        assert_eq!(read("x", Datatype::DatetimeMs, "2003-02-01T12:00").as_deref(), Ok("2003-02-01T12:00"));
        assert!(read("x", Datatype::DatetimeMs, "17").is_err(), "these are no ticks");
        assert!(formats.of_column("c", Datatype::Int64).is_none());
        let clock = |datatype, text: &str| {
            DateFormats::default().of_column("t", datatype).unwrap().text(text).map(Cow::into_owned)
        };
        assert_eq!(clock(Datatype::TimeSec, "12:30:01").as_deref(), Ok("45001"));
        assert_eq!(clock(Datatype::TimeMs, "00:00:01.5").as_deref(), Ok("1500"));
        assert_eq!(clock(Datatype::TimeSec, "17").as_deref(), Ok("17"));
        assert!(clock(Datatype::TimeSec, "00:00:00.5").is_err());
    }

    #[test]
    fn an_offset_is_told_from_a_date() {
        assert_eq!(offset("2024-03-31T01:30:00Z").as_deref(), Some("UTC"));
        assert_eq!(offset("2024-03-31 01:30:00+00:00").as_deref(), Some("UTC"));
        assert_eq!(offset("2024-03-31 01:30-0330").as_deref(), Some("-03:30"));
        assert_eq!(offset("2024-03-31 01:30+02").as_deref(), Some("+02:00"));
        assert_eq!((offset("2024-03-31 01:30"), offset("2024-03-31")), (None, None));
    }
}
