//! `INSERT INTO`: writes rows to an array in one write, which takes effect as a whole or not at
//! all.

mod dense;
mod room;
mod rows;

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{Field, Schema, SchemaRef};
use datafusion::common::DataFusionError;
use datafusion::common::runtime::SpawnedTask;
use datafusion::datasource::sink::DataSink;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::{DisplayAs, DisplayFormatType};
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use tdb_array::schema::{ArrayType, Range};
use tdb_array::storage::WriteStorage;
use tdb_arrow::Mapping;
use tokio::sync::mpsc::{Receiver, channel};

use self::room::Room;
use self::rows::Numbers;
use crate::Result;
use crate::error::{of_array, of_arrow};
use crate::options::TableOptions;
use crate::state::{TableState, TableStates};
use crate::tasks::blocking;
use crate::thresholds::{KEPT_ROWS_DIVISOR, MAX_INSERT_MEMORY, MIN_INSERT_MEMORY};

/// The destination of rows that are written.
#[derive(Debug)]
pub(crate) struct ArraySink {
    storage: Arc<dyn WriteStorage>,
    options: TableOptions,
    states: Arc<TableStates>,
    state: Arc<TableState>,
    /// Columns that may all be null: DataFusion would refuse nulls without naming the column.
    schema: SchemaRef,
}

impl ArraySink {
    pub(crate) fn new(
        storage: Arc<dyn WriteStorage>,
        options: TableOptions,
        states: Arc<TableStates>,
        state: Arc<TableState>,
    ) -> Self {
        let nullable = |field: &Arc<Field>| Field::clone(field).with_nullable(true);
        let fields: Vec<Field> = state.table.schema.fields().iter().map(nullable).collect();
        Self { storage, options, states, state, schema: Arc::new(Schema::new(fields)) }
    }

    /// The numbers that rows get which have none; `None` if the array does not number its rows.
    async fn numbers(&self) -> Result<Option<Numbers>> {
        let schema = self.state.array.schema();
        let dimension = schema.domain.row_numbers(ArrayType::Sparse);
        let Some(dimension) = dimension.filter(|_| schema.array_type == ArrayType::Sparse).cloned() else {
            return Ok(None);
        };
        let Some(column) = self.state.table.position(&dimension.name) else { return Ok(None) };
        let (options, storage) = (self.options.clone(), self.storage.clone());
        // What was written for the future has numbers, too.
        let array = blocking(move || options.whole_array(&storage).map_err(of_array)).await?;
        let last = array.bounds().and_then(|bounds| dimension.ordinal(&bounds.first()?.high));
        let first = last.map_or(0, |last| last.checked_add(1).unwrap_or(last));
        let first = dimension.coordinate(first).and_then(|first| first.try_into().ok());
        Ok(Some(Numbers { column, next: first.map_or(0, u64::from_le_bytes) }))
    }

    /// Looks at all rows before the first one is written, where the array may have to change for
    /// them. Returns them, the box around them, and the part of it that the array lacks.
    async fn prepared(
        &self,
        data: SendableRecordBatchStream,
        context: &TaskContext,
        memory: usize,
    ) -> Result<(BoxStream<'static, Result<RecordBatch>>, Room)> {
        let mut numbers = self.numbers().await?;
        let mut room = Room::new(self.state.array.schema())?;
        let rows = rows::collect(data, context, memory, |batch| {
            let batch = match &mut numbers {
                Some(numbers) => numbers.complete(batch)?,
                None => batch,
            };
            rows::check_nulls(&self.state.table.schema, &batch, room.rows)?;
            room.add(&batch)?;
            Ok(batch)
        });
        Ok((rows.await?, room))
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
        &self.schema
    }

    async fn write_all(&self, data: SendableRecordBatchStream, context: &Arc<TaskContext>) -> Result<u64> {
        let schema = self.state.array.schema();
        let reserved = reserve(context)?;
        let mut memory = reserved.size();
        let is_dense = schema.array_type == ArrayType::Dense;
        let looks = is_dense
            || schema.current_domain.is_some()
            || schema.domain.row_numbers(ArrayType::Sparse).is_some();
        let (mut rows, room) = if looks {
            let kept = memory / KEPT_ROWS_DIVISOR;
            memory -= kept;
            let (rows, room) = self.prepared(data, context, kept).await?;
            (rows, Some(room))
        } else {
            let nullable = self.state.table.schema.clone();
            let mut before = 0u64;
            let checked = data.map(move |batch| {
                let batch = batch?;
                rows::check_nulls(&nullable, &batch, before)?;
                before += count(batch.num_rows());
                Ok(batch)
            });
            (checked.boxed(), None)
        };
        let grows = room.as_ref().and_then(|room| room.missing(schema));
        let write = Write {
            storage: self.storage.clone(),
            options: self.options.clone(),
            state: self.state.clone(),
            memory,
            grows,
        };
        let states = self.states.clone();
        let (given, taken) = channel(1);
        let writing = SpawnedTask::spawn_blocking(move || {
            // Until the end, the memory is that of this write.
            let _reserved: MemoryReservation = reserved;
            let cells = match room.filter(|_| is_dense) {
                Some(room) => write.dense(taken, &room)?,
                None => write.sparse(taken)?,
            };
            // On this error, the caller must not write the rows again.
            states.refresh().map_err(|error| {
                error.context(format!(
                    "{cells} rows were written, but the table does not show them, because it cannot be opened again"
                ))
            })?;
            Ok(cells)
        });
        while let Some(batch) = rows.next().await {
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

/// Reserves memory of the session for a write, as much as is available.
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

/// Batches, and `None` as the end mark. If they end without it, nothing is written.
type Batches = Receiver<Option<RecordBatch>>;

/// The next batch; `None` at the end.
fn next(batches: &mut Batches) -> Result<Option<RecordBatch>> {
    loop {
        match batches.blocking_recv() {
            Some(Some(batch)) if batch.num_rows() == 0 => {}
            Some(batch) => return Ok(batch),
            None => return Err(DataFusionError::Execution("the rows to write ended with an error".into())),
        }
    }
}

/// A number of rows.
fn count(rows: usize) -> u64 {
    u64::try_from(rows).unwrap_or(u64::MAX)
}

/// A write of rows, on a thread that may block.
struct Write {
    storage: Arc<dyn WriteStorage>,
    options: TableOptions,
    state: Arc<TableState>,
    memory: usize,
    /// The room that the array lacks.
    grows: Option<Vec<Range>>,
}

impl Write {
    /// Gives the array the room that it lacks; returns the conversion of rows to its cells.
    fn begin(&mut self) -> Result<Mapping> {
        let Some(ranges) = self.grows.take() else { return Ok(self.state.table.mapping.clone()) };
        room::grow(&self.storage, &self.options, ranges)?;
        let array = self.options.array(&self.storage).map_err(of_array)?;
        Mapping::of(&array, self.options.arrow).map_err(of_arrow)
    }

    /// Writes rows to a sparse array, in any order; returns how many.
    fn sparse(mut self, mut batches: Batches) -> Result<u64> {
        let Some(first) = next(&mut batches)? else { return Ok(0) };
        let mapping = self.begin()?;
        let writer = self.options.write_options().open_storage(self.storage.clone()).map_err(of_array)?;
        let mut stream = writer.sparse_stream(self.memory).map_err(of_array)?;
        let (mut rows, mut batch) = (0, Some(first));
        while let Some(given) = batch {
            rows::check_ascii(self.state.array.schema(), &given)?;
            let cells = mapping.write_batch(&given).map_err(of_arrow)?;
            stream.append(&cells.columns()).map_err(of_array)?;
            rows += count(given.num_rows());
            drop(given);
            batch = next(&mut batches)?;
        }
        stream.commit().map_err(of_array)?;
        Ok(rows)
    }
}
