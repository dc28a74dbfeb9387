//! The errors of a pipeline: which filter failed, at which position, and why.

use core::fmt;

use tdb_codec::Datatype;
use thiserror::Error as ThisError;

/// A failure of one filter of a pipeline, or of the pipeline as a whole (`position` 0).
///
/// ```
/// use tdb_filters::{Error, ErrorKind};
///
/// let error = Error { filter: "bzip2", code: 5, position: 2, count: 3, kind: ErrorKind::InvalidOption { value: 10 } };
/// assert_eq!(error.to_string(), "filter 'bzip2' has the option value 10, which is out of range (filter 2 of 3)");
/// assert_eq!(
///     error.in_field("image").to_string(),
///     "filter 'bzip2' has the option value 10, which is out of range (field \"image\", filter 2 of 3)",
/// );
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error {
    /// Name of the filter, as in [`Filter::name`](crate::Filter::name); `"pipeline"` at position 0.
    pub filter: &'static str,
    /// Wire code of the filter.
    pub code: u8,
    /// Position in the pipeline, counted from 1 in encoding order; 0 if no single filter is at
    /// fault.
    pub position: usize,
    /// Number of filters in the pipeline.
    pub count: usize,
    /// The cause.
    pub kind: ErrorKind,
}

/// Why a filter failed; the payload is the offending value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ThisError)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A filter that this build knows by name but cannot run. There is none today; it is meant for
    /// filters of newer formats.
    #[error("is not supported yet")]
    Unsupported,
    /// A filter code that the format does not define, or no longer defines.
    #[error("has number {code}, which the format does not define (any more)")]
    UnknownFilter {
        /// The code as read.
        code: u8,
    },
    /// A filter whose codec is not part of this build.
    #[error("needs the crate feature '{feature}', which this build leaves out")]
    FeatureMissing {
        /// Name of the feature.
        feature: &'static str,
    },
    /// A filter that does not accept values of this type.
    #[error("cannot take values of type {datatype}")]
    InputType {
        /// The type it was given.
        datatype: Datatype,
    },
    /// The filter stores strings with their lengths, but was called with plain bytes.
    #[error("stores strings together with their lengths, and must be called with strings")]
    StringMode,
    /// The filter works on plain bytes, but was called with strings.
    #[error("does not store strings with their lengths, and must be called with bytes")]
    NotStringMode,
    /// A string filter after another filter, which the format does not allow.
    #[error("must be the first filter of a string field")]
    NotFirst,
    /// An option outside its range.
    #[error("has the option value {value}, which is out of range")]
    InvalidOption {
        /// The value.
        value: i64,
    },
    /// Options that make no sense.
    #[error("has a bad option: {reason}")]
    BadOption {
        /// The fault of them.
        reason: &'static str,
    },
    /// A field of the filter's chunk metadata is wrong; offsets are relative to the start of that
    /// metadata.
    #[error("has bad chunk metadata: {0}")]
    Metadata(tdb_codec::Error),
    /// A header inside the filter's data is wrong; offsets are relative to the start of the part.
    #[error("has bad data: {0}")]
    Data(tdb_codec::Error),
    /// The encoded length is not known in advance, but the output has a fixed length.
    #[error("changes the length of the data, so it cannot encode straight into an output of fixed length")]
    ChangesLength,
    /// A length that does not match the expected one.
    #[error("has {found} bytes, expected {expected}")]
    WrongLength {
        /// The expected length in bytes.
        expected: u64,
        /// The length found.
        found: u64,
    },
    /// A compressed stream that its codec rejects.
    #[error("has a corrupt stream: {reason}")]
    CorruptStream {
        /// The message of the codec.
        reason: &'static str,
    },
    /// The codec failed to compress. The input is not the cause.
    #[error("cannot compress: {reason}")]
    Compress {
        /// The message of the codec.
        reason: &'static str,
    },
    /// An intermediate buffer over the operation's budget.
    #[error("needs {size} bytes, which is over the memory budget")]
    OverBudget {
        /// Bytes asked for.
        size: u64,
    },
    /// A stored checksum that does not match the bytes.
    #[error("found a wrong checksum over part {part} ({bytes} bytes)")]
    ChecksumMismatch {
        /// Part number from 0, metadata parts first.
        part: usize,
        /// Length of the part.
        bytes: u64,
    },
    /// A value smaller than its predecessor, which positive delta cannot encode.
    #[error("cannot encode value {index}, which is smaller than the one before it")]
    Decreasing {
        /// Index of the value in its window.
        index: usize,
    },
    /// A part that is not a whole number of values, so encoding it would lose its tail.
    #[error("cannot take {bytes} bytes, which is not a multiple of its {size}-byte values")]
    PartialValue {
        /// Length of the part.
        bytes: u64,
        /// Size of a value.
        size: u64,
    },
    /// A value that does not fit the integer type of scale-float.
    #[error("cannot encode value {index}, which does not fit its integer type")]
    OutOfRange {
        /// Index of the value in the chunk.
        index: usize,
    },
    /// Encrypted data, and no key.
    #[error("needs a key: the data is encrypted (AES-256-GCM)")]
    KeyMissing,
    /// Encrypted data that the key does not decrypt.
    #[error("cannot decrypt part {part}: the key is wrong, or the bytes were changed")]
    Decryption {
        /// Part number from 0, metadata parts first.
        part: usize,
    },
    /// Encryption without a source of nonces.
    #[error("needs a source of nonces to encrypt (`Scratch::with_nonces`)")]
    NonceMissing,
    /// An image whose size differs from the size in the options.
    #[error("found an image of {width} by {height} pixels, which is not the size of the tile")]
    ImageSize {
        /// Width of the image in pixels.
        width: u32,
        /// Height of the image in pixels.
        height: u32,
    },
    /// A width or run length that is not allowed.
    #[error("found the value {value}, which is not allowed here")]
    InvalidValue {
        /// The value as read.
        value: u64,
    },
}

/// The result of a single filter, before the pipeline adds the filter's position.
pub(crate) type Kind<T> = Result<T, ErrorKind>;

impl From<tdb_codec::Error> for ErrorKind {
    fn from(error: tdb_codec::Error) -> Self {
        Self::Metadata(error)
    }
}

impl Error {
    pub(crate) const fn pipeline(count: usize, kind: ErrorKind) -> Self {
        Self { filter: "pipeline", code: 0, position: 0, count, kind }
    }

    /// The message, including the field's name.
    #[must_use]
    pub const fn in_field<'a>(&'a self, field: &'a str) -> impl fmt::Display + 'a {
        Located { error: self, field: Some(field) }
    }
}

struct Located<'a> {
    error: &'a Error,
    field: Option<&'a str>,
}

impl fmt::Display for Located<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Error { filter, position, count, kind, .. } = self.error;
        if *position == 0 {
            write!(f, "filter pipeline {kind}")?;
        } else {
            write!(f, "filter '{filter}' {kind}")?;
        }
        match (self.field, *position) {
            (None, 0) => Ok(()),
            (Some(field), 0) => write!(f, " (field \"{field}\")"),
            (None, _) => write!(f, " (filter {position} of {count})"),
            (Some(field), _) => write!(f, " (field \"{field}\", filter {position} of {count})"),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Located { error: self, field: None }.fmt(f)
    }
}

impl core::error::Error for Error {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match &self.kind {
            ErrorKind::Metadata(error) | ErrorKind::Data(error) => Some(error),
            _ => None,
        }
    }
}

// Errors travel in `Result`s: keep them small.
const _: () = assert!(size_of::<Error>() <= 96);
