//! What can go wrong with a cluster.

use core::error::Error;

use tdb_datafusion::datafusion::error::DataFusionError;

/// A query that a cluster did not answer. It is the source of a [`DataFusionError::External`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ClusterError {
    /// There is no scheduler at the address.
    #[error(
        "no scheduler of a cluster answers at {address}: start one with tdb cluster scheduler ({reason})"
    )]
    NoScheduler {
        /// The host and the port.
        address: String,
        /// Why there is no answer.
        reason: String,
    },
    /// Executors were lost each time the query ran.
    #[error("executors were lost in each of {attempts} attempts to run the query; the last one: {reason}")]
    ExecutorsLost {
        /// How often the query ran.
        attempts: u32,
        /// What the scheduler or an executor said.
        reason: String,
    },
    /// An executor was lost when so many rows of the result had been passed on that the query could not run again.
    #[error("an executor was lost after {rows} rows of the result: run the query again ({reason})")]
    RowsLost {
        /// The number of rows that were passed on.
        rows: u64,
        /// What the client saw.
        reason: String,
    },
}

/// An error of another library.
pub(crate) fn external(error: impl Error + Send + Sync + 'static) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}
