//! The executor: reads parts of arrays, and does what the scheduler tells it with them.

use core::time::Duration;
use std::sync::Arc;

use ballista_core::error::BallistaError;
use ballista_core::extension::SessionConfigExt;
use ballista_executor::executor_process::{ExecutorProcessConfig, start_executor_process};
use datafusion::prelude::SessionConfig;
use tdb_datafusion::datafusion;
use tdb_datafusion::{Result, TdbTableFactory};
use tokio::net::TcpListener;

use crate::codec::Codec;

/// How long an executor tries to reach the scheduler.
const CONNECT: Duration = Duration::from_secs(20);
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
    ports: Option<(u16, u16)>,
    threads: usize,
    memory: Option<u64>,
    folder: Option<String>,
}

impl Executor {
    /// An executor of a scheduler, that opens arrays with the storages and the key of a factory. It listens on the loopback
    /// interface on free ports, and uses all threads of the machine.
    pub fn new(factory: TdbTableFactory, host: impl Into<String>, port: u16) -> Self {
        Self {
            factory,
            scheduler: (host.into(), port),
            listen: LOOPBACK.to_owned(),
            advertised: None,
            ports: None,
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

    /// Listens on these ports: one for the scheduler, one for rows.
    pub const fn ports(mut self, scheduler: u16, rows: u16) -> Self {
        self.ports = Some((scheduler, rows));
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
        let (grpc_port, port) = match self.ports {
            Some(ports) => ports,
            None => free_ports(&self.listen).await?,
        };
        let config = ExecutorProcessConfig {
            external_host: Some(self.advertised.unwrap_or_else(|| self.listen.clone())),
            bind_host: self.listen,
            port,
            grpc_port,
            scheduler_host: self.scheduler.0,
            scheduler_port: self.scheduler.1,
            scheduler_connect_timeout_seconds: u16::try_from(CONNECT.as_secs()).unwrap_or(u16::MAX),
            vcores: self.threads,
            work_dir: self.folder,
            executor_heartbeat_interval_seconds: crate::HEARTBEAT.as_secs(),
            memory_pool_size: self.memory,
            override_config_producer: Some(Arc::new(SessionConfig::new_with_ballista)),
            override_logical_codec: Some(codec.clone()),
            override_physical_codec: Some(codec),
            ..ExecutorProcessConfig::default()
        };
        start_executor_process(Arc::new(config)).await.map_err(BallistaError::into_datafusion)
    }
}

/// Two ports that are free now.
async fn free_ports(address: &str) -> Result<(u16, u16)> {
    let one = TcpListener::bind((address, 0)).await?;
    let other = TcpListener::bind((address, 0)).await?;
    Ok((one.local_addr()?.port(), other.local_addr()?.port()))
}
