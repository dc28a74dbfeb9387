//! Errors of statements, for a program that is told what they are about.

use tdb_datafusion::datafusion::error::DataFusionError;

use crate::failure::Failure;
use crate::sql::error::of_error;

/// Why a statement failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SqlErrorKind {
    /// The statement is wrong.
    Statement,
    /// It asks for something that is not supported.
    Unsupported,
    /// It could not be carried out.
    Failed,
    /// tdb has a fault.
    Fault,
    /// What the program looks at while it waits has ended the query.
    Interrupted,
}

/// The error of a statement.
#[derive(Debug)]
pub struct SqlError {
    /// Why it failed.
    pub kind: SqlErrorKind,
    /// What is wrong, and where in the text.
    pub message: String,
    pub(super) cause: Option<Box<DataFusionError>>,
}

impl SqlError {
    /// The error of the array that was read or written, if it is one.
    #[must_use]
    pub fn of_array(&self) -> Option<&tdb_array::Error> {
        match self.cause.as_ref()?.find_root() {
            DataFusionError::External(error) => error.downcast_ref(),
            _ => None,
        }
    }

    pub(super) fn of(error: DataFusionError, text: &str) -> Self {
        let mut found = Self::of_failure(&of_error(&error, text));
        match error.find_root() {
            DataFusionError::NotImplemented(_) => found.kind = SqlErrorKind::Unsupported,
            // Memory is no option of a command here.
            DataFusionError::ResourcesExhausted(_) => {
                found.message = found.message.replace("--memory", "memory=");
            }
            _ => {}
        }
        Self { cause: Some(Box::new(error)), ..found }
    }

    pub(super) fn of_failure(failure: &Failure) -> Self {
        let kind = match failure {
            Failure::Usage(_) | Failure::Text { .. } | Failure::Clap(_) => SqlErrorKind::Statement,
            Failure::Failed(_) | Failure::Problems | Failure::Closed => SqlErrorKind::Failed,
            Failure::Fault(_) => SqlErrorKind::Fault,
        };
        let message = match failure {
            Failure::Text { line, text, column } => {
                let before: String = text.chars().take(column.saturating_sub(1)).collect();
                format!("{line}\n  {text}\n  {}^", " ".repeat(before.chars().count()))
            }
            other => other.text().to_owned(),
        };
        Self { kind, message, cause: None }
    }

    pub(super) fn fault(what: &str) -> Self {
        Self { kind: SqlErrorKind::Fault, message: what.to_owned(), cause: None }
    }
}

impl From<Failure> for SqlError {
    fn from(failure: Failure) -> Self {
        Self::of_failure(&failure)
    }
}
