//! Statistics of tiles and fragments: smallest and largest value, sum, null count
//! (docs/format/fragment-metadata.md).
//!
//! They equal libtiledb's where libtiledb's are right. They differ where libtiledb's are wrong: a
//! NaN does not hide the values before it, strings are compared past a NUL, every null of a
//! var-length field is counted, fragments of `CHAR` have a sum, and an infinite value can be the
//! smallest or largest.

use core::ops::Range;

use tdb_codec::{Datatype, Physical};
use tdb_fragment::FieldStatistics;

use crate::facts::{Compared, Rule};
use crate::tile_cells::TileCells;
use crate::{OrInternal, Result, tally};

/// Statistics of one tile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TileStatistics {
    /// Smallest and largest value; `None` if no cell has one.
    pub extremes: Option<(Vec<u8>, Vec<u8>)>,
    /// The sum of the values, as the format stores it.
    pub sum: [u8; 8],
    /// The number of cells that are null.
    pub null_count: u64,
}

/// Computes the statistics of the written cells of a tile. `cell_size` is `None` for var-length
/// fields.
///
/// # Errors
/// [`crate::Error::Internal`] if the tile lacks some of its cells.
pub fn of_tile(
    rule: Rule,
    datatype: Datatype,
    cells: &TileCells<'_>,
    cell_size: Option<usize>,
) -> Result<TileStatistics> {
    cells.check(cell_size)?;
    let mut statistics = TileStatistics::default();
    // No validity means that no cell is null.
    if rule.nulls && !cells.validity.is_empty() {
        for run in cells.written() {
            let validity =
                cells.validity.get(run).or_internal("a tile without the validity of a run of cells")?;
            let nulls = validity.iter().filter(|valid| **valid == 0).count();
            statistics.null_count = statistics.null_count.saturating_add(tdb_codec::to_u64(nulls));
        }
    }
    match rule.compared {
        Compared::Number(physical) => number(physical, cells, &mut statistics)?,
        Compared::Bytes => {
            let cell = |index: usize| match cell_size {
                Some(width) => {
                    cells.values.get(index.checked_mul(width)?..index.checked_add(1)?.checked_mul(width)?)
                }
                None => cells.var_cell(index),
            };
            bytes(cells, cell, &mut statistics)?;
            if rule.sum && datatype == Datatype::Char {
                // `CHAR` values are added as signed bytes.
                let mut sum = TileStatistics::default();
                number(Physical::I8, cells, &mut sum)?;
                statistics.sum = sum.sum;
            }
        }
        Compared::Other => {}
    }
    if !rule.sum {
        statistics.sum = [0; 8];
    }
    Ok(statistics)
}

fn valid_cells<'c>(cells: &'c TileCells<'_>) -> impl Iterator<Item = usize> + 'c {
    cells.written().flatten().filter(|index| cells.validity.get(*index) != Some(&0))
}

fn number(physical: Physical, cells: &TileCells<'_>, into: &mut TileStatistics) -> Result<()> {
    let tally = tally::of_cells(physical, cells.written(), cells.values, cells.validity)?;
    (into.extremes, into.sum) = (tally.extremes, tally.sum);
    Ok(())
}

fn bytes<'v>(
    cells: &TileCells<'_>,
    cell: impl Fn(usize) -> Option<&'v [u8]>,
    statistics: &mut TileStatistics,
) -> Result<()> {
    let mut extremes: Option<(&[u8], &[u8])> = None;
    for index in valid_cells(cells) {
        let value = cell(index).or_internal("a tile without the value of a cell")?;
        extremes = Some(match extremes {
            None => (value, value),
            Some((low, high)) if value < low => (value, high),
            Some((low, high)) => (low, value.max(high)),
        });
    }
    statistics.extremes = extremes.map(|(low, high)| (low.to_vec(), high.to_vec()));
    Ok(())
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
                (Some(before), Compared::Number(physical)) => {
                    tally::join_extremes(physical, before, low, high)
                }
                (Some((least, most)), _) => (least.min(low.clone()), most.max(high.clone())),
            };
            self.extremes = Some((low, high));
        }
        if rule.sum && !self.stopped {
            (self.sum, self.stopped) = tally::join_sums(datatype.physical(), self.sum, tile.sum);
        }
    }

    /// The fragment's statistics.
    pub fn finish(&self, rule: Rule) -> FieldStatistics {
        let (min, max) = match (&self.extremes, rule.compared) {
            (Some((min, max)), _) => (min.clone(), max.clone()),
            // If all cells are null, libtiledb writes the initial values.
            (None, Compared::Number(physical)) if rule.extremes => tally::unset(physical),
            (None, _) => (Vec::new(), Vec::new()),
        };
        FieldStatistics { min, max, sum: self.sum, null_count: self.null_count }
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
    use tdb_codec::{CellValNum, Native};

    use super::*;

    fn of<T: Native>(datatype: Datatype, values: &[T], validity: &[u8]) -> TileStatistics {
        let mut bytes = Vec::new();
        values.iter().for_each(|value| value.write_le(&mut bytes));
        let cells = TileCells { count: values.len(), values: &bytes, offsets: &[], validity, runs: None };
        let rule = Rule::attribute(datatype, CellValNum::ONE, !validity.is_empty());
        of_tile(rule, datatype, &cells, Some(T::SIZE)).unwrap()
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
        of_tile(rule, Datatype::StringAscii, &cells, None).unwrap()
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
        assert_eq!((empty.min, empty.max), tally::unset(Physical::I16));
        assert_eq!(empty.null_count, 2);
        fold.add(rule, Datatype::Int16, &of(Datatype::Int16, &[-4i16, 9], &[1, 1]));
        let found = fold.finish(rule);
        assert_eq!((found.min, found.max), ((-4i16).to_le_bytes().to_vec(), 9i16.to_le_bytes().to_vec()));
        assert_eq!(found.sum, 5i64.to_le_bytes());
    }
}
