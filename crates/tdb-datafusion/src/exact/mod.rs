//! Exact comparisons of values of different types.
//!
//! DataFusion converts one side of a comparison to the type of the other, or both to a third one,
//! and some of these conversions round: 2^53 + 1 compared with a column of doubles, or 0.5 s
//! compared with a column of seconds. A rule of the session rewrites such comparisons before that.
//! A constant becomes a value of the other side's type or, if the type does not have it, the
//! greatest value below it: then `=` is never true, and `<` and `<=` become `<=` that value. A
//! comparison without a constant is taken apart into comparisons that are exact.

mod constant;
mod lists;
mod pairs;
mod periods;
mod position;
mod reals;
mod sets;
mod times;

use std::sync::Arc;

use datafusion::arrow::datatypes::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, ScalarValue, plan_err};
use datafusion::logical_expr::expr::{Between, Case, InList, InSubquery, SetComparison};
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable, LogicalPlan, Operator, binary_expr, lit};
use datafusion::optimizer::AnalyzerRule;

use self::pairs::Side;
pub(crate) use self::pairs::is_utc;
use self::position::{Position, position, values_of};
pub(crate) use self::sets::NamedSets;
pub(crate) use self::times::{DAY, SECOND, instant_of_text, local, time, unit};
use crate::Result;
use crate::rewrite::rewrite;

/// Makes comparisons of different types exact.
#[derive(Debug)]
pub(crate) struct ExactComparisons;

impl AnalyzerRule for ExactComparisons {
    fn name(&self) -> &str {
        "tiledb_exact_comparisons"
    }

    fn analyze(&self, plan: LogicalPlan, options: &ConfigOptions) -> Result<LogicalPlan> {
        let options = Arc::new(options.clone());
        rewrite(plan, &|expr, schema| {
            let own = Comparisons { schema, options: &options };
            Ok(match own.exact(&expr)? {
                Some(exact) => Transformed::yes(exact),
                None => Transformed::no(expr),
            })
        })
        .and_then(pairs::exact_keys)
    }
}

/// Refuses to compare a date or a time with a number, which would count days or ticks since 1970:
/// `born > 1990` would be true of all of them.
fn refuse_time_and_number(left: &DataType, right: &DataType) -> Result<()> {
    let is_time =
        |own: &DataType| matches!(own, DataType::Date32 | DataType::Date64 | DataType::Timestamp(..));
    let is_number = |own: &DataType| own.is_numeric();
    if is_time(left) && is_number(right) || is_number(left) && is_time(right) {
        return plan_err!(
            "a time is compared with a number: write DATE '2024-12-31' or TIMESTAMP '2024-12-31 12:30:00', or extract(year FROM …) \
             beside a number"
        );
    }
    Ok(())
}

/// The comparisons of expressions over one schema.
struct Comparisons<'a> {
    schema: &'a DFSchema,
    options: &'a Arc<ConfigOptions>,
}

impl Comparisons<'_> {
    /// The expression that replaces an inexact comparison; `None` if the expression is exact.
    fn exact(&self, expr: &Expr) -> Result<Option<Expr>> {
        match expr {
            Expr::BinaryExpr(BinaryExpr { left, op, right }) if is_comparison(*op) => {
                self.compare(left, *op, right)
            }
            // The nodes of a chain are visited from the innermost one: all but the last one have
            // been joined already.
            Expr::BinaryExpr(BinaryExpr { op: op @ (Operator::And | Operator::Or), .. }) => {
                Ok(self.joined_lists(expr, *op))
            }
            Expr::Between(between) => self.between(between),
            Expr::InList(list) => self.in_list(list),
            Expr::Case(case) => self.case(case),
            Expr::InSubquery(InSubquery { expr, subquery, negated }) => {
                let exact = pairs::with_subquery(expr, subquery, self.schema)?;
                Ok(exact.map(|(expr, subquery)| {
                    Expr::InSubquery(InSubquery::new(Box::new(expr), subquery, *negated))
                }))
            }
            Expr::SetComparison(SetComparison { expr, subquery, op, quantifier }) => {
                let exact = pairs::with_subquery(expr, subquery, self.schema)?;
                Ok(exact.map(|(expr, subquery)| {
                    Expr::SetComparison(SetComparison::new(Box::new(expr), subquery, *op, *quantifier))
                }))
            }
            _ => Ok(None),
        }
    }

    /// The type of an expression; `None` if it has none, which DataFusion will report.
    fn type_of(&self, expr: &Expr) -> Option<DataType> {
        expr.get_type(self.schema).ok()
    }

    fn constant(&self, expr: &Expr) -> Option<ScalarValue> {
        constant::value(expr, self.options)
    }

    /// The position of an expression among the values of a type, if it is a constant of another
    /// one.
    fn position(&self, expr: &Expr, of: &DataType) -> Result<Option<Position>> {
        let Some(own) = self.type_of(expr) else { return Ok(None) };
        refuse_time_and_number(&own, of)?;
        if values_of(&own) == values_of(of) {
            return Ok(None);
        }
        self.constant(expr).map_or(Ok(None), |value| position(&value, of))
    }

    fn compare(&self, left: &Expr, op: Operator, right: &Expr) -> Result<Option<Expr>> {
        let (Some(left_type), Some(right_type)) = (self.type_of(left), self.type_of(right)) else {
            return Ok(None);
        };
        refuse_time_and_number(&left_type, &right_type)?;
        let left_side = Side { expr: left, data_type: &left_type };
        let right_side = Side { expr: right, data_type: &right_type };
        if values_of(&left_type) == values_of(&right_type) {
            return Ok(pairs::of_dictionaries(left_side, op, right_side));
        }
        if let Some(position) = self.position(right, &left_type)? {
            return Ok(Some(against(left, op, position)));
        }
        if let Some(position) = self.position(left, &right_type)? {
            // An operator that cannot be swapped is symmetric.
            return Ok(Some(against(right, op.swap().unwrap_or(op), position)));
        }
        let sides = [(left, &left_type, op, right), (right, &right_type, op.swap().unwrap_or(op), left)];
        for (time, of, op, other) in sides {
            if let Some(value) = self.constant(other)
                && let Some(within) = periods::compare(time, of, op, &value)?
            {
                return Ok(Some(within));
            }
        }
        if self.constant(left).is_some_and(|value| value.is_null())
            || self.constant(right).is_some_and(|value| value.is_null())
        {
            return Ok(None);
        }
        pairs::compare(left_side, op, right_side)
    }

    fn between(&self, between: &Between) -> Result<Option<Expr>> {
        let Between { expr, negated, low, high } = between;
        let Some(own) = self.type_of(expr) else { return Ok(None) };
        if let (Some(Position::At(low)), Some(Position::At(high))) =
            (self.position(low, &own)?, self.position(high, &own)?)
        {
            let (low, high) = (Box::new(lit(low)), Box::new(lit(high)));
            return Ok(Some(Expr::Between(Between::new(expr.clone(), *negated, low, high))));
        }
        let ops = if *negated { [Operator::Lt, Operator::Gt] } else { [Operator::GtEq, Operator::LtEq] };
        let ends = [self.compare(expr, ops[0], low)?, self.compare(expr, ops[1], high)?];
        if ends.iter().all(Option::is_none) || expr.is_volatile() {
            return Ok(None);
        }
        let [above, below] = ends;
        let above = above.unwrap_or_else(|| binary_expr((**expr).clone(), ops[0], (**low).clone()));
        let below = below.unwrap_or_else(|| binary_expr((**expr).clone(), ops[1], (**high).clone()));
        Ok(Some(if *negated { above.or(below) } else { above.and(below) }))
    }

    fn in_list(&self, list: &InList) -> Result<Option<Expr>> {
        let InList { expr, list, negated } = list;
        let Some(own) = self.type_of(expr) else { return Ok(None) };
        let (mut among, mut apart, mut changed) = (Vec::with_capacity(list.len()), Vec::new(), false);
        // The optimizer joins two lists over one expression into one, and forgets that their
        // elements may be null.
        let is_null = |element: &&Expr| self.constant(element).is_some_and(|value| value.is_null());
        let has_null = list.iter().any(|element| is_null(&element));
        for element in list.iter().filter(|element| !is_null(element)) {
            match self.position(element, &own)? {
                Some(Position::At(value)) => {
                    changed = true;
                    among.push(lit(value));
                }
                Some(Position::Above(_)) => changed = true,
                None => match self.compare(expr, Operator::Eq, element)? {
                    Some(equal) => {
                        changed = true;
                        apart.push(equal);
                    }
                    None if self.constant(element).is_some() || expr.is_volatile() => {
                        among.push(element.clone());
                    }
                    None => {
                        changed = true;
                        apart.push((**expr).clone().eq(element.clone()));
                    }
                },
            }
        }
        changed |= self.both_zeros(&mut among, &own) | has_null;
        if !changed || (!apart.is_empty() && expr.is_volatile()) {
            return Ok(None);
        }
        let within = match among.is_empty() {
            false => Some((**expr).clone().in_list(among, false)),
            true if apart.is_empty() && !has_null => Some(never(expr)),
            true => None,
        };
        let unknown = has_null.then(|| lit(ScalarValue::Boolean(None)));
        let any = within.into_iter().chain(apart).chain(unknown).reduce(Expr::or);
        Ok(any.map(|any| if *negated { !any } else { any }))
    }

    /// Adds the zero of the other sign to a list of floating-point numbers that has one zero,
    /// because DataFusion compares the bits of long lists. Returns whether it added one.
    fn both_zeros(&self, list: &mut Vec<Expr>, of: &DataType) -> bool {
        if !matches!(of, DataType::Float32 | DataType::Float64) {
            return false;
        }
        let zeros =
            list.iter().filter_map(|element| self.constant(element)).filter_map(|value| match value {
                ScalarValue::Float32(Some(0.0)) => {
                    Some(ScalarValue::Float32(Some(if is_negative(&value) { 0.0 } else { -0.0 })))
                }
                ScalarValue::Float64(Some(0.0)) => {
                    Some(ScalarValue::Float64(Some(if is_negative(&value) { 0.0 } else { -0.0 })))
                }
                _ => None,
            });
        let missing: Vec<_> = zeros.map(lit).filter(|zero| !list.contains(zero)).collect();
        let added = !missing.is_empty();
        list.extend(missing);
        added
    }

    /// `CASE x WHEN y` compares as `CASE WHEN x = y` does.
    fn case(&self, case: &Case) -> Result<Option<Expr>> {
        let Some(of) = case.expr.as_ref().filter(|of| !of.is_volatile()) else { return Ok(None) };
        let mut changed = false;
        let mut branches = Vec::with_capacity(case.when_then_expr.len());
        for (when, then) in &case.when_then_expr {
            let equal = self.compare(of, Operator::Eq, when)?;
            changed |= equal.is_some();
            let equal = equal.unwrap_or_else(|| binary_expr((**of).clone(), Operator::Eq, (**when).clone()));
            branches.push((Box::new(equal), then.clone()));
        }
        Ok(changed.then(|| Expr::Case(Case::new(None, branches, case.else_expr.clone()))))
    }
}

const fn is_comparison(op: Operator) -> bool {
    use Operator::{Eq, Gt, GtEq, IsDistinctFrom, IsNotDistinctFrom, Lt, LtEq, NotEq};
    matches!(op, Eq | NotEq | Lt | LtEq | Gt | GtEq | IsDistinctFrom | IsNotDistinctFrom)
}

fn is_negative(value: &ScalarValue) -> bool {
    match value {
        ScalarValue::Float32(Some(value)) => value.is_sign_negative(),
        ScalarValue::Float64(Some(value)) => value.is_sign_negative(),
        _ => false,
    }
}

/// The comparison of an expression with a constant that has this position among its values.
fn against(expr: &Expr, op: Operator, position: Position) -> Expr {
    let below = match position {
        Position::At(value) => return binary_expr(expr.clone(), op, lit(value)),
        Position::Above(below) => below,
    };
    match (op, below) {
        (Operator::IsDistinctFrom, _) => lit(true),
        (Operator::IsNotDistinctFrom, _) => lit(false),
        (Operator::Lt | Operator::LtEq, Some(below)) => expr.clone().lt_eq(lit(below)),
        (Operator::Gt | Operator::GtEq, Some(below)) => expr.clone().gt(lit(below)),
        (Operator::Eq | Operator::Lt | Operator::LtEq, _) => never(expr),
        _ => always(expr),
    }
}

/// False, or null where an expression is.
fn never(expr: &Expr) -> Expr {
    expr.clone().is_null().and(lit(ScalarValue::Boolean(None)))
}

/// True, or null where an expression is.
fn always(expr: &Expr) -> Expr {
    expr.clone().is_not_null().or(lit(ScalarValue::Boolean(None)))
}
