//! The text of a file in pieces that begin and end with a row, so that several threads can work on
//! them at once.

use std::io::{BufRead, Read};

use memchr::{memchr, memchr_iter, memmem, memrchr};
use tdb_codec::to_u64;

use super::json::{Step, Walk};
use super::notation::{Kind, Notation};

/// The mark at the beginning of some files that contain UTF-8.
pub(super) const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// Some rows of a file.
#[derive(Debug, Default)]
pub(super) struct Chunk {
    pub(super) text: Vec<u8>,
    /// The number of its first line, counted from 1.
    pub(super) line: usize,
    /// The number of rows of the file before it, without the header.
    pub(super) before: u64,
    /// The number of the file.
    pub(super) file: usize,
}

impl Chunk {
    /// Whether the text has ends of lines of old Macs only: CR, and no LF.
    pub(super) fn has_old_ends(&self) -> bool {
        memchr(b'\n', &self.text).is_none() && memchr(b'\r', &self.text).is_some()
    }
}

/// Cuts the text of a file into chunks.
pub(super) struct Chunks {
    file: Box<dyn BufRead + Send>,
    rules: Rules,
    /// Bytes that were read and are in no chunk yet, and the number of those that were searched.
    rest: Vec<u8>,
    seen: usize,
    /// The number of these bytes that are whole rows, and of lines of the file that end there.
    whole: usize,
    whole_lines: usize,
    /// The numbers of lines and of rows, the header among them, that were looked at.
    lines: usize,
    rows: u64,
    /// Whether a cell in quotes continues behind what was looked at.
    open: bool,
    /// Whether the file has no more text.
    ended: bool,
    /// The line at which the next chunk begins.
    line: usize,
    before: u64,
}

/// What is a row.
enum Rules {
    Cells(CellRules),
    /// A line that is not blank.
    Lines,
    /// An object.
    Objects(Walk),
}

/// What is a row of a CSV file.
struct CellRules {
    delimiter: char,
    delimiter_bytes: Vec<u8>,
    quote: Option<u8>,
    comment: Option<Vec<u8>>,
    /// The number of lines at the beginning that are left out.
    skip: usize,
    has_header: bool,
    /// Whether a blank line is a row, once there was a header or another row.
    blank_rows: bool,
}

impl CellRules {
    /// Whether a line that does not begin inside quotes is no row. `begun` says that there was one.
    fn leaves_out(&self, number: usize, line: &[u8], begun: bool) -> bool {
        number <= self.skip
            || self.comment.as_ref().is_some_and(|comment| line.starts_with(comment))
            || is_blank(line, self.delimiter) && !(begun && self.blank_rows)
    }

    /// Whether each of these lines is a row, as far as a quick look tells.
    fn has_rows_only(&self, number: usize, text: &[u8], begun: bool) -> bool {
        let has = |needle: &[u8]| memmem::find(text, needle).is_some();
        let may_be_blank = || {
            let at_start = text.first().is_some_and(u8::is_ascii_whitespace);
            at_start || [&b"\n\n"[..], b"\n\r", b"\n ", b"\n\t"].into_iter().any(has)
        };
        number > self.skip
            && self.comment.is_none()
            && self.quote.is_none_or(|quote| memchr(quote, text).is_none())
            && (self.blank_rows && begun || !may_be_blank())
    }
}

impl Chunks {
    /// `columns` is the number of the file's columns, if it is known: of a single column, blank
    /// lines are rows.
    pub(super) fn new(file: Box<dyn BufRead + Send>, notation: &Notation, columns: Option<usize>) -> Self {
        let rules = match &notation.kind {
            Kind::Delimited(dialect) => Rules::Cells(CellRules {
                delimiter: dialect.delimiter,
                delimiter_bytes: dialect.delimiter.to_string().into_bytes(),
                quote: dialect.quote,
                comment: dialect.comment.clone().map(String::into_bytes),
                skip: dialect.skip,
                has_header: dialect.header,
                blank_rows: columns == Some(1),
            }),
            Kind::Ndjson => Rules::Lines,
            Kind::Json => Rules::Objects(Walk::default()),
        };
        Self {
            file,
            rules,
            rest: Vec::new(),
            seen: 0,
            whole: 0,
            whole_lines: 0,
            lines: 0,
            rows: 0,
            open: false,
            ended: false,
            line: 1,
            before: 0,
        }
    }

    /// The next rows, with about this much text, or as much as one row has; `None` after the last
    /// ones.
    pub(super) fn next(&mut self, size: usize) -> Result<Option<Chunk>, String> {
        while !self.ended && (self.whole == 0 || self.rest.len() < size) {
            self.read(size)?;
        }
        if self.whole == 0 {
            return Ok(None);
        }
        let behind = self.rest.split_off(self.whole);
        let text = core::mem::replace(&mut self.rest, behind);
        let chunk = Chunk { text, line: self.line, before: self.before, file: 0 };
        self.seen = self.seen.saturating_sub(self.whole);
        self.whole = 0;
        self.line = self.whole_lines.saturating_add(1);
        let has_header = matches!(&self.rules, Rules::Cells(cells) if cells.has_header);
        self.before = self.rows.saturating_sub(u64::from(has_header));
        Ok(Some(chunk))
    }

    /// The number of the rows that were looked at, without a header.
    pub(super) const fn rows_passed(&self) -> u64 {
        self.before
    }

    /// The number of the rows, without a header. Only the ends of rows are looked at.
    #[cfg(test)]
    pub(super) fn count(mut self, size: usize) -> Result<u64, String> {
        while self.next(size)?.is_some() {}
        Ok(self.rows_passed())
    }

    /// Whether all of the file is in chunks.
    pub(super) fn is_at_end(&mut self) -> Result<bool, String> {
        if self.rest.is_empty() && !self.ended {
            self.read(1)?;
        }
        Ok(self.rest.is_empty())
    }

    /// Reads this much more, unless the file ends before, and looks at it.
    fn read(&mut self, size: usize) -> Result<(), String> {
        let before = self.rest.len();
        let read = self.file.by_ref().take(to_u64(size)).read_to_end(&mut self.rest);
        let lines = |text: &[u8]| memchr_iter(b'\n', text).count();
        read.map_err(|error| {
            let line = self.lines.saturating_add(self.rest.get(self.seen..).map_or(0, lines));
            format!("line {}: {error}", line.saturating_add(1))
        })?;
        self.ended = self.rest.len() == before;
        self.look()?;
        if self.ended {
            // The last line may have no end.
            let last = self.rest.get(self.seen..).unwrap_or_default();
            let number = self.lines.saturating_add(1);
            let is_row = match &self.rules {
                Rules::Cells(cells) => self.open || !cells.leaves_out(number, last, self.rows > 0),
                Rules::Lines => !is_blank(last, '\n'),
                Rules::Objects(walk) if !walk.is_complete() => {
                    return Err(format!("line {number}: the file ends inside of an object or a list"));
                }
                Rules::Objects(_) => false,
            };
            self.rows = self.rows.saturating_add(u64::from(!last.is_empty() && is_row));
            (self.seen, self.whole) = (self.rest.len(), self.rest.len());
        }
        Ok(())
    }

    /// Looks at the lines that are complete, and finds where rows end.
    fn look(&mut self) -> Result<(), String> {
        let Self { rest, seen, lines, rows, open, rules, whole, whole_lines, ended, .. } = self;
        let Some(mut text) = rest.get(*seen..) else { return Ok(()) };
        if let Rules::Objects(walk) = rules {
            if *lines == 0 && *seen == 0 {
                // A part of the mark says nothing yet.
                if !*ended && text.len() < BYTE_ORDER_MARK.len() && BYTE_ORDER_MARK.starts_with(text) {
                    return Ok(());
                }
                *seen = if text.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
                text = rest.get(*seen..).unwrap_or_default();
            }
            loop {
                let (passed, ends) = match walk.step(text) {
                    Step::End(end) => (end, true),
                    Step::More => (text.len(), false),
                    Step::Wrong(at) => {
                        let before = text.get(..at).unwrap_or_default();
                        let line = lines.saturating_add(memchr_iter(b'\n', before).count());
                        let line = line.saturating_add(1);
                        return Err(format!(
                            "line {line}: an object in JSON is expected, or what is between objects"
                        ));
                    }
                };
                let (walked, behind) = text.split_at_checked(passed).unwrap_or((text, &[]));
                *lines = lines.saturating_add(memchr_iter(b'\n', walked).count());
                *seen = seen.saturating_add(passed);
                if !ends {
                    return Ok(());
                }
                *rows = rows.saturating_add(1);
                // The next chunk begins on the line where this object ends.
                (*whole, *whole_lines) = (*seen, *lines);
                text = behind;
            }
        }
        let Some(last) = memrchr(b'\n', text) else { return Ok(()) };
        text = text.get(..=last).unwrap_or_default();
        let number = lines.saturating_add(1);
        if matches!(rules, Rules::Cells(cells) if !*open && cells.has_rows_only(number, text, *rows > 0)) {
            let count = memchr_iter(b'\n', text).count();
            *lines = lines.saturating_add(count);
            *rows = rows.saturating_add(to_u64(count));
            *seen = seen.saturating_add(text.len());
            (*whole, *whole_lines) = (*seen, *lines);
            return Ok(());
        }
        while let Some(end) = memchr(b'\n', text) {
            let (line, behind) = text.split_at_checked(end.saturating_add(1)).unwrap_or((text, &[]));
            let is_row = match rules {
                Rules::Cells(cells) => {
                    let mark = BYTE_ORDER_MARK;
                    let line = line.strip_prefix(mark).filter(|_| *lines == 0).unwrap_or(line);
                    let left_out = !*open && cells.leaves_out(lines.saturating_add(1), line, *rows > 0);
                    if !left_out {
                        *open = is_open_behind(line, &cells.delimiter_bytes, cells.quote, *open);
                    }
                    !left_out && !*open
                }
                Rules::Lines | Rules::Objects(_) => !is_blank(line, '\n'),
            };
            *rows = rows.saturating_add(u64::from(is_row));
            *lines = lines.saturating_add(1);
            *seen = seen.saturating_add(line.len());
            if !*open {
                (*whole, *whole_lines) = (*seen, *lines);
            }
            text = behind;
        }
        Ok(())
    }
}

/// Whether a line has only spaces, and nothing that is between cells.
pub(super) fn is_blank(line: &[u8], delimiter: char) -> bool {
    line.iter().all(|byte| *byte == b'\n' || byte.is_ascii_whitespace() && char::from(*byte) != delimiter)
}

/// Whether a cell in quotes continues behind a line. What follows a closing quote and is no
/// delimiter is an error that is found later.
fn is_open_behind(mut line: &[u8], delimiter: &[u8], quote: Option<u8>, mut open: bool) -> bool {
    let Some(quote) = quote else { return false };
    loop {
        if !open {
            if let Some(behind) = line.strip_prefix(&[quote]) {
                (line, open) = (behind, true);
            } else {
                let Some(cell) = memmem::find(line, delimiter) else { return false };
                line = line.get(cell.saturating_add(delimiter.len())..).unwrap_or_default();
                continue;
            }
        }
        let Some(end) = memchr(quote, line) else { return true };
        line = line.get(end.saturating_add(1)..).unwrap_or_default();
        if let Some(behind) = line.strip_prefix(&[quote]) {
            line = behind;
        } else {
            open = false;
            match line.strip_prefix(delimiter) {
                Some(behind) => line = behind,
                None => return false,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::notation::Dialect;
    use super::*;

    /// The chunks of a text: the number of the first line, the rows before, and the text.
    fn cut(text: &str, kind: Kind, size: usize) -> Vec<(usize, u64, String)> {
        let mut chunks = of(text, kind, Some(2));
        let mut found = Vec::new();
        while let Some(Chunk { text, line, before, .. }) = chunks.next(size).unwrap() {
            found.push((line, before, String::from_utf8(text).unwrap()));
        }
        assert!(chunks.is_at_end().unwrap());
        found
    }

    fn of(text: &str, kind: Kind, columns: Option<usize>) -> Chunks {
        Chunks::new(Box::new(std::io::Cursor::new(text.to_owned())), &Notation::new(kind), columns)
    }

    fn chunk(line: usize, before: u64, text: &str) -> (usize, u64, String) {
        (line, before, text.to_owned())
    }

    const CSV: Kind = Kind::Delimited(Dialect::new(','));

    #[test]
    fn chunks_begin_and_end_with_rows() {
        let cells = [chunk(1, 0, "a,b\n1,2\n"), chunk(3, 1, "3,4\n5,6\n"), chunk(5, 3, "7,8")];
        assert_eq!(cut("a,b\n1,2\n3,4\n5,6\n7,8", CSV, 8), cells);
        let cells = [(1, 0, "{}\n"), (2, 1, " \r\n"), (3, 1, "\n"), (4, 1, "{}\n"), (5, 2, "{}")]
            .map(|(a, b, c)| chunk(a, b, c));
        assert_eq!(cut("{}\n \r\n\n{}\n{}", Kind::Ndjson, 3), cells);
        assert_eq!(cut("", CSV, 8), []);
    }

    #[test]
    fn the_end_of_a_line_in_quotes_ends_no_row() {
        let text = "\u{feff}\"a\n\",b\n\"x\"\"\n\",\"\n\"\n1\"2,\"\"\n3,4\n";
        let rows = ["\u{feff}\"a\n\",b\n", "\"x\"\"\n\",\"\n\"\n", "1\"2,\"\"\n", "3,4\n"];
        let lines = [1, 3, 6, 7];
        let cells: Vec<_> = rows
            .iter()
            .zip(lines)
            .zip([0, 0, 1, 2])
            .map(|((row, line), before)| chunk(line, before, row))
            .collect();
        assert_eq!(cut(text, CSV, 1), cells);
        for size in 1..text.len() {
            let together: String = cut(text, CSV, size).into_iter().map(|(.., text)| text).collect();
            assert_eq!(together, text, "{size}");
            assert_eq!(of(text, CSV, Some(2)).count(size), Ok(3), "{size}");
        }
        assert_eq!(of("{}\n\n {}\n  \n{}", Kind::Ndjson, None).count(1), Ok(3));
        let euro = Kind::Delimited(Dialect::new('€'));
        assert_eq!(of("a€\"\n\"€b\n", euro, Some(2)).count(1), Ok(0));
    }

    #[test]
    fn a_quote_that_is_never_closed_is_in_the_last_chunk() {
        let cells = [chunk(1, 0, "a\n"), chunk(2, 0, "1\n"), chunk(3, 1, "\"x\n2\n3\n")];
        assert_eq!(cut("a\n1\n\"x\n2\n3\n", CSV, 1), cells);
    }

    #[test]
    fn what_is_no_row_is_not_counted() {
        let text = "\"\nx\n\n# c\na,b\n1,2\n\n#,\"\n3,\"\n#\"\n  \n5,6\n\n";
        let dialect = Dialect { skip: 2, comment: Some("#".to_owned()), ..Dialect::new(',') };
        for size in 1..text.len() {
            let count = |columns, header| {
                let kind = Kind::Delimited(Dialect { header, ..dialect.clone() });
                of(text, kind, Some(columns)).count(size)
            };
            assert_eq!([count(2, true), count(2, false), count(1, true)], [Ok(3), Ok(4), Ok(6)], "{size}");
        }
        for text in ["a,b\n1,2\n\n3,4\n", "\na,b\n1,2\n3,4", "a,b\r\n\r\n1,2\r\n3,4\r\n\r\n"] {
            assert_eq!(of(text, CSV, Some(2)).count(64), Ok(2), "{text:?}");
        }
        assert_eq!(of("\na\n\n1\n\n", CSV, Some(1)).count(64), Ok(3));
    }

    #[test]
    fn a_list_of_objects_is_cut_behind_objects() {
        let text = "\u{feff}[\n{\"a\":\n1}, {},\n{\"]\":\"{\"}]\n";
        let cells = [
            chunk(1, 0, "\u{feff}[\n{\"a\":\n1}"),
            chunk(3, 1, ", {}"),
            chunk(3, 2, ",\n{\"]\":\"{\"}"),
            chunk(4, 3, "]\n"),
        ];
        assert_eq!(cut(text, Kind::Json, 1), cells);
        for size in 1..text.len() {
            assert_eq!(of(text, Kind::Json, None).count(size), Ok(3), "{size}");
            let together: String = cut(text, Kind::Json, size).into_iter().map(|(.., text)| text).collect();
            assert_eq!(together, text, "{size}");
        }
        for (wrong, why) in
            [("[{}\n", "line 2: the file ends"), ("[\n1]", "line 2: an object"), ("{}\n]", "line 2: an")]
        {
            let error = of(wrong, Kind::Json, None).count(1).unwrap_err();
            assert!(error.starts_with(why), "{wrong}: {error}");
        }
    }
}
