//! Creating an array: its folders and its schema file.

use std::io;

use tdb_codec::{FormatVersion, Gate};
use tdb_filters::Scratch;
use tdb_schema::ArraySchema;
use tdb_tile::GenericTile;

use super::WriteOptions;
use super::names::{self, Nonces};
use crate::directory::{
    COMMITS, ENUMERATIONS, FRAGMENT_META, FRAGMENTS, LABELS, LOCK_FILE, OLD_SCHEMA, SCHEMA_FOLDER,
};
use crate::storage::{Durability, WriteStorage, join};
use crate::timed::METADATA;
use crate::{Error, Result, WriteError};

/// Makes the folders of an array of the schema's version, then its schema file: only that makes it an array.
pub(super) fn create(storage: &dyn WriteStorage, schema: &ArraySchema, options: &WriteOptions) -> Result<()> {
    let version = schema.version;
    if !version.has(Gate::Nullable) {
        let what = format!("creating arrays of version {version} is not supported");
        return Err(Error::unsupported(storage.describe(""), what));
    }
    schema.check_new().map_err(|problem| WriteError::Schema(Box::new(problem.into())))?;
    if !schema.enumerations.is_empty() || !schema.labels.is_empty() {
        let what = "creating arrays with enumerations or dimension labels is not supported";
        return Err(Error::unsupported(storage.describe(""), what));
    }
    let payload = schema.to_bytes(version).map_err(|error| WriteError::Schema(Box::new(error)))?;
    refuse_existing(storage)?;

    let in_folder = version.has(Gate::SchemaFolder);
    let mut folders = vec!["".to_owned()];
    if in_folder {
        folders.push(SCHEMA_FOLDER.to_owned());
    }
    if version.has(Gate::Enumerations) {
        folders.push(join(SCHEMA_FOLDER, ENUMERATIONS));
    }
    folders.push(METADATA.to_owned());
    if version.has(Gate::FragmentFolders) {
        folders.extend([COMMITS, FRAGMENTS, FRAGMENT_META].map(str::to_owned));
    }
    if version.has(Gate::DimensionLabels) {
        folders.push(LABELS.to_owned());
    }
    for folder in &folders {
        storage.create_folder(folder).map_err(|error| Error::io(storage.describe(folder), error))?;
    }

    let mut scratch = Nonces::new()?.scratch();
    let bytes = generic_tile(&payload, options.key.as_ref(), &mut scratch)?;
    // Without the empty lock file libtiledb 1.7 to 2.5 refuse the array.
    if !version.has(Gate::NoLockFile) {
        write_file(storage, LOCK_FILE, &[], options.durability)?;
    }
    let key = if in_folder {
        join(SCHEMA_FOLDER, &names::unique(options.time(), None)?.to_string())
    } else {
        OLD_SCHEMA.to_owned()
    };
    write_file(storage, &key, &bytes, options.durability)?;
    if options.durability == Durability::Synced {
        for folder in folders.iter().rev() {
            storage.sync_folder(folder).map_err(|error| Error::io(storage.describe(folder), error))?;
        }
    }
    Ok(())
}

/// Writes a whole file.
pub(super) fn write_file(
    storage: &dyn WriteStorage,
    key: &str,
    bytes: &[u8],
    durability: Durability,
) -> Result<()> {
    let write = || {
        let mut file = storage.create_file(key)?;
        if !bytes.is_empty() {
            file.append(bytes)?;
        }
        file.finish(durability)
    };
    write().map_err(|error| Error::io(storage.describe(key), error))
}

/// A payload as a generic tile, encrypted if there is a key. Its header has this library's newest version, as
/// libtiledb's have.
pub(crate) fn generic_tile(
    payload: &[u8],
    key: Option<&tdb_filters::Key>,
    scratch: &mut Scratch,
) -> Result<Vec<u8>> {
    let version = FormatVersion::CURRENT;
    let tile = match key {
        Some(key) => GenericTile::encode_encrypted(payload, version, key, scratch),
        None => GenericTile::encode(payload, version),
    };
    Ok(tile.map_err(|error| WriteError::Filter { field: "metadata".to_owned(), error: error.into() })?)
}

/// Refuses to create anything where an array or a group is.
pub(super) fn refuse_existing(storage: &dyn WriteStorage) -> Result<()> {
    match storage.list("") {
        Ok(entries) => {
            let taken = ["__group", "__tiledb_group.tdb", SCHEMA_FOLDER, OLD_SCHEMA, "__kv_schema.tdb"];
            if entries.iter().any(|entry| taken.contains(&entry.name.as_str())) {
                return Err(WriteError::Exists.into());
            }
            Ok(())
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(Error::io(storage.describe(""), error)),
    }
}
