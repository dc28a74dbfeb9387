//! The rule that looks at DELETE statements before DataFusion rewrites them (see `delete`).

use datafusion::catalog::default_table_source::source_as_provider;
use datafusion::common::config::ConfigOptions;
use datafusion::common::not_impl_err;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::{DmlStatement, Expr, LogicalPlan, WriteOp};
use datafusion::optimizer::AnalyzerRule;

use crate::Result;
use crate::delete::RULE;
use crate::table::TdbTable;

/// Refuses DELETE statements whose filters a table would not receive as they were written.
#[derive(Debug)]
pub(crate) struct WholeFilters;

impl AnalyzerRule for WholeFilters {
    fn name(&self) -> &str {
        RULE
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        plan.apply(|node| {
            if let LogicalPlan::Dml(DmlStatement { op: WriteOp::Delete, target, input, .. }) = node
                && source_as_provider(target).is_ok_and(|provider| provider.is::<TdbTable>())
            {
                check(input)?;
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
        Ok(plan)
    }
}

/// Whether the rows of a DELETE statement are those of the table that pass one filter without
/// subqueries.
fn check(rows: &LogicalPlan) -> Result<()> {
    let mut below = rows;
    if let LogicalPlan::Filter(filter) = below {
        let has_query = |part: &Expr| {
            matches!(
                part,
                Expr::Exists(_) | Expr::InSubquery(_) | Expr::ScalarSubquery(_) | Expr::SetComparison(_)
            )
        };
        if filter.predicate.exists(|part| Ok(has_query(part)))? {
            return not_impl_err!("DELETE with a subquery (write the values into the condition instead)");
        }
        below = &filter.input;
    }
    if let LogicalPlan::SubqueryAlias(alias) = below {
        below = &alias.input;
    }
    match below {
        LogicalPlan::TableScan(_) => Ok(()),
        _ => not_impl_err!("DELETE from an array with anything but a WHERE clause"),
    }
}
