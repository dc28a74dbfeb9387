//! JSON, as files of profiles have it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// How deep lists and objects may be inside each other.
const MAX_DEPTH: usize = 64;

/// A value. Numbers are kept as they are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Json {
    Null,
    Bool(bool),
    Number(String),
    Text(String),
    List(Vec<Self>),
    Object(BTreeMap<String, Self>),
}

impl Json {
    /// Parses a text that is one value.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut parser = Parser { rest: text };
        let value = parser.value(0)?;
        parser.skip_space();
        parser.rest.is_empty().then_some(value)
    }

    /// The value, with two spaces before each line for each level.
    pub(crate) fn pretty(&self) -> String {
        let mut text = String::new();
        self.print(&mut text, 0);
        text
    }

    fn print(&self, text: &mut String, depth: usize) {
        let inner = depth.saturating_add(2);
        match self {
            Self::Null => text.push_str("null"),
            Self::Bool(value) => text.push_str(if *value { "true" } else { "false" }),
            Self::Number(number) => text.push_str(number),
            Self::Text(value) => print_text(value, text),
            Self::List(values) if values.is_empty() => text.push_str("[]"),
            Self::List(values) => {
                for (index, value) in values.iter().enumerate() {
                    let begin = if index == 0 { "[" } else { "," };
                    // Writing to a text cannot fail.
                    let _ = write!(text, "{begin}\n{:inner$}", "");
                    value.print(text, inner);
                }
                let _ = write!(text, "\n{:depth$}]", "");
            }
            Self::Object(values) if values.is_empty() => text.push_str("{}"),
            Self::Object(values) => {
                for (index, (key, value)) in values.iter().enumerate() {
                    let begin = if index == 0 { "{" } else { "," };
                    let _ = write!(text, "{begin}\n{:inner$}", "");
                    print_text(key, text);
                    text.push_str(": ");
                    value.print(text, inner);
                }
                let _ = write!(text, "\n{:depth$}}}", "");
            }
        }
    }
}

fn print_text(value: &str, text: &mut String) {
    text.push('"');
    for character in value.chars() {
        match character {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\u{8}' => text.push_str("\\b"),
            '\u{c}' => text.push_str("\\f"),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            '\0'..='\u{1f}' => {
                // Writing to a text cannot fail.
                let _ = write!(text, "\\u{:04x}", u32::from(character));
            }
            _ => text.push(character),
        }
    }
    text.push('"');
}

struct Parser<'t> {
    rest: &'t str,
}

impl Parser<'_> {
    fn skip_space(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\n', '\r']);
    }

    /// Takes a word, if it comes next.
    fn take(&mut self, word: &str) -> bool {
        self.skip_space();
        let rest = self.rest.strip_prefix(word);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn value(&mut self, depth: usize) -> Option<Json> {
        if depth > MAX_DEPTH {
            return None;
        }
        let inner = depth.saturating_add(1);
        if self.take("null") {
            return Some(Json::Null);
        }
        if self.take("true") {
            return Some(Json::Bool(true));
        }
        if self.take("false") {
            return Some(Json::Bool(false));
        }
        if self.take("\"") {
            return self.text().map(Json::Text);
        }
        if self.take("[") {
            let mut values = Vec::new();
            if self.take("]") {
                return Some(Json::List(values));
            }
            loop {
                values.push(self.value(inner)?);
                if self.take("]") {
                    return Some(Json::List(values));
                }
                self.take(",").then_some(())?;
            }
        }
        if self.take("{") {
            let mut values = BTreeMap::new();
            if self.take("}") {
                return Some(Json::Object(values));
            }
            loop {
                self.take("\"").then_some(())?;
                let key = self.text()?;
                self.take(":").then_some(())?;
                values.insert(key, self.value(inner)?);
                if self.take("}") {
                    return Some(Json::Object(values));
                }
                self.take(",").then_some(())?;
            }
        }
        self.number()
    }

    fn number(&mut self) -> Option<Json> {
        let is_part = |character: char| character.is_ascii_digit() || "+-.eE".contains(character);
        let end = self.rest.find(|character| !is_part(character)).unwrap_or(self.rest.len());
        let (number, rest) = self.rest.split_at_checked(end)?;
        number.parse::<f64>().ok()?;
        self.rest = rest;
        Some(Json::Number(number.to_owned()))
    }

    /// The rest of a text, whose first quotation mark was taken.
    fn text(&mut self) -> Option<String> {
        let mut text = String::new();
        loop {
            let mut characters = self.rest.chars();
            let next = characters.next()?;
            self.rest = characters.as_str();
            match next {
                '"' => return Some(text),
                '\\' => text.push(self.escaped()?),
                '\0'..='\u{1f}' => return None,
                _ => text.push(next),
            }
        }
    }

    fn escaped(&mut self) -> Option<char> {
        let mut characters = self.rest.chars();
        let next = characters.next()?;
        self.rest = characters.as_str();
        match next {
            '"' | '\\' | '/' => Some(next),
            'b' => Some('\u{8}'),
            'f' => Some('\u{c}'),
            'n' => Some('\n'),
            'r' => Some('\r'),
            't' => Some('\t'),
            'u' => {
                let first = self.code_unit()?;
                if !(0xd800..0xdc00).contains(&first) {
                    return char::from_u32(first);
                }
                self.rest = self.rest.strip_prefix("\\u")?;
                let units = [u16::try_from(first).ok()?, u16::try_from(self.code_unit()?).ok()?];
                char::decode_utf16(units).next()?.ok()
            }
            _ => None,
        }
    }

    fn code_unit(&mut self) -> Option<u32> {
        let (digits, rest) = self.rest.split_at_checked(4)?;
        self.rest = rest;
        digits.chars().all(|digit| digit.is_ascii_hexdigit()).then(|| u32::from_str_radix(digits, 16).ok())?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_printed_with_sorted_keys_and_read_again() {
        let text = "{\n  \"a\": {\n    \"x\": \"\\u0001\\n\\\"ä\"\n  },\n  \"b\": [\n    1,\n    null\n  ],\n  \"c\": {}\n}";
        let value = Json::parse(text).unwrap();
        assert_eq!(value.pretty(), text);
        let other = " { \"c\":{}, \"b\" :[1 ,null],\"a\":{\"x\":\"\\u0001\\u000a\\u0022\\u00e4\"} } ";
        assert_eq!(Json::parse(other).unwrap(), value);
        assert_eq!(Json::parse("\"\\ud83d\\ude00\""), Some(Json::Text("😀".to_owned())));
    }

    #[test]
    fn what_is_no_json_is_refused() {
        let deep = "[".repeat(100_000);
        for text in ["", "{", "[1,]", "{\"a\" 1}", "\"\\x\"", "\"a", "1 2", "--", "\"\\ud800\"", &deep] {
            assert_eq!(Json::parse(text), None, "{text:.20}");
        }
    }
}
