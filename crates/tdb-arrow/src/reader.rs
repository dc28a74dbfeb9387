//! Queries as readers of record batches.

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use tdb_array::query::Batches;
use tdb_array::{Array, Cells, Read};

use crate::error::Result;
use crate::mapping::Mapping;
use crate::options::Options;

/// The batches of a query, for any software that reads Arrow.
///
/// Each is as large as the query's memory budget allows ([`Read::memory`], [`Read::batch_memory`]);
/// parts without cells are left out, and so are cells of a dense array that a
/// [selection](Read::selection) does not select. After an error there are no more batches.
///
/// ```
/// use arrow_array::RecordBatchReader;
/// use tdb_array::Array;
///
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../xtask/fixtures/arrays/2.30.0/quickstart");
/// let array = Array::open(path)?;
/// let reader = tdb_arrow::batches(array.read().fields(["a"]), tdb_arrow::Options::new())?;
/// assert_eq!(reader.schema().field(0).name(), "a");
/// let rows: usize = reader.map(|batch| Ok(batch?.num_rows())).sum::<Result<_, arrow_schema::ArrowError>>()?;
/// assert_eq!(rows, 16);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// A query that does not fit the array, and errors of reading its first batch.
pub fn batches(read: Read, options: Options) -> Result<BatchReader> {
    let array = read.array().clone();
    BatchReader::new(&array, read.batches()?, options)
}

/// A reader of record batches over a query: made by [`batches`].
#[derive(Debug)]
#[must_use = "batches are read as the reader is advanced"]
pub struct BatchReader {
    mapping: Mapping,
    schema: SchemaRef,
    /// The first batch, which determines the schema.
    first: Option<Cells>,
    batches: Option<Batches>,
}

impl BatchReader {
    /// Reads batches of this array that have not been started.
    ///
    /// # Errors
    /// Errors of reading the first batch, and a missing or damaged enumeration.
    pub fn new(array: &Array, mut batches: Batches, options: Options) -> Result<Self> {
        // A query has at least one batch, even if it has no cells.
        let first = batches.next().transpose()?;
        let mapping = match &first {
            Some(cells) => mapping(array, cells, options)?,
            None => Mapping::of_fields(array, &[], options)?,
        };
        let schema = match &first {
            Some(cells) => mapping.schema_of_cells(cells)?,
            None => mapping.arrow_schema([""; 0])?.into(),
        };
        Ok(Self { mapping, schema, first, batches: Some(batches) })
    }

    /// The mapping between the array and Arrow.
    #[must_use]
    pub const fn mapping(&self) -> &Mapping {
        &self.mapping
    }

    fn read(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            let cells = match (self.first.take(), &mut self.batches) {
                (Some(cells), _) => cells,
                (None, Some(batches)) => match batches.next().transpose()? {
                    Some(cells) => cells,
                    None => return Ok(None),
                },
                (None, None) => return Ok(None),
            };
            let cells = cells.into_selected()?;
            if !cells.is_empty() {
                return self.mapping.record_batch_of(cells, &self.schema).map(Some);
            }
        }
    }
}

impl Iterator for BatchReader {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = self.read();
        if !matches!(batch, Ok(Some(_))) {
            (self.first, self.batches) = (None, None);
        }
        batch.map_err(ArrowError::from).transpose()
    }
}

impl RecordBatchReader for BatchReader {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}

/// The mapping of an array, for the columns of some cells.
fn mapping(array: &Array, cells: &Cells, options: Options) -> Result<Mapping> {
    let names: Vec<&str> = cells.columns().iter().map(|column| column.name.as_str()).collect();
    Mapping::of_fields(array, &names, options)
}
