//! The key of an encrypted array, from a file.

use std::path::PathBuf;

use clap::Args as Group;
use tdb_array::Key;

use crate::failure::{Failure, Result};

/// The key of an encrypted array.
#[derive(Debug, Group)]
pub(crate) struct KeyArgs {
    /// File with the key of an encrypted array (AES-256): 32 raw bytes, or 64 hex digits. A line
    /// end after them does not count.
    #[arg(long, value_name = "FILE")]
    pub(crate) key_file: Option<PathBuf>,
}

impl KeyArgs {
    /// The key, if one was given.
    pub(crate) fn key(&self) -> Result<Option<Key>> {
        let Some(path) = &self.key_file else { return Ok(None) };
        let bytes = std::fs::read(path).map_err(|error| Failure::at(path, error))?;
        match parse_key(&bytes) {
            Some(key) => Ok(Some(key)),
            None => Err(Failure::at(path, "a key is 32 raw bytes or 64 hex digits")),
        }
    }
}

/// A key of 32 raw bytes, after which editors and `echo` may have added a line end, or of 64 hex
/// digits, which may be surrounded by white space.
fn parse_key(bytes: &[u8]) -> Option<Key> {
    let line = bytes.strip_suffix(b"\n").map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    for raw in [Some(bytes), bytes.strip_suffix(b"\n"), line].into_iter().flatten() {
        if let Ok(raw) = raw.try_into() {
            return Some(Key::new(raw));
        }
    }
    Key::from_hex(str::from_utf8(bytes.trim_ascii()).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_end_after_a_key_does_not_count() {
        let raw: [u8; 32] = *b"0123456789abcdefghijklmnopqrstu\r";
        let hex: String = raw.iter().map(|byte| format!("{byte:02x}")).collect();
        for end in ["", "\n", "\r\n"] {
            for key in [&raw[..], hex.as_bytes()] {
                let bytes = [key, end.as_bytes()].concat();
                assert!(parse_key(&bytes) == Some(Key::new(raw)), "{end:?}");
            }
        }
        for wrong in [&raw[..31], &[&raw[..], b"\n\n"].concat(), &[&raw[..], b" "].concat(), b""] {
            assert!(parse_key(wrong).is_none(), "{wrong:?}");
        }
    }
}
