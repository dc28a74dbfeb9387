//! Errors.

use std::io;

use thiserror::Error as ThisError;

/// Result of an import or export.
pub type Result<T, E = Error> = core::result::Result<T, E>;

/// Why an import or export failed.
#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum Error {
    /// An error of an array or a group.
    #[error(transparent)]
    Array(#[from] tdb_array::Error),
    /// An array or a group cannot be shown as Zarr.
    #[error(transparent)]
    Shown(Box<tdb_zarr::Error>),
    /// A part of a Zarr hierarchy cannot be read.
    #[error("{path}: {problem}")]
    Zarr {
        /// The file or the folder.
        path: String,
        /// The fault.
        problem: Problem,
    },
    /// There is something at a place that should be made.
    #[error("{path}: there is something here already")]
    Exists {
        /// The place.
        path: String,
    },
}

/// The fault of a part of a Zarr hierarchy.
#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum Problem {
    /// A file cannot be read or written.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// There is neither an array nor a group.
    #[error("there is no Zarr array or group here: it would have the file zarr.json, .zarray or .zgroup")]
    NotZarr,
    /// What is there is not what the specification says.
    #[error("this is damaged: {0}")]
    Damaged(String),
    /// Something that arrays do not have, or that is not read here.
    #[error("{0}")]
    Unsupported(String),
    /// A chunk has more bytes than it may have, and nobody knows how many.
    #[error("a chunk has more than the {memory} bytes that are allowed for it")]
    Longer {
        /// How many it may have.
        memory: u64,
    },
    /// Something does not fit the memory.
    #[error("{what} needs {bytes} bytes of memory, and {memory} are allowed for it")]
    TooLarge {
        /// What it is.
        what: &'static str,
        /// How many bytes it needs.
        bytes: u64,
        /// How many it may have.
        memory: u64,
    },
}

impl From<tdb_zarr::Error> for Error {
    /// Errors of the array stay what they are.
    fn from(error: tdb_zarr::Error) -> Self {
        match error {
            tdb_zarr::Error::Array(error) => Self::Array(error),
            other => Self::Shown(Box::new(other)),
        }
    }
}

impl Problem {
    /// A fault of what is there.
    pub(crate) fn damaged(what: impl Into<String>) -> Self {
        Self::Damaged(what.into())
    }

    /// Something that is not supported.
    pub(crate) fn unsupported(what: impl Into<String>) -> Self {
        Self::Unsupported(what.into())
    }

    /// Whether it would be none with more memory.
    pub(crate) const fn is_about_memory(&self) -> bool {
        matches!(self, Self::Longer { .. } | Self::TooLarge { .. })
    }

    /// An error with the place of the fault.
    pub(crate) fn at(self, path: impl Into<String>) -> Error {
        Error::Zarr { path: path.into(), problem: self }
    }
}
