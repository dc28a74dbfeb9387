//! Columns that become text although they nearly were something else: why, and what to do.

use std::collections::HashSet;

use tdb_codec::Datatype;

use super::csv;
use super::dates::{DateFormat, USUAL, is_clock, offset};
use super::infer::{MOMENTS, Spot, TYPES, fits, given};
use super::notation::{Dialect, is_usual_null, null_option};
use super::table::{Cell, Mark, Table};

/// The share of the cells that may not fit the type that a column nearly has: one in so many.
const MIN_CELLS_PER_MISFIT: usize = 10;
/// The cells at the beginning of a column of which one must fit such a type.
const LOOKED_AT: usize = 200;
/// Characters of a cell that a message shows.
const MAX_SHOWN: usize = 40;

/// Why a column is text that nearly was something else, and how it becomes that; `None` if it is
/// text.
pub(super) fn reason(samples: &[Table], name: &str) -> Option<String> {
    others(samples, name).next()?;
    let with_options = |reasons: &[Reason]| {
        let reason = reasons.iter().find_map(|reason| reason(samples, name))?;
        Some(format!("{reason} ({AGAIN})"))
    };
    with_options(&[nulls, clocks, notations, offsets])
        .or_else(|| signs(samples, name))
        .or_else(|| with_options(&[misfits]))
}

/// Why a column is text, and which options make it something else.
type Reason = fn(&[Table], &str) -> Option<String>;

/// How an import begins again that has made an array: without it, the rows come twice.
const AGAIN: &str = "--force imports anew";

/// The cells of a column that are no usual word for null.
fn others<'t>(samples: &'t [Table], name: &'t str) -> impl Iterator<Item = Spot<'t>> {
    given(samples, name).filter(|spot| !is_usual_null(spot.cell.text))
}

/// It has words that mean null.
fn nulls(samples: &[Table], name: &str) -> Option<String> {
    let null = given(samples, name).find(|spot| is_usual_null(spot.cell.text))?;
    TYPES.iter().find(|datatype| others(samples, name).all(|spot| fits(**datatype, spot.cell)))?;
    let mut options: Vec<String> = Vec::new();
    let mut seen = HashSet::new();
    for spot in given(samples, name).filter(|spot| is_usual_null(spot.cell.text)) {
        if seen.insert((spot.cell.text, spot.cell.mark == Mark::Quoted)) {
            options.push(null_option(spot.cell));
        }
    }
    let options = options.join(" ");
    Some(format!("it has {} ({}): {options} makes such cells null", null.cell.text, null.at()))
}

/// It has times of day.
fn clocks(samples: &[Table], name: &str) -> Option<String> {
    let all = others(samples, name).all(|spot| is_clock(spot.cell.text));
    let fraction = others(samples, name).any(|spot| spot.cell.text.contains('.'));
    let unit = if fraction { "time_us" } else { "time_sec" };
    all.then(|| format!("it has times of day: --types '{name}={unit}' stores them as numbers"))
}

/// It has dates in another notation.
fn notations(samples: &[Table], name: &str) -> Option<String> {
    let all = |pattern: &&str| {
        let format = DateFormat::parse(pattern).ok();
        format.is_some_and(|format| others(samples, name).all(|spot| format.iso(spot.cell.text).is_some()))
    };
    let options = USUAL.into_iter().filter(all).map(|pattern| format!("--date-format '{name}={pattern}'"));
    let options = options.collect::<Vec<_>>().join(" or ");
    (!options.is_empty()).then(|| format!("its dates are not in ISO 8601: {options} reads them"))
}

/// Some of its times have an offset from UTC.
fn offsets(samples: &[Table], name: &str) -> Option<String> {
    let is_time = |spot: Spot<'_>| MOMENTS.iter().any(|datatype| fits(*datatype, spot.cell));
    let with = others(samples, name).find(|spot| offset(spot.cell.text).is_some())?;
    let without = others(samples, name).find(|spot| offset(spot.cell.text).is_none())?;
    others(samples, name).all(is_time).then(|| {
        format!(
            "some of its times have an offset from UTC ({}) and some have none ({}): --types '{name}=datetime_us' takes the latter as UTC",
            with.at(),
            without.at()
        )
    })
}

/// Its numbers are written for people: with a comma as the point, thousands apart, a currency or a
/// percent sign.
fn signs(samples: &[Table], name: &str) -> Option<String> {
    let all = |point: char, group: char| {
        others(samples, name).all(|spot| is_written_number(spot.cell.text, point, group))
    };
    // Digits alone are numbers that are meant as text: codes, or strings of JSON.
    let is_sign = |byte: u8| !byte.is_ascii_digit() && !matches!(byte, b'-' | b'+' | b'.');
    let first = others(samples, name).find(|spot| spot.cell.text.bytes().any(is_sign))?;
    let text: String = first.cell.text.chars().take(MAX_SHOWN).collect();
    let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let column = if is_plain { name.to_owned() } else { format!("\"{name}\"") };
    // Where both are possible (1,234), there is no other sign of a point.
    let number = if all('.', ',') {
        format!("regexp_replace({column}, '[^0-9.-]', '', 'g')")
    } else if all(',', '.') || all(',', ' ') {
        format!("replace(regexp_replace({column}, '[^0-9,-]', '', 'g'), ',', '.')")
    } else {
        return None;
    };
    Some(format!(
        "its numbers are written for people, such as {text:?} ({}): in SQL, CAST({number} AS DOUBLE) makes numbers of them",
        first.at()
    ))
}

/// Whether a text is a number with this point, and this character between thousands.
fn is_written_number(text: &str, point: char, group: char) -> bool {
    let text = text.trim_start_matches(['-', '+']).trim_matches(['$', '€', '£', '¥', '%', ' ', '\u{a0}']);
    let text = text.trim_start_matches(['-', '+']);
    let (whole, part) = text.split_once(point).unwrap_or((text, ""));
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let mut groups = whole.split(group);
    let first = groups.next().unwrap_or_default();
    let mut others = groups.peekable();
    let is_grouped = others.peek().is_none() || first.len() <= 3;
    is_digits(first)
        && is_grouped
        && others.all(|group| group.len() == 3 && is_digits(group))
        && (part.is_empty() && !text.ends_with(point) || is_digits(part))
}

/// A few of its cells do not fit the type of the others.
fn misfits(samples: &[Table], name: &str) -> Option<String> {
    let count = given(samples, name).count();
    let most = count.checked_div(MIN_CELLS_PER_MISFIT).unwrap_or(0);
    let nearly = |datatype: Datatype| {
        given(samples, name).take(LOOKED_AT).find(|spot| fits(datatype, spot.cell))?;
        let others = given(samples, name).filter(|spot| !fits(datatype, spot.cell));
        let misfits = others.take(most.saturating_add(1)).count();
        (1..=most).contains(&misfits).then_some((datatype, misfits))
    };
    let (datatype, misfits) = TYPES.into_iter().find_map(nearly)?;
    let first = given(samples, name).find(|spot| !fits(datatype, spot.cell))?;
    let text: String = first.cell.text.chars().take(MAX_SHOWN).collect();
    let of = if misfits == 1 { "one" } else { "some" };
    Some(format!(
        "{of} of its {count} cells, such as {text:?} ({}), is no {}: {} makes that null",
        first.at(),
        kind(datatype),
        null_option(first.cell)
    ))
}

/// What is odd about the names of columns: they look like cells, or like several names.
pub(super) fn names(names: &[String], dialect: &Dialect) -> Option<String> {
    if let [one] = names
        && let Some(delimiter) =
            csv::separator_line(one).or_else(|| csv::other_delimiter(one, dialect.delimiter))
    {
        let name: String = one.chars().take(MAX_SHOWN).collect();
        return Some(format!(
            "there is one column, {name:?}: --delimiter {delimiter} says what is between cells"
        ));
    }
    if dialect.header_given {
        return None;
    }
    let is_cell = |name: &&String| {
        let cell = Cell { text: name, mark: Mark::Open };
        let is_year = name.parse().is_ok_and(|year: u32| (1500..2200).contains(&year));
        name.is_empty() || !is_year && TYPES.into_iter().any(|datatype| fits(datatype, cell))
    };
    let cells = names.iter().filter(is_cell).count();
    // A first column without a name, or years as names, are usual.
    if cells.saturating_mul(2) < names.len() || names.iter().all(String::is_empty) {
        return None;
    }
    let first = names.iter().filter(is_cell).find(|name| !name.is_empty())?;
    Some(format!(
        "names of columns look like cells, such as {first:?}: --header no takes the first line as cells, --header yes as names"
    ))
}

/// What values of a type are, in plain words.
const fn kind(datatype: Datatype) -> &'static str {
    match datatype {
        Datatype::Int64 | Datatype::Uint64 => "integer",
        Datatype::Bool => "boolean",
        Datatype::Float64 => "number",
        _ => "date",
    }
}

#[cfg(test)]
mod tests {
    use super::super::chunks::Chunk;
    use super::super::notation::Nulls;
    use super::*;

    fn reason(cells: &[&str]) -> Option<String> {
        let text = format!("a\tb\n{}", cells.iter().map(|cell| format!("{cell}\t\n")).collect::<String>());
        let chunk = Chunk { text: text.into(), line: 1, before: 0, file: 0 };
        let table = csv::parse(&chunk, &Dialect::new('\t'), &Nulls::default(), None).unwrap();
        super::reason(&[table], "a")
    }

    #[test]
    fn a_column_that_nearly_was_something_else_says_why_it_is_text() {
        for (cells, wanted) in [
            (
                &["1", "NA", "2", "-", "NA"][..],
                "it has NA (line 3): --null NA --null - makes such cells null",
            ),
            (&["\"NA\"", "1"], "--null '\"NA\"' makes such"),
            (&["NULL", "2020-01-01"], "it has NULL (line 2): --null NULL makes"),
            (
                &["3,07", "NA", "-1.204,5"],
                "in SQL, CAST(replace(regexp_replace(a, '[^0-9,-]', '', 'g'), ',', '.') AS",
            ),
            (
                &["$1,010.50", "-$3"],
                "\"$1,010.50\" (line 2): in SQL, CAST(regexp_replace(a, '[^0-9.-]', '', 'g') AS DOUBLE)",
            ),
            (&["5%", "12.5 %"], "CAST(regexp_replace(a, "),
            (&["1,000", "999"], "CAST(regexp_replace(a, "),
            (&["12:30:00", "23:59:59"], "--types 'a=time_sec'"),
            (&["12:30:00.5", "23:59"], "--types 'a=time_us'"),
            (&["2012/01/31", "2012/02/01", "NA"], "--date-format 'a=%Y/%m/%d' reads them"),
            (&["01/02/2012", "03/04/2012"], "--date-format 'a=%d/%m/%Y' or --date-format 'a=%m/%d/%Y' reads"),
            (&["01/02/2012", "13/04/2012"], "--date-format 'a=%d/%m/%Y' reads them"),
            (&["31.03.2025 23:45", "01.04.2025 00:00"], "--date-format 'a=%d.%m.%Y %H:%M' reads them"),
            (&["31-03-2025 23:45:10"], "--date-format 'a=%d-%m-%Y %H:%M:%S' reads them"),
            (
                &["2020-01-01T00:00:00Z", "2020-01-01T00:00:00"],
                "an offset from UTC (line 2) and some have none (line 3)",
            ),
            (
                &["1", "2", "3", "4", "5", "6", "7", "8", "9", "ten"],
                "one of its 10 cells, such as \"ten\" (line 11), is no integer",
            ),
        ] {
            let found = reason(cells);
            assert!(found.as_deref().is_some_and(|found| found.contains(wanted)), "{cells:?}: {found:?}");
        }
    }

    #[test]
    fn text_is_text_without_a_word() {
        for cells in [
            &["a", "b"][..],
            &["1", "x"],
            &["NA", "a"],
            &["NA", "NA"],
            &["2012/01/31", "x"],
            &["12:30", "x"],
            &["1,2,3", "4"],
            &["1.2.3.4", "5"],
            &["%", "$"],
        ] {
            assert_eq!(reason(cells), None, "{cells:?}");
        }
    }

    #[test]
    fn names_that_look_like_cells_are_told() {
        let told = |list: &[&str], dialect: &Dialect| {
            let list: Vec<String> = list.iter().map(|name| (*name).to_owned()).collect();
            names(&list, dialect)
        };
        let csv = Dialect::new(',');
        assert!(told(&["a;b"], &csv).unwrap().contains("--delimiter ';' says"));
        assert!(told(&["sep=;"], &csv).unwrap().contains("--delimiter ';' --skip 1 says"));
        assert!(told(&["1", "x", "2020-01-01"], &csv).unwrap().contains("such as \"1\": --header no"));
        assert_eq!(told(&["1", "2"], &Dialect { header_given: true, ..csv.clone() }), None);
        for list in [&["a"][..], &["", "a", "b"], &["country", "2019", "2020"], &["", ""], &["a", "a"]] {
            assert_eq!(told(list, &csv), None, "{list:?}");
        }
    }
}
