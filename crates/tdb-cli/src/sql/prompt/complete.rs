//! What Tab completes: words of SQL, functions, tables, and columns of the tables that are named.

use std::collections::BTreeSet;

use rustyline::completion::{Completer, FilenameCompleter, Pair};
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::validate::Validator;
use rustyline::{Context, Helper};

/// Words that are completed; others are typed.
const KEYWORDS: [&str; 72] = [
    "ALL",
    "AND",
    "ARROW",
    "AS",
    "ASC",
    "BETWEEN",
    "BY",
    "CASE",
    "CAST",
    "COPY",
    "CREATE",
    "CROSS JOIN",
    "CSV",
    "DATE",
    "DELETE FROM",
    "DESC",
    "DESCRIBE",
    "DISTINCT",
    "DROP TABLE",
    "ELSE",
    "END",
    "EXCEPT",
    "EXISTS",
    "EXPLAIN",
    "EXTERNAL TABLE",
    "EXTRACT",
    "FILTER",
    "FROM",
    "FULL JOIN",
    "GROUP BY",
    "HAVING",
    "ILIKE",
    "IN",
    "INSERT INTO",
    "INTERSECT",
    "INTERVAL",
    "IS NOT NULL",
    "IS NULL",
    "JOIN",
    "LEFT JOIN",
    "LIKE",
    "LIMIT",
    "LOCATION",
    "NOT",
    "NULL",
    "OFFSET",
    "ON",
    "OPTIONS",
    "OR",
    "ORDER BY",
    "OVER",
    "PARQUET",
    "PARTITION BY",
    "QUALIFY",
    "RECURSIVE",
    "REPLACE INTO",
    "ROLLUP",
    "SELECT",
    "SET",
    "SHOW TABLES",
    "STORED AS TILEDB",
    "SUMMARIZE",
    "TIMESTAMP",
    "UNION ALL",
    "UPDATE",
    "USING",
    "VALUES",
    "VIEW",
    "WHEN",
    "WHERE",
    "WINDOW",
    "WITH",
];

/// Words in front of the name of a table.
const BEFORE_TABLES: [&str; 7] = ["FROM", "JOIN", "INTO", "UPDATE", "TABLE", "DESCRIBE", "SUMMARIZE"];

/// The names of a session.
#[derive(Debug, Default)]
pub(in crate::sql) struct Names {
    pub(in crate::sql) tables: Vec<String>,
    pub(in crate::sql) columns: Vec<String>,
    pub(in crate::sql) functions: Vec<String>,
}

/// Completes what is typed.
pub(super) struct Words {
    pub(super) names: Names,
    files: FilenameCompleter,
}

impl Words {
    pub(super) fn new() -> Self {
        Self { names: Names::default(), files: FilenameCompleter::new() }
    }

    /// The words that begin with what is typed, in order, in the case in which it is typed. Behind
    /// some words there are tables only.
    fn beginning_with(&self, typed: &str, only_tables: bool) -> Vec<String> {
        let lower = typed.to_lowercase();
        let is_lower = typed.chars().any(char::is_lowercase);
        let keywords =
            KEYWORDS.iter().map(|word| if is_lower { word.to_lowercase() } else { (*word).to_owned() });
        let columns = self.names.columns.iter().filter(|_| !only_tables);
        let names = self.names.tables.iter().chain(columns).map(|name| quoted(name));
        let functions = self.names.functions.iter().map(|name| format!("{name}("));
        let all = names.chain(keywords.chain(functions).filter(|_| !only_tables));
        let found: BTreeSet<String> =
            all.filter(|word| word.trim_start_matches('"').to_lowercase().starts_with(&lower)).collect();
        found.into_iter().collect()
    }
}

/// A name as SQL takes it.
fn quoted(name: &str) -> String {
    let is_plain = name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
        && name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    if is_plain { name.to_owned() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}

impl Completer for Words {
    type Candidate = Pair;

    fn complete(
        &self,
        line: &str,
        at: usize,
        context: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<Pair>)> {
        let before = line.get(..at).unwrap_or(line);
        // Inside quotes there are places.
        if before.matches('\'').count() % 2 == 1 {
            return self.files.complete(line, at, context);
        }
        let is_part = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '"';
        let typed = before.rsplit(|letter| !is_part(letter)).next().unwrap_or_default();
        let start = before.len().saturating_sub(typed.len());
        let word = before.get(..start).unwrap_or_default().split_whitespace().next_back().unwrap_or_default();
        let only_tables = BEFORE_TABLES.iter().any(|before| word.eq_ignore_ascii_case(before));
        let found = self.beginning_with(typed.trim_start_matches('"'), only_tables);
        let pairs = found.into_iter().map(|word| Pair { display: word.clone(), replacement: word });
        Ok((start, if typed.is_empty() { Vec::new() } else { pairs.collect() }))
    }
}

impl Hinter for Words {
    type Hint = String;
}
impl Highlighter for Words {}
impl Validator for Words {}
impl Helper for Words {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_names_are_completed_in_the_case_in_which_they_are_typed() {
        let mut words = Words::new();
        words.names.tables = vec!["trips".to_owned(), "my trips".to_owned()];
        words.names.columns = vec!["Tip".to_owned()];
        words.names.functions = vec!["trim".to_owned()];
        assert_eq!(words.beginning_with("tri", false), ["trim(", "trips"]);
        assert_eq!(words.beginning_with("TI", false), ["TIMESTAMP", "Tip"]);
        assert_eq!(words.beginning_with("ti", false), ["Tip", "timestamp"]);
        assert_eq!(words.beginning_with("my", false), ["\"my trips\""]);
        assert_eq!(words.beginning_with("tri", true), ["trips"]);
        assert!(words.beginning_with("nothing begins so", false).is_empty());
    }
}
