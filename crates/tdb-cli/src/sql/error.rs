//! Errors of SQL statements, with their positions in the text and their exit codes.

use std::path::Path;

use tdb_datafusion::datafusion::common::Span;
use tdb_datafusion::datafusion::error::DataFusionError;
use tdb_datafusion::datafusion::sql::sqlparser::parser::ParserError;

use super::messages::{conversion_of, field_of, file_of, message_of, parsed_of, shortage, unsupported_of};
use crate::failure::{Failure, remedy_of};
use crate::store_error::in_words;

/// The error of a statement.
#[derive(Debug)]
pub(super) enum StatementError {
    /// DataFusion, or an array, refused it.
    Sql(Box<DataFusionError>),
    /// Its result could not be written.
    Output(Failure),
    /// The user interrupted it.
    Interrupted,
}

impl From<DataFusionError> for StatementError {
    fn from(error: DataFusionError) -> Self {
        Self::Sql(Box::new(error))
    }
}

impl From<Failure> for StatementError {
    fn from(failure: Failure) -> Self {
        Self::Output(failure)
    }
}

impl StatementError {
    /// The failure of the command, for the text that the statement is from.
    pub(super) fn failure(self, text: &str) -> Failure {
        match self {
            Self::Sql(error) => failure(*error, text),
            Self::Output(failure) => failure,
            Self::Interrupted => Failure::Failed("interrupted".to_owned()),
        }
    }
}

/// The failure of the command. Mistakes in a statement are mistakes in the command line.
pub(super) fn failure(error: DataFusionError, text: &str) -> Failure {
    of_error(&error, text)
}

/// [`failure`] of an error that is still wanted.
pub(super) fn of_error(error: &DataFusionError, text: &str) -> Failure {
    let (error, mut place) = match error {
        DataFusionError::Collection(errors) => (errors.first().unwrap_or(error), None),
        error => (error, None),
    };
    if let Some(span) = error.diagnostic().and_then(|diagnostic| diagnostic.span) {
        place = TextPosition::of(span);
    }
    match error.find_root() {
        DataFusionError::SQL(error, _) => {
            let (message, said) = parsed(error);
            at(place.or(said), text, message)
        }
        DataFusionError::Plan(message) | DataFusionError::Configuration(message) => {
            at(place, text, message_of(message))
        }
        error @ DataFusionError::SchemaError(schema, _) => {
            at(place, text, field_of(schema, &error.message()))
        }
        DataFusionError::ResourcesExhausted(message) => {
            Failure::Usage(format!("{}; --memory sets the limit", shortage(message)))
        }
        DataFusionError::ArrowError(error, _) => {
            let message = error.to_string();
            Failure::Failed(file_of(&message).unwrap_or_else(|| conversion_of(&message)))
        }
        DataFusionError::External(error) => match error.downcast_ref::<tdb_array::Error>() {
            Some(tdb_array::Error::Query(error)) => Failure::Usage(error.to_string()),
            Some(tdb_array::Error::Internal(error)) => Failure::Fault(error.to_string()),
            Some(other) => {
                let place = match other {
                    tdb_array::Error::Io { path, .. } => Path::new(path),
                    _ => Path::new(""),
                };
                Failure::Failed(format!("{}{}", in_words(&other.to_string()), remedy_of(place, other)))
            }
            None => Failure::Failed(in_words(&error.to_string()).into_owned()),
        },
        error => Failure::Failed(unsupported_of(&error.message())),
    }
}

/// A line and a column, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct TextPosition {
    line: usize,
    column: usize,
}

impl TextPosition {
    fn of(span: Span) -> Option<Self> {
        Self::new(span.start.line, span.start.column)
    }

    fn new(line: u64, column: u64) -> Option<Self> {
        let (line, column) = (usize::try_from(line).ok()?, usize::try_from(column).ok()?);
        (line > 0).then_some(Self { line, column })
    }
}

/// A failure that shows the position in the text, if there is one.
fn at(place: Option<TextPosition>, text: &str, line: String) -> Failure {
    let shown = place.and_then(|place| Some((text.lines().nth(place.line.checked_sub(1)?)?, place.column)));
    match shown {
        Some((text, column)) => Failure::Text { line, text: text.to_owned(), column },
        None => Failure::Usage(line),
    }
}

/// The message of the parser, and the position that it names at its end.
fn parsed(error: &ParserError) -> (String, Option<TextPosition>) {
    let message = match error {
        ParserError::TokenizerError(message) | ParserError::ParserError(message) => message,
        ParserError::RecursionLimitExceeded => {
            return ("the statement is nested too deeply".to_owned(), None);
        }
    };
    let place = message.rsplit_once(" at Line: ").and_then(|(what, place)| {
        let (line, column) = place.split_once(", Column: ")?;
        Some((what, TextPosition::new(line.parse().ok()?, column.parse().ok()?)))
    });
    match place {
        Some((what, place)) => (parsed_of(what), place),
        None => (parsed_of(message), None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(failure: Failure) -> (String, Option<(String, usize)>) {
        match failure {
            Failure::Text { line, text, column } => (line, Some((text, column))),
            other => (other.text().to_owned(), None),
        }
    }

    #[test]
    fn the_place_that_the_parser_names_is_shown_in_its_line() {
        let error = ParserError::ParserError("Expected: x, found: y at Line: 2, Column: 3".to_owned());
        let error = DataFusionError::SQL(Box::new(error), None);
        let (line, place) = text(failure(error, "SELECT\n  y"));
        assert_eq!((line.as_str(), place), ("Expected: x, found: y", Some(("  y".to_owned(), 3))));
        let error = DataFusionError::SQL(Box::new(ParserError::RecursionLimitExceeded), None);
        assert_eq!(text(failure(error, "SELECT")).1, None);
        assert_eq!(text(at(TextPosition::new(9, 1), "one line", "wrong".to_owned())).1, None);
    }

    #[test]
    fn mistakes_in_statements_are_told_from_failures() {
        let usage = |error| matches!(failure(error, ""), Failure::Usage(_));
        assert!(usage(DataFusionError::Plan("no".to_owned())));
        assert!(usage(DataFusionError::ResourcesExhausted("no".to_owned())));
        assert!(!usage(DataFusionError::Execution("no".to_owned())));
        assert!(!usage(DataFusionError::NotImplemented("no".to_owned())));
        let query = tdb_array::Error::Query(tdb_array::error::QueryError::UnknownField {
            name: "a".to_owned(),
            known: "b".to_owned(),
        });
        assert!(usage(DataFusionError::External(Box::new(query))));
        let fault = tdb_array::Error::from(tdb_array::error::InternalError::new("a cell has no flag"));
        let fault = failure(DataFusionError::External(Box::new(fault)), "");
        assert!(matches!(&fault, Failure::Fault(line) if line.starts_with("internal error")), "{fault:?}");
        let lost = std::io::Error::from(std::io::ErrorKind::NotFound);
        assert!(!usage(DataFusionError::External(Box::new(lost))));
    }
}
