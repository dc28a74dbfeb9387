//! Published arrays on web servers: a manifest replaces listings.
//!
//! Web servers return files by name. If there is a manifest, listings and sizes come from it, so
//! that a server needs to answer only plain GET requests: no listings (PROPFIND) and no HEAD. The
//! manifest is read when the array's folder is listed, which happens whenever an array is opened,
//! and kept until the next time. Without a manifest, the server is asked for WebDAV listings.

use core::ops::Range;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::{Bytes, BytesMut};
use futures_util::TryStreamExt;
use object_store::{GetOptions, GetRange, GetResult, ObjectStore, ObjectStoreExt};
use tdb_storage::{MANIFEST, MANIFEST_BYTES, Manifest, ManifestErrorKind, Request};

use crate::error::io_error;
use crate::folder::Folder;
use crate::web::Web;

impl Folder {
    /// Drops the manifest if the array's folder is going to be listed, and reads it again.
    ///
    /// # Errors
    /// Each of the requests fails with this error.
    pub(crate) async fn prepare(&self, requests: &[Request]) -> io::Result<()> {
        let Some(web) = &self.web else { return Ok(()) };
        if requests.iter().any(|request| matches!(request, Request::List(folder) if folder.is_empty())) {
            *web.manifest.lock().await = None;
            self.manifest(web).await?;
        }
        Ok(())
    }

    /// The manifest, if the folder is on a web server and was published.
    pub(crate) async fn published(&self) -> io::Result<Option<Arc<Manifest>>> {
        match &self.web {
            Some(web) => self.manifest(web).await,
            None => Ok(None),
        }
    }

    async fn manifest(&self, web: &Web) -> io::Result<Option<Arc<Manifest>>> {
        let mut known = web.manifest.lock().await;
        if let Some(known) = &*known {
            return Ok(known.clone());
        }
        let read = self.read_manifest().await?.map(Arc::new);
        *known = Some(read.clone());
        Ok(read)
    }

    async fn read_manifest(&self) -> io::Result<Option<Manifest>> {
        let named =
            |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", self.describe(MANIFEST)));
        let found = match self.store.get(&self.path(MANIFEST)?).await.map_err(io_error) {
            // Some servers return "forbidden" for files that do not exist.
            Err(error)
                if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied) =>
            {
                return Ok(None);
            }
            found => found.map_err(named)?,
        };
        if found.meta.size > MANIFEST_BYTES {
            let what = format!("the manifest has {} bytes, more than {MANIFEST_BYTES}", found.meta.size);
            return Err(named(io::Error::new(io::ErrorKind::InvalidData, what)));
        }
        let whole = 0..found.meta.size;
        let bytes = part(found, whole).await.map_err(named)?;
        match Manifest::parse(&bytes) {
            // Some servers return a web page for every request.
            Err(error) if error.kind == ManifestErrorKind::NotAManifest => Ok(None),
            parsed => parsed.map(Some).map_err(|error| named(error.into())),
        }
    }

    /// A range of a published file, with a GET for the range, or taken from the whole file if the
    /// server sends that.
    pub(crate) async fn published_range(
        &self,
        web: &Web,
        manifest: &Manifest,
        key: &str,
        range: &Range<u64>,
    ) -> io::Result<Bytes> {
        let path = self.path(key)?;
        let explained = |error| manifest.explained(key, io_error(error));
        let whole = manifest.size(key).is_some_and(|size| *range == (0..size));
        if !whole && !web.sends_all.load(Ordering::Relaxed) {
            let bounds = Some(GetRange::Bounded(range.clone()));
            match self.store.get_opts(&path, GetOptions { range: bounds, ..GetOptions::default() }).await {
                Ok(found) => {
                    manifest.check_size(key, found.meta.size)?;
                    return part(found, range.clone()).await;
                }
                // It sent the whole file: from now on whole files are requested.
                Err(object_store::Error::NotSupported { .. }) => {
                    web.sends_all.store(true, Ordering::Relaxed);
                }
                Err(error) => return Err(self.shorter(manifest, key, range, explained(error)).await),
            }
        }
        let found = self.store.get(&path).await.map_err(explained)?;
        manifest.check_size(key, found.meta.size)?;
        part(found, range.clone()).await
    }

    /// The error of a range request that failed. Servers reject a range that begins beyond the end
    /// in different ways; the size of the file then shows whether it is still the same file.
    async fn shorter(
        &self,
        manifest: &Manifest,
        key: &str,
        range: &Range<u64>,
        error: io::Error,
    ) -> io::Error {
        if error.kind() != io::ErrorKind::Other || range.start == 0 {
            return error;
        }
        let Ok(path) = self.path(key) else { return error };
        // The body is not read.
        match self.store.get(&path).await {
            Ok(found) => manifest.check_size(key, found.meta.size).err().unwrap_or(error),
            Err(gone) => manifest.explained(key, io_error(gone)),
        }
    }
}

/// The bytes in a range of a file, from a response that contains at least these. What comes before
/// is dropped as it arrives, and the end is not waited for, so no more than the range is ever held.
async fn part(found: GetResult, range: Range<u64>) -> io::Result<Bytes> {
    let ended = || io::Error::new(io::ErrorKind::UnexpectedEof, "the response of the server ended early");
    let wanted = range.end.checked_sub(range.start).ok_or_else(ended)?;
    if found.range.start > range.start || found.range.end < range.end {
        return Err(ended());
    }
    let mut skipped = range.start.saturating_sub(found.range.start);
    let wanted = usize::try_from(wanted).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
    let mut bytes = BytesMut::new();
    let mut answer = found.into_stream();
    while bytes.len() < wanted {
        let mut piece: Bytes = answer.try_next().await.map_err(io_error)?.ok_or_else(ended)?;
        let length = u64::try_from(piece.len()).unwrap_or(u64::MAX);
        if skipped >= length {
            skipped = skipped.saturating_sub(length);
            continue;
        }
        drop(piece.split_to(usize::try_from(skipped).unwrap_or(0)));
        skipped = 0;
        piece.truncate(wanted.saturating_sub(bytes.len()));
        if bytes.is_empty() && piece.len() == wanted {
            return Ok(piece);
        }
        bytes.extend_from_slice(&piece);
    }
    Ok(bytes.freeze())
}
