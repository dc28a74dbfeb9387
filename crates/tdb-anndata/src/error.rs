//! Errors.

use tdb_array::error::InternalError;
use tdb_zarr_files::Problem;
use thiserror::Error as ThisError;

/// Result of an import.
pub type Result<T, E = Error> = core::result::Result<T, E>;

/// Why an import failed.
#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum Error {
    /// The folder: what is damaged or not supported, by the path of its file or group.
    #[error(transparent)]
    Zarr(Box<tdb_zarr_files::Error>),
    /// The experiment.
    #[error(transparent)]
    Soma(#[from] tdb_soma::Error),
}

impl From<tdb_zarr_files::Error> for Error {
    fn from(error: tdb_zarr_files::Error) -> Self {
        Self::Zarr(Box::new(error))
    }
}

impl Error {
    /// Why a part is left out, if it can be: it is whole, but nothing that SOMA has, or too large.
    /// What is damaged, and what fails in a storage, is an error of the whole.
    pub(crate) fn of_part(self) -> Result<String> {
        use tdb_array::error::WriteError::{Duplicate, DuplicateCells};
        match self {
            Self::Zarr(error) => match *error {
                tdb_zarr_files::Error::Zarr { problem: Problem::Unsupported(what), .. } => Ok(what),
                tdb_zarr_files::Error::Zarr {
                    problem: problem @ (Problem::TooLarge { .. } | Problem::Longer { .. }),
                    ..
                } => Ok(problem.to_string()),
                other => Err(other.into()),
            },
            Self::Soma(
                error @ (tdb_soma::Error::Input { .. }
                | tdb_soma::Error::Schema(_)
                | tdb_soma::Error::Array(tdb_array::Error::Write(
                    Duplicate { .. } | DuplicateCells { .. },
                ))),
            ) => Ok(error.to_string()),
            other => Err(other),
        }
    }
}

/// A fault of this crate.
pub(crate) fn internal(what: &'static str) -> Error {
    Error::Soma(tdb_array::Error::from(InternalError::new(what)).into())
}
