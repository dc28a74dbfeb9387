//! Cells of an array as record batches.

use core::ops::Range;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, SchemaRef};
use tdb_array::Cells;
use tdb_cells::parallel;

use super::Mapping;
use crate::columns::Parts;
use crate::error::Result;

/// The most rows of a batch that [`Mapping::record_batches`] makes.
pub const BATCH_ROWS: usize = 1 << 17;

impl Mapping {
    /// Converts cells to a batch: values and offsets are not copied, except for types that the
    /// table of types marks as copied.
    ///
    /// # Errors
    /// Text that is not UTF-8, or another value that the type chosen with
    /// [`Options`](crate::Options) cannot represent.
    pub fn record_batch(&self, cells: Cells) -> Result<RecordBatch> {
        let schema = self.schema_of_cells(&cells)?;
        self.record_batch_of(cells, &schema)
    }

    /// Converts cells to a batch with this schema, which must be that of the cells.
    pub(crate) fn record_batch_of(&self, cells: Cells, schema: &SchemaRef) -> Result<RecordBatch> {
        let rows = cells.len();
        let parts = cells.into_columns().into_iter().map(|column| Ok(Parts::new(column, rows)));
        self.batch_of(parts, rows, schema)
    }

    /// Converts columns of `rows` cells to a batch with this schema.
    fn batch_of(
        &self,
        columns: impl Iterator<Item = Result<Parts>>,
        rows: usize,
        schema: &SchemaRef,
    ) -> Result<RecordBatch> {
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let columns = columns.zip(schema.fields()).map(|(parts, field)| {
            let parts = parts?;
            let known = self.known(&parts.name).and_then(|known| known.values.as_ref());
            match (field.data_type(), known) {
                (DataType::Dictionary(..), Some(values)) => parts.into_dictionary(field.data_type(), values),
                (data_type, _) => parts.into_array(data_type),
            }
        });
        let columns = columns.collect::<Result<Vec<_>>>()?;
        Ok(RecordBatch::try_new_with_options(schema.clone(), columns, &options)?)
    }

    /// Converts cells to batches of at most [`BATCH_ROWS`] rows with `threads` threads: what is
    /// checked and converted, above all text, takes as many times less time. At least one batch,
    /// even without cells.
    ///
    /// ```
    /// use tdb_array::Array;
    /// use tdb_arrow::{Mapping, Offsets, Options};
    ///
    /// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../xtask/fixtures/arrays/2.30.0/quickstart");
    /// let array = Array::open(path)?;
    /// let mapping = Mapping::of(&array, Options::new().offsets(Offsets::Views))?;
    /// let batches = mapping.record_batches(array.read().collect()?, 2)?;
    /// assert_eq!(batches.iter().map(|batch| batch.num_rows()).sum::<usize>(), 16);
    /// # Ok::<(), tdb_arrow::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Self::record_batch`].
    pub fn record_batches(&self, cells: Cells, threads: usize) -> Result<Vec<RecordBatch>> {
        let schema = self.schema_of_cells(&cells)?;
        let rows = cells.len();
        if rows <= BATCH_ROWS {
            return Ok(vec![self.record_batch_of(cells, &schema)?]);
        }
        let columns = cells.into_columns().into_iter().zip(schema.fields()).map(|(column, field)| {
            let mut parts = Parts::new(column, rows);
            parts.convert_strings(field.data_type(), threads)?;
            Ok(parts)
        });
        let columns: Vec<Parts> = columns.collect::<Result<_>>()?;
        let bands = (0..rows).step_by(BATCH_ROWS);
        let bands: Vec<_> = bands.map(|start| start..start.saturating_add(BATCH_ROWS).min(rows)).collect();
        let convert = |band: Range<usize>, (): &mut ()| {
            let parts = columns.iter().map(|column| column.band(band.clone()));
            Ok(self.batch_of(parts, band.len(), &schema))
        };
        parallel::run(threads, bands, || (), convert)?.into_iter().collect()
    }
}
