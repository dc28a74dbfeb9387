//! Where an array's bytes come from, and go to.

mod below;
mod local;
mod memory;
mod opening;
mod places;
mod write;

use core::fmt::Debug;
use core::ops::Range;
use std::io;
use std::sync::Arc;

use bytes::Bytes;

pub(crate) use below::Below;
pub use local::LocalStorage;
pub(crate) use local::TEMPORARY;
pub use memory::MemoryStorage;
pub use places::{LocalPlaces, Places};
pub use write::{Durability, FileWriter, StorageLock, WriteStorage};

/// A file or folder in a listing.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// Its name, without the folder.
    pub name: String,
    /// Whether it is a folder.
    pub is_folder: bool,
}

/// A range of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ByteRange {
    /// The file's key: its path relative to the array, parts separated by `/`.
    pub key: String,
    /// The bytes.
    pub range: Range<u64>,
}

/// Read access to the files of one array. Keys are paths relative to the array, parts separated by `/`; the array's
/// own folder is `""`.
///
/// The interface is stateless ranged reads in batches, so that an object store answers it with one round of
/// requests, and an asynchronous driver can mirror it.
pub trait Storage: Debug + Send + Sync {
    /// Names in a folder, in no particular order.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`] if there is no such folder; whatever the system says.
    fn list(&self, folder: &str) -> io::Result<Vec<Entry>>;

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

    /// How a key is shown to people.
    fn describe(&self, key: &str) -> String;
}

/// A storage that several openings share.
impl<S: Storage + ?Sized> Storage for Arc<S> {
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
}

/// An open file, for many small reads.
pub trait StoredFile: Debug {
    /// Fills `out` from `offset` on.
    ///
    /// # Errors
    /// [`io::ErrorKind::UnexpectedEof`] if the file ends before `out` is full.
    fn read_into(&self, offset: u64, out: &mut [u8]) -> io::Result<()>;
}

/// Length of a range, refused where the address space or the file cannot hold it.
pub(crate) fn range_len(range: &Range<u64>, file_size: u64) -> io::Result<usize> {
    if range.end > file_size || range.start > range.end {
        return Err(io::Error::new(
            io::ErrorKind::UnexpectedEof,
            format!("the file has {file_size} bytes, but bytes {} to {} are needed", range.start, range.end),
        ));
    }
    usize::try_from(range.end.saturating_sub(range.start))
        .map_err(|_| io::Error::new(io::ErrorKind::OutOfMemory, "the range does not fit into memory"))
}

/// Joins a folder key and a name.
pub(crate) fn join(folder: &str, name: &str) -> String {
    // Plain pushes: this is done for every file of arrays that have many.
    let mut key = String::with_capacity(folder.len().saturating_add(name.len()).saturating_add(1));
    if !folder.is_empty() {
        key.push_str(folder);
        key.push('/');
    }
    key.push_str(name);
    key
}
