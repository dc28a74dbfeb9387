//! Names of fields, as keys and as file names.

use std::collections::HashSet;

use crate::thresholds::MAX_STEM_LENGTH;

/// Makes names unique.
#[derive(Debug, Default)]
pub(crate) struct Unique {
    taken: HashSet<String>,
    /// Whether names that differ only in case are different.
    exact: bool,
}

impl Unique {
    /// For keys: names may differ only in case. The default is for file systems that ignore case.
    pub(crate) fn exact() -> Self {
        Self { taken: HashSet::new(), exact: true }
    }

    /// `name` itself, or with `~2`, `~3`, … appended.
    pub(crate) fn name(&mut self, name: &str) -> String {
        let mut candidate = name.to_owned();
        let mut number = 2u64;
        let fold = |name: &str| if self.exact { name.to_owned() } else { name.to_lowercase() };
        while !self.taken.insert(fold(&candidate)) {
            candidate = format!("{name}~{number}");
            number = number.saturating_add(1);
        }
        candidate
    }
}

/// A field's name as the stem of a file name that is valid on every system: bytes that are not
/// allowed are percent-encoded; the anonymous attribute is `__attr`.
pub(crate) fn file_stem(name: &str) -> String {
    if name.is_empty() {
        return "__attr".to_owned();
    }
    let reserved = is_reserved(name);
    let last = name.chars().count().saturating_sub(1);
    let mut stem = String::with_capacity(name.len());
    for (index, c) in name.chars().enumerate() {
        let unsafe_here = match c {
            '/' | '\\' | ':' | '*' | '?' | '"' | '<' | '>' | '|' | '%' => true,
            '.' => index == 0,
            ' ' => index == 0 || index == last,
            c => c.is_control() || (reserved && index == 0),
        };
        let mut bytes = [0; 4];
        let text = c.encode_utf8(&mut bytes);
        let piece = if unsafe_here {
            text.bytes().map(|byte| format!("%{byte:02X}")).collect()
        } else {
            text.to_owned()
        };
        if stem.len().saturating_add(piece.len()) > MAX_STEM_LENGTH {
            break;
        }
        stem.push_str(&piece);
    }
    stem
}

/// Names of devices on Windows, with any suffix.
fn is_reserved(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or_default().to_ascii_uppercase();
    match stem.as_str() {
        "CON" | "PRN" | "AUX" | "NUL" => true,
        other => ["COM", "LPT"].iter().any(|device| {
            other.strip_prefix(device).is_some_and(|rest| rest.len() == 1 && rest.as_bytes() != b"0")
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_no_file_names_are_encoded() {
        assert_eq!(file_stem("temperature"), "temperature");
        assert_eq!(file_stem(""), "__attr");
        assert_eq!(file_stem("a/b%"), "a%2Fb%25");
        assert_eq!(file_stem(".."), "%2E.");
        assert_eq!(file_stem("nul"), "%6Eul");
        assert_eq!(file_stem("com1.x"), "%63om1.x");
        assert_eq!(file_stem("command"), "command");
        assert_eq!(file_stem("a\0"), "a%00");
        assert_eq!(file_stem("Größe"), "Größe");
        assert_eq!(file_stem(&"é".repeat(500)).len(), 200);
    }

    #[test]
    fn equal_names_and_names_that_differ_in_case_get_numbers() {
        let mut unique = Unique::default();
        assert_eq!(unique.name("a"), "a");
        assert_eq!(unique.name("A"), "A~2");
        assert_eq!(unique.name("a~2"), "a~2~2");
        assert_eq!(unique.name("a"), "a~3");
    }
}
