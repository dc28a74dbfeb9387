//! Maps cells that are both in a source and in a target, in runs of any length along each
//! dimension: those of a tile, or of a part of a region, to the region.

use tdb_codec::to_usize;

use super::boxes::Box;
use super::region::Region;
use crate::grid::BoxMap;
use crate::{Error, OrInternal, Result};

/// Cells along one dimension: where they begin in the source and in the target, and their number.
pub(crate) type Stretch = (usize, usize, usize);

/// The cross product of some cells of each dimension, in two linear orders.
#[derive(Clone, Debug)]
pub(crate) enum CellMap {
    /// One run along each dimension.
    Box(BoxMap),
    /// Several along some dimensions.
    Product(ProductMap),
}

/// The stretches of all dimensions, outermost (largest target stride) first.
#[derive(Clone, Debug)]
pub(crate) struct ProductMap(Vec<ProductAxis>);

#[derive(Clone, Debug)]
struct ProductAxis {
    stretches: Vec<Stretch>,
    /// Distance in cells between neighbours, in the source and in the target.
    strides: (usize, usize),
    /// Whether stretches are contiguous on both sides, so that they need not be split into cells.
    contiguous: bool,
}

impl CellMap {
    /// The map of the cells that `stretches` lists for each dimension, given the distances between
    /// neighbours.
    pub(crate) fn new(
        stretches: &[Vec<Stretch>],
        source_strides: &[usize],
        target_strides: &[usize],
    ) -> Self {
        let strides = || source_strides.iter().copied().zip(target_strides.iter().copied());
        if stretches.iter().all(|stretches| stretches.len() == 1) {
            let one = || stretches.iter().flatten().zip(strides());
            let counts: Vec<usize> = one().map(|((_, _, count), _)| *count).collect();
            let start = one().fold((0usize, 0usize), |(from, to), ((source, target, _), strides)| {
                let source = source.wrapping_mul(strides.0);
                let target = target.wrapping_mul(strides.1);
                (from.wrapping_add(source), to.wrapping_add(target))
            });
            return Self::Box(BoxMap::new(&counts, (start.0, source_strides), (start.1, target_strides)));
        }
        let axis = |(stretches, strides): (&Vec<Stretch>, (usize, usize))| {
            let stretches = stretches.clone();
            ProductAxis { stretches, strides, contiguous: false }
        };
        let mut axes: Vec<ProductAxis> = stretches.iter().zip(strides()).map(axis).collect();
        // A dimension of one cell is never the one whose stretches should be kept whole.
        let more = |axis: &ProductAxis| !matches!(axis.stretches.as_slice(), [(_, _, 1)]);
        axes.sort_by_key(|axis| (more(axis), core::cmp::Reverse(axis.strides.1)));
        if let Some(last) = axes.last_mut() {
            last.contiguous = last.strides == (1, 1);
        }
        Self::Product(ProductMap(axes))
    }

    /// A single cell.
    pub(crate) fn cell(source: usize, target: usize) -> Self {
        Self::Box(BoxMap::new(&[], (source, &[]), (target, &[])))
    }

    /// Calls `run(source, target, cells)` for every run that is contiguous on both sides, or for
    /// every single cell if there is none.
    pub(crate) fn for_each_run(&self, mut run: impl FnMut(usize, usize, usize)) {
        match self {
            Self::Box(map) => map.for_each_run(run),
            Self::Product(map) => walk(&map.0, 0, 0, &mut run),
        }
    }

    /// Copies the cells, of `size` bytes each.
    pub(crate) fn copy(&self, source: &[u8], target: &mut [u8], size: usize) -> Result<()> {
        self.copy_from(source, 0, target, size)
    }

    /// Copies the cells, of `size` bytes each, out of a source that begins at cell `base`.
    pub(crate) fn copy_from(&self, source: &[u8], base: usize, target: &mut [u8], size: usize) -> Result<()> {
        let map = match self {
            Self::Box(map) => return map.clone().later(base).copy(source, target, size),
            Self::Product(map) => map,
        };
        let mut found = true;
        walk(&map.0, 0, 0, &mut |from: usize, to: usize, cells: usize| {
            let len = cells.wrapping_mul(size);
            let (from, to) = (from.wrapping_sub(base).wrapping_mul(size), to.wrapping_mul(size));
            let from = source.get(from..from.wrapping_add(len));
            match from.zip(target.get_mut(to..to.wrapping_add(len))) {
                Some((from, to)) => to.copy_from_slice(from),
                None => found = false,
            }
        });
        if found { Ok(()) } else { Err(Error::internal("a run of cells without some of them")) }
    }
}

impl Region {
    /// Maps the region's cells in `bounds` from a box that begins at `origin` and has these strides
    /// to the region. Without such a box it maps the region onto itself.
    pub(crate) fn map(&self, bounds: &[(u64, u64)], source: Option<(&Box, &[usize])>) -> CellMap {
        let axes = self.axes().iter().zip(bounds).enumerate();
        let stretches: Vec<Vec<Stretch>> = axes
            .map(|(dimension, (axis, (low, high)))| {
                let origin = source.and_then(|(origin, _)| origin.get(dimension)).map(|(low, _)| *low);
                let distance =
                    |ordinal: u64, origin| to_usize(ordinal.wrapping_sub(origin)).unwrap_or(usize::MAX);
                let runs = axis.within(*low, *high);
                runs.map(|run| {
                    (origin.map_or(run.at, |origin| distance(run.low, origin)), run.at, run.count())
                })
                .collect()
            })
            .collect();
        CellMap::new(&stretches, source.map_or(&self.strides, |(_, strides)| strides), &self.strides)
    }

    /// Maps the cells of a part to the region.
    pub(crate) fn map_of_part(&self, part: &Self) -> CellMap {
        let axes = self.axes().iter().zip(&part.bounds);
        let stretches: Vec<Vec<Stretch>> = axes
            .map(|(axis, (low, high))| {
                let first = axis.within(*low, *high).next().map_or(0, |run| run.at);
                axis.within(*low, *high)
                    .map(|run| (run.at.saturating_sub(first), run.at, run.count()))
                    .collect()
            })
            .collect();
        CellMap::new(&stretches, &part.strides, &self.strides)
    }
}

/// Calls `fill` with the runs of a box in its region: the first cell of each, and their number. A
/// run for which it returns `None` lies outside the region.
pub(super) fn fill_runs(
    region: &Region,
    bounds: &Box,
    mut fill: impl FnMut(usize, usize) -> Option<()>,
) -> Result<()> {
    let mut found = true;
    region.map(bounds, None).for_each_run(|_, to, cells| found &= fill(to, cells).is_some());
    found.then_some(()).or_internal("a run of cells lies outside its region")
}

fn walk(axes: &[ProductAxis], source: usize, target: usize, visit: &mut impl FnMut(usize, usize, usize)) {
    let Some((axis, inner)) = axes.split_first() else { return };
    let place = |(from, to): (usize, usize)| {
        let from = source.wrapping_add(from.wrapping_mul(axis.strides.0));
        (from, target.wrapping_add(to.wrapping_mul(axis.strides.1)))
    };
    for (from, to, count) in &axis.stretches {
        if axis.contiguous {
            let (from, to) = place((*from, *to));
            visit(from, to, *count);
            continue;
        }
        for cell in 0..*count {
            let (from, to) = place((from.wrapping_add(cell), to.wrapping_add(cell)));
            if inner.is_empty() {
                visit(from, to, 1);
            } else {
                walk(inner, from, to, visit);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tdb_codec::Layout;

    use super::*;
    use crate::grid::strides;

    /// The positions that stretches contain along one dimension.
    fn listed(stretches: &[Stretch]) -> Vec<(usize, usize)> {
        let each = |(from, to, count): Stretch| (0..count).map(move |i| (from + i, to + i));
        stretches.iter().copied().flat_map(each).collect()
    }

    proptest! {
        #[test]
        fn products_copy_what_their_definition_says(
            dims in proptest::collection::vec(proptest::collection::vec((0usize..6, 1usize..4), 1..4), 1..4),
            orders in (any::<bool>(), any::<bool>()),
            size in prop_oneof![Just(1usize), Just(3), Just(8)],
        ) {
            let order = |col| if col { Layout::ColMajor } else { Layout::RowMajor };
            let mut counts = Vec::new();
            let mut stretches = Vec::new();
            for dim in &dims {
                let mut at = 0;
                let list: Vec<Stretch> = dim.iter().map(|(from, count)| {
                    let stretch = (*from, at, *count);
                    at += count;
                    stretch
                }).collect();
                counts.push(at);
                stretches.push(list);
            }
            let source_counts = vec![9usize; dims.len()];
            let source_strides = strides(&source_counts, order(orders.0)).unwrap();
            let target_strides = strides(&counts, order(orders.1)).unwrap();
            let cells: usize = source_counts.iter().product();
            let from: Vec<u8> = (0..cells * size).map(|i| i.to_le_bytes()[0]).collect();
            let mut to = vec![0; counts.iter().product::<usize>() * size];
            let mut expected = to.clone();
            let mut pairs = vec![(0, 0)];
            for (d, stretches) in stretches.iter().enumerate() {
                let (near, far) = (source_strides[d], target_strides[d]);
                let places = listed(stretches);
                let each = |(s, t): &(usize, usize)| {
                    let (s, t) = (*s, *t);
                    places.iter().map(move |(i, j)| (s + i * near, t + j * far)).collect::<Vec<_>>()
                };
                pairs = pairs.iter().flat_map(each).collect();
            }
            for (s, t) in pairs {
                expected[t * size..][..size].copy_from_slice(&from[s * size..][..size]);
            }
            CellMap::new(&stretches, &source_strides, &target_strides).copy(&from, &mut to, size).unwrap();
            prop_assert_eq!(to, expected);
        }
    }
}
