//! A read that was begun: its batches, and how much of the present ones the caller has.

use tdb_array::query::Batches;
use tdb_array::{Array, Cells, Column};

use super::fill::Filled;
use super::loans::Loans;
use crate::ffi::Failure;
use crate::query::buffers::{Buffers, FieldType};
use crate::query::offsets::OffsetsFormat;

/// A read that was begun.
pub(crate) struct Reading {
    array: Array,
    /// The cells, unless nothing but aggregates was asked for, and the values of each label.
    streams: Vec<Stream>,
}

/// Fields whose cells belong together.
pub(super) struct Stream {
    fields: Vec<(String, FieldType)>,
    batches: Batches,
    /// The present batch, the number of its cells, and of those that the caller has.
    batch: Option<(Vec<Column>, usize, usize)>,
    is_over: bool,
    /// The caller's memory for columns of the next batch.
    loans: Loans,
}

impl Reading {
    /// A read of an array, from streams.
    pub(super) const fn new(array: Array, streams: Vec<Stream>) -> Self {
        Self { array, streams }
    }

    /// The array as it was when the read was begun.
    pub(super) const fn array(&self) -> &Array {
        &self.array
    }

    /// Fills the buffers with the cells that come next, and says whether these are the last.
    ///
    /// # Errors
    /// Reading failed.
    pub(super) fn fill(&mut self, buffers: &mut Buffers, format: OffsetsFormat) -> Result<bool, Failure> {
        let mut is_last = true;
        for stream in &mut self.streams {
            stream.fill(buffers, format)?;
            is_last &= stream.is_over;
        }
        Ok(is_last)
    }
}

impl Stream {
    /// The cells of these fields, in the order of their names.
    pub(super) fn new(fields: Vec<(String, FieldType)>, batches: Batches) -> Self {
        Self { fields, batches, batch: None, is_over: false, loans: Loans::default() }
    }

    /// The same cells; the batches ask these loans for memory.
    pub(super) fn lending(self, loans: Loans) -> Self {
        Self { loans, ..self }
    }

    fn fill(&mut self, buffers: &mut Buffers, format: OffsetsFormat) -> Result<(), Failure> {
        let mut filled = Filled::new(&self.fields, buffers, format)?;
        let round = self.loans.begin();
        while !self.is_over {
            let (mut columns, len, done) = match self.batch.take() {
                Some(batch) => batch,
                None => {
                    filled.offer(&self.fields, &round);
                    let next = self.batches.next();
                    round.take_back();
                    match next {
                        Some(batch) => columns_of(batch?),
                        None => {
                            self.is_over = true;
                            break;
                        }
                    }
                }
            };
            let taken = filled.take(&columns, done..len)?;
            let done = done.saturating_add(taken);
            if done < len {
                // What is kept for the next submit may not stay in the caller's memory.
                filled.detach(&mut columns);
                self.batch = Some((columns, len, done));
                break;
            }
        }
        filled.finish()
    }
}

fn columns_of(cells: Cells) -> (Vec<Column>, usize, usize) {
    let len = cells.len();
    (cells.into_columns(), len, 0)
}
