//! The storage and the settings that all parts of an open array share.

use std::sync::Arc;

use bytes::Bytes;
use tdb_codec::{Budget, FormatVersion, Limits, to_u64};
use tdb_filters::Key;
use tdb_tile::GenericTile;

use crate::replay::{ReplayStorage, Spawn};
use crate::stats::Counters;
use crate::storage::{PrefetchedStorage, ReadSet, Storage};
use crate::{Error, OrInternal, QueryError, Result};

/// Storage and settings of an open array.
#[derive(Clone, Debug)]
pub struct Context {
    /// The storage of the array.
    pub storage: Arc<dyn Storage>,
    /// The same storage, if it prefetches: it is told beforehand what is going to be read.
    pub prefetched: Option<Arc<PrefetchedStorage>>,
    /// The asynchronous storage behind it, if callers await their results.
    pub replay_storage: Option<Arc<ReplayStorage>>,
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
    pub fn for_query(self: &Arc<Self>) -> Result<Arc<Self>> {
        let Some(prefetched) = &self.prefetched else { return Ok(self.clone()) };
        let prefetched = self.kept(|| Arc::new(prefetched.anew()))?;
        let storage = prefetched.clone();
        Ok(Arc::new(Self { storage, prefetched: Some(prefetched), ..Self::clone(self) }))
    }

    /// Fails if the caller awaits, and something that was asked for has not arrived yet. Whoever
    /// announces what it will read ends here, so that it decodes nothing before it has everything.
    pub fn arrived(&self) -> Result<()> {
        let arrived = self.replay_storage.as_ref().map_or(Ok(()), |replay_storage| replay_storage.check());
        arrived.map_err(|error| Error::io(self.describe(""), error))
    }

    /// Runs a stage of a query. Where the caller awaits, everything that lacks an answer is run
    /// again; a stage that has ended is not: its result is recorded, also if it is that the query
    /// does not fit its memory. So a stage must have no effect but its result, or one that it may
    /// have twice; and a query has the same stages, in the same order, each time, none of them in
    /// parallel.
    ///
    /// # Errors
    /// Those of `run`; something has not arrived yet.
    pub fn stage<T: Send + Sync + 'static>(&self, run: impl FnOnce() -> Result<T>) -> Result<Arc<T>> {
        let next = self.replay_storage.as_ref().and_then(|own| Some((own, own.next_stage()?)));
        let Some((replay_storage, (number, found))) = next else { return run().map(Arc::new) };
        if let Some(found) = found {
            let found = found.downcast::<Result<Arc<T>, QueryError>>().ok();
            return Ok(found
                .or_internal("a query has other stages when it is repeated")?
                .as_ref()
                .clone()?);
        }
        let result = run().map(Arc::new);
        self.arrived()?;
        let recorded = match &result {
            Ok(result) => Ok(result.clone()),
            Err(Error::Query(error)) => Err(error.clone()),
            Err(_) => return result,
        };
        replay_storage.finish_stage(number, Arc::new(recorded));
        result
    }

    /// Something that a query shares among its stages: it is made once, and is the same where a
    /// part of the query is run again.
    pub fn kept<T: Send + Sync + 'static>(&self, new: impl FnOnce() -> Arc<T>) -> Result<Arc<T>> {
        if self.replay_storage.is_none() {
            return Ok(new());
        }
        self.stage(|| Ok(new())).map(Arc::unwrap_or_clone)
    }

    /// Whether the storage is local: it answers each request at once, so that it does not prefetch,
    /// and no caller awaits its answers.
    pub fn is_local(&self) -> bool {
        self.prefetched.is_none() && self.replay_storage.is_none()
    }

    /// The same settings for one asynchronous task, which has its own answers.
    pub fn for_task(self: &Arc<Self>) -> Arc<Self> {
        let Some(replay_storage) = &self.replay_storage else { return self.clone() };
        Arc::new(Self::clone(self).behind(Arc::new(replay_storage.anew())))
    }

    /// These settings, with an asynchronous storage.
    pub(crate) fn behind(self, replay_storage: Arc<ReplayStorage>) -> Self {
        let prefetched = PrefetchedStorage::wrap(replay_storage.clone()).map(Arc::new);
        let storage =
            prefetched.clone().map_or(replay_storage.clone() as Arc<dyn Storage>, |prefetched| prefetched);
        Self { storage, prefetched, replay_storage: Some(replay_storage), ..self }
    }

    /// Prefetches the bytes that a step is going to read, if the storage prefetches. `collect`
    /// lists them, and is called only in that case.
    pub fn need(&self, collect: impl FnOnce(&mut ReadSet) -> Result<()>) -> Result<()> {
        let Some(prefetched) = &self.prefetched else { return Ok(()) };
        let mut read_set = ReadSet::default();
        collect(&mut read_set)?;
        prefetched.prefetch(&read_set);
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
