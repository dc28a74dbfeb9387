//! Failures of commands, and their exit codes.

use std::io::{self, Write};
use std::path::Path;

use tdb_array::error::{
    AggregateError, ConditionError, ConditionErrorKind, InternalError, QueryError, WriteError,
};
use tdb_array::storage::without_secrets;
use tdb_text::suggest::hint;

use crate::store_error::in_words;
use crate::suggest::hint_of_place;

/// The command line is wrong, in general or for this array.
const USAGE: u8 = 2;
/// The command could not be carried out.
const FAILED: u8 = 1;
/// tdb has a fault. The number is `EX_SOFTWARE` of BSD's `sysexits.h`.
const FAULT: u8 = 70;

/// The reason why a command ends before it is done.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The command line is wrong: one line.
    Usage(String),
    /// A text on the command line is wrong at a column (in characters, counted from 1).
    Text {
        /// The error: one line.
        line: String,
        /// The text.
        text: String,
        column: usize,
    },
    /// The command line is wrong: clap's own text.
    Clap(String),
    /// Something could not be read, written or understood: one line with the name of the file.
    Failed(String),
    /// A fault of tdb: one line.
    Fault(String),
    /// Problems were found and have been printed.
    Problems,
    /// The reader of the output has closed it.
    Closed,
}

pub(crate) type Result<T = (), E = Failure> = std::result::Result<T, E>;

impl Failure {
    /// A fault of tdb: the thing that does not hold, and the line that calls this.
    #[track_caller]
    #[cold]
    pub(crate) fn internal(what: &'static str) -> Self {
        Self::Fault(InternalError::new(what).to_string())
    }

    /// A failure about a file.
    pub(crate) fn at(path: &Path, what: impl core::fmt::Display) -> Self {
        Self::Failed(in_words(&format!("{}: {what}", path.display())).into_owned())
    }

    /// Help and version texts are not failures: they are written to `out`.
    pub(crate) fn from_clap(error: &clap::Error, out: &mut dyn Write) -> Result {
        let text = error.render().to_string();
        if error.use_stderr() {
            return Err(Self::Clap(text));
        }
        Ok(out.write_all(text.as_bytes())?)
    }

    /// An error of reading an array. Errors in the query are usage errors.
    pub(crate) fn of_array(path: &Path, error: tdb_array::Error) -> Self {
        match error {
            tdb_array::Error::Query(error) => {
                Self::Usage(format!("{}: {error}{}", path.display(), hint_of(&error)))
            }
            // These do not say where.
            tdb_array::Error::Write(WriteError::Exists) => {
                Self::at(path, format!("{}; --force replaces an array, and nothing else", WriteError::Exists))
            }
            tdb_array::Error::Write(error) => Self::at(path, error),
            tdb_array::Error::Internal(error) => Self::Fault(format!("{}: {error}", path.display())),
            other => Self::Failed(format!("{}{}", in_words(&other.to_string()), remedy_of(path, &other))),
        }
    }

    /// An error in the text of an option, and its position.
    pub(crate) fn at_column(
        path: &Path,
        option: &str,
        text: &str,
        column: Option<usize>,
        what: impl core::fmt::Display,
    ) -> Self {
        let line = format!("{}: {option}: {what}", path.display());
        match column {
            Some(column) => Self::Text { line, text: text.to_owned(), column },
            None => Self::Usage(line),
        }
    }

    /// The message alone, without its prefix or position.
    pub(crate) fn text(&self) -> &str {
        match self {
            Self::Usage(text)
            | Self::Clap(text)
            | Self::Failed(text)
            | Self::Fault(text)
            | Self::Text { line: text, .. } => text,
            Self::Problems | Self::Closed => "",
        }
    }

    /// Prints the failure, without what is secret in URLs, and returns its exit code.
    pub(crate) fn report(&self, err: &mut dyn Write) -> u8 {
        // If standard error is closed too, only the exit code is left.
        match self {
            Self::Usage(line) => {
                let _ = writeln!(err, "error: {}", shown(line));
                USAGE
            }
            Self::Text { line, text, column } => {
                let before: String = text.chars().take(column.saturating_sub(1)).collect();
                let (text, before) = (shown(text), shown(&before).chars().count());
                let _ = writeln!(err, "error: {}\n  {text}\n  {}^", shown(line), " ".repeat(before));
                USAGE
            }
            Self::Clap(text) => {
                let _ = err.write_all(without_secrets(text).as_bytes());
                USAGE
            }
            Self::Failed(line) => {
                let _ = writeln!(err, "error: {}", shown(line));
                FAILED
            }
            Self::Fault(line) => {
                let _ = writeln!(err, "error: {}", shown(line));
                FAULT
            }
            Self::Problems => FAILED,
            Self::Closed => 0,
        }
    }
}

/// How the message about an array begins that is not finished, and what helps.
pub(crate) const UNFINISHED: &str = "this array was begun and is not finished";
pub(crate) const UNFINISHED_REMEDY: &str =
    "; the same command begins again in its place, and tdb rm --unfinished removes what is there";

/// The end of a message that says what to do if there is no array at the given place, or something
/// else than an array.
pub(crate) fn remedy_of(path: &Path, error: &tdb_array::Error) -> String {
    match error {
        tdb_array::Error::Io { path: place, source } if Path::new(place) == path => match source.kind() {
            io::ErrorKind::NotFound => hint_of_place(path),
            io::ErrorKind::NotADirectory => {
                "; an array is a folder: tdb dump explains a single file, tdb import makes an array of a table".to_owned()
            }
            _ => String::new(),
        },
        tdb_array::Error::NotAnArray { why, .. } if why.starts_with("this is a group") => {
            "; tdb group shows its members".to_owned()
        }
        tdb_array::Error::NotAnArray { why, .. } if why.starts_with("this is an array") => {
            "; tdb info shows it".to_owned()
        }
        tdb_array::Error::NotAnArray { why, .. } if why.starts_with("this folder is not a TileDB array") => {
            "; tdb info --all shows what is in a folder".to_owned()
        }
        tdb_array::Error::NotAnArray { why, .. } if why.starts_with(UNFINISHED) => {
            UNFINISHED_REMEDY.to_owned()
        }
        _ => String::new(),
    }
}

/// The field, dimension or label that was probably meant, as the end of the message.
fn hint_of(error: &QueryError) -> String {
    match error {
        QueryError::UnknownField { name, known }
        | QueryError::UnknownDimension { name, known }
        | QueryError::UnknownLabel { name, known }
        | QueryError::Aggregate(AggregateError::UnknownField { name, known }) => {
            hint(name, known.split(", "))
        }
        QueryError::Condition(error) => hint_of_condition(error),
        _ => String::new(),
    }
}

/// The field that was probably meant in a condition, as the end of the message.
pub(crate) fn hint_of_condition(error: &ConditionError) -> String {
    match error.kind() {
        ConditionErrorKind::UnknownField { name, known } => hint(name, known.split(", ")),
        _ => String::new(),
    }
}

impl From<io::Error> for Failure {
    /// An error of the output stream.
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::Closed,
            _ => Self::Failed(format!("standard output: {error}")),
        }
    }
}

/// A line of a message, without secrets.
fn shown(line: &str) -> String {
    one_line(&without_secrets(line))
}

/// Names from a file may contain anything; a line of a report must stay one line.
pub(crate) fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() { line.extend(c.escape_default()) } else { line.push(c) }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_of_the_engine_has_an_exit_code_of_its_own_and_asks_for_a_report() {
        let error = InternalError::new("a cell has no flag").into();
        let mut err = Vec::new();
        assert_eq!(Failure::of_array(Path::new("some/array"), error).report(&mut err), 70);
        let line = String::from_utf8(err).unwrap();
        assert!(
            line.starts_with("error: some/array: internal error: a cell has no flag (tdb-cli/"),
            "{line}"
        );
        assert!(line.contains("please report it"), "{line}");
    }
}
