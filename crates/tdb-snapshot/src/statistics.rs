//! Statistics of tiles and fragments, as far as readers can trust them (docs/format/fragment-metadata.md).
//!
//! | | trusted |
//! |---|---|
//! | versions before [`Gate::TrustedTileStatistics`] | nothing |
//! | integers, dates, times | extremes, sums below their limit, null counts |
//! | reals | extremes if the sum proves that there is no NaN; never sums, whose rounding depends on the order |
//! | `CHAR`, `STRING_ASCII` | as bounds up to a NUL; in dense fragments only of fixed size, nullable ones only late |
//! | all others | null counts of fixed-size cells of sparse fragments |

use std::borrow::Cow;
use std::sync::Arc;

use tdb_codec::{Gate, Reader, to_u64};
use tdb_fragment::{FieldStatistics, Section, TileValues, parse_fragment_statistics, parse_words};
use tdb_schema::{Field, FieldKind};

use crate::context::Context;
use crate::facts::{Extremes, Facts, Nulls, Rule};
use crate::fragment::Fragment;
use crate::{Error, Result};

/// Which statistics of one field of a fragment can be trusted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Believed {
    extremes: bool,
    /// Sums of integers; sums of reals only prove that there is no NaN.
    sums: bool,
    nulls: bool,
}

/// The statistics of one field's tiles.
#[derive(Debug)]
pub struct Statistics {
    believed: Believed,
    shape: Shape,
    mins: TileValues,
    maxes: TileValues,
    sums: Vec<[u8; 8]>,
    nulls: Arc<Vec<u64>>,
}

/// The statistics of one field of a whole fragment.
#[derive(Debug)]
pub struct Whole {
    believed: Believed,
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
        let end = |value: &[u8]| value.iter().position(|byte| *byte == 0).map(|at| at.saturating_add(1));
        let low: Cow<'s, [u8]> = low.get(..end(low).unwrap_or(low.len())).unwrap_or_default().into();
        let high: Cow<'s, [u8]> = match end(high) {
            Some(end) if end < high.len() => {
                let mut bound = high.to_vec();
                bound.get_mut(end..).unwrap_or_default().fill(0xff);
                bound.into()
            }
            _ => high.into(),
        };
        Extremes::Within(low, high)
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

    /// A sum, if it is the sum of all values: it must be below the limits, at which adding stops.
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

    /// Whether a tile's sum proves that the tile has no NaN: a NaN would have made it NaN, unless adding had stopped
    /// before.
    fn proves_numbers(bytes: [u8; 8]) -> bool {
        let sum = f64::from_le_bytes(bytes);
        sum.is_finite() && sum.abs() < f64::MAX
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

fn believed(fragment: &Fragment, field: &Field<'_>) -> Believed {
    let version = fragment.version();
    if !version.has(Gate::TrustedTileStatistics) || !matches!(field.kind, FieldKind::Attribute(_)) {
        return Believed::default();
    }
    let rule = Rule::attribute(field.datatype, field.cell_val_num, field.nullable);
    if rule.is_number() {
        return Believed { extremes: true, sums: true, nulls: true };
    }
    let fixed = !field.is_var();
    // In dense fragments libtiledb takes var-length values from the wrong place, even if there are no nulls: the
    // fixture `2.30.0/fragments_dense` has tiles with extremes of zeros. It also counts nulls of the wrong cells.
    let late = rule.extremes && version.has(Gate::NullableStringStatistics);
    let spoilt = fragment.is_dense() && (!fixed || field.nullable && !late);
    let extremes = rule.extremes && !spoilt;
    Believed { extremes, sums: false, nulls: !spoilt && (rule.extremes || fixed) }
}

impl Statistics {
    /// The statistics of a field of the fragment's own schema. Sections that cannot be trusted are not read.
    pub fn load(context: &Context, fragment: &Fragment, field: &Field<'_>) -> Result<Self> {
        let believed = believed(fragment, field);
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
        let (mins, maxes) = if believed.extremes {
            (values(Section::Mins(slot))?, values(Section::Maxes(slot))?)
        } else {
            (TileValues::default(), TileValues::default())
        };
        let mut sums = Vec::new();
        if believed.sums
            && let Some(payload) = fragment.section(context, Section::Sums(slot))?
        {
            sums = parse_words(Reader::new(&payload), "tile sums")
                .map_err(|error| corrupt(context, fragment, error))?;
        }
        let nulls = if believed.nulls && field.nullable {
            fragment.list(context, Section::NullCounts(slot))?
        } else {
            Arc::default()
        };
        Ok(Self { believed, shape, mins, maxes, sums, nulls })
    }

    /// Approximate bytes that it takes.
    pub fn held(&self) -> u64 {
        let values =
            [&self.mins, &self.maxes].map(|values| values.fixed.len().saturating_add(values.var.len()));
        let values = values.into_iter().fold(0, usize::saturating_add);
        let words = self.sums.len().saturating_add(self.nulls.len()).saturating_mul(8);
        to_u64(values.saturating_add(words).saturating_add(size_of::<Self>()))
    }

    /// Facts about the cells of a tile that has room for `cells`.
    pub fn facts(&self, tile: usize, cells: u64) -> Facts<'_> {
        let nulls = self.shape.nulls(self.null_count(tile), Some(cells));
        Facts { extremes: self.extremes(tile, nulls), nulls }
    }

    fn extremes(&self, tile: usize, nulls: Nulls) -> Extremes<'_> {
        if nulls == Nulls::All {
            return Extremes::Nothing;
        }
        let numbers = !self.shape.float || self.sums.get(tile).is_some_and(|sum| Shape::proves_numbers(*sum));
        // If the null count is not known, the values may be those of a tile of nulls.
        if !self.believed.extremes || !numbers || nulls == Nulls::Unknown {
            return Extremes::Unknown;
        }
        let value = |values| TileValues::value(values, tile, self.shape.cell_size);
        match (value(&self.mins), value(&self.maxes)) {
            (Some(low), Some(high)) => self.shape.extremes(low, high),
            _ => Extremes::Unknown,
        }
    }

    /// Number of nulls of a tile; 0 for fields that are not nullable.
    fn null_count(&self, tile: usize) -> Option<u64> {
        if !self.shape.nullable {
            return Some(0);
        }
        self.nulls.get(tile).copied().filter(|_| self.believed.nulls)
    }

    /// The exact statistics of a tile that has room for `cells`.
    pub fn exact(&self, tile: usize, cells: u64) -> Exact {
        let extremes = self.shape.exact_extremes(self.facts(tile, cells).extremes);
        Exact { nulls: self.null_count(tile), sum: self.sum(tile), extremes }
    }

    /// The exact sum of a tile's integers.
    fn sum(&self, tile: usize) -> Option<i128> {
        self.shape.sum(*self.sums.get(tile)?)
    }
}

impl Whole {
    /// The statistics of all fields of a fragment, by slot; `None` if there are none that can be trusted.
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
        let mut believed = believed(fragment, field);
        let shape = Shape::of(field);
        // The statistics of the whole fragment do not show whether a tile has a NaN or a sum that stopped. libtiledb
        // also skips values after a tile of nulls when it combines the extremes of fixed-size strings.
        believed.extremes &= shape.number && !shape.float || !shape.number && !shape.nullable;
        let found = all.get(fragment.footer().slots.field(field.kind))?.clone();
        Some(Self { believed, shape, found, cells: fragment.cell_count(), dense: fragment.is_dense() })
    }

    /// Facts about the fragment's cells.
    pub fn facts(&self) -> Facts<'_> {
        let nulls = self.shape.nulls(self.null_count(), (!self.dense).then_some(self.cells));
        let FieldStatistics { min, max, .. } = &self.found;
        let extremes = match nulls {
            Nulls::All => Extremes::Nothing,
            Nulls::Unknown => Extremes::Unknown,
            _ if !self.believed.extremes => Extremes::Unknown,
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
        Some(self.found.null_count).filter(|_| self.believed.nulls)
    }

    /// The exact sum of the fragment's integers, if no tile's sum can have stopped at its limit.
    fn sum(&self) -> Option<i128> {
        let Extremes::Within(low, high) = self.facts().extremes else { return None };
        let number = |bytes: &[u8]| crate::coordinate::integer(bytes, self.shape.signed);
        let cells = i128::from(self.cells);
        let limit = if self.shape.signed { i128::from(i64::MAX) } else { i128::from(u64::MAX) };
        let fits = |end: i128| end.checked_abs()?.checked_mul(cells).filter(|total| *total < limit);
        if !self.shape.number || self.shape.float {
            return None;
        }
        fits(number(&low))?;
        fits(number(&high))?;
        self.shape.sum(self.found.sum)
    }
}

fn corrupt(context: &Context, fragment: &Fragment, error: tdb_codec::Error) -> Error {
    Error::corrupt(context.describe(fragment.metadata_key()), error)
}
