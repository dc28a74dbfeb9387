//! `cargo xtask conform programs`: programs that are built on TileDB-Py do the same on `tdb.compat`
//! as on libtiledb.
//!
//! The programs come from PyPI, in fixed releases, into one environment with TileDB-Py.
//! `xtask/peer/programs/jobs.py` has a small whole job of each (write, read, list, change, fail),
//! which prints what it saw. A job runs once with the genuine module `tiledb` and once with
//! `xtask/peer/tiledb_py`, which gives `tdb.compat` that name; what both saw must be equal. On the
//! genuine side programs that use names of older releases of TileDB-Py get these names from
//! `old_names` of `jobs.py`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::tiledb_py::STAND_IN;
use crate::peer::{repository_root, scratch};
use crate::python;

pub(super) const USAGE: &str = "[--only PROGRAM] [--optional yes] [--python 3.12]";

pub(super) const JOBS: &str = "xtask/peer/programs/jobs.py";
/// The programs, by the names of their jobs.
pub(super) const PROGRAMS: [&str; 8] =
    ["bioimg", "segy", "cf", "cellarr", "momics", "radiobject", "dask", "vector_search"];
/// Programs of which nothing runs here, and why.
const WITHOUT: [(&str, &str); 1] = [(
    "cellxgene 1.18.0",
    "not run: it reads by tiledbsoma, whose compiled part links libtiledb; it uses no name of `tiledb` itself",
)];
/// What is installed with all that it needs.
const WHOLE: [&str; 31] = [
    "tiledb==0.36.1",
    "tiledb-bioimg==0.3.10",
    "tiledb-cf==0.9.1",
    "tiledb-segy==0.3.1",
    "segyio==1.9.14",
    "psutil==7.2.2",
    "dask==2026.8.0",
    "anndata==0.11.4",
    "mopsy==0.3.0",
    "summarizedexperiment==0.8.0",
    "pandas==2.3.3",
    "pyarrow==26.0.1",
    "scipy==1.18.1",
    "pydantic==2.14.4",
    "nibabel==5.4.2",
    "tqdm==4.70.1",
    "pydicom==3.0.2",
    "boto3==1.44.8",
    "pyranges==0.1.7",
    "pyBigWig==0.3.29",
    "pyfaidx==0.9.2.2",
    "biopython==1.88",
    "cloup==4.0.0",
    "netCDF4==1.7.5.1.post1",
    "xarray==2026.9.0",
    "zarr==2.18.7",
    "tifffile==2025.3.30",
    "scikit-learn==1.9.1",
    "attrs==26.1.0",
    "importlib_metadata==10.2.0",
    "lazy-importer==0.1.0",
];
/// What is installed without what it names: some of that is frameworks of several gigabytes, which
/// these jobs do not use.
const ALONE: [&str; 6] = [
    "cellarr==0.6.2",
    "cellarr-array==0.3.3",
    "momics==0.4.0",
    "radiobject==0.1.1",
    "tiledb-vector-search==0.16.0",
    "tiledb-cloud==0.14.4",
];

#[derive(Debug, PartialEq, Eq)]
struct Options {
    only: Option<String>,
    optional: bool,
    python: String,
}

impl Options {
    fn parse(args: &[String]) -> Result<Self, String> {
        let mut options = Self { only: None, optional: false, python: "3.12".to_owned() };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let value = args.next().ok_or_else(|| format!("{arg} needs a value: {USAGE}"))?;
            match (arg.as_str(), value.as_str()) {
                ("--only", name) if PROGRAMS.contains(&name) => options.only = Some(value.clone()),
                ("--only", _) => return Err(format!("{value} is none of {}", PROGRAMS.join(", "))),
                ("--optional", "yes") => options.optional = true,
                ("--python", _) => options.python.clone_from(value),
                _ => return Err(format!("unknown argument {arg} {value}: {USAGE}")),
            }
        }
        Ok(options)
    }
}

/// Entry point of the subcommand.
pub(super) fn run(args: &[String]) -> Result<(), String> {
    let options = Options::parse(args)?;
    let root = repository_root()?;
    let folder = python::folder(&root);
    let environment = match environment(&folder, &options.python) {
        Ok(environment) => environment,
        Err(why) if options.optional => {
            println!("skipped: the programs cannot be installed: {why}");
            return Ok(());
        }
        Err(why) => return Err(why),
    };
    let wheel = python::wheel(&root, &folder, &environment, "")?;
    python::install_wheel(&environment, &wheel)?;
    let mut failures = Vec::new();
    println!("| program | values | is |\n|---|--:|---|");
    let wanted = |name: &&str| options.only.as_deref().is_none_or(|only| only == *name);
    for program in PROGRAMS.into_iter().filter(wanted) {
        let differences = compared(&root, &environment, program)?;
        let is = if differences.found.is_empty() { "equal" } else { "different" };
        println!("| {program} | {} | {is} |", differences.values);
        failures.extend(differences.found.into_iter().map(|one| format!("{program}: {one}")));
    }
    if options.only.is_none() {
        WITHOUT.iter().for_each(|(program, why)| println!("| {program} | 0 | {why} |"));
    }
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n")) }
}

/// The virtual environment with all programs, for a release of Python.
pub(super) fn environment(folder: &Path, python: &str) -> Result<PathBuf, String> {
    python::environment_without(folder, "programs", python, &WHOLE, &ALONE)
}

/// What a comparison of both sides of a job found.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Compared {
    /// How many values libtiledb's side saw.
    pub(super) values: usize,
    pub(super) found: Vec<String>,
}

/// Runs a job on both sides, and compares what they saw.
fn compared(root: &Path, environment: &Path, program: &str) -> Result<Compared, String> {
    let genuine = job(root, environment, program, None)?;
    let own = job(root, environment, program, Some(&root.join(STAND_IN)))?;
    Ok(differences(&genuine, &own, "tdb.compat"))
}

/// What a job saw: lines of a label and a value, with a tab between them. `stand_in` is the folder
/// that has the module `tiledb`, if it is not the genuine one.
fn job(root: &Path, environment: &Path, program: &str, stand_in: Option<&Path>) -> Result<String, String> {
    let folder = scratch(&format!("programs-{program}"));
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let files = folder.join("files");
    let mut python = Command::new(python::program(environment, "python"));
    python.args(["-W", "ignore"]).arg(root.join(JOBS)).arg(program).arg(&files).current_dir(&folder);
    python.env("PYTHONDONTWRITEBYTECODE", "1");
    match stand_in {
        Some(stand_in) => python.env("PYTHONPATH", stand_in),
        None => python.arg("--old-names").env_remove("PYTHONPATH"),
    };
    let output = python.output().map_err(|error| format!("python: {error}"));
    let removed = fs::remove_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()));
    let output = output?;
    removed?;
    let said = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        let side = if stand_in.is_some() { "tdb.compat" } else { "libtiledb" };
        let why = String::from_utf8_lossy(&output.stderr);
        let last = why.lines().last().unwrap_or_default();
        return Err(format!("{program} on {side}: the job ended with {}: {last}", output.status));
    }
    Ok(said.into_owned())
}

/// The values that libtiledb's side and another one saw and that differ, in the order of the first.
pub(super) fn differences(genuine: &str, own: &str, other: &str) -> Compared {
    // Programs print lines of their own, which are no values.
    let values = |text: &str| -> Vec<(String, String)> {
        let lines = text.lines().filter_map(|line| line.strip_prefix("value\t")?.split_once('\t'));
        lines.map(|(label, value)| (label.to_owned(), value.to_owned())).collect()
    };
    let (genuine, own) = (values(genuine), values(own));
    let of = |side: &[(String, String)], label: &str| {
        side.iter().find(|one| one.0 == label).map_or_else(|| "nothing".to_owned(), |one| one.1.clone())
    };
    let more = own.iter().filter(|one| genuine.iter().all(|other| other.0 != one.0));
    let mut found: Vec<String> = genuine
        .iter()
        .chain(more)
        .map(|(label, _)| (label, of(&genuine, label), of(&own, label)))
        .filter(|(_, genuine, own)| genuine != own)
        .map(|(label, genuine, own)| format!("{label}: libtiledb has {genuine}, {other} has {own}"))
        .collect();
    if genuine.is_empty() {
        found.push("the job saw no value".to_owned());
    }
    Compared { values: genuine.len(), found }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_name_a_program_that_has_a_job() {
        let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(
            Options::parse(&words("--only cf --optional yes --python 3.11")),
            Ok(Options { only: Some("cf".to_owned()), optional: true, python: "3.11".to_owned() })
        );
        for wrong in ["--only vim", "--optional no", "--all yes", "--only"] {
            assert!(Options::parse(&words(wrong)).is_err(), "{wrong}");
        }
    }

    #[test]
    fn values_that_differ_or_are_on_one_side_only_are_found() {
        let genuine = "noise\nvalue\tshape\t[1]\nvalue\tcells\t[2]\nvalue\tmore\t[3]\n";
        assert_eq!(differences(genuine, genuine, "tdb.compat"), Compared { values: 3, found: Vec::new() });
        let other = "value\tshape\t[1]\nvalue\tcells\t[4]\nvalue\tended by\t\"x\"\n";
        let found = differences(genuine, other, "tdb.compat").found;
        assert_eq!(
            found,
            [
                "cells: libtiledb has [2], tdb.compat has [4]",
                "more: libtiledb has [3], tdb.compat has nothing",
                "ended by: libtiledb has nothing, tdb.compat has \"x\"",
            ]
        );
        assert_eq!(differences("noise", "noise", "tdb.compat").found, ["the job saw no value"]);
    }
}
