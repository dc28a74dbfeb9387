//! The rows of an INSERT: what each must have, and how they are kept where the array has to be
//! changed before the first one is written.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, RecordBatch, UInt64Array};
use datafusion::arrow::datatypes::{DataType, Schema, UInt64Type};
use datafusion::common::exec_err;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::SpillManager;
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, SpillMetrics};
use futures_util::stream::{self, BoxStream};
use futures_util::{StreamExt, TryStreamExt};
use tdb_array::schema::{ArraySchema, Datatype, FieldKind};

use super::count;
use crate::Result;
use crate::error::internal;

/// Refuses a null in a column that has none, and names it.
pub(super) fn check_nulls(schema: &Schema, batch: &RecordBatch, first_row: u64) -> Result<()> {
    for (field, column) in schema.fields().iter().zip(batch.columns()) {
        let Some(nulls) = column.logical_nulls().filter(|nulls| nulls.null_count() > 0) else { continue };
        if field.is_nullable() {
            continue;
        }
        let at = (0..column.len()).find(|row| nulls.is_null(*row)).unwrap_or(0);
        let row = first_row + count(at) + 1;
        return exec_err!(
            "row {row} has no value for the column {}, which cannot be null. Nothing was written",
            field.name()
        );
    }
    Ok(())
}

/// Refuses text that is not ASCII for attributes that are. Dimensions of text have no other type:
/// what everybody writes to them is UTF-8.
pub(super) fn check_ascii(schema: &ArraySchema, batch: &RecordBatch) -> Result<()> {
    let attributes = schema.fields().filter(|field| matches!(field.kind, FieldKind::Attribute(_)));
    for field in attributes.filter(|field| field.datatype == Datatype::StringAscii) {
        // Writing the batch refuses one that lacks a column.
        let Some(column) = batch.column_by_name(field.name) else { continue };
        let wrong = match column.data_type() {
            DataType::Utf8 => column.as_string::<i32>().iter().flatten().find(|text| !text.is_ascii()),
            DataType::LargeUtf8 => column.as_string::<i64>().iter().flatten().find(|text| !text.is_ascii()),
            DataType::Utf8View => column.as_string_view().iter().flatten().find(|text| !text.is_ascii()),
            DataType::FixedSizeBinary(_) => {
                let bytes = column.as_fixed_size_binary().iter().flatten().find(|bytes| !bytes.is_ascii());
                if let Some(bytes) = bytes {
                    return refused(field.name, &bytes.escape_ascii().to_string());
                }
                None
            }
            _ => None,
        };
        if let Some(text) = wrong {
            return refused(field.name, text);
        }
    }
    Ok(())
}

fn refused(column: &str, text: &str) -> Result<()> {
    exec_err!(
        "'{text}' cannot be stored in the column {column}, which is STRING_ASCII: it is not ASCII. Nothing was written"
    )
}

/// The numbers of rows, where a dimension has them: a row without one gets the next.
#[derive(Debug)]
pub(super) struct Numbers {
    /// The position of the column.
    pub(super) column: usize,
    pub(super) next: u64,
}

impl Numbers {
    /// The batch, each of whose rows has a number.
    pub(super) fn complete(&mut self, batch: RecordBatch) -> Result<RecordBatch> {
        let Some(given) = batch.columns().get(self.column) else { return Ok(batch) };
        if given.null_count() == 0 {
            return Ok(batch);
        }
        let given = given.as_primitive_opt::<UInt64Type>();
        let given = given.ok_or_else(|| internal("the numbers of rows are of another type"))?;
        let mut number = |given: Option<u64>| {
            given.or_else(|| {
                let own = self.next;
                self.next = own.checked_add(1)?;
                Some(own)
            })
        };
        let numbers: UInt64Array = given.iter().map(&mut number).collect();
        let mut columns = batch.columns().to_vec();
        if let Some(column) = columns.get_mut(self.column) {
            *column = Arc::new(numbers) as ArrayRef;
        }
        Ok(RecordBatch::try_new(batch.schema(), columns)?)
    }
}

/// Reads all rows before the first one is given on: those that take more than `memory` wait in a
/// temporary file. `look` sees each batch, and may change it.
pub(super) async fn collect(
    mut rows: SendableRecordBatchStream,
    context: &TaskContext,
    memory: usize,
    mut look: impl FnMut(RecordBatch) -> Result<RecordBatch> + Send,
) -> Result<BoxStream<'static, Result<RecordBatch>>> {
    let (mut kept, mut held, mut spilled) = (Vec::new(), 0usize, None);
    while let Some(batch) = rows.try_next().await? {
        let batch = look(batch)?;
        if batch.num_rows() == 0 {
            continue;
        }
        let size = batch.get_array_memory_size();
        if spilled.is_none() && held + size <= memory {
            held += size;
            kept.push(batch);
            continue;
        }
        let (_, file) = match &mut spilled {
            Some(spilled) => spilled,
            none => {
                let metrics = SpillMetrics::new(&ExecutionPlanMetricsSet::new(), 0);
                let manager = SpillManager::new(context.runtime_env(), metrics, batch.schema());
                let file = manager.create_in_progress_file("rows to write")?;
                none.insert((manager, file))
            }
        };
        file.append_batch(&batch)?;
    }
    let rest = match spilled {
        Some((manager, mut file)) => {
            let file = file.finish()?;
            file.map(|file| manager.read_spill_as_stream(file, None)).transpose()?
        }
        None => None,
    };
    let kept = stream::iter(kept.into_iter().map(Ok));
    Ok(kept.chain(stream::iter(rest).flatten()).boxed())
}
