//! Errors.

use tdb_array::error::InternalError;
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

/// A fault of this crate.
pub(crate) fn internal(what: &'static str) -> Error {
    Error::Soma(tdb_array::Error::from(InternalError::new(what)).into())
}
