//! Statistics of tiles and fragments, as far as readers can trust them
//! (docs/format/fragment-metadata.md).
//!
//! | | trusted |
//! |---|---|
//! | versions before [`Gate::TrustedTileStatistics`] | nothing |
//! | integers, dates, times | extremes, null counts; sums if no order of adding can have reached their limit |
//! | reals | extremes if the sum, where none can have reached its limit, proves that there is no NaN; never sums, whose rounding depends on the order |
//! | `CHAR`, `STRING_ASCII` | as bounds up to a NUL; in dense fragments only of fixed size, nullable ones only late |
//! | other strings | nothing: libtiledb counts none of their nulls |
//! | all others | null counts of fixed-size cells of sparse fragments |
//!
//! A sum that would pass its limit becomes the limit, and adding stops, but libtiledb adds the
//! cells of a dense tile run by run: the next run begins at the limit, and may lead away from it.
//! So a sum says nothing about itself; the extremes and the number of cells do.

use std::borrow::Cow;
use std::sync::Arc;

use tdb_codec::{Gate, Native, Reader, to_u64};
use tdb_fragment::{FieldStatistics, Section, TileValues, parse_fragment_statistics, parse_words};
use tdb_schema::{Field, FieldKind};

use crate::context::Context;
use crate::facts::{Extremes, Facts, Nulls, Rule, counts_nulls};
use crate::fragment::Fragment;
use crate::{Error, Result};

/// Which statistics of one field of a fragment can be trusted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Trusted {
    extremes: bool,
    /// The sums of integers; sums of reals only prove that there is no NaN.
    sums: bool,
    nulls: bool,
}

/// The statistics of one field's tiles.
#[derive(Debug)]
pub struct Statistics {
    trusted: Trusted,
    shape: Shape,
    mins: TileValues,
    maxes: TileValues,
    sums: Vec<[u8; 8]>,
    nulls: Arc<Vec<u64>>,
}

/// The statistics of one field of a whole fragment.
#[derive(Debug)]
pub struct Whole {
    trusted: Trusted,
    shape: Shape,
    found: FieldStatistics,
    cells: u64,
    /// Whether the statistics may include the padding of dense tiles at the end of the domain.
    dense: bool,
}

/// The shape of a field's values.
#[derive(Clone, Copy, Debug)]
struct Shape {
    cell_size: Option<usize>,
    number: bool,
    float: bool,
    signed: bool,
    nullable: bool,
}

/// The statistics of some cells that are exact; `None` for those that are not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exact {
    /// Number of nulls.
    pub nulls: Option<u64>,
    /// Sum of integers.
    pub sum: Option<i128>,
    /// Smallest and largest value; the inner `None` if there is no value.
    pub extremes: Option<Option<(Vec<u8>, Vec<u8>)>>,
}

impl Shape {
    fn of(field: &Field<'_>) -> Self {
        let physical = field.datatype.physical();
        Self {
            cell_size: field.cell_size(),
            number: Rule::attribute(field.datatype, field.cell_val_num, field.nullable).is_number(),
            float: physical.is_float(),
            signed: physical.is_signed_integer(),
            nullable: field.nullable,
        }
    }

    /// Bounds from a smallest and a largest value.
    fn extremes<'s>(&self, low: &'s [u8], high: &'s [u8]) -> Extremes<'s> {
        if self.number {
            return Extremes::Within(low.into(), high.into());
        }
        // libtiledb compares up to a NUL: the bytes after it are not known.
        let known = |value: &'s [u8]| value.split_inclusive(|byte| *byte == 0).next().unwrap_or(value);
        let start = known(high);
        let high: Cow<'s, [u8]> = if start.len() < high.len() {
            let mut bound = start.to_vec();
            bound.resize(high.len(), 0xff);
            bound.into()
        } else {
            high.into()
        };
        Extremes::Within(known(low).into(), high)
    }

    /// Extremes that are values of cells: those of strings without a NUL.
    fn exact_extremes(&self, extremes: Extremes<'_>) -> Option<Option<(Vec<u8>, Vec<u8>)>> {
        match extremes {
            Extremes::Unknown | Extremes::Numbers(..) => None,
            Extremes::Nothing => Some(None),
            Extremes::Within(low, high) => {
                let whole = self.number || !(low.contains(&0) || high.contains(&0));
                whole.then(|| Some((low.into_owned(), high.into_owned())))
            }
        }
    }

    /// Whether the sum of up to `cells` values between these stays below its limit in any order.
    fn stays_below_limit(&self, low: &[u8], high: &[u8], cells: u64) -> bool {
        if self.float {
            let real = |bytes: &[u8]| match (<[u8; 4]>::try_from(bytes), <[u8; 8]>::try_from(bytes)) {
                (Ok(bytes), _) => f64::from(f32::from_le_bytes(bytes)),
                (_, Ok(bytes)) => f64::from_le_bytes(bytes),
                _ => f64::NAN,
            };
            let most = cells.to_f64() * real(low).abs().max(real(high).abs());
            return real(low) <= real(high) && most < f64::MAX;
        }
        let limit = if self.signed { u128::from(i64::MAX.unsigned_abs()) } else { u128::from(u64::MAX) };
        [low, high].into_iter().all(|end| {
            let most = crate::coordinate::integer(end, self.signed).unsigned_abs();
            most.checked_mul(u128::from(cells)).is_some_and(|sum| sum < limit)
        })
    }

    /// Whether a sum of values between these that once reached its limit is still there.
    fn stays_at_limit(&self, low: &[u8], high: &[u8]) -> bool {
        let number = |bytes| crate::coordinate::integer(bytes, self.signed);
        !self.float && (number(low) >= 0 || number(high) <= 0)
    }

    /// A sum, if it is the sum of all values: it must not be a limit, at which adding stops.
    fn sum(&self, bytes: [u8; 8]) -> Option<i128> {
        if self.float {
            None
        } else if self.signed {
            let sum = i64::from_le_bytes(bytes);
            (sum != i64::MAX && sum != i64::MIN).then(|| i128::from(sum))
        } else {
            let sum = u64::from_le_bytes(bytes);
            (sum != u64::MAX).then(|| i128::from(sum))
        }
    }

    /// Whether a tile's sum proves that none of its `cells` is a NaN: a NaN would have made it NaN,
    /// unless adding had stopped before. The extremes are those of its other values.
    fn proves_numbers(&self, sum: [u8; 8], (low, high): (&[u8], &[u8]), cells: u64) -> bool {
        let sum = f64::from_le_bytes(sum);
        sum.is_finite() && sum.abs() < f64::MAX && self.stays_below_limit(low, high, cells)
    }

    fn nulls(&self, count: Option<u64>, cells: Option<u64>) -> Nulls {
        match (self.nullable, count, cells) {
            (false, _, _) | (true, Some(0), _) => Nulls::None,
            (true, Some(count), Some(cells)) if count >= cells => Nulls::All,
            (true, Some(_), _) => Nulls::Some,
            (true, None, _) => Nulls::Unknown,
        }
    }
}

fn trusted(fragment: &Fragment, field: &Field<'_>) -> Trusted {
    let version = fragment.version();
    if !version.has(Gate::TrustedTileStatistics) || !matches!(field.kind, FieldKind::Attribute(_)) {
        return Trusted::default();
    }
    let rule = Rule::attribute(field.datatype, field.cell_val_num, field.nullable);
    // They are about the values before the filters.
    let same = !field.filters.changes_values();
    if rule.is_number() {
        return Trusted { extremes: same, sums: same, nulls: true };
    }
    let fixed = !field.is_var();
    // In dense fragments libtiledb takes var-length values from the wrong place, even if there are
    // no nulls: the fixture `2.30.0/fragments_dense` has tiles with extremes of zeros. It also
    // counts nulls of the wrong cells.
    let late = rule.extremes && version.has(Gate::NullableStringStatistics);
    let spoilt = fragment.is_dense() && (!fixed || field.nullable && !late);
    let extremes = same && rule.extremes && !spoilt;
    let nulls = !spoilt && (rule.extremes || fixed) && counts_nulls(field.datatype);
    Trusted { extremes, sums: false, nulls }
}

impl Statistics {
    /// The statistics of a field of the fragment's own schema. Sections that cannot be trusted are
    /// not read.
    pub fn load(context: &Context, fragment: &Fragment, field: &Field<'_>) -> Result<Self> {
        let trusted = trusted(fragment, field);
        let shape = Shape::of(field);
        let slot = fragment.footer().slots.field(field.kind);
        let values = |section: Section| -> Result<TileValues> {
            let payload = fragment.section(context, section)?;
            let parsed = payload.map(|payload| TileValues::parse(Reader::new(&payload), section.name()));
            parsed
                .transpose()
                .map(Option::unwrap_or_default)
                .map_err(|error| corrupt(context, fragment, error))
        };
        let (mins, maxes) = if trusted.extremes {
            (values(Section::Mins(slot))?, values(Section::Maxes(slot))?)
        } else {
            (TileValues::default(), TileValues::default())
        };
        let mut sums = Vec::new();
        if trusted.sums
            && let Some(payload) = fragment.section(context, Section::Sums(slot))?
        {
            sums = parse_words(Reader::new(&payload), "tile sums")
                .map_err(|error| corrupt(context, fragment, error))?;
        }
        let nulls = if trusted.nulls && field.nullable {
            fragment.list(context, Section::NullCounts(slot))?
        } else {
            Arc::default()
        };
        Ok(Self { trusted, shape, mins, maxes, sums, nulls })
    }

    /// Approximate bytes that it takes.
    pub fn held(&self) -> u64 {
        // All of them are in memory, so that their sum fits.
        let values: usize =
            [&self.mins, &self.maxes].map(|values| values.fixed.len() + values.var.len()).iter().sum();
        to_u64(values + size_of_val(&*self.sums) + size_of_val(&**self.nulls) + size_of::<Self>())
    }

    /// Facts about the cells of a tile that has room for `cells`.
    pub fn facts(&self, tile: usize, cells: u64) -> Facts<'_> {
        let nulls = self.shape.nulls(self.null_count(tile), Some(cells));
        Facts { extremes: self.extremes(tile, nulls, cells), nulls }
    }

    fn extremes(&self, tile: usize, nulls: Nulls, cells: u64) -> Extremes<'_> {
        if nulls == Nulls::All {
            return Extremes::Nothing;
        }
        // If the null count is not known, the values may be those of a tile of nulls.
        if !self.trusted.extremes || nulls == Nulls::Unknown {
            return Extremes::Unknown;
        }
        let value = |values| TileValues::value(values, tile, self.shape.cell_size);
        let (Some(low), Some(high)) = (value(&self.mins), value(&self.maxes)) else {
            return Extremes::Unknown;
        };
        let proven = |sum: &[u8; 8]| self.shape.proves_numbers(*sum, (low, high), cells);
        if self.shape.float && !self.sums.get(tile).is_some_and(proven) {
            return Extremes::Unknown;
        }
        self.shape.extremes(low, high)
    }

    /// Number of nulls of a tile; 0 for fields that are not nullable.
    fn null_count(&self, tile: usize) -> Option<u64> {
        if !self.shape.nullable {
            return Some(0);
        }
        self.nulls.get(tile).copied().filter(|_| self.trusted.nulls)
    }

    /// The exact statistics of a tile that has room for `cells`.
    pub fn exact(&self, tile: usize, cells: u64) -> Exact {
        let extremes = self.facts(tile, cells).extremes;
        let sum = self.sum(tile, &extremes, cells);
        Exact { nulls: self.null_count(tile), sum, extremes: self.shape.exact_extremes(extremes) }
    }

    /// The exact sum of a tile's integers.
    fn sum(&self, tile: usize, extremes: &Extremes<'_>, cells: u64) -> Option<i128> {
        let known = match extremes {
            Extremes::Nothing => true,
            Extremes::Within(low, high) => {
                self.shape.stays_at_limit(low, high) || self.shape.stays_below_limit(low, high, cells)
            }
            Extremes::Unknown | Extremes::Numbers(..) => !self.shape.signed,
        };
        self.shape.sum(*self.sums.get(tile)?).filter(|_| known)
    }
}

impl Whole {
    /// The statistics of all fields of a fragment, by slot; `None` if there are none that can be
    /// trusted.
    pub fn load(context: &Context, fragment: &Fragment) -> Result<Option<Vec<FieldStatistics>>> {
        let version = fragment.version();
        if !version.has(Gate::TrustedTileStatistics) || !version.has(Gate::FragmentStatistics) {
            return Ok(None);
        }
        let Some(payload) = fragment.section(context, Section::FragmentStatistics)? else { return Ok(None) };
        parse_fragment_statistics(Reader::new(&payload), fragment.footer().slots.len())
            .map(Some)
            .map_err(|error| corrupt(context, fragment, error))
    }

    /// The statistics of one of the fields that can be trusted.
    pub fn of(all: &[FieldStatistics], fragment: &Fragment, field: &Field<'_>) -> Option<Self> {
        let mut trusted = trusted(fragment, field);
        let shape = Shape::of(field);
        // The statistics of the whole fragment do not show whether a tile has a NaN or a sum that
        // stopped. libtiledb also skips values after a tile of nulls when it combines the extremes
        // of fixed-size strings.
        trusted.extremes &= shape.number && !shape.float || !shape.number && !shape.nullable;
        let found = all.get(fragment.footer().slots.field(field.kind))?.clone();
        Some(Self { trusted, shape, found, cells: fragment.cell_count(), dense: fragment.is_dense() })
    }

    /// Facts about the fragment's cells.
    pub fn facts(&self) -> Facts<'_> {
        let nulls = self.shape.nulls(self.null_count(), (!self.dense).then_some(self.cells));
        let FieldStatistics { min, max, .. } = &self.found;
        let extremes = match nulls {
            Nulls::All => Extremes::Nothing,
            Nulls::Unknown => Extremes::Unknown,
            _ if !self.trusted.extremes => Extremes::Unknown,
            _ if self.shape.cell_size.is_some_and(|size| min.len() != size || max.len() != size) => {
                Extremes::Unknown
            }
            _ => self.shape.extremes(min, max),
        };
        Facts { extremes, nulls }
    }

    /// The exact statistics of the fragment.
    pub fn exact(&self) -> Exact {
        let extremes = self.shape.exact_extremes(self.facts().extremes);
        Exact { nulls: self.null_count(), sum: self.sum(), extremes }
    }

    /// Number of nulls; 0 for fields that are not nullable.
    fn null_count(&self) -> Option<u64> {
        if !self.shape.nullable {
            return Some(0);
        }
        Some(self.found.null_count).filter(|_| self.trusted.nulls)
    }

    /// The exact sum of the fragment's integers, if no tile's sum can have stopped at its limit.
    fn sum(&self) -> Option<i128> {
        let Extremes::Within(low, high) = self.facts().extremes else { return None };
        let below = self.shape.number && self.shape.stays_below_limit(&low, &high, self.cells);
        self.shape.sum(self.found.sum).filter(|_| below)
    }
}

fn corrupt(context: &Context, fragment: &Fragment, error: tdb_codec::Error) -> Error {
    Error::corrupt(context.describe(fragment.metadata_key()), error)
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTEGERS: Shape =
        Shape { cell_size: Some(8), number: true, float: false, signed: true, nullable: false };
    const REALS: Shape = Shape { float: true, ..INTEGERS };

    /// The statistics of one tile.
    fn of(shape: Shape, low: [u8; 8], high: [u8; 8], sum: [u8; 8]) -> Statistics {
        let values = |value: [u8; 8]| TileValues { fixed: value.to_vec(), ..TileValues::default() };
        let trusted = Trusted { extremes: true, sums: true, nulls: true };
        Statistics {
            trusted,
            shape,
            mins: values(low),
            maxes: values(high),
            sums: vec![sum],
            nulls: Arc::default(),
        }
    }

    fn sum(shape: Shape, low: i64, high: i64, sum: i64, cells: u64) -> Option<i128> {
        of(shape, low.to_le_bytes(), high.to_le_bytes(), sum.to_le_bytes()).exact(0, cells).sum
    }

    #[test]
    fn the_memory_of_statistics_is_that_of_all_their_values() {
        let mut statistics = of(INTEGERS, [0; 8], [0; 8], [0; 8]);
        let one = statistics.held();
        assert_eq!(one, to_u64(size_of::<Statistics>()) + 3 * 8);
        (statistics.maxes.var, statistics.nulls) = (vec![0; 100], Arc::new(vec![0; 5]));
        assert_eq!(statistics.held(), one + 100 + 5 * 8);
    }

    #[test]
    fn sums_are_trusted_where_no_order_of_adding_reaches_their_limit() {
        assert_eq!(sum(INTEGERS, -3, 5, 40, 100), Some(40));
        // libtiledb's sum of MAX, MAX and -7, where the first two are a run: it stops at MAX, and
        // goes on from there.
        assert_eq!(sum(INTEGERS, -7, i64::MAX, i64::MAX - 7, 3), None);
        assert_eq!(sum(INTEGERS, -1, i64::MAX / 4, 9, 4), Some(9));
        assert_eq!(sum(INTEGERS, -1, i64::MAX / 4, 9, 5), None);
        assert_eq!(sum(INTEGERS, i64::MIN, 1, 9, 1), None);
        assert_eq!(sum(INTEGERS, i64::MIN, 1, 9, u64::MAX), None);
        // Values of one sign stay at the limit that they reach.
        assert_eq!(sum(INTEGERS, 0, i64::MAX, i64::MAX - 7, 3), Some(i128::from(i64::MAX - 7)));
        assert_eq!(sum(INTEGERS, i64::MIN, 0, i64::MIN, 3), None);
        let unsigned = Shape { signed: false, ..INTEGERS };
        assert_eq!(sum(unsigned, 0, -1, 7, 3), Some(7));
        assert_eq!(sum(unsigned, 0, -1, -1, 3), None);
    }

    #[test]
    fn extremes_of_reals_are_trusted_where_adding_cannot_have_stopped_before_a_nan() {
        let extremes = |low: f64, high: f64, sum: f64, cells| {
            let found = of(REALS, low.to_le_bytes(), high.to_le_bytes(), sum.to_le_bytes());
            found.exact(0, cells).extremes.is_some()
        };
        assert!(extremes(-1.0, 2.0, 5.0, 10));
        assert!(!extremes(-1.0, 2.0, f64::NAN, 10));
        assert!(!extremes(-1.0, f64::INFINITY, f64::MAX, 10));
        // 1e308 and 1e308 reach the limit, a NaN after them is not seen, and -1e308 of the next run
        // leads away.
        assert!(!extremes(-1e308, 1e308, 7e307, 4));
        assert!(extremes(-1e307, 1e307, 7e306, 4));
    }
}
