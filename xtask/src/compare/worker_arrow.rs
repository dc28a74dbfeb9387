//! `{"op": "arrow", …}`: a read that ends in the form in which columnar engines return results, a record batch whose text is
//! `Utf8View`.

use std::time::Instant;

use serde_json::{Map, Value};
use tdb_array::{Array, Cells, OpenOptions};
use tdb_arrow::arrow_array::RecordBatch;
use tdb_arrow::{Mapping, Options};

use super::batches::{size, viewed};
use super::{Fallible, Query, describe};

/// The answer without the peak of memory, and the batch.
pub(super) fn read(query: &Query<'_>, options: &OpenOptions) -> Fallible<(Map<String, Value>, RecordBatch)> {
    let started = Instant::now();
    let array = options.clone().open(query.array)?;
    let cells = query.run(&array)?;
    let mut answer = describe(&cells);
    let batch = batch(&array, cells)?;
    answer.insert("seconds".into(), started.elapsed().as_secs_f64().into());
    // Counted as the other sides count them.
    let (cells, bytes) = size(std::slice::from_ref(&batch));
    answer.insert("cells".into(), cells.into());
    answer.insert("bytes".into(), bytes.into());
    Ok((answer, batch))
}

fn batch(array: &Array, cells: Cells) -> Fallible<RecordBatch> {
    let names: Vec<String> = cells.columns().iter().map(|column| column.name.clone()).collect();
    let known: Vec<&str> = names.iter().map(String::as_str).collect();
    let batch = Mapping::of_fields(array, &known, Options::new())?.record_batch(cells)?;
    let columns = names.into_iter().zip(batch.columns()).map(|(name, column)| (name, viewed(column)));
    Ok(RecordBatch::try_from_iter(columns)?)
}
