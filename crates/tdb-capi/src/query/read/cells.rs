//! A read that was begun: its batches, and how much of the present one the caller has.

use tdb_array::query::Batches;
use tdb_array::{Array, Cells, Column};

use super::fill::Filled;
use crate::ffi::Failure;
use crate::query::buffers::{Buffers, FieldType};
use crate::query::offsets::OffsetsFormat;

/// A read that was begun.
pub(crate) struct Reading {
    array: Array,
    fields: Vec<(String, FieldType)>,
    /// The cells, unless nothing but aggregates was asked for.
    batches: Option<Batches>,
    /// The present batch, and the number of its cells that the caller has.
    batch: Option<(Vec<Column>, usize, usize)>,
}

impl Reading {
    /// The cells of these fields.
    pub(super) const fn new(
        array: Array,
        fields: Vec<(String, FieldType)>,
        batches: Option<Batches>,
    ) -> Self {
        Self { array, fields, batches, batch: None }
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
        let mut filled = Filled::new(&self.fields, buffers, format)?;
        let is_last = loop {
            let (columns, len, done) = match self.batch.take() {
                Some(batch) => batch,
                None => match self.batches.as_mut().and_then(Iterator::next) {
                    Some(batch) => columns_of(batch?),
                    None => break true,
                },
            };
            let taken = filled.take(&columns, done..len)?;
            let done = done.saturating_add(taken);
            if done < len {
                self.batch = Some((columns, len, done));
                break false;
            }
        };
        filled.finish()?;
        Ok(is_last)
    }
}

fn columns_of(cells: Cells) -> (Vec<Column>, usize, usize) {
    let len = cells.len();
    (cells.into_columns(), len, 0)
}
