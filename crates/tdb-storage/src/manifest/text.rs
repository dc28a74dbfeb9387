//! The lines of a manifest, its checksum, and the characters of keys.

use super::{KEY_BYTES, KEY_PARTS, ManifestError, ManifestErrorKind};

/// The lines of a manifest, and the checksum of the lines read so far.
pub(super) struct Lines<'b> {
    pub(super) rest: &'b [u8],
    pub(super) number: u64,
    pub(super) sum: u64,
}

impl<'b> Lines<'b> {
    pub(super) fn next(&mut self) -> Result<&'b str, ManifestError> {
        self.number = self.number.saturating_add(1);
        let fail = |kind| ManifestError { line: self.number, kind };
        let end = self.rest.iter().position(|byte| *byte == b'\n');
        let (line, rest) = end
            .and_then(|end| self.rest.split_at_checked(end.saturating_add(1)))
            .ok_or(fail(ManifestErrorKind::CutOff))?;
        let text = core::str::from_utf8(line.strip_suffix(b"\n").unwrap_or(line));
        let text = text.map_err(|_| fail(ManifestErrorKind::NotText))?;
        self.sum = fnv(self.sum, line);
        self.rest = rest;
        Ok(text)
    }
}

/// The initial value of the checksum.
pub(super) const FNV: u64 = 0xcbf2_9ce4_8422_2325;

/// Continues an FNV-1a checksum with further bytes.
pub(super) fn fnv(sum: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(sum, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// A number in decimal, without signs and without leading zeros.
pub(super) fn number(text: &str) -> Option<u64> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let plain = text == "0" || !text.starts_with('0');
    if digits && plain { text.parse().ok() } else { None }
}

/// Whether files of arrays can have this key: it only leads to folders below.
pub(super) fn is_key(key: &str) -> bool {
    let plain = |part: &str| !matches!(part, "" | "." | "..");
    key.len() <= KEY_BYTES && key.split('/').count() <= KEY_PARTS && key.split('/').all(plain)
}

/// Whether a character would make the line unreadable, or start a new line.
pub(super) const fn is_escaped(character: char) -> bool {
    character == '%' || character.is_ascii_control()
}

pub(super) fn escape(key: &str, text: &mut String) {
    for character in key.chars() {
        if is_escaped(character) {
            text.push_str(&format!("%{:02x}", u32::from(character)));
        } else {
            text.push(character);
        }
    }
}

/// The key that was escaped like this; `None` if this is not the one correct way to escape a key.
pub(super) fn unescape(text: &str) -> Option<String> {
    let mut parts = text.split('%');
    let mut key = parts.next()?.to_owned();
    for part in parts {
        let (code, rest) = part.split_at_checked(2)?;
        let digits = code.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
        let character = digits.then(|| u8::from_str_radix(code, 16).ok()).flatten().map(char::from)?;
        if !is_escaped(character) {
            return None;
        }
        key.push(character);
        key.push_str(rest);
    }
    let mut again = String::with_capacity(text.len());
    escape(&key, &mut again);
    (again == text).then_some(key)
}
