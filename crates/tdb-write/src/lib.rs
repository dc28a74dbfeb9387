//! Writes to TileDB arrays: new cells, from columns to a committed fragment. Also new arrays,
//! groups, metadata, deletes and schemas.
//!
//! [`WriteOptions`] creates arrays and opens them for writing. What an [`ArrayWriter`] writes
//! becomes one fragment, which takes effect as soon as its last file exists: the commit file.
//!
//! ```
//! use tdb_codec::{CellValNum, Datatype};
//! use tdb_schema::{ArraySchema, Attribute, Dimension};
//! use tdb_storage::{MemoryStorage, Storage};
//! use tdb_write::{WriteColumn, WriteOptions};
//!
//! let schema = ArraySchema::dense()
//!     .dimension(Dimension::new("row", 1i32..=4).with_tile(2i32))
//!     .attribute(Attribute::new("a", Datatype::Int32, CellValNum::ONE))
//!     .build()?;
//! let storage = MemoryStorage::default();
//! WriteOptions::new().create_storage(&storage, &schema)?;
//! let writer = WriteOptions::new().open_storage(storage.clone())?;
//! writer.write().column(WriteColumn::fixed("a", &[1i32, 2, 3, 4])).commit()?;
//! assert_eq!(storage.list("__commits")?.len(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # How a fragment is written
//!
//! A write creates one fragment. Its data files are appended to tile by tile, its metadata file is
//! written when the last tile is known, and an empty commit file makes it part of the array:
//!
//! ```text
//! __fragments/<name>/a0.tdb …                  appended while tiles are filtered, in parallel
//! __fragments/<name>/__fragment_metadata.tdb   statistics, offsets, footer
//! __commits/<name>.wrt                         last: from here on readers see it
//! ```
//!
//! Until then nothing that a reader looks at has changed, and what a failed write left behind is
//! harmless. A write that becomes several fragments, because it is a stream or because
//! [`WriteOptions::fragment_bytes`] limits their size, commits all of them with one file,
//! `__commits/<name>.con`; before version 12, which has no such file, with one marker after the
//! other. Before version 5 the metadata file itself is the marker, so it is written last.
//!
//! All writes end in a [`FragmentWriter`]. It asks a `TileSource` for one tile of one field at a
//! time: a slice of the caller's column if the cells are in order already, or a buffer of the
//! thread. So memory is bounded by a few tiles per thread and the buffered cells. While one thread
//! appends the finished tiles in order, the others continue filtering (`parallel::run_in_order`).
//! Buffers of tiles that are stored are used again (`tile::BufferPool`), because fresh memory for
//! each would cost as much as copying.
//!
//! - *Dense cells* ([`ArrayWriter::write`], `dense`): tiles are assembled from a box, and padded
//!   with zeros. [`Write::stream`] (`dense_stream`) takes the cells of a box in batches, and
//!   buffers them until a row of tiles is complete (in global order: a tile); rows of tiles that
//!   are complete in one batch are not copied. Fragments are boxes, so the write is cut between
//!   rows of tiles of the slowest dimension (`boxes`).
//! - *Sparse cells in any order* (`unordered`) are not moved to be sorted: the reader's sorter
//!   returns the order of their numbers, and a `TileSource` picks the cells of each tile.
//!   [`ArrayWriter::sparse_stream`] (`stream`) collects cells until they fill its memory, together
//!   with the memory for sorting them, then writes a fragment.
//! - *Sparse cells in global order* ([`ArrayWriter::sparse_fragment`], `sorted`) are checked: one
//!   part of the key after the other, typed, by all threads; each further part only for neighbours
//!   that were equal so far. Zeros of both signs are equal in that order, as in libtiledb, but are
//!   different coordinates.
//! - Each stream has `append_all`: while one batch is filtered and stored, an iterator makes the
//!   next one (`parallel::overlap`).
//!
//! Creating an array (`create`) first writes what the schema refers to (enumerations, the arrays of
//! labels) and the schema last. An import or a copy begins an array ([`WriteOptions::begin`],
//! `new_array`): its cells are committed while there is no schema yet. A file, `__unfinished.tdb`,
//! is created before everything else and removed when the schema exists. Where this file exists
//! without a schema, a new array may be created in the same place, and what is in the way is
//! removed first.
//!
//! All other changes are small files that appear whole (`put`): schemas (`evolve`), deletes
//! (`delete`), key-value metadata (`array_metadata`), members of groups (`group_writer`). After
//! every write, an existing manifest is renewed (`publish`).
//!
//! # Limits of this crate
//!
//! It also has what `tdb-maintain` needs to write fragments from other fragments: locks, names,
//! files that appear whole, statistics of tiles, the order of cells.
//!
//! This crate does not know how queries are answered. It makes names and nonces from the system's
//! random numbers.
//!
//! This crate is internal to the engine: programs use `tdb-array`, which re-exports what is meant
//! for them. Everything else here may change in any minor version.
#![forbid(unsafe_code)]

mod array_metadata;
mod array_writer;
mod boxes;
mod codes;
mod column;
mod coordinates;
mod create;
mod delete;
mod dense;
mod dense_stream;
mod evolve;
mod fragment;
mod fragment_metadata;
mod fragment_set;
mod going_on;
mod group_writer;
mod merged;
mod names;
mod new_array;
mod open_fragment;
mod options;
mod ordered;
mod output;
mod publish;
mod put;
mod sorted;
mod statistics;
mod stream;
mod tile;
mod tile_cells;
mod tile_grid;
mod transaction;
mod unordered;
mod vacancy;
mod write;

#[cfg(test)]
mod tests;
mod thresholds;

use tdb_cells::{
    Cells, Column, Error, OrInternal, QueryError, Result, TimeWindow, WriteError, buffers, clock, coordinate,
    facts, grid, operands, parallel, requested, tally,
};
use tdb_snapshot::{context, deletes, directory, group, object, paths, schemas, timed};
use tdb_storage::{self as storage, stats};

pub use array_metadata::MetadataChanges;
pub use array_writer::ArrayWriter;
pub use column::{CheckedColumn, WriteBatch, WriteColumn};
pub use create::generic_tile;
pub use dense::{BoxPlan, append_box};
pub use dense_stream::DenseStream;
pub use evolve::SchemaEvolution;
pub use fragment::FragmentWriter;
pub use group_writer::GroupWriter;
pub use merged::{Marks, Merged};
pub use names::{Nonces, enumeration_file_name, fresh_uuid};
pub use new_array::{FilledArray, NewArray};
pub use options::{Duplicates, WriteOptions};
pub use publish::Publication;
pub use put::{ensure_folder, put};
pub use sorted::{GlobalOrder, Neighbours};
pub use statistics::{Fold, TileStatistics, of_tile};
pub use stream::SparseStream;
pub use tile_cells::TileCells;
pub use tile_grid::TileGrid;
pub use transaction::Transaction;
pub use vacancy::is_vacant;
pub use write::Write;
