//! Values separated by commas or another character (RFC 4180).
//!
//! The crate `csv` does not say whether a cell was in quotes, and here an empty cell without quotes is null.

use std::io::BufRead;

use super::table::{Mark, Table};
use super::text::Lines;

/// Reads the rows of a file. Lines end with LF or CR LF; inside quotes, everything except a quote is taken literally.
pub(super) struct CsvReader {
    lines: Lines<Box<dyn BufRead + Send>>,
    parser: Parser,
}

impl CsvReader {
    pub(super) fn new(file: Box<dyn BufRead + Send>, delimiter: char) -> Self {
        let parser = Parser { delimiter, open: None, table: Table::with_header() };
        Self { lines: Lines::new(file), parser }
    }

    /// The next rows, with about this much text; `None` after the last one.
    pub(super) fn next(&mut self, text: usize) -> Result<Option<Table>, String> {
        let Self { lines, parser } = self;
        while parser.open.is_some() || parser.table.size() < text {
            match lines.next()? {
                Some((number, line)) => parser.line(number, line)?,
                None => break,
            }
        }
        match parser.open {
            Some(first) => Err(format!("line {first}: a closing quote is missing")),
            None => parser.table.take(),
        }
    }
}

struct Parser {
    delimiter: char,
    /// The line where a cell in quotes began whose closing quote is still to come.
    open: Option<usize>,
    table: Table,
}

impl Parser {
    /// Adds the cells of a line, which may begin or end inside quotes.
    fn line(&mut self, number: usize, mut rest: &str) -> Result<(), String> {
        if self.open.is_none() {
            self.table.begin_row(number);
        }
        loop {
            if self.open.is_none() {
                match rest.strip_prefix('"') {
                    Some(behind) => {
                        rest = behind;
                        self.open = Some(number);
                    }
                    None => rest = self.bare(rest),
                }
            }
            if self.open.is_some() {
                match self.quoted(number, rest)? {
                    Some(behind) => rest = behind,
                    None => return Ok(()),
                }
            }
            match rest.strip_prefix(self.delimiter) {
                Some(behind) => rest = behind,
                None => return self.table.end_row(),
            }
        }
    }

    /// Adds a cell without quotes; returns the rest of the line, from the delimiter or the end of the line on.
    fn bare<'t>(&mut self, text: &'t str) -> &'t str {
        let end = text.find([self.delimiter, '\n']).unwrap_or(text.len());
        let (cell, behind) = text.split_at_checked(end).unwrap_or((text, ""));
        let ended = behind.starts_with('\n').then(|| cell.strip_suffix('\r')).flatten();
        let cell = ended.unwrap_or(cell);
        self.table.extend(cell);
        self.table.end_cell(if cell.is_empty() { Mark::Null } else { Mark::Open });
        behind
    }

    /// Adds to a cell in quotes; returns the rest of the line if the cell ends here.
    fn quoted<'t>(&mut self, number: usize, mut rest: &'t str) -> Result<Option<&'t str>, String> {
        loop {
            let Some((part, behind)) = rest.split_once('"') else {
                self.table.extend(rest);
                return Ok(None);
            };
            self.table.extend(part);
            rest = behind;
            if let Some(behind) = rest.strip_prefix('"') {
                self.table.extend("\"");
                rest = behind;
            } else if rest.is_empty() || rest.starts_with([self.delimiter, '\n']) || rest.starts_with("\r\n")
            {
                self.table.end_cell(Mark::Open);
                self.open = None;
                return Ok(Some(rest));
            } else {
                return Err(format!("line {number}: there is text after a closing quote"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of a file.
    fn parse(text: &[u8], delimiter: char) -> Result<Table, String> {
        let mut reader = CsvReader::new(Box::new(std::io::Cursor::new(text.to_vec())), delimiter);
        reader.next(usize::MAX).map(Option::unwrap_or_default)
    }

    /// The names of the columns, and the lines with their cells; null is `-`.
    fn cells(text: &str, delimiter: char) -> (String, Vec<(usize, String)>) {
        let table = parse(text.as_bytes(), delimiter).unwrap();
        let shown = |row: usize| {
            let cells = table.row(row).map(|cell| if cell.mark == Mark::Null { "-" } else { cell.text });
            (table.line(row).unwrap(), cells.collect::<Vec<_>>().join("|"))
        };
        let rows = usize::try_from(table.len()).unwrap();
        (table.names().join("|"), (0..rows).map(shown).collect())
    }

    fn line(number: usize, cells: &str) -> (usize, String) {
        (number, cells.to_owned())
    }

    #[test]
    fn cells_are_told_apart_by_delimiters_lines_and_quotes() {
        let csv = |text| cells(text, ',');
        assert_eq!(csv("a,b\n1,\n"), ("a|b".to_owned(), vec![line(2, "1|-")]));
        assert_eq!(csv("a,b\r\n\"x\",\"\"\r\n"), ("a|b".to_owned(), vec![line(2, "x|")]));
        assert_eq!(csv("\"a\"\"\n,\"\n2"), ("a\"\n,".to_owned(), vec![line(3, "2")]));
        assert_eq!(csv("a,\r\nb,"), ("a|".to_owned(), vec![line(2, "b|-")]));
        assert_eq!(csv("\u{feff}a\n\"\n\"\n\n"), ("a".to_owned(), vec![line(2, "\n"), line(4, "-")]));
        assert_eq!(cells("a\tb,\n1\t\"2\t\"\n", '\t'), ("a|b,".to_owned(), vec![line(2, "1|2\t")]));
    }

    #[test]
    fn what_is_no_table_is_named_with_its_line() {
        let wrong = |text: &[u8]| parse(text, ',').unwrap_err();
        assert_eq!(wrong(b"a\n\"b"), "line 2: a closing quote is missing");
        assert_eq!(wrong(b"a\n\"b\n\"c"), "line 3: there is text after a closing quote");
        assert_eq!(wrong(b"a\n1,2"), "line 2: there are 2 cells for 1 columns");
        assert_eq!(wrong(b"a\n1\n\xff\n"), "line 3: the text is not valid UTF-8 at byte 1 of the line");
        assert_eq!(wrong(b""), "there is no header");
        assert_eq!(parse(b"a\n", ',').unwrap().len(), 0);
    }

    #[test]
    fn rows_come_in_batches_that_end_behind_a_row() {
        let text = "a,b\n1,\"x\ny\"\n2,z\n3,w\n";
        let mut reader = CsvReader::new(Box::new(text.as_bytes()), ',');
        let mut batches = Vec::new();
        while let Some(table) = reader.next(3).unwrap() {
            let first: Vec<String> = table.row(0).map(|cell| cell.text.to_owned()).collect();
            batches.push((table.before(), table.len(), table.line(0).unwrap(), first.join("|")));
        }
        assert_eq!(
            batches,
            [(0, 1, 2, "1|x\ny".to_owned()), (1, 1, 4, "2|z".to_owned()), (2, 1, 5, "3|w".to_owned())]
        );
        assert!(reader.next(3).unwrap().is_none());
    }
}
