//! The ranges of one dimension that a query requests.
//!
//! A query has a [`RangeSet`] for each dimension, and its result is their cross product. A sparse
//! query merges each set into ascending intervals that do not touch, typed and packed. A node of an
//! R-tree, the rectangle of a tile and a cell are then each compared by one binary search, so
//! 100,000 points cost little more than one. Dense results are in the order in which ranges were
//! added, and repeat cells if ranges overlap, so the sets keep that order for dense queries. Global
//! order merges the sets, because every cell has only one place in it (libtiledb refuses several
//! ranges there). If the array has a current domain, open ends are the ends of the current domain.

mod ends;
mod marks;

use tdb_codec::{Buffer, Native, PhysicalVisitor};
use tdb_schema::{Dimension, Range};

pub use self::ends::{check_ends, is_value, outside_domain};
use self::marks::Marks;
use crate::requested::Bounds;
use crate::thresholds::MASK_BLOCK_CELLS;
use crate::{Error, OrInternal, QueryError, Result};

/// Intervals of one dimension. A query returns the cells whose coordinate is, in every dimension,
/// in one of its intervals.
///
/// Made from the requested ranges, the intervals keep their order and may overlap: dense
/// results are in that order, cell for cell. Everything that searches ([`Self::overlaps`],
/// [`Self::covers`], [`Self::keep`]) requires a [merged](Self::merged) set.
#[derive(Clone, Debug, PartialEq)]
pub struct RangeSet(Intervals);

#[derive(Clone, Debug, PartialEq)]
enum Intervals {
    /// The whole dimension.
    All,
    /// Inclusive ends of a fixed-size type, `lows[i]..=highs[i]`.
    Values { lows: Buffer, highs: Buffer },
    /// Inclusive ends of strings; `None` is an open end.
    Strings(Vec<(Vec<u8>, Option<Vec<u8>>)>),
}

impl RangeSet {
    /// The whole dimension.
    pub const ALL: Self = Self(Intervals::All);

    /// The requested intervals, cut to the dimension's domain; those that lie outside of
    /// it are left out. No intervals are the empty set.
    ///
    /// # Errors
    /// An interval of the wrong type, or an inverted one.
    pub fn new(
        dimension: &Dimension,
        requested: impl IntoIterator<Item = Result<Bounds, QueryError>>,
    ) -> Result<Self, QueryError> {
        let mut all = false;
        if dimension.is_var() {
            let mut strings = Vec::new();
            for ends in requested {
                let Some(Bounds { low, high }) = check_ends(dimension, ends?)? else { continue };
                all |= low.is_none() && high.is_none();
                // An open low end is the least string, which is empty.
                strings.push((low.unwrap_or_default(), high));
            }
            let whole = all && strings.len() == 1;
            return Ok(Self(if whole { Intervals::All } else { Intervals::Strings(strings) }));
        }
        let wrong = || QueryError::RangeType {
            dimension: dimension.name.clone(),
            datatype: dimension.datatype.name(),
        };
        let (first, last) = dimension.domain.as_ref().ok_or_else(wrong)?;
        let (mut lows, mut highs) = (Buffer::new(), Buffer::new());
        for ends in requested {
            let Some(Bounds { low, high }) = check_ends(dimension, ends?)? else { continue };
            all |= low.is_none() && high.is_none();
            lows.extend_from_slice(low.as_ref().unwrap_or(first));
            highs.extend_from_slice(high.as_ref().unwrap_or(last));
        }
        let set = Self(Intervals::Values { lows, highs });
        Ok(if all && set.len(dimension) == Some(1) { Self::ALL } else { set })
    }

    /// The same set in ascending order: intervals that overlap (or, for integers, are adjacent)
    /// become one.
    ///
    /// # Errors
    /// [`Error::Internal`] if the set is not one of this dimension.
    pub fn merged(self, dimension: &Dimension) -> Result<Self> {
        Ok(match self.0 {
            Intervals::All => Self::ALL,
            Intervals::Values { lows, highs } => {
                dimension.datatype.physical().visit(Merge { lows: &lows, highs: &highs })?
            }
            Intervals::Strings(mut strings) => {
                strings.sort_unstable();
                strings.dedup_by(|next, last| {
                    let joins = last.1.as_ref().is_none_or(|high| next.0 <= *high);
                    if joins {
                        let further = last.1.as_ref().zip(next.1.as_ref()).map(|(last, next)| next > last);
                        // Nothing follows an open end.
                        if further.unwrap_or(true) && last.1.is_some() {
                            last.1 = next.1.take();
                        }
                    }
                    joins
                });
                Self(Intervals::Strings(strings))
            }
        })
    }

    /// Whether this is the whole dimension.
    pub const fn is_all(&self) -> bool {
        matches!(self.0, Intervals::All)
    }

    /// Number of intervals; `None` for the whole dimension.
    pub fn len(&self, dimension: &Dimension) -> Option<usize> {
        match &self.0 {
            Intervals::All => None,
            Intervals::Values { lows, .. } => lows.len().checked_div(dimension.datatype.size()),
            Intervals::Strings(strings) => Some(strings.len()),
        }
    }

    /// The intervals. The whole dimension is one with open ends.
    pub fn iter(&self, dimension: &Dimension) -> impl Iterator<Item = Bounds> {
        let values = match &self.0 {
            Intervals::Values { lows, highs } => {
                let size = dimension.datatype.size();
                Some(lows.as_slice().chunks_exact(size).zip(highs.as_slice().chunks_exact(size)))
            }
            _ => None,
        };
        let strings = match &self.0 {
            Intervals::Strings(strings) => Some(strings.iter()),
            _ => None,
        };
        let values = values.into_iter().flatten();
        let values = values.map(|(low, high)| Bounds { low: Some(low.to_vec()), high: Some(high.to_vec()) });
        let strings = strings.into_iter().flatten();
        let strings = strings.map(|(low, high)| Bounds { low: Some(low.clone()), high: high.clone() });
        let all = self.is_all().then(Bounds::default);
        all.into_iter().chain(values).chain(strings)
    }

    /// The intervals of an integral dimension as ordinals; `None` if it is not integral.
    pub fn ordinals(&self, dimension: &Dimension) -> Option<Vec<(u64, u64)>> {
        match &self.0 {
            Intervals::All => Some(vec![(0, dimension.last_ordinal()?)]),
            Intervals::Strings(_) => None,
            Intervals::Values { lows, highs } => {
                let size = dimension.datatype.size();
                let ends = lows.as_slice().chunks_exact(size).zip(highs.as_slice().chunks_exact(size));
                ends.map(|(low, high)| Some((dimension.ordinal(low)?, dimension.ordinal(high)?))).collect()
            }
        }
    }

    /// The intervals of this set, each cut to one more interval, without those outside it.
    pub fn cut(&self, dimension: &Dimension, to: &Bounds) -> impl Iterator<Item = Bounds> {
        let compare = |a: &[u8], b: &[u8]| Range::compare(dimension.datatype, a, b);
        let cut = move |ends: Bounds| -> Option<Bounds> {
            let low = match (ends.low, &to.low) {
                (Some(a), Some(b)) => Some(if compare(&a, b).is_lt() { b.clone() } else { a }),
                (a, b) => a.or_else(|| b.clone()),
            };
            let high = match (ends.high, &to.high) {
                (Some(a), Some(b)) => Some(if compare(&a, b).is_gt() { b.clone() } else { a }),
                (a, b) => a.or_else(|| b.clone()),
            };
            let empty = low.as_ref().zip(high.as_ref()).is_some_and(|(low, high)| compare(low, high).is_gt());
            (!empty).then_some(Bounds { low, high })
        };
        self.iter(dimension).filter_map(cut)
    }

    /// The intersection of this set and one more interval, as of [`Self::cut`].
    ///
    /// # Errors
    /// Ends of the interval that cannot be compared with coordinates.
    pub fn narrowed(&self, dimension: &Dimension, to: &Bounds) -> Result<Self, QueryError> {
        Self::new(dimension, self.cut(dimension, to).map(Ok))
    }

    /// Whether an interval of the set overlaps `low..=high`; also true, because one may, if these
    /// bytes are not values of the dimension.
    pub fn overlaps(&self, dimension: &Dimension, low: &[u8], high: &[u8]) -> bool {
        match &self.0 {
            Intervals::All => true,
            Intervals::Values { lows, highs } => {
                let find = Find { lows, highs, from: low, low: high };
                dimension.datatype.physical().visit(find).unwrap_or(true)
            }
            Intervals::Strings(strings) => find_string(strings, low).is_some_and(|first| first <= high),
        }
    }

    /// Whether one interval of the set contains all of `low..=high`; false if these bytes are not
    /// values of the dimension.
    pub fn covers(&self, dimension: &Dimension, low: &[u8], high: &[u8]) -> bool {
        match &self.0 {
            Intervals::All => true,
            Intervals::Values { lows, highs } => {
                let find = Find { lows, highs, from: high, low };
                dimension.datatype.physical().visit(find).unwrap_or(false)
            }
            Intervals::Strings(strings) => find_string(strings, high).is_some_and(|first| first <= low),
        }
    }

    /// Clears `wanted` for values outside the set.
    ///
    /// # Errors
    /// [`Error::Internal`] if there is not a value of the dimension's type for each cell.
    pub fn keep(&self, dimension: &Dimension, values: &Buffer, wanted: &mut [u8]) -> Result<()> {
        match &self.0 {
            Intervals::All => Ok(()),
            Intervals::Values { lows, highs } => {
                dimension.datatype.physical().visit(Keep { values, lows, highs, wanted })
            }
            Intervals::Strings(_) => {
                Err(Error::internal("ranges of strings for coordinates of a fixed size"))
            }
        }
    }

    /// Clears `wanted` for strings outside the set.
    ///
    /// # Errors
    /// [`Error::Internal`] if there is not a string for each cell.
    pub fn keep_strings<'v>(
        &self,
        mut values: impl Iterator<Item = &'v [u8]>,
        wanted: &mut [u8],
    ) -> Result<()> {
        match &self.0 {
            Intervals::All => {}
            Intervals::Values { .. } => return Err(Error::internal("ranges of a fixed size for strings")),
            Intervals::Strings(strings) => {
                for keep in wanted {
                    let value = values.next().or_internal("a cell without its string")?;
                    if *keep != 0 {
                        *keep = u8::from(find_string(strings, value).is_some_and(|first| first <= value));
                    }
                }
            }
        }
        Ok(())
    }
}

/// The low end of the first interval that does not end before `from`.
fn find_string<'s>(strings: &'s [(Vec<u8>, Option<Vec<u8>>)], from: &[u8]) -> Option<&'s [u8]> {
    let at = strings.partition_point(|(_, high)| high.as_ref().is_some_and(|high| high.as_slice() < from));
    strings.get(at).map(|(low, _)| low.as_slice())
}

/// Whether the first interval that does not end before `from` begins at or before `low`; `None` for
/// bytes that are no values.
struct Find<'a> {
    lows: &'a Buffer,
    highs: &'a Buffer,
    from: &'a [u8],
    low: &'a [u8],
}

impl PhysicalVisitor for Find<'_> {
    type Output = Option<bool>;

    fn visit<T: Native>(self) -> Option<bool> {
        let (lows, highs): (&[T], &[T]) = (self.lows.values()?, self.highs.values()?);
        let (from, low) = T::from_le(self.from).zip(T::from_le(self.low))?;
        Some(lows.get(highs.partition_point(|high| *high < from)).is_some_and(|first| *first <= low))
    }
}

struct Keep<'a> {
    values: &'a Buffer,
    lows: &'a Buffer,
    highs: &'a Buffer,
    wanted: &'a mut [u8],
}

impl PhysicalVisitor for Keep<'_> {
    type Output = Result<()>;

    fn visit<T: Native>(self) -> Result<()> {
        let values: Option<&[T]> = self.values.values();
        let values = values.filter(|values| values.len() == self.wanted.len());
        let values = values.or_internal("cells without a coordinate of their dimension's type")?;
        let (lows, highs): (&[T], &[T]) = ends(self.lows, self.highs)?;
        if let ([low], [high]) = (lows, highs) {
            for (keep, value) in self.wanted.iter_mut().zip(values) {
                *keep &= u8::from(*value >= *low) & u8::from(*value <= *high);
            }
            return Ok(());
        }
        // Only the intervals between the least and the greatest value must be searched.
        let is_number = |value: &&T| value.partial_cmp(value).is_some();
        let Some(first) = values.iter().find(is_number) else {
            // No interval has a NaN.
            self.wanted.fill(0);
            return Ok(());
        };
        let (mut min, mut greatest) = (*first, *first);
        for value in values {
            min = if *value < min { *value } else { min };
            greatest = if *value > greatest { *value } else { greatest };
        }
        let start = highs.partition_point(|high| *high < min);
        let end = lows.partition_point(|low| *low <= greatest).max(start);
        let near = lows.get(start..end).zip(highs.get(start..end));
        let (lows, highs) = near.or_internal("ranges without as many low ends as high ends")?;
        // Sorted values, such as those of a sparse tile with one dimension, are split where
        // intervals begin and end.
        if lows.len() < values.len() && values.is_sorted_by(|a, b| a <= b) {
            let mut kept = 0usize;
            for (low, high) in lows.iter().zip(highs) {
                let rest = values.get(kept..).or_internal(PAST_ALL)?;
                let from = kept + rest.partition_point(|value| value < low);
                self.wanted.get_mut(kept..from).or_internal(PAST_ALL)?.fill(0);
                let rest = values.get(from..).or_internal(PAST_ALL)?;
                kept = from + rest.partition_point(|value| value <= high);
            }
            self.wanted.get_mut(kept..).or_internal(PAST_ALL)?.fill(0);
            return Ok(());
        }
        if let Some(marks) = Marks::of((lows, highs), (min, greatest), values.len()) {
            marks.keep(values, self.wanted);
        }
        // The interval that contained the last value: it mostly contains the next one too.
        let mut near: Option<(T, T)> = None;
        for (wanted, values) in self.wanted.chunks_mut(MASK_BLOCK_CELLS).zip(values.chunks(MASK_BLOCK_CELLS))
        {
            if wanted.iter().fold(0, |any, keep| any | *keep) == 0 {
                continue;
            }
            for (keep, value) in wanted.iter_mut().zip(values) {
                if *keep == 0 || near.is_some_and(|(low, high)| low <= *value && *value <= high) {
                    continue;
                }
                let at = highs.partition_point(|high| *high < *value);
                near = lows.get(at).copied().zip(highs.get(at).copied()).filter(|(low, _)| low <= value);
                *keep = u8::from(near.is_some());
            }
        }
        Ok(())
    }
}

/// The fault if an interval begins or ends behind all values.
const PAST_ALL: &str = "an interval that is not among the values";

struct Merge<'a> {
    lows: &'a Buffer,
    highs: &'a Buffer,
}

impl PhysicalVisitor for Merge<'_> {
    type Output = Result<RangeSet>;

    fn visit<T: Native>(self) -> Result<RangeSet> {
        let (lows, highs): (&[T], &[T]) = ends(self.lows, self.highs)?;
        let mut pairs: Vec<(T, T)> = lows.iter().copied().zip(highs.iter().copied()).collect();
        pairs.sort_unstable_by(|a, b| a.0.total_order(&b.0));
        pairs.dedup_by(|next, last| {
            let joins = next.0 <= last.1 || follows(last.1, next.0);
            if joins && next.1 > last.1 {
                last.1 = next.1;
            }
            joins
        });
        let size = pairs.len() * T::SIZE;
        let (mut lows, mut highs) = (Buffer::with_capacity(size), Buffer::with_capacity(size));
        for (low, high) in pairs {
            lows.extend_from_slice(bytemuck::bytes_of(&low));
            highs.extend_from_slice(bytemuck::bytes_of(&high));
        }
        Ok(RangeSet(Intervals::Values { lows, highs }))
    }
}

/// Whether `next` is the integer after `value`.
fn follows<T: Native>(value: T, next: T) -> bool {
    let bits = |value: &T| {
        let mut word = [0u8; 8];
        word.iter_mut().zip(bytemuck::bytes_of(value)).for_each(|(to, from)| *to = *from);
        u64::from_le_bytes(word)
    };
    let mask = u64::MAX >> (64 - 8 * T::SIZE);
    !T::PHYSICAL.is_float() && next > value && bits(&value).wrapping_add(1) & mask == bits(&next)
}

/// The ends of intervals as values: as many low ends as high ends.
fn ends<'b, T: Native>(lows: &'b Buffer, highs: &'b Buffer) -> Result<(&'b [T], &'b [T])> {
    let ends: Option<(&[T], &[T])> = lows.values().zip(highs.values());
    let ends = ends.filter(|(lows, highs)| lows.len() == highs.len());
    ends.or_internal("ranges without ends of their dimension's type")
}

#[cfg(test)]
mod tests;
