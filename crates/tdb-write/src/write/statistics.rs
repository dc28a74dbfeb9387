//! Statistics of tiles and fragments: smallest and largest value, sum, null count (docs/format/fragment-metadata.md).
//!
//! They equal libtiledb's where libtiledb's are right. They differ where libtiledb's are wrong: a NaN does not hide the
//! values before it, strings are compared past a NUL, every null of a var-length field is counted, fragments of `CHAR`
//! have a sum, and an infinite value can be the smallest or largest.

use core::ops::Range;

use tdb_codec::{Datatype, Native, Physical};
use tdb_fragment::FieldStatistics;

use super::tile::TileCells;
use crate::facts::{Compared, Rule};

/// Calls a function that is generic over a [`Number`] with the machine type.
macro_rules! with_number {
    ($physical:expr, $function:ident($($argument:expr),*)) => {
        match $physical {
            Physical::I8 => $function::<i8>($($argument),*),
            Physical::U8 => $function::<u8>($($argument),*),
            Physical::I16 => $function::<i16>($($argument),*),
            Physical::U16 => $function::<u16>($($argument),*),
            Physical::I32 => $function::<i32>($($argument),*),
            Physical::U32 => $function::<u32>($($argument),*),
            Physical::I64 => $function::<i64>($($argument),*),
            Physical::U64 => $function::<u64>($($argument),*),
            Physical::F32 => $function::<f32>($($argument),*),
            Physical::F64 => $function::<f64>($($argument),*),
        }
    };
}

/// Statistics of one tile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TileStatistics {
    /// Smallest and largest value; `None` if no cell has one.
    pub extremes: Option<(Vec<u8>, Vec<u8>)>,
    /// The sum of the values, as the format stores it.
    pub sum: [u8; 8],
    /// How many cells are null.
    pub null_count: u64,
}

/// Computes the statistics of the written cells of a tile. `cell_size` is `None` for var-length fields.
pub fn of_tile(
    rule: Rule,
    datatype: Datatype,
    cells: &TileCells<'_>,
    cell_size: Option<usize>,
) -> TileStatistics {
    let mut statistics = TileStatistics::default();
    if rule.nulls {
        for run in cells.written() {
            let validity = cells.validity.get(run.clone()).unwrap_or_default();
            let nulls = validity.iter().filter(|valid| **valid == 0).count();
            statistics.null_count = statistics.null_count.saturating_add(tdb_codec::to_u64(nulls));
        }
    }
    match rule.compared {
        Compared::Number(physical) => with_number!(physical, number(cells, &mut statistics)),
        Compared::Bytes => {
            let width = cell_size.unwrap_or(0);
            let cell = |index: usize| match cell_size {
                Some(_) => {
                    cells.values.get(index.checked_mul(width)?..index.checked_add(1)?.checked_mul(width)?)
                }
                None => cells.var_cell(index),
            };
            bytes(cells, cell, &mut statistics);
            if rule.sum && datatype == Datatype::Char {
                // `CHAR` values are added as signed bytes.
                let mut sum = TileStatistics::default();
                number::<i8>(cells, &mut sum);
                statistics.sum = sum.sum;
            }
        }
        Compared::Other => {}
    }
    if !rule.sum {
        statistics.sum = [0; 8];
    }
    statistics
}

fn valid_cells<'c>(cells: &'c TileCells<'_>) -> impl Iterator<Item = usize> + 'c {
    cells.written().flatten().filter(|index| cells.validity.get(*index) != Some(&0))
}

fn bytes<'v>(
    cells: &TileCells<'_>,
    cell: impl Fn(usize) -> Option<&'v [u8]>,
    statistics: &mut TileStatistics,
) {
    let mut values = valid_cells(cells).filter_map(cell);
    if let Some(first) = values.next() {
        let (mut low, mut high) = (first, first);
        for value in values {
            if value < low {
                low = value;
            } else if value > high {
                high = value;
            }
        }
        statistics.extremes = Some((low.to_vec(), high.to_vec()));
    }
}

fn number<T: Number>(cells: &TileCells<'_>, into: &mut TileStatistics) {
    let value = |bytes: &[u8]| T::from_le(bytes).unwrap_or_default();
    let mut tally = Tally::<T>::default();
    for run in cells.written() {
        let bytes = run.start.saturating_mul(T::SIZE)..run.end.saturating_mul(T::SIZE);
        let values = cells.values.get(bytes).unwrap_or_default().chunks_exact(T::SIZE);
        if cells.validity.is_empty() {
            tally.add_run(values.map(value));
        } else {
            let validity = cells.validity.get(run).unwrap_or_default();
            let valid = values.zip(validity).filter(|(_, valid)| **valid != 0);
            tally.add_each(valid.map(|(bytes, _)| value(bytes)));
        }
    }
    into.extremes = tally.extremes.map(|(low, high)| (to_bytes(low), to_bytes(high)));
    into.sum = tally.sum.to_bytes();
}

fn to_bytes<T: Number>(value: T) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(T::SIZE);
    value.write_le(&mut bytes);
    bytes
}

/// A machine type, with the type of its sum.
pub(crate) trait Number: Native + Default {
    type Sum: Sum;
    const LEAST: Self;
    const MOST: Self;
    fn widen(self) -> Self::Sum;
    /// Whether `count` values between these two cannot overflow the sum, in any order.
    fn sums_fit(sum: Self::Sum, count: usize, low: Self, high: Self) -> bool;
    fn is_number(self) -> bool;
}

/// A sum that stays at its limit once it would exceed it.
pub(crate) trait Sum: Copy + Default {
    /// The sum, or the limit that it exceeded.
    fn add(self, value: Self) -> Result<Self, Self>;
    /// The sum of values known to fit.
    fn add_fitting(self, value: Self) -> Self;
    fn to_bytes(self) -> [u8; 8];
    fn from_bytes(bytes: [u8; 8]) -> Self;
}

macro_rules! integers {
    ($($type:ty => $sum:ty),*) => {$(
        impl Number for $type {
            type Sum = $sum;
            const LEAST: Self = Self::MIN;
            const MOST: Self = Self::MAX;
            fn widen(self) -> $sum {
                <$sum>::from(self)
            }
            fn sums_fit(sum: $sum, count: usize, low: Self, high: Self) -> bool {
                let Ok(count) = i128::try_from(count) else { return false };
                let total = |value: i128| value.checked_mul(count)?.checked_add(i128::from(sum));
                let (low, high) = (i128::from(low).min(0), i128::from(high).max(0));
                total(low).is_some_and(|total| total >= i128::from(<$sum>::MIN))
                    && total(high).is_some_and(|total| total <= i128::from(<$sum>::MAX))
            }
            fn is_number(self) -> bool {
                true
            }
        }
    )*};
}

integers!(i8 => i64, i16 => i64, i32 => i64, i64 => i64, u8 => u64, u16 => u64, u32 => u64, u64 => u64);

macro_rules! floats {
    ($($type:ty),*) => {$(
        impl Number for $type {
            type Sum = f64;
            const LEAST: Self = Self::MIN;
            const MOST: Self = Self::MAX;
            fn widen(self) -> f64 {
                f64::from(self)
            }
            fn sums_fit(sum: f64, count: usize, low: Self, high: Self) -> bool {
                let Ok(count) = u32::try_from(count) else { return false };
                let most = f64::from(low.abs().max(high.abs()));
                // With room for rounding errors.
                sum.abs() + most * f64::from(count) < f64::MAX / 4.0
            }
            fn is_number(self) -> bool {
                !self.is_nan()
            }
        }
    )*};
}

floats!(f32, f64);

macro_rules! integer_sums {
    ($($type:ty),*) => {$(
        impl Sum for $type {
            fn add(self, value: Self) -> Result<Self, Self> {
                self.checked_add(value).ok_or_else(|| self.saturating_add(value))
            }
            fn add_fitting(self, value: Self) -> Self {
                self.wrapping_add(value)
            }
            fn to_bytes(self) -> [u8; 8] {
                self.to_le_bytes()
            }
            fn from_bytes(bytes: [u8; 8]) -> Self {
                Self::from_le_bytes(bytes)
            }
        }
    )*};
}

integer_sums!(i64, u64);

impl Sum for f64 {
    fn add(self, value: Self) -> Result<Self, Self> {
        let same_side = (self < 0.0) == (value < 0.0);
        if same_side && self.abs() > Self::MAX - value.abs() {
            return Err(if self < 0.0 { Self::MIN } else { Self::MAX });
        }
        Ok(self + value)
    }

    fn add_fitting(self, value: Self) -> Self {
        self + value
    }

    fn to_bytes(self) -> [u8; 8] {
        self.to_le_bytes()
    }

    fn from_bytes(bytes: [u8; 8]) -> Self {
        Self::from_le_bytes(bytes)
    }
}

/// Extremes and sum so far.
struct Tally<T: Number> {
    extremes: Option<(T, T)>,
    sum: T::Sum,
    /// The sum has reached its limit and does not change any more.
    stopped: bool,
}

impl<T: Number> Default for Tally<T> {
    fn default() -> Self {
        Self { extremes: None, sum: T::Sum::default(), stopped: false }
    }
}

impl<T: Number> Tally<T> {
    /// Adds values one by one.
    fn add_each(&mut self, values: impl Iterator<Item = T>) {
        for value in values {
            self.extreme(value, value);
            if !self.stopped {
                match self.sum.add(value.widen()) {
                    Ok(sum) => self.sum = sum,
                    Err(limit) => (self.sum, self.stopped) = (limit, true),
                }
            }
        }
    }

    /// Adds the values of a run without nulls: in loops without branches if their sum cannot overflow.
    fn add_run(&mut self, values: impl ExactSizeIterator<Item = T> + Clone) {
        if self.stopped || values.len() == 0 {
            return self.add_each(values);
        }
        let (mut low, mut high) = (T::MOST, T::LEAST);
        let mut sum = self.sum;
        let mut numbers = true;
        if T::PHYSICAL.is_float() {
            // Sums of floating-point numbers depend on the order, so they are added one after the other; everything
            // else is done at the same time.
            for value in values.clone() {
                low = if low < value { low } else { value };
                high = if high > value { high } else { value };
                numbers &= value.is_number();
                sum = sum.add_fitting(value.widen());
            }
        } else {
            (low, high) = values.clone().fold((low, high), |(low, high), value| {
                (if value < low { value } else { low }, if value > high { value } else { high })
            });
        }
        if !numbers || !T::sums_fit(self.sum, values.len(), low, high) {
            return self.add_each(values);
        }
        if !T::PHYSICAL.is_float() {
            sum = values.fold(sum, |sum, value| sum.add_fitting(value.widen()));
        }
        self.sum = sum;
        self.extreme(low, high);
    }

    /// Of equal values the last one is kept, also of 0.0 and −0.0. NaN is kept only if there is no other value.
    fn extreme(&mut self, low: T, high: T) {
        self.extremes = Some(match self.extremes {
            Some((least, most)) if least.is_number() => {
                if !low.is_number() {
                    return;
                }
                (if least < low { least } else { low }, if most > high { most } else { high })
            }
            _ => (low, high),
        });
    }
}

/// Statistics of a whole fragment, tile by tile.
#[derive(Debug, Default)]
pub struct Fold {
    extremes: Option<(Vec<u8>, Vec<u8>)>,
    sum: [u8; 8],
    stopped: bool,
    null_count: u64,
}

impl Fold {
    /// Adds the next tile.
    pub fn add(&mut self, rule: Rule, datatype: Datatype, tile: &TileStatistics) {
        self.null_count = self.null_count.saturating_add(tile.null_count);
        if let Some((low, high)) = tile.extremes.as_ref().filter(|_| rule.extremes) {
            let (low, high) = match (self.extremes.take(), rule.compared) {
                (None, _) => (low.clone(), high.clone()),
                (Some(before), Compared::Number(physical)) => with_number!(physical, fold(before, low, high)),
                (Some((least, most)), _) => (least.min(low.clone()), most.max(high.clone())),
            };
            self.extremes = Some((low, high));
        }
        if rule.sum && !self.stopped {
            let physical = datatype.physical();
            (self.sum, self.stopped) = if physical.is_float() {
                add_sums::<f64>(self.sum, tile.sum)
            } else if physical.is_signed_integer() {
                add_sums::<i64>(self.sum, tile.sum)
            } else {
                add_sums::<u64>(self.sum, tile.sum)
            };
        }
    }

    /// The fragment's statistics.
    pub fn finish(&self, rule: Rule) -> FieldStatistics {
        let (min, max) = match (&self.extremes, rule.compared) {
            (Some((min, max)), _) => (min.clone(), max.clone()),
            // If all cells are null, libtiledb writes the initial values.
            (None, Compared::Number(physical)) if rule.extremes => unset(physical),
            (None, _) => (Vec::new(), Vec::new()),
        };
        FieldStatistics { min, max, sum: self.sum, null_count: self.null_count }
    }
}

/// The extremes of a numeric type before any value is seen: the type's largest and smallest value.
pub(crate) fn unset(physical: Physical) -> (Vec<u8>, Vec<u8>) {
    fn ends<T: Number>() -> (Vec<u8>, Vec<u8>) {
        (to_bytes(T::MOST), to_bytes(T::LEAST))
    }
    with_number!(physical, ends())
}

fn fold<T: Number>(before: (Vec<u8>, Vec<u8>), low: &[u8], high: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let value = |bytes: &[u8]| T::from_le(bytes).unwrap_or_default();
    let mut tally = Tally::<T> { extremes: Some((value(&before.0), value(&before.1))), ..Tally::default() };
    tally.extreme(value(low), value(high));
    tally.extremes.map_or(before, |(low, high)| (to_bytes(low), to_bytes(high)))
}

fn add_sums<S: Sum>(sum: [u8; 8], tile: [u8; 8]) -> ([u8; 8], bool) {
    match S::from_bytes(sum).add(S::from_bytes(tile)) {
        Ok(sum) => (sum.to_bytes(), false),
        Err(limit) => (limit.to_bytes(), true),
    }
}

/// Joins adjoining runs.
pub(crate) fn join_runs(runs: &mut Vec<Range<usize>>) {
    runs.sort_unstable_by_key(|run| run.start);
    runs.dedup_by(|next, before| {
        let joins = before.end == next.start;
        if joins {
            before.end = next.end;
        }
        joins
    });
}

#[cfg(test)]
mod tests {
    use tdb_codec::CellValNum;

    use super::*;

    fn of<T: Number>(datatype: Datatype, values: &[T], validity: &[u8]) -> TileStatistics {
        let mut bytes = Vec::new();
        values.iter().for_each(|value| value.write_le(&mut bytes));
        let cells = TileCells { count: values.len(), values: &bytes, offsets: &[], validity, runs: None };
        let rule = Rule::attribute(datatype, CellValNum::ONE, !validity.is_empty());
        of_tile(rule, datatype, &cells, Some(T::SIZE))
    }

    fn strings(values: &[&str]) -> TileStatistics {
        let mut offsets = Vec::new();
        let mut bytes = Vec::new();
        for value in values {
            offsets.push(bytes.len() as u64);
            bytes.extend_from_slice(value.as_bytes());
        }
        let cells =
            TileCells { count: values.len(), values: &bytes, offsets: &offsets, validity: &[], runs: None };
        let rule = Rule::attribute(Datatype::StringAscii, CellValNum::Var, false);
        of_tile(rule, Datatype::StringAscii, &cells, None)
    }

    #[test]
    fn sums_stay_at_the_limit_they_pass() {
        let found = of(Datatype::Int64, &[i64::MAX, 1, -5], &[]);
        assert_eq!(found.sum, i64::MAX.to_le_bytes());
        let found = of(Datatype::Uint64, &[u64::MAX - 1, 1], &[]);
        assert_eq!(found.sum, u64::MAX.to_le_bytes());
        let found = of(Datatype::Int8, &[-128i8; 1000], &[]);
        assert_eq!(found.sum, (-128_000i64).to_le_bytes());
        let found = of(Datatype::Float64, &[f64::INFINITY, 1.0], &[]);
        assert_eq!(found.sum, f64::MAX.to_le_bytes(), "as libtiledb has it");
    }

    #[test]
    fn sums_of_reals_are_added_in_order_and_of_zeros_the_last_one_stays() {
        let values: Vec<f64> = (0..1000).map(|i| f64::from(i % 17) * 0.1 - 0.7).collect();
        let found = of(Datatype::Float64, &values, &[]);
        let sum = values.iter().fold(0.0, |sum, value| sum + value);
        assert_eq!(found.sum, f64::to_le_bytes(sum));
        assert_eq!(
            found.extremes,
            Some(((-0.7f64).to_le_bytes().to_vec(), values[16].to_le_bytes().to_vec()))
        );
        for zeros in [[0.0f64, -0.0], [-0.0, 0.0]] {
            let last = zeros[1].to_le_bytes().to_vec();
            assert_eq!(of(Datatype::Float64, &zeros, &[]).extremes, Some((last.clone(), last)));
        }
        let found = of(Datatype::Float64, &[f64::INFINITY; 2], &[]);
        assert_eq!(found.extremes.map(|(low, _)| low), Some(f64::INFINITY.to_le_bytes().to_vec()));
    }

    #[test]
    fn nulls_and_nans_are_passed_over() {
        let found = of(Datatype::Int32, &[5, -9, 3], &[1, 0, 1]);
        assert_eq!(found.extremes, Some((3i32.to_le_bytes().to_vec(), 5i32.to_le_bytes().to_vec())));
        assert_eq!((found.sum, found.null_count), (8i64.to_le_bytes(), 1));
        let found = of(Datatype::Float32, &[1.0, 5.0, f32::NAN, 3.0, 4.0], &[]);
        assert_eq!(found.extremes, Some((1f32.to_le_bytes().to_vec(), 5f32.to_le_bytes().to_vec())));
        assert!(f64::from_le_bytes(found.sum).is_nan());
        assert_eq!(of(Datatype::Int32, &[1], &[0]).extremes, None);
        assert_eq!(of(Datatype::Float32, &[f32::NAN], &[]).extremes.map(|(low, _)| low.len()), Some(4));
    }

    #[test]
    fn strings_compare_as_bytes_with_the_shorter_prefix_first() {
        let found = strings(&["b", "ab", "a", "b\0a", "b\0"]);
        assert_eq!(found.extremes, Some((b"a".to_vec(), b"b\0a".to_vec())));
        assert_eq!(strings(&["", "x"]).extremes, Some((Vec::new(), b"x".to_vec())));
    }

    #[test]
    fn a_fragment_folds_its_tiles_and_knows_when_all_is_null() {
        let rule = Rule::attribute(Datatype::Int16, CellValNum::ONE, true);
        let mut fold = Fold::default();
        let nulls = of(Datatype::Int16, &[1i16, 2], &[0, 0]);
        fold.add(rule, Datatype::Int16, &nulls);
        let empty = fold.finish(rule);
        assert_eq!((empty.min, empty.max), unset(Physical::I16));
        assert_eq!(empty.null_count, 2);
        fold.add(rule, Datatype::Int16, &of(Datatype::Int16, &[-4i16, 9], &[1, 1]));
        let found = fold.finish(rule);
        assert_eq!((found.min, found.max), ((-4i16).to_le_bytes().to_vec(), 9i16.to_le_bytes().to_vec()));
        assert_eq!(found.sum, 5i64.to_le_bytes());
    }
}
