//! `cargo xtask conform stores`: arrays on servers, which the command starts on the loopback
//! interface.
//!
//! All fixtures are uploaded and read, in every order, by callers that block and by callers that
//! await; the results must be those of a local folder. They are also read through a cache. The
//! rules of storages are checked on each server. On S3, libtiledb 2.30 reads what tdb wrote there,
//! and tdb reads what libtiledb wrote. The command `tdb` is run with URLs.

mod cached;
mod command;
mod crowd;
mod peer;
mod rules;

use std::fs;
use std::path::Path;

use serde_json::Value;
use tdb_array::cache::Cache;
use tdb_array::{Array, Cells, Layout, OpenOptions, TimeWindow};
use tdb_object_store::Locations;

use super::form::text;
use crate::fixtures::pure::{entries, key};
use crate::peer::repository_root;
use crate::servers::{Kind, Server, upload};

pub(super) const USAGE: &str =
    "[--server moto|azurite] [--every N] [--only SUBSTRING] [--seconds N] [--optional yes]";

/// The options of the command line.
struct Asked {
    servers: Vec<Kind>,
    /// Every n-th fixture is read.
    every: usize,
    only: String,
    /// The time for which a crowd works on one array.
    seconds: u64,
    /// A server that cannot be started does not count as a failure.
    optional: bool,
}

/// Entry point of the subcommand.
pub(super) fn run(args: &[String]) -> Result<(), String> {
    let mut asked =
        Asked { servers: Kind::ALL.to_vec(), every: 1, only: String::new(), seconds: 5, optional: false };
    let mut words = args.iter();
    while let Some(word) = words.next() {
        let value = words.next().ok_or_else(|| format!("{word} needs a value: {USAGE}"))?;
        match word.as_str() {
            "--server" => asked.servers.retain(|kind| kind.name() == value),
            "--every" => asked.every = value.parse().map_err(|error| format!("--every: {error}"))?,
            "--only" => asked.only.clone_from(value),
            "--seconds" => asked.seconds = value.parse().map_err(|error| format!("--seconds: {error}"))?,
            "--optional" => asked.optional = value == "yes",
            _ => return Err(format!("unknown argument {word}: {USAGE}")),
        }
    }
    let root = repository_root()?;
    let folder = std::env::temp_dir().join(format!("tdb-stores-{}", std::process::id()));
    fs::create_dir_all(&folder).map_err(said)?;
    let mut failures = Vec::new();
    for kind in &asked.servers {
        match Server::start(*kind, &folder.join(kind.name())) {
            Ok(server) => failures.extend(on(&server, *kind, &root, &folder, &asked)),
            Err(why) if asked.optional => println!("skipped: {} cannot be started: {why}", kind.name()),
            Err(why) => failures.push(format!("{} cannot be started: {why}", kind.name())),
        }
    }
    fs::remove_dir_all(&folder).map_err(said)?;
    failures.iter().for_each(|failure| println!("FAILED {failure}"));
    if failures.is_empty() { Ok(()) } else { Err(format!("{} checks failed", failures.len())) }
}

/// Runs all checks on one server; returns those that failed.
fn on(server: &Server, kind: Kind, root: &Path, folder: &Path, asked: &Asked) -> Vec<String> {
    let mut failures = Vec::new();
    let mut check = |what: &str, result: Result<String, String>| match result {
        Ok(found) => println!("{} {what}: {found}", kind.name()),
        Err(error) => failures.push(format!("{} {what}: {error}", kind.name())),
    };
    check("rules of storages", rules::all(server));
    check("crowd", crowd::crowd(server, asked.seconds));
    check("fixtures", fixtures(server, root, folder, asked));
    check("command", command::all(server, folder, root));
    if kind == Kind::S3 {
        check("libtiledb", peer::both_ways(server, folder, root));
    }
    failures
}

/// Uploads fixtures, and compares the results of reading them there with those of reading them
/// locally.
fn fixtures(server: &Server, root: &Path, temporary: &Path, asked: &Asked) -> Result<String, String> {
    let folder = root.join("xtask/fixtures");
    let locations = server.locations()?;
    let cache = Cache::folder(temporary.join("cache"), 1 << 30).with_tiles(true);
    let places = Places { cached: locations.clone().cached(cache.clone()), locations };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(said)?;
    let (mut arrays, mut queries, mut most_rounds) = (0u64, 0u64, 0);
    let mut requests = cached::Requests::default();
    let mut wrong = Vec::new();
    for entry in entries(&folder, &asked.only)?.iter().step_by(asked.every.max(1)) {
        let id = text(entry, "id");
        let near = folder.join("arrays").join(id);
        let url = server.url(&format!("fixtures/{id}"));
        upload(&near, &*places.locations.storage(&url).map_err(said)?)?;
        match compare(&near, entry, &places, &url, &runtime) {
            Ok((asked, rounds, own)) => {
                arrays += 1;
                queries += asked;
                most_rounds = most_rounds.max(rounds);
                requests.first += own.first;
                requests.second += own.second;
                requests.awaited += own.awaited;
            }
            Err(error) => wrong.push(format!("{id}: {error}")),
        }
    }
    let stats = cache.stats();
    if stats.damaged > 0 || stats.failed > 0 {
        wrong.push(format!("the cache: {stats:?}"));
    }
    if wrong.is_empty() {
        let cached::Requests { first, second, awaited } = requests;
        Ok(format!(
            "{arrays} arrays and {queries} queries equal; at most {most_rounds} rounds to open one and read it whole; through a cache \
             {first} requests, then {second}, then {awaited} awaited"
        ))
    } else {
        Err(wrong.join("\n    "))
    }
}

/// The locations of a server, and the same locations with a cache.
struct Places {
    locations: Locations,
    cached: Locations,
}

/// The number of queries of an array that were equal there and locally, the number of rounds of
/// requests in which the array was opened and read for the first time, and the requests through the
/// cache.
fn compare(
    near: &Path,
    entry: &Value,
    places: &Places,
    url: &str,
    runtime: &tokio::runtime::Runtime,
) -> Result<(u64, u64, cached::Requests), String> {
    let locations = &places.locations;
    let options = || {
        let options = OpenOptions::new().window(TimeWindow::ALL);
        key(entry).map_or(options.clone(), |key| options.key(key))
    };
    let here = options().open(near);
    let there = options().open_storage(locations.storage(url).map_err(said)?);
    let (here, there) = match (here, there) {
        (Ok(here), Ok(there)) => (here, there),
        (Err(_), Err(_)) => return Ok((0, 0, cached::Requests::default())),
        (here, there) => return Err(format!("opened: {here:?} here, {there:?} there")),
    };
    let storage = locations.awaited(url).map_err(said)?;
    let awaited = runtime.block_on(options().open_async(storage)).map_err(said)?;
    let (mut queries, mut rounds) = (0, 0);
    for layout in [Layout::RowMajor, Layout::ColMajor, Layout::GlobalOrder, Layout::Unordered] {
        let ask = |array: &Array| array.read().order(layout);
        let right = bytes(ask(&here).collect());
        let blocking = bytes(ask(&there).collect());
        if rounds == 0 {
            rounds = there.stats().rounds;
        }
        let later = bytes(runtime.block_on(ask(&awaited).collect_async()));
        if right != blocking || right != later {
            return Err(format!("{layout:?}: the answers differ"));
        }
        queries += 2;
    }
    let requests = cached::compare(&here, &options(), &places.cached, url, runtime)?;
    Ok((queries, rounds, requests))
}

/// Values, offsets and validity of all columns; an error is also an answer.
type Content = Option<Vec<(Vec<u8>, Option<Vec<u64>>, Option<Vec<u8>>)>>;

fn bytes(cells: tdb_array::Result<Cells>) -> Content {
    let cells = cells.ok()?;
    let column = |column: &tdb_array::Column| {
        (
            column.bytes().to_vec(),
            column.offsets().map(<[u64]>::to_vec),
            column.validity().map(<[u8]>::to_vec),
        )
    };
    Some(cells.columns().iter().map(column).collect())
}

fn said(error: impl core::fmt::Display) -> String {
    error.to_string()
}
