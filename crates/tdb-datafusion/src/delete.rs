//! `DELETE FROM … WHERE …`.
//!
//! DataFusion hands a table the filters of a DELETE statement one by one, and leaves out those that
//! it has turned into joins (subqueries) or simplified away (`WHERE false`). A table that trusted
//! it would delete too much. Therefore a rule of the session looks at the statement before
//! DataFusion rewrites it, a table refuses DELETE in a session without that rule, and a DELETE
//! without any filter is always refused.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::Session;
use datafusion::common::runtime::SpawnedTask;
use datafusion::common::{DataFusionError, exec_err, not_impl_err, plan_err};
use datafusion::datasource::sink::{DataSink, DataSinkExec};
use datafusion::execution::{SendableRecordBatchStream, SessionState, TaskContext};
use datafusion::logical_expr::Expr;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan};
use tdb_array::query::QueryCondition;
use tdb_array::storage::WriteStorage;

use crate::Result;
use crate::error::of_array;
use crate::options::TableOptions;
use crate::pushdown::PushedFilters;
use crate::state::{TableState, TableStates};

/// The name of the rule that looks at the statement before DataFusion rewrites it.
pub(crate) const RULE: &str = "tiledb_delete";

/// Plans a DELETE.
pub(crate) fn plan(
    session: &dyn Session,
    filters: &[Expr],
    states: &Arc<TableStates>,
) -> Result<Arc<dyn ExecutionPlan>> {
    let state = states.current();
    let rules = session.as_any().downcast_ref::<SessionState>().map(|state| &state.analyzer().rules);
    if !rules.is_some_and(|rules| rules.iter().any(|rule| rule.name() == RULE)) {
        return plan_err!("DELETE needs a session that was prepared with tdb_datafusion::register");
    }
    let Some((storage, options)) = &states.home else {
        return not_impl_err!("a table over an open array is read-only: open it by its location");
    };
    if options.is_past() {
        return not_impl_err!("a table that shows a part of the history is read-only");
    }
    if state.table.dense {
        return not_impl_err!("DELETE from a dense array (the format deletes cells of sparse arrays only)");
    }
    if filters.is_empty() {
        return plan_err!(
            "DELETE needs a condition that depends on the columns: without one, and with one that is always true or never true, DataFusion \
             asks for the same"
        );
    }
    let pushed = PushedFilters::as_condition(filters, &state.table);
    let nothing = pushed.nothing;
    let condition = Condition::of(pushed, filters, &state);
    if condition.is_none() && !nothing {
        let shown: Vec<_> = filters.iter().map(ToString::to_string).collect();
        return not_impl_err!(
            "DELETE with the condition {}: arrays store comparisons of columns with values, joined by AND, OR and NOT",
            shown.join(" AND ")
        );
    }
    let schema = state.table.schema.clone();
    let (storage, options, states) = (storage.clone(), options.clone(), states.clone());
    let sink = DeleteSink { storage, options, states, state, condition };
    Ok(Arc::new(DataSinkExec::new(Arc::new(EmptyExec::new(schema)), Arc::new(sink), None)))
}

/// Deletes cells when it has received all of its rows, of which there are none.
#[derive(Debug)]
struct DeleteSink {
    storage: Arc<dyn WriteStorage>,
    options: TableOptions,
    states: Arc<TableStates>,
    state: Arc<TableState>,
    /// `None` if no cell can satisfy it.
    condition: Option<Condition>,
}

/// What a DELETE stores.
#[derive(Clone, Debug)]
struct Condition {
    stored: QueryCondition,
    /// A condition that more cells satisfy if there are any with NaN which SQL, where NaN is above
    /// all numbers, may mean as well.
    with_nans: Option<QueryCondition>,
}

impl Condition {
    /// `None` if no condition of the format means what the filters mean in SQL.
    fn of(pushed: PushedFilters, filters: &[Expr], state: &TableState) -> Option<Self> {
        let with_nans = pushed.condition?;
        if pushed.exact {
            return Some(Self { stored: with_nans, with_nans: None });
        }
        let without = PushedFilters::as_condition_without_nans(filters, &state.table);
        let stored = without.condition.filter(|_| without.exact)?;
        Some(Self { stored, with_nans: Some(with_nans) })
    }
}

impl DisplayAs for DeleteSink {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.condition {
            Some(own) => write!(f, "TileDB delete: {}", own.stored),
            None => f.write_str("TileDB delete: nothing"),
        }
    }
}

#[async_trait]
impl DataSink for DeleteSink {
    fn schema(&self) -> &SchemaRef {
        &self.state.table.schema
    }

    async fn write_all(&self, _: SendableRecordBatchStream, _: &Arc<TaskContext>) -> Result<u64> {
        let Some(condition) = self.condition.clone() else { return Ok(0) };
        let (storage, options) = (self.storage.clone(), self.options.clone());
        let states = self.states.clone();
        let deleting = SpawnedTask::spawn_blocking(move || delete(&storage, &options, &states, &condition));
        deleting.await.map_err(|error| DataFusionError::External(Box::new(error)))?
    }
}

/// Deletes the cells of the array as it is now, and returns their number.
fn delete(
    storage: &Arc<dyn WriteStorage>,
    options: &TableOptions,
    states: &TableStates,
    Condition { stored: condition, with_nans }: &Condition,
) -> Result<u64> {
    let array = options.array(storage).map_err(of_array)?;
    let writer = options.write_options().open_storage(storage.clone()).map_err(of_array)?;
    let counts = array.delete_counts(condition).map_err(of_array)?;
    if let Some(with_nans) = with_nans {
        let with = array.delete_counts(with_nans).map_err(of_array)?.satisfying;
        if with != counts.satisfying {
            return exec_err!(
                "nothing was deleted: {} of the rows have NaN in a column with one bound, and SQL orders NaN above all numbers, which \
                 the format does not; a lower and an upper bound leave such rows (AND v <= 'Infinity')",
                with.abs_diff(counts.satisfying)
            );
        }
    }
    let (stored, removed) = match condition.to_stored(&array) {
        Ok(stored) if counts.unknown() == 0 => (stored, counts.removed),
        _ if counts.satisfying == 0 => return Ok(0),
        // The format cannot tell these rows from others, or has no such test.
        _ => array.cells_condition(condition).map_err(|error| {
            DataFusionError::Execution(format!(
                "nothing was deleted: {} rows satisfy the condition, and the format cannot tell them from {} others that are null or NaN \
                 in one of its columns, or older than that column; nor can they be deleted one by one: {error}. `tdb copy --where` writes \
                 the rows that stay to another array",
                counts.satisfying,
                counts.unknown()
            ))
        })?,
    };
    writer.delete(&stored).map_err(of_array)?;
    states.refresh().map_err(|error| {
        error.context(
            "the rows were deleted, but the table still shows them, because it cannot be opened again",
        )
    })?;
    Ok(removed)
}
