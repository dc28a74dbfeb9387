//! Cells of one write, and the values they have.

use std::collections::BTreeMap;

use tdb_array::schema::{CellValNum, Datatype};
use tdb_schema::Attribute;

use super::cases::Kind;

/// The lengths of space tiles: the domain is a whole number of them.
pub(super) const TILE: (i32, i32) = (5, 2);

/// The types that attribute "b" may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Added {
    Long,
    Int,
    Text,
}

/// Cells of one write by coordinates; for a dense array, they form a box.
#[derive(Clone, Debug)]
pub(super) struct Cells {
    pub(super) cells: BTreeMap<(i32, i32), i32>,
    pub(super) b: Option<Added>,
}

/// The same as columns.
#[derive(Debug, Default)]
pub(super) struct Columns {
    pub(super) x: Vec<i32>,
    /// `x` as words, which sort in the same order.
    pub(super) words: Vec<u8>,
    pub(super) word_offsets: Vec<u64>,
    pub(super) y: Vec<i32>,
    /// Both coordinates as real numbers.
    pub(super) reals: (Vec<f64>, Vec<f64>),
    pub(super) a: Vec<i32>,
    pub(super) s: Vec<u8>,
    pub(super) offsets: Vec<u64>,
    pub(super) valid: Vec<u8>,
    pub(super) b: Vec<u8>,
    pub(super) b_offsets: Vec<u64>,
}

impl Cells {
    pub(super) fn bounds(&self) -> ((i32, i32), (i32, i32)) {
        let ends = |part: fn(&(i32, i32)) -> i32| {
            let all = self.cells.keys().map(part);
            (all.clone().min().unwrap_or(0), all.max().unwrap_or(0))
        };
        (ends(|at| at.0), ends(|at| at.1))
    }

    /// Whether a cell is in the box, but not all of its space tile is.
    pub(super) fn lies_in_part_of_tile(&self, at: (i32, i32)) -> bool {
        let (x, y) = (at.0.div_euclid(TILE.0) * TILE.0, at.1.div_euclid(TILE.1) * TILE.1);
        let mut tile = (x..x + TILE.0).flat_map(|x| (y..y + TILE.1).map(move |y| (x, y)));
        self.cells.contains_key(&at) && !tile.all(|at| self.cells.contains_key(&at))
    }

    /// The cells in the array's global order, or row by row for a dense array.
    pub(super) fn columns(&self, kind: Kind) -> Columns {
        let mut cells: Vec<(&(i32, i32), &i32)> = self.cells.iter().collect();
        match kind {
            Kind::Dense | Kind::SecretDense => {}
            Kind::Hilbert => cells.sort_by_key(|((x, y), _)| (hilbert(*x, *y), *x, *y)),
            _ => cells.sort_by_key(|((x, y), _)| (x.div_euclid(TILE.0), y.div_euclid(TILE.1), *x, *y)),
        }
        let mut columns =
            Columns { offsets: vec![0], word_offsets: vec![0], b_offsets: vec![0], ..Columns::default() };
        for ((x, y), a) in cells {
            columns.x.push(*x);
            let word = format!("{x}{}", "w".repeat(usize::try_from(*x).unwrap_or(0) % 3));
            columns.words.extend(word.bytes());
            columns.word_offsets.push(u64::try_from(columns.words.len()).unwrap_or(0));
            columns.y.push(*y);
            columns.reals.0.push(real(*x, 9));
            columns.reals.1.push(real(*y, 3));
            columns.a.push(*a);
            columns.s.extend(text(kind, *a));
            columns.offsets.push(u64::try_from(columns.s.len()).unwrap_or(0));
            columns.valid.push(u8::from(is_valid(*a)));
            columns.b.extend(self.b.map(|b| b.value(*a)).unwrap_or_default());
            columns.b_offsets.push(u64::try_from(columns.b.len()).unwrap_or(0));
        }
        columns
    }
}

/// A coordinate as a real number: the ends of its domain are −10 and 10.
pub(super) fn real(value: i32, high: i32) -> f64 {
    20.0 * f64::from(value) / f64::from(high) - 10.0
}

/// The value of attribute "s" for a value of "a". In dense arrays it is never empty: libtiledb
/// sometimes crashes when it writes empty values.
pub(super) fn text(kind: Kind, a: i32) -> Vec<u8> {
    let min = usize::from(kind.is_dense());
    vec![b'x'; usize::try_from(a.rem_euclid(5)).unwrap_or(0).max(min)]
}

/// Whether "s" is valid for a value of "a".
pub(super) const fn is_valid(a: i32) -> bool {
    a.rem_euclid(3) != 0
}

impl Added {
    pub(super) fn attribute(self) -> Attribute {
        match self {
            Self::Long => Attribute::new("b", Datatype::Int64, CellValNum::ONE),
            Self::Int => Attribute::new("b", Datatype::Int32, CellValNum::ONE),
            Self::Text => Attribute::new("b", Datatype::StringAscii, CellValNum::Var),
        }
    }

    /// The value of "b" for a value of "a".
    pub(super) fn value(self, a: i32) -> Vec<u8> {
        match self {
            Self::Long => i64::from(a).saturating_mul(1000).to_le_bytes().to_vec(),
            Self::Int => a.saturating_mul(7).to_le_bytes().to_vec(),
            Self::Text => a.to_string().into_bytes(),
        }
    }
}

/// The position of a cell on the Hilbert curve, as the format defines it, for two dimensions.
fn hilbert(x: i32, y: i32) -> u64 {
    let bucket = |value: i32, high: i32| {
        let share = f64::from(value) / f64::from(high) * f64::from(i32::MAX);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "that is how buckets are defined"
        )]
        let bucket = share as u64;
        bucket
    };
    let mut point = [bucket(x, 9), bucket(y, 3)];
    let mut q = 1u64 << 30;
    while q > 1 {
        let p = q - 1;
        for index in 0..2 {
            let [first, second] = point;
            let value = if index == 0 { first } else { second };
            if value & q != 0 {
                point = [first ^ p, second];
            } else {
                let t = (first ^ value) & p;
                point = if index == 0 { [first ^ t ^ t, second] } else { [first ^ t, second ^ t] };
            }
        }
        q >>= 1;
    }
    let [first, mut second] = point;
    second ^= first;
    let mut t = second;
    let mut shift = 1;
    while shift < 31 {
        second ^= second >> shift;
        shift <<= 1;
    }
    t ^= second;
    let first = first ^ t;
    (0..31).fold(0, |value, bit| {
        value | ((second >> bit & 1) << (2 * bit)) | ((first >> bit & 1) << (2 * bit + 1))
    })
}
