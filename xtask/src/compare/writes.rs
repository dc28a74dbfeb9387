//! `cargo xtask compare writes`: arrays written, appended to and consolidated by both libraries.
//!
//! tdb and libtiledb take turns to write the same cells, each to its own array, or to consolidate a
//! copy of the same fragments. Once, untimed, each reads what both wrote, and all cells must be
//! equal.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::filters::{place, ratio, size_of_folder};
use super::table::{self, Conditions, Sample};
use super::workers::{self, Answer, Worker};
use crate::peer::{copy_folder, repository_root};

const USAGE: &str = "usage: cargo xtask compare writes [--only SUBSTR] [--runs N] [--threads N] [--data DIR] \
                     [--arrays DIR] [--disk DIR] [--write-docs]";

/// A write or a consolidation.
struct Case {
    /// Its name in the table.
    name: &'static str,
    /// Fields and the columns of their cells.
    columns: &'static [(&'static str, &'static str)],
    /// In the form of the peer's API.
    schema: fn() -> Value,
    /// The part of each dimension of a dense array that is written.
    bounds: &'static [(i64, i64)],
    /// Number of consecutive writes, each of an equal part of the cells.
    pieces: u64,
    how: How,
    /// Whether the time of its codecs alone is measured as well.
    filtered: bool,
    /// Dimensions, with their extents, by which its cells are sorted.
    sorted: &'static [(&'static str, i64)],
}

/// What is timed with a case's cells.
#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    /// Written; in several pieces, the array is opened for each.
    Write,
    /// Written in pieces to an array that stays open.
    KeptOpen,
    /// Written to a file system on a disk; with `true` tdb forces files to it.
    OnDisk(bool),
    /// Written in pieces beforehand, then consolidated.
    Consolidate,
}

const fn case(name: &'static str, columns: Columns, schema: fn() -> Value) -> Case {
    Case { name, columns, schema, bounds: &[], pieces: 1, how: How::Write, filtered: true, sorted: &[] }
}

type Columns = &'static [(&'static str, &'static str)];
const SURFACE: Columns = &[("a", "surface")];
const POINTS: Columns = &[("x", "point_x"), ("y", "point_y"), ("v", "point_v")];
const SMALL: Columns = &[("a", "small")];
const SCATTERED: Columns = &[("i", "scattered"), ("v", "scattered_v")];
const PLANE: &[(i64, i64)] = &[(0, 6999), (0, 7167)];
const LINE: &[(i64, i64)] = &[(0, 1_999_999)];
const SMALL_LINE: &[(i64, i64)] = &[(0, 999_999)];
const PIECES: u64 = 1000;
const FRAGMENTS: u64 = 500;

const CASES: [Case; 14] = [
    Case { bounds: PLANE, filtered: false, ..case("dense f64, no filter", SURFACE, || plane(&json!([]))) },
    Case { bounds: PLANE, ..case("dense f64, zstd", SURFACE, || plane(&zstd())) },
    Case { bounds: PLANE, ..case("dense f64, lz4", SURFACE, || plane(&json!([{"type": "lz4"}]))) },
    Case {
        sorted: &[("x", 1_000_000), ("y", 1_000_000)],
        ..case("8 M cells, unordered", POINTS, || points(&shuffled_zstd(), &zstd()))
    },
    Case {
        sorted: &[("x", 1_000_000), ("y", 1_000_000)],
        filtered: false,
        ..case("8 M cells, unordered, no filter", POINTS, || points(&json!([]), &json!([])))
    },
    Case { bounds: LINE, ..case("strings, dense", &[("s", "names")], || strings("dense")) },
    Case {
        sorted: &[("i", 100_000)],
        ..case("strings, sparse, unordered", &[("i", "shuffled"), ("s", "names")], || strings("sparse"))
    },
    case("string dimension, unordered", &[("gene", "genes"), ("i", "gene_numbers")], genes),
    Case {
        bounds: SMALL_LINE,
        pieces: PIECES,
        filtered: false,
        ..case("1,000 small appends", SMALL, || small("dense"))
    },
    Case {
        bounds: SMALL_LINE,
        pieces: PIECES,
        filtered: false,
        how: How::KeptOpen,
        ..case("1,000 small appends, array kept open", SMALL, || small("dense"))
    },
    Case {
        bounds: SMALL_LINE,
        pieces: PIECES,
        filtered: false,
        how: How::OnDisk(false),
        ..case("1,000 small appends, on disk", SMALL, || small("dense"))
    },
    Case {
        bounds: SMALL_LINE,
        pieces: PIECES,
        filtered: false,
        how: How::OnDisk(true),
        ..case("1,000 small appends, on disk, tdb forced", SMALL, || small("dense"))
    },
    Case {
        pieces: FRAGMENTS,
        filtered: false,
        how: How::Consolidate,
        ..case("500 sparse fragments consolidated", SCATTERED, scattered)
    },
    Case {
        bounds: SMALL_LINE,
        pieces: FRAGMENTS,
        filtered: false,
        how: How::Consolidate,
        ..case("500 dense fragments consolidated", SMALL, || small("dense"))
    },
];

fn zstd() -> Value {
    json!([{"type": "zstd"}])
}

fn shuffled_zstd() -> Value {
    json!([{"type": "byteshuffle"}, {"type": "zstd"}])
}

/// A dimension of 64-bit integers, in the form of the peer's API.
pub(super) fn integers(name: &str, (low, high): (i64, i64), extent: i64, filters: Value) -> Value {
    let hex = |value: i64| value.to_le_bytes().iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    json!({
        "name": name, "type": "INT64", "domain": [hex(low), hex(high)], "tile_extent": hex(extent), "filters": filters,
    })
}

fn plane(filters: &Value) -> Value {
    let none = || json!([]);
    let dimensions = [integers("row", (0, 6999), 500, none()), integers("col", (0, 7167), 512, none())];
    let attribute = json!({"name": "a", "type": "FLOAT64", "filters": filters});
    json!({"array_type": "dense", "dimensions": dimensions, "attributes": [attribute], "offsets_filters": []})
}

fn points(coordinates: &Value, values: &Value) -> Value {
    let dimension = |name| integers(name, (0, 99_999_999), 1_000_000, coordinates.clone());
    let attribute = json!({"name": "v", "type": "FLOAT64", "filters": values});
    json!({
        "array_type": "sparse", "dimensions": [dimension("x"), dimension("y")], "attributes": [attribute],
        "coords_filters": [], "offsets_filters": [], "capacity": 100_000,
    })
}

fn strings(array_type: &str) -> Value {
    let dimension = integers("i", (0, 1_999_999), 100_000, zstd());
    let attribute = json!({"name": "s", "type": "STRING_UTF8", "filters": zstd(), "cell_val_num": "var"});
    json!({
        "array_type": array_type, "dimensions": [dimension], "attributes": [attribute],
        "offsets_filters": shuffled_zstd(), "capacity": 100_000,
    })
}

fn genes() -> Value {
    let gene = json!({"name": "gene", "type": "STRING_ASCII", "filters": zstd()});
    let attribute = json!({"name": "i", "type": "INT64", "filters": zstd()});
    json!({
        "array_type": "sparse", "dimensions": [gene], "attributes": [attribute], "offsets_filters": shuffled_zstd(),
        "capacity": 10_000, "allows_dups": true,
    })
}

fn small(array_type: &str) -> Value {
    let attribute = json!({"name": "a", "type": "INT32", "filters": zstd()});
    json!({
        "array_type": array_type, "dimensions": [integers("i", (0, 999_999), 1000, json!([]))],
        "attributes": [attribute], "offsets_filters": [],
    })
}

fn scattered() -> Value {
    let attribute = json!({"name": "v", "type": "FLOAT64", "filters": zstd()});
    json!({
        "array_type": "sparse", "dimensions": [integers("i", (0, 3_999_999), 100_000, shuffled_zstd())],
        "attributes": [attribute], "offsets_filters": [], "capacity": 10_000,
    })
}

struct Options {
    only: String,
    runs: usize,
    threads: usize,
    data: Option<PathBuf>,
    arrays: PathBuf,
    disk: PathBuf,
    write_docs: bool,
}

impl Options {
    fn parse(args: &[String]) -> Result<Self, String> {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let folder = format!("tdb-compare-writes-{}", std::process::id());
        let disk = std::env::temp_dir().join(&folder);
        let memory = Path::new("/dev/shm");
        let arrays = if memory.is_dir() { memory.join(&folder) } else { disk.join("arrays") };
        let mut options =
            Self { only: String::new(), runs: 3, threads, data: None, arrays, disk, write_docs: false };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value\n{USAGE}"));
            match arg.as_str() {
                "--only" => options.only.clone_from(value()?),
                "--runs" => options.runs = super::count(arg, value()?)?,
                "--threads" => options.threads = super::count(arg, value()?)?,
                "--data" => options.data = Some(value()?.into()),
                "--arrays" => options.arrays = PathBuf::from(value()?).join(&folder),
                "--disk" => options.disk = PathBuf::from(value()?).join(&folder),
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

/// Entry point of the subcommand.
pub(super) fn run(args: &[String]) -> Result<(), String> {
    let options = Options::parse(args)?;
    let root = repository_root()?;
    let cases = super::chosen(&CASES, &options.only, |case| case.name)?;
    let (python, data) = workers::columns(&root, options.data.clone(), "writes")?;
    let program = workers::build_tdb(&root)?;
    let mut rows = Vec::new();
    let mut conditions = None;
    for case in cases {
        eprintln!("{}", case.name);
        // Separate workers, so the memory is that of this case only.
        let mut tdb = program.start(options.threads)?;
        let mut peer = workers::peer(&root, &python, options.threads)?;
        let row = measure(case, &data, &options, &mut tdb, &mut peer);
        rows.push(row.map_err(|error| format!("{}: {error}", case.name))?);
        conditions.get_or_insert_with(|| Conditions::new(&tdb, &peer, options.threads, options.runs).text());
    }
    let lines = lines(&rows);
    print!("{}", table::aligned(&lines));
    let where_ = format!("Arrays in {}, but for those on disk.", place(&options.arrays));
    let conditions = format!("{} {where_}\n", conditions.unwrap_or_default().trim_end());
    println!("{conditions}");
    if options.write_docs {
        let marks = ("<!-- compare-writes:begin -->", "<!-- compare-writes:end -->");
        let text = format!("{}\n{conditions}", table::markdown_of(&lines));
        table::put_between(&root.join("docs/performance.md"), marks, INTRODUCTION, &text)?;
    }
    let mut wrong = rows.iter().filter_map(|row| Some((row.name, row.wrong.as_ref()?))).peekable();
    if wrong.peek().is_none() {
        return Ok(());
    }
    Err(wrong.map(|(name, what)| format!("WRONG {name}: {what}\n")).collect())
}

const INTRODUCTION: &str = "
## Writing

`cargo xtask compare writes` has both libraries write the same cells, each an array of its own, and consolidate copies of
the same fragments. Times are from opening the array to the last commit; the arrays are created before. Each library then
read what both wrote, and all cells agreed. Ratios are libtiledb's median time divided by tdb's, of files its bytes divided
by tdb's. What takes libtiledb longer than five seconds it does once. The limits, with as many threads: *disk* is the time to put the bytes of tdb's array into new files; *codec* that
of the filters alone over the same chunks, in memory; *sort* that of the standard library's sort of the cells' tiles and
coordinates. tdb reads consolidated fragments back before they count, which libtiledb does not do.

On disk libtiledb forces each data and metadata file to the medium (`fsync`), and opens commit files with `O_SYNC`, but
forces no folder, so that a loss of power may take the names of files it forced. tdb either forces nothing
(`Durability::Buffered`: a crash of the machine, not of the process, may lose what was written) or, by default, all files,
their folders and the folder of commits, in the order in which a commit may rely on them.
";

/// Operations that take libtiledb more seconds than this are run once.
const SLOW: f64 = 5.0;

struct Row {
    name: &'static str,
    bytes: u64,
    stored: [u64; 2],
    sides: [Sample; 2],
    store: Sample,
    filter: Sample,
    sort: Sample,
    wrong: Option<String>,
}

fn measure(
    case: &Case,
    data: &Path,
    options: &Options,
    tdb: &mut Worker,
    peer: &mut Worker,
) -> Result<Row, String> {
    let on_disk = matches!(case.how, How::OnDisk(_));
    let folder = if on_disk { &options.disk } else { &options.arrays };
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let _cleared = Cleared(folder);
    let arrays = ["tdb", "libtiledb"].map(|side| folder.join(side));
    let columns: Vec<Value> =
        case.columns.iter().map(|(name, file)| column(name, &data.join(file))).collect();
    let load = json!({"op": "load", "columns": columns});
    tdb.ask(&load)?;
    peer.ask(&load)?;
    let loaded = [tdb, peer].map(|worker| {
        worker.resident = worker.ask(&json!({"op": "memory"})).map_or(0, |answer| answer.resident());
        worker
    });
    let [tdb, peer] = loaded;
    let write = |array: &Path| {
        json!({
            "op": "write", "array": array.display().to_string(), "schema": (case.schema)(), "box": boxes(case),
            "pieces": case.pieces, "kept_open": case.how == How::KeptOpen, "synced": case.how == How::OnDisk(true),
        })
    };
    let source = folder.join("source");
    if case.how == How::Consolidate {
        peer.ask(&write(&source))?;
    }
    let once = |worker: &mut Worker, array: &Path| -> Result<Answer, String> {
        if case.how != How::Consolidate {
            return worker.ask(&write(array));
        }
        replace(&source, array).map_err(|error| format!("{}: {error}", array.display()))?;
        worker.ask(&json!({"op": "consolidate", "array": array.display().to_string(), "synced": false}))
    };
    let [ours, theirs] = &arrays;
    once(tdb, ours)?;
    let first = once(peer, theirs)?;
    let mut row = Row {
        name: case.name,
        bytes: 0,
        stored: arrays.each_ref().map(|array| size_of_folder(array)),
        sides: Default::default(),
        store: Sample::default(),
        filter: Sample::default(),
        sort: Sample::default(),
        wrong: None,
    };
    if case.how == How::Consolidate {
        // The fragments that were consolidated are still stored next to the new one.
        row.stored = row.stored.map(|bytes| bytes.saturating_sub(size_of_folder(&source)));
    }
    let mut hashes = BTreeSet::new();
    for array in &arrays {
        let mut request = read(case, array);
        let answer = tdb.ask(&request)?;
        row.bytes = answer.bytes;
        hashes.insert(super::hash(tdb)?);
        if let Some(request) = request.as_object_mut() {
            for key in ["sizes", "widths"] {
                request.insert(key.into(), answer.json.get(key).cloned().unwrap_or(Value::Null));
            }
        }
        peer.ask(&request)?;
        hashes.insert(super::hash(peer)?);
    }
    if hashes.len() > 1 {
        row.wrong = Some(format!("cells hash to {hashes:?}"));
    }
    let [our_sample, their_sample] = &mut row.sides;
    let array = ours.display().to_string();
    let fields: Vec<&str> = case.columns.iter().map(|(name, _)| *name).collect();
    let dimensions: Vec<Value> = case.sorted.iter().map(|(name, extent)| json!([name, extent])).collect();
    let resident = peer.resident;
    let mut add = |answer: &Answer| {
        their_sample.add(answer.seconds, answer.peak.map(|peak| peak.saturating_sub(resident)));
    };
    let slow = first.seconds > SLOW;
    if slow {
        add(&first);
    }
    for _ in 0..options.runs {
        let answer = once(tdb, ours)?;
        our_sample.add(answer.seconds, answer.peak.map(|peak| peak.saturating_sub(tdb.resident)));
        if !slow {
            add(&once(peer, theirs)?);
        }
        row.store.add(tdb.ask(&json!({"op": "store", "array": array}))?.seconds, None);
        if case.filtered {
            let limit = tdb.ask(&json!({"op": "filter", "array": array, "fields": fields}))?;
            row.filter.add(limit.seconds, None);
        }
        if !dimensions.is_empty() {
            row.sort.add(tdb.ask(&json!({"op": "sort", "dimensions": dimensions}))?.seconds, None);
        }
    }
    Ok(row)
}

fn column(name: &str, file: &Path) -> Value {
    let path = file.display().to_string();
    let offsets = format!("{path}.offsets");
    let offsets = Path::new(&offsets).exists().then_some(offsets);
    json!({"name": name, "data": path, "offsets": offsets})
}

fn boxes(case: &Case) -> Value {
    if case.bounds.is_empty() { Value::Null } else { json!(case.bounds) }
}

/// The request that reads a whole array.
fn read(case: &Case, array: &Path) -> Value {
    let schema = (case.schema)();
    let dimensions = schema.get("dimensions").and_then(Value::as_array).into_iter().flatten();
    let dimensions: Vec<&Value> = dimensions.filter_map(|dimension| dimension.get("name")).collect();
    let fields: Vec<&str> = case.columns.iter().map(|(name, _)| *name).collect();
    let dense = !case.bounds.is_empty();
    let ranges = if dense { boxes(case) } else { json!(vec![Value::Null; dimensions.len()]) };
    json!({
        "op": "read", "array": array.display().to_string(), "fields": fields, "dimensions": dimensions,
        "order": if dense { "row-major" } else { "unordered" }, "ranges": ranges, "ties": false,
    })
}

/// A folder that is removed when this is dropped.
struct Cleared<'a>(&'a Path);

impl Drop for Cleared<'_> {
    fn drop(&mut self) {
        // Files that cannot be removed remain in the folder for temporary files.
        let _ = fs::remove_dir_all(self.0);
    }
}

/// Replaces a folder by a copy of another one.
fn replace(from: &Path, to: &Path) -> std::io::Result<()> {
    if to.exists() {
        fs::remove_dir_all(to)?;
    }
    copy_folder(from, to).map_err(std::io::Error::other)
}

const HEADINGS: [&str; 12] = [
    "case",
    "cells, bytes",
    "tdb",
    "libtiledb",
    "ratio",
    "tdb speed",
    "disk",
    "codec",
    "sort",
    "files",
    "tdb peak",
    "libtiledb peak",
];

fn lines(rows: &[Row]) -> Vec<Vec<String>> {
    let dash = || "–".to_owned();
    let time = |sample: &Sample| sample.median().map_or_else(dash, table::duration);
    let mut lines = vec![HEADINGS.map(str::to_owned).to_vec()];
    for row in rows {
        let [tdb, peer] = &row.sides;
        let (ours, theirs) = (tdb.median().unwrap_or(f64::NAN), peer.median().unwrap_or(f64::NAN));
        let wrong = row.wrong.as_ref().map(|_| "WRONG".to_owned());
        let [our_bytes, their_bytes] = row.stored;
        let peak = |sample: &Sample| sample.peak().map_or_else(dash, |kib| format!("{} MiB", kib / 1024));
        lines.push(vec![
            row.name.to_owned(),
            format!("{} MB", row.bytes / 1_000_000),
            table::duration(ours),
            table::duration(theirs),
            wrong.unwrap_or_else(|| format!("{:.2}", theirs / ours)),
            format!("{:.2} GB/s", ratio(row.bytes, 1) / ours / 1e9),
            time(&row.store),
            time(&row.filter),
            time(&row.sort),
            format!("{:.3}", ratio(their_bytes, our_bytes)),
            peak(tdb),
            peak(peer),
        ]);
    }
    lines
}
