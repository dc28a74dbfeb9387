//! The positions of the tiles in a data file.

use std::ops::Range as ByteRangeOf;
use std::sync::Arc;

use crate::context::Context;
use crate::{Error, Result};

/// The position of a tile's bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TileLocation {
    /// The file's key.
    pub key: Arc<str>,
    /// The tile's bytes in it.
    pub range: ByteRangeOf<u64>,
}

impl TileLocation {
    /// Bytes of the tile in its file. [`TileFile::tile`] has checked that it does not end before it
    /// begins.
    pub fn stored_len(&self) -> u64 {
        self.range.end.wrapping_sub(self.range.start)
    }
}

/// The tiles of one data file: the start of each, and the end of the last one.
#[derive(Clone, Debug)]
pub struct TileFile {
    /// The file's key.
    pub key: Arc<str>,
    pub(super) offsets: Arc<Vec<u64>>,
    pub(super) size: u64,
}

impl TileFile {
    /// Number of tiles.
    pub fn tile_count(&self) -> usize {
        self.offsets.len()
    }

    /// The start of the first tile.
    pub fn start(&self) -> Option<u64> {
        self.offsets.first().copied()
    }

    /// The bytes of tile `tile`.
    pub fn tile(&self, context: &Context, tile: usize) -> Result<TileLocation> {
        let bad = |detail: String| {
            Error::inconsistent(context.describe(&self.key), "tile offsets", self.size, detail)
        };
        let start = *self.offsets.get(tile).ok_or_else(|| {
            bad(format!("tile {tile} is needed, but the fragment lists {}", self.offsets.len()))
        })?;
        let end = tile.checked_add(1).and_then(|next| self.offsets.get(next)).copied().unwrap_or(self.size);
        if start > end || end > self.size {
            return Err(bad(format!("tile {tile} would span bytes {start} to {end} of {}", self.size)));
        }
        Ok(TileLocation { key: self.key.clone(), range: start..end })
    }
}
