//! Reads the cells of a TileDB array that one checked query ([`plan::Plan`]) asks for.
//!
//! [`run`] first fetches what the query will read, if the storage is remote (`prefetch`),
//! then runs one of two engines. `dense` paints the cells of tiles into their places of a result.
//! `sparse` selects cells in tiles, puts them in order, and gathers their columns. Both read only
//! what statistics cannot decide (`condition`), and resolve which of several versions of a cell is
//! visible (`overlap`, `visible_cells`, `dense::overlay`).
//!
//! | Module | Contents |
//! |---|---|
//! | [`plan`], [`batch_scope`] | a checked query, and the part of it that one batch reads, with its memory |
//! | [`run()`], [`labels`] | runs a query; values of labels instead of positions |
//! | [`dense`], [`sparse`] | the two engines |
//! | [`condition`] | the columns of a condition, tile by tile |
//! | [`overlap`], [`visible_cells`] | fragments that may hold versions of the same cell, and which cells are visible |
//! | [`reads`], [`prefetch`] | what a query will read, and fetching it at once |
//! | [`awaited`] | running all this on a storage that is awaited |
//!
//! ```
//! use tdb_codec::Layout;
//! use tdb_scan::plan::Plan;
//! use tdb_snapshot::SnapshotOptions;
//!
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../xtask/fixtures/arrays/2.30.0/quickstart");
//! let array = SnapshotOptions::new().open(path)?;
//! let fields = array.schema().fields().map(|field| field.kind).collect();
//! let plan = Plan::new(&array, fields, &[None, None], Some(Layout::RowMajor))?;
//! assert_eq!(tdb_scan::run(&plan)?.len(), 16);
//! # Ok::<(), tdb_cells::Error>(())
//! ```
//!
//! This crate knows nothing of how callers ask (`tdb-query`), how a query is cut into batches
//! (`tdb-split`), or how anything is written.
//!
//! Most tests of what this crate does are in `tdb-query` (`src/tests`), which asks as callers do.
//!
//! This crate is internal to the engine: programs use `tdb-array`, which re-exports what is meant
//! for them. Everything else here may change with any minor version.
#![forbid(unsafe_code)]

pub mod awaited;
pub mod batch_scope;
pub mod condition;
pub mod dense;
mod engine;
pub mod labels;
pub mod overlap;
pub mod plan;
pub mod prefetch;
pub mod reads;
mod run;
pub mod sparse;
mod thresholds;
mod tile_id;
pub mod visible_cells;

use tdb_cells::{
    Cells, Column, ColumnMemory, Error, OrInternal, QueryError, Result, TimeWindow, budget, buffers, facts,
    gather, grid, parallel, ranges, requested, spec,
};
use tdb_snapshot::{
    Snapshot, SnapshotOptions, context, decode_buffers, deletes, fragment, statistics, tiles,
};
use tdb_storage::{self as storage, replay, stats};

pub use self::run::run;
pub use self::tile_id::TileId;
