//! Cuts a box into boxes that follow each other in an order, each of about the same weight.
//!
//! As in `stream::cut`, an order's sort key is a list of parts: all cells in one interval of the
//! first part come before those in the next. So a box is cut along the first part; a single tile or
//! coordinate of it that is too heavy by itself is cut along the next part, and so on.

use tdb_codec::to_usize;
use tdb_order::KeyPart;

use super::axis::Axis;
use super::thresholds::{HEAVY, MAX_PLACES, SLACK, SLACK_OF_DENSE};
use super::weight::Weights;
use crate::stream::{OrdinalBox, whole};

/// A tile in numbers: one interval a dimension.
#[derive(Clone, Debug)]
pub(super) struct Item {
    pub(super) bounds: OrdinalBox,
    pub(super) weight: f64,
}

/// The axes and the parts to cut along, and the boxes that were cut.
#[derive(Debug)]
pub(super) struct Cutting<'a> {
    pub(super) axes: &'a [Axis],
    pub(super) parts: &'a [KeyPart],
    /// Whether cells are only stored in space tiles, so that only the ends of these are good places
    /// for a cut.
    pub(super) dense: bool,
    pub(super) done: Vec<OrdinalBox>,
}

/// An interval along a part, and the number of boxes it is to become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Strip {
    low: u64,
    high: u64,
    boxes: usize,
}

impl Cutting<'_> {
    /// Cuts a box into at most `boxes` boxes, along a part or those after it.
    pub(super) fn cut(&mut self, bounds: &OrdinalBox, items: &[Item], boxes: usize, part: usize) {
        let along = self.parts.get(part).filter(|_| boxes > 1);
        let axis = along.and_then(|along| Some((*along, self.axes.get(along.dimension())?)));
        let Some((along, axis)) = axis else { return self.done.push(bounds.clone()) };
        let dimension = along.dimension();
        let Some(span) = bounds.get(dimension).copied() else { return self.done.push(bounds.clone()) };
        let spans = items.iter().filter_map(|item| {
            let (low, high) = item.bounds.get(dimension)?;
            Some((*low, *high, item.weight))
        });
        let strips = Strips { axis, along, dense: self.dense, weights: Weights::new(axis, spans) };
        for strip in strips.all(span, boxes, part + 1 < self.parts.len()) {
            let mut inside = bounds.clone();
            if let Some(span) = inside.get_mut(dimension) {
                *span = (strip.low, strip.high);
            }
            if strip.boxes == 1 {
                self.done.push(inside);
                continue;
            }
            let within: Vec<Item> =
                items.iter().filter_map(|item| clipped(item, axis, dimension, strip)).collect();
            self.cut(&inside, &within, strip.boxes, part + 1);
        }
    }
}

/// The part of an item that is in a strip, with its share of the weight.
fn clipped(item: &Item, axis: &Axis, dimension: usize, strip: Strip) -> Option<Item> {
    let (low, high) = *item.bounds.get(dimension)?;
    let (from, to) = (low.max(strip.low), high.min(strip.high));
    if from > to {
        return None;
    }
    let length = |low, high| axis.through(high) - axis.below(low);
    let share = length(from, to) / length(low, high);
    let mut item = item.clone();
    if let Some(span) = item.bounds.get_mut(dimension) {
        *span = (from, to);
    }
    if (0.0..1.0).contains(&share) {
        item.weight *= share;
    }
    Some(item)
}

struct Strips<'a> {
    axis: &'a Axis,
    along: KeyPart,
    dense: bool,
    weights: Weights,
}

impl Strips<'_> {
    /// At most as many strips as give `boxes` boxes. Only places that are heavy by themselves
    /// become several boxes, and only if there is a `next` part to cut them along.
    fn all(&self, (low, high): (u64, u64), boxes: usize, next: bool) -> Vec<Strip> {
        let mut strips = Vec::new();
        let (mut at, mut left, mut done) = (low, boxes, 0.0);
        while left > 1 && at < high {
            let share = (self.weights.total() - done) / left as f64;
            if share <= 0.0 {
                break;
            }
            let best = self.weights.reaches(self.axis, (at, high), done + share);
            if let Some(heavy) = self.heavy((at, high), best, (done, share), left).filter(|_| next) {
                let before = heavy.low.checked_sub(1).filter(|before| *before >= at);
                strips.extend(before.map(|before| Strip { low: at, high: before, boxes: 1 }));
                strips.push(heavy);
                left -= heavy.boxes + usize::from(before.is_some());
                done = self.through(heavy.high);
                if heavy.high >= high {
                    return strips;
                }
                at = heavy.high + 1;
                continue;
            }
            let Some(end) = self.end((at, high), best, (done, share)) else { break };
            strips.push(Strip { low: at, high: end, boxes: 1 });
            (at, done, left) = (end + 1, self.through(end), left - 1);
        }
        // A single place that is left may be cut further, several may not.
        let single = self.unit((at, high), at).1 >= high;
        strips.push(Strip { low: at, high, boxes: if single && next { left } else { 1 } });
        strips
    }

    fn through(&self, number: u64) -> f64 {
        self.weights.through(self.axis, number)
    }

    /// The tile or coordinate at a number.
    fn unit(&self, (low, high): (u64, u64), number: u64) -> (u64, u64) {
        let Some(ordinals) = self.axis.tiled().filter(|_| matches!(self.along, KeyPart::Tile(_))) else {
            return (number, number);
        };
        let before = number.checked_sub(1).filter(|before| *before >= low);
        let before = before.and_then(|before| ordinals.tile_end(low, before, high));
        (before.map_or(low, |before| before + 1), ordinals.tile_last(number, high))
    }

    /// The tile or coordinate at a number, if it is too heavy for one box, with the number of boxes
    /// it is to become.
    fn heavy(
        &self,
        (low, high): (u64, u64),
        number: u64,
        (done, share): (f64, f64),
        left: usize,
    ) -> Option<Strip> {
        let (first, last) = self.unit((low, high), number);
        let below = if first > low { self.through(first - 1) } else { done };
        let weight = self.through(last) - below;
        if weight <= HEAVY * share {
            return None;
        }
        // Without tiles before or after it, the strip extends to that end.
        let before = first > low && self.weights.has_some(low, first - 1);
        let behind = last < high && self.weights.has_some(last + 1, high);
        let others = usize::from(before) + usize::from(behind);
        let max = left.checked_sub(others).filter(|max| *max > 1)?;
        let shares = to_usize(whole(weight / share - 0.5)).unwrap_or(max).clamp(2, max);
        let (low, high) = (if before { first } else { low }, if behind { last } else { high });
        Some(Strip { low, high, boxes: shares })
    }

    /// The best end of a strip near a number: where the fewest tiles are read by both sides. `None`
    /// if nothing would be left after it.
    fn end(&self, (low, high): (u64, u64), best: u64, (done, share): (f64, f64)) -> Option<u64> {
        let ordinals = self.axis.tiled();
        let tile = ordinals.filter(|ordinals| ordinals.has_tiles() || matches!(self.along, KeyPart::Tile(_)));
        let mut places: Vec<u64> = Vec::new();
        if let Some(tile) = tile {
            places.extend(tile.tile_end(low, best, high));
            places.push(tile.tile_last(best, high));
        }
        let tiles_only = matches!(self.along, KeyPart::Tile(_));
        let slack = share * if self.dense { SLACK_OF_DENSE } else { SLACK };
        if !tiles_only {
            places.retain(|place| (self.through(*place) - done - share).abs() <= slack);
            if !self.dense {
                let near = |weight: f64| self.weights.reaches(self.axis, (low, high), weight);
                let (from, to) = (near(done + share - slack), near(done + share + slack));
                places.extend(self.weights.ends(from, to, MAX_PLACES));
                places.retain(|place| (self.through(*place) - done - share).abs() <= slack);
            }
            places.push(best);
        }
        let price = |place: u64| {
            let twice = if tiles_only { 0.0 } else { self.read_twice((low, high, done), place) };
            twice + 2.0 * (self.through(place) - done - share).abs()
        };
        let places = places.into_iter().filter(|place| *place >= low && *place < high);
        let found = places.map(|place| (price(place), place)).min_by(|a, b| a.0.total_cmp(&b.0));
        // The best place may be the last one, where the whole weight is reached.
        found.map(|found| found.1)
    }

    /// The weight of the tiles that a cut after a number divides.
    fn read_twice(&self, (low, high, done): (u64, u64, f64), number: u64) -> f64 {
        if !self.dense {
            return self.weights.cut_by(number);
        }
        let Some(ordinals) = self.axis.tiled().filter(|ordinals| ordinals.has_tiles()) else { return 0.0 };
        let last = ordinals.tile_last(number, high);
        if last == number {
            return 0.0;
        }
        let before = ordinals.tile_end(low, number, high).map_or(done, |before| self.through(before));
        self.through(last) - before
    }
}

#[cfg(test)]
mod tests {
    use tdb_schema::Dimension;

    use super::*;
    use crate::stream::OrdinalAxis;

    fn axis(extent: u64, last: u64) -> Axis {
        Axis::dense(OrdinalAxis::new(&Dimension::new("x", 0u64..=9999).with_tile(extent)).unwrap(), 0, last)
    }

    fn cut(
        axes: &[Axis],
        parts: &[KeyPart],
        items: &[(OrdinalBox, f64)],
        boxes: usize,
        dense: bool,
    ) -> Vec<OrdinalBox> {
        let items: Vec<Item> =
            items.iter().map(|(bounds, weight)| Item { bounds: bounds.clone(), weight: *weight }).collect();
        let bounds = axes.iter().map(Axis::bounds).collect();
        let mut cutting = Cutting { axes, parts, dense, done: Vec::new() };
        cutting.cut(&bounds, &items, boxes, 0);
        cutting.done
    }

    #[test]
    fn even_weight_is_cut_at_the_ends_of_tiles() {
        let axes = [axis(10, 99)];
        let found = cut(&axes, &[KeyPart::Cell(0)], &[(vec![(0, 99)], 1000.0)], 4, true);
        let ends: Vec<u64> = found.iter().map(|bounds| bounds[0].1).collect();
        assert!(ends.len() == 4 && ends.iter().all(|end| end % 10 == 9), "{found:?}");
        assert!(found.iter().all(|bounds| bounds[0].1 - bounds[0].0 < 40), "{found:?}");
    }

    #[test]
    fn a_tile_is_cut_inside_where_there_are_fewer_tiles_than_parts() {
        let axes = [axis(100, 99)];
        let found = cut(&axes, &[KeyPart::Cell(0)], &[(vec![(0, 99)], 1000.0)], 4, true);
        assert_eq!(found, [[(0, 24)], [(25, 49)], [(50, 74)], [(75, 99)]]);
        assert_eq!(cut(&axes, &[KeyPart::Tile(0)], &[(vec![(0, 99)], 1000.0)], 4, true), [[(0, 99)]]);
    }

    #[test]
    fn what_is_heavy_at_one_place_is_cut_along_the_next_dimension() {
        let axes = [axis(10, 99), axis(10, 99)];
        let parts = [KeyPart::Cell(0), KeyPart::Cell(1)];
        let items = [(vec![(50, 50), (0, 99)], 900.0), (vec![(0, 99), (0, 99)], 100.0)];
        let found = cut(&axes, &parts, &items, 5, false);
        let heavy: Vec<&OrdinalBox> = found.iter().filter(|bounds| bounds[0] == (50, 50)).collect();
        assert_eq!((found.len(), heavy.len()), (5, 3), "{found:?}");
        assert!(found.is_sorted_by_key(|bounds| (bounds[0], bounds[1])), "{found:?}");
    }

    #[test]
    fn cuts_go_between_tiles_that_do_not_overlap() {
        let axes = [axis(10_000, 999)];
        let items: Vec<(OrdinalBox, f64)> =
            (0..40u64).map(|tile| (vec![(tile * 25, tile * 25 + 20)], 10.0)).collect();
        let found = cut(&axes, &[KeyPart::Cell(0)], &items, 7, false);
        assert_eq!(found.len(), 7);
        assert!(found.iter().rev().skip(1).all(|bounds| bounds[0].1 % 25 == 20), "{found:?}");
    }

    #[test]
    fn nothing_is_cut_where_nothing_is() {
        let axes = [axis(10, 99)];
        assert_eq!(cut(&axes, &[KeyPart::Cell(0)], &[], 4, false), [[(0, 99)]]);
    }
}
