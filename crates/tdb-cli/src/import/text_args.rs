//! The part of the command line of `tdb import` that says how a file is written, and which of its
//! columns are imported.

use clap::Args as Group;
use encoding_rs::{Encoding, UTF_8};

use super::dates::DateFormats;
use super::encoding;
use super::notation::{Choice, Dialect, Header, Nulls, Quote, parse_comment, parse_delimiter, parse_quote};
use crate::ranges::parse_names;

/// Options for the text of a file, and for its columns.
#[derive(Debug, Group)]
pub(crate) struct TextArgs {
    /// The character between the cells of a CSV file; tab for a tabulator. Default: a comma, in TSV
    /// files a tabulator.
    #[arg(long, value_name = "CHAR", value_parser = parse_delimiter, help_heading = "Text")]
    delimiter: Option<char>,
    /// A text that means null, such as NA; may be given several times. It means a cell without
    /// quotes; '"NA"' means one in quotes. In NDJSON, a string or a number. An empty cell without
    /// quotes is null in any case.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, help_heading = "Text")]
    null: Vec<String>,
    /// Whether the first row of a CSV file has the names of the columns. Without them and without
    /// --names, the columns are column1, column2 and so on. Default: yes.
    #[arg(long, value_enum, value_name = "WHETHER", help_heading = "Text")]
    header: Option<Header>,
    /// The names of all columns of a CSV file, separated by commas. With --header yes, they take
    /// the place of those in the header.
    #[arg(long, value_name = "A,B", requires = "header", help_heading = "Text")]
    names: Option<String>,
    /// Leave out this many lines at the beginning of a CSV file.
    #[arg(long, value_name = "LINES", help_heading = "Text")]
    skip: Option<usize>,
    /// Leave out the lines of a CSV file that begin with this text, such as #.
    #[arg(long, value_name = "TEXT", value_parser = parse_comment, help_heading = "Text")]
    comment: Option<String>,
    /// The character around cells of a CSV file that contain delimiters or ends of lines; none if
    /// quotes have no meaning. Default: ".
    #[arg(long, value_name = "CHAR", value_parser = parse_quote, help_heading = "Text")]
    quote: Option<Quote>,
    /// The encoding of the text, by a name such as latin1, windows-1252, utf-16le, shift_jis or gbk
    /// (https://encoding.spec.whatwg.org lists them). Default: utf-8.
    #[arg(long, value_name = "NAME", value_parser = encoding::parse, help_heading = "Text")]
    encoding: Option<&'static Encoding>,
    /// How dates or times of day are written that are not in ISO 8601: %d/%m/%Y, or NAME=%H:%M for
    /// one column; may be given several times. Known are %Y, %y, %m, %b (a name), %d, %H, %I with
    /// %p, %M, %S, %f (a fraction), %z (an offset), %F, %T, %R and %D. Dates without a clock become
    /// DATETIME_DAY, a clock without a date TIME_SEC, or a finer unit.
    #[arg(long, value_name = "FORMAT", help_heading = "Text")]
    date_format: Vec<String>,
    /// Import these columns only, separated by commas.
    #[arg(long, value_name = "A,B", help_heading = "Columns")]
    columns: Option<String>,
    /// Leave out these columns, separated by commas.
    #[arg(long, value_name = "A,B", conflicts_with = "columns", help_heading = "Columns")]
    drop: Option<String>,
}

impl TextArgs {
    /// The notation of a CSV file, whose cells have this character between them unless another one
    /// is given.
    pub(super) fn dialect(&self, delimiter: char) -> Result<Dialect, String> {
        let dialect = Dialect {
            delimiter: self.delimiter.unwrap_or(delimiter),
            quote: self.quote.map_or(Some(b'"'), |Quote(quote)| quote),
            comment: self.comment.clone(),
            skip: self.skip.unwrap_or(0),
            header: self.header != Some(Header::No),
            header_given: self.header.is_some(),
            names: self.names.as_deref().map(parse_names).unwrap_or_default(),
        };
        if dialect.quote.map(char::from) == Some(dialect.delimiter) {
            return Err("--quote and --delimiter are the same character".to_owned());
        }
        let twice =
            |(at, name): (usize, &String)| dialect.names.iter().skip(at).skip(1).any(|other| other == name);
        match dialect.names.iter().enumerate().find(|one| twice(*one)) {
            Some((_, name)) => Err(format!("--names: {name:?} is there twice")),
            None => Ok(dialect),
        }
    }

    /// The texts that mean null.
    pub(super) fn nulls(&self) -> Nulls {
        Nulls::new(&self.null)
    }

    /// The encoding of the text, unless it is UTF-8, which is looked at with the cells.
    pub(super) fn encoding(&self) -> Option<&'static Encoding> {
        self.encoding.filter(|encoding| *encoding != UTF_8)
    }

    /// The notations of dates.
    pub(super) fn dates(&self) -> Result<DateFormats, String> {
        DateFormats::parse(&self.date_format)
    }

    /// The columns that are imported.
    pub(super) fn choice(&self) -> Choice {
        let list = |names: &Option<String>| names.as_deref().map(parse_names);
        Choice { only: list(&self.columns), without: list(&self.drop).unwrap_or_default() }
    }

    /// An option that was given, but is for CSV files only.
    pub(super) fn of_cells(&self) -> Option<&'static str> {
        let options = [
            ("--delimiter", self.delimiter.is_some()),
            ("--header", self.header.is_some()),
            ("--names", self.names.is_some()),
            ("--skip", self.skip.is_some()),
            ("--comment", self.comment.is_some()),
            ("--quote", self.quote.is_some()),
        ];
        options.into_iter().find(|(_, given)| *given).map(|(option, _)| option)
    }

    /// An option that was given, but is for text only.
    pub(super) fn of_text(&self) -> Option<&'static str> {
        let options = [
            ("--null", !self.null.is_empty()),
            ("--date-format", !self.date_format.is_empty()),
            ("--encoding", self.encoding.is_some()),
        ];
        options.into_iter().find(|(_, given)| *given).map(|(option, _)| option)
    }

    /// An option that was given, but is for files with columns only.
    pub(super) fn of_columns(&self) -> Option<&'static str> {
        let options = [("--columns", self.columns.is_some()), ("--drop", self.drop.is_some())];
        options.into_iter().find(|(_, given)| *given).map(|(option, _)| option)
    }
}
