//! `GROUP BY`, computed by the array.
//!
//! DataFusion groups rows in two steps: a partial aggregation of each partition, and a final one of
//! all partial results. If the keys are integers, dates, times or strings, the array replaces both
//! steps, unless an operator above relies on how rows are distributed over partitions. Else it
//! replaces the partial one, and DataFusion's final aggregation decides which keys are equal: here
//! two NaNs make two groups. If the groups need more memory than there is, or if sums do not fit,
//! the plan that was replaced runs instead: it can write groups to disk.

use core::fmt;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use datafusion::arrow::datatypes::{DataType, SchemaRef};
use datafusion::common::ScalarValue;
use datafusion::execution::memory_pool::MemoryReservation;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::repartition::RepartitionExec;
use tdb_array::Read;
use tdb_array::query::{Grouped, GroupedValues};

use super::exec::{ArrayAggregate, ArrayAggregateExec, run_on_parts};
use super::function::Function;
use super::number::AggregateNumber;
use super::of_scan;
use crate::Result;
use crate::columns::Comparable;
use crate::error::{internal, of_arrow};
use crate::scan::Scan;
use crate::thresholds::MAX_PARTIAL_GROUPS;

/// Aggregates of groups of a scan's cells.
#[derive(Debug)]
pub(super) struct Groups {
    /// Whether this is both steps of an aggregation, or only the partial one.
    is_final: bool,
    scan: Arc<Scan>,
    /// The columns that make the groups.
    keys: Vec<String>,
    functions: Vec<Function>,
    /// The types of the columns of each function: its result, or the state that a partial
    /// aggregation has of it.
    states: Vec<Vec<DataType>>,
}

impl Groups {
    /// The plan that computes the same in the array; `None` if the plan is not an aggregation that
    /// arrays can compute. The plan is `free` if no operator above it relies on how its rows are
    /// distributed over partitions.
    pub(super) fn of(plan: &Arc<dyn ExecutionPlan>, free: bool) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        let Some(own) = plan.downcast_ref::<AggregateExec>() else { return Ok(None) };
        if let Some(both) = Self::of_both_steps(plan, own, free) {
            return Ok(Some(both.computed(Arc::clone(plan))));
        }
        match own.mode() {
            AggregateMode::Partial => {
                Ok(Self::of_first_step(own).map(|first| first.computed(Arc::clone(plan))))
            }
            // Both steps in one, for a scan with one partition.
            AggregateMode::Single => {
                let (group_by, functions) = (own.group_expr().clone(), own.aggr_expr().to_vec());
                let step = |mode, group_by, input| {
                    let (functions, filters) = (functions.clone(), own.filter_expr().to_vec());
                    AggregateExec::try_new(mode, group_by, functions, filters, input, own.input_schema())
                };
                let first = step(AggregateMode::Partial, group_by.clone(), Arc::clone(own.input()))?;
                let first = first.with_limit_options(own.limit_options());
                let Some(groups) = Self::of_first_step(&first) else { return Ok(None) };
                let first = groups.computed(Arc::new(first));
                let last = step(AggregateMode::Final, group_by.as_final(), first)?;
                Ok((last.schema() == own.schema()).then(|| Arc::new(last) as _))
            }
            _ => Ok(None),
        }
    }

    /// A plan that computes these groups in place of another plan.
    fn computed(self, fallback: Arc<dyn ExecutionPlan>) -> Arc<dyn ExecutionPlan> {
        let scan = Arc::clone(&self.scan);
        ArrayAggregateExec::instead_of(self, scan, fallback)
    }

    /// Both steps of an aggregation, if keys are equal where their bytes are.
    pub(super) fn of_both_steps(
        plan: &Arc<dyn ExecutionPlan>,
        last: &AggregateExec,
        free: bool,
    ) -> Option<Self> {
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
        let own = Self::of_first_step(first)?;
        let table = &own.scan.state.table;
        // Groups of several queries would have to be merged.
        if !own.scan.is_one_query() || !own.keys.iter().all(|key| table.is_equal_by_bytes(key)) {
            return None;
        }
        let results = last.schema();
        let results = results.fields().iter().skip(own.keys.len());
        let states = results.map(|field| vec![field.data_type().clone()]).collect();
        Some(Self { is_final: true, states, ..own })
    }

    /// The partial aggregation of a scan, if arrays can compute it.
    fn of_first_step(first: &AggregateExec) -> Option<Self> {
        let group_by = first.group_expr();
        let is_plain =
            group_by.is_single() && !group_by.is_true_no_grouping() && first.limit_options().is_none();
        if !is_plain {
            return None;
        }
        let (scan, functions) = of_scan(first)?;
        if scan.is_sorted || functions.iter().any(|function| matches!(function, Function::Distinct { .. })) {
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
        Some(Self { is_final: false, scan, keys, functions, states })
    }

    /// The scan and the key, if there is one key and no function.
    pub(super) fn only_key(&self) -> Option<(&Arc<Scan>, &str)> {
        match (self.keys.as_slice(), self.functions.as_slice()) {
            ([key], []) => Some((&self.scan, key)),
            _ => None,
        }
    }

    /// The rows of some groups: their keys, and the results or states of each function. `None` if
    /// DataFusion's values may differ.
    fn rows(&self, scan: &Scan, schema: &SchemaRef, groups: Grouped) -> Result<Option<RecordBatch>> {
        let (keys, values) = groups.into_parts();
        let len = keys.len();
        if len == 0 {
            return Ok(Some(RecordBatch::new_empty(schema.clone())));
        }
        if !AggregateNumber::are_those_of_sql(&values) {
            return Ok(None);
        }
        let aggregates = Function::all_aggregates(&self.functions);
        let is_whole = |values: &GroupedValues| values.column.cell(len - 1).is_some();
        if values.len() != aggregates.len() || !values.iter().all(is_whole) {
            return Err(internal("a group has no value of an aggregate"));
        }
        // The values are in the order in which they were asked for.
        let values: Vec<_> = aggregates.into_iter().zip(values).collect();
        let mut columns: Vec<ArrayRef> = if self.keys.is_empty() {
            Vec::new()
        } else {
            scan.mapping.record_batch(keys).map_err(of_arrow)?.columns().to_vec()
        };
        for (function, types) in self.functions.iter().zip(&self.states) {
            let own = function.select(&values, |(aggregate, _)| aggregate)?;
            let own: Vec<_> = own.into_iter().map(|(_, values)| values).collect();
            if let [data_type] = types.as_slice()
                && let Some(column) = function.column(&own, len, data_type)
            {
                let Some(column) = column else { return Ok(None) };
                columns.push(column);
                continue;
            }
            let mut states: Vec<Vec<ScalarValue>> = types.iter().map(|_| Vec::with_capacity(len)).collect();
            let mut found = Vec::with_capacity(own.len());
            for group in 0..len {
                found.clear();
                found.extend(own.iter().map(|values| AggregateNumber::of_group(values, group)));
                let Some(state) = function.state(&found, types) else { return Ok(None) };
                states.iter_mut().zip(state).for_each(|(states, state)| states.push(state));
            }
            for states in states {
                columns.push(ScalarValue::iter_to_array(states)?);
            }
        }
        let options = RecordBatchOptions::new().with_row_count(Some(len));
        Ok(Some(RecordBatch::try_new_with_options(schema.clone(), columns, &options)?))
    }
}

impl ArrayAggregate for Groups {
    const NAME: &'static str = "TdbGroupsExec";

    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "by=[{}], [{}]", self.keys.join(", "), Function::names(&self.functions))?;
        if self.is_final { Ok(()) } else { write!(f, ", mode=Partial") }
    }

    async fn find(
        &self,
        scan: &Scan,
        schema: &SchemaRef,
        memory: &Arc<MemoryReservation>,
    ) -> Result<Option<Vec<RecordBatch>>> {
        let (keys, aggregates) = (self.keys.clone(), Function::all_aggregates(&self.functions));
        let is_final = self.is_final;
        let ask = move |part: Read| {
            let groups = part.group_by(keys.iter().cloned());
            let groups = if is_final { groups } else { groups.max_groups(MAX_PARTIAL_GROUPS) };
            groups.aggregate(aggregates.clone())
        };
        let Some(found) = run_on_parts(scan, memory, ask).await? else { return Ok(None) };
        found.into_iter().map(|groups| self.rows(scan, schema, groups)).collect()
    }
}
