//! Lines of files, of limited length.

use std::io::{BufRead, Read};

use crate::{Error, Result};

/// Bytes of a line: those of Cell Ranger have some dozens, and comments of a matrix some hundreds.
/// Without a limit, a file that is one line would choose how much memory it takes.
const MAX_LINE: usize = 1 << 20;

/// The lines of a file.
pub(crate) struct Lines<R> {
    input: R,
    /// The file that errors name.
    file: &'static str,
    line: Vec<u8>,
    /// The number of the line, counted from 1.
    number: u64,
}

impl<R: BufRead> Lines<R> {
    pub(crate) const fn new(input: R, file: &'static str) -> Self {
        Self { input, file, line: Vec::new(), number: 0 }
    }

    /// Reads the next line; `false` at the end of the file, whose number is then that of the line
    /// that is missing.
    pub(crate) fn next(&mut self) -> Result<bool> {
        self.line.clear();
        self.number = self.number.saturating_add(1);
        let most = u64::try_from(MAX_LINE).unwrap_or(u64::MAX).saturating_add(1);
        let read = (&mut self.input).take(most).read_until(b'\n', &mut self.line);
        let read = read.map_err(|error| self.wrong(error.to_string()))?;
        if read > MAX_LINE && self.line.last() != Some(&b'\n') {
            return Err(self.wrong(format!("the line has more than {MAX_LINE} bytes")));
        }
        Ok(read > 0)
    }

    /// The line as it is, with its end.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.line
    }

    /// The line as text, without its end.
    pub(crate) fn text(&self) -> Result<&str> {
        let text = str::from_utf8(&self.line).map_err(|_| self.wrong("this is not UTF-8"))?;
        Ok(text.trim_end_matches(['\r', '\n']))
    }

    pub(crate) fn wrong(&self, what: impl Into<String>) -> Error {
        Error::Input { file: self.file.to_owned(), line: Some(self.number), what: what.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_as_they_do_anywhere() {
        let mut lines = Lines::new(&b"a\tb\r\n\nc"[..], "x.tsv");
        let mut found = Vec::new();
        while lines.next().unwrap() {
            found.push(lines.text().unwrap().to_owned());
        }
        assert_eq!(found, ["a\tb", "", "c"]);
    }

    #[test]
    fn a_line_without_an_end_is_refused_before_it_is_in_memory() {
        let endless = std::io::BufReader::new(b"ok\n".chain(std::io::repeat(b'x')));
        let mut lines = Lines::new(endless, "x.tsv");
        assert!(lines.next().unwrap());
        let error = lines.next().unwrap_err().to_string();
        assert_eq!(error, "x.tsv: line 2: the line has more than 1048576 bytes");
        let longest = [vec![b'x'; MAX_LINE], vec![b'\n']].concat();
        assert!(Lines::new(&longest[..], "x.tsv").next().unwrap());
        let longer = vec![b'x'; MAX_LINE + 1];
        assert!(Lines::new(&longer[..], "x.tsv").next().is_err());
    }

    #[test]
    fn what_is_not_text_is_said_with_its_line() {
        let mut lines = Lines::new(&b"a\n\xff\n"[..], "x.tsv");
        assert!(lines.next().unwrap() && lines.text().is_ok() && lines.next().unwrap());
        assert_eq!(lines.text().unwrap_err().to_string(), "x.tsv: line 2: this is not UTF-8");
    }
}
