//! The description as JSON.

use serde_json::{Map, Value, json};
use tdb_text::report::{fragment_json, metadata_json};
use tdb_text::schema::{ranges_json, to_json};

use super::Info;

pub(super) fn describe(info: &Info) -> Value {
    let array = &info.array;
    let own = array.schema();
    let mut object = Map::new();
    let mut tell = |key: &str, value: Value| drop(object.insert(key.to_owned(), value));
    tell("array", json!(array.describe("")));
    tell("schema", json!(array.schema_key()));
    tell("schemas", json!(array.schema_keys()));
    tell("timestamps", json!(info.window.1));
    tell("lock_file", json!(array.has_lock_file()));
    tell("updates", array.updates().collect());
    tell("non_empty_domain", json!(array.non_empty_domain().map(|domain| ranges_json(own, &domain))));
    if let Value::Object(properties) = to_json(own, &info.enumerations) {
        properties.into_iter().for_each(|(key, value)| tell(&key, value));
    }
    tell("fragments", array.fragments().iter().map(|one| fragment_json(one)).collect());
    tell("metadata", metadata_json(&info.metadata));
    Value::Object(object)
}
