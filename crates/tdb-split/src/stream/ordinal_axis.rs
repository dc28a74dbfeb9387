//! Ordinal axes: dimensions as whole numbers, which can be cut anywhere.

use core::cmp::Ordering;

use tdb_codec::{Native, PhysicalVisitor};
use tdb_order::{KeyPart, compare_part};
use tdb_schema::{Dimension, Range};

/// A dimension of a fixed-size type. Integers are counted from the domain's low end; reals are
/// represented by bits with the same order. If several intervals of integers were asked for,
/// numbers are places in their sequence.
#[derive(Clone, Debug)]
pub(crate) struct OrdinalAxis {
    dimension: Dimension,
    /// The intervals that were asked for, each with the place of its first integer; empty if
    /// numbers are not places.
    asked: Vec<(u64, u64, u64)>,
    real: bool,
    /// The number that both zeros of a real dimension have.
    zero: u64,
}

impl OrdinalAxis {
    /// `None` for strings.
    pub(crate) fn new(dimension: &Dimension) -> Option<Self> {
        if dimension.is_var() {
            return None;
        }
        let bits = u32::try_from(dimension.datatype.size().saturating_mul(8)).unwrap_or(64);
        let zero = 1u64.checked_shl(bits.saturating_sub(1)).unwrap_or(0);
        let asked = Vec::new();
        Some(Self {
            asked,
            dimension: dimension.clone(),
            real: dimension.datatype.physical().is_float(),
            zero,
        })
    }

    /// The places of the intervals that were asked for in an integral dimension, in that order.
    pub(crate) fn asked(self, intervals: &[(u64, u64)]) -> Self {
        let mut at = 0u64;
        let mut asked = Vec::with_capacity(intervals.len());
        for (low, high) in intervals {
            asked.push((at, *low, *high));
            at = at.saturating_add(interval_len(*low, *high));
        }
        Self { asked, ..self }
    }

    /// Number of places.
    pub(crate) fn places(&self) -> u64 {
        self.asked.iter().fold(0, |sum, (_, low, high)| sum.saturating_add(interval_len(*low, *high)))
    }

    /// The integers at places `from..=to`, as intervals in the order they were asked for.
    pub(crate) fn at(&self, from: u64, to: u64) -> Vec<(u64, u64)> {
        let first = self.asked.partition_point(|(at, ..)| *at <= from).saturating_sub(1);
        let asked = self.asked.get(first..).unwrap_or_default().iter().take_while(|(at, ..)| *at <= to);
        let part = |(at, low, high): &(u64, u64, u64)| {
            let start = low.saturating_add(from.saturating_sub(*at));
            let end = low.saturating_add(to.saturating_sub(*at)).min(*high);
            (start <= end).then_some((start, end))
        };
        asked.filter_map(part).collect()
    }

    /// Whether the intervals are in ascending order, without overlaps.
    fn ascends(&self) -> bool {
        self.asked.is_sorted_by(|a, b| a.2 < b.1)
    }

    /// The number of a coordinate. Integers outside the domain, which damaged fragments may claim
    /// to cover, get the number of the domain's end.
    pub(crate) fn number(&self, value: &[u8]) -> Option<u64> {
        if !self.real {
            let (first, last) = self.dimension.domain.as_ref()?;
            let compare = |end: &[u8]| Range::compare(self.dimension.datatype, value, end);
            if compare(first).is_lt() {
                return Some(0);
            }
            return self.dimension.ordinal(if compare(last).is_gt() { last } else { value });
        }
        let bits = bits(value)?;
        let number = if bits & self.zero == 0 { bits | self.zero } else { !bits & self.mask() };
        // There can be no cut between the two zeros: ranges treat them as equal.
        Some(if number.wrapping_add(1) == self.zero { self.zero } else { number })
    }

    /// The coordinate that begins a range at this number.
    pub(crate) fn low(&self, number: u64) -> Option<Vec<u8>> {
        // A range from the negative zero contains both zeros, whichever way they are compared.
        self.value(if self.real && number == self.zero { number.wrapping_sub(1) } else { number })
    }

    /// The coordinate that ends a range at this number.
    pub(crate) fn high(&self, number: u64) -> Option<Vec<u8>> {
        let before_zero = self.real && number.wrapping_add(1) == self.zero;
        self.value(if before_zero { number.wrapping_sub(1) } else { number })
    }

    fn value(&self, number: u64) -> Option<Vec<u8>> {
        if !self.real {
            return self.dimension.coordinate(number);
        }
        let bits = if number & self.zero == 0 { !number & self.mask() } else { number & !self.zero };
        Some(bits.to_le_bytes().get(..self.dimension.datatype.size())?.to_vec())
    }

    const fn mask(&self) -> u64 {
        self.zero | self.zero.wrapping_sub(1)
    }

    /// The position of a number, used to estimate which share of an interval another one is.
    pub(crate) fn position(&self, number: u64) -> f64 {
        struct ToF64<'a>(&'a [u8]);
        impl PhysicalVisitor for ToF64<'_> {
            type Output = f64;
            fn visit<T: Native>(self) -> f64 {
                T::from_le(self.0).map_or(0.0, T::to_f64)
            }
        }
        if !self.real {
            return number as f64;
        }
        let value = self.value(number).unwrap_or_default();
        self.dimension.datatype.physical().visit(ToF64(&value))
    }

    /// The difference between the length of an interval and the distance of its ends: for integers
    /// there is a cell at each end.
    pub(crate) const fn step(&self) -> f64 {
        if self.real { f64::MIN_POSITIVE } else { 1.0 }
    }

    /// Whether the dimension has real numbers.
    pub(crate) const fn is_real(&self) -> bool {
        self.real
    }

    /// Whether the dimension is divided into tiles of integers.
    pub(crate) fn has_tiles(&self) -> bool {
        !self.real && self.dimension.extent_cells().is_some() && self.ascends()
    }

    /// The last number at or below `max` in the same space tile as `number`.
    pub(crate) fn tile_last(&self, number: u64, max: u64) -> u64 {
        if !self.asked.is_empty() {
            let integer = |place: u64| self.at(place, place).first().map_or(0, |(low, _)| *low);
            let first = integer(number);
            let tile =
                |integer: u64| self.dimension.extent_cells().and_then(|extent| integer.checked_div(extent));
            return last_where(number, max, |place| tile(integer(place)) == tile(first));
        }
        if !self.real {
            let Some(extent) = self.dimension.extent_cells() else { return max };
            let index = number.checked_div(extent).unwrap_or(0);
            let next = index.saturating_add(1).saturating_mul(extent);
            return next.saturating_sub(1).clamp(number, max);
        }
        // Tiles of reals depend on rounding, so the comparison itself is used.
        let value = self.value(number).unwrap_or_default();
        let same = |other: u64| {
            let other = self.value(other).unwrap_or_default();
            compare_part(KeyPart::Tile(0), &self.dimension, &value, &other) == Ordering::Equal
        };
        last_where(number, max, same)
    }

    /// The last number from `low` on, at or below `number`, that ends a space tile; `None` if none
    /// does.
    pub(crate) fn tile_end(&self, low: u64, number: u64, max: u64) -> Option<u64> {
        let first = self.tile_last(low, max);
        if first > number {
            return None;
        }
        if self.tile_last(number, max) == number {
            return Some(number);
        }
        // The last one whose tile ends at or before `number`.
        Some(last_where(first, number, |at| at == first || self.tile_last(at, max) <= number))
    }
}

/// The number of integers in `low..=high`; one less for all of the 2^64.
pub(crate) const fn interval_len(low: u64, high: u64) -> u64 {
    high.saturating_sub(low).saturating_add(1)
}

/// The last number of `low..=high` for which `holds` is true. It must be true for `low`, and never
/// true again after it was false.
pub(crate) fn last_where(low: u64, high: u64, mut holds: impl FnMut(u64) -> bool) -> u64 {
    let (mut low, mut high) = (low, high);
    if low >= high || holds(high) {
        return high.max(low);
    }
    while high - low > 1 {
        let middle = low.midpoint(high);
        if holds(middle) { low = middle } else { high = middle }
    }
    low
}

fn bits(value: &[u8]) -> Option<u64> {
    Some(match *value {
        [a, b, c, d] => u64::from(u32::from_le_bytes([a, b, c, d])),
        [a, b, c, d, e, f, g, h] => u64::from_le_bytes([a, b, c, d, e, f, g, h]),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn real() -> Dimension {
        Dimension::new("x", -10.0f64..=10.0).with_tile(0.3f64)
    }

    #[test]
    fn zeros_stand_at_one_number_and_are_never_cut_apart() {
        let axis = OrdinalAxis::new(&real()).unwrap();
        let number = |value: f64| axis.number(&value.to_le_bytes()).unwrap();
        assert_eq!(number(0.0), number(-0.0));
        let value = |bytes: Option<Vec<u8>>| f64::from_le_bytes(bytes.unwrap().try_into().unwrap());
        let low = value(axis.low(number(0.0)));
        assert!(low == 0.0 && low.is_sign_negative());
        let high = value(axis.high(number(0.0)));
        assert!(high == 0.0 && high.is_sign_positive());
        assert!(value(axis.high(number(0.0) - 1)) < 0.0);
        assert!(value(axis.low(number(0.0) + 1)) > 0.0);
    }

    #[test]
    fn integers_count_from_the_low_end() {
        let axis = OrdinalAxis::new(&Dimension::new("i", -5i16..=100).with_tile(10i16)).unwrap();
        assert_eq!(axis.number(&(-5i16).to_le_bytes()), Some(0));
        assert_eq!(axis.number(&(-6i16).to_le_bytes()), Some(0), "outside the domain is at its end");
        assert_eq!(axis.number(&i16::MAX.to_le_bytes()), Some(105));
        assert_eq!(axis.low(7), Some(2i16.to_le_bytes().to_vec()));
        assert_eq!(axis.tile_last(7, 105), 9);
        assert_eq!(axis.tile_last(103, 105), 105);
        assert_eq!(axis.tile_end(0, 25, 105), Some(19));
        assert_eq!(axis.tile_end(0, 8, 105), None);
        assert_eq!(axis.tile_end(0, 9, 105), Some(9));
    }

    #[test]
    fn places_are_those_of_the_sequence_asked_for() {
        let axis = OrdinalAxis::new(&Dimension::new("i", 0u8..=99).with_tile(10u8))
            .unwrap()
            .asked(&[(6, 6), (2, 14)]);
        assert_eq!(axis.places(), 14);
        assert_eq!(axis.at(0, 13), [(6, 6), (2, 14)]);
        assert_eq!(axis.at(1, 3), [(2, 4)]);
        assert_eq!(axis.at(0, 1), [(6, 6), (2, 2)]);
        assert!(!axis.has_tiles());
        let axis = OrdinalAxis::new(&Dimension::new("i", 0u8..=99).with_tile(10u8))
            .unwrap()
            .asked(&[(2, 14), (40, 41)]);
        assert!(axis.has_tiles());
        assert_eq!(axis.tile_last(0, 14), 7);
        assert_eq!(axis.tile_last(8, 14), 12);
    }

    proptest! {
        #[test]
        fn numbers_order_as_values_do(a in -10.0f64..10.0, b in -10.0f64..10.0) {
            let axis = OrdinalAxis::new(&real()).unwrap();
            let number = |value: f64| axis.number(&value.to_le_bytes()).unwrap();
            prop_assert_eq!(number(a).cmp(&number(b)), a.partial_cmp(&b).unwrap());
            prop_assert_eq!(axis.position(number(a)), a);
            let bytes = axis.low(number(a)).unwrap();
            prop_assert_eq!(f64::from_le_bytes(bytes.try_into().unwrap()), a);
        }

        #[test]
        fn tiles_of_reals_end_where_their_index_changes(at in -10.0f64..10.0) {
            let dimension = real();
            let axis = OrdinalAxis::new(&dimension).unwrap();
            let number = |value: f64| axis.number(&value.to_le_bytes()).unwrap();
            let max = number(10.0);
            let last = axis.tile_last(number(at), max);
            let tile = |number: u64| {
                let value = axis.high(number).unwrap();
                compare_part(KeyPart::Tile(0), &dimension, &at.to_le_bytes(), &value)
            };
            prop_assert_eq!(tile(last), Ordering::Equal);
            prop_assert!(last == max || tile(last + 1) != Ordering::Equal);
        }
    }
}
