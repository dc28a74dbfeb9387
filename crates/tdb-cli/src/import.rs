//! `tdb import`: imports cells from files of other formats.

mod args;
#[cfg(feature = "convert")]
mod batches;
mod chunks;
mod convert;
mod csv;
mod dates;
mod duplicates;
mod encoding;
mod enumerations;
mod existing;
mod format;
mod grow;
mod infer;
mod input;
mod json;
mod ndjson;
mod nearly;
mod new;
mod notation;
mod npy;
mod report;
#[cfg(feature = "sql")]
mod result;
mod rows;
mod same_coordinates;
mod sorter;
mod source;
mod sources;
mod survey;
mod table;
mod tables;
mod target;
mod text;
mod text_args;
mod write;
mod zarr;
mod zones;

use std::io::Write;

use tdb_array::write::is_vacant;

pub(crate) use self::args::ImportArgs;
#[cfg(feature = "sql")]
pub(crate) use self::result::{Copied, ResultFile, ResultImport};
pub(crate) use self::text::contents;
use crate::failure::Result;
use crate::place::Stores;

/// Runs the command.
pub(crate) fn run(args: &ImportArgs, stores: &Stores, out: &mut dyn Write, err: &mut dyn Write) -> Result {
    args.find_files(stores)?;
    if args.has_batches() {
        return args.import_batches(stores, out, err);
    }
    if args.is_zarr() {
        return zarr::run(args, stores, out, err);
    }
    let source = args.source(stores)?;
    let storage = stores.storage(&args.array)?;
    if args.force || is_vacant(&storage).unwrap_or(false) {
        new::create(args, &source, storage, out, err)
    } else {
        existing::append(args, &source, &storage, out)
    }
}

impl ImportArgs {
    #[cfg(feature = "convert")]
    fn import_batches(&self, stores: &Stores, out: &mut dyn Write, err: &mut dyn Write) -> Result {
        batches::run(self, stores, out, err)
    }

    #[cfg(not(feature = "convert"))]
    fn import_batches(&self, _: &Stores, _: &mut dyn Write, _: &mut dyn Write) -> Result {
        Err(self.wrong(crate::features::NO_CONVERT))
    }
}
