//! `count(DISTINCT column)`: the number of groups that the array makes of the column.

use std::sync::Arc;

use datafusion::execution::memory_pool::MemoryReservation;
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use datafusion::physical_expr::expressions::{Column, Literal};
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::projection::ProjectionExec;
use tdb_array::Read;

use super::exec::run_on_parts;
use super::function::Function;
use super::groups::Groups;
use super::number::AggregateNumber;
use crate::Result;
use crate::scan::Scan;

/// The scan and the functions of an aggregation without groups whose rows are the values of a
/// column. DataFusion turns `count(DISTINCT x)` into such a plan where it is the only function.
pub(super) fn of_distinct_count(outer: &AggregateExec) -> Option<(Arc<Scan>, Vec<Function>)> {
    // A projection of one column can only leave the column out, or show it again.
    let shows = |projection: &ProjectionExec| projection.expr().iter().all(|shown| shown.expr.is::<Column>());
    let projection = outer.input().downcast_ref::<ProjectionExec>().filter(|own| shows(own));
    let inner = projection.map_or(outer.input(), ProjectionExec::input);
    let groups = Groups::of_both_steps(inner, inner.downcast_ref()?, true)?;
    let (scan, column) = groups.only_key()?;
    if outer.filter_expr().iter().any(Option::is_some) {
        return None;
    }
    let functions = outer.aggr_expr().iter().map(|function| count_of_rows(function, column));
    Some((Arc::clone(scan), functions.collect::<Option<Vec<_>>>()?))
}

/// A function of rows that are the values of a column.
fn count_of_rows(function: &AggregateFunctionExpr, column: &str) -> Option<Function> {
    let arguments = function.expressions();
    let [argument] = arguments.as_slice() else { return None };
    if function.fun().name() != "count" || function.is_distinct() || !function.order_bys().is_empty() {
        return None;
    }
    let with_null = match argument.downcast_ref::<Literal>() {
        Some(literal) if literal.value().is_null() => return None,
        Some(_) => true,
        None => {
            argument.downcast_ref::<Column>()?;
            false
        }
    };
    Some(Function::Distinct { column: column.to_owned(), with_null })
}

/// Whether arrays count values for these functions. The counts of several parts cannot be added up,
/// because the parts may have the same values. Each column is a query of its own, and each of these
/// queries would evaluate the condition and the ranges again.
pub(super) fn are_computed(functions: &[Function], scan: &Scan) -> bool {
    let columns = Function::distinct_columns(functions);
    if columns.is_empty() {
        return true;
    }
    if scan.is_sorted || !scan.is_one_query() {
        return false;
    }
    let has_others = functions.iter().any(|function| !matches!(function, Function::Distinct { .. }));
    let queries = columns.len() + usize::from(has_others);
    let reads_all = scan.summary.condition.is_empty() && scan.summary.ranges.is_empty();
    queries == 1 || reads_all
}

/// The number of different values of a column.
#[derive(Clone, Debug)]
pub(super) struct DistinctValues {
    column: String,
    /// The number of values, null among them.
    count: usize,
    has_null: bool,
}

impl DistinctValues {
    /// Counts the values of each column that a function counts. `None` if memory is too small.
    pub(super) async fn find(
        functions: &[Function],
        scan: &Scan,
        memory: &Arc<MemoryReservation>,
    ) -> Result<Option<Vec<Self>>> {
        let mut all = Vec::new();
        for column in Function::distinct_columns(functions) {
            let key = column.to_owned();
            let ask = move |part: Read| {
                let groups = part.group_by([key.clone()]).aggregate(Vec::new())?;
                let keys = groups.keys();
                let validity = keys.field(&key)?.validity();
                let has_null = validity.is_some_and(|validity| validity.contains(&0));
                Ok(Self { column: key.clone(), count: keys.len(), has_null })
            };
            let Some(mut found) = run_on_parts(scan, memory, ask).await? else { return Ok(None) };
            // Parts may have the same values.
            let (Some(only), true) = (found.pop(), found.is_empty()) else { return Ok(None) };
            all.push(only);
        }
        Ok(Some(all))
    }

    /// The result of a function, if it counts values.
    pub(super) fn count(all: &[Self], function: &Function) -> Option<AggregateNumber> {
        let Function::Distinct { column, with_null } = function else { return None };
        let values = all.iter().find(|values| values.column == *column)?;
        let nulls = usize::from(values.has_null && !with_null);
        Some(AggregateNumber::Integer(i128::try_from(values.count.checked_sub(nulls)?).ok()))
    }
}
