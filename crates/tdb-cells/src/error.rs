//! The crate's error: what failed, in which file, at which offset.

use core::ops::Range;
use std::io;

use thiserror::Error as ThisError;

use crate::budget::MemoryBudget;
use crate::expression::{AggregateError, ConditionError};

/// Result of an operation on an array.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why an operation on an array failed. Displays as one line that names the file and, where bytes are wrong, the
/// offset.
#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum Error {
    /// The storage could not deliver.
    #[error("{path}: {source}")]
    Io {
        /// The file or folder.
        path: String,
        /// What the system said.
        source: io::Error,
    },
    /// The path holds something else than the array (or group) that was asked for.
    #[error("{path}: {why}")]
    NotAnArray {
        /// The path.
        path: String,
        /// What is there instead.
        why: &'static str,
    },
    /// The bytes of a file are not what the format says.
    #[error("{path}: {source}")]
    Corrupt {
        /// The file.
        path: String,
        /// What is wrong, and at which offset.
        source: Box<Cause>,
    },
    /// The array needs something this build does not do. Nothing is skipped silently.
    #[error("{path}: {what}")]
    Unsupported {
        /// The file that needs it.
        path: String,
        /// What it needs, by name.
        what: String,
    },
    /// The query asks for something the array does not have.
    #[error(transparent)]
    Query(#[from] QueryError),
    /// What was to be written does not fit the array. Nothing of it counts.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// Bytes that are no description of a query.
    #[error(transparent)]
    Description(#[from] DescriptionError),
    /// A query was described, and files that count in it are no longer those of the array: a vacuum removed them.
    #[error("{path}: {}", gone(names, *count))]
    FilesGone {
        /// The array.
        path: String,
        /// The first of these files, by their keys: the schema, fragments, deletes.
        names: Vec<String>,
        /// How many they are.
        count: usize,
    },
}

/// Why the bytes of a described query cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ThisError)]
#[non_exhaustive]
pub enum DescriptionError {
    /// They do not begin as such bytes do.
    #[error("these bytes are no description of a query")]
    NotADescription,
    /// They are of a version that this build does not have.
    #[error("the description of a query is of version {version}, and this build reads version {known}")]
    UnknownVersion {
        /// The version that they state.
        version: u8,
        /// The one that is known.
        known: u8,
    },
    /// A field of them is wrong.
    #[error("the description of a query is damaged: {0}")]
    Damaged(#[from] tdb_codec::Error),
}

/// What is said of files that are gone.
fn gone(names: &[String], count: usize) -> String {
    let more = if count > names.len() { ", …" } else { "" };
    let files = if count == 1 { "file" } else { "files" };
    format!(
        "{count} {files} that the query was planned with are gone ({}{more}): plan it again",
        names.join(", ")
    )
}

/// What is wrong with a file's bytes.
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
        /// What was being read.
        what: &'static str,
        /// Where.
        offset: u64,
        /// The contradiction, with both values.
        detail: String,
    },
}

impl Cause {
    /// Where in the file the bytes are that are wrong, if the cause knows.
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
    #[error("a memory budget of {budget} is too small for this query, which needs at least {least}")]
    BudgetTooSmall { budget: MemoryBudget, least: MemoryBudget },
    #[error("field \"{field}\" holds {datatype} values, not {asked}")]
    ValueType { field: String, datatype: &'static str, asked: &'static str },
    #[error("the result has no field \"{0}\"")]
    NotInResult(String),
    #[error("there is no clock here that says what is present: give the time to open at")]
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
    #[error("field \"{0}\" is missing: a write gives all of them")]
    MissingField(String),
    #[error("field \"{0}\" is given twice")]
    RepeatedField(String),
    #[error("field \"{field}\" {wrong}")]
    Column { field: String, wrong: &'static str },
    #[error("field \"{field}\" has {given} cells, but {expected} are written")]
    CellCount { field: String, given: u64, expected: u64 },
    #[error("cell {cell} has the coordinate {value} in dimension \"{dimension}\", outside its domain")]
    OutsideDomain { dimension: String, cell: u64, value: String },
    #[error("cell {cell} stands before the one before it in the array's global order")]
    NotSorted { cell: u64 },
    #[error("cells {first} and the next have the same coordinates, which this array does not allow")]
    Duplicate { first: u64 },
    #[error("cells {first} and {second} have the same coordinates, which this array does not allow")]
    DuplicateCells { first: u64, second: u64 },
    #[error("cell {cell} of field \"{field}\" breaks the order that its values must have")]
    NotInOrder { field: String, cell: u64 },
    #[error("dimension \"{0}\" has two ranges: a write covers one box")]
    RepeatedRange(String),
    #[error("a tile has {bytes} bytes in all files, more than the {limit} that a fragment may have")]
    TileSize { bytes: u64, limit: u64 },
    #[error(
        "the values of the enumeration \"{0}\" are not given, or those of one that the schema does not name are"
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
    #[error("there is no clock here that says what is present: give the time to write at")]
    NoClock,
    #[error(
        "{0} has no locks that keep two processes from changing it at once: if no other process evolves or maintains it, allow \
         this with --without-lock (WriteOptions::without_lock)"
    )]
    NoLock(String),
    #[error("the system gives no random numbers: {0}")]
    NoRandomness(String),
    #[error(
        "what was written counts, but {path} was not renewed ({why}): who reads the published state does not see it before the \
         next write, or tdb publish, renews it"
    )]
    NotRenewed { path: String, why: String },
}

impl Error {
    /// Something that is not done to an array, and why.
    #[doc(hidden)]
    pub fn refused(what: &'static str, why: impl Into<String>) -> Self {
        WriteError::Refused { what, why: why.into() }.into()
    }

    /// A file whose bytes are not what the format says.
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

    /// Something that this build does not do.
    #[doc(hidden)]
    pub fn unsupported(path: impl Into<String>, what: impl Into<String>) -> Self {
        Self::Unsupported { path: path.into(), what: what.into() }
    }

    /// A tile's error; a filter that this build does not have is no damage.
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

    /// A read past a file's end says which bytes were needed.
    #[doc(hidden)]
    pub fn short_read(path: impl Into<String>, range: &Range<u64>, error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::UnexpectedEof {
            let detail = format!("the file ends before byte {} of the tile", range.end);
            return Self::inconsistent(path, "tile", range.start, detail);
        }
        Self::io(path, error)
    }

    /// A storage that could not deliver.
    #[doc(hidden)]
    pub fn io(path: impl Into<String>, source: io::Error) -> Self {
        Self::Io { path: path.into(), source }
    }
}
