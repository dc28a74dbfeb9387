//! Types of Arrow that the decoder does not know. It panics where a file has one.

use arrow_ipc::{Field, Schema, Type};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::error::FileProblem;

/// In the metadata of a Parquet file: the Arrow schema, as a message in Base64.
const PARQUET_KEY: &str = "ARROW:schema";

/// Refuses a schema with a column of a type that is newer than the decoder, such as the integers of
/// 128 bits that Polars writes.
pub(super) fn check_types(schema: &Schema<'_>) -> Result<(), FileProblem> {
    schema.fields().into_iter().flatten().try_for_each(|field| check(&field, &field))
}

fn check(column: &Field<'_>, field: &Field<'_>) -> Result<(), FileProblem> {
    let bits = match field.type_type() {
        Type::Int => field.type_as_int().map(|int| int.bitWidth()),
        _ => None,
    };
    let keys = field.dictionary().and_then(|dictionary| dictionary.indexType()).map(|int| int.bitWidth());
    for bits in bits.into_iter().chain(keys) {
        if !matches!(bits, 8 | 16 | 32 | 64) {
            return Err(FileProblem::Unsupported(format!(
                "column {:?} has integers of {bits} bits; write them as decimals or as text",
                column.name().unwrap_or_default()
            )));
        }
    }
    field.children().into_iter().flatten().try_for_each(|child| check(column, &child))
}

/// The same for the schema in the metadata of a Parquet file, as far as it can be read.
pub(super) fn check_parquet<'m>(
    metadata: impl IntoIterator<Item = (&'m str, Option<&'m str>)>,
) -> Result<(), FileProblem> {
    let text = metadata.into_iter().find(|(key, _)| *key == PARQUET_KEY).and_then(|(_, text)| text);
    let Some(bytes) = text.and_then(|text| STANDARD.decode(text).ok()) else { return Ok(()) };
    // A mark and a length may stand before the message.
    let message = match bytes.split_first_chunk() {
        Some((&[0xff, 0xff, 0xff, 0xff], rest)) => rest.get(4..).unwrap_or_default(),
        _ => &bytes,
    };
    let schema = arrow_ipc::root_as_message(message).ok();
    schema.and_then(|message| message.header_as_schema()).map_or(Ok(()), |schema| check_types(&schema))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What Polars 2.1 writes for `DataFrame({"u": Series([1], dtype=Int128)})`.
    const WIDE: &str = concat!(
        "/////3YAAAAEAAAA8v///xQAAAAEAAEAAAAKAAsACAAKAAQA+P///wwAAAAIAAgAAAAEAAEAAAAEAAAA7P///zgA",
        "AAAgAAAAGAAAAAECAAAQABIABAAQABEACAAAAAwAAAAAAPT///+AAAAAAQAAAAgACQAEAAgAAQAAAHUA"
    );

    #[test]
    fn integers_of_128_bits_are_named() {
        let checked = |schema| check_parquet([("pandas", None), (PARQUET_KEY, Some(schema))]);
        let refused = checked(WIDE).unwrap_err().to_string();
        assert!(refused.contains("column \"u\" has integers of 128 bits"), "{refused}");
        // What cannot be read, the decoder refuses, or does not look at.
        for other in ["", "*", "AAAA", &WIDE[..40]] {
            assert!(checked(other).is_ok(), "{other}");
        }
    }
}
