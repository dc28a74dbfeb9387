//! Whether an array can be created in a folder, and removal of what is left there of another one.

use std::io;

use tdb_fragment::{CommitKind, TimestampedName};
use tdb_snapshot::UNFINISHED;
use tdb_tile::GenericTile;

use crate::WriteOptions;
use crate::paths::{
    COMMITS, ENUMERATIONS, FRAGMENT_META, FRAGMENTS, LABELS, LOCK_FILE, METADATA, OLD_SCHEMA, PARTIAL,
    SCHEMA_FOLDER,
};
use crate::put::{put_new, sync_folder};
use crate::storage::{
    Durability, Entry, MANIFEST, Storage, StorageLock, TEMPORARY, WriteStorage, join, read_whole,
};
use crate::transaction::lock_if_any;
use crate::{Error, Result, WriteError};

/// Creates the folder of a new array and locks it, so that no other process creates an array there.
/// If two processes do so at once, one finds the files of the other. An array that is there is
/// removed if the options say so.
pub(super) fn lock_vacant(storage: &dyn WriteStorage, options: &WriteOptions) -> Result<StorageLock> {
    // Before there is a lock, nothing is removed: what is not finished may be another process's, at
    // this moment.
    if !options.replace {
        refuse_taken(storage)?;
    }
    make(storage, "")?;
    // Without locks, files that can only be created once keep other processes away.
    let lock = lock_if_any(storage)?;
    if options.replace {
        discard(storage, options.durability)?;
    }
    clear(storage)?;
    Ok(lock)
}

/// Removes an array. It is marked as unfinished first, so that another one can be created here
/// wherever the process stops.
fn discard(storage: &dyn WriteStorage, durability: Durability) -> Result<()> {
    let fail = |folder: &str, error| Error::io(storage.describe(folder), error);
    let root = names_in(storage, "").map_err(|error| fail("", error))?;
    if !is_array(storage, &root).map_err(|error| fail(SCHEMA_FOLDER, error))? || is_taken(&root) {
        return Ok(());
    }
    if !root.iter().any(|entry| entry.name == UNFINISHED) {
        put_new(storage, UNFINISHED, &[], durability)?;
        sync_folder(storage, "", durability)?;
    }
    // Its manifest lists files that are about to go.
    if root.iter().any(|entry| entry.name == MANIFEST) {
        storage.remove_file(MANIFEST).map_err(|error| fail(MANIFEST, error))?;
    }
    remove_unfinished(storage)
}

pub(super) fn make(storage: &dyn WriteStorage, folder: &str) -> Result<()> {
    storage.create_folder(folder).map_err(|error| Error::io(storage.describe(folder), error))
}

/// The names in a folder; none if it does not exist.
fn names_in(storage: &dyn Storage, folder: &str) -> io::Result<Vec<Entry>> {
    match storage.list(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        listed => listed,
    }
}

/// The keys of schema files, and whether each file is complete.
fn schema_files(storage: &dyn Storage, root: &[Entry]) -> io::Result<Vec<(String, bool)>> {
    let folder = names_in(storage, SCHEMA_FOLDER)?;
    let in_folder = folder.iter().filter(|entry| !entry.is_folder);
    let mut keys: Vec<String> = in_folder.map(|entry| join(SCHEMA_FOLDER, &entry.name)).collect();
    keys.extend(root.iter().any(|entry| entry.name == OLD_SCHEMA).then(|| OLD_SCHEMA.to_owned()));
    let cut_off =
        |key: &str| read_whole(storage, key).is_ok_and(|bytes| GenericTile::parse(&bytes, 0).is_err());
    // A temporary file that did not get its final name is not complete.
    let whole = |key: &str| !key.ends_with(PARTIAL) && !cut_off(key);
    let files = keys.into_iter().map(|key| (whole(&key), key));
    Ok(files.map(|(whole, key)| (key, whole)).collect())
}

/// Whether there is a complete schema.
fn is_array(storage: &dyn Storage, root: &[Entry]) -> io::Result<bool> {
    Ok(schema_files(storage, root)?.iter().any(|(_, whole)| *whole))
}

/// Whether a folder is something other than an array.
fn is_taken(root: &[Entry]) -> bool {
    let taken = ["__group", "__tiledb_group.tdb", "__kv_schema.tdb"];
    root.iter().any(|entry| taken.contains(&entry.name.as_str()))
}

/// Whether a storage is free for a new array: it is empty, or holds a new array that was begun
/// ([`WriteOptions::begin`]) and never finished.
///
/// # Errors
/// Any I/O error of the storage.
pub fn is_vacant(storage: &dyn Storage) -> io::Result<bool> {
    let root = names_in(storage, "")?;
    // A creation that was refused may leave the file that was locked.
    if root.iter().all(|entry| entry.name.starts_with(TEMPORARY)) {
        return Ok(true);
    }
    Ok(!is_array(storage, &root)? && root.iter().any(|entry| entry.name == UNFINISHED))
}

/// Whether a name in an array's folder is one that arrays use.
fn is_of_an_array(name: &str) -> bool {
    let name = name.strip_suffix(PARTIAL).unwrap_or(name);
    let own = [SCHEMA_FOLDER, OLD_SCHEMA, COMMITS, FRAGMENTS, FRAGMENT_META, METADATA, LABELS, LOCK_FILE];
    let fragment = name.strip_suffix(CommitKind::Ok.suffix()).unwrap_or(name);
    own.contains(&name) || TimestampedName::parse(fragment).is_ok()
}

/// Removes everything of an array that is not finished; the file that marks it as unfinished is
/// removed last.
pub(super) fn remove_unfinished(storage: &dyn WriteStorage) -> Result<()> {
    let fail = |key: &str, error| Error::io(storage.describe(key), error);
    let root = names_in(storage, "").map_err(|error| fail("", error))?;
    let mut found: Vec<&Entry> = root.iter().filter(|entry| is_of_an_array(&entry.name)).collect();
    // The schema first: without it, the rest is not an array.
    found.sort_by_key(|entry| ![SCHEMA_FOLDER, OLD_SCHEMA].contains(&entry.name.as_str()));
    for entry in found {
        let key = &entry.name;
        let removed = if entry.is_folder { storage.remove_folder(key) } else { storage.remove_file(key) };
        removed.map_err(|error| fail(key, error))?;
    }
    if root.iter().any(|entry| entry.name == UNFINISHED) {
        storage.remove_file(UNFINISHED).map_err(|error| fail(UNFINISHED, error))?;
    }
    Ok(())
}

/// Whether there are fragments.
pub(super) fn has_fragments(storage: &dyn WriteStorage) -> Result<bool> {
    let fail = |folder: &str, error| Error::io(storage.describe(folder), error);
    let is_fragment = |entry: &Entry| entry.is_folder && TimestampedName::parse(&entry.name).is_ok();
    let root = names_in(storage, "").map_err(|error| fail("", error))?;
    let commits = names_in(storage, COMMITS).map_err(|error| fail(COMMITS, error))?;
    Ok(root.iter().any(is_fragment) || !commits.is_empty())
}

/// Returns an error if there is an array or a group in the folder.
fn refuse_taken(storage: &dyn WriteStorage) -> Result<()> {
    let fail = |folder: &str, error| Error::io(storage.describe(folder), error);
    let root = names_in(storage, "").map_err(|error| fail("", error))?;
    let whole = |root: &[Entry]| -> io::Result<bool> {
        Ok(schema_files(storage, root)?.iter().any(|(_, whole)| *whole))
    };
    if is_taken(&root) || whole(&root).map_err(|error| fail(SCHEMA_FOLDER, error))? {
        return Err(WriteError::Exists.into());
    }
    Ok(())
}

/// Returns an error if there is an array or a group in the folder. If it is an array that was never
/// finished, removes what would be in the way: everything if a file marks it as unfinished;
/// otherwise an incomplete schema file (provided there is no fragment) and the labels.
fn clear(storage: &dyn WriteStorage) -> Result<()> {
    let fail = |folder: &str, error| Error::io(storage.describe(folder), error);
    let list = |folder: &str| names_in(storage, folder).map_err(|error| fail(folder, error));
    let root = list("")?;
    if is_taken(&root) {
        return Err(WriteError::Exists.into());
    }
    let schemas = schema_files(storage, &root).map_err(|error| fail(SCHEMA_FOLDER, error))?;
    if schemas.iter().any(|(_, whole)| *whole) {
        return Err(WriteError::Exists.into());
    }
    if root.iter().any(|entry| entry.name == UNFINISHED) {
        return remove_unfinished(storage);
    }
    let has_fragments = has_fragments(storage)?;
    if has_fragments && !schemas.is_empty() {
        return Err(WriteError::Exists.into());
    }
    for (schema, _) in schemas {
        storage.remove_file(&schema).map_err(|error| fail(&schema, error))?;
    }
    // No schema refers to files that an unfinished attempt left there.
    let unnamed = if has_fragments { Vec::new() } else { list(&join(SCHEMA_FOLDER, ENUMERATIONS))? };
    for entry in unnamed.iter().filter(|entry| !entry.is_folder) {
        let key = join(&join(SCHEMA_FOLDER, ENUMERATIONS), &entry.name);
        storage.remove_file(&key).map_err(|error| fail(&key, error))?;
    }
    if !list(LABELS)?.is_empty() {
        storage.remove_folder(LABELS).map_err(|error| fail(LABELS, error))?;
    }
    Ok(())
}
