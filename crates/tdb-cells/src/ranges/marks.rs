//! A filter for values and many intervals: it says quickly that a value is in none of them.
//!
//! The span of the values is divided into equal parts, and each part that an interval touches gets
//! a mark. If there are many values and many points, nearly every value is in a part without a
//! mark. Reading the mark takes one access, where a search takes several comparisons whose outcome
//! no processor can predict.

use tdb_codec::Native;

use crate::thresholds::{MARKS_PER_INTERVAL, MAX_MARKS, MIN_MARKS_PER_INTERVAL};

/// A mark for each part that an interval touches.
#[derive(Debug)]
pub(super) struct Marks<T> {
    least: T,
    scale: Scale,
    /// One for each part, and one for the end of the last one.
    marks: Vec<u8>,
}

/// How the part of a value is found. The greater one of two values is in the same part or a later
/// one. So the part of a value that lies in an interval is one that the interval touches, however
/// numbers are rounded.
#[derive(Clone, Copy, Debug)]
enum Scale {
    /// Integers: parts of a power of two.
    Shift(u32),
    /// Real numbers: parts for one unit.
    Real(f64),
}

impl<T: Native> Marks<T> {
    /// The marks of ascending intervals in the span from `least` to `greatest` of so many values;
    /// `None` where searching is not slower.
    pub(super) fn of((lows, highs): (&[T], &[T]), (least, greatest): (T, T), values: usize) -> Option<Self> {
        let count = lows.len();
        let parts = count.saturating_mul(MARKS_PER_INTERVAL).min(values).min(MAX_MARKS);
        if count < 2 || parts < count.saturating_mul(MIN_MARKS_PER_INTERVAL) {
            return None;
        }
        let (scale, parts) = match greatest.above(least) {
            Some(span) => {
                let most = parts.ilog2();
                let shift = (span.checked_ilog2()? + 1).saturating_sub(most);
                (Scale::Shift(shift), usize::try_from(span.checked_shr(shift)?).ok()?)
            }
            None => {
                let span = greatest.to_f64() - least.to_f64();
                if !span.is_finite() || span <= 0.0 {
                    return None;
                }
                #[expect(clippy::as_conversions, clippy::cast_precision_loss, reason = "parts are few")]
                let scale = parts as f64 / span;
                (Scale::Real(scale), parts)
            }
        };
        let mut marks = Self { least, scale, marks: vec![0; parts.checked_add(1)?] };
        for (low, high) in lows.iter().zip(highs) {
            let clamp = |value: T| {
                if value < least {
                    least
                } else if value > greatest {
                    greatest
                } else {
                    value
                }
            };
            let touched = marks.part(clamp(*low))..=marks.part(clamp(*high));
            marks.marks.get_mut(touched)?.fill(1);
        }
        let touched = marks.marks.iter().filter(|mark| **mark != 0).count();
        (touched <= parts / 2).then_some(marks)
    }

    /// The part of a value from the least to the greatest.
    #[inline]
    fn part(&self, value: T) -> usize {
        match self.scale {
            Scale::Shift(shift) => shifted(value, self.least, shift),
            Scale::Real(scale) => scaled(value, self.least, scale).min(self.marks.len().saturating_sub(1)),
        }
    }

    /// Clears `wanted` for values in parts that no interval touches.
    pub(super) fn keep(&self, values: &[T], wanted: &mut [u8]) {
        let Self { least, marks, .. } = self;
        let last = marks.len().saturating_sub(1);
        // A value without a mark is searched for, as one with a mark is.
        let mark = |part: usize| marks.get(part).copied().unwrap_or(1);
        let cells = wanted.iter_mut().zip(values);
        match self.scale {
            Scale::Shift(shift) => {
                cells.for_each(|(keep, value)| *keep &= mark(shifted(*value, *least, shift)));
            }
            Scale::Real(scale) => {
                cells.for_each(|(keep, value)| *keep &= mark(scaled(*value, *least, scale).min(last)));
            }
        }
    }
}

#[inline]
fn shifted<T: Native>(value: T, least: T, shift: u32) -> usize {
    let part = value.above(least).unwrap_or(0).checked_shr(shift).unwrap_or(0);
    usize::try_from(part).unwrap_or(usize::MAX)
}

#[inline]
fn scaled<T: Native>(value: T, least: T, scale: f64) -> usize {
    #[expect(
        clippy::as_conversions,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it saturates, and makes 0 of NaN"
    )]
    let part = ((value.to_f64() - least.to_f64()) * scale) as usize;
    part
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Whether no value that lies in an interval loses its mark; and the marks that are left.
    fn left<T: Native>(intervals: &[(T, T)], values: &[T]) -> Option<usize> {
        let (lows, highs): (Vec<T>, Vec<T>) = intervals.iter().copied().unzip();
        let ascending = |a: &&T, b: &&T| a.total_order(b);
        let numbers = || values.iter().filter(|value| value.partial_cmp(value).is_some());
        let ends = (*numbers().min_by(ascending)?, *numbers().max_by(ascending)?);
        let marks = Marks::of((&lows, &highs), ends, values.len())?;
        let mut wanted = vec![1u8; values.len()];
        marks.keep(values, &mut wanted);
        for (value, keep) in values.iter().zip(&wanted) {
            let inside = intervals.iter().any(|(low, high)| low <= value && value <= high);
            assert!(!inside || *keep == 1, "{value:?} lies in an interval of {intervals:?}");
        }
        Some(wanted.into_iter().filter(|keep| *keep == 1).count())
    }

    #[test]
    fn few_values_far_from_all_points_keep_their_mark() {
        let values: Vec<i64> = (0..100_000).map(|at| at * 7919 % 1_000_003).collect();
        let points: Vec<(i64, i64)> = (0..100).map(|at| (at * 10_007, at * 10_007)).collect();
        assert!(left(&points, &values).unwrap() < 100_000 / 25);
        assert_eq!(left(&points, &values[..300]), None, "for few values, a search is enough");
        assert_eq!(
            left(&[(0, 400_000), (500_000, 1_000_000)], &values),
            None,
            "nearly all values are wanted"
        );
        assert_eq!(left(&points, &[5; 10_000]), None, "there is no span");
    }

    #[test]
    fn infinite_spans_have_no_marks_and_nan_none_of_its_own() {
        let points = [(1.0, 1.0), (2.0, 2.0)];
        let values = |last: f64| (0..100).map(f64::from).chain([last]).collect::<Vec<_>>();
        assert_eq!(left(&points, &values(f64::INFINITY)), None);
        assert_eq!(left(&points, &[values(f64::MAX), vec![f64::MIN]].concat()), None);
        let few = left(&points, &[values(7.0), vec![f64::NAN]].concat());
        assert!(few.is_some_and(|few| few < 10), "{few:?}: NaN counts as the least value");
        let tiny: Vec<f64> = (0..100).map(f64::from_bits).collect();
        let intervals = [(tiny[3], tiny[3]), (tiny[50], tiny[60])];
        assert_eq!(
            left(&intervals, &tiny),
            Some(99),
            "no number is large enough to divide such a span: all but the least are in one part"
        );
    }

    proptest! {
        #[test]
        fn values_in_intervals_keep_their_mark(
            ends in proptest::collection::btree_set(any::<i64>(), 4..60),
            near in proptest::collection::btree_set(-300i64..300, 4..60),
            values in proptest::collection::vec(any::<i64>(), 0..2000),
            reals in proptest::collection::vec(any::<f64>(), 0..2000),
        ) {
            let pairs = |ends: std::collections::BTreeSet<i64>| -> Vec<(i64, i64)> {
                let ends: Vec<i64> = ends.into_iter().collect();
                ends.chunks_exact(2).map(|pair| (pair[0], pair[0].saturating_add((pair[1] - pair[0]) / 50))).collect()
            };
            let small: Vec<i64> = values.iter().map(|value| value % 400).collect();
            let near = pairs(near);
            left(&near, &small);
            let unsigned = |value: i64| value.cast_unsigned() ^ (1 << 63);
            let wide: Vec<(u64, u64)> = ends.iter().map(|end| (unsigned(*end), unsigned(*end))).collect();
            left(&wide, &values.iter().map(|value| unsigned(*value)).chain(ends.iter().map(|end| unsigned(*end))).collect::<Vec<_>>());
            let mut points: Vec<f64> = reals.iter().copied().filter(|real| real.is_finite()).take(40).collect();
            points.sort_by(f64::total_cmp);
            let points: Vec<(f64, f64)> = points.into_iter().map(|point| (point, point)).collect();
            left(&points, &reals);
            let moderate: Vec<f64> = reals.iter().map(|real| real % 1000.0).collect();
            left(&[(-3.5, 2.25), (7.0, 7.0), (100.0, 110.5)], &moderate);
        }
    }
}
