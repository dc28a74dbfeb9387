//! Version numbers are allowed only in the gate table.
//!
//! `FormatVersion` has no order and cannot be compared with integers, so there are few ways to use
//! a version number elsewhere: creating a version from a literal, computing with the number of a
//! version, reading the number of a gate, or comparing a raw `version` before it becomes a
//! `FormatVersion`.

use super::tokens::Token;
use super::{Violation, matches};

/// The name for the version of a structure that has its own versions (enumerations, current
/// domains).
const OWN_VERSION: &str = "STRUCTURE_VERSION";
/// The tokens that may follow a number that is only written or shown.
const HARMLESS: [&str; 4] = [",", ")", ";", "}"];

/// Checks the tokens of one source file, without its tests.
pub(super) fn check(file: &str, tokens: &[Token<'_>]) -> Vec<Violation> {
    let rules = [literal_version, number_taken, gate_number, all_versions, raw_comparison, constant];
    let mut violations: Vec<Violation> = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        if let Some(what) = rules.iter().find_map(|rule| rule(tokens, at)) {
            violations.push(Violation::new(file, token.line, format!("{what} outside the gate table")));
        }
    }
    violations
}

type Found = Option<&'static str>;

fn text<'a>(tokens: &[Token<'a>], at: usize) -> &'a str {
    tokens.get(at).map_or("", |token| token.text)
}

fn before<'a>(tokens: &[Token<'a>], at: usize, back: usize) -> &'a str {
    at.checked_sub(back).map_or("", |at| text(tokens, at))
}

fn is_number(tokens: &[Token<'_>], at: usize) -> bool {
    tokens.get(at).is_some_and(Token::is_number)
}

/// `FormatVersion::parse(12)`, `FormatVersion::parse(FIRST)`, `FormatVersion(12)`.
fn literal_version(tokens: &[Token<'_>], at: usize) -> Found {
    if matches(tokens, at, &["FormatVersion", "("]) {
        return Some("a version is made");
    }
    if !matches(tokens, at, &["FormatVersion", ":", ":", "parse", "("]) {
        return None;
    }
    let argument = at.saturating_add(5);
    let constant = |text: &str| text.len() > 1 && !text.contains(|c: char| c.is_lowercase());
    let word = tokens.get(argument).is_some_and(Token::is_word) && constant(text(tokens, argument));
    (is_number(tokens, argument) || word).then_some("a version is made from a constant")
}

/// `version.number() < 12`, `12 <= version.number()`, `match version.number()`,
/// `let n = version.number()`, `.map(FormatVersion::number)`.
fn number_taken(tokens: &[Token<'_>], at: usize) -> Found {
    if matches(tokens, at, &["FormatVersion", ":", ":", "number"]) {
        return Some("a version's number is taken");
    }
    if !matches(tokens, at, &[".", "number", "(", ")"]) {
        return None;
    }
    let follows = HARMLESS.contains(&text(tokens, at.saturating_add(4)));
    let start = receiver(tokens, at);
    let precedes = matches!(before(tokens, start, 1), "(" | "," | ":" | "{" | "");
    (!follows || !precedes).then_some("a version's number is computed with")
}

/// The start of the expression that the method call at `at` is on.
fn receiver(tokens: &[Token<'_>], at: usize) -> usize {
    let mut start = at;
    let mut depth = 0usize;
    while let Some(index) = start.checked_sub(1) {
        let Some(token) = tokens.get(index) else { break };
        match token.text {
            ")" | "]" => depth = depth.saturating_add(1),
            "(" | "[" if depth > 0 => depth = depth.saturating_sub(1),
            _ if depth > 0 => {}
            "." | "?" => {}
            // `a: x.number()` is a field with a value, `A::x.number()` a path.
            ":" if before(tokens, index, 1) == ":" || text(tokens, start) == ":" => {}
            word if token.is_word() && !KEYWORDS.contains(&word) => {}
            _ => break,
        }
        start = index;
    }
    start
}

const KEYWORDS: [&str; 7] = ["match", "if", "while", "return", "in", "as", "let"];

/// `gate.since()`.
fn gate_number(tokens: &[Token<'_>], at: usize) -> Found {
    let call =
        matches(tokens, at, &[".", "since", "(", ")"]) || matches(tokens, at, &["Gate", ":", ":", "since"]);
    call.then_some("a gate's number is taken")
}

/// `FormatVersion::all().nth(11)`.
fn all_versions(tokens: &[Token<'_>], at: usize) -> Found {
    matches(tokens, at, &["FormatVersion", ":", ":", "all"]).then_some("a version is picked from all of them")
}

fn is_version(word: &str) -> bool {
    let word = word.to_ascii_lowercase();
    word == "version" || word.ends_with("_version") || word == "format_number"
}

/// `version >= 12`, `12 == version`, `match version { 12 => … }`, `matches!(version, 1..=4)`,
/// `(1..=4).contains(&version)`, `version == Some(12)`, `version.to_string() == …`.
fn raw_comparison(tokens: &[Token<'_>], at: usize) -> Found {
    const WHAT: Found = Some("a version is compared with a number");
    if !is_version(text(tokens, at)) {
        return None;
    }
    let next = at.saturating_add(1);
    let mut after = next;
    while matches!(text(tokens, after), "<" | ">" | "=" | "!") {
        after = after.saturating_add(1);
    }
    let operator = after > next && (after > next.saturating_add(1) || text(tokens, next) != "=");
    if matches(tokens, after, &["Some", "("]) {
        after = after.saturating_add(2);
    }
    if operator && is_number(tokens, after) {
        return WHAT;
    }
    let start = receiver(tokens, next);
    let compared = matches!(before(tokens, start, 1), "<" | ">" | "=" | "&" | "!");
    let mut back = 1usize;
    while matches!(before(tokens, start, back), "<" | ">" | "=" | "!") {
        back = back.saturating_add(1);
    }
    if compared && back > 1 && start.checked_sub(back).is_some_and(|at| is_number(tokens, at)) {
        return WHAT;
    }
    let arm = text(tokens, next) == "{" || text(tokens, next) == ",";
    let picked = matches!(before(tokens, start, 1), "match" | "(");
    if arm && picked && is_number(tokens, at.saturating_add(2)) && range_or_arm(tokens, at.saturating_add(3))
    {
        return WHAT;
    }
    let contains = before(tokens, start, 1) == "&" && before(tokens, start, 3) == "contains";
    let shown = matches(tokens, next, &[".", "to_string", "(", ")"])
        && matches!(text(tokens, at.saturating_add(5)), "=" | "!" | ".");
    if contains || shown { WHAT } else { None }
}

/// Whether the tokens after the first number of a pattern belong to a range or an arm.
/// (`f(version, 4, …)` is an ordinary call.)
fn range_or_arm(tokens: &[Token<'_>], at: usize) -> bool {
    matches(tokens, at, &["=", ">"]) || matches(tokens, at, &[".", "."]) || matches(tokens, at, &["|"])
}

/// `const SOME_VERSION: u32 = 12`.
fn constant(tokens: &[Token<'_>], at: usize) -> Found {
    let name = text(tokens, at.saturating_add(1));
    let constant = matches!(text(tokens, at), "const" | "static") && is_version(name) && name != OWN_VERSION;
    let value = matches!(text(tokens, at.saturating_add(4)), "=") && is_number(tokens, at.saturating_add(5));
    (constant && value).then_some("a version number is named")
}

#[cfg(test)]
mod tests {
    use super::super::tokens::{tokenize, without_tests};
    use super::*;

    fn found(source: &str) -> usize {
        check("a.rs", &without_tests(tokenize(source))).len()
    }

    #[test]
    fn every_way_to_smuggle_a_version_number_in_is_refused() {
        for source in [
            "FormatVersion::parse(12)",
            "FormatVersion::parse(FIRST_WITH_FOLDERS)?",
            "FormatVersion(12)",
            "if version.number() < 12 {}",
            "if 12 <= self.footer.version().number() {}",
            "match version.number() { 1..=4 => a, _ => b }",
            "let n = version.number();",
            "let old = (1..5).contains(&version.number());",
            "version.map(FormatVersion::number)",
            "if gate.since() > n {}",
            "FormatVersion::all().nth(11)",
            "if version >= 12 {}",
            "if format_version == Some(12) {}",
            "if 12 > version {}",
            "if 5 == self.schema_version {}",
            "match version { 12 => a, _ => b }",
            "matches!(version, 1..=4)",
            "(1..=4).contains(&version)",
            "if version.to_string() == \"12\" {}",
            "const FOLDER_VERSION: u32 = 12;",
        ] {
            assert!(found(source) > 0, "{source}");
        }
    }

    #[test]
    fn the_line_of_the_violation_is_reported() {
        let source = "fn f() {\n    FormatVersion::parse(3);\n}";
        let what = "a version is made from a constant outside the gate table";
        assert_eq!(check("a.rs", &tokenize(source)), [Violation::new("a.rs", 2, what)]);
    }

    #[test]
    fn gates_headers_and_messages_are_allowed() {
        for source in [
            "FormatVersion::parse(number)?",
            "FormatVersion::parse(reader.u32(\"format version\")?)",
            "writer.u32(self.version.number());",
            "let kind = UnsupportedVersion { version: version.number() };",
            "json!({ \"version\": fragment.version().number(), })",
            "if version.has(Gate::Nullable) {}",
            "if version != STRUCTURE_VERSION {}",
            "const STRUCTURE_VERSION: u32 = 0;",
            "let version = 12 + x; // version >= 12",
            "parse(&name, version, 4)",
            "#[cfg(test)] mod tests { fn f() { FormatVersion::parse(12); } }",
        ] {
            assert_eq!(found(source), 0, "{source}");
        }
    }
}
