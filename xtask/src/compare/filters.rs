//! `cargo xtask compare filters`: one filter at a time; both libraries write and read whole arrays
//! of the same cells.
//!
//! Each case is a 1-D dense array of one attribute and about 200 MB. tdb and libtiledb take turns
//! to write it, each to its own array, and then to read it. Once, untimed, each reads the other's
//! array, and all cells must be equal. A filter's share of the time is the array's time minus the
//! time for the same cells without a filter.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::table::{self, Conditions, Sample};
use super::workers::{self, Worker};
use super::writes::integers;
use crate::peer::{repository_root, scratch};

const USAGE: &str = "usage: cargo xtask compare filters [--only SUBSTR] [--runs N] [--threads N,…] [--data DIR] \
                     [--arrays DIR] [--write-docs]";
/// Approximate number of bytes of a value tile.
const TILE: u64 = 1 << 20;

/// One filter on one column of cells.
struct Case {
    /// Its name in the table.
    name: &'static str,
    column: &'static str,
    datatype: &'static str,
    size: u64,
    var: bool,
    /// The filter in the form of the peer's API; `None` for no filter.
    filter: fn() -> Option<Value>,
}

const fn case(
    name: &'static str,
    (column, datatype, size): (&'static str, &'static str, u64),
    filter: fn() -> Option<Value>,
) -> Case {
    Case { name, column, datatype, size, var: false, filter }
}

const fn strings(name: &'static str, column: &'static str, filter: fn() -> Option<Value>) -> Case {
    Case { name, column, datatype: "STRING_ASCII", size: 8, var: true, filter }
}

type Column = (&'static str, &'static str, u64);
const COUNTS: Column = ("counts32", "INT32", 4);
const TIMES: Column = ("times64", "INT64", 8);
const SENSOR: Column = ("sensor64", "FLOAT64", 8);
const SENSOR32: Column = ("sensor32", "FLOAT32", 4);
const GRID: Column = ("grid64", "FLOAT64", 8);
const RUNS: Column = ("runs32", "INT32", 4);

const CASES: [Case; 34] = [
    case("none", COUNTS, || None),
    case("byteshuffle", COUNTS, || Some(json!({"type": "byteshuffle"}))),
    case("bitshuffle", COUNTS, || Some(json!({"type": "bitshuffle"}))),
    case("bit-width reduction", COUNTS, || Some(json!({"type": "bit_width_reduction"}))),
    case("delta", COUNTS, || Some(json!({"type": "delta"}))),
    case("double delta", COUNTS, || Some(json!({"type": "double_delta"}))),
    case("gzip 1", COUNTS, || Some(json!({"type": "gzip", "level": 1}))),
    case("zstd 3", COUNTS, || Some(json!({"type": "zstd", "level": 3}))),
    case("lz4", COUNTS, || Some(json!({"type": "lz4"}))),
    case("bzip2 1", COUNTS, || Some(json!({"type": "bzip2", "level": 1}))),
    case("none", TIMES, || None),
    case("byteshuffle", TIMES, || Some(json!({"type": "byteshuffle"}))),
    case("bitshuffle", TIMES, || Some(json!({"type": "bitshuffle"}))),
    case("bit-width reduction", TIMES, || Some(json!({"type": "bit_width_reduction"}))),
    case("positive delta", TIMES, || Some(json!({"type": "positive_delta"}))),
    case("delta", TIMES, || Some(json!({"type": "delta"}))),
    case("double delta", TIMES, || Some(json!({"type": "double_delta"}))),
    case("none", SENSOR, || None),
    case("xor", SENSOR, || Some(json!({"type": "xor"}))),
    case("checksum md5", SENSOR, || Some(json!({"type": "checksum_md5"}))),
    case("checksum sha256", SENSOR, || Some(json!({"type": "checksum_sha256"}))),
    case("zstd 3", SENSOR, || Some(json!({"type": "zstd", "level": 3}))),
    case("gzip 6", SENSOR, || Some(json!({"type": "gzip", "level": 6}))),
    case("lz4", SENSOR, || Some(json!({"type": "lz4"}))),
    case("none", SENSOR32, || None),
    case("xor", SENSOR32, || Some(json!({"type": "xor"}))),
    case("none", GRID, || None),
    case("scale float", GRID, || {
        Some(json!({
            "type": "scale_float", "scale_float_bytewidth": 4, "scale_float_factor": 0.25, "scale_float_offset": 1.0,
        }))
    }),
    case("none", RUNS, || None),
    case("rle", RUNS, || Some(json!({"type": "rle"}))),
    strings("none", "words", || None),
    strings("dictionary", "words", || Some(json!({"type": "dictionary"}))),
    strings("none", "word_runs", || None),
    strings("rle", "word_runs", || Some(json!({"type": "rle"}))),
];

struct Options {
    only: String,
    runs: usize,
    threads: Vec<usize>,
    data: Option<PathBuf>,
    arrays: PathBuf,
    write_docs: bool,
}

impl Options {
    fn parse(args: &[String]) -> Result<Self, String> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let arrays = scratch("compare-filters");
        let mut threads = vec![1, cores];
        threads.dedup();
        let mut options =
            Self { only: String::new(), runs: 3, threads, data: None, arrays, write_docs: false };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value\n{USAGE}"));
            match arg.as_str() {
                "--only" => options.only.clone_from(value()?),
                "--runs" => options.runs = super::count(arg, value()?)?,
                "--threads" => {
                    let list = value()?.split(',').map(|count| super::count(arg, count));
                    options.threads = list.collect::<Result<_, _>>()?;
                }
                "--data" => options.data = Some(value()?.into()),
                "--arrays" => options.arrays = value()?.into(),
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

/// The measurements of one case: writing and reading, tdb and libtiledb.
struct Row {
    name: &'static str,
    column: &'static str,
    bytes: u64,
    /// Sizes of both libraries' arrays.
    stored: [u64; 2],
    write: [Sample; 2],
    read: [Sample; 2],
    wrong: Option<String>,
}

/// Entry point of the subcommand.
pub(super) fn run(args: &[String]) -> Result<(), String> {
    let options = Options::parse(args)?;
    let root = repository_root()?;
    // The cells without a filter are always measured in addition to those with one.
    let wanted = |case: &&Case| title(case).contains(&options.only);
    let columns: Vec<&str> = CASES.iter().filter(wanted).map(|case| case.column).collect();
    let chosen: Vec<&Case> = CASES
        .iter()
        .filter(|case| wanted(case) || case.name == "none" && columns.contains(&case.column))
        .collect();
    if chosen.is_empty() {
        return Err(format!("no case has {:?} in its name", options.only));
    }
    let (python, data) = workers::columns(&root, options.data.clone(), "filters")?;

    let mut tables = Vec::new();
    let mut wrong = Vec::new();
    for threads in &options.threads {
        let mut tdb = workers::tdb(&root, *threads)?;
        let mut peer = workers::peer(&root, &python, *threads)?;
        let mut rows = Vec::new();
        let mut loaded = "";
        for case in &chosen {
            eprintln!("{threads} threads: {}", title(case));
            if loaded != case.column {
                load(case, &data, &mut tdb, &mut peer)?;
                loaded = case.column;
            }
            rows.push(measure(case, &data, &options, &mut tdb, &mut peer)?);
        }
        let conditions = Conditions::new(&tdb, &peer, *threads, options.runs);
        let lines = lines(&rows);
        print!("{}", table::aligned(&lines));
        for row in &rows {
            if let Some(what) = &row.wrong {
                println!("WRONG {} of {}: {what}", row.name, row.column);
                wrong.push(format!("{} of {}", row.name, row.column));
            }
        }
        println!("{}arrays in {}\n", conditions.text(), place(&options.arrays));
        tables
            .push((lines, format!("{} Arrays in {}.", conditions.text().trim_end(), place(&options.arrays))));
    }
    if options.arrays.exists() {
        fs::remove_dir_all(&options.arrays).map_err(|error| error.to_string())?;
    }
    if options.write_docs {
        let tables: Vec<String> =
            tables.iter().map(|(lines, note)| format!("{}\n{note}\n", table::markdown_of(lines))).collect();
        let marks = ("<!-- compare-filters:begin -->", "<!-- compare-filters:end -->");
        table::put_between(&root.join("docs/performance.md"), marks, INTRODUCTION, &tables.join("\n"))?;
    }
    if wrong.is_empty() { Ok(()) } else { Err(format!("cells differ: {}", wrong.join(", "))) }
}

const INTRODUCTION: &str = "
## One filter at a time

`cargo xtask compare filters` writes the same cells with one filter each, 1-D dense arrays of about 200 MB in tiles of
1 MiB, and reads them whole. Each library reads its own array; each also read the other's once, and all cells agreed.
Neither forces files to the medium. Times are from opening the array to the committed fragment, and to the cells in memory.
Ratios are libtiledb's time divided by tdb's. The share is the array's time less that of the same cells without a filter,
and its ratio is libtiledb's share divided by tdb's; where tdb's share is below 1 ms it says nothing and is left out.
";

fn title(case: &Case) -> String {
    format!("{}, {}", case.name, case.column)
}

/// The folder of the arrays.
pub(super) fn place(folder: &Path) -> &'static str {
    if folder.starts_with("/dev/shm") { "memory (tmpfs)" } else { "the file system, in its cache" }
}

fn load(case: &Case, data: &Path, tdb: &mut Worker, peer: &mut Worker) -> Result<(), String> {
    let path = data.join(case.column).display().to_string();
    let offsets = case.var.then(|| format!("{path}.offsets"));
    let request = json!({"op": "load", "columns": [{"name": "a", "data": path, "offsets": offsets}]});
    tdb.ask(&request)?;
    peer.ask(&request)?;
    Ok(())
}

fn measure(
    case: &Case,
    data: &Path,
    options: &Options,
    tdb: &mut Worker,
    peer: &mut Worker,
) -> Result<Row, String> {
    let failed = |error: String| format!("{}: {error}", title(case));
    let len = |path: PathBuf| fs::metadata(&path).map(|file| file.len()).map_err(|error| error.to_string());
    let values = len(data.join(case.column))?;
    let counted = if case.var { len(data.join(format!("{}.offsets", case.column)))? } else { values };
    let cells = counted.checked_div(case.size).unwrap_or(0);
    fs::create_dir_all(&options.arrays).map_err(|error| error.to_string())?;
    let arrays = ["tdb", "libtiledb"].map(|side| options.arrays.join(side));
    let filters: Vec<Value> = (case.filter)().into_iter().collect();
    let last = i64::try_from(cells).unwrap_or(i64::MAX).saturating_sub(1);
    let tile = i64::try_from(TILE.checked_div(case.size).unwrap_or(1)).unwrap_or(1);
    let mut attribute = json!({"name": "a", "type": case.datatype, "filters": filters});
    if case.var {
        attribute = json!({"name": "a", "type": case.datatype, "filters": filters, "cell_val_num": "var"});
    }
    let schema = json!({
        "array_type": "dense", "dimensions": [integers("i", (0, last), tile, json!([]))], "attributes": [attribute],
        "offsets_filters": [],
    });
    let writes = arrays.each_ref().map(|array| {
        json!({
            "op": "write", "array": array.display().to_string(), "schema": schema, "box": [[0, last]],
        })
    });
    let bytes = values.saturating_add(if case.var { counted } else { 0 });
    let reads = arrays.each_ref().map(|array| {
        json!({
            "op": "read", "array": array.display().to_string(), "fields": ["a"], "order": "row-major",
            "dimensions": ["i"], "ranges": [[0, cells.saturating_sub(1)]], "ties": false,
            "sizes": {"a": [values, case.var.then_some(counted)]},
            "widths": [if case.var { 1 } else { case.size }],
        })
    });
    let mut row = Row {
        name: case.name,
        column: case.column,
        bytes,
        stored: [0; 2],
        write: [Sample::default(), Sample::default()],
        read: [Sample::default(), Sample::default()],
        wrong: None,
    };
    let [our_write, their_write] = &writes;
    let [our_read, their_read] = &reads;
    // Once to warm up, with each reading both arrays.
    tdb.ask(our_write).map_err(failed)?;
    peer.ask(their_write).map_err(failed)?;
    let mut hashes: BTreeMap<String, &str> = BTreeMap::new();
    let sides = [
        (&mut *tdb, ["tdb of tdb", "tdb of libtiledb"]),
        (&mut *peer, ["libtiledb of tdb", "libtiledb of libtiledb"]),
    ];
    for (worker, names) in sides {
        for (request, name) in reads.iter().zip(names) {
            worker.ask(request).map_err(failed)?;
            hashes.insert(super::hash(worker).map_err(failed)?, name);
        }
    }
    if hashes.len() > 1 {
        row.wrong = Some(format!("{hashes:?}"));
    }
    row.stored = arrays.each_ref().map(|array| size_of_folder(array));
    for _ in 0..options.runs {
        let [ours, theirs] = &mut row.write;
        ours.add(tdb.ask(our_write).map_err(failed)?.seconds, None);
        theirs.add(peer.ask(their_write).map_err(failed)?.seconds, None);
        let [ours, theirs] = &mut row.read;
        ours.add(tdb.ask(our_read).map_err(failed)?.seconds, None);
        theirs.add(peer.ask(their_read).map_err(failed)?.seconds, None);
    }
    Ok(row)
}

/// Number of bytes of all files below a folder.
pub(super) fn size_of_folder(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.fold(0, |sum, entry| {
        let size = match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => size_of_folder(&entry.path()),
            Ok(metadata) => metadata.len(),
            Err(_) => 0,
        };
        size.saturating_add(sum)
    })
}

const HEADINGS: [&str; 16] = [
    "filter",
    "cells",
    "stored",
    "write tdb",
    "libtiledb",
    "ratio",
    "share tdb",
    "libtiledb",
    "ratio",
    "read tdb",
    "libtiledb",
    "ratio",
    "share tdb",
    "libtiledb",
    "ratio",
    "files",
];

fn lines(rows: &[Row]) -> Vec<Vec<String>> {
    let mut lines = vec![HEADINGS.map(str::to_owned).to_vec()];
    for row in rows {
        let plain = rows.iter().find(|other| other.name == "none" && other.column == row.column);
        let percent = |part: u64| part.saturating_mul(100).checked_div(row.bytes).unwrap_or(0);
        let [ours, theirs] = row.stored;
        let mut line = vec![row.name.to_owned(), row.column.to_owned(), format!("{} %", percent(ours))];
        for (samples, plain) in
            [(&row.write, plain.map(|plain| &plain.write)), (&row.read, plain.map(|plain| &plain.read))]
        {
            line.extend(columns(samples, plain.filter(|_| row.name != "none")));
        }
        line.push(format!("{:.3}", ratio(theirs, ours)));
        if row.wrong.is_some() {
            line.push("WRONG".to_owned());
        }
        lines.push(line);
    }
    lines
}

#[expect(clippy::cast_precision_loss, reason = "for display")]
pub(super) fn ratio(a: u64, b: u64) -> f64 {
    a as f64 / b.max(1) as f64
}

/// Times, their ratio, shares, their ratio.
fn columns(samples: &[Sample; 2], plain: Option<&[Sample; 2]>) -> [String; 6] {
    let dash = || "–".to_owned();
    let [ours, theirs] = samples.each_ref().map(|sample| sample.median().unwrap_or(f64::NAN));
    let mut columns = [
        table::duration(ours),
        table::duration(theirs),
        format!("{:.2}", theirs / ours),
        dash(),
        dash(),
        dash(),
    ];
    if let Some(plain) = plain {
        let [our_plain, their_plain] = plain.each_ref().map(|sample| sample.median().unwrap_or(f64::NAN));
        let (our_share, their_share) = (ours - our_plain, theirs - their_plain);
        let show = |share: f64| if share < 1e-3 { "< 1 ms".to_owned() } else { table::duration(share) };
        let [.., first, second, third] = &mut columns;
        (*first, *second) = (show(our_share), show(their_share));
        if our_share >= 1e-3 {
            *third = format!("{:.2}", their_share / our_share);
        }
    }
    columns
}
