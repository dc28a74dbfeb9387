//! Sizes from which on the crate works in another way, such as with several threads, and sizes of
//! the parts in which it works.
//!
//! "Chosen": the number follows from the reason given; no measurement of it is recorded. A result
//! depends only on the one that says how far a clock may be off.

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

// Memory.

/// Bytes of a buffer that has its own pages; smaller ones come from the allocator, because they
/// contain few large pages, and are often reused. Chosen.
#[cfg(all(target_os = "linux", feature = "large-pages"))]
pub(crate) const MIN_PAGED_BYTES: usize = 4 << 20;

// Time.

/// Milliseconds, a limit for two corrections: if the clock jumped back by at most this much, writes
/// keep the time from before the jump; if the clock of another machine is ahead by at most this
/// much, writes follow that clock. Chosen.
pub(crate) const MAX_CLOCK_SKEW_MS: u64 = 10_000;
