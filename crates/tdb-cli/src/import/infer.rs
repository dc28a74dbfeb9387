//! The types of the columns of a new array: given, or those that fit the first rows.

use serde_json::{Map, Value, json};
use tdb_codec::digits::{NotReal, is_integer, keeps_integer, nearest};
use tdb_codec::{CellValNum, Datatype};
use tdb_text::parse::date_ticks;
use tdb_text::schema::{datatype as parse_datatype, usual_cells};
use tdb_text::suggest::hint;
use tdb_text::value::cell_val_num_json;

use super::convert::{is_boolean, is_number, one};
use super::table::{Cell, Mark, Table};
use crate::ranges::parse_names;

/// Types that a column may have, other than text: the first one that fits all of its cells is used.
const TYPES: [Datatype; 6] = [
    Datatype::Int64,
    Datatype::Uint64,
    Datatype::Bool,
    Datatype::Float64,
    Datatype::DatetimeDay,
    Datatype::DatetimeMs,
];

/// A column of a new array.
#[derive(Debug)]
pub(super) struct NewColumn {
    pub(super) name: String,
    pub(super) datatype: Datatype,
    /// Whether the type was not given, but fits the first rows.
    pub(super) inferred: bool,
    pub(super) nullable: bool,
}

/// Types from the command line: `NAME=TYPE`, separated by commas.
pub(super) fn parse_types(texts: &[String]) -> Result<Vec<(String, Datatype)>, String> {
    let one = |text: String| {
        let (name, datatype) = text.rsplit_once('=').ok_or_else(|| {
            format!(
                "--types {text:?} is not NAME=TYPE, such as 'zip=string' (several are separated by commas)"
            )
        })?;
        let parsed = parse_datatype(datatype).map_err(|error| format!("--types {text:?}: {error}"))?;
        Ok((name.to_owned(), parsed))
    };
    texts.iter().flat_map(|text| parse_names(text)).map(one).collect()
}

/// The columns for a table, whose rows may be only the first ones of a file, and what the user
/// should know about them.
pub(super) fn columns(
    table: &Table,
    whole: bool,
    types: &[(String, Datatype)],
) -> Result<(Vec<NewColumn>, Vec<String>), String> {
    if let Some((name, _)) = types.iter().find(|(name, _)| table.column(name).is_none()) {
        let names = table.names();
        let hint = hint(name, names.iter().map(String::as_str));
        return Err(format!("--types: there is no column {name:?} (there are {}){hint}", names.join(", ")));
    }
    let mut notes = Vec::new();
    let column = |(index, name): (usize, &String)| {
        let given = types.iter().rev().find(|(other, _)| other == name).map(|(_, datatype)| *datatype);
        let datatype = given.or_else(|| datatype(table, index, &mut notes)).unwrap_or(Datatype::StringUtf8);
        // In rows that were not looked at, any cell may be empty.
        let nullable = !whole || table.cells(index).any(|(_, cell)| cell.mark == Mark::Null);
        NewColumn { name: name.clone(), datatype, inferred: given.is_none(), nullable }
    };
    let columns = table.names().iter().enumerate().map(column).collect();
    Ok((columns, notes))
}

/// The remedy if a cell does not fit a type that was inferred.
pub(super) fn remedy(name: &str) -> String {
    format!(
        "; the type was inferred from the first rows: --types '{name}=TYPE' gives another one, such as string"
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

/// The type of a column; `None` for text. Numbers that would not be what is written are text, and a
/// note says so.
fn datatype(table: &Table, column: usize, notes: &mut Vec<String>) -> Option<Datatype> {
    let given = || table.cells(column).filter(|(_, cell)| cell.mark != Mark::Null);
    given().next()?;
    let datatype = TYPES.into_iter().find(|datatype| given().all(|(_, cell)| fits(*datatype, cell)))?;
    let integers = given().all(|(_, cell)| is_integer(cell.text));
    let lost = given().find_map(|(line, cell)| Some((line, cell.text, lost(datatype, integers, cell.text)?)));
    let Some((line, text, why)) = lost else { return Some(datatype) };
    let name = table.names().get(column).map(String::as_str).unwrap_or_default();
    notes.push(format!("column {name:?} becomes text, because it has {why} (line {line}: {text})"));
    None
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
fn fits(datatype: Datatype, Cell { text, mark }: Cell<'_>) -> bool {
    if datatype.is_datetime() {
        // An integer would be accepted as a number of days.
        return text == "NaT" || date_ticks(datatype, text).is_ok();
    }
    match datatype {
        Datatype::Bool => mark == Mark::Open && is_boolean(text),
        // JSON has no other notation for what is not finite.
        Datatype::Float64 if mark == Mark::Text => nearest(text).is_ok_and(|value: f64| !value.is_finite()),
        // What is beyond the largest real is a number, too: the column becomes text for another
        // reason.
        Datatype::Float64 => mark == Mark::Open && nearest::<f64>(text) != Err(NotReal::Syntax),
        _ => mark == Mark::Open && one(datatype, text).is_ok(),
    }
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
    use super::super::{csv as of_csv, ndjson};
    use super::*;

    fn chunk(text: impl Into<Vec<u8>>) -> Chunk {
        Chunk { text: text.into(), line: 1, before: 0 }
    }

    fn csv(text: &str) -> Table {
        of_csv::parse(&chunk(text), ',', &[]).unwrap()
    }

    /// The type of the only column, and how many notes there are.
    fn of(table: &Table) -> (Option<Datatype>, usize) {
        let mut notes = Vec::new();
        (datatype(table, 0, &mut notes), notes.len())
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
        assert_eq!(csv("a\n1\nnone\n"), (None, 0));
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
            assert_eq!(of(&ndjson::parse(&chunk(lines), &[]).unwrap()), (None, 1), "{text}");
        }
        for text in ["0.5\n100000000000000000000", "-1\n9007199254740992.0", "1e-400", "inf\n12"] {
            assert_eq!(of(&csv(&format!("a\n{text}\n"))), (Some(Datatype::Float64), 0), "{text}");
        }
    }

    #[test]
    fn strings_in_json_are_text_dates_or_what_numbers_in_json_cannot_be() {
        let json = |values: &[&str]| {
            let lines: Vec<String> = values.iter().map(|value| format!("{{\"a\":{value}}}\n")).collect();
            of(&ndjson::parse(&chunk(lines.concat()), &[]).unwrap())
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
        let two = vec![("a".to_owned(), Datatype::Float32), ("b=c".to_owned(), Datatype::StringUtf8)];
        assert_eq!(parse("a=float32,b=c=STRING_UTF8"), Ok(two));
        assert!(parse("a").unwrap_err().contains("is not NAME=TYPE"));
        assert!(parse("a=flot32").unwrap_err().contains("FLOAT32"), "{:?}", parse("a=flot32"));
        let types = parse("a=string").unwrap();
        let (columns, notes) = columns(&csv("a,b\n007,1\n"), true, &types).unwrap();
        assert_eq!((columns[0].datatype, columns[0].inferred, notes.len()), (types[0].1, false, 0));
        assert_eq!((columns[1].datatype, columns[1].inferred), (Datatype::Int64, true));
        let missing = super::columns(&csv("zip,b\n007,1\n"), true, &parse("zap=string").unwrap());
        assert!(missing.unwrap_err().contains("did you mean \"zip\""));
    }

    #[test]
    fn what_comes_after_the_first_rows_may_be_null() {
        let nullable = |whole| columns(&csv("a\n1\n"), whole, &[]).unwrap().0[0].nullable;
        assert!(!nullable(true) && nullable(false));
    }
}
