//! Aggregates of groups, computed by the array.
//!
//! DataFusion groups rows in two steps: what each partition finds out about its groups, and what
//! all know together. Of integers, dates, times and strings both steps are replaced, unless an
//! operator above relies on how rows are distributed. Else the second step stays, and decides which
//! keys are equal: here two NaNs make two groups. If the groups need more memory than there is, or
//! if sums do not fit, the plan that was replaced is run instead: it can write groups to disk.

use core::fmt;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions, new_empty_array};
use datafusion::arrow::datatypes::{DataType, SchemaRef};
use datafusion::common::ScalarValue;
use datafusion::execution::memory_pool::MemoryReservation;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::repartition::RepartitionExec;
use tdb_array::{Grouped, Read};

use super::computed::{Compute, Computed, of_parts};
use super::function::{Found, Function};
use super::of_scan;
use crate::Result;
use crate::columns::Comparable;
use crate::error::of_arrow;
use crate::scan::Scan;

/// With more groups than this, DataFusion does the first step too: it would have to group them
/// again in any case.
const MOST_OF_FIRST_STEP: usize = 1 << 17;

/// Aggregates of groups of a scan's cells.
#[derive(Debug)]
pub(super) struct Groups {
    /// Whether it is both steps of an aggregation, or the first.
    both: bool,
    scan: Arc<Scan>,
    /// The columns that make the groups.
    keys: Vec<String>,
    functions: Vec<Function>,
    /// The types of the columns that each function has: its value, or of a first step what it knows
    /// of a group.
    states: Vec<Vec<DataType>>,
}

impl Groups {
    /// What computes the same as a plan; `None` if it is not an aggregation that arrays can
    /// compute. If the plan is `free`, nobody relies on how its rows are distributed over
    /// partitions.
    pub(super) fn of(plan: &Arc<dyn ExecutionPlan>, free: bool) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        let Some(own) = plan.downcast_ref::<AggregateExec>() else { return Ok(None) };
        if let Some(both) = Self::of_both(plan, own, free) {
            return Ok(Some(both.computed(Arc::clone(plan))));
        }
        match own.mode() {
            AggregateMode::Partial => Ok(Self::of_first(own).map(|first| first.computed(Arc::clone(plan)))),
            // Both steps in one, for a scan with one partition.
            AggregateMode::Single => {
                let (group_by, functions) = (own.group_expr().clone(), own.aggr_expr().to_vec());
                let step = |mode, group_by, input| {
                    let (functions, filters) = (functions.clone(), own.filter_expr().to_vec());
                    AggregateExec::try_new(mode, group_by, functions, filters, input, own.input_schema())
                };
                let first = step(AggregateMode::Partial, group_by.clone(), Arc::clone(own.input()))?;
                let first = first.with_limit_options(own.limit_options());
                let Some(groups) = Self::of_first(&first) else { return Ok(None) };
                let first = groups.computed(Arc::new(first));
                let last = step(AggregateMode::Final, group_by.as_final(), first)?;
                Ok((last.schema() == own.schema()).then(|| Arc::new(last) as _))
            }
            _ => Ok(None),
        }
    }

    /// A plan that computes them in place of another one.
    fn computed(self, otherwise: Arc<dyn ExecutionPlan>) -> Arc<dyn ExecutionPlan> {
        let scan = Arc::clone(&self.scan);
        Computed::in_place_of(self, scan, otherwise)
    }

    /// Both steps of an aggregation, if keys are equal where their bytes are.
    pub(super) fn of_both(plan: &Arc<dyn ExecutionPlan>, last: &AggregateExec, free: bool) -> Option<Self> {
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
        // Groups of several parts would have to be put together.
        if !own.scan.asks_once() || !own.keys.iter().all(|key| table.is_equal_by_bytes(key)) {
            return None;
        }
        let results = last.schema();
        let results = results.fields().iter().skip(own.keys.len());
        let states = results.map(|field| vec![field.data_type().clone()]).collect();
        Some(Self { both: true, states, ..own })
    }

    fn of_first(first: &AggregateExec) -> Option<Self> {
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
        Some(Self { both: false, scan, keys, functions, states })
    }

    /// The scan and the key, if it makes groups of one key and finds out nothing about them.
    pub(super) fn only_key(&self) -> Option<(&Arc<Scan>, &str)> {
        match (self.keys.as_slice(), self.functions.as_slice()) {
            ([key], []) => Some((&self.scan, key)),
            _ => None,
        }
    }

    /// The rows of some groups: their keys, and what each function knows of them. `None` if
    /// DataFusion's values may differ.
    fn rows(&self, scan: &Scan, schema: &SchemaRef, groups: Grouped) -> Result<Option<RecordBatch>> {
        let (keys, values) = groups.into_parts();
        let len = keys.len();
        if !Found::are_known(&values) {
            return Ok(None);
        }
        let mut columns: Vec<ArrayRef> = if self.keys.is_empty() {
            Vec::new()
        } else {
            scan.mapping.record_batch(keys).map_err(of_arrow)?.columns().to_vec()
        };
        let needs = Function::all_needs(&self.functions);
        for (function, types) in self.functions.iter().zip(&self.states) {
            let own: Vec<_> = function.places(&needs).into_iter().filter_map(|at| values.get(at)).collect();
            if let [data_type] = types.as_slice()
                && let Some(column) = function.numbers(&own, len, data_type)
            {
                let Some(column) = column else { return Ok(None) };
                columns.push(column);
                continue;
            }
            let mut states: Vec<Vec<ScalarValue>> = types.iter().map(|_| Vec::with_capacity(len)).collect();
            let mut found = Vec::with_capacity(own.len());
            for group in 0..len {
                found.clear();
                found.extend(own.iter().map(|values| Found::of_group(values, group)));
                let Some(state) = function.state(&found, types) else { return Ok(None) };
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
        Ok(Some(RecordBatch::try_new_with_options(schema.clone(), columns, &options)?))
    }
}

impl Compute for Groups {
    const NAME: &'static str = "TdbGroupsExec";

    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "by=[{}], [{}]", self.keys.join(", "), Function::names(&self.functions))?;
        if self.both { Ok(()) } else { write!(f, ", mode=Partial") }
    }

    async fn find(
        &self,
        scan: &Scan,
        schema: &SchemaRef,
        memory: &Arc<MemoryReservation>,
    ) -> Result<Option<Vec<RecordBatch>>> {
        let (keys, needs, both) = (self.keys.clone(), Function::all_needs(&self.functions), self.both);
        let ask = move |part: Read| {
            let groups = part.group_by(keys.iter().cloned());
            let groups = if both { groups } else { groups.most_groups(MOST_OF_FIRST_STEP) };
            groups.aggregate(needs.clone())
        };
        let Some(found) = of_parts(scan, memory, ask).await? else { return Ok(None) };
        found.into_iter().map(|groups| self.rows(scan, schema, groups)).collect()
    }
}
