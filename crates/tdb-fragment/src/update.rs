//! Updates: a condition and the new values for its cells (`.upd` files, version 16 on,
//! experimental).

use tdb_codec::{FieldRow, FormatVersion, Gate, Reader, Result, Structure, Wire, Writer, to_u64};

use crate::{Condition, condition};

/// The table of an update file.
pub(crate) static TABLE: Structure = Structure::new(
    "update",
    &[
        FieldRow::new("condition", Wire::Structure(&condition::NODE)).note("negated, as in delete files"),
        FieldRow::new("update value count", Wire::U64),
        FieldRow::new("update values", Wire::Structure(&VALUE)).each("value"),
    ],
)
.since(Gate::DeleteFiles)
.code("Update::parse", "Update::to_bytes");

static VALUE: Structure = Structure::new(
    "update value",
    &[
        FieldRow::new("update field name", Wire::String64).note("in conditions, names have u32 lengths"),
        FieldRow::new("update value", Wire::String64),
    ],
);

/// The payload of a `.upd` file.
///
/// The table of its fields is "update" in [`STRUCTURES`](crate::STRUCTURES).
///
/// No released library returns the new values: in libtiledb 2.30, the cells of an update disappear
/// like those of a delete. A name has a `u64` length here and a `u32` length inside the condition.
///
/// ```
/// use tdb_codec::FormatVersion;
/// use tdb_fragment::Update;
///
/// // where not (a <= 7): set b to 9
/// let mut bytes = vec![1, 1, 1, 0, 0, 0, b'a', 1, 0, 0, 0, 0, 0, 0, 0, 7];
/// bytes.extend([1, 0, 0, 0, 0, 0, 0, 0]);
/// bytes.extend([1, 0, 0, 0, 0, 0, 0, 0, b'b', 1, 0, 0, 0, 0, 0, 0, 0, 9]);
/// let update = Update::parse(&bytes)?;
/// assert_eq!(update.values, [("b".to_owned(), vec![9])]);
/// assert_eq!(update.to_bytes(FormatVersion::CURRENT)?, bytes);
/// # Ok::<(), tdb_codec::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Update {
    /// The condition for cells that stay unchanged.
    pub condition: Condition,
    /// Fields and the bytes of their new value.
    pub values: Vec<(String, Vec<u8>)>,
}

/// Number of bytes of the smallest value: two lengths.
const MIN_VALUE: usize = 16;

impl Update {
    /// Reads the payload of a `.upd` file.
    ///
    /// # Errors
    /// As [`Condition::parse`], and if the count of values is more than the payload can contain.
    pub fn parse(payload: &[u8]) -> Result<Self> {
        Self::parse_from(Reader::new(payload))
    }

    /// Reads the payload with a reader from the caller, for example a traced one.
    ///
    /// # Errors
    /// As [`Self::parse`].
    pub fn parse_from(mut reader: Reader<'_>) -> Result<Self> {
        let condition = Condition::parse_tree(&mut reader)?;
        let count = reader.count_u64(MIN_VALUE, "update value count")?;
        let mut values = Vec::with_capacity(count);
        for _ in 0..count {
            let field = reader.string_u64("update field name")?;
            values.push((field, reader.bytes_u64("update value")?.to_vec()));
        }
        reader.finish("update")?;
        Ok(Self { condition, values })
    }

    /// The payload that [`Self::parse`] reads, for a file of `version`.
    ///
    /// # Errors
    /// As [`Condition::to_bytes`].
    pub fn to_bytes(&self, version: FormatVersion) -> Result<Vec<u8>> {
        let mut writer = Writer::new();
        self.condition.write_to(&mut writer, version)?;
        writer.u64(to_u64(self.values.len()));
        for (field, value) in &self.values {
            writer.bytes_u64(field.as_bytes());
            writer.bytes_u64(value);
        }
        Ok(writer.into_vec())
    }
}

#[cfg(test)]
mod tests {
    use tdb_codec::{Error, ErrorKind};

    use super::*;
    use crate::Comparison;

    fn sample() -> Update {
        let condition = Condition::Value {
            field: "a".into(),
            comparison: Comparison::In,
            operands: vec![vec![1], vec![], vec![2, 3]],
        };
        Update { condition, values: vec![("b".into(), vec![9; 4]), (String::new(), vec![])] }
    }

    #[test]
    fn the_update_that_libtiledb_writes_reads_back() {
        // Written by libtiledb 2.30.0 with `sm.allow_updates_experimental`: set a to 9 where a < 7.
        // The condition is stored negated.
        let bytes = b"\x01\x03\x01\0\0\0a\x04\0\0\0\0\0\0\0\x07\0\0\0\
            \x01\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0a\x04\0\0\0\0\0\0\0\x09\0\0\0";
        let update = Update::parse(bytes).unwrap();
        let Condition::Value { field, comparison, operands } = &update.condition else { panic!() };
        assert_eq!((field.as_str(), *comparison), ("a", Comparison::GreaterOrEqual));
        assert_eq!(operands, &[7i32.to_le_bytes()]);
        assert_eq!(update.values, [("a".to_owned(), 9i32.to_le_bytes().to_vec())]);
        assert_eq!(update.to_bytes(FormatVersion::CURRENT).unwrap(), bytes);
    }

    #[test]
    fn updates_read_back_and_every_truncation_is_refused_where_it_ends() {
        let mut bytes = sample().to_bytes(FormatVersion::CURRENT).unwrap();
        assert_eq!(Update::parse(&bytes).unwrap(), sample());
        for len in 0..bytes.len() {
            let error = Update::parse(&bytes[..len]).unwrap_err();
            assert!(error.offset <= to_u64(len), "{error}");
        }
        bytes.push(0);
        let error = Update::parse(&bytes).unwrap_err();
        assert_eq!(error.offset, to_u64(bytes.len()) - 1);
        assert_eq!((error.what, error.kind), ("update", ErrorKind::TrailingBytes { count: 1 }));
    }

    #[test]
    fn a_hostile_value_count_is_refused_before_it_becomes_a_capacity() {
        let mut bytes = sample().to_bytes(FormatVersion::CURRENT).unwrap();
        let mut condition = Writer::new();
        sample().condition.write_to(&mut condition, FormatVersion::CURRENT).unwrap();
        let at = condition.len();
        bytes[at..at + 8].fill(0xff);
        let error = Update::parse(&bytes).unwrap_err();
        assert_eq!((error.what, error.offset), ("update value count", to_u64(at)));
        assert_eq!(error.kind, ErrorKind::CountTooLarge { count: u64::MAX });
    }

    #[test]
    fn versions_without_delete_files_have_no_updates() {
        let version = FormatVersion::OLDEST;
        assert_eq!(sample().to_bytes(version), Err(Error::not_in_version("condition", version)));
    }
}
