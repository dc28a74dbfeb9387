//! Requests for callers that await them.

use core::fmt;
use std::io;
use std::sync::Arc;

use object_store::ObjectStore;
use tdb_storage::deferred::{AsyncStorage, Fetching, Spawn};
use tdb_storage::storage::{FetchHints, Request};
use tokio::runtime::Handle;

use crate::store::{Inner, ObjectStorage};

/// A folder of an object store, to read arrays in for callers that await: `OpenOptions::open_async` takes it.
///
/// Requests are made on the caller's own runtime, which has to be one of tokio with its timer and its I/O where the store is a
/// server. Nothing blocks, and no thread is started. Dropping a future drops the requests that are under way.
///
/// The client of a store belongs to the runtime that uses it first: its connections wait for that runtime. So one client must not
/// serve an [`ObjectStorage`], whose requests are made on another runtime, or several runtimes of which one may rest.
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
}

impl fmt::Debug for AwaitedStorage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AwaitedStorage").field("location", &self.inner.describe("")).finish_non_exhaustive()
    }
}

impl AwaitedStorage {
    /// The folder `root` of a store, parts separated by `/`; empty for the whole store.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidInput`] if the path is none of the store's.
    pub fn new(store: Arc<dyn ObjectStore>, root: &str) -> io::Result<Self> {
        ObjectStorage::new(store, root).map(Self::from)
    }

    /// Merges ranges, and cuts them, by these numbers.
    #[must_use]
    pub fn with_hints(self, hints: FetchHints) -> Self {
        Self { inner: self.inner.changed(|inner| inner.hints = hints) }
    }

    /// Makes at most so many requests at once.
    #[must_use]
    pub fn with_requests(self, requests: usize) -> Self {
        Self { inner: self.inner.changed(|inner| inner.requests = requests.max(1)) }
    }
}

/// With the same client: the storage that it was must not be used any more.
impl From<ObjectStorage> for AwaitedStorage {
    fn from(storage: ObjectStorage) -> Self {
        Self { inner: storage.inner }
    }
}

impl AsyncStorage for AwaitedStorage {
    fn fetch(&self, requests: Vec<Request>) -> Fetching {
        let inner = self.inner.clone();
        Box::pin(async move { inner.answers(requests).await })
    }

    fn hints(&self) -> FetchHints {
        self.inner.hints
    }

    fn describe(&self, key: &str) -> String {
        self.inner.describe(key)
    }
}

/// Runs what blocks on the threads that tokio has for it.
#[derive(Debug)]
pub(crate) struct BlockingThreads;

impl Spawn for BlockingThreads {
    fn spawn(&self, job: Box<dyn FnOnce() + Send>) {
        match Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn_blocking(job)),
            // No runtime: nobody else waits here.
            Err(_) => job(),
        }
    }
}
