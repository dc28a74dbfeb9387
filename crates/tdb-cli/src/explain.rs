//! `tdb explain`: what a query would read, and why not more.

use std::io::Write;

use serde_json::{Value, json};
use tdb_array::{Explain, FieldPlan, FragmentPlan, Outcome, QueryStats};

use crate::args::ExplainArgs;
use crate::failure::{Failure, Result, one_line};
use crate::ranges;
use crate::table::{self, Heading, Rule};

/// Runs the command.
pub(crate) fn run(args: &ExplainArgs, out: &mut dyn Write) -> Result {
    let failed = |error| Failure::of_array(&args.array, error);
    let array = args.window.options(&args.key)?.open(&args.array).map_err(failed)?;
    let mut query =
        ranges::asked(&args.ranges, &args.array, array.schema())?.apply(array.read(), array.schema());
    if let Some(order) = args.order {
        query = query.order(order.into());
    }
    if let Some(fields) = &args.fields {
        query = query.fields(ranges::parse_names(fields));
    }
    let explain = query.explain().map_err(failed)?;
    if args.json {
        writeln!(out, "{:#}", as_json(&explain))?;
    } else {
        write(&explain, out)?;
    }
    Ok(())
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
    let (tiles, requests, bytes) = (explain.tiles(), explain.requests(), explain.bytes());
    writeln!(out, "reads: {tiles} tiles in {requests} requests, {bytes} bytes")?;
    let rows = &explain.fields;
    let headings = [
        Heading::left("field"),
        Heading::right("tiles"),
        Heading::right("requests"),
        Heading::right("bytes"),
        Heading::left(""),
    ];
    table::write(out, 2, &headings, Rule::None, rows.len(), |row, column| {
        let Some(field) = rows.get(row) else { return String::new() };
        field_text(field, column)
    })?;
    let most = if explain.exact { "" } else { "at most " };
    writeln!(
        out,
        "result: {most}{} cells, {most}{} bytes, {}",
        explain.cells, explain.result_bytes, explain.order
    )?;
    writeln!(out, "memory: about {} bytes", explain.memory_bytes)?;
    Ok(())
}

fn fragment_text(fragment: &FragmentPlan) -> String {
    let all = fragment.tiles.unwrap_or(0);
    match fragment.outcome {
        Outcome::Read { tiles, whole } if tiles == whole => format!("{tiles} of {all}"),
        Outcome::Read { tiles, whole } => format!("{tiles} of {all}, {whole} of them wholly in the ranges"),
        Outcome::OutsideRanges => format!("none of {all}: outside the ranges"),
        Outcome::Hidden => format!("none of {all}: newer cells hide them"),
        Outcome::OutsideWindow => "not looked at: outside the window".to_owned(),
        Outcome::Consolidated => "not looked at: a consolidated fragment holds its cells".to_owned(),
        _ => String::new(),
    }
}

fn field_text(field: &FieldPlan, column: usize) -> String {
    match column {
        0 => one_line(&field.name),
        1 => field.tiles.to_string(),
        2 => field.requests.to_string(),
        3 => field.bytes.to_string(),
        _ if field.asked => String::new(),
        _ => "to find and order cells".to_owned(),
    }
}

fn as_json(explain: &Explain) -> Value {
    let fragment = |fragment: &FragmentPlan| {
        let (outcome, tiles, whole) = match fragment.outcome {
            Outcome::Read { tiles, whole } => ("read", tiles, whole),
            Outcome::OutsideRanges => ("outside-ranges", 0, 0),
            Outcome::Hidden => ("hidden", 0, 0),
            Outcome::OutsideWindow => ("outside-window", 0, 0),
            Outcome::Consolidated => ("consolidated", 0, 0),
            _ => ("", 0, 0),
        };
        json!({
            "name": fragment.name,
            "timestamps": [fragment.timestamps.0, fragment.timestamps.1],
            "outcome": outcome,
            "tiles": fragment.tiles,
            "tiles_read": tiles,
            "tiles_whole": whole,
        })
    };
    let field = |field: &FieldPlan| {
        json!({
            "name": field.name,
            "asked": field.asked,
            "tiles": field.tiles,
            "requests": field.requests,
            "bytes": field.bytes,
        })
    };
    json!({
        "order": explain.order.name(),
        "fragments": explain.fragments.iter().map(fragment).collect::<Vec<_>>(),
        "fields": explain.fields.iter().map(field).collect::<Vec<_>>(),
        "tiles": explain.tiles(),
        "requests": explain.requests(),
        "bytes": explain.bytes(),
        "cells": explain.cells,
        "exact": explain.exact,
        "result_bytes": explain.result_bytes,
        "memory_bytes": explain.memory_bytes,
    })
}

/// What `tdb read --stats` prints: what was done since the array was opened, opening included.
pub(crate) fn write_stats(stats: &QueryStats, err: &mut dyn Write) -> Result {
    writeln!(err, "read: {} bytes in {} requests", stats.bytes_read, stats.requests)?;
    writeln!(
        err,
        "decoded: {} bytes in {} chunks of {} tiles",
        stats.bytes_decoded, stats.chunks, stats.tiles
    )?;
    writeln!(err, "cells compared with the ranges: {}", stats.cells_tested)?;
    let QueryStats { sections, select, order, decode, total, .. } = stats;
    writeln!(err, "time: {total:.1?}; finding cells {select:.1?}, order {order:.1?}, fields {decode:.1?}")?;
    writeln!(err, "of which for sections of fragment metadata: {sections:.1?}")?;
    Ok(())
}
