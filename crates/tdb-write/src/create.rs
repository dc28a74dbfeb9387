//! Creates arrays: their folders, enumerations, labels and schema file.

use std::path::PathBuf;

use tdb_codec::{FormatVersion, Gate};
use tdb_filters::{Key, Pipeline, Scratch};
use tdb_schema::{ArraySchema, Attribute, DimensionLabel, Enumeration, EnumerationName, SchemaProblem};
use tdb_tile::GenericTile;

use crate::WriteOptions;
use crate::names::{Names, Nonces};
use crate::paths::{
    COMMITS, ENUMERATIONS, FRAGMENT_META, FRAGMENTS, LABELS, LOCK_FILE, METADATA, OLD_SCHEMA, SCHEMA_FOLDER,
};
use crate::put::{put, sync_folder};
use crate::storage::{self, Below, Durability, LocalStorage, WriteStorage, join};
use crate::vacancy::{lock_vacant, make};
use crate::{Error, Result, WriteError};

impl WriteOptions {
    /// Creates an array in a local folder, which is created if it does not exist.
    ///
    /// # Errors
    /// An array or group there already, a schema that breaks a rule or has something that its
    /// version cannot store, or any I/O error of the storage.
    pub fn create(self, path: impl Into<PathBuf>, schema: &ArraySchema) -> Result<()> {
        self.create_storage(&LocalStorage::new(path), schema)
    }

    /// Creates an array in a storage.
    ///
    /// # Errors
    /// As for [`Self::create`].
    pub fn create_storage(self, storage: &dyn WriteStorage, schema: &ArraySchema) -> Result<()> {
        create(storage, schema, &self)
    }
}

/// Creates the folders of an array of the schema's version, then the files that the schema refers
/// to, then the schema file, which makes it an array. What an interrupted creation left behind does
/// not prevent another one.
pub(super) fn create(storage: &dyn WriteStorage, schema: &ArraySchema, options: &WriteOptions) -> Result<()> {
    let files = NewArrayFiles::of(storage, schema, options)?;
    let _lock = lock_vacant(storage, options)?;
    files.begin(storage)?;
    files.finish(storage)
}

/// The files of a new array that exist before it has cells, and those that make it an array.
#[derive(Debug)]
pub(super) struct NewArrayFiles {
    version: FormatVersion,
    durability: Durability,
    /// Keys and bytes.
    enumerations: Vec<(String, Vec<u8>)>,
    /// The schema as readers of its file see it.
    stored: ArraySchema,
    schema: (String, Vec<u8>),
    /// The arrays of labels, and their keys.
    labels: Vec<(String, Self)>,
}

impl NewArrayFiles {
    /// The files of an array with this schema. Returns an error if the schema cannot be stored.
    pub(super) fn of(
        storage: &dyn WriteStorage,
        schema: &ArraySchema,
        options: &WriteOptions,
    ) -> Result<Self> {
        let version = schema.version;
        if !version.has(Gate::FragmentFooter) {
            let what = format!("creating arrays of version {version} is not supported");
            return Err(Error::unsupported(storage.describe(""), what));
        }
        let problem = |problem: SchemaProblem| WriteError::Schema(Box::new(problem.into()));
        let mut settled = schema.clone();
        settled.set_image_extents().map_err(problem)?;
        let schema = &settled;
        if options.any_filters { schema.check_new_but_filters() } else { schema.check_new() }
            .map_err(problem)?;
        let given = enumerations(schema, &options.enumerations)?;
        let payload = schema.to_bytes(version).map_err(|error| WriteError::Schema(Box::new(error)))?;
        let mut scratch = Nonces::new()?.scratch();
        let mut enumerations = Vec::with_capacity(given.len());
        for enumeration in given {
            let payload = enumeration.to_bytes(version);
            let payload = payload.map_err(|error| WriteError::Schema(Box::new(error.into())))?;
            let key = join(&join(SCHEMA_FOLDER, ENUMERATIONS), &enumeration.file_name);
            enumerations.push((key, generic_tile(&payload, options.key.as_ref(), &mut scratch)?));
        }
        let mut labels = Vec::new();
        for label in schema.labels.iter().filter(|label| label.relative && !label.external) {
            let schema = label_schema(schema, label, options)?;
            let options = WriteOptions { enumerations: Vec::new(), ..options.clone() };
            labels.push((label.uri.clone(), Self::of(storage, &schema, &options)?));
        }
        // Old versions store some names differently from the caller's schema.
        let stored = ArraySchema::parse(&payload).map_err(|error| WriteError::Schema(Box::new(error)))?;
        let bytes = generic_tile_in(version, &payload, options.key.as_ref(), &mut scratch)?;
        let key = if version.has(Gate::SchemaFolder) {
            join(SCHEMA_FOLDER, &Names::first(options.when()?.time).next_file()?.to_string())
        } else {
            OLD_SCHEMA.to_owned()
        };
        let durability = options.durability;
        Ok(Self { version, durability, enumerations, stored, schema: (key, bytes), labels })
    }

    /// The schema as it is stored.
    pub(super) const fn stored(&self) -> &ArraySchema {
        &self.stored
    }

    /// The key of the schema file.
    pub(super) fn schema_key(&self) -> &str {
        &self.schema.0
    }

    /// Folders that are created first, and those that only a finished array has.
    fn folders(&self) -> (Vec<String>, Vec<String>) {
        let version = self.version;
        let (mut of_data, mut of_schemas) = (Vec::new(), Vec::new());
        if version.has(Gate::SchemaFolder) {
            of_schemas.push(SCHEMA_FOLDER.to_owned());
        }
        if version.has(Gate::Enumerations) {
            of_schemas.push(join(SCHEMA_FOLDER, ENUMERATIONS));
        }
        if version.has(Gate::ArrayMetadata) {
            of_data.push(METADATA.to_owned());
        }
        if version.has(Gate::FragmentFolders) {
            of_data.extend([COMMITS, FRAGMENTS, FRAGMENT_META].map(str::to_owned));
        }
        if version.has(Gate::DimensionLabels) {
            of_data.push(LABELS.to_owned());
        }
        (of_data, of_schemas)
    }

    /// Creates the files and folders needed to write cells; they do not make an array yet.
    pub(super) fn begin(&self, storage: &dyn WriteStorage) -> Result<()> {
        self.folders().0.iter().try_for_each(|folder| make(storage, folder))?;
        // Without the empty lock file, libtiledb 1.7 to 2.5 cannot open the array.
        let locked = || storage.list("").is_ok_and(|there| there.iter().any(|entry| entry.name == LOCK_FILE));
        if !self.version.has(Gate::NoLockFile) && !locked() {
            write_file(storage, LOCK_FILE, &[], self.durability)?;
        }
        for (place, files) in &self.labels {
            let array = Below::new(storage, place.as_str());
            make(&array, "")?;
            files.begin(&array)?;
            files.finish(&array)?;
        }
        Ok(())
    }

    /// Makes it an array: everything else must already exist.
    pub(super) fn finish(&self, storage: &dyn WriteStorage) -> Result<()> {
        let (mut folders, of_schemas) = self.folders();
        of_schemas.iter().try_for_each(|folder| make(storage, folder))?;
        for (key, bytes) in &self.enumerations {
            write_file(storage, key, bytes, self.durability)?;
        }
        folders.extend(of_schemas);
        let sync = || -> Result<()> {
            let folders = folders.iter().rev().map(String::as_str).chain([""]);
            folders.into_iter().try_for_each(|folder| sync_folder(storage, folder, self.durability))
        };
        sync()?;
        let (key, bytes) = &self.schema;
        put(storage, key, bytes, self.durability)?;
        sync()
    }
}

/// The enumerations that the schema refers to; the given ones must be exactly those.
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
fn label_schema(schema: &ArraySchema, label: &DimensionLabel, options: &WriteOptions) -> Result<ArraySchema> {
    let problem = |problem: SchemaProblem| WriteError::Schema(Box::new(problem.into()));
    let index = usize::try_from(label.dimension).unwrap_or(usize::MAX);
    let dimension = schema.domain.dimensions.get(index);
    let dimension = dimension.ok_or_else(|| problem(SchemaProblem::Label(label.name.clone())))?;
    if !label.uri.split('/').all(tdb_fragment::is_plain_name) {
        return Err(problem(SchemaProblem::Label(label.name.clone())).into());
    }
    let mut dimension = dimension.clone().with_filters(Pipeline::default());
    "index".clone_into(&mut dimension.name);
    let mut attribute = Attribute::new(label.attribute.clone(), label.datatype, label.cell_val_num);
    attribute.order = label.order;
    if let Some((_, filters)) = options.label_filters.iter().rev().find(|(name, _)| *name == label.name) {
        attribute.filters.clone_from(filters);
    }
    if let Some((_, extent)) = options.label_tiles.iter().rev().find(|(name, _)| *name == label.name) {
        dimension = dimension.with_tile_bytes(extent.clone());
    }
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
    storage::write_file(storage, key, bytes, durability)
        .map_err(|error| Error::io(storage.describe(key), error))
}

/// A payload as a generic tile, encrypted if there is a key. Its header has the newest version of
/// this library, like those of libtiledb.
pub fn generic_tile(payload: &[u8], key: Option<&Key>, scratch: &mut Scratch) -> Result<Vec<u8>> {
    generic_tile_in(FormatVersion::CURRENT, payload, key, scratch)
}

/// A generic tile whose header has the version of the array: libraries of that age know no later
/// one.
pub(super) fn generic_tile_in(
    version: FormatVersion,
    payload: &[u8],
    key: Option<&Key>,
    scratch: &mut Scratch,
) -> Result<Vec<u8>> {
    let tile = GenericTile::encode_with(payload, version, key, scratch);
    Ok(tile.map_err(|error| WriteError::Filter { field: "metadata".to_owned(), error: error.into() })?)
}
