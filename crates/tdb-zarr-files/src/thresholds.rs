//! Limits of what is made at once.

/// Bytes of a document. The largest that were seen, consolidated ones of climate models, have some
/// megabytes.
pub(crate) const MAX_DOCUMENT: u64 = 64 << 20;

/// The fraction of an import's memory that the chunks of a row may have: they are held once as
/// chunks are put together, and once more by the writer.
pub(crate) const SLAB_DIVISOR: u64 = 6;

/// The fraction of an import's memory that the writer gets.
pub(crate) const WRITER_DIVISOR: u64 = 2;

/// Bytes that indices of shards may have together before they are forgotten: a shard of a million
/// chunks has 16 MB.
pub(crate) const MAX_INDICES: usize = 64 << 20;

/// Fragments of an import that are made for separate parts of an array, so that chunks that are not
/// there are not written. Beyond that, the box around all of them is written if it has at most
/// [`MAX_SPARSENESS`] times as many chunks.
pub(crate) const MAX_FRAGMENTS: usize = 64;

/// See [`MAX_FRAGMENTS`].
pub(crate) const MAX_SPARSENESS: u64 = 8;

/// Fragments of an import in any case: opening an array reads the metadata of each.
pub(crate) const MAX_SCATTERED: usize = 10_000;

/// The most dimensions of an array, of which each costs time with every chunk. `numpy` has 64.
pub(crate) const MAX_DIMENSIONS: usize = 64;

/// Groups inside of each other.
pub(crate) const MAX_DEPTH: usize = 64;

/// Memory of an import, unless the caller says otherwise.
pub(crate) const MEMORY: u64 = 512 << 20;

/// Bytes that blosc compresses as one block.
pub(crate) const BLOSC_BLOCK: usize = 256 << 10;

/// Chunks of texts whose fill value is empty, which are all written: an array cannot have it.
pub(crate) const MAX_TILES: u64 = 1_000_000;

/// Rows of tiles of a part of an array that is written at once: a writer has some bytes for each.
pub(crate) const MAX_ROWS: u64 = 1 << 20;
