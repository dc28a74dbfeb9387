//! Sizes from which on the crate works in another way, such as reading a tile in parts, and limits
//! of what it reads or holds at once.
//!
//! "Chosen": the number follows from the reason given; no measurement of it is recorded. A result
//! depends only on those that say so: how often an open is tried beside a vacuum, and how many
//! tiles and fields are compared to decide how ambiguous validity is decoded.

// Opening an array.

/// Attempts to read an array that is being vacuumed. Chosen.
pub(crate) const MAX_ATTEMPTS: usize = 5;

/// Names in a folder: a system may list more of them in several parts, and files may come and go in
/// between. Chosen.
pub(crate) const MAX_NAMES_LISTED_AT_ONCE: usize = 200;

/// Bytes: metadata files of fragments up to this size are read whole when the fragment is opened.
/// Chosen.
pub(crate) const METADATA_TAIL_BYTES: u64 = 64 << 10;

/// The most schemas that are fetched together when an array is opened: few arrays evolve more
/// often. Chosen.
pub(crate) const MAX_SCHEMAS_FETCHED: usize = 16;

/// The most missing files that an error names. Chosen.
pub(crate) const MAX_FILES_NAMED: usize = 3;

// Reading tiles.

/// Stored bytes of a tile; smaller tiles are read whole, because one read costs less than many
/// small ones. Chosen.
pub(crate) const MIN_PARTIAL_TILE_BYTES: u64 = 128 << 10;

/// About as many bytes as can be copied in the time that one small read of an open file takes.
/// Measured: it was 2 KiB on one machine and 12 on another.
pub(crate) const READ_COST_BYTES: usize = 5 << 10;

/// The most bytes of a tile that are read at once, where it is read in parts. Chosen.
pub(crate) const MAX_READ_BYTES: usize = 256 << 10;

/// Bytes that a list of the chunks of a tile may always take; a longer list must not be longer than
/// the stored tile. Chosen.
pub(crate) const MIN_CHUNK_LIST_BYTES: u64 = 1 << 20;

/// Bytes; the length of a longer read is compared with the file's real size before memory is
/// allocated for it. Chosen.
pub(crate) const MAX_TRUSTED_READ_BYTES: usize = 16 << 20;

/// The most chunks of a tile that several threads decode: a list of more would take too much
/// memory. Chosen.
pub(crate) const MAX_SHARED_CHUNKS: usize = 1 << 16;

/// The most bytes of a chunk that is decoded while others are: filters need memory for each.
/// Chosen.
pub(crate) const MAX_SHARED_CHUNK_BYTES: usize = 4 << 20;

/// The effort of zstd, in the unit of [`Decoder::effort`](tdb_filters::Decoder::effort): the one
/// with which other filters are compared.
pub(crate) const ZSTD_EFFORT: usize = 9;

// Ambiguous validity.

/// The most tiles of a field that are compared with their statistics: the first ones with nulls,
/// whatever a query reads, so that all queries get the same answer. Chosen.
pub(crate) const MAX_COMPARED_TILES: usize = 16;

/// The most fields whose tiles are compared with their statistics. Chosen.
pub(crate) const MAX_COMPARED_FIELDS: usize = 4;

// Buffers of threads.

/// The most spare buffers of a thread: enough for the columns of a tile that are used together.
/// Chosen.
pub(crate) const MAX_SPARE_BUFFERS: usize = 8;

/// The most threads whose buffers the process keeps. Chosen.
pub(crate) const MAX_POOLED: usize = 4;

/// Bytes of the largest buffer that the process keeps: enough for the chunks of a small query.
/// Chosen.
pub(crate) const MAX_POOLED_BYTES: usize = 256 << 10;
