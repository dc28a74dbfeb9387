//! What can go wrong in a pipeline: which filter, at which position, and why.

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
    /// Wire code of the filter (section 1.3).
    pub code: u8,
    /// Position in the pipeline, counted from 1 in encoding order; 0 if no single filter is at fault.
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
    /// A filter this build knows by name but cannot run. None today: where filters of newer formats begin.
    #[error("is not supported yet")]
    Unsupported,
    /// A filter code the format does not define, or no longer.
    #[error("has number {code}, which the format does not define (any more)")]
    UnknownFilter {
        /// The code as read.
        code: u8,
    },
    /// A filter whose codec was left out of this build.
    #[error("needs the crate feature '{feature}', which this build leaves out")]
    FeatureMissing {
        /// Name of the feature.
        feature: &'static str,
    },
    /// A filter that cannot take values of this type.
    #[error("cannot take values of type {datatype}")]
    InputType {
        /// The type it was given.
        datatype: Datatype,
    },
    /// Strings stored with their lengths, handled as plain bytes.
    #[error("stores strings together with their lengths, and has to be asked for strings")]
    StringMode,
    /// Plain bytes, handled as strings stored with their lengths.
    #[error("does not store strings with their lengths, and has to be asked for bytes")]
    NotStringMode,
    /// A string filter behind another filter, which the format does not allow.
    #[error("has to be the first filter of a string field")]
    NotFirst,
    /// An option outside its range.
    #[error("has the option value {value}, which is out of range")]
    InvalidOption {
        /// The value.
        value: i64,
    },
    /// Options that mean nothing.
    #[error("has a bad option: {reason}")]
    BadOption {
        /// What is wrong with them.
        reason: &'static str,
    },
    /// A field of the filter's chunk metadata is wrong; offsets are relative to the start of that metadata.
    #[error("has bad chunk metadata: {0}")]
    Metadata(tdb_codec::Error),
    /// A header inside the filter's data is wrong; offsets are relative to the start of the part.
    #[error("has bad data: {0}")]
    Data(tdb_codec::Error),
    /// Data of a length not known beforehand, asked for in a place of a known length.
    #[error("changes the length of data, which therefore cannot be encoded straight into its place")]
    ChangesLength,
    /// A length that does not match the one promised elsewhere.
    #[error("has {found} bytes where {expected} were promised")]
    WrongLength {
        /// The promised length in bytes.
        expected: u64,
        /// The length found.
        found: u64,
    },
    /// A compressed stream that its codec rejects.
    #[error("has a corrupt stream: {reason}")]
    CorruptStream {
        /// What the codec says.
        reason: &'static str,
    },
    /// The codec failed to compress, which is not the input's fault.
    #[error("cannot compress: {reason}")]
    Compress {
        /// What the codec says.
        reason: &'static str,
    },
    /// An intermediate buffer over the operation's budget.
    #[error("needs {size} bytes, which is over the memory budget")]
    OverBudget {
        /// Bytes asked for.
        size: u64,
    },
    /// A stored checksum that differs from the bytes' own.
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
    /// A part that is not a whole number of values, so that encoding it would lose its tail.
    #[error("cannot take {bytes} bytes, which is no multiple of its {size}-byte values")]
    PartialValue {
        /// Length of the part.
        bytes: u64,
        /// Size of a value.
        size: u64,
    },
    /// A value that does not fit the integers of scale-float.
    #[error("cannot encode value {index}, which its integers cannot hold")]
    OutOfRange {
        /// Index of the value in the chunk.
        index: usize,
    },
    /// Encrypted data, and no key.
    #[error("needs a key: the data is encrypted (AES-256-GCM)")]
    KeyMissing,
    /// Encrypted data that the key does not open.
    #[error("cannot decrypt part {part}: the key is wrong, or the bytes were changed")]
    Decryption {
        /// Part number from 0, metadata parts first.
        part: usize,
    },
    /// Encryption without a source of nonces.
    #[error("needs a source of nonces to encrypt (`Scratch::with_nonces`)")]
    NonceMissing,
    /// An image of another size than the options say.
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

/// Result of a single filter's work, before the pipeline adds where it stands.
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

    /// The message with the field's name in it.
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
