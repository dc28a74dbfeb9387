//! Reads one partition of a scan on a thread that may block, within the memory of the session.
//!
//! Numbers of bytes below are budgets: where one saturates, more than there is is asked for.

use std::sync::Arc;

use datafusion::arrow::array::{RecordBatch, RecordBatchOptions};
use datafusion::error::DataFusionError;
use datafusion::execution::TaskContext;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryLimit, MemoryReservation};
use datafusion::physical_plan::metrics::{BaselineMetrics, RecordOutput};
use tdb_array::error::QueryError;
use tdb_array::query::Batches;
use tdb_array::{Cells, Error, MemoryBudget, Read};
use tokio::sync::mpsc::Sender;

use crate::Result;
use crate::dynamic::{CurrentFilter, DynamicFilters};
use crate::error::{of_array, of_arrow};
use crate::scan::Scan;
use crate::thresholds::{
    BATCH_MEMORY_DIVISOR, BYTES_BETWEEN_FILTERS, MAX_FILTER_PARTS, MAX_SCAN_MEMORY, MIN_PARTITION_MEMORY,
    QUERY_MEMORY_DIVISOR,
};

/// A partition to read.
#[derive(Debug)]
pub(crate) struct PartitionRead {
    pub(crate) read: Read,
    pub(crate) scan: Arc<Scan>,
    pub(crate) limit: Option<usize>,
    pub(crate) partition: usize,
    pub(crate) dynamic: DynamicFilters,
    pub(crate) metrics: BaselineMetrics,
}

/// Reads a partition, and sends its batches until nobody receives them any more.
pub(crate) fn run(
    part: PartitionRead,
    context: &TaskContext,
    batches: &Sender<Result<RecordBatch>>,
) -> Result<()> {
    let rows = context.session_config().batch_size().max(1);
    let consumer = MemoryConsumer::new(format!("TdbExec[{}]", part.partition));
    let reservation = reserve(consumer.register(context.memory_pool()), part.scan.parts.len(), context)?;
    let mut left = part.limit.unwrap_or(usize::MAX);
    let from_join = part.dynamic.are_from_join(&part.scan.state);
    for read in parts(&part, from_join)? {
        if left == 0 {
            break;
        }
        let read = match part.dynamic.now(&part.scan.state) {
            Some(CurrentFilter::Nothing) => break,
            // The filter is the same in all partitions: what they find out together may depend on
            // it.
            Some(CurrentFilter::Where(condition)) if from_join => read.condition(condition),
            Some(CurrentFilter::Where(condition)) => read.and_condition(condition),
            None => read,
        };
        if !send(&part, read, rows, &mut left, &reservation, batches)? {
            return Ok(());
        }
    }
    part.metrics.done();
    Ok(())
}

/// The reads of a partition, one after the other: several if filters may become stricter in
/// between, as those of a sort do. Those of a join do not change.
fn parts(part: &PartitionRead, from_join: bool) -> Result<Vec<Read>> {
    if part.dynamic.is_empty() || from_join {
        return Ok(vec![part.read.clone()]);
    }
    let bytes = part.scan.bytes.checked_div(u64::try_from(part.scan.parts.len()).unwrap_or(1)).unwrap_or(0);
    let parts =
        usize::try_from(bytes / BYTES_BETWEEN_FILTERS).unwrap_or(MAX_FILTER_PARTS).clamp(1, MAX_FILTER_PARTS);
    let read = part.read.clone();
    match part.scan.whole {
        Some(_) => read.tile_partitions(parts),
        None => read.partitions(parts),
    }
    .map_err(of_array)
}

/// Sends the batches of a read; false if nobody receives them any more.
fn send(
    part: &PartitionRead,
    read: Read,
    rows: usize,
    left: &mut usize,
    reservation: &MemoryReservation,
    batches: &Sender<Result<RecordBatch>>,
) -> Result<bool> {
    let elapsed = part.metrics.elapsed_compute().clone();
    let timer = elapsed.timer();
    let mut least = 0;
    let mut cells = open(part, read.clone(), reservation, &mut least)?;
    timer.done();
    while *left > 0 {
        let timer = elapsed.timer();
        let Some(found) = cells.next() else { break };
        let found = match found {
            // Nothing was sent yet: more memory may be had.
            Err(Error::Query(QueryError::BudgetTooSmall { budget, min })) if cells.progress().cells == 0 => {
                grow(reservation, &mut least, budget, min)?;
                cells = open(part, read.clone(), reservation, &mut least)?;
                continue;
            }
            found => found.and_then(Cells::into_selected).map_err(of_array)?,
        };
        if found.is_empty() {
            continue;
        }
        let batch = match part.scan.schema.fields().is_empty() {
            // The column was read only to count its rows: Arrow need not be able to hold its
            // values.
            true => rows_alone(found.len(), &part.scan)?,
            false => part.scan.mapping.record_batch(found).map_err(of_arrow)?,
        };
        timer.done();
        let mut start = 0usize;
        while start < batch.num_rows() && *left > 0 {
            let count = rows.min(batch.num_rows() - start).min(*left);
            let slice = columns(&batch.slice(start, count), &part.scan)?;
            let _ = (&slice).record_output(&part.metrics);
            if batches.blocking_send(Ok(slice)).is_err() {
                return Ok(false);
            }
            (start, *left) = (start + count, *left - count);
        }
    }
    Ok(true)
}

/// A batch of rows without columns. To count the rows, one column was read.
fn rows_alone(count: usize, scan: &Scan) -> Result<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(count));
    Ok(RecordBatch::try_new_with_options(scan.schema.clone(), Vec::new(), &options)?)
}

/// The columns that the query requested, with the schema of the scan: others were read for filters.
fn columns(batch: &RecordBatch, scan: &Scan) -> Result<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    let wanted = scan.schema.fields().len();
    let columns = batch.columns().iter().take(wanted).cloned().collect();
    Ok(RecordBatch::try_new_with_options(scan.schema.clone(), columns, &options)?)
}

/// Reserves memory of the session for one of some partitions: its share of the free memory, or as
/// much as is available.
pub(crate) fn reserve(
    reservation: MemoryReservation,
    parts: usize,
    context: &TaskContext,
) -> Result<MemoryReservation> {
    let pool = context.memory_pool();
    let free = match pool.memory_limit() {
        MemoryLimit::Finite(limit) => limit.saturating_sub(pool.reserved()) / 2,
        MemoryLimit::Infinite | MemoryLimit::Unknown => MAX_SCAN_MEMORY,
    };
    let mut wanted = (free.min(MAX_SCAN_MEMORY) / parts.max(1)).max(MIN_PARTITION_MEMORY);
    loop {
        match reservation.try_grow(wanted) {
            Ok(()) => return Ok(reservation),
            Err(_) if wanted > MIN_PARTITION_MEMORY => wanted = (wanted / 2).max(MIN_PARTITION_MEMORY),
            Err(error) => return Err(error),
        }
    }
}

/// Begins the read within the reserved memory; if that is too little for a single batch, within a
/// larger reservation that is enough. A batch may take `least` bytes even where that is more than
/// its share.
fn open(
    part: &PartitionRead,
    read: Read,
    reservation: &MemoryReservation,
    least: &mut usize,
) -> Result<Batches> {
    // No batch is held yet. If this is too little, the read says how much it needs.
    match read.clone().memory(budget(reservation.size())).find_visible_cells() {
        Err(Error::Query(QueryError::BudgetTooSmall { .. } | QueryError::OverBudget { .. })) | Ok(()) => {}
        Err(error) => return Err(of_array(error)),
    }
    loop {
        let memory = reservation.size();
        let batch = (memory / BATCH_MEMORY_DIVISOR).max(*least);
        let mut read = read.clone().memory(budget(memory / QUERY_MEMORY_DIVISOR)).batch_memory(budget(batch));
        if let Some(limit) = part.limit {
            // At first no more than the requested rows, with room for those that a condition
            // rejects.
            let bytes = u64::try_from(limit).unwrap_or(u64::MAX).saturating_mul(part.scan.row_bytes);
            let bytes = usize::try_from(bytes.saturating_mul(4)).unwrap_or(usize::MAX);
            read = read.initial_batch_memory(budget(bytes.max(64 << 10)));
        }
        match read.batches() {
            Ok(batches) => return Ok(batches),
            Err(Error::Query(QueryError::BudgetTooSmall { budget, min })) => {
                grow(reservation, least, budget, min)?;
            }
            Err(error) => return Err(of_array(error)),
        }
    }
}

fn budget(bytes: usize) -> MemoryBudget {
    MemoryBudget::from_bytes(u64::try_from(bytes).unwrap_or(u64::MAX))
}

/// Makes room after a `budget`, that of the query or of a batch, was too small: the query gets at
/// least `min`, and so may a batch. More memory is reserved only if the query's share is too small
/// for that.
fn grow(
    reservation: &MemoryReservation,
    least: &mut usize,
    budget: MemoryBudget,
    min: MemoryBudget,
) -> Result<()> {
    let bytes = |budget: MemoryBudget| usize::try_from(budget.bytes()).unwrap_or(usize::MAX);
    let (memory, budget, min) = (reservation.size(), bytes(budget), bytes(min));
    let is_of_batch = budget < memory / QUERY_MEMORY_DIVISOR;
    // Beside a batch, the query has threads and a plan.
    let of_query = if is_of_batch { min.saturating_mul(2) } else { min };
    let enough = of_query.saturating_mul(QUERY_MEMORY_DIVISOR);
    if min <= budget || (is_of_batch && min <= *least) {
        let what = format!("a batch needs {min} bytes of memory, and has {budget}");
        return Err(DataFusionError::ResourcesExhausted(what));
    }
    if is_of_batch {
        *least = min;
    }
    if enough > memory {
        reservation.try_grow(enough.saturating_sub(memory))?;
    }
    Ok(())
}
