//! Files of text: without compression, and their lines.

use std::io::{self, BufRead, BufReader, Cursor, Read};

use memchr::{memchr, memchr_iter, memrchr};

use super::chunks::Chunk;
use crate::thresholds::TEXT_BUFFER;

/// The first bytes of a gzip file.
const GZIP: &[u8] = &[0x1f, 0x8b];
/// The first bytes of a Zstandard file.
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

/// The contents of a file without compression. Compressed files are recognised by their first
/// bytes, whatever they are called.
pub(crate) fn contents(mut source: impl Read + Send + 'static) -> io::Result<Box<dyn BufRead + Send>> {
    let mut start = Vec::with_capacity(ZSTD.len());
    source.by_ref().take(4).read_to_end(&mut start)?;
    let (gzip, zstd) = (start.starts_with(GZIP), start.starts_with(ZSTD));
    let all = BufReader::with_capacity(TEXT_BUFFER, Cursor::new(start).chain(source));
    match (gzip, zstd) {
        (true, _) => of_gzip(all),
        (_, true) => of_zstd(all),
        _ => Ok(Box::new(all)),
    }
}

#[cfg(feature = "gzip")]
#[expect(clippy::unnecessary_wraps, reason = "a build without gzip returns an error")]
fn of_gzip(file: impl BufRead + Send + 'static) -> io::Result<Box<dyn BufRead + Send>> {
    Ok(Box::new(BufReader::with_capacity(TEXT_BUFFER, flate2::bufread::MultiGzDecoder::new(file))))
}

#[cfg(not(feature = "gzip"))]
fn of_gzip(_: impl BufRead + 'static) -> io::Result<Box<dyn BufRead + Send>> {
    Err(io::Error::other("the file is compressed with gzip, which this build lacks (feature gzip)"))
}

#[cfg(feature = "zstd")]
fn of_zstd(file: impl BufRead + Send + 'static) -> io::Result<Box<dyn BufRead + Send>> {
    Ok(Box::new(BufReader::with_capacity(TEXT_BUFFER, zstd::Decoder::with_buffer(file)?)))
}

#[cfg(not(feature = "zstd"))]
fn of_zstd(_: impl BufRead + 'static) -> io::Result<Box<dyn BufRead + Send>> {
    Err(io::Error::other("the file is compressed with zstd, which this build lacks (feature zstd)"))
}

/// The lines of a chunk, one after the other.
#[derive(Debug)]
pub(super) struct Lines<'t> {
    rest: &'t str,
    /// The number of the next line, counted from 1.
    number: usize,
    /// The line behind those, if it is not text.
    bad: Option<String>,
}

impl<'t> Lines<'t> {
    pub(super) fn new(Chunk { text, line: number, .. }: &'t Chunk) -> Self {
        let (rest, bad) = match str::from_utf8(text) {
            Ok(text) => (text, None),
            Err(error) => {
                let (text, _) = text.split_at_checked(error.valid_up_to()).unwrap_or_default();
                let lines = memchr_iter(b'\n', text).count();
                let start = memrchr(b'\n', text).map_or(0, |end| end.saturating_add(1));
                let byte = text.len().saturating_sub(start).saturating_add(1);
                let number = number.saturating_add(lines);
                let bad = format!(
                    "line {number}: the text is not valid UTF-8 at byte {byte} of the line: --encoding names another encoding, such as latin1"
                );
                let before = text.get(..start).and_then(|text| str::from_utf8(text).ok());
                (before.unwrap_or_default(), Some(bad))
            }
        };
        let rest = rest.strip_prefix('\u{feff}').filter(|_| *number == 1).unwrap_or(rest);
        Self { rest, number: *number, bad }
    }

    /// The next line with its number, and with what ends it; `None` after the last one.
    pub(super) fn next(&mut self) -> Result<Option<(usize, &'t str)>, String> {
        if self.rest.is_empty() {
            return self.bad.take().map_or(Ok(None), Err);
        }
        let end = memchr(b'\n', self.rest.as_bytes()).map_or(self.rest.len(), |end| end.saturating_add(1));
        let (line, behind) = self.rest.split_at_checked(end).unwrap_or((self.rest, ""));
        let number = self.number;
        (self.rest, self.number) = (behind, number.saturating_add(1));
        Ok(Some((number, line)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_not_utf8_is_named() {
        let chunk = |text: &[u8]| Chunk { text: text.to_vec(), line: 1, before: 0, file: 0 };
        let text = chunk(b"\xef\xbb\xbfa\nb\xff\n");
        let mut lines = Lines::new(&text);
        assert_eq!(lines.next(), Ok(Some((1, "a\n"))));
        let wrong = lines.next().unwrap_err();
        assert!(wrong.starts_with("line 2: the text is not valid UTF-8 at byte 2 of the line"), "{wrong}");
        assert_eq!(Lines::new(&chunk(b"")).next(), Ok(None));
    }
}
