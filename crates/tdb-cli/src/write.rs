//! `tdb write`: writes cells from plain little-endian buffers.

mod manifest;

use std::io::Write;
use std::path::PathBuf;

use clap::Args as Group;
use serde_json::json;
use tdb_array::schema::ArrayType;
use tdb_array::{ArrayWriter, Layout};

use self::manifest::Manifest;
use crate::args::ChangeArgs;
use crate::failure::{Failure, Result};
use crate::place::{Stores, shown};
use crate::progress::ProgressArgs;

/// Write the cells from a folder that tdb read --format raw has created.
///
/// A write creates one fragment: either all of its cells take effect, or none. A dense write covers
/// the box given in the folder's manifest; buffers of coordinates in the folder are ignored.
#[derive(Debug, Group)]
#[command(after_help = "\
The folder must contain a manifest.json as tdb read writes it, and little-endian buffers: for each field its values, for fields of \
variable length also the byte offset of each cell (64 bits), for nullable ones also one byte per cell, 0 for null.

Examples:
  tdb read weather --format raw --out buffers
  tdb write copy buffers")]
pub(crate) struct WriteArgs {
    /// Folder of the array.
    pub(crate) array: PathBuf,
    /// Folder with the buffers.
    folder: PathBuf,
    /// Print one JSON object: the array, the number of cells, and the fragment (null if there are
    /// no cells).
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    progress: ProgressArgs,
    #[command(flatten)]
    change: ChangeArgs,
}

/// Runs the command.
pub(crate) fn run(args: &WriteArgs, stores: &Stores, out: &mut dyn Write) -> Result {
    let failed = |error| Failure::of_array(&args.array, error);
    let writer = args.change.options()?.open_storage(stores.storage(&args.array)?).map_err(failed)?;
    let manifest = Manifest::read(&args.folder, writer.schema())?;
    let meter = args.progress.wait("writing");
    let name = match manifest.cells {
        0 => None,
        _ => Some(write(&writer, &manifest).map_err(failed)?),
    };
    meter.clear();
    if args.json {
        let array = shown(&args.array);
        writeln!(out, "{:#}", json!({"array": array, "cells": manifest.cells, "fragment": name}))?;
    } else {
        writeln!(out, "{}", name.as_deref().unwrap_or("there are no cells to write"))?;
    }
    Ok(())
}

fn write(writer: &ArrayWriter, manifest: &Manifest) -> tdb_array::Result<String> {
    let schema = writer.schema();
    let mut write = writer.write();
    for buffers in &manifest.fields {
        write = write.column(buffers.column());
    }
    if schema.array_type == ArrayType::Dense {
        write = write.order(manifest.order);
        for (dimension, range) in schema.domain.dimensions.iter().zip(&manifest.subarray) {
            if let Some(range) = range {
                write = write.range_bytes(&dimension.name, Some(range.low.clone()), Some(range.high.clone()));
            }
        }
    } else if manifest.order == Layout::GlobalOrder {
        write = write.order(Layout::GlobalOrder);
    }
    write.commit()
}
