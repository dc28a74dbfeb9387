//! Files of the libraries that use anything outside the process: only those in a table may do so.

use std::collections::BTreeSet;

use super::tokens::{Token, first_segments};
use super::{Violation, matches};

/// The file that contains this table.
const FILE: &str = "xtask/src/check/purity.rs";

/// Modules of the standard library that use anything outside the process, or depend on the time at
/// which it runs.
const MODULES: [&str; 8] = ["env", "fs", "io", "net", "path", "process", "thread", "time"];
/// The crate that gets random numbers from the system.
const RANDOM: &str = "getrandom";
/// Macros that write to a stream.
const MACROS: [&str; 5] = ["dbg", "eprint", "eprintln", "print", "println"];
/// Items of these modules that use nothing outside the process: bytes in memory, in the form that
/// an image decoder needs.
const HARMLESS: [&[&str]; 1] = [&["std", ":", ":", "io", ":", ":", "Cursor"]];

/// Exceptions: what a file, or all files of a folder, may use of [`MODULES`] or [`RANDOM`]. Most
/// files use only the types of errors and of arguments of `io` and `path`; `fs` opens files.
pub(super) const MAY: [May; 49] = [
    ("crates/tdb-cells/src/clock.rs", "time"),
    // It waits for the next millisecond.
    ("crates/tdb-cells/src/clock.rs", "thread"),
    ("crates/tdb-cells/src/error.rs", "io"),
    ("crates/tdb-cells/src/parallel.rs", "thread"),
    ("crates/tdb-storage/src/", "io"),
    ("crates/tdb-storage/src/stats.rs", "time"),
    ("crates/tdb-storage/src/local.rs", "fs"),
    ("crates/tdb-storage/src/local.rs", "path"),
    // The time when a file was last used.
    ("crates/tdb-storage/src/local.rs", "time"),
    ("crates/tdb-storage/src/local/", "fs"),
    ("crates/tdb-storage/src/local/", "path"),
    ("crates/tdb-storage/src/opening.rs", "fs"),
    ("crates/tdb-storage/src/opening.rs", "path"),
    ("crates/tdb-storage/src/places.rs", "fs"),
    // It waits, to simulate a remote storage.
    ("crates/tdb-storage/src/testing/", "thread"),
    ("crates/tdb-cache/src/", "io"),
    // The path of a folder and the age of its contents; a `LocalStorage` opens the files.
    ("crates/tdb-cache/src/", "path"),
    ("crates/tdb-cache/src/folder.rs", "time"),
    ("crates/tdb-snapshot/src/", "io"),
    ("crates/tdb-snapshot/src/", "path"),
    ("crates/tdb-query/src/array.rs", "path"),
    ("crates/tdb-query/src/query/description.rs", "path"),
    // The thread that reads the next batch while a caller works on one.
    ("crates/tdb-query/src/query/background.rs", "thread"),
    ("crates/tdb-write/src/", "io"),
    ("crates/tdb-write/src/", "path"),
    ("crates/tdb-write/src/names.rs", RANDOM),
    ("crates/tdb-maintain/src/", "io"),
    ("crates/tdb-object-store/src/", "io"),
    // The runtime that requests are made on.
    ("crates/tdb-object-store/src/runtime.rs", "process"),
    // How long a lease lasts, and who has it.
    ("crates/tdb-object-store/src/lease.rs", "time"),
    ("crates/tdb-object-store/src/lease.rs", RANDOM),
    // Credentials and regions.
    ("crates/tdb-object-store/src/url.rs", "env"),
    // Readers and writers of files, which its callers open.
    ("crates/tdb-convert/src/", "io"),
    // Files of text, which its callers open and make.
    ("crates/tdb-soma/src/", "io"),
    // Folders of Zarr, which are read and written here.
    ("crates/tdb-zarr-files/src/error.rs", "io"),
    ("crates/tdb-zarr-files/src/compressed.rs", "io"),
    ("crates/tdb-zarr-files/src/folder.rs", "fs"),
    ("crates/tdb-zarr-files/src/folder.rs", "io"),
    ("crates/tdb-zarr-files/src/folder.rs", "path"),
    ("crates/tdb-zarr-files/src/output.rs", "fs"),
    ("crates/tdb-zarr-files/src/output.rs", "io"),
    ("crates/tdb-zarr-files/src/output.rs", "path"),
    ("crates/tdb-zarr-files/src/tree.rs", "io"),
    ("crates/tdb-zarr-files/src/", "path"),
    // The threads that decode and compress chunks.
    ("crates/tdb-zarr-files/src/", "thread"),
    // The path of a folder of Zarr, which tdb-zarr-files reads.
    ("crates/tdb-anndata/src/import.rs", "path"),
    // The absolute path of an array, for other processes.
    ("crates/tdb-datafusion/src/locate.rs", "path"),
    // A file where an array is looked for is told from a failure.
    ("crates/tdb-datafusion/src/table.rs", "io"),
    // The kind of error that tells a process that is gone from one that is slow.
    ("crates/tdb-ballista/src/watch.rs", "io"),
];

/// A file or a folder, and what it may use.
pub(super) type May = (&'static str, &'static str);

/// Checks the tokens of one source file, without its tests. `used` collects the rows of the table
/// that are used.
pub(super) fn check(
    file: &str,
    tokens: &[Token<'_>],
    may: &[May],
    used: &mut BTreeSet<May>,
) -> Vec<Violation> {
    let mut violations = Vec::new();
    let mut allowed = |what: &str| {
        let row = may.iter().find(|(place, allowed)| *allowed == what && is_in(file, place));
        row.is_some_and(|row| {
            used.insert(*row);
            true
        })
    };
    for (at, token) in tokens.iter().enumerate() {
        let next = at.saturating_add(1);
        let mut report = |line, what: String| violations.push(Violation::new(file, line, what));
        if MACROS.contains(&token.text) && matches(tokens, next, &["!"]) {
            report(token.line, format!("a library uses {}!, which writes to a stream", token.text));
        }
        if token.text == RANDOM && matches(tokens, next, &[":", ":"]) && !allowed(RANDOM) {
            report(
                token.line,
                format!("{RANDOM} is used, but the table of exceptions does not list this file"),
            );
        }
        if token.text == "std" && matches(tokens, next, &["as"]) {
            report(token.line, "importing std under another name hides which parts are used".to_owned());
        }
        if token.text == "std" && matches(tokens, next, &[":", ":"]) {
            for module in first_segments(tokens, at.saturating_add(3)) {
                let harmless = HARMLESS.iter().any(|path| matches(tokens, at, path));
                let outside = MODULES.contains(&module.text) && !harmless && !allowed(module.text);
                if module.text == "*" || outside {
                    let what = format!(
                        "std::{} is used, but the table of exceptions does not list this file",
                        module.text
                    );
                    report(module.line, what);
                }
            }
        }
    }
    violations
}

/// Whether a file is the file of a row, or in the folder of a row.
fn is_in(file: &str, place: &str) -> bool {
    file == place || place.ends_with('/') && file.starts_with(place)
}

/// Rows of the table that no file needs any more.
pub(super) fn gone(may: &[May], used: &BTreeSet<May>) -> Vec<Violation> {
    let gone = may.iter().filter(|row| !used.contains(*row));
    gone.map(|(place, what)| {
        Violation::new(FILE, 1, format!("{place} no longer uses {what}: remove it from the table"))
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::super::tokens::tokenize;
    use super::*;

    fn lines(source: &str) -> Vec<usize> {
        let found = check("a.rs", &tokenize(source), &[], &mut BTreeSet::new());
        found.iter().map(|violation| violation.line).collect()
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

    #[test]
    fn randomness_is_found() {
        assert_eq!(lines("getrandom::fill(&mut bytes)"), [1]);
    }

    #[test]
    fn what_the_table_lists_is_allowed_there_until_it_is_gone() {
        let may: [May; 2] = [("house/cellar/", "fs"), ("house/roof.rs", "time")];
        let mut used = BTreeSet::new();
        let tokens = tokenize("use std::fs::File;");
        assert!(check("house/cellar/door.rs", &tokens, &may, &mut used).is_empty());
        assert_eq!(check("house/roof.rs", &tokens, &may, &mut used).len(), 1);
        assert_eq!(check("house/cellars.rs", &tokens, &may, &mut used).len(), 1);
        assert_eq!(gone(&may, &used).len(), 1);
    }
}
