//! A run of explained bytes.

use tdb_codec::{ArrayType, Datatype, Layout, Reader, Trace, TracedField, to_u64, to_usize};
use tdb_filters::registry;

use crate::value::escape_bytes;

/// More bytes than this are shown as their beginning.
const PREVIEW: usize = 24;
/// More list items than this are shown as their beginning.
const ITEMS: usize = 8;

/// An explained run of bytes of the file, or of the unfiltered payload of one of its generic tiles.
#[derive(Debug, Default)]
pub(super) struct Block {
    pub(super) title: String,
    /// For payloads, the file offset of the generic tile: the rows' offsets then count in the payload.
    pub(super) payload_of: Option<u64>,
    pub(super) rows: Vec<Row>,
    /// Where the explanation ends early, and why.
    pub(super) trouble: Option<Trouble>,
}

/// A field.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) offset: u64,
    pub(super) len: u64,
    pub(super) name: String,
    pub(super) value: String,
}

/// The first byte that makes no sense.
#[derive(Debug)]
pub(super) struct Trouble {
    pub(super) offset: u64,
    pub(super) what: String,
}

impl From<tdb_codec::Error> for Trouble {
    fn from(error: tdb_codec::Error) -> Self {
        Self { offset: error.offset, what: error.to_string() }
    }
}

impl From<tdb_schema::Error> for Trouble {
    fn from(error: tdb_schema::Error) -> Self {
        match error {
            tdb_schema::Error::Parse(error) => error.into(),
            other => Self { offset: 0, what: other.to_string() },
        }
    }
}

impl From<tdb_tile::Error> for Trouble {
    fn from(error: tdb_tile::Error) -> Self {
        Self { offset: error.offset, what: error.to_string() }
    }
}

impl Block {
    pub(super) fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), ..Self::default() }
    }

    /// The bytes from `offset` on as `parse` reads them.
    pub(super) fn traced(
        title: impl Into<String>,
        bytes: &[u8],
        offset: u64,
        parse: impl FnOnce(Reader<'_>) -> Result<(), Trouble>,
    ) -> Self {
        let trace = Trace::new();
        let trouble = parse(Reader::with_offset(bytes, offset).traced(&trace)).err();
        let rows = rows(&trace.fields(), bytes, offset);
        Self { title: title.into(), payload_of: None, rows, trouble }
    }

    /// How an offset of this block is said.
    pub(super) fn place(&self, offset: u64) -> String {
        match self.payload_of {
            Some(tile) => {
                format!("offset {offset} of the unfiltered payload of the generic tile at offset {tile}")
            }
            None => format!("offset {offset}"),
        }
    }

    /// Where the rows of a block of the file end.
    pub(super) fn end(&self) -> u64 {
        self.rows.iter().map(|row| row.offset.saturating_add(row.len)).max().unwrap_or(0)
    }
}

fn rows(fields: &[TracedField], bytes: &[u8], base: u64) -> Vec<Row> {
    let mut rows = Vec::with_capacity(fields.len());
    let mut end = base;
    for (index, field) in fields.iter().enumerate() {
        // Some parsers look at a region as a whole after its parts: once is enough.
        if field.offset < end || field.len == 0 {
            continue;
        }
        end = field.offset.saturating_add(field.len);
        let value = slice(bytes, base, field);
        let next = index.checked_add(1).and_then(|next| fields.get(next));
        let next = next.filter(|next| next.what == field.what && next.offset == end);
        let mut name = field.what.to_owned();
        match (next, le(value)) {
            (Some(next), Some(value)) if value == next.len => name.push_str(" length"),
            (Some(next), Some(value)) if value.checked_mul(8) == Some(next.len) => name.push_str(" count"),
            (None, Some(0)) if is_text(field.what) && matches!(field.len, 4 | 8) => name.push_str(" length"),
            (None, Some(0)) if is_list(field.what) && field.len == 8 => name.push_str(" count"),
            _ => {}
        }
        let value = show(&name, value);
        rows.push(Row { offset: field.offset, len: field.len, name, value });
    }
    rows
}

fn slice<'b>(bytes: &'b [u8], base: u64, field: &TracedField) -> &'b [u8] {
    let start = field.offset.checked_sub(base).and_then(to_usize);
    let end = start.and_then(|start| start.checked_add(to_usize(field.len)?));
    start.zip(end).and_then(|(start, end)| bytes.get(start..end)).unwrap_or_default()
}

/// Up to 8 bytes as an unsigned integer.
fn le(bytes: &[u8]) -> Option<u64> {
    let mut wide = [0; 8];
    wide.get_mut(..bytes.len())?.copy_from_slice(bytes);
    Some(u64::from_le_bytes(wide))
}

/// A field's bytes by its name and length.
fn show(name: &str, bytes: &[u8]) -> String {
    let code = |name: Option<&str>| match (bytes, name) {
        ([byte], Some(name)) => format!("{byte} ({name})"),
        _ => hex(bytes),
    };
    let first = bytes.first().copied().unwrap_or(0);
    if name.ends_with("datatype") {
        return code(Datatype::from_code(first).map(Datatype::name));
    }
    match name {
        "array type" => return code(ArrayType::from_code(first).map(ArrayType::name)),
        "tile order" | "cell order" => return code(Layout::from_code(first).map(Layout::name)),
        "filter type" => return code(registry::by_code(first).map(|row| row.name)),
        "compression level" => {
            if let Ok(level) = bytes.try_into() {
                return i32::from_le_bytes(level).to_string();
            }
        }
        _ => {}
    }
    if is_text(name) && core::str::from_utf8(bytes).is_ok() && !name.ends_with("length") {
        return format!("\"{}\"", escape_bytes_keeping_text(bytes));
    }
    if is_list(name) && bytes.len().is_multiple_of(8) {
        return list(bytes);
    }
    match (bytes.len(), le(bytes)) {
        (1 | 2 | 4 | 8, Some(value)) => integer(value, bytes.len()),
        _ => hex(bytes),
    }
}

/// An integer, and what it would be with a sign.
fn integer(value: u64, size: usize) -> String {
    let bits = u32::try_from(size.saturating_mul(8)).unwrap_or(64);
    let negative = size >= 4 && value >> (bits - 1) != 0;
    if negative {
        format!("{value} (signed: {})", i128::from(value) - (1i128 << bits))
    } else {
        value.to_string()
    }
}

/// Names of fields that hold text.
fn is_text(name: &str) -> bool {
    ["name", "key", "URI", "path"].iter().any(|word| name.ends_with(word))
}

/// Names of fields that hold runs of `u64`.
fn is_list(name: &str) -> bool {
    ["offsets", "sizes", "counts"].iter().any(|word| name.ends_with(word))
}

fn list(bytes: &[u8]) -> String {
    let (words, _) = bytes.as_chunks::<8>();
    let mut items: Vec<String> =
        words.iter().take(ITEMS).map(|word| u64::from_le_bytes(*word).to_string()).collect();
    if words.len() > ITEMS {
        items.push(format!("… ({} values)", words.len()));
    }
    items.join(", ")
}

/// Text as it is, except for what would spoil a line.
fn escape_bytes_keeping_text(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    if text.chars().any(char::is_control) { escape_bytes(bytes) } else { text.into_owned() }
}

/// Bytes in hexadecimal, cut after a while.
fn hex(bytes: &[u8]) -> String {
    let mut out: Vec<String> = bytes.iter().take(PREVIEW).map(|byte| format!("{byte:02x}")).collect();
    if bytes.len() > PREVIEW {
        out.push(format!("… ({} bytes)", to_u64(bytes.len())));
    }
    out.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_shown_by_name_and_length() {
        let bytes = [2, 0, 0, 0, b'a', b'b', 1, 0, 0, 0, 0, 5];
        let block = Block::traced("x", &bytes, 100, |mut reader| {
            reader.string_u32("dimension name")?;
            reader.code("array type", ArrayType::from_code)?;
            reader.string_u32("enumeration name")?;
            reader.bool("dense")?;
            Ok(())
        });
        let rows: Vec<_> = block
            .rows
            .iter()
            .map(|row| (row.offset, row.len, row.name.as_str(), row.value.as_str()))
            .collect();
        let expected = [
            (100, 4, "dimension name length", "2"),
            (104, 2, "dimension name", "\"ab\""),
            (106, 1, "array type", "1 (sparse)"),
            (107, 4, "enumeration name length", "0"),
            (111, 1, "dense", "5"),
        ];
        assert_eq!(rows, expected);
        assert_eq!(block.trouble.unwrap().offset, 111);
    }
}
