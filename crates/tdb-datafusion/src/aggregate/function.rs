//! Aggregate functions of SQL: the aggregates of an array that each is computed from, and its
//! value.

use datafusion::arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use datafusion::physical_expr::expressions::{CastExpr, Column, Literal};
use tdb_array::query::Aggregate;

use super::number::AggregateNumber;
use crate::Result;
use crate::columns::Comparable;
use crate::error::internal;
use crate::scan::Scan;
use crate::statistics::scalar;

/// Integers below this are exact as doubles. If a sum of absolute values is below it, so is every
/// sum on the way to it.
const MAX_EXACT_SUM: i128 = 1 << 53;

/// An aggregate function of SQL that arrays can compute.
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
    /// A function of a scan's columns; `None` if arrays cannot compute it with the meaning of SQL.
    pub(super) fn of(function: &AggregateFunctionExpr, scan: &Scan) -> Option<Self> {
        let arguments = function.expressions();
        let [argument] = arguments.as_slice() else { return None };
        if !function.order_bys().is_empty() {
            return None;
        }
        let name = function.fun().name();
        // `tiledb_min` and `tiledb_max` of this crate, whose argument is a cast of a column.
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

    /// The aggregates of the array from which this function is computed, in the order in which the
    /// functions below expect their values.
    pub(super) fn aggregates(&self) -> Vec<Aggregate> {
        match self {
            Self::Rows => vec![Aggregate::count()],
            Self::NotNull(column) => vec![Aggregate::count(), Aggregate::null_count(column)],
            Self::Sum(column) => {
                vec![Aggregate::count(), Aggregate::null_count(column), Aggregate::sum(column)]
            }
            Self::Mean { column, bounded } => {
                let mut aggregates = Self::Sum(column.clone()).aggregates();
                if *bounded {
                    aggregates.extend([Aggregate::min(column), Aggregate::max(column)]);
                }
                aggregates
            }
            Self::Min(column) => vec![Aggregate::min(column)],
            Self::Max(column) => vec![Aggregate::max(column)],
            Self::Distinct { .. } => Vec::new(),
        }
    }

    /// The aggregates that some functions are computed from, each once.
    pub(super) fn all_aggregates(functions: &[Self]) -> Vec<Aggregate> {
        let mut aggregates: Vec<Aggregate> = Vec::new();
        for aggregate in functions.iter().flat_map(Self::aggregates) {
            if !aggregates.contains(&aggregate) {
                aggregates.push(aggregate);
            }
        }
        aggregates
    }

    /// The names of these aggregates, for plans.
    pub(super) fn names(functions: &[Self]) -> String {
        let mut names: Vec<_> = Self::all_aggregates(functions).iter().map(ToString::to_string).collect();
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

    /// Selects the values of the aggregates that this function is computed from among those of all
    /// functions.
    pub(super) fn select<'v, T>(
        &self,
        all: &'v [T],
        aggregate_of: impl Fn(&T) -> &Aggregate,
    ) -> Result<Vec<&'v T>> {
        let own = self.aggregates().into_iter().map(|own| {
            let found = all.iter().find(|value| *aggregate_of(value) == own);
            found.ok_or_else(|| internal("the array has not computed an aggregate of a function"))
        });
        own.collect()
    }

    /// The state of a partial aggregation: the value, as one column; for an average two columns,
    /// the number of values and their sum, which DataFusion merges. `None` if DataFusion's state
    /// may differ.
    pub(super) fn state(&self, found: &[AggregateNumber], types: &[DataType]) -> Option<Vec<ScalarValue>> {
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

    /// The number of values of an average, and their sum unless there are none. `None` if
    /// DataFusion's sum may differ.
    fn values_and_sum(&self, found: &[AggregateNumber]) -> Option<(i128, Option<f64>)> {
        let Self::Mean { bounded, .. } = self else { return None };
        let integer = |at: usize| found.get(at).copied().and_then(AggregateNumber::integer);
        let values = integer(0)?.checked_sub(integer(1)?)?;
        if values == 0 {
            return Some((0, None));
        }
        let sum = match found.get(2)? {
            AggregateNumber::Integer(sum) if *bounded => {
                let largest = integer(3)?.abs().max(integer(4)?.abs());
                largest.checked_mul(values).filter(|most| *most < MAX_EXACT_SUM)?;
                (*sum)? as f64
            }
            AggregateNumber::Real(sum) => (*sum)?,
            _ => return None,
        };
        Some((values, Some(sum)))
    }

    /// The value of the function, given those of its aggregates. `None` if
    /// DataFusion's value may differ.
    pub(super) fn value(&self, found: &[AggregateNumber], data_type: &DataType) -> Option<ScalarValue> {
        match self.number(found)? {
            AggregateNumber::Integer(None) | AggregateNumber::Real(None) => {
                ScalarValue::try_from(data_type).ok()
            }
            AggregateNumber::Integer(Some(value)) => scalar(value, data_type),
            AggregateNumber::Real(Some(value)) => {
                let value = ScalarValue::Float64(Some(value));
                // Extremes have the type of their column, all other reals are doubles.
                if matches!(self, Self::Min(_) | Self::Max(_)) {
                    value.cast_to(data_type).ok()
                } else {
                    Some(value)
                }
            }
            AggregateNumber::Unknown => None,
        }
    }

    /// The value of the function as a number, or null. `None` if DataFusion's value may differ.
    pub(super) fn number(&self, found: &[AggregateNumber]) -> Option<AggregateNumber> {
        let count = |at: usize| found.get(at).copied().and_then(AggregateNumber::integer);
        let values = || count(0)?.checked_sub(count(1)?);
        match self {
            Self::Rows => Some(AggregateNumber::Integer(Some(count(0)?))),
            Self::NotNull(_) => Some(AggregateNumber::Integer(Some(values()?))),
            Self::Sum(_) if values()? == 0 => Some(AggregateNumber::Integer(None)),
            Self::Sum(_) => match found.get(2)? {
                AggregateNumber::Integer(sum) => Some(AggregateNumber::Integer(Some((*sum)?))),
                AggregateNumber::Real(sum) => Some(AggregateNumber::Real(Some((*sum)?))),
                AggregateNumber::Unknown => None,
            },
            Self::Mean { .. } => {
                let (values, sum) = self.values_and_sum(found)?;
                Some(AggregateNumber::Real(sum.map(|sum| sum / values as f64)))
            }
            Self::Min(_) | Self::Max(_) | Self::Distinct { .. } => found.first().copied(),
        }
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
