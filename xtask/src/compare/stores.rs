//! `cargo xtask compare stores`: tdb and libtiledb on a remote server.
//!
//! moto (S3) runs on the loopback interface, behind a proxy that delays and counts every request.
//! Both sides make the same number of requests at once. Each operation opens the array again; both
//! sides return the same bytes. For a whole read, the time of its requests alone is measured as
//! well.

mod arrays;
mod proxy;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tdb_array::storage::{Storage, WriteStorage};
use tdb_array::{Array, Cells, Layout, OpenOptions, WriteColumn, WriteOptions};
use tdb_object_store::object_store::ObjectStoreExt;
use tdb_object_store::{Locations, ObjectStorage, REQUESTS, open};

use self::proxy::{Proxy, Traffic};
use super::table::{duration, markdown_of, median, put_between};
use super::workers::{self, Worker};
use crate::peer::repository_root;
use crate::servers::{Kind, Server, upload};

const USAGE: &str =
    "usage: cargo xtask compare stores [--only SUBSTR] [--runs N] [--delay MS] [--show] [--write-docs]";

const BEGIN: &str = "<!-- compare-stores:begin -->";
const END: &str = "<!-- compare-stores:end -->";
const INTRODUCTION: &str = "
## Object stores

`cargo run --release -p xtask -- compare stores` times tdb and libtiledb on the same S3 server. The server (moto) is on the same
machine, behind a proxy that lets each request wait and counts requests and the bytes of their bodies. Both sides may make the same number of requests at once, open the array for each operation, and return the same bytes. A round
is one link in the longest chain of requests that wait for each other. The last column is the time that the
store's client alone takes for ranges of the data files like tdb's. Of the requests of an append, one asks which fragments of its time
are there, so that the last of several writers wins; libtiledb asks for none.
";

/// Fields with the number of bytes of a value, and ranges of dimensions.
struct Query {
    fields: &'static [(&'static str, usize)],
    ranges: &'static [(i64, i64)],
    /// Cells whose value of this field is above this number.
    above: Option<(&'static str, f64)>,
}

/// The operations on the server.
enum What {
    Read(Query),
    /// This many fragments of a few cells; a writer is opened for each.
    Append(u32),
}

/// An operation on an array; [`arrays::make`] creates the array from its name.
struct Case {
    name: &'static str,
    array: &'static str,
    what: What,
    /// Cases that take libtiledb a minute are run once.
    once: bool,
    /// Whether the time of its requests alone is measured as well.
    plain: bool,
}

const ALL: Query = Query { fields: &[("x", 8), ("v", 8)], ranges: &[(0, 999_999)], above: None };

const fn fragments(name: &'static str, array: &'static str, once: bool) -> Case {
    Case { name, array, what: What::Read(ALL), once, plain: false }
}

const CASES: [Case; 8] = [
    Case {
        name: "open, and a window of 300 × 300, two fields",
        array: "window",
        what: What::Read(Query {
            fields: &[("a", 4), ("b", 8)],
            ranges: &[(350, 649), (350, 649)],
            above: None,
        }),
        once: false,
        plain: false,
    },
    Case {
        name: "a box of 1 M cells, with a condition",
        array: "box",
        what: What::Read(Query {
            fields: &[("x", 8), ("y", 8), ("v", 8)],
            ranges: &[(20_000, 39_999), (50_000, 69_999)],
            above: Some(("v", 1e9)),
        }),
        once: false,
        plain: false,
    },
    Case {
        name: "all of a dense array, 200 MB",
        array: "whole",
        what: What::Read(Query {
            fields: &[("a", 4), ("b", 8)],
            ranges: &[(0, 4095), (0, 4095)],
            above: None,
        }),
        once: false,
        plain: true,
    },
    fragments("100 fragments", "fragments-100", false),
    fragments("100 fragments, metadata consolidated", "fragments-100-consolidated", false),
    fragments("1,000 fragments", "fragments-1000", true),
    fragments("1,000 fragments, metadata consolidated", "fragments-1000-consolidated", true),
    Case { name: "100 appends", array: "appends", what: What::Append(100), once: true, plain: false },
];

struct Options {
    only: String,
    runs: usize,
    delay: Duration,
    show: bool,
    write_docs: bool,
}

impl Options {
    fn parse(args: &[String]) -> Result<Self, String> {
        let delay = Duration::from_millis(30);
        let mut options = Self { only: String::new(), runs: 3, delay, show: false, write_docs: false };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value\n{USAGE}"));
            match arg.as_str() {
                "--only" => options.only.clone_from(value()?),
                "--runs" => options.runs = super::count(arg, value()?)?,
                "--delay" => options.delay = Duration::from_millis(value()?.parse().map_err(said)?),
                "--show" => options.show = true,
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

/// The measurements of one side.
#[derive(Default)]
struct Measured {
    seconds: Vec<f64>,
    traffic: Traffic,
    rounds: u64,
}

impl Measured {
    fn add(&mut self, seconds: f64, traffic: Traffic) {
        self.seconds.push(seconds);
        self.traffic = traffic;
    }
}

/// The measurements of a case.
struct Row {
    name: &'static str,
    tdb: Measured,
    peer: Measured,
    plain: Measured,
}

/// Entry point of the subcommand.
pub(super) fn run(args: &[String]) -> Result<(), String> {
    let options = Options::parse(args)?;
    if cfg!(debug_assertions) {
        eprintln!(
            "this is a build without optimisation: requests count, times do not; use `cargo run --release -p xtask --`"
        );
    }
    let cases = super::chosen(&CASES, &options.only, |case| case.name)?;
    let folder = std::env::temp_dir().join(format!("tdb-compare-stores-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(said)?;
    let rows = on_a_server(&cases, &options, &folder);
    std::fs::remove_dir_all(&folder).map_err(said)?;
    let text = table(&rows?, &options);
    print!("{text}");
    if options.write_docs {
        put_between(&repository_root()?.join("docs/performance.md"), (BEGIN, END), INTRODUCTION, &text)?;
    }
    Ok(())
}

fn on_a_server(cases: &[&Case], options: &Options, folder: &Path) -> Result<Vec<Row>, String> {
    let root = repository_root()?;
    let server = Server::start(Kind::S3, &folder.join("moto"))?;
    let near = server.locations()?;
    let proxy = Proxy::start(server.address(), options.delay, options.show).map_err(said)?;
    let mut far =
        Locations::new().option("aws_endpoint", format!("http://{}", proxy.address())).map_err(said)?;
    for (key, value) in server.options().into_iter().filter(|(key, _)| *key != "aws_endpoint") {
        far = far.option(key, value).map_err(said)?;
    }
    let mut peer = start_peer(&root, &proxy)?;
    let mut rows = Vec::new();
    for case in cases {
        eprintln!("{}", case.name);
        let failed = |error: String| format!("{}: {error}", case.name);
        let here = folder.join("arrays").join(case.array);
        arrays::make(case.array, &here).map_err(|error| failed(error.to_string()))?;
        for side in ["tdb", "libtiledb"] {
            let there = near.storage(&server.url(&format!("{side}/{}", case.array))).map_err(said)?;
            upload(&here, &*there)?;
        }
        rows.push(measure(case, options, &server, &far, &proxy, &mut peer).map_err(failed)?);
        std::fs::remove_dir_all(&here).map_err(said)?;
    }
    Ok(rows)
}

/// The options of the server behind the proxy.
fn far_options(server: &Server, proxy: &Proxy) -> Vec<(&'static str, String)> {
    let mut options = server.options();
    for (key, value) in &mut options {
        if *key == "aws_endpoint" {
            *value = format!("http://{}", proxy.address());
        }
    }
    options
}

/// libtiledb, with the same number of concurrent requests as tdb.
fn start_peer(root: &Path, proxy: &Proxy) -> Result<Worker, String> {
    let requests = REQUESTS.to_string();
    let config = [
        ("vfs.s3.endpoint_override", proxy.address().to_string()),
        ("vfs.s3.region", "us-east-1".to_owned()),
        ("vfs.s3.scheme", "http".to_owned()),
        ("vfs.s3.use_virtual_addressing", "false".to_owned()),
        ("vfs.s3.aws_access_key_id", "somebody".to_owned()),
        ("vfs.s3.aws_secret_access_key", "whatever".to_owned()),
        ("vfs.s3.max_parallel_ops", requests.clone()),
        ("sm.io_concurrency_level", requests),
    ];
    let python = workers::environment()?;
    let words: Vec<String> = config.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let words: Vec<&str> = words.iter().flat_map(|word| ["--config", word]).collect();
    workers::peer_with(root, &python, 2, &words)
}

fn measure(
    case: &Case,
    options: &Options,
    server: &Server,
    far: &Locations,
    proxy: &Proxy,
    peer: &mut Worker,
) -> Result<Row, String> {
    let storage = far.storage(&server.url(&format!("tdb/{}", case.array))).map_err(said)?;
    let mut request = json!({"array": server.url(&format!("libtiledb/{}", case.array))});
    let mut row = Row {
        name: case.name,
        tdb: Measured::default(),
        peer: Measured::default(),
        plain: Measured::default(),
    };
    let runs = if case.once { 1 } else { options.runs };
    match &case.what {
        What::Read(query) => {
            // Once without counting, to open connections and to give the peer's buffers the right
            // size.
            let (_, cells) = read(query, &storage)?;
            describe(query, &cells, &mut request)?;
            proxy.take();
            for _ in 0..runs {
                let begun = Instant::now();
                let (array, cells) = read(query, &storage)?;
                row.tdb.add(begun.elapsed().as_secs_f64(), settled(proxy));
                row.tdb.rounds = array.stats().rounds;
                let answer = peer.ask(&request)?;
                row.peer.add(answer.seconds, settled(proxy));
                if answer.cells != u64::try_from(cells.len()).map_err(said)? {
                    return Err(format!("tdb reads {} cells, libtiledb {}", cells.len(), answer.cells));
                }
                let theirs = peer.ask(&json!({"op": "content"}))?.json;
                if theirs.get("hash").and_then(Value::as_str) != Some(&content(query, &cells)?) {
                    return Err("tdb and libtiledb read other cells".into());
                }
                if case.plain {
                    // A separate client, because connections belong to a runtime.
                    let alone = open(&server.url(&format!("tdb/{}", case.array)), far_options(server, proxy));
                    let alone = alone.map_err(said)?;
                    let begun = Instant::now();
                    plain(&alone)?;
                    row.plain.add(begun.elapsed().as_secs_f64(), settled(proxy));
                }
            }
        }
        What::Append(times) => {
            let (x, v) = arrays::few(0);
            let begun = Instant::now();
            for _ in 0..*times {
                let writer = WriteOptions::new().open_storage(storage.clone()).map_err(said)?;
                let write = writer.write().column(WriteColumn::fixed("x", &x));
                write.column(WriteColumn::fixed("v", &v)).commit().map_err(said)?;
            }
            row.tdb.add(begun.elapsed().as_secs_f64(), settled(proxy));
            append_by_peer(&x, &v, *times, &mut request, peer)?;
            proxy.take();
            row.peer.add(peer.ask(&request)?.seconds, settled(proxy));
        }
    }
    Ok(row)
}

/// The counts of the proxy; the last count is made a moment after the answer.
fn settled(proxy: &Proxy) -> Traffic {
    std::thread::sleep(Duration::from_millis(20));
    proxy.take()
}

fn read(query: &Query, storage: &Arc<dyn WriteStorage>) -> Result<(Array, Cells), String> {
    let array = OpenOptions::new().threads(2).open_storage(storage.clone()).map_err(said)?;
    let fields = query.fields.iter().map(|(name, _)| *name);
    let mut read = array.read().order(Layout::RowMajor).fields(fields);
    for (name, (low, high)) in ["x", "y"].into_iter().zip(query.ranges) {
        read = read.range(name, *low..=*high);
    }
    if let Some((name, min)) = query.above {
        read = read.condition(tdb_array::field(name).gt(min));
    }
    let cells = read.collect().map_err(said)?;
    Ok((array, cells))
}

/// Completes the request to the peer, whose buffers have the sizes of these cells.
fn describe(query: &Query, cells: &Cells, request: &mut Value) -> Result<(), String> {
    let request = request.as_object_mut().ok_or("a request is an object")?;
    let mut sizes = serde_json::Map::new();
    for (name, _) in query.fields {
        let bytes = cells.field(name).map_err(said)?.bytes().len();
        sizes.insert((*name).to_owned(), json!([bytes, null]));
    }
    let names: Vec<&str> = query.fields.iter().map(|(name, _)| *name).collect();
    let widths: Vec<usize> = query.fields.iter().map(|(_, width)| *width).collect();
    let ranges: Vec<Value> = query.ranges.iter().map(|(low, high)| json!([low, high])).collect();
    let more = json!({"op": "read", "fresh": true, "order": "row-major", "fields": names, "widths": widths, "ranges": ranges, "sizes": sizes});
    request.extend(more.as_object().cloned().unwrap_or_default());
    if let Some((name, min)) = query.above {
        let bytes: String = min.to_le_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
        request.insert("condition".to_owned(), json!([name, ">", bytes]));
    }
    Ok(())
}

/// The digest of all fields' bytes, computed as in the peer.
fn content(query: &Query, cells: &Cells) -> Result<String, String> {
    let mut digest = Sha256::new();
    for (name, _) in query.fields {
        digest.update(cells.field(name).map_err(said)?.bytes());
    }
    Ok(digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Gives the peer the cells, and completes its request.
fn append_by_peer(
    x: &[i64],
    v: &[f64],
    times: u32,
    request: &mut Value,
    peer: &mut Worker,
) -> Result<(), String> {
    let folder = std::env::temp_dir().join(format!("tdb-compare-cells-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(said)?;
    let fields: [(&str, Vec<u8>); 2] = [
        ("x", x.iter().flat_map(|value| value.to_le_bytes()).collect()),
        ("v", v.iter().flat_map(|value| value.to_le_bytes()).collect()),
    ];
    let mut columns = Vec::new();
    for (name, bytes) in &fields {
        let path = folder.join(name);
        std::fs::write(&path, bytes).map_err(said)?;
        columns.push(json!({"name": name, "data": path, "offsets": null}));
    }
    peer.ask(&json!({"op": "load", "columns": columns}))?;
    std::fs::remove_dir_all(&folder).map_err(said)?;
    let request = request.as_object_mut().ok_or("a request is an object")?;
    let schema = json!({"dimensions": [{"name": "x", "type": "INT64"}], "attributes": [{"name": "v", "type": "FLOAT64"}]});
    let more = json!({"op": "append", "times": times, "schema": schema});
    request.extend(more.as_object().cloned().unwrap_or_default());
    Ok(())
}

/// Reads the data files of an array with only the store's client, in requests like those of tdb and
/// with the same concurrency.
fn plain(storage: &ObjectStorage) -> Result<(), String> {
    const MOST: u64 = 16 << 20;
    let mut ranges = Vec::new();
    for fragment in storage.list("__fragments").map_err(said)? {
        let folder = format!("__fragments/{}", fragment.name);
        for file in storage.list(&folder).map_err(said)? {
            let (key, size) = (format!("{folder}/{}", file.name), file.size.unwrap_or(0));
            let starts = (0..size).step_by(usize::try_from(MOST).map_err(said)?);
            ranges.extend(starts.map(|start| (key.clone(), start..(start + MOST).min(size))));
        }
    }
    let asked: u64 = ranges.iter().map(|(_, range)| range.end - range.start).sum();
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().map_err(said)?;
    let got: u64 = runtime.block_on(async {
        let mut gets = tokio::task::JoinSet::new();
        for (key, range) in ranges {
            let store = storage.object_store();
            let path = storage.path(&key).map_err(said)?;
            gets.spawn(async move { store.get_range(&path, range).await });
        }
        let mut got = 0;
        while let Some(answer) = gets.join_next().await {
            got += u64::try_from(answer.map_err(said)?.map_err(said)?.len()).map_err(said)?;
        }
        Ok::<u64, String>(got)
    })?;
    if got == asked { Ok(()) } else { Err(format!("{got} bytes of {asked} came")) }
}

const HEADINGS: [&str; 10] = [
    "case",
    "requests: tdb",
    "libtiledb",
    "rounds of tdb",
    "MB: tdb",
    "libtiledb",
    "time: tdb",
    "libtiledb",
    "ratio",
    "requests alone",
];

impl Row {
    fn columns(&self) -> [String; 10] {
        let dash = || "–".to_owned();
        let time = |side: &Measured| median(&side.seconds).map_or_else(dash, duration);
        let ratio = median(&self.tdb.seconds).zip(median(&self.peer.seconds));
        let megabytes = |side: &Measured| side.traffic.bytes.div_ceil(1_000_000).to_string();
        [
            self.name.to_owned(),
            self.tdb.traffic.requests.to_string(),
            self.peer.traffic.requests.to_string(),
            if self.tdb.rounds == 0 { dash() } else { self.tdb.rounds.to_string() },
            megabytes(&self.tdb),
            megabytes(&self.peer),
            time(&self.tdb),
            time(&self.peer),
            ratio.map_or_else(dash, |(tdb, peer)| format!("{:.1}", peer / tdb)),
            time(&self.plain),
        ]
    }
}

/// The results as a Markdown table.
fn table(rows: &[Row], options: &Options) -> String {
    let lines: Vec<[String; 10]> =
        core::iter::once(HEADINGS.map(Into::into)).chain(rows.iter().map(Row::columns)).collect();
    let (delay, runs) = (options.delay.as_millis(), options.runs);
    markdown_of(&lines)
        + &format!(
            "\nEach request waits {delay} ms; {REQUESTS} at once; medians of {runs} runs, long ones of one.\n"
        )
}

fn said(error: impl core::fmt::Display) -> String {
    error.to_string()
}
