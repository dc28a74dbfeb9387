//! Files and functions that are too large to have one purpose.

use std::collections::BTreeSet;

use super::Violation;
use super::tokens::Token;

/// The file that contains this table.
const FILE: &str = "xtask/src/check/sizes.rs";

/// Number of lines that a file may have, without its tests.
const FILE_LINES: usize = 500;
/// Number of lines that a function may have.
const FUNCTION_LINES: usize = 80;

/// Functions and files that are still larger: the file, and the function's name, which is empty for
/// the file itself. None may be added.
pub(super) const LARGER: &[Larger] = &[
    ("crates/tdb-cells/src/parallel.rs", "run_in_order"),
    ("crates/tdb-scan/src/sparse/select.rs", "run"),
    ("crates/tdb-split/src/stream/cost.rs", "new"),
];

/// A file, and a function of it; an empty name stands for the file itself.
pub(super) type Larger = (&'static str, &'static str);

/// Checks the tokens of one source file, without its tests. `used` collects the rows of `larger`
/// that are used.
pub(super) fn check(
    file: &str,
    tokens: &[Token<'_>],
    larger: &[Larger],
    used: &mut BTreeSet<Larger>,
) -> Vec<Violation> {
    let mut known = |name: &str| {
        let row = larger.iter().find(|row| **row == (file, name));
        row.is_some_and(|row| used.insert(*row) || used.contains(row))
    };
    let mut violations: Vec<Violation> = functions(tokens)
        .filter(|(name, _, lines)| *lines > FUNCTION_LINES && !known(name))
        .map(|(name, line, lines)| {
            let what = format!("function {name} has {lines} lines; {FUNCTION_LINES} are the most");
            Violation::new(file, line, what)
        })
        .collect();
    let lines = tokens.last().map_or(0, |token| token.line);
    if lines > FILE_LINES && !known("") {
        let what = format!("the file has {lines} lines without its tests; {FILE_LINES} are the most");
        violations.push(Violation::new(file, lines, what));
    }
    violations
}

/// Rows of the table that are no longer larger.
pub(super) fn gone(larger: &[Larger], used: &BTreeSet<Larger>) -> Vec<Violation> {
    let gone = larger.iter().filter(|row| !used.contains(*row));
    gone.map(|(file, name)| {
        let what = format!("{file} {name} is no longer larger: remove it from the table");
        Violation::new(FILE, 1, what)
    })
    .collect()
}

/// The functions with a body: name, line and number of lines.
fn functions<'t, 'a>(tokens: &'t [Token<'a>]) -> impl Iterator<Item = (&'a str, usize, usize)> + 't {
    tokens.iter().enumerate().filter(|(_, token)| token.text == "fn").filter_map(|(at, token)| {
        let name = tokens.get(at.saturating_add(1)).filter(|name| name.is_word())?;
        let last = body_end(tokens.get(at..)?)?;
        let lines = last.line.saturating_sub(token.line).saturating_add(1);
        Some((name.text, token.line, lines))
    })
}

/// The closing brace of the body of the function at the start of the tokens; `None` if it has no
/// body.
fn body_end<'t, 'a>(tokens: &'t [Token<'a>]) -> Option<&'t Token<'a>> {
    let mut depth = 0usize;
    for token in tokens {
        match token.text {
            "{" | "(" | "[" => depth = depth.saturating_add(1),
            "}" | ")" | "]" => {
                depth = depth.saturating_sub(1);
                if depth == 0 && token.text == "}" {
                    return Some(token);
                }
            }
            ";" if depth == 0 => return None,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::tokens::tokenize;
    use super::*;

    fn count(source: &str) -> usize {
        check("a.rs", &tokenize(source), &[], &mut BTreeSet::new()).len()
    }

    #[test]
    fn what_the_table_lists_may_be_larger_until_it_is_not() {
        let source = format!("fn f() {{\n{}}}\nfn g();", "x;\n".repeat(90));
        let larger: [Larger; 2] = [("a.rs", "f"), ("a.rs", "g")];
        let mut used = BTreeSet::new();
        assert!(check("a.rs", &tokenize(&source), &larger, &mut used).is_empty());
        assert_eq!(gone(&larger, &used).len(), 1);
    }

    #[test]
    fn a_function_of_eighty_lines_is_allowed_and_one_more_is_not() {
        let function = |lines: usize| format!("fn f() {{\n{}}}\nfn g();", "x;\n".repeat(lines - 2));
        assert_eq!(count(&function(80)), 0);
        assert_eq!(count(&function(81)), 1);
    }

    #[test]
    fn a_file_of_five_hundred_lines_is_allowed_and_one_more_is_not() {
        assert_eq!(count(&format!("{}a", "\n".repeat(499))), 0);
        assert_eq!(count(&format!("{}a", "\n".repeat(500))), 1);
    }

    #[test]
    fn declarations_and_function_pointers_are_no_functions() {
        assert_eq!(count("trait T { fn f(&self); } type F = fn(u8) -> u8;"), 0);
    }
}
