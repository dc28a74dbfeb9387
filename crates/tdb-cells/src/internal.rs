//! Internal errors: faults of the engine itself, with the line of code that noticed them.
//!
//! Code that parses bytes has typed errors for everything that a file can contain. The engine above
//! it relies on what those parsers and its own steps have established: a mask has a flag for each
//! cell, a group has a slot. Where such a thing can only be missing because of a bug, the code uses
//! [`OrInternal::or_internal`](crate::OrInternal::or_internal); a default there would turn the bug
//! into wrong cells.

use core::panic::Location;

use thiserror::Error as ThisError;

/// The address at which users report faults.
const ISSUES: &str = concat!(env!("CARGO_PKG_REPOSITORY"), "/issues");

/// A fault of tdb: the assumption that does not hold, and the line of its source that noticed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ThisError)]
#[error(
    "internal error: {what} ({}:{}); this is a fault of tdb, neither of the array nor of the query: please report it with \
     this message at {ISSUES}",
    self.file(),
    self.line()
)]
pub struct InternalError {
    what: &'static str,
    location: &'static Location<'static>,
}

impl InternalError {
    /// The error of the line that calls this.
    #[must_use]
    #[track_caller]
    #[cold]
    pub const fn new(what: &'static str) -> Self {
        Self { what, location: Location::caller() }
    }

    /// The assumption that does not hold.
    #[must_use]
    pub const fn what(&self) -> &'static str {
        self.what
    }

    /// The source file that noticed it, from the folder of its crate on.
    #[must_use]
    pub fn file(&self) -> &'static str {
        let file = self.location.file();
        file.rfind("tdb-").and_then(|at| file.get(at..)).unwrap_or(file)
    }

    /// The line in [`Self::file`], counted from 1.
    #[must_use]
    pub const fn line(&self) -> u32 {
        self.location.line()
    }
}
