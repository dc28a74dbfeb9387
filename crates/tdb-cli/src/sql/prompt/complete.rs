//! What Tab completes: words of SQL, functions, tables, and columns of the tables that are named.

use std::collections::BTreeSet;

use rustyline::completion::{Completer, FilenameCompleter, Pair};
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::validate::Validator;
use rustyline::{Context, Helper};

/// Words that are completed; others are typed.
const KEYWORDS: [&str; 68] = [
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
    "ROLLUP",
    "SELECT",
    "SHOW TABLES",
    "STORED AS TILEDB",
    "TIMESTAMP",
    "UNION ALL",
    "USING",
    "VALUES",
    "VIEW",
    "WHEN",
    "WHERE",
    "WINDOW",
    "WITH",
];

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

    /// The words that begin with what is typed, in order, in the case in which it is typed.
    fn beginning_with(&self, typed: &str) -> Vec<String> {
        let lower = typed.to_lowercase();
        let is_lower = typed.chars().any(char::is_lowercase);
        let keywords =
            KEYWORDS.iter().map(|word| if is_lower { word.to_lowercase() } else { (*word).to_owned() });
        let names = self.names.tables.iter().chain(&self.names.columns).map(|name| quoted(name));
        let functions = self.names.functions.iter().map(|name| format!("{name}("));
        let all = names.chain(keywords).chain(functions);
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
        let found = self.beginning_with(typed.trim_start_matches('"'));
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
        assert_eq!(words.beginning_with("tri"), ["trim(", "trips"]);
        assert_eq!(words.beginning_with("TI"), ["TIMESTAMP", "Tip"]);
        assert_eq!(words.beginning_with("ti"), ["Tip", "timestamp"]);
        assert_eq!(words.beginning_with("my"), ["\"my trips\""]);
        assert!(words.beginning_with("nothing begins so").is_empty());
    }
}
