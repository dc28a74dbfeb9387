//! The executor: reads partitions of arrays, and runs the tasks that the scheduler gives it.

use std::sync::Arc;

use ballista_core::config::TaskSchedulingPolicy;
use ballista_core::error::BallistaError;
use ballista_executor::executor_process::{ExecutorProcessConfig, start_executor_process};
use tdb_datafusion::{Result, TdbTableFactory};
use tokio::net::TcpListener;

use crate::codec::Codec;
use crate::net::{connections, session_config};
use crate::thresholds::SCHEDULER_CONNECT_SECONDS;

/// The address on which an executor listens if it is not told otherwise.
const LOOPBACK: &str = "127.0.0.1";

/// An executor.
#[derive(Clone, Debug)]
#[must_use = "an executor does nothing until it serves"]
pub struct Executor {
    factory: TdbTableFactory,
    scheduler: (String, u16),
    listen: String,
    advertised: Option<String>,
    port: Option<u16>,
    threads: usize,
    memory: Option<u64>,
    folder: Option<String>,
}

impl Executor {
    /// An executor of a scheduler, that opens arrays with the storages and the key of a factory. It
    /// listens on the loopback interface on a free port, and uses all threads of the machine.
    pub fn new(factory: TdbTableFactory, host: impl Into<String>, port: u16) -> Self {
        Self {
            factory,
            scheduler: (host.into(), port),
            listen: LOOPBACK.to_owned(),
            advertised: None,
            port: None,
            threads: 0,
            memory: None,
            folder: None,
        }
    }

    /// Listens on the interface with this IP address.
    pub fn listen(mut self, address: impl Into<String>) -> Self {
        self.listen = address.into();
        self
    }

    /// Tells clients and other executors this host name instead of the address it listens on.
    pub fn advertise(mut self, host: impl Into<String>) -> Self {
        self.advertised = Some(host.into());
        self
    }

    /// Listens on this port.
    pub const fn port(mut self, port: u16) -> Self {
        self.port = Some(port);
        self
    }

    /// Runs at most this many partitions at once; 0 for as many as the machine has threads.
    pub const fn threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Keeps the memory of queries below this many bytes.
    pub const fn memory(mut self, bytes: u64) -> Self {
        self.memory = Some(bytes);
        self
    }

    /// Keeps what stages hand on in this folder.
    pub fn folder(mut self, folder: impl Into<String>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    /// Serves until the process is told to stop.
    ///
    /// # Errors
    /// No scheduler at the address, or no port to listen on.
    pub async fn serve(self) -> Result<()> {
        let codec = Arc::new(Codec::new(self.factory));
        let port = match self.port {
            Some(port) => port,
            None => free_port(&self.listen).await?,
        };
        let config = ExecutorProcessConfig {
            external_host: Some(self.advertised.unwrap_or_else(|| self.listen.clone())),
            bind_host: self.listen,
            port,
            // Nobody listens for a scheduler that hands out work.
            grpc_port: port,
            scheduler_host: self.scheduler.0,
            scheduler_port: self.scheduler.1,
            scheduler_connect_timeout_seconds: SCHEDULER_CONNECT_SECONDS,
            vcores: self.threads,
            work_dir: self.folder,
            task_scheduling_policy: TaskSchedulingPolicy::PullStaged,
            memory_pool_size: self.memory,
            override_config_producer: Some(Arc::new(session_config)),
            override_create_grpc_client_endpoint: Some(connections()),
            override_logical_codec: Some(codec.clone()),
            override_physical_codec: Some(codec),
            ..ExecutorProcessConfig::default()
        };
        start_executor_process(Arc::new(config)).await.map_err(BallistaError::into_datafusion)
    }
}

/// A port that is free now.
async fn free_port(address: &str) -> Result<u16> {
    Ok(TcpListener::bind((address, 0)).await?.local_addr()?.port())
}
