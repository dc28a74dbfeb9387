//! What was read of files that never change, kept in memory or in a folder.
//!
//! [`Cache::over`] puts a cache before a storage.

#[doc(inline)]
pub use tdb_cache::{Cache, CacheStats, CachedAsyncStorage, CachedStorage, Origin};
