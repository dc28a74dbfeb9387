//! `x > ANY (SELECT …)` and `x > ALL (SELECT …)`.
//!
//! DataFusion moves `x` into the subquery, and does not tell it from a column of the subquery that
//! has the same name and table: `SELECT … FROM t WHERE i > ANY (SELECT i FROM t)` would compare
//! each `i` with itself. A rule of the session gives the columns of these subqueries another table.

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::plan_err;
use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::expr::SetComparison;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder};
use datafusion::optimizer::AnalyzerRule;

use crate::Result;
use crate::rewrite::rewrite;

/// The table of the columns of such a subquery, a name that no statement has.
const TABLE: &str = "ANY or ALL";

/// Names the subqueries of ANY and ALL.
#[derive(Debug)]
pub(crate) struct NamedSets;

impl AnalyzerRule for NamedSets {
    fn name(&self) -> &str {
        "tiledb_named_sets"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        rewrite(plan, &|expr, _| match expr {
            Expr::SetComparison(SetComparison { expr, subquery, op, quantifier })
                if is_mistaken(&expr, &subquery.subquery) =>
            {
                if !subquery.outer_ref_columns.is_empty() {
                    // A name for the whole subquery would hide the columns that it compares with
                    // those around it.
                    return plan_err!(
                        "{expr} is a column of both queries: give the table in the subquery of {op} {quantifier} another name, as in FROM t AS u"
                    );
                }
                let plan = LogicalPlanBuilder::from(Arc::clone(&subquery.subquery)).alias(TABLE)?.build()?;
                let subquery = subquery.with_plan(Arc::new(plan));
                Ok(Transformed::yes(Expr::SetComparison(SetComparison::new(expr, subquery, op, quantifier))))
            }
            expr => Ok(Transformed::no(expr)),
        })
    }
}

/// Whether a subquery has a column that is called like one of the expression.
fn is_mistaken(expr: &Expr, subquery: &LogicalPlan) -> bool {
    expr.column_refs().into_iter().any(|column| subquery.schema().has_column(column))
}
