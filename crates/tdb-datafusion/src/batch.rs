//! The batches that table functions return.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch, StringArray, TimestampMillisecondArray, UInt64Array};

use crate::Result;

/// A batch of these columns, with their names.
pub(crate) fn batch(columns: Vec<(&str, ArrayRef)>) -> Result<RecordBatch> {
    Ok(RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, column)| (name, column, true)),
    )?)
}

/// Milliseconds since 1970. A time that is later than any date has none.
pub(crate) fn times(times: impl Iterator<Item = Option<u64>>) -> ArrayRef {
    let times = times.map(|time| i64::try_from(time?).ok());
    Arc::new(times.collect::<TimestampMillisecondArray>().with_timezone("UTC"))
}

/// Texts as a column.
pub(crate) fn texts<T: AsRef<str>>(texts: impl Iterator<Item = Option<T>>) -> ArrayRef {
    Arc::new(texts.collect::<StringArray>())
}

/// Counts as a column.
pub(crate) fn counts(counts: impl Iterator<Item = Option<u64>>) -> ArrayRef {
    Arc::new(counts.collect::<UInt64Array>())
}
