//! Writing key-value metadata: one file for each set of changes.

use std::collections::BTreeMap;

use tdb_codec::{Datatype, FormatVersion, Gate, Native};
use tdb_schema::{MetadataEntry, MetadataValue};

use crate::create::generic_tile;
use crate::names::{Names, Nonces};
use crate::paths::METADATA;
use crate::put::{ensure_folder, put};
use crate::storage::{WriteStorage, join};
use crate::{ArrayWriter, WriteOptions};
use crate::{Error, Result};

const WHAT: &str = "writing metadata";

/// Changes to the key-value metadata of an array or a group. If a key is changed several times, the
/// last change counts.
///
/// ```
/// use tdb_array::schema::Datatype;
/// use tdb_array::write::MetadataChanges;
///
/// let changes = MetadataChanges::new()
///     .put_text("units", "kelvin")
///     .put_values("limits", Datatype::Float64, &[180.0f64, 330.0])
///     .remove("draft");
/// assert!(!changes.is_empty());
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[must_use = "changes do nothing until they are written"]
pub struct MetadataChanges {
    /// The new value of each key; `None` if it is removed.
    changes: BTreeMap<Vec<u8>, Option<MetadataValue>>,
}

impl MetadataChanges {
    /// No change.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets a key to a value.
    pub fn put(mut self, key: impl Into<Vec<u8>>, value: MetadataValue) -> Self {
        self.changes.insert(key.into(), Some(value));
        self
    }

    /// Sets a key to typed values.
    pub fn put_values<T: Native>(self, key: impl Into<Vec<u8>>, datatype: Datatype, values: &[T]) -> Self {
        self.put(key, MetadataValue { datatype, data: bytemuck::cast_slice(values).to_vec() })
    }

    /// Sets a key to a text.
    pub fn put_text(self, key: impl Into<Vec<u8>>, text: &str) -> Self {
        self.put(key, MetadataValue { datatype: Datatype::StringUtf8, data: text.as_bytes().to_vec() })
    }

    /// Removes a key; it need not exist.
    pub fn remove(mut self, key: impl Into<Vec<u8>>) -> Self {
        self.changes.insert(key.into(), None);
        self
    }

    /// Whether there is nothing to write.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// Checks that an array of `version` can store the changes, and that every release that wrote
    /// this version can read them.
    ///
    /// # Errors
    /// A version without metadata, or the first key whose value has a datatype that was introduced
    /// later.
    pub fn check_version(&self, version: FormatVersion) -> Result<()> {
        if !self.is_empty() && !version.has(Gate::ArrayMetadata) {
            return Err(Error::refused(WHAT, format!("arrays of format version {version} have no metadata")));
        }
        for (key, value) in &self.changes {
            let datatype = value.as_ref().map(|value| value.datatype);
            let late = |datatype: &Datatype| datatype.gate().is_some_and(|gate| !version.has(gate));
            if let Some(datatype) = datatype.filter(late) {
                let key = key.escape_ascii();
                let why =
                    format!("format version {version} cannot hold the datatype {datatype} of key \"{key}\"");
                return Err(Error::refused(WHAT, why));
            }
        }
        Ok(())
    }

    /// The payload of a metadata file: keys in byte order, as in libtiledb.
    fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut entries = Vec::with_capacity(self.changes.len());
        for (key, value) in &self.changes {
            let refuse = |why: &str| {
                let why = format!("the value of key \"{}\" {why}", key.escape_ascii());
                Err(Error::refused(WHAT, why))
            };
            if let Some(value) = value {
                if value.datatype == Datatype::Any {
                    return refuse("is of type ANY, which metadata cannot have");
                }
                if !value.data.len().is_multiple_of(value.datatype.size()) {
                    return refuse("does not have a whole number of elements");
                }
            }
            entries.push(MetadataEntry { key: key.clone(), value: value.clone() });
        }
        MetadataEntry::write_all(&entries).map_err(|error| Error::refused(WHAT, error.to_string()))
    }

    /// Writes the changes in addition to existing ones; returns the file's key, or `None` if there
    /// are no changes.
    #[doc(hidden)]
    pub fn write(&self, storage: &dyn WriteStorage, options: &WriteOptions) -> Result<Option<String>> {
        if self.is_empty() {
            return Ok(None);
        }
        let payload = self.to_bytes()?;
        let mut scratch = Nonces::new()?.scratch();
        let bytes = generic_tile(&payload, options.key.as_ref(), &mut scratch)?;
        let name = Names::behind(storage, METADATA, options.when()?)?.next_file()?;
        let key = join(METADATA, &name.to_string());
        ensure_folder(storage, METADATA, options.durability)?;
        put(storage, &key, &bytes, options.durability)?;
        Ok(Some(key))
    }
}

impl ArrayWriter {
    /// Writes changes to the array's key-value metadata; they all take effect at once. Returns the
    /// new file's key, or `None` if there was nothing to change.
    ///
    /// # Errors
    /// A value of type ANY, of a type that the array's version does not have, or with an incomplete
    /// element, or any I/O error of the storage. The array is unchanged then.
    pub fn write_metadata(&self, changes: &MetadataChanges) -> Result<Option<String>> {
        changes.check_version(self.schema.version)?;
        let written = changes.write(&*self.storage, &self.options)?;
        written.iter().try_for_each(|_| self.renew_manifest(&[]))?;
        Ok(written)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_of_types_that_came_after_a_version_is_refused_by_key() {
        let version = |number| FormatVersion::parse(number).unwrap();
        let said = |changes: &MetadataChanges, number| {
            changes.check_version(version(number)).map_err(|error| error.to_string())
        };
        let flag = MetadataValue { datatype: Datatype::Bool, data: vec![1] };
        let changes = MetadataChanges::new().put_text("plain", "x").put("flag", flag).remove("gone");
        assert_eq!(said(&changes, 14), Ok(()));
        let refused = said(&changes, 13).unwrap_err();
        assert!(
            refused.ends_with("format version 13 cannot hold the datatype BOOL of key \"flag\""),
            "{refused}"
        );
        let plain = MetadataChanges::new().put_text("plain", "x");
        assert_eq!(said(&plain, 4), Ok(()));
        assert!(said(&plain, 3).unwrap_err().ends_with("arrays of format version 3 have no metadata"));
        assert_eq!(said(&MetadataChanges::new(), 3), Ok(()));
    }

    #[test]
    fn what_metadata_cannot_be_is_refused_by_key() {
        let value = |datatype, data: &[u8]| MetadataValue { datatype, data: data.to_vec() };
        for (bad, why) in
            [(value(Datatype::Any, &[]), "ANY"), (value(Datatype::Int32, &[1, 2, 3]), "whole number")]
        {
            let error = MetadataChanges::new().put(*b"k\xff", bad).to_bytes().unwrap_err().to_string();
            assert!(error.contains("k\\xff") && error.contains(why), "{error}");
        }
        assert!(MetadataChanges::new().is_empty());
    }

    #[test]
    fn keys_are_stored_in_the_order_of_their_bytes_and_the_last_change_counts() {
        let changes = MetadataChanges::new().put_text("b", "x").remove("a").remove("b").put_text("c", "");
        let entries = MetadataEntry::parse_all(&changes.to_bytes().unwrap()).unwrap();
        let keys: Vec<_> =
            entries.iter().map(|entry| (entry.key.as_slice(), entry.value.is_some())).collect();
        assert_eq!(keys, [(&b"a"[..], false), (b"b", false), (b"c", true)]);
    }
}
