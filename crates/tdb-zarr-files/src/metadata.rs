//! Attributes as metadata. `tdb-zarr` shows them as the same attributes again.

use serde_json::{Map, Number, Value};
use tdb_array::schema::{Datatype, MetadataValue};
use tdb_array::write::MetadataChanges;
use tdb_text::report::count_of;
use tdb_text::value::cell_json;

/// The metadata of attributes.
pub(crate) fn changes(attributes: &Map<String, Value>) -> MetadataChanges {
    attributes.iter().fold(MetadataChanges::new(), |changes, (key, value)| {
        // Only what comes back as it is gets a type of its own.
        let same =
            |stored: &MetadataValue| cell_json(stored.datatype, count_of(stored), &stored.data) == *value;
        let is_plain = !key.is_empty() && !key.starts_with("__");
        match typed(value).filter(|stored| is_plain && same(stored)) {
            Some(stored) => changes.put(key.as_str(), stored),
            None => changes.put_text(format!("{}{key}", tdb_zarr::JSON), &value.to_string()),
        }
    })
}

/// A value of the type that fits.
fn typed(value: &Value) -> Option<MetadataValue> {
    let stored = |datatype, data: Vec<u8>| Some(MetadataValue { datatype, data });
    match value {
        Value::Bool(value) => stored(Datatype::Bool, vec![u8::from(*value)]),
        Value::String(text) => stored(Datatype::StringUtf8, text.clone().into_bytes()),
        Value::Number(number) => numbers(core::slice::from_ref(number)),
        Value::Array(list) => {
            let list: Option<Vec<Number>> = list.iter().map(|value| value.as_number().cloned()).collect();
            numbers(&list?)
        }
        _ => None,
    }
}

/// Numbers of one type.
fn numbers(list: &[Number]) -> Option<MetadataValue> {
    let stored =
        |datatype, values: Option<Vec<[u8; 8]>>| Some(MetadataValue { datatype, data: values?.concat() });
    let whole = || list.iter().map(|number| number.as_i64().map(i64::to_le_bytes)).collect();
    let positive = || list.iter().map(|number| number.as_u64().map(u64::to_le_bytes)).collect();
    let real = || {
        let value = |number: &Number| number.as_f64().filter(|_| number.is_f64()).map(f64::to_le_bytes);
        list.iter().map(value).collect()
    };
    stored(Datatype::Int64, whole())
        .or_else(|| stored(Datatype::Uint64, positive()))
        .or_else(|| stored(Datatype::Float64, real()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tdb_array::schema::{ArraySchema, Attribute, Dimension};
    use tdb_array::storage::MemoryStorage;
    use tdb_array::{OpenOptions, WriteOptions};
    use tdb_zarr::{Hierarchy, Options, Span};

    use super::*;

    #[test]
    fn attributes_become_metadata_with_types_and_come_back_as_they_were() {
        let attributes = json!({
            "units": "K", "empty": "", "nothing": null, "yes": true, "count": 3, "large": u64::MAX, "small": -1,
            "real": 1.5, "whole": 2.0, "tiny": 1e-300, "limits": [1, 2], "mixed": [1, 2.5], "reals": [0.5, 1e300],
            "one": [1], "none": [], "texts": ["a", "b"], "nested": {"a": [{"b": null}]}, "__own": 1, "": 2,
            "__tiledb_attr.a.units": "m", "unicode é": "ü\n\u{0}", "bools": [true, false], "nan": "nan",
            "long": [9007199254740993i64, 1],
        });
        let attributes = attributes.as_object().unwrap();
        let schema = ArraySchema::dense()
            .dimension(Dimension::new("x", 0i32..=9).with_tile(10i32))
            .attribute(Attribute::of::<i32>("a"))
            .build()
            .unwrap();
        let storage = MemoryStorage::default();
        WriteOptions::new().create_storage(&storage, &schema).unwrap();
        let writer = WriteOptions::new().open_storage(storage.clone()).unwrap();
        writer.write_metadata(&changes(attributes)).unwrap();
        let array = OpenOptions::new().open_storage(storage).unwrap();
        let metadata = array.metadata().unwrap();
        let datatype = |key: &str| metadata.get(key.as_bytes()).map(|value| (value.datatype, value.count()));
        assert_eq!(datatype("units"), Some((Datatype::StringUtf8, 1)));
        assert_eq!(datatype("limits"), Some((Datatype::Int64, 2)));
        assert_eq!(datatype("whole"), Some((Datatype::Float64, 1)));
        assert_eq!(datatype("nested"), None);
        let hierarchy = Hierarchy::new(&array, &Options::new()).unwrap();
        let shown = hierarchy.get(".zattrs", Span::All).unwrap().unwrap();
        let shown: Value = serde_json::from_slice(&shown).unwrap();
        for (key, value) in attributes {
            assert_eq!(shown.get(key), Some(value), "{key}");
        }
        assert_eq!(shown.as_object().unwrap().len(), attributes.len());
    }
}
