//! `cargo xtask conform soma`: TileDB-SOMA's own tests, with `tdb.soma.compat` in the place of the
//! package `tiledbsoma`.
//!
//! The tests come from a folder (`apis/python` of a checkout of TileDB-SOMA, release 2.3) and are
//! never part of this repository. Those of the subjects that programs use run by pytest, file by
//! file, with tiledbsoma itself, and again with `xtask/peer/tiledbsoma`, which stands for it. What
//! passes with the one must pass with the other, or be in the list there, with the reason.

use std::path::PathBuf;

use super::capi::{self, PYTHON, Table};
use super::pytest::{self, EXPECTED, Expected, PLUGIN, Runner};
use crate::{peer, python};

pub(super) const USAGE: &str = "--tests DIR [--only WORD] [--python 3.13]";

/// What stands for `tiledbsoma`, and the list of tests that fail.
const STAND_IN: &str = "xtask/peer/tiledbsoma";
/// The package that the tests are about.
const PACKAGE: &str = "tiledbsoma";
/// The files about data frames, arrays, experiments, queries, collections and `io`, and about what
/// these have in common.
const SUBJECTS: [&str; 27] = [
    "10x_reader",
    "basic_anndata_io",
    "collection",
    "context",
    "dataframe",
    "dataframe_index_columns",
    "dataframe_io_roundtrips",
    "dense_nd_array",
    "experiment_axis_delete",
    "experiment_basic",
    "experiment_query",
    "factory",
    "indexer",
    "io",
    "io_conversions",
    "metadata",
    "platform_config",
    "registration_mappings",
    "reopen",
    "shape",
    "sparse_nd_array",
    "tiledbobject",
    "type_system",
    "unicode",
    "update_dataframes",
    "update_matrix",
    "update_uns",
];
/// Of the tests that pass with tiledbsoma, so many pass with tdb, in percent.
const SHARE: usize = 70;

#[derive(Debug, PartialEq, Eq)]
struct Options {
    tests: PathBuf,
    only: Option<String>,
    python: String,
}

impl Options {
    fn parse(args: &[String]) -> Result<Self, String> {
        let (mut tests, mut only, mut python) = (None, None, PYTHON.to_owned());
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
    let environment = capi::soma_environment(&folder, &options.python)?;
    let wheel = python::wheel(&root, &folder, &environment, "")?;
    python::install_wheel(&environment, &wheel)?;
    let work = folder.join("soma-tests");
    pytest::empty_folder(&work)?;
    // The names are as long: pytest names tests by parameters, such as paths.
    let runner = |side: &str, modules: Vec<PathBuf>| -> Result<Runner, String> {
        let own = work.join(side);
        pytest::empty_folder(&own)?;
        pytest::copy(&options.tests.join("tests"), &own.join("tests"))?;
        let python = python::program(&environment, "python");
        Ok(Runner { python, root: own.clone(), package: PACKAGE, work: own, modules })
    };
    let stand_in = root.join(STAND_IN);
    let genuine = runner("side-1", vec![root.join(PLUGIN)])?;
    let own = runner("side-2", vec![root.join(PLUGIN), stand_in.clone()])?;
    let expected = Expected::read(&stand_in.join(EXPECTED))?;
    let mut table = Table::new(PACKAGE, SHARE);
    let files = pytest::files(&genuine.root, options.only.as_deref())?;
    for file in files.iter().filter(|file| is_subject(file)) {
        table.add(file, &genuine.run_file(file)?, &own.run_file(file)?, &expected);
    }
    table.finish(options.only.is_none())
}

/// Whether a file is about something that programs use.
fn is_subject(file: &str) -> bool {
    let stem = file.strip_prefix("tests/test_").and_then(|name| name.strip_suffix(".py"));
    stem.is_some_and(|stem| SUBJECTS.contains(&stem))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_name_a_folder_of_tests() {
        let options = Options::parse(&super::super::words("--tests x --only shape")).unwrap();
        let expected =
            Options { tests: "x".into(), only: Some("shape".to_owned()), python: PYTHON.to_owned() };
        assert_eq!(options, expected);
        for wrong in ["", "--tests", "--tests x --every 3"] {
            assert!(Options::parse(&super::super::words(wrong)).is_err(), "{wrong}");
        }
    }

    #[test]
    fn files_about_the_extension_module_and_about_space_are_no_subjects() {
        assert!(is_subject("tests/test_dataframe.py"));
        for other in ["tests/test_clib.py", "tests/test_scene.py", "tests/cc/test_dataframe.py"] {
            assert!(!is_subject(other), "{other}");
        }
    }
}
