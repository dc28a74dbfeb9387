//! The write half of a storage.

use core::any::Any;
use core::fmt::{self, Debug};
use std::io;
use std::sync::Arc;

use bytes::Bytes;

use crate::{Entry, Storage};

/// Whether what is written must survive a loss of power.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// Files and folders are forced to the medium before a write counts as done.
    #[default]
    Synced,
    /// The system writes to the medium when it likes: a crash of the machine (not of the process)
    /// may lose what was written.
    Buffered,
}

/// Write access to the files of one array.
///
/// The format needs little from a storage, and this trait requires no more, so that an object store
/// can implement it: files are written once, front to back, and are valid from
/// [`FileWriter::finish`] on; nothing is ever changed in place. A write becomes part of the array
/// through one final, empty file, so no call here has to be atomic with another.
///
/// Four calls create files. They differ in what they guarantee when several callers do so at the
/// same time:
///
/// | Call | The file | Several callers at once |
/// |---|---|---|
/// | [`Self::create_file`] | may be large; valid once it is finished | does not happen: names of data files are unique |
/// | [`Self::put_file`] | appears whole or not at all | one creates it, the others get an error |
/// | [`Self::swap_file`] | must be the version that was read, or absent | one replaces it, the others get an error |
/// | [`Self::replace_file`] | is replaced whatever it is | the last one wins: for callers that hold the lock |
///
/// If a storage cannot do something, it returns an error ([`io::ErrorKind::Unsupported`]); it never
/// silently does less. The suite in [`testing::conformance`](crate::testing::conformance) checks
/// all rules stated here.
///
/// The order of calls is the protocol: data files and their folder are finished and synced before
/// the commit marker is created, and the marker's folder is synced after it. If a storage fails at
/// the n-th call, for any n, the result is the old array or the new one.
pub trait WriteStorage: Storage {
    /// Whether folders have to be created before files are put into them. The default is `true`. If
    /// `false`, writers do not check which folders exist.
    fn has_folders(&self) -> bool {
        true
    }

    /// The entries of a folder whose names begin with `beginning`; none if there is no such folder.
    /// The default lists the folder. A store that can be asked for these names alone needs one
    /// request, however many others there are.
    ///
    /// # Errors
    /// Any I/O error of the storage.
    fn list_named(&self, folder: &str, beginning: &str) -> io::Result<Vec<Entry>> {
        named(self.list(folder), beginning)
    }

    /// Creates a folder and those above it, if they do not exist. Stores without folders do
    /// nothing.
    ///
    /// # Errors
    /// Any I/O error of the storage.
    fn create_folder(&self, key: &str) -> io::Result<()>;

    /// Begins a new file in a folder that exists. Two writers never begin the same file, because
    /// names of data files are unique. Where uniqueness must be guaranteed, use [`Self::put_file`].
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`], here or when the file is finished, if it existed before:
    /// it is not overwritten.
    fn create_file(&self, key: &str) -> io::Result<Box<dyn FileWriter + '_>>;

    /// Creates a whole small file, if it does not exist. Every reader, also after a crash, sees all
    /// of it or nothing. If several callers put the same file at once, in any processes and on any
    /// machines that the storage serves, one succeeds and the others get an error. This is for
    /// files that take effect as soon as they exist. The folder must still be synced.
    ///
    /// After any error other than the two below, the file may still exist, or appear later.
    ///
    /// On a storage where files appear once they are finished, and finishing fails if the file
    /// exists, this is [`write_file`].
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`] if the file exists (it is left unchanged);
    /// [`io::ErrorKind::Unsupported`] if the storage cannot guarantee that only one caller
    /// succeeds; any I/O error of the storage.
    fn put_file(&self, key: &str, bytes: &[u8], durability: Durability) -> io::Result<()>;

    /// The whole of a small file, and its version, which [`Self::swap_file`] needs to replace it.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`]; [`io::ErrorKind::Unsupported`] where files have no versions,
    /// which is the default; any I/O error of the storage.
    fn read_versioned(&self, key: &str) -> io::Result<(Bytes, FileVersion)> {
        Err(io::Error::new(
            io::ErrorKind::Unsupported,
            format!("this storage does not support versions of files, so it has none of {key}"),
        ))
    }

    /// Replaces a small file whose version is known, or creates it where there is none (`expected`
    /// is `None`), unless another caller has done so in the meantime: if several callers replace
    /// the same version at once, one succeeds and the others get an error. Returns the new version.
    /// Every reader, also after a crash, sees all of the old file or all of the new one. The folder
    /// must still be synced.
    ///
    /// This excludes other callers of this method and of [`Self::put_file`]; [`Self::replace_file`]
    /// and [`Self::remove_file`] do not check versions.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`] if there is another version, or a file where none was
    /// expected; [`io::ErrorKind::NotFound`] if the file no longer exists. In both cases nothing is
    /// changed. [`io::ErrorKind::Unsupported`] where files have no versions, which is the default;
    /// any I/O error of the storage.
    fn swap_file(
        &self,
        key: &str,
        expected: Option<&FileVersion>,
        bytes: &[u8],
        durability: Durability,
    ) -> io::Result<FileVersion> {
        let _ = (expected, bytes, durability);
        let what = format!("this storage cannot replace {key} conditionally");
        Err(io::Error::new(io::ErrorKind::Unsupported, what))
    }

    /// Replaces a small file that exists: every reader, also after a crash, sees all of the old
    /// file or all of the new one. The folder must still be synced. Only lists of commits are ever
    /// replaced, so that new fragments take effect at the same moment as the old ones stop doing
    /// so.
    ///
    /// # Errors
    /// [`io::ErrorKind::Unsupported`] where files cannot be replaced, which is the default; any I/O
    /// error of the storage.
    fn replace_file(&self, key: &str, bytes: &[u8], durability: Durability) -> io::Result<()> {
        let _ = (bytes, durability);
        Err(io::Error::new(io::ErrorKind::Unsupported, format!("this storage cannot replace {key}")))
    }

    /// Waits until no other process or thread changes what exists only once: the current schema,
    /// and which fragments and commits replace which. Writers of cells, deletes and metadata never
    /// wait, nor do readers.
    ///
    /// A storage without locks returns [`StorageLock::none`]. Then arrays there are evolved and
    /// maintained only by callers who state that nobody else does so
    /// (`WriteOptions::without_lock`); the others get an error.
    ///
    /// # Errors
    /// Any I/O error of the storage, other than that it has no locks.
    fn lock(&self) -> io::Result<StorageLock>;

    /// Forces the names in a folder to the medium: only after this do files survive a loss of
    /// power. For the array's own folder `""`, also forces its name in the folder above.
    ///
    /// # Errors
    /// Any I/O error of the storage.
    fn sync_folder(&self, key: &str) -> io::Result<()>;

    /// Removes a file.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`]; any I/O error of the storage.
    fn remove_file(&self, key: &str) -> io::Result<()>;

    /// Removes a folder and everything in it.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`]; any I/O error of the storage.
    fn remove_folder(&self, key: &str) -> io::Result<()>;
}

/// The entries of a listing whose names begin with `beginning`; none if there is no such folder.
///
/// # Errors
/// Any other error of the listing.
pub fn named(listed: io::Result<Vec<Entry>>, beginning: &str) -> io::Result<Vec<Entry>> {
    match listed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        listed => {
            let mut entries = listed?;
            entries.retain(|entry| entry.name.starts_with(beginning));
            Ok(entries)
        }
    }
}

/// A storage shared by several users.
#[deny(clippy::missing_trait_methods)]
impl<S: WriteStorage + ?Sized> WriteStorage for Arc<S> {
    fn list_named(&self, folder: &str, beginning: &str) -> io::Result<Vec<Entry>> {
        (**self).list_named(folder, beginning)
    }

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

/// Writes a whole file with `create_file`, `append` and `finish`.
///
/// # Errors
/// As for [`WriteStorage::create_file`] and [`FileWriter::finish`].
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

/// Identifies one of the files that had the same key one after another.
///
/// Files with different bytes have different versions. Files with the same bytes may have the same
/// version, as on S3. A caller that must notice that a file was replaced and then put back has to
/// write something unique into it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct FileVersion(Bytes);

impl FileVersion {
    /// A version that the storage identifies by these bytes.
    pub fn new(token: impl Into<Bytes>) -> Self {
        Self(token.into())
    }

    /// The bytes that the storage made it of.
    #[must_use]
    pub fn token(&self) -> &[u8] {
        &self.0
    }
}

impl Debug for FileVersion {
    /// Without the token, which may be a whole file.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FileVersion({} bytes)", self.0.len())
    }
}

/// Prevents others from evolving or maintaining an array until it is dropped (or the process ends).
#[must_use = "a lock that is dropped at once protects nothing"]
pub struct StorageLock(Option<Box<dyn Any + Send>>);

impl StorageLock {
    /// For storages without locks.
    pub const fn none() -> Self {
        Self(None)
    }

    /// A lock that ends when `guard` is dropped.
    pub fn new(guard: impl Any + Send) -> Self {
        Self(Some(Box::new(guard)))
    }

    /// Whether this excludes nobody.
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

/// A file that is being written. If dropped before [`Self::finish`], the file may exist in part or
/// not at all.
pub trait FileWriter: Debug + Send {
    /// Appends bytes.
    ///
    /// # Errors
    /// Any I/O error of the storage; the file is unusable then.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Announces that nothing more will be appended, so that a slow storage can already begin the
    /// work that [`Self::finish`] waits for: files that are ended together are then transferred at
    /// the same time. The file is not valid before it is finished. By default this does nothing.
    fn end(&mut self) {}

    /// Finishes the file.
    ///
    /// # Errors
    /// Any I/O error of the storage: what was appended before may be lost then.
    fn finish(self: Box<Self>, durability: Durability) -> io::Result<()>;
}
