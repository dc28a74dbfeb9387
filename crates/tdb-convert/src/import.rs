//! From a file to cells of an array.

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{Field, Schema};
use tdb_array::schema::{ArrayType, Dimension, Range};
use tdb_array::write::{FragmentWriter, SparseStream};
use tdb_array::{ArrayWriter, Layout};
use tdb_arrow::metadata::KIND;
use tdb_arrow::{Coordinates, Mapping};

use crate::error::{Error, Result};
use crate::metadata::{self, Subarray};
use crate::new::OLD_ANONYMOUS;
use crate::source::Source;

/// Writes the cells of a file into an array, which gets all of them or none; returns their number.
/// `memory` bounds the cells that are buffered, in addition to a batch of the file.
///
/// The cells of a dense array are the given part of it, or the part that the file's metadata names;
/// coordinates in the file are compared with it.
///
/// # Errors
/// Errors of the file, which are found while it is read; columns that do not fit the array; errors
/// of writing.
pub fn append(
    writer: &ArrayWriter,
    mapping: &Mapping,
    source: &mut Source,
    subarray: Option<&Subarray>,
    memory: usize,
) -> Result<u64> {
    match writer.schema().array_type {
        ArrayType::Sparse => sparse(writer, mapping, source, memory),
        ArrayType::Dense => dense(writer, mapping, source, subarray, memory),
    }
}

/// Finds out whether the cells of a batch of this file fit an array, without writing them.
///
/// # Errors
/// A column or a cell that does not fit its field.
pub fn fit(mapping: &Mapping, batch: &RecordBatch, file: &str) -> Result<()> {
    let cells = fitted(mapping, batch).and_then(|batch| mapping.write_batch(&batch));
    cells.map(drop).map_err(|error| Error::cells(file, error))
}

/// Compares the columns of a file with the fields of an array, without reading a row.
///
/// # Errors
/// A column that the array does not have, one whose type does not fit its field, and a field
/// without a column.
pub fn check(mapping: &Mapping, source: &Source) -> Result<()> {
    let batch = RecordBatch::new_empty(source.schema().clone());
    fit(mapping, &batch, source.name())?;
    let batch = fitted(mapping, &batch).map_err(|error| Error::cells(source.name(), error))?;
    let schema = mapping.array_schema();
    let dimensions = schema.domain.dimensions.iter().map(|dimension| dimension.name.as_str());
    let dimensions = dimensions.filter(|_| schema.array_type == ArrayType::Sparse);
    let attributes = schema.attributes.iter().map(|attribute| attribute.name.as_str());
    match dimensions.chain(attributes).find(|name| batch.column_by_name(name).is_none()) {
        Some(name) => Err(Error::Missing { file: source.name().to_owned(), field: name.to_owned() }),
        None => Ok(()),
    }
}

/// Where sparse cells go.
enum Target<'w> {
    /// Into one fragment: they are in the array's order.
    Sorted(Box<FragmentWriter<'w>>),
    /// Into a fragment for each part that fits the memory.
    Any(Box<SparseStream<'w>>),
}

impl<'w> Target<'w> {
    fn new(writer: &'w ArrayWriter, source: &Source, memory: usize) -> Result<Self> {
        let schema = writer.schema();
        let sorted = match (schema.domain.dimensions.as_slice(), source.numbers()) {
            ([row], Some(numbers)) => row.name == numbers && schema.cell_order != Layout::Hilbert,
            _ => false,
        };
        Ok(match sorted {
            true => Self::Sorted(Box::new(writer.sparse_fragment()?)),
            false => Self::Any(Box::new(writer.sparse_stream(memory)?)),
        })
    }
}

fn sparse(writer: &ArrayWriter, mapping: &Mapping, source: &mut Source, memory: usize) -> Result<u64> {
    let mut target = Target::new(writer, source, memory)?;
    let mut cells = 0u64;
    while let Some(batch) = source.next().transpose()? {
        let batch = fitted(mapping, &batch).map_err(|error| Error::cells(source.name(), error))?;
        let rows = mapping.write_batch(&batch).map_err(|error| Error::cells(source.name(), error))?;
        drop(batch);
        match &mut target {
            Target::Sorted(fragment) => fragment.append(&rows.columns())?,
            Target::Any(stream) => stream.append(&rows.columns())?,
        }
        cells = cells.saturating_add(u64::try_from(rows.len()).unwrap_or(u64::MAX));
    }
    match target {
        // A fragment without cells is not written.
        _ if cells == 0 => {}
        Target::Sorted(fragment) => drop(fragment.commit()?),
        Target::Any(stream) => drop(stream.commit()?),
    }
    Ok(cells)
}

fn dense(
    writer: &ArrayWriter,
    mapping: &Mapping,
    source: &mut Source,
    subarray: Option<&Subarray>,
    memory: usize,
) -> Result<u64> {
    let stored = metadata::subarray(source.schema())?;
    let Some(subarray) = subarray.or(stored.as_ref()) else {
        return nothing(source);
    };
    let dimensions = &writer.schema().domain.dimensions;
    let place = || Error::NoPlace { file: source.name().to_owned() };
    let mut walk = Walk::new(dimensions, subarray).ok_or_else(place)?;
    let coordinates = Coordinates::new(dimensions)?;
    let mut write = writer.write().order(subarray.order);
    for (dimension, range) in dimensions.iter().zip(&subarray.ranges) {
        write = write.range_bytes(&dimension.name, Some(range.low.clone()), Some(range.high.clone()));
    }
    let mut stream = write.stream(memory)?;
    while let Some(batch) = source.next().transpose()? {
        let wrong = |error| Error::cells(source.name(), error);
        let batch = fitted(mapping, &batch).map_err(wrong)?;
        walk.check(&coordinates.of(&batch).map_err(wrong)?, batch.num_rows(), source.name())?;
        let cells = mapping.write_batch(&batch).map_err(wrong)?;
        drop(batch);
        stream.append(&cells.columns())?;
    }
    stream.commit()?;
    Ok(walk.row)
}

/// A file without rows has no place, and needs none.
fn nothing(source: &mut Source) -> Result<u64> {
    while let Some(batch) = source.next().transpose()? {
        if batch.num_rows() > 0 {
            return Err(Error::NoPlace { file: source.name().to_owned() });
        }
    }
    Ok(0)
}

/// The batch without columns that are not fields of arrays (labels, times of cells), with the names
/// of today.
fn fitted(mapping: &Mapping, batch: &RecordBatch) -> tdb_arrow::Result<RecordBatch> {
    let array = mapping.array_schema();
    let (mut fields, mut columns) = (Vec::new(), Vec::new());
    for (field, column) in batch.schema_ref().fields().iter().zip(batch.columns()) {
        let known = array.field(field.name()).is_some();
        let kind = field.metadata().get(KIND).map(String::as_str);
        if !known && matches!(kind, Some("label" | "timestamps")) {
            continue;
        }
        let old = !known && field.name() == OLD_ANONYMOUS && array.field("").is_some();
        fields.push(if old { Arc::new(Field::clone(field).with_name("")) } else { field.clone() });
        columns.push(column.clone());
    }
    let schema = Schema::new_with_metadata(fields, batch.schema_ref().metadata().clone());
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    Ok(RecordBatch::try_new_with_options(schema.into(), columns, &options)?)
}

/// The coordinates of the cells of a box, one after the other.
struct Walk<'a> {
    sides: Vec<Side<'a>>,
    /// Number of cells so far.
    row: u64,
}

struct Side<'a> {
    dimension: &'a Dimension,
    low: u64,
    /// Cells along the dimension.
    len: u64,
    /// Cells from one coordinate to the next.
    step: u64,
}

impl<'a> Walk<'a> {
    /// `None` if the box is not one of this array.
    fn new(dimensions: &'a [Dimension], subarray: &Subarray) -> Option<Self> {
        if dimensions.len() != subarray.ranges.len() {
            return None;
        }
        let side = |(dimension, range): (&'a Dimension, &Range)| {
            let (low, high) = (dimension.ordinal(&range.low)?, dimension.ordinal(&range.high)?);
            let len = high.checked_sub(low)?.checked_add(1)?;
            Some(Side { dimension, low, len, step: 1 })
        };
        let sides = dimensions.iter().zip(&subarray.ranges).map(side);
        let mut sides = sides.collect::<Option<Vec<_>>>()?;
        let mut step = 1u64;
        let mut set = |side: &mut Side<'_>| {
            side.step = step;
            step = step.saturating_mul(side.len);
        };
        match subarray.order {
            Layout::ColMajor => sides.iter_mut().for_each(&mut set),
            _ => sides.iter_mut().rev().for_each(&mut set),
        }
        Some(Self { sides, row: 0 })
    }

    /// Compares the coordinates of a batch with those of the next cells.
    fn check(&mut self, cells: &tdb_arrow::ArrowCells, rows: usize, file: &str) -> Result<()> {
        for side in &self.sides {
            for index in 0..rows {
                let Some(value) = cells.cell(&side.dimension.name, index) else { break };
                let row = self.row.saturating_add(u64::try_from(index).unwrap_or(u64::MAX));
                let along = row.checked_div(side.step).and_then(|at| at.checked_rem(side.len));
                if side.dimension.ordinal(value) != along.and_then(|along| side.low.checked_add(along)) {
                    let dimension = side.dimension.name.clone();
                    return Err(Error::Moved { file: file.to_owned(), row, dimension });
                }
            }
        }
        self.row = self.row.saturating_add(u64::try_from(rows).unwrap_or(u64::MAX));
        Ok(())
    }
}
