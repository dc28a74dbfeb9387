//! The physical plan of an aggregation that an array computes.

use core::fmt;
use core::future::Future;
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::runtime::SpawnedTask;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DataFusionError, internal_err};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, Partitioning, PhysicalExpr};
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::execution_plan::{
    Boundedness, ChildrenPropertiesMode, EmissionType, ReplaceChildrenOptions,
};
use datafusion::physical_plan::metrics::{MetricsSet, RecordOutput};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use futures_util::{StreamExt, TryStreamExt, stream};
use tdb_array::error::QueryError;
use tdb_array::{Error, MemoryBudget, Read};

use crate::error::of_array;
use crate::figures::Figures;
use crate::scan::Scan;
use crate::{Result, reading};

/// An aggregation of the rows of a scan that an array can compute.
pub(super) trait ArrayAggregate: fmt::Debug + Send + Sync + 'static {
    /// The plan's name.
    const NAME: &'static str;

    /// Shows the aggregates in `EXPLAIN`.
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result;

    /// The rows, with these columns. `None` if memory is too small, there are too many groups, or
    /// DataFusion's values may differ.
    fn find(
        &self,
        scan: &Scan,
        schema: &SchemaRef,
        memory: &Arc<MemoryReservation>,
    ) -> impl Future<Output = Result<Option<Vec<RecordBatch>>>> + Send;
}

/// Runs an aggregation in the array, or the plan that it replaces if the array cannot.
#[derive(Debug)]
pub(super) struct ArrayAggregateExec<C> {
    aggregate: Arc<C>,
    scan: Arc<Scan>,
    /// The plan that this one replaces.
    fallback: Arc<dyn ExecutionPlan>,
    properties: Arc<PlanProperties>,
    figures: Figures,
}

impl<C: ArrayAggregate> ArrayAggregateExec<C> {
    /// An aggregation of a scan, in place of a plan with the same rows.
    pub(super) fn instead_of(
        aggregate: C,
        scan: Arc<Scan>,
        fallback: Arc<dyn ExecutionPlan>,
    ) -> Arc<dyn ExecutionPlan> {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(fallback.schema()),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Final,
            Boundedness::Bounded,
        );
        let (aggregate, properties) = (Arc::new(aggregate), Arc::new(properties));
        Arc::new(Self { aggregate, scan, fallback, properties, figures: Figures::default() })
    }
}

/// Computes aggregates in the array. If the parts of the scan are made of tiles, one query computes
/// them with a thread for each part; if they are boxes, one query for each box, all at the same
/// time. `None` if memory is too small, there are too many groups, or the array has no such
/// aggregate.
pub(super) async fn run_on_parts<T: Send + 'static>(
    scan: &Scan,
    memory: &Arc<MemoryReservation>,
    ask: impl Fn(Read) -> tdb_array::Result<T> + Clone + Send + 'static,
) -> Result<Option<Vec<T>>> {
    let whole = scan.whole.clone().map(|whole| whole.threads(scan.parts.len()));
    let parts = whole.as_ref().map_or(scan.parts.as_slice(), core::slice::from_ref);
    // Without parts, nothing uses the budget.
    let budget = memory.size().checked_div(parts.len()).unwrap_or(0);
    let budget = MemoryBudget::from_bytes(u64::try_from(budget).unwrap_or(u64::MAX));
    let run = |part: &Read| {
        let (part, ask, memory) = (part.clone().memory(budget), ask.clone(), Arc::clone(memory));
        SpawnedTask::spawn_blocking(move || {
            let found = ask(part);
            drop(memory);
            found
        })
    };
    let tasks: Vec<_> = parts.iter().map(run).collect();
    let mut all = Some(Vec::with_capacity(tasks.len()));
    // All of them are awaited: a task that runs has memory, which the plan that is run instead may
    // need.
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
                // An aggregate that a type does not have here: numbers of SQL may be characters of
                // a string.
                | QueryError::Aggregate(_),
            )) => all = None,
            Err(error) => return Err(of_array(error)),
        }
    }
    Ok(all)
}

/// Cuts a batch into slices of at most `rows` rows.
fn slices(batch: &RecordBatch, rows: usize) -> impl Iterator<Item = RecordBatch> {
    let all = batch.num_rows();
    (0..all).step_by(rows.max(1)).map(move |start| batch.slice(start, rows.min(all - start)))
}

impl<C: ArrayAggregate> DisplayAs for ArrayAggregateExec<C> {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", C::NAME)?;
        self.aggregate.show(f)?;
        let summary = &self.scan.summary;
        if !summary.ranges.is_empty() {
            write!(f, ", ranges=[{}]", summary.ranges)?;
        }
        if !summary.condition.is_empty() {
            write!(f, ", condition={}", summary.condition)?;
        }
        let (read, all) = summary.fragments;
        write!(f, ", fragments={read} of {all}, partitions={}", self.scan.parts.len())
    }
}

impl<C: ArrayAggregate> ExecutionPlan for ArrayAggregateExec<C> {
    fn name(&self) -> &str {
        C::NAME
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
        let (aggregate, scan, fallback) = (self.aggregate.clone(), self.scan.clone(), self.fallback.clone());
        let schema = self.schema();
        let metrics = self.figures.begin(&self.scan.state.array, 0);
        let run = async move {
            let memory = MemoryConsumer::new(C::NAME).register(context.memory_pool());
            let memory = Arc::new(reading::reserve(memory, 1, &context)?);
            let schema = fallback.schema();
            let elapsed = metrics.elapsed_compute().clone();
            let timer = elapsed.timer();
            let Some(found) = aggregate.find(&scan, &schema, &memory).await? else {
                // The other plan may need it.
                drop(memory);
                return CoalescePartitionsExec::new(fallback).execute(0, context);
            };
            timer.done();
            // The rows are in memory until the last of them is taken.
            let bytes = found.iter().map(RecordBatch::get_array_memory_size).sum::<usize>();
            // They may take more than was reserved: then all of it stays reserved.
            memory.shrink(memory.size().saturating_sub(bytes));
            let rows = context.session_config().batch_size();
            let slices: Vec<_> = found.iter().flat_map(|batch| slices(batch, rows)).map(Ok).collect();
            let slices = stream::iter(slices).inspect(move |slice: &Result<RecordBatch>| {
                let _ = &memory;
                if let Ok(slice) = slice {
                    let _ = slice.record_output(&metrics);
                }
            });
            let slices = RecordBatchStreamAdapter::new(schema, slices);
            Ok::<SendableRecordBatchStream, DataFusionError>(Box::pin(slices))
        };
        let rows = stream::once(run).try_flatten();
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, rows)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.figures.of(&self.scan.state.array))
    }
}
