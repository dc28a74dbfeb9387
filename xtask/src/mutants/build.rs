//! Builds the tests of a suite once, with every mutant that compiles behind its number.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use super::mutant::Mutant;
use super::suites::{Step, Suite};
use super::switch::{self, Copies, Number, Switched};
use super::tree::Tree;

/// A program of tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Program {
    pub(super) path: PathBuf,
    /// The crate whose tests they are.
    pub(super) package: String,
    /// The folder of the crate, in which cargo would run it.
    pub(super) folder: PathBuf,
}

/// The mutants of a suite, and what the compiler made of them.
#[derive(Debug)]
pub(super) struct Build<'a> {
    tree: &'a Tree,
    suite: &'a Suite,
    mutants: &'a [Mutant],
    /// The files with mutants and the libraries of the packages, as they were.
    originals: BTreeMap<String, String>,
    /// These do not compile, or the build leaves their code out.
    pub(super) unviable: BTreeSet<Number>,
    /// A build with all mutants cannot have these: they are in constants, in functions that are
    /// evaluated when compiling, or in functions whose type has no name.
    pub(super) fixed: BTreeSet<Number>,
}

/// An error of the compiler.
struct Complaint {
    /// The places that it is about: the file, and bytes of it.
    primary: Vec<(String, usize)>,
    /// Other places that it names.
    others: Vec<(String, usize)>,
    text: String,
}

impl<'a> Build<'a> {
    /// Finds the mutants that compile. Their numbers count from 1, in the order of the list.
    pub(super) fn new(tree: &'a Tree, suite: &'a Suite, mutants: &'a [Mutant]) -> Result<Self, String> {
        let mut originals = BTreeMap::new();
        let libraries = suite.packages.iter().map(|package| library(package));
        for file in libraries.chain(mutants.iter().map(|mutant| mutant.file.clone())) {
            originals.insert(file.clone(), tree.read(&file)?);
        }
        let (unviable, fixed) = (BTreeSet::new(), BTreeSet::new());
        let mut build = Self { tree, suite, mutants, originals, unviable, fixed };
        for (number, mutant) in (1..).zip(mutants) {
            let has_name = |returns: &str| !returns.contains("impl ");
            if !mutant.function.as_ref().is_some_and(|function| has_name(&function.returns)) {
                build.fixed.insert(number);
            }
        }
        for package in suite.packages {
            build.leave_out(package)?;
        }
        let packages = suite.packages.iter().flat_map(|package| ["-p", package]);
        build.compile(&["check"].into_iter().chain(packages).collect::<Vec<_>>())?;
        Ok(build)
    }

    /// The mutants that are behind their numbers.
    pub(super) fn chosen(&self) -> impl Iterator<Item = (Number, &'a Mutant)> {
        let is_in = |number: &Number| !self.unviable.contains(number) && !self.fixed.contains(number);
        (1..).zip(self.mutants).filter(move |(number, _)| is_in(number))
    }

    /// Builds the tests of a step.
    pub(super) fn programs(&mut self, step: &Step) -> Result<Vec<Program>, String> {
        let tests = if step.tests.is_empty() { self.suite.packages } else { step.tests };
        let mut args = vec!["test", "--no-run"];
        args.extend(tests.iter().flat_map(|package| ["-p", package]));
        args.extend(step.targets);
        let messages = self.compile(&args)?;
        Ok(messages.iter().filter_map(program).collect())
    }

    /// Finds the mutants in code that the build of a package leaves out: an error there is none.
    fn leave_out(&mut self, package: &str) -> Result<(), String> {
        let of_package: BTreeSet<Number> =
            self.chosen().filter(|(_, mutant)| mutant.package == package).map(|(number, _)| number).collect();
        if of_package.is_empty() {
            return Ok(());
        }
        let files = self.write(Copies::Errors, &of_package)?;
        let (_, messages) = self.cargo(&["check", "-p", package])?;
        let complaints = messages.iter().filter_map(complaint);
        let built: BTreeSet<Number> = complaints
            .flat_map(|complaint| complaint.primary)
            .filter_map(|(file, at)| copy_at(files.get(&file)?, at))
            .collect();
        self.unviable.extend(of_package.difference(&built));
        Ok(())
    }

    /// Runs cargo until nothing is left that does not compile; returns its messages.
    fn compile(&mut self, args: &[&str]) -> Result<Vec<Value>, String> {
        loop {
            let chosen = self.chosen().map(|(number, _)| number).collect();
            let files = self.write(Copies::Mutants, &chosen)?;
            let (built, messages) = self.cargo(args)?;
            if built {
                return Ok(messages);
            }
            let before = self.unviable.len().saturating_add(self.fixed.len());
            let mut unclear = String::new();
            for complaint in messages.iter().filter_map(complaint) {
                if !self.blame(&complaint, &files) {
                    unclear.push_str(&complaint.text);
                }
            }
            if self.unviable.len().saturating_add(self.fixed.len()) == before {
                return Err(format!("cargo {} fails with mutants:\n{unclear}", args.join(" ")));
            }
        }
    }

    /// Takes out the mutants that are at fault for an error; `false` if it is not known which.
    fn blame(&mut self, complaint: &Complaint, files: &BTreeMap<String, Switched>) -> bool {
        let in_copies = |places: &[(String, usize)]| -> BTreeSet<Number> {
            places.iter().filter_map(|(file, at)| copy_at(files.get(file)?, *at)).collect()
        };
        let unviable = in_copies(&complaint.primary);
        if !unviable.is_empty() {
            self.fixed.retain(|number| !unviable.contains(number));
            self.unviable.extend(unviable);
            return true;
        }
        // What is wrong is that there are copies.
        let places = complaint.primary.iter().chain(&complaint.others);
        let fixed: BTreeSet<Number> =
            places.filter_map(|(file, at)| body_at(files.get(file)?, *at)).flatten().copied().collect();
        self.fixed.extend(fixed.difference(&self.unviable));
        !fixed.is_empty()
    }

    /// Writes the files with some mutants behind their numbers, and returns them.
    fn write(&self, copies: Copies, chosen: &BTreeSet<Number>) -> Result<BTreeMap<String, Switched>, String> {
        let mut files = BTreeMap::new();
        for (file, original) in &self.originals {
            let of_file: Vec<(Number, &Mutant)> = (1..)
                .zip(self.mutants)
                .filter(|(number, mutant)| mutant.file == *file && chosen.contains(number))
                .collect();
            let mut switched = switch::switched(original, &of_file, copies)?;
            if self.suite.packages.iter().any(|package| library(package) == *file) {
                // What chooses the mutant writes to memory that the whole program shares. Both
                // texts have the same length: errors after them keep their places.
                let text = switched.text.replace("#![forbid(unsafe_code)]", "#![deny( unsafe_code )]");
                switched.text = text + &switch::runtime(self.mutants.len());
            }
            self.tree.write(file, &switched.text)?;
            files.insert(file.clone(), switched);
        }
        Ok(files)
    }

    /// Runs cargo in the copy of the tree: whether it ended well, and its messages.
    fn cargo(&self, args: &[&str]) -> Result<(bool, Vec<Value>), String> {
        let output = Command::new("cargo")
            .args(args)
            .args(["--locked", "--message-format=json"])
            .current_dir(&self.tree.files)
            .env("CARGO_TARGET_DIR", &self.tree.built)
            .env("CARGO_INCREMENTAL", "1")
            .env("CARGO_PROFILE_DEV_DEBUG", "false")
            .stderr(Stdio::inherit())
            .output()
            .map_err(|error| format!("cannot run cargo: {error}"))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let messages = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        Ok((output.status.success(), messages))
    }
}

/// The file of a library crate in which its modules begin.
fn library(package: &str) -> String {
    format!("crates/{package}/src/lib.rs")
}

fn copy_at(file: &Switched, at: usize) -> Option<Number> {
    file.copies.iter().find(|(range, _)| range.contains(&at)).map(|(_, number)| *number)
}

/// The mutants of the innermost body with copies around a place.
fn body_at(file: &Switched, at: usize) -> Option<&[Number]> {
    let around = file.bodies.iter().filter(|(range, _)| range.contains(&at));
    around.min_by_key(|(range, _)| Range::len(range)).map(|(_, numbers)| numbers.as_slice())
}

/// What a message of cargo says about an error.
fn complaint(message: &Value) -> Option<Complaint> {
    let message = message.get("message").filter(|message| {
        message.get("level").and_then(Value::as_str).is_some_and(|level| level == "error")
    })?;
    let (mut primary, mut others) = (Vec::new(), Vec::new());
    let notes = message.get("children").and_then(Value::as_array).into_iter().flatten();
    for (part, is_note) in [(message, false)].into_iter().chain(notes.map(|note| (note, true))) {
        for span in part.get("spans").and_then(Value::as_array).into_iter().flatten() {
            let place = outermost(span);
            match span.get("is_primary").and_then(Value::as_bool) {
                Some(true) if !is_note => primary.extend(place),
                _ => others.extend(place),
            }
        }
    }
    let text = message.get("rendered").and_then(Value::as_str).unwrap_or("an error without text\n");
    Some(Complaint { primary, others, text: text.to_owned() })
}

/// Where something is in the source: an error in what a macro makes is where the macro is called.
fn outermost(span: &Value) -> Option<(String, usize)> {
    let mut span = span;
    while let Some(call) = span.get("expansion").and_then(|expansion| expansion.get("span")) {
        span = call;
    }
    let at = usize::try_from(span.get("byte_start")?.as_u64()?).ok()?;
    Some((span.get("file_name")?.as_str()?.to_owned(), at))
}

/// The program of tests that a message of cargo is about.
fn program(message: &Value) -> Option<Program> {
    let is_test = message.get("profile")?.get("test")?.as_bool()?;
    let path = message.get("executable")?.as_str().filter(|_| is_test)?;
    let folder = Path::new(message.get("manifest_path")?.as_str()?).parent()?;
    let package = folder.file_name()?.to_str()?.to_owned();
    Some(Program { path: path.into(), package, folder: folder.to_owned() })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_error_is_where_it_is_called_from_and_notes_are_other_places() {
        let span = |file: &str, at: u64| json!({"file_name": file, "byte_start": at, "is_primary": true});
        let mut in_macro = span("macro.rs", 1);
        in_macro["expansion"] = json!({"span": span("a.rs", 7)});
        let message = json!({"message": {"level": "error", "rendered": "no", "spans": [in_macro],
            "children": [{"spans": [span("b.rs", 9)]}]}});
        let found = complaint(&message).unwrap();
        assert_eq!((found.primary, found.others), (vec![("a.rs".into(), 7)], vec![("b.rs".into(), 9)]));
        assert!(complaint(&json!({"message": {"level": "warning", "spans": []}})).is_none());
        assert!(complaint(&json!({"reason": "build-finished"})).is_none());
    }

    #[test]
    fn only_tests_are_programs_and_they_run_in_the_folder_of_their_crate() {
        let message = |test: bool, executable: Value| json!({"profile": {"test": test}, "executable": executable, "manifest_path": "/t/crates/a/Cargo.toml"});
        let found = program(&message(true, json!("/t/deps/a-1"))).unwrap();
        assert_eq!(
            found,
            Program { path: "/t/deps/a-1".into(), package: "a".into(), folder: "/t/crates/a".into() }
        );
        assert!(program(&message(false, json!("/t/deps/a-1"))).is_none());
        assert!(program(&message(true, Value::Null)).is_none());
    }

    #[test]
    fn places_are_found_in_copies_and_in_the_innermost_body() {
        let file = Switched {
            text: String::new(),
            copies: vec![(4..6, 1), (20..25, 2)],
            bodies: vec![(18..30, vec![2]), (2..40, vec![1, 3])],
        };
        assert_eq!((copy_at(&file, 5), copy_at(&file, 6)), (Some(1), None));
        assert_eq!((body_at(&file, 26), body_at(&file, 31)), (Some(&[2][..]), Some(&[1, 3][..])));
        assert_eq!(body_at(&file, 40), None);
    }
}
