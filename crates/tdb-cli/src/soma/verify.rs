//! `tdb soma verify`: the files of all arrays, and the rules of SOMA.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args as Group;
use serde_json::{Value, json};
use tdb_array::OpenOptions;
use tdb_array::maintain::{Problem, verify_watched};
use tdb_soma::{Depth, Finding, Object, Weight};

use crate::args::KeyArgs;
use crate::count::count;
use crate::failure::{Failure, Result, one_line};
use crate::place::{Stores, shown};
use crate::progress::{ProgressArgs, Unit};
use crate::verify::line;

/// Check an experiment, or anything in one: every array as tdb verify does, and the rules of SOMA.
///
/// The rules: type (the metadata says what an object is, and it is that), encoding-version (a known
/// one), members (an experiment has obs and ms, a measurement var; and nothing is where it does not
/// belong), joinid (every table has ids: whole numbers from 0 on, in obs and var unique), matrix
/// (axes and values have the names and types that they must have), shape (those of tables and
/// matrices agree), coordinates (those of X, obsm, varm, obsp and varp are ids of obs and var). The
/// exit code is 1 if there was any problem. Odd but harmless findings are notes.
#[derive(Debug, Group)]
#[command(after_help = "\
Where the ids of obs and var have no gaps, the boxes around the cells tell whether all coordinates are ids. Where they have, --deep \
reads the coordinates of all matrices.

Examples:
  tdb soma verify cells.soma
  tdb soma verify cells.soma --deep --json")]
pub(super) struct VerifyArgs {
    /// Folder of the experiment, or of a collection, a measurement, a table, a matrix.
    object: PathBuf,
    /// Read every coordinate of matrices where ids have gaps.
    #[arg(long)]
    deep: bool,
    /// Only the rules of SOMA: do not read all files of all arrays.
    #[arg(long)]
    rules: bool,
    #[command(flatten)]
    key: KeyArgs,
    #[command(flatten)]
    progress: ProgressArgs,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// What was found in the files of arrays.
#[derive(Default)]
struct Files {
    arrays: u64,
    files: u64,
    tiles: u64,
    bytes: u64,
    /// Where, what, and whether it is a note.
    found: Vec<(String, Problem, bool)>,
}

/// Runs the command.
pub(super) fn run(args: &VerifyArgs, stores: &Stores, out: &mut dyn Write) -> Result {
    let options = OpenOptions::new();
    let options = match args.key.key()? {
        Some(key) => options.key(key),
        None => options,
    };
    let object = super::open(&args.object, &options, stores)?;
    let depth = if args.deep { Depth::EveryCell } else { Depth::Boxes };
    let files = if args.rules { Files::default() } else { files(args, &object, stores)? };
    let rules = match tdb_soma::verify(&object, depth) {
        Ok(found) => found,
        // The damage has been found where it is.
        Err(_) if files.found.iter().any(|(.., note)| !note) => Vec::new(),
        Err(error) => return Err(super::failure(&args.object, error)),
    };
    let place = shown(&args.object);
    let is_clean =
        files.found.iter().all(|(.., note)| *note) && rules.iter().all(|one| one.weight == Weight::Note);
    if args.json {
        writeln!(out, "{:#}", report(&place, &files, &rules, is_clean))?;
    } else {
        // Notes first, as tdb verify prints them.
        for wanted in [true, false] {
            let word = if wanted { "note: " } else { "" };
            for (path, problem, _) in files.found.iter().filter(|(.., note)| *note == wanted) {
                writeln!(out, "{word}{}", one_line(&format!("{path}: {}", line(problem))))?;
            }
            for Finding { path, rule, what, .. } in
                rules.iter().filter(|one| (one.weight == Weight::Note) == wanted)
            {
                let path = super::named(&place, path);
                writeln!(out, "{word}{}", one_line(&format!("{path}: {rule}: {what}")))?;
            }
        }
        if is_clean && args.rules {
            writeln!(
                out,
                "ok: the rules of SOMA, for {}",
                count(tdb_codec::to_u64(object.all().len()), "object")
            )?;
        } else if is_clean {
            let Files { arrays, files, tiles, bytes, .. } = files;
            let sizes =
                format!("{}, {}, {}", count(files, "file"), count(tiles, "tile"), count(bytes, "byte"));
            writeln!(out, "ok: {}, {sizes}, and the rules of SOMA", count(arrays, "array"))?;
        }
    }
    if is_clean { Ok(()) } else { Err(Failure::Problems) }
}

/// Verifies the files of all arrays.
fn files(args: &VerifyArgs, object: &Object, stores: &Stores) -> Result<Files> {
    let all = object.all();
    let arrays: Vec<&Object> = all.into_iter().filter(|one| one.array().is_some()).collect();
    let meter = Arc::new(args.progress.bar("verifying", Unit::Bytes, Some(0)));
    meter.of(0, super::describe::bytes(object));
    let mut found = Files::default();
    for array in arrays {
        let path = super::named(&shown(&args.object), &array.path).into_owned();
        let (seen, before) = (Arc::clone(&meter), found.bytes);
        let own = verify_watched(stores.storage(array.location.as_ref())?, args.key.key()?, move |bytes| {
            seen.set(before.saturating_add(bytes));
        });
        found.arrays = found.arrays.saturating_add(1);
        found.files = found.files.saturating_add(own.files);
        found.tiles = found.tiles.saturating_add(own.tiles);
        found.bytes = found.bytes.saturating_add(own.bytes);
        found.found.extend(own.notes.into_iter().map(|note| (path.clone(), note, true)));
        found.found.extend(own.problems.into_iter().map(|problem| (path.clone(), problem, false)));
    }
    Ok(found)
}

fn report(place: &str, files: &Files, rules: &[Finding], ok: bool) -> Value {
    let of_files = |note: bool| {
        let own = files.found.iter().filter(move |(.., own)| *own == note);
        own.map(|(path, problem, _)| {
            let Problem { path: file, offset, what } = problem;
            json!({"object": super::named(place, path), "rule": "files", "what": what, "path": file, "offset": offset})
        })
    };
    let of_rules = |weight: Weight| {
        let own = rules.iter().filter(move |one| one.weight == weight);
        own.map(|one| json!({"object": super::named(place, &one.path), "rule": one.rule.name(), "what": one.what}))
    };
    json!({
        "object": place,
        "ok": ok,
        "arrays": files.arrays,
        "files": files.files,
        "tiles": files.tiles,
        "bytes": files.bytes,
        "problems": of_files(false).chain(of_rules(Weight::Problem)).collect::<Vec<_>>(),
        "notes": of_files(true).chain(of_rules(Weight::Note)).collect::<Vec<_>>(),
    })
}
