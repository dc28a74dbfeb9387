//! The rules that every storage keeps, as a suite that the test of any storage calls.
//!
//! [`check_storage`] has the rules of [`Storage`], [`check_write_storage`] those and the ones of [`WriteStorage`], threads that
//! race each other included; [`check_openings`] has what two openings of one place owe each other. Each runs all its rules, each
//! on a storage of its own, and says which were broken, and how.
//!
//! A storage may refuse what it cannot do ([`io::ErrorKind::Unsupported`]): to put on a condition, to replace, to lock. That is told
//! ([`Checked::not_offered`]), and no broken rule.

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

use crate::storage::{Durability, Storage, WriteStorage, write_file};

/// What a storage was found to do.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Checked {
    /// Rules that it keeps.
    pub kept: Vec<&'static str>,
    /// Rules of what it refuses to do.
    pub not_offered: Vec<&'static str>,
}

/// The rules that a storage breaks, and how.
#[derive(Clone, PartialEq, Eq)]
pub struct BrokenRules(Vec<(&'static str, String)>);

impl BrokenRules {
    /// Each rule, and what was seen in its place.
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

/// The same text: this is what a test prints that unwraps it.
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
    /// The storage says that it cannot do this.
    NotOffered,
}

type Outcome<T = ()> = Result<T, Broken>;

/// A rule in words, and what looks whether a storage keeps it.
type Rule<S> = (&'static str, fn(&S) -> Outcome);

/// The same of what several threads, or openings, have.
type SharedRule<T> = (&'static str, fn(T) -> Outcome);

/// The files of a storage that is read.
type Files = [(&'static str, Bytes)];

/// Checks that a storage reads as [`Storage`] says. `make` makes one that holds these files, and no others.
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

/// Checks that a storage reads and writes as [`Storage`] and [`WriteStorage`] say. `make` makes one that is empty.
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

/// Checks what two openings of one place, as two processes have them, owe each other. `make` makes two of a place that is new
/// and empty.
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

/// What was found so far.
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

/// Makes the storage's own folder, as everybody does who writes an array.
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

/// Makes a file and its folder.
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

/// What a call gave, which had no reason to fail.
fn done<T>(what: &str, result: io::Result<T>) -> Outcome<T> {
    result.or_else(|error| broken(format!("{what} failed: {error} ({:?})", error.kind())))
}

/// The same of a call that a storage may refuse to make at all.
fn offered<T>(what: &str, result: io::Result<T>) -> Outcome<T> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::Unsupported => Err(Broken::NotOffered),
        result => done(what, result),
    }
}

fn same<T: PartialEq + Debug + ?Sized>(what: &str, found: &T, expected: &T) -> Outcome {
    holds(found == expected, || format!("{what} gave {}, not {}", shown(found), shown(expected)))
}

/// A value, or how it begins.
fn shown<T: Debug + ?Sized>(value: &T) -> String {
    let text = format!("{value:?}");
    match text.char_indices().nth(200) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

/// That a call failed, and with which kind of error.
fn refused<T: Debug>(what: &str, result: io::Result<T>, kind: io::ErrorKind) -> Outcome {
    match result {
        Err(error) if error.kind() == kind => Ok(()),
        Err(error) => broken(format!("{what} failed as {:?} ({error}), not as {kind:?}", error.kind())),
        Ok(found) => broken(format!("{what} gave {}, and should have failed as {kind:?}", shown(&found))),
    }
}

/// Numbers that depend on a seed alone (`splitmix64`).
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
