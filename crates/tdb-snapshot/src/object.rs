//! The type of a folder: an array, a group, or neither.

use std::io;

use tdb_schema::ObjectType;

use crate::paths::{GROUP_FOLDER, GROUP_MARKER, OLD_SCHEMA, SCHEMA_FOLDER};
use crate::storage::{Entry, Storage};
use crate::{Error, Result};

/// The file that marks a folder as a key-value object, up to libtiledb 1.6.
const KV_SCHEMA: &str = "__kv_schema.tdb";

/// Marks an array that is not finished: cells may exist, but there is no schema, so it is not an
/// array. What creates an array together with its cells writes this file first.
pub const UNFINISHED: &str = "__unfinished.tdb";

/// The type of a storage's root. [`ObjectType::Invalid`] is a folder that is neither an array nor a
/// group.
///
/// # Errors
/// [`io::ErrorKind::NotFound`] if there is no such folder; any I/O error of the storage.
pub fn object_type(storage: &dyn Storage) -> io::Result<ObjectType> {
    Ok(kind_of(&storage.list("")?))
}

fn kind_of(root: &[Entry]) -> ObjectType {
    let has = |name: &str, folder| root.iter().any(|e| e.name == name && e.is_folder == folder);
    if has(SCHEMA_FOLDER, true) || has(OLD_SCHEMA, false) {
        ObjectType::Array
    } else if has(GROUP_MARKER, false) || has(GROUP_FOLDER, true) {
        ObjectType::Group
    } else {
        ObjectType::Invalid
    }
}

/// The listing of a storage's root. Its type must be one of `wanted`; otherwise the error says what
/// it is.
pub fn list_root(storage: &dyn Storage, wanted: &[ObjectType]) -> Result<(Vec<Entry>, ObjectType)> {
    root_of(storage, storage.list(""), wanted)
}

/// The same for a root that was already listed.
pub(crate) fn root_of(
    storage: &dyn Storage,
    listed: io::Result<Vec<Entry>>,
    wanted: &[ObjectType],
) -> Result<(Vec<Entry>, ObjectType)> {
    let root = listed.map_err(|error| Error::io(storage.describe(""), error))?;
    let kind = kind_of(&root);
    if wanted.contains(&kind) {
        return Ok((root, kind));
    }
    let why = match (kind, wanted) {
        (ObjectType::Group, _) => "this is a group, not an array",
        (ObjectType::Array, _) => "this is an array, not a group",
        _ if root.iter().any(|entry| entry.name == KV_SCHEMA) => {
            "this is a key-value object of TileDB 1.x, which is not supported"
        }
        _ if root.iter().any(|entry| entry.name == UNFINISHED) => {
            "this array was begun and is not finished: what writes it goes on, or was stopped"
        }
        (_, [ObjectType::Array]) => {
            "this folder is not a TileDB array (it has neither __schema nor __array_schema.tdb)"
        }
        (_, [ObjectType::Group]) => {
            "this folder is not a TileDB group (it has neither __tiledb_group.tdb nor __group)"
        }
        _ => "this folder is neither a TileDB array nor a group",
    };
    Err(Error::NotAnArray { path: storage.describe(""), why })
}
