//! Aggregates of groups, computed by the array.
//!
//! DataFusion groups rows in two steps: what each partition finds out about its groups, and what all know together. Of integers, dates,
//! times and strings both steps are replaced, unless an operator above relies on how rows are distributed. Else the second step
//! stays, and decides which keys are equal: here two NaNs make two groups. If there are very many groups, or sums that do not
//! fit, the plan that was replaced is run instead.

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions, new_empty_array};
use datafusion::arrow::datatypes::{DataType, SchemaRef};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DataFusionError, ScalarValue, internal_err};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{EquivalenceProperties, Partitioning, PhysicalExpr};
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::execution_plan::{
    Boundedness, ChildrenPropertiesMode, EmissionType, ReplaceChildrenOptions,
};
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use futures_util::{TryStreamExt, stream};
use tdb_array::{Grouped, Read};

use super::function::{Found, Function};
use super::{of_parts, of_scan, show};
use crate::columns::Comparable;
use crate::error::of_arrow;
use crate::scan::Scan;
use crate::{Result, reading};

/// With more groups than this, DataFusion groups the rows: it can write groups to disk.
const MOST_GROUPS: usize = 1 << 17;

/// Computes aggregates of groups of an array's cells.
#[derive(Clone, Debug)]
pub(super) struct TdbGroupsExec {
    /// Whether it is both steps of an aggregation, or the first.
    both: bool,
    scan: Arc<Scan>,
    /// The columns that make the groups.
    keys: Arc<Vec<String>>,
    functions: Arc<Vec<Function>>,
    /// The types of what each function knows of a group.
    states: Arc<Vec<Vec<DataType>>>,
    /// The plan that this one replaces.
    otherwise: Arc<dyn ExecutionPlan>,
    properties: Arc<PlanProperties>,
}

impl TdbGroupsExec {
    /// What computes the same as a plan; `None` if it is not an aggregation that arrays can compute. If the plan is `free`, nobody relies on
    /// how its rows are distributed over partitions.
    pub(super) fn of(plan: &Arc<dyn ExecutionPlan>, free: bool) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        let Some(own) = plan.downcast_ref::<AggregateExec>() else { return Ok(None) };
        if let Some(whole) = Self::of_both(plan, own, free) {
            return Ok(Some(Arc::new(whole)));
        }
        match own.mode() {
            AggregateMode::Partial => Ok(Self::of_first(own).map(|first| Arc::new(first) as _)),
            // Both steps in one, for a scan with one partition.
            AggregateMode::Single => {
                let (group_by, functions) = (own.group_expr().clone(), own.aggr_expr().to_vec());
                let step = |mode, group_by, input| {
                    let (functions, filters) = (functions.clone(), own.filter_expr().to_vec());
                    AggregateExec::try_new(mode, group_by, functions, filters, input, own.input_schema())
                };
                let first = step(AggregateMode::Partial, group_by.clone(), Arc::clone(own.input()))?;
                let first = first.with_limit_options(own.limit_options());
                let Some(first) = Self::of_first(&first) else { return Ok(None) };
                let last = step(AggregateMode::Final, group_by.as_final(), Arc::new(first))?;
                Ok((last.schema() == own.schema()).then(|| Arc::new(last) as _))
            }
            _ => Ok(None),
        }
    }

    /// Both steps of an aggregation, if keys are equal where their bytes are.
    fn of_both(plan: &Arc<dyn ExecutionPlan>, last: &AggregateExec, free: bool) -> Option<Self> {
        let first = match last.mode() {
            AggregateMode::Single => last,
            AggregateMode::Final | AggregateMode::FinalPartitioned => {
                let input = last.input();
                let input = match input.downcast_ref::<RepartitionExec>() {
                    Some(distributed) => distributed.input(),
                    None => input.downcast_ref::<CoalescePartitionsExec>().map_or(input, |all| all.input()),
                };
                input
                    .downcast_ref::<AggregateExec>()
                    .filter(|first| *first.mode() == AggregateMode::Partial)?
            }
            _ => return None,
        };
        let is_one = plan.properties().output_partitioning().partition_count() == 1;
        if !(free || is_one) || last.limit_options().is_some() || !last.group_expr().is_single() {
            return None;
        }
        let own = Self::of_first(first)?;
        let table = &own.scan.state.table;
        let is_exact = |key: &String| {
            let comparable = table.position(key).map(|position| table.comparable(position));
            matches!(comparable, Some(Comparable::Integer | Comparable::Bytes))
        };
        // Groups of several parts would have to be put together.
        let asks_once = own.scan.whole.is_some() || own.scan.parts.len() == 1;
        if !asks_once || !own.keys.iter().all(is_exact) {
            return None;
        }
        let properties = properties(last.schema());
        Some(Self { both: true, otherwise: Arc::clone(plan), properties, ..own })
    }

    fn of_first(first: &AggregateExec) -> Option<Self> {
        let group_by = first.group_expr();
        let is_plain =
            group_by.is_single() && !group_by.is_true_no_grouping() && first.limit_options().is_none();
        if !is_plain {
            return None;
        }
        let (scan, functions) = of_scan(first)?;
        if scan.is_sorted {
            return None;
        }
        let table = &scan.state.table;
        let keys = group_by.expr().iter().map(|(key, _)| {
            let name = key.downcast_ref::<Column>()?.name();
            let position = table.position(name)?;
            (table.comparable(position) != Comparable::Not).then(|| name.to_owned())
        });
        let keys = keys.collect::<Option<Vec<_>>>()?;
        let states = first.aggr_expr().iter().map(|function| {
            let fields = function.state_fields().ok()?;
            Some(fields.iter().map(|field| field.data_type().clone()).collect::<Vec<_>>())
        });
        let states = states.collect::<Option<Vec<_>>>()?;
        Some(Self {
            both: false,
            scan,
            keys: Arc::new(keys),
            functions: Arc::new(functions),
            states: Arc::new(states),
            otherwise: Arc::new(first.clone()),
            properties: properties(first.schema()),
        })
    }

    /// The rows of some groups: their keys, and what each function knows of them. `None` if DataFusion's values may differ.
    fn rows(&self, groups: Grouped) -> Result<Option<RecordBatch>> {
        let schema = self.schema();
        let (keys, values) = groups.into_parts();
        let len = keys.len();
        if values.iter().any(|values| values.overflowed || values.has_nan) {
            return Ok(None);
        }
        let mut columns: Vec<ArrayRef> = if self.keys.is_empty() {
            Vec::new()
        } else {
            self.scan.mapping.record_batch(keys).map_err(of_arrow)?.columns().to_vec()
        };
        let needs = Function::all_needs(&self.functions);
        let values: Vec<Vec<Found>> = values.iter().map(Found::of_groups).collect();
        for (function, types) in self.functions.iter().zip(&*self.states) {
            let own: Vec<&Vec<Found>> =
                function.places(&needs).into_iter().filter_map(|at| values.get(at)).collect();
            let result = schema.fields().get(columns.len()).filter(|_| self.both);
            let types = result.map_or(types.as_slice(), |field| core::slice::from_ref(field.data_type()));
            let mut states: Vec<Vec<ScalarValue>> = types.iter().map(|_| Vec::with_capacity(len)).collect();
            let mut found = Vec::with_capacity(own.len());
            for group in 0..len {
                found.clear();
                found.extend(own.iter().filter_map(|values| values.get(group).copied()));
                let state = match types {
                    [data_type] if self.both => {
                        let value = function.value(&found, data_type);
                        value.filter(|value| value.data_type() == *data_type).map(|value| vec![value])
                    }
                    _ => function.state(&found, types),
                };
                let Some(state) = state else { return Ok(None) };
                states.iter_mut().zip(state).for_each(|(states, state)| states.push(state));
            }
            for (states, data_type) in states.into_iter().zip(types) {
                columns.push(match states.is_empty() {
                    true => new_empty_array(data_type),
                    false => ScalarValue::iter_to_array(states)?,
                });
            }
        }
        let options = RecordBatchOptions::new().with_row_count(Some(len));
        Ok(Some(RecordBatch::try_new_with_options(schema, columns, &options)?))
    }

    /// The rows of all groups. `None` if memory is too small, there are too many groups, or DataFusion's values may differ.
    async fn find(&self, memory: MemoryReservation) -> Result<Option<Vec<RecordBatch>>> {
        let (keys, needs) = (Arc::clone(&self.keys), Function::all_needs(&self.functions));
        let ask = move |part: Read| {
            part.group_by(keys.iter().cloned()).most_groups(MOST_GROUPS).aggregate(needs.clone())
        };
        let Some(found) = of_parts(&self.scan, Arc::new(memory), ask).await? else { return Ok(None) };
        found.into_iter().map(|groups| self.rows(groups)).collect()
    }
}

fn properties(schema: SchemaRef) -> Arc<PlanProperties> {
    Arc::new(PlanProperties::new(
        EquivalenceProperties::new(schema),
        Partitioning::UnknownPartitioning(1),
        EmissionType::Final,
        Boundedness::Bounded,
    ))
}

/// A batch in pieces of as many rows.
fn pieces(batch: &RecordBatch, rows: usize) -> impl Iterator<Item = RecordBatch> {
    let all = batch.num_rows();
    (0..all).step_by(rows.max(1)).map(move |start| batch.slice(start, rows.min(all.saturating_sub(start))))
}

impl DisplayAs for TdbGroupsExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TdbGroupsExec: by=[{}], [{}]", self.keys.join(", "), Function::names(&self.functions))?;
        if !self.both {
            write!(f, ", mode=Partial")?;
        }
        show(&self.scan, f)
    }
}

impl ExecutionPlan for TdbGroupsExec {
    fn name(&self) -> &str {
        "TdbGroupsExec"
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
            let memory = MemoryConsumer::new("TdbGroupsExec").register(context.memory_pool());
            let memory = reading::reserve(memory, 1, &context)?;
            let Some(found) = this.find(memory).await? else {
                return CoalescePartitionsExec::new(this.otherwise).execute(0, context);
            };
            let rows = context.session_config().batch_size();
            let pieces: Vec<_> = found.iter().flat_map(|batch| pieces(batch, rows)).map(Ok).collect();
            let schema = this.otherwise.schema();
            let pieces = RecordBatchStreamAdapter::new(schema, stream::iter(pieces));
            Ok::<SendableRecordBatchStream, DataFusionError>(Box::pin(pieces))
        };
        let rows = stream::once(run).try_flatten();
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, rows)))
    }
}
