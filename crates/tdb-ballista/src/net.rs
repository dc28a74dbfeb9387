//! Connections that notice when nobody is there any more.

use core::error::Error;
use core::time::Duration;
use std::sync::Arc;

use ballista_core::config::BALLISTA_CLIENT_GRPC_TIMEOUT_SECONDS;
use ballista_core::extension::{EndpointOverrideFn, SessionConfigExt};
use datafusion::prelude::SessionConfig;
use tdb_datafusion::datafusion;
use tonic::transport::Endpoint;

/// How long a connection may take to come about.
const CONNECT: Duration = Duration::from_secs(10);
/// The pause between two questions whether the other side is there.
pub(crate) const PING: Duration = Duration::from_secs(10);
/// How long the other side may take to say so. Ballista's own connections between executors, and
/// those for results, wait for ever.
pub(crate) const ANSWER: Duration = Duration::from_secs(20);

/// How long a scheduler may take to answer, in seconds: it opens the arrays of a query before it
/// says that it has it.
const CALL: usize = 60;

/// The same endpoint, whose connections fail when the other side does not answer.
fn careful(endpoint: Endpoint) -> Result<Endpoint, Box<dyn Error + Send + Sync>> {
    Ok(endpoint
        .connect_timeout(CONNECT)
        .tcp_nodelay(true)
        .http2_keep_alive_interval(PING)
        .keep_alive_timeout(ANSWER)
        .keep_alive_while_idle(true))
}

/// What makes connections careful.
pub(crate) fn connections() -> EndpointOverrideFn {
    Arc::new(careful)
}

/// The same settings, with careful connections.
pub(crate) fn with_connections(config: SessionConfig) -> SessionConfig {
    let config = config.with_ballista_override_create_grpc_client_endpoint(connections());
    config.set_usize(BALLISTA_CLIENT_GRPC_TIMEOUT_SECONDS, CALL)
}

/// The settings of a scheduler or an executor.
pub(crate) fn session_config() -> SessionConfig {
    with_connections(SessionConfig::new_with_ballista())
}
