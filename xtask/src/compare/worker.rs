//! The tdb side of `cargo xtask compare`: reads requests from standard input and answers each with
//! a line of JSON.
//!
//! A separate program, built with the release profile by `super::workers`; the only argument is the
//! number of threads. Every timed request opens the array again and ends with the cells in memory;
//! results are dropped before the next request begins, outside its time.
//! `xtask/peer/compare_peer.py` uses the same protocol:
//!
//! ```text
//! {"op": "read", "array": path, "fields": [...], "order": "row-major" | …, "ranges": [null | [lo, hi], ...],
//!  "dimensions": [...], "ties": bool, "points": null | {dimension: [coordinate, ...]},
//!  for the peer: "types": [of each dimension], "nullable": [field, ...], "cells": of the result}
//!                                -> {"seconds", "cells", "bytes", "peak", "sizes": {field: [data, offsets | null]}, "widths"}
//! {"op": "arrow", …}             -> the same, but what is timed ends with a record batch: see `worker_arrow`
//! {"op": "open", "array": path}  -> {"seconds", ...}
//! {"op": "hash"}                 -> {"hash"} of what the last request returned
//! {"op": "load" | "write" | "consolidate", …}: see `worker_write`
//! {"op": "codec" | "files", …}: see `worker_limit`; {"op": "filter" | "sort" | "store", …}: see `worker_least`
//! {"op": "memory"}               -> {"resident"} of this process now, in KiB
//! {"op": "copy", "bytes": n}     -> {"seconds"} of a copy of n bytes into fresh memory with all threads
//! ```

mod batches;
mod digest;
mod worker_arrow;
mod worker_least;
mod worker_limit;
mod worker_write;

use std::error::Error;
use std::fs;
use std::hint::black_box;
use std::io::{BufRead, Write};
use std::thread;
use std::time::Instant;

use serde_json::{Map, Value, json};
use tdb_array::query::{Aggregate, Coordinate, QueryCondition};
use tdb_array::{Array, Cells, Column, Layout, OpenOptions, Read};
use tdb_arrow::arrow_array;

use self::digest::Digest;
use self::worker_write::Input;

type Fallible<T> = Result<T, Box<dyn Error>>;

/// The result of the last request.
enum Last {
    Nothing,
    Cells { cells: Cells, positions: Positions },
    Batches(Vec<arrow_array::RecordBatch>),
    Domain(String),
}

/// What an order determines.
enum Positions {
    /// Nothing.
    Free,
    /// The position of every cell.
    OfCells,
    /// The positions of these fields' values; cells with equal values of these fields may be in any
    /// order.
    Of(Vec<String>),
}

fn main() -> Fallible<()> {
    let threads: usize = std::env::args().nth(1).ok_or("usage: tdb-compare-worker THREADS")?.parse()?;
    let mut output = std::io::stdout().lock();
    let hello = json!({"version": env!("TDB_COMPARE_VERSION"), "resident": status("VmRSS")});
    writeln!(output, "{hello}")?;
    output.flush()?;
    let (mut last, mut input) = (Last::Nothing, Input::default());
    for line in std::io::stdin().lock().lines() {
        let answer =
            answer(&line?, threads, &mut last, &mut input).unwrap_or_else(|error| json!({"error": error.to_string()}));
        writeln!(output, "{answer}")?;
        output.flush()?;
    }
    Ok(())
}

fn answer(line: &str, threads: usize, last: &mut Last, input: &mut Input) -> Fallible<Value> {
    let request: Value = serde_json::from_str(line)?;
    let op = text(&request, "op")?;
    if op == "hash" {
        let hash = match last {
            Last::Nothing => return Err("nothing to hash".into()),
            Last::Cells { cells, positions } => hash(cells, positions)?,
            Last::Batches(batches) => batches::unordered(batches)?,
            Last::Domain(domain) => domain.clone(),
        };
        return Ok(json!({"hash": hash}));
    }
    *last = Last::Nothing;
    reset_peak();
    let options = OpenOptions::new().threads(threads);
    match op {
        "read" => {
            let query = Query::parse(&request)?;
            let started = Instant::now();
            let array = options.open(query.array)?;
            let cells = query.run(&array)?;
            let seconds = started.elapsed().as_secs_f64();
            drop(array);
            let mut answer = describe(&cells);
            answer.insert("seconds".into(), seconds.into());
            answer.insert("peak".into(), status("VmHWM").into());
            let ties = request.get("ties").and_then(Value::as_bool).unwrap_or(false);
            let positions = match query.order {
                Layout::Unordered => Positions::Free,
                _ if ties => Positions::Of(query.dimensions.iter().map(ToString::to_string).collect()),
                _ => Positions::OfCells,
            };
            *last = Last::Cells { cells, positions };
            Ok(answer.into())
        }
        "arrow" => {
            let (mut answer, batches) = worker_arrow::read(&Query::parse(&request)?, &options, threads)?;
            answer.insert("peak".into(), status("VmHWM").into());
            *last = Last::Batches(batches);
            Ok(answer.into())
        }
        "aggregate" => {
            let (path, aggregates) = (text(&request, "array")?, aggregates(&request)?);
            let ranges: Vec<_> = list(&request, "ranges")?.iter().map(ends).collect();
            let started = Instant::now();
            let array = options.open(path)?;
            let dimensions = array.schema().domain.dimensions.iter();
            let ranges = dimensions.zip(ranges).filter_map(|(dimension, ends)| Some((&dimension.name, ends?)));
            let read = ranges.fold(array.read(), |read, (name, (low, high))| read.range(name, low..=high));
            let values = read.aggregate(aggregates)?;
            let seconds = started.elapsed().as_secs_f64();
            let peak = status("VmHWM");
            let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
            let shown: Vec<String> = values.iter().map(|value| hex(value.bytes().unwrap_or_default())).collect();
            *last = Last::Domain(shown.join(" "));
            Ok(json!({"seconds": seconds, "cells": 0, "bytes": 0, "peak": peak, "sizes": {}, "widths": []}))
        }
        "open" => {
            let path = text(&request, "array")?;
            let started = Instant::now();
            let array = options.open(path)?;
            let domain = array.non_empty_domain();
            let seconds = started.elapsed().as_secs_f64();
            let peak = status("VmHWM");
            let range = domain.as_deref().and_then(<[_]>::first);
            *last = Last::Domain(match range {
                Some(range) => format!("{}..={}", integer(&range.low)?, integer(&range.high)?),
                None => "none".into(),
            });
            Ok(json!({"seconds": seconds, "cells": 0, "bytes": 0, "peak": peak, "sizes": {}, "widths": []}))
        }
        "load" => {
            *input = Input::load(&request)?;
            Ok(json!({"seconds": 0.0}))
        }
        "write" => input.write(&request, threads),
        "memory" => Ok(json!({"resident": status("VmRSS")})),
        "consolidate" => worker_write::consolidate(&request, threads),
        "filter" => worker_least::filter(&request, threads),
        "sort" => worker_least::sort(&request, input, threads),
        "store" => worker_least::store(&request, threads),
        "codec" => worker_limit::codec(&request, threads),
        "files" => worker_limit::files_copied(&request, threads),
        "copy" => {
            let bytes = request.get("bytes").and_then(Value::as_u64).ok_or("no bytes")?;
            Ok(json!({"seconds": copy(usize::try_from(bytes)?, threads)}))
        }
        _ => Err(format!("unknown request {op:?}").into()),
    }
}

/// A read, as requested.
struct Query<'a> {
    array: &'a str,
    fields: Vec<&'a str>,
    order: Layout,
    dimensions: Vec<&'a str>,
    ranges: Vec<(&'a str, Coordinate, Coordinate)>,
    points: Vec<(&'a str, Vec<Coordinate>)>,
    condition: Option<&'a str>,
}

impl<'a> Query<'a> {
    fn parse(request: &'a Value) -> Fallible<Self> {
        let order = match text(request, "order")? {
            "row-major" => Layout::RowMajor,
            "col-major" => Layout::ColMajor,
            "global-order" => Layout::GlobalOrder,
            "unordered" => Layout::Unordered,
            order => return Err(format!("unknown order {order:?}").into()),
        };
        let fields = list(request, "fields")?.iter().filter_map(Value::as_str).collect();
        let dimensions = list(request, "dimensions")?.iter().filter_map(Value::as_str).collect();
        let mut ranges = Vec::new();
        for (name, range) in list(request, "dimensions")?.iter().zip(list(request, "ranges")?) {
            if let (Some(name), Some((low, high))) = (name.as_str(), ends(range)) {
                ranges.push((name, low, high));
            }
        }
        let points = request.get("points").and_then(Value::as_object).into_iter().flatten();
        let values = |values: &Value| values.as_array().into_iter().flatten().filter_map(coordinate).collect();
        let points = points.map(|(name, all)| (name.as_str(), values(all))).collect();
        let condition = request.get("where").and_then(Value::as_str);
        Ok(Self { array: text(request, "array")?, fields, order, dimensions, ranges, points, condition })
    }

    fn run(&self, array: &Array) -> Fallible<Cells> {
        Ok(self.read(array)?.collect()?)
    }

    /// The query, before it is run.
    fn read(&self, array: &Array) -> Fallible<Read> {
        let mut read = array.read().fields(self.fields.iter().copied()).order(self.order);
        for (name, low, high) in &self.ranges {
            read = read.range(*name, low.clone()..=high.clone());
        }
        for (name, points) in &self.points {
            read = read.points(*name, points.iter().cloned());
        }
        if let Some(condition) = self.condition {
            read = read.condition(QueryCondition::parse(condition)?);
        }
        Ok(read)
    }
}

fn list<'r>(request: &'r Value, name: &str) -> Fallible<&'r Vec<Value>> {
    Ok(request.get(name).and_then(Value::as_array).ok_or_else(|| format!("the request has no {name}"))?)
}

/// The requested functions and their fields.
fn aggregates(request: &Value) -> Fallible<Vec<Aggregate>> {
    let one = |asked: &Value| {
        let part = |index: usize| asked.get(index).and_then(Value::as_str).unwrap_or_default();
        Ok(match (part(0), part(1)) {
            ("count", _) => Aggregate::count(),
            ("sum", field) => Aggregate::sum(field),
            ("min", field) => Aggregate::min(field),
            ("max", field) => Aggregate::max(field),
            (function, _) => return Err(format!("unknown aggregate {function:?}").into()),
        })
    };
    list(request, "aggregates")?.iter().map(one).collect()
}

/// Both ends of a range, if there is one.
fn ends(range: &Value) -> Option<(Coordinate, Coordinate)> {
    Some((coordinate(range.get(0)?)?, coordinate(range.get(1)?)?))
}

/// An end of a range: a number or a string.
fn coordinate(end: &Value) -> Option<Coordinate> {
    let whole = end.as_i64().map(Coordinate::from).or_else(|| end.as_u64().map(Coordinate::from));
    whole.or_else(|| end.as_f64().map(Coordinate::from)).or_else(|| end.as_str().map(Coordinate::from))
}

fn text<'a>(request: &'a Value, name: &str) -> Fallible<&'a str> {
    Ok(request.get(name).and_then(Value::as_str).ok_or_else(|| format!("the request has no {name}"))?)
}

fn integer(bytes: &[u8]) -> Fallible<i64> {
    Ok(i64::from_le_bytes(bytes.try_into()?))
}

/// Cells, bytes, and the sizes that the peer needs to set up its buffers.
fn describe(cells: &Cells) -> Map<String, Value> {
    let mut bytes = 0usize;
    let (mut sizes, mut widths) = (Map::new(), Vec::new());
    for column in cells.columns() {
        // A field of fixed size has none, which is not the same as offsets of no cells.
        let offsets = column.offsets().map(|_| cells.len().saturating_mul(8));
        let data = match (column.codes(), column.offsets()) {
            (Some(codes), Some(offsets)) => expanded(codes, offsets),
            _ => column.bytes().len(),
        };
        bytes = bytes.saturating_add(data).saturating_add(offsets.unwrap_or(0));
        sizes.insert(column.name.clone(), json!([data, offsets]));
        widths.push(column.cell_size().unwrap_or(1));
    }
    let mut answer = Map::new();
    answer.insert("cells".into(), cells.len().into());
    answer.insert("bytes".into(), bytes.into());
    answer.insert("sizes".into(), sizes.into());
    answer.insert("widths".into(), widths.into());
    answer
}

/// The bytes that strings take which are stored once each, if each cell gets its own.
fn expanded(codes: &[u32], offsets: &[u64]) -> usize {
    let len = |code: &u32| {
        let at = usize::try_from(*code).ok()?;
        let pair = offsets.get(at).zip(offsets.get(at.checked_add(1)?))?;
        usize::try_from(pair.1.saturating_sub(*pair.0)).ok()
    };
    codes.iter().filter_map(len).fold(0, usize::saturating_add)
}

/// A digest of all cells: the sum of one hash for each cell, so the order of unordered results does
/// not matter. For ordered results, the hash of a cell includes its position; if cells may tie, a
/// second sum contains the positions of the values that determine the order.
fn hash(cells: &Cells, positions: &Positions) -> Fallible<String> {
    Ok(match positions {
        Positions::Free => format!("{:016x}", sum(cells, |_| true, false)?),
        Positions::OfCells => format!("{:016x}", sum(cells, |_| true, true)?),
        Positions::Of(names) => {
            let all = sum(cells, |_| true, false)?;
            format!("{all:016x} {:016x}", sum(cells, |column| names.contains(&column.name), true)?)
        }
    })
}

fn sum(cells: &Cells, with: impl Fn(&Column) -> bool, ordered: bool) -> Fallible<u64> {
    let mut digest = Digest::new(cells.len());
    for column in cells.columns().iter().filter(|column| with(column)) {
        let value = |index: usize| {
            let bytes = column.cell(index)?;
            if column.offsets().is_none() && bytes.len() <= 8 {
                digest::fixed(bytes)
            } else {
                Some(digest::variable(bytes))
            }
        };
        let values = (0..cells.len()).map(value).collect::<Option<Vec<_>>>();
        let valid = column.validity().map(|valid| valid.iter().map(|byte| u64::from(*byte)));
        if !values.is_some_and(|values| digest.add(values.into_iter()))
            || !valid.is_none_or(|valid| digest.add(valid))
        {
            return Err(format!("{}: a cell is missing", column.name).into());
        }
    }
    Ok(digest.sum(ordered))
}

/// Seconds that copying `bytes` bytes into fresh memory takes: a lower bound for reads of that many
/// bytes.
fn copy(bytes: usize, threads: usize) -> f64 {
    let from = vec![1u8; bytes];
    let started = Instant::now();
    let mut to = vec![0u8; bytes];
    let piece = bytes.div_ceil(threads.max(1)).max(1 << 20);
    let mut pieces = to.chunks_mut(piece).zip(from.chunks(piece));
    thread::scope(|scope| {
        let own = pieces.next();
        for (to, from) in pieces {
            scope.spawn(|| to.copy_from_slice(from));
        }
        if let Some((to, from)) = own {
            to.copy_from_slice(from);
        }
    });
    let seconds = started.elapsed().as_secs_f64();
    black_box(&to);
    seconds
}

/// A number in KiB from this process's status.
fn status(name: &str) -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Resets the peak of resident memory, if the system allows it.
fn reset_peak() {
    // If it is not allowed, peaks are those of the whole run so far, which is still an upper bound.
    let _ = fs::write("/proc/self/clear_refs", "5");
}
