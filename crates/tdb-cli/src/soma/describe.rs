//! An object of SOMA as JSON, and the texts that both outputs have.

use serde_json::{Map, Value, json};
use tdb_array::Array;
use tdb_array::schema::{ArrayMetadata, MetadataValue};
use tdb_array::storage::{location_without_secrets, without_secrets};
use tdb_soma::{Content, Error, Kind, Object, TableColumn};
use tdb_text::report::metadata_json;
use tdb_text::value::{cell_json, cell_plain};

/// The entries of the metadata that say what an object is, which are shown as such.
const MARKS: [&str; 6] = [
    "soma_object_type",
    "soma_encoding_version",
    "soma_spatial_encoding_version",
    "soma_tiledbsoma_type",
    "soma_dataframe_original_index_name",
    "dataset_type",
];

/// An object and everything below it. What cannot be read has its error in its place, and is
/// counted.
pub(super) fn json(object: &Object, failed: &mut usize) -> Map<String, Value> {
    let mut own = Map::new();
    let mut tell = |key: &str, value: Value| drop(own.insert(key.to_owned(), value));
    tell("name", json!(object.name));
    tell("path", json!(object.path));
    tell("location", json!(location_without_secrets(&object.location)));
    tell("type", json!(object.kind_name()));
    tell("encoding_version", json!(object.encoding_version()));
    if let Some(version) = object.spatial_encoding_version() {
        tell("spatial_encoding_version", json!(version));
    }
    let error = match &object.content {
        Content::Array(array) => match array_json(object, array) {
            Ok(described) => {
                described.into_iter().for_each(|(key, value)| tell(&key, value));
                None
            }
            Err(error) => Some(without_secrets(&error.to_string()).into_owned()),
        },
        Content::Members(members) => {
            tell("bytes", json!(bytes(object)));
            tell("members", members.iter().map(|member| Value::Object(json(member, failed))).collect());
            None
        }
        Content::Unreadable(why) => Some(why.clone()),
    };
    if let Some(error) = error {
        *failed = failed.saturating_add(1);
        tell("error", json!(error));
    }
    tell("metadata", metadata_json(&object.metadata));
    own
}

fn array_json(object: &Object, array: &Array) -> Result<Map<String, Value>, Error> {
    let mut own = Map::new();
    let mut tell = |key: &str, value: Value| drop(own.insert(key.to_owned(), value));
    tell("array_type", json!(array.schema().array_type.name()));
    tell("shape", json!(tdb_soma::shape(array)));
    tell("largest_shape", json!(tdb_soma::largest_shape(array)));
    tell("bytes", json!(tdb_soma::bytes(array)));
    tell("fragments", json!(array.fragments().len()));
    if object.kind.is_some_and(Kind::is_table) {
        tell("cells", json!(tdb_soma::rows(array)?));
        tell("cells_are_exact", json!(true));
        tell("columns", tdb_soma::columns(array)?.iter().map(column_json).collect());
    } else {
        let stored = array.stored_cells();
        tell("cells", json!(stored.map(|stored| stored.cells)));
        tell("cells_are_exact", json!(stored.is_some_and(|stored| stored.is_exact)));
        tell("datatype", json!(values_type(array)));
    }
    Ok(own)
}

fn column_json(column: &TableColumn) -> Value {
    let value = |value: &Vec<u8>| cell_json(column.datatype, column.cell_val_num, value);
    let enumeration = column.values.as_ref().map(|(values, ordered)| {
        let values: Vec<Value> = values.iter().map(value).collect();
        json!({"name": column.enumeration, "ordered": ordered, "values": values})
    });
    json!({
        "name": column.name,
        "datatype": column.datatype.name(),
        "nullable": column.nullable,
        "index": column.is_index,
        "enumeration": enumeration,
    })
}

/// The type of the values of a matrix.
pub(super) fn values_type(array: &Array) -> Option<&'static str> {
    array.schema().attribute(tdb_soma::DATA).map(|attribute| attribute.datatype.name())
}

/// The bytes of an object and of everything below it.
pub(super) fn bytes(object: &Object) -> u64 {
    let arrays = object.all().into_iter().filter_map(Object::array);
    arrays.fold(0, |sum, array| sum.saturating_add(tdb_soma::bytes(array)))
}

/// The versions of the encoding that an object and what is below it say.
pub(super) fn versions(object: &Object, of: fn(&Object) -> Option<&str>) -> String {
    let mut found: Vec<&str> = object.all().into_iter().filter_map(of).collect();
    found.sort_unstable();
    found.dedup();
    found.join(", ")
}

/// The entries of the metadata that are not SOMA's marks.
pub(super) fn entries(metadata: &ArrayMetadata) -> impl Iterator<Item = (&[u8], &MetadataValue)> {
    metadata.iter().filter(|(key, _)| !MARKS.iter().any(|mark| mark.as_bytes() == *key))
}

/// A value of an enumeration as text.
pub(super) fn value_text(column: &TableColumn, value: &[u8]) -> String {
    cell_plain(column.datatype, column.cell_val_num, value)
}
