//! Unsafe code is allowed in a few files; all other libraries forbid it.

use super::tokens::Token;
use super::{Violation, matches};

/// The files that may contain unsafe code, each with its library: the calls of functions that are
/// compiled for detected features, the names of the functions that a WebAssembly module exports,
/// and the pointers that callers in C pass. A module cannot override `forbid`, so these libraries
/// use `deny`.
const EXCEPTIONS: [(&str, &str); 12] = [
    ("crates/tdb-filters/src/kernels.rs", "crates/tdb-filters/src/lib.rs"),
    ("crates/tdb-wasm-reader/src/exports.rs", "crates/tdb-wasm-reader/src/lib.rs"),
    ("crates/tdb-capi/src/ffi/buffers.rs", "crates/tdb-capi/src/lib.rs"),
    ("crates/tdb-capi/src/ffi/constants.rs", "crates/tdb-capi/src/lib.rs"),
    ("crates/tdb-capi/src/ffi/file.rs", "crates/tdb-capi/src/lib.rs"),
    ("crates/tdb-capi/src/ffi/guard.rs", "crates/tdb-capi/src/lib.rs"),
    ("crates/tdb-capi/src/ffi/handles.rs", "crates/tdb-capi/src/lib.rs"),
    ("crates/tdb-capi/src/ffi/memory.rs", "crates/tdb-capi/src/lib.rs"),
    ("crates/tdb-capi/src/ffi/out.rs", "crates/tdb-capi/src/lib.rs"),
    ("crates/tdb-capi/src/ffi/ranges.rs", "crates/tdb-capi/src/lib.rs"),
    ("crates/tdb-capi/src/ffi/shell.rs", "crates/tdb-capi/src/lib.rs"),
    ("crates/tdb-capi/src/ffi/strings.rs", "crates/tdb-capi/src/lib.rs"),
];

/// Looks for the attribute in the tokens of a `lib.rs`.
pub(super) fn check_library(file: &str, tokens: &[Token<'_>]) -> Option<Violation> {
    let level = if EXCEPTIONS.iter().any(|(_, library)| *library == file) { "deny" } else { "forbid" };
    let attribute = ["#", "!", "[", level, "(", "unsafe_code", ")", "]"];
    let found = (0..tokens.len()).any(|at| matches(tokens, at, &attribute));
    (!found).then(|| Violation::new(file, 1, format!("#![{level}(unsafe_code)] is missing")))
}

/// Looks for `unsafe`, and for attributes that turn off the lint, in the tokens of any source file,
/// including its tests.
pub(super) fn check_file(file: &str, tokens: &[Token<'_>]) -> Vec<Violation> {
    if EXCEPTIONS.iter().any(|(exception, _)| *exception == file) {
        return Vec::new();
    }
    let mut violations = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let lifts = ["allow", "expect", "warn"].iter().any(|level| {
            token.text == *level
                && tokens
                    .iter()
                    .skip(at)
                    .take_while(|token| token.text != ")")
                    .any(|token| token.text == "unsafe_code")
        });
        if token.text == "unsafe" || lifts {
            let allowed = EXCEPTIONS.map(|(exception, _)| exception).join(", ");
            let what = format!("unsafe code belongs to {allowed} and to no other file");
            violations.push(Violation::new(file, token.line, what));
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::super::tokens::tokenize;
    use super::*;

    fn lines(file: &str, source: &str) -> Vec<usize> {
        check_file(file, &tokenize(source)).iter().map(|violation| violation.line).collect()
    }

    #[test]
    fn a_library_without_the_attribute_is_refused_even_if_a_comment_has_it() {
        assert_eq!(check_library("lib.rs", &tokenize("#![forbid(unsafe_code)]\nmod a;")), None);
        let violation = check_library("lib.rs", &tokenize("// #![forbid(unsafe_code)]\nmod a;")).unwrap();
        assert_eq!((violation.file.as_str(), violation.line), ("lib.rs", 1));
    }

    #[test]
    fn deny_is_enough_for_the_libraries_of_the_exceptions_and_for_no_other() {
        let tokens = tokenize("#![deny(unsafe_code)]\nmod kernels;");
        assert!(EXCEPTIONS.iter().all(|(_, library)| check_library(library, &tokens).is_none()));
        assert!(check_library("crates/tdb-tile/src/lib.rs", &tokens).is_some());
        assert!(check_library(EXCEPTIONS[0].1, &tokenize("mod kernels;")).is_some());
    }

    #[test]
    fn unsafe_code_is_found_in_every_file_but_the_exceptions() {
        let source = "fn f() {\n    unsafe { g() }\n}";
        assert!(EXCEPTIONS.iter().all(|(exception, _)| lines(exception, source).is_empty()));
        for file in
            ["crates/tdb-filters/src/kernels/xor.rs", "crates/tdb-filters/src/xor.rs", "xtask/src/main.rs"]
        {
            assert_eq!(lines(file, source), [2], "{file}");
        }
    }

    #[test]
    fn lifting_the_lint_is_found_alone_and_among_others() {
        let file = "crates/tdb-filters/src/xor.rs";
        assert_eq!(lines(file, "#[allow(unsafe_code)]\nmod a;"), [1]);
        assert_eq!(lines(file, "\n#![expect(dead_code, unsafe_code, reason = \"x\")]"), [2]);
        assert_eq!(lines(file, "#[cfg_attr(test, warn(unsafe_code))]"), [1]);
        let harmless = "#[allow(dead_code)]\n#[deny(unsafe_code)]\n// unsafe\nconst A: &str = \"unsafe\";";
        assert!(lines(file, harmless).is_empty());
    }
}
