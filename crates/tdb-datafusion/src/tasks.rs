//! Work on threads that may block.

use datafusion::common::DataFusionError;
use datafusion::common::runtime::SpawnedTask;

use crate::Result;

/// Runs what reads listings and metadata where blocking is allowed.
pub(crate) async fn blocking<T: Send + 'static>(
    open: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    let opened = SpawnedTask::spawn_blocking(open).await;
    opened.map_err(|error| DataFusionError::External(Box::new(error)))?
}
