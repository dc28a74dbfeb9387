//! Sizes from which on the crate works in another way, such as with several threads, and sizes of
//! the parts in which it works. No order depends on them.
//!
//! "Chosen": the number follows from the reason given; no measurement of it is recorded.

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

// Space tiles.

/// Cells of which it is first found out whether all of them are in one space tile. Chosen.
pub(crate) const TILE_BLOCK_CELLS: usize = 32;
