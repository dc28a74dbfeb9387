//! `tdb info`: shows the properties of an array.

pub(crate) mod json;
mod text;

use std::io::Write;
use std::sync::Arc;

use tdb_array::{Array, OpenOptions, WriteStorage};
use tdb_schema::{ArrayMetadata, Enumeration};

use crate::args::InfoArgs;
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
