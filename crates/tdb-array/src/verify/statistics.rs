//! Statistics of tiles and fragments, compared with the cells.
//!
//! What they ought to be is what the writer makes of the cells ([`of_tile`]). Sums of reals depend on the order of the
//! additions: any order's sum of `n` values lies within `(n − 1) · ε/2 · Σ|x|` of the true one, so two of them differ by
//! at most `n · ε · Σ|x|`, where ε is [`f64::EPSILON`]. That is the tolerance; of what overflows or is no number, any sum
//! is taken that is no number either, or stands at the limit.

use std::sync::Arc;

use tdb_codec::{Datatype, Native, PhysicalVisitor, Reader};
use tdb_fragment::{FieldStatistics, Section, TileValues, parse_fragment_statistics, parse_words};
use tdb_schema::{Field, Range};

use super::Verifier;
use super::known::{Case, Values, known};
use super::report::{Check, Problem};
use crate::context::Context;
use crate::fragment::Fragment;
use crate::query::show_value;
use crate::write::{Fold, Rule, TileCells, TileStatistics, of_tile};

/// A field, as far as its statistics go.
#[derive(Debug)]
pub(super) struct Subject<'f> {
    /// `None` for what is no field of the schema: times of cells.
    pub(super) field: Option<Field<'f>>,
    /// As messages call it.
    pub(super) name: String,
    pub(super) rule: Rule,
    pub(super) datatype: Datatype,
    /// `None` for var-length fields.
    pub(super) cell_size: Option<usize>,
    pub(super) slot: Option<usize>,
}

/// What the metadata say of a field's tiles, and what its cells have said so far.
#[derive(Debug)]
pub(super) struct Claims {
    mins: Option<TileValues>,
    maxes: Option<TileValues>,
    sums: Option<Vec<[u8; 8]>>,
    nulls: Option<Arc<Vec<u64>>>,
    fold: Fold,
    /// Whether any cell had a value.
    any: bool,
    size: Size,
    values: Values,
}

/// How much the reals add up to that a sum is made of.
#[derive(Clone, Copy, Debug, Default)]
struct Size {
    count: u64,
    /// Sum of absolute values.
    sum: f64,
}

impl Claims {
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
            any: false,
            size: Size::default(),
            values: Values::default(),
        })
    }
}

/// The statistics of all slots of a fragment, if it has them and they can be read.
pub(super) fn of_fragment(context: &Context, fragment: &Fragment) -> Option<Vec<FieldStatistics>> {
    let payload = fragment.section(context, Section::FragmentStatistics).ok().flatten()?;
    parse_fragment_statistics(Reader::new(&payload), fragment.footer().slots.len()).ok()
}

impl Verifier {
    /// Compares what the metadata say of a tile with its cells; returns what those say.
    pub(super) fn tile_statistics(
        &mut self,
        fragment: &Fragment,
        subject: &Subject<'_>,
        claims: &mut Claims,
        tile: usize,
        cells: &TileCells<'_>,
    ) -> TileStatistics {
        let Subject { rule, datatype, cell_size, .. } = *subject;
        let found = of_tile(rule, datatype, cells, cell_size);
        let size = Size::of(datatype, cells);
        let values = Values {
            nan: size.sum.is_nan(),
            nul: !datatype.physical().is_float() && datatype.size() == 1 && cells.values.contains(&0),
            only_nulls: rule.nulls && found.extremes.is_none(),
            padding: cells.runs.is_some(),
            ..Values::default()
        };
        claims.fold.add(rule, datatype, &found);
        claims.any |= found.extremes.is_some();
        claims.values = claims.values.and(values);
        claims.size = claims.size.and(size);
        let slot = subject.slot.unwrap_or(0);
        let mut compare = |check, section, stored: Option<&[u8]>, cells: &[u8], same: bool| {
            if !same {
                let of = format!("of tile {tile} of {}", subject.name);
                self.statistic(fragment, subject, values, (check, section, &of), stored, cells);
            }
        };
        if let Some((low, high)) = found.extremes.as_ref().filter(|_| rule.extremes) {
            for (check, section, stored, value) in [
                (Check::Smallest, Section::Mins(slot), &claims.mins, low),
                (Check::Largest, Section::Maxes(slot), &claims.maxes, high),
            ] {
                let Some(stored) = stored else { continue };
                let stored = stored.value(tile, cell_size);
                compare(check, section, stored, value, stored.is_some_and(|it| subject.same(it, value)));
            }
        }
        if let Some(sums) = &claims.sums {
            let stored = sums.get(tile);
            let same = stored.is_some_and(|stored| same_sum(datatype, *stored, found.sum, size));
            compare(Check::Sum, Section::Sums(slot), stored.map(|sum| &sum[..]), &found.sum, same);
        }
        if let Some(nulls) = &claims.nulls {
            let stored = nulls.get(tile).copied();
            let bytes = stored.map(u64::to_le_bytes);
            let same = stored == Some(found.null_count);
            let count = found.null_count.to_le_bytes();
            compare(Check::Nulls, Section::NullCounts(slot), bytes.as_ref().map(|it| &it[..]), &count, same);
        }
        found
    }

    /// Compares what the metadata say of a field of the whole fragment with its cells.
    pub(super) fn whole_statistics(
        &mut self,
        fragment: &Fragment,
        subject: &Subject<'_>,
        claims: &Claims,
        stored: Option<&FieldStatistics>,
    ) {
        let Some(stored) = stored else { return };
        let (rule, section) = (subject.rule, Section::FragmentStatistics);
        let found = claims.fold.finish(rule);
        let of = format!("of {}", subject.name);
        let mut compare = |check, stored: &[u8], cells: &[u8], same: bool| {
            if !same {
                self.statistic(fragment, subject, claims.values, (check, section, &of), Some(stored), cells);
            }
        };
        if rule.extremes && claims.any {
            compare(Check::WholeSmallest, &stored.min, &found.min, subject.same(&stored.min, &found.min));
            compare(Check::WholeLargest, &stored.max, &found.max, subject.same(&stored.max, &found.max));
        }
        if rule.sum {
            let same = same_sum(subject.datatype, stored.sum, found.sum, claims.size);
            compare(Check::WholeSum, &stored.sum, &found.sum, same);
        }
        if rule.nulls {
            let (stored, found) = (stored.null_count, found.null_count);
            compare(Check::WholeNulls, &stored.to_le_bytes(), &found.to_le_bytes(), stored == found);
        }
    }

    /// Reports a statistic that is not that of the cells.
    fn statistic(
        &mut self,
        fragment: &Fragment,
        subject: &Subject<'_>,
        values: Values,
        (check, section, of): (Check, Section, &str),
        stored: Option<&[u8]>,
        cells: &[u8],
    ) {
        let known = known(check, &Case { fragment, field: subject.field.as_ref(), values });
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
            let stored = stored.map_or_else(|| "missing".to_owned(), |stored| format!("said to be {}", show(stored)));
            let what = format!("the {what} {of} is {stored}, but that of the cells is {}", show(cells));
            Problem { path, offset, what }
        });
    }
}

impl Subject<'_> {
    /// Whether two values of the field are the same; zeros of both signs are.
    fn same(&self, a: &[u8], b: &[u8]) -> bool {
        a == b || self.rule.is_number() && a.len() == b.len() && Range::compare(self.datatype, a, b).is_eq()
    }
}

/// The type that values of a type add up to.
fn sum_type(datatype: Datatype) -> Datatype {
    match datatype.physical() {
        physical if physical.is_float() => Datatype::Float64,
        physical if physical.is_signed_integer() || datatype == Datatype::Char => Datatype::Int64,
        _ => Datatype::Uint64,
    }
}

fn same_sum(datatype: Datatype, stored: [u8; 8], found: [u8; 8], size: Size) -> bool {
    if stored == found || !datatype.physical().is_float() {
        return stored == found;
    }
    let (stored, found) = (f64::from_le_bytes(stored), f64::from_le_bytes(found));
    if size.sum.is_finite() {
        // Counts of cells are far below 2⁵³.
        (stored - found).abs() <= size.count as f64 * f64::EPSILON * size.sum
    } else {
        !stored.is_finite() || stored.abs() == f64::MAX
    }
}

impl Size {
    /// Of the valid cells of a tile, if they are reals.
    fn of(datatype: Datatype, cells: &TileCells<'_>) -> Self {
        struct Add<'a>(&'a TileCells<'a>);
        impl PhysicalVisitor for Add<'_> {
            type Output = Size;
            fn visit<T: Native>(self) -> Size {
                let mut size = Size::default();
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
