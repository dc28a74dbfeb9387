//! `tdb fragments`: the fragments of an array in time, and where their cells are.

mod picture;

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args as Group;
use serde_json::json;
use tdb_array::history::{Event, EventKind, History, history};
use tdb_array::schema::{ArraySchema, Range};
use tdb_text::report::event_json;
use tdb_text::value::{coordinate_json, interval_text};

use crate::args::KeyArgs;
use crate::failure::{Failure, Result, one_line};
use crate::log::{state_text, what};
use crate::place::{Stores, shown};
use crate::screen::Screen;
use crate::sheet::Sheet;
use crate::table::Heading;

/// Show the fragments of an array: when they were written, how large they are, and where their
/// cells are.
///
/// Fragments that overlap make reads slow: each must be looked at. As a picture, the times of
/// fragments are next to their footprints in the first one or two dimensions; a consolidated
/// fragment is above those that it replaced.
#[derive(Debug, Group)]
#[command(after_help = "Examples:\n  tdb fragments weather\n  tdb fragments weather --svg fragments.svg")]
pub(crate) struct FragmentsArgs {
    /// Folder of the array.
    array: PathBuf,
    /// Draw them into this file.
    #[arg(long, value_name = "FILE.svg")]
    svg: Option<PathBuf>,
    #[command(flatten)]
    key: KeyArgs,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(
    args: &FragmentsArgs,
    stores: &Stores,
    screen: Option<Screen>,
    out: &mut dyn Write,
) -> Result {
    if let Some(path) = args.svg.as_ref().filter(|path| path.extension().is_none_or(|ending| ending != "svg"))
    {
        return Err(Failure::Usage(format!(
            "{}: --svg writes SVG, into a file that ends with .svg",
            path.display()
        )));
    }
    let failed = |error| Failure::of_array(&args.array, error);
    let History { schema, mut events } =
        history(stores.storage(&args.array)?, args.key.key()?).map_err(failed)?;
    events.retain(is_fragment);
    let schema = schema.as_deref();
    if let Some(path) = &args.svg {
        let picture = picture::draw(&shown(&args.array), schema, &events);
        std::fs::write(path, picture.svg()).map_err(|error| Failure::at(path, error))?;
    }
    if args.json {
        let list: Vec<_> = events.iter().map(|event| with_bounds(event, schema)).collect();
        let object = json!({ "array": shown(&args.array), "fragments": list });
        writeln!(out, "{object:#}")?;
    } else if args.svg.is_none() {
        let mut sheet = Sheet::new(out, screen);
        print(&events, schema, &mut sheet)?;
        sheet.end()?;
    }
    Ok(())
}

/// Whether an event of a history is a fragment.
pub(crate) const fn is_fragment(event: &Event) -> bool {
    matches!(event.kind, EventKind::Fragment(_) | EventKind::ConsolidatedFragment(_))
}

fn with_bounds(event: &Event, schema: Option<&ArraySchema>) -> serde_json::Value {
    let mut object = event_json(event, schema);
    let bounds = schema.zip(event.bounds.as_ref()).map(|(schema, bounds)| {
        let pairs = schema.domain.dimensions.iter().zip(bounds);
        let ends = pairs.map(|(own, range)| [&range.low, &range.high].map(|end| coordinate_json(own, end)));
        ends.collect::<Vec<_>>()
    });
    if let Some(object) = object.as_object_mut() {
        object.insert("non_empty_domain".to_owned(), json!(bounds));
    }
    object
}

/// Prints the events as a table.
pub(crate) fn print(events: &[Event], schema: Option<&ArraySchema>, out: &mut Sheet<'_>) -> io::Result<()> {
    let headings = [
        Heading::left("when"),
        Heading::left("what"),
        Heading::right("cells"),
        Heading::right("bytes"),
        Heading::left("state"),
        Heading::left("non-empty domain"),
        Heading::left("name"),
    ];
    let optional = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let row = |event: &Event| {
        vec![
            optional(event.timestamps.map(|(first, last)| out.span(first, last))),
            what(event, schema),
            optional(event.cells.map(|cells| cells.to_string())),
            event.bytes.to_string(),
            one_line(&state_text(&event.state)),
            optional(domain_text(schema, event.bounds.as_deref())),
            one_line(name_of(event)),
        ]
    };
    out.table(&headings, &events.iter().map(row).collect::<Vec<_>>())
}

/// The name of a fragment, without its folder.
fn name_of(event: &Event) -> &str {
    event.key.rsplit('/').next().unwrap_or_default()
}

/// The domain of a fragment's cells, in words.
fn domain_text(schema: Option<&ArraySchema>, bounds: Option<&[Range]>) -> Option<String> {
    let pairs = schema?.domain.dimensions.iter().zip(bounds?);
    let texts = pairs.map(|(dimension, range)| one_line(&interval_text(dimension, &range.low, &range.high)));
    Some(texts.collect::<Vec<_>>().join(", "))
}
