//! Limits of what is made at once.

/// Rows of a table that are handed on at once.
pub(crate) const MAX_ROWS: usize = 1 << 16;

/// The fraction of an import's memory that a chunk may have: it is held as it is stored, decoded,
/// and as cells of the array.
pub(crate) const CHUNK_DIVISOR: u64 = 8;

/// How many chunks of that size the chunks of all columns of a table may have together.
pub(crate) const TABLE_CHUNKS: u64 = 2;

/// The fraction of an import's memory that the writer of a matrix gets.
pub(crate) const WRITER_DIVISOR: usize = 2;

/// The fraction of an import's memory that values have that are handed on at once.
pub(crate) const PART_DIVISOR: usize = 8;

/// Bytes of a value with its place while it is handed on.
pub(crate) const VALUE_BYTES: usize = 24;

/// The least number of values that are handed on at once.
pub(crate) const MIN_VALUES: usize = 1024;

/// Dictionaries inside of each other.
pub(crate) const MAX_DEPTH: usize = 64;
