//! Checked arithmetic: overflow of integers is an error in `+`, `-`, `*`, negation and `sum`, where
//! DataFusion's own functions wrap around. `min` and `max` are those of all rows, infinities and
//! NaN among them. `count(DISTINCT …)` counts zeros of both signs once.
//!
//! A rule of the session replaces DataFusion's functions by those of this crate, which have the
//! same names in results.

mod min_max;
mod operators;
mod signed_zero;
mod sum;

use std::sync::{Arc, LazyLock};

use datafusion::common::DFSchema;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::expr::{AggregateFunction, ScalarFunction, WindowFunction};
use datafusion::logical_expr::{
    AggregateUDF, BinaryExpr, Expr, ExprSchemable, LogicalPlan, ScalarUDF, WindowFunctionDefinition,
};
use datafusion::optimizer::AnalyzerRule;

use self::min_max::MinMax;
use self::operators::{Checked, Operation};
use self::sum::CheckedSum;
use crate::Result;
use crate::rewrite::rewrite;

/// Replaces functions of DataFusion by functions that notice integers which do not fit.
#[derive(Debug)]
pub(crate) struct CheckedArithmetic;

impl AnalyzerRule for CheckedArithmetic {
    fn name(&self) -> &str {
        "tiledb_checked_arithmetic"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        rewrite(plan, &|expr, schema| match expr {
            Expr::AggregateFunction(mut function) if is_unchecked_sum(&function.func) => {
                function.func = sum();
                Ok(Transformed::yes(Expr::AggregateFunction(AggregateFunction { ..function })))
            }
            Expr::AggregateFunction(mut aggregate) => match MinMax::instead_of(&aggregate, schema) {
                Some(own) => {
                    aggregate.func = min_max::function(own);
                    Ok(Transformed::yes(Expr::AggregateFunction(aggregate)))
                }
                None => Ok(Transformed::no(Expr::AggregateFunction(aggregate))),
            },
            Expr::WindowFunction(function) => Ok(window(function)),
            expr => arithmetic(expr, schema),
        })
        .and_then(signed_zero::counted_once)
    }
}

/// Replaces `sum` as a window function.
fn window(mut function: Box<WindowFunction>) -> Transformed<Expr> {
    match &function.fun {
        WindowFunctionDefinition::AggregateUDF(own) if is_unchecked_sum(own) => {
            function.fun = WindowFunctionDefinition::AggregateUDF(sum());
            Transformed::yes(Expr::WindowFunction(function))
        }
        _ => Transformed::no(Expr::WindowFunction(function)),
    }
}

/// Replaces an operator of integers by a checked function.
pub(crate) fn arithmetic(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let is_integer = |side: &Expr| side.get_type(schema).is_ok_and(|data_type| data_type.is_integer());
    let call = |operation, arguments| {
        Expr::ScalarFunction(ScalarFunction::new_udf(Arc::clone(function(operation)), arguments))
    };
    Ok(match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => match Operation::of(op) {
            Some(operation) if is_integer(&left) && is_integer(&right) => {
                Transformed::yes(call(operation, vec![*left, *right]))
            }
            _ => Transformed::no(Expr::BinaryExpr(BinaryExpr { left, op, right })),
        },
        Expr::Negative(inner) if is_integer(&inner) => {
            Transformed::yes(call(Operation::Negate, vec![*inner]))
        }
        expr => Transformed::no(expr),
    })
}

/// The function of an operation.
fn function(operation: Operation) -> &'static Arc<ScalarUDF> {
    static ALL: LazyLock<[Arc<ScalarUDF>; 4]> =
        LazyLock::new(|| Operation::ALL.map(|operation| Arc::new(Checked::new(operation).into())));
    let [add, subtract, multiply, negate] = &*ALL;
    match operation {
        Operation::Add => add,
        Operation::Subtract => subtract,
        Operation::Multiply => multiply,
        Operation::Negate => negate,
    }
}

fn sum() -> Arc<AggregateUDF> {
    static SUM: LazyLock<Arc<AggregateUDF>> = LazyLock::new(|| Arc::new(CheckedSum::new().into()));
    Arc::clone(&SUM)
}

fn is_unchecked_sum(function: &AggregateUDF) -> bool {
    function.inner().is::<datafusion::functions_aggregate::sum::Sum>()
}

/// The function of this name that takes values.
pub(crate) fn scalar_named(name: &str) -> Option<&'static Arc<ScalarUDF>> {
    Operation::ALL.into_iter().find(|operation| operation.name() == name).map(function)
}

/// The function of this name that takes rows.
pub(crate) fn aggregate_named(name: &str) -> Option<Arc<AggregateUDF>> {
    let others = MinMax::all().map(min_max::function);
    core::iter::once(sum()).chain(others).find(|own| own.name() == name)
}

/// Whether a function is one of these.
pub(crate) fn has_scalar(function: &ScalarUDF) -> bool {
    function.inner().is::<Checked>()
}

/// Whether a function is one of these.
pub(crate) fn has_aggregate(function: &AggregateUDF) -> bool {
    function.inner().is::<CheckedSum>() || function.inner().is::<MinMax>()
}
