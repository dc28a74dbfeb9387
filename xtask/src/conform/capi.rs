//! `cargo xtask conform capi`: TileDB-Py's wheel with our library in the place of libtiledb.
//!
//! The wheel carries its own tests. They run file by file with the genuine library, and again with
//! a copy of the package whose library is that of `tdb-capi`. What passes with the one must pass
//! with the other, or be in `xtask/peer/capi/expected.txt`, with the reason. With `--tests DIR`,
//! the tests are those of tiledbsoma, of which a checkout of TileDB-SOMA has them in
//! `apis/python`, and no list says which may fail.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::capi_soma;
use super::pytest::{self, EXPECTED, Expected, Outcome, PLUGIN, Runner};
use crate::{peer, python};

pub(super) const USAGE: &str =
    "[--only WORD] [--every N] [--tests DIR] [--library FILE] [--optional yes] [--python 3.13]";

/// The folder of the list.
pub(super) const LIST: &str = "xtask/peer/capi";
/// The virtual environment, and the release of Python of it.
pub(super) const ENVIRONMENT: &str = "capi";
pub(super) const PYTHON: &str = "3.13";
/// The wheel, which has libtiledb 2.30.0, and what its tests need.
pub(super) const TOOLS: [&str; 9] = [
    "tiledb==0.36.1",
    "numpy>=2",
    "pytest>=8",
    "hypothesis",
    "psutil",
    "packaging",
    "pandas>=2.2,<3",
    "pyarrow>=18",
    "dask[array]>=2024.9",
];
/// What the tests of tiledbsoma need beside what it needs itself.
const SOMA_TEST_TOOLS: [&str; 6] =
    ["hypothesis", "typeguard==4.4.2", "sparse", "deepdiff", "dask[array]>=2024.9", "scanpy"];
/// The folder of the wheel; its libraries are in one beside it.
pub(crate) const PACKAGE: &str = "tiledb";
/// The folder of examples that the wheel puts beside the package.
const EXAMPLES: &str = "examples";
/// How the file of the library begins; the wheel adds a hash.
const LIBRARY: &str = "libtiledb";
/// Of the tests that pass with libtiledb, so many pass with tdb, in percent.
const SHARE: usize = 97;

#[derive(Debug, PartialEq, Eq)]
struct Options {
    only: Option<String>,
    /// Takes each so-many-th file.
    every: usize,
    /// The folder with the tests of tiledbsoma, which run instead of those of the wheel.
    tests: Option<PathBuf>,
    library: Option<PathBuf>,
    optional: bool,
    python: String,
}

impl Options {
    fn parse(args: &[String]) -> Result<Self, String> {
        let python = PYTHON.to_owned();
        let mut options = Self { only: None, every: 1, tests: None, library: None, optional: false, python };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let value = args.next().ok_or_else(|| format!("{arg} needs a value: {USAGE}"))?;
            match arg.as_str() {
                "--only" => options.only = Some(value.clone()),
                "--every" => {
                    let every = value.parse().ok().filter(|every| *every > 0);
                    options.every =
                        every.ok_or_else(|| format!("--every takes a number from 1 on: {USAGE}"))?;
                }
                "--tests" => options.tests = Some(PathBuf::from(value)),
                "--library" => options.library = Some(PathBuf::from(value)),
                "--optional" => options.optional = value == "yes",
                "--python" => options.python.clone_from(value),
                _ => return Err(format!("unknown argument {arg}: {USAGE}")),
            }
        }
        Ok(options)
    }

    /// The environment that has the packages.
    fn environment(&self, folder: &Path) -> Result<PathBuf, String> {
        if self.tests.is_none() {
            return python::environment(folder, ENVIRONMENT, &self.python, &TOOLS, &[]);
        }
        soma_environment(folder, &self.python)
    }

    /// Whether all tests run.
    fn is_whole(&self) -> bool {
        self.only.is_none() && self.every == 1
    }
}

/// The environment for the tests of tiledbsoma.
pub(super) fn soma_environment(folder: &Path, python: &str) -> Result<PathBuf, String> {
    let tools = [python::SOMA_TOOLS.as_slice(), &SOMA_TEST_TOOLS].concat();
    python::environment_without(folder, "capi-soma-tests", python, &tools, &python::SOMA_PEER[1..])
}

/// Entry point.
pub(super) fn run(args: &[String]) -> Result<(), String> {
    let options = Options::parse(args)?;
    let root = peer::repository_root()?;
    let folder = python::folder(&root);
    let environment = match options.environment(&folder) {
        Ok(environment) => environment,
        Err(why) if options.optional => {
            println!("skipped: the packages cannot be installed: {why}");
            return Ok(());
        }
        Err(why) => return Err(why),
    };
    let library = match &options.library {
        Some(library) => library.clone(),
        None => built(&root)?,
    };
    let work = folder.join("capi-tests");
    let (genuine_work, own_work) = (work.join("genuine"), work.join("tdb"));
    [&work, &genuine_work, &own_work].into_iter().try_for_each(|folder| pytest::empty_folder(folder))?;
    let modules = modules(&environment)?;
    // Both are copies, in folders whose names are as long: pytest names tests by parameters, such
    // as paths, unless these are long.
    let (genuine_modules, own_modules) = (work.join("modules-1"), work.join("modules-2"));
    let package = if options.tests.is_some() { capi_soma::PACKAGE } else { PACKAGE };
    copy_package(package, &modules, &genuine_modules)?;
    with_library(package, &modules, &own_modules, &library)?;
    // Beside the package are examples, which a test runs.
    let examples = modules.join(EXAMPLES);
    if options.tests.is_none() && examples.is_dir() {
        for modules in [&genuine_modules, &own_modules] {
            pytest::copy(&examples, &modules.join(EXAMPLES))?;
        }
    }
    let tests = options.tests.as_ref().map(std::path::absolute).transpose();
    let tests = tests.map_err(|error| error.to_string())?;
    let runner = |modules: PathBuf, work: PathBuf| Runner {
        python: python::program(&environment, "python"),
        root: tests.clone().unwrap_or_else(|| modules.join(package)),
        package,
        work,
        modules: vec![root.join(PLUGIN), modules],
    };
    let genuine = runner(genuine_modules, genuine_work);
    let own = runner(own_modules, own_work);
    let expected = match options.tests {
        Some(_) => Expected::default(),
        None => Expected::read(&root.join(LIST).join(EXPECTED))?,
    };
    let mut table = Table::new("libtiledb", SHARE);
    let files = pytest::files(&genuine.root, options.only.as_deref())?;
    for file in files.iter().step_by(options.every) {
        table.add(file, &genuine.run_file(file)?, &own.run_file(file)?, &expected);
    }
    table.finish(options.is_whole())
}

/// Builds the library with optimisation, and returns its path.
pub(crate) fn built(root: &Path) -> Result<PathBuf, String> {
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--locked", "--release", "--package", "tdb-capi"]).current_dir(root);
    let status = cargo.status().map_err(|error| format!("cargo: {error}"))?;
    if !status.success() {
        return Err(format!("cargo build ended with {status}"));
    }
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), |dir| root.join(dir));
    Ok(target.join("release/libtiledb.so"))
}

/// The folder that has the packages of an environment.
pub(crate) fn modules(environment: &Path) -> Result<PathBuf, String> {
    let ask = "import sysconfig; print(sysconfig.get_path('platlib'))";
    let mut program = Command::new(python::program(environment, "python"));
    let output = program.args(["-c", ask]).output().map_err(|error| format!("python: {error}"))?;
    Ok(PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()))
}

/// The folder of the libraries of a package.
fn libraries(package: &str) -> String {
    format!("{package}.libs")
}

/// Copies a package, and the folder of libraries that belongs to it.
fn copy_package(package: &str, modules: &Path, own: &Path) -> Result<(), String> {
    let mut folders = [package.to_owned(), libraries(package)].into_iter();
    folders.try_for_each(|folder| pytest::copy(&modules.join(&folder), &own.join(&folder)))
}

/// Copies a package, and the folder of libraries that belongs to it, with a library in the place of
/// each libtiledb that they have: a namespace of packages may have several. Modules find theirs by
/// its name, in a folder beside their own.
pub(crate) fn with_library(package: &str, modules: &Path, own: &Path, library: &Path) -> Result<(), String> {
    copy_package(package, modules, own)?;
    let mut replaced = 0;
    for folder in [package.to_owned(), libraries(package)] {
        for place in copies(&own.join(&folder))? {
            fs::copy(library, &place).map_err(|error| format!("{}: {error}", library.display()))?;
            replaced += 1;
        }
    }
    if replaced > 0 { Ok(()) } else { Err(format!("{package} has no {LIBRARY}")) }
}

/// The library of a package, in a folder with modules.
pub(super) fn library_of(package: &str, modules: &Path) -> Result<PathBuf, String> {
    let folder = modules.join(libraries(package));
    let found = copies(&folder)?.into_iter().next();
    found.ok_or_else(|| format!("{} has no {LIBRARY}", folder.display()))
}

/// All copies of libtiledb below a folder.
fn copies(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    let entries = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            found.extend(copies(&path)?);
        } else if path.file_name().is_some_and(|name| is_library(&name.to_string_lossy())) {
            found.push(path);
        }
    }
    Ok(found)
}

/// Whether a file is libtiledb. There may be others beside it, with longer names.
fn is_library(name: &str) -> bool {
    let rest = name.strip_prefix(LIBRARY);
    rest.is_some_and(|rest| rest.starts_with('-') || rest.starts_with(".so"))
}

/// The counts of a file: passed with the peer; of these, passed with tdb, failed as expected, and
/// failed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Table {
    /// Who passes all of these tests.
    peer: &'static str,
    /// The share of them that tdb passes, in percent, at least.
    share: usize,
    rows: Vec<(String, [usize; 4])>,
    wrong: Vec<String>,
}

impl Table {
    pub(super) const fn new(peer: &'static str, share: usize) -> Self {
        Self { peer, share, rows: Vec::new(), wrong: Vec::new() }
    }

    pub(super) fn add(
        &mut self,
        file: &str,
        genuine: &BTreeMap<String, Outcome>,
        own: &BTreeMap<String, Outcome>,
        expected: &Expected,
    ) {
        let name = file.strip_prefix("tests/").unwrap_or(file);
        let mut counts = [0; 4];
        let [with_genuine, with_own, as_expected, failed] = &mut counts;
        for test in genuine.iter().filter(|(_, outcome)| **outcome == Outcome::Passed).map(|(test, _)| test) {
            *with_genuine += 1;
            let passes = own.get(test) == Some(&Outcome::Passed);
            match (passes, expected.is_expected(test)) {
                (true, listed) => {
                    *with_own += 1;
                    if listed {
                        self.wrong.push(format!("passes, but is listed: {test}"));
                    }
                }
                (false, true) => *as_expected += 1,
                (false, false) => {
                    *failed += 1;
                    self.wrong.push(format!("passes with {} alone: {test}", self.peer));
                }
            }
        }
        for entry in expected.unused(name, genuine) {
            self.wrong.push(format!("is listed, but does not exist: {entry}"));
        }
        println!("{}", row(name, &counts));
        self.rows.push((name.to_owned(), counts));
    }

    /// Prints the table, and fails if anything is not as expected.
    pub(super) fn finish(mut self, whole: bool) -> Result<(), String> {
        println!("\n{:<36} {:>9} {:>7} {:>9} {:>7}", "file", self.peer, "tdb", "expected", "failed");
        let mut sum = [0; 4];
        for (name, counts) in &self.rows {
            println!("{}", row(name, counts));
            sum.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
        println!("{}", row("all", &sum));
        let [with_genuine, with_own, ..] = sum;
        if whole && with_own * 100 < with_genuine * self.share {
            let why = format!("{with_own} of {with_genuine} tests pass: less than {} %", self.share);
            self.wrong.push(why);
        }
        if self.wrong.is_empty() { Ok(()) } else { Err(self.wrong.join("\n")) }
    }
}

fn row(name: &str, [with_genuine, with_own, as_expected, failed]: &[usize; 4]) -> String {
    format!("{name:<36} {with_genuine:>9} {with_own:>7} {as_expected:>9} {failed:>7}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_choose_files_and_a_library() {
        let options = Options::parse(&super::super::words("--every 4 --library x.so --optional yes"));
        let expected = Options {
            only: None,
            every: 4,
            tests: None,
            library: Some("x.so".into()),
            optional: true,
            python: "3.13".to_owned(),
        };
        assert_eq!(options, Ok(expected));
        let options = Options::parse(&super::super::words("--tests soma/apis/python")).unwrap();
        assert_eq!(options.tests, Some("soma/apis/python".into()));
        for wrong in ["--every 0", "--every x", "--library", "--test x"] {
            assert!(Options::parse(&super::super::words(wrong)).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_library_has_a_hash_or_none_and_others_have_longer_names() {
        for name in ["libtiledb.so.2.30", "libtiledb-edd2b82f.so.2.30", "libtiledb.so"] {
            assert!(is_library(name), "{name}");
        }
        for name in ["libtiledbsoma.so", "libtiledbsoma-2c1e8971.so", "libzstd.so", "main.so"] {
            assert!(!is_library(name), "{name}");
        }
    }

    #[test]
    fn a_test_that_passes_with_libtiledb_must_pass_or_be_listed() {
        let report = |text: &str| pytest::outcomes(text);
        let genuine = report(
            "passed\ttests/test_a.py::one\npassed\ttests/test_a.py::two\nfailed\ttests/test_a.py::three",
        );
        let own = report(
            "passed\ttests/test_a.py::one\nstarted\ttests/test_a.py::two\npassed\ttests/test_a.py::three",
        );
        let listed = |text: &str| {
            let mut table = Table::new("libtiledb", SHARE);
            table.add("tests/test_a.py", &genuine, &own, &Expected::parse(text).unwrap());
            (table.rows.pop().unwrap().1, table.wrong)
        };
        let fails = vec!["passes with libtiledb alone: test_a.py::two".to_owned()];
        assert_eq!(listed(""), ([2, 1, 0, 1], fails));
        assert_eq!(listed("== why\ntest_a.py::two"), ([2, 1, 1, 0], Vec::new()));
        let (counts, wrong) = listed("== why\ntest_a.py::*\ntest_a.py::four");
        assert_eq!(counts, [2, 1, 1, 0]);
        assert_eq!(
            wrong,
            ["passes, but is listed: test_a.py::one", "is listed, but does not exist: test_a.py::four"]
        );
    }

    #[test]
    fn too_small_a_share_fails_a_whole_run() {
        let table = || Table {
            rows: vec![("test_a.py".to_owned(), [100, 96, 4, 0])],
            ..Table::new("libtiledb", SHARE)
        };
        assert!(table().finish(true).unwrap_err().contains("96 of 100"));
        assert_eq!(table().finish(false), Ok(()));
    }
}
