//! The lock of an array while schemas, fragments or commits are replaced.

use tdb_codec::FormatVersion;
use tdb_fragment::TimestampedName;

use crate::put::{ensure_folder, never_put, put, sync_folder, uri_of};
use crate::storage::{Durability, StorageLock, WriteStorage};
use crate::{Error, Result, WriteError};
use crate::{WriteOptions, fresh_uuid};

/// The lock of a storage, held until this is dropped, and the small files that are put while it is
/// held.
///
/// Everything that changes the schema in force, or which fragments and commits replace which,
/// happens in a transaction. Writers of cells need none: the names of what they write are unique.
///
/// It makes nothing atomic: each file takes effect as soon as it exists. Several changes that must
/// take effect at once are put into one file.
#[derive(Debug)]
pub struct Transaction<'a> {
    storage: &'a dyn WriteStorage,
    durability: Durability,
    _lock: StorageLock,
}

impl<'a> Transaction<'a> {
    /// Waits for the lock of the storage.
    ///
    /// # Errors
    /// [`WriteError::NoLock`] if the storage has no locks, unless the caller does without
    /// ([`WriteOptions::without_lock`]); any I/O error of the storage.
    pub fn begin(storage: &'a dyn WriteStorage, options: &WriteOptions) -> Result<Self> {
        let lock = lock_if_any(storage)?;
        if lock.is_none() && !options.without_lock {
            return Err(WriteError::NoLock(storage.describe("")).into());
        }
        Ok(Self { storage, durability: options.durability, _lock: lock })
    }

    /// The storage that the files are put into.
    #[must_use]
    pub const fn storage(&self) -> &'a dyn WriteStorage {
        self.storage
    }

    /// Puts a file, which takes effect at once.
    ///
    /// # Errors
    /// [`std::io::ErrorKind::AlreadyExists`] if there is such a file; any I/O error of the storage.
    pub fn put(&self, key: &str, bytes: &[u8]) -> Result<()> {
        put(self.storage, key, bytes, self.durability)
    }

    /// Whether a file was certainly not put by a call that failed with this error.
    #[must_use]
    pub fn never_put(&self, key: &str, error: &Error) -> bool {
        never_put(self.storage, key, error)
    }

    /// Makes a folder if it is not there, and its name durable.
    ///
    /// # Errors
    /// Any I/O error of the storage.
    pub fn ensure_folder(&self, folder: &str) -> Result<()> {
        ensure_folder(self.storage, folder, self.durability)
    }

    /// Forces the names in a folder to the medium.
    ///
    /// # Errors
    /// Any I/O error of the storage.
    pub fn sync_folder(&self, folder: &str) -> Result<()> {
        sync_folder(self.storage, folder, self.durability)
    }

    /// The durability of its files.
    #[must_use]
    pub const fn durability(&self) -> Durability {
        self.durability
    }

    /// A name that no other object has, for these times.
    ///
    /// # Errors
    /// [`WriteError::NoRandomness`].
    pub fn name(&self, times: (u64, u64), version: Option<FormatVersion>) -> Result<TimestampedName> {
        Ok(TimestampedName::new(times, fresh_uuid()?, version))
    }

    /// The URI that libtiledb knows the storage's folder by.
    #[must_use]
    pub fn uri(&self) -> String {
        uri_of(self.storage)
    }
}

/// The lock of a storage; an empty one if it has no locks, for callers that are kept apart by other
/// means as well.
pub(super) fn lock_if_any(storage: &dyn WriteStorage) -> Result<StorageLock> {
    storage.lock().map_err(|error| Error::io(storage.describe(""), error))
}
