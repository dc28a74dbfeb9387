//! `tdb cluster`: the processes that answer SQL together.

#[cfg(feature = "cluster")]
mod processes;

use core::num::NonZeroU16;
use std::io::Write;
use std::path::PathBuf;

use clap::{Args as Group, Subcommand};
use tdb_array::MemoryBudget;

use crate::args::{KeyArgs, parse_threads};
use crate::failure::Result;
use crate::place::Stores;

/// Run a process of a cluster, which answers the queries of tdb sql --cluster.
///
/// A cluster has one scheduler and any number of executors. Builds with the feature cluster have
/// this command.
#[derive(Debug, Group)]
#[command(after_help = "\
Every process finds arrays itself: it needs the options of stores and the key of encrypted arrays, because queries contain neither, \
and local paths must mean the same arrays everywhere. There is no authentication: whoever reaches a process can read what it can \
read. Use a private network.

Examples:
  tdb cluster scheduler --listen 10.0.0.1:50050 --store-option aws_region=eu-west-1
  tdb cluster executor 10.0.0.1:50050 --listen 10.0.0.2 --store-option aws_region=eu-west-1
  tdb sql --cluster 10.0.0.1:50050 \"SELECT city, avg(price) FROM 's3://bucket/trips' GROUP BY city\"")]
pub(crate) struct ClusterArgs {
    #[command(subcommand)]
    process: Process,
}

#[derive(Debug, Subcommand)]
enum Process {
    Scheduler(SchedulerArgs),
    Executor(ExecutorArgs),
}

/// Plan queries, and tell executors what to do.
#[derive(Debug, Group)]
pub(crate) struct SchedulerArgs {
    /// The address and the port to listen on; with port 0, on a free one. The address is printed.
    #[arg(long, value_name = "IP:PORT", default_value = "127.0.0.1:50050")]
    listen: String,
    /// The seconds after which an executor that says nothing is lost. One that works says so every
    /// 5 seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 15, value_parser = clap::value_parser!(u64).range(6..))]
    timeout: u64,
    #[command(flatten)]
    key: KeyArgs,
}

/// Read arrays, and do what the scheduler says with their cells.
#[derive(Debug, Group)]
pub(crate) struct ExecutorArgs {
    /// Where the scheduler listens.
    #[arg(value_name = "HOST:PORT")]
    scheduler: String,
    /// The address to listen on. The scheduler, the other executors and the clients must reach it.
    #[arg(long, value_name = "IP", default_value = "127.0.0.1")]
    listen: String,
    /// The name under which others reach this machine. Default: the address.
    #[arg(long, value_name = "HOST")]
    advertise: Option<String>,
    /// The port to listen on. Default: a free one.
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    port: Option<u16>,
    /// Use at most N threads. Default: as many as the machine has.
    #[arg(long, value_name = "N", value_parser = parse_threads, allow_negative_numbers = true)]
    threads: Option<NonZeroU16>,
    /// Keep the memory of queries below this, e.g. 2GiB or 500MB. Default: 70 percent of the
    /// machine's.
    #[arg(long, value_name = "SIZE")]
    memory: Option<MemoryBudget>,
    /// The folder for temporary files. Default: one in that of the system.
    #[arg(long, value_name = "FOLDER")]
    temporary: Option<PathBuf>,
    #[command(flatten)]
    key: KeyArgs,
}

/// Without the feature, the command is known, and says how to get it.
#[cfg(not(feature = "cluster"))]
pub(crate) fn run(_: &ClusterArgs, _: Stores, _: &mut dyn Write) -> Result {
    Err(crate::failure::Failure::Failed(crate::features::NO_CLUSTER.to_owned()))
}

/// Runs the process until it is told to stop.
#[cfg(feature = "cluster")]
pub(crate) fn run(args: &ClusterArgs, stores: Stores, out: &mut dyn Write) -> Result {
    match &args.process {
        Process::Scheduler(args) => processes::scheduler(args, stores, out),
        Process::Executor(args) => processes::executor(args, stores),
    }
}
