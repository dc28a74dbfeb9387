//! Tallies: the counts, sum, minimum and maximum of some cells of a field.

use core::cmp::Ordering;

use tdb_codec::{CellValNum, Datatype, Native, Physical, PhysicalVisitor, to_u64};
use tdb_predicate::{ColumnView, typed};

use crate::buffers::index_of;
use crate::facts::Rule;
use crate::spec::ColumnSpec;
use crate::statistics::Exact;
use crate::{Error, OrInternal, Result};

/// A field that aggregates are computed for.
#[derive(Debug)]
pub(super) struct WantedField {
    pub(super) spec: ColumnSpec,
    pub(super) required: Required,
}

/// The parts of a field's tally that its aggregates need, in addition to the number of nulls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Required {
    pub(super) sum: bool,
    pub(super) extremes: bool,
}

/// The counts, sum, minimum and maximum of some cells of a field.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tally {
    /// Cells with a value.
    pub(super) valid: u64,
    pub(super) nulls: u64,
    pub(super) total: Sum,
    /// Minimum and maximum.
    pub(super) extremes: Option<(Vec<u8>, Vec<u8>)>,
    /// Whether NaNs are among the values of which these are the extremes.
    pub(super) has_nan: bool,
}

/// A sum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Sum {
    /// Exact: the sum of 2^64 values of 64 bits fits.
    Integer(i128),
    Real(f64),
}

impl WantedField {
    pub(super) fn new(spec: ColumnSpec) -> Self {
        Self { spec, required: Required::default() }
    }

    /// Whether cells are single numbers.
    pub(super) fn is_number(&self) -> bool {
        Rule::attribute(self.spec.datatype, self.spec.cell_val_num, false).is_number()
    }

    /// Whether cells are strings of bytes.
    pub(super) fn is_text(&self) -> bool {
        matches!(self.spec.datatype, Datatype::Char | Datatype::StringAscii | Datatype::StringUtf8)
    }

    pub(super) fn is_unsigned(&self) -> bool {
        !self.spec.datatype.physical().is_signed_integer()
    }

    /// The type of the cells, for messages.
    pub(super) fn cells(&self) -> String {
        let datatype = self.spec.datatype;
        match self.spec.cell_val_num {
            CellValNum::ONE => datatype.name().to_owned(),
            CellValNum::Fixed(count) => format!("{count} × {datatype}"),
            CellValNum::Var => format!("var-length {datatype}"),
        }
    }

    /// The tally of no cells.
    pub(super) fn nothing(&self) -> Tally {
        let real = self.spec.datatype.physical().is_float();
        let total = if real { Sum::Real(0.0) } else { Sum::Integer(0) };
        Tally { valid: 0, nulls: 0, total, extremes: None, has_nan: false }
    }

    /// The tally of a column: of the cells with the numbers `chosen`, or of all `cells`.
    pub(super) fn of_column(
        &self,
        view: ColumnView<'_>,
        cells: usize,
        chosen: Option<&[u32]>,
    ) -> Result<Tally> {
        let mut tally = self.nothing();
        let valid = view.valid(cells, chosen);
        let some = valid.as_deref().or(chosen);
        let all = chosen.map_or(cells, <[u32]>::len);
        let count = some.map_or(cells, <[u32]>::len);
        tally.valid = to_u64(count);
        tally.nulls = to_u64(all - count);
        let Required { sum, extremes } = self.required;
        if count == 0 || !(sum || extremes) {
            return Ok(tally);
        }
        if self.is_number() {
            let visitor = TallyNumbers { view, cells, some, required: self.required };
            (tally.total, tally.extremes, tally.has_nan) = self.spec.datatype.physical().visit(visitor)?;
            return Ok(tally);
        }
        let cell = |cell: usize| view.cell(cell, self.spec.cell_size).or_internal("a cell has no bytes");
        let extremes = match some {
            Some(some) => text_extremes(some.iter().map(|number| cell(index_of(*number)))),
            None => text_extremes((0..cells).map(cell)),
        };
        tally.extremes = extremes?.map(|(low, high)| (low.to_vec(), high.to_vec()));
        Ok(tally)
    }

    /// The tally of `cells` cells from statistics, if these contain everything that is needed.
    /// `None` for statistics means that the fragment does not have the field: all its cells have
    /// the fill value.
    pub(super) fn of_statistics(&self, exact: Option<&Exact>, cells: usize) -> Result<Option<Tally>> {
        exact.map_or_else(|| self.of_fill(cells).map(Some), |exact| Ok(self.of_exact(exact, cells)))
    }

    fn of_exact(&self, exact: &Exact, cells: usize) -> Option<Tally> {
        let nulls = if self.spec.nullable { exact.nulls? } else { 0 };
        let mut tally = self.nothing();
        (tally.nulls, tally.valid) = (nulls, to_u64(cells).checked_sub(nulls)?);
        if self.required.sum {
            tally.total = Sum::Integer(exact.sum.filter(|_| matches!(tally.total, Sum::Integer(_)))?);
        }
        if self.required.extremes && tally.valid > 0 {
            tally.extremes = exact.extremes.clone()?;
        }
        Some(tally)
    }

    /// The tally of cells whose fragment does not have the field: all are fill values.
    pub(super) fn of_fill(&self, cells: usize) -> Result<Tally> {
        let validity = [self.spec.fill_validity];
        let offsets = [0, to_u64(self.spec.fill.len())];
        let aligned = tdb_codec::Buffer::from(self.spec.fill.as_slice());
        let view = ColumnView {
            values: aligned.as_slice(),
            offsets: self.spec.cell_size.is_none().then_some(&offsets),
            codes: None,
            validity: self.spec.nullable.then_some(&validity),
            present: None,
        };
        let one = self.of_column(view, 1, None)?;
        let times = to_u64(cells);
        let total = match one.total {
            Sum::Integer(sum) => Sum::Integer(sum.saturating_mul(i128::from(times))),
            Sum::Real(sum) => Sum::Real(sum * times as f64),
        };
        let (valid, nulls) = (one.valid * times, one.nulls * times);
        let extremes = one.extremes.filter(|_| cells > 0);
        Ok(Tally { valid, nulls, total, extremes, has_nan: one.has_nan && cells > 0 })
    }

    /// Adds the tally of more cells.
    pub(super) fn add(&self, into: &mut Tally, more: Tally) -> Result<()> {
        into.valid += more.valid;
        into.nulls += more.nulls;
        into.has_nan |= more.has_nan;
        into.total = match (into.total, more.total) {
            (Sum::Integer(a), Sum::Integer(b)) => Sum::Integer(a.saturating_add(b)),
            (Sum::Real(a), Sum::Real(b)) => Sum::Real(a + b),
            _ => return Err(Error::internal("two tallies of a field have sums of two kinds")),
        };
        let physical = self.is_number().then(|| self.spec.datatype.physical());
        into.extremes = match (into.extremes.take(), more.extremes) {
            (Some((low, high)), Some((other_low, other_high))) => {
                let low = if replaces(physical, Ordering::Less, &other_low, &low) { other_low } else { low };
                let high =
                    if replaces(physical, Ordering::Greater, &other_high, &high) { other_high } else { high };
                Some((low, high))
            }
            (own, None) | (None, own) => own,
        };
        Ok(())
    }
}

/// Whether a new value replaces the old one as the minimum (`Less`) or maximum (`Greater`). Any
/// number replaces a NaN, and a NaN replaces nothing.
fn replaces(physical: Option<Physical>, order: Ordering, new: &[u8], old: &[u8]) -> bool {
    struct Compare<'a>(Ordering, &'a [u8], &'a [u8]);
    impl PhysicalVisitor for Compare<'_> {
        type Output = bool;
        fn visit<T: Native>(self) -> bool {
            match (T::from_le(self.1), T::from_le(self.2)) {
                (Some(new), Some(old)) => match new.partial_cmp(&old) {
                    Some(found) => found == self.0,
                    None => is_number(&new),
                },
                _ => false,
            }
        }
    }
    match physical {
        Some(physical) => physical.visit(Compare(order, new, old)),
        None => new.cmp(old) == order,
    }
}

/// Whether a value is not a NaN.
fn is_number<T: Native>(value: &T) -> bool {
    value.partial_cmp(value) == Some(Ordering::Equal)
}

/// Minimum and maximum of strings.
fn text_extremes<'v>(
    mut values: impl Iterator<Item = Result<&'v [u8]>>,
) -> Result<Option<(&'v [u8], &'v [u8])>> {
    let Some(first) = values.next().transpose()? else { return Ok(None) };
    let wider = |(low, high): (&'v [u8], &'v [u8]), value: Result<&'v [u8]>| {
        value.map(|value| (low.min(value), high.max(value)))
    };
    values.try_fold((first, first), wider).map(Some)
}

impl Sum {
    /// The mean of as many values; `None` if there are none.
    pub(super) fn mean(self, values: u64) -> Option<f64> {
        let sum = match self {
            Self::Integer(sum) => sum as f64,
            Self::Real(sum) => sum,
        };
        (values > 0).then(|| sum / values as f64)
    }

    /// Type and bytes of the sum, and whether it is the limit of its type instead.
    pub(super) fn value(self, unsigned: bool) -> (Datatype, [u8; 8], bool) {
        match self {
            Self::Real(sum) => (Datatype::Float64, sum.to_le_bytes(), false),
            Self::Integer(sum) if unsigned => {
                let fitting = u64::try_from(sum);
                (Datatype::Uint64, fitting.unwrap_or(u64::MAX).to_le_bytes(), fitting.is_err())
            }
            Self::Integer(sum) => {
                let limit = if sum < 0 { i64::MIN } else { i64::MAX };
                let fitting = i64::try_from(sum);
                (Datatype::Int64, fitting.unwrap_or(limit).to_le_bytes(), fitting.is_err())
            }
        }
    }
}

/// Tallies cells that are single numbers.
struct TallyNumbers<'a> {
    view: ColumnView<'a>,
    cells: usize,
    /// The numbers of the cells that count; `None` for all.
    some: Option<&'a [u32]>,
    required: Required,
}

impl PhysicalVisitor for TallyNumbers<'_> {
    type Output = Result<(Sum, Option<(Vec<u8>, Vec<u8>)>, bool)>;

    fn visit<T: Native>(self) -> Self::Output {
        let values = self.view.numbers::<T>(self.cells, self.some)?;
        let values = values.as_ref();
        let total = if self.required.sum { total(values)? } else { nothing::<T>() };
        if !self.required.extremes {
            return Ok((total, None, false));
        }
        let has_nan = T::PHYSICAL.is_float() && !values.iter().all(is_number);
        Ok((total, extremes(values), has_nan))
    }
}

const fn nothing<T: Native>() -> Sum {
    if T::PHYSICAL.is_float() { Sum::Real(0.0) } else { Sum::Integer(0) }
}

/// Minimum and maximum. NaNs are ignored, unless there is nothing else.
fn extremes<T: Native>(values: &[T]) -> Option<(Vec<u8>, Vec<u8>)> {
    let first = values.iter().find(|value| is_number(*value)).or(values.first())?;
    // Comparisons with a NaN are false, so it never replaces anything. The compiler vectorises the
    // loop.
    let (low, high) = values.iter().fold((*first, *first), |(low, high), value| {
        (if *value < low { *value } else { low }, if *value > high { *value } else { high })
    });
    let bytes = |value: T| {
        let mut bytes = Vec::with_capacity(T::SIZE);
        value.write_le(&mut bytes);
        bytes
    };
    Some((bytes(low), bytes(high)))
}

/// The number of values that are added in 64 bits at a time: 2^16 values of 32 bits, or halves of
/// 64-bit values, do not overflow.
const STRIDE: usize = 1 << 16;

fn total<T: Native>(values: &[T]) -> Result<Sum> {
    let bytes: &[u8] = bytemuck::cast_slice(values);
    fn small<T: Native, W: From<T> + core::iter::Sum + Into<i128>>(bytes: &[u8]) -> Result<Sum> {
        let values: &[T] = typed(bytes)?;
        let sums =
            values.chunks(STRIDE).map(|chunk| chunk.iter().map(|value| W::from(*value)).sum::<W>().into());
        Ok(Sum::Integer(sums.sum()))
    }
    match T::PHYSICAL {
        Physical::I8 => small::<i8, i64>(bytes),
        Physical::U8 => small::<u8, u64>(bytes),
        Physical::I16 => small::<i16, i64>(bytes),
        Physical::U16 => small::<u16, u64>(bytes),
        Physical::I32 => small::<i32, i64>(bytes),
        Physical::U32 => small::<u32, u64>(bytes),
        Physical::I64 => Ok(signed(typed(bytes)?)),
        Physical::U64 => Ok(unsigned(typed(bytes)?)),
        Physical::F32 => Ok(Sum::Real(typed::<f32>(bytes)?.iter().map(|value| f64::from(*value)).sum())),
        Physical::F64 => Ok(Sum::Real(typed::<f64>(bytes)?.iter().sum())),
    }
}

/// The lower half of a word.
const LOW: u64 = u32::MAX as u64;

fn signed(values: &[i64]) -> Sum {
    let halves = values.chunks(STRIDE).map(|chunk| {
        let high: i64 = chunk.iter().map(|value| value >> 32).sum();
        let low: u64 = chunk.iter().map(|value| value.cast_unsigned() & LOW).sum();
        (i128::from(high) << 32) + i128::from(low)
    });
    Sum::Integer(halves.sum())
}

fn unsigned(values: &[u64]) -> Sum {
    let halves = values.chunks(STRIDE).map(|chunk| {
        let high: u64 = chunk.iter().map(|value| value >> 32).sum();
        let low: u64 = chunk.iter().map(|value| value & LOW).sum();
        (i128::from(high) << 32) + i128::from(low)
    });
    Sum::Integer(halves.sum())
}

#[cfg(test)]
mod tests {
    use tdb_codec::Datatype;

    use super::*;

    #[test]
    fn sums_that_do_not_fit_stay_at_their_limit_and_say_so() {
        let sum = |total: i128, unsigned| Sum::Integer(total).value(unsigned);
        assert_eq!(sum(i128::from(i64::MAX), false), (Datatype::Int64, i64::MAX.to_le_bytes(), false));
        assert_eq!(sum(i128::from(i64::MAX) + 1, false), (Datatype::Int64, i64::MAX.to_le_bytes(), true));
        assert_eq!(sum(i128::from(i64::MIN) - 1, false), (Datatype::Int64, i64::MIN.to_le_bytes(), true));
        assert_eq!(sum(i128::from(u64::MAX) + 1, true), (Datatype::Uint64, u64::MAX.to_le_bytes(), true));
    }
}
