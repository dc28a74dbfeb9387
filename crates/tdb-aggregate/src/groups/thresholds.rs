//! The thresholds of queries that group cells. They were chosen, not measured, unless they say
//! otherwise.

/// Cells that a thread adds up before its groups are merged with those of other threads. Tests use
/// fewer, so that small arrays have several runs.
pub(super) const MAX_RUN_CELLS: usize = if cfg!(test) { 64 } else { 1 << 17 };

/// Groups: with more, the cells are partitioned by their keys.
pub const MAX_GROUPS_OF_ONE_TABLE: usize = 1 << 16;

/// Groups that any query may make: half of the ids of 32 bits, so that a tile cannot use up the
/// others before the groups are counted.
pub(super) const MAX_GROUPS: usize = (1 << 31) - 1;

/// Groups of a thread: with more, a run has group ids of its own. This matters where extremes of
/// strings keep one table, and where a thread is ahead of the one that finds that groups are many.
pub(super) const MAX_GROUPS_OF_THREAD: usize = MAX_RUN_CELLS;

/// Slots of a table that is addressed by the key without hashes: 256 KiB.
pub(super) const MAX_DIRECT_SLOTS: usize = 1 << 16;

/// Partitions of the groups. The table of each fits in a cache of the processor, which can write to
/// so many places at a time.
pub(super) const PARTITIONS: usize = 128;

/// Runs whose cells are sorted by partition before these add them up, if memory is enough: 2^21
/// cells. With many threads it is two a thread.
pub(super) const MAX_WAITING_RUNS: usize = 16;

/// Strings whose hashes are computed before they are looked up, so that the processor waits for
/// several places of the table at a time.
pub(super) const LOOKAHEAD: usize = 64;
