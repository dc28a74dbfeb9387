//! The form in which `xtask/peer/expect.py` writes down questions and cells: JSON, with bytes in
//! hexadecimal or base64.

use serde_json::Value;

/// A cell as the bytes of its fields; `None` is null.
pub(crate) type Cell = Vec<Option<Vec<u8>>>;

/// The cells that libtiledb returned; their fields are in the file's order, dimensions first.
pub(super) fn wanted_cells(query: &Value) -> Result<Vec<Cell>, String> {
    let count = query.get("cells").and_then(Value::as_u64).and_then(|count| usize::try_from(count).ok());
    let mut cells = vec![Cell::new(); count.ok_or("the query has no cells")?];
    for field in query.get("fields").and_then(Value::as_object).into_iter().flat_map(serde_json::Map::values)
    {
        push_wanted(&mut cells, field)?;
    }
    Ok(cells)
}

/// Adds a field, in the form of the file, to every cell.
fn push_wanted(cells: &mut [Cell], field: &Value) -> Result<(), String> {
    let count = cells.len();
    let data = base64(text(field, "data"))?;
    let validity = field.get("validity").and_then(Value::as_str).map(base64).transpose()?;
    let starts: Vec<usize> = match field.get("offsets").and_then(Value::as_str) {
        Some(offsets) => {
            let offsets = base64(offsets)?;
            let (words, _) = offsets.as_chunks::<8>();
            let starts = words.iter().map(|word| usize::try_from(u64::from_le_bytes(*word)));
            starts.chain([Ok(data.len())]).collect::<Result<_, _>>().map_err(|error| error.to_string())?
        }
        None => {
            let size = data.len().checked_div(count).unwrap_or(0);
            (0..=count).map(|cell| cell.saturating_mul(size)).collect()
        }
    };
    for (index, (cell, ends)) in cells.iter_mut().zip(starts.windows(2)).enumerate() {
        let valid = validity.as_ref().is_none_or(|validity| validity.get(index) != Some(&0));
        let [start, end] = ends else { continue };
        let value = data.get(*start..*end).ok_or("offsets leave the data")?;
        cell.push(valid.then(|| value.to_vec()));
    }
    if starts.len() == count.saturating_add(1) { Ok(()) } else { Err("not one offset a cell".into()) }
}

pub(super) fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

pub(super) fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

pub(super) fn hex(text: &str) -> Result<Vec<u8>, String> {
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let digits = |pair: &[u8; 2]| {
        let pair = std::str::from_utf8(pair).ok()?;
        u8::from_str_radix(pair, 16).ok()
    };
    let bytes = if rest.is_empty() { pairs.iter().map(digits).collect() } else { None };
    bytes.ok_or_else(|| format!("{text:?} is not hex"))
}

pub(super) fn base64(text: &str) -> Result<Vec<u8>, String> {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = Vec::with_capacity(text.len());
    let (mut bits, mut len) = (0u32, 0u32);
    for byte in text.bytes().filter(|byte| *byte != b'=') {
        let digit = ALPHABET.iter().position(|letter| *letter == byte);
        let digit = digit.and_then(|digit| u32::try_from(digit).ok()).ok_or("not base64")?;
        bits = (bits << 6) | digit;
        len = len.saturating_add(6);
        if len >= 8 {
            len = len.saturating_sub(8);
            out.push(u8::try_from((bits >> len) & 0xff).map_err(|error| error.to_string())?);
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_hex_or_base64_is_refused() {
        assert_eq!(hex("00ff"), Ok(vec![0, 255]));
        assert!(hex("0").is_err() && hex("zz").is_err());
        assert_eq!(base64("AQID/w=="), Ok(vec![1, 2, 3, 255]));
        assert!(base64("?").is_err());
    }
}
