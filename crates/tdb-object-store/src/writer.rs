//! An object that is being written: nobody sees it before it is complete.

use core::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use object_store::path::Path;
use object_store::{MultipartUpload, ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload};
use tdb_storage::{Durability, FileWriter, Tally};

use crate::attempts::reported;
use crate::error::{io_error, is_unsupported};
use crate::runtime::{Begun, begin, start, wait};
use crate::uploads::room;

/// Bytes of a part. Stores require at least 5 MiB and at most 10,000 parts: this allows objects of
/// up to 160 GB.
const PART: usize = 16 << 20;

/// How often a put is made again that got no answer.
const REPEATS: usize = 2;

/// An object that is written front to back: with one request if it is small, otherwise in parts.
/// While one part is being sent, the next one is collected.
pub(crate) struct ObjectWriter {
    store: Arc<dyn ObjectStore>,
    path: Path,
    /// The bytes appended since the last part.
    buffered: Vec<u8>,
    upload: Upload,
}

/// An upload in parts, or the final request.
enum Upload {
    /// No request was needed so far.
    None,
    /// A part is being sent.
    Part(Begun<(Parts, io::Result<()>)>),
    /// The rest is being sent.
    Ended(io::Result<Begun<()>>),
}

type Parts = Box<dyn MultipartUpload>;

impl ObjectWriter {
    pub(crate) fn new(store: Arc<dyn ObjectStore>, path: Path) -> Self {
        Self { store, path, buffered: Vec::new(), upload: Upload::None }
    }

    /// The upload in parts, after its last part has arrived; `None` if there is none.
    fn parts(&mut self) -> io::Result<Option<Parts>> {
        match core::mem::replace(&mut self.upload, Upload::None) {
            Upload::None => Ok(None),
            Upload::Part(part) => match part.wait()? {
                (parts, Ok(())) => Ok(Some(parts)),
                (parts, Err(error)) => {
                    abort(parts);
                    Err(error)
                }
            },
            Upload::Ended(_) => Err(io::Error::other("cannot append to an object that was ended")),
        }
    }

    /// Sends the buffered bytes as a part.
    fn put_part(&mut self) -> io::Result<()> {
        let mut parts = match self.parts()? {
            Some(parts) => parts,
            None => {
                let (store, path) = (self.store.clone(), self.path.clone());
                wait(async move {
                    let options = object_store::PutMultipartOptions::default();
                    store.put_multipart_opts(&path, options).await.map_err(io_error)
                })?
            }
        };
        let bytes = core::mem::take(&mut self.buffered);
        let part = begin(async move {
            let put = send(&mut *parts, bytes.into()).await;
            Ok((parts, put))
        });
        self.upload = Upload::Part(part?);
        Ok(())
    }

    /// Sends the rest, and the request that completes the object.
    fn send_end(&mut self) -> io::Result<Begun<()>> {
        let parts = self.parts()?;
        let (store, path) = (self.store.clone(), self.path.clone());
        let bytes = bytes::Bytes::from(core::mem::take(&mut self.buffered));
        match parts {
            Some(parts) => begin(complete(store, path, parts, bytes)),
            None => begin(put(store, path, bytes)),
        }
    }
}

/// Counts the attempts of a request that failed so that nobody knows what they did.
#[derive(Debug, Default)]
struct Failed(AtomicUsize);

impl Failed {
    fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

impl Tally for Failed {
    fn kept(&self, _: usize, _: usize, _: bool) {}

    fn retried(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Puts a small object. Nobody else creates it in the meantime, because names of data files are
/// unique: if an attempt failed without an answer, and the object then exists with our size, that
/// attempt made it.
async fn put(store: Arc<dyn ObjectStore>, path: Path, bytes: bytes::Bytes) -> io::Result<()> {
    use object_store::Error as Store;
    let _room = room(bytes.len()).await?;
    let failed = Arc::new(Failed::default());
    let mut repeats = 0..REPEATS;
    loop {
        let create = store.put_opts(&path, bytes.clone().into(), PutOptions::from(PutMode::Create));
        let error = match reported(Some(failed.clone()), create).await {
            Ok(_) => return Ok(()),
            Err(error) => error,
        };
        match &error {
            error if is_unsupported(error) => {
                absent(&*store, &path).await?;
                let put = store.put_opts(&path, bytes.into(), PutOptions::default()).await;
                return put.map(drop).map_err(io_error);
            }
            Store::AlreadyExists { .. } | Store::Precondition { .. } if failed.count() > 0 => {
                let has_size = |size| u64::try_from(bytes.len()) == Ok(size);
                let is_own = store.head(&path).await.is_ok_and(|found| has_size(found.size));
                return if is_own { Ok(()) } else { Err(io_error(error)) };
            }
            // Clients repeat a put on a condition if the server refused it for the moment, but not
            // if the time was up or the connection broke. Many failed attempts are those of a
            // client that gave up.
            Store::Generic { .. } if (1..=REPEATS).contains(&failed.count()) && repeats.next().is_some() => {}
            _ => return Err(io_error(error)),
        }
    }
}

/// Sends a part.
async fn send(parts: &mut dyn MultipartUpload, bytes: bytes::Bytes) -> io::Result<()> {
    let _room = room(bytes.len()).await?;
    parts.put_part(PutPayload::from(bytes)).await.map_err(io_error)
}

/// Sends the last part, and completes the object.
async fn complete(
    store: Arc<dyn ObjectStore>,
    path: Path,
    mut parts: Parts,
    last: bytes::Bytes,
) -> io::Result<()> {
    let done = async {
        if !last.is_empty() {
            send(&mut *parts, last).await?;
        }
        // An upload in parts cannot have conditions.
        absent(&*store, &path).await?;
        parts.complete().await.map(drop).map_err(io_error)
    };
    let done = done.await;
    if done.is_err() {
        // The first error is the one to return.
        let _ = parts.abort().await;
    }
    done
}

/// Discards the parts of an object: stores charge for them.
fn abort(mut parts: Parts) {
    // If there is no runtime any more, the store's own rules remove the parts.
    let _ = start(async move {
        let _ = parts.abort().await;
    });
}

/// Returns an error if the object exists.
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

    fn end(&mut self) {
        if !matches!(self.upload, Upload::Ended(_)) {
            self.upload = Upload::Ended(self.send_end());
        }
    }

    fn finish(mut self: Box<Self>, _: Durability) -> io::Result<()> {
        self.end();
        match core::mem::replace(&mut self.upload, Upload::None) {
            Upload::Ended(sent) => sent?.wait(),
            Upload::None | Upload::Part(_) => Err(io::Error::other("an object was not ended")),
        }
    }
}

impl Drop for ObjectWriter {
    /// Discards the parts of an object that will not be finished. An object that was ended but not
    /// finished may still be created, so this waits for that request: a removal afterwards does not
    /// come too early.
    fn drop(&mut self) {
        match core::mem::replace(&mut self.upload, Upload::None) {
            Upload::None | Upload::Ended(Err(_)) => {}
            Upload::Ended(Ok(sent)) => drop(sent.wait()),
            Upload::Part(part) => {
                if let Ok((parts, _)) = part.wait() {
                    abort(parts);
                }
            }
        }
    }
}

#[cfg(test)]
#[cfg(feature = "aws")]
mod tests;
