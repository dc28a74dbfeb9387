//! Requests to a storage, and their replies.

use core::ops::Range;
use std::io;

use bytes::Bytes;
use tdb_codec::to_u64;

use crate::entry::{ByteRange, Entry};

/// One request to a storage.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Request {
    /// The names in a folder.
    List(String),
    /// The last bytes of a file (at most this many), and its size.
    Tail(String, u64),
    /// A range of a file.
    Range(ByteRange),
}

/// The answer of a storage.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Reply {
    /// To [`Request::List`].
    Entries(Vec<Entry>),
    /// To [`Request::Tail`]: the size of the file, and its last bytes.
    Tail(u64, Bytes),
    /// To [`Request::Range`].
    Bytes(Bytes),
}

impl Request {
    /// The whole of a file.
    pub fn whole(key: impl Into<String>) -> Self {
        Self::Tail(key.into(), u64::MAX)
    }

    /// A range of a file.
    pub fn range(key: impl Into<String>, range: Range<u64>) -> Self {
        Self::Range(ByteRange { key: key.into(), range })
    }

    /// The key of the requested file or folder.
    #[must_use]
    pub fn key(&self) -> &str {
        match self {
            Self::List(key) | Self::Tail(key, _) => key,
            Self::Range(range) => &range.key,
        }
    }

    /// The same request for another key.
    #[must_use]
    pub fn with_key(&self, key: String) -> Self {
        match self {
            Self::List(_) => Self::List(key),
            Self::Tail(_, max) => Self::Tail(key, *max),
            Self::Range(own) => Self::range(key, own.range.clone()),
        }
    }

    /// Checks a reply to this request: it must be of the right kind and have the right number of
    /// bytes. If a storage returned fewer bytes unnoticed, the bytes of another range would be
    /// taken for the missing ones.
    ///
    /// # Errors
    /// [`io::ErrorKind::UnexpectedEof`] if bytes are missing; another kind if the reply is for
    /// another kind of request.
    pub fn checked(&self, reply: Reply) -> io::Result<Reply> {
        let expected = match (self, &reply) {
            (Self::List(_), Reply::Entries(_)) => 0,
            (Self::Tail(_, max), Reply::Tail(size, _)) => (*max).min(*size),
            (Self::Range(own), Reply::Bytes(_)) => own.range.end.saturating_sub(own.range.start),
            _ => return Err(other_answer()),
        };
        if to_u64(reply.len()) == expected { Ok(reply) } else { Err(cut_short(expected, reply.len())) }
    }
}

/// The error of a storage that returns fewer or more bytes than requested.
fn cut_short(expected: u64, found: usize) -> io::Error {
    let what = format!("the storage returned {found} bytes instead of {expected}");
    io::Error::new(io::ErrorKind::UnexpectedEof, what)
}

impl Reply {
    /// The names in a folder.
    ///
    /// # Errors
    /// If this is the answer to another kind of request.
    pub fn into_entries(self) -> io::Result<Vec<Entry>> {
        if let Self::Entries(entries) = self { Ok(entries) } else { Err(other_answer()) }
    }

    /// The size of a file, and its last bytes.
    ///
    /// # Errors
    /// If this is the answer to another kind of request.
    pub fn into_tail(self) -> io::Result<(u64, Bytes)> {
        if let Self::Tail(size, bytes) = self { Ok((size, bytes)) } else { Err(other_answer()) }
    }

    /// A range of a file.
    ///
    /// # Errors
    /// If this is the answer to another kind of request.
    pub fn into_bytes(self) -> io::Result<Bytes> {
        if let Self::Bytes(bytes) = self { Ok(bytes) } else { Err(other_answer()) }
    }

    /// Copies a range of a file into `out`, which must have the same length.
    ///
    /// # Errors
    /// If this is the answer to another request.
    pub fn copy_into(self, out: &mut [u8]) -> io::Result<()> {
        let bytes = self.into_bytes()?;
        if bytes.len() != out.len() {
            return Err(other_answer());
        }
        out.copy_from_slice(&bytes);
        Ok(())
    }

    /// The number of bytes delivered.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Entries(_) => 0,
            Self::Tail(_, bytes) | Self::Bytes(bytes) => bytes.len(),
        }
    }

    /// Whether no bytes were delivered.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The error of a storage whose reply does not match the request.
#[must_use]
pub fn other_answer() -> io::Error {
    io::Error::other("the reply of the storage does not match the request")
}

/// The best way to group requests to a remote storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FetchHints {
    /// Ranges of one file with at most this many bytes between them are fetched as one.
    pub gap: u64,
    /// The maximum number of bytes of one request: longer ranges are split.
    pub largest: u64,
}

impl FetchHints {
    /// Values that suit object stores: ranges are merged over gaps of up to 1 MiB, into requests of
    /// up to 16 MiB.
    pub const OBJECT_STORE: Self = Self { gap: 1 << 20, largest: 16 << 20 };

    /// Merges ranges over gaps of at most `gap` bytes.
    #[must_use]
    pub const fn with_gap(mut self, gap: u64) -> Self {
        self.gap = gap;
        self
    }

    /// Requests at most this many bytes at once, and at least one.
    #[must_use]
    pub const fn with_largest(mut self, largest: u64) -> Self {
        self.largest = if largest == 0 { 1 } else { largest };
        self
    }
}
