//! From an array or a group to a folder of Zarr.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use tdb_array::group::{ObjectType, object_type};
use tdb_zarr_files::{Error, ExportOptions, Exported, Version};

use super::ExportArgs;
use crate::count::count;
use crate::failure::{Failure, Result, one_line};
use crate::place::{Stores, is_url, location};
use crate::progress::Unit;
use crate::read::refuse;

/// Runs the command.
pub(super) fn run(args: &ExportArgs, stores: &Stores, out: &mut dyn Write, err: &mut dyn Write) -> Result {
    let ranges = &args.ranges;
    let not_there = [
        ("--fields", args.fields.is_some()),
        ("--subarray", ranges.subarray.is_some()),
        ("--range", !ranges.range.is_empty()),
        ("--points", !ranges.points.is_empty()),
        ("--where", args.condition.is_some()),
        ("--order", args.order.is_some()),
        ("--compression", args.compression.is_some()),
        ("--as-stored", args.as_stored),
        ("--memory", args.memory.is_some()),
    ];
    refuse(&not_there, "a Zarr folder, which has all of an array as it is")?;
    if is_url(&args.file) || args.file == Path::new("-") {
        return Err(Failure::Usage(format!(
            "{}: Zarr is written to local folders only",
            args.file.display()
        )));
    }
    let exported = args.export_zarr(stores)?;
    for note in &exported.notes {
        let path = if note.path.is_empty() { String::new() } else { format!("{}: ", note.path) };
        let note = format!("{}: {path}{}", args.array.display(), note.what);
        // If standard error is closed, the folder is nevertheless as the note says.
        let _ = writeln!(err, "note: {}", one_line(&note));
    }
    let (arrays, chunks) = (count(exported.arrays, "array"), count(exported.chunks, "chunk"));
    writeln!(out, "{arrays} with {chunks} written, {}", count(exported.bytes, "byte"))?;
    Ok(())
}

impl ExportArgs {
    fn export_zarr(&self, stores: &Stores) -> Result<Exported> {
        let version = if self.zarr == Some(2) { Version::V2 } else { Version::V3 };
        let mut options = ExportOptions::new().version(version);
        let mut open = self.window.options(&self.key)?;
        if let Some(threads) = self.threads {
            options = options.threads(usize::from(threads.get()));
            open = open.threads(usize::from(threads.get()));
        }
        if self.force {
            options = options.replace();
        }
        let meter = Arc::new(self.progress.bar("writing chunks", Unit::Parts, Some(0)));
        let shown = Arc::clone(&meter);
        let options = options.on_progress(move |done, all| shown.of(done, all));
        let storage = stores.storage(&self.array)?;
        let is_group = object_type(&*storage).is_ok_and(|found| found == ObjectType::Group);
        let exported = if is_group {
            let location = location(&self.array)?;
            tdb_zarr_files::export_group(&stores.places(), location, open, &self.file, &options)
        } else {
            let array = open.open_storage(storage).map_err(|error| Failure::of_array(&self.array, error))?;
            tdb_zarr_files::export(&array, &self.file, &options)
        };
        meter.clear();
        exported.map_err(|error| match error {
            Error::Array(error) => Failure::of_array(&self.array, error),
            Error::Shown(error) => Failure::at(&self.array, error),
            Error::Exists { .. } => {
                Failure::at(&self.file, "there is something here already; --force replaces a Zarr folder")
            }
            other => Failure::Failed(other.to_string()),
        })
    }
}
