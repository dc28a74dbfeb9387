//! SQL over TileDB arrays on several machines, with Apache Ballista.
//!
//! A cluster has one [`Scheduler`] and any number of [`Executor`]s; a [`Cluster`] is how a client
//! sees it. The command `tdb` has all three: `tdb cluster scheduler`, `tdb cluster executor`, and
//! `tdb sql --cluster HOST:PORT`.
//!
//! ```text
//! client      a query in SQL ──► a logical plan, in which each array is a location, a time, and the names of its files
//! scheduler   the logical plan ──► stages of tasks; each task has some partitions of a scan
//! executors   a task ──► the partitions' cells, read from the storage, and what the plan does with them
//! ```
//!
//! # One state
//!
//! The client opens each array that a query names once. What it sends are the files that it found
//! ([`Codec`]), so the scheduler, all executors and all attempts read the same state of the array,
//! whatever is written in the meantime. If a vacuum removes one of these files, the query fails.
//!
//! # Keys and credentials
//!
//! A plan contains neither. Each process has its own: its
//! [`TdbTableFactory`](tdb_datafusion::TdbTableFactory) finds the storages and has the key of
//! encrypted arrays. A location that contains a secret is refused.
//!
//! There is no authentication in Ballista: whoever can reach a scheduler or an executor can read
//! what these can read. Both listen on the loopback interface unless they are told otherwise; use a
//! private network.
//!
//! # Executors that are lost
//!
//! An executor that is lost costs time, not the answer. Ballista 55 would run the lost part of a
//! query again, and can then count rows twice. Here all queries of which the executor had a part
//! fail on the scheduler, and the client runs them again from the beginning, up to five times.
//! Results of up to 128 MiB are passed on only when they are complete; of a larger result, rows may
//! have been passed on when an executor is lost, and the query then fails
//! ([`ClusterError::RowsLost`]).
//!
//! Nothing waits for ever: a process that is gone is noticed within two seconds, one that says
//! nothing after [`TIMEOUT`], a scheduler that does not answer after a minute, and a query of which
//! nothing runs after 30 seconds. A query without any executor fails after a minute
//! ([`ClusterError::NoExecutors`]).
//!
//! # Limits
//!
//! A cluster reads arrays: it does not write, and it has no other tables. Aggregates are not
//! answered from the statistics of tiles, and filters that a join or a sort makes while it runs do
//! not leave out tiles.
#![forbid(unsafe_code)]

mod client;
mod codec;
mod error;
mod executor;
mod gate;
mod message;
mod net;
mod scan;
mod scheduler;
mod session;
mod thresholds;
mod watch;

use core::time::Duration;

pub use self::client::Cluster;
pub use self::codec::Codec;
pub use self::error::ClusterError;
pub use self::executor::Executor;
pub use self::scheduler::Scheduler;

/// How often an executor says that it is there, even if all its threads are busy.
pub const HEARTBEAT: Duration = Duration::from_secs(5);
/// The default time after which an executor that says nothing is lost.
pub const TIMEOUT: Duration = Duration::from_secs(15);
/// The default number of partitions of a scan, and of the rows between stages: more than the
/// threads of a small cluster, so that none waits long for another.
pub const PARTITIONS: usize = 16;
