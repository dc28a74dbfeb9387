//! One partition of a scan, read on a thread that may block, within the memory of the session.

use std::sync::Arc;

use datafusion::arrow::array::{RecordBatch, RecordBatchOptions};
use datafusion::error::DataFusionError;
use datafusion::execution::TaskContext;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryLimit, MemoryReservation};
use datafusion::physical_plan::metrics::BaselineMetrics;
use tdb_array::{Batches, Cells, Error, MemoryBudget, QueryError, Read};
use tokio::sync::mpsc::Sender;

use crate::Result;
use crate::dynamic::{Dynamic, Now};
use crate::error::{of_array, of_arrow};
use crate::scan::Scan;

/// The total memory of all partitions of a scan, if the session does not limit it.
const UNBOUNDED: usize = 1 << 30;
/// The minimum memory with which a partition begins.
const LEAST: usize = 1 << 20;
/// The query has half of the memory of a partition, and each batch that was handed out an eighth.
const OF_QUERY: usize = 2;
const OF_BATCH: usize = 8;

/// A partition to read.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) read: Read,
    pub(crate) scan: Arc<Scan>,
    pub(crate) limit: Option<usize>,
    pub(crate) partition: usize,
    pub(crate) dynamic: Dynamic,
    pub(crate) metrics: BaselineMetrics,
}

/// The bytes of rows after which a read asks again what dynamic filters say.
const BETWEEN_FILTERS: u64 = 2 << 20;
/// The maximum number of parts that a partition is cut into for dynamic filters.
const MOST_PARTS: usize = 32;

/// Reads a partition, and sends its batches until nobody receives them any more.
pub(crate) fn run(part: Part, context: &TaskContext, batches: &Sender<Result<RecordBatch>>) -> Result<()> {
    let rows = context.session_config().batch_size().max(1);
    let consumer = MemoryConsumer::new(format!("TdbExec[{}]", part.partition));
    let reservation = reserve(consumer.register(context.memory_pool()), part.scan.parts.len(), context)?;
    let mut left = part.limit.unwrap_or(usize::MAX);
    let known = part.dynamic.is_known(&part.scan.state);
    for read in parts(&part, known)? {
        if left == 0 {
            break;
        }
        let read = match part.dynamic.now(&part.scan.state) {
            Some(Now::Nothing) => break,
            // What becomes stricter later on changes nothing of what the partitions find out
            // together.
            Some(Now::Where(condition)) if known => read.condition(condition),
            Some(Now::Where(condition)) => read.narrow(condition),
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
/// between. A filter that says something before the first row (`known`) is that of a join, which
/// knows its other side, and stays as it is; that of a sort knows nothing yet.
fn parts(part: &Part, known: bool) -> Result<Vec<Read>> {
    if part.dynamic.is_empty() || known {
        return Ok(vec![part.read.clone()]);
    }
    let bytes = part.scan.bytes.checked_div(u64::try_from(part.scan.parts.len()).unwrap_or(1)).unwrap_or(0);
    let parts = usize::try_from(bytes / BETWEEN_FILTERS).unwrap_or(MOST_PARTS).clamp(1, MOST_PARTS);
    let read = part.read.clone();
    match part.scan.whole {
        Some(_) => read.tile_partitions(parts),
        None => read.partitions(parts),
    }
    .map_err(of_array)
}

/// Sends the batches of a read; false if nobody receives them any more.
fn send(
    part: &Part,
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
            // Values that nobody asks for need not be what Arrow can hold.
            true => rows_alone(found.len(), &part.scan)?,
            false => part.scan.mapping.record_batch(found).map_err(of_arrow)?,
        };
        timer.done();
        let mut start = 0usize;
        while start < batch.num_rows() && *left > 0 {
            let count = rows.min(batch.num_rows().saturating_sub(start)).min(*left);
            let slice = columns(&batch.slice(start, count), &part.scan)?;
            part.metrics.record_output(count);
            if batches.blocking_send(Ok(slice)).is_err() {
                return Ok(false);
            }
            (start, *left) = (start.saturating_add(count), left.saturating_sub(count));
        }
    }
    Ok(true)
}

/// Rows without columns. To count them, one column was read.
fn rows_alone(count: usize, scan: &Scan) -> Result<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(count));
    Ok(RecordBatch::try_new_with_options(scan.schema.clone(), Vec::new(), &options)?)
}

/// The columns that the query requested, with its own schema: others were read for filters.
fn columns(batch: &RecordBatch, scan: &Scan) -> Result<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    let wanted = scan.schema.fields().len();
    let columns = batch.columns().iter().take(wanted).cloned().collect();
    Ok(RecordBatch::try_new_with_options(scan.schema.clone(), columns, &options)?)
}

/// Reserves memory of the session: the share of one of some parts in what is left, or as much as is
/// available.
pub(crate) fn reserve(
    reservation: MemoryReservation,
    parts: usize,
    context: &TaskContext,
) -> Result<MemoryReservation> {
    let pool = context.memory_pool();
    let free = match pool.memory_limit() {
        MemoryLimit::Finite(limit) => limit.saturating_sub(pool.reserved()) / 2,
        MemoryLimit::Infinite | MemoryLimit::Unknown => UNBOUNDED,
    };
    let mut wanted = (free.min(UNBOUNDED) / parts.max(1)).max(LEAST);
    loop {
        match reservation.try_grow(wanted) {
            Ok(()) => return Ok(reservation),
            Err(_) if wanted > LEAST => wanted = (wanted / 2).max(LEAST),
            Err(error) => return Err(error),
        }
    }
}

/// Begins the read within the reserved memory; if that is too little for a single batch, within a
/// larger reservation that is enough. A batch may take `least` bytes even where that is more than
/// its share.
fn open(part: &Part, read: Read, reservation: &MemoryReservation, least: &mut usize) -> Result<Batches> {
    // No batch is held yet. If this is too little, the read says how much it needs.
    match read.clone().memory(budget(reservation.size())).prepare() {
        Err(Error::Query(QueryError::BudgetTooSmall { .. } | QueryError::OverBudget { .. })) | Ok(()) => {}
        Err(error) => return Err(of_array(error)),
    }
    loop {
        let memory = reservation.size();
        let batch = (memory / OF_BATCH).max(*least);
        let mut read = read.clone().memory(budget(memory / OF_QUERY)).batch_memory(budget(batch));
        if let Some(limit) = part.limit {
            // At first no more than the requested rows, with room for those that a condition
            // rejects.
            let bytes = u64::try_from(limit).unwrap_or(u64::MAX).saturating_mul(part.scan.row_bytes);
            let bytes = usize::try_from(bytes.saturating_mul(4)).unwrap_or(usize::MAX);
            read = read.first_batch(budget(bytes.max(64 << 10)));
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

/// Makes room for what was too large for `budget`, which is that of the query or of a batch: the
/// query gets at least `min`, and so may a batch. More memory is reserved only where the query's
/// share is too small for that.
fn grow(
    reservation: &MemoryReservation,
    least: &mut usize,
    budget: MemoryBudget,
    min: MemoryBudget,
) -> Result<()> {
    let bytes = |budget: MemoryBudget| usize::try_from(budget.bytes()).unwrap_or(usize::MAX);
    let (memory, budget, min) = (reservation.size(), bytes(budget), bytes(min));
    let is_of_batch = budget < memory / OF_QUERY;
    // Beside a batch, the query has threads and a plan.
    let of_query = if is_of_batch { min.saturating_mul(2) } else { min };
    let enough = of_query.saturating_mul(OF_QUERY);
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
