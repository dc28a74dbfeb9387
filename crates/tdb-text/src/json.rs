//! Documents in JSON whose numbers are what is written.
//!
//! `serde_json` makes a number of 64 bits of all digits, which are nobody's choice but the
//! reader's: what becomes of them depends on the type of the field, which the reader of a document
//! does not know yet. Its feature `arbitrary_precision` keeps digits, but not the sign of `-0`, and
//! changes `serde_json` for whole programs.

use core::fmt;

use serde_json::{Number, Value};
use tdb_codec::digits::nearest;

/// The deepest nesting of lists and objects.
const MOST_DEPTH: usize = 128;

/// A value, with numbers as they are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Json {
    /// Nothing.
    Null,
    /// True or false.
    Bool(bool),
    /// A number, as it is written.
    Number(String),
    /// A text.
    Text(String),
    /// A list.
    List(Vec<Self>),
    /// The keys of an object and their values, in their order.
    Object(Vec<(String, Self)>),
}

/// A fault of a document, and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonError {
    /// The fault.
    pub what: String,
    /// The line, counted from 1.
    pub line: usize,
    /// The character of the line, counted from 1.
    pub column: usize,
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at line {} column {}", self.what, self.line, self.column)
    }
}

impl core::error::Error for JsonError {}

impl Json {
    /// Parses a document.
    ///
    /// ```
    /// use tdb_text::json::Json;
    ///
    /// let parsed = Json::parse(b"[-0, 18446744073709551616, 1e400]")?;
    /// assert_eq!(parsed.to_string(), "[-0,18446744073709551616,1e400]");
    /// assert_eq!(Json::parse(b"[1,\n 2").unwrap_err().to_string(), "a comma or ] is expected at line 2 column 3");
    /// # Ok::<(), tdb_text::json::JsonError>(())
    /// ```
    ///
    /// # Errors
    /// A text that is no JSON, or is nested more than 128 levels deep.
    pub fn parse(text: &[u8]) -> Result<Self, JsonError> {
        let text = str::from_utf8(text).map_err(|error| {
            let (before, _) = text.split_at_checked(error.valid_up_to()).unwrap_or_default();
            let before = str::from_utf8(before).unwrap_or_default();
            Parser { text: before, rest: "" }.error("the text is not valid UTF-8")
        })?;
        let mut parser = Parser { text, rest: text };
        let value = parser.value(MOST_DEPTH)?;
        parser.skip_blank();
        if parser.rest.is_empty() { Ok(value) } else { Err(parser.error("there is text after the value")) }
    }

    /// The value of a key, if this is an object that has it.
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.as_object()?.iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// The value of a key, if this is an object that has it.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Self> {
        let Self::Object(entries) = self else { return None };
        entries.iter_mut().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// Sets the value of a key, if this is an object.
    pub fn insert(&mut self, key: &str, value: impl Into<Self>) {
        if let Some(entry) = self.get_mut(key) {
            *entry = value.into();
        } else if let Self::Object(entries) = self {
            entries.push((key.to_owned(), value.into()));
        }
    }

    /// Removes a key, if this is an object.
    pub fn remove(&mut self, key: &str) {
        if let Self::Object(entries) = self {
            entries.retain(|(name, _)| name != key);
        }
    }

    /// The entries of an object.
    pub fn as_object(&self) -> Option<&[(String, Self)]> {
        if let Self::Object(entries) = self { Some(entries) } else { None }
    }

    /// The items of a list.
    pub fn as_list(&self) -> Option<&[Self]> {
        if let Self::List(items) = self { Some(items) } else { None }
    }

    /// The items of a list.
    pub fn as_list_mut(&mut self) -> Option<&mut [Self]> {
        if let Self::List(items) = self { Some(items) } else { None }
    }

    /// A text.
    pub fn as_str(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// A number, as it is written.
    pub fn as_number(&self) -> Option<&str> {
        if let Self::Number(digits) = self { Some(digits) } else { None }
    }

    /// Whether this is nothing.
    pub const fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }
}

/// Compact: without blanks.
impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |f: &mut fmt::Formatter<'_>, text: &str| write!(f, "{}", Value::from(text));
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(value) => write!(f, "{value}"),
            Self::Number(digits) => f.write_str(digits),
            Self::Text(own) => text(f, own),
            Self::List(items) => {
                f.write_str("[")?;
                for (index, item) in items.iter().enumerate() {
                    write!(f, "{}{item}", if index > 0 { "," } else { "" })?;
                }
                f.write_str("]")
            }
            Self::Object(entries) => {
                f.write_str("{")?;
                for (index, (key, value)) in entries.iter().enumerate() {
                    f.write_str(if index > 0 { "," } else { "" })?;
                    text(f, key)?;
                    write!(f, ":{value}")?;
                }
                f.write_str("}")
            }
        }
    }
}

/// A value that a program made: its numbers are exact.
impl From<&Value> for Json {
    fn from(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Bool(*value),
            Value::Number(number) => Self::Number(number.to_string()),
            Value::String(text) => Self::Text(text.clone()),
            Value::Array(items) => Self::List(items.iter().map(Self::from).collect()),
            Value::Object(entries) => {
                Self::Object(entries.iter().map(|(key, value)| (key.clone(), Self::from(value))).collect())
            }
        }
    }
}

impl From<Value> for Json {
    fn from(value: Value) -> Self {
        Self::from(&value)
    }
}

/// For printing: numbers are those of 64 bits that are nearest, or their digits as a text where
/// there are none.
impl From<&Json> for Value {
    fn from(value: &Json) -> Self {
        match value {
            Json::Null => Self::Null,
            Json::Bool(value) => Self::Bool(*value),
            Json::Number(digits) => {
                let unsigned = digits.parse::<u64>().map(Number::from);
                let whole = unsigned.or_else(|_| digits.parse::<i64>().map(Number::from)).ok();
                // The integer 0 has no sign.
                let whole = whole.filter(|_| digits != "-0");
                let number = whole.or_else(|| nearest(digits).ok().and_then(Number::from_f64));
                number.map_or_else(|| Self::String(digits.clone()), Self::Number)
            }
            Json::Text(text) => Self::String(text.clone()),
            Json::List(items) => items.iter().map(Self::from).collect(),
            Json::Object(entries) => {
                Self::Object(entries.iter().map(|(key, value)| (key.clone(), Self::from(value))).collect())
            }
        }
    }
}

struct Parser<'t> {
    text: &'t str,
    /// The text that is still to come.
    rest: &'t str,
}

impl Parser<'_> {
    /// An error at the present place.
    fn error(&self, what: impl Into<String>) -> JsonError {
        let at = self.text.len().saturating_sub(self.rest.len());
        let before = self.text.get(..at).unwrap_or_default();
        let (lines, last) = before
            .rsplit_once('\n')
            .map_or((0, before), |(lines, last)| (lines.matches('\n').count().saturating_add(1), last));
        let column = last.chars().count().saturating_add(1);
        JsonError { what: what.into(), line: lines.saturating_add(1), column }
    }

    fn skip_blank(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\r', '\n']);
    }

    /// Takes a character or word, and what is blank before it.
    fn take(&mut self, word: &str) -> bool {
        self.skip_blank();
        let behind = self.rest.strip_prefix(word);
        self.rest = behind.unwrap_or(self.rest);
        behind.is_some()
    }

    fn value(&mut self, depth: usize) -> Result<Json, JsonError> {
        let too_deep = || format!("lists and objects are nested more than {MOST_DEPTH} levels deep");
        self.skip_blank();
        let depth = match (self.rest.starts_with(['[', '{']), depth.checked_sub(1)) {
            (true, None) => return Err(self.error(too_deep())),
            (_, depth) => depth.unwrap_or(0),
        };
        if self.take("{") {
            return self.object(depth);
        }
        if self.take("[") {
            let mut items = Vec::new();
            if self.take("]") {
                return Ok(Json::List(items));
            }
            loop {
                items.push(self.value(depth)?);
                if self.take("]") {
                    return Ok(Json::List(items));
                }
                if !self.take(",") {
                    return Err(self.error("a comma or ] is expected"));
                }
            }
        }
        if self.rest.starts_with('"') {
            return self.string().map(Json::Text);
        }
        for (word, value) in [("null", Json::Null), ("true", Json::Bool(true)), ("false", Json::Bool(false))]
        {
            if self.take(word) {
                return Ok(value);
            }
        }
        let len = number_len(self.rest).ok_or_else(|| self.error("a value is expected"))?;
        let (digits, behind) = self.rest.split_at_checked(len).unwrap_or_default();
        self.rest = behind;
        Ok(Json::Number(digits.to_owned()))
    }

    /// The rest of an object.
    fn object(&mut self, depth: usize) -> Result<Json, JsonError> {
        let mut entries = Vec::new();
        if self.take("}") {
            return Ok(Json::Object(entries));
        }
        loop {
            self.skip_blank();
            if !self.rest.starts_with('"') {
                return Err(self.error("a key in quotes is expected"));
            }
            let key = self.string()?;
            if !self.take(":") {
                return Err(self.error("a colon is expected"));
            }
            entries.push((key, self.value(depth)?));
            if self.take("}") {
                return Ok(Json::Object(entries));
            }
            if !self.take(",") {
                return Err(self.error("a comma or } is expected"));
            }
        }
    }

    /// A text in quotes.
    fn string(&mut self) -> Result<String, JsonError> {
        let mut stream = serde_json::Deserializer::from_str(self.rest).into_iter::<String>();
        match stream.next() {
            Some(Ok(text)) => {
                self.rest = self.rest.get(stream.byte_offset()..).unwrap_or_default();
                Ok(text)
            }
            Some(Err(error)) => {
                let text = error.to_string();
                let what = text.rsplit_once(" at line ").map_or(text.as_str(), |(what, _)| what);
                Err(self.error(what))
            }
            None => Err(self.error("a text is expected")),
        }
    }
}

/// The length of the number with which a text begins; `None` if it begins with something else.
fn number_len(text: &str) -> Option<usize> {
    let split = |text: &'_ str| -> (usize, usize) {
        let len = text.bytes().take_while(u8::is_ascii_digit).count();
        (len, text.len().saturating_sub(len))
    };
    let behind = |rest: usize| text.get(text.len().checked_sub(rest)?..);
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let (digits, mut rest) = split(unsigned);
    if digits == 0 || (digits > 1 && unsigned.starts_with('0')) {
        return None;
    }
    if let Some(fraction) = behind(rest)?.strip_prefix('.') {
        let (digits, left) = split(fraction);
        rest = (digits > 0).then_some(left)?;
    }
    if let Some(exponent) = behind(rest)?.strip_prefix(['e', 'E']) {
        let (digits, left) = split(exponent.strip_prefix(['+', '-']).unwrap_or(exponent));
        rest = (digits > 0).then_some(left)?;
    }
    text.len().checked_sub(rest)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn documents_say_what_serde_json_says_except_for_digits() {
        let texts = [
            "{}",
            "[]",
            " { \"a\" : [ 1 , -2.50e+3, null,true,false ] , \"b\\n\\u00e9\\ud83d\\ude00\" : { } }\n",
            "\"\"",
            "0",
            "-0.0",
            "1E5",
            "[[[]]]",
            "{\"a\":{\"b\":[{}]}}",
        ];
        for text in texts {
            let expected: Value = serde_json::from_str(text).unwrap();
            assert_eq!(Value::from(&Json::parse(text.as_bytes()).unwrap()), expected, "{text}");
        }
        for text in [
            "",
            " ",
            "{",
            "[1",
            "[1,]",
            "{\"a\"}",
            "{\"a\":}",
            "{\"a\":1,}",
            "{a:1}",
            "01",
            "-",
            "1.",
            ".5",
            "+1",
            "1e",
            "nul",
            "nulll",
            "NaN",
            "\"",
            "\"\\x\"",
            "\"\n\"",
            "\"\\ud800\"",
            "1 2",
            "[1 2]",
            "'a'",
            "{\"a\" 1}",
            "Infinity",
            "-inf",
            "\u{feff}1",
        ] {
            assert!(serde_json::from_str::<Value>(text).is_err(), "{text}");
            assert!(Json::parse(text.as_bytes()).is_err(), "{text}");
        }
        assert!(Json::parse(b"\"\xff\"").unwrap_err().to_string().contains("UTF-8 at line 1 column 2"));
        let shown = json!({"a\"\u{1}": [1, 2.5, null, true, "é"], "b": {}});
        assert_eq!(Json::from(&shown).to_string(), shown.to_string());
        assert_eq!(Value::from(&Json::from(&shown)), shown);
    }

    #[test]
    fn digits_are_those_that_are_written() {
        for digits in [
            "-0",
            "0.10000000000000000000000000000000000001",
            "1e400",
            "123456789012345678901234567890",
            "1.50",
        ] {
            assert_eq!(Json::parse(digits.as_bytes()), Ok(Json::Number(digits.to_owned())));
        }
        assert_eq!(Value::from(&Json::Number("-0".to_owned())).to_string(), "-0.0");
    }

    #[test]
    fn nesting_is_bounded() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(Json::parse(nested(MOST_DEPTH).as_bytes()).is_ok());
        let error = Json::parse(nested(MOST_DEPTH + 1).as_bytes()).unwrap_err();
        assert!(error.what.contains("128 levels deep"), "{error}");
        assert!(Json::parse("[".repeat(1 << 20).as_bytes()).is_err());
    }

    #[test]
    fn mistakes_are_named_with_line_and_column() {
        let at = |text: &str| {
            let error = Json::parse(text.as_bytes()).unwrap_err();
            (error.line, error.column)
        };
        assert_eq!(at("{\"a\":}"), (1, 6));
        assert_eq!(at("{\n \"é\": 1,\n \"b\": x}"), (3, 7));
        assert_eq!(at(""), (1, 1));
    }
}
