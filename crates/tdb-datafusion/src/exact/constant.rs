//! Constant folding: the values of expressions without columns.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::TreeNode;
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::logical_expr::{Cast, Expr, Volatility};
use datafusion::optimizer::simplify_expressions::ExprSimplifier;

use super::times::instant_of_text;
use crate::checked;

/// The value of an expression that is the same for every row and every query. `None` if it is not,
/// or fails.
pub(super) fn value(expr: &Expr, options: &Arc<ConfigOptions>) -> Option<ScalarValue> {
    if let Expr::Literal(value, _) = expr {
        return Some(value.clone());
    }
    if !expr.exists(|part| Ok(!is_foldable(part))).is_ok_and(|varies| !varies) {
        return None;
    }
    computed(expr, options).or_else(|| far_time(expr))
}

/// Evaluates an expression as the session would, with checked arithmetic.
fn computed(expr: &Expr, options: &Arc<ConfigOptions>) -> Option<ScalarValue> {
    let schema = DFSchema::empty();
    let context = SimplifyContext::builder().with_config_options(Arc::clone(options)).build();
    let simplifier = ExprSimplifier::new(context);
    let converted = simplifier.coerce(expr.clone(), &schema).ok()?;
    let checked = converted.transform_up(|part| checked::arithmetic(part, &schema)).ok()?.data;
    match simplifier.simplify(checked).ok()? {
        Expr::Literal(value, _) => Some(value),
        _ => None,
    }
}

/// Whether an expression has one value if its parts have.
fn is_foldable(expr: &Expr) -> bool {
    match expr {
        Expr::ScalarFunction(function) => function.func.signature().volatility == Volatility::Immutable,
        Expr::Literal(..)
        | Expr::Alias(_)
        | Expr::BinaryExpr(_)
        | Expr::Not(_)
        | Expr::IsNull(_)
        | Expr::IsNotNull(_)
        | Expr::Negative(_)
        | Expr::Between(_)
        | Expr::Case(_)
        | Expr::Cast(_)
        | Expr::TryCast(_)
        | Expr::InList(_) => true,
        _ => false,
    }
}

/// The value of `TIMESTAMP '3000-01-01'`: DataFusion reads it as nanoseconds, which end in 2262.
fn far_time(expr: &Expr) -> Option<ScalarValue> {
    let Expr::Cast(Cast { expr, field }) = expr else { return None };
    let DataType::Timestamp(TimeUnit::Nanosecond, zone) = field.data_type() else { return None };
    let Expr::Literal(ScalarValue::Utf8(Some(text)), _) = expr.as_ref() else { return None };
    let nanoseconds = instant_of_text(text, zone.clone())?;
    let microseconds = i64::try_from(nanoseconds.checked_div(1000)?).ok()?;
    Some(ScalarValue::TimestampMicrosecond(Some(microseconds), zone.clone()))
}
