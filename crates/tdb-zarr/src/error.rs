//! Errors.

use thiserror::Error as ThisError;

/// Result of a question about a hierarchy.
pub type Result<T, E = Error> = core::result::Result<T, E>;

/// Why a question about a hierarchy failed.
#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum Error {
    /// An error of the array.
    #[error(transparent)]
    Array(#[from] tdb_array::Error),
    /// A cell that is no text although its type says so; strings of Zarr are Unicode.
    #[error(
        "cell {cell} of this chunk of field \"{field}\" is not valid {datatype} text, so Zarr's string type cannot show it"
    )]
    NotText {
        /// The field.
        field: String,
        /// The number of the cell in the chunk.
        cell: usize,
        /// The type of the field.
        datatype: &'static str,
    },
    /// A group that is no experiment of SOMA, or has no such measurement.
    #[error("{location} cannot be shown as AnnData: {why}")]
    NoExperiment {
        /// Where the group is.
        location: String,
        /// The reason.
        why: String,
    },
    /// A cell of a sparse matrix that is in no row or column of the tables.
    #[error("a cell has row {row} and column {column}, but there are {rows} rows and {columns} columns")]
    Outside {
        /// The row of the cell.
        row: i64,
        /// The column of the cell.
        column: i64,
        /// How many rows there are.
        rows: u64,
        /// How many columns there are.
        columns: u64,
    },
    /// A list of more keys than this crate makes at once: in number, in bytes, or in boxes of
    /// fragments that are compared for it.
    #[error(
        "there are too many keys below \"{prefix}\" for one list, which has {max} at most, and 256 MiB: ask for a longer prefix, or for the keys themselves"
    )]
    TooManyKeys {
        /// The beginning of the keys that was asked for.
        prefix: String,
        /// The most keys.
        max: usize,
    },
}

impl From<tdb_array::error::QueryError> for Error {
    fn from(error: tdb_array::error::QueryError) -> Self {
        Self::Array(error.into())
    }
}
