//! Files of text: without compression, and their lines.

use std::io::{self, BufRead, BufReader, Cursor, Read};

/// The first bytes of a gzip file.
const GZIP: &[u8] = &[0x1f, 0x8b];
/// The first bytes of a Zstandard file.
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
/// The number of bytes that are read at once.
const BUFFER: usize = 1 << 17;

/// The contents of a file without compression. Compressed files are recognised by their first bytes, whatever they are
/// called.
pub(super) fn contents(mut source: impl Read + Send + 'static) -> io::Result<Box<dyn BufRead + Send>> {
    let mut start = Vec::with_capacity(ZSTD.len());
    source.by_ref().take(4).read_to_end(&mut start)?;
    let (gzip, zstd) = (start.starts_with(GZIP), start.starts_with(ZSTD));
    let all = BufReader::with_capacity(BUFFER, Cursor::new(start).chain(source));
    match (gzip, zstd) {
        (true, _) => of_gzip(all),
        (_, true) => of_zstd(all),
        _ => Ok(Box::new(all)),
    }
}

#[cfg(feature = "gzip")]
#[expect(clippy::unnecessary_wraps, reason = "a build without gzip returns an error")]
fn of_gzip(file: impl BufRead + Send + 'static) -> io::Result<Box<dyn BufRead + Send>> {
    Ok(Box::new(BufReader::with_capacity(BUFFER, flate2::bufread::MultiGzDecoder::new(file))))
}

#[cfg(not(feature = "gzip"))]
fn of_gzip(_: impl BufRead + 'static) -> io::Result<Box<dyn BufRead + Send>> {
    Err(io::Error::other("the file is compressed with gzip, which this build lacks (feature gzip)"))
}

#[cfg(feature = "zstd")]
fn of_zstd(file: impl BufRead + Send + 'static) -> io::Result<Box<dyn BufRead + Send>> {
    Ok(Box::new(BufReader::with_capacity(BUFFER, zstd::Decoder::with_buffer(file)?)))
}

#[cfg(not(feature = "zstd"))]
fn of_zstd(_: impl BufRead + 'static) -> io::Result<Box<dyn BufRead + Send>> {
    Err(io::Error::other("the file is compressed with zstd, which this build lacks (feature zstd)"))
}

/// The lines of a file, one after the other.
pub(super) struct Lines<R> {
    file: R,
    line: Vec<u8>,
    number: usize,
}

impl<R: BufRead> Lines<R> {
    pub(super) const fn new(file: R) -> Self {
        Self { file, line: Vec::new(), number: 0 }
    }

    /// The next line with its number, counted from 1, and with what ends it; `None` after the last one.
    pub(super) fn next(&mut self) -> Result<Option<(usize, &str)>, String> {
        self.number = self.number.saturating_add(1);
        let number = self.number;
        self.line.clear();
        let read = self.file.read_until(b'\n', &mut self.line);
        if read.map_err(|error| format!("line {number}: {error}"))? == 0 {
            return Ok(None);
        }
        let line = str::from_utf8(&self.line).map_err(|error| {
            let byte = error.valid_up_to().saturating_add(1);
            format!("line {number}: the text is not valid UTF-8 at byte {byte} of the line")
        })?;
        let line = line.strip_prefix('\u{feff}').filter(|_| number == 1).unwrap_or(line);
        Ok((!line.is_empty()).then_some((number, line)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_not_utf8_is_named() {
        let mut lines = Lines::new(&b"\xef\xbb\xbfa\nb\xff\n"[..]);
        assert_eq!(lines.next(), Ok(Some((1, "a\n"))));
        assert_eq!(lines.next().unwrap_err(), "line 2: the text is not valid UTF-8 at byte 2 of the line");
        assert_eq!(Lines::new(&b""[..]).next(), Ok(None));
    }
}
