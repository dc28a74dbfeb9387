//! Arrow tables and streams as cells of arrays.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3_arrow::input::AnyRecordBatch;
use tdb_array::ArrayWriter;
use tdb_array::query::Coordinate;
use tdb_array::schema::{ArraySchema, ArrayType, Pipeline};
use tdb_array::write::Duplicates;
use tdb_arrow::arrow_array::{ArrayRef, RecordBatch, RecordBatchReader, UInt64Array};
use tdb_arrow::arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use tdb_arrow::{Mapping, Options, SchemaOptions, enumerations_of, schema_of};

use crate::errors::Failure;
use crate::place::Place;
use crate::values::Value;
use crate::write::duplicates;
use crate::{schema, watch};

/// An inclusive range of a dimension.
type Range = (String, Value, Value);

/// The schema of a new array for a table. Dimensions are those of `described`, a schema without
/// attributes; if there is none, the metadata of the table must contain the schema of an array.
fn schema_for(
    arrow: &Schema,
    described: Option<&str>,
    enumerations: bool,
    filters: Option<&Pipeline>,
) -> Result<ArraySchema, Failure> {
    let mut options = SchemaOptions::stored();
    let skeleton = described.map(schema::skeleton).transpose()?;
    if let Some(skeleton) = &skeleton {
        options = match skeleton.array_type {
            ArrayType::Dense => SchemaOptions::dense(),
            ArrayType::Sparse => SchemaOptions::sparse(),
        };
        if skeleton.allows_duplicates {
            options = options.allow_duplicates();
        }
        options = skeleton.domain.dimensions.iter().cloned().fold(options, SchemaOptions::dimension);
    }
    if enumerations {
        options = options.enumerations();
    }
    let mut made = schema_of(arrow, &options)?;
    if let Some(skeleton) = skeleton {
        made.capacity = skeleton.capacity;
        made.cell_order = skeleton.cell_order;
        made.tile_order = skeleton.tile_order;
    }
    if let Some(filters) = filters {
        made.attributes.iter_mut().for_each(|attribute| attribute.filters = filters.clone());
    }
    Ok(made)
}

/// The schema of a table with the numbers of its rows as one more column.
fn with_rows(arrow: &Schema, name: &str) -> SchemaRef {
    let rows = Arc::new(Field::new(name, DataType::UInt64, false));
    let fields: Vec<_> = arrow.fields().iter().cloned().chain([rows]).collect();
    Arc::new(Schema::new_with_metadata(fields, arrow.metadata().clone()))
}

/// The batches of a table with the numbers of its rows as one more column.
fn numbered(
    batches: impl Iterator<Item = Result<RecordBatch, ArrowError>>,
    name: String,
) -> impl Iterator<Item = Result<RecordBatch, ArrowError>> {
    let mut next = 0u64;
    batches.map(move |batch| {
        let batch = batch?;
        let first = next;
        next = u64::try_from(batch.num_rows()).map_or(u64::MAX, |rows| first.saturating_add(rows));
        let rows: ArrayRef = Arc::new(UInt64Array::from_iter_values(first..next));
        let columns = batch.columns().iter().cloned().chain([rows]).collect();
        RecordBatch::try_new(with_rows(&batch.schema(), &name), columns)
    })
}

/// The name of the only dimension of a schema.
fn only_dimension(json: &str) -> Result<String, Failure> {
    let schema = schema::skeleton(json)?;
    let first = schema.domain.dimensions.into_iter().next();
    first.map(|own| own.name).ok_or_else(|| Failure::Argument("schema: it has no dimension".to_owned()))
}

/// Appends all batches to an array, and returns the number of cells and the names of the fragments.
fn append(
    writer: &ArrayWriter,
    mapping: &Mapping,
    batches: impl Iterator<Item = Result<RecordBatch, ArrowError>>,
    ranges: Vec<Range>,
    (memory, duplicates): (usize, Duplicates),
) -> Result<(u64, Vec<String>), Failure> {
    // Ctrl-C ends the write before the next batch. What was written counts only when all is
    // committed.
    let batches = batches.map(|batch| {
        watch::look().map_err(|error| ArrowError::ExternalError(Box::new(error)))?;
        batch
    });
    if writer.schema().array_type == ArrayType::Dense {
        let mut write = writer.write();
        for (dimension, low, high) in ranges {
            let (low, high) = (Coordinate::from(low), Coordinate::from(high));
            write = write.range(dimension, low..=high);
        }
        let mut stream = write.stream(memory)?;
        let cells = mapping.append_all(batches, |columns| stream.append(columns))?;
        return Ok((cells, stream.commit()?));
    }
    let mut stream = writer.sparse_stream(memory)?.duplicates(duplicates);
    // A table without rows has nothing to write.
    let batches = batches.filter(|batch| batch.as_ref().map_or(true, |batch| batch.num_rows() > 0));
    let cells = mapping.append_all(batches, |columns| stream.append(columns))?;
    Ok((cells, if cells > 0 { stream.commit()? } else { Vec::new() }))
}

/// Creates an array for a table or a stream with its cells: it is there once all are written, and
/// nothing is if anything fails. Returns what [`write_arrow`] returns. `rows` is a schema as
/// `described` is: its only dimension numbers the rows of a table that has no schema itself.
#[pyfunction]
#[pyo3(signature = (place, data, described, filters, ranges, memory, enumerations=true, duplicates_name="refuse", time=None, rows=None))]
#[expect(clippy::too_many_arguments, reason = "they are keywords of one Python function")]
pub(crate) fn from_arrow(
    py: Python<'_>,
    place: &Place,
    data: AnyRecordBatch,
    described: Option<&str>,
    filters: Option<&str>,
    ranges: Vec<Range>,
    memory: usize,
    enumerations: bool,
    duplicates_name: &str,
    time: Option<u64>,
    rows: Option<&str>,
) -> PyResult<(u64, Vec<String>)> {
    let reader = data.into_reader()?;
    let how = (memory, duplicates(duplicates_name)?);
    let filters = filters.map(tdb_text::schema::pipeline_of_text).transpose();
    let filters = filters.map_err(|what| Failure::Argument(format!("filters: {what}")))?;
    watch::run(py, move || -> Result<_, Failure> {
        let mut arrow = reader.schema();
        let mut reader: Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>>> = Box::new(reader);
        let schema = match (schema_for(&arrow, described, enumerations, filters.as_ref()), rows) {
            (Err(Failure::Arrow(tdb_arrow::Error::NoDimensions)), Some(rows)) => {
                let name = only_dimension(rows)?;
                if arrow.column_with_name(&name).is_some() {
                    return Err(Failure::Argument(format!(
                        "the column {name:?} has the name of the numbers of rows: give it as a dimension, or rename it"
                    )));
                }
                arrow = with_rows(&arrow, &name);
                reader = Box::new(numbered(reader, name));
                schema_for(&arrow, Some(rows), enumerations, filters.as_ref())?
            }
            (schema, _) => schema?,
        };
        // The values of dictionaries come with the first batch.
        let first = reader.next().transpose().map_err(tdb_arrow::Error::from)?;
        let mut options = place.write_options(time);
        let batch = first.clone().unwrap_or_else(|| RecordBatch::new_empty(arrow));
        let enumerations = enumerations_of(&batch, &schema)?;
        for enumeration in &enumerations {
            options = options.enumeration(enumeration.clone());
        }
        let mapping = Mapping::new(&schema, enumerations, Options::new())?;
        let zones = tdb_arrow::metadata::zone_changes(&batch.schema(), &schema);
        let made = options.begin_storage(place.write_storage()?, &schema);
        let made = made.map_err(Failure::of_new(place.location()))?;
        if !zones.is_empty() {
            made.writer().write_metadata(&zones)?;
        }
        let written = append(made.writer(), &mapping, first.map(Ok).into_iter().chain(reader), ranges, how)?;
        made.finish()?;
        Ok(written)
    })
}

/// Writes a table or a stream to an array, and returns the number of cells and the names of the
/// fragments. For dense arrays, the cells are those of the ranges, in row-major order.
#[pyfunction]
#[pyo3(signature = (place, data, ranges, memory, duplicates_name="refuse", time=None))]
pub(crate) fn write_arrow(
    py: Python<'_>,
    place: &Place,
    data: AnyRecordBatch,
    ranges: Vec<Range>,
    memory: usize,
    duplicates_name: &str,
    time: Option<u64>,
) -> PyResult<(u64, Vec<String>)> {
    let reader = data.into_reader()?;
    let how = (memory, duplicates(duplicates_name)?);
    watch::run(py, move || {
        let writer = place.write_options(time).open_storage(place.write_storage()?)?;
        let array = place.open_options(None).open_storage(place.storage()?)?;
        let mapping = Mapping::of(&array, Options::new())?;
        append(&writer, &mapping, reader, ranges, how)
    })
}
