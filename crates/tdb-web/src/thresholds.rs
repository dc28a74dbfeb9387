//! Sizes of requests and batches.

use tdb_array::MemoryBudget;

/// Ranges of a file with at most this many bytes between them are one request. At 30 ms a request
/// and 50 Mbit/s, 190 kB take as long as a request; but browsers make six at once, or more.
pub const MAX_GAP: u64 = 64 << 10;

/// Bytes of the longest request. Longer ranges are split, so that they arrive in parallel.
pub const MAX_REQUEST: u64 = 8 << 20;

/// Memory of the first batch of a query with a limit.
pub const FIRST_BATCH: MemoryBudget = MemoryBudget::from_bytes(64 << 10);

/// Most groups by default: a table that no page shows.
pub const MAX_GROUPS: usize = 100_000;
