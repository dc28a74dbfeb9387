//! The crate's error: which file, and what is wrong.

use std::io;

use thiserror::Error as ThisError;

/// Result of an export or import.
pub type Result<T, E = Error> = core::result::Result<T, E>;

/// Why an array cannot become a file, or a file cannot become cells of an array.
#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum Error {
    /// The array could not be read or written.
    #[error(transparent)]
    Array(#[from] tdb_array::Error),
    /// The array cannot be represented in Arrow.
    #[error(transparent)]
    Arrow(Box<tdb_arrow::Error>),
    /// A file cannot be read.
    #[error("{file}: {problem}")]
    File {
        /// The name that the caller gave to the file.
        file: String,
        /// The fault.
        problem: FileProblem,
    },
    /// The cells of a file do not fit the array.
    #[error("{file}: {why}")]
    Cells {
        /// The name that the caller gave to the file.
        file: String,
        /// Which column, and why.
        why: Box<tdb_arrow::Error>,
    },
    /// A field of an array has no column in a file.
    #[error("{file}: field {field:?} is missing")]
    Missing {
        /// The name that the caller gave to the file.
        file: String,
        /// The field.
        field: String,
    },
    /// A column cannot be cast as it was asked for.
    #[error("{file}: column {column:?} cannot be cast: {what}")]
    Cast {
        /// The name that the caller gave to the file.
        file: String,
        /// The column.
        column: String,
        /// The fault.
        what: String,
    },
    /// A file has other columns than the one before it.
    #[error("{file}: {what}")]
    Differs {
        /// The name that the caller gave to the file.
        file: String,
        /// The difference.
        what: String,
    },
    /// The output cannot be written.
    #[error("the file cannot be written: {0}")]
    Output(String),
    /// An enumerated attribute in a format that stores values instead of numbers.
    #[error(
        "column {column:?}: {why}, and Parquet stores values: write the numbers of enumerations (Enumerations::Numbers), or an \
         Arrow file"
    )]
    Enumerated {
        /// The column.
        column: String,
        /// Why its values cannot be stored.
        why: &'static str,
    },
    /// A dense array needs to know where the cells of a file belong.
    #[error(
        "{file}: it does not say to which part of a dense array its cells belong: make a sparse array of it, with dimensions \
         among its columns"
    )]
    NoPlace {
        /// The file.
        file: String,
    },
    /// The cells of a dense array are not in the order that the file's metadata states.
    #[error(
        "{file}: row {row} is at another place of dimension {dimension:?} than the file's metadata says: its rows were sorted or \
         filtered"
    )]
    Moved {
        /// The file.
        file: String,
        /// The row, counted from 0 in the file.
        row: u64,
        /// The dimension.
        dimension: String,
    },
    /// A coordinate outside the domain of a dimension.
    #[error("{file}: row {row}: the coordinate is outside the domain of dimension {dimension:?}")]
    Outside {
        /// The file.
        file: String,
        /// The row, counted from 0 in the file.
        row: u64,
        /// The dimension.
        dimension: String,
    },
}

/// The fault of a file.
#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum FileProblem {
    /// It cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It begins with other bytes than files of the format.
    #[error("this is not a file of the format {0}")]
    OtherFormat(&'static str),
    /// It ends early.
    #[error("the file is truncated: {0}")]
    Truncated(&'static str),
    /// Its structures contradict each other, or are not those of the format.
    #[error("the file is damaged: {0}")]
    Damaged(String),
    /// It has something that cannot be read here.
    #[error("{0}")]
    Unsupported(String),
    /// One of its batches does not fit the memory.
    #[error("a batch of {bytes} bytes does not fit the memory of {memory} bytes")]
    TooLarge {
        /// Bytes of the batch.
        bytes: u64,
        /// The memory.
        memory: u64,
    },
}

impl From<tdb_arrow::Error> for Error {
    /// Errors of the array stay what they are.
    fn from(error: tdb_arrow::Error) -> Self {
        match error {
            tdb_arrow::Error::Array(error) => Self::Array(error),
            other => Self::Arrow(Box::new(other)),
        }
    }
}

impl Error {
    /// An error about a file with this name.
    pub(crate) fn file(file: &str, problem: impl Into<FileProblem>) -> Self {
        Self::File { file: file.to_owned(), problem: problem.into() }
    }

    /// An error about the cells of a file; errors of the array stay what they are.
    pub(crate) fn cells(file: &str, error: tdb_arrow::Error) -> Self {
        match error {
            tdb_arrow::Error::Array(error) => Self::Array(error),
            why => Self::Cells { file: file.to_owned(), why: Box::new(why) },
        }
    }
}
