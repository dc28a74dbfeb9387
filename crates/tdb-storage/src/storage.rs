//! The trait for reading the files of one array.

use core::fmt::Debug;
use core::ops::Range;
use std::io;
use std::sync::Arc;

use bytes::Bytes;

use crate::entry::{ByteRange, Entry};
use crate::request::{FetchHints, Reply, Request};

/// Read access to the files of one array. Keys are paths relative to the array, parts separated by
/// `/`; the array's own folder is `""`.
///
/// A storage on the same machine answers each call separately. One whose requests take long
/// implements [`Self::fetch`], which makes many requests at once, and returns [`Self::hints`]: tdb
/// then collects everything that it will read, and requests it together.
pub trait Storage: Debug + Send + Sync {
    /// Names in a folder, in no particular order.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`] if there is no such folder; any I/O error of the storage.
    fn list(&self, folder: &str) -> io::Result<Vec<Entry>>;

    /// The size of a file, which also tells that it exists now. Caches do not answer this.
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

    /// The last `max` bytes of a file (or all of it, if it is shorter), and its size.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`]; any I/O error of the storage.
    fn read_tail(&self, key: &str, max: u64) -> io::Result<(u64, Bytes)>;

    /// Fills `out` with the bytes from `offset` on.
    ///
    /// # Errors
    /// [`io::ErrorKind::UnexpectedEof`] if the file ends before `out` is full.
    fn read_into(&self, key: &str, offset: u64, out: &mut [u8]) -> io::Result<()>;

    /// A file opened to read small pieces, where that is cheap; `None` where every read is a
    /// separate request, as on an object store.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`]; any I/O error of the storage.
    fn open(&self, key: &str) -> io::Result<Option<Box<dyn StoredFile + '_>>> {
        let _ = key;
        Ok(None)
    }

    /// Reads many ranges at once, in the order given.
    ///
    /// # Errors
    /// As for [`Self::read_into`], for the first range that fails.
    fn read_ranges(&self, ranges: &[ByteRange]) -> io::Result<Vec<Bytes>>;

    /// Answers many requests, in the order given. If one fails, the others are still answered. The
    /// default makes them one after another.
    fn fetch(&self, requests: &[Request]) -> Vec<io::Result<Reply>> {
        requests.iter().map(|request| request.answer(self)).collect()
    }

    /// The best way to group requests, if they take so long that they should be made together. The
    /// default is `None`: calls are cheap, and nothing is read before it is needed.
    fn hints(&self) -> Option<FetchHints> {
        None
    }

    /// The text of a key for users.
    fn describe(&self, key: &str) -> String;

    /// The same storage, but it reports to `tally` what it answers from a cache, and which requests
    /// it repeats. The default is `None`: the storage reads its files each time, once.
    fn with_tally(&self, tally: &Arc<dyn Tally>) -> Option<Box<dyn Storage>> {
        let _ = tally;
        None
    }
}

/// Receives reports of what happened behind the calls to a storage: what it answered from a cache,
/// without reading the files, and which requests it repeated.
pub trait Tally: Debug + Send + Sync {
    /// Reports one call: how many of its requests were answered from a cache, and with how many
    /// bytes. If `whole`, these were all requests of the call, and there was nothing to wait for.
    fn kept(&self, requests: usize, bytes: usize, whole: bool);

    /// Reports that an attempt of a request failed in a way after which the request is made again.
    /// The default ignores it.
    fn retried(&self) {}
}

/// A storage shared by several openings.
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

    fn read_tail(&self, key: &str, max: u64) -> io::Result<(u64, Bytes)> {
        (**self).read_tail(key, max)
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
    /// Fills `out` with the bytes from `offset` on.
    ///
    /// # Errors
    /// [`io::ErrorKind::UnexpectedEof`] if the file ends before `out` is full.
    fn read_into(&self, offset: u64, out: &mut [u8]) -> io::Result<()>;

    /// A hint that much of `range` will be read, in small parts: a file system may begin to read
    /// it. Whether many small parts then take no longer than reading the range at once; for an
    /// empty range, this is all that it says. The default does nothing, and says no.
    fn will_need(&self, range: &Range<u64>) -> bool {
        let _ = range;
        false
    }
}

/// The whole of a file, with its size, so that a reply that was cut short is an error.
///
/// # Errors
/// As for [`Storage::read_tail`]; [`io::ErrorKind::UnexpectedEof`] if bytes are missing.
pub fn read_whole<S: Storage + ?Sized>(storage: &S, key: &str) -> io::Result<Bytes> {
    let (size, bytes) = storage.read_tail(key, u64::MAX)?;
    Request::whole(key).checked(Reply::Tail(size, bytes))?.into_tail().map(|(_, bytes)| bytes)
}

impl Request {
    /// Makes this single request.
    ///
    /// # Errors
    /// Any error of the storage.
    pub fn answer<S: Storage + ?Sized>(&self, storage: &S) -> io::Result<Reply> {
        match self {
            Self::List(folder) => storage.list(folder).map(Reply::Entries),
            Self::Tail(key, max) => {
                storage.read_tail(key, *max).map(|(size, bytes)| Reply::Tail(size, bytes))
            }
            Self::Range(range) => {
                let bytes = storage.read_ranges(core::slice::from_ref(range))?.pop();
                bytes.map(Reply::Bytes).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
            }
        }
    }
}
