//! `cargo xtask conform cluster`: queries in a cluster of a scheduler and two executors, and in one
//! process.
//!
//! The command writes arrays in the manner of TPC-H, and starts the processes on the loopback
//! interface. Ten queries have the same answers in the cluster as in one process; only sums of
//! reals may differ, by 10⁻⁹ of their size, because their terms are added in another order. Five
//! queries also run on arrays in moto. In each, an executor is killed while the query runs, at a
//! time that changes from kill to kill: the answer stays the same. With `--speed yes`, two
//! executors with one thread each are timed against one; `--moto no` leaves out moto.

mod data;
mod processes;
mod queries;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use self::processes::{Cluster, Tdb, answer};
use self::queries::{QUERIES, Query};
use super::random::Random;
use crate::servers::{Kind, Server, upload};

pub(super) const USAGE: &str = "[--cells N] [--only NAME] [--kills N] [--speed yes] [--moto no] [--dir DIR] [--tdb COMMAND] \
                                [--seed N] [--optional yes]";

/// The queries that also run on moto.
const REMOTE: [&str; 5] = ["q1", "q3", "q6", "q12", "q14"];
/// Queries that take less with one executor say nothing about speed.
const LONG: Duration = Duration::from_secs(5);
/// How often a query may end before its executor is killed.
const TRIES: u32 = 20;

struct Options {
    cells: u64,
    only: String,
    kills: usize,
    speed: bool,
    moto: bool,
    folder: Option<PathBuf>,
    tdb: Option<PathBuf>,
    seed: u64,
    optional: bool,
}

impl Options {
    fn parse(args: &[String]) -> Result<Self, String> {
        let mut options = Self {
            cells: 50_000_000,
            only: String::new(),
            kills: QUERIES.len(),
            speed: false,
            moto: true,
            folder: None,
            tdb: None,
            seed: 1,
            optional: false,
        };
        let mut words = args.iter();
        while let Some(word) = words.next() {
            let value = words.next().ok_or_else(|| format!("{word} needs a value: {USAGE}"))?;
            let number = || value.parse::<u64>().map_err(|_| format!("{word}: {value:?} is not a number"));
            match word.as_str() {
                "--cells" => options.cells = number()?,
                "--only" => options.only.clone_from(value),
                "--kills" => options.kills = usize::try_from(number()?).unwrap_or(usize::MAX),
                "--speed" => options.speed = value == "yes",
                "--moto" => options.moto = value != "no",
                "--dir" => options.folder = Some(value.into()),
                "--tdb" => options.tdb = Some(value.into()),
                "--seed" => options.seed = number()?,
                "--optional" => options.optional = value == "yes",
                _ => return Err(format!("unknown argument {word}: {USAGE}")),
            }
        }
        Ok(options)
    }

    fn queries(&self) -> Vec<Query> {
        QUERIES.into_iter().filter(|(name, _)| self.only.is_empty() || *name == self.only).collect()
    }
}

/// A query, its answer in one process, and how long the cluster took undisturbed.
struct Known {
    name: &'static str,
    sql: String,
    rows: Vec<Value>,
    took: Duration,
}

/// Entry point of the subcommand.
pub(super) fn run(args: &[String]) -> Result<(), String> {
    let options = Options::parse(args)?;
    let tdb = Tdb { path: command(options.tdb.clone())?, options: Vec::new() };
    let scratch = std::env::temp_dir().join(format!("tdb-cluster-{}", std::process::id()));
    let folder = options.folder.clone().unwrap_or_else(|| scratch.clone());
    let arrays = folder.join(format!("arrays-{}", options.cells));
    if !arrays.exists() {
        let begun = Instant::now();
        data::write(&arrays, options.cells)?;
        println!("wrote arrays with {} lines in {:.1} s", options.cells, begun.elapsed().as_secs_f64());
    }
    let mut failures = Vec::new();
    let result = all(&options, &tdb, &arrays, &scratch, &mut failures);
    // What executors keep between stages; and the arrays, unless they were asked for.
    let _ = fs::remove_dir_all(&scratch);
    failures.iter().for_each(|failure| println!("FAILED {failure}"));
    result?;
    if failures.is_empty() { Ok(()) } else { Err(format!("{} checks failed", failures.len())) }
}

fn all(
    options: &Options,
    tdb: &Tdb,
    arrays: &Path,
    scratch: &Path,
    failures: &mut Vec<String>,
) -> Result<(), String> {
    let place = arrays.to_str().ok_or("the folder's name is not UTF-8")?;
    let mut random = Random::new(options.seed);
    let mut cluster = Cluster::start(tdb, scratch, 2, false)?;
    let mut known = compare(options.queries(), place, tdb, &cluster, failures)?;
    kill(&mut known, options.kills, &mut cluster, tdb, &mut random, failures)?;
    drop(cluster);
    if options.speed {
        speed(&known, tdb, scratch, failures)?;
    }
    if !options.moto {
        return Ok(());
    }
    match Server::start(Kind::S3, scratch) {
        Ok(server) => remote(options, &server, tdb, arrays, scratch, &mut random, failures),
        Err(why) if options.optional => {
            println!("skipped: moto cannot be started: {why}");
            Ok(())
        }
        Err(why) => Err(format!("moto cannot be started: {why}")),
    }
}

/// The command with the feature `cluster`: the one at a path, or one that is built.
fn command(path: Option<PathBuf>) -> Result<PathBuf, String> {
    if let Some(path) = path {
        return path.canonicalize().map_err(|error| format!("{}: {error}", path.display()));
    }
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut build = Command::new(cargo);
    build.args(["build", "--quiet", "--package", "tdb-cli", "--bin", "tdb", "--features", "cluster"]);
    // As this program was built.
    let release = own.parent().is_some_and(|folder| folder.ends_with("release"));
    build.args(release.then_some("--release"));
    match build.status().map_err(|error| format!("cannot run cargo: {error}"))?.success() {
        true => Ok(own.with_file_name("tdb")),
        false => Err("tdb cannot be built with the feature cluster".to_owned()),
    }
}

/// Runs queries in one process and in a cluster.
fn compare(
    queries: Vec<Query>,
    place: &str,
    tdb: &Tdb,
    cluster: &Cluster,
    failures: &mut Vec<String>,
) -> Result<Vec<Known>, String> {
    let mut known = Vec::new();
    for query in queries {
        let sql = queries::text(query, place);
        let begun = Instant::now();
        let alone = answer(tdb.query(&sql, None)?).map_err(|error| format!("{}: {error}", query.0))?;
        let alone_took = begun.elapsed();
        let rows = queries::rows(&alone)?;
        match cluster.ask(&sql) {
            Ok((found, took)) => {
                let found = queries::rows(&found)?;
                let (alone_took, took_s) = (alone_took.as_secs_f64(), took.as_secs_f64());
                match queries::difference(&rows, &found) {
                    None => println!(
                        "{}: {} rows are equal; {alone_took:.1} s in one process, {took_s:.1} s in the cluster",
                        query.0,
                        rows.len()
                    ),
                    Some(why) => failures.push(format!("{}: {why}", query.0)),
                }
                known.push(Known { name: query.0, sql, rows, took });
            }
            Err(why) => failures.push(format!("{}: {why}", query.0)),
        }
    }
    Ok(known)
}

/// Kills an executor while a query runs, this number of times.
fn kill(
    known: &mut [Known],
    kills: usize,
    cluster: &mut Cluster,
    tdb: &Tdb,
    random: &mut Random,
    failures: &mut Vec<String>,
) -> Result<(), String> {
    let count = known.len();
    let (mut equal, mut late) = (0, 0);
    for turn in 0..kills {
        let Some(query) = turn.checked_rem(count).and_then(|at| known.get_mut(at)) else { break };
        let mut asked = None;
        for _ in 0..TRIES {
            let share = random.below(90).saturating_add(5);
            let pause = query.took.mul_f64(share as f64 / 100.0);
            asked = during(query, pause, cluster, tdb)?;
            if asked.is_some() {
                break;
            }
            // The machine was slower when the query was timed. Its time is now known better.
            late += 1;
        }
        let Some(asked) = asked else {
            failures.push(format!("{}: {TRIES} times, the query ended before the kill", query.name));
            continue;
        };
        let wrong = match answer(asked.query).and_then(|found| queries::rows(&found)) {
            Ok(found) => queries::difference(&query.rows, &found),
            Err(why) => Some(why),
        };
        let (pause, took) = (asked.pause, asked.begun.elapsed());
        println!(
            "{}: an executor was killed after {pause:.1?} of {:.1?}; {took:.1?}",
            query.name, query.took
        );
        match wrong {
            None => equal += 1,
            Some(why) => failures.push(format!("{} with a kill after {pause:.1?}: {why}", query.name)),
        }
        cluster.add()?;
    }
    if count > 0 {
        println!("{equal} of {kills} answers with a kill are equal; {late} more queries ended before one");
    }
    Ok(())
}

/// A query whose executor was killed.
struct Killed {
    query: Child,
    begun: Instant,
    pause: Duration,
}

/// Starts a query, and kills an executor after a pause. `None` if the query ended before, which the
/// next attempt takes into account.
fn during(
    query: &mut Known,
    pause: Duration,
    cluster: &mut Cluster,
    tdb: &Tdb,
) -> Result<Option<Killed>, String> {
    let begun = Instant::now();
    let mut asked = tdb.query(&query.sql, Some(&cluster.address))?;
    while begun.elapsed() < pause {
        if asked.try_wait().is_ok_and(|status| status.is_some()) {
            query.took = query.took.min(begun.elapsed());
            answer(asked)?;
            return Ok(None);
        }
        thread::sleep(Duration::from_millis(5));
    }
    cluster.kill();
    Ok(Some(Killed { query: asked, begun, pause }))
}

/// The same with arrays on moto, a kill for each query.
fn remote(
    options: &Options,
    server: &Server,
    tdb: &Tdb,
    arrays: &Path,
    scratch: &Path,
    random: &mut Random,
    failures: &mut Vec<String>,
) -> Result<(), String> {
    let url = server.url("cluster");
    let locations = server.locations()?;
    for name in data::ARRAYS {
        let storage = locations.storage(&format!("{url}/{name}")).map_err(|error| error.to_string())?;
        upload(&arrays.join(name), &*storage)?;
    }
    let words = server.options().into_iter();
    let words = words.flat_map(|(name, value)| ["--store-option".to_owned(), format!("{name}={value}")]);
    let tdb = Tdb { options: words.collect(), ..tdb.clone() };
    let mut cluster = Cluster::start(&tdb, &scratch.join("remote"), 2, false)?;
    let queries: Vec<_> = options.queries().into_iter().filter(|(name, _)| REMOTE.contains(name)).collect();
    println!("on moto:");
    let mut known = compare(queries, &url, &tdb, &cluster, failures)?;
    let kills = known.len().min(options.kills);
    kill(&mut known, kills, &mut cluster, &tdb, random, failures)
}

/// Times queries with two executors and with one, each with a processor of its own.
fn speed(known: &[Known], tdb: &Tdb, scratch: &Path, failures: &mut Vec<String>) -> Result<(), String> {
    let pinned =
        Command::new("taskset").arg("--version").output().is_ok_and(|output| output.status.success());
    println!(
        "two executors with one thread each{}, and one:",
        if pinned { " on a processor of its own" } else { "" }
    );
    let time = |executors: usize| -> Result<(Vec<Duration>, f64, Vec<f64>), String> {
        let folder = scratch.join(format!("speed-{executors}"));
        let cluster = Cluster::start(tdb, &folder, executors, pinned)?;
        let took = known.iter().map(|query| cluster.ask(&query.sql).map(|(_, took)| took));
        let took = took.collect::<Result<Vec<_>, String>>()?;
        let (scheduler, executors) = cluster.seconds();
        Ok((took, scheduler, executors))
    };
    let (one, ..) = time(1)?;
    let (two, scheduler, executors) = time(2)?;
    let mut ratios = Vec::new();
    for ((query, one), two) in known.iter().zip(one).zip(two) {
        let ratio = one.as_secs_f64() / two.as_secs_f64();
        let counts = if one > LONG { "" } else { " (too short to count)" };
        println!("{}: {one:.2?} with one, {two:.2?} with two: {ratio:.2}{counts}", query.name);
        ratios.extend((one > LONG).then_some(ratio.ln()));
    }
    println!("processor time with two: scheduler {scheduler:.1} s, executors {executors:.1?} s");
    if ratios.is_empty() {
        println!("no query took more than {LONG:?}");
        return Ok(());
    }
    let mean = (ratios.iter().sum::<f64>() / ratios.len() as f64).exp();
    println!("geometric mean of {} queries: {mean:.2}", ratios.len());
    if mean < 1.5 {
        failures.push(format!("two executors are only {mean:.2} times as fast as one"));
    }
    Ok(())
}
