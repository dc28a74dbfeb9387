//! A cache for the files of arrays that never change, in front of any storage.
//!
//! Fragments, schemas and metadata are written once, under names that are never used again. A
//! [`Cache`] stores what was read from them: in memory, in a folder that outlives the process, or
//! both. A [`CachedStorage`] asks the cache first, and forwards the remaining requests to the
//! storage in one call.
//!
//! ```
//! use tdb_array::OpenOptions;
//! use tdb_array::cache::{Cache, Origin};
//! use tdb_array::storage::LocalStorage;
//! use tdb_array::storage::testing::FarStorage;
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
//! # Why answers stay right
//!
//! - *One table says which files are kept* (`files`). The name of such a file contains a UUID, and
//!   nobody asks whether the file exists. A file that the table does not list is never kept: the
//!   old `__array_schema.tdb`, lists of commits, commit markers.
//! - *Listings and existence are never kept.* A request for a size goes to the storage, even if the
//!   file is in the cache. Fragments of versions 1 to 4 are committed by their metadata file, so
//!   this file is not kept. Thus a vacuumed fragment cannot come back, and an opened array has
//!   exactly the fragments that it has without the cache.
//! - *A kept part of a file is found by a SHA-256* of the [`Origin`] (which identifies the place,
//!   including its credentials) and the key. Object stores also give files entity tags, but a
//!   `Reply` does not carry them, and names with UUIDs need none. If two parts of a file disagree
//!   about its size, both are dropped.
//! - *A folder has no index and no lock.* Each part is a file with a header and a checksum, written
//!   under another name and renamed. The reader knows what the header must contain, so it compares
//!   and parses nothing. Anything wrong is a miss. Each process lists the entries of a file when it
//!   needs them, and walks the whole folder only when it has written a sixteenth of the bound.
//!
//! The cache keeps the ranges that were read, not blocks of a fixed size: blocks would need larger
//! requests, and sizes before them. If no kept part contains a range as a whole, the whole range is
//! requested. Code that counts requests (`stats::Counted`, `ReplayStorage`) passes the storage a
//! `Tally`, so that statistics distinguish hits from requests.
//!
//! This crate does not know what is in the files, nor how an array is read. It opens no files: a
//! folder is a [`LocalStorage`](tdb_storage::LocalStorage).
//!
//! This crate is internal to the engine: programs use `tdb-array`, which re-exports what is meant
//! for them. Everything else here may change in any minor version.
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
