//! The processes themselves.

use core::num::NonZeroU16;
use core::time::Duration;
use std::io::Write;

use tdb_ballista::{Executor, Scheduler};
use tdb_datafusion::datafusion::error::DataFusionError;
use tdb_datafusion::{TableOptions, TdbTableFactory};
use tokio::net::TcpListener;

use super::{ExecutorArgs, SchedulerArgs};
use crate::args::KeyArgs;
use crate::failure::{Failure, Result};
use crate::place::Stores;
use crate::sql::runner::runtime;
use crate::sql::session::Places;

/// The threads of a scheduler. Some of Ballista's locks block the thread of a task that waits for
/// them: there have to be others on which the task that has the lock goes on.
const THREADS: NonZeroU16 = NonZeroU16::MIN.saturating_add(15);

pub(super) fn scheduler(args: &SchedulerArgs, stores: Stores, out: &mut dyn Write) -> Result {
    let scheduler = Scheduler::new(factory(stores, &args.key)?).timeout(Duration::from_secs(args.timeout));
    runtime(Some(THREADS))?.block_on(async {
        let refused = |error| Failure::Failed(format!("{}: {error}", args.listen));
        let listener = TcpListener::bind(&args.listen).await.map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        writeln!(out, "{address}")?;
        out.flush()?;
        scheduler.serve(listener).await.map_err(failed)
    })
}

pub(super) fn executor(args: &ExecutorArgs, stores: Stores) -> Result {
    let (host, port) = args
        .scheduler
        .rsplit_once(':')
        .and_then(|(host, port)| Some((host, port.parse().ok()?)))
        .ok_or_else(|| Failure::Usage(format!("{}: HOST:PORT is needed", args.scheduler)))?;
    let mut executor = Executor::new(factory(stores, &args.key)?, host, port).listen(args.listen.as_str());
    if let Some(host) = &args.advertise {
        executor = executor.advertise(host.as_str());
    }
    if let Some(port) = args.port {
        executor = executor.port(port);
    }
    if let Some(threads) = args.threads {
        executor = executor.threads(usize::from(threads.get()));
    }
    if let Some(memory) = args.memory {
        executor = executor.memory(memory.bytes());
    }
    if let Some(folder) = &args.temporary {
        let folder = folder.to_str().ok_or_else(|| Failure::at(folder, "the name is not UTF-8"))?;
        executor = executor.folder(folder);
    }
    runtime(None)?.block_on(executor.serve()).map_err(failed)
}

/// Arrays at all places that the process knows, with its key.
fn factory(stores: Stores, key: &KeyArgs) -> Result<TdbTableFactory> {
    let mut options = TableOptions::new();
    if let Some(key) = key.key()? {
        options = options.key(key);
    }
    Ok(TdbTableFactory::new().locate(std::sync::Arc::new(Places(stores))).options(options))
}

fn failed(error: DataFusionError) -> Failure {
    match error {
        DataFusionError::External(error) => Failure::Failed(error.to_string()),
        error => Failure::Failed(error.message().into_owned()),
    }
}
