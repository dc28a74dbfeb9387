//! Limits that were chosen for this crate. None of them changes an answer: they bound memory and
//! work. Unless a comment says otherwise, they were chosen by reasoning and not measured.

/// Depth of a filter that is translated while a plan runs: more than operators make.
pub(crate) const MAX_FILTER_DEPTH: usize = 64;
/// Batches of a partition that are buffered for the reader.
pub(crate) const BUFFERED_BATCHES: usize = 1;
/// Groups of a partial aggregation in the array. If there are more, DataFusion does the partial
/// aggregation too: it would have to group them again in any case.
pub(crate) const MAX_PARTIAL_GROUPS: usize = 1 << 17;

/// Bytes for collecting the rows of an INSERT before they are sorted and written: the most that is
/// reserved, and the least with which an INSERT begins.
pub(crate) const MAX_INSERT_MEMORY: usize = 256 << 20;
pub(crate) const MIN_INSERT_MEMORY: usize = 1 << 20;
/// The share of this memory for rows that wait until all have been looked at: a half.
pub(crate) const KEPT_ROWS_DIVISOR: usize = 2;
/// Cells of a dense array that a write of single rows may write again, for each of its rows and in
/// any case: some seconds of work.
pub(crate) const MAX_REWRITTEN_CELLS_PER_ROW: u64 = 1000;
pub(crate) const MAX_REWRITTEN_CELLS: u64 = 1 << 24;

/// Bytes that all partitions of a scan have together, if the session does not limit memory.
pub(crate) const MAX_SCAN_MEMORY: usize = 1 << 30;
/// Bytes with which a partition begins at least.
pub(crate) const MIN_PARTITION_MEMORY: usize = 1 << 20;
/// The share of a partition's memory that its query has: a half.
pub(crate) const QUERY_MEMORY_DIVISOR: usize = 2;
/// The share of a partition's memory that each batch has which was handed out: an eighth.
pub(crate) const BATCH_MEMORY_DIVISOR: usize = 8;

/// Bytes of rows after which a read asks again what dynamic filters say.
pub(crate) const BYTES_BETWEEN_FILTERS: u64 = 2 << 20;
/// Parts into which a partition is cut for dynamic filters.
pub(crate) const MAX_FILTER_PARTS: usize = 32;

/// Tiles that must fit into the memory of each partition, else scans are cut into boxes.
pub(crate) const MIN_TILES_IN_MEMORY: u64 = 16;
/// Bytes that a cell takes while its tile is read, besides two copies of its row: keys, and flags
/// of selected cells.
pub(crate) const CELL_OVERHEAD: u64 = 100;

/// Values of a `NOT IN` that become ranges between them.
pub(crate) const MAX_NOT_IN_RANGES: usize = 64;
/// Ranges of a dimension that `EXPLAIN` shows.
pub(crate) const MAX_SHOWN_RANGES: usize = 4;
/// Queries whose state of a table is remembered: the latest ones, and more than are planned at
/// once.
pub(crate) const MAX_REMEMBERED_QUERIES: usize = 64;
