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
use tdb_array::Aggregate;

use super::computed::{Compute, Computed, of_parts};
use super::distinct::{self, Values};
use super::function::{Found, Function};
use super::of_scan;
use crate::Result;
use crate::scan::Scan;

/// Aggregates of all cells of a scan.
#[derive(Debug)]
pub(super) struct Totals {
    functions: Vec<Function>,
}

impl Totals {
    /// What computes the same as a plan; `None` if it is not an aggregation that arrays can
    /// compute.
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
        let (scan, functions) = of_scan(first).or_else(|| distinct::of_values(first))?;
        if !distinct::are_computed(&functions, &scan) {
            return None;
        }
        // Once DataFusion knows a small value, it tells the scan to leave out tiles without smaller
        // ones; a condition is looked at in all tiles.
        let are_extremes = functions.iter().all(|own| matches!(own, Function::Min(_) | Function::Max(_)));
        if are_extremes && !scan.about.condition.is_empty() {
            return None;
        }
        Some(Computed::in_place_of(Self { functions }, scan, Arc::clone(plan)))
    }

    /// The row of the result, given the values of the aggregates, and those of columns.
    fn row(
        &self,
        schema: &SchemaRef,
        (needs, found): (&[Aggregate], &[Found]),
        values: &[Values],
    ) -> Result<Option<RecordBatch>> {
        let mut columns = Vec::with_capacity(self.functions.len());
        for (function, field) in self.functions.iter().zip(schema.fields()) {
            let own = function.places(needs).into_iter().filter_map(|at| found.get(at).copied());
            let own: Vec<_> = own.chain(Values::count(values, function)).collect();
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

impl Compute for Totals {
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
        let needs = Function::all_needs(&self.functions);
        let Some(found) = totals(scan, memory, &needs).await? else { return Ok(None) };
        let Some(values) = Values::find(&self.functions, scan, memory).await? else { return Ok(None) };
        let row = self.row(schema, (&needs, &found), &values)?;
        Ok(row.map(|row| vec![row]))
    }
}

/// The values of aggregates of all cells of a scan. `None` if memory is too small, or the array has
/// no such aggregate.
async fn totals(
    scan: &Scan,
    memory: &Arc<MemoryReservation>,
    needs: &[Aggregate],
) -> Result<Option<Vec<Found>>> {
    if needs.is_empty() {
        return Ok(Some(Vec::new()));
    }
    let own = needs.to_vec();
    let Some(found) = of_parts(scan, memory, move |part| part.aggregate(own.clone())).await? else {
        return Ok(None);
    };
    let found = found.iter().map(|values| values.iter().map(Found::of).collect::<Vec<_>>());
    Ok(found.reduce(|sum, more| {
        let both = sum.into_iter().zip(more).zip(needs);
        both.map(|((one, other), aggregate)| one.and(other, aggregate)).collect()
    }))
}
