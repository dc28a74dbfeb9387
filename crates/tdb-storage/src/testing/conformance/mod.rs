//! The rules for every storage, as a suite that the tests of a storage call.
//!
//! [`check_storage`] checks the rules of [`Storage`]. [`check_write_storage`] checks those and the
//! rules of [`WriteStorage`], including races between threads. [`check_openings`] checks that two
//! openings of the same place work together. Each function runs all its rules, each on a fresh
//! storage, and reports which were broken, and how.
//!
//! A storage may return [`io::ErrorKind::Unsupported`] for conditional puts, replacing and locking.
//! That is reported ([`Checked::not_offered`]), but is not a broken rule.

mod openings;
mod racing;
mod ranges;
mod reading;
mod versions;
mod writing;

use core::fmt::{self, Debug, Display};
use std::io;
use std::sync::Arc;

use bytes::Bytes;

use crate::{Durability, Storage, WriteStorage, write_file};

/// The result of checking a storage.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Checked {
    /// Rules that it keeps.
    pub kept: Vec<&'static str>,
    /// Rules about operations that it does not support.
    pub not_offered: Vec<&'static str>,
}

/// The rules that a storage breaks, and how.
#[derive(Clone, PartialEq, Eq)]
pub struct BrokenRules(Vec<(&'static str, String)>);

impl BrokenRules {
    /// Each broken rule, and what was observed instead.
    #[must_use]
    pub fn rules(&self) -> &[(&'static str, String)] {
        &self.0
    }
}

impl Display for BrokenRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let many = if self.0.len() == 1 { "a rule" } else { "rules" };
        write!(f, "the storage breaks {many}:")?;
        self.0.iter().try_for_each(|(rule, seen)| write!(f, "\n- {rule}: {seen}"))
    }
}

/// The same text: a test that unwraps the result prints this.
impl Debug for BrokenRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Display::fmt(self, f)
    }
}

impl core::error::Error for BrokenRules {}

/// Why a check ended.
#[derive(Debug)]
enum Broken {
    Rule(String),
    /// The storage does not support this.
    NotOffered,
}

type Outcome<T = ()> = Result<T, Broken>;

/// A rule in words, and the function that checks it.
type Rule<S> = (&'static str, fn(&S) -> Outcome);

/// The same for rules about several threads or openings.
type SharedRule<T> = (&'static str, fn(T) -> Outcome);

/// The files of a storage that is read.
type Files = [(&'static str, Bytes)];

/// Checks that a storage reads as [`Storage`] requires. `make` creates a storage that holds these
/// files, and no others.
///
/// # Errors
/// The rules that are broken.
pub fn check_storage<S: Storage>(make: impl Fn(&[(&str, Bytes)]) -> S) -> Result<Checked, BrokenRules> {
    let files = reading::files();
    let make = || Ok(make(&files));
    let mut checking = Checking::default();
    checking.read(&make);
    checking.end()
}

/// Checks that a storage reads and writes as [`Storage`] and [`WriteStorage`] require. `make`
/// creates an empty storage.
///
/// # Errors
/// The rules that are broken.
pub fn check_write_storage<S: WriteStorage + 'static>(make: impl Fn() -> S) -> Result<Checked, BrokenRules> {
    let mut checking = Checking::default();
    let filled = || {
        let storage = make();
        fill(&storage, &reading::files())?;
        Ok(storage)
    };
    checking.read(&filled);
    for (rule, check) in writing::rules::<S>().into_iter().chain(versions::rules::<S>()) {
        checking.note(rule, start(&make()).and_then(check));
    }
    for (rule, check) in racing::rules::<S>() {
        let storage = make();
        let started = start(&storage).map(drop);
        checking.note(rule, started.and_then(|()| check(Arc::new(storage))));
    }
    checking.end()
}

/// Checks that two openings of the same place, as two processes have them, work together. `make`
/// creates two openings of a new and empty place.
///
/// # Errors
/// The rules that are broken.
pub fn check_openings<S: WriteStorage + 'static>(make: impl Fn() -> (S, S)) -> Result<Checked, BrokenRules> {
    let mut checking = Checking::default();
    for (rule, check) in openings::rules::<S>() {
        let (one, other) = make();
        let started = start(&one).map(drop);
        checking.note(rule, started.and_then(|()| check([Arc::new(one), Arc::new(other)])));
    }
    checking.end()
}

/// The results so far.
#[derive(Default)]
struct Checking {
    kept: Vec<&'static str>,
    not_offered: Vec<&'static str>,
    broken: Vec<(&'static str, String)>,
}

impl Checking {
    fn read<S: Storage>(&mut self, make: &dyn Fn() -> Outcome<S>) {
        for (rule, check) in reading::rules::<S>().into_iter().chain(ranges::rules::<S>()) {
            let outcome = make().and_then(|storage| check(&storage));
            self.note(rule, outcome);
        }
    }

    fn note(&mut self, rule: &'static str, outcome: Outcome) {
        match outcome {
            Ok(()) => self.kept.push(rule),
            Err(Broken::NotOffered) => self.not_offered.push(rule),
            Err(Broken::Rule(seen)) => self.broken.push((rule, seen)),
        }
    }

    fn end(self) -> Result<Checked, BrokenRules> {
        let Self { kept, not_offered, broken } = self;
        if broken.is_empty() { Ok(Checked { kept, not_offered }) } else { Err(BrokenRules(broken)) }
    }
}

/// Creates the storage's own folder, as every writer of an array does.
fn start<S: WriteStorage>(storage: &S) -> Outcome<&S> {
    done("making the storage's own folder", storage.create_folder(""))?;
    Ok(storage)
}

fn fill<S: WriteStorage>(storage: &S, files: &Files) -> Outcome {
    start(storage)?;
    for (key, bytes) in files {
        write(storage, key, bytes)?;
    }
    Ok(())
}

/// Creates a folder and a file in it.
fn write<S: WriteStorage>(storage: &S, key: &str, bytes: &[u8]) -> Outcome {
    if let Some((folder, _)) = key.rsplit_once('/') {
        done("making a folder", storage.create_folder(folder))?;
    }
    done("writing a file", write_file(storage, key, bytes, Durability::Buffered))
}

fn broken<T>(seen: impl Into<String>) -> Outcome<T> {
    Err(Broken::Rule(seen.into()))
}

fn holds(is_so: bool, else_seen: impl FnOnce() -> String) -> Outcome {
    if is_so { Ok(()) } else { broken(else_seen()) }
}

/// The result of a call that must succeed.
fn done<T>(what: &str, result: io::Result<T>) -> Outcome<T> {
    result.or_else(|error| broken(format!("{what} failed: {error} ({:?})", error.kind())))
}

/// The same for a call that a storage may not support.
fn offered<T>(what: &str, result: io::Result<T>) -> Outcome<T> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::Unsupported => Err(Broken::NotOffered),
        result => done(what, result),
    }
}

fn same<T: PartialEq + Debug + ?Sized>(what: &str, found: &T, expected: &T) -> Outcome {
    holds(found == expected, || format!("{what} returned {}, not {}", shown(found), shown(expected)))
}

/// A value, shortened if it is long.
fn shown<T: Debug + ?Sized>(value: &T) -> String {
    let text = format!("{value:?}");
    match text.char_indices().nth(200) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

/// Checks that a call failed, and with which kind of error.
fn refused<T: Debug>(what: &str, result: io::Result<T>, kind: io::ErrorKind) -> Outcome {
    match result {
        Err(error) if error.kind() == kind => Ok(()),
        Err(error) => broken(format!("{what} failed with {:?} ({error}), not with {kind:?}", error.kind())),
        Ok(found) => {
            broken(format!("{what} returned {}, but should have failed with {kind:?}", shown(&found)))
        }
    }
}

/// Numbers that depend only on a seed (`splitmix64`).
#[derive(Clone, Debug)]
pub(super) struct Random(u64);

impl Random {
    pub(super) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below `end`, or 0.
    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)).checked_rem(end).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests;
