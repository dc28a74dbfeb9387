//! No I/O, threads or clocks below the facade.

use super::tokens::{Token, first_segments};
use super::{Violation, matches};

/// Modules of the standard library that reach outside the process or depend on when it runs.
const MODULES: [&str; 8] = ["env", "fs", "io", "net", "path", "process", "thread", "time"];
/// Macros that write to a stream.
const MACROS: [&str; 5] = ["dbg", "eprint", "eprintln", "print", "println"];
/// What these modules have that reaches nothing: bytes in memory, which is how an image decoder wants them.
const ALLOWED: [&[&str]; 1] = [&["std", ":", ":", "io", ":", ":", "Cursor"]];

/// Looks at the tokens of one source file, tests left out.
pub(super) fn check(file: &str, tokens: &[Token<'_>]) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let next = at.saturating_add(1);
        let mut report = |line, what: String| violations.push(Violation::new(file, line, what));
        if MACROS.contains(&token.text) && matches(tokens, next, &["!"]) {
            report(token.line, format!("{}! writes to a stream below the facade", token.text));
        }
        if token.text == "std" && matches(tokens, next, &["as"]) {
            report(token.line, "std under another name hides what is used of it".to_owned());
        }
        if token.text == "std" && matches(tokens, next, &[":", ":"]) {
            for module in first_segments(tokens, at.saturating_add(3)) {
                let harmless = ALLOWED.iter().any(|path| matches(tokens, at, path));
                if module.text == "*" || !harmless && MODULES.contains(&module.text) {
                    report(module.line, format!("std::{} is used below the facade", module.text));
                }
            }
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::super::tokens::tokenize;
    use super::*;

    fn lines(source: &str) -> Vec<usize> {
        check("a.rs", &tokenize(source)).iter().map(|violation| violation.line).collect()
    }

    #[test]
    fn each_forbidden_module_is_found_wherever_it_is_named() {
        for module in MODULES {
            assert_eq!(lines(&format!("\nuse std::{module}::X;")), [2], "{module}");
            assert_eq!(lines(&format!("fn f() {{ std :: {module} ::x() }}")), [1], "{module}");
            assert_eq!(
                lines(&format!("use std::{{\n  sync::{{Mutex, io}},\n  {module}::{{A, B}},\n}};")),
                [3]
            );
        }
    }

    #[test]
    fn aliases_globs_and_printing_are_found() {
        assert_eq!(lines("use std as s;"), [1]);
        assert_eq!(lines("use std::*;"), [1]);
        assert_eq!(lines("println!(\"x\")"), [1]);
    }

    #[test]
    fn a_cursor_over_memory_is_the_only_thing_of_io_that_is_allowed() {
        assert!(lines("std::io::Cursor::new(data)").is_empty());
        assert_eq!(lines("use std::io::{Cursor, Read};"), [1]);
    }

    #[test]
    fn locks_collections_comments_and_other_modules_of_these_names_are_allowed() {
        assert!(lines("use std::sync::Mutex; use std::collections::{HashMap, BTreeMap};").is_empty());
        assert!(lines("//! std::fs\n/* std::io */ const A: &str = \"std::net\";").is_empty());
        assert!(lines("mod path; use crate::io; use core::time::Duration;").is_empty());
    }
}
