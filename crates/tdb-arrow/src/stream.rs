//! Asynchronous queries as streams of record batches.

use core::pin::Pin;
use core::task::{Context, Poll};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use futures_core::Stream;
use tdb_array::query::AsyncBatches;
use tdb_array::{Array, Cells, Read};

use crate::error::Result;
use crate::mapping::{self, Mapping};
use crate::options::Options;

/// The batches of a query, asynchronously: [`Read::batches_async`] as record batches. The first
/// batch is awaited here, because it determines the schema.
///
/// # Errors
/// A query that does not fit the array, and errors of reading its first batch.
pub async fn batches_async(read: Read, options: Options) -> Result<AsyncBatchReader> {
    let array = read.array().clone();
    let mut batches = read.batches_async();
    let first = batches.next().await.transpose()?;
    let columns = first.as_ref().map(Cells::columns).unwrap_or_default();
    let names = columns.iter().map(|column| column.name.clone()).collect();
    let mapping = of_fields(&array, names, options).await?;
    let schema = match &first {
        Some(cells) => mapping.schema_of_cells(cells)?,
        None => mapping.arrow_schema([""; 0])?.into(),
    };
    Ok(AsyncBatchReader { mapping, schema, first, batches: Some(batches) })
}

async fn of_fields(array: &Array, fields: Vec<String>, options: Options) -> Result<Mapping> {
    let ask = move |array: &Array| {
        mapping::enumerations(array, &fields.iter().map(String::as_str).collect::<Vec<_>>())
    };
    Mapping::new(array.schema(), array.run_async(ask).await?, options)
}

impl Mapping {
    /// [`Self::of`], asynchronously: also for an array that was opened asynchronously.
    ///
    /// # Errors
    /// As [`Self::of`].
    pub async fn of_async(array: &Array, options: Options) -> Result<Self> {
        let attributes = array.schema().attributes.iter();
        of_fields(array, attributes.map(|attribute| attribute.name.clone()).collect(), options).await
    }
}

/// A stream of record batches over a query: made by [`batches_async`]. After an error there are no
/// more batches. Dropping it ends the query.
#[must_use = "batches are read as the stream is polled"]
pub struct AsyncBatchReader {
    mapping: Mapping,
    schema: SchemaRef,
    /// The first batch, which determines the schema.
    first: Option<Cells>,
    batches: Option<AsyncBatches>,
}

impl AsyncBatchReader {
    /// The schema of all batches.
    #[must_use]
    pub fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn poll_cells(&mut self, context: &mut Context<'_>) -> Poll<Option<tdb_array::Result<Cells>>> {
        match (self.first.take(), &mut self.batches) {
            (Some(cells), _) => Poll::Ready(Some(Ok(cells))),
            (None, Some(batches)) => batches.poll_next(context),
            (None, None) => Poll::Ready(None),
        }
    }
}

impl Stream for AsyncBatchReader {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            let batch = match self.poll_cells(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Some(Ok(cells))) if cells.is_empty() => continue,
                Poll::Ready(Some(Ok(cells))) => Some(self.mapping.record_batch_of(cells, &self.schema)),
                Poll::Ready(Some(Err(error))) => Some(Err(error.into())),
                Poll::Ready(None) => None,
            };
            if !matches!(batch, Some(Ok(_))) {
                (self.first, self.batches) = (None, None);
            }
            return Poll::Ready(batch);
        }
    }
}
