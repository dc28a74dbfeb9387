//! A Bloom filter of coordinates: it finds the cells that have the coordinates of some others.
//!
//! When a condition is applied, each tile with few matching cells is decoded once: the coordinates
//! of these are picked, and of all cells only the hashes are kept, four bytes each. They are
//! then compared with those of the matching cells of all tiles. In most tiles nothing is found that
//! is not known already. Only where other cells are found, coordinates are decoded a second time.
//! If many cells of a tile match, its coordinates are kept instead. If two cells share a
//! hash by accident, one more cell is sorted, and the result is the same.

use std::collections::HashMap;

use tdb_codec::{to_u64, to_usize};

use super::coordinate_hashes::{Column, coordinate_hashes, words};
use super::decode_cache::{CachedPart, DecodeCache};
use super::selection::TileSelection;
use crate::buffers::index_of;
use crate::tile_id::TileId;
use crate::{OrInternal, Result};

/// The matching cells of all tiles, and their hashes.
pub struct CoordinateFilter<'m> {
    matching: HashMap<TileId, &'m TileSelection>,
    /// Their hashes, sorted; nothing if there are too many ([`MAX_SORTED`]).
    sorted: Vec<u32>,
    /// Which hashes there may be: few of the others get past this.
    bits: Vec<u64>,
    mask: u32,
}

/// The cells of a tile that have the hash of a matching cell.
pub(super) enum Found<'m> {
    Nothing,
    /// The tile's own matching cells, and no others.
    Matching(&'m TileSelection),
    /// A byte for each cell of the tile, 0 for the others.
    Cells(Vec<u8>),
}

/// Bits of the set for each matching cell.
const BITS_EACH: usize = 32;
/// More hashes are not sorted: it would take longer than it saves.
const MAX_SORTED: usize = 1 << 18;
/// At most this many words of bits: a hash has no more bits than this addresses.
const MAX_WORDS: usize = 1 << 26;

impl<'m> CoordinateFilter<'m> {
    /// The memory that the set takes for each matching cell: bits (up to twice as many as
    /// [`BITS_EACH`]), and the hashes.
    pub(super) const BYTES_A_CELL: u64 = 8 + 4 + 4;

    pub(super) fn new(matching: &'m [TileSelection]) -> Result<Self> {
        let cells: usize = matching.iter().map(TileSelection::count).sum();
        let mut sorted = Vec::with_capacity(cells);
        for selection in matching {
            let columns: Vec<Column<'_>> = selection
                .coordinates
                .iter()
                .map(|own| (own.values.as_slice(), own.offsets.as_deref()))
                .collect();
            sorted.extend(words(coordinate_hashes(&columns, selection.count())?.as_slice()));
        }
        let words = cells.saturating_mul(BITS_EACH).div_ceil(64).max(1).next_power_of_two().min(MAX_WORDS);
        let mask = u32::try_from(to_u64(words).saturating_mul(64).saturating_sub(1)).unwrap_or(u32::MAX);
        let mut filter = Self { matching: HashMap::new(), sorted: Vec::new(), bits: vec![0; words], mask };
        for hash in &sorted {
            let (word, bit) = filter.place(*hash);
            *filter.bits.get_mut(word).or_internal("a hash lies outside its set")? |= bit;
        }
        let by_tile = matching.iter().map(|selection| (selection.id, selection));
        filter.matching = by_tile.collect();
        if sorted.len() <= MAX_SORTED {
            sorted.sort_unstable();
            filter.sorted = sorted;
        }
        Ok(filter)
    }

    /// The word of a hash's bit, and the bit.
    fn place(&self, hash: u32) -> (usize, u64) {
        let bit = hash & self.mask;
        (to_usize(u64::from(bit / 64)).unwrap_or(usize::MAX), 1 << (bit % 64))
    }

    /// Whether a matching cell may have this hash.
    fn may_have(&self, hash: u32) -> bool {
        let (word, bit) = self.place(hash);
        self.bits.get(word).is_some_and(|word| word & bit != 0)
    }

    /// Whether a matching cell has this hash, as far as it is known.
    fn has(&self, hash: u32) -> bool {
        self.may_have(hash) && (self.sorted.is_empty() || self.sorted.binary_search(&hash).is_ok())
    }

    /// Clears `wanted` for cells whose coordinates are not those of a matching cell.
    pub(super) fn keep(&self, columns: &[Column<'_>], wanted: &mut [u8]) -> Result<()> {
        let coordinate_hashes = coordinate_hashes(columns, wanted.len())?;
        for (keep, hash) in wanted.iter_mut().zip(words(coordinate_hashes.as_slice())) {
            *keep &= u8::from(self.may_have(hash));
        }
        Ok(())
    }

    /// Looks for the cached hashes of a tile of so many cells among those of matching cells; `None`
    /// if they are not cached.
    pub(super) fn find(&self, cache: &DecodeCache, id: TileId, cells: usize) -> Result<Option<Found<'m>>> {
        let coordinate_hashes = cache.take(&(id, CachedPart::Hashes)).filter(|piece| piece.cells == cells);
        coordinate_hashes
            .map(|coordinate_hashes| self.found(id, coordinate_hashes.values.as_slice()))
            .transpose()
    }

    /// Whether it is known, without looking at its coordinates, which cells of a tile are wanted.
    pub(super) fn are_known(&self, cache: &DecodeCache, id: TileId) -> Result<bool> {
        let cells = |found: &Found<'_>| matches!(found, Found::Cells(_));
        let found =
            cache.look(&(id, CachedPart::Hashes), |coordinate_hashes| self.found(id, coordinate_hashes));
        Ok(found.transpose()?.is_some_and(|found| !cells(&found)))
    }

    fn found(&self, id: TileId, coordinate_hashes: &[u8]) -> Result<Found<'m>> {
        let found = (0u32..).zip(words(coordinate_hashes)).filter(|(_, hash)| self.has(*hash));
        let found: Vec<u32> = found.map(|(cell, _)| cell).collect();
        if found.is_empty() {
            return Ok(Found::Nothing);
        }
        let is_all = |own: &TileSelection| match &own.cells {
            Some(cells) => *cells == found,
            None => own.tile_cells == found.len(),
        };
        if let Some(own) = self.matching.get(&id).copied().filter(|own| is_all(own)) {
            return Ok(Found::Matching(own));
        }
        let mut cells = vec![0; coordinate_hashes.len() / 4];
        for cell in found {
            *cells.get_mut(index_of(cell)).or_internal("a hash belongs to no cell")? = 1;
        }
        Ok(Found::Cells(cells))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sparse::selection::Coordinates;

    fn bytes<const N: usize>(values: impl Iterator<Item = [u8; N]>) -> Vec<u8> {
        values.flatten().collect()
    }

    fn selection(tile: usize, cells: &[u32], x: &[u32]) -> TileSelection {
        let values = bytes(x.iter().map(|x| x.to_le_bytes())).as_slice().into();
        TileSelection {
            id: TileId { fragment: 0, tile },
            tile_cells: 4,
            cells: Some(cells.to_vec()),
            coordinates: vec![Coordinates { values, offsets: None }],
            keys: None,
            timestamps: None,
            written: 0,
            only_replaces: false,
        }
    }

    #[test]
    fn a_tile_has_nothing_or_only_its_own_matches_or_cells_that_others_match() {
        let matching = [selection(0, &[1], &[11]), selection(1, &[0, 2], &[20, 22])];
        let filter = CoordinateFilter::new(&matching).unwrap();
        let of = |x: [u32; 4]| {
            coordinate_hashes(&[(&bytes(x.into_iter().map(u32::to_le_bytes)), None)], 4).unwrap()
        };
        assert!(matches!(
            filter.found(TileId { fragment: 0, tile: 5 }, of([1, 2, 3, 4]).as_slice()).unwrap(),
            Found::Nothing
        ));
        let own = filter.found(TileId { fragment: 0, tile: 0 }, of([10, 11, 12, 13]).as_slice()).unwrap();
        assert!(matches!(own, Found::Matching(own) if own.id.tile == 0));
        let Found::Cells(cells) =
            filter.found(TileId { fragment: 0, tile: 1 }, of([20, 11, 22, 13]).as_slice()).unwrap()
        else {
            panic!("no cells")
        };
        assert_eq!(cells, [1, 1, 1, 0]);
    }
}
