//! Limits of work and memory, and how each was found.

/// The minimum number of cells that are taken at once and sorted by all threads; fewer are taken
/// one by one from the heap.
pub(crate) const MIN_SORTED_CELLS: usize = 1 << 12;

/// The number of cells that one parallel job sorts (about) or copies.
pub(crate) const BAND_CELLS: usize = 1 << 16;

/// The maximum number of cells of a batch. Larger batches are not faster.
pub(crate) const MAX_BATCH_CELLS: u64 = 1 << 21;

/// The number of bytes that a cell of variable length is assumed to have. Chosen, not measured.
pub(crate) const VAR_CELL_BYTES: usize = 64;

/// The memory of a consolidation in bytes, unless the caller sets it. Chosen, not measured.
pub(crate) const DEFAULT_MEMORY: u64 = 512 << 20;

/// The time after which a write counts as abandoned, in milliseconds: a day. Chosen, not measured.
pub(crate) const MAX_WRITE_TIME: u64 = 24 * 60 * 60 * 1000;

/// The maximum number of problems of one kind that are shown for a fragment. Chosen, not measured.
pub(crate) const MAX_SHOWN: u64 = 8;
