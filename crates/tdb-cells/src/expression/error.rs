//! Errors of conditions, with their place in the text.

use core::fmt;

use super::Place;

/// Why a condition is not valid. If the condition was text, the error has the column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConditionError {
    place: Place,
    kind: ConditionErrorKind,
}

/// The reasons why a condition is not valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say what the variants mean")]
pub enum ConditionErrorKind {
    #[error("{what} is expected, not {found}")]
    Expected { what: &'static str, found: String },
    #[error("the string has no closing quote")]
    UnclosedString,
    #[error("{text} is not an escape sequence: use \\\\ \\' \\\" \\n \\r \\t or \\xNN")]
    Escape { text: String },
    #[error("{text} is not a number")]
    Number { text: String },
    #[error("the name is not valid UTF-8")]
    Name,
    #[error("parentheses are nested more than {max} deep")]
    TooDeep { max: usize },
    #[error("the condition has {len} bytes, more than {max}")]
    TooLong { len: usize, max: usize },
    #[error("the array has no field \"{name}\" (it has {known})")]
    UnknownField { name: String, known: String },
    #[error("field \"{field}\" is of type {datatype}, but {operand} is not")]
    Type { field: String, datatype: &'static str, operand: String },
    #[error("{operand} does not fit field \"{field}\" of type {datatype}")]
    OutOfRange { field: String, datatype: &'static str, operand: String },
    #[error("cells of field \"{field}\" ({cells}) can only be compared with null")]
    NotComparable { field: String, cells: String },
    #[error("field \"{field}\" is of type {datatype}: only real numbers can be NaN")]
    NotReal { field: String, datatype: &'static str },
    #[error(
        "the enumeration \"{enumeration}\" of field \"{field}\" has no order: it can only be compared with =, != and in"
    )]
    Unordered { field: String, enumeration: String },
    #[error("delete conditions cannot test whether a field is {what}")]
    NotStored { what: &'static str },
    #[error("{why}")]
    Operand { why: String },
}

impl ConditionError {
    #[doc(hidden)]
    pub const fn at(place: Place, kind: ConditionErrorKind) -> Self {
        Self { place, kind }
    }

    /// The reason.
    #[must_use]
    pub const fn kind(&self) -> &ConditionErrorKind {
        &self.kind
    }

    /// The column of the condition's text that is wrong, in characters, starting at 1; `None` if
    /// the condition was not text.
    #[must_use]
    pub fn column(&self) -> Option<usize> {
        self.place.0.map(|(_, column)| column)
    }

    /// The byte of the condition's text that is wrong.
    #[must_use]
    pub fn offset(&self) -> Option<usize> {
        self.place.0.map(|(offset, _)| offset)
    }
}

impl fmt::Display for ConditionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.column() {
            Some(column) => write!(f, "column {column}: {}", self.kind),
            None => self.kind.fmt(f),
        }
    }
}

impl core::error::Error for ConditionError {}
