//! `tdb soma import` and `export`: folders of Matrix Market, as Cell Ranger writes them.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufRead, BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::{Args as Group, value_parser};
use tdb_array::MemoryBudget;
use tdb_array::group::{ObjectType, object_type};
use tdb_soma::{Export, Imported, Target, TenX, TenXFiles};

use super::anndata;
use super::folder::NewFolder;
use crate::args::{ChangeArgs, KeyArgs, WindowArgs};
use crate::count::count;
use crate::failure::{Failure, Result, one_line};
use crate::import::contents;
use crate::place::{Stores, local, shown};
use crate::progress::{ProgressArgs, Unit};
use crate::thresholds::SOMA_MEMORY;

/// The usual layer.
pub(super) const LAYER: &str = "data";

/// Make an experiment of a folder of Matrix Market, as Cell Ranger writes it, or of Zarr, as
/// AnnData does.
///
/// The folder has matrix.mtx, barcodes.tsv, and features.tsv or genes.tsv, each also with .gz; or
/// it is one that write_zarr of AnnData wrote. The experiment is that which tdb.soma.from_10x or
/// tdb.soma.from_anndata makes in Python: it is there whole, or not at all.
#[derive(Debug, Group)]
#[command(after_help = "\
Names of cells and genes are in memory, matrices are read in parts. What of uns SOMA does not keep is named in a note. h5ad files, and .h5 files of Cell Ranger, are read by the Python \
package: python -m tdb.soma import cells.h5ad cells.soma

Examples:
  tdb soma import filtered_feature_bc_matrix cells.soma
  tdb soma import cells.zarr cells.soma --layer counts
  tdb soma import filtered_feature_bc_matrix s3://bucket/cells.soma --memory 2GiB")]
pub(super) struct ImportArgs {
    /// The folder with the files.
    source: PathBuf,
    /// Where the experiment will be.
    experiment: PathBuf,
    #[command(flatten)]
    names: NameArgs,
    /// Use this much memory beside the names, e.g. 2GiB.
    #[arg(long, value_name = "SIZE", default_value_t = SOMA_MEMORY)]
    memory: MemoryBudget,
    #[command(flatten)]
    change: ChangeArgs,
    #[command(flatten)]
    progress: ProgressArgs,
}

/// Write a layer of an experiment as a folder of Matrix Market, as Cell Ranger does, or a
/// measurement as one of Zarr, as AnnData reads it.
///
/// The folder gets matrix.mtx.gz, barcodes.tsv.gz and features.tsv.gz. If its name ends with .zarr,
/// it gets what anndata.read_zarr reads: obs, var, and all matrices of the measurement. It is there
/// whole, or not at all. Cells and genes are in the order of their ids.
#[derive(Debug, Group)]
#[command(after_help = "\
h5ad files are written by the Python package: python -m tdb.soma export cells.soma cells.h5ad

Examples:
  tdb soma export cells.soma matrix
  tdb soma export cells.soma cells.zarr
  tdb soma export cells.soma matrix --measurement RNA --layer raw --var-name symbol")]
pub(super) struct ExportArgs {
    /// Folder of the experiment.
    pub(super) experiment: PathBuf,
    /// The folder that is made.
    pub(super) target: PathBuf,
    #[command(flatten)]
    pub(super) names: NameArgs,
    /// The column of obs with the barcodes. Default: what was the index of the table.
    #[arg(long, value_name = "COLUMN")]
    pub(super) obs_id: Option<String>,
    /// The column of var with the ids of genes. Default: what was the index of the table.
    #[arg(long, value_name = "COLUMN")]
    pub(super) var_id: Option<String>,
    /// The column of var with the names of genes. Default: gene_names, or the ids.
    #[arg(long, value_name = "COLUMN")]
    pub(super) var_name: Option<String>,
    /// Write a folder of Zarr of this version. Default: 2 if the folder's name ends with .zarr.
    #[arg(long, value_name = "2|3", value_parser = value_parser!(u8).range(2..=3))]
    pub(super) zarr: Option<u8>,
    /// Use this much memory beside the names, e.g. 2GiB.
    #[arg(long, value_name = "SIZE", default_value_t = SOMA_MEMORY)]
    pub(super) memory: MemoryBudget,
    #[command(flatten)]
    pub(super) window: WindowArgs,
    #[command(flatten)]
    pub(super) key: KeyArgs,
    #[command(flatten)]
    pub(super) progress: ProgressArgs,
}

/// What a matrix is called in an experiment.
#[derive(Debug, Group)]
pub(super) struct NameArgs {
    /// The measurement.
    #[arg(long, value_name = "NAME", default_value = "RNA")]
    pub(super) measurement: String,
    /// The layer of X; of AnnData, the one that is X there.
    #[arg(long, value_name = "NAME", default_value = LAYER)]
    pub(super) layer: String,
}

impl NameArgs {
    /// The options that are not the usual ones, as the Python package takes them.
    fn words(&self) -> String {
        let mut words = String::new();
        for (option, value, usual) in
            [("--measurement", &self.measurement, "RNA"), ("--layer", &self.layer, LAYER)]
        {
            if value != usual {
                words.push_str(&format!(" {option} {}", quoted(value)));
            }
        }
        words
    }
}

/// Runs `tdb soma import`.
pub(super) fn import(args: &ImportArgs, stores: &Stores, out: &mut dyn Write, err: &mut dyn Write) -> Result {
    let (source, place) = (&args.source, &args.experiment);
    if ends_as(source, &["h5ad", "h5"]) {
        let words = [source, place].map(|path| quoted(&path.to_string_lossy())).join(" ");
        return Err(Failure::Usage(format!(
            "{}: HDF5 is read by the Python package: python -m tdb.soma import {words}{}",
            source.display(),
            args.names.words()
        )));
    }
    let Some(source) = local(source) else {
        return Err(Failure::Usage(format!("{}: the folder must be on the local disk", shown(source))));
    };
    let files = if anndata::is_source(source) { None } else { Some(files(source)?) };
    let is_there = match object_type(&stores.storage(place)?) {
        Ok(object) => object != ObjectType::Invalid || local(place).is_some(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => false,
        Err(error) => return Err(Failure::at(place, error)),
    };
    if is_there {
        let what = "there is something here already; tdb.soma.append in Python adds cells to an experiment";
        return Err(Failure::at(place, what));
    }
    // A store renames nothing: there the experiment's own group comes last.
    let folder = local(place).map(NewFolder::beside).transpose()?;
    let root = folder.as_ref().map_or(place.as_path(), NewFolder::path);
    // The error of a place, which has more to say than this crate's.
    let failed: Cell<Option<Failure>> = Cell::new(None);
    let storage = |path: &str| {
        let below = if path.is_empty() { root.to_owned() } else { root.join(path) };
        stores.storage(&below).map_err(|failure| {
            let (location, why) = (shown(&below), failure.text().to_owned());
            failed.set(Some(failure));
            tdb_soma::Error::NotAnObject { location, why }
        })
    };
    let memory = usize::try_from(args.memory.bytes()).unwrap_or(usize::MAX);
    let target =
        Target { storage: &storage, options: args.change.options()?, key: args.change.key.key()?, memory };
    let meter = args.progress.bar("importing", Unit::Cells, Some(0));
    let heard = |done, total| meter.of(done, total);
    let NameArgs { measurement, layer } = &args.names;
    let imported = match files {
        Some(files) => tdb_soma::import(&target, files, measurement, layer, &heard).map_err(Into::into),
        None => anndata::import(&target, source, &args.names, &heard),
    };
    let Imported { cells, genes, values, notes } =
        imported.map_err(|error: tdb_anndata::Error| match (failed.take(), error) {
            (Some(failure), _) => failure,
            (None, tdb_anndata::Error::Soma(error @ tdb_soma::Error::Input { .. })) => {
                Failure::at(source, error)
            }
            (None, tdb_anndata::Error::Soma(error)) => super::failure(place, error),
            (None, error) => Failure::Failed(error.to_string()),
        })?;
    if let Some(folder) = folder {
        folder.finish()?;
    }
    for note in notes {
        // If standard error is closed, the experiment is nevertheless as the note says.
        let _ = writeln!(err, "note: {}: {}", one_line(&shown(source)), one_line(&note));
    }
    let sizes = format!("{}, {}, {}", count(cells, "cell"), count(genes, "gene"), count(values, "value"));
    writeln!(out, "experiment {}: {sizes}", one_line(&shown(place)))?;
    Ok(())
}

/// Runs `tdb soma export`.
pub(super) fn export(args: &ExportArgs, stores: &Stores, out: &mut dyn Write, err: &mut dyn Write) -> Result {
    let (place, target) = (&args.experiment, &args.target);
    if ends_as(target, &["h5ad", "h5"]) {
        let words = [place, target].map(|path| quoted(&path.to_string_lossy())).join(" ");
        return Err(Failure::Usage(format!(
            "{}: HDF5 is written by the Python package: python -m tdb.soma export {words}{}",
            target.display(),
            args.names.words()
        )));
    }
    let Some(target) = local(target) else {
        return Err(Failure::Usage(format!("{}: the folder must be on the local disk", shown(target))));
    };
    if anndata::is_target(args) {
        return anndata::export(args, target, stores, out, err);
    }
    let experiment = super::open(place, &args.window.options(&args.key)?, stores)?;
    let folder = NewFolder::beside(target)?;
    let made = |name: &str| Compressed::new(folder.path(), name).map_err(|error| Failure::at(target, error));
    let (mut matrix, mut barcodes, mut features) =
        (made("matrix.mtx")?, made("barcodes.tsv")?, made("features.tsv")?);
    let how = Export {
        measurement: &args.names.measurement,
        layer: &args.names.layer,
        obs_id: args.obs_id.as_deref(),
        var_id: args.var_id.as_deref(),
        var_name: args.var_name.as_deref(),
        memory: args.memory,
    };
    let mut files = TenXFiles { matrix: &mut matrix, barcodes: &mut barcodes, features: &mut features };
    let meter = args.progress.bar("exporting", Unit::Cells, Some(0));
    let exported = tdb_soma::export(&experiment, &how, &mut files, &|done, total| meter.of(done, total));
    let Imported { cells, genes, values, .. } = exported.map_err(|error| match error {
        error @ tdb_soma::Error::Input { .. } => Failure::at(place, error),
        error @ tdb_soma::Error::Output(_) => Failure::at(target, error),
        error => super::failure(place, error),
    })?;
    for file in [matrix, barcodes, features] {
        file.finish().map_err(|error| Failure::at(target, error))?;
    }
    folder.finish()?;
    let sizes = format!("{}, {}, {}", count(cells, "cell"), count(genes, "gene"), count(values, "value"));
    writeln!(out, "{}: {sizes}", one_line(&shown(target)))?;
    Ok(())
}

pub(super) fn ends_as(path: &Path, endings: &[&str]) -> bool {
    path.extension().is_some_and(|own| endings.iter().any(|ending| own.eq_ignore_ascii_case(ending)))
}

/// A word of a shell's command line.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:@%+=".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// What a folder of Cell Ranger has.
fn files(folder: &Path) -> Result<TenX> {
    let found = |names: &[&str]| found(folder, names);
    let (matrix, barcodes) = (found(&["matrix.mtx"])?, found(&["barcodes.tsv"])?);
    let features = found(&["features.tsv", "genes.tsv"])?;
    Ok(TenX { matrix: opened(&matrix)?, barcodes: opened(&barcodes)?, features: opened(&features)? })
}

/// The first of these files that the folder has.
fn found(folder: &Path, names: &[&str]) -> Result<PathBuf> {
    if !folder.is_dir() {
        let why = if folder.exists() { "this is no folder" } else { "there is no such folder" };
        let what = format!(
            "{why}; a folder with matrix.mtx, barcodes.tsv and features.tsv is expected, each also with .gz"
        );
        return Err(Failure::at(folder, what));
    }
    for name in names {
        for file in [folder.join(name), folder.join(format!("{name}.gz"))] {
            if file.is_file() {
                return Ok(file);
            }
        }
    }
    Err(Failure::at(folder, format!("there is no {} (also not with .gz)", names.join(" or "))))
}

fn opened(file: &Path) -> Result<Box<dyn BufRead>> {
    let contents = File::open(file).and_then(contents);
    Ok(contents.map_err(|error| Failure::at(file, error))?)
}

/// A file that is compressed while it is written, if this build can do that.
struct Compressed {
    #[cfg(feature = "gzip")]
    out: flate2::write::GzEncoder<BufWriter<File>>,
    #[cfg(not(feature = "gzip"))]
    out: BufWriter<File>,
}

impl Compressed {
    #[cfg(feature = "gzip")]
    fn new(folder: &Path, name: &str) -> io::Result<Self> {
        let file = BufWriter::new(File::create(folder.join(format!("{name}.gz")))?);
        Ok(Self { out: flate2::write::GzEncoder::new(file, flate2::Compression::default()) })
    }

    #[cfg(not(feature = "gzip"))]
    fn new(folder: &Path, name: &str) -> io::Result<Self> {
        Ok(Self { out: BufWriter::new(File::create(folder.join(name))?) })
    }

    fn finish(self) -> io::Result<()> {
        #[cfg(feature = "gzip")]
        let file = self.out.finish()?;
        #[cfg(not(feature = "gzip"))]
        let file = self.out;
        file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()
    }
}

impl Write for Compressed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_command_line_are_in_quotes_where_they_must_be() {
        assert_eq!(quoted("a/b-c_1.h5ad"), "a/b-c_1.h5ad");
        assert_eq!(quoted("my cells"), "'my cells'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }
}
