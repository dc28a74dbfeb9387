//! The cells of one fragment in global order, tile by tile, with the keys by which they are merged.

use core::cmp::Reverse;

use tdb_codec::{to_u64, to_usize};
use tdb_schema::FieldKind;

use crate::buffers::{VarTile, zeroed};
use crate::context::Context;
use crate::decode_buffers::PooledBuffers;
use crate::fragment::Fragment;
use crate::merge_key::{Coordinates, Keyer, MergeKey};
use crate::tiles::FieldTiles;
use crate::{Error, OrInternal, Result};

/// Cells of a tile, ready to be merged.
#[derive(Debug)]
struct LoadedTile<K> {
    tile: usize,
    keys: Vec<K>,
    coordinates: Vec<Coordinates>,
    timestamps: Option<Vec<u64>>,
}

/// The cells of a fragment one after the other, in global order and, at equal coordinates, newest
/// first.
#[derive(Debug)]
pub(super) struct Source<'a, K> {
    context: &'a Context,
    keyer: &'a Keyer<'a>,
    fragment: &'a Fragment,
    dimensions: Vec<FieldTiles>,
    times: Option<FieldTiles>,
    tiles: usize,
    next_tile: usize,
    /// The current tile, or all tiles of a fragment that is not stored in order.
    loaded: Vec<LoadedTile<K>>,
    /// The order of a fragment that is not stored in order: tile (index into `loaded`) and cell.
    sorted: Option<Vec<(usize, usize)>>,
    at: usize,
    unsorted: bool,
    buffers: PooledBuffers,
}

/// The known next cells of a source: the rest of its tile.
#[derive(Debug)]
pub(super) struct KnownCells<'s, K> {
    pub(super) keys: &'s [K],
    /// Whether another tile follows.
    pub(super) more: bool,
    /// The position of the first key's cell in the tile.
    pub(super) start: usize,
    /// The coordinates of the whole tile.
    pub(super) coordinates: &'s [Coordinates],
    times: Option<&'s [u64]>,
    /// When the fragment was written.
    written: u64,
}

impl<K> KnownCells<'_, K> {
    /// When a cell of the tile was written.
    pub(super) fn time(&self, cell: usize) -> Result<u64> {
        match self.times {
            Some(times) => times.get(cell).copied().or_internal("a tile without the time of a cell"),
            None => Ok(self.written),
        }
    }
}

/// The position of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CellPosition {
    /// Index of the loaded tile.
    pub(super) loaded: usize,
    pub(super) cell: usize,
}

/// Whether a source has another cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Advance {
    More,
    End,
    /// The fragment's cells are not in the required order.
    Unsorted,
}

impl<'a, K: MergeKey> Source<'a, K> {
    /// Opens a fragment. If `sort`, the whole fragment is held in memory.
    pub(super) fn open(
        context: &'a Context,
        keyer: &'a Keyer<'a>,
        fragment: &'a Fragment,
        sort: bool,
    ) -> Result<Self> {
        let kinds = (0..keyer.dimensions.len()).map(FieldKind::Dimension);
        let dimensions =
            kinds.map(|kind| FieldTiles::open(context, fragment, kind)).collect::<Result<Vec<_>>>()?;
        let times = FieldTiles::timestamps(context, fragment)?;
        // The list of offsets limits the count to a number backed by real bytes.
        let max = dimensions.first().map_or(0, FieldTiles::tile_count);
        let count = fragment.footer().sparse_tile_num;
        let tiles = to_usize(count).filter(|tiles| *tiles <= max).ok_or_else(|| {
            let detail = format!("{count} tiles, but only {max} offsets");
            let path = context.describe(fragment.metadata_key());
            Error::inconsistent(path, "sparse tile num", fragment.footer().offset, detail)
        })?;
        let mut source = Self {
            context,
            keyer,
            fragment,
            dimensions,
            times,
            tiles,
            next_tile: 0,
            loaded: Vec::new(),
            sorted: None,
            at: 0,
            unsorted: false,
            buffers: PooledBuffers::default(),
        };
        if sort {
            source.sort()?;
        }
        Ok(source)
    }

    /// The first cell.
    pub(super) fn begin(&mut self) -> Result<Advance> {
        match &self.sorted {
            Some(order) => Ok(if order.is_empty() { Advance::End } else { Advance::More }),
            None => self.load_next(),
        }
    }

    /// Moves to the next cell. `place` shows whether that is in another tile.
    pub(super) fn advance(&mut self) -> Result<Advance> {
        self.at = self.at.saturating_add(1);
        match &self.sorted {
            Some(order) => Ok(if self.at < order.len() { Advance::More } else { Advance::End }),
            None if self.loaded.first().is_some_and(|tile| self.at < tile.keys.len()) => Ok(Advance::More),
            None => self.load_next(),
        }
    }

    /// The known next cells; `None` if the fragment is not stored in order.
    pub(super) fn run(&self) -> Option<KnownCells<'_, K>> {
        if self.sorted.is_some() {
            return None;
        }
        let tile = self.loaded.first();
        // None are left at the end of the fragment.
        let keys = tile.and_then(|tile| tile.keys.get(self.at..)).unwrap_or_default();
        Some(KnownCells {
            keys,
            more: !keys.is_empty() && self.next_tile < self.tiles,
            start: self.at,
            coordinates: tile.map_or(&[], |tile| &tile.coordinates),
            times: tile.and_then(|tile| tile.timestamps.as_deref()),
            written: self.fragment.timestamps().0,
        })
    }

    /// Skips this many cells; the tile must have that many left.
    pub(super) fn skip(&mut self, cells: usize) -> Result<Advance> {
        self.at = self.at.saturating_add(cells.saturating_sub(1));
        let step = self.advance()?;
        self.unsorted = step == Advance::Unsorted;
        Ok(step)
    }

    /// Whether a skip found cells that are out of order.
    pub(super) const fn is_unsorted(&self) -> bool {
        self.unsorted
    }

    /// The position of the next cell; `None` at the end.
    pub(super) fn place(&self) -> Option<CellPosition> {
        match &self.sorted {
            Some(order) => {
                order.get(self.at).map(|(loaded, cell)| CellPosition { loaded: *loaded, cell: *cell })
            }
            None => {
                let more = self.loaded.first().is_some_and(|tile| self.at < tile.keys.len());
                more.then_some(CellPosition { loaded: 0, cell: self.at })
            }
        }
    }

    fn loaded(&self, place: CellPosition) -> Result<&LoadedTile<K>> {
        self.loaded.get(place.loaded).or_internal("a cell without a tile")
    }

    /// The number of the tile at a position, and its number of cells.
    pub(super) fn tile(&self, place: CellPosition) -> Result<(usize, usize)> {
        self.loaded(place).map(|tile| (tile.tile, tile.keys.len()))
    }

    pub(super) fn key(&self, place: CellPosition) -> Result<K> {
        self.loaded(place)?.keys.get(place.cell).cloned().or_internal("a tile without the key of a cell")
    }

    /// When the cell was written.
    pub(super) fn time(&self, place: CellPosition) -> Result<u64> {
        match &self.loaded(place)?.timestamps {
            Some(times) => times.get(place.cell).copied().or_internal("a tile without the time of a cell"),
            None => Ok(self.fragment.timestamps().0),
        }
    }

    pub(super) fn coordinates(&self, place: CellPosition) -> Result<&[Coordinates]> {
        self.loaded(place).map(|tile| tile.coordinates.as_slice())
    }

    fn sort(&mut self) -> Result<()> {
        for tile in 0..self.tiles {
            let loaded = self.load(tile)?;
            self.loaded.push(loaded);
        }
        let cells = self.loaded.iter().enumerate();
        let order: Vec<(usize, usize)> =
            cells.flat_map(|(index, tile)| (0..tile.keys.len()).map(move |cell| (index, cell))).collect();
        let rank = |place: (usize, usize)| {
            let (loaded, cell) = place;
            let at = CellPosition { loaded, cell };
            Ok((self.key(at)?, Reverse(self.time(at)?), place))
        };
        let mut ranked = order.into_iter().map(rank).collect::<Result<Vec<_>>>()?;
        ranked.sort_unstable();
        self.sorted = Some(ranked.into_iter().map(|(.., place)| place).collect());
        Ok(())
    }

    fn load_next(&mut self) -> Result<Advance> {
        while self.next_tile < self.tiles {
            let before = self.loaded.pop().and_then(|tile| {
                // If no times are stored, all cells have the same time.
                let time = tile.timestamps.and_then(|times| times.last().copied());
                Some((tile.keys.last().cloned()?, Reverse(time.unwrap_or(0))))
            });
            let tile = self.load(self.next_tile)?;
            self.next_tile = self.next_tile.saturating_add(1);
            self.at = 0;
            if !in_order(before, &tile) {
                return Ok(Advance::Unsorted);
            }
            let empty = tile.keys.is_empty();
            self.loaded.push(tile);
            if !empty {
                return Ok(Advance::More);
            }
        }
        Ok(Advance::End)
    }

    fn load(&mut self, tile: usize) -> Result<LoadedTile<K>> {
        let context = self.context;
        let cells = self.fragment.tile_cells(context, tile)?;
        let mut coordinates = Vec::with_capacity(self.dimensions.len());
        for field in &self.dimensions {
            coordinates.push(if field.cell_val_num.is_var() {
                let mut var = VarTile::default();
                field.decode_var(context, tile, cells, &mut var, &mut self.buffers)?;
                let values = var.values.as_slice().to_vec();
                Coordinates { values, offsets: Some(var.offsets), size: 0 }
            } else {
                let size = field.cell_size();
                let mut values = vec![0; context.tile_len(cells, size)?];
                field.decode_fixed(context, tile, &mut values, |_| true, &mut self.buffers)?;
                Coordinates { values, offsets: None, size }
            });
        }
        let timestamps = match &self.times {
            Some(field) => Some(decode_words(context, field, tile, cells, &mut self.buffers)?),
            None => None,
        };
        let timed = timestamps.as_ref().is_none_or(|times| times.len() == cells);
        if !timed || !coordinates.iter().all(|own| own.is_whole(cells)) {
            return Err(Error::internal("a tile without all of its coordinates and times"));
        }
        let mut keys = Vec::with_capacity(cells);
        for cell in 0..cells {
            let key = K::of(self.keyer, &coordinates, cell).ok_or_else(|| {
                let detail = format!("cell {cell} of tile {tile} is outside the domain");
                let path = context.describe(self.fragment.metadata_key());
                Error::inconsistent(path, "coordinates", to_u64(tile), detail)
            })?;
            keys.push(key);
        }
        Ok(LoadedTile { tile, keys, coordinates, timestamps })
    }
}

/// Decodes a tile with one `u64` per cell.
pub(super) fn decode_words(
    context: &Context,
    field: &FieldTiles,
    tile: usize,
    cells: usize,
    buffers: &mut PooledBuffers,
) -> Result<Vec<u64>> {
    let mut values = zeroed(context.tile_len(cells, 8)?)?;
    field.decode_fixed(context, tile, values.as_mut_slice(), |_| true, buffers)?;
    Ok(values.as_slice().as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)).collect())
}

/// Whether a tile's cells are in order, and after the last cell of the previous tile.
fn in_order<K: Ord>(before: Option<(K, Reverse<u64>)>, tile: &LoadedTile<K>) -> bool {
    let time = |cell: usize| {
        let times = tile.timestamps.as_ref();
        // A loaded tile has no times or one of each cell.
        Reverse(times.and_then(|times| times.get(cell).copied()).unwrap_or(0))
    };
    let first = tile
        .keys
        .first()
        .is_none_or(|key| before.as_ref().is_none_or(|(last, newest)| (last, *newest) <= (key, time(0))));
    let pairs = tile.keys.windows(2).zip(0usize..);
    first
        && pairs.into_iter().all(|(pair, cell)| match pair {
            [a, b] => (a, time(cell)) <= (b, time(cell.saturating_add(1))),
            _ => true,
        })
}
