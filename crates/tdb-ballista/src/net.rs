//! Connections with timeouts, which notice that the other process is gone.

use core::error::Error;
use std::sync::Arc;

use ballista_core::config::BALLISTA_CLIENT_GRPC_TIMEOUT_SECONDS;
use ballista_core::extension::{EndpointOverrideFn, SessionConfigExt};
use datafusion::prelude::SessionConfig;
use tdb_datafusion::datafusion;
use tonic::transport::Endpoint;

use crate::thresholds::{CALL_SECONDS, CONNECT_TIMEOUT, PING_PAUSE, PING_TIMEOUT};

/// The same endpoint, whose connections fail if the other side does not answer.
fn with_timeouts(endpoint: Endpoint) -> Result<Endpoint, Box<dyn Error + Send + Sync>> {
    Ok(endpoint
        .connect_timeout(CONNECT_TIMEOUT)
        .tcp_nodelay(true)
        .http2_keep_alive_interval(PING_PAUSE)
        .keep_alive_timeout(PING_TIMEOUT)
        .keep_alive_while_idle(true))
}

/// The function that gives timeouts to connections.
pub(crate) fn connections() -> EndpointOverrideFn {
    Arc::new(with_timeouts)
}

/// The same settings, for connections with timeouts.
pub(crate) fn with_connections(config: SessionConfig) -> SessionConfig {
    let config = config.with_ballista_override_create_grpc_client_endpoint(connections());
    config.set_usize(BALLISTA_CLIENT_GRPC_TIMEOUT_SECONDS, CALL_SECONDS)
}

/// The settings of a scheduler or an executor.
pub(crate) fn session_config() -> SessionConfig {
    with_connections(SessionConfig::new_with_ballista())
}
