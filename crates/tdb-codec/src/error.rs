//! One small `Copy` error type for everything that can be wrong with a sequence of bytes.

use thiserror::Error as ThisError;

use crate::FormatVersion;

/// Result of a parse.
pub type Result<T> = core::result::Result<T, Error>;

/// The fault of a byte sequence, its place, and the field that was being read.
///
/// `offset` is absolute: sub-readers keep the position in the file (or in the unfiltered payload)
/// they were cut from, so the offset can be looked up in a hex dump.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ThisError)]
#[error("{what} at offset {offset}: {kind}")]
pub struct Error {
    /// Name of the field that was being read, as the specification names it.
    pub what: &'static str,
    /// Absolute offset of the field's first byte.
    pub offset: u64,
    /// The cause, with the offending value.
    pub kind: ErrorKind,
}

/// The cause of a parse failure; the payload is the offending value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ThisError)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The input ends before the field does.
    #[error("input ends {missing} bytes too early")]
    UnexpectedEnd {
        /// How many more bytes the field needs.
        missing: u64,
    },
    /// Bytes are left after the end of a structure that fills its region.
    #[error("{count} bytes are left over")]
    TrailingBytes {
        /// Number of bytes left.
        count: u64,
    },
    /// A value outside the set the format allows.
    #[error("value {value} is not allowed here")]
    InvalidValue {
        /// The value as read.
        value: u64,
    },
    /// A count or length that the remaining bytes cannot hold.
    #[error("count {count} is more than the remaining bytes can hold")]
    CountTooLarge {
        /// The count as read.
        count: u64,
    },
    /// A size over a configured limit.
    #[error("size {size} is over the limit")]
    LimitExceeded {
        /// The size asked for.
        size: u64,
    },
    /// A product or sum that overflows, or a value that does not fit this machine's address space.
    #[error("value {value} overflows")]
    Overflow {
        /// One of the operands, as read.
        value: u64,
    },
    /// Two fields that must agree differ.
    #[error("found {found}, expected {expected}")]
    Mismatch {
        /// The value that an earlier field requires.
        expected: u32,
        /// The value that was found.
        found: u32,
    },
    /// A length that differs from another length that it must equal.
    #[error("length is {value}, which does not match the length stored elsewhere")]
    WrongLength {
        /// The length as read.
        value: u64,
    },
    /// A name that is not UTF-8.
    #[error("not valid UTF-8 (byte {valid_up_to} is wrong)")]
    InvalidUtf8 {
        /// How many bytes of the name are valid.
        valid_up_to: u64,
    },
    /// A format version that this build does not read.
    #[error("{} is not supported", crate::version::version_text(*version))]
    UnsupportedVersion {
        /// The version as read.
        version: u32,
    },
    /// A value to be written that the format version to write cannot represent.
    #[error("format version {version} cannot hold it")]
    NotInVersion {
        /// The version to write.
        version: u32,
    },
}

impl Error {
    /// An error of `kind` about the field `what` that starts at `offset`.
    #[must_use]
    pub const fn new(what: &'static str, offset: u64, kind: ErrorKind) -> Self {
        Self { what, offset, kind }
    }

    /// The error of a writer that was given a value for the field `what`, which `version` does not
    /// have.
    #[must_use]
    pub const fn not_in_version(what: &'static str, version: FormatVersion) -> Self {
        Self::new(what, 0, ErrorKind::NotInVersion { version: version.number() })
    }

    /// The same error `base` bytes further on: turns an offset inside a region into a file offset.
    #[must_use]
    pub const fn shifted(mut self, base: u64) -> Self {
        self.offset = self.offset.saturating_add(base);
        self
    }
}

// Errors travel in `Result`s of hot loops: keep them register-sized.
const _: () = assert!(size_of::<Error>() <= 40);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_say_what_where_and_why() {
        let error = Error::new("tile count", 40, ErrorKind::CountTooLarge { count: 7 }).shifted(100);
        assert_eq!(
            error.to_string(),
            "tile count at offset 140: count 7 is more than the remaining bytes can hold"
        );
        let error = Error::not_in_version("label", FormatVersion::OLDEST);
        assert_eq!(error.to_string(), "label at offset 0: format version 1 cannot hold it");
    }
}
