//! A TileDB array at one point of its history, and single tiles of its fields.
//!
//! [`SnapshotOptions::open_storage`] lists the array's folders and reads the commit files, the
//! newest schema in the window, and the footers of the visible fragments: from the last 64 KiB of
//! each metadata file, which contain all sections of most fragments, or from the file of
//! consolidated footers. The [`Snapshot`] it returns describes the array; sections of fragments
//! ([`fragment`]) and tiles ([`tiles`]) are read when they are needed.
//!
//! ```
//! use tdb_snapshot::SnapshotOptions;
//! use tdb_storage::LocalStorage;
//!
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../xtask/fixtures/arrays/2.30.0/quickstart");
//! let snapshot = SnapshotOptions::new().open_storage(LocalStorage::new(path))?;
//! assert_eq!(snapshot.schema().attributes[0].name, "a");
//! assert_eq!(snapshot.fragments().len(), 1);
//! # Ok::<(), tdb_cells::Error>(())
//! ```
//!
//! | Module | Contents |
//! |---|---|
//! | [`paths`], [`object`], [`directory`] | names and types of folders, and which files of an array are used |
//! | [`schemas`], [`deletes`], [`timed`] | schemas and enumerations, delete conditions, metadata: read from their files |
//! | [`fragment`], [`statistics`] | the metadata of a fragment |
//! | [`tiles`] | tiles of one field: fetched, decoded, checked |
//! | [`context`], [`decode_buffers`] | the storage and settings of an open array, and the buffers of a thread |
//! | [`snapshot`], [`group`] | an array, and a group, at a time |
//!
//! This crate does not know which cells a query wants, in which order, or how anything is written.
//! Its bytes come from any [`Storage`](tdb_storage::Storage).
//!
//! This crate is internal to the engine: programs use `tdb-array`, which re-exports what is meant
//! for them. Everything else here may change with any minor version.
#![forbid(unsafe_code)]

mod consolidated;
pub mod context;
pub mod decode_buffers;
pub mod deletes;
pub mod directory;
pub mod fragment;
pub mod group;
mod history;
pub mod memo;
pub mod object;
pub mod schemas;
pub mod snapshot;
pub mod statistics;
mod thresholds;
pub mod tiles;
pub mod timed;

use tdb_cells::{
    ConditionTarget, Error, InternalError, OrInternal, QueryError, Result, TimeWindow, buffers, clock,
    coordinate, facts, grid, parallel, ranges, spec, tally,
};
pub use tdb_fragment::paths;
use tdb_storage::{self as storage, LocalStorage, replay, stats};

pub use directory::is_encrypted;
pub use fragment::Fragment;
pub use group::{Found, Group, Visited};
pub use history::{Event, EventKind, History, State, history};
pub use object::{UNFINISHED, object_type};
pub use snapshot::{Snapshot, SnapshotOptions};
