//! `count(DISTINCT …)` of floating-point numbers counts zeros of both signs once, as `GROUP BY`
//! does.
//!
//! DataFusion compares the bits of the numbers, unless it can group by them instead.

use std::sync::Arc;

use datafusion::arrow::datatypes::DataType;
use datafusion::common::DFSchema;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::functions_aggregate::count::Count;
use datafusion::logical_expr::expr::AggregateFunction;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{Aggregate, Expr, ExprSchemable, LogicalPlan, Operator, binary_expr, lit};

use crate::Result;

/// Makes every `count(DISTINCT …)` of floating-point numbers in a plan count zero once.
pub(super) fn counted_once(plan: LogicalPlan) -> Result<LogicalPlan> {
    let counted = plan.transform_up_with_subqueries(|node| match &node {
        LogicalPlan::Aggregate(aggregate) if counts_reals(aggregate)? && !becomes_groups(aggregate) => {
            with_one_zero(node)
        }
        _ => Ok(Transformed::no(node)),
    })?;
    Ok(counted.data)
}

/// Whether the optimizer certainly turns a count into groups (`SingleDistinctToGroupBy`), which
/// arrays can compute too: the functions have one plain column, and the others can be computed from
/// groups. The optimizer's rule takes more, unless other rules have changed an expression before.
fn becomes_groups(aggregate: &Aggregate) -> bool {
    let mut counted = None;
    for expr in &aggregate.aggr_expr {
        let Expr::AggregateFunction(AggregateFunction { func, params }) = expr else { return false };
        let [argument @ Expr::Column(_)] = params.args.as_slice() else { return false };
        let fits = match params.distinct {
            true => *counted.get_or_insert(argument) == argument,
            false => matches!(func.name(), "sum" | "min" | "max"),
        };
        if !fits || params.filter.is_some() || !params.order_by.is_empty() {
            return false;
        }
    }
    !aggregate.group_expr.iter().any(|expr| matches!(expr, Expr::GroupingSet(_)))
}

/// Whether an aggregation has a `count(DISTINCT …)` of floating-point numbers.
fn counts_reals(aggregate: &Aggregate) -> Result<bool> {
    let schema = aggregate.input.schema();
    let counts = |expr: &Expr| match expr {
        Expr::AggregateFunction(function) if is_distinct_count(function) => {
            Ok(function.params.args.iter().any(|argument| zero_of(argument, schema).is_some()))
        }
        _ => Ok(false),
    };
    aggregate.aggr_expr.iter().try_fold(false, |found, expr| Ok(found || expr.exists(counts)?))
}

fn is_distinct_count(function: &AggregateFunction) -> bool {
    function.params.distinct && function.func.inner().is::<Count>()
}

/// The zero of an expression's type, if that is a floating-point type.
fn zero_of(expr: &Expr, schema: &DFSchema) -> Option<Expr> {
    match expr.get_type(schema) {
        Ok(DataType::Float32) => Some(lit(0.0f32)),
        Ok(DataType::Float64) => Some(lit(0.0f64)),
        _ => None,
    }
}

/// Adds 0 to the numbers that an aggregation counts, which turns -0 into 0.
fn with_one_zero(node: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let names = NamePreserver::new(&node);
    let LogicalPlan::Aggregate(aggregate) = &node else { return Ok(Transformed::no(node)) };
    let schema = Arc::clone(aggregate.input.schema());
    node.map_expressions(|expr| {
        let name = names.save(&expr);
        let counted = expr.transform_up(|part| match part {
            Expr::AggregateFunction(mut function) if is_distinct_count(&function) => {
                for argument in &mut function.params.args {
                    if let Some(zero) = zero_of(argument, &schema) {
                        *argument = binary_expr(argument.clone(), Operator::Plus, zero);
                    }
                }
                Ok(Transformed::yes(Expr::AggregateFunction(function)))
            }
            part => Ok(Transformed::no(part)),
        })?;
        Ok(if counted.transformed { counted.update_data(|expr| name.restore(expr)) } else { counted })
    })?
    .map_data(LogicalPlan::recompute_schema)
}
