//! Aggregates computed by the array. Without groups (`totals`), no cell is decoded where statistics
//! of tiles and fragments are exact. With groups (`groups`), cells are added up where they are
//! decoded.
//!
//! A rule of the session replaces the aggregation of a scan of a sparse array if all its functions
//! mean here what they mean in SQL: `count`, `sum` and `avg` of numbers, `min` and `max` of
//! numbers, dates and times, and without groups `count(DISTINCT …)` of integers, dates, times and
//! strings (`distinct`). (A dense array's fill values are rows in SQL, but no values here.) A sum
//! that does not fit in 64 bits, an average whose sum is not exact in a double, and extremes where
//! there are NaNs, which SQL orders, are left to DataFusion, which then runs the plan that was
//! replaced.

mod distinct;
mod exec;
mod function;
mod group_columns;
mod groups;
mod number;
mod totals;

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::limit::{GlobalLimitExec, LocalLimitExec};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;

use self::function::Function;
use self::groups::Groups;
use self::totals::Totals;
use crate::Result;
use crate::exec::TdbExec;
use crate::scan::Scan;

/// Replaces the aggregations of arrays in a plan. The plan is `free` if no operator above it relies
/// on how its rows are distributed over partitions.
fn replaced(plan: Arc<dyn ExecutionPlan>, free: bool) -> Result<Arc<dyn ExecutionPlan>> {
    if let Some(replaced) = Totals::of(&plan) {
        return Ok(replaced);
    }
    if let Some(replaced) = Groups::of(&plan, free)? {
        return Ok(replaced);
    }
    let free = free && keeps_distribution(&plan);
    let before: Vec<_> = plan.children().into_iter().map(Arc::clone).collect();
    let children = before.iter().map(|child| replaced(Arc::clone(child), free));
    let children = children.collect::<Result<Vec<_>>>()?;
    // One child was made of each.
    let same = before.iter().zip(&children).all(|(before, child)| Arc::ptr_eq(before, child));
    if same {
        Ok(plan)
    } else {
        plan.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }
}

/// Whether an operator works with any distribution of its input over partitions, and promises no
/// other one than that of its input.
fn keeps_distribution(plan: &Arc<dyn ExecutionPlan>) -> bool {
    plan.is::<ProjectionExec>()
        || plan.is::<FilterExec>()
        || plan.is::<SortExec>()
        || plan.is::<SortPreservingMergeExec>()
        || plan.is::<CoalescePartitionsExec>()
        || plan.is::<GlobalLimitExec>()
        || plan.is::<LocalLimitExec>()
        || plan.is::<CooperativeExec>()
}

/// Replaces aggregations that arrays can compute.
#[derive(Debug)]
pub(crate) struct AggregateArrays;

impl PhysicalOptimizerRule for AggregateArrays {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        replaced(plan, true)
    }

    fn name(&self) -> &str {
        "tiledb_aggregate"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// The scan of a sparse array that an aggregation reads, and its functions, if arrays can compute
/// them.
fn of_scan(first: &AggregateExec) -> Option<(Arc<Scan>, Vec<Function>)> {
    let input = first.input();
    let input = input.downcast_ref::<CooperativeExec>().map_or(input, |inner| inner.input());
    let scan = input.downcast_ref::<TdbExec>()?.unlimited_scan()?;
    if scan.state.table.dense || scan.parts.is_empty() || first.filter_expr().iter().any(Option::is_some) {
        return None;
    }
    let functions = first.aggr_expr().iter().map(|function| Function::of(function, &scan));
    let functions = functions.collect::<Option<Vec<_>>>()?;
    Some((scan, functions))
}
