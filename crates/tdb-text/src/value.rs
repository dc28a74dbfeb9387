//! Values as text and as JSON.

mod parse;

use serde_json::{Number, Value, json};
use tdb_codec::{CellValNum, Datatype, Native, Physical, PhysicalVisitor};
use tdb_schema::Dimension;

pub use self::parse::json_cell;
use crate::calendar;
pub use crate::texts::{is_single, is_text};

/// A cell as text for display: strings with unprintable bytes as `\xNN`, and in quotes if they
/// could be mistaken for something else; dates as dates; several values as `[1, 2]`.
pub fn cell_text(datatype: Datatype, cell_val_num: CellValNum, cell: &[u8]) -> String {
    if is_text(datatype) {
        let text = text_of(datatype, cell).map_or_else(|| escape_bytes(cell), |text| escape(&text));
        let ambiguous = text.is_empty() || text == "null" || text.starts_with('"') || text.trim() != text;
        return if ambiguous { format!("\"{text}\"") } else { text };
    }
    let mut values = cell.chunks(datatype.size()).map(|value| value_text(datatype, value));
    if cell_val_num == CellValNum::ONE {
        return values.next().unwrap_or_default();
    }
    format!("[{}]", values.collect::<Vec<_>>().join(", "))
}

/// A cell as text for programs: strings unchanged if they are valid text.
pub fn cell_plain(datatype: Datatype, cell_val_num: CellValNum, cell: &[u8]) -> String {
    if is_text(datatype) {
        text_of(datatype, cell).unwrap_or_else(|| escape_bytes(cell))
    } else {
        cell_text(datatype, cell_val_num, cell)
    }
}

/// A cell as JSON: exact numbers; NaN, infinities and dates as strings; several values as arrays.
pub fn cell_json(datatype: Datatype, cell_val_num: CellValNum, cell: &[u8]) -> Value {
    if is_text(datatype) {
        return Value::String(cell_plain(datatype, cell_val_num, cell));
    }
    let mut values = cell.chunks(datatype.size()).map(|value| value_json(datatype, value));
    if cell_val_num == CellValNum::ONE {
        return values.next().unwrap_or_default();
    }
    values.collect()
}

/// Number of values per cell: a number, or `"var"`.
pub fn cell_val_num_json(count: CellValNum) -> Value {
    match count {
        CellValNum::Fixed(count) => json!(count),
        CellValNum::Var => json!("var"),
    }
}

/// One value that is not text.
fn value_text(datatype: Datatype, value: &[u8]) -> String {
    match (datatype, value) {
        (Datatype::Bool, [0]) => "false".to_owned(),
        (Datatype::Bool, [1]) => "true".to_owned(),
        _ => <i64 as Native>::from_le(value)
            .and_then(|ticks| calendar::format(datatype, ticks))
            .unwrap_or_else(|| datatype.physical().visit(Show(value))),
    }
}

fn value_json(datatype: Datatype, value: &[u8]) -> Value {
    let text = value_text(datatype, value);
    if datatype.is_datetime() {
        return Value::String(text);
    }
    // Numbers are JSON numbers, except NaN and the infinities; booleans are JSON booleans.
    match text.as_str() {
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        _ if datatype.physical().is_float() => {
            let number = text.parse().ok().and_then(Number::from_f64);
            number.map_or(Value::String(text), Value::Number)
        }
        _ => match (text.parse::<u64>(), text.parse::<i64>()) {
            (Ok(value), _) => json!(value),
            (_, Ok(value)) => json!(value),
            _ => Value::String(text),
        },
    }
}

struct Show<'a>(&'a [u8]);

impl PhysicalVisitor for Show<'_> {
    type Output = String;
    fn visit<T: Native>(self) -> String {
        T::from_le(self.0).map_or_else(|| escape_bytes(self.0), |value| format!("{value:?}"))
    }
}

/// A coordinate of a dimension, in the notation of range ends.
pub fn coordinate_text(dimension: &Dimension, value: &[u8]) -> String {
    cell_text(dimension.datatype, dimension.cell_val_num, value)
}

/// A coordinate of a dimension as JSON.
pub fn coordinate_json(dimension: &Dimension, value: &[u8]) -> Value {
    cell_json(dimension.datatype, dimension.cell_val_num, value)
}

/// An interval of a dimension, in the notation of `--range`.
pub fn interval_text(dimension: &Dimension, low: &[u8], high: &[u8]) -> String {
    format!("{}..{}", coordinate_text(dimension, low), coordinate_text(dimension, high))
}

/// Bytes of a text type as text; `None` if they are not text.
pub fn text_of(datatype: Datatype, bytes: &[u8]) -> Option<String> {
    match datatype.physical() {
        Physical::U16 => {
            let (units, []) = bytes.as_chunks::<2>() else { return None };
            char::decode_utf16(units.iter().map(|unit| u16::from_le_bytes(*unit)))
                .collect::<Result<_, _>>()
                .ok()
        }
        Physical::U32 => {
            let (units, []) = bytes.as_chunks::<4>() else { return None };
            units.iter().map(|unit| char::from_u32(u32::from_le_bytes(*unit))).collect()
        }
        _ if matches!(datatype, Datatype::Blob | Datatype::GeomWkb | Datatype::Any) => {
            // Opaque bytes that happen to be printable are easier to read as text.
            let printable = bytes.iter().all(|byte| (b' '..=b'~').contains(byte) && *byte != b'\\');
            printable.then(|| String::from_utf8_lossy(bytes).into_owned())
        }
        _ => core::str::from_utf8(bytes).ok().map(str::to_owned),
    }
}

/// Text with control characters as `\xNN` (of their UTF-8 bytes) and backslashes doubled.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            c if c.is_control() => {
                let mut bytes = [0; 4];
                out.push_str(&escape_bytes(c.encode_utf8(&mut bytes).as_bytes()));
            }
            c => out.push(c),
        }
    }
    out
}

/// Bytes with everything outside printable ASCII as `\xNN`.
pub fn escape_bytes(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for &byte in bytes {
        match byte {
            b'\\' => out.push_str("\\\\"),
            b' '..=b'~' => out.push(char::from(byte)),
            _ => out.push_str(&format!("\\x{byte:02x}")),
        }
    }
    out
}

/// Bytes in hexadecimal, without separators.
pub fn hex_text(bytes: &[u8]) -> String {
    const DIGITS: [char; 16] =
        ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];
    let digits = |byte: u8| [byte >> 4, byte & 15].map(|half| DIGITS.get(usize::from(half)).copied());
    bytes.iter().flat_map(|byte| digits(*byte)).flatten().collect()
}

#[cfg(test)]
mod tests {
    use core::num::NonZeroU32;

    use super::*;

    const TWO: CellValNum = CellValNum::Fixed(NonZeroU32::new(2).unwrap());

    #[test]
    fn numbers_are_exact_in_text_and_json() {
        let bytes = u64::MAX.to_le_bytes();
        assert_eq!(cell_text(Datatype::Uint64, CellValNum::ONE, &bytes), "18446744073709551615");
        assert_eq!(cell_json(Datatype::Uint64, CellValNum::ONE, &bytes).to_string(), "18446744073709551615");
        let bytes = i64::MIN.to_le_bytes();
        assert_eq!(cell_json(Datatype::Int64, CellValNum::ONE, &bytes).to_string(), "-9223372036854775808");
        assert_eq!(cell_json(Datatype::Float32, CellValNum::ONE, &0.1f32.to_le_bytes()).to_string(), "0.1");
        assert_eq!(cell_json(Datatype::Float64, CellValNum::ONE, &f64::NAN.to_le_bytes()), json!("NaN"));
        let bytes = f64::NEG_INFINITY.to_le_bytes();
        assert_eq!(cell_json(Datatype::Float64, CellValNum::ONE, &bytes), json!("-inf"));
    }

    #[test]
    fn several_values_are_lists_and_dates_are_dates() {
        assert_eq!(cell_text(Datatype::Uint8, TWO, &[1, 2]), "[1, 2]");
        assert_eq!(cell_json(Datatype::Uint8, TWO, &[1, 2]), json!([1, 2]));
        assert_eq!(cell_text(Datatype::Int16, CellValNum::Var, &[]), "[]");
        let bytes = 18_321i64.to_le_bytes();
        assert_eq!(cell_text(Datatype::DatetimeDay, CellValNum::ONE, &bytes), "2020-02-29");
        assert_eq!(cell_json(Datatype::DatetimeDay, CellValNum::ONE, &bytes), json!("2020-02-29"));
        assert_eq!(cell_text(Datatype::TimeSec, CellValNum::ONE, &bytes), "18321");
        assert_eq!(cell_text(Datatype::Bool, CellValNum::ONE, &[1]), "true");
    }

    #[test]
    fn strings_are_quoted_only_where_they_could_mislead_and_bytes_are_escaped() {
        let text = |bytes: &[u8]| cell_text(Datatype::StringAscii, CellValNum::Var, bytes);
        assert_eq!(text(b"Oslo"), "Oslo");
        assert_eq!(text(b""), "\"\"");
        assert_eq!(text(b"null"), "\"null\"");
        assert_eq!(text(b" x"), "\" x\"");
        assert_eq!(text(b"a\\\n"), "a\\\\\\x0a");
        assert_eq!(text(b"\xffz"), "\\xffz");
        assert_eq!(text("Malmö".as_bytes()), "Malmö");
        let plain = |bytes: &[u8]| cell_plain(Datatype::StringUtf8, CellValNum::Var, bytes);
        assert_eq!(plain(b"a\n"), "a\n");
        assert_eq!(plain(b"\xff"), "\\xff");
        assert_eq!(cell_text(Datatype::StringUtf16, CellValNum::Var, &[b'a', 0, b'b', 0]), "ab");
    }
}
