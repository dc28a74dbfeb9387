//! Rows that replace cells of a dense array: the box around them is read, they are put into it, and
//! it is written again, in pieces that fit the memory.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch};
use datafusion::arrow::compute::{cast, interleave};
use datafusion::common::{exec_err, not_impl_err};
use tdb_array::schema::{Dimension, Range};
use tdb_array::{Layout, MemoryBudget};
use tdb_arrow::{BatchReader, Coordinates};

use super::room::Room;
use super::{Batches, Write, count, next, rows};
use crate::Result;
use crate::error::{internal, of_array, of_arrow};
use crate::thresholds::{MAX_REWRITTEN_CELLS, MAX_REWRITTEN_CELLS_PER_ROW};

impl Write {
    /// Writes rows over the cells of a dense array; returns how many. The rows are in row-major
    /// order. Cells of the box that have no row keep what they have at this moment.
    pub(super) fn dense(mut self, batches: Batches, room: &Room) -> Result<u64> {
        let Some(ranges) = room.ranges() else { return Ok(0) };
        let dimensions = &self.state.array.schema().domain.dimensions.clone();
        let place = Place::new(dimensions, &ranges)?;
        let most = room.rows.checked_mul(MAX_REWRITTEN_CELLS_PER_ROW);
        let most = most.map_or(u64::MAX, |most| most.max(MAX_REWRITTEN_CELLS));
        if place.cells > most {
            return not_impl_err!(
                "a write of {} rows of a dense array that are so far apart: the box around them has {} cells, all of which would be written \
                 again; write them in several statements, with conditions on the dimensions",
                room.rows,
                place.cells
            );
        }
        let mapping = self.begin()?;
        let array = self.options.array(&self.storage).map_err(of_array)?;
        let writer = self.options.write_options().open_storage(self.storage.clone()).map_err(of_array)?;
        let memory = self.memory / 2;
        let budget = MemoryBudget::from_bytes(u64::try_from(memory / 2).unwrap_or(u64::MAX));
        let mut read = array.read().order(Layout::RowMajor).memory(budget);
        let mut write = writer.write().order(Layout::RowMajor);
        for (dimension, range) in dimensions.iter().zip(&ranges) {
            let (low, high) = (Some(range.low.clone()), Some(range.high.clone()));
            read = read.range_bytes(&dimension.name, low.clone(), high.clone());
            write = write.range_bytes(&dimension.name, low, high);
        }
        let there = BatchReader::new(&array, read.batches().map_err(of_array)?, self.options.arrow);
        let mut stream = write.stream(memory).map_err(of_array)?;
        let mut given = Given { batches, place, current: None, ended: false, done: 0 };
        let mut at = 0u64;
        for batch in there.map_err(of_arrow)? {
            let batch = batch?;
            let end = at + count(batch.num_rows());
            let batch = given.put_into(batch, at..end)?;
            at = end;
            rows::check_ascii(self.state.array.schema(), &batch)?;
            let cells = mapping.write_batch(&batch).map_err(of_arrow)?;
            drop(batch);
            stream.append(&cells.columns()).map_err(of_array)?;
        }
        if given.next()?.is_some() {
            return Err(internal("a row of a dense write has no cell"));
        }
        stream.commit().map_err(of_array)?;
        Ok(given.done)
    }
}

/// The positions of cells in a box, in row-major order.
struct Place {
    coordinates: Coordinates,
    sides: Vec<Side>,
    /// The number of cells of the box.
    cells: u64,
}

struct Side {
    dimension: Dimension,
    low: u64,
    /// Cells from one coordinate to the next.
    step: u64,
}

impl Place {
    fn new(dimensions: &[Dimension], ranges: &[Range]) -> Result<Self> {
        let coordinates = Coordinates::new(dimensions).map_err(of_arrow)?;
        let (mut sides, mut cells) = (Vec::with_capacity(dimensions.len()), 1u64);
        for (dimension, range) in dimensions.iter().zip(ranges).rev() {
            let ends = dimension.ordinal(&range.low).zip(dimension.ordinal(&range.high));
            let (low, high) = ends.ok_or_else(|| internal("a dimension of a dense array has no order"))?;
            sides.push(Side { dimension: dimension.clone(), low, step: cells });
            let side = high.checked_sub(low).and_then(|last| last.checked_add(1));
            // More than there can be is too many.
            cells = side.and_then(|side| cells.checked_mul(side)).unwrap_or(u64::MAX);
        }
        Ok(Self { coordinates, sides, cells })
    }

    /// The positions of rows.
    fn of(&self, batch: &RecordBatch) -> Result<Vec<u64>> {
        let cells = self.coordinates.of(batch).map_err(of_arrow)?;
        let position = |row: usize| {
            self.sides.iter().try_fold(0u64, |sum, side| {
                let ordinal = side.dimension.ordinal(cells.cell(&side.dimension.name, row)?)?;
                sum.checked_add(ordinal.checked_sub(side.low)?.checked_mul(side.step)?)
            })
        };
        let positions = (0..batch.num_rows()).map(position).collect::<Option<Vec<_>>>();
        positions.ok_or_else(|| internal("a row outside of the box around all rows"))
    }
}

/// The rows that are given, in order.
struct Given {
    batches: Batches,
    place: Place,
    /// A batch, the positions of its rows, and the number of those that are done.
    current: Option<(RecordBatch, Vec<u64>, usize)>,
    /// Whether there are no more batches: nothing comes behind the end mark.
    ended: bool,
    done: u64,
}

impl Given {
    /// The rows of the next batch, with their positions.
    fn next(&mut self) -> Result<Option<&mut (RecordBatch, Vec<u64>, usize)>> {
        let is_done = |(batch, _, done): &(RecordBatch, Vec<u64>, usize)| *done >= batch.num_rows();
        if !self.ended && self.current.as_ref().is_none_or(is_done) {
            self.current = match next(&mut self.batches)? {
                Some(batch) => {
                    let positions = self.place.of(&batch)?;
                    Some((batch, positions, 0))
                }
                None => {
                    self.ended = true;
                    None
                }
            };
        }
        Ok(self.current.as_mut())
    }

    /// Puts the rows at these positions into a batch that has all of them.
    fn put_into(&mut self, there: RecordBatch, at: core::ops::Range<u64>) -> Result<RecordBatch> {
        let mut chosen: Vec<(usize, usize)> = (0..there.num_rows()).map(|row| (0, row)).collect();
        let mut parts: Vec<RecordBatch> = Vec::new();
        let mut put = 0u64;
        while let Some((batch, positions, done)) = self.next()? {
            let part = parts.len() + 1;
            let before = put;
            while let Some(position) = positions.get(*done).filter(|position| at.contains(*position)) {
                let row = usize::try_from(position - at.start).ok();
                let chosen = row.and_then(|row| chosen.get_mut(row));
                let chosen = chosen.ok_or_else(|| internal("a row has no cell in its batch"))?;
                if chosen.0 != 0 {
                    return exec_err!("two rows have the same coordinates. Nothing was written");
                }
                *chosen = (part, *done);
                *done += 1;
                put += 1;
            }
            if put > before {
                parts.push(batch.clone());
            }
            if *done < batch.num_rows() {
                break;
            }
        }
        self.done += put;
        if parts.is_empty() {
            return Ok(there);
        }
        let column = |(index, own): (usize, &ArrayRef)| -> Result<ArrayRef> {
            let name = there.schema_ref().field(index).name();
            let mut all = vec![own.clone()];
            for part in &parts {
                let column = part.column_by_name(name).ok_or_else(|| internal("a row lacks a column"))?;
                all.push(cast(column, own.data_type())?);
            }
            let all: Vec<_> = all.iter().map(AsRef::as_ref).collect();
            Ok(interleave(&all, &chosen)?)
        };
        let columns = there.columns().iter().enumerate().map(column).collect::<Result<Vec<_>>>()?;
        Ok(RecordBatch::try_new(Arc::clone(there.schema_ref()), columns)?)
    }
}
