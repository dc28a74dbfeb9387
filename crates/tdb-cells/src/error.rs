//! The error type of all operations on arrays: the file, the offset in it, and the reason.

use core::ops::Range;
use std::io;

use thiserror::Error as ThisError;

use crate::budget::MemoryBudget;
use crate::expression::{AggregateError, ConditionError};
use crate::internal::InternalError;

/// Result of an operation on an array.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why an operation on an array failed. Displays as one line that names the file and, if bytes are
/// wrong, the offset.
#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum Error {
    /// An I/O error of the storage.
    #[error("{path}: {source}")]
    Io {
        /// The file or folder.
        path: String,
        /// The error of the system.
        source: io::Error,
    },
    /// The path contains something other than the array (or group) that was asked for.
    #[error("{path}: {why}")]
    NotAnArray {
        /// The path.
        path: String,
        /// The reason, such as what the path contains instead.
        why: &'static str,
    },
    /// The bytes of a file do not follow the format.
    #[error("{path}: {source}")]
    Corrupt {
        /// The file.
        path: String,
        /// The reason, with the offset of the wrong bytes.
        source: Box<Cause>,
    },
    /// The array needs something that this build does not support. Nothing is skipped silently.
    #[error("{path}: {what}")]
    Unsupported {
        /// The file that needs it.
        path: String,
        /// The name of what it needs.
        what: String,
    },
    /// The query asks for something the array does not have.
    #[error(transparent)]
    Query(#[from] QueryError),
    /// The cells or metadata to be written do not fit the array. Readers see nothing of them.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// Bytes that are not the description of a query.
    #[error(transparent)]
    Description(#[from] DescriptionError),
    /// A query was described, and files that it needs are no longer in the array: a vacuum removed
    /// them.
    #[error("{path}: {}", gone(names, *count))]
    FilesGone {
        /// The array.
        path: String,
        /// The first of these files, by their keys: the schema, fragments, deletes.
        names: Vec<String>,
        /// The number of these files.
        count: usize,
    },
    /// A fault of tdb: something that the engine relies on does not hold. No file and no query
    /// should be able to cause it.
    #[error(transparent)]
    Internal(#[from] InternalError),
}

/// Why the bytes of a described query cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ThisError)]
#[non_exhaustive]
pub enum DescriptionError {
    /// They do not begin with the magic bytes of a description.
    #[error("these bytes are not the description of a query")]
    NotADescription,
    /// They have a version that this build does not know.
    #[error("the description of a query has version {version}, but this build reads version {known}")]
    UnknownVersion {
        /// The version in the bytes.
        version: u8,
        /// The version that this build reads.
        known: u8,
    },
    /// A field of the description is invalid.
    #[error("the description of a query is damaged: {0}")]
    Damaged(#[from] tdb_codec::Error),
}

/// The message about missing files.
fn gone(names: &[String], count: usize) -> String {
    let more = if count > names.len() { ", …" } else { "" };
    let files = if count == 1 { "file" } else { "files" };
    format!(
        "{count} {files} that the query was planned with are gone ({}{more}): plan it again",
        names.join(", ")
    )
}

/// The reason why a file's bytes are not valid.
#[derive(Clone, Debug, ThisError)]
#[non_exhaustive]
pub enum Cause {
    /// A field of a structure.
    #[error(transparent)]
    Parse(#[from] tdb_codec::Error),
    /// A schema.
    #[error(transparent)]
    Schema(#[from] tdb_schema::Error),
    /// A tile or one of its chunks.
    #[error(transparent)]
    Tile(#[from] tdb_tile::Error),
    /// A file or folder name.
    #[error(transparent)]
    Name(#[from] tdb_fragment::NameError),
    /// Two structures contradict each other.
    #[error("{what} at offset {offset}: {detail}")]
    Inconsistent {
        /// The structure that was being read.
        what: &'static str,
        /// The offset in the file.
        offset: u64,
        /// The contradiction, with both values.
        detail: String,
    },
}

impl Cause {
    /// The offset in the file of the wrong bytes, if the cause has one.
    #[doc(hidden)]
    #[must_use]
    pub const fn offset(&self) -> Option<u64> {
        match self {
            Self::Parse(error) => Some(error.offset),
            Self::Tile(error) => Some(error.offset),
            Self::Inconsistent { offset, .. } => Some(*offset),
            Self::Schema(_) | Self::Name(_) => None,
        }
    }
}

/// A query that does not fit the array.
#[derive(Clone, Debug, PartialEq, Eq, ThisError)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say what the variants mean")]
pub enum QueryError {
    #[error("the array has no field \"{name}\" (it has {known})")]
    UnknownField { name: String, known: String },
    #[error("the array has no dimension \"{name}\" (it has {known})")]
    UnknownDimension { name: String, known: String },
    #[error("the array has no dimension label \"{name}\" (it has {known})")]
    UnknownLabel { name: String, known: String },
    #[error("the range of dimension \"{dimension}\" is not of its type, {datatype}")]
    RangeType { dimension: String, datatype: &'static str },
    #[error("the range of dimension \"{dimension}\" is empty: {low} is after {high}")]
    InvertedRange { dimension: String, low: String, high: String },
    #[error("the range of dimension \"{dimension}\" lies outside its domain, {low} to {high}")]
    OutsideDomain { dimension: String, low: String, high: String },
    #[error("{given} ranges for {dimensions} dimensions")]
    RangeCount { given: usize, dimensions: usize },
    #[error("the result would have {cells} cells, more than this machine can address")]
    TooLarge { cells: u128 },
    #[error("the result needs {bytes} bytes of memory, which this machine does not have")]
    OutOfMemory { bytes: u64 },
    #[error(
        "the result needs {needed} of memory, and its budget is {budget}: read it in batches, or allow more"
    )]
    OverBudget { budget: MemoryBudget, needed: MemoryBudget },
    #[error("a memory budget of {budget} is too small for this query, which needs at least {min}")]
    BudgetTooSmall { budget: MemoryBudget, min: MemoryBudget },
    #[error("the cells make more than {max} groups, which is the most that was allowed")]
    TooManyGroups { max: usize },
    #[error("field \"{field}\" holds {datatype} values, not {requested}")]
    ValueType { field: String, datatype: &'static str, requested: &'static str },
    #[error(
        "a part that is made of tiles cannot be described for another process, and takes no further ranges: give the query its ranges before it is cut, or cut it with `partitions`"
    )]
    TilePartition,
    #[error("the result has no field \"{0}\"")]
    NotInResult(String),
    #[error("no clock is available for the present time: give the time to open the array at")]
    NoClock,
    #[error("condition: {0}")]
    Condition(ConditionError),
    #[error("aggregate: {0}")]
    Aggregate(AggregateError),
}

/// A write that does not fit the array.
#[derive(Clone, Debug, PartialEq, ThisError)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say what the variants mean")]
pub enum WriteError {
    #[error(transparent)]
    Schema(Box<tdb_schema::Error>),
    #[error("there is an array, a group or another file here already")]
    Exists,
    #[error("field \"{0}\" is missing: a write must contain all fields")]
    MissingField(String),
    #[error("field \"{0}\" is given twice")]
    RepeatedField(String),
    #[error("field \"{field}\" {wrong}")]
    Column { field: String, wrong: &'static str },
    #[error("field \"{field}\" has {given} cells, but {expected} are written")]
    CellCount { field: String, given: u64, expected: u64 },
    #[error("cell {cell} has the coordinate {value} in dimension \"{dimension}\", outside its domain")]
    OutsideDomain { dimension: String, cell: u64, value: String },
    #[error("cell {cell} is out of global order: it sorts before the cell before it")]
    NotSorted { cell: u64 },
    #[error("cell {first} and the next one have the same coordinates, which this array does not allow")]
    Duplicate { first: u64 },
    #[error("cells {first} and {second} have the same coordinates, which this array does not allow")]
    DuplicateCells { first: u64, second: u64 },
    #[error(
        "cell {cell} of field \"{field}\" has the code {code}, but enumeration \"{enumeration}\" has {values} values, which are \
         counted from 0: extend it first, or write the position of a value"
    )]
    PastEnumeration { field: String, cell: u64, code: String, enumeration: String, values: usize },
    #[error("cell {cell} of field \"{field}\" is out of the order that the field's values must have")]
    NotInOrder { field: String, cell: u64 },
    #[error("dimension \"{0}\" has two ranges: a write covers one box")]
    RepeatedRange(String),
    #[error("a tile has {bytes} bytes in all files, more than the {limit} that a fragment may have")]
    TileSize { bytes: u64, limit: u64 },
    #[error(
        "the values of the enumeration \"{0}\" are missing, or the schema has no enumeration of this name"
    )]
    EnumerationMissing(String),
    #[error("there are no cells to write")]
    NoCells,
    #[error("an append to this fragment failed, so it cannot be written any further")]
    FailedBefore,
    #[error("field \"{field}\" cannot be filtered: {error}")]
    Filter { field: String, error: Box<tdb_tile::Error> },
    #[error("{what} refused: {why}")]
    Refused { what: &'static str, why: String },
    #[error("cancelled")]
    Cancelled,
    #[error("no clock is available for the present time: give the time to write at")]
    NoClock,
    #[error(
        "{0} has no locks that keep two processes from changing it at once: if no other process evolves or maintains it, allow \
         this with --without-lock (WriteOptions::without_lock)"
    )]
    NoLock(String),
    #[error("cannot obtain random bytes from the system: {0}")]
    NoRandomness(String),
    #[error(
        "what was written is committed, but {path} was not renewed ({why}): readers of the published state do not see it before the \
         next write, or tdb publish, renews it"
    )]
    NotRenewed { path: String, why: String },
}

impl Error {
    /// The error of an operation that is refused, and the reason.
    #[doc(hidden)]
    pub fn refused(what: &'static str, why: impl Into<String>) -> Self {
        WriteError::Refused { what, why: why.into() }.into()
    }

    /// A file whose bytes do not follow the format.
    #[doc(hidden)]
    pub fn corrupt(path: impl Into<String>, source: impl Into<Cause>) -> Self {
        Self::Corrupt { path: path.into(), source: Box::new(source.into()) }
    }

    /// A file with two structures that contradict each other.
    #[doc(hidden)]
    pub fn inconsistent(
        path: impl Into<String>,
        what: &'static str,
        offset: u64,
        detail: impl Into<String>,
    ) -> Self {
        Self::corrupt(path, Cause::Inconsistent { what, offset, detail: detail.into() })
    }

    /// Something that this build does not support.
    #[doc(hidden)]
    pub fn unsupported(path: impl Into<String>, what: impl Into<String>) -> Self {
        Self::Unsupported { path: path.into(), what: what.into() }
    }

    /// The error of a tile. A filter that this build does not have is unsupported, not corruption.
    #[doc(hidden)]
    pub fn from_tile(path: impl Into<String>, field: Option<&str>, error: tdb_tile::Error) -> Self {
        use tdb_filters::ErrorKind::{FeatureMissing, UnknownFilter, Unsupported};
        match error.kind {
            tdb_tile::ErrorKind::Filter(filter)
                if matches!(filter.kind, Unsupported | UnknownFilter { .. } | FeatureMissing { .. }) =>
            {
                let what =
                    field.map_or_else(|| filter.to_string(), |field| filter.in_field(field).to_string());
                Self::unsupported(path, what)
            }
            tdb_tile::ErrorKind::Encrypted => Self::unsupported(path, error.to_string()),
            _ => Self::corrupt(path, error),
        }
    }

    /// A read past a file's end; the error names the byte that was needed.
    #[doc(hidden)]
    pub fn short_read(path: impl Into<String>, range: &Range<u64>, error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::UnexpectedEof {
            let detail = format!("the file ends before byte {} of the tile", range.end);
            return Self::inconsistent(path, "tile", range.start, detail);
        }
        Self::io(path, error)
    }

    /// An I/O error of the storage.
    #[doc(hidden)]
    pub fn io(path: impl Into<String>, source: io::Error) -> Self {
        Self::Io { path: path.into(), source }
    }

    /// The error of the line that calls this: an assumption of it does not hold.
    #[doc(hidden)]
    #[must_use]
    #[track_caller]
    #[cold]
    pub const fn internal(what: &'static str) -> Self {
        Self::Internal(InternalError::new(what))
    }
}

/// Turns a value that is only missing if the engine has a fault into an error.
pub trait OrInternal<T> {
    /// The value, or an [`InternalError`] of the line that calls this.
    ///
    /// # Errors
    /// [`Error::Internal`] with `what`, which states what is missing, if there is no value.
    #[track_caller]
    fn or_internal(self, what: &'static str) -> Result<T>;
}

impl<T> OrInternal<T> for Option<T> {
    #[inline]
    fn or_internal(self, what: &'static str) -> Result<T> {
        match self {
            Some(value) => Ok(value),
            None => Err(Error::internal(what)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_names_the_line_that_noticed_and_asks_for_a_report() {
        let missing: Option<u8> = None;
        let (error, line) = (missing.or_internal("group 3 has no slot").unwrap_err(), line!());
        let Error::Internal(fault) = &error else { panic!("{error}") };
        assert_eq!(
            (fault.what(), fault.file(), fault.line()),
            ("group 3 has no slot", "tdb-cells/src/error.rs", line)
        );
        let text = error.to_string();
        assert!(text.starts_with("internal error: group 3 has no slot (tdb-cells/src/error.rs:"), "{text}");
        assert!(text.ends_with("/issues"), "{text}");
        assert_eq!(Some(4).or_internal("there is a four").unwrap(), 4);
    }
}
