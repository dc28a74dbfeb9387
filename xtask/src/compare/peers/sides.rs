//! The processes that answer, and what they need: packages of Python, a build of `benches/peers`,
//! the data.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::Options;
use super::cases::{Case, Group, Side};
use crate::compare::table::Conditions;
use crate::compare::workers::{self, Answer, Worker};
use crate::peer;

/// The packages of Python: two of the sides, and what makes the data.
const PACKAGES: [&str; 6] =
    ["tiledb==0.36.1", "numpy", "polars==2.1.0", "duckdb==2.0.0", "pyarrow==26.0.1", "datafusion==55.0.0"];

/// The Python that has [`PACKAGES`].
pub(in crate::compare) fn python() -> Result<PathBuf, String> {
    peer::environment("columnar", "bin/python", &PACKAGES)
}

/// The folder of the data, which is made where it is missing.
pub(in crate::compare) fn data(root: &Path, given: Option<PathBuf>, small: bool) -> Result<PathBuf, String> {
    let name = if small { "peers-small" } else { "peers" };
    let folder = given.map_or_else(|| Ok(workers::cache()?.join(name)), Ok::<_, String>)?;
    let mut command = Command::new(python()?);
    command.arg(root.join("xtask/peer/peers_data.py")).arg("--out").arg(&folder);
    workers::run(if small { command.arg("--small") } else { &mut command })?;
    Ok(folder)
}

/// Starts a side that is a package of Python.
pub(in crate::compare) fn engine(
    root: &Path,
    python: &Path,
    name: &'static str,
    engine: &str,
    threads: usize,
) -> Result<Worker, String> {
    let mut command = Command::new(python);
    command.arg(root.join("xtask/peer/peers_engines.py")).args(["--engine", engine, "--threads"]);
    Worker::start(name, command.arg(threads.to_string()))
}

/// The places of the point queries.
pub(super) fn points(data: &Path) -> Result<Value, String> {
    let path = data.join("raw/points.json");
    let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))
}

/// Lists the chunks that the cases need, each in a file; `None` for cases without a limit, and for
/// those that statistics answer.
pub(super) fn list_limits(
    root: &Path,
    data: &Path,
    cases: &[Case],
    points: &Value,
    small: bool,
) -> Result<Vec<Option<PathBuf>>, String> {
    let (mut files, mut missing) = (Vec::new(), Vec::new());
    for case in cases {
        let request = case.limit(data, points, small);
        let file = request.as_ref().and_then(|request| Some(PathBuf::from(request.get("out")?.as_str()?)));
        missing.extend(request.filter(|_| file.as_ref().is_some_and(|file| !file.exists())));
        files.push(file);
    }
    if !missing.is_empty() {
        list_missing(root, missing)?;
    }
    // Where no chunk is needed, there is nothing to time.
    let needed = |file: Option<PathBuf>| -> Result<Option<PathBuf>, String> {
        let Some(file) = file else { return Ok(None) };
        let listed = fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        Ok(Some(file).filter(|_| listed.trim() != "[]"))
    };
    files.into_iter().map(needed).collect()
}

fn list_missing(root: &Path, missing: Vec<Value>) -> Result<(), String> {
    let script = root.join("xtask/peer/peers_limit.py");
    let failed = |error: std::io::Error| format!("{}: {error}", script.display());
    let mut child = Command::new(python()?)
        .arg(&script)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .stdin(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    if let Some(mut input) = child.stdin.take() {
        input.write_all(Value::from(missing).to_string().as_bytes()).map_err(failed)?;
    }
    let status = child.wait().map_err(failed)?;
    if status.success() { Ok(()) } else { Err(format!("{}: {status}", script.display())) }
}

/// The processes. zarrs and the parquet crate are in one.
pub(super) struct Sides {
    tdb: Worker,
    /// tdb's crate for SQL, if a case needs it.
    sql: Option<Worker>,
    libtiledb: Worker,
    crates: Worker,
    polars: Worker,
    duckdb: Worker,
}

impl Sides {
    /// Starts all.
    pub(super) fn start(root: &Path, options: &Options, sql: bool) -> Result<Self, String> {
        let threads = options.threads;
        let python = python()?;
        let target = workers::target(root).join("peers");
        workers::release(&root.join("benches/peers/Cargo.toml"), &target, "")?;
        Ok(Self {
            tdb: workers::tdb(root, threads)?,
            sql: if sql {
                Some(crate::compare::sql::worker(root, options.worker.as_deref(), options.threads)?)
            } else {
                None
            },
            libtiledb: workers::peer(root, &python, threads)?,
            crates: Worker::start(
                "zarrs and parquet",
                Command::new(target.join("release/peers")).arg(threads.to_string()),
            )?,
            polars: engine(root, &python, "Polars", "polars", threads)?,
            duckdb: engine(root, &python, "DuckDB", "duckdb", threads)?,
        })
    }

    /// The process that answers a case for a side.
    fn worker(&mut self, side: Side, sql: bool) -> Result<&mut Worker, String> {
        Ok(match side {
            Side::Tdb if sql => self.sql.as_mut().ok_or("tdb's crate for SQL was not started")?,
            Side::Tdb => &mut self.tdb,
            Side::Libtiledb => &mut self.libtiledb,
            Side::Zarrs | Side::Shards | Side::Parquet => &mut self.crates,
            Side::Polars => &mut self.polars,
            Side::DuckDb => &mut self.duckdb,
        })
    }

    /// Asks a side.
    pub(super) fn ask(&mut self, side: Side, case: &Case, request: &Value) -> Result<Answer, String> {
        self.worker(side, case.needs_sql())?.ask(request)
    }

    /// The digest of a side's last answer.
    pub(super) fn hash(&mut self, side: Side, case: &Case) -> Result<String, String> {
        crate::compare::hash(self.worker(side, case.needs_sql())?)
    }

    /// Asks the process of `benches/peers`.
    pub(super) fn crates(&mut self, request: &Value) -> Result<Answer, String> {
        self.crates.ask(request)
    }

    /// Makes the arrays of Zarr that do not exist yet.
    pub(super) fn make_zarr(&mut self, data: &Path, small: bool) -> Result<(), String> {
        for case in super::cases::all(small).iter().filter(|case| case.group == Group::Dense) {
            for side in [Side::Zarrs, Side::Shards] {
                let request = case.request(side, data, &Value::Null);
                let path = request.get("zarr").and_then(Value::as_str).map(PathBuf::from).ok_or("no path")?;
                if path.exists() {
                    continue;
                }
                let aside = path.with_extension("part");
                let raw =
                    data.join(if case.array == "dense_i32" { "raw/plane_i32/a" } else { "raw/plane/a" });
                let codec = match case.array.strip_prefix("dense_") {
                    Some("i32") => "byteshuffle",
                    Some(codec) => codec,
                    None => return Err(format!("{} is not a dense array", case.array)),
                };
                self.crates.ask(&make(&aside, &raw, codec, side, small))?;
                fs::rename(&aside, &path).map_err(|error| format!("{}: {error}", path.display()))?;
            }
        }
        Ok(())
    }

    /// The machine and the versions.
    pub(super) fn conditions(&self, options: &Options) -> Result<String, String> {
        let ours = Conditions::new(&self.tdb, &self.libtiledb, options.threads, options.rounds).text();
        let ours = ours.trim_end().trim_end_matches('.');
        let others =
            [&self.crates, &self.polars, &self.duckdb].map(|worker| worker.version.clone()).join(", ");
        Ok(format!("{ours}, {others}."))
    }
}

/// The request for an array of Zarr with the cells of a square.
pub(super) fn make(path: &Path, raw: &Path, codec: &str, side: Side, small: bool) -> Value {
    let len = if small { super::cases::SMALL_SIDE } else { super::cases::SIDE };
    json!({
        "op": "make", "zarr": path.display().to_string(), "raw": raw.display().to_string(), "codec": codec,
        "type": if codec == "byteshuffle" { "int32" } else { "float64" }, "shape": [len, len], "chunks": [512, 512],
        "inner": if side == Side::Shards { json!([128, 128]) } else { Value::Null }, "pieces": 1,
    })
}
