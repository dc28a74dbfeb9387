//! A folder of AnnData as an experiment.

use std::path::Path;

use tdb_array::group::ObjectType;
use tdb_array::write::MetadataChanges;
use tdb_soma::{Build, Kind, Target, folder_of};
use tdb_zarr_files::{Opened, Reader};

use crate::encoding::{Encoding, encoding};
use crate::error::Result;
use crate::frame::Frame;
use crate::matrix::Matrix;
use crate::note::Note;
use crate::thresholds::CHUNK_DIVISOR;
use crate::uns::Uns;

/// The measurement that has what AnnData has as `raw`.
const RAW: &str = "raw";
/// The groups of further matrices, and how many columns those have: as many as there are cells or
/// genes, or any number.
const GROUPS: [(&str, Axis, Option<Axis>); 4] = [
    ("obsm", Axis::Obs, None),
    ("varm", Axis::Var, None),
    ("obsp", Axis::Obs, Some(Axis::Obs)),
    ("varp", Axis::Var, Some(Axis::Var)),
];
/// What a folder has.
const MEMBERS: [&str; 10] = ["X", "obs", "var", "layers", "obsm", "varm", "obsp", "varp", "uns", RAW];

/// An axis of matrices.
#[derive(Clone, Copy, Debug)]
enum Axis {
    Obs,
    Var,
}

/// How a folder becomes an experiment.
#[derive(Clone, Copy, Debug)]
pub struct Import<'a> {
    /// The name of the measurement.
    pub measurement: &'a str,
    /// The name of the layer that X becomes.
    pub layer: &'a str,
}

/// What was imported.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Imported {
    /// The number of cells.
    pub cells: u64,
    /// The number of genes.
    pub genes: u64,
    /// The number of values of all layers.
    pub values: u64,
    /// What was left out.
    pub notes: Vec<Note>,
}

/// Everything that is imported.
struct Source<'a> {
    reader: &'a Reader,
    obs: Frame,
    var: Frame,
    /// By the names of layers.
    layers: Vec<(String, Matrix)>,
    groups: Vec<(&'static str, Vec<(String, Matrix)>)>,
    uns: Option<Uns>,
    raw: Option<(Matrix, Frame)>,
    notes: Vec<Note>,
}

/// What is told how far an import is.
struct Progress<'a> {
    heard: &'a dyn Fn(u64, u64),
    done: u64,
    all: u64,
}

/// Makes an experiment of a folder of Zarr that AnnData wrote: with the objects, schemas and
/// metadata that `tdb.soma.from_anndata` makes of `anndata.read_zarr(folder)`.
///
/// All documents are read before anything is written. The experiment's own group comes last, and if
/// anything fails, what was made is removed. The names of cells and genes, categories, the ends of
/// rows, and arrays of `uns` are in memory; all else is read in parts. `heard` is told how many of
/// how many values are done.
///
/// # Errors
/// There is something at the place already. What is damaged, or not supported, by its path; names
/// of cells or genes that are there twice; two values at the same place; any error of writing.
pub fn import(
    target: &Target<'_>,
    folder: &Path,
    how: &Import<'_>,
    heard: &dyn Fn(u64, u64),
) -> Result<Imported> {
    let memory = u64::try_from(target.memory).unwrap_or(u64::MAX) / CHUNK_DIVISOR;
    let reader = Reader::new(folder, memory);
    let source = Source::open(&reader, how)?;
    let build = Build::new(target)?;
    source.write(&build, how, heard).inspect_err(|_| build.remove())
}

impl<'a> Source<'a> {
    fn open(reader: &'a Reader, how: &Import<'_>) -> Result<Self> {
        expect_group(reader, "", Encoding::AnnData)?;
        for name in reader.names("")? {
            if !MEMBERS.contains(&name.as_str()) && reader.open(&name)?.is_some() {
                return Err(reader.unsupported(&name, "this is no part of AnnData").into());
            }
        }
        let obs = Frame::open(reader, "obs", Some("obs_id"))?;
        let var = Frame::open(reader, "var", Some("var_id"))?;
        let size = |axis: Axis| match axis {
            Axis::Obs => obs.rows,
            Axis::Var => var.rows,
        };
        let mut layers = Vec::new();
        if let Some(matrix) = Matrix::open(reader, "X")? {
            layers.push((how.layer.to_owned(), matrix));
        }
        for (name, matrix) in matrices(reader, "layers")? {
            if layers.iter().any(|(other, _)| *other == name) {
                let what = format!("X becomes the layer {name:?}, too: give X another name");
                return Err(reader.unsupported(&format!("layers/{name}"), what).into());
            }
            layers.push((name, matrix));
        }
        for (_, matrix) in &layers {
            matrix.expect_shape(reader, obs.rows, Some(var.rows))?;
        }
        let mut groups = Vec::new();
        for (name, rows, columns) in GROUPS {
            let found = matrices(reader, name)?;
            for (_, matrix) in &found {
                matrix.expect_shape(reader, size(rows), columns.map(size))?;
            }
            groups.push((name, found));
        }
        let mut notes = Vec::new();
        let raw = Self::raw(reader, how, obs.rows, &mut notes)?;
        let uns = match expect_group(reader, "uns", Encoding::Dict)? {
            true => Some(Uns::open(reader, "uns", &mut notes, 0)?).filter(|uns| uns.has_any),
            false => None,
        };
        for (name, _) in layers.iter().chain(groups.iter().flat_map(|(_, own)| own)) {
            folder_of(name)?;
        }
        obs.expect_unique(reader)?;
        var.expect_unique(reader)?;
        Ok(Self { reader, obs, var, layers, groups, uns, raw, notes })
    }

    /// The matrix and the variables as they were.
    fn raw(
        reader: &Reader,
        how: &Import<'_>,
        rows: u64,
        notes: &mut Vec<Note>,
    ) -> Result<Option<(Matrix, Frame)>> {
        if !expect_group(reader, RAW, Encoding::Raw)? {
            return Ok(None);
        }
        if how.measurement == RAW {
            let what = "this becomes the measurement raw, too: call the measurement otherwise";
            return Err(reader.unsupported(RAW, what).into());
        }
        let var = Frame::open(reader, "raw/var", Some("var_id"))?;
        let matrix = Matrix::open(reader, "raw/X")?;
        let matrix = matrix.ok_or_else(|| reader.damaged("raw/X", "there is no matrix here"))?;
        matrix.expect_shape(reader, rows, Some(var.rows))?;
        for name in reader.names("raw/varm")? {
            let what = "matrices of raw are none of what SOMA keeps".to_owned();
            notes.push(Note { path: format!("raw/varm/{name}"), what });
        }
        Ok(Some((matrix, var)))
    }

    fn write(mut self, build: &Build<'_>, how: &Import<'_>, heard: &dyn Fn(u64, u64)) -> Result<Imported> {
        let (array, group) = (ObjectType::Array, ObjectType::Group);
        let all = self.layers.iter().chain(self.groups.iter().flat_map(|(_, own)| own));
        let all = all.map(|(_, matrix)| matrix).chain(self.raw.iter().map(|(matrix, _)| matrix));
        let all = all.fold(0u64, |all, matrix| all.saturating_add(matrix.size()));
        let mut progress = Progress { heard, done: 0, all };
        let reader = self.reader;
        self.obs.write(reader, build, "obs")?;

        let base = format!("ms/{}", folder_of(how.measurement)?);
        let values = write_layers(reader, build, &base, (&self.var, &self.layers), &mut progress)?;
        let mut members = vec![("var", array), ("X", group)];
        for (name, matrices) in self.groups.iter().filter(|(_, matrices)| !matrices.is_empty()) {
            write_matrices(reader, build, &format!("{base}/{name}"), matrices, &mut progress)?;
            members.push((name, group));
        }
        if let Some(uns) = &self.uns {
            uns.write(reader, build, &format!("{base}/uns"), &mut self.notes)?;
            members.push(("uns", group));
        }
        build.new_collection(&base, Kind::Measurement, &members, MetadataChanges::new())?;

        let mut measurements = vec![(how.measurement, group)];
        let genes = self.var.rows;
        if let Some((matrix, var)) = self.raw {
            let (base, layers) = (format!("ms/{RAW}"), [(how.layer.to_owned(), matrix)]);
            write_layers(reader, build, &base, (&var, &layers), &mut progress)?;
            let members = [("var", array), ("X", group)];
            build.new_collection(&base, Kind::Measurement, &members, MetadataChanges::new())?;
            measurements.push((RAW, group));
        }
        build.new_collection("ms", Kind::Collection, &measurements, MetadataChanges::new())?;
        let members = [("obs", array), ("ms", group)];
        build.new_collection("", Kind::Experiment, &members, MetadataChanges::new())?;
        Ok(Imported { cells: self.obs.rows, genes, values, notes: self.notes })
    }
}

/// Writes the variables and the layers of a measurement; returns the number of values.
fn write_layers(
    reader: &Reader,
    build: &Build<'_>,
    base: &str,
    (var, layers): (&Frame, &[(String, Matrix)]),
    progress: &mut Progress<'_>,
) -> Result<u64> {
    var.write(reader, build, &format!("{base}/var"))?;
    write_matrices(reader, build, &format!("{base}/X"), layers, progress)
}

/// Writes matrices as a collection; returns the number of their values.
fn write_matrices(
    reader: &Reader,
    build: &Build<'_>,
    path: &str,
    matrices: &[(String, Matrix)],
    progress: &mut Progress<'_>,
) -> Result<u64> {
    let mut values = 0u64;
    for (name, matrix) in matrices {
        let before = progress.done;
        let heard = |done: u64| (progress.heard)(before.saturating_add(done), progress.all);
        let below = format!("{path}/{}", folder_of(name)?);
        values = values.saturating_add(matrix.write(reader, build, &below, &heard)?);
        progress.done = before.saturating_add(matrix.size());
    }
    let members: Vec<(&str, ObjectType)> =
        matrices.iter().map(|(name, _)| (name.as_str(), ObjectType::Array)).collect();
    build.new_collection(path, Kind::Collection, &members, MetadataChanges::new())?;
    Ok(values)
}

/// Whether there is a group at a path, which is what it should be.
fn expect_group(reader: &Reader, path: &str, kind: Encoding) -> Result<bool> {
    let attributes = match reader.open(path)? {
        None if path.is_empty() => return Err(reader.damaged(path, "there is no group of Zarr here").into()),
        None => return Ok(false),
        Some(Opened::Group(attributes)) => attributes,
        // What is not there is nothing, since AnnData 0.12.
        Some(Opened::Array(array)) if encoding(array.attributes()) == Ok(Encoding::Null) => return Ok(false),
        Some(Opened::Array(_)) => {
            return Err(reader.unsupported(path, "this is an array, and a group is expected").into());
        }
    };
    match encoding(&attributes).map_err(|what| reader.unsupported(path, what))? {
        found if found == kind || found == Encoding::Unsaid => Ok(true),
        _ => Err(reader.unsupported(path, "this is encoded as something else").into()),
    }
}

/// The matrices in a group, by their names.
fn matrices(reader: &Reader, path: &str) -> Result<Vec<(String, Matrix)>> {
    let mut found = Vec::new();
    if expect_group(reader, path, Encoding::Dict)? {
        for name in reader.names(path)? {
            if let Some(matrix) = Matrix::open(reader, &format!("{path}/{name}"))? {
                found.push((name, matrix));
            }
        }
    }
    Ok(found)
}
