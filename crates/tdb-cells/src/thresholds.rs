//! Sizes from which on the crate works in another way, such as with several threads, and sizes of
//! the parts in which it works.
//!
//! "Chosen": the number follows from the reason given; no measurement of it is recorded. A result
//! depends only on those that say so: how far a clock may be off, and the least parts of a budget.

// Threads.

/// Bytes to decode or copy; with fewer, the work is done before a second thread has begun. Chosen.
pub(crate) const MIN_PARALLEL_BYTES: usize = 1 << 19;

/// Bytes to decode that one thread leaves to others, where it would decode everything otherwise: in
/// the time for fewer, about a millisecond, a new thread may not even run. Chosen.
pub(crate) const MIN_SHARED_BYTES: usize = 1 << 20;

/// Items that a thread takes at a time, where one item takes about as long as handing it out.
/// Chosen.
pub(crate) const ITEMS_PER_JOB: usize = 32;

/// Results per thread that may be made ahead of the one that is waited for: a limit of memory.
/// Chosen.
pub(crate) const MAX_QUEUED_PER_THREAD: usize = 4;

// Sorting.

/// Cells; with fewer, starting a thread to sort them is not worth it. Chosen.
pub(crate) const MIN_PARALLEL_CELLS: usize = 1 << 15;

/// Cells of a piece, the part of a batch that one job handles. Chosen.
pub(crate) const PIECE_CELLS: usize = 1 << 16;

/// The most bits of a bucket's number: a core's cache has room for this many positions to write to.
/// Chosen.
pub(crate) const MAX_BUCKET_BITS: u32 = 13;

/// The desired number of cells per bucket, as a power of two. Chosen.
pub(crate) const BUCKET_CELLS_LOG2: u32 = 10;

/// Cells that a thread sorts at once: keys and numbers fit in a core's second-level cache. Chosen.
pub(crate) const BAND_CELLS: usize = 1 << 14;

/// Cells of a bucket that several threads sort. Chosen.
pub(crate) const MIN_SHARED_BUCKET_CELLS: usize = 1 << 18;

// Merging sorted runs.

/// Cells that runs have on average; with fewer, sorting is not slower than merging. Chosen.
pub(crate) const MIN_RUN_CELLS: usize = 64;

/// Samples of all runs in a band, if the runs are long. Chosen.
pub(crate) const SAMPLES_PER_BAND: usize = 8;

/// Cells of each run that a band has on average where only the dropped cells are needed: starting
/// to compute keys costs as much as computing some dozens of them. Chosen.
pub(crate) const MIN_BAND_CELLS_PER_RUN: usize = 512;

/// The most cells of such a band: its keys, and the filter that finds the repeated ones, fit in a
/// core's second-level cache. Chosen.
pub(crate) const MAX_BAND_CELLS: usize = 1 << 17;

/// The most positions in runs that are held before they become pieces of bands: a limit of memory.
/// Chosen.
pub(crate) const MAX_CUTS: usize = 1 << 17;

/// Bits of a filter of repeated keys for each key: one key in sixteen shares its bit with another
/// one. Chosen.
pub(crate) const FILTER_BITS_PER_KEY: usize = 16;

// Moving cells.

/// Cells per parallel job of a permutation. Chosen.
pub(crate) const GATHER_CELLS: usize = 1 << 17;

/// Neighbours that stay together and are copied as one. Chosen.
pub(crate) const GATHER_RUN_CELLS: usize = 16;

/// The side, in cells, of the square blocks of a transposition: two blocks of 8-byte cells fit in a
/// core's first-level cache. Chosen.
pub(crate) const TRANSPOSE_CELLS: usize = 16;

// Ranges.

/// Marks per interval in a table of marks: the more, the fewer values are searched for in vain.
/// Chosen.
pub(crate) const MARKS_PER_INTERVAL: usize = 64;

/// With fewer marks per interval than this, there is no table: too many values would be searched
/// for in vain. Chosen.
pub(crate) const MIN_MARKS_PER_INTERVAL: usize = 4;

/// The most marks of a table: it stays in a core's cache. Chosen.
pub(crate) const MAX_MARKS: usize = 1 << 16;

/// Cells that are skipped together if none of them is wanted. Chosen.
pub(crate) const MASK_BLOCK_CELLS: usize = 16;

/// Cells of which it is first found out whether all of them are in one space tile. Chosen.
pub(crate) const TILE_BLOCK_CELLS: usize = 32;

// Memory.

/// Bytes of a buffer that has its own pages; smaller ones come from the allocator, because they
/// contain few large pages, and are often reused. Chosen.
#[cfg(all(target_os = "linux", feature = "large-pages"))]
pub(crate) const MIN_PAGED_BYTES: usize = 4 << 20;

/// Bytes for the cells of a batch; a read with less memory than this is rejected, because its
/// batches would have only a handful of cells. Chosen.
pub(crate) const MIN_BATCH_BYTES: u64 = 64 << 10;

/// The part of a budget that is available for planning, as a fraction; the rest is what allocators
/// lose between their blocks. Chosen.
pub(crate) const PLANNED_PART: (u64, u64) = (3, 4);

// Time.

/// Milliseconds, a limit for two corrections: if the clock jumped back by at most this much, writes
/// keep the time from before the jump; if the clock of another machine is ahead by at most this
/// much, writes follow that clock. Chosen.
pub(crate) const MAX_CLOCK_SKEW_MS: u64 = 10_000;
