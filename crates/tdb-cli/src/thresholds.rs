//! Limits that were chosen for the command: defaults of memory, and how much is shown. They were
//! chosen by eye and by reasoning, and not measured.

use core::time::Duration;
#[cfg(feature = "sql")]
use std::num::NonZeroUsize;

use tdb_array::MemoryBudget;

/// Cells of a sample for which filters are chosen: those of a tile of ordinary capacity.
pub(crate) const MAX_SAMPLE_CELLS: usize = 10_000;
/// Cells of a sample from which later cells can be predicted. With fewer, filters are chosen by the
/// datatype alone.
pub(crate) const MIN_SAMPLE_CELLS: usize = 256;
/// The level of Zstandard where files are to be small.
pub(crate) const SMALL_ZSTD_LEVEL: i32 = 9;
/// Memory of the first batch if only the first cells are shown. Batches grow until there are enough
/// cells.
pub(crate) const INITIAL_BATCH_MEMORY: MemoryBudget = MemoryBudget::from_bytes(256 << 10);
/// Memory of a batch of cells that are browsed, and batches that are kept for going back.
#[cfg(feature = "browse")]
pub(crate) const BROWSED_BATCH_MEMORY: MemoryBudget = MemoryBudget::from_bytes(1 << 20);
#[cfg(feature = "browse")]
pub(crate) const MAX_BROWSED_BATCHES: usize = 16;
/// Characters of a cell that is browsed: longer ones would push other columns far to the side.
#[cfg(feature = "browse")]
pub(crate) const MAX_BROWSED_TEXT: usize = 60;
/// Time between two looks at whether something was read.
#[cfg(feature = "browse")]
pub(crate) const BROWSE_TICK: Duration = Duration::from_millis(50);
/// Cells of a result that is tried as a grid on a terminal.
pub(crate) const MAX_GRID_CELLS: usize = 10_000;
/// Columns of a grid. With more, one row for each cell is easier to read.
pub(crate) const MAX_GRID_COLUMNS: usize = 100;
/// Bytes of a column of JSON that stay in memory, before they go to a temporary file.
pub(crate) const MAX_SPOOL_MEMORY: usize = 256 << 10;
/// The default size of a cache in bytes: of its folder, and of its part in memory.
pub(crate) const CACHE_FOLDER_SIZE: u64 = 1 << 30;
pub(crate) const CACHE_MEMORY_SIZE: u64 = 64 << 20;
/// Values of a dictionary that become an enumeration where a result becomes an array: with more,
/// they are plain, because every reader of an array holds its enumerations in memory.
#[cfg(feature = "sql")]
pub(crate) const MAX_COPIED_VALUES: usize = 1 << 20;
/// Bytes that the values of such a dictionary may hold while a result is copied, each twice: as a
/// value and as a key to find it by. Texts are longer than numbers.
#[cfg(feature = "sql")]
pub(crate) const MAX_COPIED_BYTES: usize = 64 << 20;
/// Time after which progress is shown.
pub(crate) const MIN_PROGRESS_TIME: Duration = Duration::from_millis(400);
/// Time between two pictures of a spinner.
pub(crate) const PROGRESS_TICK: Duration = Duration::from_millis(200);
/// The default memory of an export.
#[cfg(feature = "convert")]
pub(crate) const EXPORT_MEMORY: MemoryBudget = MemoryBudget::from_bytes(1 << 30);
/// Bytes of a batch of an export, and of a row group: readers hold one of them.
#[cfg(feature = "convert")]
pub(crate) const MAX_EXPORT_BATCH: u64 = 64 << 20;
/// The share of an export's memory that its read has: a half.
#[cfg(feature = "convert")]
pub(crate) const EXPORT_READ_DIVISOR: u64 = 2;
/// The share of an export's memory that a batch has, and a row group that is being encoded: an
/// eighth each.
#[cfg(feature = "convert")]
pub(crate) const EXPORT_BATCH_DIVISOR: u64 = 8;
/// Bytes of a long value that `tdb dump` shows.
pub(crate) const MAX_PREVIEW_BYTES: usize = 24;
/// Bytes on a line of the part of a file that is not explained.
pub(crate) const RAW_LINE_BYTES: usize = 16;
/// Items of a list that `tdb dump` shows.
pub(crate) const MAX_LIST_ITEMS: usize = 8;
/// Bytes of an input that stay in memory if it cannot be read again.
pub(crate) const MAX_INPUT_MEMORY: u64 = 1 << 20;
/// The default memory of an import of a Parquet or Arrow file, or of a Zarr folder.
pub(crate) const IMPORT_MEMORY: MemoryBudget = MemoryBudget::from_bytes(512 << 20);
/// The share of that memory that the file has, and the cells that are being written: a half each.
#[cfg(feature = "convert")]
pub(crate) const IMPORT_MEMORY_DIVISOR: u64 = 2;
/// Bytes of a file in a store that are asked for at once.
pub(crate) const STORE_PIECE: usize = 8 << 20;
/// Bytes of a text that are read at once.
pub(crate) const TEXT_BUFFER: usize = 1 << 17;
/// Records that are sorted in memory: 24 MiB of them.
pub(crate) const MAX_SORT_RECORDS: usize = 1 << 20;
/// Records of all runs together that are read ahead while the runs are merged.
pub(crate) const MERGE_BUFFER_RECORDS: usize = 1 << 18;
/// Bytes of the first batch of a table, from which the types of columns are inferred.
pub(crate) const FIRST_CHUNK: usize = 4 << 20;
/// Bytes of the first batches of several tables together, and at least of one of them, which must
/// have the header.
pub(crate) const FIRST_CHUNKS: usize = 16 << 20;
pub(crate) const MIN_FIRST_CHUNK: usize = 64 << 10;
/// Bytes of the other batches of a table.
pub(crate) const CHUNK: usize = 1 << 20;
/// Batches of a table for each thread that may be in memory.
pub(crate) const CHUNKS_PER_THREAD: usize = 2;
/// Values of an enumeration that a report or an error lists.
pub(crate) const MAX_LISTED_VALUES: usize = 8;
/// Bytes of sparse cells, with the memory for sorting them, that become a fragment.
pub(crate) const SPARSE_BUFFER: usize = 64 << 20;
/// Bytes of dense cells that are buffered, unless a row of tiles needs more.
pub(crate) const DENSE_BUFFER: usize = 128 << 20;
/// Cells of a tile of an array from an NPY file.
pub(crate) const NPY_TILE_CELLS: u64 = 1 << 17;
/// Bytes of the stem of a file name; file systems allow 255 with the suffix.
pub(crate) const MAX_STEM_LENGTH: usize = 200;
/// Rectangles of a picture: more hide what is under them.
pub(crate) const MAX_RECTANGLES: usize = 4000;
/// Pixels of a bin of a dense plane, if there are enough cells.
pub(crate) const DENSE_BIN_PIXELS: u32 = 3;
/// Pixels of a bin of a sparse plane, whose smaller bins few cells would fill.
pub(crate) const SPARSE_BIN_PIXELS: u32 = 8;
/// Bars of a histogram in a file.
pub(crate) const HISTOGRAM_BARS: usize = 40;
/// Different texts of an axis, and bytes of all of them.
pub(crate) const MAX_AXIS_TEXTS: usize = 1 << 16;
pub(crate) const MAX_AXIS_TEXT_BYTES: usize = 16 << 20;
/// Labels of an axis, about.
pub(crate) const AXIS_LABELS: usize = 6;
/// Rows of the picture of fragments: nobody can tell more apart.
pub(crate) const MAX_TIMELINE_ROWS: usize = 300;
/// Lines of a terminal that are not rows of a table: two of headings, one for the rows that are
/// left out, one below, and the next prompt.
pub(crate) const OTHER_LINES: usize = 5;
/// Rows that are shown at each end of a table, however low the terminal is.
pub(crate) const MIN_END_ROWS: usize = 3;
/// Characters of a text in a table whose columns do not fit otherwise.
pub(crate) const MAX_TEXT_WIDTH: usize = 30;
/// Characters that a column of text keeps on a terminal that is too narrow for all columns.
pub(crate) const MIN_SHORTENED_WIDTH: usize = 8;
/// Folders and groups in one another that a tree follows.
pub(crate) const MAX_TREE_DEPTH: usize = 64;
/// Memory of `tdb soma import` and `export`, beside the names of cells and genes: about that of
/// `tdb.soma`.
pub(crate) const SOMA_MEMORY: MemoryBudget = MemoryBudget::from_bytes(512 << 20);
/// Memory of `tdb soma export` for each thread that writes chunks of Zarr: there are fewer threads
/// if there is less.
pub(crate) const SOMA_THREAD_MEMORY: MemoryBudget = MemoryBudget::from_bytes(128 << 20);
/// Values of an enumeration that `tdb info` shows.
pub(crate) const MAX_SHOWN_VALUES: usize = 20;
/// Characters of a fill value that `tdb info` shows.
pub(crate) const MAX_FILL_WIDTH: usize = 60;
/// Characters of a value of metadata that `tdb info --all` shows.
pub(crate) const MAX_METADATA_WIDTH: usize = 60;
/// The age of a file beside another one that no process has locked, before it counts as left over:
/// one that has just been made may not be locked yet.
pub(crate) const LEFTOVER_AGE: Duration = Duration::from_secs(60);
/// The default memory of a copy.
pub(crate) const COPY_MEMORY: MemoryBudget = MemoryBudget::from_bytes(1 << 30);
/// Arrays of the working folder whose columns the prompt of SQL completes: more take noticeable
/// time to open.
#[cfg(feature = "sql")]
pub(crate) const MAX_COMPLETED_ARRAYS: usize = 50;
/// Bytes of a temporary file of a query that are read at once, as DataFusion does: parts of 8 KiB
/// took longer to wait for than to read.
#[cfg(feature = "sql")]
pub(crate) const SPILL_READ_BYTES: usize = 128 << 10;
/// The largest users of memory that an error names: one.
#[cfg(feature = "sql")]
pub(crate) const MAX_NAMED_CONSUMERS: NonZeroUsize = NonZeroUsize::MIN;
/// The share of the memory that a sort keeps for merging what it put into files: a sixteenth.
/// DataFusion's own 10 MB are more than small budgets have.
#[cfg(feature = "sql")]
pub(crate) const MERGE_MEMORY_DIVISOR: usize = 16;
