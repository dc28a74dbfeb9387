//! `cargo xtask conform tiledb-py`: TileDB-Py's own tests, with `tdb.compat` in the place of the
//! package `tiledb`.
//!
//! The tests come from a folder (`tiledb/tests` of a checkout of TileDB-Py, release 0.36) and are
//! never part of this repository. A copy of them runs by pytest, one file after the other, in an
//! environment of `cargo xtask python`. `xtask/peer/tiledb_py` has the module that stands for
//! `tiledb`, the plugin that reports outcomes, and the list of the tests that fail, with the reason
//! of each. What passes and is listed, or fails and is not, fails the command.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{peer, python};

pub(super) const USAGE: &str = "--tests DIR [--only WORD] [--python 3.13]";

/// The module that stands for `tiledb`, the plugin, and the list.
const STAND_IN: &str = "xtask/peer/tiledb_py";
const EXPECTED: &str = "expected.txt";
/// What the tests need. TileDB-Py takes no newer pandas.
const TOOLS: [&str; 7] =
    ["numpy>=2", "pytest>=8", "hypothesis", "psutil", "packaging", "pandas>=2.2,<3", "pyarrow>=18"];
/// The files of which at least this share passes, in percent.
const TEN: [&str; 10] = [
    "multi_index",
    "query_condition",
    "read_subarray",
    "aggregates",
    "metadata",
    "enumeration",
    "current_domain",
    "domain_index",
    "attribute",
    "pandas_dataframe",
];
const SHARE: usize = 80;

/// What was asked for.
#[derive(Debug, PartialEq, Eq)]
struct Options {
    tests: PathBuf,
    only: Option<String>,
    python: String,
}

impl Options {
    fn parse(args: &[String]) -> Result<Self, String> {
        let (mut tests, mut only, mut python) = (None, None, "3.13".to_owned());
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let value = args.next().ok_or_else(|| format!("{arg} needs a value: {USAGE}"))?;
            match arg.as_str() {
                "--tests" => tests = Some(PathBuf::from(value)),
                "--only" => only = Some(value.clone()),
                "--python" => python.clone_from(value),
                _ => return Err(format!("unknown argument {arg}: {USAGE}")),
            }
        }
        let tests = tests.ok_or_else(|| format!("which tests? {USAGE}"))?;
        Ok(Self { tests, only, python })
    }
}

/// What became of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    /// It began, and the process ended with it.
    Started,
    Skipped,
    Passed,
    Failed,
}

/// Entry point.
pub(super) fn run(args: &[String]) -> Result<(), String> {
    let options = Options::parse(args)?;
    let root = peer::repository_root()?;
    let folder = python::folder(&root);
    let environment = python::environment(&folder, "tiledb-py", &options.python, &TOOLS, &[])?;
    let wheel = python::wheel(&root, &folder, &environment, "")?;
    python::install_wheel(&environment, &wheel)?;
    let work = folder.join("tiledb-py-tests");
    if work.exists() {
        fs::remove_dir_all(&work).map_err(|error| format!("{}: {error}", work.display()))?;
    }
    copy(&options.tests, &work.join("tests"))?;
    let expected = Expected::read(&root.join(STAND_IN).join(EXPECTED))?;
    let mut table = Table::default();
    for file in files(&work, options.only.as_deref())? {
        let outcomes = run_file(&root, &environment, &work, &file)?;
        table.add(&file, &outcomes, &expected);
    }
    table.finish(options.only.is_none())
}

/// Copies a folder of tests, without benchmarks and what Python makes of them.
fn copy(from: &Path, to: &Path) -> Result<(), String> {
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

/// The files with tests whose names contain a word, below the folder `tests`.
fn files(work: &Path, only: Option<&str>) -> Result<Vec<String>, String> {
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

/// Runs the tests of a file. If one ends the process, the others are run by another one.
fn run_file(
    root: &Path,
    environment: &Path,
    work: &Path,
    file: &str,
) -> Result<BTreeMap<String, Outcome>, String> {
    let name = file.replace(['/', '.'], "_");
    let (report, log) = (work.join(format!("{name}.report")), work.join(format!("{name}.log")));
    let stand_in = root.join(STAND_IN);
    loop {
        let output = Command::new(python::program(environment, "python"))
            .args(["-m", "pytest", "-q", "-p", "tdb_conform", "-p", "no:cacheprovider", "--tb=short"])
            .args(["-W", "ignore", "-o", "python_classes=*Test*", file])
            .current_dir(work)
            .env("PYTHONPATH", &stand_in)
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("TDB_CONFORM_REPORT", &report)
            .output()
            .map_err(|error| format!("python: {error}"))?;
        fs::write(&log, [output.stdout, output.stderr].concat())
            .map_err(|error| format!("{}: {error}", log.display()))?;
        let text = fs::read_to_string(&report).unwrap_or_default();
        let mut outcomes = outcomes(&text);
        let ended: Vec<String> = outcomes
            .iter()
            .filter(|(_, outcome)| **outcome == Outcome::Started)
            .map(|(test, _)| test.clone())
            .collect();
        if ended.is_empty() {
            if outcomes.is_empty() && !matches!(output.status.code(), Some(0 | 5)) {
                return Err(format!("{file}: pytest ended with {}; see {}", output.status, log.display()));
            }
            return Ok(outcomes);
        }
        // The process ended with a test: it failed.
        let mut text = text;
        for test in ended {
            text += &format!("failed\t{test}\n");
            outcomes.insert(test, Outcome::Failed);
        }
        fs::write(&report, text).map_err(|error| format!("{}: {error}", report.display()))?;
    }
}

/// What a report says: of several outcomes of a test, the worst.
fn outcomes(report: &str) -> BTreeMap<String, Outcome> {
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
struct Expected {
    /// The beginning of an id, and whether the id ends there.
    tests: Vec<(String, bool)>,
}

impl Expected {
    fn read(path: &Path) -> Result<Self, String> {
        let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
        Self::parse(&text)
    }

    /// Lines that begin with `==` are reasons; the lines below are ids, or with `*` at the end
    /// beginnings of ids.
    fn parse(text: &str) -> Result<Self, String> {
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

    fn is_expected(&self, test: &str) -> bool {
        self.tests.iter().any(|(begin, whole)| if *whole { test == begin } else { test.starts_with(begin) })
    }

    /// The entries for a file that fit no test of it.
    fn unused(&self, file: &str, outcomes: &BTreeMap<String, Outcome>) -> Vec<String> {
        let of_file = self.tests.iter().filter(|(begin, _)| begin.split("::").next() == Some(file));
        of_file
            .filter(|(begin, whole)| {
                !outcomes.keys().any(|test| if *whole { test == begin } else { test.starts_with(begin) })
            })
            .map(|(begin, _)| begin.clone())
            .collect()
    }
}

/// The counts of a file: passed, failed as expected, failed, skipped.
#[derive(Debug, Default, PartialEq, Eq)]
struct Table {
    rows: Vec<(String, [usize; 4])>,
    wrong: Vec<String>,
}

impl Table {
    fn add(&mut self, file: &str, outcomes: &BTreeMap<String, Outcome>, expected: &Expected) {
        let name = file.strip_prefix("tests/").unwrap_or(file);
        let mut counts = [0; 4];
        let [passed, as_expected, failed, skipped] = &mut counts;
        for (test, outcome) in outcomes {
            match (outcome, expected.is_expected(test)) {
                (Outcome::Skipped, _) => *skipped += 1,
                (Outcome::Passed, listed) => {
                    *passed += 1;
                    if listed {
                        self.wrong.push(format!("passes, but is listed: {test}"));
                    }
                }
                (_, true) => *as_expected += 1,
                (_, false) => {
                    *failed += 1;
                    self.wrong.push(format!("fails: {test}"));
                }
            }
        }
        for entry in expected.unused(name, outcomes) {
            self.wrong.push(format!("is listed, but does not exist: {entry}"));
        }
        println!("{name}: {}", row(&counts));
        self.rows.push((name.to_owned(), counts));
    }

    /// Prints the table, and fails if anything is not as expected.
    fn finish(self, all: bool) -> Result<(), String> {
        println!("\n{:<36} {:>7} {:>9} {:>7} {:>8}", "file", "passed", "expected", "failed", "skipped");
        let (mut ten, mut sum) = ([0; 4], [0; 4]);
        for (name, counts) in &self.rows {
            println!("{name:<36} {}", columns(counts));
            let stem = name.strip_prefix("test_").and_then(|name| name.strip_suffix(".py"));
            for (at, count) in counts.iter().enumerate() {
                if let Some(all) = sum.get_mut(at) {
                    *all += count;
                }
                if let Some(part) = ten.get_mut(at).filter(|_| stem.is_some_and(|stem| TEN.contains(&stem))) {
                    *part += count;
                }
            }
        }
        println!("{:<36} {}", "the ten files", columns(&ten));
        println!("{:<36} {}", "all", columns(&sum));
        let mut wrong = self.wrong;
        let [passed, as_expected, failed, _] = ten;
        let ran = passed + as_expected + failed;
        if all && passed * 100 < ran * SHARE {
            wrong.push(format!("of the ten files, {passed} of {ran} tests pass: less than {SHARE} %"));
        }
        if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
    }
}

fn row([passed, as_expected, failed, skipped]: &[usize; 4]) -> String {
    format!("{passed} passed, {as_expected} failed as expected, {failed} failed, {skipped} skipped")
}

fn columns([passed, as_expected, failed, skipped]: &[usize; 4]) -> String {
    format!("{passed:>7} {as_expected:>9} {failed:>7} {skipped:>8}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = "started\ttests/test_a.py::T::one\npassed\ttests/test_a.py::T::one\n\
                          started\ttests/test_a.py::T::two\npassed\ttests/test_a.py::T::two\n\
                          failed\ttests/test_a.py::T::two\nstarted\ttests/test_a.py::T::three\n";

    #[test]
    fn arguments_name_a_folder_of_tests() {
        let options = Options::parse(&super::super::words("--tests x --only core --python 3.10")).unwrap();
        let expected =
            Options { tests: "x".into(), only: Some("core".to_owned()), python: "3.10".to_owned() };
        assert_eq!(options, expected);
        for wrong in ["", "--tests", "--tests x --every 3"] {
            assert!(Options::parse(&super::super::words(wrong)).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_worst_outcome_of_a_test_counts_and_one_without_an_end_is_known() {
        let found = outcomes(REPORT);
        assert_eq!(found["test_a.py::T::one"], Outcome::Passed);
        assert_eq!(found["test_a.py::T::two"], Outcome::Failed);
        assert_eq!(found["test_a.py::T::three"], Outcome::Started);
    }

    #[test]
    fn what_is_not_as_listed_fails_in_each_direction() {
        let listed = |text: &str| {
            let mut table = Table::default();
            table.add("tests/test_a.py", &outcomes(REPORT), &Expected::parse(text).unwrap());
            (table.rows.pop().unwrap().1, table.wrong)
        };
        let fails = ["fails: test_a.py::T::three", "fails: test_a.py::T::two"].map(str::to_owned).to_vec();
        assert_eq!(listed(""), ([1, 0, 2, 0], fails));
        assert_eq!(listed("== why\ntest_a.py::T::t*"), ([1, 2, 0, 0], Vec::new()));
        let (counts, wrong) = listed("== why\ntest_a.py::T::*\ntest_a.py::U::one\ntest_b.py::x");
        assert_eq!(counts, [1, 2, 0, 0]);
        assert_eq!(
            wrong,
            ["passes, but is listed: test_a.py::T::one", "is listed, but does not exist: test_a.py::U::one"]
        );
        assert!(Expected::parse("test_a.py::one").unwrap_err().contains("no reason"));
    }
}
