//! Errors as exceptions. The classes are defined in Python (`tdb/_errors.py`).

use pyo3::prelude::*;
use tdb_array::Error;
use tdb_array::error::WriteError;
use tdb_array::storage::without_secrets;

/// The module that has the classes.
const MODULE: &str = "tdb._errors";

/// The failure of a call. Each kind becomes a class of exceptions.
#[derive(Debug)]
pub(crate) enum Failure {
    /// An error of an array.
    Array(Error),
    /// An error of a conversion from or to Arrow.
    Arrow(tdb_arrow::Error),
    /// Something that Zarr cannot show.
    Zarr(tdb_zarr::Error),
    /// An argument that cannot be understood: one line.
    Argument(String),
    /// A location that cannot be used: one line.
    Location(String),
    /// There is something at a place already, where an array or a group was to be.
    Taken(String),
    /// An I/O error at a place.
    Io(String, std::io::Error),
    /// An error of a statement of SQL.
    #[cfg(feature = "sql")]
    Sql(tdb_cli::SqlError),
}

#[cfg(feature = "sql")]
impl From<tdb_cli::SqlError> for Failure {
    fn from(error: tdb_cli::SqlError) -> Self {
        Self::Sql(error)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Array(error)
    }
}

impl From<tdb_arrow::Error> for Failure {
    fn from(error: tdb_arrow::Error) -> Self {
        match error {
            tdb_arrow::Error::Array(error) => Self::Array(error),
            error => Self::Arrow(error),
        }
    }
}

impl From<tdb_zarr::Error> for Failure {
    fn from(error: tdb_zarr::Error) -> Self {
        match error {
            tdb_zarr::Error::Array(error) => Self::Array(error),
            error => Self::Zarr(error),
        }
    }
}

impl Failure {
    /// The failure of making something at a place: if that is taken, the message names it.
    pub(crate) fn of_new(place: &str) -> impl Fn(Error) -> Self {
        move |error| match error {
            Error::Write(WriteError::Exists) => Self::Taken(place.to_owned()),
            error => Self::Array(error),
        }
    }

    /// The class of exceptions, the message, and the file that it is about.
    fn parts(&self) -> (&'static str, String, Option<String>) {
        match self {
            Self::Array(error) => {
                let (class, file) = class_of(error);
                (class, error.to_string(), file)
            }
            Self::Arrow(tdb_arrow::Error::NoDimensions) => (
                "ArrowError",
                "the table does not come from an array, so it does not say which columns are dimensions: give them, as in \
                 from_arrow(uri, table, [tdb.Dimension(name, (first, last), dtype)])"
                    .to_owned(),
                None,
            ),
            Self::Arrow(error) => ("ArrowError", error.to_string(), None),
            Self::Zarr(error) => ("UnsupportedError", error.to_string(), None),
            Self::Argument(what) => ("QueryError", what.clone(), None),
            Self::Location(what) => ("LocationError", what.clone(), None),
            Self::Taken(place) => ("WriteError", format!("{place}: {}", WriteError::Exists), Some(place.clone())),
            Self::Io(place, error) => ("IoError", format!("{place}: {error}"), Some(place.clone())),
            #[cfg(feature = "sql")]
            Self::Sql(error) => {
                let (class, file) = error.of_array().map_or((class_of_sql(error.kind), None), class_of);
                (class, error.message.clone(), file)
            }
        }
    }
}

/// The class of exceptions of an error, and the file that it is about.
fn class_of(error: &Error) -> (&'static str, Option<String>) {
    match error {
        Error::Io { path, .. } => ("IoError", Some(path.clone())),
        Error::NotAnArray { path, .. } => ("NotAnArrayError", Some(path.clone())),
        Error::Corrupt { path, .. } => ("CorruptError", Some(path.clone())),
        Error::Unsupported { path, .. } => ("UnsupportedError", Some(path.clone())),
        Error::FilesGone { path, .. } => ("FilesGoneError", Some(path.clone())),
        Error::Query(_) => ("QueryError", None),
        Error::Write(_) => ("WriteError", None),
        Error::Description(_) => ("DescriptionError", None),
        Error::Internal(_) => ("InternalError", None),
        _ => ("Error", None),
    }
}

/// The class of exceptions of a statement's error that is none of an array.
#[cfg(feature = "sql")]
const fn class_of_sql(kind: tdb_cli::SqlErrorKind) -> &'static str {
    use tdb_cli::SqlErrorKind;

    match kind {
        SqlErrorKind::Statement => "QueryError",
        SqlErrorKind::Unsupported => "UnsupportedError",
        SqlErrorKind::Fault => "InternalError",
        SqlErrorKind::Failed | SqlErrorKind::Interrupted => "Error",
    }
}

/// The cause inside of an error, as a text of its own.
fn cause_of(failure: &Failure) -> Option<String> {
    match failure {
        Failure::Array(Error::Io { source, .. }) | Failure::Io(_, source) => Some(source.to_string()),
        Failure::Array(Error::Corrupt { source, .. }) => Some(source.to_string()),
        Failure::Array(Error::Unsupported { what, .. }) => Some(what.clone()),
        Failure::Array(Error::NotAnArray { why, .. }) => Some((*why).to_owned()),
        _ => None,
    }
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        let (class, message, file) = failure.parts();
        let cause = cause_of(&failure);
        // An error may name the URL that it is about, which may contain a password.
        let message = without_secrets(&message).into_owned();
        let file = file.map(|file| without_secrets(&file).into_owned());
        Python::attach(|py| {
            let raised = py
                .import(MODULE)
                .and_then(|module| module.getattr(class))
                .and_then(|class| class.call1((message, file, cause)));
            raised.map_or_else(|error| error, Self::from_value)
        })
    }
}
