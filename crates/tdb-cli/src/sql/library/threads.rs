//! The threads of a query, and how a program waits for them.

use core::num::NonZeroU16;
use core::time::Duration;
use std::io;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};

use tokio::runtime::Runtime;

use super::failures::{SqlError, SqlErrorKind};
use crate::sql::runner::runtime;

/// The time between two looks while a query runs.
const INTERVAL: Duration = Duration::from_millis(20);

/// What a program looks at while a query runs. An error ends the query.
pub type Look<'a> = &'a dyn Fn() -> io::Result<()>;

/// The threads of a query. Each query has its own, so that a process that was forked has them, too.
pub(super) struct Threads(Option<Runtime>);

impl Threads {
    pub(super) fn new(threads: Option<NonZeroU16>) -> Result<Self, SqlError> {
        Ok(Self(Some(runtime(threads)?)))
    }

    /// Waits for work, and looks around meanwhile.
    pub(super) fn wait<T: Send + 'static>(
        &self,
        look: Look<'_>,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, SqlError> {
        let Some(runtime) = &self.0 else { return Err(SqlError::fault("the threads of a query are gone")) };
        let (sender, receiver) = sync_channel(1);
        let task = runtime.spawn(async move {
            // Nobody waits any more if it was interrupted.
            let _ = sender.send(work.await);
        });
        loop {
            match receiver.recv_timeout(INTERVAL) {
                Ok(done) => return Ok(done),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(SqlError::fault("a thread of a query panicked"));
                }
            }
            if let Err(error) = look() {
                task.abort();
                let (kind, message) = (SqlErrorKind::Interrupted, error.to_string());
                return Err(SqlError { kind, message, cause: None });
            }
        }
    }
}

impl Drop for Threads {
    /// Does not wait for reads that nobody wants any more: some operators compute for minutes
    /// before they let anything else run.
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}
