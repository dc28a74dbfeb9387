//! `tdb explain`: what a query would read, and what it can skip.

use std::io::Write;
use std::path::PathBuf;

use clap::Args as Group;
use serde_json::{Value, json};
use tdb_array::query::{Explain, FieldPlan, FragmentPlan, Outcome, Purpose, QueryStats};
use tdb_codec::to_u64;
use tdb_text::report::{explain_json, purpose};

use crate::args::{KeyArgs, Order, RangeArgs, WindowArgs};
use crate::condition;
use crate::count::count;
use crate::failure::{Result, one_line};
use crate::notes;
use crate::place::Stores;
use crate::ranges;
use crate::table::{self, Heading, Rule};

/// Show what a query would read, and what it can skip, using only metadata.
///
/// Fragments outside the time window or the ranges are listed with the reason; for the others, the
/// number of tiles that remain after searching the R-tree. Requests and bytes are those of whole
/// tiles.
#[derive(Debug, Group)]
#[command(after_help = "\
Ranges are written as for tdb read.

Examples:
  tdb explain weather --range 'time=2020-01-01..2020-01-31' --fields temperature
  tdb explain weather --where 'temperature > 30' --run
  tdb explain weather --json | jq .bytes")]
pub(crate) struct ExplainArgs {
    /// Folder of the array.
    array: PathBuf,
    /// Fields to read, separated by commas (\, in a name). Default: all attributes; for sparse
    /// arrays also the coordinates.
    #[arg(long, value_name = "A,B")]
    fields: Option<String>,
    #[command(flatten)]
    ranges: RangeArgs,
    /// Only cells that satisfy a condition; see tdb read.
    #[arg(long = "where", value_name = "CONDITION", allow_hyphen_values = true)]
    condition: Option<String>,
    #[command(flatten)]
    window: WindowArgs,
    #[command(flatten)]
    key: KeyArgs,
    /// Order of the cells. Default: row for dense arrays, unordered for sparse ones.
    #[arg(long, value_enum)]
    order: Option<Order>,
    /// Also run the query, batch by batch, and print its requests, bytes, chunks, and the time of
    /// each stage.
    #[arg(long)]
    run: bool,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(args: &ExplainArgs, stores: &Stores, out: &mut dyn Write, err: &mut dyn Write) -> Result {
    let failed = |error| condition::failed(&args.array, args.condition.as_deref(), error);
    let array = args.window.options(&args.key)?.open_storage(stores.storage(&args.array)?).map_err(failed)?;
    let asked = ranges::query_ranges(&args.ranges, &args.array, array.schema())?;
    notes::print(&args.array, array.schema(), &asked.notes, args.condition.as_deref(), err);
    let mut query = asked.apply(array.read(), array.schema());
    if let Some(text) = &args.condition {
        let parsed = tdb_text::condition::parse(text, array.schema());
        query = query.condition(parsed.map_err(|error| condition::bad(&args.array, text, &error))?);
    }
    if let Some(order) = args.order {
        query = query.order(order.into());
    }
    if let Some(fields) = &args.fields {
        query = query.fields(ranges::parse_fields(array.schema(), fields));
    }
    let explain = query.clone().explain().map_err(failed)?;
    let mut took = None;
    if args.run {
        let before = array.stats();
        let mut cells = 0;
        for batch in query.batches().map_err(failed)? {
            cells += batch.map_err(failed)?.len();
        }
        took = Some((cells, array.stats().since(&before)));
    }
    if args.json {
        let mut value = explain_json(&explain);
        if let (Some((cells, stats)), Some(object)) = (took, value.as_object_mut()) {
            object.insert("run".to_owned(), stats_json(cells, &stats));
        }
        writeln!(out, "{value:#}")?;
    } else {
        write(&explain, out)?;
        if let Some((cells, stats)) = took {
            writeln!(out, "run: {}", count(to_u64(cells), "cell"))?;
            write_stats(&stats, out)?;
        }
    }
    Ok(())
}

fn stats_json(cells: usize, stats: &QueryStats) -> Value {
    let micros = |time: core::time::Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    json!({
        "cells": cells,
        "requests": stats.requests,
        "rounds": stats.rounds,
        "retries": stats.retries,
        "bytes": stats.bytes_read,
        "cache_hits": stats.cache_hits,
        "cache_bytes": stats.cache_bytes,
        "tiles": stats.tiles,
        "chunks": stats.chunks,
        "decoded": stats.bytes_decoded,
        "copied": stats.bytes_copied,
        "cells_compared": stats.cells_tested,
        "microseconds": {
            "total": micros(stats.total),
            "sections": micros(stats.sections),
            "select": micros(stats.select),
            "order": micros(stats.order),
            "decode": micros(stats.decode),
        },
    })
}

fn write(explain: &Explain, out: &mut dyn Write) -> Result {
    let read = explain.fragments.iter().filter(|fragment| matches!(fragment.outcome, Outcome::Read { .. }));
    writeln!(out, "fragments: {} of {} are read", read.count(), explain.fragments.len())?;
    let rows = &explain.fragments;
    table::write(
        out,
        2,
        &["fragment", "tiles"].map(Heading::left),
        Rule::None,
        rows.len(),
        |row, column| {
            let Some(fragment) = rows.get(row) else { return String::new() };
            if column == 0 { one_line(&fragment.name) } else { fragment_text(fragment) }
        },
    )?;
    let conditioned =
        explain.ruled_out() > 0 || explain.fields.iter().any(|f| f.purpose == Purpose::Condition);
    let max = if conditioned { "at most " } else { "" };
    let (tiles, requests, bytes) = (explain.tiles(), explain.requests(), explain.bytes());
    writeln!(out, "reads: {max}{tiles} tiles in {requests} requests, {bytes} bytes")?;
    let (chunks, decoded) = (explain.chunks(), explain.decoded());
    writeln!(out, "decodes: {max}{decoded} bytes in about {chunks} chunks")?;
    if explain.again() > 0 {
        writeln!(
            out,
            "decodes again: {max}{} tiles, which memory cannot hold until they are needed",
            explain.again()
        )?;
    }
    // Coordinates that are read anyway to find cells are listed there.
    let rows: Vec<&FieldPlan> = explain.fields.iter().filter(|field| field.tiles > 0).collect();
    let headings = [
        Heading::left("field"),
        Heading::right("tiles"),
        Heading::right("requests"),
        Heading::right("bytes"),
        Heading::right("chunks"),
        Heading::right("decoded"),
        Heading::left(""),
    ];
    table::write(out, 2, &headings, Rule::None, rows.len(), |row, column| {
        let Some(field) = rows.get(row) else { return String::new() };
        field_text(field, column)
    })?;
    let max = if explain.exact { "" } else { "at most " };
    writeln!(
        out,
        "result: {max}{}, {max}{}, {}",
        count(explain.cells, "cell"),
        count(explain.result_bytes, "byte"),
        explain.order
    )?;
    writeln!(out, "memory: about {} bytes", explain.memory_bytes)?;
    Ok(())
}

fn fragment_text(fragment: &FragmentPlan) -> String {
    let all = fragment.tiles.unwrap_or(0);
    match fragment.outcome {
        Outcome::Read { tiles, whole } => {
            let mut text = format!("{tiles} of {all}");
            if tiles != whole {
                text += &format!(", {whole} of them entirely in the ranges");
            }
            if fragment.ruled_out > 0 {
                text += &format!("; statistics rule out {}", fragment.ruled_out);
            }
            text
        }
        Outcome::OutsideCondition => {
            format!("none of {all}: statistics rule out the {} in the ranges", fragment.ruled_out)
        }
        Outcome::OutsideRanges => format!("none of {all}: outside the ranges"),
        Outcome::Hidden => format!("none of {all}: newer cells hide them"),
        Outcome::OutsideWindow => "not read: outside the time window".to_owned(),
        Outcome::Consolidated => "not read: a consolidated fragment contains its cells".to_owned(),
        _ => String::new(),
    }
}

fn field_text(field: &FieldPlan, column: usize) -> String {
    match column {
        0 => one_line(&field.name),
        1 => field.tiles.to_string(),
        2 => field.requests.to_string(),
        3 => field.bytes.to_string(),
        4 => field.chunks.to_string(),
        5 => field.decoded.to_string(),
        _ => purpose(field).1.to_owned(),
    }
}

/// The output of `tdb read --stats`: everything done since the array was opened, including opening
/// it.
pub(crate) fn write_stats(stats: &QueryStats, err: &mut dyn Write) -> Result {
    write!(err, "read: {} bytes in {} requests", stats.bytes_read, stats.requests)?;
    if stats.rounds < stats.requests {
        write!(err, ", {} rounds", stats.rounds)?;
    }
    writeln!(err)?;
    if stats.retries > 0 {
        writeln!(
            err,
            "asked again: {} times, because the server was busy or the connection broke",
            stats.retries
        )?;
    }
    if stats.cache_hits > 0 {
        writeln!(err, "from the cache: {} bytes in {} requests", stats.cache_bytes, stats.cache_hits)?;
    }
    writeln!(
        err,
        "decoded: {} bytes in {} chunks of {} tiles",
        stats.bytes_decoded, stats.chunks, stats.tiles
    )?;
    writeln!(err, "copied after they were decoded: {} bytes", stats.bytes_copied)?;
    writeln!(err, "cells compared with the ranges: {}", stats.cells_tested)?;
    let QueryStats { sections, select, order, decode, total, .. } = stats;
    // Aggregates have no time as a whole. Parts may be longer than it: threads work side by side.
    if !total.is_zero() {
        writeln!(err, "time: {total:.1?}")?;
    }
    writeln!(
        err,
        "of all threads together: finding cells {select:.1?}, order {order:.1?}, fields {decode:.1?}"
    )?;
    writeln!(err, "of which for sections of fragment metadata: {sections:.1?}")?;
    Ok(())
}
