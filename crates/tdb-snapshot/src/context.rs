//! The storage and the settings that all parts of an open array share.

use std::sync::Arc;

use bytes::Bytes;
use tdb_codec::{Budget, FormatVersion, Limits, to_u64};
use tdb_filters::Key;
use tdb_tile::GenericTile;

use crate::deferred::{Deferred, Spawn};
use crate::stats::Counters;
use crate::storage::{Ahead, Needs, Storage};
use crate::{Error, QueryError, Result};

/// Storage and settings of an open array.
#[derive(Clone, Debug)]
pub struct Context {
    /// The storage of the array.
    pub storage: Arc<dyn Storage>,
    /// The same storage, if it prefetches: it is told beforehand what is going to be read.
    pub ahead: Option<Arc<Ahead>>,
    /// The asynchronous storage behind it, if callers await their results.
    pub deferred: Option<Arc<Deferred>>,
    /// Runs work that keeps a processor busy for a while, for callers that await it.
    pub spawner: Option<Arc<dyn Spawn>>,
    /// Counts what was read and decoded so far.
    pub counters: Arc<Counters>,
    /// How many threads may work at once.
    pub threads: usize,
    /// Whether tiles are read chunk by chunk, where they have chunks: for a query whose memory has
    /// no room for whole tiles.
    pub by_chunk: bool,
    /// The limits of what a file may request at once.
    pub limits: Limits,
    /// The memory that filters may hold between their steps.
    pub budget: Arc<Budget>,
    /// The key of an encrypted array.
    pub key: Option<Key>,
}

impl Context {
    /// The same settings for one query, which fetches into its own memory.
    pub fn for_query(self: &Arc<Self>) -> Arc<Self> {
        let Some(ahead) = &self.ahead else { return self.clone() };
        let ahead = Arc::new(ahead.anew());
        Arc::new(Self { storage: ahead.clone(), ahead: Some(ahead), ..Self::clone(self) })
    }

    /// Whether all requested bytes have arrived. Results of a step that ran before that may be
    /// wrong, and must not be remembered.
    pub fn has_all_answers(&self) -> bool {
        self.deferred.as_ref().is_none_or(|deferred| !deferred.is_waiting())
    }

    /// Whether the storage is local: it answers each request at once, so that it does not prefetch,
    /// and no caller awaits its answers.
    pub fn is_near(&self) -> bool {
        self.ahead.is_none() && self.deferred.is_none()
    }

    /// The same settings for one asynchronous task, which has its own answers.
    pub fn for_task(self: &Arc<Self>) -> Arc<Self> {
        let Some(deferred) = &self.deferred else { return self.clone() };
        Arc::new(Self::clone(self).behind(Arc::new(deferred.anew())))
    }

    /// These settings, with an asynchronous storage.
    pub(crate) fn behind(self, deferred: Arc<Deferred>) -> Self {
        let ahead = Ahead::before(deferred.clone()).map(Arc::new);
        let storage = ahead.clone().map_or(deferred.clone() as Arc<dyn Storage>, |ahead| ahead);
        Self { storage, ahead, deferred: Some(deferred), ..self }
    }

    /// Prefetches the bytes that a step is going to read, if the storage prefetches. `collect`
    /// lists them, and is called only in that case.
    pub fn need(&self, collect: impl FnOnce(&mut Needs) -> Result<()>) -> Result<()> {
        let Some(ahead) = &self.ahead else { return Ok(()) };
        let mut needs = Needs::default();
        collect(&mut needs)?;
        ahead.prepare(&needs);
        Ok(())
    }

    /// The path of a key, for messages.
    pub fn describe(&self, key: &str) -> String {
        self.storage.describe(key)
    }

    /// Bytes of a tile of `cells` cells, if they are within the limit.
    pub fn tile_len(&self, cells: usize, size: usize) -> Result<usize> {
        // A length beyond all numbers is beyond the limit, too.
        let len = cells.saturating_mul(size);
        if to_u64(len) > self.limits.tile_bytes {
            return Err(QueryError::OutOfMemory { bytes: to_u64(len) }.into());
        }
        Ok(len)
    }

    /// Reads a small file completely.
    pub fn read_all(&self, key: &str) -> Result<Bytes> {
        self.storage.read(key).map_err(|error| Error::io(self.describe(key), error))
    }

    /// The unfiltered payload of the generic tile at the beginning of `bytes`, which are at
    /// `offset` of file `key`.
    pub fn generic_tile(&self, key: &str, bytes: &[u8], offset: u64) -> Result<Vec<u8>> {
        Ok(self.versioned_tile(key, bytes, offset)?.1)
    }

    /// The same, and the format version of the library that wrote the tile.
    pub(crate) fn versioned_tile(
        &self,
        key: &str,
        bytes: &[u8],
        offset: u64,
    ) -> Result<(FormatVersion, Vec<u8>)> {
        let corrupt = |error| Error::from_tile(self.describe(key), None, error);
        let tile = GenericTile::parse(bytes, offset).map_err(corrupt)?;
        let payload = tile.decode(self.key.as_ref(), &self.limits, &self.budget).map_err(corrupt)?;
        Ok((tile.version, payload))
    }

    /// The unfiltered payload of a file that consists of one generic tile.
    pub fn generic_file(&self, key: &str) -> Result<Vec<u8>> {
        let bytes = self.read_all(key)?;
        self.generic_tile(key, &bytes, 0)
    }
}
