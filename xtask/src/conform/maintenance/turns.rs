//! One array that tdb and libtiledb change in turns; then both read it, in every window and order.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::{Value, json};
use tdb_array::schema::ArrayType;
use tdb_array::{Array, Layout, TimeWindow};

use super::cases::{Case, Kind, Step};
use super::cells::Cells;
use super::rules::{ALONE, WRITES};
use super::steps::{key, take};
use crate::conform::random::Random;
use crate::conform::writes::hex;

/// The beginning of a failure that is a crash of libtiledb.
pub(super) const ENDED: &str = "libtiledb ended in ";

/// libtiledb in a separate process, which gets one step after another.
pub(super) struct Turns {
    script: PathBuf,
    library: PathBuf,
    cases: PathBuf,
    arrays: PathBuf,
    child: Option<(Child, BufReader<ChildStdout>)>,
}

/// The outcome of a history.
#[derive(Debug, Default)]
pub(super) struct Came {
    /// Maintenance that libtiledb refused.
    pub(super) skipped: u64,
    /// Queries with the same answer from both.
    pub(super) equal: u64,
    pub(super) verified: u64,
}

impl Drop for Turns {
    fn drop(&mut self) {
        if let Some((mut child, _)) = self.child.take() {
            // It ends by itself when its input ends, but it may be in an endless loop.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Turns {
    /// A peer for the cases that `cases` lists, whose arrays are in a folder.
    pub(super) fn new(script: &Path, library: &Path, cases: &Path, arrays: &Path) -> Self {
        let [script, library, cases, arrays] = [script, library, cases, arrays].map(Path::to_path_buf);
        Self { script, library, cases, arrays, child: None }
    }

    fn start(&self) -> Result<(Child, BufReader<ChildStdout>), String> {
        let mut child = Command::new("python3")
            .arg(&self.script)
            .arg("--lib")
            .arg(&self.library)
            .arg("--turns")
            .arg(&self.cases)
            .arg("--ours")
            .arg(&self.arrays)
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("cannot run python3: {error}"))?;
        let output = child.stdout.take().ok_or("no pipe from python3")?;
        Ok((child, BufReader::new(output)))
    }

    fn ask(&mut self, question: &Value) -> Result<Value, String> {
        let (mut child, mut output) = match self.child.take() {
            Some(child) => child,
            None => self.start()?,
        };
        let input = child.stdin.as_mut().ok_or("no pipe to python3")?;
        let mut line = String::new();
        let told = writeln!(input, "{question}").and_then(|()| input.flush());
        let read = told.and_then(|()| output.read_line(&mut line));
        if read.as_ref().is_ok_and(|len| *len > 0) {
            self.child = Some((child, output));
            return serde_json::from_str(&line).map_err(|error| format!("{error}: {line}"));
        }
        let status = child.wait().map_err(|error| error.to_string())?;
        Err(format!("{ENDED}{question}: {status}"))
    }

    /// Runs a history's steps in turns and compares what both read.
    pub(super) fn run(&mut self, case: &Case, number: usize) -> Result<Came, String> {
        let path = self.arrays.join(&case.name);
        let _ = std::fs::remove_dir_all(&path);
        let mut random = Random::new(tdb_codec::to_u64(number) ^ 0x7452_6e73);
        let mut came = Came::default();
        for (at, step) in case.steps.iter().enumerate() {
            // libtiledb writes the schema of an evolved encrypted array without encryption.
            let ours = random.one_in(2);
            if ours {
                take(case, step, &path).map_err(|error| format!("tdb, step {at} {step:?}: {error}"))?;
                case.verify(&path).map_err(|error| format!("after tdb's step {at} {step:?}: {error}"))?;
                came.verified += 1;
            } else {
                let said = self.ask(&json!({ "case": number, "step": at }));
                let said = said.map_err(|why| match step {
                    Step::Write { cells, .. } if case.kind.is_dense() && dies_of_empty(&why, cells) => {
                        format!("{why} {WRITES}")
                    }
                    _ if why.starts_with(ENDED) && self.dies_alone(number, at) => format!("{why} {ALONE}"),
                    _ => why,
                })?;
                if let Some(why) = said.get("refused") {
                    let may = matches!(step, Step::Consolidate(_) | Step::Vacuum(_) | Step::Purge);
                    if !may {
                        return Err(format!("libtiledb refuses step {at} {step:?}: {why}"));
                    }
                    came.skipped += 1;
                }
            }
        }
        // After libtiledb consolidates, some values are its own if a rule applies.
        if case.ignored().is_none() {
            let array = case.options(Some(TimeWindow::ALL)).open(&path).map_err(|error| error.to_string())?;
            case.check(&array)?;
        }
        self.compare(case, number, &path, &mut came)?;
        Ok(came)
    }

    /// Whether libtiledb also dies in a step if it takes all steps before it: what tdb wrote is not
    /// the cause then.
    fn dies_alone(&self, number: usize, step: usize) -> bool {
        let arrays = self.arrays.join("alone");
        let _ = std::fs::remove_dir_all(&arrays);
        let mut alone = Self::new(&self.script, &self.library, &self.cases, &arrays);
        let mut take = |at: usize| alone.ask(&json!({ "case": number, "step": at }));
        std::fs::create_dir_all(&arrays).is_ok()
            && (0..step).all(|at| take(at).is_ok())
            && take(step).is_err_and(|why| why.starts_with(ENDED))
    }

    fn compare(&mut self, case: &Case, number: usize, path: &Path, came: &mut Came) -> Result<(), String> {
        let ignored = case.ignored().map(|_| "b");
        for window in case.windows() {
            let options = case.options(window);
            let array = options.open(path);
            let range = window.map(|window: TimeWindow| [window.start, window.end]);
            for layout in [Layout::RowMajor, Layout::ColMajor, Layout::GlobalOrder, Layout::Unordered] {
                let question =
                    json!({ "case": number, "window": range, "order": layout.name(), "ignored": ignored });
                let mut theirs = self.ask(&question)?;
                let ours = match &array {
                    Ok(array) => look(case, array, layout, ignored).map_err(|error| error.to_string()),
                    Err(error) => Err(error.to_string()),
                };
                if let (Err(_), Some(_)) = (&ours, theirs.get("refused")) {
                    // Before the array existed, both must report an error.
                    continue;
                }
                let ours = ours.map_err(|error| format!("{question}: tdb: {error}; libtiledb: {theirs}"))?;
                sort(case, layout, &mut theirs);
                if ours != theirs {
                    return Err(format!("{question}: tdb reads {ours}, libtiledb {theirs}"));
                }
                came.equal += 1;
            }
        }
        Ok(())
    }
}

/// Whether libtiledb died as it does when it writes a box that leaves out a part of a space tile:
/// of the cells there, which are empty.
fn dies_of_empty(why: &str, cells: &Cells) -> bool {
    let in_part = |at: &(i32, i32)| cells.lies_in_part_of_tile(*at);
    why.starts_with(ENDED) && why.contains("SIGSEGV") && cells.cells.keys().any(in_part)
}

/// Sorts rows whose order has no meaning: if the query's order has none, or cells with the same
/// coordinates are neighbours.
fn sort(case: &Case, layout: Layout, answer: &mut Value) {
    let Some(rows) = answer.get_mut("rows").and_then(Value::as_array_mut) else { return };
    let text = |row: &Value| row.to_string();
    if layout == Layout::Unordered && !case.kind.is_dense() {
        rows.sort_by_key(text);
    } else if case.kind == Kind::Duplicates {
        let at = |row: &Value| (row.get("x").cloned(), row.get("y").cloned());
        rows.chunk_by_mut(|one, other| at(one) == at(other)).for_each(|run| run.sort_by_key(text));
    }
}

/// What tdb reads, in the form of `maintain_peer.py`.
fn look(
    case: &Case,
    array: &Array,
    layout: Layout,
    ignored: Option<&str>,
) -> Result<Value, tdb_array::Error> {
    let cells = array.read().order(layout).collect()?;
    let columns: Vec<_> = cells.columns().iter().filter(|column| ignored != Some(&column.name)).collect();
    let row = |at: usize| -> Value {
        let value = |column: &tdb_array::Column| match column.cell(at) {
            Some(cell) if !column.is_null(at) => hex(cell).into(),
            _ => Value::Null,
        };
        let row: serde_json::Map<_, _> =
            columns.iter().map(|column| (column.name.clone(), value(column))).collect();
        row.into()
    };
    let rows: Vec<Value> = (0..cells.len()).map(row).collect();
    let mut metadata = Vec::new();
    for (key, value) in array.metadata()?.iter() {
        metadata.push(json!([String::from_utf8_lossy(key), hex(&value.data)]));
    }
    let sparse = array.schema().array_type == ArrayType::Sparse;
    let mut told = json!({ "sparse": sparse, "rows": rows, "metadata": metadata });
    sort(case, layout, &mut told);
    Ok(told)
}

impl Case {
    /// How the array is opened in a window; `None` is now.
    pub(super) fn options(&self, window: Option<TimeWindow>) -> tdb_array::OpenOptions {
        let options = tdb_array::OpenOptions::new();
        let options = match key(self) {
            Some(key) => options.key(key),
            None => options,
        };
        match window {
            Some(window) => options.window(window),
            None => options,
        }
    }

    /// The findings of `tdb verify` for the array, if there are any.
    pub(super) fn verify(&self, path: &Path) -> Result<(), String> {
        if self.kind == Kind::Group {
            return Ok(());
        }
        let found = tdb_array::maintain::verify_with(tdb_array::storage::LocalStorage::new(path), key(self));
        match found.problems.first() {
            None => Ok(()),
            Some(problem) => Err(format!("verify: {}: {}", problem.path, problem.what)),
        }
    }
}
