//! Filter pushdown: the ranges of dimensions and the condition on cells that a read applies for the
//! filters of a query.

use core::slice;

use datafusion::logical_expr::Expr;
use tdb_array::field;
use tdb_array::query::QueryCondition;
use tdb_array::schema::{ArraySchema, Dimension};

use crate::Result;
use crate::columns::{Comparable, TableColumns};
use crate::predicate::{Comparison, Predicate};
use crate::ranges::Coordinates;
use crate::thresholds::MAX_NOT_IN_RANGES;
use crate::value::Value;

/// The ranges and the condition derived from filters.
#[derive(Clone, Debug, Default)]
pub(crate) struct PushedFilters {
    /// The coordinates of each dimension; `None` for all.
    pub(crate) coordinates: Vec<Option<Coordinates>>,
    /// The condition on cells.
    pub(crate) condition: Option<QueryCondition>,
    /// Whether exactly the rows for which the filters are true are read, and no others.
    pub(crate) exact: bool,
    /// Whether no row can satisfy the filters.
    pub(crate) nothing: bool,
}

impl PushedFilters {
    /// Derives them from filters that must all be true.
    pub(crate) fn of<'e>(
        filters: impl IntoIterator<Item = &'e Expr>,
        table: &TableColumns,
        schema: &ArraySchema,
    ) -> Self {
        let dimensions = &schema.domain.dimensions;
        let mut coordinates: Vec<Option<Coordinates>> = vec![None; dimensions.len()];
        let whole = Predicate::all(filters.into_iter().map(|filter| Predicate::of(filter, table)));
        let parts = match whole {
            Predicate::All(parts) => parts,
            Predicate::Constant(value) => {
                return Self { coordinates, condition: None, exact: true, nothing: !value };
            }
            one => vec![one],
        };
        let mut rest = Vec::new();
        // The parts that are exactly expressed by the coordinates of each dimension.
        let mut expressed: Vec<Vec<Predicate>> = vec![Vec::new(); dimensions.len()];
        for part in parts {
            let found = coordinates_of(&part, table, dimensions);
            // A part that is not about a dimension goes into the condition.
            let slot = found.and_then(|(dimension, set, exact)| {
                let (slot, expressed) = (coordinates.get_mut(dimension)?, expressed.get_mut(dimension)?);
                let both = slot.as_ref().map_or(Some(set.clone()), |before| before.and(&set).ok())?;
                Some((slot, expressed, both, exact))
            });
            match slot {
                Some((slot, expressed, both, exact)) => {
                    *slot = Some(both);
                    if exact {
                        expressed.push(part);
                    } else {
                        rest.push(part);
                    }
                }
                None => rest.push(part),
            }
        }
        for (slot, expressed) in coordinates.iter_mut().zip(expressed) {
            if slot.as_ref().is_some_and(|set| !set.can_be_ranges()) {
                *slot = None;
                rest.extend(expressed);
            }
        }
        let nothing = coordinates.iter().flatten().any(Coordinates::is_empty);
        let (condition, exact) = match all(&rest, table, Nans::Possible) {
            _ if !table.selects => (None, rest.is_empty()),
            // The next write to a dense array may leave rows unwritten, and DataFusion asks only
            // once: it filters again.
            (condition, exact) => (condition, exact && (!table.dense || rest.is_empty())),
        };
        Self { coordinates, condition, exact, nothing }
    }

    /// The filters as a condition alone: dimensions too are compared cell by cell.
    pub(crate) fn as_condition<'e>(
        filters: impl IntoIterator<Item = &'e Expr>,
        table: &TableColumns,
    ) -> Self {
        Self::with_nans(filters, table, Nans::Possible)
    }

    /// The same for cells none of which is NaN: of those that are, it leaves out some that satisfy
    /// the filters.
    pub(crate) fn as_condition_without_nans<'e>(
        filters: impl IntoIterator<Item = &'e Expr>,
        table: &TableColumns,
    ) -> Self {
        Self::with_nans(filters, table, Nans::Absent)
    }

    fn with_nans<'e>(filters: impl IntoIterator<Item = &'e Expr>, table: &TableColumns, nans: Nans) -> Self {
        let whole = Predicate::all(filters.into_iter().map(|filter| Predicate::of(filter, table)));
        let (condition, exact, nothing) = match &whole {
            Predicate::Constant(value) => (None, true, !*value),
            // Conditions of dense reads do not remove cells.
            _ if table.dense => (None, false, false),
            Predicate::All(parts) => {
                let (condition, exact) = all(parts, table, nans);
                (condition, exact, false)
            }
            one => {
                let (condition, exact) = all(slice::from_ref(one), table, nans);
                (condition, exact, false)
            }
        };
        Self { coordinates: Vec::new(), condition, exact, nothing }
    }

    /// Whether a read can apply any part of the filters.
    pub(crate) fn is_useful(&self) -> bool {
        self.nothing || self.condition.is_some() || self.coordinates.iter().any(Option::is_some)
    }
}

/// Whether columns of real numbers may have NaNs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Nans {
    /// They may: the format's comparisons with NaN are false, and SQL's are not.
    Possible,
    /// They have none.
    Absent,
}

/// The coordinates for which a predicate about a single dimension can be true, and whether these
/// are exactly the ones. `None` if the predicate is about anything else.
fn coordinates_of(
    predicate: &Predicate,
    table: &TableColumns,
    dimensions: &[Dimension],
) -> Option<(usize, Coordinates, bool)> {
    let of = |column: usize, comparison, value: &Value| {
        let number = table.dimension(column)?;
        let (set, exact) = Coordinates::compare(dimensions.get(number)?, comparison, value)?;
        Some((number, set, exact))
    };
    let join = |parts: &[Predicate], join: fn(Coordinates, Coordinates) -> Result<Coordinates>| {
        let mut parts = parts.iter().map(|part| coordinates_of(part, table, dimensions));
        let first = parts.next()??;
        parts.try_fold(first, |(number, set, exact), part| {
            let part = part?;
            if part.0 != number {
                return None;
            }
            Some((number, join(set, part.1).ok()?, exact && part.2))
        })
    };
    match predicate {
        Predicate::Compare { column, comparison, value } => of(*column, *comparison, value),
        Predicate::In { column, values, is_in } => {
            if !is_in && values.len() > MAX_NOT_IN_RANGES {
                return None;
            }
            let comparison = if *is_in { Comparison::Equal } else { Comparison::NotEqual };
            let mut sets = values.iter().map(|value| of(*column, comparison, value));
            let first = sets.next()??;
            sets.try_fold(first, |(number, set, exact), next| {
                let next = next?;
                let both = if *is_in { set.or(next.1) } else { set.and(&next.1) }.ok()?;
                Some((number, both, exact && next.2))
            })
        }
        Predicate::Any(parts) => join(parts, Coordinates::or),
        Predicate::All(parts) => join(parts, |a, b| a.and(&b)),
        Predicate::Null { .. } | Predicate::Constant(_) | Predicate::Unknown => None,
    }
}

/// A condition that is true at least where all of these are, if there is one, and whether it is
/// true nowhere else.
fn all(parts: &[Predicate], table: &TableColumns, nans: Nans) -> (Option<QueryCondition>, bool) {
    let (mut condition, mut exact) = (None, true);
    let mut add = |part: QueryCondition| {
        condition = Some(match condition.take() {
            Some(before) => QueryCondition::and(before, part),
            None => part,
        });
    };
    for part in parts {
        match part {
            Predicate::Compare { column, comparison, value }
                if comparison.is_order() && table.comparable(*column) == Comparable::Real =>
            {
                // In SQL, NaN is larger (or smaller) than everything; a second bound excludes all
                // NaNs.
                if nans == Nans::Absent || is_bounded(parts, *column) {
                    add(compare(table.name(*column), *comparison, value));
                } else {
                    add(or_nan(*column, *comparison, value, table));
                    exact = false;
                }
            }
            part => match lower(part, table, nans) {
                Some((part, is_exact)) => {
                    add(part);
                    exact &= is_exact;
                }
                None => exact = false,
            },
        }
    }
    (condition, exact)
}

/// Whether these limit a column both from below and from above.
fn is_bounded(parts: &[Predicate], column: usize) -> bool {
    let bounds = |wanted: [Comparison; 2]| {
        parts.iter().any(|part| {
            matches!(part, Predicate::Compare { column: of, comparison, .. }
                if *of == column && wanted.contains(comparison))
        })
    };
    bounds([Comparison::Less, Comparison::LessOrEqual])
        && bounds([Comparison::Greater, Comparison::GreaterOrEqual])
}

/// A condition that is true at least where a predicate is, and whether it is true nowhere else.
fn lower(predicate: &Predicate, table: &TableColumns, nans: Nans) -> Option<(QueryCondition, bool)> {
    match predicate {
        Predicate::All(parts) => match all(parts, table, nans) {
            (Some(condition), exact) => Some((condition, exact)),
            (None, _) => None,
        },
        Predicate::Any(parts) => {
            let mut parts = parts.iter().map(|part| lower(part, table, nans));
            let first = parts.next()??;
            parts.try_fold(first, |(any, exact), part| {
                let part = part?;
                Some((any.or(part.0), exact && part.1))
            })
        }
        Predicate::Compare { column, comparison, value } => {
            let exact = match table.comparable(*column) {
                Comparable::Integer | Comparable::Bytes => true,
                Comparable::Boolean | Comparable::Real if !comparison.is_order() => true,
                // Numbers that the enumeration does not have differ from all its values, but are
                // null in SQL.
                Comparable::Enumerated if !comparison.is_order() => *comparison == Comparison::Equal,
                Comparable::Real if nans == Nans::Absent => true,
                Comparable::Real => return Some((or_nan(*column, *comparison, value, table), false)),
                _ => return None,
            };
            Some((compare(table.name(*column), *comparison, value), exact))
        }
        Predicate::In { column, values, is_in } => is_in_list(*column, values, *is_in, table),
        Predicate::Null { column, is } => match table.comparable(*column) {
            Comparable::Not => None,
            Comparable::Enumerated if *is => None,
            comparable => {
                let column = field(table.name(*column));
                let condition = if *is { column.is_null() } else { column.is_not_null() };
                Some((condition, comparable != Comparable::Enumerated))
            }
        },
        Predicate::Constant(_) | Predicate::Unknown => None,
    }
}

fn is_in_list(
    column: usize,
    values: &[Value],
    is_in: bool,
    table: &TableColumns,
) -> Option<(QueryCondition, bool)> {
    let operands = || values.iter().map(Value::operand);
    let name = table.name(column);
    let exact = match table.comparable(column) {
        Comparable::Integer | Comparable::Bytes | Comparable::Boolean => true,
        Comparable::Enumerated => is_in,
        // Lists compare bits here, and there are two zeros; DataFusion compares bits for long lists
        // and values for short ones.
        Comparable::Real if values.contains(&Value::Real(0.0)) => {
            let equal = values.iter().map(|value| compare(name, Comparison::Equal, value));
            return equal.filter(|_| is_in).reduce(QueryCondition::or).map(|any| (any, false));
        }
        Comparable::Real => true,
        Comparable::Not => return None,
    };
    let column = field(name);
    Some((if is_in { column.is_in(operands()) } else { column.not_in(operands()) }, exact))
}

/// A bound of real numbers, which NaNs may satisfy in SQL: those with a sign are less than all
/// numbers, the others larger.
fn or_nan(column: usize, comparison: Comparison, value: &Value, table: &TableColumns) -> QueryCondition {
    let name = table.name(column);
    compare(name, comparison, value).or(field(name).is_nan())
}

fn compare(name: &str, comparison: Comparison, value: &Value) -> QueryCondition {
    let (column, operand) = (field(name), value.operand());
    match comparison {
        Comparison::Less => column.lt(operand),
        Comparison::LessOrEqual => column.le(operand),
        Comparison::Greater => column.gt(operand),
        Comparison::GreaterOrEqual => column.ge(operand),
        Comparison::Equal => column.eq(operand),
        Comparison::NotEqual => column.ne(operand),
    }
}
