//! Maintenance of TileDB arrays: verification, consolidation of many files into few, and removal of
//! replaced files.
//!
//! [`verify`] reads every file of an array and compares what the files state about cells with the
//! cells. A [`Consolidation`] combines many fragments, footers, commit or metadata files into few;
//! a [`Vacuum`] removes what was replaced. Each is first a [`MaintenancePlan`], which is then
//! carried out.
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
//! This crate does not know byte layouts, nor how one fragment is written, which is the task of
//! `tdb-write`.
//!
//! This crate is internal to the engine: programs use `tdb-array`, which re-exports what is meant
//! for them. Everything else here may change in any minor version.
#![forbid(unsafe_code)]

mod lossy;
mod maintain;
mod verify;

use tdb_cells::{
    Column, Error, OrInternal, QueryError, Result, TimeWindow, WriteError, buffers, clock, coordinate, facts,
    order, parallel, ranges, spec,
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
pub use verify::{Problem, Verification, verify, verify_watched, verify_with};
