//! Maintenance of TileDB arrays: verification, consolidation of many files into few, and removal of
//! replaced files.
//!
//! [`verify`] reads every file of an array and compares what the files state about cells with the
//! cells. A [`Consolidation`] combines many fragments, footers, commit or metadata files into few;
//! a [`Vacuum`] removes what was replaced. Each is first a [`MaintenancePlan`]: the files that it
//! will read, write and remove, with sizes. Running the plan reports progress, can be cancelled,
//! and verifies new fragments before they take effect.
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
//! New fragments replace their inputs with three steps in this order, each durable before the next
//! begins, so that the process may stop at any point (docs/maintenance.md justifies each step):
//!
//! ```text
//! __fragments/<new>/…         invisible
//! __commits/<new>.wrt         visible together with its inputs: the same cells at every time
//! __commits/<new>.vac         hides the inputs wherever the new fragment is visible
//! ```
//!
//! Nothing is removed here; [`Vacuum`] does that.
//!
//! This crate does not know byte layouts, nor how one fragment is written, which is the task of
//! `tdb-write`.
//!
//! This crate is internal to the engine: programs use `tdb-array`, which re-exports what is meant
//! for them. Everything else here may change in any minor version.
#![forbid(unsafe_code)]

mod commits;
mod eligibility;
mod exclusive_list;
mod footers;
mod fragment_choice;
mod fragment_commit;
mod fragment_removal;
mod fragments;
mod groups;
mod job;
mod leaving;
mod lossy;
mod merge;
mod merge_deletes;
mod merge_dense;
mod merge_fields;
mod merge_key;
mod merge_source;
mod merge_sparse;
mod metadata;
mod options;
mod plan;
mod removal;
mod run;
mod thresholds;
mod vacuum;
mod verify;

use tdb_cells::{
    Column, Error, OrInternal, QueryError, Result, TimeWindow, WriteError, buffers, clock, coordinate, facts,
    parallel, ranges, spec,
};
use tdb_query::Array;
use tdb_scan::sparse;
use tdb_snapshot::{
    Snapshot, SnapshotOptions, context, decode_buffers, directory, fragment, object, paths, schemas, tiles,
    timed,
};
use tdb_storage as storage;
use tdb_write::{self as write, ArrayWriter, FragmentWriter};

pub use groups::consolidation_groups;
pub use options::{Consolidation, FragmentRemoval, MaintainedObject, Stored, Vacuum};
pub use plan::{MaintenancePlan, MaintenanceProgress, MaintenanceStep, PlannedFile};
pub use verify::{Problem, Verification, verify, verify_watched, verify_with};
