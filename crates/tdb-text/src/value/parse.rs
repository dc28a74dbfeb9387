//! Converts values from JSON back to bytes.

use tdb_codec::{CellValNum, Datatype, Physical};

use super::{cell_plain, is_text};
use crate::calendar;
use crate::json::Json;
use crate::parse::parse_value;

/// The bytes of the cell for which [`cell_json`](super::cell_json) returns `value`.
pub fn json_cell(datatype: Datatype, count: CellValNum, value: &Json) -> Result<Vec<u8>, String> {
    if is_text(datatype) {
        let text = value.as_str().ok_or_else(|| format!("{value} is not a string"))?;
        return Ok(text_cell(datatype, count, text));
    }
    if count == CellValNum::ONE {
        return one(datatype, value);
    }
    let values = value.as_list().ok_or_else(|| format!("{value} is not a list"))?;
    let bytes = values.iter().map(|value| one(datatype, value)).collect::<Result<Vec<_>, _>>()?;
    Ok(bytes.concat())
}

/// One value that is not text.
fn one(datatype: Datatype, value: &Json) -> Result<Vec<u8>, String> {
    let text = match value {
        Json::Text(text) => text.clone(),
        Json::Number(_) | Json::Bool(_) => value.to_string(),
        _ => return Err(format!("{value} is not a value of type {datatype}")),
    };
    match text.as_str() {
        "NaT" if datatype.is_datetime() => Ok(i64::MIN.to_le_bytes().to_vec()),
        // Years are shown as texts of digits; ticks are JSON numbers.
        digits if datatype == Datatype::DatetimeYear && value.as_str().is_some() => {
            match digits.parse::<i128>() {
                Ok(year) => calendar::year_ticks(year).map_or_else(
                    || Err(format!("{text} does not fit {datatype}")),
                    |ticks| Ok(ticks.to_le_bytes().to_vec()),
                ),
                Err(_) => parse_value(datatype, &text),
            }
        }
        _ => parse_value(datatype, &text),
    }
}

/// Text is taken literally, unless it is exactly how bytes that are not text are shown: then it
/// means these bytes.
fn text_cell(datatype: Datatype, count: CellValNum, text: &str) -> Vec<u8> {
    let escaped = unescaped(text).filter(|bytes| cell_plain(datatype, count, bytes) == text);
    escaped.unwrap_or_else(|| match datatype.physical() {
        Physical::U16 => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
        Physical::U32 => text.chars().flat_map(|c| u32::from(c).to_le_bytes()).collect(),
        _ => text.as_bytes().to_vec(),
    })
}

/// The bytes that [`escape_bytes`](super::escape_bytes) shows as this text; `None` if there are
/// none.
fn unescaped(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        rest = behind;
        if *first != b'\\' {
            bytes.push(*first);
        } else if let Some(behind) = rest.strip_prefix(b"\\") {
            bytes.push(b'\\');
            rest = behind;
        } else {
            let (digits, behind) = rest.strip_prefix(b"x")?.split_at_checked(2)?;
            let digits = str::from_utf8(digits).ok().filter(|digits| !digits.starts_with('+'))?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = behind;
        }
    }
    text.contains('\\').then_some(bytes)
}

#[cfg(test)]
mod tests {
    use core::num::NonZeroU32;

    use serde_json::json;

    use super::super::cell_json;
    use super::*;

    const TWO: CellValNum = CellValNum::Fixed(NonZeroU32::new(2).unwrap());

    #[test]
    fn what_is_shown_as_json_is_read_back_as_the_same_bytes() {
        let one = CellValNum::ONE;
        let cells: [(Datatype, CellValNum, &[u8]); 18] = [
            (Datatype::Int8, one, &[0x80]),
            (Datatype::Uint64, one, &u64::MAX.to_le_bytes()),
            (Datatype::Float32, one, &0.1f32.to_le_bytes()),
            (Datatype::Float32, one, &f32::MAX.to_le_bytes()),
            (Datatype::Float64, one, &f64::NAN.to_le_bytes()),
            (Datatype::Float64, one, &f64::NEG_INFINITY.to_le_bytes()),
            (Datatype::Bool, one, &[1]),
            (Datatype::Bool, one, &[255]),
            (Datatype::DatetimeDay, one, &18_321i64.to_le_bytes()),
            (Datatype::DatetimeDay, one, &i64::MIN.to_le_bytes()),
            (Datatype::DatetimeYear, one, &30i64.to_le_bytes()),
            (Datatype::DatetimeYear, one, &(-2_000i64).to_le_bytes()),
            (Datatype::DatetimeYear, one, &i64::MAX.to_le_bytes()),
            (Datatype::Int16, TWO, &[1, 0, 255, 255]),
            (Datatype::Char, one, &[0x80]),
            (Datatype::StringUtf8, CellValNum::Var, "Größe \\ \\x41".as_bytes()),
            (Datatype::StringUtf16, CellValNum::Var, &[b'a', 0, b'b', 0]),
            (Datatype::Blob, CellValNum::Var, &[0, 1, b'\\', 255]),
        ];
        for (datatype, count, cell) in cells {
            let shown = cell_json(datatype, count, cell);
            assert_eq!(
                json_cell(datatype, count, &Json::from(&shown)).as_deref(),
                Ok(cell),
                "{datatype}: {shown}"
            );
        }
    }

    #[test]
    fn values_of_another_type_are_refused() {
        let one = CellValNum::ONE;
        let cell = |datatype, count, value: serde_json::Value| json_cell(datatype, count, &value.into());
        assert!(cell(Datatype::Int8, one, json!(128)).unwrap_err().contains("does not fit"));
        assert!(cell(Datatype::Int8, one, json!(null)).is_err());
        assert!(cell(Datatype::Int8, one, json!(1.5)).is_err());
        assert!(cell(Datatype::Int8, TWO, json!(1)).unwrap_err().contains("not a list"));
        assert!(cell(Datatype::StringAscii, CellValNum::Var, json!(1)).unwrap_err().contains("not a string"));
        assert!(cell(Datatype::DatetimeDay, one, json!("yesterday")).is_err());
        let far = format!("{}", i128::from(i64::MAX) + 1971);
        assert!(cell(Datatype::DatetimeYear, one, json!(far)).unwrap_err().contains("does not fit"));
    }

    #[test]
    fn a_real_is_rounded_once_from_its_digits() {
        let text = "1.000000178813934326171874999999";
        let cell = json_cell(Datatype::Float32, CellValNum::ONE, &Json::Number(text.to_owned()));
        assert_eq!(cell, Ok(1.000_000_1f32.to_le_bytes().to_vec()));
        let beyond = Json::Number("1e400".to_owned());
        let error = json_cell(Datatype::Float64, CellValNum::ONE, &beyond).unwrap_err();
        assert!(error.contains("does not fit FLOAT64"), "{error}");
    }
}
