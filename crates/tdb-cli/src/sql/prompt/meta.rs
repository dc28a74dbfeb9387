//! Commands of the prompt itself, which need no semicolon: `.tables`, `\d`, `.mode`, …

use std::path::PathBuf;

use clap::ValueEnum;

use crate::sql::SqlFormat;

/// What `.help` prints.
pub(super) const HELP: &str = "\
Statements end with a semicolon and may have several lines. Arrays and local files are tables: SELECT * FROM 'path or URL' LIMIT 10;
Ctrl-C ends a query, Ctrl-D the prompt. Tab completes names and words. Commands need no semicolon:
  .tables             the tables of the session, and the arrays of the working folder; also \\d
  .describe NAME      the columns of a table; also \\d NAME
  .mode FORMAT        table, csv, tsv, json or ndjson
  .all on|off         whether tables have all rows and columns
  .timer on|off       how long each statement takes
  .read FILE          the statements of a file
  .help               this text; also help
  .quit               also quit, exit";

/// A command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Meta {
    Quit,
    Help,
    Tables,
    Describe(String),
    Mode(SqlFormat),
    All(bool),
    Timer(bool),
    Read(PathBuf),
    /// A command that is none, or lacks what it needs; why.
    Wrong(String),
}

/// Words that are commands without a dot.
const WORDS: [&str; 3] = ["quit", "exit", "help"];

/// The command that a text is; `None` for one that is a statement, or begins one.
pub(super) fn parse(text: &str) -> Option<Meta> {
    let text = text.trim();
    let text = text.strip_suffix(';').unwrap_or(text).trim_end();
    let (word, rest) =
        text.split_once(char::is_whitespace).map_or((text, ""), |(word, rest)| (word, rest.trim()));
    let lower = word.to_ascii_lowercase();
    let is_word = rest.is_empty() && WORDS.contains(&lower.as_str());
    if !is_word && !lower.starts_with('.') && !lower.starts_with('\\') {
        return None;
    }
    let name = lower.trim_start_matches(['.', '\\']);
    let wrong = |needs: &str| Meta::Wrong(format!("{word} needs {needs}"));
    let switch = |make: fn(bool) -> Meta| match rest.to_ascii_lowercase().as_str() {
        "on" => make(true),
        "off" => make(false),
        _ => wrong("on or off"),
    };
    Some(match name {
        "quit" | "exit" | "q" => Meta::Quit,
        "help" | "h" | "?" => Meta::Help,
        "tables" | "d" | "dt" if rest.is_empty() => Meta::Tables,
        "describe" | "schema" | "d" if !rest.is_empty() => Meta::Describe(rest.to_owned()),
        "describe" | "schema" => wrong("the name of a table"),
        "mode" => match SqlFormat::from_str(rest, true) {
            Ok(SqlFormat::Parquet | SqlFormat::Arrow | SqlFormat::Arrows) | Err(_) => {
                wrong("table, csv, tsv, json or ndjson")
            }
            Ok(format) => Meta::Mode(format),
        },
        "all" => switch(Meta::All),
        "timer" | "timing" => switch(Meta::Timer),
        "read" | "i" if !rest.is_empty() => Meta::Read(rest.trim_matches(['\'', '"']).into()),
        "read" | "i" => wrong("the name of a file"),
        _ => Meta::Wrong(format!("{word} is no command of the prompt; .help lists them")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_need_no_semicolon_and_statements_are_none() {
        let wrong = |text: &str| matches!(parse(text), Some(Meta::Wrong(_)));
        assert_eq!(parse("quit"), Some(Meta::Quit));
        assert_eq!(parse(" EXIT; "), Some(Meta::Quit));
        assert_eq!(parse("\\q"), Some(Meta::Quit));
        assert_eq!(parse(".tables"), Some(Meta::Tables));
        assert_eq!(parse("\\d"), Some(Meta::Tables));
        assert_eq!(parse("\\d 'a b'"), Some(Meta::Describe("'a b'".to_owned())));
        assert_eq!(parse(".mode CSV"), Some(Meta::Mode(SqlFormat::Csv)));
        assert_eq!(parse(".timer on"), Some(Meta::Timer(true)));
        assert_eq!(parse(".read 'x.sql'"), Some(Meta::Read("x.sql".into())));
        assert!(
            wrong(".timer")
                && wrong(".mode parquet")
                && wrong(".schema")
                && wrong(".drop x")
                && wrong(".read")
        );
        for statement in ["quit now", "SELECT 1", "helper", "", "-- .tables"] {
            assert_eq!(parse(statement), None, "{statement}");
        }
    }
}
