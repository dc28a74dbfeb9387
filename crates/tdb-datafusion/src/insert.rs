//! `INSERT INTO`: writes rows to a sparse array in one write, which takes effect as a whole or not
//! at all.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::array::{Array, AsArray, RecordBatch};
use datafusion::arrow::datatypes::{DataType, SchemaRef};
use datafusion::common::runtime::SpawnedTask;
use datafusion::common::{DataFusionError, exec_err};
use datafusion::datasource::sink::DataSink;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::{DisplayAs, DisplayFormatType};
use futures_util::StreamExt;
use tdb_array::schema::{ArraySchema, Datatype};
use tdb_array::storage::WriteStorage;
use tokio::sync::mpsc::{Receiver, channel};

use crate::Result;
use crate::error::{of_array, of_arrow};
use crate::options::TableOptions;
use crate::state::{TableState, TableStates};
use crate::thresholds::{MAX_INSERT_MEMORY, MIN_INSERT_MEMORY};

/// The destination of inserted rows.
#[derive(Debug)]
pub(crate) struct ArraySink {
    storage: Arc<dyn WriteStorage>,
    options: TableOptions,
    states: Arc<TableStates>,
    state: Arc<TableState>,
}

impl ArraySink {
    pub(crate) const fn new(
        storage: Arc<dyn WriteStorage>,
        options: TableOptions,
        states: Arc<TableStates>,
        state: Arc<TableState>,
    ) -> Self {
        Self { storage, options, states, state }
    }
}

impl DisplayAs for ArraySink {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TileDB array")
    }
}

#[async_trait]
impl DataSink for ArraySink {
    fn schema(&self) -> &SchemaRef {
        &self.state.table.schema
    }

    async fn write_all(
        &self,
        mut data: SendableRecordBatchStream,
        context: &Arc<TaskContext>,
    ) -> Result<u64> {
        let (given, taken) = channel(1);
        let (storage, options) = (self.storage.clone(), self.options.clone());
        let (states, state) = (self.states.clone(), self.state.clone());
        let memory = reserve(context)?;
        let writing = SpawnedTask::spawn_blocking(move || {
            let cells = write(storage, &options, &state, taken, &memory)?;
            // On this error, the caller must not insert the rows again.
            states.refresh().map_err(|error| {
                error.context(format!(
                    "{cells} rows were inserted, but the table does not show them, because it cannot be opened again"
                ))
            })?;
            Ok(cells)
        });
        while let Some(batch) = data.next().await {
            // On an error, the write ends without the end mark, so it does not take effect.
            if given.send(Some(batch?)).await.is_err() {
                break;
            }
        }
        // If nobody receives it, the write has failed and returns the error.
        let _ = given.send(None).await;
        writing.await.map_err(|error| DataFusionError::External(Box::new(error)))?
    }
}

/// Reserves memory of the session for an INSERT, as much as is available.
fn reserve(context: &TaskContext) -> Result<MemoryReservation> {
    let reservation = MemoryConsumer::new("TileDB INSERT").register(context.memory_pool());
    let mut wanted = MAX_INSERT_MEMORY;
    loop {
        match reservation.try_grow(wanted) {
            Ok(()) => return Ok(reservation),
            Err(_) if wanted > MIN_INSERT_MEMORY => wanted = (wanted / 2).max(MIN_INSERT_MEMORY),
            Err(error) => return Err(error),
        }
    }
}

/// Writes batches until it receives `None` as the end mark. If the input ends without it, no rows
/// are committed.
fn write(
    storage: Arc<dyn WriteStorage>,
    options: &TableOptions,
    state: &TableState,
    mut batches: Receiver<Option<RecordBatch>>,
    memory: &MemoryReservation,
) -> Result<u64> {
    let writer = options.write_options().open_storage(storage).map_err(of_array)?;
    let mut stream = writer.sparse_stream(memory.size()).map_err(of_array)?;
    let mut rows = 0usize;
    loop {
        match batches.blocking_recv() {
            Some(Some(batch)) if batch.num_rows() == 0 => {}
            Some(Some(batch)) => {
                check_ascii(state.array.schema(), &batch)?;
                let cells = state.table.mapping.write_batch(&batch).map_err(of_arrow)?;
                stream.append(&cells.columns()).map_err(of_array)?;
                rows += batch.num_rows();
            }
            Some(None) if rows == 0 => return Ok(0),
            Some(None) => {
                stream.commit().map_err(of_array)?;
                return u64::try_from(rows).map_err(|error| DataFusionError::External(Box::new(error)));
            }
            None => return Err(DataFusionError::Execution("the rows to insert ended with an error".into())),
        }
    }
}

/// Refuses text that is not ASCII for columns that are.
fn check_ascii(schema: &ArraySchema, batch: &RecordBatch) -> Result<()> {
    for field in schema.fields().filter(|field| field.datatype == Datatype::StringAscii) {
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
        "INSERT: '{text}' cannot be stored in the column {column}, which is STRING_ASCII: it is not ASCII. Nothing was written"
    )
}
