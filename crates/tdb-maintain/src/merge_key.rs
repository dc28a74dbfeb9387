//! The keys by which cells of several fragments are merged.

use core::fmt::Debug;

use tdb_codec::{Layout, to_usize};
use tdb_order::hilbert::{self, Curve};
use tdb_order::{CellOrder, KeyPart};
use tdb_schema::{ArraySchema, Dimension};

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
    pub(super) size: usize,
}

impl Coordinates {
    /// The bytes of a cell of the tile.
    pub(super) fn cell(&self, cell: usize) -> Option<&[u8]> {
        let next = cell.checked_add(1)?;
        let range = match &self.offsets {
            Some(offsets) => to_usize(*offsets.get(cell)?)?..to_usize(*offsets.get(next)?)?,
            None => cell.checked_mul(self.size)?..next.checked_mul(self.size)?,
        };
        self.values.get(range)
    }

    /// Whether it has this many cells.
    pub(super) fn is_whole(&self, cells: usize) -> bool {
        match &self.offsets {
            Some(offsets) => cells.checked_add(1) == Some(offsets.len()),
            None => cells.checked_mul(self.size) == Some(self.values.len()),
        }
    }
}

/// Makes the keys of an array's cells.
#[derive(Debug)]
pub(super) struct Keyer<'a> {
    pub(super) dimensions: &'a [Dimension],
    /// The parts, with the number of bits of each; `None` for strings.
    parts: Vec<(KeyPart, Option<u32>)>,
    /// The Hilbert curve, if cells are ordered by it.
    curve: Option<Curve<'a>>,
    /// Floating-point dimensions: zeros of both signs compare equal in them but are different
    /// coordinates, so a last part of the key distinguishes them.
    reals: Vec<usize>,
}

/// The type of key that an array's cells need.
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
        let parts = tdb_order::parts(schema, CellOrder::of(Layout::GlobalOrder, schema));
        let parts = parts.into_iter().map(|part| (part, tdb_order::width(dimensions, part))).collect();
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
        // A tile that was loaded has a coordinate of each cell in each dimension.
        let own = |dimension: usize| coordinates.get(dimension).and_then(|own| own.cell(cell));
        Some(self.curve?.place(|dimension| own(dimension).unwrap_or_default()))
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
            let value = own.cell(cell)?;
            match bits {
                Some(bits) => word(tdb_order::part_word(*part, dimension, value)?, *bits),
                None => string(value),
            }
        }
        if !self.reals.is_empty() {
            let mut signs = 0u64;
            for index in &self.reals {
                let value = coordinates.get(*index)?.cell(cell)?;
                signs = signs << 1 | u64::from(!tdb_order::is_negative_zero(value));
            }
            word(signs, self.sign_bits());
        }
        Some(())
    }
}

impl MergeKey for u128 {
    fn of(keyer: &Keyer<'_>, coordinates: &[Coordinates], cell: usize) -> Option<Self> {
        // `Keyer::width` has found that all bits fit, and that there is no string.
        let mut key = 0u128;
        let push = |word: u64, bits: u32| key = key.checked_shl(bits).unwrap_or(0) | Self::from(word);
        keyer.each(coordinates, cell, push, |_| ())?;
        Some(key)
    }
}

impl MergeKey for [u64; WORDS] {
    fn of(keyer: &Keyer<'_>, coordinates: &[Coordinates], cell: usize) -> Option<Self> {
        // `Keyer::width` has found that all words fit, and that there is no string.
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
        // As signed characters, with a terminator that is smaller than any of them: a NUL is
        // followed by something greater.
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
            let order = tdb_order::compare_part(KeyPart::Cell(0), dimension, pair[0].0, pair[1].0);
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
