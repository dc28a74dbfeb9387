//! Array metadata: key-value pairs in addition to the cells (specification, "Metadata"). Groups use
//! the same files.

use std::collections::BTreeMap;

use tdb_codec::{Datatype, ErrorKind, FieldRow, Reader, Result, Structure, Wire, Writer, to_u32, to_u64};

/// The table of a metadata file.
pub(crate) static TABLE: Structure = Structure::new(
    "array metadata",
    &[FieldRow::new("records", Wire::Structure(&RECORD)).each("key, to the payload's end")],
)
.code("MetadataEntry::parse_all", "MetadataEntry::write_all");

static RECORD: Structure = Structure::new(
    "metadata record",
    &[
        FieldRow::new("metadata key", Wire::String32),
        FieldRow::new("metadata deleted", Wire::U8),
        FieldRow::new("metadata datatype", Wire::U8).when("not deleted"),
        FieldRow::new("metadata value count", Wire::U32).when("not deleted"),
        FieldRow::new("metadata value", Wire::Bytes).when("not deleted").note("count × size of the datatype"),
    ],
);

/// A typed metadata value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetadataValue {
    /// Type of the elements.
    pub datatype: Datatype,
    /// Little-endian elements; may be empty.
    pub data: Vec<u8>,
}

impl MetadataValue {
    /// Number of elements.
    #[must_use]
    pub const fn count(&self) -> usize {
        match self.data.len().checked_div(self.datatype.size()) {
            Some(count) => count,
            None => 0,
        }
    }
}

/// One record of a metadata file. The table of its fields is "metadata record" in
/// [`STRUCTURES`](crate::STRUCTURES).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetadataEntry {
    /// The key; it can be any bytes.
    pub key: Vec<u8>,
    /// The value, or `None` if the record deletes the key.
    pub value: Option<MetadataValue>,
}

impl MetadataEntry {
    /// Reads the records of one metadata file's payload, in file order.
    ///
    /// # Errors
    /// If the payload is truncated or a datatype is unknown.
    ///
    /// ```
    /// use tdb_schema::MetadataEntry;
    ///
    /// // key "k", not deleted, INT32 (0), one element: 7
    /// let payload = [1, 0, 0, 0, b'k', 0, 0, 1, 0, 0, 0, 7, 0, 0, 0];
    /// let entries = MetadataEntry::parse_all(&payload)?;
    /// assert_eq!(entries[0].key, b"k");
    /// assert_eq!(entries[0].value.as_ref().unwrap().data, 7i32.to_le_bytes());
    /// # Ok::<(), tdb_codec::Error>(())
    /// ```
    pub fn parse_all(payload: &[u8]) -> Result<Vec<Self>> {
        Self::parse_all_from(Reader::new(payload))
    }

    /// Reads the records with a reader from the caller, for example a traced one.
    ///
    /// # Errors
    /// As [`Self::parse_all`].
    pub fn parse_all_from(mut reader: Reader<'_>) -> Result<Vec<Self>> {
        let mut entries = Vec::new();
        while !reader.is_empty() {
            let key = reader.bytes_u32("metadata key")?.to_vec();
            let deleted = reader.bool("metadata deleted")?;
            let value = if deleted {
                None
            } else {
                let datatype = reader.datatype("metadata datatype")?;
                let start = reader;
                let count = reader.u32("metadata value count")?;
                let len = u64::from(count).checked_mul(to_u64(datatype.size())).ok_or_else(|| {
                    start.error("metadata value count", ErrorKind::Overflow { value: u64::from(count) })
                })?;
                Some(MetadataValue { datatype, data: reader.take_u64(len, "metadata value")?.to_vec() })
            };
            entries.push(Self { key, value });
        }
        Ok(entries)
    }

    /// The payload of a metadata file with these records, in this order.
    ///
    /// # Errors
    /// If a key or value is 4 GiB or more.
    pub fn write_all(entries: &[Self]) -> Result<Vec<u8>> {
        let mut writer = Writer::new();
        for entry in entries {
            writer.bytes_u32(&entry.key, "metadata key")?;
            writer.bool(entry.value.is_none());
            if let Some(value) = &entry.value {
                writer.u8(value.datatype.code());
                let count = to_u32(value.count()).ok_or_else(|| {
                    let value = to_u64(value.count());
                    tdb_codec::Error::new("metadata value count", 0, ErrorKind::Overflow { value })
                })?;
                writer.u32(count);
                writer.bytes(&value.data);
            }
        }
        Ok(writer.into_vec())
    }
}

/// The key of an array's metadata under which a field has a property: `__tiledb_attr.NAME.KEY`, or
/// `__tiledb_dim.NAME.KEY` of a dimension. It is a convention of programs (TileDB-CF, xarray), not
/// a part of the format.
///
/// ```
/// use tdb_schema::{TIMEZONE, field_key};
///
/// assert_eq!(field_key("seen", false, TIMEZONE), "__tiledb_attr.seen.timezone");
/// ```
#[must_use]
pub fn field_key(field: &str, is_dimension: bool, key: &str) -> String {
    let prefix = if is_dimension { "__tiledb_dim" } else { "__tiledb_attr" };
    format!("{prefix}.{field}.{key}")
}

/// The property of a field that is the time zone of its times, which are stored as times of UTC.
pub const TIMEZONE: &str = "timezone";

/// The metadata of an array or group: the result of applying all its files in time order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArrayMetadata {
    entries: BTreeMap<Vec<u8>, MetadataValue>,
}

impl ArrayMetadata {
    /// Applies one file's records: later ones replace or remove earlier ones.
    pub fn apply(&mut self, entries: Vec<MetadataEntry>) {
        for MetadataEntry { key, value } in entries {
            match value {
                Some(value) => {
                    self.entries.insert(key, value);
                }
                None => {
                    self.entries.remove(&key);
                }
            }
        }
    }

    /// The value of a key.
    pub fn get(&self, key: impl AsRef<[u8]>) -> Option<&MetadataValue> {
        self.entries.get(key.as_ref())
    }

    /// Keys and values in key order (bytewise).
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &MetadataValue)> {
        self.entries.iter().map(|(key, value)| (key.as_slice(), value))
    }

    /// Number of keys.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are no keys.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(key: &[u8], data: &[u8]) -> MetadataEntry {
        let value = Some(MetadataValue { datatype: Datatype::Uint8, data: data.to_vec() });
        MetadataEntry { key: key.to_vec(), value }
    }

    #[test]
    fn later_files_replace_and_delete_keys() {
        let mut metadata = ArrayMetadata::default();
        metadata.apply(vec![put(b"a", &[1]), put(b"b", &[2])]);
        metadata.apply(vec![put(b"a", &[3]), MetadataEntry { key: b"b".to_vec(), value: None }]);
        assert_eq!(metadata.get("a").unwrap().data, [3]);
        assert_eq!(metadata.get("b"), None);
    }

    #[test]
    fn records_round_trip_and_every_truncation_inside_a_record_is_refused() {
        let entries =
            vec![put(b"", &[]), put(b"key", &[1, 2]), MetadataEntry { key: vec![0xff], value: None }];
        let bytes = MetadataEntry::write_all(&entries).unwrap();
        assert_eq!(MetadataEntry::parse_all(&bytes).unwrap(), entries);
        let whole: Vec<usize> =
            (0..=3).map(|n| MetadataEntry::write_all(&entries[..n]).unwrap().len()).collect();
        for len in 0..bytes.len() {
            assert_eq!(MetadataEntry::parse_all(&bytes[..len]).is_ok(), whole.contains(&len), "{len}");
        }
    }

    #[test]
    fn keys_are_listed_in_their_order_with_their_values() {
        let mut metadata = ArrayMetadata::default();
        assert!(metadata.is_empty());
        metadata.apply(vec![put(b"b", &[2, 3]), put(b"a", &[1])]);
        assert_eq!((metadata.len(), metadata.is_empty()), (2, false));
        let listed: Vec<_> = metadata.iter().map(|(key, value)| (key, value.data.as_slice())).collect();
        assert_eq!(listed, [(&b"a"[..], &[1][..]), (b"b", &[2, 3])]);
    }

    #[test]
    fn a_value_has_as_many_elements_as_fit_its_bytes() {
        let count = |datatype, len| MetadataValue { datatype, data: vec![0; len] }.count();
        assert_eq!(
            (count(Datatype::Int32, 12), count(Datatype::Uint8, 3), count(Datatype::Int64, 0)),
            (3, 3, 0)
        );
        let value = MetadataValue { datatype: Datatype::Int32, data: vec![1, 0, 0, 0, 2, 0, 0, 0] };
        let entry = MetadataEntry { key: b"k".to_vec(), value: Some(value) };
        let bytes = MetadataEntry::write_all(std::slice::from_ref(&entry)).unwrap();
        assert_eq!(bytes, [&[1, 0, 0, 0, b'k', 0, 0, 2, 0, 0, 0][..], &[1, 0, 0, 0, 2, 0, 0, 0]].concat());
        assert_eq!(MetadataEntry::parse_all(&bytes).unwrap(), [entry]);
    }
}
