//! Cuts a box into boxes that follow each other in an order of cells, none more expensive than a
//! batch may be.
//!
//! An order's sort key is a list of parts ([`KeyPart`]): the index of the space tile, or the
//! coordinate, along some dimension. All cells in one interval of the first part come before those
//! in the next, so the box may be cut along it anywhere; if a single value of it is still too much,
//! its cells are cut along the next part, and so on.

use core::ops::ControlFlow;

use tdb_order::KeyPart;

use super::ordinal_axis::{OrdinalAxis, interval_len, last_where};
use crate::{OrInternal, Result};

/// A box as inclusive intervals of the dimensions' numbers.
pub(crate) type OrdinalBox = Vec<(u64, u64)>;

/// The boxes that a box is cut into, in order; each is made when it is needed.
#[derive(Clone, Debug)]
pub(crate) struct Cutter {
    axes: Vec<OrdinalAxis>,
    parts: Vec<KeyPart>,
    /// The boxes that are left, the next one last, each with the part of the sort key that it may
    /// be cut along.
    left: Vec<(OrdinalBox, usize)>,
    /// Whether a tile is cut into equal boxes: the cost of a box then depends on its cells alone.
    even: bool,
}

/// A box that was cut off, and whether it could not be cut any smaller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CutBox {
    pub(crate) bounds: OrdinalBox,
    part: usize,
}

impl Cutter {
    pub(crate) fn new(axes: Vec<OrdinalAxis>, parts: Vec<KeyPart>, bounds: OrdinalBox, even: bool) -> Self {
        Self { axes, parts, left: vec![(bounds, 0)], even }
    }

    /// The next box that fits. A box that does not fit is returned only if it is a single cell.
    pub(crate) fn next(&mut self, fit: impl Fn(&OrdinalBox) -> bool) -> Result<Option<CutBox>> {
        loop {
            let Some((bounds, part)) = self.left.pop() else { return Ok(None) };
            if part >= self.parts.len() || fit(&bounds) {
                return Ok(Some(CutBox { bounds, part }));
            }
            if let ControlFlow::Break(piece) = self.cut(bounds, part, &fit)? {
                return Ok(Some(piece));
            }
        }
    }

    /// The next box without cutting it: everything that was cut off with it and is still left.
    pub(crate) fn take(&mut self) -> Option<OrdinalBox> {
        self.left.pop().map(|(bounds, _)| bounds)
    }

    /// The dimension along which boxes are cut first.
    pub(crate) fn first_dimension(&self) -> Option<usize> {
        self.parts.first().map(|part| part.dimension())
    }

    /// Puts a box back that turned out to be too expensive, cut into at least two. Fails if it is a
    /// single cell.
    pub(crate) fn put_back(&mut self, piece: CutBox) -> Result<bool> {
        let CutBox { bounds, mut part } = piece;
        let before = self.left.len();
        while part < self.parts.len() {
            let half = bounds.clone();
            let (dimension, low, high) = self.span(&bounds, part)?;
            let unit = self.unit(part, low, high);
            if unit < high {
                let middle = low.midpoint(high);
                let fits = |piece: &OrdinalBox| piece.get(dimension).is_some_and(|span| span.1 <= middle);
                if let ControlFlow::Break(piece) = self.cut(half, part, fits)? {
                    self.left.push((piece.bounds, piece.part));
                }
                return Ok(self.left.len() > before);
            }
            part += 1;
        }
        Ok(false)
    }

    /// Cuts a box that does not fit: returns the first box cut from it that fits, if there is one;
    /// the rest is left for later.
    fn cut(
        &mut self,
        bounds: OrdinalBox,
        part: usize,
        fits: impl Fn(&OrdinalBox) -> bool,
    ) -> Result<ControlFlow<CutBox>> {
        let (dimension, low, high) = self.span(&bounds, part)?;
        let within = |low: u64, high: u64| {
            let mut piece = bounds.clone();
            if let Some(span) = piece.get_mut(dimension) {
                *span = (low, high);
            }
            piece
        };
        let unit = self.unit(part, low, high);
        if unit >= high {
            self.left.push((bounds, part + 1));
            return Ok(ControlFlow::Continue(()));
        }
        if !fits(&within(low, unit)) {
            self.left.push((within(unit + 1, high), part));
            self.left.push((within(low, unit), part + 1));
            return Ok(ControlFlow::Continue(()));
        }
        let max = last_where(unit, high, |end| fits(&within(low, end)));
        let end = self.align(part, low, max, high);
        if end < high {
            self.left.push((within(end + 1, high), part));
        }
        Ok(ControlFlow::Break(CutBox { bounds: within(low, end), part }))
    }

    /// The end of a box that may extend to `max`: the end of a tile, if the box contains one.
    fn align(&self, part: usize, low: u64, max: u64, high: u64) -> u64 {
        let Some(part) = self.parts.get(part) else { return max };
        let Some(axis) = self.axis(part) else { return max };
        let whole = matches!(part, KeyPart::Tile(_));
        if max >= high || !(whole || axis.has_tiles()) {
            return max;
        }
        if let Some(end) = axis.tile_end(low, max, high) {
            return end;
        }
        if !self.even {
            return max;
        }
        let cells = interval_len(low, axis.tile_last(low, high));
        let pieces = cells.div_ceil(interval_len(low, max));
        low.saturating_add(cells.div_ceil(pieces.max(1)).saturating_sub(1)).min(max)
    }

    fn axis(&self, part: &KeyPart) -> Option<&OrdinalAxis> {
        let dimension = part.dimension();
        self.axes.get(dimension)
    }

    /// The dimension of a part, and the interval of a box along it. Without it, the box would be
    /// lost.
    fn span(&self, bounds: &OrdinalBox, part: usize) -> Result<(usize, u64, u64)> {
        let part = self.parts.get(part).or_internal("a box is cut along a part that its order lacks")?;
        let span = bounds.get(part.dimension()).or_internal("a box lacks a dimension of its order")?;
        Ok((part.dimension(), span.0, span.1))
    }

    /// The end of the smallest interval starting at `low` that can be cut along the part.
    fn unit(&self, part: usize, low: u64, high: u64) -> u64 {
        match self.parts.get(part) {
            Some(KeyPart::Tile(dimension)) => {
                self.axes.get(*dimension).map_or(high, |axis| axis.tile_last(low, high))
            }
            _ => low,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tdb_schema::Dimension;

    use super::*;

    fn volume(bounds: &OrdinalBox) -> u64 {
        bounds.iter().map(|(low, high)| high - low + 1).product()
    }

    fn within(bounds: &OrdinalBox, room: u64) -> bool {
        volume(bounds) <= room
    }

    fn axes(extents: (u64, u64)) -> Vec<OrdinalAxis> {
        let x = Dimension::new("x", 0u64..=1000).with_tile(extents.0);
        let y = Dimension::new("y", 0u64..=1000).with_tile(extents.1);
        vec![OrdinalAxis::new(&x).unwrap(), OrdinalAxis::new(&y).unwrap()]
    }

    fn key(parts: &[KeyPart], extents: (u64, u64), cell: (u64, u64)) -> Vec<u64> {
        let of = |d: usize| if d == 0 { (cell.0, extents.0) } else { (cell.1, extents.1) };
        let part = |part: &KeyPart| match *part {
            KeyPart::Cell(d) | KeyPart::Bytes(d) => of(d).0,
            KeyPart::Tile(d) => of(d).0 / of(d).1,
        };
        parts.iter().map(part).collect()
    }

    fn cells(bounds: &OrdinalBox) -> Vec<(u64, u64)> {
        (bounds[0].0..=bounds[0].1).flat_map(|x| (bounds[1].0..=bounds[1].1).map(move |y| (x, y))).collect()
    }

    proptest! {
        #[test]
        fn pieces_follow_each_other_in_the_order_and_miss_nothing(
            x in (0u64..20, 1u64..25), y in (0u64..20, 1u64..25), extents in (1u64..12, 1u64..12),
            room in 1u64..200, order in 0usize..4, even: bool, refuse in 0usize..7,
        ) {
            let parts = [
                vec![KeyPart::Cell(0), KeyPart::Cell(1)],
                vec![KeyPart::Cell(1), KeyPart::Cell(0)],
                vec![KeyPart::Tile(0), KeyPart::Tile(1), KeyPart::Cell(1), KeyPart::Cell(0)],
                vec![KeyPart::Tile(1), KeyPart::Cell(0), KeyPart::Cell(1)],
            ][order].clone();
            let bounds = vec![(x.0, x.0 + x.1 - 1), (y.0, y.0 + y.1 - 1)];
            let mut cutter = Cutter::new(axes(extents), parts.clone(), bounds.clone(), even);
            let mut seen = Vec::new();
            let mut last: Option<Vec<u64>> = None;
            let mut count = 0;
            while let Some(piece) = cutter.next(|bounds| within(bounds, room)).unwrap() {
                count += 1;
                prop_assert!(volume(&piece.bounds) <= room, "{:?} has more than {room} cells", piece.bounds);
                if refuse != 0 && count % refuse == 0 && volume(&piece.bounds) > 1 {
                    let before = volume(&piece.bounds);
                    prop_assert!(cutter.put_back(piece).unwrap());
                    let again = cutter.next(|bounds| within(bounds, u64::MAX)).unwrap().unwrap();
                    prop_assert!(volume(&again.bounds) < before);
                    cutter.left.push((again.bounds, again.part));
                    continue;
                }
                let mut keys: Vec<_> = cells(&piece.bounds).into_iter().map(|c| key(&parts, extents, c)).collect();
                keys.sort();
                prop_assert!(last.as_ref().is_none_or(|last| *last < keys[0]));
                last = keys.last().cloned();
                seen.extend(cells(&piece.bounds));
            }
            seen.sort_unstable();
            prop_assert_eq!(seen, cells(&bounds));
        }
    }

    #[test]
    fn pieces_end_with_tiles_where_one_fits() {
        let mut cutter = Cutter::new(
            axes((10, 10)),
            vec![KeyPart::Cell(0), KeyPart::Cell(1)],
            vec![(3, 45), (0, 0)],
            true,
        );
        let mut ends = Vec::new();
        while let Some(piece) = cutter.next(|bounds| within(bounds, 25)).unwrap() {
            ends.push(piece.bounds[0].1);
        }
        assert_eq!(ends, [19, 39, 45]);
        let mut cutter = Cutter::new(
            axes((10, 10)),
            vec![KeyPart::Cell(0), KeyPart::Cell(1)],
            vec![(0, 19), (0, 0)],
            true,
        );
        let mut ends = Vec::new();
        while let Some(piece) = cutter.next(|bounds| within(bounds, 7)).unwrap() {
            ends.push(piece.bounds[0].1);
        }
        assert_eq!(ends, [4, 9, 14, 19], "a tile that does not fit is cut into equal pieces");
    }

    #[test]
    fn a_single_cell_cannot_be_put_back() {
        let mut cutter =
            Cutter::new(axes((10, 10)), vec![KeyPart::Cell(0), KeyPart::Cell(1)], vec![(3, 3), (7, 7)], true);
        let piece = cutter.next(|bounds| within(bounds, 0)).unwrap().unwrap();
        assert!(!cutter.put_back(piece).unwrap());
    }

    #[test]
    fn a_box_without_a_dimension_of_its_order_is_a_fault_and_not_lost() {
        let parts = vec![KeyPart::Cell(1), KeyPart::Cell(0)];
        let mut cutter = Cutter::new(axes((10, 10)), parts, vec![(0, 9)], true);
        assert!(cutter.next(|_| false).is_err());
    }
}
