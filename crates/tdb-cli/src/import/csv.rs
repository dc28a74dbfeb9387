//! Values separated by commas or another character (RFC 4180).
//!
//! The crate `csv` does not say whether a cell was in quotes, and here an empty cell without quotes
//! is null.

use memchr::memchr2;

use super::chunks::{Chunk, is_blank};
use super::notation::{Dialect, Nulls, word};
use super::table::{Mark, Table};
use super::text::Lines;

/// The rows of a chunk. The first chunk has no names yet, but a header if files of this notation
/// have one. Lines end with LF or CR LF; inside quotes, everything except a quote is taken
/// literally. Blank lines and comments are no rows; of a single column, a blank line is an empty
/// cell.
pub(super) fn parse(
    chunk: &Chunk,
    dialect: &Dialect,
    nulls: &Nulls,
    names: Option<&[String]>,
) -> Result<Table, String> {
    let table = match names {
        Some(names) => Table::new(names, chunk.before),
        None if dialect.header => Table::with_header(&dialect.names),
        None => Table::without_header(&dialect.names),
    };
    let (quote, begun) = (dialect.quote.map(char::from), names.is_some());
    let (delimiter, is_first) = (dialect.delimiter, !begun);
    let mut parser = Parser { dialect, delimiter, quote, nulls, open: None, is_first, begun, table };
    let mut lines = Lines::new(chunk);
    while let Some((number, line)) = lines.next()? {
        if parser.open.is_some() || !parser.leaves_out(number, line) {
            parser.line(number, line).map_err(|error| parser.hinted(line, error))?;
        }
    }
    match parser.open {
        Some(first) => Err(format!(
            "line {first}: a closing quote is missing (--quote none says that quotes have no meaning)"
        )),
        None => parser.table.finish(),
    }
}

struct Parser<'d> {
    dialect: &'d Dialect,
    delimiter: char,
    quote: Option<char>,
    nulls: &'d Nulls,
    /// The line where a cell in quotes began whose closing quote is still to come.
    open: Option<usize>,
    /// Whether this is the first chunk, with the header.
    is_first: bool,
    /// Whether there was a row, or a header.
    begun: bool,
    table: Table,
}

impl Parser<'_> {
    /// Whether a line that does not begin inside quotes is no row.
    fn leaves_out(&self, number: usize, line: &str) -> bool {
        let comment = self.dialect.comment.as_deref();
        number <= self.dialect.skip
            || comment.is_some_and(|comment| line.starts_with(comment))
            || is_blank(line.as_bytes(), self.delimiter) && !(self.begun && self.table.all_names().len() == 1)
    }

    /// An error of a row, with what may be its reason.
    fn hinted(&self, line: &str, error: String) -> String {
        if !error.contains(" for ") {
            return error;
        }
        match self.table.all_names() {
            [name] => match separator_line(name).or_else(|| other_delimiter(name, self.delimiter)) {
                Some(delimiter) => format!("{error}; --delimiter {delimiter} says what is between cells"),
                None => format!("{error}; --skip leaves out lines before the header"),
            },
            // A note before the table, with delimiters in it.
            _ if self.is_first && self.dialect.header && self.table.len() <= 1 => {
                format!("{error}; --skip leaves out lines before the header")
            }
            // A note behind the table.
            _ if !line.contains(self.delimiter) && self.dialect.comment.is_none() => {
                let first = line.split([' ', ':', '\r', '\n']).next().unwrap_or_default();
                // Numbers begin rows, and so does what begins one before.
                if first.starts_with(|c: char| c.is_ascii_digit()) || self.table.has_row_before(first) {
                    return error;
                }
                format!("{error}; --comment {} leaves out the lines that begin so", word(first))
            }
            _ => error,
        }
    }

    /// Adds the cells of a line, which may begin or end inside quotes.
    fn line(&mut self, number: usize, mut rest: &str) -> Result<(), String> {
        if self.open.is_none() {
            self.begun = true;
            self.table.begin_row(number);
        }
        loop {
            if self.open.is_none() {
                match self.quote.and_then(|quote| rest.strip_prefix(quote)) {
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
        if cell.is_empty() || self.nulls.has(cell) {
            self.table.end_cell(Mark::Null);
        } else {
            self.table.extend(cell);
            self.table.end_cell(Mark::Open);
        }
        behind
    }

    /// Adds to a cell in quotes; returns the rest of the line if the cell ends here.
    fn quoted<'t>(&mut self, number: usize, mut rest: &'t str) -> Result<Option<&'t str>, String> {
        let quote = self.quote.unwrap_or('"');
        loop {
            let Some((part, behind)) = rest.split_once(quote) else {
                self.table.extend(rest);
                return Ok(None);
            };
            self.table.extend(part);
            rest = behind;
            if let Some(behind) = rest.strip_prefix(quote) {
                self.table.extend(quote.encode_utf8(&mut [0; 4]));
                rest = behind;
            } else if rest.is_empty() || rest.starts_with([self.delimiter, '\n']) || rest.starts_with("\r\n")
            {
                let is_null = self.nulls.has_quoted(self.table.open_cell());
                if is_null {
                    self.table.empty_cell();
                }
                self.table.end_cell(if is_null { Mark::Null } else { Mark::Quoted });
                self.open = None;
                return Ok(Some(rest));
            } else {
                let quote = quote.to_string();
                return Err(format!(
                    "line {number}: there is text after a closing quote (inside quotes, a quote is doubled, {quote}{quote}, and a \
                     backslash has no meaning)"
                ));
            }
        }
    }
}

/// The character that is probably between the cells of a line that is taken for one cell, as the
/// command line takes it.
pub(super) fn other_delimiter(line: &str, delimiter: char) -> Option<&'static str> {
    let known = [(';', "';'"), ('\t', "tab"), ('|', "'|'"), (',', "','")];
    let found = known.into_iter().filter(|(other, _)| *other != delimiter && line.contains(*other));
    found.max_by_key(|(other, _)| line.matches(*other).count()).map(|(_, shown)| shown)
}

/// What Excel says in a line before the header: `sep=;`.
pub(super) fn separator_line(line: &str) -> Option<&'static str> {
    match line.trim().strip_prefix("sep=")? {
        "" | "\t" => Some("tab --skip 1"),
        ";" => Some("';' --skip 1"),
        "," => Some("',' --skip 1"),
        "|" => Some("'|' --skip 1"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of a file.
    fn parse(text: &[u8], delimiter: char) -> Result<Table, String> {
        let chunk = Chunk { text: text.to_vec(), line: 1, before: 0, file: 0 };
        super::parse(&chunk, &Dialect::new(delimiter), &Nulls::default(), None)
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
        assert!(wrong(b"a\n\"b").starts_with("line 2: a closing quote is missing (--quote none"));
        assert!(
            wrong(b"a\n\"b\n\"c").starts_with("line 3: there is text after a closing quote (inside quotes")
        );
        let skip = "; --skip leaves out lines before the header";
        assert_eq!(wrong(b"a\n1,2"), format!("line 2: there are 2 cells for 1 column{skip}"));
        let delimiter = "; --delimiter ';' says what is between cells";
        assert_eq!(wrong(b"a;b\n1,5;2"), format!("line 2: there are 2 cells for 1 column{delimiter}"));
        assert!(
            wrong(b"a\n1\n\xff\n").starts_with("line 3: the text is not valid UTF-8 at byte 1 of the line")
        );
        let separator = "; --delimiter ';' --skip 1 says what is between cells";
        assert!(wrong(b"sep=;\na;b\n1,5;2").ends_with(separator));
        let note =
            "line 3: there is 1 cell for 2 columns; --comment Total leaves out the lines that begin so";
        assert_eq!(wrong(b"a,b\n1,2\nTotal: 1\n"), note);
        assert_eq!(wrong(b"a,b\n1,2,3\n"), format!("line 2: there are 3 cells for 2 columns{skip}"));
        assert_eq!(
            wrong(b"Made by X, on Y,\na,b\n"),
            format!("line 2: there are 2 cells for 3 columns{skip}")
        );
        assert_eq!(wrong(b"a,b\n1,2\n1,2,3\n"), "line 3: there are 3 cells for 2 columns");
        assert_eq!(wrong(b""), "there is no header");
        assert_eq!(parse(b"a\n", ',').unwrap().len(), 0);
    }

    #[test]
    fn chunks_behind_the_first_one_have_its_columns_and_no_header() {
        let names = ["a".to_owned(), "b".to_owned()];
        let chunk = Chunk { text: b"2,\"z\n\"\n3,w\n".to_vec(), line: 4, before: 2, file: 0 };
        let (dialect, nulls) = (Dialect::new(','), Nulls::default());
        let table = super::parse(&chunk, &dialect, &nulls, Some(&names)).unwrap();
        assert_eq!((table.before(), table.len(), table.line(0), table.line(1)), (2, 2, Some(4), Some(6)));
        assert_eq!(table.row(0).map(|cell| cell.text.to_owned()).collect::<Vec<_>>(), ["2", "z\n"]);
        let wrong = Chunk { text: b"1\n".to_vec(), line: 9, before: 0, file: 0 };
        let wrong = super::parse(&wrong, &dialect, &nulls, Some(&names)).unwrap_err();
        assert_eq!(wrong, "line 9: there is 1 cell for 2 columns");
        // `--comment x` would leave out the row before, too.
        let wrong = Chunk { text: b"xa,1\nx\n".to_vec(), line: 9, before: 0, file: 0 };
        let wrong = super::parse(&wrong, &dialect, &nulls, Some(&names)).unwrap_err();
        assert_eq!(wrong, "line 10: there is 1 cell for 2 columns");
    }

    #[test]
    fn blank_lines_are_no_rows_except_in_a_single_column() {
        let csv = |text| cells(text, ',');
        let two = vec![line(3, "1|2"), line(6, "3|4")];
        assert_eq!(csv("\na,b\n1,2\n\n \t\r\n3,4\n\n"), ("a|b".to_owned(), two));
        let one = vec![line(4, "1"), line(5, "-"), line(6, "2")];
        assert_eq!(csv("\n\na\n1\n\n2\n"), ("a".to_owned(), one));
        assert_eq!(cells("a\tb\n\t\n", '\t'), ("a|b".to_owned(), vec![line(2, "-|-")]));
    }

    #[test]
    fn a_dialect_says_what_is_a_row_a_cell_and_a_name() {
        let rows = |text: &str, dialect: Dialect, nulls: &[&str]| {
            let nulls = Nulls::new(&nulls.iter().map(|null| (*null).to_owned()).collect::<Vec<_>>());
            let chunk = Chunk { text: text.into(), line: 1, before: 0, file: 0 };
            let table = super::parse(&chunk, &dialect, &nulls, None)?;
            let shown = |row: usize| {
                let cells = table.row(row).map(|cell| if cell.mark == Mark::Null { "-" } else { cell.text });
                cells.collect::<Vec<_>>().join("|")
            };
            let rows: Vec<String> = (0..table.lines().count()).map(shown).collect();
            Ok::<_, String>((table.names().join("|"), rows.join(" ")))
        };
        let csv = || Dialect::new(',');
        let is = |names: &str, cells: &str| Ok((names.to_owned(), cells.to_owned()));
        let skip = Dialect { skip: 2, comment: Some("#".to_owned()), ..csv() };
        let text = "\"x\n1,2,3\n#c\na,b\n1,2\n#,\n3,\"\n#\"\n";
        assert_eq!(rows(text, skip, &[]), is("a|b", "1|2 3|\n#"));
        let names = || vec!["x".to_owned(), "y".to_owned()];
        let named = Dialect { names: names(), ..csv() };
        assert_eq!(rows("a,b\n1,2\n", named.clone(), &[]), is("x|y", "1|2"));
        assert!(rows("a\n1\n", named, &[]).unwrap_err().contains("2 names for 1 column"));
        let bare = Dialect { header: false, ..csv() };
        assert_eq!(rows("1,2\n3,4\n", bare.clone(), &[]), is("column1|column2", "1|2 3|4"));
        assert!(rows("\n", bare, &[]).is_err());
        let bare = Dialect { header: false, names: names(), ..csv() };
        assert_eq!(rows("1,2\n", bare, &[]), is("x|y", "1|2"));
        let single = Dialect { quote: Some(b'\''), ..csv() };
        assert_eq!(rows("a,b\n'1,''',\"2\n", single, &[]), is("a|b", "1,'|\"2"));
        let none = Dialect { quote: None, ..csv() };
        assert_eq!(rows("a,b\n\"1,2\n", none, &[]), is("a|b", "\"1|2"));
        let nulls = ["NA", "\"-\""];
        assert_eq!(rows("a,b\nNA,\"NA\"\n-,\"-\"\n", csv(), &nulls), is("a|b", "-|NA -|-"));
    }
}
