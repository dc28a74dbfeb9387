//! `tdb soma import` and `export` of folders of Zarr, as AnnData writes and reads them.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use tdb_anndata::{Error, Import};
use tdb_soma::{Imported, Target};
use tdb_zarr_files::{ExportOptions, Version};

use super::market::{ExportArgs, LAYER, NameArgs, ends_as};
use crate::count::count;
use crate::failure::{Failure, Result, one_line};
use crate::place::{Stores, location, shown};
use crate::progress::Unit;
use crate::thresholds::SOMA_THREAD_MEMORY;

/// Whether a folder is one of Zarr.
pub(super) fn is_source(folder: &Path) -> bool {
    ends_as(folder, &["zarr"]) || tdb_zarr_files::kind(folder).is_some()
}

/// Makes the experiment.
pub(super) fn import(
    target: &Target<'_>,
    source: &Path,
    names: &NameArgs,
    heard: &dyn Fn(u64, u64),
) -> Result<Imported, Error> {
    let how = Import { measurement: &names.measurement, layer: &names.layer };
    let made = tdb_anndata::import(target, source, &how, heard)?;
    let notes = made.notes.iter().map(|note| format!("{}: left out: {}", note.path, note.what)).collect();
    Ok(Imported { cells: made.cells, genes: made.genes, values: made.values, notes })
}

/// Whether a folder of Zarr is asked for.
pub(super) fn is_target(args: &ExportArgs) -> bool {
    args.zarr.is_some() || ends_as(&args.target, &["zarr"])
}

/// Writes the folder.
pub(super) fn export(
    args: &ExportArgs,
    target: &Path,
    stores: &Stores,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result {
    let only_there = [("--obs-id", &args.obs_id), ("--var-id", &args.var_id), ("--var-name", &args.var_name)];
    if let Some((option, _)) = only_there.into_iter().find(|(_, given)| given.is_some()) {
        let what = format!("{option} is for Matrix Market: AnnData has all columns");
        return Err(Failure::Usage(what));
    }
    let place = &args.experiment;
    // An experiment may be without the usual layer, and AnnData without X.
    let layer = Some(args.names.layer.as_str()).filter(|layer| *layer != LAYER);
    let version = if args.zarr == Some(3) { Version::V3 } else { Version::V2 };
    let most = std::thread::available_parallelism().map_or(1, core::num::NonZero::get);
    let threads = usize::try_from(args.memory.bytes() / SOMA_THREAD_MEMORY.bytes());
    let threads = threads.unwrap_or(usize::MAX).clamp(1, most);
    let meter = Arc::new(args.progress.bar("writing chunks", Unit::Parts, Some(0)));
    let heard = Arc::clone(&meter);
    let options = ExportOptions::new().version(version).threads(threads).memory(args.memory.bytes());
    let options = options.on_progress(move |done, all| heard.of(done, all));
    let names = (args.names.measurement.as_str(), layer);
    let open = args.window.options(&args.key)?.threads(threads);
    let exported =
        tdb_zarr_files::export_experiment(&stores.places(), location(place)?, names, open, target, &options);
    meter.clear();
    let exported = exported.map_err(|error| match error {
        tdb_zarr_files::Error::Array(error) => Failure::of_array(place, error),
        tdb_zarr_files::Error::Shown(error) => Failure::Failed(error.to_string()),
        tdb_zarr_files::Error::Exists { .. } => Failure::at(target, "there is something here already"),
        other => Failure::Failed(other.to_string()),
    })?;
    for note in &exported.notes {
        let colon = if note.path.is_empty() { "" } else { ": " };
        let note = format!("{}: {}{colon}{}", shown(place), note.path, note.what);
        // If standard error is closed, the folder is nevertheless as the note says.
        let _ = writeln!(err, "note: {}", one_line(&note));
    }
    let (arrays, chunks) = (count(exported.arrays, "array"), count(exported.chunks, "chunk"));
    let bytes = count(exported.bytes, "byte");
    writeln!(out, "{}: {arrays} with {chunks}, {bytes}", one_line(&shown(target)))?;
    Ok(())
}
