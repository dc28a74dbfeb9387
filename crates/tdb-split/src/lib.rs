//! Cuts a query of a TileDB array: into batches that fit a memory budget ([`stream`]), or into
//! parts of about equal work for several workers ([`partition`]).
//!
//! Both cut the box that a query covers along the order of its cells. A stream cuts as it goes,
//! because it learns from each batch how much memory cells take; a partition is cut once, from the
//! statistics of fragments.
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
//! let parts = tdb_split::partition::partitions(&plan, 2)?;
//! assert_eq!(parts.len(), 2);
//! # Ok::<(), tdb_cells::Error>(())
//! ```
//!
//! Most tests of what this crate does are in `tdb-query` (`src/tests`), which asks as callers do.
//!
//! This crate is internal to the engine: programs use `tdb-array`, which re-exports what is meant
//! for them. Everything else here may change with any minor version.
#![forbid(unsafe_code)]

pub mod partition;
pub mod stream;

use tdb_cells::{
    Cells, Error, OrInternal, QueryError, Result, budget, buffers, parallel, ranges, requested, spec,
};
use tdb_scan::{TileId, batch_scope, condition, dense, plan, prefetch, sparse, visible_cells};
use tdb_snapshot::{context, fragment, tiles};
use tdb_storage::replay;
