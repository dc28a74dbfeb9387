//! Aggregates: a function, and the field it is computed for.

use core::fmt;

use super::ConditionError;
use super::display::write_name;
use super::text::{Call, parse_calls};

/// The function of an aggregate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AggregateFunction {
    /// Number of cells. For a dense query without a condition, all cells it asks for, written or
    /// not.
    Count,
    /// Number of null cells.
    NullCount,
    /// Sum of the values that are not null: `INT64`, `UINT64` or `FLOAT64`.
    Sum,
    /// Smallest value.
    Min,
    /// Largest value.
    Max,
    /// Mean of the values, `FLOAT64`.
    Mean,
}

/// An aggregate to compute: a function of a field's cells, or the number of cells.
///
/// It is over the cells that the query returns; with a condition, over those that satisfy it. Cells
/// of a dense array that were never written count only in [`count`](Self::count), and satisfy no
/// condition here. Cells that are older than the field are its fill value. Null cells count only in
/// `count` and [`null_count`](Self::null_count). NaNs are ignored in smallest and largest values,
/// unless there is nothing else. Strings are compared as unsigned bytes. Sums of integers are
/// exact; a sum that does not fit in 64 bits is replaced by the limit that it exceeded, and
/// `AggregateValue::overflowed` returns true (libtiledb returns the type's maximum in either
/// direction). Reals are added in 64 bits, tile by tile. If no cell has a value, there is no
/// smallest, largest or mean value, and no sum if the field is nullable; otherwise the sum is 0.
///
/// ```
/// use tdb_array::query::Aggregate;
///
/// let aggregates = Aggregate::parse("sum(v), count, max(\"odd name\")")?;
/// assert_eq!(aggregates, [Aggregate::sum("v"), Aggregate::count(), Aggregate::max("odd name")]);
/// assert_eq!(aggregates[2].to_string(), "max(\"odd name\")");
/// # Ok::<(), tdb_array::error::AggregateError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Aggregate {
    function: AggregateFunction,
    field: Option<String>,
}

/// Why an aggregate cannot be computed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say what the variants mean")]
pub enum AggregateError {
    #[error(transparent)]
    Text(#[from] ConditionError),
    #[error("the array has no field \"{name}\" (it has {known})")]
    UnknownField { name: String, known: String },
    #[error("{aggregate} needs single numbers; the field's cells are {cells}")]
    NotNumbers { aggregate: Aggregate, cells: String },
    #[error("{aggregate} needs single numbers or strings; the field's cells are {cells}")]
    NotOrdered { aggregate: Aggregate, cells: String },
    #[error("{aggregate}: aggregates of the coordinates of dense arrays are not supported")]
    DenseDimension { aggregate: Aggregate },
    #[error("groups of the cells of dense arrays are not supported: read the cells")]
    DenseGroups,
}

impl AggregateFunction {
    const TABLE: [(Self, &'static str); 6] = [
        (Self::Count, "count"),
        (Self::NullCount, "null_count"),
        (Self::Sum, "sum"),
        (Self::Min, "min"),
        (Self::Max, "max"),
        (Self::Mean, "mean"),
    ];

    /// The function's name, which the table has for each function.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::TABLE.iter().find(|row| row.0 == self).map_or("", |row| row.1)
    }
}

impl Aggregate {
    /// The number of cells.
    #[must_use]
    pub const fn count() -> Self {
        Self { function: AggregateFunction::Count, field: None }
    }

    /// The number of cells of a field that are null.
    #[must_use]
    pub fn null_count(field: impl Into<String>) -> Self {
        Self { function: AggregateFunction::NullCount, field: Some(field.into()) }
    }

    /// The sum of a field's values.
    #[must_use]
    pub fn sum(field: impl Into<String>) -> Self {
        Self { function: AggregateFunction::Sum, field: Some(field.into()) }
    }

    /// The smallest of a field's values.
    #[must_use]
    pub fn min(field: impl Into<String>) -> Self {
        Self { function: AggregateFunction::Min, field: Some(field.into()) }
    }

    /// The largest of a field's values.
    #[must_use]
    pub fn max(field: impl Into<String>) -> Self {
        Self { function: AggregateFunction::Max, field: Some(field.into()) }
    }

    /// The mean of a field's values.
    #[must_use]
    pub fn mean(field: impl Into<String>) -> Self {
        Self { function: AggregateFunction::Mean, field: Some(field.into()) }
    }

    /// Reads a list such as `sum(v), count, min("odd name")`; `avg` is `mean`. Names are written as
    /// in [`QueryCondition`](crate::QueryCondition)s.
    ///
    /// # Errors
    /// A text that is not such a list; the error contains the column.
    pub fn parse(text: &str) -> Result<Vec<Self>, AggregateError> {
        let calls = parse_calls(text)?;
        let aggregate = |call: Call| -> Result<Self, AggregateError> {
            // SQL's name of the mean.
            let name = if call.function.eq_ignore_ascii_case("avg") { "mean" } else { &call.function };
            let row = AggregateFunction::TABLE.iter().find(|row| row.1.eq_ignore_ascii_case(name));
            let Some((function, _)) = row else {
                return Err(call.expected("count, null_count, sum, min, max or mean").into());
            };
            match (function, call.field.clone()) {
                (AggregateFunction::Count, None) => Ok(Self::count()),
                (AggregateFunction::Count, Some(_)) => Err(call.expected("count without a field").into()),
                (_, None) => Err(call.expected("a function of a field, such as sum(v),").into()),
                (function, field) => Ok(Self { function: *function, field }),
            }
        };
        calls.into_iter().map(aggregate).collect()
    }

    /// The function.
    #[must_use]
    pub const fn function(&self) -> AggregateFunction {
        self.function
    }

    /// The field; `None` for [`count`](Self::count).
    #[must_use]
    pub fn field(&self) -> Option<&str> {
        self.field.as_deref()
    }
}

impl fmt::Display for Aggregate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.function.name())?;
        match &self.field {
            Some(field) => {
                f.write_str("(")?;
                write_name(f, field)?;
                f.write_str(")")
            }
            None => Ok(()),
        }
    }
}
