//! The cells of one fragment in global order, tile by tile, and the keys by which they are merged.

use core::cmp::Reverse;
use core::fmt::Debug;

use tdb_codec::{Layout, to_u64, to_usize};
use tdb_schema::{ArraySchema, Dimension, FieldKind};

use crate::buffers::{VarTile, zeroed};
use crate::context::Context;
use crate::fragment::Fragment;
use crate::order;
use crate::order::hilbert::{self, Curve};
use crate::order::{CellOrder, Part};
use crate::tiles::FieldTiles;
use crate::worker::Worker;
use crate::{Error, Result};

/// A position in the global order. Equal keys mean equal coordinates.
pub(super) trait MergeKey: Clone + Ord + Debug + Send + Sync {
    /// The key of a cell; `None` if it has a coordinate that is not valid in its dimension.
    fn of(keyer: &Keyer<'_>, coordinates: &[Coordinates], cell: usize) -> Option<Self>;
}

/// Coordinates of a tile's cells in one dimension.
#[derive(Clone, Debug, Default)]
pub(super) struct Coordinates {
    pub(super) values: Vec<u8>,
    /// One more than the number of cells, for strings.
    pub(super) offsets: Option<Vec<u64>>,
    size: usize,
}

impl Coordinates {
    pub(super) fn cell(&self, cell: usize) -> &[u8] {
        let next = cell.saturating_add(1);
        let range = match &self.offsets {
            Some(offsets) => {
                let at = |index: usize| offsets.get(index).copied().and_then(to_usize).unwrap_or(0);
                at(cell)..at(next)
            }
            None => cell.saturating_mul(self.size)..next.saturating_mul(self.size),
        };
        self.values.get(range).unwrap_or_default()
    }
}

/// Makes the keys of an array's cells.
#[derive(Debug)]
pub(super) struct Keyer<'a> {
    dimensions: &'a [Dimension],
    /// The parts, with the number of bits of each; `None` for strings.
    parts: Vec<(Part, Option<u32>)>,
    /// The Hilbert curve, if cells are ordered by it.
    curve: Option<Curve<'a>>,
    /// Floating-point dimensions: zeros of both signs compare equal in them but are different coordinates, so a last
    /// part of the key distinguishes them.
    reals: Vec<usize>,
}

/// Which type of key an array's cells need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyWidth {
    /// All parts side by side in one integer.
    Packed,
    /// A word for each part.
    Words,
    /// Bytes that compare like the coordinates.
    Bytes,
}

/// The maximum number of parts of [`KeyWidth::Words`].
const WORDS: usize = 5;

impl<'a> Keyer<'a> {
    pub(super) fn new(schema: &'a ArraySchema) -> Self {
        let dimensions = schema.domain.dimensions.as_slice();
        let parts = order::parts(schema, CellOrder::of(Layout::GlobalOrder, schema));
        let parts = parts.into_iter().map(|part| (part, order::width(dimensions, part))).collect();
        let hilbert = schema.cell_order == Layout::Hilbert;
        let reals = dimensions.iter().enumerate();
        let reals = reals.filter(|(_, dimension)| dimension.datatype.physical().is_float());
        let reals = reals.map(|(index, _)| index).collect();
        Self { dimensions, parts, curve: hilbert.then(|| Curve::new(dimensions)), reals }
    }

    pub(super) fn width(&self) -> KeyWidth {
        let start = if self.curve.is_some() { hilbert::BITS } else { 0 };
        let start = self.sign_bits().saturating_add(start);
        let bits = self.parts.iter().try_fold(start, |sum, (_, bits)| sum.checked_add((*bits)?));
        let more = usize::from(self.curve.is_some()).saturating_add(usize::from(!self.reals.is_empty()));
        let words = self.parts.len().saturating_add(more);
        match bits {
            Some(bits) if bits <= u128::BITS => KeyWidth::Packed,
            Some(_) if words <= WORDS => KeyWidth::Words,
            _ => KeyWidth::Bytes,
        }
    }

    fn sign_bits(&self) -> u32 {
        u32::try_from(self.reals.len()).unwrap_or(u32::MAX)
    }

    fn place(&self, coordinates: &[Coordinates], cell: usize) -> Option<u64> {
        let coordinate = |dimension: usize| coordinates.get(dimension).map_or(&[][..], |own| own.cell(cell));
        Some(self.curve?.place(coordinate))
    }

    /// Calls `word` with each part's number and bits, or `string` with its bytes.
    fn each(
        &self,
        coordinates: &[Coordinates],
        cell: usize,
        mut word: impl FnMut(u64, u32),
        mut string: impl FnMut(&[u8]),
    ) -> Option<()> {
        if let Some(place) = self.place(coordinates, cell) {
            word(place, hilbert::BITS);
        }
        for (part, bits) in &self.parts {
            let index = part.dimension();
            let (dimension, own) = (self.dimensions.get(index)?, coordinates.get(index)?);
            let value = own.cell(cell);
            match bits {
                Some(bits) => word(order::part_word(*part, dimension, value)?, *bits),
                None => string(value),
            }
        }
        if !self.reals.is_empty() {
            let signs = self.reals.iter().filter_map(|index| coordinates.get(*index));
            let signs = signs.map(|own| u64::from(!order::is_negative_zero(own.cell(cell))));
            word(signs.fold(0, |signs, sign| signs << 1 | sign), self.sign_bits());
        }
        Some(())
    }
}

impl MergeKey for u128 {
    fn of(keyer: &Keyer<'_>, coordinates: &[Coordinates], cell: usize) -> Option<Self> {
        let mut key = 0u128;
        let push = |word: u64, bits: u32| key = key.checked_shl(bits).unwrap_or(0) | Self::from(word);
        keyer.each(coordinates, cell, push, |_| ())?;
        Some(key)
    }
}

impl MergeKey for [u64; WORDS] {
    fn of(keyer: &Keyer<'_>, coordinates: &[Coordinates], cell: usize) -> Option<Self> {
        let mut key = [0; WORDS];
        let mut slots = key.iter_mut();
        let push = |word: u64, _| {
            if let Some(slot) = slots.next() {
                *slot = word;
            }
        };
        keyer.each(coordinates, cell, push, |_| ())?;
        Some(key)
    }
}

impl MergeKey for Vec<u8> {
    fn of(keyer: &Keyer<'_>, coordinates: &[Coordinates], cell: usize) -> Option<Self> {
        let key = core::cell::RefCell::new(Self::new());
        let push = |word: u64, _| key.borrow_mut().extend(word.to_be_bytes());
        // As signed characters, with a terminator that is smaller than any of them: a NUL is followed by something
        // greater.
        let string = |value: &[u8]| {
            let mut key = key.borrow_mut();
            for byte in value {
                key.push(byte ^ 0x80);
                if *byte == 0x80 {
                    key.push(0xff);
                }
            }
            key.extend([0, 0]);
        };
        keyer.each(coordinates, cell, push, string)?;
        Some(key.into_inner())
    }
}

/// Cells of a tile, ready to be merged.
#[derive(Debug)]
struct Loaded<K> {
    tile: usize,
    keys: Vec<K>,
    coordinates: Vec<Coordinates>,
    timestamps: Option<Vec<u64>>,
}

/// The cells of a fragment one after the other, in global order and, at equal coordinates, newest first.
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
    loaded: Vec<Loaded<K>>,
    /// The order of a fragment that is not stored in order: tile (index into `loaded`) and cell.
    sorted: Option<Vec<(usize, usize)>>,
    at: usize,
    unsorted: bool,
    worker: Worker,
}

/// The known next cells of a source: the rest of its tile.
#[derive(Debug)]
pub(super) struct Run<'s, K> {
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

impl<K> Run<'_, K> {
    /// When a cell of the tile was written.
    pub(super) fn time(&self, cell: usize) -> u64 {
        self.times.and_then(|times| times.get(cell).copied()).unwrap_or(self.written)
    }
}

/// The position of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// Index of the loaded tile.
    pub(super) loaded: usize,
    pub(super) cell: usize,
}

/// Whether a source has another cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
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
            worker: Worker::default(),
        };
        if sort {
            source.sort()?;
        }
        Ok(source)
    }

    /// The first cell.
    pub(super) fn begin(&mut self) -> Result<Step> {
        match &self.sorted {
            Some(order) => Ok(if order.is_empty() { Step::End } else { Step::More }),
            None => self.load_next(),
        }
    }

    /// Moves to the next cell. `place` shows whether that is in another tile.
    pub(super) fn advance(&mut self) -> Result<Step> {
        self.at = self.at.saturating_add(1);
        match &self.sorted {
            Some(order) => Ok(if self.at < order.len() { Step::More } else { Step::End }),
            None if self.loaded.first().is_some_and(|tile| self.at < tile.keys.len()) => Ok(Step::More),
            None => self.load_next(),
        }
    }

    /// The known next cells; `None` if the fragment is not stored in order.
    pub(super) fn run(&self) -> Option<Run<'_, K>> {
        if self.sorted.is_some() {
            return None;
        }
        let tile = self.loaded.first();
        let keys = tile.and_then(|tile| tile.keys.get(self.at..)).unwrap_or_default();
        Some(Run {
            keys,
            more: !keys.is_empty() && self.next_tile < self.tiles,
            start: self.at,
            coordinates: tile.map_or(&[], |tile| &tile.coordinates),
            times: tile.and_then(|tile| tile.timestamps.as_deref()),
            written: self.fragment.timestamps().0,
        })
    }

    /// Skips this many cells; the tile must have that many left.
    pub(super) fn skip(&mut self, cells: usize) -> Result<Step> {
        self.at = self.at.saturating_add(cells.saturating_sub(1));
        let step = self.advance()?;
        self.unsorted = step == Step::Unsorted;
        Ok(step)
    }

    /// Whether a skip found cells that are out of order.
    pub(super) const fn is_unsorted(&self) -> bool {
        self.unsorted
    }

    pub(super) fn place(&self) -> Place {
        match &self.sorted {
            Some(order) => {
                let (loaded, cell) = order.get(self.at).copied().unwrap_or_default();
                Place { loaded, cell }
            }
            None => Place { loaded: 0, cell: self.at },
        }
    }

    /// The number of the tile at a position, and its number of cells.
    pub(super) fn tile(&self, place: Place) -> (usize, usize) {
        self.loaded.get(place.loaded).map_or((0, 0), |tile| (tile.tile, tile.keys.len()))
    }

    pub(super) fn key(&self, place: Place) -> Option<K> {
        self.loaded.get(place.loaded)?.keys.get(place.cell).cloned()
    }

    /// When the cell was written.
    pub(super) fn time(&self, place: Place) -> u64 {
        let times = self.loaded.get(place.loaded).and_then(|tile| tile.timestamps.as_ref());
        times.and_then(|times| times.get(place.cell).copied()).unwrap_or(self.fragment.timestamps().0)
    }

    pub(super) fn coordinates(&self, place: Place) -> &[Coordinates] {
        self.loaded.get(place.loaded).map_or(&[], |tile| &tile.coordinates)
    }

    fn sort(&mut self) -> Result<()> {
        for tile in 0..self.tiles {
            let loaded = self.load(tile)?;
            self.loaded.push(loaded);
        }
        let cells = self.loaded.iter().enumerate();
        let mut order: Vec<(usize, usize)> =
            cells.flat_map(|(index, tile)| (0..tile.keys.len()).map(move |cell| (index, cell))).collect();
        let rank = |(loaded, cell): &(usize, usize)| {
            let place = Place { loaded: *loaded, cell: *cell };
            (self.key(place), Reverse(self.time(place)))
        };
        order.sort_by_cached_key(|place| (rank(place), *place));
        self.sorted = Some(order);
        Ok(())
    }

    fn load_next(&mut self) -> Result<Step> {
        while self.next_tile < self.tiles {
            let before = self.loaded.pop().and_then(|tile| {
                let time = tile.timestamps.and_then(|times| times.last().copied());
                Some((tile.keys.last().cloned()?, Reverse(time.unwrap_or(0))))
            });
            let tile = self.load(self.next_tile)?;
            self.next_tile = self.next_tile.saturating_add(1);
            self.at = 0;
            if !in_order(before, &tile) {
                return Ok(Step::Unsorted);
            }
            let empty = tile.keys.is_empty();
            self.loaded.push(tile);
            if !empty {
                return Ok(Step::More);
            }
        }
        Ok(Step::End)
    }

    fn load(&mut self, tile: usize) -> Result<Loaded<K>> {
        let context = self.context;
        let cells = self.fragment.tile_cells(context, tile)?;
        let mut coordinates = Vec::with_capacity(self.dimensions.len());
        for field in &self.dimensions {
            coordinates.push(if field.cell_val_num.is_var() {
                let mut var = VarTile::default();
                field.decode_var(context, tile, cells, &mut var, &mut self.worker)?;
                let values = var.values.as_slice().to_vec();
                Coordinates { values, offsets: Some(var.offsets), size: 0 }
            } else {
                let size = field.cell_size();
                let mut values = vec![0; context.tile_len(cells, size)?];
                field.decode_fixed(context, tile, &mut values, |_| true, &mut self.worker)?;
                Coordinates { values, offsets: None, size }
            });
        }
        let timestamps = match &self.times {
            Some(field) => Some(decode_words(context, field, tile, cells, &mut self.worker)?),
            None => None,
        };
        let mut keys = Vec::with_capacity(cells);
        for cell in 0..cells {
            let key = K::of(self.keyer, &coordinates, cell).ok_or_else(|| {
                let detail = format!("cell {cell} of tile {tile} is outside the domain");
                let path = context.describe(self.fragment.metadata_key());
                Error::inconsistent(path, "coordinates", to_u64(tile), detail)
            })?;
            keys.push(key);
        }
        Ok(Loaded { tile, keys, coordinates, timestamps })
    }
}

/// Decodes a tile with one `u64` per cell.
pub(super) fn decode_words(
    context: &Context,
    field: &FieldTiles,
    tile: usize,
    cells: usize,
    worker: &mut Worker,
) -> Result<Vec<u64>> {
    let mut values = zeroed(context.tile_len(cells, 8)?)?;
    field.decode_fixed(context, tile, values.as_mut_slice(), |_| true, worker)?;
    Ok(values.as_slice().as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)).collect())
}

/// Whether a tile's cells are in order, and after the last cell of the previous tile.
fn in_order<K: Ord>(before: Option<(K, Reverse<u64>)>, tile: &Loaded<K>) -> bool {
    let time = |cell: usize| {
        let times = tile.timestamps.as_ref();
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

#[cfg(test)]
mod tests {
    use tdb_codec::ArrayType;
    use tdb_schema::Domain;

    use super::*;

    fn strings(values: &[&[u8]]) -> Coordinates {
        let mut offsets = vec![0];
        for value in values {
            offsets.push(offsets.last().unwrap() + value.len() as u64);
        }
        Coordinates { values: values.concat(), offsets: Some(offsets), size: 0 }
    }

    #[test]
    fn keys_of_strings_compare_as_signed_characters_do() {
        let schema = ArraySchema::new(
            ArrayType::Sparse,
            Domain::new(vec![Dimension::string("s"), Dimension::string("t")]),
        );
        let keyer = Keyer::new(&schema);
        assert_eq!(keyer.width(), KeyWidth::Bytes);
        let ascending: [(&[u8], &[u8]); 8] = [
            (b"", b"z"),
            (b"\x80", b""),
            (b"\x80\x80", b""),
            (b"\xff", b"a"),
            (b"\0", b""),
            (b"a", b"\xff"),
            (b"a", b"b"),
            (b"ab", b""),
        ];
        let columns =
            [0, 1].map(|part| strings(&ascending.map(|pair| if part == 0 { pair.0 } else { pair.1 })));
        let keys: Vec<Vec<u8>> = (0..8).map(|cell| MergeKey::of(&keyer, &columns, cell).unwrap()).collect();
        assert!(keys.is_sorted(), "{keys:?}");
        let dimension = &schema.domain.dimensions[0];
        for pair in ascending.windows(2) {
            let order = order::compare_part(Part::Cell(0), dimension, pair[0].0, pair[1].0);
            assert_ne!(order, core::cmp::Ordering::Greater, "{pair:?}");
        }
    }

    #[test]
    fn zeros_of_both_signs_stand_equal_until_all_else_is_equal() {
        let real = Dimension::new("x", -1f64..=1.0);
        for more in [None, Some(Dimension::string("s"))] {
            let dimensions = [real.clone(), Dimension::new("i", 0i32..=9)].into_iter().chain(more);
            let schema = ArraySchema::new(ArrayType::Sparse, Domain::new(dimensions.collect()));
            let keyer = Keyer::new(&schema);
            let cells = [(0.0f64, 3i32), (-0.0, 4), (0.0, 4), (-0.0, 5)];
            let bytes =
                |values: Vec<Vec<u8>>, size| Coordinates { values: values.concat(), offsets: None, size };
            let columns = [
                bytes(cells.iter().map(|(x, _)| x.to_le_bytes().to_vec()).collect(), 8),
                bytes(cells.iter().map(|(_, i)| i.to_le_bytes().to_vec()).collect(), 4),
                strings(&[b"", b"", b"", b""]),
            ];
            let bytes: Vec<Vec<u8>> =
                (0..4).map(|cell| MergeKey::of(&keyer, &columns, cell).unwrap()).collect();
            assert!(bytes.is_sorted_by(|a, b| a < b), "{bytes:?}");
            if keyer.width() == KeyWidth::Packed {
                let keys: Vec<u128> =
                    (0..4).map(|cell| MergeKey::of(&keyer, &columns, cell).unwrap()).collect();
                assert!(keys.is_sorted_by(|a, b| a < b), "{keys:?}");
            }
        }
    }

    #[test]
    fn keys_are_as_narrow_as_the_dimensions_let_them() {
        let of = |dimensions| ArraySchema::new(ArrayType::Sparse, Domain::new(dimensions));
        let narrow = of(vec![Dimension::new("x", 0i64..=99), Dimension::new("y", 0u32..=7).with_tile(2u32)]);
        assert_eq!(Keyer::new(&narrow).width(), KeyWidth::Packed);
        let real = |name| Dimension::new(name, 0f64..=1.0).with_tile(0.1f64);
        assert_eq!(Keyer::new(&of(vec![real("x"), real("y")])).width(), KeyWidth::Words);
        assert_eq!(Keyer::new(&of(vec![real("x"), real("y"), real("z")])).width(), KeyWidth::Bytes);
    }
}
