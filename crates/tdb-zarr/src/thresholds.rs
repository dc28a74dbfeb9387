//! Limits of what is made at once.

use tdb_array::MemoryBudget;

/// Bytes of a chunk of a dense array. A space tile that has more is shown as several chunks.
/// Readers of Zarr hold several chunks at once; tiles are usually below 10 MB.
pub(crate) const MAX_CHUNK_BYTES: u64 = 256 << 20;

/// Coordinates of a dimension that are shown as an array. Readers such as xarray load them whole
/// when they open the array: these are 128 MiB.
pub(crate) const MAX_COORDINATES: u64 = 1 << 24;

/// Coordinates in a chunk of such an array: 512 KiB of the widest.
pub(crate) const COORDINATE_CHUNK: u64 = 1 << 16;

/// Cells of sparse arrays in a chunk, unless the caller says otherwise: 2 MiB of the widest
/// numbers. There are fewer if the widest cells would then have more than [`MAX_CHUNK_BYTES`].
pub(crate) const ROWS: u64 = 1 << 18;

/// Parts into which a sparse array is cut. The cells of each are counted before the first chunk is
/// read, so that more would make readers wait longer than larger parts do.
pub(crate) const MAX_PARTS: u64 = 1 << 16;

/// Bytes of a fill value that documents say whole. Readers load the documents of all fields when
/// they open an array.
pub(crate) const MAX_FILL_BYTES: u64 = 1 << 20;

/// Keys that one listing returns: usually some 100 MB of text.
pub(crate) const MAX_KEYS: usize = 1_000_000;

/// Bytes of the keys of one listing. Names of fields may be long, and so may places along many
/// dimensions.
pub(crate) const MAX_KEY_BYTES: usize = 256 << 20;

/// Boxes that one listing looks at, for the places along each axis: some seconds. Fragments whose
/// boxes overlap have fewer keys than this.
pub(crate) const MAX_STEPS: usize = 20_000_000;

/// Dimensions of a dense array, as many as numpy's arrays have at most. The shapes and documents of
/// all fields name each of them, so that a schema with many of both would choose what memory that
/// takes.
pub(crate) const MAX_DIMENSIONS: usize = 64;

/// The largest shape along a dimension: what readers count positions with is a signed number of 64
/// bits.
pub(crate) const MAX_SHAPE: u64 = i64::MAX.unsigned_abs();

/// Ends of rows of a sparse matrix in a chunk: 1 MiB.
pub(crate) const ENDS: u64 = 1 << 17;

/// Rows of a chunk of a sparse matrix that is shown as a dense array. Readers ask for single
/// columns (a gene), and hold some chunks at once.
pub(crate) const MATRIX_ROWS: u64 = 1 << 12;

/// Columns of such a chunk: with [`MATRIX_ROWS`] and numbers of 4 bytes 1 MiB.
pub(crate) const MATRIX_COLUMNS: u64 = 1 << 6;

/// Memory of the read of such a chunk: as much as a batch has by default. A tile, of which a file
/// chooses the size, may need more, and is refused with how much.
pub(crate) const MATRIX_MEMORY: MemoryBudget = MemoryBudget::from_bytes(1 << 30);
