//! `tdb read --aggregate`: one row of values.

use std::io::{self, Write};

use serde_json::{Map, Value};
use tdb_array::error::AggregateError;
use tdb_array::query::{Aggregate, AggregateValue};
use tdb_text::value::{cell_json, cell_plain, cell_text, is_text};

use super::args::{Format, ReadArgs};
use super::csv::quoted;
use crate::failure::{Failure, Result, one_line};
use crate::place::Stores;
use crate::table::{self, Heading};
use crate::{explain, notes, ranges};

/// The text instead of a sum that does not fit its type.
const OVERFLOW: &str = "overflow";

pub(super) fn run(
    args: &ReadArgs,
    stores: &Stores,
    list: &str,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result {
    if args.format() == Format::Raw {
        return Err(Failure::Usage(
            "--aggregate can be printed as table, csv, tsv, json or ndjson only".to_owned(),
        ));
    }
    let file = args.file()?;
    let array = super::open(args, stores)?;
    let aggregates = parse(args, list)?;
    let asked = ranges::query_ranges(&args.ranges, &args.array, array.schema())?;
    notes::print(&args.array, array.schema(), &asked.notes, args.condition.as_deref(), err);
    let query = asked.apply(super::satisfying(args, &array)?, array.schema());
    let values = query.aggregate(aggregates).map_err(|error| super::failed(args, error))?;
    match &file {
        Some(name) => {
            let mut file = name.begin()?;
            print(&values, args.format(), &mut file).map_err(|error| Failure::at(name.shown(), error))?;
            file.finish()?;
        }
        None => print(&values, args.format(), out)?,
    }
    if args.stats {
        explain::write_stats(&array.stats(), err)?;
    }
    Ok(())
}

/// The aggregates of a list.
pub(super) fn parse(args: &ReadArgs, list: &str) -> Result<Vec<Aggregate>> {
    Aggregate::parse(list).map_err(|error| {
        let column = match &error {
            AggregateError::Text(error) => error.column(),
            _ => None,
        };
        Failure::at_column(&args.array, "--aggregate", list, column, error)
    })
}

fn print(values: &[AggregateValue], format: Format, out: &mut dyn Write) -> io::Result<()> {
    match format {
        Format::Json | Format::Ndjson => {
            let object: Map<String, Value> =
                values.iter().map(|value| (value.aggregate.to_string(), json(value))).collect();
            writeln!(out, "{}", Value::Object(object))
        }
        Format::Csv | Format::Tsv => {
            let delimiter = if format == Format::Tsv { '\t' } else { ',' };
            let line = |out: &mut dyn Write, text: &dyn Fn(&AggregateValue) -> String| {
                let texts = values.iter().map(text).collect::<Vec<_>>();
                writeln!(out, "{}", texts.join(&delimiter.to_string()))
            };
            line(out, &|value| quoted(&value.aggregate.to_string(), delimiter).into_owned())?;
            line(out, &|value| plain(value, delimiter))
        }
        Format::Table | Format::Raw => {
            let heading = |value: &AggregateValue| {
                let title = one_line(&value.aggregate.to_string());
                if is_text(value.datatype) { Heading::left(title) } else { Heading::right(title) }
            };
            let headings: Vec<_> = values.iter().map(heading).collect();
            table::write_rows(out, 0, &headings, &[values.iter().map(text).collect()])
        }
    }
}

fn text(value: &AggregateValue) -> String {
    match value.bytes() {
        _ if value.overflowed() => OVERFLOW.to_owned(),
        Some(bytes) => cell_text(value.datatype, value.cell_val_num, bytes),
        None => "null".to_owned(),
    }
}

/// For CSV: null is an empty text.
fn plain(value: &AggregateValue, delimiter: char) -> String {
    match value.bytes() {
        _ if value.overflowed() => OVERFLOW.to_owned(),
        Some(bytes) => quoted(&cell_plain(value.datatype, value.cell_val_num, bytes), delimiter).into_owned(),
        None => String::new(),
    }
}

fn json(value: &AggregateValue) -> Value {
    match value.bytes() {
        _ if value.overflowed() => Value::String(OVERFLOW.to_owned()),
        Some(bytes) => cell_json(value.datatype, value.cell_val_num, bytes),
        None => Value::Null,
    }
}
