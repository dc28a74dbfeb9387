//! `tdb soma`: experiments of single cells.

mod anndata;
mod describe;
mod folder;
mod info;
mod market;
mod verify;

use std::io::Write;
use std::path::Path;

use clap::{Args as Group, Subcommand};
use tdb_array::OpenOptions;
use tdb_array::group::object_type;
use tdb_soma::{Error, Object};

use crate::failure::{Failure, Result};
use crate::place::Stores;
use crate::screen::Screen;
use crate::suggest::hint_of_place;

/// Show, check and make experiments of single cells: SOMA, as tiledbsoma and tdb.soma write it.
#[derive(Debug, Group)]
#[command(after_help = "\
h5ad files and .h5 files of Cell Ranger are read and written by the Python package: python -m tdb.soma import cells.h5ad cells.soma, and \
python -m tdb.soma export cells.soma cells.h5ad.

Examples:
  tdb soma info cells.soma
  tdb soma info cells.soma/ms/RNA/X/data --json
  tdb soma verify cells.soma --deep
  tdb soma import filtered_feature_bc_matrix cells.soma
  tdb soma import cells.zarr cells.soma
  tdb soma export cells.soma matrix
  tdb soma export cells.soma cells.zarr")]
pub(crate) struct SomaArgs {
    #[command(subcommand)]
    command: SomaCommand,
}

#[derive(Debug, Subcommand)]
enum SomaCommand {
    Info(info::InfoArgs),
    Verify(verify::VerifyArgs),
    Import(market::ImportArgs),
    Export(market::ExportArgs),
}

impl SomaArgs {
    /// Whether nothing is checked or changed.
    pub(crate) const fn only_shows(&self) -> bool {
        matches!(self.command, SomaCommand::Info(_) | SomaCommand::Export(_))
    }
}

/// Runs the command.
pub(crate) fn run(
    args: &SomaArgs,
    stores: &Stores,
    screen: Option<Screen>,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result {
    match &args.command {
        SomaCommand::Info(args) => info::run(args, stores, screen, out),
        SomaCommand::Verify(args) => verify::run(args, stores, out),
        SomaCommand::Import(args) => market::import(args, stores, out, err),
        SomaCommand::Export(args) => market::export(args, stores, out, err),
    }
}

/// Opens what is at a place, and everything below it.
fn open(place: &Path, options: &OpenOptions, stores: &Stores) -> Result<Object> {
    let Some(location) = place.to_str() else {
        return Err(Failure::at(place, "the path is not valid UTF-8, which the URIs of groups must be"));
    };
    let location = location.strip_prefix("file://").unwrap_or(location);
    if let Err(error) = object_type(&stores.storage(place)?) {
        let hint =
            if error.kind() == std::io::ErrorKind::NotFound { hint_of_place(place) } else { String::new() };
        return Err(Failure::at(place, format!("{error}{hint}")));
    }
    Object::open(options, &stores.places(), location).map_err(|error| failure(place, error))
}

fn failure(place: &Path, error: Error) -> Failure {
    match error {
        Error::Array(error) => Failure::of_array(place, error),
        other => Failure::Failed(other.to_string()),
    }
}

/// The name of an object in messages: the names on the way to it.
fn named<'a>(object: &str, path: &'a str) -> std::borrow::Cow<'a, str> {
    if path.is_empty() { object.to_owned().into() } else { path.into() }
}
