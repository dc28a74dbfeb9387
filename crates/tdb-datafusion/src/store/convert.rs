//! Conversions of columns that change no value.

use datafusion::arrow::array::{Array, ArrayRef, AsArray, BooleanArray};
use datafusion::arrow::compute::kernels::cmp::distinct;
use datafusion::arrow::compute::{CastOptions, cast, cast_with_options};
use datafusion::arrow::datatypes::{DataType, Float32Type, Float64Type, TimeUnit};
use datafusion::arrow::util::display::array_value_to_string;
use datafusion::common::{ScalarValue, exec_err};

use crate::Result;
use crate::exact::instant_of_text;

/// A conversion to the type of a column.
#[derive(Clone, Copy, Debug)]
pub(super) struct Conversion<'a> {
    pub(super) column: &'a str,
    pub(super) to: &'a DataType,
}

/// A value that the type does not have becomes null.
const NULLS: CastOptions<'static> =
    CastOptions { safe: true, format_options: datafusion::arrow::util::display::FormatOptions::new() };

impl Conversion<'_> {
    /// Converts values to the type of the column without changing them. Only floating-point numbers
    /// are rounded, to the nearest one of the type.
    pub(super) fn of(self, values: &ArrayRef) -> Result<ArrayRef> {
        use DataType as D;
        let from = values.data_type();
        match (from, self.to) {
            (from, to) if from == to => Ok(ArrayRef::clone(values)),
            (D::Null, to) => Ok(cast(values, to)?),
            (D::Dictionary(_, plain), _) => self.of(&cast(values, plain)?),
            (_, D::Dictionary(_, plain)) => {
                let plain = Self { to: plain, ..self }.of(values)?;
                Ok(cast(&plain, self.to)?)
            }
            (D::Float64, D::Float32) => self.rounded(values, values),
            // Through text, because a quotient of reals may be rounded twice.
            (
                D::Decimal32(..) | D::Decimal64(..) | D::Decimal128(..) | D::Decimal256(..),
                D::Float32 | D::Float64,
            ) => self.rounded(values, &cast(values, &D::Utf8)?),
            (D::Utf8 | D::LargeUtf8 | D::Utf8View, D::Float32 | D::Float64) => self.rounded(values, values),
            (D::Utf8 | D::LargeUtf8 | D::Utf8View, D::Timestamp(..) | D::Date32 | D::Date64) => {
                self.times_of_text(values)
            }
            (D::List(_), D::List(inner)) => {
                self.elements(values, values.as_list::<i32>().values(), inner.data_type())
            }
            (D::LargeList(_), D::List(inner) | D::LargeList(inner)) => {
                self.elements(values, values.as_list::<i64>().values(), inner.data_type())
            }
            (D::List(_), D::LargeList(inner)) => {
                self.elements(values, values.as_list::<i32>().values(), inner.data_type())
            }
            (_, D::Utf8 | D::LargeUtf8 | D::Utf8View | D::Binary | D::LargeBinary | D::BinaryView) => {
                self.present(values, cast_with_options(values, self.to, &NULLS)?)
            }
            _ => self.back_again(values),
        }
    }

    /// Converts lists whose elements can be converted.
    fn elements(self, values: &ArrayRef, elements: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
        Conversion { column: self.column, to }.of(elements)?;
        Ok(cast(values, self.to)?)
    }

    /// Converts to floating-point numbers, none of which may become infinite.
    fn rounded(self, values: &ArrayRef, numbers: &ArrayRef) -> Result<ArrayRef> {
        let converted = self.present(values, cast_with_options(numbers, self.to, &NULLS)?)?;
        let is_infinite = |row: usize| match converted.data_type() {
            DataType::Float32 => converted.as_primitive::<Float32Type>().value(row).is_infinite(),
            _ => converted.as_primitive::<Float64Type>().value(row).is_infinite(),
        };
        let was_infinite = |row: usize| {
            array_value_to_string(values, row).is_ok_and(|text| text.to_ascii_lowercase().contains("inf"))
        };
        let lost =
            (0..values.len()).find(|row| values.is_valid(*row) && is_infinite(*row) && !was_infinite(*row));
        match lost {
            Some(row) => self.refused(values, row, "it is beyond the largest one"),
            None => Ok(converted),
        }
    }

    /// Converts texts of times, which must not have more digits than the column.
    fn times_of_text(self, values: &ArrayRef) -> Result<ArrayRef> {
        let texts = cast(values, &DataType::Utf8)?;
        let mut times = Vec::with_capacity(values.len());
        for (row, text) in texts.as_string::<i32>().iter().enumerate() {
            let Some(text) = text else {
                times.push(ScalarValue::try_from(self.to)?);
                continue;
            };
            let zone = match self.to {
                DataType::Timestamp(_, zone) => zone.clone(),
                _ => None,
            };
            let Some(time) = instant_of_text(text, zone) else {
                return self.refused(values, row, "it is not a date or a time");
            };
            match crate::exact::time(time, self.to) {
                Some(time) => times.push(time),
                None => return self.refused(values, row, "the column has a coarser unit, or ends before"),
            }
        }
        if times.is_empty() {
            return Ok(datafusion::arrow::array::new_empty_array(self.to));
        }
        ScalarValue::iter_to_array(times)
    }

    /// Converts values that are the same when they are converted back.
    fn back_again(self, values: &ArrayRef) -> Result<ArrayRef> {
        let converted = self.present(values, cast_with_options(values, self.to, &NULLS)?)?;
        let back = cast_with_options(&converted, values.data_type(), &NULLS)?;
        let differs: BooleanArray = if values.data_type().is_nested() {
            (0..values.len()).map(|row| Some(back.slice(row, 1) != values.slice(row, 1))).collect()
        } else {
            distinct(&back, values)?
        };
        let lost = (0..values.len()).find(|row| differs.value(*row) && !is_zero(values, *row));
        match lost {
            Some(row) => {
                let stored = array_value_to_string(&converted, row)?;
                self.refused(values, row, &format!("the column would have {stored} instead"))
            }
            None => Ok(converted),
        }
    }

    /// Fails if a value has become null.
    fn present(self, values: &ArrayRef, converted: ArrayRef) -> Result<ArrayRef> {
        if converted.null_count() == values.null_count() {
            return Ok(converted);
        }
        match (0..values.len()).find(|row| values.is_valid(*row) && converted.is_null(*row)) {
            Some(row) => self.refused(values, row, "the column has no such value"),
            None => Ok(converted),
        }
    }

    fn refused<T>(self, values: &ArrayRef, row: usize, why: &str) -> Result<T> {
        let value = array_value_to_string(values, row)?;
        let unit = match values.data_type() {
            DataType::Timestamp(TimeUnit::Nanosecond, _) | DataType::Utf8 => String::new(),
            other => format!(" ({other})"),
        };
        exec_err!(
            "{value}{unit} cannot be stored in the column {} ({}): {why}. Nothing was written; SELECT … with a CAST converts on purpose",
            self.column,
            self.to
        )
    }
}

/// Whether a value is a zero: the sign of a real zero is no value that integers lack.
fn is_zero(values: &ArrayRef, row: usize) -> bool {
    match values.data_type() {
        DataType::Float32 => values.as_primitive::<Float32Type>().value(row) == 0.0,
        DataType::Float64 => values.as_primitive::<Float64Type>().value(row) == 0.0,
        _ => false,
    }
}
