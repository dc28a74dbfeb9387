//! Answers to the host: a document in JSON, and blocks of bytes that it refers to.
//!
//! ```text
//! u32      length of the document, with blanks at its end that make the sum of both a multiple of 8
//! u32      0
//! bytes    the document, UTF-8
//! bytes    the blocks, each of which begins at a multiple of 8
//! ```
//!
//! The document refers to a block by `[start, length]`, counted from the end of the document.

use serde_json::{Value, json};
use tdb_codec::{to_u64, to_usize};

/// What blocks are aligned to, so that the host can look at them as arrays of any numbers.
const ALIGNMENT: usize = 8;

/// The blocks of an answer.
#[derive(Debug, Default)]
pub struct Blocks(Vec<u8>);

impl Blocks {
    /// Adds a block; its reference.
    pub fn add(&mut self, bytes: &[u8]) -> Value {
        self.0.resize(self.0.len().next_multiple_of(ALIGNMENT), 0);
        let start = self.0.len();
        self.0.extend_from_slice(bytes);
        json!([start, bytes.len()])
    }

    /// Adds numbers of 32 bits; their reference.
    pub fn add_u32(&mut self, numbers: impl Iterator<Item = u32>) -> Value {
        let bytes: Vec<u8> = numbers.flat_map(u32::to_le_bytes).collect();
        self.add(&bytes)
    }

    /// The answer with this document.
    #[must_use]
    pub fn with(self, document: &Value) -> Vec<u8> {
        let mut text = document.to_string();
        while !text.len().is_multiple_of(ALIGNMENT) {
            text.push(' ');
        }
        let mut out = Vec::with_capacity(ALIGNMENT.saturating_add(text.len()).saturating_add(self.0.len()));
        // The host allows no answer of 4 GiB, as it cannot address one.
        out.extend_from_slice(&to_u64(text.len()).to_le_bytes());
        out.extend_from_slice(text.as_bytes());
        out.extend_from_slice(&self.0);
        out
    }
}

/// The document and the blocks of an answer, for hosts in Rust.
#[must_use]
pub fn parts(answer: &[u8]) -> Option<(Value, &[u8])> {
    let (len, rest) = answer.split_first_chunk::<8>()?;
    let (document, blocks) = rest.split_at_checked(to_usize(u64::from_le_bytes(*len))?)?;
    Some((serde_json::from_slice(document).ok()?, blocks))
}

/// A block of an answer.
#[must_use]
pub fn block<'b>(blocks: &'b [u8], reference: &Value) -> Option<&'b [u8]> {
    let number = |at: usize| to_usize(reference.get(at)?.as_u64()?);
    let start = number(0)?;
    blocks.get(start..start.checked_add(number(1)?)?)
}
