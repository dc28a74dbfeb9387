//! Aggregates without groups: where statistics of tiles and fragments are exact, no cell is
//! decoded.

use core::fmt;
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::execution::memory_pool::MemoryReservation;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use tdb_array::query::Aggregate;

use super::distinct::{self, DistinctValues};
use super::exec::{ArrayAggregate, ArrayAggregateExec, run_on_parts};
use super::function::Function;
use super::number::AggregateNumber;
use super::of_scan;
use crate::Result;
use crate::error::internal;
use crate::scan::Scan;

/// Aggregates of all cells of a scan.
#[derive(Debug)]
pub(super) struct Totals {
    functions: Vec<Function>,
}

impl Totals {
    /// The plan that computes the same in the array; `None` if the plan is not an aggregation that
    /// arrays can compute.
    pub(super) fn of(plan: &Arc<dyn ExecutionPlan>) -> Option<Arc<dyn ExecutionPlan>> {
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
        if [last, first].iter().any(|part| !part.group_expr().is_true_no_grouping()) {
            return None;
        }
        let (scan, functions) = of_scan(first).or_else(|| distinct::of_distinct_count(first))?;
        if !distinct::are_computed(&functions, &scan) {
            return None;
        }
        // Once DataFusion knows a small value, it tells the scan to leave out tiles without smaller
        // ones; a condition is looked at in all tiles.
        let are_extremes = functions.iter().all(|own| matches!(own, Function::Min(_) | Function::Max(_)));
        if are_extremes && !scan.summary.condition.is_empty() {
            return None;
        }
        Some(ArrayAggregateExec::instead_of(Self { functions }, scan, Arc::clone(plan)))
    }

    /// The row of the result, given the aggregates of the array, and the counts of different
    /// values.
    fn row(
        &self,
        schema: &SchemaRef,
        found: &[(Aggregate, AggregateNumber)],
        values: &[DistinctValues],
    ) -> Result<Option<RecordBatch>> {
        let mut columns = Vec::with_capacity(self.functions.len());
        for (function, field) in self.functions.iter().zip(schema.fields()) {
            let own = function.select(found, |(aggregate, _)| aggregate)?;
            let own = own.into_iter().map(|(_, number)| *number);
            let own: Vec<_> = own.chain(DistinctValues::count(values, function)).collect();
            let Some(value) = function.value(&own, field.data_type()) else {
                return Ok(None);
            };
            if value.data_type() != *field.data_type() {
                return Ok(None);
            }
            columns.push(value.to_array()?);
        }
        Ok(Some(RecordBatch::try_new(schema.clone(), columns)?))
    }
}

impl ArrayAggregate for Totals {
    const NAME: &'static str = "TdbAggregateExec";

    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}]", Function::names(&self.functions))
    }

    async fn find(
        &self,
        scan: &Scan,
        schema: &SchemaRef,
        memory: &Arc<MemoryReservation>,
    ) -> Result<Option<Vec<RecordBatch>>> {
        let aggregates = Function::all_aggregates(&self.functions);
        let Some(found) = totals(scan, memory, aggregates).await? else { return Ok(None) };
        let Some(values) = DistinctValues::find(&self.functions, scan, memory).await? else {
            return Ok(None);
        };
        let row = self.row(schema, &found, &values)?;
        Ok(row.map(|row| vec![row]))
    }
}

/// The values of aggregates of all cells of a scan. `None` if memory is too small, or the array has
/// no such aggregate.
async fn totals(
    scan: &Scan,
    memory: &Arc<MemoryReservation>,
    aggregates: Vec<Aggregate>,
) -> Result<Option<Vec<(Aggregate, AggregateNumber)>>> {
    if aggregates.is_empty() {
        return Ok(Some(Vec::new()));
    }
    let own = aggregates.clone();
    let Some(found) = run_on_parts(scan, memory, move |part| part.aggregate(own.clone())).await? else {
        return Ok(None);
    };
    let mut found = found.iter().map(|values| values.iter().map(AggregateNumber::of).collect::<Vec<_>>());
    let Some(first) = found.next().filter(|first| first.len() == aggregates.len()) else {
        return Err(internal("the array has computed another number of aggregates"));
    };
    let mut totals: Vec<_> = aggregates.into_iter().zip(first).collect();
    for part in found {
        // Every part has the aggregates in the order in which they were asked for.
        for ((aggregate, total), more) in totals.iter_mut().zip(part) {
            *total = total.and(more, aggregate);
        }
    }
    Ok(Some(totals))
}
