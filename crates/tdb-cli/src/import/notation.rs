//! The notation of a file of text: what is between cells, what is a row, what is null, and which
//! columns are imported.

use std::collections::HashSet;

use clap::ValueEnum;
use encoding_rs::Encoding;
use tdb_text::suggest::hint;

use super::chunks::Chunk;
use super::dates::DateFormats;
use super::table::{Cell, Mark, Table};
use super::{csv, json, ndjson};
use crate::names::Unique;

/// The notation of the rows of a file.
#[derive(Clone, Debug)]
pub(super) struct Notation {
    pub(super) kind: Kind,
    /// The texts that mean null.
    pub(super) nulls: Nulls,
    /// The columns that are imported.
    pub(super) choice: Choice,
    /// The notations of dates.
    pub(super) dates: DateFormats,
    /// The encoding of the text; `None` for UTF-8.
    pub(super) encoding: Option<&'static Encoding>,
}

/// The kind of text that rows are.
#[derive(Clone, Debug)]
pub(super) enum Kind {
    /// Lines of cells with a character between them.
    Delimited(Dialect),
    /// Objects in JSON, one on each line.
    Ndjson,
    /// Objects in JSON, in a list or one after the other.
    Json,
}

/// The notation of a CSV file.
#[derive(Clone, Debug)]
pub(super) struct Dialect {
    pub(super) delimiter: char,
    /// The character around cells that contain delimiters; `None` if no character is special.
    pub(super) quote: Option<u8>,
    /// The beginning of lines that are left out.
    pub(super) comment: Option<String>,
    /// The number of lines at the beginning that are left out.
    pub(super) skip: usize,
    /// Whether the first row has the names of the columns.
    pub(super) header: bool,
    /// Whether the command line says so.
    pub(super) header_given: bool,
    /// The names of the columns, if they are not those of the header.
    pub(super) names: Vec<String>,
}

/// Whether a file begins with the names of its columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Header {
    /// The first row has the names of the columns.
    Yes,
    /// The first row has cells.
    No,
}

/// Texts that mean null.
#[derive(Clone, Debug, Default)]
pub(super) struct Nulls {
    bare: Vec<String>,
    quoted: Vec<String>,
    /// The numbers among them.
    numbers: Vec<f64>,
}

/// The columns that are imported: these only, or all but those.
#[derive(Clone, Debug, Default)]
pub(super) struct Choice {
    pub(super) only: Option<Vec<String>>,
    pub(super) without: Vec<String>,
}

impl Notation {
    /// Rows of this kind, all columns of which are imported.
    #[cfg(test)]
    pub(super) fn new(kind: Kind) -> Self {
        let (nulls, choice) = (Nulls::default(), Choice::default());
        Self { kind, nulls, choice, dates: DateFormats::default(), encoding: None }
    }

    /// The rows of a chunk. The first chunk of a file says the names of the columns; others are
    /// given all names of the file.
    pub(super) fn parse(&self, chunk: &Chunk, names: Option<&[String]>) -> Result<Table, String> {
        let mut table = match &self.kind {
            Kind::Delimited(dialect) => csv::parse(chunk, dialect, &self.nulls, names)?,
            Kind::Ndjson => ndjson::parse(chunk, &self.nulls, names.unwrap_or_default())?,
            Kind::Json => json::parse(chunk, &self.nulls, names.unwrap_or_default())?,
        };
        if let Some(columns) = self.choice.of(table.all_names(), names.is_none())? {
            table.choose(columns);
        }
        Ok(table)
    }

    /// What is wrong where two columns have one name, and the names that they could have.
    pub(super) fn twice(&self, table: &Table) -> Option<String> {
        let Kind::Delimited(_) = &self.kind else { return None };
        let mut seen = HashSet::new();
        let name = table.names().iter().find(|name| !seen.insert(name.as_str()))?;
        let mut unique = Unique::exact();
        let own = |(at, name): (usize, &String)| {
            let name = if name.is_empty() { format!("column{}", at.saturating_add(1)) } else { name.clone() };
            unique.name(&name)
        };
        let names: Vec<String> = table.all_names().iter().enumerate().map(own).collect();
        let names = word(&names.join(","));
        Some(format!("two columns are called {name:?}: --header yes --names {names} gives all columns names"))
    }
}

impl Dialect {
    /// Cells with this character between them, and names in the first row.
    #[cfg(test)]
    pub(super) const fn new(delimiter: char) -> Self {
        Self {
            delimiter,
            quote: Some(b'"'),
            comment: None,
            skip: 0,
            header: true,
            header_given: false,
            names: Vec::new(),
        }
    }
}

impl Nulls {
    /// Texts of the command line. A text in double quotes means a cell in quotes.
    pub(super) fn new(texts: &[String]) -> Self {
        let mut nulls = Self::default();
        for text in texts {
            match text.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
                Some(quoted) => nulls.quoted.push(quoted.to_owned()),
                None => {
                    nulls.bare.push(text.clone());
                    nulls.numbers.extend(text.parse::<f64>());
                }
            }
        }
        nulls
    }

    /// Whether a cell without quotes is null: -999.0 is, where -999 is. Digits alone may be codes:
    /// 007 is not 7.
    pub(super) fn has(&self, cell: &str) -> bool {
        let is_number =
            || cell.contains('.') && cell.parse().is_ok_and(|number: f64| self.numbers.contains(&number));
        self.bare.iter().any(|text| text == cell) || !self.numbers.is_empty() && is_number()
    }

    /// Whether a cell in quotes is null.
    pub(super) fn has_quoted(&self, cell: &str) -> bool {
        self.quoted.iter().any(|text| text == cell)
    }
}

impl Choice {
    /// The numbers of the columns that are imported; `None` for all. If `strict`, columns that are
    /// not there are an error.
    pub(super) fn of(&self, names: &[String], strict: bool) -> Result<Option<Vec<usize>>, String> {
        if self.only.is_none() && self.without.is_empty() {
            return Ok(None);
        }
        let given = [("--columns", self.only.as_deref().unwrap_or_default()), ("--drop", &self.without)];
        for (option, list) in given {
            if let Some(name) = list.iter().find(|name| strict && !names.contains(name)) {
                let hint = hint(name, names.iter().map(String::as_str));
                let all = names.join(", ");
                return Err(format!("{option}: there is no column {name:?} (there are {all}){hint}"));
            }
        }
        let wanted = |name: &String| self.only.as_ref().is_none_or(|only| only.contains(name));
        let chosen =
            names.iter().enumerate().filter(|(_, name)| wanted(name) && !self.without.contains(name));
        Ok(Some(chosen.map(|(column, _)| column).collect()))
    }
}

/// Words that other programs write for null.
const USUAL_NULLS: [&str; 13] =
    ["NA", "N/A", "n/a", "na", "#N/A", "NULL", "Null", "null", "None", "none", "-", "?", "\\N"];

/// Whether a text is one that other programs write for null.
pub(super) fn is_usual_null(text: &str) -> bool {
    USUAL_NULLS.contains(&text)
}

/// What to do if a cell was meant to be null.
pub(super) fn null_remedy(cell: Cell<'_>) -> String {
    if is_usual_null(cell.text) {
        format!("; {} makes such cells null", null_option(cell))
    } else {
        String::new()
    }
}

/// The option that makes such cells null.
pub(super) fn null_option(cell: Cell<'_>) -> String {
    let text = if cell.mark == Mark::Quoted { format!("\"{}\"", cell.text) } else { cell.text.to_owned() };
    format!("--null {}", word(&text))
}

/// A text as a word of a shell's command line.
pub(super) fn word(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:,+".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// One character, or a word for a tabulator.
pub(super) fn parse_delimiter(text: &str) -> Result<char, String> {
    let mut chars = text.chars();
    match (text, chars.next(), chars.next()) {
        ("tab" | "\\t", ..) => Ok('\t'),
        (_, Some(c), None) if !matches!(c, '"' | '\r' | '\n') => Ok(c),
        _ => Err("a single character is needed, other than a quote and the end of a line".to_owned()),
    }
}

/// The quote: one character of ASCII, or the word for none.
pub(super) fn parse_quote(text: &str) -> Result<Quote, String> {
    match text.as_bytes() {
        _ if text == "none" => Ok(Quote(None)),
        [byte] if byte.is_ascii_graphic() => Ok(Quote(Some(*byte))),
        _ => Err("a single visible character of ASCII is needed, or none".to_owned()),
    }
}

/// The character around cells that contain delimiters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Quote(pub(super) Option<u8>);

/// The beginning of a comment.
pub(super) fn parse_comment(text: &str) -> Result<String, String> {
    if text.is_empty() || text.contains(['\r', '\n']) {
        return Err("the text with which comments begin is needed".to_owned());
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_null_in_quotes_means_a_cell_in_quotes() {
        let nulls = Nulls::new(&["NA".to_owned(), "\"-\"".to_owned(), "\"".to_owned()]);
        assert!(nulls.has("NA") && !nulls.has_quoted("NA"));
        assert!(nulls.has_quoted("-") && !nulls.has("-"));
        assert!(nulls.has("\""));
        let nulls = Nulls::new(&["-999".to_owned(), "7.0".to_owned()]);
        assert!(nulls.has("-999.0") && nulls.has("-999.") && nulls.has("7.00") && nulls.has("-999"));
        assert!(!nulls.has("007") && !nulls.has("7") && !nulls.has("7.1") && !nulls.has("-999.0 C"));
    }

    #[test]
    fn chosen_columns_are_those_of_the_file_in_its_order() {
        let names = ["a", "b", "c"].map(str::to_owned);
        let choice = |only: Option<&[&str]>, without: &[&str]| Choice {
            only: only.map(|only| only.iter().map(|name| (*name).to_owned()).collect()),
            without: without.iter().map(|name| (*name).to_owned()).collect(),
        };
        assert_eq!(choice(None, &[]).of(&names, true), Ok(None));
        assert_eq!(choice(Some(&["c", "a"]), &[]).of(&names, true), Ok(Some(vec![0, 2])));
        assert_eq!(choice(None, &["b"]).of(&names, true), Ok(Some(vec![0, 2])));
        let missing = choice(Some(&["c", "aa"]), &[]);
        assert!(missing.of(&names, true).unwrap_err().contains("--columns: there is no column \"aa\""));
        assert_eq!(missing.of(&names, false), Ok(Some(vec![2])));
    }

    #[test]
    fn what_is_no_quote_is_refused() {
        assert_eq!(parse_quote("'"), Ok(Quote(Some(b'\''))));
        assert_eq!(parse_quote("none"), Ok(Quote(None)));
        for text in ["", "''", " ", "«"] {
            assert!(parse_quote(text).is_err(), "{text}");
        }
    }
}
