//! `tdb verify`: checks every structure, chunk and checksum of an array.

use std::io::Write;

use serde_json::{Value, json};
use tdb_array::{Problem, history, verify_watched};

use crate::args::VerifyArgs;
use crate::failure::{Failure, Result, one_line};
use crate::place::{Stores, shown};
use crate::progress::Unit;

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
            writeln!(out, "ok: {} files, {} tiles, {} bytes", found.files, found.tiles, found.bytes)?;
        }
    }
    if found.is_clean() { Ok(()) } else { Err(Failure::Problems) }
}

/// File, cause, and the offset if the cause does not contain it.
fn line(problem: &Problem) -> String {
    let Problem { path, offset, what } = problem;
    let line = match offset {
        Some(offset) if !what.contains(&format!("offset {offset}")) => {
            format!("{path}: {what} (offset {offset})")
        }
        _ => format!("{path}: {what}"),
    };
    one_line(&line)
}

fn problem_json(problem: &Problem) -> Value {
    json!({"path": problem.path, "offset": problem.offset, "what": problem.what})
}
