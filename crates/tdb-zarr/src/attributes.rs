//! Key-value metadata as attributes of nodes.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use tdb_array::schema::{ArrayMetadata, MetadataValue, field_key};
use tdb_text::report::count_of;
use tdb_text::value::{cell_json, escape_bytes};

/// The beginning of keys of metadata whose values are attributes as JSON, which metadata have no
/// types for: objects, nulls, lists of lists. The rest of the key is the attribute's name.
pub const JSON: &str = "__zarr_json.";

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
    let own = own.filter(|(key, _)| !is_of_field(key));
    own.map(|(key, value)| shown(key, value)).collect()
}

/// An attribute of a key. What is no JSON although its key says so is shown as it is.
fn shown(key: String, value: &MetadataValue) -> (String, Value) {
    let parsed =
        key.strip_prefix(JSON).and_then(|name| Some((name, serde_json::from_slice(&value.data).ok()?)));
    match parsed {
        Some((name, parsed)) => (name.to_owned(), parsed),
        None => (key, json(value)),
    }
}

/// The metadata of an array's fields: those whose key says so, by the convention of TileDB-CF. In
/// order, so that those of one field are found among those of many.
#[derive(Debug)]
pub(crate) struct OfFields(BTreeMap<String, Value>);

impl OfFields {
    pub(crate) fn new(metadata: &ArrayMetadata) -> Self {
        let own = metadata.iter().map(|(key, value)| (text(key), value));
        let own = own.filter(|(key, _)| is_of_field(key));
        Self(own.map(|(key, value)| (key, json(value))).collect())
    }

    /// The attributes of a field.
    pub(crate) fn field(&self, field: &str, is_dimension: bool) -> Map<String, Value> {
        let prefix = field_key(field, is_dimension, "");
        let found = self.0.range(prefix.clone()..);
        let found = found.map_while(|(key, value)| Some((key.strip_prefix(&prefix)?, value)));
        found.map(|(key, value)| (key.to_owned(), value.clone())).collect()
    }
}

fn is_of_field(key: &str) -> bool {
    key.starts_with("__tiledb_attr.") || key.starts_with("__tiledb_dim.")
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tdb_array::schema::Datatype;

    use super::*;

    #[test]
    fn attributes_that_are_stored_as_json_are_shown_as_they_were() {
        let value = |text: &str| MetadataValue { datatype: Datatype::StringUtf8, data: text.into() };
        let stored = shown(format!("{JSON}a.b"), &value("{\"c\": [null, 1]}"));
        assert_eq!(stored, ("a.b".to_owned(), json!({"c": [null, 1]})));
        let other = shown(format!("{JSON}a"), &value("{"));
        assert_eq!(other, ("__zarr_json.a".to_owned(), json!("{")));
        assert_eq!(shown("a".to_owned(), &value("[1]")), ("a".to_owned(), json!("[1]")));
    }
}
