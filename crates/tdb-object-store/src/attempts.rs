//! Counts the attempts of requests that failed and are made again.
//!
//! Clients of stores repeat requests that a server refuses for the moment or whose connection
//! breaks, and say nothing about it. So every client gets a service that sees each attempt. Who
//! asked is known from the task that waits: the tally of an opened array is in scope while its
//! requests are answered.

use std::sync::Arc;

use tdb_storage::Tally;

tokio::task_local! {
    /// The counter of the attempts of the current task.
    static TALLY: Arc<dyn Tally>;
}

/// Waits for a future; attempts of its requests that fail are reported to the tally, if there is
/// one.
pub(crate) async fn reported<T>(tally: Option<Arc<dyn Tally>>, future: impl Future<Output = T>) -> T {
    match tally {
        Some(tally) => TALLY.scope(tally, future).await,
        None => future.await,
    }
}

/// The tally that is in scope.
#[cfg(any(feature = "aws", feature = "azure", feature = "gcp", feature = "http"))]
pub(crate) fn current() -> Option<Arc<dyn Tally>> {
    TALLY.try_with(Arc::clone).ok()
}
