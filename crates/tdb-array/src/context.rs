//! What every part of an open array shares: the storage and the settings.

use std::sync::Arc;

use bytes::Bytes;
use tdb_codec::{Budget, FormatVersion, Limits, to_u64};
use tdb_filters::Key;
use tdb_tile::GenericTile;

use crate::stats::Counters;
use crate::storage::Storage;
use crate::{Error, QueryError, Result};

/// Storage and settings of an open array.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) storage: Arc<dyn Storage>,
    /// What was read and decoded so far.
    pub(crate) counters: Arc<Counters>,
    pub(crate) threads: usize,
    pub(crate) limits: Limits,
    pub(crate) budget: Budget,
    /// The key of an encrypted array.
    pub(crate) key: Option<Key>,
}

impl Context {
    /// How a key is shown to people.
    pub(crate) fn describe(&self, key: &str) -> String {
        self.storage.describe(key)
    }

    /// Bytes of a tile of `cells` cells, if that is within the limit.
    pub(crate) fn tile_len(&self, cells: usize, size: usize) -> Result<usize> {
        let len = cells.saturating_mul(size);
        if to_u64(len) > self.limits.tile_bytes {
            return Err(QueryError::OutOfMemory { bytes: to_u64(len) }.into());
        }
        Ok(len)
    }

    /// The whole of a small file.
    pub(crate) fn read_all(&self, key: &str) -> Result<Bytes> {
        let (_, bytes) =
            self.storage.read_tail(key, u64::MAX).map_err(|error| Error::io(self.describe(key), error))?;
        Ok(bytes)
    }

    /// The unfiltered payload of the generic tile that `bytes`, from `offset` of file `key`, begin with.
    pub(crate) fn generic_tile(&self, key: &str, bytes: &[u8], offset: u64) -> Result<Vec<u8>> {
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
    pub(crate) fn generic_file(&self, key: &str) -> Result<Vec<u8>> {
        let bytes = self.read_all(key)?;
        self.generic_tile(key, &bytes, 0)
    }
}
