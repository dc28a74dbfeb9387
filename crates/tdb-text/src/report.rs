//! Reports on arrays and queries, as JSON.

use serde_json::{Map, Value, json};
use tdb_array::history::{Event, EventKind, State};
use tdb_array::maintain::{MaintenancePlan, MaintenanceStep, PlannedFile};
use tdb_array::query::{Explain, FieldPlan, FragmentPlan, Outcome, Purpose};
use tdb_array::schema::{ArrayMetadata, ArraySchema, ArrayType};
use tdb_array::stored::Fragment;
use tdb_codec::{CellValNum, FormatVersion};
use tdb_schema::MetadataValue;

use crate::calendar;
use crate::condition;
use crate::schema::ranges_json;
use crate::value::{cell_json, escape_bytes};

/// Whether the cells of a fragment are dense.
pub const fn kind(fragment: &Fragment) -> ArrayType {
    if fragment.is_dense() { ArrayType::Dense } else { ArrayType::Sparse }
}

/// A fragment: its name, times, cells, bytes and the box that contains its cells.
pub fn fragment_json(fragment: &Fragment) -> Value {
    let (start, end) = fragment.timestamps();
    json!({
        "name": fragment.name(),
        "type": kind(fragment).name(),
        "version": fragment.version().number(),
        "timestamps": [start, end],
        "dates": [calendar::format_millis(start), calendar::format_millis(end)],
        "cells": fragment.cell_count(),
        "bytes": fragment.size(),
        "non_empty_domain": fragment.non_empty_domain().map(|domain| ranges_json(fragment.schema(), domain)),
    })
}

/// Key-value metadata: the datatype and the value of each key.
pub fn metadata_json(metadata: &ArrayMetadata) -> Value {
    let mut object = Map::new();
    for (key, value) in metadata.iter() {
        let key = core::str::from_utf8(key).map_or_else(|_| escape_bytes(key), str::to_owned);
        let shown = cell_json(value.datatype, count_of(value), &value.data);
        object.insert(key, json!({"datatype": value.datatype.name(), "value": shown}));
    }
    Value::Object(object)
}

/// A value with one element is shown as such, others as lists.
pub fn count_of(value: &MetadataValue) -> CellValNum {
    if value.count() == 1 { CellValNum::ONE } else { CellValNum::Var }
}

/// Why a field is read: a word for programs, and a text for display.
pub const fn purpose(field: &FieldPlan) -> (&'static str, &'static str) {
    match field.purpose {
        Purpose::Result => ("result", ""),
        Purpose::Condition => ("condition", "for the condition"),
        Purpose::Search => ("search", "to find and order cells"),
        Purpose::Delete => ("delete", "for deletes"),
        _ => ("", ""),
    }
}

/// A plan of a query.
pub fn explain_json(explain: &Explain) -> Value {
    let fragment = |fragment: &FragmentPlan| {
        let (outcome, tiles, whole) = match fragment.outcome {
            Outcome::Read { tiles, whole } => ("read", tiles, whole),
            Outcome::OutsideRanges => ("outside-ranges", 0, 0),
            Outcome::OutsideCondition => ("outside-condition", 0, 0),
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
            "tiles_ruled_out": fragment.ruled_out,
        })
    };
    let field = |field: &FieldPlan| {
        json!({
            "name": field.name,
            "asked": field.purpose == Purpose::Result,
            "purpose": purpose(field).0,
            "tiles": field.tiles,
            "requests": field.requests,
            "bytes": field.bytes,
            "chunks": field.chunks,
            "decoded": field.decoded,
            "again": field.again,
        })
    };
    json!({
        "order": explain.order.name(),
        "fragments": explain.fragments.iter().map(fragment).collect::<Vec<_>>(),
        "fields": explain.fields.iter().map(field).collect::<Vec<_>>(),
        "tiles": explain.tiles(),
        "requests": explain.requests(),
        "bytes": explain.bytes(),
        "chunks": explain.chunks(),
        "decoded": explain.decoded(),
        "tiles_again": explain.again(),
        "tiles_ruled_out": explain.ruled_out(),
        "cells": explain.cells,
        "exact": explain.exact,
        "result_bytes": explain.result_bytes,
        "memory_bytes": explain.memory_bytes,
    })
}

/// The file that took the place of an event, or its fault.
pub fn about(state: &State) -> Option<String> {
    match state {
        State::Shadowed(by) | State::Overwritten(by) => Some(by.clone()),
        State::Damaged(error) => Some(error.to_string()),
        _ => None,
    }
}

/// An event of a history. With the schema, stored conditions are shown in words.
pub fn event_json(event: &Event, schema: Option<&ArraySchema>) -> Value {
    let about = about(&event.state);
    let number = |version: Option<FormatVersion>| match version {
        Some(version) => json!(version.number()),
        None => Value::Null,
    };
    let mut object = json!({
        "timestamps": event.timestamps.map(|(first, last)| [first, last]),
        "dates": event.timestamps.map(|(first, last)| [first, last].map(calendar::format_millis)),
        "what": event.kind.word(),
        "name": event.key,
        "version": number(event.version),
        "cells": event.cells,
        "bytes": event.bytes,
        "state": event.state.word(),
    });
    let mut add = |key: &str, value: Value| {
        if let Some(object) = object.as_object_mut() {
            object.insert(key.to_owned(), value);
        }
    };
    match &event.state {
        State::Damaged(_) => add("error", json!(about)),
        _ if about.is_some() => add("by", json!(about)),
        _ => {}
    }
    match &event.kind {
        EventKind::Fragment(array_type) | EventKind::ConsolidatedFragment(array_type) => {
            add("type", json!(array_type.map(ArrayType::name)));
        }
        EventKind::Delete(condition) | EventKind::Update(condition) => {
            add("keeps", json!(condition.as_ref().map(|condition| condition::text(condition, schema))));
        }
        EventKind::Commits(list) | EventKind::Replaced(list) | EventKind::Ignored(list) => {
            add("paths", json!(list));
        }
        _ => {}
    }
    object
}

/// The steps of a maintenance plan: what is done, from which files, to which file.
pub fn steps_json(plan: &MaintenancePlan) -> Value {
    let file = |file: &PlannedFile| json!({"name": file.key, "bytes": file.bytes});
    let step = |step: &MaintenanceStep| {
        json!({
            "what": step.what,
            "inputs": step.inputs.iter().map(file).collect::<Vec<_>>(),
            "output": step.output.as_ref().map(file),
        })
    };
    plan.steps().iter().map(step).collect()
}
