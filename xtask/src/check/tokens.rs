//! A minimal Rust lexer: enough to check code without matching comments, strings and tests.

/// A word, a number or one punctuation character. Comments, strings and character literals produce
/// no tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token<'a> {
    /// The line it is on, from 1.
    pub(crate) line: usize,
    /// Its text.
    pub(crate) text: &'a str,
}

impl Token<'_> {
    /// Whether it is a number literal.
    pub(super) fn is_number(&self) -> bool {
        self.text.starts_with(|first: char| first.is_ascii_digit())
    }

    /// Whether it is a word: an identifier or keyword.
    pub(super) fn is_word(&self) -> bool {
        self.text.starts_with(|first: char| first.is_alphabetic() || first == '_')
    }
}

/// The tokens of a source file.
pub(crate) fn tokenize(source: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut rest = source;
    let mut line = 1usize;
    while let Some(first) = rest.chars().next() {
        let (len, kept) = next_len(rest, first);
        let (text, later) = rest.split_at_checked(len).unwrap_or((rest, ""));
        if kept {
            tokens.push(Token { line, text });
        }
        line = line.saturating_add(text.matches('\n').count());
        rest = later;
    }
    tokens
}

/// Length in bytes of the first item in `rest`, and whether it is a token.
fn next_len(rest: &str, first: char) -> (usize, bool) {
    let word = |c: char| !(c.is_alphanumeric() || c == '_');
    if rest.starts_with("//") {
        return (rest.find('\n').unwrap_or(rest.len()), false);
    }
    if rest.starts_with("/*") {
        return (block_comment_len(rest), false);
    }
    if let Some(len) = string_len(rest) {
        return (len, false);
    }
    if first == '\'' {
        return (quote_len(rest), false);
    }
    if first.is_alphanumeric() || first == '_' {
        return (rest.find(word).unwrap_or(rest.len()), true);
    }
    (first.len_utf8(), !first.is_whitespace())
}

/// Block comments nest.
fn block_comment_len(rest: &str) -> usize {
    let mut depth = 0usize;
    let mut at = 0usize;
    while let Some(tail) = rest.get(at..).filter(|tail| !tail.is_empty()) {
        let step = if tail.starts_with("/*") {
            depth = depth.saturating_add(1);
            2
        } else if tail.starts_with("*/") {
            depth = depth.saturating_sub(1);
            2
        } else {
            tail.chars().next().map_or(1, char::len_utf8)
        };
        at = at.saturating_add(step);
        if depth == 0 {
            return at;
        }
    }
    rest.len()
}

/// Length of the plain, byte, C or raw string at the start of `rest`, if there is one.
fn string_len(rest: &str) -> Option<usize> {
    let body = rest.trim_start_matches(['b', 'c']);
    let prefix = rest.len().saturating_sub(body.len());
    if prefix > 1 {
        return None;
    }
    if let Some(raw) = body.strip_prefix('r') {
        let opened = raw.trim_start_matches('#');
        let hashes = raw.len().saturating_sub(opened.len());
        let inner = opened.strip_prefix('"')?;
        let end = format!("\"{}", "#".repeat(hashes));
        let len = inner.find(&end).map_or(inner.len(), |at| at.saturating_add(end.len()));
        return Some(rest.len().saturating_sub(inner.len()).saturating_add(len));
    }
    let inner = body.strip_prefix('"')?;
    let mut escaped = false;
    let end = inner.char_indices().find(|(_, c)| {
        let ends = *c == '"' && !escaped;
        escaped = *c == '\\' && !escaped;
        ends
    });
    let len = end.map_or(inner.len(), |(at, _)| at.saturating_add(1));
    Some(rest.len().saturating_sub(inner.len()).saturating_add(len))
}

/// Length of a character literal, or of the quote alone if it begins a lifetime.
fn quote_len(rest: &str) -> usize {
    let mut chars = rest.char_indices().skip(1);
    match chars.next() {
        Some((_, '\\')) => {
            let after = rest.get(3..).unwrap_or_default();
            after.find('\'').map_or(rest.len(), |at| at.saturating_add(4))
        }
        Some(_) => match chars.next() {
            Some((at, '\'')) => at.saturating_add(1),
            _ => 1,
        },
        None => 1,
    }
}

/// The tokens without the items that are marked with `#[cfg(test)]` or `#[test]`.
pub(super) fn without_tests(tokens: Vec<Token<'_>>) -> Vec<Token<'_>> {
    let mut kept = Vec::with_capacity(tokens.len());
    let mut at = 0usize;
    while let Some(token) = tokens.get(at) {
        let is_test = super::matches(&tokens, at, &["#", "[", "cfg", "(", "test", ")", "]"])
            || super::matches(&tokens, at, &["#", "[", "test", "]"]);
        if is_test {
            at = item_end(&tokens, at);
        } else {
            kept.push(*token);
            at = at.saturating_add(1);
        }
    }
    kept
}

/// The end of the item that begins at `at`: after its first braces, or after its semicolon.
fn item_end(tokens: &[Token<'_>], at: usize) -> usize {
    let mut depth = 0usize;
    for (index, token) in tokens.iter().enumerate().skip(at) {
        match token.text {
            "{" | "(" | "[" => depth = depth.saturating_add(1),
            "}" | ")" | "]" => {
                depth = depth.saturating_sub(1);
                if depth == 0 && token.text == "}" {
                    return index.saturating_add(1);
                }
            }
            ";" if depth == 0 => return index.saturating_add(1),
            _ => {}
        }
    }
    tokens.len()
}

/// The first names of the paths from `at` on: one, or all those of a group in braces.
pub(super) fn first_segments<'t, 'a>(tokens: &'t [Token<'a>], at: usize) -> Vec<&'t Token<'a>> {
    let Some(first) = tokens.get(at) else { return Vec::new() };
    if first.text != "{" {
        return vec![first];
    }
    let mut depth = 0usize;
    let mut begins = false;
    let mut segments = Vec::new();
    for token in tokens.iter().skip(at) {
        match token.text {
            "{" => {
                depth = depth.saturating_add(1);
                begins = depth == 1;
            }
            "}" if depth == 1 => break,
            "}" => depth = depth.saturating_sub(1),
            "," => begins = depth == 1,
            _ => {
                if begins {
                    segments.push(token);
                }
                begins = false;
            }
        }
    }
    segments
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(source: &str) -> Vec<&str> {
        without_tests(tokenize(source)).into_iter().map(|token| token.text).collect()
    }

    #[test]
    fn comments_strings_and_character_literals_leave_no_tokens() {
        let source = "a // b\n/* c /* d */ e */ \"f\\\" g\" r#\"h\" i\"# b\"j\" 'k' '\\'' '\\u{1f}' l";
        assert_eq!(texts(source), ["a", "l"]);
    }

    #[test]
    fn lifetimes_and_words_that_begin_like_strings_are_words() {
        assert_eq!(texts("&'a str; bytes r c"), ["&", "a", "str", ";", "bytes", "r", "c"]);
    }

    #[test]
    fn lines_are_counted_through_comments_and_strings() {
        let tokens = tokenize("/*\n*/ a \"\n\" b");
        assert_eq!(tokens, [Token { line: 2, text: "a" }, Token { line: 3, text: "b" }]);
    }

    #[test]
    fn test_items_are_left_out_and_what_follows_them_is_not() {
        assert_eq!(texts("a #[cfg(test)] mod t { b { c } } d"), ["a", "d"]);
        assert_eq!(texts("a #[cfg(test)] mod tests; d"), ["a", "d"]);
        assert_eq!(texts("#[test] fn f() -> [u8; 2] { b } d"), ["d"]);
    }
}
