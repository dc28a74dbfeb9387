//! Requests that are made together.

use core::ops::Range;
use std::io;

use bytes::Bytes;
use tdb_codec::to_u64;

use super::{ByteRange, Entry, Storage};

/// One request to a storage.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Request {
    /// The names in a folder.
    List(String),
    /// The last bytes of a file, at most so many, and its size.
    Tail(String, u64),
    /// A range of a file.
    Range(ByteRange),
}

/// What a storage answers.
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

    /// The key of the file or folder that it is about.
    #[must_use]
    pub fn key(&self) -> &str {
        match self {
            Self::List(key) | Self::Tail(key, _) => key,
            Self::Range(range) => &range.key,
        }
    }

    /// The same request about another key.
    #[must_use]
    pub fn with_key(&self, key: String) -> Self {
        match self {
            Self::List(_) => Self::List(key),
            Self::Tail(_, most) => Self::Tail(key, *most),
            Self::Range(own) => Self::range(key, own.range.clone()),
        }
    }

    /// Makes this request alone.
    ///
    /// # Errors
    /// Those of the storage.
    pub fn answer<S: Storage + ?Sized>(&self, storage: &S) -> io::Result<Reply> {
        match self {
            Self::List(folder) => storage.list(folder).map(Reply::Entries),
            Self::Tail(key, most) => {
                storage.read_tail(key, *most).map(|(size, bytes)| Reply::Tail(size, bytes))
            }
            Self::Range(range) => {
                let bytes = storage.read_ranges(core::slice::from_ref(range))?.pop();
                bytes.map(Reply::Bytes).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
            }
        }
    }

    /// A reply to this request, if it is one: of the right kind, with as many bytes as there have to be. A storage that gives
    /// fewer would otherwise have others' bytes taken for them.
    ///
    /// # Errors
    /// [`io::ErrorKind::UnexpectedEof`] if bytes are missing; another if it answers something else.
    pub fn checked(&self, reply: Reply) -> io::Result<Reply> {
        let expected = match (self, &reply) {
            (Self::List(_), Reply::Entries(_)) => 0,
            (Self::Tail(_, most), Reply::Tail(size, _)) => (*most).min(*size),
            (Self::Range(own), Reply::Bytes(_)) => own.range.end.saturating_sub(own.range.start),
            _ => return Err(other_answer()),
        };
        if to_u64(reply.len()) == expected { Ok(reply) } else { Err(cut_short(expected, reply.len())) }
    }
}

/// The error of a storage that gives fewer bytes than it should, or more.
fn cut_short(expected: u64, found: usize) -> io::Error {
    let what = format!("the storage gave {found} bytes in place of {expected}");
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

    /// A range of a file, as long as `out`, into which it goes.
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

    /// Bytes that were delivered.
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

/// The error of a storage that answers something else than it was asked.
#[must_use]
pub fn other_answer() -> io::Error {
    io::Error::other("the storage answered another request")
}

/// How requests to a storage are best made whose answers take long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FetchHints {
    /// Ranges of one file with no more bytes than this between them are fetched as one.
    pub gap: u64,
    /// Bytes that one request asks for at most: longer ranges are cut.
    pub largest: u64,
}

impl FetchHints {
    /// What suits object stores: ranges are merged over gaps of 1 MiB, up to 16 MiB.
    pub const OBJECT_STORE: Self = Self { gap: 1 << 20, largest: 16 << 20 };

    /// Merges ranges over gaps of at most so many bytes.
    #[must_use]
    pub const fn with_gap(mut self, gap: u64) -> Self {
        self.gap = gap;
        self
    }

    /// Asks for at most so many bytes at once, and for one at least.
    #[must_use]
    pub const fn with_largest(mut self, largest: u64) -> Self {
        self.largest = if largest == 0 { 1 } else { largest };
        self
    }
}
