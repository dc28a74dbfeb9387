//! The kept bytes, the place of their storage, and counters of requests.

use core::sync::atomic::{AtomicU64, Ordering};
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use tdb_codec::to_u64;

use crate::files::{Lasting, lasting};
use crate::folder::{Folder, Found};
use crate::memory::Memory;
use crate::origin::FileId;
use crate::segment::{Segment, Wanted};

/// Caches data from files that never change: schemas, metadata of fragments, key-value metadata,
/// and on request tiles. Clones are the same cache, and any number of storages and threads may
/// share it.
///
/// Listings, lists of commits and the existence of files are never cached: an array that is opened
/// through a cache has exactly the fragments that it has without. Bytes are cached as they are
/// stored, so those of encrypted arrays stay encrypted.
///
/// ```no_run
/// use tdb_array::OpenOptions;
/// use tdb_array::cache::{Cache, Origin};
/// use tdb_array::storage::LocalStorage;
///
/// let cache = Cache::folder("/var/cache/tdb", 1 << 30).with_memory(64 << 20);
/// let storage = cache.over(LocalStorage::new("/mnt/slow/array"), Origin::of(["/mnt/slow", "array"]));
/// let array = OpenOptions::new().open_storage(storage)?;
/// # Ok::<(), tdb_array::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "a cache does nothing until it is put in front of a storage"]
pub struct Cache {
    memory: Option<Arc<Memory>>,
    folder: Option<Arc<Folder>>,
    keep: Keep,
    counts: Arc<Counts>,
}

/// Which files are cached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keep {
    Metadata,
    Tiles,
    /// All files, whether or not they can change.
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

/// Counters of a cache, for all its clones and storages together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CacheStats {
    /// Requests answered from the cache.
    pub hits: u64,
    /// Bytes of these answers.
    pub hit_bytes: u64,
    /// Requests for files of the cached kinds that it could not answer.
    pub misses: u64,
    /// Entries of the folder that were damaged or not valid: each counts as a miss, and was
    /// removed.
    pub damaged: u64,
    /// Entries that could not be written to the folder: the disk is full, or the folder is not
    /// writable.
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

    /// A cache in memory, of at most `bytes` bytes. The least recently used data is removed first;
    /// what is larger than an eighth of the limit is not cached.
    pub fn memory(bytes: u64) -> Self {
        Self::new(Some(Memory::new(bytes)), None)
    }

    /// A cache in a folder that outlives the process and that other processes may use at once, of
    /// at most about `bytes` bytes: each process that writes at the same time may add a sixteenth.
    /// The least recently used data is removed first; what is larger than a sixteenth of the limit
    /// is not cached.
    ///
    /// The folder is created when the first data is cached, with access for its owner only. A
    /// problem here never makes a query fail: if an entry is damaged, the data is read from the
    /// storage, and entries that cannot be written are counted ([`CacheStats::failed`]). Anyone who
    /// can write to the folder can change the results of queries.
    pub fn folder(path: impl Into<PathBuf>, bytes: u64) -> Self {
        Self::new(None, Some(Folder::new(path.into(), bytes)))
    }

    /// Also caches in memory, at most `bytes` bytes: data that is used again in this process is not
    /// read from the folder and verified again.
    pub fn with_memory(mut self, bytes: u64) -> Self {
        self.memory = Some(Arc::new(Memory::new(bytes)));
        self
    }

    /// Also caches tiles: the cells of fragments.
    pub const fn with_tiles(mut self, tiles: bool) -> Self {
        self.keep = if tiles { Keep::Tiles } else { Keep::Metadata };
        self
    }

    #[cfg(test)]
    pub(crate) const fn with_everything(mut self) -> Self {
        self.keep = Keep::Everything;
        self
    }

    /// The counters so far.
    #[must_use]
    pub fn stats(&self) -> CacheStats {
        let Counts { hits, hit_bytes, misses, damaged, failed } = &*self.counts;
        let [hits, hit_bytes, misses, damaged, failed] =
            [hits, hit_bytes, misses, damaged, failed].map(|count| count.load(Ordering::Relaxed));
        CacheStats { hits, hit_bytes, misses, damaged, failed }
    }

    /// Whether it caches in a folder.
    pub(crate) const fn has_folder(&self) -> bool {
        self.folder.is_some()
    }

    /// Whether it caches files with this key.
    pub(crate) fn keeps(&self, key: &str) -> bool {
        self.keep.keeps(key)
    }

    /// A cached segment that contains the wanted part of a file. `listed` are its segments in the
    /// folder, if they were listed already.
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

    /// Adds to the counters.
    pub(crate) fn count(&self, hits: usize, bytes: usize, misses: usize) {
        add(&self.counts.hits, to_u64(hits));
        add(&self.counts.hit_bytes, to_u64(bytes));
        add(&self.counts.misses, to_u64(misses));
    }

    /// Caches a part of a file.
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

    /// Removes a file from the cache.
    pub(crate) fn forget(&self, file: &FileId) {
        self.memory.iter().for_each(|memory| memory.forget(file));
        self.folder.iter().for_each(|folder| folder.forget(file));
    }

    #[cfg(test)]
    pub(crate) fn tiers(&self) -> (Option<&Memory>, Option<&Folder>) {
        (self.memory.as_deref(), self.folder.as_deref())
    }
}
