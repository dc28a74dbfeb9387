//! The errors of tiles: where in the file, in which chunk, and why.

use core::fmt;

use thiserror::Error as ThisError;

/// A failure while reading or writing a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error {
    /// Absolute file offset of the wrong structure: the field, or the header of the chunk.
    pub offset: u64,
    /// Number of the wrong chunk, from 0.
    pub chunk: Option<u64>,
    /// The cause.
    pub kind: ErrorKind,
}

/// Why a tile is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ThisError)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The framing is wrong; the error inside contains the absolute offset of the field.
    #[error("{0}")]
    Format(tdb_codec::Error),
    /// A filter failed on a chunk, or cannot be used at all.
    #[error("{0}")]
    Filter(tdb_filters::Error),
    /// A tile that is larger than the limits or the budget allow.
    #[error("the tile needs {size} bytes, which is over the limit")]
    OverLimit {
        /// Bytes asked for.
        size: u64,
    },
    /// The chunks add up to another length than expected.
    #[error("the tile has {found} bytes, expected {expected}")]
    WrongLength {
        /// The expected length.
        expected: u64,
        /// The length of the chunks together.
        found: u64,
    },
    /// An encrypted tile, but no key.
    #[error("the tile is encrypted (AES-256-GCM), and no key was given")]
    Encrypted,
    /// A key for a tile that is not encrypted.
    #[error("a key was given, but the tile is not encrypted")]
    NotEncrypted,
    /// A chunk, tile or offset too large for the format.
    #[error("{size} bytes do not fit the format's length field")]
    TooLong {
        /// The length.
        size: u64,
    },
    /// Offsets of cells that decrease or are past the end of the values.
    #[error("the offset of cell {cell} is {value}, which is out of order or past the end")]
    BadOffset {
        /// Number of the cell.
        cell: u64,
        /// Its offset.
        value: u64,
    },
}

/// Result of this crate's functions.
pub type Result<T> = core::result::Result<T, Error>;

impl Error {
    pub(crate) const fn new(offset: u64, kind: ErrorKind) -> Self {
        Self { offset, chunk: None, kind }
    }

    pub(crate) const fn in_chunk(offset: u64, chunk: u64, kind: ErrorKind) -> Self {
        Self { offset, chunk: Some(chunk), kind }
    }
}

impl From<tdb_codec::Error> for Error {
    fn from(error: tdb_codec::Error) -> Self {
        Self::new(error.offset, ErrorKind::Format(error))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.chunk, &self.kind) {
            (None, ErrorKind::Format(error)) => error.fmt(f),
            (None, kind) => write!(f, "tile at offset {}: {kind}", self.offset),
            (Some(chunk), kind) => write!(f, "chunk {chunk} at offset {}: {kind}", self.offset),
        }
    }
}

impl core::error::Error for Error {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match &self.kind {
            ErrorKind::Format(error) => Some(error),
            ErrorKind::Filter(error) => Some(error),
            _ => None,
        }
    }
}
