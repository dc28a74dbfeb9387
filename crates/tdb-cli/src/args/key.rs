//! The key of an encrypted array, from a file.

use std::path::PathBuf;

use clap::Args as Group;
use tdb_array::Key;

use crate::failure::{Failure, Result};

/// The key of an encrypted array.
#[derive(Debug, Group)]
pub(crate) struct KeyArgs {
    /// File with the key of an encrypted array (AES-256): 32 raw bytes, or 64 hex digits.
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

/// A key of 32 raw bytes or 64 hex digits, which may be surrounded by white space.
fn parse_key(bytes: &[u8]) -> Option<Key> {
    match bytes.try_into() {
        Ok(raw) => Some(Key::new(raw)),
        Err(_) => Key::from_hex(str::from_utf8(bytes.trim_ascii()).ok()?),
    }
}
