//! SQL filters as predicates on single columns, in which negations are pushed down to the
//! comparisons.
//!
//! SQL has three truth values, and a row passes a filter only if it is true. With negations at the
//! comparisons, only "true" has to be distinguished: a conjunction is true if all its parts are, a
//! disjunction if one is, and a comparison with a null never is. So each [`Predicate`] describes
//! where the expression is *true*, and not where it is false or unknown.

use datafusion::common::ScalarValue;
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::{Between, BinaryExpr, Expr, Operator};

use crate::columns::{Comparable, TableColumns};
use crate::value::{Value, value_of};

/// Describes where an expression is true.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Predicate {
    /// All of these are true.
    All(Vec<Self>),
    /// At least one of these is true.
    Any(Vec<Self>),
    /// The column is not null and satisfies the comparison with the value.
    Compare { column: usize, comparison: Comparison, value: Value },
    /// The column is not null, and is (or is not) one of the values.
    In { column: usize, values: Vec<Value>, is_in: bool },
    /// The column is null (or is not null).
    Null { column: usize, is: bool },
    /// Always true, or never.
    Constant(bool),
    /// Not known here.
    Unknown,
}

/// A comparison of a column with a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comparison {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
    NotEqual,
}

impl Comparison {
    const fn of(operator: Operator) -> Option<Self> {
        Some(match operator {
            Operator::Lt => Self::Less,
            Operator::LtEq => Self::LessOrEqual,
            Operator::Gt => Self::Greater,
            Operator::GtEq => Self::GreaterOrEqual,
            Operator::Eq => Self::Equal,
            Operator::NotEq => Self::NotEqual,
            _ => return None,
        })
    }

    /// The comparison that is true for two values, neither of them null, if and only if this one is
    /// false. SQL has a total order of all values, including NaN.
    const fn negated(self) -> Self {
        match self {
            Self::Less => Self::GreaterOrEqual,
            Self::LessOrEqual => Self::Greater,
            Self::Greater => Self::LessOrEqual,
            Self::GreaterOrEqual => Self::Less,
            Self::Equal => Self::NotEqual,
            Self::NotEqual => Self::Equal,
        }
    }

    /// The comparison with its sides exchanged.
    const fn swapped(self) -> Self {
        match self {
            Self::Less => Self::Greater,
            Self::LessOrEqual => Self::GreaterOrEqual,
            Self::Greater => Self::Less,
            Self::GreaterOrEqual => Self::LessOrEqual,
            Self::Equal | Self::NotEqual => self,
        }
    }

    /// Whether it depends on which of two values is larger.
    pub(crate) const fn is_order(self) -> bool {
        !matches!(self, Self::Equal | Self::NotEqual)
    }
}

impl Predicate {
    /// The predicate of a filter.
    pub(crate) fn of(filter: &Expr, table: &TableColumns) -> Self {
        build(filter, false, table)
    }

    /// The conjunction of predicates.
    pub(crate) fn all(parts: impl IntoIterator<Item = Self>) -> Self {
        let mut all = Vec::new();
        for part in parts {
            match part {
                Self::All(parts) => all.extend(parts),
                Self::Constant(true) => {}
                Self::Constant(false) => return part,
                part => all.push(part),
            }
        }
        match all.len() {
            0 => Self::Constant(true),
            1 => all.swap_remove(0),
            _ => Self::All(all),
        }
    }

    /// The disjunction of predicates.
    fn any(parts: impl IntoIterator<Item = Self>) -> Self {
        let mut any = Vec::new();
        for part in parts {
            match part {
                Self::Any(parts) => any.extend(parts),
                Self::Constant(false) => {}
                Self::Constant(true) => return part,
                part => any.push(part),
            }
        }
        match any.len() {
            0 => Self::Constant(false),
            1 => any.swap_remove(0),
            _ => Self::Any(any),
        }
    }
}

/// The predicate of an expression, or of its negation if `negated`.
fn build(expr: &Expr, negated: bool, table: &TableColumns) -> Predicate {
    match expr {
        Expr::Alias(alias) => build(&alias.expr, negated, table),
        Expr::Not(inner) => build(inner, !negated, table),
        Expr::BinaryExpr(binary) => binary_expr(binary, negated, table),
        Expr::IsNull(inner) => null(inner, !negated, table),
        Expr::IsNotNull(inner) => null(inner, negated, table),
        Expr::IsTrue(inner) if !negated => build(inner, false, table),
        Expr::IsFalse(inner) if !negated => build(inner, true, table),
        Expr::Between(between) => self::between(between, negated, table),
        Expr::InList(list) => in_list(list, negated, table),
        Expr::Literal(ScalarValue::Boolean(value), _) => {
            Predicate::Constant(value.is_some_and(|value| value != negated))
        }
        Expr::Column(_) => match column_of(expr, table) {
            Some(column) if table.comparable(column) == Comparable::Boolean => {
                Predicate::Compare { column, comparison: Comparison::Equal, value: Value::Boolean(!negated) }
            }
            _ => Predicate::Unknown,
        },
        _ => Predicate::Unknown,
    }
}

fn binary_expr(binary: &BinaryExpr, negated: bool, table: &TableColumns) -> Predicate {
    let both = || [&binary.left, &binary.right].map(|side| build(side, negated, table));
    match (binary.op, negated) {
        (Operator::And, false) | (Operator::Or, true) => Predicate::all(both()),
        (Operator::Or, false) | (Operator::And, true) => Predicate::any(both()),
        (operator, _) => {
            let Some(comparison) = Comparison::of(operator) else { return Predicate::Unknown };
            let comparison = if negated { comparison.negated() } else { comparison };
            match column_of(&binary.left, table) {
                Some(column) => compare(column, comparison, &binary.right, table),
                None => match column_of(&binary.right, table) {
                    Some(column) => compare(column, comparison.swapped(), &binary.left, table),
                    None => Predicate::Unknown,
                },
            }
        }
    }
}

fn compare(column: usize, comparison: Comparison, literal: &Expr, table: &TableColumns) -> Predicate {
    match literal_of(literal) {
        Some(literal) if literal.is_null() => Predicate::Constant(false),
        Some(literal) => match value_of(literal, table.data_type(column)) {
            Some(value) => Predicate::Compare { column, comparison, value },
            None => Predicate::Unknown,
        },
        None => Predicate::Unknown,
    }
}

fn between(between: &Between, negated: bool, table: &TableColumns) -> Predicate {
    let Some(column) = column_of(&between.expr, table) else { return Predicate::Unknown };
    let side = |comparison, end| compare(column, comparison, end, table);
    if negated == between.negated {
        let low = side(Comparison::GreaterOrEqual, &between.low);
        Predicate::all([low, side(Comparison::LessOrEqual, &between.high)])
    } else {
        let below = side(Comparison::Less, &between.low);
        Predicate::any([below, side(Comparison::Greater, &between.high)])
    }
}

fn in_list(list: &InList, negated: bool, table: &TableColumns) -> Predicate {
    let is_in = list.negated == negated;
    let Some(column) = column_of(&list.expr, table) else { return Predicate::Unknown };
    let mut values = Vec::with_capacity(list.list.len());
    for literal in &list.list {
        match literal_of(literal) {
            // Whether a value is in a list with null is either true or unknown.
            Some(literal) if literal.is_null() && is_in => {}
            Some(literal) if literal.is_null() => return Predicate::Constant(false),
            Some(literal) => match value_of(literal, table.data_type(column)) {
                Some(value) => values.push(value),
                None => return Predicate::Unknown,
            },
            None => return Predicate::Unknown,
        }
    }
    if values.is_empty() && is_in {
        return Predicate::Constant(false);
    }
    Predicate::In { column, values, is_in }
}

fn null(inner: &Expr, is: bool, table: &TableColumns) -> Predicate {
    match column_of(inner, table) {
        // Numbers that an enumeration does not have are null, whatever the schema states.
        Some(column) if !table.may_be_null(column) => Predicate::Constant(!is),
        Some(column) => Predicate::Null { column, is },
        None => Predicate::Unknown,
    }
}

/// The column of an expression. A dictionary that is cast to the type of its values has the same
/// values.
fn column_of(expr: &Expr, table: &TableColumns) -> Option<usize> {
    match expr {
        Expr::Column(column) => table.position(&column.name),
        Expr::Cast(cast) => {
            let column = column_of(&cast.expr, table)?;
            let values = table.dictionary_values(column)?;
            (cast.field.data_type() == values).then_some(column)
        }
        _ => None,
    }
}

const fn literal_of(expr: &Expr) -> Option<&ScalarValue> {
    match expr {
        Expr::Literal(literal, _) => Some(literal),
        _ => None,
    }
}
