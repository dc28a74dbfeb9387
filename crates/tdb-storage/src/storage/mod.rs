//! Where an array's bytes come from, and go to.

mod ahead;
mod below;
mod local;
mod manifest;
mod memory;
mod opening;
mod places;
mod published;
mod request;
mod write;

use core::fmt::Debug;
use core::ops::Range;
use std::io;
use std::sync::Arc;

use bytes::Bytes;

pub use ahead::{Ahead, Needs};
pub use below::Below;
pub use local::LocalStorage;
pub use local::TEMPORARY;
pub use manifest::{MANIFEST, MANIFEST_BYTES, Manifest, ManifestError, ManifestErrorKind};
pub use memory::MemoryStorage;
pub use places::{LocalPlaces, Places};
pub use published::{OutdatedManifest, Published, error_again};
pub use request::other_answer;
pub use request::{FetchHints, Reply, Request};
pub use write::{Durability, FileVersion, FileWriter, StorageLock, WriteStorage, write_file};

/// A file or folder in a listing.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// Its name, without the folder.
    pub name: String,
    /// Whether it is a folder.
    pub is_folder: bool,
    /// Bytes of a file, where the listing says so.
    pub size: Option<u64>,
}

impl Entry {
    /// A file whose size the listing does not say.
    pub fn file(name: impl Into<String>) -> Self {
        Self { name: name.into(), is_folder: false, size: None }
    }

    /// A folder.
    pub fn folder(name: impl Into<String>) -> Self {
        Self { name: name.into(), is_folder: true, size: None }
    }

    /// A file of so many bytes.
    pub fn sized(name: impl Into<String>, size: u64) -> Self {
        Self { size: Some(size), ..Self::file(name) }
    }
}

/// A range of a file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ByteRange {
    /// The file's key: its path relative to the array, parts separated by `/`.
    pub key: String,
    /// The bytes.
    pub range: Range<u64>,
}

/// Read access to the files of one array. Keys are paths relative to the array, parts separated by `/`; the array's
/// own folder is `""`.
///
/// A storage on the same machine answers each call by itself. One whose requests take long implements [`Self::fetch`], which
/// makes many requests at once, and says so in [`Self::hints`]: tdb then collects what it is going to read, and asks for it
/// together.
pub trait Storage: Debug + Send + Sync {
    /// Names in a folder, in no particular order.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`] if there is no such folder; whatever the system says.
    fn list(&self, folder: &str) -> io::Result<Vec<Entry>>;

    /// The size of a file: whether it is there now. No cache answers this.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`]; any I/O error of the storage.
    fn size(&self, key: &str) -> io::Result<u64> {
        self.read_tail(key, 0).map(|(size, _)| size)
    }

    /// The whole of a small file.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`]; any I/O error of the storage.
    fn read(&self, key: &str) -> io::Result<Bytes> {
        self.read_tail(key, u64::MAX).map(|(_, bytes)| bytes)
    }

    /// The last `most` bytes of a file (or all of it, if it is shorter), and its size.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`]; whatever the system says.
    fn read_tail(&self, key: &str, most: u64) -> io::Result<(u64, Bytes)>;

    /// Fills `out` from `offset` on.
    ///
    /// # Errors
    /// [`io::ErrorKind::UnexpectedEof`] if the file ends before `out` is full.
    fn read_into(&self, key: &str, offset: u64, out: &mut [u8]) -> io::Result<()>;

    /// A file to read small pieces of, where that is cheap; `None` where every read is a request of its own, as
    /// on an object store.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`]; whatever the system says.
    fn open(&self, key: &str) -> io::Result<Option<Box<dyn StoredFile + '_>>> {
        let _ = key;
        Ok(None)
    }

    /// Reads many ranges at once, in the order given.
    ///
    /// # Errors
    /// As [`Self::read_into`], for the first range that fails.
    fn read_ranges(&self, ranges: &[ByteRange]) -> io::Result<Vec<Bytes>>;

    /// Answers many requests, in the order given; one that fails does not keep the others from being answered. The default
    /// makes them one after another.
    fn fetch(&self, requests: &[Request]) -> Vec<io::Result<Reply>> {
        requests.iter().map(|request| request.answer(self)).collect()
    }

    /// How requests are best made, if they take so long that they should be made together. The default is `None`: calls are
    /// cheap, and nothing is read before it is needed.
    fn hints(&self) -> Option<FetchHints> {
        None
    }

    /// How a key is shown to people.
    fn describe(&self, key: &str) -> String;

    /// The same storage, which tells `tally` what it answers from a cache. The default is `None`: it asks the place where its
    /// files are each time.
    fn with_tally(&self, tally: &Arc<dyn Tally>) -> Option<Box<dyn Storage>> {
        let _ = tally;
        None
    }
}

/// Who is told what a storage answers from a cache, without asking the place where its files are.
pub trait Tally: Debug + Send + Sync {
    /// One call: so many of its requests were answered from a cache, with so many bytes. If `whole`, these were all of the call,
    /// and nobody had to wait.
    fn kept(&self, requests: usize, bytes: usize, whole: bool);
}

/// A storage that several openings share.
#[deny(clippy::missing_trait_methods)]
impl<S: Storage + ?Sized> Storage for Arc<S> {
    fn size(&self, key: &str) -> io::Result<u64> {
        (**self).size(key)
    }

    fn read(&self, key: &str) -> io::Result<Bytes> {
        (**self).read(key)
    }

    fn fetch(&self, requests: &[Request]) -> Vec<io::Result<Reply>> {
        (**self).fetch(requests)
    }

    fn hints(&self) -> Option<FetchHints> {
        (**self).hints()
    }

    fn list(&self, folder: &str) -> io::Result<Vec<Entry>> {
        (**self).list(folder)
    }

    fn read_tail(&self, key: &str, most: u64) -> io::Result<(u64, Bytes)> {
        (**self).read_tail(key, most)
    }

    fn read_into(&self, key: &str, offset: u64, out: &mut [u8]) -> io::Result<()> {
        (**self).read_into(key, offset, out)
    }

    fn open(&self, key: &str) -> io::Result<Option<Box<dyn StoredFile + '_>>> {
        (**self).open(key)
    }

    fn read_ranges(&self, ranges: &[ByteRange]) -> io::Result<Vec<Bytes>> {
        (**self).read_ranges(ranges)
    }

    fn describe(&self, key: &str) -> String {
        (**self).describe(key)
    }

    fn with_tally(&self, tally: &Arc<dyn Tally>) -> Option<Box<dyn Storage>> {
        (**self).with_tally(tally)
    }
}

/// An open file, for many small reads.
pub trait StoredFile: Debug {
    /// Fills `out` from `offset` on.
    ///
    /// # Errors
    /// [`io::ErrorKind::UnexpectedEof`] if the file ends before `out` is full.
    fn read_into(&self, offset: u64, out: &mut [u8]) -> io::Result<()>;
}

/// The whole of a file, with its size, so that a reply that was cut short is an error.
///
/// # Errors
/// As [`Storage::read_tail`]; [`io::ErrorKind::UnexpectedEof`] if bytes are missing.
pub fn read_whole<S: Storage + ?Sized>(storage: &S, key: &str) -> io::Result<Bytes> {
    let (size, bytes) = storage.read_tail(key, u64::MAX)?;
    Request::whole(key).checked(Reply::Tail(size, bytes))?.into_tail().map(|(_, bytes)| bytes)
}

/// Length of a range, refused where the address space or the file cannot hold it.
pub fn range_len(range: &Range<u64>, file_size: u64) -> io::Result<usize> {
    if range.end > file_size || range.start > range.end {
        return Err(io::Error::new(
            io::ErrorKind::UnexpectedEof,
            format!("the file has {file_size} bytes, but bytes {} to {} are needed", range.start, range.end),
        ));
    }
    usize::try_from(range.end.saturating_sub(range.start))
        .map_err(|_| io::Error::new(io::ErrorKind::OutOfMemory, "the range does not fit into memory"))
}

/// The range of so many bytes from an offset on, refused where no file is that long: offsets come from files, too.
///
/// # Errors
/// [`io::ErrorKind::UnexpectedEof`].
pub fn range_from(offset: u64, len: usize) -> io::Result<Range<u64>> {
    let end = offset.checked_add(tdb_codec::to_u64(len)).filter(|end| *end <= i64::MAX.unsigned_abs());
    let end = end.ok_or_else(|| {
        let what = format!("no file is so long that {len} bytes are at offset {offset}");
        io::Error::new(io::ErrorKind::UnexpectedEof, what)
    })?;
    Ok(offset..end)
}

/// Joins a folder key and a name.
pub fn join(folder: &str, name: &str) -> String {
    // Plain pushes: this is done for every file of arrays that have many.
    let mut key = String::with_capacity(folder.len().saturating_add(name.len()).saturating_add(1));
    if !folder.is_empty() {
        key.push_str(folder);
        key.push('/');
    }
    key.push_str(name);
    key
}
