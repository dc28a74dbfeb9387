//! Axes of a query: dimensions as whole numbers that can be cut anywhere, and the length that is
//! asked for between two of these.

use tdb_codec::{to_u64, to_usize};
use tdb_schema::{Dimension, Range};

use crate::ranges::RangeSet;
use crate::requested::Bounds;
use crate::stream::{OrdinalAxis, last_where};

/// A dimension, or the sequence of the intervals that were asked for in it. Numbers are ordered
/// like the values.
#[derive(Debug)]
pub(super) struct Axis {
    kind: Kind,
    /// Disjoint intervals of numbers that the query asks for, ascending.
    asked: Vec<Interval>,
    /// The difference between the length of an interval and the distance of its ends.
    step: f64,
    /// The first number that is asked for. Positions are measured from here, because `f64` cannot
    /// hold the distances of large integers exactly.
    base: u64,
}

#[derive(Debug)]
enum Kind {
    Ordinals(OrdinalAxis),
    Texts(Texts),
}

#[derive(Clone, Copy, Debug)]
struct Interval {
    low: u64,
    high: u64,
    /// The total length of all intervals before it.
    before: f64,
}

impl Axis {
    /// The part of a dimension that is both in the tiles of a query and asked for. `None` if there
    /// is none.
    pub(super) fn new<'t>(
        dimension: &Dimension,
        set: &RangeSet,
        tiles: impl Iterator<Item = &'t Range> + Clone,
    ) -> Option<Self> {
        let kind = match OrdinalAxis::new(dimension) {
            Some(ordinals) => Kind::Ordinals(ordinals),
            None => Kind::Texts(Texts::new(set.iter(dimension), dimension, tiles.clone())),
        };
        let step = if matches!(&kind, Kind::Ordinals(ordinals) if !ordinals.is_real()) { 1.0 } else { 0.0 };
        let mut axis = Self { kind, asked: Vec::new(), step, base: 0 };
        let (mut first, mut last) = (u64::MAX, 0);
        for tile in tiles {
            first = first.min(axis.number(&tile.low)?);
            last = last.max(axis.number(&tile.high)?);
        }
        let mut asked = Vec::new();
        for ends in set.iter(dimension) {
            let low = ends.low.map_or(Some(first), |low| axis.number(&low))?.max(first);
            let high = ends.high.map_or(Some(last), |high| axis.number(&high))?.min(last);
            if low <= high {
                asked.push((low, high));
            }
        }
        axis.ask(&asked);
        (!axis.asked.is_empty()).then_some(axis)
    }

    /// The intervals that were asked for in a dense dimension, in that order. Numbers are places in
    /// this sequence, or ordinals if there is only one interval.
    pub(super) fn dense(ordinals: OrdinalAxis, low: u64, high: u64) -> Self {
        let mut axis = Self { kind: Kind::Ordinals(ordinals), asked: Vec::new(), step: 1.0, base: 0 };
        axis.ask(&[(low, high)]);
        axis
    }

    fn ask(&mut self, asked: &[(u64, u64)]) {
        self.base = asked.first().map_or(0, |interval| interval.0);
        let length = |(low, high): (u64, u64)| self.position(high) - self.position(low);
        // Points of reals and texts have no length: each then counts as much as the others.
        if self.step == 0.0 && asked.len() > 1 {
            let all: f64 = asked.iter().copied().map(length).sum();
            self.step = if all > 0.0 && !matches!(self.kind, Kind::Texts(_)) { 0.0 } else { 1.0 };
        }
        let mut before = 0.0;
        let mut intervals = Vec::with_capacity(asked.len());
        for (low, high) in asked.iter().copied() {
            intervals.push(Interval { low, high, before });
            before += self.position(high) - self.position(low) + self.step;
        }
        self.asked = intervals;
    }

    /// The first and the last number that is asked for.
    pub(super) fn bounds(&self) -> (u64, u64) {
        let first = self.asked.first().map_or(0, |interval| interval.low);
        (first, self.asked.last().map_or(0, |interval| interval.high))
    }

    /// The number of a value.
    pub(super) fn number(&self, value: &[u8]) -> Option<u64> {
        match &self.kind {
            Kind::Ordinals(ordinals) => ordinals.number(value),
            Kind::Texts(texts) => Some(texts.number(value)),
        }
    }

    /// The length of what is asked for at or below a number.
    pub(super) fn through(&self, number: u64) -> f64 {
        let at = self.asked.partition_point(|interval| interval.low <= number);
        let Some(interval) = at.checked_sub(1).and_then(|at| self.asked.get(at)) else { return 0.0 };
        let inside = self.position(number.min(interval.high)) - self.position(interval.low);
        interval.before + inside + self.step
    }

    /// The length of what is asked for below a number.
    pub(super) fn below(&self, number: u64) -> f64 {
        let at = self.asked.partition_point(|interval| interval.low < number);
        let Some(interval) = at.checked_sub(1).and_then(|at| self.asked.get(at)) else { return 0.0 };
        if number > interval.high {
            return interval.before + self.position(interval.high) - self.position(interval.low) + self.step;
        }
        // For integers, this is up to the number before; for others there is nothing between the
        // two.
        interval.before + self.position(number) - self.position(interval.low)
    }

    /// The position of a number, scaled down for reals: the distance between the ends of all reals
    /// would overflow.
    fn position(&self, number: u64) -> f64 {
        match &self.kind {
            Kind::Ordinals(ordinals) if ordinals.is_real() => ordinals.position(number) / 4.0,
            Kind::Ordinals(_) => number.saturating_sub(self.base) as f64,
            Kind::Texts(_) => number as f64 / (Texts::ONE as f64),
        }
    }

    /// The ordinal axis, if space tiles may lie along it.
    pub(super) fn tiled(&self) -> Option<&OrdinalAxis> {
        match &self.kind {
            Kind::Ordinals(ordinals) => Some(ordinals),
            Kind::Texts(_) => None,
        }
    }

    /// The greatest value of a part that ends at a number.
    pub(super) fn high(&self, number: u64) -> Option<Vec<u8>> {
        match &self.kind {
            Kind::Ordinals(ordinals) => ordinals.high(number),
            Kind::Texts(texts) => Some(texts.value(number)),
        }
    }

    /// The least value of a part that begins at a number.
    pub(super) fn low(&self, number: u64) -> Option<Vec<u8>> {
        match &self.kind {
            Kind::Ordinals(ordinals) => ordinals.low(number),
            // The next string after the end of the previous part.
            Kind::Texts(texts) => Some([&*texts.value(number.saturating_sub(1)), &[0]].concat()),
        }
    }
}

/// Strings as numbers: ends of tiles and of ranges are at multiples of [`Self::ONE`], other strings
/// between them.
#[derive(Debug)]
struct Texts(Vec<Vec<u8>>);

impl Texts {
    const ONE: u64 = 1 << 32;

    fn new<'t>(
        asked: impl Iterator<Item = Bounds>,
        dimension: &Dimension,
        tiles: impl Iterator<Item = &'t Range>,
    ) -> Self {
        debug_assert!(dimension.is_var(), "all other dimensions are lines");
        let mut ends: Vec<Vec<u8>> = tiles.flat_map(|tile| [tile.low.clone(), tile.high.clone()]).collect();
        ends.extend(asked.flat_map(|ends| [ends.low, ends.high]).flatten());
        ends.sort_unstable();
        ends.dedup();
        Self(ends)
    }

    fn number(&self, value: &[u8]) -> u64 {
        match self.0.binary_search_by(|end| end.as_slice().cmp(value)) {
            Ok(at) => to_u64(at).saturating_mul(Self::ONE),
            // It is not an end, so its number is between two ends.
            Err(at) => to_u64(at).saturating_mul(Self::ONE).saturating_sub(1),
        }
    }

    fn end(&self, at: u64) -> &[u8] {
        let end = to_usize(at).and_then(|at| self.0.get(at)).or(self.0.last());
        end.map_or(&[], Vec::as_slice)
    }

    /// The string for a number. For a number between two ends it is after the first and before the
    /// second.
    fn value(&self, number: u64) -> Vec<u8> {
        let (at, part) = (number / Self::ONE, number % Self::ONE);
        let (low, high) = (self.end(at), self.end(at + 1));
        let same = low.iter().zip(high).take_while(|(a, b)| a == b).count();
        let word = |value: &[u8]| {
            let mut word = [0; 8];
            let rest = value.get(same..).unwrap_or_default();
            word.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
            u64::from_be_bytes(word)
        };
        let (from, to) = (word(low), word(high));
        let far =
            u128::from(to.saturating_sub(from)).saturating_mul(u128::from(part)) / u128::from(Self::ONE);
        let between = from.saturating_add(u64::try_from(far).unwrap_or(0));
        if part == 0 || between <= from {
            return low.to_vec();
        }
        let mut value = low.get(..same).unwrap_or_default().to_vec();
        value.extend_from_slice(&between.to_be_bytes());
        value
    }
}

/// The least number of `low..=high` for which `holds` is true; it must also be true for all numbers
/// after it. `high` if there is none.
pub(super) fn first_where(low: u64, high: u64, mut holds: impl FnMut(u64) -> bool) -> u64 {
    if low >= high || holds(low) {
        return low.min(high);
    }
    last_where(low, high, |number| !holds(number)).saturating_add(1).min(high)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(ends: &[&str]) -> Texts {
        Texts(ends.iter().map(|end| end.as_bytes().to_vec()).collect())
    }

    #[test]
    fn strings_between_two_ends_order_as_their_numbers_do() {
        let texts = texts(&["key-a-000000000000", "key-a-900000000000", "key-b", "z"]);
        let numbers = (0..=3 * 64).map(|step| step * (Texts::ONE / 64));
        let values: Vec<Vec<u8>> = numbers.map(|number| texts.value(number)).collect();
        assert!(values.is_sorted_by(|a, b| a < b), "{values:?}");
        assert_eq!((values[0].as_slice(), values[192].as_slice()), (&b"key-a-000000000000"[..], &b"z"[..]));
    }

    #[test]
    fn strings_that_leave_no_string_between_them_stay_what_they_are() {
        let texts = texts(&["a", "a\0", "a\0\0"]);
        for step in 0..32 {
            let value = texts.value(step * (Texts::ONE / 16));
            assert!(value >= b"a".to_vec() && value <= b"a\0\0".to_vec(), "{value:?}");
        }
    }

    #[test]
    fn what_lies_between_numbers_is_what_is_asked_for() {
        let dimension = Dimension::new("x", 0i32..=99);
        let value = |value: i32| Some(value.to_le_bytes().to_vec());
        let asked =
            [(2, 3), (10, 19), (50, 50)].map(|(low, high)| Ok(Bounds { low: value(low), high: value(high) }));
        let set = RangeSet::new(&dimension, asked).unwrap().merged(&dimension).unwrap();
        let tile = Range::new(0i32.to_le_bytes(), 99i32.to_le_bytes());
        let axis = Axis::new(&dimension, &set, [&tile].into_iter()).unwrap();
        assert_eq!(axis.bounds(), (2, 50));
        let through = [1, 2, 3, 9, 10, 19, 49, 50].map(|number| axis.through(number));
        assert_eq!(through, [0.0, 1.0, 2.0, 2.0, 3.0, 12.0, 12.0, 13.0]);
        let below = [2, 3, 4, 10, 11, 20, 50, 51].map(|number| axis.below(number));
        assert_eq!(below, [0.0, 1.0, 2.0, 2.0, 3.0, 12.0, 12.0, 13.0]);
    }

    #[test]
    fn the_first_number_is_found_wherever_it_is() {
        for first in 3..=9 {
            assert_eq!(first_where(3, 9, |number| number >= first), first);
        }
        assert_eq!(first_where(3, 9, |_| false), 9);
    }
}
