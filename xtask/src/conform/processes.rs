//! `cargo xtask conform crashes` and `cargo xtask conform concurrency`: long runs of the tests with
//! several processes. Afterwards, libtiledb reads the resulting arrays and must find what tdb
//! finds.
//!
//! The tests themselves (`crates/tdb-array/tests/processes`) compare arrays with a model: the array
//! after each kill, and the array that writers, readers and maintainers used.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use tdb_array::{Array, TimeWindow};

use super::writes::hex;
use crate::peer::{READER, libraries, python, repository_root};

pub(super) const CRASHES: &str = "[--kills N] [--seed N]";
pub(super) const CONCURRENCY: &str = "[--seconds N]";

/// `conform crashes`: an array after each of many kills.
pub(super) fn crashes(args: &[String]) -> Result<(), String> {
    let (mut kills, mut seed) = ("200", "1");
    let mut words = args.iter();
    while let Some(word) = words.next() {
        let value = words.next().ok_or_else(|| format!("{word} needs a number: {CRASHES}"))?;
        match word.as_str() {
            "--kills" => kills = value,
            "--seed" => seed = value,
            _ => return Err(format!("unknown argument {word}: {CRASHES}")),
        }
    }
    // The timestamps of the test's arrays begin at 100.
    let mut windows: Vec<TimeWindow> = (101..140).step_by(4).map(TimeWindow::until).collect();
    windows.extend([TimeWindow::ALL, TimeWindow::between(110, 125), TimeWindow::between(107, u64::MAX)]);
    run("kills", &[("TDB_KILLS", kills), ("TDB_SEED", seed)], &windows)
}

/// `conform concurrency`: arrays that many processes used.
pub(super) fn concurrency(args: &[String]) -> Result<(), String> {
    let seconds = match args {
        [] => "60",
        [word, seconds] if word == "--seconds" => seconds,
        _ => return Err(format!("unknown arguments: {CONCURRENCY}")),
    };
    run("crowd", &[("TDB_CROWD_SECONDS", seconds)], &[TimeWindow::ALL])
}

/// Runs some tests, which keep their arrays, and lets libtiledb read these arrays.
fn run(tests: &str, words: &[(&str, &str)], windows: &[TimeWindow]) -> Result<(), String> {
    let root = repository_root()?;
    let library = libraries(&root, &[READER.to_owned()])?.remove(READER).ok_or("no library")?;
    let folder = std::env::temp_dir().join(format!("tdb-{tests}-{}", std::process::id()));
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut command = Command::new(env!("CARGO"));
    command.args([
        "test",
        "--quiet",
        "--package",
        "tdb-array",
        "--test",
        "processes",
        "--",
        tests,
        "--nocapture",
    ]);
    command.current_dir(&root).env("TDB_KEEP", &folder).envs(words.iter().copied());
    let status = command.status().map_err(|e| format!("cargo: {e}"))?;
    if !status.success() {
        return Err(format!("the tests failed ({status}); their arrays are in {}", folder.display()));
    }
    let arrays = arrays(&folder)?;
    let peer = Peer { root, library: library.display().to_string(), list: folder.join("arrays.json") };
    let all: Vec<(&Path, &[TimeWindow])> = arrays.iter().map(|path| (path.as_path(), windows)).collect();
    let (mut cells, mut accidents) = (0u64, 0u64);
    for ((path, _), theirs) in all.iter().zip(peer.look(&all, "unordered", false)?) {
        for (at, window) in windows.iter().enumerate() {
            let theirs = theirs.get(at).cloned().unwrap_or_default();
            let ours = look(path, *window).map_err(|error| format!("{}: {error}", path.display()))?;
            if theirs != ours {
                if !peer.is_accident(path, *window, &ours)? {
                    return Err(format!(
                        "{} in {window:?}: libtiledb reads {theirs}, tdb {ours}",
                        path.display()
                    ));
                }
                accidents += 1;
            }
            cells += ours.get("cells").and_then(Value::as_u64).unwrap_or(0);
        }
    }
    println!(
        "libtiledb {READER} reads {} arrays in {} windows as tdb does, {cells} cells",
        arrays.len(),
        arrays.len() * windows.len(),
    );
    if accidents > 0 {
        println!("{accidents} of them not in each of its orders (\"Equal timestamps\")");
    }
    // The compared arrays are no longer needed.
    let _ = fs::remove_dir_all(&folder);
    Ok(())
}

/// libtiledb, and where it is told which arrays to read.
struct Peer {
    root: PathBuf,
    library: String,
    list: PathBuf,
}

impl Peer {
    /// What libtiledb reads in windows of arrays, in an order of its own.
    /// `each` asks for a hash of each cell, too.
    fn look(&self, arrays: &[(&Path, &[TimeWindow])], order: &str, each: bool) -> Result<Vec<Value>, String> {
        let told = arrays.iter().map(|(path, windows)| {
            let ranges: Vec<[u64; 2]> = windows.iter().map(|window| [window.start, window.end]).collect();
            json!({ "path": path.display().to_string(), "windows": ranges, "order": order, "each": each })
        });
        fs::write(&self.list, Value::from_iter(told).to_string())
            .map_err(|e| format!("{}: {e}", self.list.display()))?;
        let list = self.list.display().to_string();
        let said =
            python(&self.root, "maintain_peer.py", &["--lib", &self.library, "--look", list.as_str()])?;
        let answers: Vec<Value> = said
            .lines()
            .map(|line| serde_json::from_str(line).map_err(|e| format!("{line}: {e}")))
            .collect::<Result<_, String>>()?;
        if answers.len() != arrays.len() {
            return Err(format!("libtiledb answered for {} of {} arrays", answers.len(), arrays.len()));
        }
        Ok(answers)
    }

    /// Whether a difference is the rule "Equal timestamps" of docs/correctness_issues.md:
    /// libtiledb's own reader of another order finds what tdb finds; or both find the same cells,
    /// but for coordinates that several fragments of one time have.
    fn is_accident(&self, path: &Path, window: TimeWindow, ours: &Value) -> Result<bool, String> {
        let failed = |error: tdb_array::Error| format!("{}: {error}", path.display());
        let contested = contested(path, window)?;
        if contested.is_empty() {
            return Ok(false);
        }
        // With deletes, its reader of rows fails now and then ("All tiles should have at least one
        // cell").
        let look = |order: &str| self.look(&[(path, &[window])], order, true);
        let said = look("row-major").or_else(|_| look("unordered"))?;
        let said = said.first().and_then(|answer| answer.get(0)).unwrap_or(&Value::Null);
        let equal = |names: &[&str]| names.iter().all(|name| said.get(name) == ours.get(name));
        if equal(&["fields", "metadata", "cells", "sum"]) {
            return Ok(true);
        }
        let uncontested = |mut cells: Vec<(String, u64)>| {
            cells.retain(|(place, _)| !contested.contains(place));
            cells.sort_unstable();
            cells
        };
        let theirs = said
            .get("each")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(|cell| Some((cell.get(0)?.as_str()?.to_owned(), cell.get(1)?.as_u64()?)));
        let ours = cells(path, window).map_err(failed)?;
        Ok(equal(&["fields", "metadata"]) && uncontested(theirs.collect()) == uncontested(ours))
    }
}

/// The coordinates that several fragments of a window have which begin at one time, as [`cells`]
/// says them.
fn contested(path: &Path, window: TimeWindow) -> Result<BTreeSet<String>, String> {
    let array = Array::open_at(path, window).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut named: BTreeMap<u64, Vec<&str>> = BTreeMap::new();
    for fragment in array.fragments() {
        named.entry(fragment.timestamps().0).or_default().push(fragment.name());
    }
    let mut contested = BTreeSet::new();
    for names in named.values().filter(|names| names.len() > 1) {
        let mut seen = BTreeSet::new();
        for name in names {
            let own = alone(path, name)?;
            contested.extend(own.intersection(&seen).cloned());
            seen.extend(own);
        }
    }
    Ok(contested)
}

/// The coordinates of the cells of one fragment, which are read from an array that has only this
/// one.
fn alone(path: &Path, fragment: &str) -> Result<BTreeSet<String>, String> {
    let copy = path.with_file_name("alone");
    let failed = |e: std::io::Error| format!("{}: {e}", copy.display());
    for folder in ["__schema".to_owned(), format!("__fragments/{fragment}")] {
        fs::create_dir_all(copy.join(&folder)).map_err(failed)?;
        for entry in fs::read_dir(path.join(&folder)).map_err(failed)? {
            let file = entry.map_err(failed)?;
            if file.path().is_file() {
                fs::copy(file.path(), copy.join(&folder).join(file.file_name())).map_err(failed)?;
            }
        }
    }
    fs::create_dir_all(copy.join("__commits")).map_err(failed)?;
    fs::write(copy.join(format!("__commits/{fragment}.wrt")), []).map_err(failed)?;
    let cells = cells(&copy, TimeWindow::ALL).map_err(|error| format!("{}: {error}", copy.display()))?;
    fs::remove_dir_all(&copy).map_err(failed)?;
    Ok(cells.into_iter().map(|(place, _)| place).collect())
}

/// The arrays that the tests kept.
fn arrays(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let failed = |e: std::io::Error| format!("{}: {e}", folder.display());
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path().join("array");
        if path.is_dir() {
            found.push(path);
        }
    }
    found.sort();
    if found.is_empty() { Err("the tests kept no arrays".into()) } else { Ok(found) }
}

/// The cells that tdb reads in a window: the coordinates of each as hexadecimal text, and a hash of
/// it.
fn cells(path: &Path, window: TimeWindow) -> Result<Vec<(String, u64)>, tdb_array::Error> {
    let cells = Array::open_at(path, window)?.read().collect()?;
    let mut columns: Vec<_> = cells.columns().iter().collect();
    columns.sort_by(|a, b| a.name.cmp(&b.name));
    let cell_at = |at: usize| {
        let (mut hash, mut place) = (Hash::new(), String::new());
        for column in &columns {
            let cell = if column.is_null(at) { None } else { column.cell(at) };
            hash.add(cell);
            if let ("x" | "y", Some(cell)) = (column.name.as_str(), cell) {
                place.push_str(&hex(cell));
            }
        }
        (place, hash.0)
    };
    Ok((0..cells.len()).map(cell_at).collect())
}

/// What tdb reads in a window, in the form of `maintain_peer.py`.
fn look(path: &Path, window: TimeWindow) -> Result<Value, tdb_array::Error> {
    let array = Array::open_at(path, window)?;
    let sum = cells(path, window)?.into_iter().fold(0u64, |sum, (_, hash)| sum.wrapping_add(hash));
    let cells = array.read().collect()?;
    let mut names: Vec<&str> = cells.columns().iter().map(|column| column.name.as_str()).collect();
    names.sort_unstable();
    let mut metadata = 0u64;
    for (key, value) in array.metadata()?.iter() {
        let mut hash = Hash::new();
        hash.add(Some(key));
        hash.add(Some(&value.data));
        metadata = metadata.wrapping_add(hash.0);
    }
    Ok(json!({ "fields": names, "cells": cells.len(), "sum": format!("{sum:016x}"),
               "metadata": format!("{metadata:016x}") }))
}

/// FNV-1a of some values. Both sides add up these hashes, so the order of cells does not matter.
struct Hash(u64);

impl Hash {
    const fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    fn add(&mut self, value: Option<&[u8]>) {
        let (valid, bytes) = (u8::from(value.is_some()), value.unwrap_or_default());
        let len = u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_le_bytes();
        for byte in [valid].iter().chain(&len).chain(bytes) {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}
