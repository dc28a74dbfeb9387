//! The columns of aggregates of many groups.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray, PrimitiveArray};
use datafusion::arrow::buffer::NullBuffer;
use datafusion::arrow::datatypes::{
    ArrowPrimitiveType, DataType, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use tdb_array::query::GroupedValues;

use super::function::Function;
use super::number::AggregateNumber;

impl Function {
    /// The aggregate whose values are those of the function, if there is one: sums, minima and
    /// maxima are null where there is no value.
    fn aggregate_with_same_values<'a>(&self, values: &[&'a GroupedValues]) -> Option<&'a GroupedValues> {
        match self {
            Self::Rows | Self::Min(_) | Self::Max(_) => values.first().copied(),
            Self::Sum(_) => values.get(2).copied(),
            Self::NotNull(_) | Self::Mean { .. } | Self::Distinct { .. } => None,
        }
    }

    /// The values of many groups as a column, given those of the function's aggregates. The column
    /// has the values of [`Self::state`], which would take far longer for each group. `None` if
    /// there is no such column for the type.
    pub(super) fn column(
        &self,
        values: &[&GroupedValues],
        groups: usize,
        data_type: &DataType,
    ) -> Option<GroupColumn> {
        if let Some(values) = self.aggregate_with_same_values(values)
            && let Some(column) = same_numbers(&values.column, data_type)
        {
            return Some(Some(column));
        }
        let each = PerGroup { function: self, values, groups };
        Some(match data_type {
            DataType::Int8 => each.integers::<Int8Type>(),
            DataType::Int16 => each.integers::<Int16Type>(),
            DataType::Int32 => each.integers::<Int32Type>(),
            DataType::Int64 => each.integers::<Int64Type>(),
            DataType::UInt8 => each.integers::<UInt8Type>(),
            DataType::UInt16 => each.integers::<UInt16Type>(),
            DataType::UInt32 => each.integers::<UInt32Type>(),
            DataType::UInt64 => each.integers::<UInt64Type>(),
            // Partial sums of integers.
            DataType::Decimal128(precision, scale @ 0) => {
                each.integers::<Decimal128Type>().and_then(|sums| {
                    let sums = sums.as_primitive::<Decimal128Type>().clone();
                    Some(Arc::new(sums.with_precision_and_scale(*precision, *scale).ok()?) as _)
                })
            }
            DataType::Float64 => each.reals::<Float64Type>(|value| value),
            #[expect(
                clippy::cast_possible_truncation,
                reason = "minima and maxima of a column of floats are floats"
            )]
            DataType::Float32 => each.reals::<Float32Type>(|value| value as f32),
            _ => return None,
        })
    }
}

/// The values of an aggregate as a column of the same numbers; `None` for other types, which are
/// converted value by value.
fn same_numbers(column: &tdb_array::Column, data_type: &DataType) -> Option<ArrayRef> {
    fn of<T: ArrowPrimitiveType>(values: Vec<T::Native>, column: &tdb_array::Column) -> ArrayRef {
        let valid = column.validity.as_ref();
        let nulls = valid.map(|valid| valid.iter().map(|valid| *valid != 0).collect::<Vec<bool>>());
        Arc::new(PrimitiveArray::<T>::new(values.into(), nulls.map(NullBuffer::from)))
    }
    match data_type {
        DataType::Int64 => {
            let values = match column.values::<i64>() {
                Ok(values) => values.to_vec(),
                // Counts.
                Err(_) => {
                    let counts = column.values::<u64>().ok()?.iter();
                    counts.map(|count| i64::try_from(*count).ok()).collect::<Option<_>>()?
                }
            };
            Some(of::<Int64Type>(values, column))
        }
        DataType::UInt64 => Some(of::<UInt64Type>(column.values().ok()?.to_vec(), column)),
        DataType::Float64 => Some(of::<Float64Type>(column.values().ok()?.to_vec(), column)),
        _ => None,
    }
}

/// The column of a function; `None` if DataFusion's values may differ.
pub(super) type GroupColumn = Option<ArrayRef>;

/// A function whose value is computed group by group.
struct PerGroup<'a> {
    function: &'a Function,
    /// The function's aggregates.
    values: &'a [&'a GroupedValues],
    groups: usize,
}

impl PerGroup<'_> {
    fn column<T: ArrowPrimitiveType>(
        &self,
        native: impl Fn(AggregateNumber) -> Option<Option<T::Native>>,
    ) -> GroupColumn {
        let mut found = Vec::with_capacity(self.values.len());
        let mut values = Vec::with_capacity(self.groups);
        for group in 0..self.groups {
            found.clear();
            found.extend(self.values.iter().map(|values| AggregateNumber::of_group(values, group)));
            values.push(native(self.function.number(&found)?)?);
        }
        Some(Arc::new(PrimitiveArray::<T>::from_iter(values)))
    }

    fn integers<T: ArrowPrimitiveType<Native: TryFrom<i128>>>(&self) -> GroupColumn {
        self.column::<T>(|found| match found {
            AggregateNumber::Integer(None) | AggregateNumber::Real(None) => Some(None),
            AggregateNumber::Integer(Some(value)) => T::Native::try_from(value).ok().map(Some),
            AggregateNumber::Real(Some(_)) | AggregateNumber::Unknown => None,
        })
    }

    fn reals<T: ArrowPrimitiveType>(&self, native: impl Fn(f64) -> T::Native) -> GroupColumn {
        self.column::<T>(|found| match found {
            AggregateNumber::Integer(None) | AggregateNumber::Real(None) => Some(None),
            AggregateNumber::Real(Some(value)) => Some(Some(native(value))),
            AggregateNumber::Integer(Some(_)) | AggregateNumber::Unknown => None,
        })
    }
}
