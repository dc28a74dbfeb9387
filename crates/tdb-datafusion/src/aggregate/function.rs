//! What aggregate functions of SQL need of an array, and their values.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray, PrimitiveArray};
use datafusion::arrow::buffer::NullBuffer;
use datafusion::arrow::datatypes::{
    ArrowPrimitiveType, DataType, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use datafusion::common::ScalarValue;
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use datafusion::physical_expr::expressions::{CastExpr, Column, Literal};
use tdb_array::{Aggregate, AggregateValue, CellValNum, GroupedValues};

use crate::columns::Comparable;
use crate::scan::Scan;
use crate::statistics::scalar;

/// The largest sum of integers that is exact as a double, and so are all sums on the way to it.
const EXACT: i128 = 1 << 53;

/// What a function needs of a column.
#[derive(Clone, Debug)]
pub(super) enum Function {
    /// The number of rows.
    Rows,
    /// The number of rows in which a column is not null.
    NotNull(String),
    /// The sum of a column.
    Sum(String),
    /// The sum of a column divided by the number of values; `bounded` if the column has integers,
    /// whose sum must be exact.
    Mean { column: String, bounded: bool },
    /// The smallest value of a column.
    Min(String),
    /// The largest value of a column.
    Max(String),
    /// The number of different values of a column; `with_null` if null counts as one.
    Distinct { column: String, with_null: bool },
}

impl Function {
    /// A function of a scan's columns; `None` if it means something else in SQL.
    pub(super) fn of(function: &AggregateFunctionExpr, scan: &Scan) -> Option<Self> {
        let arguments = function.expressions();
        let [argument] = arguments.as_slice() else { return None };
        if !function.order_bys().is_empty() {
            return None;
        }
        let name = function.fun().name();
        // An extreme of this crate, whose argument is a column that is converted.
        let name = name.strip_prefix("tiledb_").unwrap_or(name);
        if function.is_distinct() {
            let column = argument.downcast_ref::<Column>()?.name();
            let counts = name == "count" && scan.state.table.is_equal_by_bytes(column);
            return counts.then(|| Self::Distinct { column: column.to_owned(), with_null: false });
        }
        if let Some(literal) = argument.downcast_ref::<Literal>() {
            return (name == "count" && !literal.value().is_null()).then_some(Self::Rows);
        }
        let to = argument.downcast_ref::<CastExpr>();
        let inner = to.map_or(argument, CastExpr::expr);
        let column = inner.downcast_ref::<Column>()?;
        let table = &scan.state.table;
        let position = table.position(column.name())?;
        let (from, comparable) = (table.data_type(position), table.comparable(position));
        let same = to.is_none_or(|cast| is_exact(from, cast.cast_type()));
        let column = column.name().to_owned();
        // Integers that the result's type does not take would be found in vain.
        let result = function.field();
        let fits = scalar(0, result.data_type()).is_some();
        match (name, comparable) {
            _ if !same => None,
            ("sum" | "min" | "max", Comparable::Integer) if !fits => None,
            ("count", Comparable::Integer | Comparable::Real | Comparable::Boolean | Comparable::Bytes) => {
                Some(if table.may_be_null(position) { Self::NotNull(column) } else { Self::Rows })
            }
            ("sum", Comparable::Integer) if from.is_integer() => Some(Self::Sum(column)),
            ("sum", Comparable::Real) => Some(Self::Sum(column)),
            ("avg", Comparable::Integer) if from.is_integer() => Some(Self::Mean { column, bounded: true }),
            ("avg", Comparable::Real) => Some(Self::Mean { column, bounded: false }),
            ("min", Comparable::Integer | Comparable::Real) => Some(Self::Min(column)),
            ("max", Comparable::Integer | Comparable::Real) => Some(Self::Max(column)),
            _ => None,
        }
    }

    /// The aggregates of the array from which it is computed.
    pub(super) fn needs(&self) -> Vec<Aggregate> {
        match self {
            Self::Rows => vec![Aggregate::count()],
            Self::NotNull(column) => vec![Aggregate::count(), Aggregate::null_count(column)],
            Self::Sum(column) => {
                vec![Aggregate::count(), Aggregate::null_count(column), Aggregate::sum(column)]
            }
            Self::Mean { column, bounded } => {
                let mut needs = Self::Sum(column.clone()).needs();
                if *bounded {
                    needs.extend([Aggregate::min(column), Aggregate::max(column)]);
                }
                needs
            }
            Self::Min(column) => vec![Aggregate::min(column)],
            Self::Max(column) => vec![Aggregate::max(column)],
            Self::Distinct { .. } => Vec::new(),
        }
    }

    /// The aggregates that some functions need, each once.
    pub(super) fn all_needs(functions: &[Self]) -> Vec<Aggregate> {
        let mut needs: Vec<Aggregate> = Vec::new();
        for aggregate in functions.iter().flat_map(Self::needs) {
            if !needs.contains(&aggregate) {
                needs.push(aggregate);
            }
        }
        needs
    }

    /// The names of these aggregates, for plans.
    pub(super) fn names(functions: &[Self]) -> String {
        let mut names: Vec<_> = Self::all_needs(functions).iter().map(ToString::to_string).collect();
        names.extend(Self::distinct_columns(functions).iter().map(|column| format!("distinct({column})")));
        names.join(", ")
    }

    /// The columns whose values functions count, each once.
    pub(super) fn distinct_columns(functions: &[Self]) -> Vec<&str> {
        let mut columns = Vec::new();
        for function in functions {
            if let Self::Distinct { column, .. } = function
                && !columns.contains(&column.as_str())
            {
                columns.push(column.as_str());
            }
        }
        columns
    }

    /// Where the aggregates that it needs are among those of all functions.
    pub(super) fn places(&self, all: &[Aggregate]) -> Vec<usize> {
        let own = self.needs();
        own.iter().filter_map(|need| all.iter().position(|aggregate| aggregate == need)).collect()
    }

    /// The value, as one column; or of an average, as two columns, the number of values and their
    /// sum, which DataFusion adds up to that of larger groups. `None` if DataFusion's may differ.
    pub(super) fn state(&self, found: &[Found], types: &[DataType]) -> Option<Vec<ScalarValue>> {
        match (self, types) {
            (Self::Mean { .. }, [DataType::UInt64, DataType::Float64]) => {
                let (values, sum) = self.values_and_sum(found)?;
                // Without values, DataFusion's own number of them is null.
                let values = sum.and(u64::try_from(values).ok());
                Some(vec![ScalarValue::UInt64(values), ScalarValue::Float64(sum)])
            }
            (_, [data_type]) => {
                let value = self.value(found, data_type)?;
                (value.data_type() == *data_type).then(|| vec![value])
            }
            _ => None,
        }
    }

    /// Of an average, the number of values and their sum, if there are any. `None` if DataFusion's
    /// sum may differ.
    fn values_and_sum(&self, found: &[Found]) -> Option<(i128, Option<f64>)> {
        let Self::Mean { bounded, .. } = self else { return None };
        let integer = |at: usize| found.get(at).copied().and_then(Found::integer);
        let values = integer(0)?.saturating_sub(integer(1)?);
        if values == 0 {
            return Some((0, None));
        }
        let sum = match found.get(2)? {
            Found::Integer(sum) if *bounded => {
                let largest = integer(3)?.abs().max(integer(4)?.abs());
                largest.checked_mul(values).filter(|most| *most < EXACT)?;
                (*sum)? as f64
            }
            Found::Real(sum) => (*sum)?,
            _ => return None,
        };
        Some((values, Some(sum)))
    }

    /// The value of the function, given those of the aggregates that it needs. `None` if
    /// DataFusion's value may differ.
    pub(super) fn value(&self, found: &[Found], data_type: &DataType) -> Option<ScalarValue> {
        match self.number(found)? {
            Found::Integer(None) | Found::Real(None) => ScalarValue::try_from(data_type).ok(),
            Found::Integer(Some(value)) => scalar(value, data_type),
            Found::Real(Some(value)) => {
                let value = ScalarValue::Float64(Some(value));
                // Extremes have the type of their column, all other reals are doubles.
                if matches!(self, Self::Min(_) | Self::Max(_)) {
                    value.cast_to(data_type).ok()
                } else {
                    Some(value)
                }
            }
            Found::Unknown => None,
        }
    }

    /// The value of the function as a number, or null. `None` if DataFusion's value may differ.
    fn number(&self, found: &[Found]) -> Option<Found> {
        let count = |at: usize| found.get(at).copied().and_then(Found::integer);
        let values = || Some(count(0)?.saturating_sub(count(1)?));
        match self {
            Self::Rows => Some(Found::Integer(Some(count(0)?))),
            Self::NotNull(_) => Some(Found::Integer(Some(values()?))),
            Self::Sum(_) if values()? == 0 => Some(Found::Integer(None)),
            Self::Sum(_) => match found.get(2)? {
                Found::Integer(sum) => Some(Found::Integer(Some((*sum)?))),
                Found::Real(sum) => Some(Found::Real(Some((*sum)?))),
                Found::Unknown => None,
            },
            Self::Mean { .. } => {
                let (values, sum) = self.values_and_sum(found)?;
                Some(Found::Real(sum.map(|sum| sum / values as f64)))
            }
            Self::Min(_) | Self::Max(_) | Self::Distinct { .. } => found.first().copied(),
        }
    }

    /// The aggregate that has the function's values, among those that it needs: sums and extremes
    /// are null where there is no value.
    fn found_as_it_is<'a>(&self, values: &[&'a GroupedValues]) -> Option<&'a GroupedValues> {
        match self {
            Self::Rows | Self::Min(_) | Self::Max(_) => values.first().copied(),
            Self::Sum(_) => values.get(2).copied(),
            Self::NotNull(_) | Self::Mean { .. } | Self::Distinct { .. } => None,
        }
    }

    /// The values of so many groups as a column, given those of the aggregates that it needs: what
    /// [`Self::state`] says, but a value for each group would take far longer. `None` if the
    /// column's type has none of its own here.
    pub(super) fn numbers(
        &self,
        values: &[&GroupedValues],
        groups: usize,
        data_type: &DataType,
    ) -> Option<Numbers> {
        if let Some(values) = self.found_as_it_is(values)
            && let Some(column) = as_it_is(&values.column, data_type)
        {
            return Some(Some(column));
        }
        let each = Each { function: self, values, groups };
        Some(match data_type {
            DataType::Int8 => each.integers::<Int8Type>(),
            DataType::Int16 => each.integers::<Int16Type>(),
            DataType::Int32 => each.integers::<Int32Type>(),
            DataType::Int64 => each.integers::<Int64Type>(),
            DataType::UInt8 => each.integers::<UInt8Type>(),
            DataType::UInt16 => each.integers::<UInt16Type>(),
            DataType::UInt32 => each.integers::<UInt32Type>(),
            DataType::UInt64 => each.integers::<UInt64Type>(),
            // Sums of parts, which are whole.
            DataType::Decimal128(precision, scale @ 0) => {
                each.integers::<Decimal128Type>().and_then(|sums| {
                    let sums = sums.as_primitive::<Decimal128Type>().clone();
                    Some(Arc::new(sums.with_precision_and_scale(*precision, *scale).ok()?) as _)
                })
            }
            DataType::Float64 => each.reals::<Float64Type>(|value| value),
            #[expect(clippy::cast_possible_truncation, reason = "extremes of a column of floats are floats")]
            DataType::Float32 => each.reals::<Float32Type>(|value| value as f32),
            _ => return None,
        })
    }
}

/// The values of an aggregate as a column of the same numbers; `None` for other types, which are
/// converted value by value.
fn as_it_is(column: &tdb_array::Column, data_type: &DataType) -> Option<ArrayRef> {
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

/// A column, or `None` if DataFusion's values may differ.
pub(super) type Numbers = Option<ArrayRef>;

/// A function of many groups.
struct Each<'a> {
    function: &'a Function,
    /// The aggregates that it needs.
    values: &'a [&'a GroupedValues],
    groups: usize,
}

impl Each<'_> {
    fn column<T: ArrowPrimitiveType>(&self, native: impl Fn(Found) -> Option<Option<T::Native>>) -> Numbers {
        let mut found = Vec::with_capacity(self.values.len());
        let mut values = Vec::with_capacity(self.groups);
        for group in 0..self.groups {
            found.clear();
            found.extend(self.values.iter().map(|values| Found::of_group(values, group)));
            values.push(native(self.function.number(&found)?)?);
        }
        Some(Arc::new(PrimitiveArray::<T>::from_iter(values)))
    }

    fn integers<T: ArrowPrimitiveType<Native: TryFrom<i128>>>(&self) -> Numbers {
        self.column::<T>(|found| match found {
            Found::Integer(None) | Found::Real(None) => Some(None),
            Found::Integer(Some(value)) => T::Native::try_from(value).ok().map(Some),
            Found::Real(Some(_)) | Found::Unknown => None,
        })
    }

    fn reals<T: ArrowPrimitiveType>(&self, native: impl Fn(f64) -> T::Native) -> Numbers {
        self.column::<T>(|found| match found {
            Found::Integer(None) | Found::Real(None) => Some(None),
            Found::Real(Some(value)) => Some(Some(native(value))),
            Found::Integer(Some(_)) | Found::Unknown => None,
        })
    }
}

/// Whether a cast changes no value: what DataFusion puts around the arguments of sums and averages.
fn is_exact(from: &DataType, to: &DataType) -> bool {
    use DataType as D;
    let narrow = matches!(from, D::Int8 | D::Int16 | D::Int32 | D::UInt8 | D::UInt16 | D::UInt32);
    match to {
        D::Int64 => narrow || *from == D::Int64,
        D::UInt64 => matches!(from, D::UInt8 | D::UInt16 | D::UInt32 | D::UInt64),
        // Averages of wide integers are checked when they are known.
        D::Float64 => from.is_integer() || matches!(from, D::Float32 | D::Float64),
        _ => false,
    }
}

/// An aggregate of some parts of an array.
#[derive(Clone, Copy, Debug)]
pub(super) enum Found {
    /// `None` if there is no value.
    Integer(Option<i128>),
    Real(Option<f64>),
    /// It does not fit.
    Unknown,
}

impl Found {
    /// Whether aggregates of groups have the values of SQL: none was too large, and there are no
    /// NaNs, which SQL does not leave out.
    pub(super) fn are_known(values: &[GroupedValues]) -> bool {
        values.iter().all(|values| !values.overflowed && !values.has_nan)
    }

    /// The value of an aggregate of a group, if it is known.
    pub(super) fn of_group(values: &GroupedValues, group: usize) -> Self {
        if values.column.cell_val_num != CellValNum::ONE {
            return Self::Unknown;
        }
        if values.are_reals() { Self::Real(values.real(group)) } else { Self::Integer(values.integer(group)) }
    }

    pub(super) fn of(value: &AggregateValue) -> Self {
        if value.overflowed() || value.has_nan() {
            Self::Unknown
        } else if value.datatype.physical().is_float() {
            Self::Real(value.as_f64())
        } else {
            let integer = value.as_i64().map(i128::from).or_else(|| value.as_u64().map(i128::from));
            Self::Integer(integer)
        }
    }

    const fn is_none(self) -> bool {
        matches!(self, Self::Integer(None) | Self::Real(None))
    }

    const fn integer(self) -> Option<i128> {
        match self {
            Self::Integer(value) => value,
            Self::Real(_) | Self::Unknown => None,
        }
    }

    /// The aggregate of two sets of cells.
    pub(super) fn and(self, other: Self, aggregate: &Aggregate) -> Self {
        use tdb_array::AggregateFunction::{Max, Min};
        let function = aggregate.function();
        match (self, other) {
            (Self::Unknown, _) | (_, Self::Unknown) => Self::Unknown,
            (none, some) | (some, none) if none.is_none() => some,
            (Self::Integer(Some(a)), Self::Integer(Some(b))) => Self::Integer(Some(match function {
                Min => a.min(b),
                Max => a.max(b),
                _ => a.saturating_add(b),
            })),
            (Self::Real(Some(a)), Self::Real(Some(b))) => Self::Real(Some(match function {
                Min => a.min(b),
                Max => a.max(b),
                _ => a + b,
            })),
            _ => Self::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn real(value: f64) -> Found {
        Found::Real(Some(value))
    }

    #[test]
    fn sums_of_parts_are_added_and_extremes_compared() {
        let of_both = |aggregate: &Aggregate| match real(2.5).and(real(-1.0), aggregate) {
            Found::Real(value) => value,
            other => panic!("{other:?}"),
        };
        assert_eq!(of_both(&Aggregate::sum("a")), Some(1.5));
        assert_eq!(of_both(&Aggregate::min("a")), Some(-1.0));
        assert_eq!(of_both(&Aggregate::max("a")), Some(2.5));
    }

    #[test]
    fn a_part_without_cells_changes_nothing() {
        for aggregate in [Aggregate::sum("a"), Aggregate::min("a"), Aggregate::max("a")] {
            let nothing = Found::Integer(None);
            assert!(nothing.is_none() && nothing.and(nothing, &aggregate).is_none());
            for found in [nothing.and(real(7.0), &aggregate), real(7.0).and(nothing, &aggregate)] {
                assert!(matches!(found, Found::Real(Some(7.0))), "{found:?}");
            }
        }
        assert!(matches!(Found::Unknown.and(real(7.0), &Aggregate::sum("a")), Found::Unknown));
    }
}
