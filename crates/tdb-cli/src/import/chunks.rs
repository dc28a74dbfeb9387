//! The text of a file in pieces that begin and end with a row, so that several threads can work on
//! them at once.

use std::io::{BufRead, Read};

use memchr::{memchr, memchr_iter, memmem, memrchr};
use tdb_codec::to_u64;

use super::tables::Notation;

/// The mark at the beginning of some files that contain UTF-8.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// Some rows of a file.
#[derive(Debug, Default)]
pub(super) struct Chunk {
    pub(super) text: Vec<u8>,
    /// The number of its first line, counted from 1.
    pub(super) line: usize,
    /// The number of rows of the file before it, without the header.
    pub(super) before: u64,
}

/// Cuts the text of a file into chunks.
pub(super) struct Chunks {
    file: Box<dyn BufRead + Send>,
    /// The bytes of the delimiter; `None` if each line that is not blank is a row.
    delimiter: Option<Vec<u8>>,
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

impl Chunks {
    pub(super) fn new(file: Box<dyn BufRead + Send>, notation: Notation) -> Self {
        let delimiter = match notation {
            Notation::Delimited(delimiter) => Some(delimiter.to_string().into_bytes()),
            Notation::Ndjson => None,
        };
        Self {
            file,
            delimiter,
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
        let chunk = Chunk { text, line: self.line, before: self.before };
        self.seen = self.seen.saturating_sub(self.whole);
        self.whole = 0;
        self.line = self.whole_lines.saturating_add(1);
        self.before = self.rows.saturating_sub(u64::from(self.delimiter.is_some()));
        Ok(Some(chunk))
    }

    /// The number of the rows, without a header. Only the ends of rows are looked at.
    pub(super) fn count(mut self, size: usize) -> Result<u64, String> {
        while self.next(size)?.is_some() {}
        Ok(self.before)
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
        self.look();
        if self.ended {
            // The last line may have no end.
            let last = self.rest.get(self.seen..).unwrap_or_default();
            let is_row = !last.is_empty() && (self.delimiter.is_some() || !is_blank(last));
            self.rows = self.rows.saturating_add(u64::from(is_row));
            (self.seen, self.whole) = (self.rest.len(), self.rest.len());
        }
        Ok(())
    }

    /// Looks at the lines that are complete, and finds where rows end.
    fn look(&mut self) {
        let Self { rest, seen, lines, rows, open, delimiter, whole, whole_lines, .. } = self;
        let Some(mut text) = rest.get(*seen..) else { return };
        let Some(last) = memrchr(b'\n', text) else { return };
        text = text.get(..=last).unwrap_or_default();
        if delimiter.is_some() && !*open && memchr(b'"', text).is_none() {
            let count = memchr_iter(b'\n', text).count();
            *lines = lines.saturating_add(count);
            *rows = rows.saturating_add(to_u64(count));
            *seen = seen.saturating_add(text.len());
            (*whole, *whole_lines) = (*seen, *lines);
            return;
        }
        while let Some(end) = memchr(b'\n', text) {
            let (line, behind) = text.split_at_checked(end.saturating_add(1)).unwrap_or((text, &[]));
            let is_row = match delimiter {
                Some(delimiter) => {
                    let mark = BYTE_ORDER_MARK;
                    let line = line.strip_prefix(mark).filter(|_| *lines == 0).unwrap_or(line);
                    *open = is_open_behind(line, delimiter, *open);
                    !*open
                }
                None => !is_blank(line),
            };
            *rows = rows.saturating_add(u64::from(is_row));
            *lines = lines.saturating_add(1);
            *seen = seen.saturating_add(line.len());
            if !*open {
                (*whole, *whole_lines) = (*seen, *lines);
            }
            text = behind;
        }
    }
}

fn is_blank(line: &[u8]) -> bool {
    str::from_utf8(line).is_ok_and(|line| line.trim().is_empty())
}

/// Whether a cell in quotes continues behind a line. What follows a closing quote and is no
/// delimiter is an error that is found later.
fn is_open_behind(mut line: &[u8], delimiter: &[u8], mut open: bool) -> bool {
    loop {
        if !open {
            if let Some(behind) = line.strip_prefix(b"\"") {
                (line, open) = (behind, true);
            } else {
                let Some(cell) = memmem::find(line, delimiter) else { return false };
                line = line.get(cell.saturating_add(delimiter.len())..).unwrap_or_default();
                continue;
            }
        }
        let Some(quote) = memchr(b'"', line) else { return true };
        line = line.get(quote.saturating_add(1)..).unwrap_or_default();
        if let Some(behind) = line.strip_prefix(b"\"") {
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
    use super::*;

    /// The chunks of a text: the number of the first line, the rows before, and the text.
    fn cut(text: &str, notation: Notation, size: usize) -> Vec<(usize, u64, String)> {
        let mut chunks = Chunks::new(Box::new(std::io::Cursor::new(text.to_owned())), notation);
        let mut found = Vec::new();
        while let Some(Chunk { text, line, before }) = chunks.next(size).unwrap() {
            found.push((line, before, String::from_utf8(text).unwrap()));
        }
        assert!(chunks.is_at_end().unwrap());
        found
    }

    fn chunk(line: usize, before: u64, text: &str) -> (usize, u64, String) {
        (line, before, text.to_owned())
    }

    const CSV: Notation = Notation::Delimited(',');

    #[test]
    fn chunks_begin_and_end_with_rows() {
        let cells = [chunk(1, 0, "a,b\n1,2\n"), chunk(3, 1, "3,4\n5,6\n"), chunk(5, 3, "7,8")];
        assert_eq!(cut("a,b\n1,2\n3,4\n5,6\n7,8", CSV, 8), cells);
        let cells = [(1, 0, "{}\n"), (2, 1, " \r\n"), (3, 1, "\n"), (4, 1, "{}\n"), (5, 2, "{}")]
            .map(|(a, b, c)| chunk(a, b, c));
        assert_eq!(cut("{}\n \r\n\n{}\n{}", Notation::Ndjson, 3), cells);
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
            let file = Box::new(std::io::Cursor::new(text));
            assert_eq!(Chunks::new(file, CSV).count(size), Ok(3), "{size}");
        }
        let file = || Box::new(std::io::Cursor::new("{}\n\n {}\n  \n{}"));
        assert_eq!(Chunks::new(file(), Notation::Ndjson).count(1), Ok(3));
        assert_eq!(
            Chunks::new(Box::new(&b"a\xe2\x82\xac\"\n\"\xe2\x82\xacb\n"[..]), Notation::Delimited('€'))
                .count(1),
            Ok(0)
        );
    }

    #[test]
    fn a_quote_that_is_never_closed_is_in_the_last_chunk() {
        let cells = [chunk(1, 0, "a\n"), chunk(2, 0, "1\n"), chunk(3, 1, "\"x\n2\n3\n")];
        assert_eq!(cut("a\n1\n\"x\n2\n3\n", CSV, 1), cells);
    }
}
