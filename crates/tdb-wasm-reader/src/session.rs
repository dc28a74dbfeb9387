//! The implementation of the exports, with slices instead of addresses, so that it can be tested
//! natively.

use std::fmt;

use tdb_array::storage::MemoryStorage;
use tdb_array::{Key, Layout, OpenOptions, TimeWindow};

use crate::encode;

/// The files of one array, and the input and output bytes.
#[derive(Debug, Default)]
pub struct Session {
    files: MemoryStorage,
    key: Option<Key>,
    input: Vec<u8>,
    output: Vec<u8>,
}

/// The reason why a request failed, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionError(String);

impl fmt::Display for SessionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SessionError {}

impl From<tdb_array::Error> for SessionError {
    fn from(error: tdb_array::Error) -> Self {
        Self(error.to_string())
    }
}

impl From<tdb_codec::Error> for SessionError {
    fn from(error: tdb_codec::Error) -> Self {
        Self(error.to_string())
    }
}

impl From<String> for SessionError {
    fn from(words: String) -> Self {
        Self(words)
    }
}

impl Session {
    /// Allocates `len` zero bytes for the next file or key; `None` if there is not enough memory.
    pub fn input(&mut self, len: usize) -> Option<&mut [u8]> {
        self.input = Vec::new();
        self.input.try_reserve_exact(len).ok()?;
        self.input.resize(len, 0);
        Some(&mut self.input)
    }

    /// Stores the input as a file: the first `key_len` bytes are its key.
    ///
    /// # Errors
    /// An input shorter than the key, or a key that is not valid UTF-8.
    pub fn file(&mut self, key_len: usize) -> Result<(), SessionError> {
        let mut key = std::mem::take(&mut self.input);
        if key_len > key.len() {
            return Err(format!("a key of {key_len} bytes in an input of {} bytes", key.len()).into());
        }
        let content = key.split_off(key_len);
        let key = String::from_utf8(key)
            .map_err(|error| format!("the key of a file is not valid UTF-8: {error}"))?;
        self.files.insert(key, content);
        Ok(())
    }

    /// Stores the input as the key of an encrypted array.
    ///
    /// # Errors
    /// An input that does not have 32 bytes.
    pub fn key(&mut self) -> Result<(), SessionError> {
        let input = std::mem::take(&mut self.input);
        let bytes = input.try_into().map_err(|input: Vec<u8>| {
            format!("the key of an encrypted array has 32 bytes, not {}", input.len())
        })?;
        self.key = Some(Key::new(bytes));
        Ok(())
    }

    /// Opens the array in a time window and reads the cells of all fields, in the order with this
    /// number. The output is then the result of [`encode`].
    ///
    /// # Errors
    /// An unknown order, and any error of opening and reading the array.
    pub fn read(&mut self, window: TimeWindow, order: u32) -> Result<(), SessionError> {
        let layout = u8::try_from(order).ok().and_then(Layout::from_code);
        let layout = layout.ok_or_else(|| format!("there is no order with the number {order}"))?;
        let mut options = OpenOptions::new().window(window).threads(1);
        if let Some(key) = &self.key {
            options = options.key(key.clone());
        }
        let array = options.open_storage(self.files.clone())?;
        self.output = encode(&array.read().order(layout).collect()?)?;
        Ok(())
    }

    /// The output of the last request: cells, the message of a failure, or nothing.
    #[must_use]
    pub fn output(&self) -> &[u8] {
        &self.output
    }

    /// Runs a request; if it fails, its message becomes the output. Returns whether it succeeded.
    pub fn answer(&mut self, request: impl FnOnce(&mut Self) -> Result<(), SessionError>) -> bool {
        self.output = Vec::new();
        match request(self) {
            Ok(()) => true,
            Err(error) => {
                self.output = error.to_string().into_bytes();
                false
            }
        }
    }
}
