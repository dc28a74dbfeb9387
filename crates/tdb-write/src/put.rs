//! Small files that take effect as soon as they exist.

use std::io;

use crate::storage::{Durability, WriteStorage};
use crate::{Error, Result};

/// Puts a file that takes effect at once: its contents are on the medium before its name is, and
/// its name before this returns.
pub fn put(storage: &dyn WriteStorage, key: &str, bytes: &[u8], durability: Durability) -> Result<()> {
    put_new(storage, key, bytes, durability)?;
    sync_folder(storage, key.rsplit_once('/').map_or("", |(folder, _)| folder), durability)
}

/// Puts a whole file where none may exist; its folder must still be synced. Names of such files are
/// unique except for a few, so on a storage that cannot guarantee that only one writer succeeds,
/// the file is put if none is found.
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

/// Whether a call that failed certainly did not create the file: then what the file was to commit
/// can be removed again. After other errors it may still appear, for instance on a network file
/// system.
pub(super) fn never_put(storage: &dyn WriteStorage, key: &str, error: &Error) -> bool {
    use std::io::ErrorKind::{PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    let Error::Io { source, .. } = error else { return false };
    let definite =
        matches!(source.kind(), PermissionDenied | QuotaExceeded | ReadOnlyFilesystem | StorageFull);
    let (folder, name) = key.rsplit_once('/').unwrap_or(("", key));
    definite && storage.list(folder).is_ok_and(|listed| listed.iter().all(|entry| entry.name != name))
}

/// Creates a folder of the array if it does not exist, and makes its name durable.
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

/// Forces the names in a folder to the medium, unless the caller does not want durability.
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
