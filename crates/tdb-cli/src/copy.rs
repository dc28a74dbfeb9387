//! `tdb copy`: writes an array again.

pub(crate) mod boxes;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args as Group;
use serde_json::json;
use tdb_array::{
    Array, ArraySchema, ArrayType, ArrayWriter, Cells, Column, Error, FragmentWriter, Layout, MemoryBudget,
    MetadataChanges, NewArray, QueryError, SparseStream, WriteColumn, WriteError, WriteOptions, WriteStorage,
};
use tdb_codec::{CellValNum, FormatVersion, Gate, to_u64, to_usize};
use tdb_filters::Pipeline;
use tdb_schema::{MetadataValue, OLD_ANONYMOUS};
use tdb_text::schema::{filters_help, pipeline_of_text};
use tdb_text::suggest::hint;

use self::boxes::DenseBox;
use crate::args::{ChangeArgs, KeyArgs, RangeArgs, WindowArgs};
use crate::create::parse_version;
use crate::failure::{Failure, Result};
use crate::notes;
use crate::place::{Stores, shown};
use crate::progress::{Meter, ProgressArgs, Unit};
use crate::ranges::{self, QueryRanges};

/// The default memory of a copy.
const MEMORY: MemoryBudget = MemoryBudget::from_bytes(1 << 30);

/// What follows the options in the help.
const HELP: &str = "\
Filters are written as tdb info shows them: 'byteshuffle, zstd(level 9)', or none; tdb copy --help lists all of them. With FIELD= before them they apply to one \
attribute or dimension (or to offsets or validity), without to all attributes and dimensions. Ranges are written as for tdb read.

A dense array that does not fit the memory becomes several fragments. The new array exists only once it is complete: if a copy \
fails, there is no array, and what a killed one leaves is replaced by the next one.

Examples:
  tdb copy weather small --filters 'zstd(level 19)' --filters 'temperature=byteshuffle, zstd(level 19)'
  tdb copy weather june --at 2020-07-01 --range 'time=2020-06-01..2020-06-30'
  tdb copy weather open --source-key-file key";

/// Copy an array: with other filters, in another format version, its state at a time, or a part of
/// it.
///
/// The copy has the schema, the cells, the dimension labels and the metadata of the array at that
/// time; its history starts from scratch. Fragments, deletes and overlaps become plain cells.
/// Memory is bounded whatever the size of the array.
#[derive(Debug, Group)]
#[command(after_help = HELP, after_long_help = format!("{}\n\n{HELP}", filters_help()))]
pub(crate) struct CopyArgs {
    /// Folder of the array.
    source: PathBuf,
    /// Folder of the new array, which is created.
    target: PathBuf,
    /// Filters of one field, or of all fields.
    #[arg(long, value_name = "[FIELD=]FILTERS")]
    filters: Vec<String>,
    #[command(flatten)]
    ranges: RangeArgs,
    #[command(flatten)]
    window: WindowArgs,
    /// Format version of the copy. Default: the version that libtiledb writes today.
    #[arg(long, value_name = "N", value_parser = parse_version)]
    version: Option<FormatVersion>,
    /// Make the copy in place of the array that is there, which is removed when the copy is begun.
    #[arg(long)]
    force: bool,
    /// Keep the memory of the cells that are being copied below this, e.g. 2GiB or 500MB. Default:
    /// 1 GiB.
    #[arg(long, value_name = "SIZE")]
    memory: Option<MemoryBudget>,
    /// File with the key of the array, if it is encrypted; --key-file is the key of the copy.
    #[arg(long, value_name = "FILE")]
    source_key_file: Option<PathBuf>,
    /// Print one JSON object: source, target, and the number of cells.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    progress: ProgressArgs,
    #[command(flatten)]
    change: ChangeArgs,
}

/// The failure to open the array that is to be copied; of an encrypted one without its key, it says
/// which option takes that.
fn unopened(source: &Path, error: Error) -> Failure {
    let without_key = tdb_tile::ErrorKind::Encrypted.to_string();
    let lacks_key = matches!(&error, Error::Unsupported { what, .. } if what.ends_with(&without_key));
    match Failure::of_array(source, error) {
        Failure::Failed(line) if lacks_key => Failure::Failed(format!(
            "{line}; give it with --source-key-file (--key-file is the key of the copy)"
        )),
        other => other,
    }
}

/// Runs the command.
pub(crate) fn run(args: &CopyArgs, stores: &Stores, out: &mut dyn Write, err: &mut dyn Write) -> Result {
    let (source, target) = (&args.source, &args.target);
    let failed_there = |error| Failure::of_array(target, error);
    let options = args.window.options(&KeyArgs { key_file: args.source_key_file.clone() })?;
    let array = options.open_storage(stores.storage(source)?).map_err(|error| unopened(source, error))?;
    let asked = ranges::query_ranges(&args.ranges, source, array.schema())?;
    notes::print(source, array.schema(), &asked.notes, None, err);
    let usage = |error: String| Failure::Usage(format!("{}: {error}", source.display()));
    let schema = schema(args, &array).map_err(usage)?;
    // Errors of what cannot be copied are reported before the new array is created.
    let start = match array.schema().array_type {
        ArrayType::Dense => DenseBox::of_query(&array, &asked).map_err(usage)?,
        ArrayType::Sparse => None,
    };
    let mut labels = Vec::with_capacity(schema.labels.len());
    for label in &schema.labels {
        let values = array.label(&label.name).map_err(|error| Failure::of_array(source, error))?;
        if let Some(values) = values {
            let all = DenseBox::of_query(&values, &QueryRanges::default()).map_err(usage)?;
            labels.push((label.name.as_str(), values, all));
        }
    }
    let metadata = metadata(&array).map_err(|error| Failure::of_array(source, error))?;
    metadata.check_version(schema.version).map_err(failed_there)?;
    let mut options = args.change.options()?;
    if args.force {
        refuse_overlap(source, target)?;
        options = options.replace();
    }
    let made = begin(&array, &schema, stores.storage(target)?, options);
    let made = made.map_err(|error| match error {
        // The array's own filters were accepted once; those of the command line were not.
        Error::Write(WriteError::Schema(error)) if !args.filters.is_empty() => usage(error.to_string()),
        other => failed_there(other),
    })?;
    let writer = made.writer();
    let memory = args.memory.unwrap_or(MEMORY);
    let meter = args.progress.bar("copying", Unit::Cells, Some(start.as_ref().map_or(0, DenseBox::cells)));
    let copied = || -> tdb_array::Result<u64> {
        for (name, values, all) in labels {
            copy_dense(&values, &writer.label(name)?, all, memory, &Meter::none())?;
        }
        writer.write_metadata(&metadata)?;
        match schema.array_type {
            ArrayType::Dense => copy_dense(&array, writer, start, memory, &meter),
            ArrayType::Sparse => copy_sparse(&array, writer, &asked, memory, &meter),
        }
    };
    let cells = copied().map_err(|error| match error {
        Error::Query(QueryError::BudgetTooSmall { budget, min }) => {
            usage(format!("--memory: {budget} is not enough for this copy, which needs at least {min}"))
        }
        Error::Query(error) => usage(error.to_string()),
        other => failed_there(other),
    })?;
    made.finish().map_err(failed_there)?;
    meter.clear();
    if args.json {
        let [source, target] = [source, target].map(|place| shown(place));
        writeln!(out, "{:#}", json!({"source": source, "target": target, "cells": cells}))?;
    } else {
        writeln!(out, "{cells} cells copied")?;
    }
    Ok(())
}

/// Returns an error if one of two arrays is the other one, or inside it: one would be removed with
/// the other.
fn refuse_overlap(source: &Path, target: &Path) -> Result {
    let place = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let (from, to) = (place(source), place(target));
    if from.starts_with(&to) || to.starts_with(&from) {
        let (source, target) = (source.display(), target.display());
        return Err(Failure::Usage(format!(
            "{target}: --force would remove {source}, which is copied: give another folder"
        )));
    }
    Ok(())
}

/// The schema of the copy.
fn schema(args: &CopyArgs, array: &Array) -> Result<ArraySchema, String> {
    let mut schema = array.schema().clone();
    schema.version = args.version.unwrap_or(FormatVersion::CURRENT);
    if let Some(anonymous) = schema.attributes.iter_mut().find(|attribute| attribute.name == OLD_ANONYMOUS) {
        anonymous.name.clear();
    }
    for text in &args.filters {
        let names =
            schema.fields().map(|field| field.name.to_owned()).chain(["offsets", "validity"].map(Into::into));
        // Names may contain equals signs: the longest name that matches is used.
        let fits = |name: &String| text.strip_prefix(name.as_str()).is_some_and(|rest| rest.starts_with('='));
        let name = names.filter(fits).max_by_key(String::len);
        let filters = name
            .as_ref()
            .map_or(text.as_str(), |name| text.get(name.len().saturating_add(1)..).unwrap_or_default());
        let filters = pipeline_of_text(filters).map_err(|error| match unknown_field(&schema, text) {
            Some(unknown) if name.is_none() => format!("--filters {text:?}: {unknown}"),
            _ => format!("--filters {text:?}: {error}"),
        })?;
        set_filters(&mut schema, name.as_deref(), &filters);
    }
    Ok(schema.in_version(schema.version))
}

/// Says that the array lacks the field of `FIELD=FILTERS`, if these begin with something else than
/// a filter.
fn unknown_field(schema: &ArraySchema, text: &str) -> Option<String> {
    let (name, rest) = text.split_once('=')?;
    if name.contains(['(', ',', ':']) || pipeline_of_text(rest).is_err() {
        return None;
    }
    let known = || schema.fields().map(|field| field.name).chain(["offsets", "validity"]);
    let list = known().collect::<Vec<_>>().join(", ");
    Some(format!("the array has no field {name:?} (there are {list}){}", hint(name, known())))
}

/// Sets these filters for one field, or for all fields.
fn set_filters(schema: &mut ArraySchema, name: Option<&str>, filters: &Pipeline) {
    let is = |field: &str| name.is_none_or(|name| name == field);
    let mut found = false;
    for attribute in schema.attributes.iter_mut().filter(|attribute| is(&attribute.name)) {
        attribute.filters.clone_from(filters);
        found = true;
    }
    for dimension in schema.domain.dimensions.iter_mut().filter(|dimension| is(&dimension.name)) {
        dimension.filters.clone_from(filters);
        found = true;
    }
    match name {
        Some("offsets") if !found => schema.offsets_filters.clone_from(filters),
        Some("validity") if !found => schema.validity_filters.clone_from(filters),
        // A dimension without filters uses those of coordinates.
        None => schema.coords_filters.clone_from(filters),
        _ => {}
    }
}

/// Begins the new array.
fn begin(
    array: &Array,
    schema: &ArraySchema,
    target: Arc<dyn WriteStorage>,
    mut options: WriteOptions,
) -> tdb_array::Result<NewArray> {
    for entry in &schema.enumerations {
        if let Some(enumeration) = array.enumeration(&entry.name)? {
            options = options.enumeration(enumeration);
        }
    }
    // A copy has what its source has, also codes that mean nothing.
    options.any_codes().begin_storage(target, schema)
}

/// The metadata of the array, as changes for another array.
fn metadata(array: &Array) -> tdb_array::Result<MetadataChanges> {
    let put =
        |changes: MetadataChanges, (key, value): (&[u8], &MetadataValue)| changes.put(key, value.clone());
    Ok(array.metadata()?.iter().fold(MetadataChanges::new(), put))
}

/// The columns of a result, with their names in the copy.
fn columns(cells: Cells) -> Vec<Column> {
    let mut columns = cells.into_columns();
    columns.iter_mut().filter(|column| column.name == OLD_ANONYMOUS).for_each(|column| column.name.clear());
    columns
}

/// The destination of sparse cells.
enum Sink<'w> {
    Sorted(Box<FragmentWriter<'w>>),
    Any(Box<SparseStream<'w>>),
}

/// Copies sparse cells; returns how many. Half of the memory is for reading, the other half for
/// writing.
fn copy_sparse(
    array: &Array,
    writer: &ArrayWriter,
    asked: &QueryRanges,
    memory: MemoryBudget,
    meter: &Meter,
) -> tdb_array::Result<u64> {
    let half = MemoryBudget::from_bytes(memory.bytes() / 2);
    let copied = || -> tdb_array::Result<u64> {
        // Fragments of 1.x may be in another order than today's global order.
        if array.fragments().iter().all(|fragment| fragment.version().has(Gate::DimensionFiles)) {
            match copy_cells(array, Sink::Sorted(Box::new(writer.sparse_fragment()?)), asked, half, meter) {
                // Those of later releases may be too, which only their cells show: the cells of a
                // single fragment are read as they are stored.
                Err(Error::Write(WriteError::NotSorted { .. })) => {}
                done => return done,
            }
        }
        let stream = writer.sparse_stream(to_usize(half.bytes()).unwrap_or(usize::MAX))?;
        copy_cells(array, Sink::Any(Box::new(stream)), asked, half, meter)
    };
    copied().map_err(|error| match error {
        Error::Query(QueryError::BudgetTooSmall { min, .. }) => {
            too_small(memory, min.bytes().saturating_mul(2))
        }
        other => other,
    })
}

/// The error of a copy that needs more than its memory.
fn too_small(memory: MemoryBudget, min: u64) -> Error {
    QueryError::BudgetTooSmall { budget: memory, min: MemoryBudget::from_bytes(kibibytes(min)) }.into()
}

/// Bytes rounded up to kibibytes.
fn kibibytes(bytes: u64) -> u64 {
    bytes.checked_next_multiple_of(1 << 10).unwrap_or(u64::MAX)
}

/// Copies sparse cells batch by batch; returns how many.
fn copy_cells(
    array: &Array,
    mut sink: Sink<'_>,
    asked: &QueryRanges,
    memory: MemoryBudget,
    meter: &Meter,
) -> tdb_array::Result<u64> {
    let read = asked.clone().apply(array.read(), array.schema()).order(Layout::GlobalOrder).memory(memory);
    let mut batches = read.batches()?;
    let mut cells = 0u64;
    // Not a for loop: that would keep the previous batch while the next one is made.
    while let Some(batch) = batches.next().transpose()? {
        if !batch.is_empty() {
            cells = cells.saturating_add(to_u64(batch.len()));
            let columns = columns(batch);
            let columns: Vec<WriteColumn<'_>> = columns.iter().map(Into::into).collect();
            match &mut sink {
                Sink::Sorted(fragment) => fragment.append(&columns)?,
                Sink::Any(stream) => stream.append(&columns)?,
            }
            meter.of(cells, batches.progress().cells_estimate.max(cells));
        }
    }
    match sink {
        // A fragment without cells is not written.
        _ if cells == 0 => {}
        Sink::Sorted(fragment) => drop(fragment.commit()?),
        Sink::Any(stream) => drop(stream.commit()?),
    }
    Ok(cells)
}

/// Copies the cells of a dense box, in as many fragments as the memory requires; returns the number
/// of cells.
fn copy_dense(
    array: &Array,
    writer: &ArrayWriter,
    start: Option<DenseBox>,
    memory: MemoryBudget,
    meter: &Meter,
) -> tdb_array::Result<u64> {
    let dimensions = &array.schema().domain.dimensions;
    let mut cells = 0u64;
    let mut left: Vec<DenseBox> = start.into_iter().collect();
    while let Some(part) = left.pop() {
        // Values of variable length are known only when they are read: they have the other half.
        let is_large = part.bytes(array.schema()) > memory.bytes() / 2;
        if let Some((first, second)) = is_large.then(|| part.split()).flatten() {
            left.extend([second, first]);
            continue;
        }
        let write = part.write(dimensions, writer);
        if written(array, &part, &write)? > memory.bytes() {
            let Some((first, second)) = part.split() else {
                left.push(part);
                return Err(too_small(memory, enough(array, writer, left)?));
            };
            left.extend([second, first]);
            continue;
        }
        let read = match part.read(array).memory(memory).collect() {
            Ok(read) => read,
            Err(error) => {
                let over = matches!(
                    error,
                    Error::Query(QueryError::OverBudget { .. } | QueryError::BudgetTooSmall { .. })
                );
                if !over {
                    return Err(error);
                }
                let Some((first, second)) = part.split() else {
                    left.push(part);
                    return Err(too_small(memory, enough(array, writer, left)?));
                };
                left.extend([second, first]);
                continue;
            }
        };
        cells = cells.saturating_add(to_u64(read.len()));
        let columns = columns(read);
        columns.iter().fold(write, |write, column| write.column(column.into())).commit()?;
        meter.set(cells);
    }
    Ok(cells)
}

/// The memory that a box takes while it is written, in whole kibibytes, as least budgets are
/// stated.
fn written(array: &Array, part: &DenseBox, write: &tdb_array::Write<'_>) -> tdb_array::Result<u64> {
    Ok(kibibytes(part.bytes(array.schema()).saturating_add(write.working_memory()?)))
}

/// An amount of memory with which each of these boxes can be copied after being cut as small as
/// possible.
fn enough(array: &Array, writer: &ArrayWriter, mut boxes: Vec<DenseBox>) -> tdb_array::Result<u64> {
    let mut max = 0u64;
    while let Some(part) = boxes.pop() {
        if let Some((first, second)) = part.split() {
            boxes.extend([second, first]);
            continue;
        }
        let write = part.write(&array.schema().domain.dimensions, writer);
        max = max.max(needed(array, &part)?).max(written(array, &part, &write)?);
    }
    Ok(max)
}

/// The least memory that reading a box takes, with all of its cells. Values of variable length are
/// known only when they are read: for them it is enough, but perhaps not the least.
fn needed(array: &Array, part: &DenseBox) -> tdb_array::Result<u64> {
    let within = |bytes: u64| part.read(array).memory(MemoryBudget::from_bytes(bytes)).collect();
    // What is held beside cells is reported before their number is looked at, and both before
    // anything is read.
    let fixed = match within(1) {
        Err(Error::Query(QueryError::BudgetTooSmall { min, .. })) => min.bytes(),
        other => return other.map(|_| 0),
    };
    let all = match within(fixed) {
        Err(Error::Query(QueryError::OverBudget { needed, .. })) => needed.bytes(),
        other => other.map(|_| fixed)?,
    };
    if array.schema().attributes.iter().all(|attribute| attribute.cell_val_num != CellValNum::Var) {
        return Ok(all);
    }
    // Its columns, plus the widest of them again, values of variable length twice; and a quarter in
    // reserve.
    Ok(fixed.max(all).saturating_add(part.read(array).explain()?.result_bytes.saturating_mul(4)))
}
