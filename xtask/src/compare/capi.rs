//! `cargo xtask compare capi`: our library in the place of libtiledb, beside the genuine one.
//!
//! Through the C functions: two processes of `xtask/peer/compare_peer.py`, each with one of the
//! libraries, read the arrays of the first table in turns into buffers that fit the result, and
//! the crates read them as well: the library may lose little beside them. Through TileDB-Py: two
//! processes of `xtask/peer/python_peer.py` do what [`super::python`] has, each with one of the
//! libraries.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::cases::{CASES, Case};
use super::options::Options;
use super::python;
use super::table::{Conditions, Sample, aligned, duration, markdown_of, put_between};
use super::workers::{self, Worker};
use crate::conform::capi as wheel;
use crate::peer::repository_root;

const USAGE: &str = "usage: cargo xtask compare capi [--cases SUBSTR]... [--rounds N] [--threads N] [--data DIR] [--write-docs]";
const MARKS: (&str, &str) = ("<!-- compare-capi:begin -->", "<!-- compare-capi:end -->");

/// Cases that no side takes longer for than this many seconds are run [`MORE`] times as often.
const SHORT: f64 = 0.05;
const MORE: usize = 5;

const INTRODUCTION: &str = "
## In the place of libtiledb

`cargo xtask compare capi` has programs of TileDB's C functions and of TileDB-Py run with libtiledb 2.30.0 and with
[tdb's library in its place](libtiledb.md), in turns, and compares the cells. The reads of the first table go through the C
functions, into buffers that fit the result; the crates alone read the same. Ratios are libtiledb's median time divided by
that of tdb's library; of crates is the crates' time divided by it.
";

/// The times of a case.
struct Row {
    name: String,
    cells: u64,
    /// The crates, where they did it, too.
    crates: Sample,
    own: Sample,
    genuine: Sample,
    wrong: Option<String>,
}

impl Row {
    fn new(name: &str, cells: u64) -> Self {
        let (crates, own, genuine) = (Sample::default(), Sample::default(), Sample::default());
        Self { name: name.to_owned(), cells, crates, own, genuine, wrong: None }
    }
}

/// Entry point of the subcommand.
pub(super) fn run(args: &[String]) -> Result<(), String> {
    let options = Options::parse(args, 7, &[], USAGE)?;
    let root = repository_root()?;
    let library = wheel::built(&root)?;
    let reads = options.chosen(CASES, |case| case.name);
    let scripts = options.chosen(&python::CASES, |case| case.name);
    if let (Err(why), Err(_)) = (&reads, &scripts) {
        return Err(why.clone());
    }
    let (interpreter, data) = workers::arrays(&root, options.data.clone())?;
    let own = library.display().to_string();
    let mut genuine = workers::peer(&root, &interpreter, options.threads)?;
    let mut replaced = workers::peer_with(&root, &interpreter, options.threads, &["--lib", &own])?;
    let mut crates = workers::tdb(&root, options.threads)?;
    let conditions = Conditions::new(&crates, &genuine, options.threads, options.rounds).text();
    let mut rows = Vec::new();
    for case in reads.unwrap_or_default() {
        eprintln!("{}", case.name);
        let sides = (&mut crates, &mut replaced, &mut genuine);
        rows.push(
            read(case, &data, options.rounds, sides).map_err(|error| format!("{}: {error}", case.name))?,
        );
    }
    drop((genuine, replaced, crates));
    if let Ok(scripts) = scripts {
        let (mut own, mut genuine) = through_python(&root, &library, options.threads)?;
        for case in scripts {
            eprintln!("{}", case.name);
            let request = case.request(&root, &data);
            let row = script(case.name, &request, options.rounds, (&mut own, &mut genuine));
            rows.push(row.map_err(|error| format!("{}: {error}", case.name))?);
        }
    }
    let lines = lines(&rows);
    println!("{}\n{conditions}", aligned(&lines));
    if options.write_docs {
        let text = format!("{}\n{conditions}", markdown_of(&lines));
        put_between(&root.join("docs/performance.md"), MARKS, INTRODUCTION, &text)?;
    }
    let wrong: Vec<String> =
        rows.iter().filter_map(|row| Some(format!("WRONG {}: {}", row.name, row.wrong.as_ref()?))).collect();
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
}

/// Two processes with TileDB-Py: one whose library is ours, and one with its own.
fn through_python(root: &Path, library: &Path, threads: usize) -> Result<(Worker, Worker), String> {
    let interpreter = python::interpreter()?;
    let environment = interpreter.parent().and_then(Path::parent).ok_or("Python is in no environment")?;
    let modules: PathBuf = workers::target(root).join("python/compare-capi");
    wheel::with_library(wheel::PACKAGE, &wheel::modules(environment)?, &modules, library)?;
    let script = root.join("xtask/peer/python_peer.py");
    let threads = threads.to_string();
    let side = |name: &'static str, modules: Option<&Path>| {
        let mut command = Command::new(&interpreter);
        command.arg(&script).args(["tiledb", "--threads", &threads]);
        if let Some(modules) = modules {
            command.env("PYTHONPATH", modules);
        }
        Worker::start(name, &mut command)
    };
    Ok((side("tdb's library", Some(&modules))?, side("libtiledb", None)?))
}

/// Reads an array with the crates, our library and the genuine one, in turns.
fn read(
    case: &Case,
    data: &Path,
    rounds: usize,
    (crates, own, genuine): (&mut Worker, &mut Worker, &mut Worker),
) -> Result<Row, String> {
    let mut request = case.request(data);
    let warm = crates.ask(&request)?;
    // Buffers of the right size, so that no read is repeated with larger ones.
    if let Some(request) = request.as_object_mut() {
        for key in ["sizes", "widths", "cells"] {
            request.insert(key.into(), warm.json.get(key).cloned().unwrap_or(Value::Null));
        }
    }
    let (ours, theirs) = (own.ask(&request)?, genuine.ask(&request)?);
    let mut row = Row::new(case.name, warm.cells);
    row.wrong = difference(own, genuine)?;
    let longest = ours.seconds.max(theirs.seconds).max(warm.seconds);
    for _ in 0..if longest < SHORT { rounds.saturating_mul(MORE) } else { rounds } {
        row.crates.add(crates.ask(&request)?.seconds, None);
        row.own.add(own.ask(&request)?.seconds, None);
        row.genuine.add(genuine.ask(&request)?.seconds, None);
    }
    Ok(row)
}

/// Does the same in two processes of Python, in turns.
fn script(
    name: &str,
    request: &Value,
    rounds: usize,
    (own, genuine): (&mut Worker, &mut Worker),
) -> Result<Row, String> {
    let (ours, theirs) = (own.ask(request)?, genuine.ask(request)?);
    let mut row = Row::new(&format!("TileDB-Py: {name}"), ours.cells);
    row.wrong = difference(own, genuine)?;
    let longest = ours.seconds.max(theirs.seconds);
    for _ in 0..if longest < SHORT { rounds.saturating_mul(MORE) } else { rounds } {
        row.own.add(own.ask(request)?.seconds, None);
        row.genuine.add(genuine.ask(request)?.seconds, None);
    }
    Ok(row)
}

/// How the last results of both libraries differ.
fn difference(own: &mut Worker, genuine: &mut Worker) -> Result<Option<String>, String> {
    let hash = |worker: &mut Worker| worker.ask(&json!({"op": "hash"})).map(|answer| answer.json);
    let (ours, theirs) = (hash(own)?, hash(genuine)?);
    Ok((ours != theirs).then(|| format!("tdb's library has {ours}, libtiledb has {theirs}")))
}

fn lines(rows: &[Row]) -> Vec<Vec<String>> {
    let dash = || "–".to_owned();
    let head = ["case", "cells", "tdb's library", "libtiledb", "ratio", "crates", "of crates"];
    let line = |row: &Row| {
        let (own, genuine, crates) = (row.own.median(), row.genuine.median(), row.crates.median());
        let share = |of: Option<f64>| match (of, own) {
            (Some(of), Some(own)) if own > 0.0 => format!("{:.2}", of / own),
            _ => dash(),
        };
        let time = |median: Option<f64>| median.map_or_else(dash, duration);
        let ratio = if row.wrong.is_some() { "WRONG".to_owned() } else { share(genuine) };
        let cells = row.cells.to_string();
        vec![row.name.clone(), cells, time(own), time(genuine), ratio, time(crates), share(crates)]
    };
    core::iter::once(head.map(str::to_owned).to_vec()).chain(rows.iter().map(line)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_those_of_medians_and_a_wrong_case_has_none() {
        let mut row = Row::new("a", 2);
        row.crates.add(0.009, None);
        row.own.add(0.01, None);
        row.genuine.add(0.05, None);
        assert_eq!(lines(&[row])[1], ["a", "2", "10.0 ms", "50.0 ms", "5.00", "9.00 ms", "0.90"]);
        let mut row = Row::new("b", 2);
        row.wrong = Some("why".to_owned());
        row.own.add(0.01, None);
        assert_eq!(lines(&[row])[1], ["b", "2", "10.0 ms", "–", "WRONG", "–", "–"]);
    }
}
