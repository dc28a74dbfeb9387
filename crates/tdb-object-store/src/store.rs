//! A folder of an object store as a storage.

use core::fmt;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt, PutMode, UpdateVersion};
use tdb_storage::{
    ByteRange, Durability, Entry, FetchHints, FileVersion, FileWriter, Reply, Request, Storage, StorageLock,
    StoredFile, Tally, WriteStorage, range_from,
};

use crate::attempts::reported;
use crate::error::io_error;
use crate::folder::{Client, Folder};
use crate::lease;
use crate::requests::each;
use crate::runtime::wait;
use crate::uploads::Uploads;
use crate::version::{file_version, update};
use crate::web::Web;
use crate::writer::ObjectWriter;

/// A folder of an object store, for reading and writing arrays.
///
/// Calls wait for their answers on the crate's own runtime, so they may be made from any thread.
/// Clones share what is known about the store.
///
/// ```
/// use std::sync::Arc;
/// use object_store::memory::InMemory;
/// use tdb_array::schema::ArraySchema;
/// use tdb_array::storage::{Durability, Storage, WriteStorage};
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
    pub(crate) inner: Arc<Folder>,
    /// Who counts the requests that are repeated.
    tally: Option<Arc<dyn Tally>>,
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
        Self::of(Arc::new(Folder::new(client, root, shown)))
    }

    const fn of(inner: Arc<Folder>) -> Self {
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
