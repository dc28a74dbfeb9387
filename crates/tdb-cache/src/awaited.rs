//! A cached storage for asynchronous callers.

use std::io;
use std::sync::Arc;

use tdb_storage::replay::spawned;
use tdb_storage::{AsyncStorage, FetchHints, Fetching, Request, Spawn, Tally};

use crate::cache::Cache;
use crate::front::Front;
use crate::origin::Origin;

/// A cached storage for asynchronous callers, created by
/// [`Cache::over_awaited`](crate::Cache::over_awaited).
#[derive(Debug)]
pub struct CachedAsyncStorage<S> {
    storage: Arc<S>,
    front: Front,
    /// Reads and writes the folder.
    spawner: Option<Arc<dyn Spawn>>,
}

impl<S> CachedAsyncStorage<S> {
    const fn new(storage: Arc<S>, front: Front, spawner: Option<Arc<dyn Spawn>>) -> Self {
        Self { storage, front, spawner }
    }
}

impl<S> Clone for CachedAsyncStorage<S> {
    fn clone(&self) -> Self {
        Self { storage: self.storage.clone(), front: self.front.clone(), spawner: self.spawner.clone() }
    }
}

impl Cache {
    /// The same for asynchronous callers. With `spawner`, the folder is read and written there;
    /// without, while futures are polled.
    pub fn over_awaited<S: AsyncStorage + 'static>(
        &self,
        storage: S,
        origin: Origin,
        spawner: Option<Arc<dyn Spawn>>,
    ) -> CachedAsyncStorage<S> {
        let spawner = spawner.filter(|_| self.has_folder());
        CachedAsyncStorage::new(Arc::new(storage), Front::new(self.clone(), origin), spawner)
    }
}

/// Runs a job where it does not delay other tasks, or directly if there is no spawner.
async fn run<T: Send + 'static>(
    spawner: Option<&Arc<dyn Spawn>>,
    job: impl FnOnce() -> T + Send + 'static,
) -> io::Result<T> {
    match spawner {
        Some(spawner) => spawned(&**spawner, job).await,
        None => Ok(job()),
    }
}

#[deny(clippy::missing_trait_methods)]
impl<S: AsyncStorage + 'static> AsyncStorage for CachedAsyncStorage<S> {
    fn fetch(&self, requests: Vec<Request>) -> Fetching {
        let Self { storage, front, spawner } = self.clone();
        let count = requests.len();
        Box::pin(async move {
            let answered = async {
                let asking = front.clone();
                let asked = run(spawner.as_ref(), move || asking.ask(requests)).await?;
                let misses = asked.misses();
                if misses.is_empty() {
                    return Ok(front.complete(asked, Vec::new()));
                }
                let answers = storage.fetch(misses).await;
                run(spawner.as_ref(), move || front.complete(asked, answers)).await
            };
            answered.await.unwrap_or_else(|error: io::Error| {
                (0..count).map(|_| Err(io::Error::new(error.kind(), error.to_string()))).collect()
            })
        })
    }

    fn hints(&self) -> FetchHints {
        self.storage.hints()
    }

    fn describe(&self, key: &str) -> String {
        self.storage.describe(key)
    }

    fn with_tally(&self, tally: &Arc<dyn Tally>) -> Option<Arc<dyn AsyncStorage>> {
        let (front, spawner) = (self.front.with_tally(tally), self.spawner.clone());
        Some(match self.storage.with_tally(tally) {
            Some(storage) => Arc::new(CachedAsyncStorage::new(Arc::new(storage), front, spawner)),
            None => Arc::new(Self::new(self.storage.clone(), front, spawner)),
        })
    }
}
