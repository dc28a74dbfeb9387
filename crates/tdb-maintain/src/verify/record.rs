//! Counts of what was checked, and records of problems and notes.

use std::io;

use super::Verifier;
use super::report::{Check, Problem};
use crate::{Error, Result};

impl Verifier {
    pub(super) const fn count_tiles(&mut self, tiles: u64) {
        self.report.tiles = self.report.tiles.saturating_add(tiles);
    }

    pub(super) fn count_file(&mut self, size: u64) {
        self.report.files = self.report.files.saturating_add(1);
        self.report.bytes = self.report.bytes.saturating_add(size);
        (self.watch)(self.report.bytes);
    }

    /// Records any error of reading an array.
    pub(super) fn failed(&mut self, error: Error) {
        let problem = self.problem_of(error);
        self.report.problems.push(problem);
    }

    /// Records a file or tile of a fragment that cannot be read.
    pub(super) fn unreadable(&mut self, problem: Problem) {
        self.findings.add(Check::Readable, None, || problem);
    }

    pub(super) fn problem_of(&self, error: Error) -> Problem {
        match error {
            Error::Corrupt { path, source } => {
                Problem { path, offset: source.offset(), what: source.to_string() }
            }
            Error::Io { path, source } => Problem { path, offset: None, what: source.to_string() },
            Error::NotAnArray { path, why } => Problem { path, offset: None, what: why.to_owned() },
            Error::Unsupported { path, what } => Problem { path, offset: None, what },
            error => Problem { path: self.context.describe(""), offset: None, what: error.to_string() },
        }
    }

    /// Records a problem inside the unfiltered payload of the generic tile at `offset`.
    pub(super) fn payload_problem(&mut self, key: &str, offset: u64, error: &dyn core::fmt::Display) {
        self.problem(
            key,
            Some(offset),
            format!("generic tile at offset {offset}: {error} (of the unfiltered payload)"),
        );
    }

    pub(super) fn problem(&mut self, key: &str, offset: Option<u64>, what: String) {
        self.report.problems.push(Problem { path: self.context.describe(key), offset, what });
    }

    pub(super) fn note(&mut self, key: &str, what: &str) {
        let path = self.context.describe(key);
        self.report.notes.push(Problem { path, offset: None, what: what.to_owned() });
    }

    /// Records the error, if there is one, and returns whether it makes sense to continue with the
    /// file.
    pub(super) fn check<T>(&mut self, result: Result<T>) -> (Option<T>, bool) {
        match result {
            Ok(value) => (Some(value), true),
            Err(error) => {
                // The next tile may be fine if one tile is damaged, but not if the file is missing
                // or its filters are not supported.
                let hopeless = match &error {
                    Error::Io { source, .. } => source.kind() == io::ErrorKind::NotFound,
                    Error::Unsupported { .. } => true,
                    _ => false,
                };
                let problem = self.problem_of(error);
                self.unreadable(problem);
                (None, !hopeless)
            }
        }
    }
}
