//! Values in quotes, as in conditions: `'2020-02-29'`, `'a:b'`, `"it's"`.

/// The meaning of a colon without a backslash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colons {
    /// A character like any other.
    Plain,
    /// A separator, so it cannot be part of a value.
    Separate,
}

/// The length of the value in quotes at the beginning of a text, if the text or a separator follows
/// its end.
pub fn length(text: &str) -> Option<usize> {
    let mut chars = text.char_indices();
    let (_, quote) = chars.next().filter(|(_, c)| matches!(c, '\'' | '"'))?;
    let mut escaped = false;
    for (position, c) in chars {
        if c == quote && !escaped {
            let end = position.checked_add(1)?;
            let rest = text.get(end..)?;
            let ends = rest.is_empty() || rest.starts_with([':', ',']) || rest.starts_with("..");
            return ends.then_some(end);
        }
        escaped = c == '\\' && !escaped;
    }
    None
}

/// The text between the quotes, if a text is a value in quotes.
pub fn inside(text: &str) -> Option<&str> {
    (length(text)? == text.len()).then(|| text.get(1..text.len().saturating_sub(1)))?
}

/// A string with `\xNN` for any byte, `\n`, `\r`, `\t`, and a backslash before characters with a
/// special meaning.
pub fn unescape(text: &str, colons: Colons) -> Result<Vec<u8>, String> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        rest = rest.get(c.len_utf8()..).unwrap_or_default();
        match c {
            ':' if colons == Colons::Separate => {
                return Err(format!(
                    "{text:?} has several colons: write \\: for a colon that is not a separator"
                ));
            }
            '\\' => {
                let bad = || {
                    format!("{text:?} has a backslash before something other than \\ : , . ' \" n r t or xNN")
                };
                let (byte, len) = match rest.chars().next().ok_or_else(bad)? {
                    'x' => {
                        let digits = rest.get(1..3).ok_or_else(bad)?;
                        // `from_str_radix` alone would also accept a sign.
                        let hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
                        let byte = hex.then(|| u8::from_str_radix(digits, 16).ok()).flatten();
                        (byte.ok_or_else(bad)?, 3)
                    }
                    '\\' => (b'\\', 1),
                    'n' => (b'\n', 1),
                    'r' => (b'\r', 1),
                    't' => (b'\t', 1),
                    '\'' => (b'\'', 1),
                    '"' => (b'"', 1),
                    ':' => (b':', 1),
                    ',' => (b',', 1),
                    '.' => (b'.', 1),
                    _ => return Err(bad()),
                };
                out.push(byte);
                rest = rest.get(len..).unwrap_or_default();
            }
            c => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_in_quotes_ends_at_its_quote() {
        assert_eq!(inside("'a:b'"), Some("a:b"));
        assert_eq!(inside("\"it's\""), Some("it's"));
        assert_eq!(inside(r"'it\'s'"), Some(r"it\'s"));
        assert_eq!(inside("''"), Some(""));
        assert_eq!((inside("'"), inside("'a"), inside("a'b'"), inside("'a'b")), (None, None, None, None));
        assert_eq!((length("'a'..'b'"), length("'a':"), length("'a'b")), (Some(3), Some(3), None));
    }

    #[test]
    fn a_backslash_stands_before_what_has_a_meaning() {
        assert_eq!(unescape(r"it\'s\n\x00", Colons::Plain).unwrap(), b"it's\n\0");
        assert_eq!(unescape("a:b", Colons::Plain).unwrap(), b"a:b");
        assert!(unescape("a:b", Colons::Separate).unwrap_err().contains("several colons"));
        assert!(unescape(r"a\q", Colons::Plain).is_err());
    }
}
