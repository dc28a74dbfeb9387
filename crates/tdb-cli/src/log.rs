//! `tdb log`: shows the history of an array.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args as Group;
use serde_json::json;
use tdb_array::history::{Event, EventKind, History, State, history};
use tdb_array::schema::ArraySchema;
use tdb_text::condition;
use tdb_text::report::{about, event_json};

use crate::args::KeyArgs;
use crate::failure::{Failure, Result, one_line};
use crate::place::{Stores, shown};
use crate::screen::Screen;
use crate::sheet::Sheet;
use crate::table::Heading;

/// Show the history of an array: schemas, writes, deletes, metadata, consolidation.
#[derive(Debug, Group)]
#[command(after_help = "\
An entry is live, or shows why it is not: superseded by a later schema, shadowed by a consolidated fragment, \
overwritten by one newer dense fragment, vacuumed, uncommitted, partly written, or damaged.

Examples:
  tdb log weather
  tdb log weather --json | jq '.events[] | select(.state == \"live\")'")]
pub(crate) struct LogArgs {
    /// Folder of the array.
    array: PathBuf,
    #[command(flatten)]
    key: KeyArgs,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(args: &LogArgs, stores: &Stores, screen: Option<Screen>, out: &mut dyn Write) -> Result {
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
    let mut sheet = Sheet::new(out, screen);
    print(&events, schema, &mut sheet)?;
    Ok(sheet.end()?)
}

/// Prints the events as a table.
pub(crate) fn print(events: &[Event], schema: Option<&ArraySchema>, out: &mut Sheet<'_>) -> io::Result<()> {
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
            optional(event.timestamps.map(|(first, last)| out.span(first, last))),
            one_line(&what(event, schema)),
            optional(event.version.map(|version| version.to_string())),
            optional(event.cells.map(|cells| cells.to_string())),
            event.bytes.to_string(),
            one_line(&state_text(&event.state)),
            one_line(&event.key),
        ]
    };
    out.table(&headings, &events.iter().map(row).collect::<Vec<_>>())
}

pub(crate) fn what(event: &Event, schema: Option<&ArraySchema>) -> String {
    let word = event.kind.word();
    match &event.kind {
        EventKind::Fragment(Some(array_type)) | EventKind::ConsolidatedFragment(Some(array_type)) => {
            format!("{array_type} {word}")
        }
        EventKind::Delete(Some(kept)) => format!("{word} where {}", condition::removed_text(kept, schema)),
        EventKind::Update(Some(condition)) => {
            format!("{word} all but {}", condition::text(condition, schema))
        }
        EventKind::Commits(list) => format!("{word} of {}", list.len()),
        EventKind::Replaced(list) | EventKind::Ignored(list) => format!("{word} of {}", list.len()),
        _ => word.to_owned(),
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
