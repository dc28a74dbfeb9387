//! Values separated by commas or another character (RFC 4180).
//!
//! The crate `csv` does not say whether a cell was in quotes, and here an empty cell without quotes
//! is null.

use memchr::memchr2;

use super::chunks::Chunk;
use super::table::{Mark, Table};
use super::text::Lines;

/// The rows of a chunk, which has these columns; the first chunk has no names yet, but a header.
/// Lines end with LF or CR LF; inside quotes, everything except a quote is taken literally.
pub(super) fn parse(chunk: &Chunk, delimiter: char, names: &[String]) -> Result<Table, String> {
    let mut parser = Parser { delimiter, open: None, table: Table::with_header(names, chunk.before) };
    let mut lines = Lines::new(chunk);
    while let Some((number, line)) = lines.next()? {
        parser.line(number, line)?;
    }
    match parser.open {
        Some(first) => Err(format!("line {first}: a closing quote is missing")),
        None => parser.table.finish(),
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

    /// Adds a cell without quotes; returns the rest of the line, from the delimiter or the end of
    /// the line on.
    fn bare<'t>(&mut self, text: &'t str) -> &'t str {
        let end = match u8::try_from(self.delimiter) {
            Ok(delimiter) if delimiter.is_ascii() => memchr2(delimiter, b'\n', text.as_bytes()),
            _ => text.find([self.delimiter, '\n']),
        };
        let end = end.unwrap_or(text.len());
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
        super::parse(&Chunk { text: text.to_vec(), line: 1, before: 0 }, delimiter, &[])
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
    fn chunks_behind_the_first_one_have_its_columns_and_no_header() {
        let names = ["a".to_owned(), "b".to_owned()];
        let chunk = Chunk { text: b"2,\"z\n\"\n3,w\n".to_vec(), line: 4, before: 2 };
        let table = super::parse(&chunk, ',', &names).unwrap();
        assert_eq!((table.before(), table.len(), table.line(0), table.line(1)), (2, 2, Some(4), Some(6)));
        assert_eq!(table.row(0).map(|cell| cell.text.to_owned()).collect::<Vec<_>>(), ["2", "z\n"]);
        let wrong = Chunk { text: b"1\n".to_vec(), line: 9, before: 0 };
        assert_eq!(super::parse(&wrong, ',', &names).unwrap_err(), "line 9: there are 1 cells for 2 columns");
    }
}
