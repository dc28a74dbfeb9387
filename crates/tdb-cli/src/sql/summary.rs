//! `SUMMARIZE`: one row for each column of a query, as DuckDB has it.

use std::fmt::Write;
use std::sync::Arc;

use tdb_datafusion::Result;
use tdb_datafusion::datafusion::arrow::array::{
    Array, ArrayRef, AsArray, Float64Array, Int64Array, RecordBatch, StringArray,
};
use tdb_datafusion::datafusion::arrow::datatypes::{DataType, Int64Type, Schema};
use tdb_datafusion::datafusion::common::internal_err;
use tdb_datafusion::datafusion::sql::parser::Statement;

use super::statements;

/// The numbers of a column, in the order of the result, for its place in the query: texts except
/// for the counts.
const FIGURES: usize = 9;

/// The query whose only row has all numbers about the columns of another one.
pub(super) fn query(of: &Statement, schema: &Schema) -> Result<Statement> {
    let mut asked = String::from("SELECT CAST(count(*) AS BIGINT)");
    let mut names = Vec::with_capacity(schema.fields().len());
    for (at, field) in schema.fields().iter().enumerate() {
        let name = format!("c{at}");
        for figure in figures(&name, field.data_type()) {
            // A text takes everything.
            let _ = write!(asked, ", {figure}");
        }
        names.push(name);
    }
    statements::query(&format!("{asked} FROM ({of}) AS q({})", names.join(", ")))
}

/// The numbers of a column: least, greatest, different ones, average, deviation, three quantiles,
/// and how many are there.
fn figures(name: &str, data_type: &DataType) -> [String; FIGURES] {
    let none = || "CAST(NULL AS VARCHAR)".to_owned();
    let text = |figure: String| format!("CAST({figure} AS VARCHAR)");
    let (own, data_type) = match data_type {
        DataType::Dictionary(_, values) => (format!("arrow_cast({name}, '{values}')"), values.as_ref()),
        other => (name.to_owned(), other),
    };
    let is_number = data_type.is_numeric();
    let ends = is_number
        || data_type.is_temporal()
        || matches!(data_type, DataType::Boolean | DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View);
    let end = |function: &str| if ends { text(format!("{function}({own})")) } else { none() };
    // What has no order, or no hash, is not counted.
    let distinct = match ends {
        true => format!("CAST(approx_distinct({}) AS BIGINT)", hashed(&own, data_type)),
        false => "CAST(NULL AS BIGINT)".to_owned(),
    };
    let number = |figure: String| if is_number { text(figure) } else { none() };
    // Times are numbers of their unit.
    let ticks = match data_type {
        DataType::Date32 => Some(format!("arrow_cast(arrow_cast({own}, 'Int32'), 'Int64')")),
        DataType::Timestamp(..) => Some(format!("arrow_cast({own}, 'Int64')")),
        _ => None,
    };
    let quantile = |share: &str| match &ticks {
        Some(ticks) => {
            let found = format!("approx_percentile_cont({share}) WITHIN GROUP (ORDER BY {ticks})");
            let found = match data_type {
                DataType::Date32 => format!("arrow_cast({found}, 'Int32')"),
                _ => found,
            };
            text(format!("arrow_cast({found}, '{data_type}')"))
        }
        None => {
            number(format!("approx_percentile_cont({share}) WITHIN GROUP (ORDER BY CAST({own} AS DOUBLE))"))
        }
    };
    [
        end("min"),
        end("max"),
        distinct,
        number(format!("avg(CAST({own} AS DOUBLE))")),
        number(format!("stddev(CAST({own} AS DOUBLE))")),
        quantile("0.25"),
        quantile("0.5"),
        quantile("0.75"),
        format!("CAST(count({name}) AS BIGINT)"),
    ]
}

/// A value of which different ones are counted: reals are counted as texts.
fn hashed(name: &str, data_type: &DataType) -> String {
    match data_type {
        _ if data_type.is_floating() || data_type.is_decimal() || *data_type == DataType::Boolean => {
            format!("CAST({name} AS VARCHAR)")
        }
        _ => name.to_owned(),
    }
}

/// The table of the numbers, one row for each column of a query.
pub(super) fn table(schema: &Schema, figures: &RecordBatch) -> Result<RecordBatch> {
    let rows = schema.fields().len();
    if figures.num_rows() != 1 || figures.num_columns() != rows * FIGURES + 1 {
        return internal_err!("a summary of {rows} columns has {} numbers", figures.num_columns());
    }
    let count = |column: Option<&ArrayRef>| {
        let column = column?.as_primitive_opt::<Int64Type>()?;
        column.is_valid(0).then(|| column.value(0))
    };
    let Some(all) = count(figures.columns().first()) else {
        return internal_err!("a summary does not say how many rows there are");
    };
    let figure = |row: usize, at: usize| figures.columns().get(1 + row * FIGURES + at);
    let texts = |at: usize| -> ArrayRef {
        let text = |row: usize| {
            let column = figure(row, at)?;
            let texts = column.as_string_view_opt().map(|texts| texts.iter().next().flatten());
            let texts =
                texts.or_else(|| column.as_string_opt::<i32>().map(|texts| texts.iter().next().flatten()));
            texts.flatten().map(str::to_owned)
        };
        Arc::new((0..rows).map(text).collect::<StringArray>())
    };
    let counts = |at: usize| (0..rows).map(move |row| count(figure(row, at)));
    let names = StringArray::from_iter_values(schema.fields().iter().map(|field| field.name()));
    let types = schema.fields().iter().map(|field| field.data_type().to_string());
    let share = |there: Option<i64>| {
        let nulls = all.checked_sub(there?)?;
        // Counts are exact in a double below 2^53.
        #[expect(clippy::cast_precision_loss, reason = "a share of rows needs no more digits")]
        let share = |nulls: i64| (nulls as f64 / all as f64 * 10_000.0).round() / 100.0;
        (all > 0).then(|| share(nulls))
    };
    Ok(RecordBatch::try_from_iter([
        ("column_name", Arc::new(names) as ArrayRef),
        ("column_type", Arc::new(StringArray::from_iter_values(types))),
        ("min", texts(0)),
        ("max", texts(1)),
        ("approx_unique", Arc::new(counts(2).collect::<Int64Array>())),
        ("avg", texts(3)),
        ("std", texts(4)),
        ("q25", texts(5)),
        ("q50", texts(6)),
        ("q75", texts(7)),
        ("count", Arc::new((0..rows).map(|_| Some(all)).collect::<Int64Array>())),
        ("null_percentage", Arc::new(counts(8).map(share).collect::<Float64Array>())),
    ])?)
}
