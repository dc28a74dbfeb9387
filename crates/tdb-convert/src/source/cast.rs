//! Columns of a file as other types, and decimals as integers of their smallest unit.

use std::sync::Arc;

use arrow_array::builder::LargeStringBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type};
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, RecordBatchOptions};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_cast::{CastOptions, can_cast_types, cast_with_options};
use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};

use crate::error::{Error, Result};

/// In the metadata of a field: the digits behind the point of a decimal that became an integer.
pub const SCALE: &str = "tdb:scale";

/// The most digits of a decimal that integers of 64 bits have.
const MAX_DIGITS: u8 = 18;

/// How the columns of a file are cast; those without an entry stay as they are.
#[derive(Clone, Debug, Default)]
pub(super) struct Casts(Vec<(usize, Cast)>);

/// How a column is cast.
#[derive(Clone, Debug)]
enum Cast {
    /// To a type of Arrow.
    To(DataType),
    /// To text, as values are shown.
    Shown,
    /// To the integer that a decimal is without its point.
    Unscaled,
}

/// A wanted type of a column.
#[derive(Clone, Debug)]
pub struct ColumnCast {
    field: FieldRef,
}

impl ColumnCast {
    /// The column with the name of this field becomes this field.
    #[must_use]
    pub fn new(field: Field) -> Self {
        Self { field: Arc::new(field) }
    }

    /// The name of the column.
    #[must_use]
    pub fn name(&self) -> &str {
        self.field.name()
    }
}

impl Casts {
    /// The casts of a file with this schema, and the schema that it has then.
    pub(super) fn new(file: &str, schema: &SchemaRef, wanted: &[ColumnCast]) -> Result<(Self, SchemaRef)> {
        let (mut casts, mut fields) = (Vec::new(), Vec::with_capacity(schema.fields().len()));
        for (index, field) in schema.fields().iter().enumerate() {
            let named = wanted.iter().find(|wanted| wanted.field.name() == field.name());
            let (cast, field) = match named {
                Some(wanted) => {
                    let to = wanted.field.data_type();
                    let nullable = field.is_nullable() || wanted.field.is_nullable();
                    let cast = cast_of(field.data_type(), to).ok_or_else(|| Error::Cast {
                        file: file.to_owned(),
                        column: field.name().clone(),
                        what: format!("there is no way from {} to {to}", field.data_type()),
                    })?;
                    (Some(cast), Arc::new(Field::clone(&wanted.field).with_nullable(nullable)))
                }
                None => match unscaled(field) {
                    Some(unscaled) => (Some(Cast::Unscaled), Arc::new(unscaled)),
                    None => (None, field.clone()),
                },
            };
            casts.extend(cast.map(|cast| (index, cast)));
            fields.push(field);
        }
        let schema = Schema::new_with_metadata(fields, schema.metadata().clone());
        Ok((Self(casts), Arc::new(schema)))
    }

    /// The casts of these columns only.
    pub(super) fn only(&self, columns: &[usize]) -> Self {
        let place = |index: usize| columns.iter().position(|column| *column == index);
        Self(self.0.iter().filter_map(|(index, cast)| Some((place(*index)?, cast.clone()))).collect())
    }

    /// A batch with its columns cast, which has the fields of this schema then.
    pub(super) fn batch(&self, file: &str, batch: RecordBatch, schema: &SchemaRef) -> Result<RecordBatch> {
        if self.0.is_empty() {
            return Ok(batch);
        }
        let own = batch.schema();
        let (mut fields, mut columns) = (own.fields().to_vec(), batch.columns().to_vec());
        for (index, cast) in &self.0 {
            let (Some(field), Some(column)) = (fields.get_mut(*index), columns.get_mut(*index)) else {
                continue;
            };
            *column = cast.column(column).map_err(|what| Error::Cast {
                file: file.to_owned(),
                column: field.name().clone(),
                what,
            })?;
            if let Ok(cast) = schema.field_with_name(field.name()) {
                *field = Arc::new(cast.clone());
            }
        }
        let schema = Schema::new_with_metadata(fields, own.metadata().clone());
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        RecordBatch::try_new_with_options(schema.into(), columns, &options)
            .map_err(|error| Error::cells(file, error.into()))
    }
}

impl Cast {
    fn column(&self, column: &ArrayRef) -> Result<ArrayRef, String> {
        match self {
            Self::To(to) => {
                let options = CastOptions { safe: false, ..CastOptions::default() };
                let cast = |column: &ArrayRef, to: &DataType| {
                    cast_with_options(column, to, &options).map_err(|error| error.to_string())
                };
                let (made, from) = (cast(column, to)?, column.data_type());
                if is_exact(from, to) && cast(&made, from)?.as_ref() != column.as_ref() {
                    return Err(format!("a value of {from} would lose a part of it as {to}"));
                }
                Ok(made)
            }
            Self::Shown => {
                let options = FormatOptions::default();
                let shown = ArrayFormatter::try_new(column, &options).map_err(|error| error.to_string())?;
                let mut texts = LargeStringBuilder::new();
                for row in 0..column.len() {
                    match column.is_null(row) {
                        true => texts.append_null(),
                        false => {
                            texts.append_value(shown.value(row).try_to_string().map_err(|e| e.to_string())?);
                        }
                    }
                }
                Ok(Arc::new(texts.finish()))
            }
            Self::Unscaled => integers(column)
                .map(|integers| Arc::new(integers) as ArrayRef)
                .ok_or_else(|| "it has a decimal that 64 bits do not hold".to_owned()),
        }
    }
}

/// Whether values must come back from a type as they were: fractions, or finer times, would be lost
/// without a word. Reals become the nearest ones.
fn is_exact(from: &DataType, to: &DataType) -> bool {
    let is_number = |one: &DataType| one.is_numeric() || one.is_temporal();
    is_number(from) && is_number(to) && !to.is_floating() && can_cast_types(to, from)
}

/// The way from one type to another; `None` if there is none.
fn cast_of(from: &DataType, to: &DataType) -> Option<Cast> {
    let text = matches!(to, DataType::LargeUtf8 | DataType::Utf8);
    match from {
        DataType::Struct(_)
        | DataType::Map(..)
        | DataType::Interval(_)
        | DataType::List(_)
        | DataType::LargeList(_)
        | DataType::FixedSizeList(..)
            if text =>
        {
            Some(Cast::Shown)
        }
        _ => can_cast_types(from, to).then(|| Cast::To(to.clone())),
    }
}

/// The field of a column of decimals as integers; `None` if these are longer than integers are.
fn unscaled(field: &Field) -> Option<Field> {
    let (digits, scale) = match field.data_type() {
        DataType::Decimal32(digits, scale)
        | DataType::Decimal64(digits, scale)
        | DataType::Decimal128(digits, scale)
        | DataType::Decimal256(digits, scale) => (*digits, *scale),
        _ => return None,
    };
    if digits > MAX_DIGITS {
        return None;
    }
    let mut metadata = field.metadata().clone();
    metadata.insert(SCALE.to_owned(), scale.to_string());
    Some(Field::new(field.name(), DataType::Int64, field.is_nullable()).with_metadata(metadata))
}

/// Decimals without their points.
fn integers(column: &ArrayRef) -> Option<Int64Array> {
    let nulls = column.nulls().cloned();
    let values: Option<Vec<i64>> = match column.data_type() {
        DataType::Decimal32(..) => Some(
            column.as_primitive::<Decimal32Type>().values().iter().map(|value| i64::from(*value)).collect(),
        ),
        DataType::Decimal64(..) => Some(column.as_primitive::<Decimal64Type>().values().to_vec()),
        DataType::Decimal128(..) => {
            let all = column.as_primitive::<Decimal128Type>();
            let is_null = |row: usize| all.is_null(row);
            let value = |(row, value): (usize, &i128)| {
                if is_null(row) { Some(0) } else { i64::try_from(*value).ok() }
            };
            all.values().iter().enumerate().map(value).collect()
        }
        DataType::Decimal256(..) => {
            let all = column.as_primitive::<Decimal256Type>();
            let value = |row: usize| match all.is_null(row) {
                true => Some(0),
                false => all.value(row).to_i128().and_then(|value| i64::try_from(value).ok()),
            };
            (0..all.len()).map(value).collect()
        }
        _ => None,
    };
    Some(Int64Array::new(values?.into(), nulls))
}

#[cfg(test)]
mod tests {
    use arrow_array::{Decimal128Array, Int32Array, StringArray};

    use super::*;

    fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
        RecordBatch::try_from_iter(columns).unwrap()
    }

    #[test]
    fn decimals_become_integers_of_their_smallest_unit() {
        let prices = Decimal128Array::from(vec![Some(1234), None, Some(-5)]);
        let prices = prices.with_precision_and_scale(10, 2).unwrap();
        let batch = batch(vec![("price", Arc::new(prices) as ArrayRef)]);
        let (casts, schema) = Casts::new("f", &batch.schema(), &[]).unwrap();
        assert_eq!(schema.field(0).metadata().get(SCALE).map(String::as_str), Some("2"));
        let cast = casts.batch("f", batch.clone(), &schema).unwrap();
        assert_eq!(
            cast.column(0).as_ref(),
            &Int64Array::from(vec![Some(1234), None, Some(-5)]) as &dyn Array
        );
        let real = ColumnCast::new(Field::new("price", DataType::Float64, false));
        let (casts, schema) = Casts::new("f", &batch.schema(), &[real]).unwrap();
        assert!(schema.field(0).is_nullable());
        let cast = casts.batch("f", batch, &schema).unwrap();
        let reals = arrow_array::Float64Array::from(vec![Some(12.34), None, Some(-0.05)]);
        assert_eq!(cast.column(0).as_ref(), &reals as &dyn Array);
    }

    #[test]
    fn a_cast_that_loses_a_value_or_has_no_way_is_refused() {
        let batch = batch(vec![
            ("a", Arc::new(Int32Array::from(vec![1, 300])) as ArrayRef),
            ("t", Arc::new(StringArray::from(vec!["1", "x"]))),
        ]);
        let to = |name: &str, to: DataType| vec![ColumnCast::new(Field::new(name, to, false))];
        for (wanted, why) in
            [(to("a", DataType::Int8), "column \"a\""), (to("t", DataType::Int64), "column \"t\"")]
        {
            let (casts, schema) = Casts::new("f", &batch.schema(), &wanted).unwrap();
            let error = casts.batch("f", batch.clone(), &schema).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
        let halves = RecordBatch::try_from_iter([(
            "h",
            Arc::new(arrow_array::Float64Array::from(vec![2.0, 2.5])) as _,
        )]);
        let halves = halves.unwrap();
        let (casts, schema) = Casts::new("f", &halves.schema(), &to("h", DataType::Int64)).unwrap();
        let error = casts.batch("f", halves.clone(), &schema).unwrap_err().to_string();
        assert!(error.contains("would lose a part"), "{error}");
        assert!(casts.batch("f", halves.slice(0, 1), &schema).is_ok());
        let none = Casts::new(
            "f",
            &batch.schema(),
            &to("a", DataType::Interval(arrow_schema::IntervalUnit::DayTime)),
        );
        assert!(none.unwrap_err().to_string().contains("there is no way"));
    }
}
