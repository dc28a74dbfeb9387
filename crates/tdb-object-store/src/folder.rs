//! A folder of an object store: the client, the paths of its files, and the limits of requests.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use object_store::ObjectStore;
use object_store::list::PaginatedListStore;
use object_store::path::Path;
use tdb_storage::FetchHints;
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::error::io_error;
use crate::uploads::Uploads;
use crate::web::Web;

/// Default number of simultaneous requests of one call.
pub const REQUESTS: usize = 64;

/// Maximum number of simultaneous requests of a process for parts of arrays, for all its blocking
/// queries together. Each [`AwaitedStorage`](crate::AwaitedStorage) may make as many for itself.
pub const PROCESS_REQUESTS: usize = 128;

/// Permits of the blocking callers. They run on a runtime that never stops, so each of them comes
/// back.
static AT_ONCE: Semaphore = Semaphore::const_new(PROCESS_REQUESTS);

/// The client of a store.
pub(crate) struct Client {
    pub(crate) store: Arc<dyn ObjectStore>,
    /// The same client, where the store can be asked for the names that begin in a given way.
    pub(crate) pages: Option<Arc<dyn PaginatedListStore>>,
}

/// A folder of an object store, with what is known about its files.
pub(crate) struct Folder {
    pub(crate) store: Arc<dyn ObjectStore>,
    pub(crate) pages: Option<Arc<dyn PaginatedListStore>>,
    /// The client for what is large and is put.
    pub(crate) uploads: Uploads,
    /// The folder's path in the store; empty for the whole store.
    pub(crate) root: String,
    /// How the folder is displayed: without credentials.
    pub(crate) shown: String,
    pub(crate) hints: FetchHints,
    pub(crate) requests: usize,
    /// Permits of asynchronous callers, whose runtime may stop running, or stop for a while: nobody
    /// else waits for these.
    pub(crate) own_permits: Option<Semaphore>,
    /// Sizes from a listing of everything.
    pub(crate) sizes: Mutex<HashMap<String, u64>>,
    /// Whether there are too many objects to list all at once.
    pub(crate) is_large: AtomicBool,
    /// State for a folder on a web server.
    pub(crate) web: Option<Web>,
}

impl Folder {
    pub(crate) fn new(client: Client, root: String, shown: String) -> Self {
        Self {
            store: client.store,
            pages: client.pages,
            uploads: Uploads::default(),
            root,
            shown,
            hints: FetchHints::OBJECT_STORE,
            requests: REQUESTS,
            own_permits: None,
            sizes: Mutex::default(),
            is_large: AtomicBool::default(),
            web: None,
        }
    }

    /// The same folder with other settings.
    pub(crate) fn changed(&self, change: impl FnOnce(&mut Self)) -> Arc<Self> {
        let Self { store, root, shown, hints, requests, .. } = self;
        let mut inner = Self {
            store: store.clone(),
            pages: self.pages.clone(),
            uploads: self.uploads.clone(),
            root: root.clone(),
            shown: shown.clone(),
            hints: *hints,
            requests: *requests,
            own_permits: self.own_permits.as_ref().map(|_| Semaphore::new(PROCESS_REQUESTS)),
            sizes: Mutex::default(),
            is_large: AtomicBool::default(),
            web: self.web.as_ref().map(Web::anew),
        };
        change(&mut inner);
        Arc::new(inner)
    }

    /// How a key is displayed to users.
    pub(crate) fn describe(&self, key: &str) -> String {
        if key.is_empty() { self.shown.clone() } else { format!("{}/{key}", self.shown) }
    }

    /// The path of a key in the store, unchanged: characters are not encoded.
    pub(crate) fn path(&self, key: &str) -> io::Result<Path> {
        let path = match (self.root.is_empty(), key.is_empty()) {
            (true, _) => key.to_owned(),
            (false, true) => self.root.clone(),
            (false, false) => format!("{}/{key}", self.root),
        };
        Path::parse(path).map_err(|error| io_error(error.into()))
    }

    pub(crate) fn known_size(&self, key: &str) -> Option<u64> {
        self.sizes.lock().unwrap_or_else(PoisonError::into_inner).get(key).copied()
    }

    /// Waits until another request may be made.
    pub(crate) async fn permit(&self) -> io::Result<SemaphorePermit<'_>> {
        // The semaphores are never closed.
        self.own_permits.as_ref().unwrap_or(&AT_ONCE).acquire().await.map_err(io::Error::other)
    }
}
