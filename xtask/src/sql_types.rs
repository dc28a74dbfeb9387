//! The table of types of `tdb sql`: made from the Arrow types of `tdb-arrow`, because DataFusion is
//! not built for it.

use tdb_arrow::arrow_schema::{DataType, TimeUnit};
use tdb_arrow::types::{Row, rows_with};
use tdb_arrow::{Days, Options};

use crate::tables::document;

/// The page `docs/tables/sql.md`.
pub(crate) fn table() -> Result<String, String> {
    // As the command opens arrays.
    let rows =
        rows_with(Options::new().days(Days::Date32)).map(|row| line(&row)).collect::<Result<Vec<_>, _>>()?;
    let intro = "The types of columns in `tdb sql`, where days are dates (`OPTIONS (days 'number')` makes numbers of them), \
                 and how values of them are written. A type of SQL in quotes is the name that `arrow_typeof` prints and \
                 `arrow_cast` takes: SQL has no word for it. Cells with several values have two here. Attributes with an \
                 enumeration have the type of its values.";
    let head = ["TileDB", "one value a cell", "written as", "several", "variable length", "remarks"];
    Ok(document("SQL types", intro, &head, rows.into_iter()))
}

fn line(row: &Row) -> Result<Vec<String>, String> {
    let code = |text: String| format!("`{text}`");
    let datatype = row.datatype.name();
    let (one, literal) = match row.variable {
        // One byte of text: cells of text have any number of them.
        DataType::LargeUtf8 | DataType::LargeBinary => (quoted(&row.one), String::new()),
        _ => {
            let (name, literal) =
                scalar(&row.one).ok_or_else(|| format!("{datatype}: no SQL type is known"))?;
            (name, code(literal.to_owned()))
        }
    };
    let several = sql(&row.several).ok_or_else(|| format!("{datatype}: no SQL type of several values"))?;
    let (variable, text) = match &row.variable {
        DataType::LargeUtf8 => ("VARCHAR".to_owned(), "'Oslo'"),
        DataType::LargeBinary => ("BYTEA".to_owned(), "X'00FF'"),
        list => (sql(list).ok_or_else(|| format!("{datatype}: no SQL type of lists"))?, ""),
    };
    let variable = if text.is_empty() { code(variable) } else { format!("`{variable}`, as `{text}`") };
    let remark = match row.one {
        DataType::Int64 if row.datatype.is_datetime() => {
            "the number of units since 1970: SQL does not have the unit"
        }
        DataType::Int64 if datatype.starts_with("TIME_") => "the number of units: SQL does not have the unit",
        DataType::Date32 => "a day that is no date is an error",
        DataType::UInt16 | DataType::UInt32 if row.datatype.is_string() => "code units",
        _ if row.variable == DataType::LargeUtf8 => "must be UTF-8",
        _ => "",
    };
    Ok(vec![datatype.to_owned(), code(one), literal, code(several), variable, remark.to_owned()])
}

/// The name of a type in SQL.
fn sql(datatype: &DataType) -> Option<String> {
    match datatype {
        DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            let (item, _) = scalar(item.data_type())?;
            Some(format!("{item}[]"))
        }
        DataType::FixedSizeBinary(_) => Some(quoted(datatype)),
        other => scalar(other).map(|(name, _)| name),
    }
}

/// The name of the type of one value in SQL, and a value.
fn scalar(datatype: &DataType) -> Option<(String, &'static str)> {
    let (name, literal) = match datatype {
        DataType::Int8 => ("TINYINT", "-1"),
        DataType::UInt8 => ("TINYINT UNSIGNED", "1"),
        DataType::Int16 => ("SMALLINT", "-1"),
        DataType::UInt16 => ("SMALLINT UNSIGNED", "1"),
        DataType::Int32 => ("INT", "-1"),
        DataType::UInt32 => ("INT UNSIGNED", "1"),
        DataType::Int64 => ("BIGINT", "-1"),
        DataType::UInt64 => ("BIGINT UNSIGNED", "1"),
        DataType::Float32 => ("REAL", "0.5"),
        DataType::Float64 => ("DOUBLE", "0.5"),
        DataType::Boolean => ("BOOLEAN", "TRUE"),
        DataType::Date32 => ("DATE", "DATE '2024-02-29'"),
        DataType::Timestamp(TimeUnit::Second, None) => ("TIMESTAMP(0)", "TIMESTAMP '2024-02-29T12:30:00'"),
        DataType::Timestamp(TimeUnit::Millisecond, None) => {
            ("TIMESTAMP(3)", "TIMESTAMP '2024-02-29T12:30:00.5'")
        }
        DataType::Timestamp(TimeUnit::Microsecond, None) => {
            ("TIMESTAMP(6)", "TIMESTAMP '2024-02-29T12:30:00.5'")
        }
        DataType::Timestamp(TimeUnit::Nanosecond, None) => {
            ("TIMESTAMP(9)", "TIMESTAMP '2024-02-29T12:30:00.5'")
        }
        DataType::Duration(unit) => {
            let literal = match unit {
                TimeUnit::Second => "arrow_cast(90, 'Duration(s)')",
                TimeUnit::Millisecond => "arrow_cast(90, 'Duration(ms)')",
                TimeUnit::Microsecond => "arrow_cast(90, 'Duration(µs)')",
                TimeUnit::Nanosecond => "arrow_cast(90, 'Duration(ns)')",
            };
            return Some((quoted(datatype), literal));
        }
        _ => return None,
    };
    Some((name.to_owned(), literal))
}

/// A type that has no name in SQL.
fn quoted(datatype: &DataType) -> String {
    format!("'{datatype}'")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_datatype_has_a_type_in_sql() {
        let table = table().unwrap();
        for row in rows_with(Options::new()) {
            assert!(table.contains(&format!("| {} | `", row.datatype.name())), "{}", row.datatype.name());
        }
        assert!(table.contains("| DATETIME_DAY | `DATE` | `DATE '2024-02-29'` |"), "{table}");
        assert!(table.contains("| STRING_UTF8 | `'FixedSizeBinary(1)'` |  | `'FixedSizeBinary(2)'` | `VARCHAR`, as `'Oslo'` |"), "{table}");
    }
}
