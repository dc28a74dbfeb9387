//! Analyzer rules of a session, which change plans before DataFusion optimizes them.

use std::sync::Arc;

use datafusion::common::DFSchema;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::optimizer::AnalyzerRule;

use crate::Result;
use crate::checked::CheckedArithmetic;
use crate::delete::WholeFilters;
use crate::exact::ExactComparisons;
use crate::store::ExactInserts;

/// The rule of DataFusion that converts the sides of operators to one type.
const CONVERTS: &str = "type_coercion";

type Rule = Arc<dyn AnalyzerRule + Send + Sync>;

/// The rules of a session with those of this crate.
pub(crate) fn with_own(rules: &[Rule]) -> Vec<Rule> {
    // Before the sides of operators are converted, they have the types of the statement.
    let before: [Rule; 2] = [Arc::new(ExactInserts), Arc::new(ExactComparisons)];
    let after: [Rule; 2] = [Arc::new(CheckedArithmetic), Arc::new(WholeFilters)];
    let own = |rule: &Rule| before.iter().chain(&after).any(|own| own.name() == rule.name());
    let mut theirs: Vec<_> = rules.iter().filter(|rule| !own(rule)).cloned().collect();
    // In a session that converts nothing, the order does not matter.
    let place = theirs.iter().position(|rule| rule.name() == CONVERTS).unwrap_or(theirs.len());
    theirs.splice(place..place, before);
    theirs.extend(after);
    theirs
}

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
