//! `tdb info`: shows the properties of an array, or of all that is in a folder.

mod all;
pub(crate) mod json;
pub(crate) mod text;

use std::io::Write;
use std::path::PathBuf;

use clap::Args as Group;
use tdb_array::Array;
use tdb_schema::{ArrayMetadata, Enumeration};

use self::all::All;
use crate::args::{KeyArgs, WindowArgs};
use crate::failure::{Failure, Result};
use crate::place::Stores;
use crate::screen::Screen;
use crate::sheet::Sheet;
use crate::tree::Explorer;

/// An open array and what else is shown about it.
pub(crate) struct Info {
    array: Array,
    metadata: ArrayMetadata,
    enumerations: Vec<Enumeration>,
    /// The given window, in words and numbers.
    window: (Option<String>, [Option<u64>; 2]),
}

/// Show what an array is: schema, fragments, metadata; or all that is in a folder, in short.
#[derive(Debug, Group)]
#[command(after_help = "\
With --all, each array has a line with its cells (as many as its fragments have), bytes, fragments and times, and then its \
dimensions, attributes and keys of metadata. The members of a group follow it, wherever they are. What cannot be opened has its \
error in its place, and makes the exit code 1. On a terminal, long texts are shortened to its width.

Examples:
  tdb info weather
  tdb info --all data
  tdb info --all s3://bucket/stations
  tdb info weather --json | jq '.fragments[].timestamps'")]
pub(crate) struct InfoArgs {
    /// Folder of the array; with --all, also of a group, or a folder with any of these in it.
    array: PathBuf,
    /// Show everything that is in a folder or a group, in a few lines for each array.
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    window: WindowArgs,
    #[command(flatten)]
    key: KeyArgs,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(args: &InfoArgs, stores: &Stores, screen: Option<Screen>, out: &mut dyn Write) -> Result {
    let options = args.window.options(&args.key)?;
    let explorer = Explorer::new(stores.clone(), options);
    let mut sheet = Sheet::new(out, screen);
    if args.all {
        let mut all = All::new(&explorer, &args.window);
        let object = explorer.at(&args.array)?;
        if args.json {
            let found = all.json(&object)?;
            writeln!(out, "{found:#}")?;
        } else {
            all.text(&object, &mut sheet)?;
            sheet.end()?;
        }
        return if all.has_failed() { Err(Failure::Problems) } else { Ok(()) };
    }
    let info = Info::load(explorer.array(&args.array)?, &args.window)
        .map_err(|error| Failure::of_array(&args.array, error))?;
    if args.json {
        writeln!(out, "{:#}", json::describe(&info))?;
    } else {
        text::write(&info, &mut sheet)?;
        sheet.end()?;
    }
    Ok(())
}

impl Info {
    /// What is shown about an array that was opened in a window.
    pub(crate) fn load(array: Array, window: &WindowArgs) -> tdb_array::Result<Self> {
        let metadata = array.metadata()?;
        let mut enumerations = Vec::new();
        for entry in &array.schema().enumerations {
            enumerations.extend(array.enumeration(&entry.name)?);
        }
        Ok(Self { array, metadata, enumerations, window: (window.text(), window.timestamps()) })
    }
}
