//! Helpers for several tests.
#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "no test uses all of it, and a test that panics has failed"
)]

use std::fs;
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use tdb_array::schema::{ArraySchema, ArrayType, Dimension, Enumeration};
use tdb_array::storage::MemoryStorage;
use tdb_array::{Array, Cells, Key, Layout, OpenOptions, Read, WriteOptions};
use tdb_arrow::Mapping;

/// The arrays among the fixtures: identifier, folder and key.
pub(crate) fn fixtures() -> Vec<(String, PathBuf, Option<String>)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../xtask/fixtures");
    let manifest = fs::read(root.join("manifest.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_slice(&manifest).unwrap();
    let entries = manifest.as_array().unwrap().iter().filter(|entry| entry["object"].is_null());
    let fixture = |entry: &serde_json::Value| {
        let id = entry["id"].as_str().unwrap().to_owned();
        let folder = root.join("arrays").join(&id);
        (id, folder, entry["key"].as_str().map(str::to_owned))
    };
    entries.map(fixture).collect()
}

/// An array of the newest release.
pub(crate) fn fixture(name: &str) -> Array {
    Array::open(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../xtask/fixtures/arrays/2.30.0").join(name))
        .unwrap()
}

pub(crate) fn open(folder: &Path, key: Option<&str>) -> Array {
    let mut options = OpenOptions::new().threads(1);
    if let Some(key) = key {
        options = options.key(Key::new(key.as_bytes()[..32].try_into().unwrap()));
    }
    options.open(folder).unwrap()
}

/// Everything that was written to an array; for a dense array a box. In row-major order, because
/// the global order of old fragments may differ from the current one.
pub(crate) fn whole(array: &Array) -> Option<Read> {
    if array.schema().array_type == ArrayType::Sparse {
        let fields = array.schema().fields().map(|field| field.name.to_owned());
        return Some(array.read().fields(fields).order(Layout::RowMajor));
    }
    let attributes = array.schema().attributes.iter().map(|attribute| attribute.name.clone());
    let mut read = array.read().fields(attributes).order(Layout::RowMajor);
    for (range, dimension) in array.bounds()?.iter().zip(&array.schema().domain.dimensions) {
        read = read.range_bytes(&dimension.name, Some(range.low.clone()), Some(range.high.clone()));
    }
    Some(read)
}

/// A new sparse array of one string dimension, `key`, and these attributes.
pub(crate) fn sparse(attributes: Vec<tdb_array::schema::Attribute>) -> ArraySchema {
    let builder = ArraySchema::sparse().dimension(Dimension::string("key")).allow_duplicates();
    attributes.into_iter().fold(builder, tdb_array::schema::SchemaBuilder::attribute).build().unwrap()
}

/// Writes a batch to a new sparse array, and reads it back.
pub(crate) fn written(
    batch: &RecordBatch,
    schema: &ArraySchema,
    enumerations: Vec<Enumeration>,
) -> tdb_arrow::Result<Array> {
    let storage = MemoryStorage::default();
    let create = enumerations.iter().cloned().fold(WriteOptions::new(), WriteOptions::enumeration);
    create.create_storage(&storage, schema)?;
    let writer = WriteOptions::new().threads(1).any_codes().open_storage(storage.clone())?;
    let mapping = Mapping::new(schema, enumerations, tdb_arrow::Options::new())?;
    let cells = mapping.write_batch(batch)?;
    cells.columns().into_iter().fold(writer.write(), tdb_array::Write::column).commit()?;
    Ok(OpenOptions::new().threads(1).open_storage(storage)?)
}

/// Asserts that all columns have the same bytes.
pub(crate) fn assert_same(mine: &Cells, theirs: &Cells, what: &str) {
    assert_eq!(mine.len(), theirs.len(), "{what}");
    assert_eq!(mine.columns().len(), theirs.columns().len(), "{what}");
    for (mine, theirs) in mine.columns().iter().zip(theirs.columns()) {
        let what = format!("{what}: {}", theirs.name);
        assert_eq!(mine.validity(), theirs.validity(), "{what}");
        assert_eq!(mine.offsets(), theirs.offsets(), "{what}");
        assert_eq!(mine.bytes(), theirs.bytes(), "{what}");
    }
}
