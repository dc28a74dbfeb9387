//! A Bloom filter of coordinates: it finds the cells that have the coordinates of some others.
//!
//! When a condition is applied, each tile with few matching cells is decoded once: the coordinates
//! of these are picked, and of all cells only the hashes are kept, four bytes each. They are
//! then compared with those of the matching cells of all tiles. In most tiles nothing is found that
//! is not known already. Only where other cells are found, coordinates are decoded a second time.
//! If many cells of a tile match, its coordinates are kept instead. If two cells share a
//! hash by accident, one more cell is sorted, and the result is the same.

use std::collections::HashMap;

use tdb_codec::{Buffer, to_u64, to_usize};
use tdb_predicate::StringView;

use super::decode_cache::{CachedPart, DecodeCache};
use super::selection::TileSelection;
use crate::buffers::{index_of, zeroed};
use crate::{Error, OrInternal, Result};

/// A column of coordinates: values back to back, and for strings also offsets, one more than cells.
type Column<'c> = (&'c [u8], Option<&'c [u64]>);

/// The matching cells of all tiles, and their hashes.
pub struct CoordinateFilter<'m> {
    matching: HashMap<(usize, usize), &'m TileSelection>,
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
        let by_tile = matching.iter().map(|selection| ((selection.fragment, selection.tile), selection));
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
    pub(super) fn find(
        &self,
        cache: &DecodeCache,
        (fragment, tile): (usize, usize),
        cells: usize,
    ) -> Result<Option<Found<'m>>> {
        let coordinate_hashes =
            cache.take(&(fragment, tile, CachedPart::Hashes)).filter(|piece| piece.cells == cells);
        coordinate_hashes
            .map(|coordinate_hashes| self.found((fragment, tile), coordinate_hashes.values.as_slice()))
            .transpose()
    }

    /// Whether it is known, without looking at its coordinates, which cells of a tile are wanted.
    pub(super) fn are_known(&self, cache: &DecodeCache, (fragment, tile): (usize, usize)) -> Result<bool> {
        let cells = |found: &Found<'_>| matches!(found, Found::Cells(_));
        let found = cache.look(&(fragment, tile, CachedPart::Hashes), |coordinate_hashes| {
            self.found((fragment, tile), coordinate_hashes)
        });
        Ok(found.transpose()?.is_some_and(|found| !cells(&found)))
    }

    fn found(&self, place: (usize, usize), coordinate_hashes: &[u8]) -> Result<Found<'m>> {
        let found = (0u32..).zip(words(coordinate_hashes)).filter(|(_, hash)| self.has(*hash));
        let found: Vec<u32> = found.map(|(cell, _)| cell).collect();
        if found.is_empty() {
            return Ok(Found::Nothing);
        }
        let is_all = |own: &TileSelection| match &own.cells {
            Some(cells) => *cells == found,
            None => own.tile_cells == found.len(),
        };
        if let Some(own) = self.matching.get(&place).copied().filter(|own| is_all(own)) {
            return Ok(Found::Matching(own));
        }
        let mut cells = vec![0; coordinate_hashes.len() / 4];
        for cell in found {
            *cells.get_mut(index_of(cell)).or_internal("a hash belongs to no cell")? = 1;
        }
        Ok(Found::Cells(cells))
    }
}

/// Hashes as numbers.
fn words(coordinate_hashes: &[u8]) -> impl Iterator<Item = u32> {
    coordinate_hashes.as_chunks::<4>().0.iter().map(|hash| u32::from_le_bytes(*hash))
}

/// Cells are looked at in blocks, so that sums stay in registers and in the nearest cache.
const BLOCK: usize = 512;

/// A hash of each cell's coordinates, four bytes each. Coordinates that are equal in the
/// search for duplicates have equal hashes.
///
/// # Errors
/// [`Error::Internal`](crate::Error::Internal) if a column does not have so many cells.
pub(super) fn coordinate_hashes(columns: &[Column<'_>], cells: usize) -> Result<Buffer> {
    let is_whole = |(values, offsets): &Column<'_>| match offsets {
        Some(offsets) => offsets.len().checked_sub(1) == Some(cells),
        None => values.len().checked_rem(cells).unwrap_or(0) == 0,
    };
    if !columns.iter().all(is_whole) {
        return Err(Error::internal("a column of coordinates lacks some of its cells"));
    }
    let mut coordinate_hashes = zeroed(cells.saturating_mul(4))?;
    let mut sums = [0u64; BLOCK];
    let blocks = coordinate_hashes.as_mut_slice().as_chunks_mut::<4>().0.chunks_mut(BLOCK);
    for (block, first) in blocks.zip((0usize..).step_by(BLOCK)) {
        let Some(sums) = sums.get_mut(..block.len()) else { break };
        sums.fill(0);
        let mut factor = FACTOR;
        for (values, offsets) in columns {
            match (offsets, values.len().checked_div(cells).unwrap_or(0)) {
                (Some(offsets), _) => {
                    let offsets = offsets.get(first..).unwrap_or_default();
                    add(sums, factor, StringView { values, offsets }.iter().map(text));
                }
                (None, 4) => {
                    let values = values.as_chunks::<4>().0.get(first..).unwrap_or_default().iter();
                    add(sums, factor, values.map(|word| u32::from_le_bytes(*word).into()));
                }
                (None, 8) => {
                    let values = values.as_chunks::<8>().0.get(first..).unwrap_or_default().iter();
                    add(sums, factor, values.map(|word| u64::from_le_bytes(*word)));
                }
                (None, size) => {
                    let values = values.chunks_exact(size.max(1)).skip(first);
                    add(sums, factor, values.map(little_endian));
                }
            }
            factor = mix(factor, 1) | 1;
        }
        for (hash, sum) in block.iter_mut().zip(sums) {
            let [.., a, b, c, d] = mix(*sum, 0).to_le_bytes();
            *hash = [a, b, c, d];
        }
    }
    Ok(coordinate_hashes)
}

/// An odd number without a pattern: the bits of the golden ratio.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

const fn mix(sum: u64, word: u64) -> u64 {
    let mixed = (sum ^ word).wrapping_mul(FACTOR);
    mixed ^ (mixed >> 29)
}

/// Adds a dimension's coordinates, each times an odd number. The upper half of each, in which reals
/// differ, also goes into the lower.
fn add(sums: &mut [u64], factor: u64, words: impl Iterator<Item = u64>) {
    for (sum, word) in sums.iter_mut().zip(words) {
        *sum = sum.wrapping_add((word ^ (word >> 32)).wrapping_mul(factor));
    }
}

/// A number for a string.
fn text(cell: &[u8]) -> u64 {
    cell.chunks(8).fold(to_u64(cell.len()), |sum, chunk| mix(sum, little_endian(chunk)))
}

fn little_endian(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::sparse::selection::Coordinates;

    fn bytes<const N: usize>(values: impl Iterator<Item = [u8; N]>) -> Vec<u8> {
        values.flatten().collect()
    }

    fn distinct(columns: &[Column<'_>], cells: usize) -> usize {
        words(coordinate_hashes(columns, cells).unwrap().as_slice()).collect::<HashSet<u32>>().len()
    }

    #[test]
    fn cells_of_grids_of_integers_and_of_reals_hardly_ever_share_a_fingerprint() {
        let grid = || (0..300u16).flat_map(|x| (0..300u16).map(move |y| (x, y)));
        let integers =
            |of: fn((u16, u16)) -> u16| bytes(grid().map(move |cell| i64::from(of(cell)).to_le_bytes()));
        let reals =
            |of: fn((u16, u16)) -> u16| bytes(grid().map(move |cell| f64::from(of(cell)).to_le_bytes()));
        let small = |of: fn((u16, u16)) -> u16| bytes(grid().map(move |cell| of(cell).to_le_bytes()));
        for make in [&integers as &dyn Fn(fn((u16, u16)) -> u16) -> Vec<u8>, &reals, &small] {
            let (x, y) = (make(|cell| cell.0), make(|cell| cell.1));
            assert!(distinct(&[(&x, None), (&y, None)], 90_000) > 89_990);
        }
    }

    #[test]
    fn strings_have_fingerprints_of_their_own_whatever_their_length() {
        let texts: Vec<String> =
            (0..5000).map(|number| "x".repeat(number % 19) + &number.to_string()).collect();
        let mut offsets = vec![0u64];
        offsets.extend(texts.iter().scan(0, |end, text| {
            *end += to_u64(text.len());
            Some(*end)
        }));
        assert!(distinct(&[(texts.concat().as_bytes(), Some(&offsets))], 5000) >= 4998);
    }

    #[test]
    fn a_cell_has_the_same_fingerprint_at_every_place() {
        let x = bytes((0..2000u32).map(|x| (x % 7).to_le_bytes()));
        let all: Vec<u32> = words(coordinate_hashes(&[(&x, None)], 2000).unwrap().as_slice()).collect();
        assert!((0..1993).all(|cell| all[cell] == all[cell + 7]));
    }

    fn selection(tile: usize, cells: &[u32], x: &[u32]) -> TileSelection {
        let values = bytes(x.iter().map(|x| x.to_le_bytes())).as_slice().into();
        TileSelection {
            fragment: 0,
            tile,
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
        assert!(matches!(filter.found((0, 5), of([1, 2, 3, 4]).as_slice()).unwrap(), Found::Nothing));
        let own = filter.found((0, 0), of([10, 11, 12, 13]).as_slice()).unwrap();
        assert!(matches!(own, Found::Matching(own) if own.tile == 0));
        let Found::Cells(cells) = filter.found((0, 1), of([20, 11, 22, 13]).as_slice()).unwrap() else {
            panic!("no cells")
        };
        assert_eq!(cells, [1, 1, 1, 0]);
    }
}
