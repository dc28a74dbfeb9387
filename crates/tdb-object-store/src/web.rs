//! The state of a folder on a web server.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use object_store::path::Path;
use object_store::{ListResult, ObjectStore};
use tdb_storage::{MANIFEST, Manifest};
use tokio::sync::Mutex;

use crate::error::io_error;

/// How a folder on a web server is read.
pub(crate) struct Web {
    /// Lists folders, if the server can: a store with few retries, because servers that cannot list
    /// answer as if they had failed.
    pub(crate) lister: Arc<dyn ObjectStore>,
    /// The manifest; the inner `None` means that there is none, the outer one that it was not
    /// looked for yet.
    pub(crate) manifest: Mutex<Option<Option<Arc<Manifest>>>>,
    /// Whether the server was seen to send whole files when parts were requested.
    pub(crate) sends_all: AtomicBool,
}

impl Web {
    pub(crate) fn new(lister: Arc<dyn ObjectStore>) -> Self {
        Self { lister, manifest: Mutex::default(), sends_all: AtomicBool::new(false) }
    }

    /// The listing of the server; if it cannot list, an error that explains what to do.
    pub(crate) async fn list(&self, prefix: Option<&Path>) -> io::Result<ListResult> {
        self.lister.list_with_delimiter(prefix).await.map_err(|error| {
            // The error may contain a whole page.
            let error = io_error(error).to_string();
            let error = error.lines().next().unwrap_or_default();
            let what = format!(
                "the server cannot list folders, and there is no {MANIFEST}: publish the array (tdb publish) and put all its files on \
                 the server ({error})"
            );
            io::Error::new(io::ErrorKind::Unsupported, what)
        })
    }

    /// The same server, with nothing known about it yet.
    pub(crate) fn anew(&self) -> Self {
        Self::new(self.lister.clone())
    }
}
