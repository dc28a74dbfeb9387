//! Limits of what is made at once.

/// Bytes of a document. The largest that were seen, consolidated ones of climate models, have some
/// megabytes.
pub(crate) const MAX_DOCUMENT: u64 = 64 << 20;

/// The fraction of an import's memory that the chunks of a row may have: they are held once as
/// chunks are put together, and once more by the writer.
pub(crate) const SLAB_DIVISOR: u64 = 6;

/// The fraction of an import's memory that the writer gets.
pub(crate) const WRITER_DIVISOR: u64 = 2;

/// How often the bytes of a chunk are held while it is decoded: as they come to a codec, as they
/// leave it, and once in between, since blosc sorts bytes after it has unpacked them.
pub(crate) const CHUNK_COPIES: u64 = 3;

/// Bytes of a text besides its own: where it begins in its chunk, and in the row of chunks.
pub(crate) const TEXT_CELL: u64 = 16;

/// Bytes of a chunk of texts besides these.
pub(crate) const TEXT_TILE: u64 = 64;

/// The fraction of the memory of a row of chunks that indices of shards may have together before
/// they are forgotten: a shard of a million chunks has 16 MB.
pub(crate) const INDEX_DIVISOR: u64 = 4;

/// Bytes of a chunk in a shard while boxes are made of their places.
pub(crate) const PLACE: u64 = 256;

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

/// Codecs of a chunk: each is a pass over its bytes. Those of real arrays have up to five.
pub(crate) const MAX_CODECS: usize = 64;

/// Bytes of a cell, of which a fill value is made: as many as `tdb-zarr` shows.
pub(crate) const MAX_CELL_BYTES: usize = 1 << 20;

/// Groups inside of each other.
pub(crate) const MAX_DEPTH: usize = 64;

/// Memory of an import, unless the caller says otherwise.
pub(crate) const MEMORY: u64 = 512 << 20;

/// Bytes that blosc compresses as one block.
pub(crate) const BLOSC_BLOCK: usize = 256 << 10;

/// Chunks of texts whose fill value is empty, which are all written: an array cannot have it.
pub(crate) const MAX_TILES: u64 = 1_000_000;

/// Cells of an array all of which are written, if they are more than [`MAX_SPARSENESS`] times as
/// many as those of chunks that are there: a minute's work, and of texts 1 GiB of offsets before
/// they are compressed.
pub(crate) const MAX_EMPTY_CELLS: u64 = 1 << 27;

/// Rows of tiles of a part of an array that is written at once: a writer has some bytes for each.
pub(crate) const MAX_ROWS: u64 = 1 << 20;

/// Chunks of an array that is read block by block: a file is looked for for each of them. The
/// largest matrices, of ten million cells, have some hundred thousand.
pub(crate) const MAX_BLOCKS: u64 = 1 << 26;
