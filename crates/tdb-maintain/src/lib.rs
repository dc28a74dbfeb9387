//! Upkeep of TileDB arrays: whether all is well, many files made into few, and what they replace removed.
//!
//! [`verify`] walks every file of an array and compares what the files say of cells with the cells. A [`Consolidation`]
//! makes many fragments, footers, commit or metadata files into few; a [`Vacuum`] removes what was replaced. Each is a
//! [`MaintenancePlan`] before it is carried out.
//!
//! ```
//! use tdb_maintain::verify;
//! use tdb_storage::LocalStorage;
//!
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../xtask/fixtures/arrays/2.30.0/quickstart");
//! let found = verify(LocalStorage::new(path));
//! assert!(found.problems.is_empty());
//! ```
//!
//! What this crate does not know: byte layouts, and how one fragment is written, which is the work of `tdb-write`.
//!
//! This crate is internal to the engine: programs use `tdb-array`, which re-exports what is meant for them. Everything
//! else here may change with any minor version.
#![forbid(unsafe_code)]

mod maintain;
mod verify;

use tdb_cells::{
    Column, Error, QueryError, Result, TimeWindow, WriteError, buffers, clock, coordinate, facts, order,
    parallel, ranges, spec,
};
use tdb_query::{Array, condition, sparse};
use tdb_snapshot::{
    Snapshot, SnapshotOptions, context, directory, fragment, object, paths, schemas, tiles, timed, worker,
};
use tdb_storage::storage;
use tdb_write::{ArrayWriter, FragmentWriter, write};

pub use maintain::{
    Consolidation, MaintainedObject, MaintenancePlan, MaintenanceProgress, MaintenanceStep, PlannedFile,
    Stored, Vacuum,
};
pub use verify::{Problem, Verification, verify, verify_with};
