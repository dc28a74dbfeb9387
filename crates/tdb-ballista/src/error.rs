//! Errors of clusters.

use core::error::Error;
use core::time::Duration;

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
    /// There were no executors.
    #[error("the cluster has no executors: start some with tdb cluster executor ({reason})")]
    NoExecutors {
        /// The message of the scheduler.
        reason: String,
    },
    /// A scheduler would call executors lost that only work.
    #[error(
        "an executor that works says so every {:?}: it cannot be called lost after {timeout:?}",
        crate::HEARTBEAT
    )]
    ShortTimeout {
        /// The time after which they were to be lost.
        timeout: Duration,
    },
    /// Executors were lost, or the query came to a stop, each time it ran.
    #[error(
        "executors were lost, or the query stopped, in each of {attempts} attempts to run it; the last one: {reason}"
    )]
    ExecutorsLost {
        /// How often the query ran.
        attempts: u32,
        /// The message of the scheduler or an executor.
        reason: String,
    },
    /// An executor was lost when so many rows of the result had been passed on that the query could
    /// not run again.
    #[error("an executor was lost after {rows} rows of the result: run the query again ({reason})")]
    RowsLost {
        /// The number of rows that were passed on.
        rows: u64,
        /// The error that the client got.
        reason: String,
    },
}

/// How the error of a job begins that has to run again because an executor was lost.
pub(crate) const LOST: &str = "an executor was lost";
/// How the error of a job begins that has to run again because nothing of it runs any more.
pub(crate) const STOPPED: &str = "the query came to a stop";
/// How the error of a job begins that nobody can run.
pub(crate) const NOBODY: &str = "the cluster has no executors";

/// An error of another library.
pub(crate) fn external(error: impl Error + Send + Sync + 'static) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}
