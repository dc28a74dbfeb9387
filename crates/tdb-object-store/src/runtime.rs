//! The crate's own runtime, for blocking calls.
//!
//! It is started when it is first needed, by any thread, and lives as long as the process. Callers
//! pass a future and wait for the answer on a channel, so they may be on any thread, including a
//! worker of another runtime: nothing ever runs on the caller's runtime. A forked child process has
//! none of its parent's threads, so it starts its own runtime.

use std::future::Future;
use std::io;
use std::sync::{Mutex, PoisonError, mpsc};

use tokio::runtime::{Builder, Handle, Runtime};

/// Number of threads that make requests. They wait nearly all the time.
const THREADS: usize = 2;

/// A runtime, and the process that started it.
struct Own {
    process: u32,
    runtime: Runtime,
}

static OWN: Mutex<Option<Own>> = Mutex::new(None);

/// The runtime of this process, which the crate's own blocking calls use. Others may run what is
/// asynchronous on it, too.
///
/// # Errors
/// The system gives no threads.
pub fn handle() -> io::Result<Handle> {
    let mut own = OWN.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    if let Some(known) = own.as_ref().filter(|known| known.process == process) {
        return Ok(known.runtime.handle().clone());
    }
    let runtime =
        Builder::new_multi_thread().worker_threads(THREADS).thread_name("tdb store").enable_all().build()?;
    let handle = runtime.handle().clone();
    // Threads of a parent process do not exist here: dropping its runtime would wait for them
    // forever.
    if let Some(inherited) = own.replace(Own { process, runtime }) {
        core::mem::forget(inherited);
    }
    Ok(handle)
}

/// Runs a future on the runtime, and waits for its result.
pub(crate) fn wait<T: Send + 'static>(
    future: impl Future<Output = io::Result<T>> + Send + 'static,
) -> io::Result<T> {
    begin(future)?.wait()
}

/// Begins a future on the runtime; its result can be waited for.
pub(crate) fn begin<T: Send + 'static>(
    future: impl Future<Output = io::Result<T>> + Send + 'static,
) -> io::Result<Begun<T>> {
    let (sender, receiver) = mpsc::sync_channel(1);
    handle()?.spawn(async move {
        // If nobody waits any more, the result is not needed.
        let _ = sender.send(future.await);
    });
    Ok(Begun(receiver))
}

/// The future result of a task on the runtime.
#[derive(Debug)]
pub(crate) struct Begun<T>(mpsc::Receiver<io::Result<T>>);

impl<T> Begun<T> {
    /// Waits for the result.
    pub(crate) fn wait(self) -> io::Result<T> {
        self.0.recv().unwrap_or_else(|_| Err(io::Error::other("a request to the object store panicked")))
    }
}

/// Starts a future on the runtime. It runs until it is done or its handle aborts it.
pub(crate) fn start(
    future: impl Future<Output = ()> + Send + 'static,
) -> io::Result<tokio::task::JoinHandle<()>> {
    Ok(handle()?.spawn(future))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_thread_may_wait_a_worker_of_another_runtime_included() {
        let answer = || wait(async { Ok(tokio::task::spawn(async { 7 }).await.unwrap_or(0)) }).unwrap();
        assert_eq!(answer(), 7);
        let other = Builder::new_current_thread().build().unwrap();
        assert_eq!(other.block_on(async { answer() }), 7);
    }

    #[test]
    fn a_panic_of_a_request_is_an_error_of_the_caller() {
        let error = wait::<()>(async { panic!("a bug") }).unwrap_err();
        assert!(error.to_string().contains("panicked"));
    }
}
