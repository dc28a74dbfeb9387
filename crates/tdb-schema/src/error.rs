//! The error of this crate.

use thiserror::Error as ThisError;

use crate::SchemaProblem;

/// Result of reading or writing a schema.
pub type Result<T> = core::result::Result<T, Error>;

/// Why a schema could not be read or written.
#[derive(Clone, Debug, PartialEq, ThisError)]
#[non_exhaustive]
pub enum Error {
    /// The bytes do not follow the format.
    #[error(transparent)]
    Parse(#[from] tdb_codec::Error),
    /// Each field is well-formed, but the fields contradict each other.
    #[error("invalid schema: {0}")]
    Invalid(#[from] SchemaProblem),
}
