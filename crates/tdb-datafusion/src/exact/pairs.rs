//! Comparisons of two sides of different types, neither of which is a constant. (One may become a
//! constant later: a column of a subquery, or `now()`.)

use core::cmp::Ordering;

use datafusion::arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, plan_err};
use datafusion::logical_expr::expr_schema::cast_subquery;
use datafusion::logical_expr::logical_plan::Subquery;
use datafusion::logical_expr::{
    Cast, Expr, ExprSchemable, LogicalPlan, Operator, TryCast, binary_expr, lit, when,
};

use super::position::values_of;
use super::times::unit;
use crate::Result;

/// One side of a comparison.
#[derive(Clone, Copy)]
pub(super) struct Side<'a> {
    pub(super) expr: &'a Expr,
    pub(super) data_type: &'a DataType,
}

/// An exact comparison of two sides; `None` if DataFusion's is exact.
pub(super) fn compare(left_side: Side<'_>, op: Operator, right_side: Side<'_>) -> Result<Option<Expr>> {
    use DataType as D;
    let Side { expr: left, data_type: left_type } = left_side;
    let Side { expr: right, data_type: right_type } = right_side;
    // An operator that cannot be swapped is symmetric.
    let swapped = op.swap().unwrap_or(op);
    Ok(match (values_of(left_type), values_of(right_type)) {
        (D::Int64 | D::UInt64 | D::Decimal128(_, 0), D::Float32 | D::Float64) => {
            Some(long_with_real(left, op, right))
        }
        (D::Float32 | D::Float64, D::Int64 | D::UInt64 | D::Decimal128(_, 0)) => {
            Some(long_with_real(right, swapped, left))
        }
        // DataFusion would make floats of integers, which have too few digits for them.
        (D::Int32 | D::UInt32, D::Float32) | (D::Float32, D::Int32 | D::UInt32) => {
            Some(binary_expr(to(left, D::Float64), op, to(right, D::Float64)))
        }
        // Text is converted as DataFusion would, but before the units are looked at.
        (D::Timestamp(_, zone), D::Utf8 | D::LargeUtf8 | D::Utf8View) => {
            let time = D::Timestamp(TimeUnit::Nanosecond, zone.clone());
            return compare(left_side, op, Side { expr: &to(right, time.clone()), data_type: &time });
        }
        (D::Utf8 | D::LargeUtf8 | D::Utf8View, D::Timestamp(..) | D::Date32 | D::Date64) => {
            return compare(right_side, swapped, left_side);
        }
        (D::Date32 | D::Date64, D::Utf8 | D::LargeUtf8 | D::Utf8View) => {
            let time = D::Timestamp(TimeUnit::Nanosecond, None);
            return compare(left_side, op, Side { expr: &to(right, time.clone()), data_type: &time });
        }
        // DataFusion would compare them in nanoseconds, which do not have all years.
        (D::Date32 | D::Date64, D::Timestamp(_, zone)) => {
            let time = D::Timestamp(of_dates(left_type), zone.clone());
            let left = to(left, time.clone());
            return Ok(Some(
                compare(Side { expr: &left, data_type: &time }, op, right_side)?
                    .unwrap_or_else(|| binary_expr(left, op, right.clone())),
            ));
        }
        (D::Timestamp(..), D::Date32 | D::Date64) => {
            return compare(right_side, swapped, left_side);
        }
        (D::Timestamp(one, from), D::Timestamp(second, other)) => {
            if let [Some(zone), None] | [None, Some(zone)] = [from, other]
                && !is_utc(zone)
            {
                let zoned = if from.is_some() { left } else { right };
                return plan_err!(
                    "{left} and {right} cannot be compared: one is in the zone {zone}, the other has none. \
                     to_local_time({zoned}) has the clocks of that zone"
                );
            }
            of_units(left_side, op, right_side, (*one, *second))
        }
        // DataFusion would make intervals of them, which hold less.
        (D::Duration(one), D::Duration(other)) => of_units(left_side, op, right_side, (*one, *other)),
        _ => None,
    })
}

/// The coarsest unit of times that has every date of a type.
fn of_dates(dates: &DataType) -> TimeUnit {
    match values_of(dates) {
        DataType::Date64 => TimeUnit::Millisecond,
        _ => TimeUnit::Second,
    }
}

/// Compares times of two units.
fn of_units(
    left: Side<'_>,
    op: Operator,
    right: Side<'_>,
    (one, other): (TimeUnit, TimeUnit),
) -> Option<Expr> {
    match unit(one).cmp(&unit(other)) {
        Ordering::Greater => coarse_with_fine(left, op, right.expr, (one, other)),
        Ordering::Less => coarse_with_fine(right, op.swap().unwrap_or(op), left.expr, (other, one)),
        Ordering::Equal => None,
    }
}

/// The type of the values of two dictionaries of integers. They are compared as their values: joins
/// of DataFusion fail on dictionaries.
fn integers_of_dictionaries<'a>(left: &'a DataType, right: &DataType) -> Option<&'a DataType> {
    let dictionaries = [left, right].iter().all(|side| matches!(side, DataType::Dictionary(..)));
    Some(values_of(left)).filter(|values| dictionaries && values.is_integer())
}

/// Two dictionaries of integers as their values.
pub(super) fn of_dictionaries(left: Side<'_>, op: Operator, right: Side<'_>) -> Option<Expr> {
    let values = integers_of_dictionaries(left.data_type, right.data_type)?;
    Some(binary_expr(to(left.expr, values.clone()), op, to(right.expr, values.clone())))
}

/// Whether the clocks of a zone are those of times without one.
pub(crate) fn is_utc(zone: &str) -> bool {
    matches!(zone, "UTC" | "utc" | "Z" | "Etc/UTC" | "+00:00" | "-00:00" | "+00" | "+0000")
}

fn to(expr: &Expr, data_type: DataType) -> Expr {
    Expr::Cast(Cast::new(Box::new(expr.clone()), data_type))
}

/// Compares integers of 64 bits, or decimal numbers without digits after the point, with
/// floating-point numbers. Rounding keeps their order, so the rounded integer decides unless it is
/// equal; a floating-point number that is equal to one is an integer itself, and has fewer digits
/// than a decimal number.
fn long_with_real(long: &Expr, op: Operator, real: &Expr) -> Expr {
    use Operator as O;
    let (rounded, real_as_double) = (to(long, DataType::Float64), to(real, DataType::Float64));
    let digits = DataType::Decimal128(38, 0);
    let exact = to(long, digits.clone());
    let real_digits = Expr::TryCast(TryCast::new(Box::new(real_as_double.clone()), digits));
    let of_rounded = |op| binary_expr(rounded.clone(), op, real_as_double.clone());
    let of_digits = |op| binary_expr(exact.clone(), op, real_digits.clone());
    match op {
        O::Eq | O::IsNotDistinctFrom => of_rounded(op).and(of_digits(op)),
        O::NotEq | O::IsDistinctFrom => of_rounded(op).or(of_digits(op)),
        O::Lt | O::LtEq => of_rounded(O::Lt).or(of_rounded(O::Eq).and(of_digits(op))),
        _ => of_rounded(O::Gt).or(of_rounded(O::Eq).and(of_digits(op))),
    }
}

/// Compares times of a coarser unit and of a finer one in the coarser unit: DataFusion would
/// convert the coarser one, which may not fit, and take the conversion back by cutting where the
/// finer one turns out to be a constant.
fn coarse_with_fine(
    coarse: Side<'_>,
    op: Operator,
    fine: &Expr,
    (unit_of_coarse, unit_of_fine): (TimeUnit, TimeUnit),
) -> Option<Expr> {
    use Operator as O;
    let ratio = i64::try_from(unit(unit_of_coarse).checked_div(unit(unit_of_fine))?).ok()?;
    let count = to(fine, DataType::Int64);
    let (whole, rest) = (count.clone() / lit(ratio), count % lit(ratio));
    let back = |count: Expr| to(&count, values_of(coarse.data_type).clone());
    let step = |is_step: Expr| when(is_step, lit(1i64)).otherwise(lit(0i64)).ok();
    let floor = back(whole.clone() - step(rest.clone().lt(lit(0i64)))?);
    let ceiling = back(whole + step(rest.gt(lit(0i64)))?);
    let with = |op, side: &Expr| binary_expr(coarse.expr.clone(), op, side.clone());
    Some(match op {
        O::Eq => with(O::Eq, &floor).and(with(O::Eq, &ceiling)),
        O::NotEq => with(O::NotEq, &floor).or(with(O::NotEq, &ceiling)),
        O::IsNotDistinctFrom => with(op, &floor).and(with(op, &ceiling)),
        O::IsDistinctFrom => with(op, &floor).or(with(op, &ceiling)),
        O::Lt => with(O::Lt, &ceiling),
        O::LtEq => with(O::LtEq, &floor),
        O::Gt => with(O::Gt, &floor),
        _ => with(O::GtEq, &ceiling),
    })
}

/// Whether DataFusion would round one of two types to compare them, where it can only compare one
/// common type.
fn rounds(left: &DataType, right: &DataType) -> bool {
    use DataType as D;
    let pair = |left: &DataType, right: &DataType| match left {
        D::Int64 | D::UInt64 => matches!(right, D::Float32 | D::Float64),
        D::Int32 | D::UInt32 => matches!(right, D::Float32),
        _ => false,
    };
    let (left, right) = (values_of(left), values_of(right));
    pair(left, right) || pair(right, left)
}

/// A value and a subquery that it is compared with, if they are dictionaries of integers, as
/// values. Refuses what would be rounded.
pub(super) fn with_subquery(
    expr: &Expr,
    subquery: &Subquery,
    schema: &DFSchema,
) -> Result<Option<(Expr, Subquery)>> {
    let (Ok(own), Some(field)) = (expr.get_type(schema), subquery.subquery.schema().fields().first()) else {
        return Ok(None);
    };
    if rounds(&own, field.data_type()) {
        return plan_err!(
            "{expr} is {own} and the subquery has {}, which are not compared exactly: cast one of them to the type of the other",
            field.data_type()
        );
    }
    let Some(values) = integers_of_dictionaries(&own, field.data_type()) else { return Ok(None) };
    Ok(Some((to(expr, values.clone()), cast_subquery(subquery.clone(), values)?)))
}

/// Joins by columns of the same name (`USING`): refused where values would be rounded, and
/// dictionaries of integers as their values.
pub(super) fn exact_keys(plan: LogicalPlan) -> Result<LogicalPlan> {
    let exact = plan.transform_up_with_subqueries(|node| {
        let LogicalPlan::Join(mut join) = node else { return Ok(Transformed::no(node)) };
        let mut changed = false;
        for (left, right) in &mut join.on {
            let types = (left.get_type(join.left.schema()), right.get_type(join.right.schema()));
            let (Ok(left_type), Ok(right_type)) = types else { continue };
            if rounds(&left_type, &right_type) {
                return plan_err!(
                    "{left} is {left_type} and {right} is {right_type}, which are not compared exactly: join ON a comparison instead"
                );
            }
            if let Some(values) = integers_of_dictionaries(&left_type, &right_type) {
                (*left, *right) = (to(left, values.clone()), to(right, values.clone()));
                changed = true;
            }
        }
        let join = LogicalPlan::Join(join);
        Ok(if changed { Transformed::yes(join) } else { Transformed::no(join) })
    })?;
    Ok(exact.data)
}
