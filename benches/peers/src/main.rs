//! The sides of `cargo xtask compare peers` that are crates of Rust: reads requests from standard
//! input and answers each with a line of JSON.
//!
//! The only argument is the number of threads. The protocol is that of
//! `xtask/src/compare/worker.rs`:
//!
//! ```text
//! {"op": "zarr", …}      a read of zarrs: see `zarr`
//! {"op": "arrow", …}     a read of the parquet crate: see `files`
//! {"op": "limit", …}     the codecs alone, called directly: see `limit`
//! {"op": "write", …}, {"op": "make", …}   writes of both
//! {"op": "hash"}         the digest of the last result
//! ```

#[path = "../../../xtask/src/compare/batches.rs"]
#[allow(dead_code, reason = "other sides have text that is not of views")]
mod batches;
#[path = "../../../xtask/src/compare/digest.rs"]
mod digest;
mod files;
mod limit;
mod write;
mod zarr;

extern crate arrow_array;

use std::error::Error;
use std::io::{BufRead, Write};

use serde_json::{Value, json};

type Fallible<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// The result of the last request.
enum Last {
    Nothing,
    Batches(Vec<arrow_array::RecordBatch>),
    /// Cells, and whether their positions count.
    Cells(zarr::Cells, bool),
}

fn main() -> Fallible<()> {
    let threads: usize = std::env::args().nth(1).ok_or("usage: peers THREADS")?.parse()?;
    rayon::ThreadPoolBuilder::new().num_threads(threads).build_global()?;
    let mut output = std::io::stdout().lock();
    writeln!(output, "{}", json!({"version": "zarrs 0.23, parquet 59.3"}))?;
    output.flush()?;
    let (mut last, mut input) = (Last::Nothing, write::Input::default());
    for line in std::io::stdin().lock().lines() {
        let answer = answer(&line?, threads, &mut last, &mut input);
        writeln!(output, "{}", answer.unwrap_or_else(|error| json!({"error": error.to_string()})))?;
        output.flush()?;
    }
    Ok(())
}

fn answer(line: &str, threads: usize, last: &mut Last, input: &mut write::Input) -> Fallible<Value> {
    let request: Value = serde_json::from_str(line)?;
    let op = text(&request, "op")?;
    if op == "hash" {
        return Ok(json!({"hash": match last {
            Last::Nothing => return Err("nothing to hash".into()),
            Last::Batches(batches) => batches::unordered(batches)?,
            Last::Cells(cells, ordered) => cells.digest(*ordered),
        }}));
    }
    *last = Last::Nothing;
    let (seconds, cells, bytes) = match op {
        "zarr" => {
            let (seconds, cells) = zarr::read(&request)?;
            let size = cells.size();
            *last = Last::Cells(cells, request.get("ordered").and_then(Value::as_bool).unwrap_or(true));
            (seconds, size.0, size.1)
        }
        "arrow" => {
            let (seconds, batches) = files::read(&request, threads)?;
            let size = batches::size(&batches);
            *last = Last::Batches(batches);
            (seconds, size.0, size.1)
        }
        "limit" => (limit::run(&request, threads)?, 0, 0),
        "make" => (zarr::make(&request)?, 0, 0),
        "load" => {
            *input = write::Input::load(&request)?;
            (0.0, 0, 0)
        }
        "write" => (input.write(&request)?, 0, 0),
        _ => return Err(format!("unknown request {op:?}").into()),
    };
    Ok(json!({"seconds": seconds, "cells": cells, "bytes": bytes}))
}

fn text<'a>(request: &'a Value, name: &str) -> Fallible<&'a str> {
    Ok(request.get(name).and_then(Value::as_str).ok_or_else(|| format!("the request has no {name}"))?)
}

fn list<'a>(request: &'a Value, name: &str) -> Fallible<&'a Vec<Value>> {
    Ok(request.get(name).and_then(Value::as_array).ok_or_else(|| format!("the request has no {name}"))?)
}

/// Both ends of a range of integers, if there is one.
fn ends(range: &Value) -> Option<(i64, i64)> {
    Some((range.get(0)?.as_i64()?, range.get(1)?.as_i64()?))
}
