//! Requests to the objects of a folder: sizes, ranges, whole objects, puts.

use core::ops::Range;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use object_store::{GetOptions, ObjectMeta, ObjectStoreExt, PutMode, PutOptions, UpdateVersion};
use tdb_storage::{ByteRange, Reply, Request, error_again};

use crate::error::io_error;
use crate::folder::Folder;
use crate::listing;

/// The maximum length of the end of a file that is requested together with the file's size.
const SMALL: u64 = 1 << 20;

impl Folder {
    /// Answers requests in order, with a limited number at once.
    pub(crate) async fn answers(self: &Arc<Self>, requests: Vec<Request>) -> Vec<io::Result<Reply>> {
        if let Err(error) = self.prepare(&requests).await {
            return each(requests.len(), &error);
        }
        let below = self.all_below(&requests).await.map(Arc::new);
        let answers = stream::iter(requests).map(|request| {
            let (inner, below) = (self.clone(), below.clone());
            async move {
                match (below.as_deref(), &request) {
                    (Some(below), Request::List(folder)) => listing::answer(below, folder),
                    _ => inner.answer(&request).await,
                }
            }
        });
        answers.buffered(self.requests).collect().await
    }

    pub(crate) async fn answer(&self, request: &Request) -> io::Result<Reply> {
        let _permit = self.permit().await?;
        match request {
            Request::List(folder) => self.list(folder).await.map(Reply::Entries),
            Request::Tail(key, max) => {
                self.tail(key, *max).await.map(|(size, bytes)| Reply::Tail(size, bytes))
            }
            Request::Range(range) => self.range(range).await.map(Reply::Bytes),
            _ => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    pub(crate) async fn size(&self, key: &str) -> io::Result<u64> {
        if let Some(manifest) = self.published().await? {
            return manifest.known(key);
        }
        Ok(self.store.head(&self.path(key)?).await.map_err(io_error)?.size)
    }

    async fn tail(&self, key: &str, max: u64) -> io::Result<(u64, Bytes)> {
        if let Some(manifest) = self.published().await? {
            let size = manifest.known(key)?;
            let range = size.saturating_sub(max)..size;
            return Ok((size, self.range(&ByteRange { key: key.to_owned(), range }).await?));
        }
        if max == u64::MAX {
            let (bytes, meta) = self.get(key).await?;
            return Ok((meta.size, bytes));
        }
        // A size from a listing may be out of date, but the response contains the size, too. If no
        // size is known, most files of which so little is requested are not longer than that.
        let first = match self.known_size(key) {
            Some(size) => size.saturating_sub(max)..size,
            None if max <= SMALL => 0..max,
            None => 0..0,
        };
        let found = if first.is_empty() { None } else { Some(self.part(key, first.clone()).await) };
        let (size, bytes) = match found {
            Some(Ok(found)) => found,
            Some(Err(error)) if error.kind() != io::ErrorKind::Other => return Err(error),
            // Empty files, and files that have become shorter, have no bytes in the range.
            None | Some(Err(_)) => (self.size(key).await?, Bytes::new()),
        };
        let wanted = size.saturating_sub(max)..size;
        if first.start == wanted.start && length(&bytes) == wanted.end.saturating_sub(wanted.start) {
            return Ok((size, bytes));
        }
        let bytes = self.range(&ByteRange { key: key.to_owned(), range: wanted }).await?;
        Ok((size, bytes))
    }

    /// The existing bytes of a range of a file, and the size of the file.
    async fn part(&self, key: &str, range: Range<u64>) -> io::Result<(u64, Bytes)> {
        let options = GetOptions { range: Some(range.into()), ..GetOptions::default() };
        let found = self.store.get_opts(&self.path(key)?, options).await.map_err(io_error)?;
        let (size, length_said) = (found.meta.size, found.range.end.saturating_sub(found.range.start));
        let bytes = found.bytes().await.map_err(io_error)?;
        if length(&bytes) == length_said {
            Ok((size, bytes))
        } else {
            Err(io::ErrorKind::UnexpectedEof.into())
        }
    }

    async fn range(&self, ByteRange { key, range }: &ByteRange) -> io::Result<Bytes> {
        if range.is_empty() {
            return Ok(Bytes::new());
        }
        if let Some(web) = &self.web
            && let Some(manifest) = self.published().await?
        {
            return self.published_range(web, &manifest, key, range).await;
        }
        let path = self.path(key)?;
        let bytes = match self.store.get_range(&path, range.clone()).await.map_err(io_error) {
            // Stores reject a range that begins beyond the end in different ways.
            Err(error) if error.kind() == io::ErrorKind::Other => {
                let beyond = self.store.head(&path).await.is_ok_and(|meta| meta.size < range.end);
                return Err(if beyond { io::ErrorKind::UnexpectedEof.into() } else { error });
            }
            read => read?,
        };
        // If a range goes beyond the end, stores return the bytes that exist.
        if length(&bytes) != range.end.saturating_sub(range.start) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(bytes)
    }

    /// A whole object, and its metadata.
    pub(crate) async fn get(&self, key: &str) -> io::Result<(Bytes, ObjectMeta)> {
        let found = self.store.get(&self.path(key)?).await.map_err(io_error)?;
        let meta = found.meta.clone();
        let bytes = found.bytes().await.map_err(io_error)?;
        // A body that ends early is not the whole object.
        if length(&bytes) == meta.size { Ok((bytes, meta)) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }

    /// Puts a whole object; returns its version if the store has versions.
    pub(crate) async fn put(&self, key: &str, bytes: Vec<u8>, mode: PutMode) -> io::Result<UpdateVersion> {
        let (path, updates) = (self.path(key)?, matches!(mode, PutMode::Update(_)));
        let is_large = u64::try_from(bytes.len()).is_ok_and(|len| len > SMALL);
        let (store, _room) = self.uploads.of_put(&self.store, is_large.then_some(bytes.len())).await?;
        match store.put_opts(&path, bytes.into(), PutOptions::from(mode)).await {
            Ok(put) => Ok(put.into()),
            // If the object is gone, some stores report that it is not the expected one.
            Err(error @ object_store::Error::Precondition { .. }) if updates => {
                match self.store.head(&path).await {
                    Err(gone @ object_store::Error::NotFound { .. }) => Err(io_error(gone)),
                    _ => Err(io_error(error)),
                }
            }
            Err(error) => Err(io_error(error)),
        }
    }
}

/// The length of some bytes.
fn length(bytes: &Bytes) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}

/// The same failure for each of many requests.
pub(crate) fn each<T>(count: usize, error: &io::Error) -> Vec<io::Result<T>> {
    (0..count).map(|_| Err(error_again(error))).collect()
}
