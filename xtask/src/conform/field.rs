//! `cargo xtask conform field --dir DIR`: scripts that show what is right, each on its own.
//!
//! A folder has scripts (`*.sh`, `*.py`) that end with status 0 if what they try is right. Each
//! runs in one environment: `TDB` is the command with SQL, `PY` and the interpreter of `*.py` are a
//! Python with the package `tdb` and TileDB-Py. Nothing is written into the folder: scripts begin
//! in a folder of their own, which is removed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::built;
use crate::peer::{READER, repository_root, scratch};
use crate::python;

pub(super) const USAGE: &str = "--dir DIR [--only SUBSTRING] [--tdb COMMAND] [--python 3.13]";

/// What scripts use besides `tdb`: the release of TileDB-Py that contains libtiledb 2.30 takes no
/// later pandas.
const PACKAGES: [&str; 4] = ["tiledb==0.36.1", "numpy>=2", "pandas>=2.2,<3", "pyarrow>=18"];

#[derive(Debug, PartialEq, Eq)]
struct Options {
    folder: PathBuf,
    only: String,
    tdb: Option<PathBuf>,
    python: String,
}

impl Options {
    fn parse(args: &[String]) -> Result<Self, String> {
        let (mut folder, mut only, mut tdb, mut python) = (None, String::new(), None, "3.13".to_owned());
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let value = args.next().ok_or_else(|| format!("{arg} needs a value: {USAGE}"))?;
            match arg.as_str() {
                "--dir" => folder = Some(PathBuf::from(value)),
                "--only" => only.clone_from(value),
                "--tdb" => tdb = Some(value.into()),
                "--python" => python.clone_from(value),
                _ => return Err(format!("unknown argument {arg}: {USAGE}")),
            }
        }
        Ok(Self { folder: folder.ok_or_else(|| format!("which folder? {USAGE}"))?, only, tdb, python })
    }
}

/// Entry point of the subcommand.
pub(super) fn run(args: &[String]) -> Result<(), String> {
    let options = Options::parse(args)?;
    let scripts = scripts(&options)?;
    let root = repository_root()?;
    let tdb = built::tdb(options.tdb, "sql")?;
    let folder = python::folder(&root);
    let environment = python::environment(&folder, "field", &options.python, &PACKAGES, &[])?;
    let wheel = python::wheel(&root, &folder, &environment, "")?;
    python::install_wheel(&environment, &wheel)?;
    let interpreter = python::program(&environment, "python");
    println!("{} scripts, with libtiledb {READER}", scripts.len());
    let mut failures = Vec::new();
    for script in scripts {
        let right = passes(&script, &tdb, &interpreter)?;
        println!("{} {}", if right { "ok    " } else { "FAILED" }, script.display());
        failures.extend((!right).then_some(script));
    }
    if failures.is_empty() { Ok(()) } else { Err(format!("{} scripts failed", failures.len())) }
}

/// The scripts of the folder, by name.
fn scripts(options: &Options) -> Result<Vec<PathBuf>, String> {
    let failed = |error| format!("{}: {error}", options.folder.display());
    let folder = std::path::absolute(&options.folder).map_err(failed)?;
    let is_chosen = |path: &PathBuf| {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        (name.ends_with(".sh") || name.ends_with(".py")) && name.contains(&options.only)
    };
    let found = fs::read_dir(folder).map_err(failed)?.flatten().map(|entry| entry.path());
    let mut found: Vec<PathBuf> = found.filter(is_chosen).collect();
    found.sort();
    if found.is_empty() { Err(format!("{}: no scripts", options.folder.display())) } else { Ok(found) }
}

/// Runs a script, and says whether it ended with status 0; what it prints is shown.
fn passes(script: &Path, tdb: &Path, interpreter: &Path) -> Result<bool, String> {
    let folder = scratch("field");
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let is_python = script.extension().is_some_and(|end| end == "py");
    let mut command = Command::new(if is_python { interpreter } else { Path::new("bash") });
    command.arg(script).current_dir(&folder).stdin(Stdio::null());
    command.env("TDB", tdb).env("PY", interpreter).env("PYTHONDONTWRITEBYTECODE", "1").env("TMPDIR", &folder);
    let status = command.status().map_err(|error| format!("{}: {error}", script.display()));
    fs::remove_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(status?.success())
}

#[cfg(test)]
mod tests {
    use super::super::words;
    use super::*;

    #[test]
    fn a_folder_is_asked_for_and_found_scripts_are_sorted() {
        assert!(Options::parse(&words("--only a")).unwrap_err().contains("which folder"));
        let folder = scratch("field-scripts");
        fs::create_dir_all(&folder).unwrap();
        for name in ["b.py", "a.sh", "README.md"] {
            fs::write(folder.join(name), "").unwrap();
        }
        let options = Options::parse(&words(&format!("--dir {}", folder.display()))).unwrap();
        let names: Vec<_> =
            scripts(&options).unwrap().iter().map(|path| path.file_name().unwrap().to_owned()).collect();
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(names, ["a.sh", "b.py"]);
    }

    #[test]
    fn a_script_is_right_if_its_status_is_0() {
        let folder = scratch("field-status");
        fs::create_dir_all(&folder).unwrap();
        let script = folder.join("a.sh");
        fs::write(&script, "[ \"$TDB\" = tdb ]").unwrap();
        let run = |tdb: &str| passes(&script, Path::new(tdb), Path::new("python3")).unwrap();
        let (right, wrong) = (run("tdb"), run("other"));
        fs::remove_dir_all(&folder).unwrap();
        assert!(right && !wrong);
    }
}
