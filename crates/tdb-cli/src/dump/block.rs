//! A sequence of explained bytes.

use core::ops::Deref;
use std::rc::Rc;

use tdb_codec::{ArrayType, Datatype, Layout, Reader, Trace, TracedField, to_u64, to_usize};
use tdb_filters::registry;
use tdb_schema::ObjectType;
use tdb_text::value::escape_bytes;

use crate::thresholds::{MAX_LIST_ITEMS, MAX_PREVIEW_BYTES, RAW_LINE_BYTES};

/// The unfiltered payload of a generic tile. Several blocks may explain parts of one.
#[derive(Clone, Debug)]
pub(super) struct Payload(Rc<Vec<u8>>);

impl Payload {
    /// As the source of a block, given the file offset of the tile.
    pub(super) fn in_tile(&self, tile: u64) -> Source {
        Source::Payload { tile, bytes: self.clone() }
    }
}

impl From<Vec<u8>> for Payload {
    fn from(bytes: Vec<u8>) -> Self {
        Self(Rc::new(bytes))
    }
}

impl Deref for Payload {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

/// The bytes that the offsets of a block's rows refer to.
#[derive(Clone, Debug, Default)]
pub(super) enum Source {
    /// The file.
    #[default]
    File,
    /// The payload of the generic tile at this offset of the file.
    Payload { tile: u64, bytes: Payload },
}

/// An explained sequence of bytes of the file, or of the unfiltered payload of one of its generic
/// tiles.
#[derive(Debug, Default)]
pub(super) struct Block {
    pub(super) title: String,
    pub(super) source: Source,
    pub(super) rows: Vec<Row>,
    /// The offset at which the explanation ends early, and the reason.
    pub(super) trouble: Option<Trouble>,
}

/// A field.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) offset: u64,
    pub(super) len: u64,
    pub(super) name: String,
}

/// Whether a long value is shown in part or as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Detail {
    /// Its beginning, for display.
    Short,
    /// All of it; nothing for bytes without a meaning of their own, because their hexadecimal form
    /// is shown anyway.
    Exact,
}

/// The first byte that cannot be interpreted.
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

    /// The bytes from `offset` on as read by `parse`.
    pub(super) fn traced(
        title: impl Into<String>,
        bytes: &[u8],
        offset: u64,
        parse: impl FnOnce(Reader<'_>) -> Result<(), Trouble>,
    ) -> Self {
        let trace = Trace::new();
        let trouble = parse(Reader::with_offset(bytes, offset).traced(&trace)).err();
        let rows = rows(&trace.fields(), bytes, offset);
        Self { title: title.into(), source: Source::File, rows, trouble }
    }

    /// Bytes of the file without explanation, in lines.
    pub(super) fn raw(title: impl Into<String>, bytes: &[u8]) -> Self {
        let count = bytes.len().div_ceil(RAW_LINE_BYTES);
        let row = |line: usize| {
            let offset = line.saturating_mul(RAW_LINE_BYTES);
            let len = bytes.len().saturating_sub(offset).min(RAW_LINE_BYTES);
            Row { offset: to_u64(offset), len: to_u64(len), name: "bytes".to_owned() }
        };
        Self { title: title.into(), rows: (0..count).map(row).collect(), ..Self::default() }
    }

    /// The bytes of a row, if the file contains them.
    pub(super) fn bytes<'b>(&'b self, file: &'b [u8], row: &Row) -> &'b [u8] {
        let source = match &self.source {
            Source::File => file,
            Source::Payload { bytes, .. } => bytes,
        };
        slice(source, 0, row.offset, row.len)
    }

    /// A row's value as text.
    pub(super) fn value(&self, file: &[u8], row: &Row, detail: Detail) -> Option<String> {
        show(&row.name, self.bytes(file, row), detail)
    }

    /// An offset of this block as text.
    pub(super) fn place(&self, offset: u64) -> String {
        match self.source {
            Source::Payload { tile, .. } => {
                format!("offset {offset} of the unfiltered payload of the generic tile at offset {tile}")
            }
            Source::File => format!("offset {offset}"),
        }
    }

    /// The end of the rows of a block of the file.
    pub(super) fn end(&self) -> u64 {
        self.rows.iter().map(|row| row.offset.saturating_add(row.len)).max().unwrap_or(0)
    }
}

fn rows(fields: &[TracedField], bytes: &[u8], base: u64) -> Vec<Row> {
    let mut rows = Vec::with_capacity(fields.len());
    let mut end = base;
    for (index, field) in fields.iter().enumerate() {
        // Some parsers read a whole region after its parts: the region is shown only once.
        if field.offset < end || field.len == 0 {
            continue;
        }
        end = field.offset.saturating_add(field.len);
        let value = slice(bytes, base, field.offset, field.len);
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
        rows.push(Row { offset: field.offset, len: field.len, name });
    }
    rows
}

/// `len` bytes from `offset` on, of bytes whose first one is at `base`; empty if they are not all
/// there.
fn slice(bytes: &[u8], base: u64, offset: u64, len: u64) -> &[u8] {
    let start = offset.checked_sub(base).and_then(to_usize);
    let end = start.and_then(|start| start.checked_add(to_usize(len)?));
    start.zip(end).and_then(|(start, end)| bytes.get(start..end)).unwrap_or_default()
}

/// Up to 8 bytes as an unsigned integer.
fn le(bytes: &[u8]) -> Option<u64> {
    let mut wide = [0; 8];
    wide.get_mut(..bytes.len())?.copy_from_slice(bytes);
    Some(u64::from_le_bytes(wide))
}

/// The value of a field as text, by its name and length. `None` for bytes without a meaning of
/// their own, unless the text is for display.
fn show(name: &str, bytes: &[u8], detail: Detail) -> Option<String> {
    let hex = |bytes: &[u8]| (detail == Detail::Short).then(|| hex(bytes));
    let code = |name: Option<&str>| match (bytes, name) {
        ([byte], Some(name)) => Some(format!("{byte} ({name})")),
        _ => hex(bytes),
    };
    let first = bytes.first().copied().unwrap_or(0);
    if name.ends_with("datatype") {
        return code(Datatype::from_code(first).map(Datatype::name));
    }
    match name {
        "array type" => return code(ArrayType::from_code(first).map(ArrayType::name)),
        "member object type" => return code(ObjectType::from_code(first).map(ObjectType::name)),
        "tile order" | "cell order" => return code(Layout::from_code(first).map(Layout::name)),
        "filter type" => return code(registry::by_code(first).map(|row| row.name)),
        "compression level" => {
            if let Ok(level) = bytes.try_into() {
                return Some(i32::from_le_bytes(level).to_string());
            }
        }
        "bytes" if detail == Detail::Short => {
            let dot = |byte: &u8| if (b' '..=b'~').contains(byte) { char::from(*byte) } else { '.' };
            let text: String = bytes.iter().map(dot).collect();
            return hex(bytes).map(|hex| format!("{hex:<47}  {text}"));
        }
        "bytes" => return None,
        _ => {}
    }
    if is_text(name) && core::str::from_utf8(bytes).is_ok() && !name.ends_with("length") {
        return Some(format!("\"{}\"", escape_bytes_keeping_text(bytes)));
    }
    if is_list(name) && bytes.len().is_multiple_of(8) {
        return Some(list(bytes, detail));
    }
    match (bytes.len(), le(bytes)) {
        (1 | 2 | 4 | 8, Some(value)) => Some(integer(value, bytes.len())),
        _ => hex(bytes),
    }
}

/// An integer, and its value if it is read as signed.
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

fn list(bytes: &[u8], detail: Detail) -> String {
    let (words, _) = bytes.as_chunks::<8>();
    let shown = if detail == Detail::Short { MAX_LIST_ITEMS } else { usize::MAX };
    let mut items: Vec<String> =
        words.iter().take(shown).map(|word| u64::from_le_bytes(*word).to_string()).collect();
    if words.len() > shown {
        items.push(format!("… ({} values)", words.len()));
    }
    items.join(", ")
}

/// Text unchanged, except for characters that would break a line.
fn escape_bytes_keeping_text(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    if text.chars().any(char::is_control) { escape_bytes(bytes) } else { text.into_owned() }
}

/// Bytes in hexadecimal, shortened.
fn hex(bytes: &[u8]) -> String {
    let mut out: Vec<String> =
        bytes.iter().take(MAX_PREVIEW_BYTES).map(|byte| format!("{byte:02x}")).collect();
    if bytes.len() > MAX_PREVIEW_BYTES {
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
        let file = [&[0; 100][..], &bytes].concat();
        let value = |row| block.value(&file, row, Detail::Exact).unwrap();
        let rows: Vec<_> =
            block.rows.iter().map(|row| (row.offset, row.len, row.name.as_str(), value(row))).collect();
        let expected = [
            (100, 4, "dimension name length", "2"),
            (104, 2, "dimension name", "\"ab\""),
            (106, 1, "array type", "1 (sparse)"),
            (107, 4, "enumeration name length", "0"),
            (111, 1, "dense", "5"),
        ]
        .map(|(offset, len, name, value)| (offset, len, name, value.to_owned()));
        assert_eq!(rows, expected);
        assert_eq!(block.trouble.unwrap().offset, 111);
    }
}
