//! Statistics of tiles and fragments, compared with the cells.
//!
//! The expected values are what the writer computes from the cells ([`of_tile`]). Sums of
//! floating-point numbers depend on the order of the additions: the sum of `n` values in any order
//! is within `(n − 1) · ε/2 · Σ|x|` of the true one, so two of them differ by at most
//! `n · ε · Σ|x|`, where ε is [`f64::EPSILON`]. That is the tolerance. If the expected sum
//! overflows or is not a number, any sum is accepted that is not a number either, or is at the
//! limit.

use core::ops::Range as Cells;
use std::sync::Arc;

use tdb_codec::{Datatype, Native, PhysicalVisitor, Reader};
use tdb_fragment::{FieldStatistics, Section, TileValues, parse_fragment_statistics, parse_words};
use tdb_schema::{Field, Range};

use super::Verifier;
use super::known::{Finding, FindingValues, known};
use super::report::{Check, Problem};
use crate::Result;
use crate::context::Context;
use crate::coordinate::show_value;
use crate::facts::Rule;
use crate::fragment::Fragment;
use crate::write::{Fold, TileCells, TileStatistics, of_tile};

/// The properties of a field that its statistics depend on.
#[derive(Debug)]
pub(super) struct Subject<'f> {
    /// `None` for a field that is not in the schema: times of cells.
    pub(super) field: Option<Field<'f>>,
    /// Its name in messages.
    pub(super) name: String,
    pub(super) rule: Rule,
    pub(super) datatype: Datatype,
    /// `None` for var-length fields.
    pub(super) cell_size: Option<usize>,
    pub(super) slot: Option<usize>,
}

/// The statistics that the metadata state about a field's tiles, and those of its cells so far.
#[derive(Debug)]
pub(super) struct StoredStatistics {
    mins: Option<TileValues>,
    maxes: Option<TileValues>,
    sums: Option<Vec<[u8; 8]>>,
    nulls: Option<Arc<Vec<u64>>>,
    fold: Fold,
    /// The same if cells of dense tiles outside the fragment were counted.
    around: Fold,
    /// Whether any cell had a value.
    any: bool,
    size: Magnitude,
    values: FindingValues,
}

/// The magnitude of the floating-point numbers in a sum.
#[derive(Clone, Copy, Debug, Default)]
struct Magnitude {
    count: u64,
    /// Sum of absolute values.
    sum: f64,
}

impl StoredStatistics {
    /// Reads the sections about a field. Those that cannot be read were reported before.
    pub(super) fn load(context: &Context, fragment: &Fragment, subject: &Subject<'_>) -> Option<Self> {
        let (slot, rule) = (subject.slot?, subject.rule);
        let payload = |section: Section| fragment.section(context, section).ok().flatten();
        let values = |section: Section| {
            payload(section).and_then(|payload| TileValues::parse(Reader::new(&payload), section.name()).ok())
        };
        let words = |section: Section| {
            payload(section).and_then(|payload| parse_words(Reader::new(&payload), section.name()).ok())
        };
        let list = |section: Section| {
            let exists = fragment.footer().sections.get(section).is_some();
            exists.then(|| fragment.list(context, section).ok()).flatten()
        };
        Some(Self {
            mins: values(Section::Mins(slot)).filter(|_| rule.extremes),
            maxes: values(Section::Maxes(slot)).filter(|_| rule.extremes),
            sums: words(Section::Sums(slot)).filter(|_| rule.sum),
            nulls: list(Section::NullCounts(slot)).filter(|_| rule.nulls),
            fold: Fold::default(),
            around: Fold::default(),
            any: false,
            size: Magnitude::default(),
            values: FindingValues::default(),
        })
    }
}

/// The statistics of all slots of a fragment, if it has them and they can be read.
pub(super) fn of_fragment(context: &Context, fragment: &Fragment) -> Option<Vec<FieldStatistics>> {
    let payload = fragment.section(context, Section::FragmentStatistics).ok().flatten()?;
    parse_fragment_statistics(Reader::new(&payload), fragment.footer().slots.len()).ok()
}

impl Verifier {
    /// Compares what the metadata state about a tile with its cells; returns the statistics of the
    /// cells.
    pub(super) fn tile_statistics(
        &mut self,
        fragment: &Fragment,
        subject: &Subject<'_>,
        claims: &mut StoredStatistics,
        tile: usize,
        cells: &TileCells<'_>,
    ) -> Result<TileStatistics> {
        let Subject { rule, datatype, cell_size, .. } = *subject;
        // From here on there is a value of each cell.
        let found = of_tile(rule, datatype, cells, cell_size)?;
        let all = TileCells { runs: None, ..*cells };
        let around = cells.runs.map(|_| of_tile(rule, datatype, &all, cell_size)).transpose()?;
        let size = Magnitude::of(datatype, cells);
        let values = FindingValues {
            nan: Magnitude::of(datatype, &all).sum.is_nan(),
            nul: !rule.is_number() && rule.extremes && has_nul(cells, cell_size),
            only_nulls: rule.nulls && found.extremes.is_none(),
            limit: rule.sum && is_limit(datatype, found.sum),
            filled: cells.runs.is_some_and(|runs| is_filled(cells, runs, cell_size)),
            ..FindingValues::default()
        };
        claims.fold.add(rule, datatype, &found);
        claims.around.add(rule, datatype, around.as_ref().unwrap_or(&found));
        claims.any |= found.extremes.is_some();
        claims.values = claims.values.and(values);
        claims.size = claims.size.and(size);
        let slot = subject.slot.unwrap_or(0);
        let extreme = |list: &Option<TileValues>| {
            list.as_ref().map(|list| list.value(tile, cell_size).map(<[u8]>::to_vec))
        };
        let sum = claims.sums.as_ref().map(|sums| sums.get(tile).map(|sum| sum.to_vec()));
        let nulls =
            claims.nulls.as_ref().map(|nulls| nulls.get(tile).map(|count| count.to_le_bytes().to_vec()));
        let claimed = [
            (Check::Smallest, Section::Mins(slot), extreme(&claims.mins)),
            (Check::Largest, Section::Maxes(slot), extreme(&claims.maxes)),
            (Check::Sum, Section::Sums(slot), sum),
            (Check::Nulls, Section::NullCounts(slot), nulls),
        ];
        let seen = ExpectedStatistics { values, size, cells: &found, around: around.as_ref() };
        for (check, section, stored) in claimed {
            let Some(stored) = stored else { continue };
            let of = format!("of tile {tile} of {}", subject.name);
            self.statistic(fragment, subject, (check, section, &of), stored.as_deref(), &seen);
        }
        Ok(found)
    }

    /// Compares what the metadata state about a field of the whole fragment with its cells.
    pub(super) fn whole_statistics(
        &mut self,
        fragment: &Fragment,
        subject: &Subject<'_>,
        claims: &StoredStatistics,
        stored: Option<&FieldStatistics>,
    ) {
        let Some(stored) = stored else { return };
        let rule = subject.rule;
        let whole = |fold: &Fold| {
            let FieldStatistics { min, max, sum, null_count } = fold.finish(rule);
            TileStatistics { extremes: claims.any.then_some((min, max)), sum, null_count }
        };
        let (cells, around) = (whole(&claims.fold), whole(&claims.around));
        let seen = ExpectedStatistics {
            values: claims.values,
            size: claims.size,
            cells: &cells,
            around: Some(&around),
        };
        let nulls = stored.null_count.to_le_bytes();
        let claimed: [(Check, bool, &[u8]); 4] = [
            (Check::WholeSmallest, rule.extremes, &stored.min),
            (Check::WholeLargest, rule.extremes, &stored.max),
            (Check::WholeSum, rule.sum, &stored.sum),
            (Check::WholeNulls, rule.nulls, &nulls),
        ];
        for (check, _, stored) in claimed.into_iter().filter(|(_, kept, _)| *kept) {
            let of = format!("of {}", subject.name);
            self.statistic(fragment, subject, (check, Section::FragmentStatistics, &of), Some(stored), &seen);
        }
    }

    /// Reports a statistic that differs from that of the cells.
    fn statistic(
        &mut self,
        fragment: &Fragment,
        subject: &Subject<'_>,
        (check, section, of): (Check, Section, &str),
        stored: Option<&[u8]>,
        seen: &ExpectedStatistics<'_>,
    ) {
        // If no cell has a value, the stored smallest and largest values have no meaning.
        let Some(cells) = value_of(check, seen.cells) else { return };
        let agrees =
            |value: &[u8]| stored.is_some_and(|stored| subject.agrees(check, stored, value, seen.size));
        if agrees(&cells) {
            return;
        }
        let around =
            seen.around.and_then(|around| value_of(check, around)).is_some_and(|value| agrees(&value));
        let infinite = subject.rule.is_number() && is_infinite(subject.datatype, &cells);
        let values = FindingValues { around, infinite, ..seen.values };
        let known = known(check, &Finding { fragment, field: subject.field.as_ref(), values });
        let (what, datatype, text) = match check {
            Check::Smallest | Check::WholeSmallest => {
                ("smallest value", subject.datatype, !subject.rule.is_number())
            }
            Check::Largest | Check::WholeLargest => {
                ("largest value", subject.datatype, !subject.rule.is_number())
            }
            Check::Sum | Check::WholeSum => ("sum", sum_type(subject.datatype), false),
            _ => ("number of nulls", Datatype::Uint64, false),
        };
        let path = self.context.describe(fragment.metadata_key());
        let offset = fragment.footer().sections.get(section);
        self.findings.add(check, known, || {
            let show = |value| show_value(datatype, text, value);
            let stored =
                stored.map_or_else(|| "missing".to_owned(), |stored| format!("stored as {}", show(stored)));
            let what = format!("the {what} {of} is {stored}, but that of the cells is {}", show(&cells));
            Problem { path, offset, what }
        });
    }
}

/// The statistics of the cells of a tile or fragment.
struct ExpectedStatistics<'s> {
    values: FindingValues,
    size: Magnitude,
    cells: &'s TileStatistics,
    /// The same for all cells of dense tiles, including those outside the fragment.
    around: Option<&'s TileStatistics>,
}

/// A statistic's bytes; `None` if there is no smallest or largest value.
fn value_of(check: Check, statistics: &TileStatistics) -> Option<Vec<u8>> {
    let extremes = statistics.extremes.as_ref();
    match check {
        Check::Smallest | Check::WholeSmallest => extremes.map(|(low, _)| low.clone()),
        Check::Largest | Check::WholeLargest => extremes.map(|(_, high)| high.clone()),
        Check::Sum | Check::WholeSum => Some(statistics.sum.to_vec()),
        _ => Some(statistics.null_count.to_le_bytes().to_vec()),
    }
}

/// Whether a string contains a NUL.
fn has_nul(cells: &TileCells<'_>, cell_size: Option<usize>) -> bool {
    cells.written().any(|run| match cell_size {
        Some(size) => {
            let bytes = run.start.saturating_mul(size)..run.end.saturating_mul(size);
            cells.values.get(bytes).unwrap_or_default().contains(&0)
        }
        None => run.into_iter().any(|cell| cells.var_cell(cell).unwrap_or_default().contains(&0)),
    })
}

/// Whether there are values other than zero outside the runs of a tile's cells that are in the
/// fragment.
fn is_filled(cells: &TileCells<'_>, runs: &[Cells<usize>], cell_size: Option<usize>) -> bool {
    let Some(size) = cell_size else { return false };
    let starts = core::iter::once(0).chain(runs.iter().map(|run| run.end));
    let ends = runs.iter().map(|run| run.start).chain([cells.count]);
    starts.zip(ends).any(|(start, end)| {
        let bytes = start.saturating_mul(size)..end.saturating_mul(size);
        cells.values.get(bytes).unwrap_or_default().iter().any(|byte| *byte != 0)
    })
}

impl Subject<'_> {
    /// Whether a stored statistic agrees with that of the cells. Zeros of both signs are the same
    /// number.
    fn agrees(&self, check: Check, stored: &[u8], cells: &[u8], size: Magnitude) -> bool {
        if stored == cells {
            return true;
        }
        match check {
            Check::Sum | Check::WholeSum => match (stored.try_into(), cells.try_into()) {
                (Ok(stored), Ok(cells)) => same_sum(self.datatype, stored, cells, size),
                _ => false,
            },
            Check::Nulls | Check::WholeNulls => false,
            _ => {
                self.rule.is_number()
                    && stored.len() == cells.len()
                    && Range::compare(self.datatype, stored, cells).is_eq()
            }
        }
    }
}

/// The type of the sum of values of a type.
fn sum_type(datatype: Datatype) -> Datatype {
    match datatype.physical() {
        physical if physical.is_float() => Datatype::Float64,
        physical if physical.is_signed_integer() || datatype == Datatype::Char => Datatype::Int64,
        _ => Datatype::Uint64,
    }
}

/// Whether a sum of integers is at its limit, where adding stops.
fn is_limit(datatype: Datatype, sum: [u8; 8]) -> bool {
    match sum_type(datatype) {
        Datatype::Int64 => [i64::MIN, i64::MAX].contains(&i64::from_le_bytes(sum)),
        Datatype::Uint64 => u64::from_le_bytes(sum) == u64::MAX,
        _ => false,
    }
}

fn is_infinite(datatype: Datatype, value: &[u8]) -> bool {
    struct Infinite<'a>(&'a [u8]);
    impl PhysicalVisitor for Infinite<'_> {
        type Output = bool;
        fn visit<T: Native>(self) -> bool {
            T::from_le(self.0).is_some_and(|value| value.to_f64().is_infinite())
        }
    }
    datatype.physical().is_float() && datatype.physical().visit(Infinite(value))
}

fn same_sum(datatype: Datatype, stored: [u8; 8], found: [u8; 8], size: Magnitude) -> bool {
    if stored == found || !datatype.physical().is_float() {
        return stored == found;
    }
    let (stored, found) = (f64::from_le_bytes(stored), f64::from_le_bytes(found));
    if stored.is_nan() && found.is_nan() {
        return true;
    }
    if size.sum.is_finite() {
        // Numbers of cells are far below 2⁵³.
        (stored - found).abs() <= size.count as f64 * f64::EPSILON * size.sum
    } else {
        !stored.is_finite() || stored.abs() == f64::MAX
    }
}

impl Magnitude {
    /// For the valid cells of a tile, if they are floating-point numbers.
    fn of(datatype: Datatype, cells: &TileCells<'_>) -> Self {
        struct Add<'a>(&'a TileCells<'a>);
        impl PhysicalVisitor for Add<'_> {
            type Output = Magnitude;
            fn visit<T: Native>(self) -> Magnitude {
                let mut size = Magnitude::default();
                for run in self.0.written() {
                    let bytes = run.start.saturating_mul(T::SIZE)..run.end.saturating_mul(T::SIZE);
                    let values = self.0.values.get(bytes).unwrap_or_default().chunks_exact(T::SIZE);
                    let validity = self.0.validity.get(run).unwrap_or_default();
                    for (at, value) in values.enumerate() {
                        if validity.get(at) != Some(&0) {
                            size.count = size.count.saturating_add(1);
                            size.sum += T::from_le(value).map_or(0.0, T::to_f64).abs();
                        }
                    }
                }
                size
            }
        }
        if datatype.physical().is_float() { datatype.physical().visit(Add(cells)) } else { Self::default() }
    }

    fn and(self, other: Self) -> Self {
        Self { count: self.count.saturating_add(other.count), sum: self.sum + other.sum }
    }
}
