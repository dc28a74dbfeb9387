//! Requests for asynchronous callers.

use core::fmt;
use std::io;
use std::sync::Arc;

use object_store::ObjectStore;
use tdb_storage::deferred::{AsyncStorage, Fetching, Spawn};
use tdb_storage::storage::{FetchHints, Request, Tally};
use tokio::runtime::Handle;

use crate::attempts::reported;
use crate::store::{Inner, ObjectStorage};

/// A folder of an object store, to read arrays asynchronously: the argument of `OpenOptions::open_async`.
///
/// Requests are made on the caller's own runtime. It must be a tokio runtime, with its timer and its I/O enabled if the
/// store is a server. Nothing blocks, and no thread is started. Dropping a future cancels its requests.
///
/// The client of a store belongs to the runtime that uses it first, because its connections are tasks of that runtime.
/// So one client must not also serve an [`ObjectStorage`], whose requests are made on another runtime, nor several
/// runtimes if one of them may stop running.
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
    inner: Arc<Inner>,
    /// Who counts the requests that are repeated.
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
        Self { inner: storage.inner, tally: None }
    }
}

impl AsyncStorage for AwaitedStorage {
    fn fetch(&self, requests: Vec<Request>) -> Fetching {
        let inner = self.inner.clone();
        Box::pin(reported(self.tally.clone(), async move { inner.answers(requests).await }))
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
