//! Why a request failed, in the form that the host gets.

use serde_json::{Value, json};
use tdb_array::Error;
use tdb_storage::replay::Fault;

/// Why a request failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The kind, one of those in `index.d.ts` of the package.
    pub kind: &'static str,
    /// One line for people.
    pub message: String,
    /// The file, if one is at fault.
    pub file: Option<String>,
    /// The offset of the wrong bytes in it.
    pub offset: Option<u64>,
}

impl Failure {
    /// A fault of a query, in words.
    pub fn query(message: impl Into<String>) -> Self {
        Self { kind: "query", message: message.into(), file: None, offset: None }
    }

    /// A fault of the host, or of this crate.
    pub fn internal(message: impl Into<String>) -> Self {
        Self { kind: "internal", message: message.into(), file: None, offset: None }
    }

    /// As the host gets it.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({"kind": self.kind, "message": self.message, "file": self.file, "offset": self.offset})
    }
}

/// The faults that the parser of requests finds.
impl From<String> for Failure {
    fn from(message: String) -> Self {
        Self::query(message)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let message = error.to_string();
        let (kind, file, offset) = match error {
            Error::Io { path, source } => (kind(Fault::of(&source)), Some(path), None),
            Error::NotAnArray { path, .. } => ("not-found", Some(path), None),
            Error::Corrupt { path, source } => ("corrupt", Some(path), source.offset()),
            Error::Unsupported { path, .. } => ("unsupported", Some(path), None),
            Error::FilesGone { path, .. } => ("outdated", Some(path), None),
            Error::Query(_) => ("query", None, None),
            _ => ("internal", None, None),
        };
        Self { kind, message, file, offset }
    }
}

const fn kind(fault: Fault) -> &'static str {
    match fault {
        Fault::Missing => "not-found",
        Fault::Outdated => "outdated",
        Fault::Damaged => "corrupt",
        Fault::Unreadable => "network",
    }
}
