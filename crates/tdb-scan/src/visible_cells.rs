//! Which cells count of tiles that may hold cells of other fragments: what is known before they are
//! read.

use std::collections::BTreeMap;
use std::sync::Arc;

use tdb_codec::to_u64;

use crate::buffers::index_of;
use crate::tile_id::TileId;
use crate::{Error, OrInternal, Result};

/// The bits of a tile are fewer than its cells.
const NO_BIT: &str = "a cell has no bit among those of its tile";

/// Approximate bytes that are held for a tile, besides its bits.
pub const TILE: u64 = 64;

/// The cells that count of all overlapping tiles of a query. Of other tiles nothing is known, and
/// nothing needs to be.
#[derive(Debug, Default)]
pub struct VisibleCells {
    tiles: BTreeMap<TileId, Cells>,
}

/// The cells that count of a tile.
#[derive(Clone, Debug, Default)]
pub struct Cells {
    /// The number of them.
    count: usize,
    /// A bit for each cell of the tile, the first one the lowest; `None` if none of them counts, or
    /// all do.
    bits: Option<Vec<u64>>,
}

/// The knowledge of a plan about the visible cells of its tiles.
#[derive(Clone, Debug)]
pub struct Visibility {
    /// The visible cells of each overlapping tile.
    pub cells: Arc<VisibleCells>,
    /// Whether they are exactly what the plan asks for. Otherwise it asks for some of them, those
    /// in its ranges that satisfy its condition.
    pub exact: bool,
}

impl Visibility {
    /// Whether a tile may have cells of the plan.
    pub(crate) fn has_tile(&self, id: TileId) -> bool {
        self.cells.of(id).is_none_or(|cells| cells.count > 0)
    }

    /// Whether it is known which cells of a tile the plan asks for.
    pub(crate) fn is_decided(&self, id: TileId) -> bool {
        self.exact && self.cells.of(id).is_some()
    }

    /// The largest number of cells that the plan may take of a tile of so many.
    pub fn most(&self, id: TileId, cells: usize) -> usize {
        self.cells.of(id).map_or(cells, |visible| visible.count.min(cells))
    }

    /// A byte for each cell of a tile, 0 for those that do not count; `None` if all may.
    pub(crate) fn mask(&self, id: TileId, cells: usize) -> Result<Option<Vec<u8>>> {
        let Some(visible) = self.cells.of(id) else { return Ok(None) };
        Ok(match &visible.bits {
            Some(bits) if bits.len() != cells.div_ceil(64) => return Err(Error::internal(NO_BIT)),
            Some(bits) => {
                let mut mask = vec![0; cells];
                for (bytes, word) in mask.chunks_mut(64).zip(bits) {
                    (0u32..).zip(bytes).for_each(|(bit, byte)| *byte = u8::from(word >> bit & 1 != 0));
                }
                Some(mask)
            }
            None if visible.count >= cells => None,
            None => Some(vec![0; cells]),
        })
    }
}

impl VisibleCells {
    fn of(&self, id: TileId) -> Option<&Cells> {
        self.tiles.get(&id)
    }

    /// Approximate bytes that it holds.
    pub fn held(&self) -> u64 {
        let bits = |cells: &Cells| cells.bits.as_ref().map_or(0, |bits| bits.len().saturating_mul(8));
        self.tiles.values().fold(0, |sum, own| sum.saturating_add(TILE).saturating_add(to_u64(bits(own))))
    }

    /// Notes that a tile may hold cells of other fragments; none of its own counts yet.
    pub fn note(&mut self, id: TileId) {
        self.tiles.insert(id, Cells::default());
    }

    /// The cells of a tile, to add some.
    pub fn cells(&mut self, id: TileId) -> &mut Cells {
        self.tiles.entry(id).or_default()
    }
}

impl Cells {
    /// Adds cells of a tile of so many: the selected ones, or all; without those that are gone, and
    /// if there are flags, only those whose flag is set. No cell may be added twice.
    pub fn add(
        &mut self,
        (all, selected): (usize, Option<&[u32]>),
        gone: &[usize],
        flags: Option<&[u8]>,
    ) -> Result<()> {
        if selected.is_none() && gone.is_empty() && flags.is_none_or(|flags| !flags.contains(&0)) {
            *self = Self { count: all, bits: None };
            return Ok(());
        }
        let bits = self.bits.get_or_insert_with(|| vec![0; all.div_ceil(64)]);
        let mut gone = gone.iter().copied().peekable();
        for at in 0..selected.map_or(all, <[u32]>::len) {
            if gone.next_if_eq(&at).is_some() || flags.is_some_and(|flags| flags.get(at) == Some(&0)) {
                continue;
            }
            let cell = selected.map_or(Some(at), |cells| cells.get(at).map(|own| index_of(*own)));
            let word = cell.and_then(|cell| Some((bits.get_mut(cell / 64)?, cell % 64)));
            let (word, bit) = word.or_internal(NO_BIT)?;
            *word |= 1 << bit;
            self.count = self.count.saturating_add(1);
        }
        Ok(())
    }
}
