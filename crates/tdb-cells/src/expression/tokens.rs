//! The tokens of a condition's text, and the tokenizer.

use tdb_fragment::Comparison;

use super::numbers::number_len;
use super::{ConditionError, ConditionErrorKind as Kind, Place};

type Result<T> = core::result::Result<T, ConditionError>;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token<'t> {
    Word(&'t str),
    Quoted(Vec<u8>),
    /// Including its sign, if it has one.
    Number(&'t str),
    Sign(Comparison),
    Open,
    Close,
    Comma,
    Star,
    End,
}

/// A parser of a condition, at a token of its text.
pub(super) struct Parser<'t> {
    pub(super) text: &'t str,
    /// Byte and column after the current token.
    pub(super) offset: usize,
    column: usize,
    /// The current token, its start and its end.
    pub(super) token: Token<'t>,
    pub(super) place: Place,
    pub(super) depth: usize,
}

impl<'t> Parser<'t> {
    pub(super) fn new(text: &'t str) -> Result<Self> {
        let place = Place(Some((0, 1)));
        let mut parser = Self { text, offset: 0, column: 1, token: Token::End, place, depth: 0 };
        parser.advance()?;
        Ok(parser)
    }

    /// The text after the current token. Tokens consist of whole characters, so that the offset is
    /// always at the start of one, or at the end of the text.
    fn rest(&self) -> &'t str {
        self.text.get(self.offset..).unwrap_or_default()
    }

    /// Skips `len` bytes of the rest, or all of it.
    fn skip(&mut self, len: usize) -> &'t str {
        let rest = self.rest();
        let skipped = rest.get(..len).unwrap_or(rest);
        self.offset += skipped.len();
        self.column += skipped.chars().count();
        skipped
    }

    const fn here(&self) -> Place {
        Place(Some((self.offset, self.column)))
    }

    /// Reads the next token.
    pub(super) fn advance(&mut self) -> Result<()> {
        let blank = self.rest().len() - self.rest().trim_start().len();
        self.skip(blank);
        self.place = self.here();
        let rest = self.rest();
        let mut chars = rest.chars();
        let (first, second) = (chars.next(), chars.next());
        let word = |rest: &str| rest.find(|c| !continues_word(c)).unwrap_or(rest.len());
        let (token, len) = match (first, second) {
            (None, _) => (Token::End, 0),
            (Some('('), _) => (Token::Open, 1),
            (Some(')'), _) => (Token::Close, 1),
            (Some(','), _) => (Token::Comma, 1),
            (Some('*'), _) => (Token::Star, 1),
            (Some('='), Some('=')) => (Token::Sign(Comparison::Equal), 2),
            (Some('='), _) => (Token::Sign(Comparison::Equal), 1),
            (Some('!'), Some('=')) | (Some('<'), Some('>')) => (Token::Sign(Comparison::NotEqual), 2),
            (Some('<'), Some('=')) => (Token::Sign(Comparison::LessOrEqual), 2),
            (Some('<'), _) => (Token::Sign(Comparison::Less), 1),
            (Some('>'), Some('=')) => (Token::Sign(Comparison::GreaterOrEqual), 2),
            (Some('>'), _) => (Token::Sign(Comparison::Greater), 1),
            (Some(quote @ ('"' | '\'')), _) => {
                self.token = Token::Quoted(self.quoted(quote)?);
                return Ok(());
            }
            (Some(c), _) if c.is_ascii_digit() || matches!(c, '+' | '-' | '.') => {
                let len = number_len(rest);
                (Token::Number(rest.get(..len).unwrap_or_default()), len)
            }
            (Some(c), _) if begins_word(c) => {
                let len = word(rest);
                (Token::Word(rest.get(..len).unwrap_or_default()), len)
            }
            (Some(c), _) => {
                let found = format!("{:?}", c);
                let what = "a field, a value or an operator";
                return Err(ConditionError::at(self.place, Kind::Expected { what, found }));
            }
        };
        self.skip(len);
        self.token = token;
        Ok(())
    }

    /// The bytes of a quoted string.
    fn quoted(&mut self, quote: char) -> Result<Vec<u8>> {
        let start = self.here();
        self.skip(1);
        let mut bytes = Vec::new();
        loop {
            let place = self.here();
            let rest = self.rest();
            let plain = rest.find(['\\', quote]).unwrap_or(rest.len());
            bytes.extend_from_slice(self.skip(plain).as_bytes());
            let mut chars = self.rest().chars();
            match (chars.next(), chars.next()) {
                (None, _) => return Err(ConditionError::at(start, Kind::UnclosedString)),
                (Some('\\'), None) => {
                    return Err(ConditionError::at(start, Kind::UnclosedString));
                }
                (Some('\\'), Some(escaped)) => {
                    let place = if plain == 0 { place } else { self.here() };
                    let (byte, len) = match escaped {
                        '\\' => (Some(b'\\'), 2),
                        '\'' => (Some(b'\''), 2),
                        '"' => (Some(b'"'), 2),
                        'n' => (Some(b'\n'), 2),
                        'r' => (Some(b'\r'), 2),
                        't' => (Some(b'\t'), 2),
                        'x' => (self.rest().get(2..4).and_then(hex_byte), 4),
                        _ => (None, 0),
                    };
                    let Some(byte) = byte else {
                        let text = self.rest().chars().take(4).collect::<String>();
                        let text = text.escape_debug().to_string();
                        return Err(ConditionError::at(place, Kind::Escape { text }));
                    };
                    bytes.push(byte);
                    self.skip(len);
                }
                (Some(_), _) => {
                    self.skip(1);
                    return Ok(bytes);
                }
            }
        }
    }
}

pub(super) fn begins_word(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

pub(super) fn continues_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '.'
}

fn hex_byte(digits: &str) -> Option<u8> {
    // `from_str_radix` alone would also accept a sign.
    let hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    hex.then(|| u8::from_str_radix(digits, 16).ok()).flatten()
}
