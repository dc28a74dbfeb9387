//! `tdb verify`: checks every structure, chunk and checksum of an array.

use std::io::Write;
use std::path::PathBuf;

use clap::Args as Group;
use serde_json::{Value, json};
use tdb_array::history::history;
use tdb_array::maintain::{Problem, verify_watched};

use crate::args::KeyArgs;
use crate::count::count;
use crate::failure::{Failure, Result, UNFINISHED, UNFINISHED_REMEDY, one_line};
use crate::place::{Stores, shown};
use crate::progress::{ProgressArgs, Unit};

/// Check every structure, chunk and checksum of an array, and what is stated about its cells.
///
/// Cells of sparse arrays must be in order, without forbidden duplicates, and within their
/// rectangles; statistics must match the cells. Prints a line for each problem and continues after
/// it; of each kind, only the first few of a fragment are shown. The exit code is 1 if there was
/// any problem. Odd but harmless findings are notes.
#[derive(Debug, Group)]
#[command(after_help = "Examples:\n  tdb verify weather\n  tdb verify weather --json")]
pub(crate) struct VerifyArgs {
    /// Folder of the array.
    array: PathBuf,
    #[command(flatten)]
    key: KeyArgs,
    #[command(flatten)]
    progress: ProgressArgs,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(args: &VerifyArgs, stores: &Stores, out: &mut dyn Write) -> Result {
    let (storage, key) = (stores.storage(&args.array)?, args.key.key()?);
    let meter = args.progress.bar("verifying", Unit::Bytes, Some(0));
    if meter.is_seen() {
        // If this fails, verifying says why.
        let events = history(storage.clone(), key.clone()).map(|history| history.events).unwrap_or_default();
        meter.of(0, events.iter().fold(0, |sum, event| sum.saturating_add(event.bytes)));
    }
    let found = verify_watched(storage, key, move |bytes| meter.set(bytes));
    if args.json {
        let lines = |problems: &[Problem]| -> Value { problems.iter().map(problem_json).collect() };
        let object = json!({
            "array": shown(&args.array),
            "ok": found.is_clean(),
            "files": found.files,
            "tiles": found.tiles,
            "bytes": found.bytes,
            "problems": lines(&found.problems),
            "notes": lines(&found.notes),
        });
        writeln!(out, "{object:#}")?;
    } else {
        for note in &found.notes {
            writeln!(out, "note: {}", line(note))?;
        }
        for problem in &found.problems {
            writeln!(out, "{}", line(problem))?;
        }
        if found.is_clean() {
            let (files, tiles) = (count(found.files, "file"), count(found.tiles, "tile"));
            writeln!(out, "ok: {files}, {tiles}, {}", count(found.bytes, "byte"))?;
        }
    }
    if found.is_clean() { Ok(()) } else { Err(Failure::Problems) }
}

/// File, cause, and the offset if the cause does not contain it.
pub(crate) fn line(problem: &Problem) -> String {
    let Problem { path, offset, what } = problem;
    let line = match offset {
        Some(offset) if !what.contains(&format!("offset {offset}")) => {
            format!("{path}: {what} (offset {offset})")
        }
        _ => format!("{path}: {what}"),
    };
    one_line(&format!("{line}{}", remedy_of(what)))
}

/// The end of a line that says what helps.
fn remedy_of(what: &str) -> &'static str {
    if what.starts_with(UNFINISHED) {
        UNFINISHED_REMEDY
    } else if what.starts_with("no commit file lists") {
        "; tdb vacuum --orphans removes it once it is a day old"
    } else {
        ""
    }
}

fn problem_json(problem: &Problem) -> Value {
    json!({"path": problem.path, "offset": problem.offset, "what": problem.what})
}
