//! `cargo xtask compare`: times tdb and libtiledb on the same reads.
//!
//! Two processes run for the whole comparison: [`workers::tdb`], built with the release profile,
//! and [`workers::peer`], Python that calls libtiledb's C API. Both read each case once to warm up,
//! and then in turns: tdb, libtiledb, tdb, … Every read opens the array again; both use the same
//! number of threads. The results are compared, and the case is WRONG if they differ. `cargo xtask
//! compare filters` is in [`filters`], `cargo xtask compare writes` in [`writes`], `cargo xtask
//! compare stores` in [`stores`], `cargo xtask compare peers` in [`peers`], `cargo xtask compare
//! python` in [`python`], `cargo xtask compare soma` in [`soma`], `cargo xtask compare capi` in
//! [`capi`], `cargo xtask compare random` in [`random`], `cargo xtask compare tables` in
//! [`random::tables`], `cargo xtask compare sql` in [`sql`], `cargo xtask compare growth` in
//! [`growth`], `cargo xtask compare --against COMMIT` in [`against`].

mod against;
mod capi;
mod cases;
mod filters;
mod growth;
mod options;
mod peers;
mod python;
mod random;
mod soma;
mod sql;
mod stores;
mod table;
mod workers;
mod writes;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use self::cases::{CASES, Case, PeerRuns};
use self::table::Row;
use self::workers::{Answer, Worker};
use crate::peer::repository_root;

/// Cases that take less than this many seconds are run [`SHORT_RUNS`] times as often, because
/// clocks and caches vary.
const SHORT: f64 = 0.05;
const SHORT_RUNS: usize = 10;

/// The smallest number of bytes for which a copy or a speed is meaningful.
pub(crate) const SUBSTANTIAL: u64 = 1 << 20;

const USAGE: &str = "usage: cargo xtask compare [filters|writes] [--only SUBSTR] [--runs N] [--threads N] [--data DIR] [--write-docs]\n       cargo xtask compare peers [--cases SUBSTR]... [--rounds N] [--threads N] [--data DIR] [--small] [--without-sql] [--worker COMMAND] [--write-docs]\n       cargo xtask compare python [--cases SUBSTR] [--rounds N] [--threads N] [--data DIR] [--write-docs]\n       cargo xtask compare soma [--small] [--slafdb] [--data DIR] [--rounds N] [--only SUBSTR] [--convert-once] [--keep] [--markdown FILE]\n       cargo xtask compare capi [--cases SUBSTR]... [--rounds N] [--threads N] [--data DIR] [--write-docs]\n       cargo xtask compare sql [--cases SUBSTR] [--rounds N] [--threads N] [--data DIR] [--small] [--worker COMMAND] [--write-docs]\n       cargo xtask compare growth [--cases SUBSTR]... [--rounds N] [--threads N] [--data DIR] [--write-docs]\n       cargo xtask compare random [--seed N] [--arrays N] [--runs N] [--threads N] [--only SUBSTR] [--least RATIO]\n       cargo xtask compare tables [--seed N] [--arrays N] [--runs N] [--threads N] [--only SUBSTR] [--least RATIO] [--worker COMMAND]\n       cargo xtask compare stores [--only SUBSTR] [--runs N] [--delay MS] [--show] [--write-docs]\n       cargo xtask compare --against COMMIT [--only SUBSTR]... [--runs N] [--threads N] [--data DIR] [--build DIR]";

struct Options {
    only: String,
    runs: usize,
    threads: usize,
    data: Option<PathBuf>,
    write_docs: bool,
}

impl Options {
    fn parse(args: &[String]) -> Result<Self, String> {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let mut options = Self { only: String::new(), runs: 7, threads, data: None, write_docs: false };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value\n{USAGE}"));
            match arg.as_str() {
                "--only" => options.only.clone_from(value()?),
                "--runs" => options.runs = count(arg, value()?)?,
                "--threads" => options.threads = count(arg, value()?)?,
                "--data" => options.data = Some(value()?.into()),
                "--write-docs" => options.write_docs = true,
                _ => return Err(format!("unknown argument {arg}\n{USAGE}")),
            }
        }
        if options.write_docs && !options.only.is_empty() {
            return Err("--write-docs needs all cases: do not use --only".into());
        }
        Ok(options)
    }
}

fn count(arg: &str, value: &str) -> Result<usize, String> {
    value
        .parse()
        .ok()
        .filter(|count| *count > 0)
        .ok_or_else(|| format!("{arg} needs a number above 0, not {value:?}"))
}

/// The cases with these words in their names; fails if there are none.
fn chosen<'c, C>(cases: &'c [C], words: &str, name: impl Fn(&C) -> &str) -> Result<Vec<&'c C>, String> {
    let chosen: Vec<&C> = cases.iter().filter(|case| name(case).contains(words)).collect();
    if chosen.is_empty() { Err(format!("no case has {words:?} in its name")) } else { Ok(chosen) }
}

/// Entry point of the subcommand.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    match args.split_first().map(|(first, rest)| (first.as_str(), rest)) {
        Some(("filters", rest)) => return filters::run(rest),
        Some(("growth", rest)) => return growth::run(rest),
        Some(("writes", rest)) => return writes::run(rest),
        Some(("peers", rest)) => return peers::run(rest),
        Some(("python", rest)) => return python::run(rest),
        Some(("capi", rest)) => return capi::run(rest),
        Some(("random", rest)) => return random::run(rest),
        Some(("tables", rest)) => return random::tables::run(rest),
        Some(("soma", rest)) => return soma::run(rest),
        Some(("sql", rest)) => return sql::run(rest),
        Some(("stores", rest)) => return stores::run(rest),
        _ if args.iter().any(|arg| arg == "--against") => return against::run(args),
        _ => {}
    }
    let options = Options::parse(args)?;
    let root = repository_root()?;
    let cases = chosen(CASES, &options.only, |case| case.name)?;
    let (python, data) = workers::arrays(&root, options.data)?;
    let mut tdb = workers::tdb(&root, options.threads)?;
    let mut peer = workers::peer(&root, &python, options.threads)?;

    // The workers with one thread, started when a case needs them.
    let mut alone: Option<(Worker, Worker)> = None;
    let mut rows = Vec::new();
    for case in cases {
        eprintln!("{}", case.name);
        rows.push(measure(case, &data, options.runs, &mut tdb, &mut peer)?);
        if case.scales && options.threads > 1 {
            let (tdb, peer) = match &mut alone {
                Some(workers) => workers,
                None => alone.insert((workers::tdb(&root, 1)?, workers::peer(&root, &python, 1)?)),
            };
            let mut row = measure(case, &data, options.runs, tdb, peer)?;
            row.name += ", one thread";
            rows.push(row);
        }
    }
    let conditions = table::Conditions::new(&tdb, &peer, options.threads, options.runs);
    print!("{}", table::text(&rows, &conditions));
    if options.write_docs {
        table::write_docs(&root.join("docs/performance.md"), &rows, &conditions)?;
    }
    let wrong: Vec<&str> =
        rows.iter().filter(|row| row.wrong.is_some()).map(|row| row.name.as_str()).collect();
    if wrong.is_empty() { Ok(()) } else { Err(format!("tdb and libtiledb differ: {}", wrong.join(", "))) }
}

fn measure(
    case: &Case,
    data: &Path,
    runs: usize,
    tdb: &mut Worker,
    peer: &mut Worker,
) -> Result<Row, String> {
    let once = case.peer_runs == PeerRuns::Once;
    timed(case.name, case.request(data), case.limit_request(data).as_ref(), once, runs, (tdb, peer))
}

/// Asks both sides in turns; the peer only once, if `once`.
fn timed(
    name: &str,
    mut request: Value,
    limit: Option<&Value>,
    once: bool,
    runs: usize,
    (tdb, peer): (&mut Worker, &mut Worker),
) -> Result<Row, String> {
    let failed = |error: String| format!("{name}: {error}");
    let warm = tdb.ask(&request).map_err(failed)?;
    // The peer gets buffers of the right size, so it never has to repeat a read with larger ones.
    if let Some(request) = request.as_object_mut() {
        for key in ["sizes", "widths", "cells"] {
            request.insert(key.into(), warm.json.get(key).cloned().unwrap_or(Value::Null));
        }
    }
    let peer_warm = peer.ask(&request).map_err(failed)?;
    let mut row = Row::new(name.to_owned(), warm.cells, warm.bytes);
    row.wrong = differ(&warm, &peer_warm, tdb, peer).map_err(failed)?;

    if once {
        row.peer.add(peer_warm.seconds, peer_warm.peak.map(|peak| peak.saturating_sub(peer.resident)));
    }
    let short = warm.seconds.max(peer_warm.seconds) < SHORT;
    for _ in 0..if short { runs.saturating_mul(SHORT_RUNS) } else { runs } {
        let ours = tdb.ask(&request).map_err(failed)?;
        row.tdb.add(ours.seconds, ours.peak.map(|peak| peak.saturating_sub(tdb.resident)));
        if !once {
            let theirs = peer.ask(&request).map_err(failed)?;
            row.peer.add(theirs.seconds, theirs.peak.map(|peak| peak.saturating_sub(peer.resident)));
        }
        if let Some(limit) = limit {
            row.limit.add(tdb.ask(limit).map_err(failed)?.seconds, None);
        }
        if warm.bytes >= SUBSTANTIAL {
            let copied = tdb.ask(&json!({"op": "copy", "bytes": warm.bytes})).map_err(failed)?;
            row.copy.add(copied.seconds, None);
        }
    }
    // The result of the last timed run must also be correct.
    tdb.ask(&request).map_err(failed)?;
    if row.wrong.is_none() && hash(tdb).map_err(failed)? != hash(peer).map_err(failed)? {
        row.wrong = Some("the cells of a later run differ".into());
    }
    Ok(row)
}

/// The difference between the two answers; `None` if they are equal.
fn differ(
    ours: &Answer,
    theirs: &Answer,
    tdb: &mut Worker,
    peer: &mut Worker,
) -> Result<Option<String>, String> {
    if (ours.cells, ours.bytes) != (theirs.cells, theirs.bytes) {
        let (a, b, c, d) = (ours.cells, ours.bytes, theirs.cells, theirs.bytes);
        return Ok(Some(format!("{a} cells of {b} bytes, libtiledb has {c} of {d}")));
    }
    let (ours, theirs) = (hash(tdb)?, hash(peer)?);
    Ok((ours != theirs).then(|| format!("cells hash to {ours}, libtiledb's to {theirs}")))
}

fn hash(worker: &mut Worker) -> Result<String, String> {
    let answer = worker.ask(&json!({"op": "hash"}))?;
    answer
        .json
        .get("hash")
        .and_then(Value::as_str)
        .map(str::to_owned)
        .ok_or_else(|| "no hash in the answer".into())
}
