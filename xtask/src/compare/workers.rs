//! The two timed processes and their requirements: a Python environment, the data, a release build.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::Value;

/// The packages that are installed in addition to Python.
const PACKAGES: [&str; 2] = ["tiledb==0.36.1", "numpy"];

const WORKER: &str = "tdb-compare-worker";

/// The folder of everything that is created only once: `$TDB_COMPARE`, or `tdb-compare` in the
/// user's cache.
pub(super) fn cache() -> Result<PathBuf, String> {
    let var = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let folder = var("TDB_COMPARE")
        .or_else(|| var("XDG_CACHE_HOME").map(|base| base.join("tdb-compare")))
        .or_else(|| var("HOME").map(|home| home.join(".cache/tdb-compare")))
        .ok_or("no home folder: set TDB_COMPARE to a folder for the data")?;
    fs::create_dir_all(&folder).map_err(|e| format!("cannot make {}: {e}", folder.display()))?;
    Ok(folder)
}

/// The Python of a virtual environment that has [`PACKAGES`].
fn python(cache: &Path) -> Result<PathBuf, String> {
    let folder = cache.join("venv");
    let python = folder.join("bin/python");
    let done = folder.join(format!("{}.installed", PACKAGES.join("+")));
    if !done.is_file() {
        run(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
        run(Command::new(&python).args(["-m", "pip", "install", "-q"]).args(PACKAGES))?;
        fs::write(&done, "").map_err(|e| format!("cannot write {}: {e}", done.display()))?;
    }
    Ok(python)
}

/// The Python with libtiledb, and the folder of the arrays that are read: `data`, if it was given.
/// Missing arrays are created.
pub(crate) fn arrays(root: &Path, data: Option<PathBuf>) -> Result<(PathBuf, PathBuf), String> {
    prepared(root, data, "data", "compare_data.py", &[])
}

/// The same for columns of cells; `used` is "filters" or "writes".
pub(crate) fn columns(root: &Path, data: Option<PathBuf>, used: &str) -> Result<(PathBuf, PathBuf), String> {
    prepared(root, data, "columns", "compare_columns.py", &["--for", used])
}

fn prepared(
    root: &Path,
    data: Option<PathBuf>,
    folder: &str,
    script: &str,
    more: &[&str],
) -> Result<(PathBuf, PathBuf), String> {
    let cache = cache()?;
    let python = python(&cache)?;
    let data = data.unwrap_or_else(|| cache.join(folder));
    let script = root.join("xtask/peer").join(script);
    run(Command::new(&python).arg(script).arg("--out").arg(&data).args(more))?;
    Ok((python, data))
}

/// Runs a command whose output is progress.
pub(super) fn run(command: &mut Command) -> Result<(), String> {
    // Output of this process is progress, so it goes to standard error; only the table goes to
    // standard output.
    let status = command
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .stdin(Stdio::null())
        .stdout(std::io::stderr())
        .status()
        .map_err(|e| format!("cannot run {command:?}: {e}"))?;
    if status.success() { Ok(()) } else { Err(format!("{command:?} failed: {status}")) }
}

/// A running process that answers requests.
pub(crate) struct Worker {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    name: &'static str,
    /// The version that the process reports.
    pub(crate) version: String,
    /// Resident memory before the first request, in KiB.
    pub(crate) resident: u64,
}

/// An answer; missing numbers are 0.
pub(crate) struct Answer {
    pub(crate) seconds: f64,
    pub(crate) cells: u64,
    pub(crate) bytes: u64,
    /// Peak of resident memory, in KiB.
    pub(crate) peak: Option<u64>,
    pub(crate) json: Value,
}

impl Answer {
    /// Current resident memory in KiB, if the answer contains it.
    pub(crate) fn resident(&self) -> u64 {
        self.json.get("resident").and_then(Value::as_u64).unwrap_or(0)
    }
}

impl Worker {
    /// Starts a program that answers requests.
    pub(super) fn start(name: &'static str, command: &mut Command) -> Result<Self, String> {
        let mut child = command
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|e| format!("cannot start {command:?}: {e}"))?;
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().ok_or("no pipe from the worker")?);
        let mut worker = Self { child, input, output, name, version: String::new(), resident: 0 };
        let hello = worker.answer()?.json;
        worker.version = hello.get("version").and_then(Value::as_str).unwrap_or("?").to_owned();
        worker.resident = hello.get("resident").and_then(Value::as_u64).unwrap_or(0);
        Ok(worker)
    }

    /// Sends a request and waits for its answer.
    pub(crate) fn ask(&mut self, request: &Value) -> Result<Answer, String> {
        let input = self.input.as_mut().ok_or("the worker is gone")?;
        writeln!(input, "{request}")
            .and_then(|()| input.flush())
            .map_err(|e| format!("{}: {e}", self.name))?;
        self.answer()
    }

    fn answer(&mut self) -> Result<Answer, String> {
        let mut line = String::new();
        self.output.read_line(&mut line).map_err(|e| format!("{}: {e}", self.name))?;
        if line.is_empty() {
            return Err(format!("the worker of {} ended", self.name));
        }
        let json: Value = serde_json::from_str(&line).map_err(|e| format!("{}: {e}: {line}", self.name))?;
        if let Some(error) = json.get("error").and_then(Value::as_str) {
            return Err(format!("{}: {error}", self.name));
        }
        let number = |name: &str| json.get(name).and_then(Value::as_u64);
        Ok(Answer {
            seconds: json.get("seconds").and_then(Value::as_f64).unwrap_or(0.0),
            cells: number("cells").unwrap_or(0),
            bytes: number("bytes").unwrap_or(0),
            peak: number("peak"),
            json,
        })
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // A worker ends when its input ends; this does not wait for a worker that hangs.
        self.input = None;
        if !matches!(self.child.try_wait(), Ok(Some(_))) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// Starts libtiledb's side.
pub(crate) fn peer(root: &Path, python: &Path, threads: usize) -> Result<Worker, String> {
    peer_with(root, python, threads, &[])
}

/// Starts libtiledb's side with more arguments.
pub(crate) fn peer_with(root: &Path, python: &Path, threads: usize, more: &[&str]) -> Result<Worker, String> {
    let script = root.join("xtask/peer/compare_peer.py");
    let threads = threads.to_string();
    Worker::start("libtiledb", Command::new(python).arg(script).args(["--threads", &threads]).args(more))
}

/// The Python with libtiledb.
pub(crate) fn environment() -> Result<PathBuf, String> {
    python(&cache()?)
}

/// Builds tdb's side with the release profile and starts it.
pub(crate) fn tdb(root: &Path, threads: usize) -> Result<Worker, String> {
    build_tdb(root)?.start(threads)
}

/// The program of tdb's side.
pub(crate) struct Program(PathBuf);

impl Program {
    /// A program that already exists.
    #[cfg(test)]
    pub(crate) const fn new(path: PathBuf) -> Self {
        Self(path)
    }

    /// Starts it.
    pub(crate) fn start(&self, threads: usize) -> Result<Worker, String> {
        self.start_as("tdb", threads)
    }

    /// Starts it under the given name, which its errors contain.
    pub(crate) fn start_as(&self, name: &'static str, threads: usize) -> Result<Worker, String> {
        Worker::start(name, Command::new(&self.0).arg(threads.to_string()))
    }
}

/// Builds tdb's side with the release profile.
pub(crate) fn build_tdb(root: &Path) -> Result<Program, String> {
    build_in(root, &target(root))
}

/// The target folder of the workspace.
pub(super) fn target(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), |dir| root.join(dir))
}

/// Builds tdb's side from the files below `root`, which may be another commit's, in a target
/// folder.
///
/// It is a separate package, so xtask itself needs none of the crates that it checks. Its manifest
/// is written here: it has the workspace's release profile and its locked dependencies.
pub(crate) fn build_in(root: &Path, target: &Path) -> Result<Program, String> {
    let workspace = read(&root.join("Cargo.toml"))?;
    let manifest = with_profile(&manifest(root), &workspace)?;
    let package = package(root, &target.join("compare-worker"), &manifest)?;
    release(&package, target, &version(&workspace))?;
    Ok(Program(target.join("release").join(WORKER)))
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|e| format!("cannot read {}: {e}", path.display()))
}

/// Makes a package with this manifest and the workspace's locked dependencies; returns the path of
/// the manifest.
pub(super) fn package(root: &Path, folder: &Path, manifest: &str) -> Result<PathBuf, String> {
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        // A file that is as it was is left alone: cargo would build again.
        if fs::read_to_string(&path).is_ok_and(|old| old == text) {
            return Ok(path);
        }
        fs::write(&path, text).map_err(|e| format!("cannot write {}: {e}", path.display()))?;
        Ok::<_, String>(path)
    };
    fs::create_dir_all(folder).map_err(|e| format!("cannot make {}: {e}", folder.display()))?;
    write("Cargo.lock", &read(&root.join("Cargo.lock"))?)?;
    write("Cargo.toml", manifest)
}

/// Builds a package with its release profile.
pub(super) fn release(manifest: &Path, target: &Path, version: &str) -> Result<(), String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    run(Command::new(cargo)
        .args(["build", "--release", "--quiet", "--manifest-path"])
        .arg(manifest)
        .arg("--target-dir")
        .arg(target)
        .env("TDB_COMPARE_VERSION", version))
}

fn manifest(root: &Path) -> String {
    let source = root.join("xtask/src/compare/worker.rs").display().to_string();
    let path = |name: &str| root.join("crates").join(name);
    let needed =
        ["tdb-array", "tdb-arrow", "tdb-codec", "tdb-filters", "tdb-tile", "tdb-schema", "tdb-fragment"];
    // Another commit may not have all of them, and its worker does not need those.
    let needed = needed.iter().filter(|name| path(name).is_dir());
    let needed: String = needed
        .map(|name| format!("{name} = {{ path = {:?} }}\n", path(name).display().to_string()))
        .collect();
    format!(
        "# Written by `cargo xtask compare`.\n\
         [package]\nname = \"{WORKER}\"\nedition = \"2024\"\npublish = false\n\n\
         [[bin]]\nname = \"{WORKER}\"\npath = {source:?}\n\n\
         [dependencies]\n{needed}serde_json = \"1\"\n\n\
         [workspace]\n"
    )
}

/// A manifest with the workspace's release profile and lints.
fn with_profile(manifest: &str, workspace: &str) -> Result<String, String> {
    let profile = section(workspace, "[profile.release]").ok_or("Cargo.toml has no [profile.release]")?;
    let rust = section(workspace, "[workspace.lints.rust]").unwrap_or_default();
    let clippy = section(workspace, "[workspace.lints.clippy]").unwrap_or_default();
    Ok(format!("{manifest}\n[profile.release]\n{profile}\n[lints.rust]\n{rust}\n[lints.clippy]\n{clippy}"))
}

/// The lines of a section of a manifest.
fn section(manifest: &str, header: &str) -> Option<String> {
    let mut lines = manifest.lines().skip_while(|line| line.trim() != header);
    lines.next()?;
    Some(lines.take_while(|line| !line.starts_with('[')).map(|line| format!("{line}\n")).collect())
}

/// The version of the workspace.
pub(super) fn version_of(root: &Path) -> Result<String, String> {
    Ok(version(&read(&root.join("Cargo.toml"))?))
}

fn version(workspace: &str) -> String {
    let package = section(workspace, "[workspace.package]").unwrap_or_default();
    let line = package.lines().find_map(|line| line.strip_prefix("version = "));
    line.map_or("?", |value| value.trim_matches('"')).to_owned()
}
