//! Storages: the folders that TileDB arrays are read from and written to, on disk, in memory, or
//! remote.
//!
//! A [`Storage`] is one folder: it lists names and reads files, several ranges in one call where
//! that is faster. A [`WriteStorage`] writes whole files, once. [`LocalStorage`] and
//! [`MemoryStorage`] implement both traits; a program may provide its own implementation.
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
//! | Module | Contents |
//! |---|---|
//! | the root | the traits, the storages, prefetched bytes ([`PrefetchedStorage`]) |
//! | [`replay`] | asynchronous storages, and how synchronous code runs on them |
//! | [`stats`] | counters of what reading costs |
//! | [`testing`] | a conformance suite for storages; storages for tests that are slow or fail |
//!
//! This crate does not know what is in the files, nor which files an array has. It is the only
//! library of the workspace that opens files.
//!
//! This crate is internal to the engine: programs use `tdb-array`, which re-exports what is meant
//! for them. Everything else here may change in any minor version.
#![forbid(unsafe_code)]

mod below;
mod entry;
mod local;
mod manifest;
mod memory;
mod opening;
mod places;
mod prefetched;
mod published;
pub mod replay;
mod request;
mod secrets;
pub mod stats;
mod storage;
pub mod testing;
mod write_storage;

pub use below::Below;
pub use bytes::Bytes;
pub use entry::{ByteRange, Entry, join, range_from, range_len};
pub use local::{LocalStorage, TEMPORARY};
pub use manifest::{MANIFEST, MANIFEST_BYTES, Manifest, ManifestError, ManifestErrorKind};
pub use memory::MemoryStorage;
pub use places::{LocalPlaces, Places};
pub use prefetched::{PrefetchedStorage, ReadSet};
pub use published::{OutdatedManifest, Published, error_again};
pub use replay::{AsyncStorage, Fetching, Immediate, Spawn};
pub use request::{FetchHints, Reply, Request, other_answer};
pub use secrets::{location_without_secrets, split_query, without_secrets};
pub use stats::QueryStats;
pub use storage::{Storage, StoredFile, Tally, read_whole};
pub use write_storage::{Durability, FileVersion, FileWriter, StorageLock, WriteStorage, named, write_file};
