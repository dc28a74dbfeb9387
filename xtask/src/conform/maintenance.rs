//! `cargo xtask conform maintenance`: the same history of an array made by tdb and by libtiledb, with maintenance in any
//! order; then libtiledb reads both arrays at every time, and so does tdb.

mod cases;
mod told;

use core::ops::ControlFlow;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tdb_array::{
    Consolidation, GroupMember, Key, Layout, MetadataChanges, ObjectType, OpenOptions, SchemaEvolution,
    Stored, TimeWindow, Vacuum, WriteColumn, WriteError, WriteOptions,
};

use self::cases::{Case, Kind, Step};
use crate::peer::{READER, libraries, python, repository_root};

pub(super) const USAGE: &str = "[--cases N] [--seed N] [--dir DIR]";

/// Failures that are printed in full.
const SHOWN: usize = 20;

/// Entry point of the subcommand.
pub(super) fn run(args: &[String]) -> Result<(), String> {
    let (mut count, mut seed) = (200u64, 1u64);
    let mut folder = std::env::temp_dir().join(format!("tdb-maintenance-{}", std::process::id()));
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{arg} wants a value: {USAGE}"));
        let number = |text: &String| text.parse().map_err(|_| format!("{arg} wants a number"));
        match arg.as_str() {
            "--cases" => count = number(value()?)?,
            "--seed" => seed = number(value()?)?,
            "--dir" => folder = value()?.into(),
            _ => return Err(format!("unknown argument {arg}: {USAGE}")),
        }
    }
    let root = repository_root()?;
    let library = libraries(&root, &[READER.to_owned()])?.remove(READER).ok_or("no library")?;
    let (ours, theirs) = (folder.join("ours"), folder.join("theirs"));
    for folder in [&ours, &theirs] {
        fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    }
    let cases: Vec<Case> = (0..count).map(|number| cases::random(seed, number)).collect();
    let mut failures = Vec::new();
    for case in &cases {
        if let Err(error) = make(case, &ours) {
            failures.push(format!("{}: tdb: {error}", case.name));
        }
    }
    let list = folder.join("cases.json");
    let json: Vec<Value> = cases.iter().map(Case::json).collect();
    fs::write(&list, Value::Array(json).to_string()).map_err(|e| format!("{}: {e}", list.display()))?;
    let text = |path: &Path| path.display().to_string();
    let said = python(
        &root,
        "maintain_peer.py",
        &[
            "--lib",
            &text(&library),
            "--cases",
            &text(&list),
            "--ours",
            &text(&ours),
            "--theirs",
            &text(&theirs),
        ],
    )?;
    let mut tally: BTreeMap<String, u64> = BTreeMap::new();
    for (case, line) in cases.iter().zip(said.lines()) {
        let answer: Value = serde_json::from_str(line).map_err(|e| format!("{line}: {e}"))?;
        let word = |key: &str| answer.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        *tally.entry(format!("{} {}", case.kind.name(), word("outcome"))).or_default() += 1;
        if word("outcome") == "known" {
            *tally.entry(format!("known difference: {}", word("what"))).or_default() += 1;
        } else if word("outcome") != "equal" {
            failures.push(format!("{}: libtiledb reads: {} {}", case.name, word("outcome"), word("what")));
        } else if let Err(error) = same(case, &ours, &theirs) {
            failures.push(format!("{}: tdb reads: {error}", case.name));
        }
        let skipped = answer.get("skipped").and_then(Value::as_array).map_or(0, Vec::len);
        *tally.entry("maintenance steps that libtiledb refused".into()).or_default() +=
            u64::try_from(skipped).unwrap_or(0);
    }
    let steps: usize = cases.iter().map(|case| case.steps.len()).sum();
    let windows: usize = cases.iter().map(|case| case.windows().len()).sum();
    println!("{count} histories of {steps} steps, read in {windows} windows by both libraries");
    for (what, count) in &tally {
        println!("  {count:6} {what}");
    }
    if said.lines().count() < cases.len() {
        failures.push("libtiledb's side ended early".into());
    }
    if failures.is_empty() {
        // What was compared is of no use any more.
        let _ = fs::remove_dir_all(&folder);
        return Ok(());
    }
    failures.iter().take(SHOWN).for_each(|failure| eprintln!("{failure}"));
    Err(format!("{} of {count} histories differ; their arrays are in {}", failures.len(), folder.display()))
}

/// Takes a case's steps with tdb.
fn make(case: &Case, out: &Path) -> Result<(), String> {
    let path: PathBuf = out.join(&case.name);
    let _ = fs::remove_dir_all(&path);
    let at = |time: u64| {
        let options = WriteOptions::new().threads(1).timestamp(time);
        match key(case) {
            Some(key) => options.key(key),
            None => options,
        }
    };
    for step in &case.steps {
        take(case, step, &path, &at).map_err(|error| format!("{step:?}: {error}"))?;
    }
    Ok(())
}

/// The key of an encrypted case.
fn key(case: &Case) -> Option<Key> {
    let bytes: Option<[u8; 32]> = case.kind.key()?.as_bytes().try_into().ok();
    bytes.map(Key::new)
}

fn take(
    case: &Case,
    step: &Step,
    path: &Path,
    at: &dyn Fn(u64) -> WriteOptions,
) -> Result<(), tdb_array::Error> {
    let go = &mut |_: &_| ControlFlow::Continue(());
    if case.kind == Kind::Group {
        return take_group(step, path, at);
    }
    match step {
        // Only groups have members.
        Step::Member { .. } => Ok(()),
        Step::Purge => {
            let writer = at(0).open(path)?;
            let all = Consolidation::new(Stored::Fragments).purge(true);
            match all.plan(&writer)?.run(&writer, go) {
                // Where nothing would be left, libtiledb writes an empty fragment.
                Err(tdb_array::Error::Write(WriteError::Refused { .. })) => Ok(()),
                done => done,
            }
        }
        Step::Create => at(cases::START).create(path, &case.kind.schema()),
        Step::Write { time, cells } => {
            let writer = at(*time).open(path)?;
            let columns = cells.columns(case.kind);
            let mut write = writer.write();
            if case.kind.is_dense() {
                let (x, y) = cells.bounds();
                write = write.range("x", x.0..=x.1).range("y", i64::from(y.0)..=i64::from(y.1));
            } else {
                let x = match case.kind {
                    Kind::Words => WriteColumn::var("x", &columns.words, &columns.word_offsets),
                    _ => WriteColumn::fixed("x", &columns.x),
                };
                // Words have no space tiles.
                let order = if case.kind == Kind::Words { Layout::Unordered } else { Layout::GlobalOrder };
                write = write.order(order).column(x).column(WriteColumn::fixed("y", &columns.y));
            }
            write = write.column(WriteColumn::fixed("a", &columns.a));
            write =
                write.column(WriteColumn::var("s", &columns.s, &columns.offsets).nullable(&columns.valid));
            if columns.has_b {
                write = write.column(WriteColumn::fixed("b", &columns.b));
            }
            write.commit().map(drop)
        }
        Step::Delete { time, most } => at(*time).open(path)?.delete(&cases::greater(*most)).map(drop),
        Step::Consolidate(what) => {
            let writer = at(0).open(path)?;
            Consolidation::new(*what).amplification(1e9).plan(&writer)?.run(&writer, go)
        }
        Step::Vacuum(what) => {
            let writer = at(0).open(path)?;
            Vacuum::new(*what).drop_history(true).plan(&writer)?.run(&writer, go)
        }
        Step::Metadata { time, key, value } => {
            let changes = MetadataChanges::new();
            let changes = match value {
                Some(value) => changes.put_values(key.as_str(), tdb_array::Datatype::Int32, &[*value]),
                None => changes.remove(key.as_str()),
            };
            at(*time).open(path)?.write_metadata(&changes).map(drop)
        }
        Step::Evolve { time } => {
            at(*time).evolve(path, &SchemaEvolution::new().add_attribute(cases::added())).map(drop)
        }
    }
}

fn take_group(step: &Step, path: &Path, at: &dyn Fn(u64) -> WriteOptions) -> Result<(), tdb_array::Error> {
    let go = &mut |_: &_| ControlFlow::Continue(());
    match step {
        Step::Create => at(cases::START).create_group(path),
        Step::Metadata { time, key, value } => {
            let mut group = at(*time).open_group(path)?;
            let changes = MetadataChanges::new();
            group.metadata(match value {
                Some(value) => changes.put_values(key.as_str(), tdb_array::Datatype::Int32, &[*value]),
                None => changes.remove(key.as_str()),
            });
            group.commit()
        }
        Step::Member { time, name, added } => {
            let mut group = at(*time).open_group(path)?;
            if *added {
                let member = GroupMember::new(ObjectType::Array, name.as_str());
                group.add(GroupMember { relative: true, name: Some(name.clone()), ..member })?;
            } else {
                group.remove(name)?;
            }
            group.commit()
        }
        Step::Vacuum(what) => {
            let group = at(0).open_group(path)?;
            Vacuum::new(*what).drop_history(true).plan(&group)?.run(&group, go)
        }
        _ => {
            let group = at(0).open_group(path)?;
            Consolidation::new(Stored::Metadata).plan(&group)?.run(&group, go)
        }
    }
}

/// Whether tdb reads the same from both arrays in every window.
fn same(case: &Case, ours: &Path, theirs: &Path) -> Result<(), String> {
    for window in case.windows() {
        let [a, b] = [ours, theirs].map(|folder| look(case, &folder.join(&case.name), window));
        let (a, b) = (a.map_err(|e| e.to_string())?, b.map_err(|e| e.to_string())?);
        if a != b {
            return Err(format!("{window:?}: {a:?} from tdb's array, {b:?} from libtiledb's"));
        }
    }
    Ok(())
}

fn look(case: &Case, path: &Path, window: TimeWindow) -> Result<Vec<String>, tdb_array::Error> {
    let options = OpenOptions::new().window(window);
    if case.kind == Kind::Group {
        let group = options.open_group(path)?;
        let mut rows: Vec<String> = group.members().map(|member| member.key().to_owned()).collect();
        rows.sort();
        rows.extend(group.metadata()?.iter().map(|(key, value)| format!("{key:?} {value:?}")));
        return Ok(rows);
    }
    let array = match key(case) {
        Some(key) => options.key(key).open(path)?,
        None => options.open(path)?,
    };
    let cells = array.read().collect()?;
    let mut rows: Vec<String> = (0..cells.len())
        .map(|at| {
            let show = |column: &tdb_array::Column| {
                if column.is_null(at) { "null".to_owned() } else { format!("{:?}", column.cell(at)) }
            };
            cells.columns().iter().map(show).collect::<Vec<_>>().join(" ")
        })
        .collect();
    if array.schema().array_type == tdb_array::ArrayType::Sparse {
        rows.sort();
    }
    rows.extend(array.metadata()?.iter().map(|(key, value)| format!("{key:?} {value:?}")));
    Ok(rows)
}
