//! Runs the Python scripts of `xtask/peer`, which drive released libtiledb libraries through their
//! C API.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The release whose result of reading an array is taken as correct.
pub(crate) const READER: &str = "2.30.0";

/// Copies a folder, and all that is in it.
pub(crate) fn copy_folder(from: &Path, to: &Path) -> Result<(), String> {
    let failed = |error| format!("{}: {error}", from.display());
    fs::create_dir_all(to).map_err(failed)?;
    for entry in fs::read_dir(from).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let copied = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_folder(&entry.path(), &copied)?;
        } else {
            fs::copy(entry.path(), copied).map_err(failed)?;
        }
    }
    Ok(())
}

/// The repository's root: the nearest folder at or above the working directory that contains
/// `xtask/peer/cases.py`.
pub(crate) fn repository_root() -> Result<PathBuf, String> {
    let start = std::env::current_dir().map_err(|e| format!("cannot tell the working directory: {e}"))?;
    start
        .ancestors()
        .find(|dir| dir.join("xtask/peer/cases.py").is_file())
        .map(Path::to_path_buf)
        .ok_or_else(|| format!("no xtask/peer/cases.py at or above {}", start.display()))
}

/// Runs one script of `xtask/peer` with `python3` and returns what it printed on standard output.
///
/// Fails if the script fails, with the script's standard error output.
pub(crate) fn python(root: &Path, script: &str, args: &[&str]) -> Result<String, String> {
    let path = root.join("xtask/peer").join(script);
    let output = Command::new("python3")
        .arg(&path)
        .args(args)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .stdin(Stdio::null())
        .output()
        .map_err(|e| format!("cannot run python3 {}: {e}", path.display()))?;
    if output.status.success() {
        String::from_utf8(output.stdout).map_err(|e| format!("{script}: {e}"))
    } else {
        let said = String::from_utf8_lossy(&output.stderr);
        Err(format!("{script} {} failed ({}):\n{}", args.join(" "), output.status, said.trim_end()))
    }
}

/// The shared libraries of some releases, downloaded with pip on first use.
pub(crate) fn libraries(root: &Path, versions: &[String]) -> Result<BTreeMap<String, PathBuf>, String> {
    let args: Vec<&str> = versions.iter().map(String::as_str).collect();
    let answer = python(root, "fetch.py", &args)?;
    let paths: BTreeMap<String, Option<PathBuf>> =
        serde_json::from_str(&answer).map_err(|e| format!("fetch.py: {e}"))?;
    paths
        .into_iter()
        .map(|(version, path)| match path {
            Some(path) => Ok((version, path)),
            None => Err(format!("no libtiledb in the wheel for {version}")),
        })
        .collect()
}

/// The format version and the name of each release that `xtask/peer` knows, oldest first.
pub(crate) fn format_versions(root: &Path) -> Result<Vec<(u32, String)>, String> {
    let answer = python(root, "fetch.py", &["--formats"])?;
    serde_json::from_str(&answer).map_err(|e| format!("fetch.py: {e}"))
}

/// The releases that `xtask/peer` knows, oldest first.
pub(crate) fn releases(root: &Path) -> Result<Vec<String>, String> {
    let answer = python(root, "fetch.py", &[])?;
    let paths: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(&answer).map_err(|e| format!("fetch.py: {e}"))?;
    Ok(paths.keys().cloned().collect())
}

/// A program or a file in a Python environment of its own, next to the libraries of the peers. The
/// environment is made, with these packages, if the file is missing.
pub(crate) fn environment(name: &str, file: &str, packages: &[&str]) -> Result<PathBuf, String> {
    let venv = cache()?.join(name);
    let path = venv.join(file);
    if !path.exists() {
        install(Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
        install(Command::new(venv.join("bin/pip")).args(["install", "--quiet"]).args(packages))?;
    }
    Ok(path)
}

/// The folder for programs of peers.
pub(crate) fn cache() -> Result<PathBuf, String> {
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).or_else(home);
    Ok(cache.ok_or("neither HOME nor XDG_CACHE_HOME is set")?.join("tdb-peers"))
}

/// A folder for what this process writes and removes again, in memory where the machine has a file
/// system there.
pub(crate) fn scratch(name: &str) -> PathBuf {
    let memory = Path::new("/dev/shm");
    let base = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    base.join(format!("tdb-{name}-{}", std::process::id()))
}

/// Runs a program that installs others.
pub(crate) fn install(command: &mut Command) -> Result<(), String> {
    let output = command.stdin(Stdio::null()).output().map_err(|error| format!("{command:?}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{command:?} failed: {}", String::from_utf8_lossy(&output.stderr).trim_end()))
}
