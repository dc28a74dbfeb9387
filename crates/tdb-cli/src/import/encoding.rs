//! Text in other encodings than UTF-8.

use std::io::{self, BufRead, BufReader, Read};

use encoding_rs::{Decoder, DecoderResult, Encoding, UTF_16BE, UTF_16LE};

use crate::thresholds::TEXT_BUFFER;

/// The encoding of a name that the standard of WHATWG knows: `latin1`, `windows-1252`, `utf-16le`,
/// `shift_jis`.
pub(super) fn parse(name: &str) -> Result<&'static Encoding, String> {
    Encoding::for_label(name.as_bytes()).ok_or_else(|| {
        "a name of an encoding is needed, such as latin1, windows-1252, utf-16le, shift_jis or gbk".to_owned()
    })
}

/// The encoding that a mark at the beginning of a file names, beside UTF-8: spreadsheets call it
/// "Unicode text".
pub(super) fn of_mark(start: &[u8]) -> Option<&'static Encoding> {
    match start {
        [0xff, 0xfe, ..] => Some(UTF_16LE),
        [0xfe, 0xff, ..] => Some(UTF_16BE),
        _ => None,
    }
}

/// The text of a file in UTF-8.
pub(super) fn decoded(file: Box<dyn BufRead + Send>, encoding: &'static Encoding) -> Box<dyn BufRead + Send> {
    let decoder = encoding.new_decoder_with_bom_removal();
    let decoded = Decoded { file, decoder, encoding, text: Vec::new(), passed: 0, state: State::Going };
    Box::new(BufReader::with_capacity(TEXT_BUFFER, decoded))
}

/// A file that is decoded while it is read.
struct Decoded {
    file: Box<dyn BufRead + Send>,
    decoder: Decoder,
    encoding: &'static Encoding,
    /// Text that was decoded, and the bytes of it that were passed on.
    text: Vec<u8>,
    passed: usize,
    state: State,
}

/// What follows the text that was decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Going,
    Ended,
    /// Bytes that are no text in this encoding.
    Broken,
}

impl Decoded {
    /// Decodes more.
    fn refill(&mut self) -> io::Result<()> {
        self.passed = 0;
        self.text.resize(TEXT_BUFFER, 0);
        let bytes = self.file.fill_buf()?;
        let last = bytes.is_empty();
        let (result, read, written) =
            self.decoder.decode_to_utf8_without_replacement(bytes, &mut self.text, last);
        self.file.consume(read);
        self.text.truncate(written);
        self.state = match result {
            DecoderResult::InputEmpty if last => State::Ended,
            DecoderResult::InputEmpty | DecoderResult::OutputFull => State::Going,
            DecoderResult::Malformed(..) => State::Broken,
        };
        Ok(())
    }
}

impl Read for Decoded {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            let mut left = self.text.get(self.passed..).unwrap_or_default();
            if !left.is_empty() || out.is_empty() {
                let len = left.read(out)?;
                self.passed = self.passed.saturating_add(len);
                return Ok(len);
            }
            match self.state {
                State::Going => self.refill()?,
                State::Ended => return Ok(0),
                // What is before it was passed on, so that a message names the right line.
                State::Broken => {
                    let what = format!("the bytes are no text in {}", self.encoding.name());
                    return Err(io::Error::new(io::ErrorKind::InvalidData, what));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8], encoding: &str) -> io::Result<String> {
        let file = Box::new(io::Cursor::new(bytes.to_vec()));
        let mut text = String::new();
        decoded(file, parse(encoding).unwrap()).read_to_string(&mut text)?;
        Ok(text)
    }

    #[test]
    fn text_in_other_encodings_is_decoded() {
        assert_eq!(read(b"caf\xe9\n", "latin1").unwrap(), "café\n");
        assert_eq!(read(b"\x80", "windows-1252").unwrap(), "€");
        assert_eq!(read(b"\xff\xfea\0\xac\x20", "utf-16le").unwrap(), "a€");
        assert_eq!(read(b"\x83\x65", "shift_jis").unwrap(), "テ");
        let long: Vec<u8> = (0..300_000u32).flat_map(|_| *b"\xe9a").collect();
        assert_eq!(read(&long, "iso-8859-1").unwrap(), "éa".repeat(300_000));
        assert!(parse("latin").is_err());
    }

    #[test]
    fn a_mark_names_an_encoding() {
        let name = |start: &[u8]| of_mark(start).map(Encoding::name);
        assert_eq!(name(b"\xff\xfea\0"), Some("UTF-16LE"));
        assert_eq!(name(b"\xfe\xff\0a"), Some("UTF-16BE"));
        assert_eq!(name(b"\xef\xbb\xbfa").or(name(b"\xff")).or(name(b"")), None);
    }

    #[test]
    fn bytes_that_are_no_text_are_an_error_behind_the_text_before_them() {
        let file = Box::new(io::Cursor::new(b"ab\n\x81\xff".to_vec()));
        let mut text = Vec::new();
        let error = decoded(file, parse("shift_jis").unwrap()).read_to_end(&mut text).unwrap_err();
        assert_eq!(
            (text.as_slice(), error.to_string().as_str()),
            (&b"ab\n"[..], "the bytes are no text in Shift_JIS")
        );
        assert!(read(b"a\0b", "utf-16le").is_err(), "half a character");
    }
}
