//! The scheduler: plans queries, and tells executors what to do.

use core::time::Duration;
use std::sync::Arc;

use ballista_core::config::TaskSchedulingPolicy;
use ballista_core::error::BallistaError;
use ballista_core::serde::protobuf::scheduler_grpc_server::SchedulerGrpcServer;
use ballista_scheduler::cluster::BallistaCluster;
use ballista_scheduler::config::SchedulerConfig;
use ballista_scheduler::scheduler_process::create_scheduler;
use datafusion_proto::protobuf::{LogicalPlanNode, PhysicalPlanNode};
use futures_util::future::{Either, select};
use tdb_datafusion::{Result, TdbTableFactory};
use tokio::net::TcpListener;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;

use crate::client::Cluster;
use crate::codec::Codec;
use crate::error::{ClusterError, external};
use crate::gate::Gate;
use crate::net::session_config;
use crate::session::session;
use crate::thresholds::{MAX_STAGE_FAILURES, MAX_TASK_FAILURES, PING_PAUSE, PING_TIMEOUT, WATCH_SECONDS};
use crate::watch::Watch;

/// A scheduler.
#[derive(Clone, Debug)]
#[must_use = "a scheduler does nothing until it serves"]
pub struct Scheduler {
    factory: TdbTableFactory,
    timeout: Duration,
}

impl Scheduler {
    /// A scheduler that opens arrays with the storages and the key of a factory, and calls an
    /// executor lost when it has not heard of it for [`TIMEOUT`](crate::TIMEOUT).
    pub const fn new(factory: TdbTableFactory) -> Self {
        Self { factory, timeout: crate::TIMEOUT }
    }

    /// The time after which an executor that says nothing is lost. It must be longer than
    /// [`HEARTBEAT`](crate::HEARTBEAT). One whose process has ended is lost at once.
    pub const fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Serves until the task is dropped. Its runtime needs more threads than two: some of
    /// Ballista's locks block the thread of a task that waits for them.
    ///
    /// # Errors
    /// A timeout that is too short; a listener that fails.
    pub async fn serve(self, listener: TcpListener) -> Result<()> {
        if self.timeout <= crate::HEARTBEAT {
            return Err(ClusterError::ShortTimeout { timeout: self.timeout }.into());
        }
        let address = listener.local_addr()?;
        let codec = Arc::new(Codec::new(self.factory));
        let seconds = self.timeout.as_secs();
        let config = SchedulerConfig {
            bind_host: address.ip().to_string(),
            bind_port: address.port(),
            external_host: address.ip().to_string(),
            // Executors ask for work. So what they can do is what they say, and the scheduler never
            // waits for one that is gone. (If it handed out work itself, Ballista 55 would count
            // threads, and lose those of stages that begin again.)
            scheduling_policy: TaskSchedulingPolicy::PullStaged,
            executor_timeout_seconds: seconds,
            expire_dead_executor_interval_seconds: WATCH_SECONDS,
            no_executors_grace_period_seconds: seconds,
            task_max_failures: MAX_TASK_FAILURES,
            stage_max_failures: MAX_STAGE_FAILURES,
            override_session_builder: Some(Arc::new(session)),
            override_config_producer: Some(Arc::new(session_config)),
            override_logical_codec: Some(codec.clone()),
            override_physical_codec: Some(codec),
            ..SchedulerConfig::default()
        };
        config.validate().map_err(BallistaError::into_datafusion)?;
        let (decoded, encoded) =
            (config.grpc_server_max_decoding_message_size, config.grpc_server_max_encoding_message_size);
        let cluster =
            BallistaCluster::new_from_config(&config).await.map_err(BallistaError::into_datafusion)?;
        let watch = Watch::new(&cluster, Cluster::new(address.to_string()));
        let server = create_scheduler::<LogicalPlanNode, PhysicalPlanNode>(watch.cluster(), Arc::new(config));
        let server = server.await.map_err(BallistaError::into_datafusion)?;
        let gate = SchedulerGrpcServer::new(Gate { server: Box::new(server), watch: watch.clone() })
            .max_decoding_message_size(decoded as usize)
            .max_encoding_message_size(encoded as usize);
        let serving = Server::builder()
            .http2_keepalive_interval(Some(PING_PAUSE))
            .http2_keepalive_timeout(Some(PING_TIMEOUT))
            .add_service(gate)
            .serve_with_incoming(TcpIncoming::from(listener).with_nodelay(Some(true)));
        match select(Box::pin(serving), Box::pin(watch.keep())).await {
            Either::Left((served, _)) => served.map_err(external),
            Either::Right((never, _)) => match never {},
        }
    }
}
