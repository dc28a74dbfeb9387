//! The threads of a session, and how an interrupt ends a query.

use core::pin::Pin;
use std::any::Any;
use std::io;
use std::num::NonZeroU16;
use std::panic::AssertUnwindSafe;
use std::sync::{Mutex, PoisonError};

use futures_util::FutureExt;
use futures_util::future::{Either, select};
use tokio::runtime::{Builder, Runtime};

use super::error::StatementError;
use crate::failure::{Failure, Result};

/// Waits for an interrupt.
type Interrupt = Pin<Box<dyn Future<Output = io::Result<()>> + Send>>;

/// Runs the work of statements.
pub(super) struct Runner {
    /// Always there, except while the session ends.
    queries: Option<Runtime>,
    /// Waits for queries and for interrupts on the caller's thread, whatever the threads of queries
    /// do: some operators (a join without a condition) compute for minutes before they let anything
    /// else run. `None` if an interrupt ends the program.
    waiting: Option<Runtime>,
    threads: Option<NonZeroU16>,
    /// Has waited for an interrupt since the statement began: one that comes between two parts of
    /// its work, while a batch is written, counts as well.
    interrupt: Mutex<Option<Interrupt>>,
}

impl Runner {
    pub(super) fn new(threads: Option<NonZeroU16>) -> Result<Self> {
        let queries = Some(runtime(threads)?);
        Ok(Self { queries, waiting: None, threads, interrupt: Mutex::default() })
    }

    /// From now on, an interrupt ends the work that runs instead of the program.
    pub(super) fn interruptible(mut self) -> Result<Self> {
        self.waiting = Some(Builder::new_current_thread().enable_all().build().map_err(no_threads)?);
        Ok(self)
    }

    /// Waits for a statement. What it computes, it hands to [`Self::run`].
    pub(super) fn block_on<T>(&self, statement: impl Future<Output = T>) -> Result<T> {
        // What came before it was about something else.
        drop(self.take_interrupt());
        match self.waiting.as_ref().or(self.queries.as_ref()) {
            Some(runtime) => Ok(runtime.block_on(statement)),
            None => Err(Failure::internal("a session that has ended runs a statement")),
        }
    }

    /// Waits for work, unless the user interrupts it.
    ///
    /// # Errors
    /// [`StatementError::Interrupted`].
    pub(super) async fn run<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, StatementError> {
        let (Some(_), Some(queries)) = (&self.waiting, &self.queries) else {
            // A library that reads files may panic on one of them.
            let done = AssertUnwindSafe(work).catch_unwind().await;
            return Ok(done.map_err(|panic| Failure::Fault(text_of(panic.as_ref())))?);
        };
        let interrupt = self.take_interrupt().unwrap_or_else(|| Box::pin(tokio::signal::ctrl_c()));
        match select(queries.spawn(work), interrupt).await {
            Either::Left((done, interrupt)) => {
                *self.interrupt.lock().unwrap_or_else(PoisonError::into_inner) = Some(interrupt);
                Ok(done.map_err(|error| Failure::Fault(error.to_string()))?)
            }
            Either::Right((_, task)) => {
                task.abort();
                Err(StatementError::Interrupted)
            }
        }
    }

    fn take_interrupt(&self) -> Option<Interrupt> {
        self.interrupt.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Takes new threads after an interrupt: the old ones end as soon as what they compute lets
    /// them, and the next statement does not wait for that.
    pub(super) fn renew(&mut self) -> Result {
        if let Some(old) = self.queries.replace(runtime(self.threads)?) {
            old.shutdown_background();
        }
        Ok(())
    }
}

impl Drop for Runner {
    /// Does not wait for reads that nobody wants any more.
    fn drop(&mut self) {
        if let Some(queries) = self.queries.take() {
            queries.shutdown_background();
        }
    }
}

/// A runtime with at most some threads.
pub(crate) fn runtime(threads: Option<NonZeroU16>) -> Result<Runtime> {
    let mut builder = Builder::new_multi_thread();
    if let Some(threads) = threads {
        builder.worker_threads(usize::from(threads.get()));
    }
    builder.enable_all().build().map_err(no_threads)
}

/// What a panic says.
fn text_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("it gave up").to_owned()
}

fn no_threads(error: io::Error) -> Failure {
    Failure::Failed(format!("cannot start threads: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_of_a_library_is_an_error_of_the_statement() {
        let runner = Runner::new(None).unwrap();
        let work = async move { panic!("integers of 128 bits") };
        let done: Result<(), _> = runner.block_on(runner.run(work)).unwrap();
        let said = done.err().map(|error| error.failure("").text().to_owned());
        assert!(said.is_some_and(|said| said.contains("integers of 128 bits")));
        assert_eq!(runner.block_on(runner.run(async { 1 })).unwrap().ok(), Some(1));
    }
}
