//! Copies the cells of an array within a memory budget.

use tdb_array::error::{QueryError, WriteError};
use tdb_array::query::QueryCondition;
use tdb_array::write::{FragmentWriter, SparseStream};
use tdb_array::{Array, ArrayWriter, Cells, Column, Error, Layout, MemoryBudget, WriteColumn};
use tdb_codec::{CellValNum, Gate, to_u64, to_usize};
use tdb_schema::OLD_ANONYMOUS;

use super::boxes::DenseBox;
use crate::progress::Meter;
use crate::ranges::QueryRanges;

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

/// The cells that are copied: those in the ranges that satisfy the condition.
type Asked<'a> = (&'a QueryRanges, Option<&'a QueryCondition>);

/// Copies sparse cells; returns how many. Half of the memory is for reading, the other half for
/// writing.
pub(super) fn copy_sparse(
    array: &Array,
    writer: &ArrayWriter,
    asked: Asked<'_>,
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
    asked: Asked<'_>,
    memory: MemoryBudget,
    meter: &Meter,
) -> tdb_array::Result<u64> {
    let (ranges, condition) = asked;
    let mut read =
        ranges.clone().apply(array.read(), array.schema()).order(Layout::GlobalOrder).memory(memory);
    if let Some(condition) = condition {
        read = read.condition(condition.clone());
    }
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
pub(super) fn copy_dense(
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
