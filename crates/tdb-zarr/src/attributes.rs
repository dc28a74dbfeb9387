//! Key-value metadata as attributes of nodes.

use serde_json::{Map, Value};
use tdb_array::schema::{ArrayMetadata, MetadataValue, field_key};
use tdb_text::report::count_of;
use tdb_text::value::{cell_json, escape_bytes};

/// A key as text.
fn text(key: &[u8]) -> String {
    core::str::from_utf8(key).map_or_else(|_| escape_bytes(key), str::to_owned)
}

fn json(value: &MetadataValue) -> Value {
    cell_json(value.datatype, count_of(value), &value.data)
}

/// The attributes of a whole array or group: all metadata but those of its fields.
pub(crate) fn of_all(metadata: &ArrayMetadata) -> Map<String, Value> {
    let own = metadata.iter().map(|(key, value)| (text(key), value));
    let own = own.filter(|(key, _)| !key.starts_with("__tiledb_attr.") && !key.starts_with("__tiledb_dim."));
    own.map(|(key, value)| (key, json(value))).collect()
}

/// The attributes of a field: metadata whose key says so, by the convention of TileDB-CF.
pub(crate) fn of_field(metadata: &ArrayMetadata, field: &str, is_dimension: bool) -> Map<String, Value> {
    let prefix = field_key(field, is_dimension, "");
    let found = metadata.iter().filter_map(|(key, value)| {
        let key = text(key);
        Some((key.strip_prefix(&prefix)?.to_owned(), json(value)))
    });
    found.collect()
}
