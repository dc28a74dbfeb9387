//! `tdb log`: shows the history of an array.

use std::io::Write;

use serde_json::{Value, json};
use tdb_array::{ArraySchema, ArrayType, Event, EventKind, History, State, history};
use tdb_codec::FormatVersion;

use crate::args::LogArgs;
use crate::calendar::{self, span_text};
use crate::condition;
use crate::failure::{Failure, Result, one_line};
use crate::place::{Stores, shown};
use crate::table::{self, Heading};

/// Runs the command.
pub(crate) fn run(args: &LogArgs, stores: &Stores, out: &mut dyn Write) -> Result {
    let failed = |error| Failure::of_array(&args.array, error);
    let History { schema, events } =
        history(stores.storage(&args.array)?, args.key.key()?).map_err(failed)?;
    let schema = schema.as_deref();
    if args.json {
        let object = json!({
            "array": shown(&args.array),
            "events": events.iter().map(|event| event_json(event, schema)).collect::<Vec<_>>(),
        });
        writeln!(out, "{object:#}")?;
        return Ok(());
    }
    let headings = [
        Heading::left("when"),
        Heading::left("what"),
        Heading::right("version"),
        Heading::right("cells"),
        Heading::right("bytes"),
        Heading::left("state"),
        Heading::left("name"),
    ];
    let optional = |number: Option<String>| number.unwrap_or_else(|| "-".to_owned());
    let row = |event: &Event| {
        vec![
            optional(event.timestamps.map(|(first, last)| span_text(first, last))),
            one_line(&what(event, schema)),
            optional(event.version.map(|version| version.to_string())),
            optional(event.cells.map(|cells| cells.to_string())),
            event.bytes.to_string(),
            one_line(&state_text(&event.state)),
            one_line(&event.key),
        ]
    };
    table::write_rows(out, 0, &headings, &events.iter().map(row).collect::<Vec<_>>())?;
    Ok(())
}

pub(crate) fn what(event: &Event, schema: Option<&ArraySchema>) -> String {
    let word = event.kind.word();
    match &event.kind {
        EventKind::Fragment(Some(array_type)) | EventKind::ConsolidatedFragment(Some(array_type)) => {
            format!("{array_type} {word}")
        }
        EventKind::Delete(Some(condition)) | EventKind::Update(Some(condition)) => {
            format!("{word} all but {}", condition::text(condition, schema))
        }
        EventKind::Commits(list) => format!("{word} of {}", list.len()),
        EventKind::Replaced(list) | EventKind::Ignored(list) => format!("{word} of {}", list.len()),
        _ => word.to_owned(),
    }
}

/// What a state refers to: what took the place of an event, or what is wrong.
fn about(state: &State) -> Option<String> {
    match state {
        State::Shadowed(by) | State::Overwritten(by) => Some(by.clone()),
        State::Damaged(error) => Some(error.to_string()),
        _ => None,
    }
}

pub(crate) fn state_text(state: &State) -> String {
    match (state.word(), about(state)) {
        (word, Some(about)) if matches!(state, State::Damaged(_)) => format!("{word}: {about}"),
        // The vacuum file has the name of the fragment that replaces this one.
        (word, Some(by)) => {
            let name = by.rsplit('/').next().unwrap_or_default();
            format!("{word} by {}", name.strip_suffix(".vac").unwrap_or(name))
        }
        (word, None) => word.to_owned(),
    }
}

pub(crate) fn event_json(event: &Event, schema: Option<&ArraySchema>) -> Value {
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
