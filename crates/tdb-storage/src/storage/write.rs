//! The write half of a storage.

use core::any::Any;
use core::fmt::{self, Debug};
use std::io;

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
/// The order of calls is the protocol: data files and their folder are finished and synced before the commit marker is
/// created, and the marker's folder is synced after it. A storage that fails at the n-th call, for any n, leaves the old
/// array or the new one.
pub trait WriteStorage: Storage {
    /// Makes a folder and those above it, if they are not there. Stores without folders do nothing.
    ///
    /// # Errors
    /// Whatever the system says.
    fn create_folder(&self, key: &str) -> io::Result<()>;

    /// Begins a new file in a folder that exists.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`] if there is such a file: nothing is overwritten.
    fn create_file(&self, key: &str) -> io::Result<Box<dyn FileWriter + '_>>;

    /// Puts a whole small file in its place: whoever looks, also after a crash, sees all of it or nothing. For files that
    /// count as soon as they are there. The folder is still to be synced.
    ///
    /// Where files count once they are finished, this is no more than writing one.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`] if there is such a file; whatever the system says.
    fn put_file(&self, key: &str, bytes: &[u8], durability: Durability) -> io::Result<()> {
        let mut file = self.create_file(key)?;
        if !bytes.is_empty() {
            file.append(bytes)?;
        }
        file.finish(durability)
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
    /// A storage without locks returns [`StorageLock::none`]: then only one may evolve or maintain an array at a time, and the
    /// documentation of the storage has to say so.
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

    /// Ends the file.
    ///
    /// # Errors
    /// Whatever the system says: what was appended before may be lost then.
    fn finish(self: Box<Self>, durability: Durability) -> io::Result<()>;
}
