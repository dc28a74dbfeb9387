//! The room that rows need in an array: its current domain grows with them.

use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::common::exec_err;
use tdb_array::schema::{ArraySchema, Dimension, Range};
use tdb_array::storage::WriteStorage;
use tdb_array::write::SchemaEvolution;
use tdb_arrow::Coordinates;

use super::count;
use crate::Result;
use crate::error::{of_array, of_arrow};
use crate::options::TableOptions;

/// The smallest box around some rows.
#[derive(Debug)]
pub(super) struct Room {
    dimensions: Vec<Dimension>,
    coordinates: Coordinates,
    pub(super) rows: u64,
    spans: Vec<Option<Range>>,
}

impl Room {
    pub(super) fn new(schema: &ArraySchema) -> Result<Self> {
        let dimensions = schema.domain.dimensions.clone();
        let coordinates = Coordinates::new(&dimensions).map_err(of_arrow)?;
        let spans = vec![None; dimensions.len()];
        Ok(Self { dimensions, coordinates, rows: 0, spans })
    }

    /// Adds the rows of a batch. A coordinate outside of the domain is refused.
    pub(super) fn add(&mut self, batch: &RecordBatch) -> Result<()> {
        let cells = self.coordinates.of(batch).map_err(of_arrow)?;
        for (dimension, span) in self.dimensions.iter().zip(&mut self.spans) {
            if let Err(row) = cells.span(dimension, span) {
                let row = self.rows + count(row) + 1;
                return exec_err!(
                    "the value of row {row} in the column {} is outside of the domain of this dimension, which cannot grow. Nothing was \
                     written",
                    dimension.name
                );
            }
        }
        self.rows += count(batch.num_rows());
        Ok(())
    }

    /// The box; `None` without rows.
    pub(super) fn ranges(&self) -> Option<Vec<Range>> {
        self.spans.iter().cloned().collect()
    }

    /// The box, if the current domain of the array lacks a part of it.
    pub(super) fn missing(&self, schema: &ArraySchema) -> Option<Vec<Range>> {
        let current = schema.current_domain.as_ref()?;
        let ranges = self.ranges()?;
        let lacks = |((dimension, span), current): ((&Dimension, &Range), &Range)| {
            // An empty high end of text means that the interval is open.
            let open = dimension.is_var() && current.high.is_empty();
            let below = Range::compare(dimension.datatype, &current.low, &span.low).is_le();
            !(below && open || current.covers(dimension.datatype, span))
        };
        let is_missing = self.dimensions.iter().zip(&ranges).zip(&current.ranges).any(lacks);
        is_missing.then_some(ranges)
    }
}

/// Lets the current domain of an array grow as far as a box needs it. It stays so if the rows are
/// not written afterwards.
pub(super) fn grow(
    storage: &Arc<dyn WriteStorage>,
    options: &TableOptions,
    ranges: Vec<Range>,
) -> Result<()> {
    // Another process may need the same at the same time.
    let evolution = SchemaEvolution::new().where_needed().expand_current_domain(ranges);
    options.write_options().evolve_storage(storage.clone(), &evolution).map_err(of_array)?;
    Ok(())
}
