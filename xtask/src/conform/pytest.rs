//! TileDB-Py's tests, run by pytest, one file after the other: what became of each, and the list of
//! those that are known to fail.
//!
//! The plugin `xtask/peer/pytest/tdb_conform.py` reports outcomes, and ends a test that takes too
//! long.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder of the plugin.
pub(super) const PLUGIN: &str = "xtask/peer/pytest";
/// The name of a list of tests that fail.
pub(super) const EXPECTED: &str = "expected.txt";

/// What became of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Outcome {
    /// It began, and the process ended with it.
    Started,
    Skipped,
    Passed,
    Failed,
}

/// The files with tests whose names contain a word, below the folder `tests`.
pub(super) fn files(work: &Path, only: Option<&str>) -> Result<Vec<String>, String> {
    let mut found = Vec::new();
    for below in ["tests", "tests/cc"] {
        let Ok(entries) = fs::read_dir(work.join(below)) else { continue };
        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let wanted = only.is_none_or(|word| name.contains(word));
            if name.starts_with("test_") && name.ends_with(".py") && wanted {
                found.push(format!("{below}/{name}"));
            }
        }
    }
    found.sort();
    if found.is_empty() { Err("there are no tests of this name".to_owned()) } else { Ok(found) }
}

/// Where and by what tests run.
#[derive(Debug)]
pub(super) struct Runner {
    /// The interpreter.
    pub(super) python: PathBuf,
    /// The folder that has the folder `tests`.
    pub(super) root: PathBuf,
    /// The package that the tests are about.
    pub(super) package: &'static str,
    /// Where reports are written.
    pub(super) work: PathBuf,
    /// Folders with modules that come before those of the interpreter.
    pub(super) modules: Vec<PathBuf>,
}

impl Runner {
    /// Runs the tests of a file of [`files`]. If one ends the process, the others are run by
    /// another one.
    ///
    /// # Errors
    /// pytest cannot run, or says nothing of any test.
    pub(super) fn run_file(&self, file: &str) -> Result<BTreeMap<String, Outcome>, String> {
        let name = file.replace(['/', '.'], "_");
        let (report, log) = (self.work.join(format!("{name}.report")), self.work.join(format!("{name}.log")));
        let modules = std::env::join_paths(&self.modules).map_err(|error| error.to_string())?;
        loop {
            let output = self.pytest(file, &report, &modules)?;
            fs::write(&log, [output.stdout, output.stderr].concat())
                .map_err(|error| format!("{}: {error}", log.display()))?;
            let mut text = fs::read_to_string(&report).unwrap_or_default();
            let mut outcomes = outcomes(&text);
            let ended: Vec<String> = outcomes
                .iter()
                .filter(|(_, outcome)| **outcome == Outcome::Started)
                .map(|(test, _)| test.clone())
                .collect();
            if ended.is_empty() {
                if outcomes.is_empty() && !matches!(output.status.code(), Some(0 | 5)) {
                    let status = output.status;
                    return Err(format!("{file}: pytest ended with {status}; see {}", log.display()));
                }
                return Ok(self.without_places(outcomes));
            }
            // The process ended with a test: it failed.
            for test in ended {
                text += &format!("failed\t{test}\n");
                outcomes.insert(test, Outcome::Failed);
            }
            fs::write(&report, text).map_err(|error| format!("{}: {error}", report.display()))?;
        }
    }

    /// Names of tests without the folders of this runner: parameters may be paths.
    fn without_places(&self, outcomes: BTreeMap<String, Outcome>) -> BTreeMap<String, Outcome> {
        let folders: Vec<String> =
            self.modules.iter().map(|folder| format!("{}/", folder.display())).collect();
        let short = |name: String| folders.iter().fold(name, |name, folder| name.replace(folder, ""));
        outcomes.into_iter().map(|(name, outcome)| (short(name), outcome)).collect()
    }

    fn pytest(&self, file: &str, report: &Path, modules: &OsStr) -> Result<std::process::Output, String> {
        Command::new(&self.python)
            .args(["-m", "pytest", "-q", "-p", "tdb_conform", "-p", "no:cacheprovider", "--tb=short"])
            // Both libraries get the same random inputs.
            .args(["-W", "ignore", "-o", "python_classes=*Test*", "--hypothesis-seed=47", "--rootdir"])
            .arg(&self.root)
            .arg(self.root.join(file))
            .current_dir(&self.work)
            .env("PYTHONPATH", modules)
            .env("PYTHONDONTWRITEBYTECODE", "1")
            // With it, tests of tiledbsoma take less memory.
            .env("CI", "true")
            .env("TDB_CONFORM_REPORT", report)
            .env("TDB_CONFORM_PACKAGE", self.package)
            .output()
            .map_err(|error| format!("python: {error}"))
    }
}

/// Copies a folder, without benchmarks and what Python makes of modules.
pub(super) fn copy(from: &Path, to: &Path) -> Result<(), String> {
    let wrong = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
    fs::create_dir_all(to).map_err(|error| wrong(to, error))?;
    for entry in fs::read_dir(from).map_err(|error| wrong(from, error))?.flatten() {
        let (source, name) = (entry.path(), entry.file_name());
        if source.is_dir() && name != "perf" && name != "__pycache__" {
            copy(&source, &to.join(&name))?;
        } else if source.is_file() {
            fs::copy(&source, to.join(&name)).map_err(|error| wrong(&source, error))?;
        }
    }
    Ok(())
}

/// Makes a folder, with nothing in it.
pub(super) fn empty_folder(folder: &Path) -> Result<(), String> {
    let wrong = |error| format!("{}: {error}", folder.display());
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(wrong)?;
    }
    fs::create_dir_all(folder).map_err(wrong)
}

/// What a report says: of several outcomes of a test, the worst.
pub(super) fn outcomes(report: &str) -> BTreeMap<String, Outcome> {
    let mut found = BTreeMap::new();
    for (outcome, test) in report.lines().filter_map(|line| line.split_once('\t')) {
        let outcome = match outcome {
            "started" => Outcome::Started,
            "skipped" => Outcome::Skipped,
            "passed" => Outcome::Passed,
            _ => Outcome::Failed,
        };
        let test = test.strip_prefix("tests/").unwrap_or(test).to_owned();
        let known = found.entry(test).or_insert(outcome);
        *known = outcome.max(*known);
    }
    found
}

/// The tests that fail, and why.
#[derive(Debug, Default)]
pub(super) struct Expected {
    /// The beginning of an id, and whether the id ends there.
    tests: Vec<(String, bool)>,
}

impl Expected {
    pub(super) fn read(path: &Path) -> Result<Self, String> {
        let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
        Self::parse(&text)
    }

    /// Lines that begin with `==` are reasons; the lines below are ids, or with `*` at the end
    /// beginnings of ids.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let (mut tests, mut reason) = (Vec::new(), None);
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
            if let Some(why) = line.strip_prefix("==") {
                reason = Some(why.trim()).filter(|why| !why.is_empty());
            } else if reason.is_none() {
                return Err(format!("{EXPECTED}: {line} has no reason"));
            } else if let Some(begin) = line.strip_suffix('*') {
                tests.push((begin.to_owned(), false));
            } else {
                tests.push((line.to_owned(), true));
            }
        }
        Ok(Self { tests })
    }

    pub(super) fn is_expected(&self, test: &str) -> bool {
        self.tests.iter().any(|(begin, whole)| if *whole { test == begin } else { test.starts_with(begin) })
    }

    /// The entries that fit none of these names.
    pub(super) fn without<'a>(&self, names: impl Iterator<Item = &'a str> + Clone) -> Vec<String> {
        let fits = |begin: &str, whole: bool| {
            names.clone().any(|name| if whole { name == begin } else { name.starts_with(begin) })
        };
        let gone = self.tests.iter().filter(|(begin, whole)| !fits(begin, *whole));
        gone.map(|(begin, _)| begin.clone()).collect()
    }

    /// The entries for a file that fit no test of it.
    pub(super) fn unused(&self, file: &str, outcomes: &BTreeMap<String, Outcome>) -> Vec<String> {
        let gone = self.without(outcomes.keys().map(String::as_str));
        gone.into_iter().filter(|begin| begin.split("::").next() == Some(file)).collect()
    }
}

/// A report of a test that passes, one that fails, and one in which the process ended.
#[cfg(test)]
pub(super) const REPORT: &str = "started\ttests/test_a.py::T::one\npassed\ttests/test_a.py::T::one\n\
    started\ttests/test_a.py::T::two\npassed\ttests/test_a.py::T::two\n\
    failed\ttests/test_a.py::T::two\nstarted\ttests/test_a.py::T::three\n";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_outcome_of_a_test_counts_and_one_without_an_end_is_known() {
        let found = outcomes(REPORT);
        assert_eq!(found["test_a.py::T::one"], Outcome::Passed);
        assert_eq!(found["test_a.py::T::two"], Outcome::Failed);
        assert_eq!(found["test_a.py::T::three"], Outcome::Started);
    }

    #[test]
    fn names_of_tests_do_not_depend_on_the_folder_of_the_modules() {
        let runner = |folder: &str| Runner {
            python: "python".into(),
            root: "/tests".into(),
            package: "tiledb",
            work: "/work".into(),
            modules: vec!["/plugin".into(), folder.into()],
        };
        let name = |folder: &str| format!("test_examples.py::T::test_examples[{folder}/examples/vfs.py]");
        let short =
            |folder: &str| runner(folder).without_places(BTreeMap::from([(name(folder), Outcome::Passed)]));
        assert_eq!(short("/one/site-packages"), short("/another"));
        assert!(short("/another").contains_key("test_examples.py::T::test_examples[examples/vfs.py]"));
    }

    #[test]
    fn a_list_has_a_reason_for_each_test() {
        let listed = Expected::parse("# a comment\n== why\ntest_a.py::one\ntest_a.py::T::*\n").unwrap();
        assert!(listed.is_expected("test_a.py::one") && listed.is_expected("test_a.py::T::two"));
        assert!(!listed.is_expected("test_a.py::one_more"));
        assert!(Expected::parse("test_a.py::one").unwrap_err().contains("no reason"));
    }
}
