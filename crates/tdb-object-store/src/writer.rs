//! An object that is being written: nobody sees it before it is whole.

use core::fmt;
use std::io;
use std::sync::Arc;

use object_store::path::Path;
use object_store::{MultipartUpload, ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload};
use tdb_storage::storage::{Durability, FileWriter};

use crate::error::{io_error, is_unsupported};
use crate::runtime::{start, wait};

/// Bytes of a part. Stores want at least 5 MiB, and no more than 10,000 parts: this makes objects of up to 160 GB.
const PART: usize = 16 << 20;

/// An object that is written front to back: at once if it is small, else in parts.
pub(crate) struct ObjectWriter {
    store: Arc<dyn ObjectStore>,
    path: Path,
    /// What was appended since the last part.
    buffered: Vec<u8>,
    upload: Option<Box<dyn MultipartUpload>>,
}

impl ObjectWriter {
    pub(crate) fn new(store: Arc<dyn ObjectStore>, path: Path) -> Self {
        Self { store, path, buffered: Vec::new(), upload: None }
    }

    /// Uploads what is buffered as a part.
    fn put_part(&mut self) -> io::Result<()> {
        let mut upload = match self.upload.take() {
            Some(upload) => upload,
            None => {
                let (store, path) = (self.store.clone(), self.path.clone());
                wait(async move {
                    store
                        .put_multipart_opts(&path, object_store::PutMultipartOptions::default())
                        .await
                        .map_err(io_error)
                })?
            }
        };
        let bytes = core::mem::take(&mut self.buffered);
        let (upload, put) = wait(async move {
            let put = upload.put_part(PutPayload::from(bytes)).await;
            Ok((upload, put))
        })?;
        self.upload = Some(upload);
        put.map_err(io_error)
    }
}

/// Refuses an object that is there.
async fn absent(store: &dyn ObjectStore, path: &Path) -> io::Result<()> {
    match store.head(path).await {
        Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
        Err(object_store::Error::NotFound { .. }) => Ok(()),
        Err(error) => Err(io_error(error)),
    }
}

impl fmt::Debug for ObjectWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ObjectWriter").field("path", &self.path).finish_non_exhaustive()
    }
}

impl FileWriter for ObjectWriter {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let room = PART.saturating_sub(self.buffered.len());
            let (now, later) = rest.split_at(room.min(rest.len()));
            self.buffered.extend_from_slice(now);
            rest = later;
            if self.buffered.len() >= PART {
                self.put_part()?;
            }
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>, _: Durability) -> io::Result<()> {
        if self.upload.is_some() {
            if !self.buffered.is_empty() {
                self.put_part()?;
            }
            let Some(mut upload) = self.upload.take() else { return Ok(()) };
            let (store, path) = (self.store.clone(), self.path.clone());
            let (upload, done) = wait(async move {
                // An upload in parts knows no conditions.
                let done = match absent(&*store, &path).await {
                    Ok(()) => upload.complete().await.map(drop).map_err(io_error),
                    Err(error) => Err(error),
                };
                Ok((upload, done))
            })?;
            if done.is_err() {
                // Aborted when it is dropped.
                self.upload = Some(upload);
            }
            return done;
        }
        let (store, path) = (self.store.clone(), self.path.clone());
        let bytes = bytes::Bytes::from(core::mem::take(&mut self.buffered));
        wait(async move {
            let create = PutOptions::from(PutMode::Create);
            match store.put_opts(&path, bytes.clone().into(), create).await {
                // Nobody else makes it in the meantime: names of files are unique.
                Err(error) if is_unsupported(&error) => {
                    absent(&*store, &path).await?;
                    let put = store.put_opts(&path, bytes.into(), PutOptions::default()).await;
                    put.map(drop).map_err(io_error)
                }
                put => put.map(drop).map_err(io_error),
            }
        })
    }
}

impl Drop for ObjectWriter {
    /// Parts of an object that will not be finished are given up: stores charge for them.
    fn drop(&mut self) {
        if let Some(mut upload) = self.upload.take() {
            // Where there is no runtime any more, the store's own rules remove the parts.
            let _ = start(async move {
                let _ = upload.abort().await;
            });
        }
    }
}
