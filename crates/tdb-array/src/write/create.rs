//! Creating an array: its folders and its schema file.

use std::io;

use tdb_codec::{FormatVersion, Gate};
use tdb_filters::{Key, Pipeline, Scratch};
use tdb_fragment::TimestampedName;
use tdb_schema::{
    ArraySchema, Attribute, Dimension, DimensionLabel, Enumeration, EnumerationName, SchemaProblem,
};
use tdb_tile::GenericTile;

use super::WriteOptions;
use super::names::{self, Nonces};
use super::put::{lock, put};
use crate::directory::{
    COMMITS, ENUMERATIONS, FRAGMENT_META, FRAGMENTS, LABELS, LOCK_FILE, OLD_SCHEMA, SCHEMA_FOLDER,
};
use crate::storage::{Below, Durability, Entry, WriteStorage, join};
use crate::timed::METADATA;
use crate::{Error, Result, WriteError};

/// Makes the folders of an array of the schema's version, what the schema names, then its schema file: only that makes it
/// an array. What an interrupted creation left behind is no obstacle to another one.
pub(super) fn create(storage: &dyn WriteStorage, schema: &ArraySchema, options: &WriteOptions) -> Result<()> {
    create_in(storage, schema, options, true)
}

/// The arrays of labels lie inside their array, which is locked already.
fn create_in(
    storage: &dyn WriteStorage,
    schema: &ArraySchema,
    options: &WriteOptions,
    outermost: bool,
) -> Result<()> {
    let version = schema.version;
    if !version.has(Gate::FragmentFooter) {
        let what = format!("creating arrays of version {version} is not supported");
        return Err(Error::unsupported(storage.describe(""), what));
    }
    schema.check_new().map_err(|problem| WriteError::Schema(Box::new(problem.into())))?;
    let enumerations = enumerations(schema, &options.enumerations)?;
    let payload = schema.to_bytes(version).map_err(|error| WriteError::Schema(Box::new(error)))?;
    clear(storage)?;
    let make = |folder: &str| {
        storage.create_folder(folder).map_err(|error| Error::io(storage.describe(folder), error))
    };
    make("")?;
    // Of two that create an array in one folder, one finds what the other made.
    let _lock = outermost.then(|| lock(storage)).transpose()?;
    if outermost {
        clear(storage)?;
    }

    let in_folder = version.has(Gate::SchemaFolder);
    let mut folders = vec!["".to_owned()];
    if in_folder {
        folders.push(SCHEMA_FOLDER.to_owned());
    }
    if version.has(Gate::Enumerations) {
        folders.push(join(SCHEMA_FOLDER, ENUMERATIONS));
    }
    if version.has(Gate::ArrayMetadata) {
        folders.push(METADATA.to_owned());
    }
    if version.has(Gate::FragmentFolders) {
        folders.extend([COMMITS, FRAGMENTS, FRAGMENT_META].map(str::to_owned));
    }
    if version.has(Gate::DimensionLabels) {
        folders.push(LABELS.to_owned());
    }
    folders.iter().skip(1).try_for_each(|folder| make(folder))?;

    let mut scratch = Nonces::new()?.scratch();
    let write = |key: &str, bytes: &[u8]| write_file(storage, key, bytes, options.durability);
    // Without the empty lock file libtiledb 1.7 to 2.5 refuse the array.
    let locked = || storage.list("").is_ok_and(|there| there.iter().any(|entry| entry.name == LOCK_FILE));
    if !version.has(Gate::NoLockFile) && !locked() {
        write(LOCK_FILE, &[])?;
    }
    for enumeration in enumerations {
        let payload = enumeration.to_bytes(version);
        let payload = payload.map_err(|error| WriteError::Schema(Box::new(error.into())))?;
        let key = join(&join(SCHEMA_FOLDER, ENUMERATIONS), &enumeration.file_name);
        write(&key, &generic_tile(&payload, options.key.as_ref(), &mut scratch)?)?;
    }
    for label in schema.labels.iter().filter(|label| label.relative && !label.external) {
        let array = Below::new(storage, label.uri.as_str());
        let options = WriteOptions { enumerations: Vec::new(), ..options.clone() };
        create_in(&array, &label_schema(schema, label)?, &options, false)?;
    }
    let bytes = generic_tile_in(version, &payload, options.key.as_ref(), &mut scratch)?;
    let key = if in_folder {
        join(SCHEMA_FOLDER, &names::unique(options.time()?, None)?.to_string())
    } else {
        OLD_SCHEMA.to_owned()
    };
    // What the schema names must be there when it is.
    let sync = || -> Result<()> {
        if options.durability == Durability::Buffered {
            return Ok(());
        }
        let sync = |folder: &String| {
            storage.sync_folder(folder).map_err(|error| Error::io(storage.describe(folder), error))
        };
        folders.iter().rev().try_for_each(sync)
    };
    if !schema.enumerations.is_empty() || !schema.labels.is_empty() {
        sync()?;
    }
    put(storage, &key, &bytes, options.durability)?;
    sync()
}

/// The enumerations that the schema names, which must be those that are given.
fn enumerations<'e>(schema: &ArraySchema, given: &'e [Enumeration]) -> Result<Vec<&'e Enumeration>> {
    let named = |enumeration: &&Enumeration| {
        let names = |entry: &EnumerationName| {
            entry.name == enumeration.name && entry.file_name == enumeration.file_name
        };
        schema.enumerations.iter().any(names) && tdb_fragment::is_plain_name(&enumeration.file_name)
    };
    if let Some(stray) = given.iter().find(|enumeration| !named(enumeration)) {
        return Err(WriteError::EnumerationMissing(stray.name.clone()).into());
    }
    let found = schema.enumerations.iter().map(|entry| {
        let found = given.iter().find(|enumeration| enumeration.name == entry.name);
        let found = found.ok_or_else(|| WriteError::EnumerationMissing(entry.name.clone()))?;
        schema.check_enumeration(found).map_err(|problem| WriteError::Schema(Box::new(problem.into())))?;
        Ok(found)
    });
    found.collect()
}

/// The schema of the array that holds a label's values, as libtiledb makes it.
fn label_schema(schema: &ArraySchema, label: &DimensionLabel) -> Result<ArraySchema> {
    let problem = |problem: SchemaProblem| WriteError::Schema(Box::new(problem.into()));
    let index = usize::try_from(label.dimension).unwrap_or(usize::MAX);
    let dimension = schema.domain.dimensions.get(index);
    let dimension = dimension.ok_or_else(|| problem(SchemaProblem::Label(label.name.clone())))?;
    if !label.uri.split('/').all(tdb_fragment::is_plain_name) {
        return Err(problem(SchemaProblem::Label(label.name.clone())).into());
    }
    let dimension = Dimension { name: "index".to_owned(), filters: Pipeline::default(), ..dimension.clone() };
    let mut attribute = Attribute::new(label.attribute.clone(), label.datatype, label.cell_val_num);
    attribute.order = label.order;
    let schema =
        ArraySchema::dense().dimension(dimension).attribute(attribute).version(schema.version).build();
    Ok(schema.map_err(problem)?)
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
pub(crate) fn generic_tile(payload: &[u8], key: Option<&Key>, scratch: &mut Scratch) -> Result<Vec<u8>> {
    generic_tile_in(FormatVersion::CURRENT, payload, key, scratch)
}

/// A generic tile of which the header has the version of the array: libraries of its age know no later one.
pub(super) fn generic_tile_in(
    version: FormatVersion,
    payload: &[u8],
    key: Option<&Key>,
    scratch: &mut Scratch,
) -> Result<Vec<u8>> {
    let tile = GenericTile::encode_with(payload, version, key, scratch);
    Ok(tile.map_err(|error| WriteError::Filter { field: "metadata".to_owned(), error: error.into() })?)
}

/// Refuses a folder with an array or a group in it. Of an array that was never finished, what would be in the way is
/// removed: a schema file that is cut off, as long as there is no fragment, and the labels.
fn clear(storage: &dyn WriteStorage) -> Result<()> {
    let list = |folder: &str| match storage.list(folder) {
        Ok(entries) => Ok(entries),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(Error::io(storage.describe(folder), error)),
    };
    let root = list("")?;
    let taken = ["__group", "__tiledb_group.tdb", "__kv_schema.tdb"];
    if root.iter().any(|entry| taken.contains(&entry.name.as_str())) {
        return Err(WriteError::Exists.into());
    }
    let mut schemas: Vec<String> = list(SCHEMA_FOLDER)?
        .iter()
        .filter(|entry| !entry.is_folder)
        .map(|entry| join(SCHEMA_FOLDER, &entry.name))
        .collect();
    schemas.extend(root.iter().any(|entry| entry.name == OLD_SCHEMA).then(|| OLD_SCHEMA.to_owned()));
    let is_fragment = |entry: &Entry| entry.is_folder && TimestampedName::parse(&entry.name).is_ok();
    let has_fragments = root.iter().any(is_fragment) || !list(COMMITS)?.is_empty();
    for schema in schemas {
        let cut_off = storage
            .read_tail(&schema, u64::MAX)
            .is_ok_and(|(_, bytes)| GenericTile::parse(&bytes, 0).is_err());
        if has_fragments || !cut_off {
            return Err(WriteError::Exists.into());
        }
        storage.remove_file(&schema).map_err(|error| Error::io(storage.describe(&schema), error))?;
    }
    // No schema names what an attempt put there.
    let unnamed = if has_fragments { Vec::new() } else { list(&join(SCHEMA_FOLDER, ENUMERATIONS))? };
    for entry in unnamed.iter().filter(|entry| !entry.is_folder) {
        let key = join(&join(SCHEMA_FOLDER, ENUMERATIONS), &entry.name);
        storage.remove_file(&key).map_err(|error| Error::io(storage.describe(&key), error))?;
    }
    if !list(LABELS)?.is_empty() {
        storage.remove_folder(LABELS).map_err(|error| Error::io(storage.describe(LABELS), error))?;
    }
    Ok(())
}
