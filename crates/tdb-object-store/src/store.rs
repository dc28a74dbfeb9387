//! A folder of an object store as a storage.

use core::fmt;
use core::ops::Range;
use std::collections::HashMap;
use std::io;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use object_store::list::PaginatedListStore;
use object_store::path::Path;
use object_store::{GetOptions, ObjectMeta, ObjectStore, ObjectStoreExt, PutMode, PutOptions, UpdateVersion};
use tdb_storage::{
    ByteRange, Durability, Entry, FetchHints, FileVersion, FileWriter, Reply, Request, Storage, StorageLock,
    StoredFile, Tally, WriteStorage, range_from,
};

use tokio::sync::{Semaphore, SemaphorePermit};

use crate::attempts::reported;
use crate::error::io_error;
use crate::published::{Web, each};
use crate::runtime::wait;
use crate::uploads::Uploads;
use crate::url::Client;
use crate::version::{file_version, update};
use crate::writer::ObjectWriter;
use crate::{lease, listing};

/// Default number of simultaneous requests of one call.
pub const REQUESTS: usize = 64;

/// Maximum number of simultaneous requests of a process for parts of arrays, for all its blocking
/// queries together. Each [`AwaitedStorage`](crate::AwaitedStorage) may make as many for itself.
pub const PROCESS_REQUESTS: usize = 128;

/// The maximum length of the end of a file that is requested together with the file's size.
const SMALL: u64 = 1 << 20;

/// Permits of the blocking callers. They run on a runtime that never stops, so each of them comes
/// back.
static AT_ONCE: Semaphore = Semaphore::const_new(PROCESS_REQUESTS);

/// A folder of an object store, for reading and writing arrays.
///
/// Calls wait for their answers on the crate's own runtime, so they may be made from any thread.
/// Clones share what is known about the store.
///
/// ```
/// use std::sync::Arc;
/// use object_store::memory::InMemory;
/// use tdb_array::{ArraySchema, Storage, WriteStorage, Durability};
/// use tdb_object_store::ObjectStorage;
///
/// let storage = ObjectStorage::new(Arc::new(InMemory::new()), "data/array")?;
/// storage.put_file("__meta/x", b"abc", Durability::Synced)?;
/// assert_eq!(storage.list("")?[0].name, "__meta");
/// assert_eq!(&storage.read("__meta/x")?[..], b"abc");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone)]
pub struct ObjectStorage {
    pub(crate) inner: Arc<Inner>,
    /// Who counts the requests that are repeated.
    tally: Option<Arc<dyn Tally>>,
}

pub(crate) struct Inner {
    pub(crate) store: Arc<dyn ObjectStore>,
    pub(crate) pages: Option<Arc<dyn PaginatedListStore>>,
    /// The client for what is large and is put.
    uploads: Uploads,
    /// The folder's path in the store; empty for the whole store.
    root: String,
    /// How the folder is displayed: without credentials.
    shown: String,
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

impl fmt::Debug for ObjectStorage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The store's own description may contain secrets.
        f.debug_struct("ObjectStorage").field("location", &self.inner.shown).finish_non_exhaustive()
    }
}

impl ObjectStorage {
    /// The folder `root` of a store, with parts separated by `/`; empty for the whole store.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidInput`] if the path is not valid in the store.
    pub fn new(store: Arc<dyn ObjectStore>, root: &str) -> io::Result<Self> {
        let root = root.trim_matches('/').to_owned();
        Path::parse(&root).map_err(|error| io_error(error.into()))?;
        Ok(Self::shown_as(Client { store, pages: None }, root.clone(), root))
    }

    pub(crate) fn shown_as(client: Client, root: String, shown: String) -> Self {
        Self::of(Arc::new(Inner {
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
        }))
    }

    const fn of(inner: Arc<Inner>) -> Self {
        Self { inner, tally: None }
    }

    /// The same folder with a client for uploads.
    pub(crate) fn with_uploads(self, uploads: Uploads) -> Self {
        Self::of(self.inner.changed(|inner| inner.uploads = uploads))
    }

    /// The same folder as one on a web server, with `lister` for listings.
    pub(crate) fn on_web(self, lister: Arc<dyn ObjectStore>) -> Self {
        Self::of(self.inner.changed(|inner| inner.web = Some(Web::new(lister))))
    }

    /// The store that contains the folder.
    #[must_use]
    pub fn object_store(&self) -> Arc<dyn ObjectStore> {
        self.inner.store.clone()
    }

    /// Sets the limits for merging and splitting ranges.
    #[must_use]
    pub fn with_hints(self, hints: FetchHints) -> Self {
        Self::of(self.inner.changed(|inner| inner.hints = hints))
    }

    /// Sets the maximum number of simultaneous requests.
    #[must_use]
    pub fn with_requests(self, requests: usize) -> Self {
        Self::of(self.inner.changed(|inner| inner.requests = requests.max(1)))
    }

    /// The path of a file in the store.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidInput`] if the key is not valid in the store.
    pub fn path(&self, key: &str) -> io::Result<Path> {
        self.inner.path(key)
    }

    fn put(&self, key: &str, bytes: &[u8], mode: PutMode) -> io::Result<UpdateVersion> {
        let (inner, key, bytes) = (self.inner.clone(), key.to_owned(), bytes.to_vec());
        wait(async move { inner.put(&key, bytes, mode).await })
    }

    /// Answers one request.
    fn answer(&self, request: Request) -> io::Result<Reply> {
        let inner = self.inner.clone();
        self.reported(async move {
            inner.prepare(core::slice::from_ref(&request)).await?;
            inner.answer(&request).await
        })
    }

    /// Waits for a future whose repeated requests are reported.
    fn reported<T: Send + 'static>(
        &self,
        future: impl Future<Output = io::Result<T>> + Send + 'static,
    ) -> io::Result<T> {
        wait(reported(self.tally.clone(), future))
    }
}

impl Inner {
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

    /// The path of a key in the store, unchanged: characters are not encoded.
    pub(crate) fn path(&self, key: &str) -> io::Result<Path> {
        let path = match (self.root.is_empty(), key.is_empty()) {
            (true, _) => key.to_owned(),
            (false, true) => self.root.clone(),
            (false, false) => format!("{}/{key}", self.root),
        };
        Path::parse(path).map_err(|error| io_error(error.into()))
    }

    fn known_size(&self, key: &str) -> Option<u64> {
        self.sizes.lock().unwrap_or_else(PoisonError::into_inner).get(key).copied()
    }

    /// Waits until another request may be made.
    pub(crate) async fn permit(&self) -> io::Result<SemaphorePermit<'_>> {
        // The semaphores are never closed.
        self.own_permits.as_ref().unwrap_or(&AT_ONCE).acquire().await.map_err(io::Error::other)
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

    async fn size(&self, key: &str) -> io::Result<u64> {
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

#[deny(clippy::missing_trait_methods)]
impl Storage for ObjectStorage {
    fn list(&self, folder: &str) -> io::Result<Vec<Entry>> {
        self.answer(Request::List(folder.to_owned()))?.into_entries()
    }

    fn size(&self, key: &str) -> io::Result<u64> {
        let (inner, key) = (self.inner.clone(), key.to_owned());
        self.reported(async move { inner.size(&key).await })
    }

    fn read(&self, key: &str) -> io::Result<Bytes> {
        self.read_tail(key, u64::MAX).map(|(_, bytes)| bytes)
    }

    fn read_tail(&self, key: &str, max: u64) -> io::Result<(u64, Bytes)> {
        self.answer(Request::Tail(key.to_owned(), max))?.into_tail()
    }

    fn read_into(&self, key: &str, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.answer(Request::range(key, range_from(offset, out.len())?))?.copy_into(out)
    }

    /// Every small read would be a request, so there is no open file.
    fn open(&self, _: &str) -> io::Result<Option<Box<dyn StoredFile + '_>>> {
        Ok(None)
    }

    fn read_ranges(&self, ranges: &[ByteRange]) -> io::Result<Vec<Bytes>> {
        let requests: Vec<Request> = ranges.iter().cloned().map(Request::Range).collect();
        self.fetch(&requests).into_iter().map(|reply| reply?.into_bytes()).collect()
    }

    fn fetch(&self, requests: &[Request]) -> Vec<io::Result<Reply>> {
        let (inner, requests) = (self.inner.clone(), requests.to_vec());
        let count = requests.len();
        let answers = self.reported(async move { Ok(inner.answers(requests).await) });
        answers.unwrap_or_else(|error| each(count, &error))
    }

    fn hints(&self) -> Option<FetchHints> {
        Some(self.inner.hints)
    }

    fn describe(&self, key: &str) -> String {
        self.inner.describe(key)
    }

    fn with_tally(&self, tally: &Arc<dyn Tally>) -> Option<Box<dyn Storage>> {
        Some(Box::new(Self { inner: self.inner.clone(), tally: Some(tally.clone()) }))
    }
}

/// After a crash an object exists either as a whole or not at all, and objects are durable as soon
/// as they exist: folders and syncing have no meaning here.
#[deny(clippy::missing_trait_methods)]
impl WriteStorage for ObjectStorage {
    fn list_named(&self, folder: &str, beginning: &str) -> io::Result<Vec<Entry>> {
        let (inner, folder, beginning) = (self.inner.clone(), folder.to_owned(), beginning.to_owned());
        self.reported(async move { inner.list_named(&folder, &beginning).await })
    }

    fn has_folders(&self) -> bool {
        false
    }

    fn create_folder(&self, _: &str) -> io::Result<()> {
        Ok(())
    }

    fn create_file(&self, key: &str) -> io::Result<Box<dyn FileWriter + '_>> {
        let path = self.inner.path(key)?;
        Ok(Box::new(ObjectWriter::new(self.inner.uploads.client(&self.inner.store)?, path)))
    }

    /// A put on the condition that the object does not exist. Stores without conditional puts
    /// return an error.
    fn put_file(&self, key: &str, bytes: &[u8], _: Durability) -> io::Result<()> {
        self.put(key, bytes, PutMode::Create).map(drop)
    }

    /// The version is the entity tag of an object, together with the version number if the store
    /// has one.
    fn read_versioned(&self, key: &str) -> io::Result<(Bytes, FileVersion)> {
        let (inner, key) = (self.inner.clone(), key.to_owned());
        let (bytes, meta) = wait(async move { inner.get(&key).await })?;
        Ok((bytes, file_version(&UpdateVersion { e_tag: meta.e_tag, version: meta.version })?))
    }

    /// A put on the condition that the object has the given version. Stores without conditional
    /// puts return an error.
    fn swap_file(
        &self,
        key: &str,
        expected: Option<&FileVersion>,
        bytes: &[u8],
        _: Durability,
    ) -> io::Result<FileVersion> {
        let mode = expected.map_or(Ok(PutMode::Create), |version| update(version).map(PutMode::Update))?;
        file_version(&self.put(key, bytes, mode)?)
    }

    fn replace_file(&self, key: &str, bytes: &[u8], _: Durability) -> io::Result<()> {
        self.put(key, bytes, PutMode::Overwrite).map(drop)
    }

    /// A lease: an object that only one process can create, renewed while it is held, and taken
    /// over if its holder is dead. Stores without conditional puts have no lease: there only one
    /// process may evolve or maintain an array at a time.
    fn lock(&self) -> io::Result<StorageLock> {
        lease::take(self.inner.clone())
    }

    fn sync_folder(&self, _: &str) -> io::Result<()> {
        Ok(())
    }

    fn remove_file(&self, key: &str) -> io::Result<()> {
        let (store, path) = (self.inner.store.clone(), self.inner.path(key)?);
        wait(async move {
            // Some stores report success for deleting an object that does not exist.
            store.head(&path).await.map_err(io_error)?;
            store.delete(&path).await.map_err(io_error)
        })
    }

    fn remove_folder(&self, key: &str) -> io::Result<()> {
        let (inner, key) = (self.inner.clone(), key.to_owned());
        wait(async move { inner.remove_folder(&key).await })
    }
}
