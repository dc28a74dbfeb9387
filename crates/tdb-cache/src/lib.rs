//! A cache for the files of arrays that never change, in front of any storage.
//!
//! Fragments, schemas and metadata are written once, under names that are never used again. A [`Cache`] stores what was
//! read from them: in memory, in a folder that outlives the process, or both. A [`CachedStorage`] asks the cache first,
//! and forwards the remaining requests to the storage in one call.
//!
//! ```
//! use tdb_array::testing::FarStorage;
//! use tdb_array::{Cache, LocalStorage, OpenOptions, Origin};
//! # use core::time::Duration;
//! # use std::sync::Arc;
//!
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../xtask/fixtures/arrays/2.30.0/quickstart");
//! let cache = Cache::memory(16 << 20);
//! let far = Arc::new(FarStorage::new(LocalStorage::new(path), Duration::ZERO));
//! let open = || OpenOptions::new().open_storage(cache.over(far.clone(), Origin::of(["the quickstart"])));
//! open()?;
//! assert_eq!(far.rounds(), 2);
//! // Listings determine what is committed: they are read each time. The schema and the footer are not.
//! let array = open()?;
//! assert_eq!((far.rounds(), array.stats().cache_hits), (3, 2));
//! # Ok::<(), tdb_array::Error>(())
//! ```
//!
//! | Module | Contents |
//! |---|---|
//! | `files` | the table of files that never change |
//! | `segment`, `entry` | a part of a file; how it is stored in a folder |
//! | `memory`, `folder` | where parts are stored, and which are removed when there are too many |
//! | `cache` | both, and counters of requests |
//! | `front`, `storage`, `awaited` | the cache in front of a storage, for blocking and for asynchronous callers |
//!
//! This crate does not know what is in the files, nor how an array is read. It opens no files: a folder is a
//! [`LocalStorage`](tdb_storage::LocalStorage).
//!
//! This crate is internal to the engine: programs use `tdb-array`, which re-exports what is meant for them. Everything
//! else here may change in any minor version.
#![forbid(unsafe_code)]

mod awaited;
mod cache;
mod entry;
mod files;
mod folder;
mod front;
mod memory;
mod origin;
mod segment;
mod storage;

pub use awaited::CachedAsyncStorage;
pub use cache::{Cache, CacheStats};
pub use origin::Origin;
pub use storage::CachedStorage;

#[cfg(test)]
mod tests;
