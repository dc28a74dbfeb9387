//! Errors of arrays as DataFusion errors.

use datafusion::error::DataFusionError;
use tdb_array::error::QueryError;

/// An error of an array. The original error is in the chain of sources; a memory budget that is too
/// small becomes DataFusion's error for that.
pub(crate) fn of_array(error: tdb_array::Error) -> DataFusionError {
    match error {
        tdb_array::Error::Query(QueryError::BudgetTooSmall { .. } | QueryError::OverBudget { .. }) => {
            DataFusionError::ResourcesExhausted(error.to_string())
        }
        error => DataFusionError::External(Box::new(error)),
    }
}

/// An error of the conversion between an array and Arrow.
pub(crate) fn of_arrow(error: tdb_arrow::Error) -> DataFusionError {
    match error {
        tdb_arrow::Error::Array(error) => of_array(error),
        error => DataFusionError::External(Box::new(error)),
    }
}

/// A fault of tdb: the thing that does not hold, and the line that calls this.
#[track_caller]
#[cold]
pub(crate) fn internal(what: &'static str) -> DataFusionError {
    of_array(tdb_array::Error::internal(what))
}
