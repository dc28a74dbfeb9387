//! `cargo xtask conform tiledb-py`: TileDB-Py's own tests, with `tdb.compat` in the place of the
//! package `tiledb`.
//!
//! The tests come from a folder (`tiledb/tests` of a checkout of TileDB-Py, release 0.36) and are
//! never part of this repository. A copy of them runs by pytest, one file after the other, in an
//! environment of `cargo xtask python`. `xtask/peer/tiledb_py` has the module that stands for
//! `tiledb`, the plugin that reports outcomes, and the list of the tests that fail, with the reason
//! of each. What passes and is listed, or fails and is not, fails the command.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::pytest::{self, EXPECTED, Expected, Outcome, PLUGIN, Runner};
use crate::{peer, python};

pub(super) const USAGE: &str = "--tests DIR [--only WORD] [--python 3.13]";

/// The module that stands for `tiledb`, and the list of tests that fail.
pub(super) const STAND_IN: &str = "xtask/peer/tiledb_py";
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

/// Entry point.
pub(super) fn run(args: &[String]) -> Result<(), String> {
    let options = Options::parse(args)?;
    let root = peer::repository_root()?;
    let folder = python::folder(&root);
    let environment = python::environment(&folder, "tiledb-py", &options.python, &TOOLS, &[])?;
    let wheel = python::wheel(&root, &folder, &environment, "")?;
    python::install_wheel(&environment, &wheel)?;
    let work = folder.join("tiledb-py-tests");
    pytest::empty_folder(&work)?;
    pytest::copy(&options.tests, &work.join("tests"))?;
    let stand_in = root.join(STAND_IN);
    let expected = Expected::read(&stand_in.join(EXPECTED))?;
    let runner = Runner {
        python: python::program(&environment, "python"),
        root: work.clone(),
        package: "tiledb",
        work: work.clone(),
        modules: vec![root.join(PLUGIN), stand_in],
    };
    let mut table = Table::default();
    for file in pytest::files(&work, options.only.as_deref())? {
        table.add(&file, &runner.run_file(&file)?, &expected);
    }
    table.finish(options.only.is_none())
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
    fn what_is_not_as_listed_fails_in_each_direction() {
        let listed = |text: &str| {
            let mut table = Table::default();
            table.add("tests/test_a.py", &pytest::outcomes(pytest::REPORT), &Expected::parse(text).unwrap());
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
    }
}
