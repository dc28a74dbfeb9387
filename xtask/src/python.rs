//! `cargo xtask python [--optional yes] [--pythons LIST]`: builds the wheel of the Python package,
//! and tests it.
//!
//! Each release of Python gets a virtual environment in the target folder, with the packages that
//! the tests use. One wheel serves all, because it uses only the stable interface of Python. The
//! tests are those of `crates/tdb-python/tests`, the examples of docstrings and pages, and mypy.
//! `--only WORD` runs the tests with a word in their names, or one of several (`'sql or command'`);
//! `--only soma` also runs them in an environment with `tiledbsoma`, which is not small, and
//! `--only torch` runs `with_torch.py` alone, with PyPI's torch, which is gigabytes.
//! `--features datafusion` builds a wheel with more features; `--library FILE` tests an extension
//! that cargo has built, without a wheel. Where a Python or a package cannot be had, the command
//! fails; with `--optional yes` it says so and does nothing, unless the environment says that this
//! is a CI run.

mod package;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::peer;
pub(crate) use package::{Build, build, install_wheel, wheel};
use package::{Package, assembled};

const USAGE: &str = "usage: cargo xtask python [--optional yes] [--pythons 3.10,3.13] [--only WORD] [--features LIST | --library FILE]";

/// The releases that are tested if they are there: the oldest one that the wheel supports, and a
/// new one.
const PYTHONS: [&str; 2] = ["3.10", "3.13"];

/// What builds the wheel.
const BUILDER: &str = "maturin==1.16.0";
/// What the tests need.
const TOOLS: [&str; 14] = [
    "numpy>=2",
    "pytest>=8",
    "mypy>=1.15",
    "pandas>=2.2",
    "pandas-stubs",
    "polars>=1.8",
    "pyarrow>=18",
    "xarray>=2024.10",
    "dask[array]>=2024.9",
    // It has no release for Python 3.10.
    "zarr>=3.1; python_version >= '3.11'",
    "scipy>=1.13",
    "h5py",
    "anndata>=0.10",
    "datafusion>=55,<56",
];
/// What the tests compare with; a release of Python may have no wheel of it.
const PEER: &str = "tiledb>=0.34";

/// The word of `--only` that chooses the tests of SOMA, and adds an environment that has its
/// library.
const SOMA: &str = "soma";
/// The release of Python of that environment.
pub(crate) const SOMA_PYTHON: &str = "3.13";
/// What `tiledbsoma` needs for what the tests do, and the tests.
pub(crate) const SOMA_TOOLS: [&str; 10] = [
    "numpy>=2",
    "pytest>=8",
    "pandas>=2.2,<3",
    "pyarrow>=18",
    "pyarrow-hotfix",
    "scipy>=1.13",
    "anndata<0.13",
    "attrs",
    "more-itertools",
    "shapely",
];
/// Its library, without the packages that only other parts of it need, which are many times as
/// large.
pub(crate) const SOMA_PEER: [&str; 3] = ["--no-deps", "tiledbsoma==2.3.0", "somacore==1.0.29"];

/// The word of `--only` that runs [`TORCH_TEST`] instead of the tests.
const TORCH: &str = "torch";
/// What is run with torch.
const TORCH_TEST: &str = "xtask/peer/with_torch.py";
/// What it needs.
const TORCH_TOOLS: [&str; 6] =
    ["torch", "numpy>=2", "pandas>=2.2,<3", "pyarrow>=18", "scipy>=1.13", "anndata<0.13"];

/// The crate.
const CRATE: &str = "crates/tdb-python";

/// What was asked for.
#[derive(Debug, PartialEq, Eq)]
struct Options {
    optional: bool,
    /// The releases of Python that were asked for. If there are none: [`PYTHONS`].
    pythons: Vec<String>,
    only: Option<String>,
    features: String,
    /// The extension module that is tested, if it is not to be built.
    library: Option<PathBuf>,
}

impl Options {
    fn parse(args: &[String]) -> Result<Self, String> {
        let list = |text: &str| text.split(',').map(str::to_owned).collect();
        let mut options =
            Self { optional: false, pythons: Vec::new(), only: None, features: String::new(), library: None };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let value = args.next().ok_or_else(|| format!("{arg} needs a value\n{USAGE}"))?;
            match arg.as_str() {
                "--optional" => options.optional = value == "yes",
                "--pythons" => options.pythons = list(value),
                "--only" => options.only = Some(value.clone()),
                "--features" => options.features.clone_from(value),
                "--library" => options.library = Some(PathBuf::from(value)),
                _ => return Err(format!("unknown argument {arg}\n{USAGE}")),
            }
        }
        if options.library.is_some() && !options.features.is_empty() {
            return Err(format!(
                "--features is about a wheel that is built, and --library about one that is not\n{USAGE}"
            ));
        }
        Ok(options)
    }
}

/// The releases to test with: those that were asked for, or those of [`PYTHONS`] that are there.
/// If none of them is there, it is all of them.
fn pythons(options: &Options) -> Vec<String> {
    if !options.pythons.is_empty() {
        return options.pythons.clone();
    }
    let (here, missing): (Vec<&str>, Vec<&str>) =
        PYTHONS.into_iter().partition(|version| interpreter(version).is_some());
    if here.is_empty() {
        return PYTHONS.map(str::to_owned).to_vec();
    }
    missing.iter().for_each(|version| println!("skipped: Python {version} is not on this machine"));
    here.into_iter().map(str::to_owned).collect()
}

/// Entry point: `args` are the words after `cargo xtask python`.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let options = Options::parse(args)?;
    let root = peer::repository_root()?;
    let folder = folder(&root);
    if options.only.as_deref() == Some(TORCH) {
        return with_torch(&root, &folder, &options);
    }
    let made =
        side_by_side(&pythons(&options), |version| environment(&folder, version, version, &TOOLS, &[PEER]));
    let ready = made
        .into_iter()
        .chain((options.only.as_deref() == Some(SOMA)).then(|| soma_environment(&folder)))
        .collect::<Result<Vec<_>, String>>();
    let environments = match ready {
        Ok(environments) => environments,
        Err(why) if options.optional => {
            println!("skipped: {why}");
            return Ok(());
        }
        Err(why) => return Err(why),
    };
    let first = environments.first().ok_or("no Python was named")?;
    let package = match &options.library {
        Some(library) => Package::Folder(assembled(&root, &folder, library)?),
        None => Package::Wheel(wheel(&root, &folder, first, &options.features)?),
    };
    tests(&root, &environments, &package, options.only.as_deref())?;
    // Once, with the newest stubs: those of packages for the oldest Python are less exact.
    match environments.last() {
        Some(environment) if options.only.is_none() => check_types(&root, environment, &package),
        _ => Ok(()),
    }
}

/// Runs [`TORCH_TEST`] in an environment of its own.
fn with_torch(root: &Path, folder: &Path, options: &Options) -> Result<(), String> {
    let environment = environment(folder, TORCH, SOMA_PYTHON, &TORCH_TOOLS, &[])?;
    let mut test = Command::new(program(&environment, "python"));
    test.arg(root.join(TORCH_TEST));
    match &options.library {
        Some(library) => {
            test.env("PYTHONPATH", assembled(root, folder, library)?);
        }
        None => install_wheel(&environment, &wheel(root, folder, &environment, &options.features)?)?,
    }
    call(&mut test)
}

/// Where environments and wheels are.
pub(crate) fn folder(root: &Path) -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR");
    target.map_or_else(|| root.join("target"), |dir| root.join(dir)).join("python")
}

/// The interpreter of a release: `python3.13` on the path, or what pyenv has installed.
fn interpreter(version: &str) -> Option<PathBuf> {
    let answers = |program: &Path| {
        let says =
            Command::new(program).args(["-c", "import sys; print('%d.%d' % sys.version_info[:2])"]).output();
        says.is_ok_and(|says| {
            says.status.success() && String::from_utf8_lossy(&says.stdout).trim() == version
        })
    };
    let named = PathBuf::from(format!("python{version}"));
    if answers(&named) {
        return Some(named);
    }
    let home = std::env::var_os("PYENV_ROOT").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".pyenv")))?;
    let installed =
        fs::read_dir(home.join("versions")).ok()?.flatten().map(|entry| entry.path().join("bin/python"));
    let mut found: Vec<PathBuf> = installed.filter(|program| answers(program)).collect();
    found.sort();
    found.pop()
}

/// The newest of the releases that are tested, of those that are there.
pub(crate) fn newest() -> Option<&'static str> {
    PYTHONS.into_iter().rev().find(|version| interpreter(version).is_some())
}

/// The program of a virtual environment.
pub(crate) fn program(environment: &Path, name: &str) -> PathBuf {
    environment.join(if cfg!(windows) { "Scripts" } else { "bin" }).join(name)
}

/// A virtual environment with a release of Python, what builds wheels, these packages, and
/// `optional` ones if they can be had; made if it is not there.
pub(crate) fn environment(
    folder: &Path,
    name: &str,
    version: &str,
    tools: &[&str],
    optional: &[&str],
) -> Result<PathBuf, String> {
    made(&folder.join(name), version, &[&[BUILDER], tools], optional)
}

/// As [`environment`], and after that these packages without what they need.
pub(crate) fn environment_without(
    folder: &Path,
    name: &str,
    version: &str,
    tools: &[&str],
    alone: &[&str],
) -> Result<PathBuf, String> {
    let alone: Vec<&str> = std::iter::once("--no-deps").chain(alone.iter().copied()).collect();
    made(&folder.join(name), version, &[&[BUILDER], tools, &alone], &[])
}

/// The virtual environment that has the library for SOMA, made if it is not there.
fn soma_environment(folder: &Path) -> Result<PathBuf, String> {
    made(&folder.join(SOMA), SOMA_PYTHON, &[&SOMA_TOOLS, &SOMA_PEER], &[])
}

/// A virtual environment with packages, which are installed one list after the other, and with
/// `optional` ones if they can be had.
fn made(environment: &Path, version: &str, lists: &[&[&str]], optional: &[&str]) -> Result<PathBuf, String> {
    // Lists what is installed, so that another list makes another environment.
    let (mark, list) =
        (environment.join("installed.txt"), format!("{} {}", lists.concat().join(" "), optional.join(" ")));
    if fs::read_to_string(&mark).is_ok_and(|found| found == list) {
        return Ok(environment.to_path_buf());
    }
    let python = interpreter(version).ok_or_else(|| format!("there is no Python {version}"))?;
    if let Some(folder) = environment.parent() {
        fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    call(Command::new(python).args(["-m", "venv", "--clear"]).arg(environment))?;
    let install = |packages: &[&str]| {
        let mut pip = Command::new(program(environment, "python"));
        call(pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(packages))
    };
    lists.iter().filter(|packages| !packages.is_empty()).try_for_each(|packages| install(packages))?;
    if let Some(Err(why)) = (!optional.is_empty()).then(|| install(optional)) {
        println!("Python {version} is not compared with libtiledb: {why}");
    }
    fs::write(&mark, list).map_err(|error| format!("{}: {error}", mark.display()))?;
    Ok(environment.to_path_buf())
}

/// Runs a function on each of a few things, all at once; returns what it returned, in the order of
/// the things.
fn side_by_side<T: Sync, R: Send>(
    things: &[T],
    run: impl Fn(&T) -> Result<R, String> + Copy + Send,
) -> Vec<Result<R, String>> {
    std::thread::scope(|scope| {
        let running: Vec<_> = things.iter().map(|thing| scope.spawn(move || run(thing))).collect();
        let panicked = |_| Err("a thread of this command panicked".to_owned());
        running.into_iter().map(|thread| thread.join().unwrap_or_else(panicked)).collect()
    })
}

/// Tests the package in all environments side by side, because most tests keep one core busy. What
/// each prints is shown when it ends.
fn tests(root: &Path, environments: &[PathBuf], package: &Package, only: Option<&str>) -> Result<(), String> {
    let run = |environment: &PathBuf| -> Result<(), String> {
        let log = environment.join("tests.txt");
        let failed = |error| format!("{}: {error}", log.display());
        let output = fs::File::create(&log).map_err(failed)?;
        let result = test(root, environment, package, only, &output);
        // What tests print may be no UTF-8.
        let printed = fs::read(&log).map_err(failed)?;
        println!("== {}\n{}", environment.display(), String::from_utf8_lossy(&printed));
        result
    };
    side_by_side(environments, run).into_iter().collect()
}

/// Puts the package into an environment, and runs everything that tests it; what that prints goes
/// to a file.
fn test(
    root: &Path,
    environment: &Path,
    package: &Package,
    only: Option<&str>,
    output: &fs::File,
) -> Result<(), String> {
    let mut pytest = Command::new(program(environment, "python"));
    match package {
        Package::Wheel(wheel) => install_wheel(environment, wheel)?,
        Package::Folder(folder) => {
            pytest.env("PYTHONPATH", folder);
        }
    }
    pytest.current_dir(root.join(CRATE).join("tests"));
    pytest.args(["-m", "pytest", "-q", "-p", "tdb_testing", "--durations=12"]);
    match only {
        Some(word) => pytest.args(["-k", word, "."]),
        // The examples of docstrings, of the README and of the page.
        None => pytest
            .args([".", "--doctest-modules", "--pyargs", "tdb", "--doctest-glob=*.md", "../README.md"])
            .arg(root.join("docs/python.md")),
    };
    let file = || output.try_clone().map_err(|error| error.to_string());
    call(pytest.stdout(file()?).stderr(file()?))
}

/// Checks the types of the package and of the examples.
fn check_types(root: &Path, environment: &Path, package: &Package) -> Result<(), String> {
    for what in [["-p", "tdb"].as_slice(), &["../examples"]] {
        let mut mypy = Command::new(program(environment, "python"));
        mypy.current_dir(root.join(CRATE).join("tests"));
        if let Package::Folder(folder) = package {
            mypy.env("MYPYPATH", folder);
        }
        call(mypy.args(["-m", "mypy", "--config-file", "../pyproject.toml"]).args(what))?;
    }
    Ok(())
}

/// Runs a command, and fails if it does.
fn call(command: &mut Command) -> Result<(), String> {
    let shown = format!("{command:?}");
    let status = command.status().map_err(|error| format!("{shown}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{shown}: {status}")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_pairs_of_known_words_and_values() {
        let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let options =
            Options::parse(&words("--optional yes --pythons 3.12 --only stream --features datafusion"))
                .unwrap();
        let expected = Options {
            optional: true,
            pythons: vec!["3.12".to_owned()],
            only: Some("stream".to_owned()),
            features: "datafusion".to_owned(),
            library: None,
        };
        assert_eq!(options, expected);
        assert!(Options::parse(&[]).unwrap().pythons.is_empty());
        let built = Options::parse(&words("--library a/lib_tdb.so --only sql")).unwrap();
        assert_eq!(built.library, Some(PathBuf::from("a/lib_tdb.so")));
        for wrong in ["--optional", "--python 3.10", "--library a.so --features sql"] {
            assert!(Options::parse(&words(wrong)).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_release_that_does_not_exist_has_no_interpreter() {
        assert_eq!(interpreter("2.99"), None);
    }
}
