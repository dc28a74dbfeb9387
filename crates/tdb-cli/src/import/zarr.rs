//! A folder of Zarr: it becomes a new array, or a group of new arrays.

use std::io::{self, Write};
use std::sync::Arc;

use serde_json::{Map, Value};
use tdb_array::storage::WriteStorage;
use tdb_zarr_files::{Error, ImportOptions};

use super::args::ImportArgs;
use super::format::FileFormat;
use super::report::Report;
use crate::count::count;
use crate::failure::{Failure, Result};
use crate::place::{Stores, is_url};
use crate::progress::Unit;
use crate::thresholds::IMPORT_MEMORY;

/// Runs the command.
pub(super) fn run(args: &ImportArgs, stores: &Stores, out: &mut dyn Write, err: &mut dyn Write) -> Result {
    args.refuse_what_is_for_text(FileFormat::Zarr)?;
    args.refuse_what_is_not_for_zarr()?;
    let [folder] = args.files() else {
        return Err(Failure::Usage("Zarr folders are imported one at a time".to_owned()));
    };
    if is_url(folder) {
        return Err(args.usage("Zarr is read from local folders only"));
    }
    let failed = |error| args.zarr_failed(error);
    let mut options = ImportOptions::new().memory(args.memory.unwrap_or(IMPORT_MEMORY).bytes());
    if args.dry_run {
        let schemas = tdb_zarr_files::schemas(folder, &options).map_err(failed)?;
        let schemas =
            schemas.into_iter().map(|(path, schema)| (path, tdb_text::schema::to_json(&schema, &[])));
        let mut schemas: Map<String, Value> = schemas.collect();
        // That of an array alone has no path.
        let shown = schemas.remove("").unwrap_or(Value::Object(schemas));
        writeln!(out, "{shown:#}")?;
        return Ok(());
    }
    let write = args.change.options()?;
    // What is wrong in the folder is found before the array that is there is removed.
    options = options.write(if args.force { write.replace() } else { write });
    let meter = Arc::new(args.progress.bar("writing cells", Unit::Cells, Some(0)));
    let shown = Arc::clone(&meter);
    let options = options.on_progress(move |done, all| shown.of(done, all));
    let place = |path: &str| -> io::Result<Arc<dyn WriteStorage>> {
        let place = if path.is_empty() { args.array.clone() } else { args.array.join(path) };
        stores.storage(&place).map_err(|failure| io::Error::other(failure.text().to_owned()))
    };
    let imported = tdb_zarr_files::import(folder, &place, &options);
    meter.clear();
    let imported = imported.map_err(failed)?;
    for note in &imported.notes {
        let path = if note.path.is_empty() { String::new() } else { format!("{}: ", note.path) };
        // If standard error is closed, the array is nevertheless as the note says.
        let _ = writeln!(err, "{}", args.note(&format!("{path}{}", note.what)));
    }
    if imported.groups > 0 && !args.json {
        writeln!(out, "{} and {} made", count(imported.groups, "group"), count(imported.arrays, "array"))?;
    }
    Report { is_new: true, cells: imported.cells, ..Report::default() }.print(args, out)
}

impl ImportArgs {
    /// Returns an error for an option that Zarr has no use for.
    fn refuse_what_is_not_for_zarr(&self) -> Result {
        let options = [
            ("--dims", self.dims.is_some()),
            ("--domain", !self.domain.is_empty()),
            ("--types", !self.types.is_empty()),
            ("--dense", self.dense),
            ("--compress", self.compress.is_some()),
            ("--duplicates", self.duplicates.is_some()),
            ("--allow-duplicates", self.allow_duplicates),
            ("--codes", self.codes),
            ("--extend-enumerations", self.extend_enumerations),
            ("--overwrite", self.overwrite),
        ];
        match options.into_iter().find(|(_, given)| *given) {
            Some((option, _)) => Err(self.usage(format!("{option} is not for Zarr"))),
            None => Ok(()),
        }
    }

    fn zarr_failed(&self, error: Error) -> Failure {
        match error {
            Error::Array(error) => Failure::of_array(&self.array, error),
            Error::Exists { .. } => Failure::at(
                &self.array,
                "there is something here already, and a Zarr group becomes a new one: tdb rm --recursive removes what is there",
            ),
            other => Failure::Failed(other.to_string()),
        }
    }
}
