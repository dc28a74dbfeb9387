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
//! [`write`](mod@write) also contains what `tdb-maintain` needs to write fragments from other
//! fragments: locks, names, files that appear whole, statistics of tiles, the order of cells.
//!
//! This crate does not know how queries are answered. It makes names and nonces from the system's
//! random numbers.
//!
//! This crate is internal to the engine: programs use `tdb-array`, which re-exports what is meant
//! for them. Everything else here may change in any minor version.
#![forbid(unsafe_code)]

pub mod write;

use tdb_cells::{
    Cells, Column, Error, OrInternal, QueryError, Result, TimeWindow, WriteError, asked, buffers, clock,
    coordinate, facts, grid, operands, order, parallel, tally,
};
use tdb_snapshot::{context, deletes, directory, group, object, paths, schemas, timed};
use tdb_storage::{stats, storage};

pub use write::{
    ArrayWriter, DenseStream, Duplicates, FragmentWriter, GroupWriter, MetadataChanges, NewArray,
    Publication, SchemaEvolution, SparseStream, Write, WriteBatch, WriteColumn, WriteOptions,
    enumeration_file_name, is_free,
};
