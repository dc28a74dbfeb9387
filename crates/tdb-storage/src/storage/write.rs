//! The write half of a storage.

use core::any::Any;
use core::fmt::{self, Debug};
use std::io;
use std::sync::Arc;

use bytes::Bytes;

use super::Storage;

/// Whether what is written must survive a loss of power.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// Files and folders are forced to the medium before a write counts.
    #[default]
    Synced,
    /// The system writes back when it likes: a crash of the machine (not of the process) may lose what was written.
    Buffered,
}

/// Write access to the files of one array.
///
/// The format needs little of a storage, and this asks for no more, so that an object store can answer it: files are
/// written once, front to back, and count from [`FileWriter::finish`] on; nothing is ever changed in place. A write
/// becomes part of the array by one last, empty file, so no call here has to be atomic with another.
///
/// Four calls make files, and promise different things of those who do so at the same time:
///
/// | Call | The file | Of several at once |
/// |---|---|---|
/// | [`Self::create_file`] | may be large; counts when it is finished | nobody does that: names of data files are unique |
/// | [`Self::put_file`] | is there whole or not at all | one makes it, and the others are told |
/// | [`Self::swap_file`] | is the one that was seen, or none | one replaces it, and the others are told |
/// | [`Self::replace_file`] | whatever is there | the last one stays: for whoever holds the lock |
///
/// What a storage cannot do it refuses ([`io::ErrorKind::Unsupported`]); it never does less in silence. The suite in
/// [`testing::conformance`](crate::testing::conformance) checks all that is said here.
///
/// The order of calls is the protocol: data files and their folder are finished and synced before the commit marker is
/// created, and the marker's folder is synced after it. A storage that fails at the n-th call, for any n, leaves the old
/// array or the new one.
pub trait WriteStorage: Storage {
    /// Whether folders have to be made before files are put into them. The default is that they have; where there are none,
    /// writers do not look which are there.
    fn has_folders(&self) -> bool {
        true
    }

    /// Makes a folder and those above it, if they are not there. Stores without folders do nothing.
    ///
    /// # Errors
    /// Whatever the system says.
    fn create_folder(&self, key: &str) -> io::Result<()>;

    /// Begins a new file in a folder that exists. No two writers begin the same file: names of data files are unique. Where
    /// that has to be certain, it is [`Self::put_file`] that makes it so.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`], here or when it is finished, if there was such a file before: that is not overwritten.
    fn create_file(&self, key: &str) -> io::Result<Box<dyn FileWriter + '_>>;

    /// Puts a whole small file in its place, if there is none: whoever looks, also after a crash, sees all of it or nothing, and
    /// of several who put the same file at once, in whatever processes and on whatever machines the storage serves, one does
    /// and the others are refused. For files that count as soon as they are there. The folder is still to be synced.
    ///
    /// After any other error than these two the file may be there all the same, or appear later.
    ///
    /// Where files count once they are finished, and finishing refuses a file that is there, this is [`write_file`].
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`] if there is such a file, which stays as it is; [`io::ErrorKind::Unsupported`] where nobody
    /// can be refused for certain; whatever the system says.
    fn put_file(&self, key: &str, bytes: &[u8], durability: Durability) -> io::Result<()>;

    /// The whole of a small file, and its version, with which [`Self::swap_file`] replaces it.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`]; [`io::ErrorKind::Unsupported`] where files have no versions, which is the default; whatever the
    /// system says.
    fn read_versioned(&self, key: &str) -> io::Result<(Bytes, FileVersion)> {
        Err(io::Error::new(io::ErrorKind::Unsupported, format!("this storage has no version of {key}")))
    }

    /// Puts a whole small file in the place of one of which a version is known, or where there is none (`expected` is `None`), if
    /// nobody did so meanwhile: of several who replace the same version at once, one does and the others are refused. Returns
    /// the version that is there then. Whoever looks, also after a crash, sees all of the old file or all of the new one.
    /// The folder is still to be synced.
    ///
    /// It keeps those apart who use it, and [`Self::put_file`]; [`Self::replace_file`] and [`Self::remove_file`] ask nobody.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`] if there is another version, or a file where none was expected;
    /// [`io::ErrorKind::NotFound`] if there is no file any more: what is there stays as it is. [`io::ErrorKind::Unsupported`] where files
    /// have no versions, which is the default; whatever the system says.
    fn swap_file(
        &self,
        key: &str,
        expected: Option<&FileVersion>,
        bytes: &[u8],
        durability: Durability,
    ) -> io::Result<FileVersion> {
        let _ = (expected, bytes, durability);
        let what = format!("this storage cannot replace {key} on a condition");
        Err(io::Error::new(io::ErrorKind::Unsupported, what))
    }

    /// Puts a whole small file in the place of one that is there: whoever looks, also after a crash, sees all of the old one or
    /// all of the new one. The folder is still to be synced. Only lists of commits are ever replaced, so that fragments come
    /// to count at the moment at which others cease to.
    ///
    /// # Errors
    /// [`io::ErrorKind::Unsupported`] where files cannot be replaced, which is the default; whatever the system says.
    fn replace_file(&self, key: &str, bytes: &[u8], durability: Durability) -> io::Result<()> {
        let _ = (bytes, durability);
        Err(io::Error::new(io::ErrorKind::Unsupported, format!("this storage cannot replace {key}")))
    }

    /// Waits until no other process or thread changes what there is once: the schema in force, and which fragments and
    /// commits replace which. Writers of cells, deletes and metadata never wait, nor do readers.
    ///
    /// A storage without locks returns [`StorageLock::none`]. Then arrays there are evolved and maintained only by callers who
    /// say that nobody else does so (`WriteOptions::without_lock`); the others get an error.
    ///
    /// # Errors
    /// Any I/O error of the storage, other than that it has no locks.
    fn lock(&self) -> io::Result<StorageLock>;

    /// Forces the names in a folder to the medium: files survive a loss of power only after this. For the array's own
    /// folder `""`, its name in the folder above too.
    ///
    /// # Errors
    /// Whatever the system says.
    fn sync_folder(&self, key: &str) -> io::Result<()>;

    /// Removes a file.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`]; whatever the system says.
    fn remove_file(&self, key: &str) -> io::Result<()>;

    /// Removes a folder and everything in it.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`]; whatever the system says.
    fn remove_folder(&self, key: &str) -> io::Result<()>;
}

/// Several users of one storage.
#[deny(clippy::missing_trait_methods)]
impl<S: WriteStorage + ?Sized> WriteStorage for Arc<S> {
    fn has_folders(&self) -> bool {
        (**self).has_folders()
    }

    fn create_folder(&self, key: &str) -> io::Result<()> {
        (**self).create_folder(key)
    }

    fn create_file(&self, key: &str) -> io::Result<Box<dyn FileWriter + '_>> {
        (**self).create_file(key)
    }

    fn put_file(&self, key: &str, bytes: &[u8], durability: Durability) -> io::Result<()> {
        (**self).put_file(key, bytes, durability)
    }

    fn read_versioned(&self, key: &str) -> io::Result<(Bytes, FileVersion)> {
        (**self).read_versioned(key)
    }

    fn swap_file(
        &self,
        key: &str,
        expected: Option<&FileVersion>,
        bytes: &[u8],
        durability: Durability,
    ) -> io::Result<FileVersion> {
        (**self).swap_file(key, expected, bytes, durability)
    }

    fn replace_file(&self, key: &str, bytes: &[u8], durability: Durability) -> io::Result<()> {
        (**self).replace_file(key, bytes, durability)
    }

    fn lock(&self) -> io::Result<StorageLock> {
        (**self).lock()
    }

    fn sync_folder(&self, key: &str) -> io::Result<()> {
        (**self).sync_folder(key)
    }

    fn remove_file(&self, key: &str) -> io::Result<()> {
        (**self).remove_file(key)
    }

    fn remove_folder(&self, key: &str) -> io::Result<()> {
        (**self).remove_folder(key)
    }
}

/// Writes a whole file by beginning, appending to and finishing it.
///
/// # Errors
/// As [`WriteStorage::create_file`] and [`FileWriter::finish`].
pub fn write_file<S: WriteStorage + ?Sized>(
    storage: &S,
    key: &str,
    bytes: &[u8],
    durability: Durability,
) -> io::Result<()> {
    let mut file = storage.create_file(key)?;
    if !bytes.is_empty() {
        file.append(bytes)?;
    }
    file.finish(durability)
}

/// Which of the files that had the same key one after another somebody saw: what the storage tells them apart by.
///
/// Files with different bytes have different versions. Those with the same bytes may have the same, as on S3: who has to
/// notice that a file was replaced and put back again writes something into it that nobody else does.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct FileVersion(Bytes);

impl FileVersion {
    /// A version that a storage knows by these bytes.
    pub fn new(token: impl Into<Bytes>) -> Self {
        Self(token.into())
    }

    /// What the storage made it of.
    #[must_use]
    pub fn token(&self) -> &[u8] {
        &self.0
    }
}

impl Debug for FileVersion {
    /// Without its token, which may be a whole file.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FileVersion({} bytes)", self.0.len())
    }
}

/// What keeps others from evolving or maintaining an array, until it is dropped (or the process ends).
#[must_use = "a lock that is dropped at once protects nothing"]
pub struct StorageLock(Option<Box<dyn Any + Send>>);

impl StorageLock {
    /// Where there are no locks.
    pub const fn none() -> Self {
        Self(None)
    }

    /// One that ends when `guard` is dropped.
    pub fn new(guard: impl Any + Send) -> Self {
        Self(Some(Box::new(guard)))
    }

    /// Whether this keeps nobody away.
    #[must_use]
    pub const fn is_none(&self) -> bool {
        self.0.is_none()
    }
}

impl Debug for StorageLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "StorageLock(held)" } else { "StorageLock(none)" })
    }
}

/// A file that is being written. Dropped before [`Self::finish`], it may be left cut off or not at all.
pub trait FileWriter: Debug + Send {
    /// Appends bytes.
    ///
    /// # Errors
    /// Whatever the system says; the file is of no use then.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Says that nothing more is appended, so that a storage whose answers take long can begin what [`Self::finish`] waits for:
    /// files that are ended together are then on their way at the same time. The file does not count before it is finished.
    /// By default nothing happens.
    fn end(&mut self) {}

    /// Ends the file.
    ///
    /// # Errors
    /// Whatever the system says: what was appended before may be lost then.
    fn finish(self: Box<Self>, durability: Durability) -> io::Result<()>;
}
