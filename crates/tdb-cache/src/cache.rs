//! What is kept, where, and what it was asked.

use core::sync::atomic::{AtomicU64, Ordering};
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use tdb_codec::to_u64;
use tdb_storage::{AsyncStorage, Spawn, Storage};

use crate::Origin;
use crate::awaited::CachedAsyncStorage;
use crate::files::{Lasting, lasting};
use crate::folder::{Folder, Found};
use crate::front::Front;
use crate::memory::Memory;
use crate::origin::FileId;
use crate::segment::{Segment, Wanted};
use crate::storage::CachedStorage;

/// Keeps what was read of files that never change: schemas, what fragments say of themselves, key-value metadata, and tiles if
/// asked. Clones are the same cache, for as many storages and threads as there are.
///
/// Listings and lists of commits are never kept, and neither is whether a file is there: an array that is opened through a cache
/// has exactly the fragments that it has without. What is kept are the bytes as they are stored, so those of encrypted arrays are
/// encrypted.
///
/// ```no_run
/// use tdb_array::{Cache, LocalStorage, OpenOptions, Origin};
///
/// let cache = Cache::folder("/var/cache/tdb", 1 << 30).with_memory(64 << 20);
/// let storage = cache.over(LocalStorage::new("/mnt/slow/array"), Origin::of(["/mnt/slow", "array"]));
/// let array = OpenOptions::new().open_storage(storage)?;
/// # Ok::<(), tdb_array::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "a cache does nothing until it stands before a storage"]
pub struct Cache {
    memory: Option<Arc<Memory>>,
    folder: Option<Arc<Folder>>,
    keep: Keep,
    counts: Arc<Counts>,
}

/// Which files are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keep {
    Metadata,
    Tiles,
    /// Any, whether or not it can change.
    #[cfg(test)]
    Everything,
}

impl Keep {
    fn keeps(self, key: &str) -> bool {
        match self {
            Self::Metadata => lasting(key) == Some(Lasting::Metadata),
            Self::Tiles => lasting(key).is_some(),
            #[cfg(test)]
            Self::Everything => true,
        }
    }
}

/// What a cache was asked and did, all clones and storages together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CacheStats {
    /// Requests that it answered.
    pub hits: u64,
    /// Bytes of these.
    pub hit_bytes: u64,
    /// Requests for files that it keeps, which it could not answer.
    pub misses: u64,
    /// Entries of the folder that were damaged or something else: each was a miss, and was removed.
    pub damaged: u64,
    /// Entries that could not be written into the folder: the disk is full, or the folder must not be written to.
    pub failed: u64,
}

#[derive(Debug, Default)]
struct Counts {
    hits: AtomicU64,
    hit_bytes: AtomicU64,
    misses: AtomicU64,
    damaged: AtomicU64,
    failed: AtomicU64,
}

fn add(to: &AtomicU64, count: u64) {
    to.fetch_add(count, Ordering::Relaxed);
}

impl Cache {
    fn new(memory: Option<Memory>, folder: Option<Folder>) -> Self {
        let (memory, folder) = (memory.map(Arc::new), folder.map(Arc::new));
        Self { memory, folder, keep: Keep::Metadata, counts: Arc::default() }
    }

    /// In memory, at most so many bytes. What was used longest ago goes first; what is larger than an eighth of it is not kept.
    pub fn memory(bytes: u64) -> Self {
        Self::new(Some(Memory::new(bytes)), None)
    }

    /// In a folder that outlives the process and that others may use at once, at most about so many bytes: each process that
    /// writes at the same time may add a sixteenth. What was used longest ago goes first; what is larger than a sixteenth is not
    /// kept.
    ///
    /// The folder is made when something is kept, so that only its owner may look into it. Nothing here makes a query fail: an
    /// entry that is damaged is read from the storage, and one that cannot be written is counted ([`CacheStats::failed`]).
    /// Whoever may write into the folder can change what queries return.
    pub fn folder(path: impl Into<PathBuf>, bytes: u64) -> Self {
        Self::new(None, Some(Folder::new(path.into(), bytes)))
    }

    /// In memory, too, at most so many bytes: what is used again in this process is not read from the folder, and checked, again.
    pub fn with_memory(mut self, bytes: u64) -> Self {
        self.memory = Some(Arc::new(Memory::new(bytes)));
        self
    }

    /// Keeps tiles, too: the cells of fragments.
    pub const fn with_tiles(mut self, tiles: bool) -> Self {
        self.keep = if tiles { Keep::Tiles } else { Keep::Metadata };
        self
    }

    #[cfg(test)]
    pub(crate) const fn with_everything(mut self) -> Self {
        self.keep = Keep::Everything;
        self
    }

    /// A storage with this cache before it. Files of equal keys and equal origins are taken for the same file: see [`Origin`].
    ///
    /// The storage must have files whole or not at all, as object stores do. Of a file that somebody is still writing, as one may
    /// see it in a local folder, the cache would keep what there was.
    pub fn over<S: Storage + 'static>(&self, storage: S, origin: Origin) -> CachedStorage<S> {
        CachedStorage::new(Arc::new(storage), Front::new(self.clone(), origin))
    }

    /// The same for callers that await. With `spawner`, the folder is read and written there, and else while futures are polled.
    pub fn over_awaited<S: AsyncStorage + 'static>(
        &self,
        storage: S,
        origin: Origin,
        spawner: Option<Arc<dyn Spawn>>,
    ) -> CachedAsyncStorage<S> {
        let spawner = spawner.filter(|_| self.folder.is_some());
        CachedAsyncStorage::new(Arc::new(storage), Front::new(self.clone(), origin), spawner)
    }

    /// What it was asked and did so far.
    #[must_use]
    pub fn stats(&self) -> CacheStats {
        let Counts { hits, hit_bytes, misses, damaged, failed } = &*self.counts;
        let [hits, hit_bytes, misses, damaged, failed] =
            [hits, hit_bytes, misses, damaged, failed].map(|count| count.load(Ordering::Relaxed));
        CacheStats { hits, hit_bytes, misses, damaged, failed }
    }

    pub(crate) fn keeps(&self, key: &str) -> bool {
        self.keep.keeps(key)
    }

    /// A segment that has what is wanted of a file. `listed` are the segments of it in the folder, if somebody looked before.
    pub(crate) fn find(
        &self,
        file: &FileId,
        wanted: &Wanted,
        listed: &mut Option<Vec<Segment>>,
    ) -> Option<(Segment, Bytes)> {
        let in_memory = self.memory.as_ref().and_then(|memory| memory.find(file, wanted));
        if in_memory.is_some() {
            return in_memory;
        }
        let folder = self.folder.as_ref()?;
        let listed = listed.get_or_insert_with(|| folder.segments(file));
        let having = listed.iter().filter(|segment| segment.place(wanted).is_some());
        let segment = having.min_by_key(|segment| segment.len())?;
        let bytes = match folder.read(file, segment) {
            Found::Bytes(bytes) => bytes,
            Found::Damaged => {
                add(&self.counts.damaged, 1);
                return None;
            }
            Found::Nothing => return None,
        };
        if let Some(memory) = &self.memory {
            memory.keep(file, segment, &bytes);
        }
        Some((segment.clone(), bytes))
    }

    /// Counts what was asked for and found.
    pub(crate) fn count(&self, hits: usize, bytes: usize, misses: usize) {
        add(&self.counts.hits, to_u64(hits));
        add(&self.counts.hit_bytes, to_u64(bytes));
        add(&self.counts.misses, to_u64(misses));
    }

    /// Keeps a part of a file.
    pub(crate) fn keep(&self, file: &FileId, segment: &Segment, bytes: &Bytes) {
        if let Some(memory) = &self.memory {
            memory.keep(file, segment, bytes);
        }
        if let Some(folder) = self.folder.as_ref().filter(|folder| folder.takes(segment))
            && folder.keep(file, segment, bytes).is_err()
        {
            add(&self.counts.failed, 1);
        }
    }

    /// Forgets a file.
    pub(crate) fn forget(&self, file: &FileId) {
        self.memory.iter().for_each(|memory| memory.forget(file));
        self.folder.iter().for_each(|folder| folder.forget(file));
    }

    #[cfg(test)]
    pub(crate) fn tiers(&self) -> (Option<&Memory>, Option<&Folder>) {
        (self.memory.as_deref(), self.folder.as_deref())
    }
}
