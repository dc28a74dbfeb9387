//! Files and functions that are too large to have one purpose.

use std::collections::BTreeSet;

use super::Violation;
use super::tokens::Token;

/// The file that contains this table.
const FILE: &str = "xtask/src/check/sizes.rs";

/// Number of lines that a file may have, without its tests.
const FILE_LINES: usize = 400;
/// Number of lines that a function may have.
const FUNCTION_LINES: usize = 80;

/// Files that are still larger: the file, and the lines that it may have. None may be added.
const LARGER_FILES: &[LargerFile] = &[];

/// Functions that are still larger: the file, and the function's name. None may be added.
const LARGER_FUNCTIONS: &[LargerFunction] =
    &[("crates/tdb-cells/src/parallel.rs", "run_in_order"), ("crates/tdb-split/src/stream/cost.rs", "new")];

/// A file, and the lines that it may have.
type LargerFile = (&'static str, usize);
/// A file, and a function of it.
type LargerFunction = (&'static str, &'static str);

/// The table of what is still larger.
#[derive(Clone, Copy, Debug)]
pub(super) struct Larger {
    files: &'static [LargerFile],
    functions: &'static [LargerFunction],
}

/// What is still larger in this project.
pub(super) const LARGER: Larger = Larger { files: LARGER_FILES, functions: LARGER_FUNCTIONS };

/// The files, and the functions of files, that were found to be larger; a file has an empty name.
pub(super) type Found = BTreeSet<(String, String)>;

impl Larger {
    /// Checks the tokens of one source file, without its tests. `found` collects what is larger.
    pub(super) fn check(self, file: &str, tokens: &[Token<'_>], found: &mut Found) -> Vec<Violation> {
        let mut violations = Vec::new();
        for (name, line, lines) in functions(tokens).filter(|(_, _, lines)| *lines > FUNCTION_LINES) {
            found.insert((file.to_owned(), name.to_owned()));
            if !self.functions.contains(&(file, name)) {
                let what = format!("function {name} has {lines} lines; {FUNCTION_LINES} are the most");
                violations.push(Violation::new(file, line, what));
            }
        }
        let lines = tokens.last().map_or(0, |token| token.line);
        if lines > FILE_LINES {
            found.insert((file.to_owned(), String::new()));
            let known = self.files.iter().find(|(known, _)| *known == file).map(|(_, most)| *most);
            let most = known.unwrap_or(FILE_LINES);
            if lines > most {
                let what = format!("the file has {lines} lines without its tests; {most} are the most");
                violations.push(Violation::new(file, lines, what));
            }
        }
        violations
    }

    /// Rows of the table that are no longer larger.
    pub(super) fn gone(self, found: &Found) -> Vec<Violation> {
        let files = self.files.iter().map(|(file, _)| (*file, ""));
        let gone = files.chain(self.functions.iter().copied());
        gone.filter(|(file, name)| !found.contains(&((*file).to_owned(), (*name).to_owned())))
            .map(|(file, name)| {
                let what = format!("{file} {name} is no longer larger: remove it from the table");
                Violation::new(FILE, 1, what)
            })
            .collect()
    }
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

    const NONE: Larger = Larger { files: &[], functions: &[] };

    fn count(source: &str) -> usize {
        NONE.check("a.rs", &tokenize(source), &mut Found::new()).len()
    }

    #[test]
    fn what_the_table_lists_may_be_larger_until_it_is_not() {
        const LARGER: Larger = Larger { files: &[], functions: &[("a.rs", "f"), ("a.rs", "g")] };
        let source = format!("fn f() {{\n{}}}\nfn g();", "x;\n".repeat(90));
        let mut found = Found::new();
        assert!(LARGER.check("a.rs", &tokenize(&source), &mut found).is_empty());
        assert_eq!(LARGER.gone(&found).len(), 1);
    }

    #[test]
    fn a_file_of_the_table_may_have_its_lines_and_no_more_until_it_is_not_larger() {
        const LARGER: Larger = Larger { files: &[("a.rs", 410)], functions: &[] };
        let check = |lines: usize| {
            let mut found = Found::new();
            let source = format!("{}a", "\n".repeat(lines - 1));
            let violations = LARGER.check("a.rs", &tokenize(&source), &mut found);
            (violations.len(), LARGER.gone(&found).len())
        };
        assert_eq!(check(411), (1, 0));
        assert_eq!(check(410), (0, 0));
        assert_eq!(check(401), (0, 0));
        assert_eq!(check(400), (0, 1));
    }

    #[test]
    fn a_function_of_eighty_lines_is_allowed_and_one_more_is_not() {
        let function = |lines: usize| format!("fn f() {{\n{}}}\nfn g();", "x;\n".repeat(lines - 2));
        assert_eq!(count(&function(80)), 0);
        assert_eq!(count(&function(81)), 1);
    }

    #[test]
    fn a_file_of_four_hundred_lines_is_allowed_and_one_more_is_not() {
        assert_eq!(count(&format!("{}a", "\n".repeat(399))), 0);
        assert_eq!(count(&format!("{}a", "\n".repeat(400))), 1);
    }

    #[test]
    fn declarations_and_function_pointers_are_no_functions() {
        assert_eq!(count("trait T { fn f(&self); } type F = fn(u8) -> u8;"), 0);
    }
}
