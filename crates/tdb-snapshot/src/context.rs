//! What every part of an open array shares: the storage and the settings.

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
    /// Where the array's bytes are.
    pub storage: Arc<dyn Storage>,
    /// The same storage, if it wants to know what is going to be read.
    pub ahead: Option<Arc<Ahead>>,
    /// What stands behind it, if callers await what is done with the array.
    pub deferred: Option<Arc<Deferred>>,
    /// Who runs what takes the processor for a while, for callers that await it.
    pub spawner: Option<Arc<dyn Spawn>>,
    /// What was read and decoded so far.
    pub counters: Arc<Counters>,
    /// How many threads may work at once.
    pub threads: usize,
    /// What a file may ask for at once.
    pub limits: Limits,
    /// What filters may hold between their steps.
    pub budget: Arc<Budget>,
    /// The key of an encrypted array.
    pub key: Option<Key>,
}

impl Context {
    /// The same settings for one query: what it fetches is its own.
    pub fn for_query(self: &Arc<Self>) -> Arc<Self> {
        let Some(ahead) = &self.ahead else { return self.clone() };
        let ahead = Arc::new(ahead.anew());
        Arc::new(Self { storage: ahead.clone(), ahead: Some(ahead), ..Self::clone(self) })
    }

    /// The same settings for one thing that a caller awaits: its answers are its own.
    pub fn for_task(self: &Arc<Self>) -> Arc<Self> {
        let Some(deferred) = &self.deferred else { return self.clone() };
        Arc::new(Self::clone(self).behind(Arc::new(deferred.anew())))
    }

    /// These settings, with a storage that callers await.
    pub(crate) fn behind(self, deferred: Arc<Deferred>) -> Self {
        let ahead = Ahead::before(deferred.clone()).map(Arc::new);
        let storage = ahead.clone().map_or(deferred.clone() as Arc<dyn Storage>, |ahead| ahead);
        Self { storage, ahead, deferred: Some(deferred), ..self }
    }

    /// Fetches what a step is going to read, if the storage wants to know: `collect` lists it, and is not called otherwise.
    pub fn need(&self, collect: impl FnOnce(&mut Needs) -> Result<()>) -> Result<()> {
        let Some(ahead) = &self.ahead else { return Ok(()) };
        let mut needs = Needs::default();
        collect(&mut needs)?;
        ahead.prepare(&needs);
        Ok(())
    }

    /// How a key is shown to people.
    pub fn describe(&self, key: &str) -> String {
        self.storage.describe(key)
    }

    /// Bytes of a tile of `cells` cells, if that is within the limit.
    pub fn tile_len(&self, cells: usize, size: usize) -> Result<usize> {
        let len = cells.saturating_mul(size);
        if to_u64(len) > self.limits.tile_bytes {
            return Err(QueryError::OutOfMemory { bytes: to_u64(len) }.into());
        }
        Ok(len)
    }

    /// The whole of a small file.
    pub fn read_all(&self, key: &str) -> Result<Bytes> {
        self.storage.read(key).map_err(|error| Error::io(self.describe(key), error))
    }

    /// The unfiltered payload of the generic tile that `bytes`, from `offset` of file `key`, begin with.
    pub fn generic_tile(&self, key: &str, bytes: &[u8], offset: u64) -> Result<Vec<u8>> {
        Ok(self.versioned_tile(key, bytes, offset)?.1)
    }

    /// The same, behind the version that the tile's writer knew.
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

    /// The unfiltered payload of a file that is one generic tile.
    pub fn generic_file(&self, key: &str) -> Result<Vec<u8>> {
        let bytes = self.read_all(key)?;
        self.generic_tile(key, &bytes, 0)
    }
}
