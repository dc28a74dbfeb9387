//! The types of the columns of a new array: given, or those that fit the first rows.

use serde_json::{Map, Value, json};
use tdb_codec::digits::{NotReal, is_integer, keeps_integer, nearest};
use tdb_codec::{CellValNum, Datatype};
use tdb_text::parse::date_ticks;
use tdb_text::schema::{datatype as parse_datatype, usual_cells};
use tdb_text::suggest::hint;
use tdb_text::value::cell_val_num_json;

use super::convert::{is_boolean, is_number, one};
use super::dates::{self, DateFormats, offset};
use super::nearly;
use super::notation::null_remedy;
use super::table::{Cell, Mark, Table};
use crate::ranges::parse_names;

/// Types that a column may have, other than text: the first one that fits all of its cells is used.
pub(super) const TYPES: [Datatype; 8] = [
    Datatype::Int64,
    Datatype::Uint64,
    Datatype::Bool,
    Datatype::Float64,
    Datatype::DatetimeDay,
    Datatype::DatetimeMs,
    Datatype::DatetimeUs,
    Datatype::DatetimeNs,
];

/// The types of times.
pub(super) const MOMENTS: [Datatype; 3] = [Datatype::DatetimeMs, Datatype::DatetimeUs, Datatype::DatetimeNs];

/// A column of a new array.
#[derive(Debug)]
pub(super) struct NewColumn {
    pub(super) name: String,
    pub(super) datatype: Datatype,
    /// Whether the type was not given, but fits the first rows.
    pub(super) inferred: bool,
    pub(super) nullable: bool,
    /// The offset from UTC of its times.
    pub(super) zone: Option<String>,
}

/// The type of a column that was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct GivenType {
    pub(super) column: String,
    pub(super) datatype: Datatype,
    /// Whether cells may be null although none is.
    pub(super) nullable: bool,
}

/// A cell that is not null, and its place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spot<'t> {
    table: &'t Table,
    line: usize,
    pub(super) cell: Cell<'t>,
}

impl Spot<'_> {
    /// Its place, for messages.
    pub(super) fn at(&self) -> String {
        self.table.at(self.line)
    }
}

/// The cells of a column that are not null.
pub(super) fn given<'t>(samples: &'t [Table], name: &'t str) -> impl Iterator<Item = Spot<'t>> {
    let of = move |table: &'t Table| {
        let cells = table.column(name).map(|column| table.cells(column));
        cells.into_iter().flatten().map(move |(line, cell)| Spot { table, line, cell })
    };
    samples.iter().flat_map(of).filter(|spot| spot.cell.mark != Mark::Null)
}

/// Types from the command line: `NAME=TYPE` or `NAME=TYPE?`, separated by commas.
pub(super) fn parse_types(texts: &[String]) -> Result<Vec<GivenType>, String> {
    let one = |text: String| {
        let (column, datatype) = text.rsplit_once('=').ok_or_else(|| {
            format!(
                "--types {text:?} is not NAME=TYPE, such as 'zip=string' (several are separated by commas)"
            )
        })?;
        let (datatype, nullable) = datatype.strip_suffix('?').map_or((datatype, false), |kind| (kind, true));
        let datatype = parse_datatype(datatype).map_err(|error| format!("--types {text:?}: {error}"))?;
        Ok(GivenType { column: column.to_owned(), datatype, nullable })
    };
    texts.iter().flat_map(|text| parse_names(text)).map(one).collect()
}

/// The columns for tables, which may be only the first rows of files, and what the user should know
/// about them.
pub(super) fn columns(
    samples: &[Table],
    whole: bool,
    types: &[GivenType],
    dates: &DateFormats,
) -> Result<(Vec<NewColumn>, Vec<String>), String> {
    let mut names: Vec<&String> = Vec::new();
    for name in samples.iter().flat_map(Table::names) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    if let Some(given) = types.iter().find(|given| !names.contains(&&given.column)) {
        let (name, all) = (&given.column, names.iter().map(|name| name.as_str()).collect::<Vec<_>>());
        let hint = hint(name, all.iter().copied());
        return Err(format!("--types: there is no column {name:?} (there are {}){hint}", all.join(", ")));
    }
    let mut notes = Vec::new();
    let mut columns = Vec::with_capacity(names.len());
    for name in names {
        let given = types.iter().rev().find(|given| given.column == *name);
        let datatype = match given {
            Some(given) => {
                check_given(given, dates)?;
                given.datatype
            }
            None => datatype(samples, name, dates, &mut notes)?.unwrap_or(Datatype::StringUtf8),
        };
        // In rows that were not looked at, any cell may be empty.
        let null = |table: &Table| match table.column(name) {
            Some(column) => table.cells(column).any(|(_, cell)| cell.mark == Mark::Null),
            None => table.is_of_objects() && table.len() > 0,
        };
        let nullable = !whole || given.is_some_and(|given| given.nullable) || samples.iter().any(null);
        let zone = zone(samples, name, datatype, dates);
        columns.push(NewColumn { name: name.clone(), datatype, inferred: given.is_none(), nullable, zone });
    }
    let is_date = |column: &NewColumn| column.datatype.is_datetime() || column.datatype.is_time();
    match dates.for_all() {
        Some(format) if !columns.iter().any(is_date) => {
            Err(format!("--date-format {format:?}: no column has only cells that are written so"))
        }
        _ => Ok((columns, notes)),
    }
}

/// Returns an error if a column has a notation of dates, but another type.
fn check_given(given: &GivenType, dates: &DateFormats) -> Result<(), String> {
    let GivenType { column, datatype, .. } = given;
    if dates.names().any(|name| name == column) && !datatype.is_datetime() && !datatype.is_time() {
        return Err(format!("--date-format {column:?}: its type is {datatype}, which has no dates"));
    }
    Ok(())
}

/// The offset from UTC of the times of a column, if these have one: that of all of them, or UTC.
fn zone(samples: &[Table], name: &str, datatype: Datatype, dates: &DateFormats) -> Option<String> {
    if !datatype.is_datetime() {
        return None;
    }
    let formats = dates.of(name);
    let of = |spot: Spot<'_>| {
        let iso = formats.iter().find_map(|format| format.iso(spot.cell.text));
        offset(iso.as_deref().unwrap_or(spot.cell.text))
    };
    let mut offsets = given(samples, name).filter(|spot| spot.cell.text != "NaT").map(of);
    let first = offsets.find(Option::is_some)??;
    let same = offsets.all(|other| other.is_none_or(|other| other == first));
    Some(if same { first } else { "UTC".to_owned() })
}

/// The remedy if a cell does not fit a type that was inferred.
pub(super) fn remedy(name: &str, cell: Cell<'_>) -> String {
    let wider = if !is_padded(cell.text) && fits(Datatype::Float64, cell) { "float64" } else { "string" };
    format!(
        "; the type was inferred from the first rows: --types '{name}=TYPE' gives another one, such as {wider}"
    )
}

/// An attribute in JSON.
pub(super) fn attribute(column: &NewColumn) -> Value {
    let mut attribute = Map::new();
    let mut tell = |key: &str, value: Value| drop(attribute.insert(key.to_owned(), value));
    tell("name", json!(column.name));
    tell("datatype", json!(column.datatype.name()));
    let cells = usual_cells(column.datatype);
    if cells != CellValNum::ONE {
        tell("cell_val_num", cell_val_num_json(cells));
    }
    tell("nullable", json!(column.nullable));
    tell("filters", json!([{"name": "zstd", "level": 3}]));
    Value::Object(attribute)
}

/// The type of a column; `None` for text. Where that is not what one would expect, a note says why.
fn datatype(
    samples: &[Table],
    name: &str,
    dates: &DateFormats,
    notes: &mut Vec<String>,
) -> Result<Option<Datatype>, String> {
    let cells = || given(samples, name);
    if cells().next().is_none() {
        return Ok(None);
    }
    let formats = dates.of(name);
    if !formats.is_empty() {
        let iso = |spot: Spot<'_>| match spot.cell.text {
            "NaT" => Some("NaT".to_owned()),
            text => formats.iter().find_map(|format| format.iso(text)),
        };
        let misfit = cells().find(|spot| iso(*spot).is_none());
        match misfit {
            None => {
                let all = |datatype: &&Datatype| {
                    cells().all(|spot| iso(spot).is_some_and(|iso| is_date(**datatype, &iso)))
                };
                if let Some(datatype) = dates::types(&formats).iter().find(all) {
                    return Ok(Some(*datatype));
                }
            }
            Some(spot) if dates.names().any(|other| other == name) => {
                let text = spot.cell.text;
                return Err(format!(
                    "{}, column {name:?}: {text:?} is not written as --date-format says{}",
                    spot.at(),
                    null_remedy(spot.cell)
                ));
            }
            Some(_) => {}
        }
    }
    let fitting = TYPES.into_iter().find(|datatype| cells().all(|spot| fits(*datatype, spot.cell)));
    let Some(datatype) = fitting.filter(|datatype| !datatype.is_datetime() || has_one_zone(samples, name))
    else {
        let reason = nearly::reason(samples, name);
        notes.extend(reason.map(|reason| format!("column {name:?} becomes text: {reason}")));
        return Ok(None);
    };
    let integers = cells().all(|spot| is_integer(spot.cell.text));
    let lost = cells().find_map(|spot| Some((spot, lost(datatype, integers, spot.cell.text)?)));
    let Some((spot, why)) = lost else { return Ok(Some(datatype)) };
    let (at, text) = (spot.at(), spot.cell.text);
    notes.push(format!("column {name:?} becomes text, because it has {why} ({at}: {text})"));
    Ok(None)
}

/// Whether all times of a column have an offset from UTC, or none has.
fn has_one_zone(samples: &[Table], name: &str) -> bool {
    let mut times = given(samples, name).map(|spot| spot.cell.text).filter(|text| *text != "NaT");
    let first = times.next().is_some_and(|text| offset(text).is_some());
    times.all(|text| offset(text).is_some() == first)
}

/// The kind of numbers that a column would not keep as this type; `None` for a number that it
/// keeps.
/// `integers` says that the column has nothing else.
fn lost(datatype: Datatype, integers: bool, text: &str) -> Option<&'static str> {
    let is_past = || text.parse::<i64>().is_err();
    match datatype {
        _ if is_number(datatype) && is_padded(text) => Some("numbers with leading zeros"),
        Datatype::Float64 if integers => is_past().then_some("integers that do not fit one type of 64 bits"),
        Datatype::Float64 if !keeps_integer(datatype, text) => Some("integers that FLOAT64 would change"),
        Datatype::Float64 if nearest::<f64>(text) == Err(NotReal::TooLarge) => {
            Some("numbers beyond the largest FLOAT64")
        }
        _ => None,
    }
}

/// Whether a column of this type may have this cell.
pub(super) fn fits(datatype: Datatype, Cell { text, mark }: Cell<'_>) -> bool {
    if datatype.is_datetime() {
        return is_date(datatype, text);
    }
    match datatype {
        Datatype::Bool => mark != Mark::Text && is_boolean(text),
        // JSON has no other notation for what is not finite.
        Datatype::Float64 if mark == Mark::Text => nearest(text).is_ok_and(|value: f64| !value.is_finite()),
        // What is beyond the largest real is a number, too: the column becomes text for another
        // reason.
        Datatype::Float64 => mark != Mark::Text && nearest::<f64>(text) != Err(NotReal::Syntax),
        _ => mark != Mark::Text && one(datatype, text).is_ok(),
    }
}

/// Whether a column of dates or times of day may have this cell, in ISO 8601.
fn is_date(datatype: Datatype, text: &str) -> bool {
    if datatype.is_time() {
        let all = DateFormats::default();
        return all
            .of_column("", datatype)
            .is_some_and(|dates| dates.text(text.trim_start_matches("1970-01-01T")).is_ok());
    }
    // An integer would be accepted as a number of days. A day has no zone.
    let is_day = datatype == Datatype::DatetimeDay;
    text == "NaT" || date_ticks(datatype, text).is_ok() && !(is_day && offset(text).is_some())
}

/// Whether a text is an integer with leading zeros, which a number would lose.
pub(super) fn is_padded(text: &str) -> bool {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let rest = digits.strip_prefix('0').filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    rest.is_some_and(|rest| !rest.contains('.'))
}

#[cfg(test)]
mod tests {
    use super::super::chunks::Chunk;
    use super::super::notation::{Dialect, Nulls};
    use super::super::{csv as of_csv, ndjson};
    use super::*;

    fn chunk(text: impl Into<Vec<u8>>) -> Chunk {
        Chunk { text: text.into(), line: 1, before: 0, file: 0 }
    }

    fn csv(text: &str) -> Table {
        of_csv::parse(&chunk(text), &Dialect::new(','), &Nulls::default(), None).unwrap()
    }

    fn json_of(text: String) -> Table {
        ndjson::parse(&chunk(text), &Nulls::default(), &[]).unwrap()
    }

    /// The type of the only column, and how many notes there are.
    fn of(table: &Table) -> (Option<Datatype>, usize) {
        of_dates(table, &[])
    }

    fn of_dates(table: &Table, formats: &[&str]) -> (Option<Datatype>, usize) {
        let mut notes = Vec::new();
        let formats: Vec<String> = formats.iter().map(|format| (*format).to_owned()).collect();
        let dates = DateFormats::parse(&formats).unwrap();
        (datatype(std::slice::from_ref(table), "a", &dates, &mut notes).unwrap(), notes.len())
    }

    #[test]
    fn a_column_has_the_first_type_that_fits_all_of_its_cells() {
        let csv = |text| of(&csv(text));
        let is = |datatype| (Some(datatype), 0);
        assert_eq!(csv("a\n1\n\"-2\"\n\n0\n"), is(Datatype::Int64));
        assert_eq!(csv("a\n1\n18446744073709551615\n"), is(Datatype::Uint64));
        assert_eq!(csv("a\nTrue\nFALSE\ntrue\n"), is(Datatype::Bool));
        assert_eq!(csv("a\ntrue\n1\n"), (None, 0));
        assert_eq!(csv("a\n1\nnan\nNaN\n-inf\n"), is(Datatype::Float64));
        assert_eq!(csv("a\n1\nmany\n"), (None, 0));
        assert_eq!(csv("a\n2020-01-01\nNaT\n"), is(Datatype::DatetimeDay));
        assert_eq!(csv("a\n2020-01-01\n17\n"), (None, 0));
        assert_eq!(csv("a\n2020-01-01T10:30\n2020-01-01\n"), is(Datatype::DatetimeMs));
    }

    #[test]
    fn integers_with_leading_zeros_are_text_and_a_note_says_so() {
        let csv = |text| of(&csv(text));
        assert_eq!(csv("a\n12\n01234\n"), (None, 1));
        assert_eq!(csv("a\n-007\n1.5\n"), (None, 1));
        assert_eq!(csv("a\n0\n-0\n0.5\n00.5\n"), (Some(Datatype::Float64), 0));
        assert_eq!(csv("a\n01234\nx\n"), (None, 0), "it would be text in any case");
    }

    #[test]
    fn numbers_that_no_type_keeps_are_text_and_a_note_says_so() {
        for text in [
            "18446744073709551616",
            "-1\n18446744073709551615",
            "9223372036854775808\n-9223372036854775808",
            "1e400",
            "0.5\n9007199254740993",
        ] {
            assert_eq!(of(&csv(&format!("a\n{text}\n"))), (None, 1), "{text}");
            let lines: String = text.lines().map(|number| format!("{{\"a\":{number}}}\n")).collect();
            assert_eq!(of(&json_of(lines)), (None, 1), "{text}");
        }
        for text in ["0.5\n100000000000000000000", "-1\n9007199254740992.0", "1e-400", "inf\n12"] {
            assert_eq!(of(&csv(&format!("a\n{text}\n"))), (Some(Datatype::Float64), 0), "{text}");
        }
    }

    #[test]
    fn strings_in_json_are_text_dates_or_what_numbers_in_json_cannot_be() {
        let json = |values: &[&str]| {
            let lines: Vec<String> = values.iter().map(|value| format!("{{\"a\":{value}}}\n")).collect();
            of(&json_of(lines.concat()))
        };
        assert_eq!(json(&["\"1\"", "\"2\""]), (None, 0));
        assert_eq!(json(&["1", "null", "2"]), (Some(Datatype::Int64), 0));
        assert_eq!(json(&["1", "\"NaN\"", "2.5"]), (Some(Datatype::Float64), 0));
        assert_eq!(json(&["true", "false"]), (Some(Datatype::Bool), 0));
        assert_eq!(json(&["\"true\""]), (None, 0));
        assert_eq!(json(&["\"2020-01-01\""]), (Some(Datatype::DatetimeDay), 0));
        assert_eq!(json(&["[1,2]", "{}"]), (None, 0));
    }

    #[test]
    fn types_are_given_by_name() {
        let parse = |text: &str| parse_types(&[text.to_owned()]);
        let given =
            |column: &str, datatype, nullable| GivenType { column: column.to_owned(), datatype, nullable };
        let two = vec![given("a", Datatype::Float32, true), given("b=c", Datatype::StringUtf8, false)];
        assert_eq!(parse("a=float32?,b=c=STRING_UTF8"), Ok(two));
        assert!(parse("a").unwrap_err().contains("is not NAME=TYPE"));
        assert!(parse("a=flot32").unwrap_err().contains("FLOAT32"), "{:?}", parse("a=flot32"));
        let types = parse("a=string").unwrap();
        let none = DateFormats::default();
        let (columns, notes) = columns(&[csv("a,b\n007,1\n")], true, &types, &none).unwrap();
        assert_eq!((columns[0].datatype, columns[0].inferred, notes.len()), (types[0].datatype, false, 0));
        assert_eq!((columns[1].datatype, columns[1].inferred), (Datatype::Int64, true));
        let missing = super::columns(&[csv("zip,b\n007,1\n")], true, &parse("zap=string").unwrap(), &none);
        assert!(missing.unwrap_err().contains("did you mean \"zip\""));
    }

    #[test]
    fn what_comes_after_the_first_rows_may_be_null() {
        let nullable = |whole, types: &str| {
            let types = parse_types(&[types.to_owned()]).unwrap();
            columns(&[csv("a\n1\n")], whole, &types, &DateFormats::default()).unwrap().0[0].nullable
        };
        assert!(!nullable(true, "a=int8") && nullable(false, "a=int8") && nullable(true, "a=int8?"));
    }

    #[test]
    fn times_have_the_unit_and_the_zone_that_they_need() {
        let csv = |cells: &[&str]| {
            csv(&format!("a,b\n{}", cells.iter().map(|cell| format!("{cell},\n")).collect::<String>()))
        };
        let is = |datatype| (Some(datatype), 0);
        assert_eq!(of(&csv(&["2020-01-01T10:30:00.123456", "2020-01-01"])), is(Datatype::DatetimeUs));
        assert_eq!(of(&csv(&["2020-01-01T10:30:00.123456789"])), is(Datatype::DatetimeNs));
        assert_eq!(of(&csv(&["2020-01-01T00:00:00Z"])), is(Datatype::DatetimeMs));
        assert_eq!(of(&csv(&["2020-01-01T10:30:00.1234567891"])), (None, 0));
        let zone = |cells: &[&str]| {
            let table = csv(cells);
            columns(&[table], true, &[], &DateFormats::default()).unwrap().0[0].zone.clone()
        };
        assert_eq!(zone(&["2020-01-01T10:30"]), None);
        assert_eq!(zone(&["2020-01-01T10:30Z", "NaT"]).as_deref(), Some("UTC"));
        assert_eq!(zone(&["2020-01-01T10:30+02:00", "2020-01-02T10:30+02"]).as_deref(), Some("+02:00"));
        assert_eq!(zone(&["2020-01-01T10:30+02:00", "2020-01-02T10:30+01:00"]).as_deref(), Some("UTC"));
        assert_eq!(zone(&["2020-01-01T10:30+02:00", "2020-01-02T10:30"]), None);
    }

    #[test]
    fn dates_in_other_notations_have_types_too() {
        let csv = |cell: &str| csv(&format!("a,b\n{cell},\n"));
        let is = |datatype| (Some(datatype), 0);
        assert_eq!(of_dates(&csv("20200131"), &["%Y%m%d"]), is(Datatype::DatetimeDay));
        assert_eq!(of_dates(&csv("31.1.2020 12:30"), &["a=%d.%m.%Y %H:%M"]), is(Datatype::DatetimeMs));
        assert_eq!(of_dates(&csv("12:30"), &["%R"]), is(Datatype::TimeSec));
        assert_eq!(of_dates(&csv("12:30:00.5"), &["%T.%f"]), is(Datatype::TimeMs));
        assert_eq!(of_dates(&csv("17"), &["%F"]), is(Datatype::Int64));
        let named = DateFormats::parse(&["a=%F".to_owned()]).unwrap();
        assert!(datatype(&[csv("17")], "a", &named, &mut Vec::new()).unwrap_err().starts_with("line 2"));
        let all = DateFormats::parse(&["%Y%m%d".to_owned()]).unwrap();
        assert!(columns(&[csv("17")], true, &[], &all).unwrap_err().contains("no column"));
        let types = parse_types(&["a=string".to_owned()]).unwrap();
        assert!(columns(&[csv("17")], true, &types, &named).unwrap_err().contains("has no dates"));
    }
}
