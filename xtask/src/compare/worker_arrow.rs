//! `{"op": "arrow", …}`: a read that ends in the form in which columnar engines return results, a
//! record batch whose text is `Utf8View`.

use std::time::Instant;

use serde_json::{Map, Value};
use tdb_array::{Array, Cells, OpenOptions};
use tdb_arrow::arrow_array::RecordBatch;
use tdb_arrow::{Mapping, Offsets, Options};

use super::batches::size;
use super::{Fallible, Query, describe};

/// The answer without the peak of memory, and the batches.
pub(super) fn read(
    query: &Query<'_>,
    options: &OpenOptions,
    threads: usize,
) -> Fallible<(Map<String, Value>, Vec<RecordBatch>)> {
    let started = Instant::now();
    let array = options.clone().open(query.array)?;
    let cells = query.read(&array)?.dictionary_codes(true).collect()?;
    let read = started.elapsed();
    // What other sides want to know is not timed.
    let mut answer = describe(&cells);
    let started = Instant::now();
    let batches = batches(&array, cells, threads)?;
    answer.insert("seconds".into(), (read + started.elapsed()).as_secs_f64().into());
    // Counted as the other sides count them.
    let (cells, bytes) = size(&batches);
    answer.insert("cells".into(), cells.into());
    answer.insert("bytes".into(), bytes.into());
    Ok((answer, batches))
}

fn batches(array: &Array, cells: Cells, threads: usize) -> Fallible<Vec<RecordBatch>> {
    let names: Vec<String> = cells.columns().iter().map(|column| column.name.clone()).collect();
    let known: Vec<&str> = names.iter().map(String::as_str).collect();
    let options = Options::new().offsets(Offsets::Views);
    Ok(Mapping::of_fields(array, &known, options)?.record_batches(cells, threads)?)
}
