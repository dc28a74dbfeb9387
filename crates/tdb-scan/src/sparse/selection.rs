//! The cells of one tile that a sparse query wants.

use tdb_codec::{Buffer, to_u64};

use super::cached_column::CachedColumn;
use crate::buffers::index_of;
use crate::tile_id::TileId;
use crate::tiles::USUAL_CHUNK;

/// The cells of one data tile that a query wants.
#[derive(Clone, Debug)]
pub struct TileSelection {
    /// The tile.
    pub id: TileId,
    /// Cells in the whole tile.
    pub tile_cells: usize,
    /// Numbers of the wanted cells, ascending; `None` for all.
    pub cells: Option<Vec<u32>>,
    /// Coordinates of the wanted cells, by dimension; empty unless they were asked for.
    pub coordinates: Vec<Coordinates>,
    /// In place of these, the keys that the cells have in a [`KeyEncoder`].
    pub(crate) keys: Option<Vec<u64>>,
    /// When each wanted cell was written, for fragments with cell timestamps.
    pub(crate) timestamps: Option<Vec<u64>>,
    /// The fragment's first timestamp: when its cells were written, if there are no cell
    /// timestamps.
    pub(crate) written: u64,
    /// Whether none of them is in the result: they are only here because they may replace others.
    pub(crate) only_replaces: bool,
}

/// Coordinates of some cells in one dimension: values back to back, and for strings also offsets,
/// one more than cells.
#[derive(Clone, Debug, Default)]
pub struct Coordinates {
    pub(crate) values: Buffer,
    pub(crate) offsets: Option<Vec<u64>>,
}

impl TileSelection {
    /// Number of wanted cells.
    pub fn count(&self) -> usize {
        self.cells.as_ref().map_or(self.tile_cells, Vec::len)
    }

    /// Cells of the tile from the first to the last wanted one.
    fn span(&self) -> usize {
        let Some(cells) = &self.cells else { return self.tile_cells };
        let ends = cells.first().zip(cells.last());
        ends.map_or(0, |(first, last)| index_of(last.saturating_sub(*first)).saturating_add(1))
    }

    /// About how many cells are decoded for these: the chunks that have the first and the last of
    /// them are decoded whole.
    pub(super) fn decoded(&self, size: usize) -> usize {
        let chunk = USUAL_CHUNK.checked_div(size).unwrap_or(0);
        self.span().saturating_add(chunk).min(self.tile_cells)
    }

    /// Approximate bytes that it takes.
    pub(super) fn held(&self) -> u64 {
        let lists = self.cells.as_ref().map_or(0, |cells| cells.len().saturating_mul(4));
        let times = self.timestamps.as_ref().map_or(0, |times| times.len().saturating_mul(8));
        let coordinates = self.coordinates.iter().map(|coordinates| {
            let offsets = coordinates.offsets.as_ref().map_or(0, |offsets| offsets.len().saturating_mul(8));
            coordinates.values.len().saturating_add(offsets)
        });
        let keys = self.keys.as_ref().map_or(0, |keys| keys.len().saturating_mul(8));
        let all = lists.saturating_add(times).saturating_add(keys).saturating_add(256);
        to_u64(coordinates.fold(all, usize::saturating_add))
    }
}

impl From<CachedColumn> for Coordinates {
    fn from(CachedColumn { values, offsets, .. }: CachedColumn) -> Self {
        Self { values, offsets }
    }
}
