//! Stores what Arrow cannot represent as metadata of schemas and fields.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::DataType;
use tdb_array::Array;
use tdb_array::schema::{
    ArraySchema, CellValNum, Datatype, Enumeration, Field, FieldKind, TIMEZONE, field_key,
};
use tdb_array::write::MetadataChanges;

use crate::error::{Error, Result};
use crate::types;

/// In the metadata of a schema: the array's schema, as the format stores it at its version, in
/// hexadecimal digits.
pub const SCHEMA: &str = "tdb:schema";
/// In the metadata of a field: the name of its datatype in the specification.
pub const DATATYPE: &str = "tdb:datatype";
/// In the metadata of a field: its number of values per cell, or `var`.
pub const CELL_VAL_NUM: &str = "tdb:cell_val_num";
/// In the metadata of a field: `dimension`, `attribute`, `label` or, for `__timestamps`,
/// `timestamps`.
pub const KIND: &str = "tdb:kind";
/// In the metadata of a field: `true` or `false`. Arrow's own flag is also set if a dictionary may
/// lack a key.
pub const NULLABLE: &str = "tdb:nullable";
/// In the metadata of a field: the name of its enumeration.
pub const ENUMERATION: &str = "tdb:enumeration";
/// In the metadata of a field: whether the order of its enumeration's values has a meaning.
pub const ENUMERATION_ORDERED: &str = "tdb:enumeration_ordered";
/// In the metadata of a field: the datatype of its enumeration's values.
pub const ENUMERATION_DATATYPE: &str = "tdb:enumeration_datatype";
/// In the metadata of a field: the number of values of each of its enumeration's values, or `var`.
pub const ENUMERATION_CELL_VAL_NUM: &str = "tdb:enumeration_cell_val_num";

/// The time zones that the metadata of an array names, by field. A text that cannot be the name of
/// a zone or an offset is none: anybody may have written it.
pub(crate) fn zones(array: &Array) -> Result<HashMap<String, Arc<str>>, tdb_array::Error> {
    let is_time = |field: &Field<'_>| types::unit_of(field.datatype, field.cell_val_num).is_some();
    let times: Vec<Field<'_>> = array.schema().fields().filter(is_time).collect();
    if times.is_empty() {
        return Ok(HashMap::new());
    }
    let metadata = array.metadata()?;
    let zone = |field: &Field<'_>| {
        let is_dimension = matches!(field.kind, FieldKind::Dimension(_));
        let value = metadata.get(field_key(field.name, is_dimension, TIMEZONE).as_bytes())?;
        let is_text = matches!(value.datatype, Datatype::StringUtf8 | Datatype::StringAscii | Datatype::Char);
        let zone = str::from_utf8(&value.data).ok().filter(|zone| is_text && is_zone(zone))?;
        Some((field.name.to_owned(), Arc::from(zone)))
    };
    Ok(times.iter().filter_map(zone).collect())
}

/// The changes to the metadata of a new array that say in which time zones the columns of a table
/// are shown. The array has their times in UTC.
pub fn zone_changes(table: &arrow_schema::Schema, schema: &ArraySchema) -> MetadataChanges {
    table.fields().iter().fold(MetadataChanges::new(), |changes, column| {
        let values = match column.data_type() {
            DataType::Dictionary(_, values) => values,
            own => own,
        };
        match (schema.field(column.name()), values) {
            (Some(field), DataType::Timestamp(_, Some(zone))) => {
                let is_dimension = matches!(field.kind, FieldKind::Dimension(_));
                changes.put_text(field_key(field.name, is_dimension, TIMEZONE), zone)
            }
            _ => changes,
        }
    })
}

/// Whether a text may be the name of a zone (`Europe/Rome`) or an offset (`+02:00`).
fn is_zone(text: &str) -> bool {
    let is_offset = match text.as_bytes() {
        [b'+' | b'-', a, b, b':', c, d] => [a, b, c, d].into_iter().all(u8::is_ascii_digit),
        _ => false,
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '_' | '-' | '+');
    let is_name = text.starts_with(|c: char| c.is_ascii_alphabetic()) && text.chars().all(plain);
    is_offset || is_name && (text.contains('/') || matches!(text, "UTC" | "GMT"))
}

/// Metadata of Arrow.
pub(crate) type Metadata = HashMap<String, String>;

/// The metadata that contains a schema.
pub(crate) fn of_schema(schema: &ArraySchema) -> Result<Metadata> {
    let bytes = schema.to_bytes(schema.version);
    let bytes = bytes.map_err(|error| Error::Metadata { key: SCHEMA.to_owned(), why: error.to_string() })?;
    Ok(Metadata::from([(SCHEMA.to_owned(), to_hex(&bytes))]))
}

/// Bytes as hexadecimal digits, the form in which metadata contains them.
///
/// ```
/// use tdb_arrow::metadata::{from_hex, to_hex};
///
/// assert_eq!(to_hex(&[0, 0xff]), "00ff");
/// assert_eq!(from_hex("00fF"), Some(vec![0, 0xff]));
/// assert!(from_hex("0").is_none() && from_hex("0x").is_none());
/// ```
#[must_use]
pub fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The bytes of hexadecimal digits; `None` if the text has something else, or an odd number of
/// digits.
#[must_use]
pub fn from_hex(hex: &str) -> Option<Vec<u8>> {
    let digit = |digit: &u8| char::from(*digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let byte = |pair: &[u8]| match pair {
        [high, low] => Some(digit(high)? << 4 | digit(low)?),
        _ => None,
    };
    hex.as_bytes().chunks(2).map(byte).collect()
}

/// The schema in the metadata, if there is one.
pub(crate) fn schema(metadata: &Metadata) -> Result<Option<ArraySchema>> {
    let Some(hex) = metadata.get(SCHEMA) else { return Ok(None) };
    let wrong = |why: String| Error::Metadata { key: SCHEMA.to_owned(), why };
    let bytes =
        from_hex(hex).ok_or_else(|| wrong("it has characters that are not hexadecimal digits".to_owned()))?;
    ArraySchema::parse(&bytes).map(Some).map_err(|error| wrong(error.to_string()))
}

/// Type and number of values per cell.
pub(crate) fn of_field(kind: &str, datatype: Datatype, cell_val_num: CellValNum, nullable: bool) -> Metadata {
    Metadata::from([
        (KIND.to_owned(), kind.to_owned()),
        (DATATYPE.to_owned(), datatype.name().to_owned()),
        (CELL_VAL_NUM.to_owned(), cell_val_num.to_string()),
        (NULLABLE.to_owned(), nullable.to_string()),
    ])
}

/// Adds the metadata of a field's enumeration.
pub(crate) fn put_enumeration(metadata: &mut Metadata, name: &str, enumeration: Option<&Enumeration>) {
    metadata.insert(ENUMERATION.to_owned(), name.to_owned());
    if let Some(enumeration) = enumeration {
        metadata.insert(ENUMERATION_ORDERED.to_owned(), enumeration.ordered.to_string());
        metadata.insert(ENUMERATION_DATATYPE.to_owned(), enumeration.datatype.name().to_owned());
        metadata.insert(ENUMERATION_CELL_VAL_NUM.to_owned(), enumeration.cell_val_num.to_string());
    }
}

/// The datatype and the number of values per cell under these keys, if both are there.
pub(crate) fn type_of(
    metadata: &Metadata,
    datatype: &str,
    cell_val_num: &str,
) -> Result<Option<(Datatype, CellValNum)>> {
    let (Some(name), Some(count)) = (metadata.get(datatype), metadata.get(cell_val_num)) else {
        return Ok(None);
    };
    let wrong = |key: &str, why: &str| Error::Metadata { key: key.to_owned(), why: why.to_owned() };
    let found =
        Datatype::from_name(name).ok_or_else(|| wrong(datatype, "it is not the name of a datatype"))?;
    let count = match count.as_str() {
        "var" => Some(CellValNum::Var),
        count => count.parse().ok().and_then(CellValNum::from_code),
    };
    Ok(Some((found, count.ok_or_else(|| wrong(cell_val_num, "it is not a number of values per cell"))?)))
}

/// The boolean under this key, if it is there.
pub(crate) fn flag(metadata: &Metadata, key: &str) -> Option<bool> {
    metadata.get(key).and_then(|value| value.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_may_be_a_zone_is_one() {
        for zone in
            ["UTC", "GMT", "+02:00", "-03:30", "Europe/Rome", "America/Argentina/Buenos_Aires", "Etc/GMT+5"]
        {
            assert!(is_zone(zone), "{zone}");
        }
        for text in ["", "local", "+2", "+02:0x", "/x", "Europe/Röme", "a b/c", "+0200"] {
            assert!(!is_zone(text), "{text}");
        }
    }
}
