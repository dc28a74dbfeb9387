//! Spreads weight along an axis: that of each tile evenly over the part of it that is asked for.

use super::axis::{Axis, first_where};

/// The weights of tiles along an axis.
#[derive(Debug, Default)]
pub(super) struct Weights {
    /// Places where the density changes, ascending, with the total weight before each and the
    /// density after it.
    steps: Vec<Step>,
    /// The first and last numbers of tiles.
    begins: Vec<Sum>,
    ends: Vec<Sum>,
    total: f64,
}

/// How many tiles end at or below a number, and their weight.
#[derive(Clone, Copy, Debug)]
struct Sum {
    number: u64,
    weight: f64,
    count: usize,
}

#[derive(Clone, Copy, Debug)]
struct Step {
    at: f64,
    before: f64,
    density: f64,
}

/// A tile along an axis: its first and last number, and its weight.
pub(super) type Span = (u64, u64, f64);

impl Weights {
    /// The weights of these tiles.
    pub(super) fn new(axis: &Axis, spans: impl Iterator<Item = Span>) -> Self {
        // Each change has its place, the change of the density, and the weight at that place alone.
        let mut changes: Vec<(f64, f64, f64)> = Vec::new();
        let (mut begins, mut ends) = (Vec::new(), Vec::new());
        let (first, last) = axis.bounds();
        for (low, high, weight) in spans {
            let (low, high) = (low.clamp(first, last), high.clamp(first, last));
            let (from, to) = (axis.below(low), axis.through(high));
            let density = weight / (to - from);
            if to > from && density.is_finite() {
                changes.push((from, density, 0.0));
                changes.push((to, -density, 0.0));
            } else {
                changes.push((to, 0.0, weight));
            }
            begins.push((low, weight));
            ends.push((high, weight));
        }
        changes.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let mut steps: Vec<Step> = Vec::with_capacity(changes.len());
        let (mut now, mut density) = (0.0, 0.0f64);
        let mut place = changes.first().map_or(0.0, |change| change.0);
        for (at, change, alone) in changes {
            now += density.max(0.0) * (at - place) + alone;
            density += change;
            place = at;
            let step = Step { at, before: now, density };
            match steps.last_mut() {
                Some(last) if last.at.total_cmp(&at).is_eq() => *last = step,
                _ => steps.push(step),
            }
        }
        Self { steps, begins: summed(begins), ends: summed(ends), total: now }
    }

    /// The weight of all tiles.
    pub(super) const fn total(&self) -> f64 {
        self.total
    }

    /// The weight of everything at or below a number.
    pub(super) fn through(&self, axis: &Axis, number: u64) -> f64 {
        let at = axis.through(number);
        let behind = self.steps.partition_point(|step| step.at <= at);
        let step = behind.checked_sub(1).and_then(|place| self.steps.get(place));
        step.map_or(0.0, |step| step.before + step.density.max(0.0) * (at - step.at)).min(self.total)
    }

    /// The least number of `low..=high` at which this weight is reached.
    pub(super) fn reaches(&self, axis: &Axis, (low, high): (u64, u64), weight: f64) -> u64 {
        first_where(low, high, |number| self.through(axis, number) >= weight)
    }

    /// The weight of the tiles that a cut after a number divides: both sides read them.
    pub(super) fn cut_by(&self, number: u64) -> f64 {
        (sum_to(&self.begins, number).0 - sum_to(&self.ends, number).0).max(0.0)
    }

    /// Whether there is a tile between two numbers, even one without weight.
    pub(super) fn has_some(&self, low: u64, high: u64) -> bool {
        let ended = low.checked_sub(1).map_or(0, |before| sum_to(&self.ends, before).1);
        sum_to(&self.begins, high).1 > ended
    }

    /// Numbers of `low..=high` at which tiles end; if there are many, at most `max` evenly spaced
    /// ones.
    pub(super) fn ends(&self, low: u64, high: u64, max: usize) -> impl Iterator<Item = u64> {
        let from = self.ends.partition_point(|end| end.number < low);
        let to = self.ends.partition_point(|end| end.number <= high).max(from);
        let ends = self.ends.get(from..to).unwrap_or_default();
        ends.iter().step_by(ends.len().div_ceil(max.max(1)).max(1)).map(|end| end.number)
    }
}

/// Sorts the weights by number and adds them up; each entry is the sum up to its number. Equal
/// numbers become one entry.
fn summed(mut weights: Vec<(u64, f64)>) -> Vec<Sum> {
    weights.sort_unstable_by_key(|weight| weight.0);
    let mut sums: Vec<Sum> = Vec::new();
    let mut sum = 0.0;
    for ((number, weight), count) in weights.into_iter().zip(1..) {
        sum += weight;
        let own = Sum { number, weight: sum, count };
        match sums.last_mut() {
            Some(last) if last.number == number => *last = own,
            _ => sums.push(own),
        }
    }
    sums
}

/// The weight and the count of everything that ends at or below a number.
fn sum_to(sums: &[Sum], number: u64) -> (f64, usize) {
    let behind = sums.partition_point(|sum| sum.number <= number);
    let sum = behind.checked_sub(1).and_then(|place| sums.get(place));
    sum.map_or((0.0, 0), |sum| (sum.weight, sum.count))
}

#[cfg(test)]
mod tests {
    use tdb_schema::{Dimension, Range};

    use super::*;
    use crate::ranges::RangeSet;
    use crate::stream::OrdinalAxis;

    fn axis(low: u64, high: u64) -> Axis {
        let ordinals = OrdinalAxis::new(&Dimension::new("x", 0u64..=1000)).unwrap();
        Axis::dense(ordinals, low, high)
    }

    #[test]
    fn weight_is_spread_evenly_over_what_a_tile_covers() {
        let axis = axis(10, 109);
        let weights = Weights::new(&axis, [(0, 29, 20.0), (20, 29, 10.0), (100, 1000, 5.0)].into_iter());
        let through = [9, 10, 19, 20, 29, 50, 99, 100, 109].map(|number| weights.through(&axis, number));
        let expected = [0.0, 1.0, 10.0, 12.0, 30.0, 30.0, 30.0, 30.5, 35.0];
        for (found, expected) in through.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-9, "{through:?}");
        }
        assert_eq!(weights.reaches(&axis, (10, 109), 12.0), 20);
        assert_eq!(weights.reaches(&axis, (10, 109), 30.1), 100);
    }

    #[test]
    fn a_cut_goes_through_the_tiles_that_begin_before_it_and_end_behind_it() {
        let axis = axis(0, 100);
        let weights = Weights::new(&axis, [(0, 9, 1.0), (5, 20, 2.0), (10, 30, 4.0)].into_iter());
        assert_eq!(
            [4, 5, 9, 10, 20, 30].map(|number| weights.cut_by(number)),
            [1.0, 3.0, 2.0, 6.0, 4.0, 0.0]
        );
        assert_eq!(weights.ends(9, 20, 8).collect::<Vec<_>>(), [9, 20]);
        let some = [(0, 0), (30, 40), (31, 90)].map(|(low, high)| weights.has_some(low, high));
        assert_eq!(some, [true, true, false]);
    }

    #[test]
    fn a_tile_of_one_place_weighs_all_it_does_there() {
        let dimension = Dimension::new("x", 0.0f64..=1.0);
        let tile = Range::new(0.0f64.to_le_bytes(), 1.0f64.to_le_bytes());
        let axis = Axis::new(&dimension, &RangeSet::ALL, [&tile].into_iter()).unwrap();
        let number = |value: f64| axis.number(&value.to_le_bytes()).unwrap();
        let (low, middle, high) = (number(0.0), number(0.5), number(1.0));
        let weights = Weights::new(&axis, [(middle, middle, 3.0), (low, high, 0.0)].into_iter());
        assert_eq!(weights.reaches(&axis, (low, high), 1.0), middle);
    }
}
