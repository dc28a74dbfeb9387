//! Small files that count as soon as they are there.

use std::io;

use crate::storage::{Durability, WriteStorage};
use crate::{Error, Result};

/// Puts a file that counts from here on: all of it is on the medium before its name is, and the name before this returns.
pub fn put(storage: &dyn WriteStorage, key: &str, bytes: &[u8], durability: Durability) -> Result<()> {
    put_new(storage, key, bytes, durability)?;
    sync_folder(storage, key.rsplit_once('/').map_or("", |(folder, _)| folder), durability)
}

/// Puts a file whole, where there must be none; its folder is still to be synced. Names of files that count are unique but for
/// a few, so a storage that cannot refuse anybody for certain still gets them, if there is none to be seen.
pub(super) fn put_new(
    storage: &dyn WriteStorage,
    key: &str,
    bytes: &[u8],
    durability: Durability,
) -> Result<()> {
    let put = match storage.put_file(key, bytes, durability) {
        Err(error) if error.kind() == io::ErrorKind::Unsupported => match storage.size(key) {
            Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                storage.replace_file(key, bytes, durability)
            }
            Err(error) => Err(error),
        },
        put => put,
    };
    put.map_err(|error| Error::io(storage.describe(key), error))
}

/// Whether a file was certainly not put by a call that failed: then what it was to make count can be removed again. After
/// other errors it may still appear, for instance on a network file system.
pub(super) fn never_put(storage: &dyn WriteStorage, key: &str, error: &Error) -> bool {
    use std::io::ErrorKind::{PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    let Error::Io { source, .. } = error else { return false };
    let definite =
        matches!(source.kind(), PermissionDenied | QuotaExceeded | ReadOnlyFilesystem | StorageFull);
    let (folder, name) = key.rsplit_once('/').unwrap_or(("", key));
    definite && storage.list(folder).is_ok_and(|listed| listed.iter().all(|entry| entry.name != name))
}

/// Makes a folder of the array if it is not there, and its name durable.
pub fn ensure_folder(storage: &dyn WriteStorage, folder: &str, durability: Durability) -> Result<()> {
    if !storage.has_folders() {
        return Ok(());
    }
    let (parent, name) = folder.rsplit_once('/').unwrap_or(("", folder));
    let fail = |key: &str, error| Error::io(storage.describe(key), error);
    let listed = storage.list(parent).map_err(|error| fail(parent, error))?;
    if listed.iter().any(|entry| entry.is_folder && entry.name == name) {
        return Ok(());
    }
    storage.create_folder(folder).map_err(|error| fail(folder, error))?;
    sync_folder(storage, folder, durability)?;
    sync_folder(storage, parent, durability)
}

/// Forces the names in a folder to the medium, unless the caller does without.
pub(super) fn sync_folder(storage: &dyn WriteStorage, folder: &str, durability: Durability) -> Result<()> {
    match durability {
        Durability::Synced => {
            storage.sync_folder(folder).map_err(|error| Error::io(storage.describe(folder), error))
        }
        Durability::Buffered => Ok(()),
    }
}

/// The URI that libtiledb knows a storage's folder by.
pub(super) fn uri_of(storage: &dyn WriteStorage) -> String {
    let shown = storage.describe("");
    if shown.contains("://") {
        return shown;
    }
    let path = std::path::absolute(&shown).unwrap_or_else(|_| shown.into());
    format!("file://{}", path.display())
}
