//! Values of Arrow columns as text and as JSON, written as `tdb read` writes those of arrays.

use serde_json::{Map, Number, Value};
use tdb_codec::{CellValNum, Datatype};
use tdb_datafusion::datafusion::arrow::array::{Array, ArrayRef, AsArray};
use tdb_datafusion::datafusion::arrow::buffer::NullBuffer;
use tdb_datafusion::datafusion::arrow::datatypes::{DataType, Field, TimeUnit};
use tdb_datafusion::datafusion::arrow::datatypes::{
    Date32Type, Date64Type, DurationMicrosecondType, DurationMillisecondType, DurationNanosecondType,
    DurationSecondType, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType,
};
use tdb_datafusion::datafusion::arrow::error::ArrowError;
use tdb_datafusion::datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use tdb_text::calendar;
use tdb_text::value::{cell_plain, cell_text};

use crate::failure::one_line;
use crate::table::Heading;

type Result<T> = std::result::Result<T, ArrowError>;

/// The format of values inside lists; callers handle cells that are null.
const OPTIONS: FormatOptions<'static> = FormatOptions::new().with_null("null").with_display_error(false);

/// The kind of a value, which decides how it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Integer,
    Real,
    Boolean,
    Text,
    Bytes,
    /// Ticks since 1970 of this type.
    Date(Datatype),
    /// Counts of this unit.
    Duration(TimeUnit),
    List,
    Record,
    /// As Arrow writes it.
    Other,
}

impl Kind {
    fn of(datatype: &DataType) -> Self {
        match datatype {
            DataType::Dictionary(_, values) => match Self::of(values) {
                kind @ (Self::Integer | Self::Real | Self::Boolean | Self::Text) => kind,
                _ => Self::Other,
            },
            DataType::Boolean => Self::Boolean,
            other if other.is_integer() => Self::Integer,
            DataType::Float16 | DataType::Float32 | DataType::Float64 => Self::Real,
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Self::Text,
            DataType::Binary
            | DataType::LargeBinary
            | DataType::BinaryView
            | DataType::FixedSizeBinary(_) => Self::Bytes,
            DataType::Date32 => Self::Date(Datatype::DatetimeDay),
            DataType::Date64 | DataType::Timestamp(TimeUnit::Millisecond, None) => {
                Self::Date(Datatype::DatetimeMs)
            }
            DataType::Timestamp(TimeUnit::Second, None) => Self::Date(Datatype::DatetimeSec),
            DataType::Timestamp(TimeUnit::Microsecond, None) => Self::Date(Datatype::DatetimeUs),
            DataType::Timestamp(TimeUnit::Nanosecond, None) => Self::Date(Datatype::DatetimeNs),
            DataType::Duration(unit) => Self::Duration(*unit),
            DataType::List(_) | DataType::LargeList(_) | DataType::FixedSizeList(..) => Self::List,
            DataType::Struct(_) => Self::Record,
            _ => Self::Other,
        }
    }
}

/// The heading of a column: numbers stand right.
pub(super) fn heading(field: &Field) -> Heading {
    let name = one_line(field.name());
    match Kind::of(field.data_type()) {
        Kind::Integer | Kind::Real | Kind::Boolean => Heading::right(name),
        _ if field.data_type().is_numeric() => Heading::right(name),
        _ => Heading::left(name),
    }
}

/// A column of a batch.
pub(super) struct Values<'a> {
    array: &'a ArrayRef,
    /// The rows without a value. A dictionary may have null among its values, too.
    nulls: Option<NullBuffer>,
    kind: Kind,
    formatter: ArrayFormatter<'a>,
}

impl<'a> Values<'a> {
    pub(super) fn of(array: &'a ArrayRef) -> Result<Self> {
        let formatter = ArrayFormatter::try_new(array.as_ref(), &OPTIONS)?;
        Ok(Self { array, nulls: array.logical_nulls(), kind: Kind::of(array.data_type()), formatter })
    }

    fn is_null(&self, row: usize) -> bool {
        self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row))
    }

    /// A value as text for programs; `None` for null.
    pub(super) fn plain(&self, row: usize) -> Result<Option<String>> {
        if self.is_null(row) {
            return Ok(None);
        }
        Ok(Some(match self.kind {
            Kind::Bytes => cell_plain(Datatype::Blob, CellValNum::Var, self.bytes(row)),
            kind => self.written(kind, row)?,
        }))
    }

    /// A value as text for display.
    pub(super) fn shown(&self, row: usize) -> Result<String> {
        if self.is_null(row) {
            return Ok("null".to_owned());
        }
        Ok(match self.kind {
            Kind::Bytes => cell_text(Datatype::Blob, CellValNum::Var, self.bytes(row)),
            Kind::Text => {
                let text = self.written(Kind::Text, row)?;
                cell_text(Datatype::StringUtf8, CellValNum::Var, text.as_bytes())
            }
            kind => one_line(&self.written(kind, row)?),
        })
    }

    /// A value as JSON: exact numbers; NaN, infinities, decimals and dates as strings; lists as
    /// arrays.
    pub(super) fn json(&self, row: usize) -> Result<Value> {
        if self.is_null(row) {
            return Ok(Value::Null);
        }
        let text = match self.kind {
            Kind::List => return list(self.array, row),
            Kind::Record => return record(self.array, row),
            Kind::Bytes => cell_plain(Datatype::Blob, CellValNum::Var, self.bytes(row)),
            kind => self.written(kind, row)?,
        };
        let number = match self.kind {
            Kind::Integer => {
                let signed = text.parse::<i64>().map(Number::from);
                signed.or_else(|_| text.parse::<u64>().map(Number::from)).ok()
            }
            Kind::Real => text.parse().ok().and_then(Number::from_f64),
            Kind::Boolean => return Ok(Value::Bool(text == "true")),
            _ => None,
        };
        Ok(number.map_or(Value::String(text), Value::Number))
    }

    fn written(&self, kind: Kind, row: usize) -> Result<String> {
        let date = match kind {
            Kind::List => {
                let inner = elements(self.array, row);
                let values = Values::of(&inner)?;
                let texts = (0..inner.len()).map(|at| Ok(values.plain(at)?.unwrap_or("null".to_owned())));
                return Ok(format!("[{}]", texts.collect::<Result<Vec<_>>>()?.join(", ")));
            }
            Kind::Date(datatype) => self.ticks(row).and_then(|ticks| calendar::format(datatype, ticks)),
            Kind::Duration(unit) => self.ticks(row).map(|ticks| duration(unit, ticks)),
            _ => None,
        };
        date.map_or_else(|| self.formatter.value(row).try_to_string(), Ok)
    }

    fn bytes(&self, row: usize) -> &'a [u8] {
        let array = self.array;
        match array.data_type() {
            DataType::Binary => array.as_binary::<i32>().value(row),
            DataType::LargeBinary => array.as_binary::<i64>().value(row),
            DataType::BinaryView => array.as_binary_view().value(row),
            DataType::FixedSizeBinary(_) => array.as_fixed_size_binary().value(row),
            _ => &[],
        }
    }

    fn ticks(&self, row: usize) -> Option<i64> {
        let array = self.array;
        Some(match array.data_type() {
            DataType::Date32 => array.as_primitive::<Date32Type>().value(row).into(),
            DataType::Date64 => array.as_primitive::<Date64Type>().value(row),
            DataType::Duration(TimeUnit::Second) => array.as_primitive::<DurationSecondType>().value(row),
            DataType::Duration(TimeUnit::Millisecond) => {
                array.as_primitive::<DurationMillisecondType>().value(row)
            }
            DataType::Duration(TimeUnit::Microsecond) => {
                array.as_primitive::<DurationMicrosecondType>().value(row)
            }
            DataType::Duration(TimeUnit::Nanosecond) => {
                array.as_primitive::<DurationNanosecondType>().value(row)
            }
            DataType::Timestamp(TimeUnit::Second, _) => {
                array.as_primitive::<TimestampSecondType>().value(row)
            }
            DataType::Timestamp(TimeUnit::Millisecond, _) => {
                array.as_primitive::<TimestampMillisecondType>().value(row)
            }
            DataType::Timestamp(TimeUnit::Microsecond, _) => {
                array.as_primitive::<TimestampMicrosecondType>().value(row)
            }
            DataType::Timestamp(TimeUnit::Nanosecond, _) => {
                array.as_primitive::<TimestampNanosecondType>().value(row)
            }
            _ => return None,
        })
    }
}

/// A duration as seconds of ISO 8601, of all that 64 bits hold: Arrow's own text ends before.
fn duration(unit: TimeUnit, ticks: i64) -> String {
    let (ratio, digits) = match unit {
        TimeUnit::Second => (1, 0),
        TimeUnit::Millisecond => (1_000, 3),
        TimeUnit::Microsecond => (1_000_000, 6),
        TimeUnit::Nanosecond => (1_000_000_000, 9),
    };
    let (size, sign) = (ticks.unsigned_abs(), if ticks < 0 { "-" } else { "" });
    let (whole, rest) = (size / ratio, size % ratio);
    match format!("{rest:0digits$}").trim_end_matches('0') {
        "" => format!("{sign}PT{whole}S"),
        behind => format!("{sign}PT{whole}.{behind}S"),
    }
}

/// The elements of a list.
fn elements(array: &ArrayRef, row: usize) -> ArrayRef {
    match array.data_type() {
        DataType::List(_) => array.as_list::<i32>().value(row),
        DataType::LargeList(_) => array.as_list::<i64>().value(row),
        _ => array.as_fixed_size_list().value(row),
    }
}

/// A list as a JSON array.
fn list(array: &ArrayRef, row: usize) -> Result<Value> {
    let inner = elements(array, row);
    let values = Values::of(&inner)?;
    (0..inner.len()).map(|at| values.json(at)).collect::<Result<Vec<_>>>().map(Value::Array)
}

/// The fields of a struct as a JSON object.
fn record(array: &ArrayRef, row: usize) -> Result<Value> {
    let mut object = Map::new();
    let array = array.as_struct();
    for (field, column) in array.fields().iter().zip(array.columns()) {
        object.insert(field.name().clone(), Values::of(column)?.json(row)?);
    }
    Ok(Value::Object(object))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;
    use tdb_datafusion::datafusion::arrow::array::{
        Date32Array, DictionaryArray, DurationMillisecondArray, DurationSecondArray, Float32Array,
        Float64Array, Int32Array, Int64Array, LargeBinaryArray, ListArray, StringArray,
        TimestampMillisecondArray, UInt64Array,
    };
    use tdb_datafusion::datafusion::arrow::datatypes::{Int8Type, Int32Type};

    use super::*;

    fn all(array: ArrayRef, row: usize) -> (Option<String>, String, Value) {
        let values = Values::of(&array).unwrap();
        (values.plain(row).unwrap(), values.shown(row).unwrap(), values.json(row).unwrap())
    }

    fn expect(array: impl Array + 'static, plain: &str, shown: &str, json: Value) {
        assert_eq!(all(Arc::new(array), 0), (Some(plain.to_owned()), shown.to_owned(), json));
    }

    #[test]
    fn values_are_written_as_those_of_arrays() {
        expect(
            Int64Array::from(vec![i64::MIN]),
            "-9223372036854775808",
            "-9223372036854775808",
            json!(i64::MIN),
        );
        expect(
            UInt64Array::from(vec![u64::MAX]),
            "18446744073709551615",
            "18446744073709551615",
            json!(u64::MAX),
        );
        expect(Float32Array::from(vec![0.1]), "0.1", "0.1", json!(0.1));
        expect(Float64Array::from(vec![f64::NAN]), "NaN", "NaN", json!("NaN"));
        expect(Float64Array::from(vec![f64::NEG_INFINITY]), "-inf", "-inf", json!("-inf"));
        expect(StringArray::from(vec![""]), "", "\"\"", json!(""));
        expect(StringArray::from(vec!["a\nb"]), "a\nb", "a\\x0ab", json!("a\nb"));
        expect(LargeBinaryArray::from_vec(vec![b"\xff"]), "\\xff", "\\xff", json!("\\xff"));
        expect(Date32Array::from(vec![18_321]), "2020-02-29", "2020-02-29", json!("2020-02-29"));
        let far = "+8332-11-28";
        let far = calendar::format(Datatype::DatetimeDay, 100_000_000).unwrap_or(far.to_owned());
        expect(Date32Array::from(vec![100_000_000]), &far, &far, json!(far));
        let time = "1970-01-01T00:00:00.001";
        expect(TimestampMillisecondArray::from(vec![1]), time, time, json!(time));
        expect(DurationSecondArray::from(vec![90]), "PT90S", "PT90S", json!("PT90S"));
        let longest = "-PT9223372036854775808S";
        expect(DurationSecondArray::from(vec![i64::MIN]), longest, longest, json!(longest));
        expect(DurationMillisecondArray::from(vec![-1500]), "-PT1.5S", "-PT1.5S", json!("-PT1.5S"));
        let list = ListArray::from_iter_primitive::<Int32Type, _, _>([Some([Some(1), None])]);
        expect(list, "[1, null]", "[1, null]", json!([1, null]));
    }

    #[test]
    fn nulls_are_told_from_texts_also_where_a_dictionary_has_them() {
        assert_eq!(all(Arc::new(Int32Array::from(vec![None])), 0), (None, "null".to_owned(), Value::Null));
        let values = StringArray::from(vec![Some("red"), None]);
        let keys = [Some(0i8), Some(1), None].into_iter().collect();
        let array: ArrayRef = Arc::new(DictionaryArray::<Int8Type>::new(keys, Arc::new(values)));
        assert_eq!(all(array.clone(), 0), (Some("red".to_owned()), "red".to_owned(), json!("red")));
        for row in [1, 2] {
            assert_eq!(all(array.clone(), row).0, None, "row {row}");
        }
    }
}
