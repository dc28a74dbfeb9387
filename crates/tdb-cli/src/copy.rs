//! `tdb copy`: writes an array again.

pub(crate) mod boxes;
mod cells;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args as Group;
use serde_json::json;
use tdb_array::error::{QueryError, WriteError};
use tdb_array::query::QueryCondition;
use tdb_array::schema::{ArraySchema, ArrayType};
use tdb_array::storage::WriteStorage;
use tdb_array::write::{MetadataChanges, NewArray};
use tdb_array::{Array, Error, MemoryBudget, WriteOptions};
use tdb_codec::FormatVersion;
use tdb_filters::Pipeline;
use tdb_schema::{MetadataValue, OLD_ANONYMOUS};
use tdb_text::schema::{filters_help, pipeline_of_text};
use tdb_text::suggest::hint;

use self::boxes::DenseBox;
use self::cells::{copy_dense, copy_sparse};
use crate::args::{ChangeArgs, KeyArgs, RangeArgs, WindowArgs};
use crate::condition;
use crate::count::count;
use crate::create::parse_version;
use crate::failure::{Failure, Result};
use crate::notes;
use crate::place::{Stores, shown};
use crate::progress::{Meter, ProgressArgs, Unit};
use crate::ranges::{self, QueryRanges};
use crate::thresholds::COPY_MEMORY;

/// The text after the options in the help.
const HELP: &str = "\
Filters are written as tdb info shows them: 'byteshuffle, zstd(level 9)', or none; tdb copy --help lists all of them. With FIELD= before them they apply to one \
attribute or dimension (or to offsets or validity), without to all attributes and dimensions. Ranges and conditions are \
written as for tdb read; a condition leaves out cells for which it is unknown, such as null ones: ask for them, too.

A dense array that does not fit the memory becomes several fragments. The new array exists only once it is complete: if a copy \
fails, there is no array, and what a killed one leaves is replaced by the next one.

Examples:
  tdb copy weather small --filters 'zstd(level 19)' --filters 'temperature=byteshuffle, zstd(level 19)'
  tdb copy weather june --at 2020-07-01 --range 'time=2020-06-01..2020-06-30'
  tdb copy weather mild --where 'temperature <= 30 or temperature is null'
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
    /// Copy only the cells that satisfy a condition; of sparse arrays.
    #[arg(long = "where", value_name = "CONDITION", allow_hyphen_values = true)]
    condition: Option<String>,
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
    let condition = condition(args, array.schema())?;
    notes::print(source, array.schema(), &asked.notes, args.condition.as_deref(), err);
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
    let memory = args.memory.unwrap_or(COPY_MEMORY);
    let meter = args.progress.bar("copying", Unit::Cells, Some(start.as_ref().map_or(0, DenseBox::cells)));
    let copied = || -> tdb_array::Result<u64> {
        for (name, values, all) in labels {
            copy_dense(&values, &writer.label(name)?, all, memory, &Meter::none())?;
        }
        writer.write_metadata(&metadata)?;
        match schema.array_type {
            ArrayType::Dense => copy_dense(&array, writer, start, memory, &meter),
            ArrayType::Sparse => copy_sparse(&array, writer, (&asked, condition.as_ref()), memory, &meter),
        }
    };
    let cells = copied().map_err(|error| match error {
        Error::Query(QueryError::BudgetTooSmall { budget, min }) => {
            usage(format!("--memory: {budget} is not enough for this copy, which needs at least {min}"))
        }
        error @ Error::Query(QueryError::Condition(_)) => {
            condition::failed(source, args.condition.as_deref(), error)
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
        writeln!(out, "{} copied", count(cells, "cell"))?;
    }
    Ok(())
}

/// The condition of the cells that are copied.
fn condition(args: &CopyArgs, schema: &ArraySchema) -> Result<Option<QueryCondition>> {
    let Some(text) = &args.condition else { return Ok(None) };
    if schema.array_type == ArrayType::Dense {
        let why =
            "a dense array has every cell of its domain, so --where cannot leave any out; choose ranges";
        return Err(Failure::Usage(format!("{}: {why}", args.source.display())));
    }
    let parsed = tdb_text::condition::parse(text, schema);
    Ok(Some(parsed.map_err(|error| condition::bad(&args.source, text, &error))?))
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
