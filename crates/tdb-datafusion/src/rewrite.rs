//! Changes of all expressions of a plan.

use datafusion::common::DFSchema;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Expr, LogicalPlan};

use crate::Result;

/// Changes the expressions of a plan and of its subqueries, from the innermost ones outwards.
/// Columns keep their names.
pub(crate) fn rewrite(
    plan: LogicalPlan,
    change: &dyn Fn(Expr, &DFSchema) -> Result<Transformed<Expr>>,
) -> Result<LogicalPlan> {
    let rewritten = plan.transform_up_with_subqueries(|plan| {
        let mut schema = merge_schema(&plan.inputs());
        if let LogicalPlan::TableScan(scan) = &plan {
            let source = DFSchema::try_from_qualified_schema(scan.table_name.clone(), &scan.source.schema())?;
            schema.merge(&source);
        }
        let names = NamePreserver::new(&plan);
        let plan = plan.map_expressions(|expr| {
            let name = names.save(&expr);
            let changed = expr.transform_up(|part| change(part, &schema))?;
            Ok(if changed.transformed { changed.update_data(|expr| name.restore(expr)) } else { changed })
        })?;
        if plan.transformed { plan.map_data(LogicalPlan::recompute_schema) } else { Ok(plan) }
    })?;
    Ok(rewritten.data)
}
