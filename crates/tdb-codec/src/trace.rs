//! A record of the fields a parser read: the offset, length and name of each. It explains a file
//! byte by byte.

use std::sync::{Mutex, PoisonError};

use crate::to_u64;

/// One field a [`Reader`](crate::Reader) read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TracedField {
    /// Absolute offset of its first byte.
    pub offset: u64,
    /// Number of bytes.
    pub len: u64,
    /// The name of the field.
    pub what: &'static str,
}

/// Records every field that the attached readers read, in reading order. The parsers themselves
/// thus explain a file, and no layout has to be written down a second time.
///
/// ```
/// use tdb_codec::{Reader, Trace};
///
/// let trace = Trace::new();
/// let mut reader = Reader::new(&[1, 0, 0, 0, 7]).traced(&trace);
/// reader.bytes_u32("name")?;
/// let fields = trace.fields();
/// assert_eq!((fields[1].offset, fields[1].len, fields[1].what), (4, 1, "name"));
/// # Ok::<(), tdb_codec::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Trace {
    fields: Mutex<Vec<TracedField>>,
}

impl Trace {
    /// An empty trace.
    #[must_use]
    pub const fn new() -> Self {
        Self { fields: Mutex::new(Vec::new()) }
    }

    pub(crate) fn note(&self, offset: u64, len: usize, what: &'static str) {
        let field = TracedField { offset, len: to_u64(len), what };
        self.fields.lock().unwrap_or_else(PoisonError::into_inner).push(field);
    }

    /// The fields recorded so far, in reading order.
    #[must_use]
    pub fn fields(&self) -> Vec<TracedField> {
        self.fields.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
