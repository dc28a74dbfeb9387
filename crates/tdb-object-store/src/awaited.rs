//! Requests for asynchronous callers.

use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll};
use std::io;
use std::sync::Arc;

use object_store::ObjectStore;
use tdb_storage::replay::{AsyncStorage, Fetching, Spawn};
use tdb_storage::{FetchHints, Request, Tally};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::task::{JoinError, JoinHandle};

use crate::attempts::reported;
use crate::folder::{Folder, PROCESS_REQUESTS};
use crate::requests::each;
use crate::store::ObjectStorage;

/// A folder of an object store, to read arrays asynchronously: the argument of
/// `OpenOptions::open_async`.
///
/// Requests are made on the caller's own runtime. It must be a tokio runtime, with its timer and
/// its I/O enabled if the store is a server. Nothing blocks, and no thread is started. Requests are
/// tasks of that runtime: they go on while nobody polls the future that waits for them, and
/// dropping it cancels them.
///
/// The client of a store belongs to the runtime that uses it first, because its connections are
/// tasks of that runtime. So one client must not also serve an [`ObjectStorage`], whose requests
/// are made on another runtime, nor several runtimes if one of them may stop running.
///
/// ```
/// use std::sync::Arc;
/// use object_store::memory::InMemory;
/// use tdb_object_store::AwaitedStorage;
///
/// let storage = AwaitedStorage::new(Arc::new(InMemory::new()), "data/array")?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone)]
pub struct AwaitedStorage {
    inner: Arc<Folder>,
    /// The counter of the requests that are repeated.
    tally: Option<Arc<dyn Tally>>,
}

impl fmt::Debug for AwaitedStorage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AwaitedStorage").field("location", &self.inner.describe("")).finish_non_exhaustive()
    }
}

impl AwaitedStorage {
    /// The folder `root` of a store, with parts separated by `/`; empty for the whole store.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidInput`] if the path is not valid in the store.
    pub fn new(store: Arc<dyn ObjectStore>, root: &str) -> io::Result<Self> {
        ObjectStorage::new(store, root).map(Self::from)
    }

    /// Sets the limits for merging and splitting ranges.
    #[must_use]
    pub fn with_hints(self, hints: FetchHints) -> Self {
        Self { inner: self.inner.changed(|inner| inner.hints = hints), ..self }
    }

    /// Sets the maximum number of simultaneous requests.
    #[must_use]
    pub fn with_requests(self, requests: usize) -> Self {
        Self { inner: self.inner.changed(|inner| inner.requests = requests.max(1)), ..self }
    }
}

/// Uses the same client: the original storage must not be used any more.
impl From<ObjectStorage> for AwaitedStorage {
    fn from(storage: ObjectStorage) -> Self {
        let own = |inner: &mut Folder| inner.own_permits = Some(Semaphore::new(PROCESS_REQUESTS));
        Self { inner: storage.inner.changed(own), tally: None }
    }
}

impl AsyncStorage for AwaitedStorage {
    fn fetch(&self, requests: Vec<Request>) -> Fetching {
        let (inner, count) = (self.inner.clone(), requests.len());
        let answers = reported(self.tally.clone(), async move { inner.answers(requests).await });
        Box::pin(async move {
            // A caller may leave its future for as long as it likes. Its requests hold permits, for
            // which others wait.
            match Handle::try_current() {
                Ok(runtime) => {
                    let answered = Task(runtime.spawn(answers)).await;
                    answered.unwrap_or_else(|error| each(count, &io::Error::other(error)))
                }
                Err(_) => answers.await,
            }
        })
    }

    fn hints(&self) -> FetchHints {
        self.inner.hints
    }

    fn describe(&self, key: &str) -> String {
        self.inner.describe(key)
    }

    fn with_tally(&self, tally: &Arc<dyn Tally>) -> Option<Arc<dyn AsyncStorage>> {
        Some(Arc::new(Self { inner: self.inner.clone(), tally: Some(tally.clone()) }))
    }
}

/// A task that ends when nobody waits for it any more.
struct Task<T>(JoinHandle<T>);

impl<T> Future for Task<T> {
    type Output = Result<T, JoinError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(context)
    }
}

impl<T> Drop for Task<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Runs blocking jobs on tokio's threads for blocking work.
#[derive(Debug)]
pub(crate) struct BlockingThreads;

impl Spawn for BlockingThreads {
    fn spawn(&self, job: Box<dyn FnOnce() + Send>) {
        match Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn_blocking(job)),
            // No runtime: no other task waits here.
            Err(_) => job(),
        }
    }
}

#[cfg(test)]
mod tests {
    use core::future::poll_fn;
    use core::time::Duration;
    use std::sync::mpsc;
    use std::thread;

    use object_store::memory::InMemory;
    use object_store::throttle::{ThrottleConfig, ThrottledStore};
    use tdb_storage::Storage;
    use tokio::runtime::{Builder, Runtime};
    use tokio::time::timeout;

    use super::*;

    const SOON: Duration = Duration::from_secs(20);

    /// A storage whose requests stay pending for a while.
    fn pending(wait: Duration) -> AwaitedStorage {
        let config = ThrottleConfig { wait_get_per_call: wait, ..ThrottleConfig::default() };
        AwaitedStorage::new(Arc::new(ThrottledStore::new(InMemory::new(), config)), "").unwrap()
    }

    fn requests() -> Vec<Request> {
        vec![Request::whole("a"); crate::REQUESTS]
    }

    /// Begins more requests than may be made at once, and leaves them.
    async fn leave(storage: &AwaitedStorage) -> Vec<Fetching> {
        let mut left: Vec<Fetching> = (0..3).map(|_| storage.fetch(requests())).collect();
        for fetching in &mut left {
            poll_fn(|context| {
                let _ = fetching.as_mut().poll(context);
                Poll::Ready(())
            })
            .await;
        }
        tokio::task::yield_now().await;
        left
    }

    fn runtime() -> Runtime {
        Builder::new_current_thread().enable_time().build().unwrap()
    }

    #[test]
    fn requests_that_are_left_pending_keep_no_other_storage_from_being_read() {
        let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
        let runtime = runtime();
        runtime.block_on(async {
            let _left = leave(&pending(Duration::from_secs(3600))).await;
            let other = AwaitedStorage::new(store.clone(), "").unwrap();
            assert!(timeout(SOON, other.fetch(requests())).await.is_ok());
            let (sender, receiver) = mpsc::channel();
            thread::spawn(move || sender.send(ObjectStorage::new(store, "").unwrap().read("a")));
            let answer = receiver.recv_timeout(SOON).unwrap();
            assert_eq!(answer.unwrap_err().kind(), io::ErrorKind::NotFound);
        });
    }

    #[test]
    fn requests_that_nobody_polls_go_on_and_make_room_for_others_of_their_storage() {
        let storage = pending(Duration::from_millis(20));
        runtime().block_on(async {
            let left = leave(&storage).await;
            assert!(timeout(SOON, storage.fetch(requests())).await.is_ok());
            for fetching in left {
                assert_eq!(timeout(SOON, fetching).await.unwrap().len(), crate::REQUESTS);
            }
        });
    }
}
