//! Errors.

use thiserror::Error as ThisError;

/// Result of a question about an experiment.
pub type Result<T, E = Error> = core::result::Result<T, E>;

/// Why a question about an experiment failed.
#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum Error {
    /// An error of an array or a group.
    #[error(transparent)]
    Array(#[from] tdb_array::Error),
    /// A place that cannot be looked at, or has neither an array nor a group.
    #[error("{location}: {why}")]
    NotAnObject {
        /// The place.
        location: String,
        /// What is there.
        why: String,
    },
}
