//! Where the bytes of TileDB arrays come from and go to.
//!
//! A [`Storage`] is one folder: it lists names and reads files, several ranges in one call where that is faster. A
//! [`WriteStorage`] makes files, whole and once. [`LocalStorage`] and [`MemoryStorage`] are both; a program may bring
//! its own.
//!
//! ```
//! use tdb_storage::{ByteRange, MemoryStorage, Storage};
//!
//! let storage = MemoryStorage::new([("folder/file", &b"twelve bytes"[..])]);
//! assert_eq!(storage.size("folder/file")?, 12);
//! let range = ByteRange { key: "folder/file".into(), range: 0..6 };
//! assert_eq!(storage.read_ranges(&[range])?, [&b"twelve"[..]]);
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! | Module | What it is |
//! |---|---|
//! | [`storage`] | the traits, the storages, what is read ahead ([`Ahead`](storage::Ahead)) |
//! | [`deferred`] | storages that callers await, and how code that reads at once runs on them |
//! | [`stats`] | what reading costs, counted as it happens |
//! | [`testing`] | the rules of storages as a suite for tests, storages that are slow or fail |
//!
//! What this crate does not know: what is in the files, and which files there are. It is the only library of the
//! workspace that opens files.
//!
//! This crate is internal to the engine: programs use `tdb-array`, which re-exports what is meant for them. Everything
//! else here may change with any minor version.
#![forbid(unsafe_code)]

pub mod deferred;
pub mod stats;
pub mod storage;
pub mod testing;

pub use bytes::Bytes;
pub use deferred::{AsyncStorage, AtOnce, Fetching, Spawn};
pub use stats::QueryStats;
pub use storage::{
    ByteRange, Durability, Entry, FetchHints, FileVersion, FileWriter, LocalPlaces, LocalStorage, MANIFEST,
    Manifest, ManifestError, ManifestErrorKind, MemoryStorage, OutdatedManifest, Places, Published, Reply,
    Request, Storage, StorageLock, StoredFile, Tally, WriteStorage, write_file,
};
