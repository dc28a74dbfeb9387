//! Errors.

use std::io;

use tdb_array::error::SchemaProblem;
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
    /// A schema that cannot be: a name that is there twice, or is one of tdb's own.
    #[error(transparent)]
    Schema(#[from] SchemaProblem),
    /// A place that cannot be looked at, or has neither an array nor a group.
    #[error("{location}: {why}")]
    NotAnObject {
        /// The place.
        location: String,
        /// What is there.
        why: String,
    },
    /// A file that is exported.
    #[error("{0}")]
    Output(#[source] io::Error),
    /// A file that is imported, an object that is exported, or a name for something in it.
    #[error("{}{}{what}", prefix(file), line.map_or(String::new(), |line| format!("line {line}: ")))]
    Input {
        /// The name of the file, without what it is compressed with, or the path of the object;
        /// nothing for a name.
        file: String,
        /// The line, counted from 1.
        line: Option<u64>,
        /// What is wrong.
        what: String,
    },
}

fn prefix(file: &str) -> String {
    if file.is_empty() { String::new() } else { format!("{file}: ") }
}
