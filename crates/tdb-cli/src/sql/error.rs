//! Errors of SQL statements, with their positions in the text and their exit codes.

use tdb_datafusion::datafusion::common::Span;
use tdb_datafusion::datafusion::error::DataFusionError;
use tdb_datafusion::datafusion::sql::sqlparser::parser::ParserError;

use crate::failure::Failure;

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
        error @ DataFusionError::SchemaError(..) => at(place, text, one_sentence(&error.message())),
        DataFusionError::ResourcesExhausted(message) => {
            Failure::Usage(format!("{}; --memory sets the limit", shortage(message)))
        }
        DataFusionError::ArrowError(error, _) => Failure::Failed(conversion_of(&error.to_string())),
        DataFusionError::External(error) => match error.downcast_ref::<tdb_array::Error>() {
            Some(tdb_array::Error::Query(error)) => Failure::Usage(error.to_string()),
            Some(tdb_array::Error::Internal(error)) => Failure::Fault(error.to_string()),
            _ => Failure::Failed(error.to_string()),
        },
        error => Failure::Failed(one_sentence(&error.message())),
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
        Some((what, place)) => (one_sentence(what), place),
        None => (one_sentence(message), None),
    }
}

/// A message about tables says what a name may also be.
fn message_of(message: &str) -> String {
    if let Some(signature) = signature_of(message) {
        return signature;
    }
    if message.starts_with("Column count doesn't match insert query") {
        return "INSERT has more or fewer values than columns: name the columns, as in INSERT INTO t (a, b) …".to_owned();
    }
    if message.starts_with("Format not explicitly set and unable to get file extension") {
        return "COPY … TO: the ending of the name says the format of a file (.csv, .json, .parquet, .arrow); STORED AS TILEDB makes an \
                array of the rows"
            .to_owned();
    }
    let name = message.strip_prefix("table 'datafusion.public.");
    match name.and_then(|name| name.strip_suffix("' not found")) {
        Some(name) => {
            // Only names of files have an ending.
            let files = if name.contains('.') {
                "; of files, SQL reads those that end with .csv, .json, .parquet or .arrow, and `tdb import` makes arrays of others"
            } else {
                ""
            };
            format!("{name}: there is no table of this name, and no array in a folder of this name{files}")
        }
        None => one_sentence(message),
    }
}

/// A function that does not take such arguments, and what it takes. DataFusion calls some of these
/// errors of its own.
fn signature_of(message: &str) -> Option<String> {
    if let Some((_, own)) = message.split_once("coercion failed with: ") {
        let own = own.split(" No function matches").next().unwrap_or(own);
        let own = own.strip_prefix("Error during planning: ").unwrap_or(own);
        return Some(one_sentence(own.trim_end_matches('.')));
    }
    let (_, call) = message.split_once("given name and argument types '")?;
    let (call, rest) = call.split_once("'. ")?;
    let (_, candidates) = rest.split_once("Candidate functions:")?;
    let plain = |text: &str| {
        let text = text.replace("LargeUtf8", "text").replace("Utf8View", "text").replace("Utf8", "text");
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let candidates = plain(candidates).replace(") ", "), ");
    Some(format!("there is no {}, but {candidates}; CAST(… AS …) converts an argument", plain(call)))
}

/// A text that could not be converted, and what to write instead.
fn conversion_of(message: &str) -> String {
    let quoted = |before: &str| {
        let (_, rest) = message.split_once(before)?;
        rest.split_once('\'')
    };
    if let Some((text, rest)) = quoted("Cannot cast string '")
        && let Some(to) = rest.strip_prefix(" to value of ").and_then(|rest| rest.strip_suffix(" type"))
    {
        let number = to.contains("Int") || to.contains("Float") || to.contains("Decimal");
        let what = if number { "number" } else { "value" };
        return format!(
            "'{text}' is no {what} ({to}), and text beside a {what} or cast to one must be: write '5' instead of 5 to compare texts, or \
             TRY_CAST(… AS …), which makes null of other text"
        );
    }
    if let Some((text, _)) = quoted("Error parsing timestamp from '") {
        return format!(
            "'{text}' is no time, and text beside a time or cast to one must be: TRY_CAST(… AS TIMESTAMP) makes null of other text"
        );
    }
    one_sentence(message)
}

/// The memory that was not available, without the list of its users.
fn shortage(message: &str) -> String {
    let what = message.rsplit_once("Error: ").map_or(message, |(_, what)| what);
    one_sentence(what.split_once(" - ").map_or(what, |(what, _)| what))
}

/// The lines of a message as one.
fn one_sentence(message: &str) -> String {
    let lines = message.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join(" ")
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
    fn functions_and_conversions_are_said_in_words_of_sql() {
        let said = |message: &str| message_of(message);
        assert_eq!(
            said(
                "Internal error: Function 'avg' failed to match. No function matches the given name and argument types 'avg(Utf8)'. You \
                 might need to add explicit type casts.\n\tCandidate functions:\n\tavg(Decimal)\n\tavg(Float64)"
            ),
            "there is no avg(text), but avg(Decimal), avg(Float64); CAST(… AS …) converts an argument"
        );
        assert_eq!(
            said(
                "Function 'f' user-defined coercion failed with: Error during planning: f needs a time. No function matches the given name \
                 and argument types 'f(Utf8)'. You might"
            ),
            "f needs a time"
        );
        let converted = conversion_of("Cast error: Cannot cast string 'AA' to value of Int64 type");
        assert!(converted.starts_with("'AA' is no number (Int64), and text beside a number"), "{converted}");
        let time = conversion_of("Parser error: Error parsing timestamp from 'AA': too short");
        assert!(time.starts_with("'AA' is no time"), "{time}");
        assert_eq!(conversion_of("Divide by\nzero error"), "Divide by zero error");
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
