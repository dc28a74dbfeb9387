//! tdb's side of `cargo xtask compare sql`: SQL over arrays with tdb-datafusion.
//!
//! A separate program, because DataFusion takes long to build; the only argument is the number of
//! threads. It reads requests from standard input and answers each with a line of JSON, as
//! `../worker.rs` does:
//!
//! ```text
//! {"op": "sql", "tables": {name: {"array": path}, …}, "query"}   -> {"seconds", "cells", "bytes"} from opening the arrays to the batches
//! {"op": "sql", "array": path, "query"}                          the same for one table, `a`
//! {"op": "hash"}                                                 -> {"hash"} of the last result
//! ```

#[path = "../batches.rs"]
mod batches;
#[path = "../digest.rs"]
mod digest;

use std::error::Error;
use std::io::{BufRead, Write};
use std::sync::Arc;
use std::time::Instant;

use serde_json::{Value, json};
use tdb_datafusion::datafusion::arrow::array as arrow_array;
use tdb_datafusion::datafusion::prelude::{SessionConfig, SessionContext};
use tdb_datafusion::{TdbTable, register};

use self::arrow_array::cast::AsArray;
use self::arrow_array::{ArrayRef, RecordBatch, StringViewArray};

type Fallible<T> = Result<T, Box<dyn Error>>;

fn main() -> Fallible<()> {
    let threads: usize = std::env::args().nth(1).ok_or("usage: tdb-sql-worker THREADS")?.parse()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(threads).build()?;
    let session = SessionContext::new_with_config(SessionConfig::new().with_target_partitions(threads));
    register(&session);
    let mut output = std::io::stdout().lock();
    writeln!(output, "{}", json!({"version": env!("TDB_COMPARE_VERSION")}))?;
    output.flush()?;
    let mut last = Vec::new();
    for line in std::io::stdin().lock().lines() {
        let answer = answer(&line?, &runtime, &session, &mut last);
        writeln!(output, "{}", answer.unwrap_or_else(|error| json!({"error": error.to_string()})))?;
        output.flush()?;
    }
    Ok(())
}

fn answer(
    line: &str,
    runtime: &tokio::runtime::Runtime,
    session: &SessionContext,
    last: &mut Vec<RecordBatch>,
) -> Fallible<Value> {
    let request: Value = serde_json::from_str(line)?;
    let text = |name: &str| request.get(name).and_then(Value::as_str);
    match text("op") {
        Some("hash") => return Ok(json!({"hash": batches::unordered(last)?})),
        Some("sql") => {}
        other => return Err(format!("unknown request {other:?}").into()),
    }
    last.clear();
    let query = text("query").ok_or("no query")?.to_owned();
    let mut tables: Vec<(String, String)> = Vec::new();
    for (name, table) in request.get("tables").and_then(Value::as_object).into_iter().flatten() {
        let array = table.get("array").and_then(Value::as_str).ok_or("a table without an array")?;
        tables.push((name.clone(), array.to_owned()));
    }
    if let (true, Some(array)) = (tables.is_empty(), text("array")) {
        tables.push(("a".to_owned(), array.to_owned()));
    }
    let started = Instant::now();
    for (name, path) in &tables {
        session.register_table(name.as_str(), Arc::new(TdbTable::open(path.as_str())?))?;
    }
    let own = session.clone();
    // The query runs on the threads of the runtime, not on this one.
    let found = runtime.block_on(runtime.spawn(async move { own.sql(&query).await?.collect().await }))?;
    let found = found.and_then(|batches| batches.iter().map(with_views).collect::<Result<Vec<_>, _>>());
    let seconds = started.elapsed().as_secs_f64();
    for (name, _) in &tables {
        session.deregister_table(name.as_str())?;
    }
    *last = found?;
    let (cells, bytes) = batches::size(last);
    Ok(json!({"seconds": seconds, "cells": cells, "bytes": bytes}))
}

fn with_views(batch: &RecordBatch) -> tdb_datafusion::Result<RecordBatch> {
    let columns = batch.schema_ref().fields().iter().zip(batch.columns());
    Ok(RecordBatch::try_from_iter(columns.map(|(field, column)| (field.name(), viewed(column))))?)
}

/// Text as views of the bytes that a column has; other columns as they are.
fn viewed(column: &ArrayRef) -> ArrayRef {
    match column.as_string_opt::<i64>() {
        Some(text) => Arc::new(StringViewArray::from(text)),
        None => column.clone(),
    }
}
