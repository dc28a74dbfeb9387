//! `cargo xtask compare soma`: single cells in tdb and in the libraries that read them and train on
//! them, in one table.
//!
//! It makes the environments, builds the wheel with the release profile, and runs
//! `xtask/peer/soma_times.py`, which says what is measured and how.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::workers;
use crate::peer::repository_root;
use crate::python;

const USAGE: &str = "usage: cargo xtask compare soma [--small] [--slafdb] [--data DIR] [--rounds N] [--only SUBSTR] [--convert-once] [--keep] [--markdown FILE]";

/// The oldest release of Python that annbatch takes.
const PYTHON: &str = "3.12";
/// What all libraries but slafdb need for what is measured.
const TOOLS: [&str; 13] = [
    "numpy>=2",
    "pandas>=2.2,<3",
    "pyarrow>=18",
    "pyarrow-hotfix",
    "scipy>=1.15",
    "anndata[lazy]<0.13",
    "attrs",
    "more-itertools",
    "shapely",
    "h5py",
    "annbatch==0.3.1",
    "zarrs",
    "numba",
];
/// They come without what they need: tiledbsoma-ml wants torch, which is gigabytes, only for names.
const ALONE: [&str; 3] = ["tiledbsoma==2.3.0", "somacore==1.0.29", "tiledbsoma-ml==0.1.0"];
/// It takes older releases of the others, and 1.7 GB.
const SLAFDB: [&str; 1] = ["slafdb==0.5.2"];

/// What was asked for.
#[derive(Debug, Default, PartialEq, Eq)]
struct Options {
    slafdb: bool,
    data: Option<PathBuf>,
    /// What the script is told.
    passed: Vec<String>,
}

impl Options {
    fn parse(args: &[String]) -> Result<Self, String> {
        let mut options = Self::default();
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value\n{USAGE}"));
            match arg.as_str() {
                "--slafdb" => options.slafdb = true,
                "--data" => options.data = Some(value()?.into()),
                "--small" | "--convert-once" | "--keep" => options.passed.push(arg.clone()),
                "--rounds" => {
                    let rounds = super::count(arg, value()?)?;
                    options.passed.extend([arg.clone(), rounds.to_string()]);
                }
                "--only" | "--markdown" => options.passed.extend([arg.clone(), value()?.clone()]),
                _ => return Err(format!("unknown argument {arg}\n{USAGE}")),
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
    let environment = python::environment_without(&folder, "soma-times", PYTHON, &TOOLS, &ALONE)?;
    let interpreter = python::program(&environment, "python");
    let maturin = python::program(&environment, "maturin");
    let wheels = workers::target(&root).join("python/release");
    let wheel = python::build(
        &root,
        &wheels,
        &maturin,
        &interpreter,
        python::Build { profile: "release", features: "", target: None },
    )?;
    python::install_wheel(&environment, &wheel)?;
    let mut command = Command::new(&interpreter);
    command.arg(root.join("xtask/peer/soma_times.py")).args(&options.passed);
    command.arg("--work").arg(options.data.unwrap_or_else(|| data(&root)));
    if options.slafdb {
        let other = python::environment(&folder, "slafdb", PYTHON, &SLAFDB, &[])?;
        command.arg("--python").arg(format!("slafdb={}", python::program(&other, "python").display()));
    }
    workers::run(&mut command)
}

/// Where the cells are unless it is said.
fn data(root: &Path) -> PathBuf {
    workers::target(root).join("soma-times")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_for_the_script_or_for_the_command() {
        let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let options = Options::parse(&words("--small --slafdb --data d --rounds 5 --only epoch")).unwrap();
        let passed = words("--small --rounds 5 --only epoch");
        assert_eq!(options, Options { slafdb: true, data: Some("d".into()), passed });
        assert_eq!(Options::parse(&[]).unwrap(), Options::default());
        for wrong in ["--rounds 0", "--rounds", "--work d", "small"] {
            assert!(Options::parse(&words(wrong)).unwrap_err().contains("--"), "{wrong}");
        }
    }
}
