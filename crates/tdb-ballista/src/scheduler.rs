//! The scheduler: plans queries, and tells executors what to do.

use core::time::Duration;
use std::sync::Arc;

use ballista_core::error::BallistaError;
use ballista_core::extension::{
    SessionConfigExt, ballista_aggregate_functions, ballista_scalar_functions, ballista_window_functions,
};
use ballista_core::optimizer::ballista_default_optimizer_rules;
use ballista_scheduler::cluster::BallistaCluster;
use ballista_scheduler::config::SchedulerConfig;
use ballista_scheduler::scheduler_process::{create_scheduler, start_grpc_service_with_listener};
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::execution::{SessionState, SessionStateBuilder};
use datafusion::prelude::SessionConfig;
use datafusion_proto::protobuf::{LogicalPlanNode, PhysicalPlanNode};
use tdb_datafusion::datafusion;
use tdb_datafusion::{Result, TdbTableFactory};
use tokio::net::TcpListener;

use crate::client::Cluster;
use crate::codec::Codec;
use crate::error::external;
use crate::scan::RemoteScans;
use crate::watch::watched;

/// How often a task may fail for reasons that may pass, such as a store that does not answer.
const TASK_FAILURES: usize = 4;
/// A stage that failed never begins again: the client runs the whole query again. See the module `watch`.
const STAGE_FAILURES: usize = 1;
/// The seconds between two looks for executors that are gone.
const LOOK_SECONDS: u64 = 1;

/// A scheduler.
#[derive(Clone, Debug)]
#[must_use = "a scheduler does nothing until it serves"]
pub struct Scheduler {
    factory: TdbTableFactory,
    timeout: Duration,
}

impl Scheduler {
    /// A scheduler that opens arrays with the storages and the key of a factory, and calls an executor lost when it has not
    /// heard of it for [`TIMEOUT`](crate::TIMEOUT).
    pub const fn new(factory: TdbTableFactory) -> Self {
        Self { factory, timeout: crate::TIMEOUT }
    }

    /// The time after which an executor that says nothing is lost. It must be longer than
    /// [`HEARTBEAT`](crate::HEARTBEAT).
    pub const fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Serves until the task is dropped.
    ///
    /// # Errors
    /// A timeout that is too short; a listener that fails.
    pub async fn serve(self, listener: TcpListener) -> Result<()> {
        let address = listener.local_addr()?;
        let itself = Cluster::new(address.to_string());
        let codec = Arc::new(Codec::new(self.factory));
        let seconds = self.timeout.as_secs();
        let config = SchedulerConfig {
            bind_host: address.ip().to_string(),
            bind_port: address.port(),
            external_host: address.ip().to_string(),
            executor_timeout_seconds: seconds,
            expire_dead_executor_interval_seconds: LOOK_SECONDS,
            no_executors_grace_period_seconds: seconds,
            task_max_failures: TASK_FAILURES,
            stage_max_failures: STAGE_FAILURES,
            override_session_builder: Some(Arc::new(session)),
            override_config_producer: Some(Arc::new(SessionConfig::new_with_ballista)),
            override_logical_codec: Some(codec.clone()),
            override_physical_codec: Some(codec),
            ..SchedulerConfig::default()
        };
        config.validate().map_err(BallistaError::into_datafusion)?;
        let cluster =
            BallistaCluster::new_from_config(&config).await.map_err(BallistaError::into_datafusion)?;
        let scheduler = create_scheduler::<LogicalPlanNode, PhysicalPlanNode>(
            watched(&cluster, itself),
            Arc::new(config),
        );
        let scheduler = scheduler.await.map_err(BallistaError::into_datafusion)?;
        start_grpc_service_with_listener(listener, scheduler).await.map_err(external)
    }
}

/// A session that plans a query for executors.
pub(crate) fn session(config: SessionConfig) -> Result<SessionState> {
    // What this planner does with the loss of an executor is known; the adaptive one plans stages anew while others run.
    let config = config.with_ballista_adaptive_query_planner(false);
    let state = builder(config).with_runtime_env(Arc::new(RuntimeEnvBuilder::new().build()?));
    Ok(state.with_physical_optimizer_rule(Arc::new(RemoteScans)).build())
}

/// A session with the functions and the rules of clusters.
pub(crate) fn builder(config: SessionConfig) -> SessionStateBuilder {
    SessionStateBuilder::new()
        .with_default_features()
        .with_config(config)
        .with_optimizer_rules(ballista_default_optimizer_rules())
        .with_scalar_functions(ballista_scalar_functions())
        .with_aggregate_functions(ballista_aggregate_functions())
        .with_window_functions(ballista_window_functions())
}
