//! Limits of work and memory, and how each was found.

/// The maximum number of listings of an array for one manifest: a listing is repeated if files
/// change while it is made. Chosen, not measured.
pub(crate) const MAX_LISTINGS: usize = 10;

/// The maximum number of times that a manifest is made again because other writers replaced it
/// first. Each time one of the writers succeeds, so all finish in the end. Chosen, not measured.
pub(crate) const MAX_REPLACEMENTS: usize = 100;

/// The maximum depth of nested folders that a manifest lists: arrays have three levels.
pub(crate) const MAX_DEPTH: usize = 8;

/// The longest step from one name to the next one, in values of the first half of its unique part.
/// Chosen, not measured.
pub(crate) const MAX_STEP: u64 = 1 << 40;

/// A step is at most one in so many of the values that are left, which then last for thousands of
/// names. Chosen, not measured.
pub(crate) const MIN_STEPS_LEFT: u64 = 1 << 12;

/// The maximum number of milliseconds by which a name is later than asked, where all names of a
/// time sort before others that exist. Chosen, not measured.
pub(crate) const MAX_DELAY: u64 = 1000;

/// Bytes that a thread needs in addition to its tiles: stack and states of codecs.
pub(crate) const THREAD_BYTES: usize = 384 << 10;

/// Bytes needed to sort a cell, in addition to the cell: its key, numbers, its position in the
/// order, and the comparison with its neighbours.
pub(crate) const SORT_BYTES: usize = 64;

/// A stream keeps at most one in so many of its cells for later, so that its fragment can go on.
/// The memory is that of sorting, which is free by then.
pub(crate) const KEPT_INVERSE: usize = 4;

/// The number of cells that one parallel job checks or compares. Chosen, not measured.
pub(crate) const BAND_CELLS: usize = 1 << 16;

/// The maximum length in bytes of strings that are appended with one copy of fixed size, together
/// with the bytes after them.
pub(crate) const MAX_SHORT: usize = 16;
