//! Aggregates computed by the array. Without groups, no cell is decoded where statistics of tiles and fragments are
//! exact. With groups (`groups`), cells are added up where they are decoded.
//!
//! A rule of the session replaces the aggregation of a scan of a sparse array if all its functions mean here what they
//! mean in SQL: `count`, `sum` and `avg` of numbers, `min` and `max` of integers, dates and times. (SQL orders NaN, and
//! a dense array's fill values are rows in SQL, but no values here.) A sum that does not fit in 64 bits, and an average
//! whose sum is not exact in a double, are left to DataFusion, which then runs the plan that was replaced.

mod function;
mod groups;

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::common::config::ConfigOptions;
use datafusion::common::runtime::SpawnedTask;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DataFusionError, internal_err};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, Partitioning, PhysicalExpr};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::execution_plan::{
    Boundedness, ChildrenPropertiesMode, EmissionType, ReplaceChildrenOptions,
};
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::limit::{GlobalLimitExec, LocalLimitExec};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use futures_util::{TryStreamExt, stream};
use tdb_array::{Aggregate, Error, MemoryBudget, QueryError, Read};

use self::function::{Found, Function};
use self::groups::TdbGroupsExec;
use crate::error::of_array;
use crate::exec::TdbExec;
use crate::scan::Scan;
use crate::{Result, reading};

/// A plan with its aggregations of arrays replaced. It is `free` if nobody relies on how its rows are distributed over partitions.
fn replaced(plan: Arc<dyn ExecutionPlan>, free: bool) -> Result<Arc<dyn ExecutionPlan>> {
    if let Some(replaced) = TdbAggregateExec::of(&plan) {
        return Ok(Arc::new(replaced));
    }
    if let Some(replaced) = TdbGroupsExec::of(&plan, free)? {
        return Ok(replaced);
    }
    let free = free && hands_on(&plan);
    let before: Vec<_> = plan.children().into_iter().map(Arc::clone).collect();
    let children = before.iter().map(|child| replaced(Arc::clone(child), free));
    let children = children.collect::<Result<Vec<_>>>()?;
    let same = before.iter().zip(&children).all(|(before, child)| Arc::ptr_eq(before, child));
    if same {
        Ok(plan)
    } else {
        plan.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }
}

/// Whether an operator takes rows in any partitions, and its own are no more than those.
fn hands_on(plan: &Arc<dyn ExecutionPlan>) -> bool {
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

/// The scan of a sparse array that an aggregation reads, and its functions, if arrays can compute them.
fn of_scan(first: &AggregateExec) -> Option<(Arc<Scan>, Vec<Function>)> {
    let input = first.input();
    let input = input.downcast_ref::<CooperativeExec>().map_or(input, |inner| inner.input());
    let scan = input.downcast_ref::<TdbExec>()?.whole()?;
    if scan.state.table.dense || scan.parts.is_empty() || first.filter_expr().iter().any(Option::is_some) {
        return None;
    }
    let grouped = !first.group_expr().is_true_no_grouping();
    let functions = first.aggr_expr().iter().map(|function| Function::of(function, &scan, grouped));
    let functions = functions.collect::<Option<Vec<_>>>()?;
    Some((scan, functions))
}

/// Shows what is read.
fn show(scan: &Scan, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let about = &scan.about;
    if !about.ranges.is_empty() {
        write!(f, ", ranges=[{}]", about.ranges)?;
    }
    if !about.condition.is_empty() {
        write!(f, ", condition={}", about.condition)?;
    }
    let (read, all) = about.fragments;
    write!(f, ", fragments={read} of {all}, partitions={}", scan.parts.len())
}

/// Computes aggregates of an array.
#[derive(Clone, Debug)]
struct TdbAggregateExec {
    scan: Arc<Scan>,
    functions: Arc<Vec<Function>>,
    /// The plan that this one replaces.
    otherwise: Arc<dyn ExecutionPlan>,
    properties: Arc<PlanProperties>,
}

impl TdbAggregateExec {
    /// What computes the same as a plan; `None` if it is not an aggregation that arrays can compute.
    fn of(plan: &Arc<dyn ExecutionPlan>) -> Option<Self> {
        let last = plan.downcast_ref::<AggregateExec>()?;
        let first = match last.mode() {
            AggregateMode::Single | AggregateMode::SinglePartitioned => last,
            AggregateMode::Final => {
                let input = last.input();
                let input = input.downcast_ref::<CoalescePartitionsExec>().map_or(input, |all| all.input());
                let partial = input.downcast_ref::<AggregateExec>()?;
                (*partial.mode() == AggregateMode::Partial).then_some(partial)?
            }
            _ => return None,
        };
        let plain = |part: &AggregateExec| {
            part.group_expr().is_true_no_grouping() && part.filter_expr().iter().all(Option::is_none)
        };
        if !plain(last) || !plain(first) {
            return None;
        }
        let (scan, functions) = of_scan(first)?;
        let properties = PlanProperties::new(
            EquivalenceProperties::new(last.schema()),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Final,
            Boundedness::Bounded,
        );
        Some(Self {
            scan,
            functions: Arc::new(functions),
            otherwise: plan.clone(),
            properties: Arc::new(properties),
        })
    }

    /// The row of the result, given the values of the aggregates.
    fn row(&self, needs: &[Aggregate], found: &[Found]) -> Result<Option<RecordBatch>> {
        let schema = self.schema();
        let mut columns = Vec::with_capacity(self.functions.len());
        for (function, field) in self.functions.iter().zip(schema.fields()) {
            let own = function.places(needs).into_iter().filter_map(|at| found.get(at).copied());
            let Some(value) = function.value(&own.collect::<Vec<_>>(), field.data_type()) else {
                return Ok(None);
            };
            if value.data_type() != *field.data_type() {
                return Ok(None);
            }
            columns.push(value.to_array()?);
        }
        Ok(Some(RecordBatch::try_new(schema, columns)?))
    }
}

/// Computes aggregates of the query. `None` if memory is too small.
async fn compute(
    scan: &Scan,
    needs: Vec<Aggregate>,
    memory: Arc<MemoryReservation>,
) -> Result<Option<Vec<Found>>> {
    let own = needs.clone();
    let Some(found) = of_parts(scan, memory, move |part| part.aggregate(own.clone())).await? else {
        return Ok(None);
    };
    let found = found.iter().map(|values| values.iter().map(Found::of).collect::<Vec<_>>());
    Ok(found.reduce(|sum, more| {
        let both = sum.into_iter().zip(more).zip(&needs);
        both.map(|((one, other), aggregate)| one.and(other, aggregate)).collect()
    }))
}

/// Asks the array: if the parts of the scan are made of tiles, once, with a thread for each part; if they are boxes, once for each of
/// them, at the same time. `None` if memory is too small, there are too many groups, or
/// the array has no such aggregate.
async fn of_parts<T: Send + 'static>(
    scan: &Scan,
    memory: Arc<MemoryReservation>,
    ask: impl Fn(Read) -> tdb_array::Result<T> + Clone + Send + 'static,
) -> Result<Option<Vec<T>>> {
    let whole = scan.whole.clone().map(|whole| whole.threads(scan.parts.len()));
    let parts = whole.as_ref().map_or(scan.parts.as_slice(), core::slice::from_ref);
    let budget = memory.size().checked_div(parts.len()).unwrap_or(0);
    let budget = MemoryBudget::from_bytes(u64::try_from(budget).unwrap_or(u64::MAX));
    let run = |part: &Read| {
        let (part, ask, memory) = (part.clone().memory(budget), ask.clone(), memory.clone());
        SpawnedTask::spawn_blocking(move || {
            let found = ask(part);
            drop(memory);
            found
        })
    };
    let tasks: Vec<_> = parts.iter().map(run).collect();
    let mut all = Some(Vec::with_capacity(tasks.len()));
    // All of them are awaited: a task that runs has memory, which the plan that is run instead may need.
    for task in tasks {
        match task.await.map_err(|error| DataFusionError::External(Box::new(error)))? {
            Ok(found) => {
                if let Some(all) = &mut all {
                    all.push(found);
                }
            }
            Err(Error::Query(
                QueryError::BudgetTooSmall { .. }
                | QueryError::OverBudget { .. }
                | QueryError::TooManyGroups { .. }
                // An aggregate that a type does not have here: numbers of SQL may be characters of a string.
                | QueryError::Aggregate(_),
            )) => all = None,
            Err(error) => return Err(of_array(error)),
        }
    }
    Ok(all)
}

impl DisplayAs for TdbAggregateExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TdbAggregateExec: [{}]", Function::names(&self.functions))?;
        show(&self.scan, f)
    }
}

impl ExecutionPlan for TdbAggregateExec {
    fn name(&self) -> &str {
        "TdbAggregateExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn replace_children(
        self: Arc<Self>,
        _: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        if partition > 0 {
            return internal_err!("partition {partition} of 1");
        }
        let (this, schema) = (self.clone(), self.schema());
        let run = async move {
            let needs = Function::all_needs(&this.functions);
            let memory = MemoryConsumer::new("TdbAggregateExec").register(context.memory_pool());
            let memory = reading::reserve(memory, 1, &context)?;
            let found = compute(&this.scan, needs.clone(), Arc::new(memory)).await?;
            let row = found.map(|found| this.row(&needs, &found)).transpose()?.flatten();
            match row {
                Some(row) => {
                    let rows = stream::iter([Ok(row)]);
                    Ok::<SendableRecordBatchStream, DataFusionError>(Box::pin(RecordBatchStreamAdapter::new(
                        this.schema(),
                        rows,
                    )))
                }
                None => this.otherwise.execute(0, context),
            }
        };
        let rows = stream::once(run).try_flatten();
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, rows)))
    }
}
