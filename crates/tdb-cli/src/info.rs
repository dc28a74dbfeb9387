//! `tdb info`: shows the properties of an array.

pub(crate) mod json;
mod text;

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args as Group;
use tdb_array::storage::WriteStorage;
use tdb_array::{Array, OpenOptions};
use tdb_schema::{ArrayMetadata, Enumeration};

use crate::args::{KeyArgs, WindowArgs};
use crate::failure::{Failure, Result};
use crate::place::Stores;

/// An open array and what else is shown about it.
struct Info {
    array: Array,
    metadata: ArrayMetadata,
    enumerations: Vec<Enumeration>,
    /// The given window, in words and numbers.
    window: (Option<String>, [Option<u64>; 2]),
}

/// Show what an array is: schema, fragments, metadata.
#[derive(Debug, Group)]
#[command(
    after_help = "Examples:\n  tdb info weather\n  tdb info weather --json | jq '.fragments[].timestamps'"
)]
pub(crate) struct InfoArgs {
    /// Folder of the array.
    array: PathBuf,
    #[command(flatten)]
    window: WindowArgs,
    #[command(flatten)]
    key: KeyArgs,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(args: &InfoArgs, stores: &Stores, out: &mut dyn Write) -> Result {
    let options = args.window.options(&args.key)?;
    let info = load(options, args, stores.storage(&args.array)?)
        .map_err(|error| Failure::of_array(&args.array, error))?;
    if args.json {
        writeln!(out, "{:#}", json::describe(&info))?;
    } else {
        text::write(&info, out)?;
    }
    Ok(())
}

fn load(options: OpenOptions, args: &InfoArgs, storage: Arc<dyn WriteStorage>) -> tdb_array::Result<Info> {
    let array = options.open_storage(storage)?;
    let metadata = array.metadata()?;
    let mut enumerations = Vec::new();
    for entry in &array.schema().enumerations {
        enumerations.extend(array.enumeration(&entry.name)?);
    }
    let window = (args.window.text(), args.window.timestamps());
    Ok(Info { array, metadata, enumerations, window })
}
