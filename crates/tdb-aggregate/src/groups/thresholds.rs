//! The thresholds of queries that group cells. They were chosen, not measured, unless they say
//! otherwise.

/// The numbers of groups and cells at which a query goes on in another way. Tests lower them, so
/// that small arrays reach all ways.
#[derive(Clone, Copy, Debug)]
pub struct Thresholds {
    /// With more groups, the query fails.
    pub max_groups: usize,
    /// With more groups, the cells are partitioned by their keys.
    pub max_of_one_table: usize,
    /// Cells that a thread adds up before its groups are merged with those of other threads. With
    /// as many groups in a thread, each of its runs has group ids of its own: this matters where
    /// extremes of strings keep one table, and where a thread is ahead of the one that finds that
    /// groups are many.
    pub max_run_cells: usize,
}

impl Thresholds {
    /// Those of programs.
    pub const DEFAULT: Self =
        Self { max_groups: MAX_GROUPS, max_of_one_table: 1 << 16, max_run_cells: 1 << 17 };
}

/// Groups that any query may make: half of the ids of 32 bits, so that a tile cannot use up the
/// others before the groups are counted.
pub(super) const MAX_GROUPS: usize = (1 << 31) - 1;

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
