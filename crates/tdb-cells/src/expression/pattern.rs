//! Patterns of text: `%` stands for any characters, `_` for one.

/// A pattern that texts are compared with.
///
/// ```
/// use tdb_cells::expression::Pattern;
///
/// let pattern = Pattern::new("JF%");
/// assert!(pattern.matches(b"JFK") && !pattern.matches(b"LGA"));
/// assert_eq!((pattern.prefix(), pattern.is_prefix()), (&b"JF"[..], true));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    text: Vec<u8>,
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(Vec<u8>),
    /// Any characters, or none.
    Any,
    /// One character.
    One,
}

impl Pattern {
    /// The pattern that a text writes. A backslash means the character after it; the last one of a
    /// text means itself.
    pub fn new(text: impl Into<Vec<u8>>) -> Self {
        let text = text.into();
        let mut parts = Vec::new();
        let mut bytes = text.iter().copied();
        while let Some(byte) = bytes.next() {
            let byte = match byte {
                b'%' if parts.last() == Some(&Part::Any) => continue,
                b'%' => {
                    parts.push(Part::Any);
                    continue;
                }
                b'_' => {
                    parts.push(Part::One);
                    continue;
                }
                b'\\' => bytes.next().unwrap_or(b'\\'),
                byte => byte,
            };
            match parts.last_mut() {
                Some(Part::Text(text)) => text.push(byte),
                _ => parts.push(Part::Text(vec![byte])),
            }
        }
        Self { text, parts }
    }

    /// The pattern as it was written.
    #[must_use]
    pub fn text(&self) -> &[u8] {
        &self.text
    }

    /// What every text that is like the pattern begins with.
    #[must_use]
    pub fn prefix(&self) -> &[u8] {
        match self.parts.first() {
            Some(Part::Text(text)) => text,
            _ => &[],
        }
    }

    /// Whether exactly the texts with the prefix are like the pattern.
    #[must_use]
    pub fn is_prefix(&self) -> bool {
        matches!(self.parts.as_slice(), [Part::Any] | [Part::Text(_), Part::Any])
    }

    /// The only text that is like the pattern, if there is only one.
    #[must_use]
    pub fn only(&self) -> Option<&[u8]> {
        match self.parts.as_slice() {
            [] => Some(&[]),
            [Part::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// Whether a text is like the pattern.
    #[must_use]
    pub fn matches(&self, text: &[u8]) -> bool {
        let (mut parts, mut rest) = (self.parts.as_slice(), text);
        // Where to go on if what follows the last `%` does not fit: with one more character in it.
        let mut retry: Option<(&[Part], &[u8])> = None;
        loop {
            let fits = match parts {
                [] => rest.is_empty(),
                [Part::Any] => return true,
                [Part::Any, others @ ..] => {
                    retry = Some((others, rest));
                    parts = others;
                    continue;
                }
                [Part::One, others @ ..] => match after_one(rest) {
                    Some(behind) => {
                        (parts, rest) = (others, behind);
                        continue;
                    }
                    None => false,
                },
                [Part::Text(own), others @ ..] => match rest.strip_prefix(own.as_slice()) {
                    Some(behind) => {
                        (parts, rest) = (others, behind);
                        continue;
                    }
                    None => false,
                },
            };
            if fits {
                return true;
            }
            let Some((others, start)) = retry else { return false };
            let Some(behind) = after_one(start) else { return false };
            retry = Some((others, behind));
            (parts, rest) = (others, behind);
        }
    }
}

/// What follows the first character. A byte that belongs to none counts as one.
fn after_one(text: &[u8]) -> Option<&[u8]> {
    let (first, behind) = text.split_first()?;
    let more = match first {
        0xc0..=0xdf => 1,
        0xe0..=0xef => 2,
        0xf0..=0xf7 => 3,
        _ => 0,
    };
    let continues = behind.iter().take(more).take_while(|byte| (0x80..=0xbf).contains(*byte)).count();
    let len = if continues == more { more } else { 0 };
    behind.get(len..)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn texts_are_like_patterns_as_in_sql() {
        for (pattern, like, unlike) in [
            ("JF%", &["JF", "JFK", "JF%"][..], &["", "J", "jfk", "AJF"][..]),
            ("%K", &["K", "JFK", "KK"], &["", "KJ"]),
            ("%FK%", &["JFK", "FK", "FFKK"], &["FJK", "F"]),
            ("_F_", &["JFK", "éF漢"], &["JF", "FK", "JFKK"]),
            ("a%b%c", &["abc", "a1b2c", "abbcc", "abcbc"], &["ab", "acb", "abcd"]),
            ("%_", &["a", "é", "ab"], &[""]),
            ("100\\%", &["100%"], &["1000", "100\\%"]),
            ("a\\_b", &["a_b"], &["axb"]),
            ("", &[""], &["a"]),
            ("%%", &["", "a"], &[]),
            ("a\\", &["a\\"], &["a"]),
        ] {
            let pattern = Pattern::new(pattern);
            like.iter().for_each(|text| assert!(pattern.matches(text.as_bytes()), "{pattern:?} {text}"));
            unlike.iter().for_each(|text| assert!(!pattern.matches(text.as_bytes()), "{pattern:?} {text}"));
        }
        assert!(Pattern::new("_").matches(&[0xff]), "a byte that is no character");
        assert!(Pattern::new("__").matches(&[0xe6, b'a']), "the begin of a character, and another one");
    }

    #[test]
    fn patterns_that_are_a_prefix_or_one_text_are_known() {
        let known = |text: &str| {
            let pattern = Pattern::new(text);
            (pattern.prefix().to_vec(), pattern.is_prefix(), pattern.only().is_some())
        };
        assert_eq!(known("JF%"), (b"JF".to_vec(), true, false));
        assert_eq!(known("JF_%"), (b"JF".to_vec(), false, false));
        assert_eq!(known("%"), (Vec::new(), true, false));
        assert_eq!(known("a\\%"), (b"a%".to_vec(), false, true));
        assert_eq!(known(""), (Vec::new(), false, true));
    }

    /// The definition, which takes exponential time.
    fn defined(pattern: &[char], text: &[char]) -> bool {
        match pattern {
            [] => text.is_empty(),
            ['%', rest @ ..] => (0..=text.len()).any(|at| defined(rest, &text[at..])),
            ['_', rest @ ..] => text.split_first().is_some_and(|(_, behind)| defined(rest, behind)),
            [own, rest @ ..] => {
                text.split_first().is_some_and(|(first, behind)| first == own && defined(rest, behind))
            }
        }
    }

    proptest! {
        #[test]
        fn a_match_is_what_the_definition_says(pattern in "[ab%_é]{0,6}", text in "[abé]{0,8}") {
            let characters = |text: &str| text.chars().collect::<Vec<_>>();
            let expected = defined(&characters(&pattern), &characters(&text));
            prop_assert_eq!(Pattern::new(pattern).matches(text.as_bytes()), expected);
        }
    }
}
