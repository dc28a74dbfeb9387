//! The cost model of boxes: estimates, from metadata alone, the memory that reading a box of an
//! array takes.
//!
//! Each data tile covers a box (its MBR, or its place in a dense grid) and takes some bytes. A
//! query's box is charged for the share of each tile that is inside it, as if cells were spread
//! evenly. The memory that a batch really takes is counted when it is read.

use tdb_codec::{to_u64, to_usize};
use tdb_fragment::RTree;
use tdb_schema::Range;

use super::boxes::volume;
use super::cost::{CellCost, VarSizes};
use super::cut::OrdinalBox;
use super::ordinal_axis::{OrdinalAxis, interval_len};
use super::thresholds::MAX_SPANS;
use crate::dense::sources::tile_strides;
use crate::plan::Plan;
use crate::{Error, Result};

/// A tile, or several consecutive ones.
#[derive(Clone, Debug)]
struct Span {
    /// Bytes that its cells take in a batch.
    bytes: f64,
    /// Bytes that a batch takes if it contains anything of it.
    touch: f64,
    /// Its box: one interval per dimension.
    bounds: Vec<(f64, f64)>,
    /// Number of the fragment.
    fragment: usize,
    tiles: f64,
    /// Stored cells; 0 in dense fragments.
    cells: f64,
    /// Bytes of the values of variable length in its most expensive tile; one cell may have all of
    /// them.
    values: f64,
}

/// The data that a box touches, approximately: fragments, tiles (a part of a tile counts as a
/// fraction), and stored cells.
#[derive(Debug, Default)]
pub(crate) struct Touched {
    pub(crate) fragments: Vec<usize>,
    pub(crate) tiles: f64,
    pub(crate) cells: f64,
}

/// The weight of some tiles.
#[derive(Clone, Copy, Debug, Default)]
struct Weight {
    bytes: f64,
    touch: f64,
    tiles: f64,
    cells: f64,
    values: f64,
}

impl Weight {
    fn add(self, other: Self) -> Self {
        Self {
            bytes: self.bytes + other.bytes,
            touch: self.touch + other.touch,
            tiles: self.tiles + other.tiles,
            cells: self.cells + other.cells,
            values: self.values.max(other.values),
        }
    }
}

/// All spans that a query may touch.
#[derive(Clone, Debug, Default)]
pub(crate) struct CostModel {
    spans: Vec<Span>,
    axes: Vec<OrdinalAxis>,
    /// Bytes that every cell of a box takes, stored or not, as in dense results.
    volume: u64,
    /// Bytes that one cell's values of variable length may take, if no span contains them.
    longest: f64,
}

impl CostModel {
    /// The model of a dense query: its cells, and the values of variable length.
    pub(crate) fn dense(
        plan: &Plan,
        axes: Vec<OrdinalAxis>,
        cost: &CellCost,
        query: &OrdinalBox,
    ) -> Result<Self> {
        let mut model = Self { axes, volume: cost.per_cell(), ..Self::default() };
        let context = plan.array.context();
        for (number, fragment) in plan.array.fragments().iter().enumerate() {
            let Some(domain) = fragment.bounds().and_then(|domain| model.box_of(domain)) else {
                continue;
            };
            if !overlap(&domain, query) {
                continue;
            }
            if !fragment.is_dense() {
                // Cells of sparse fragments are held together with their ordinals.
                let each = to_u64(domain.len()).saturating_mul(8).saturating_add(64);
                let bytes = fragment.cell_count().saturating_mul(each) as f64;
                model.push(Weight { bytes, ..Weight::default() }, &domain, number);
            }
            let sizes = cost.var_sizes(context, fragment)?;
            if sizes.is_empty() {
                continue;
            }
            let corrupt = |error| Error::corrupt(context.describe(fragment.metadata_key()), error);
            if !fragment.is_dense() {
                let bytes: u64 =
                    sizes.iter().flat_map(|(_, list)| list.iter()).fold(0, |a, b| a.saturating_add(*b));
                let bytes = bytes as f64 * 2.0;
                model.push(Weight { bytes, values: bytes, ..Weight::default() }, &domain, number);
                fragment.forget();
                continue;
            }
            let schema = fragment.schema();
            let grid = fragment.footer().tile_grid(schema).map_err(corrupt)?;
            let tiles =
                to_usize(fragment.footer().tile_count(schema).map_err(corrupt)?).unwrap_or(usize::MAX);
            // Lists have the length that is in the file; the size of a grid is only a claim.
            let tiles = sizes.iter().map(|(_, list)| list.len()).fold(tiles, usize::min);
            let strides = tile_strides(&grid, schema.tile_order);
            let extents: Vec<Option<u64>> =
                schema.domain.dimensions.iter().map(tdb_schema::Dimension::extent_cells).collect();
            let tile_box = |tile: usize| -> OrdinalBox {
                let axes = grid.iter().zip(&strides).zip(&extents).zip(&domain);
                axes.map(|(((span, stride), extent), domain)| {
                    let count = interval_len(span.0, span.1);
                    let place = to_u64(tile).checked_div(*stride).and_then(|at| at.checked_rem(count));
                    let index = span.0.saturating_add(place.unwrap_or(0));
                    let Some(extent) = extent else { return *domain };
                    let low = index.saturating_mul(*extent);
                    (low.max(domain.0), low.saturating_add(extent.saturating_sub(1)).min(domain.1))
                })
                .collect()
            };
            let weight = |tile: usize| {
                let bytes = weigh(&sizes, tile);
                Weight { bytes, values: bytes, ..Weight::default() }
            };
            model.push_tiles(tiles, number, weight, tile_box, query);
            fragment.forget();
        }
        Ok(model)
    }

    /// The model of a dense query with several intervals per dimension: the same for all cells. If
    /// ranges were asked for out of order, the result is held twice while it is put in order.
    pub(crate) fn places(plan: &Plan, axes: Vec<OrdinalAxis>, cost: &CellCost) -> Result<Self> {
        let (mut values, mut cells, mut longest) = (0u64, 1u64, 0.0);
        for fragment in plan.array.fragments() {
            let sizes = cost.var_sizes(plan.array.context(), fragment)?;
            for (times, list) in &sizes {
                let sum = list.iter().fold(0u64, |sum, size| sum.saturating_add(*size));
                values = values.saturating_add(sum.saturating_mul(*times));
            }
            cells = cells.saturating_add(fragment.cell_count());
            let tiles = sizes.iter().map(|(_, list)| list.len()).max().unwrap_or(0);
            longest += (0..tiles).map(|tile| weigh(&sizes, tile)).fold(0.0, f64::max);
            fragment.forget();
        }
        let each = values.div_ceil(cells).saturating_add(cost.per_cell());
        Ok(Self { spans: Vec::new(), axes, volume: each.saturating_add(cost.per_result_cell()), longest })
    }

    /// The model of the cells of sparse fragments.
    pub(crate) fn sparse(
        plan: &Plan,
        axes: Vec<OrdinalAxis>,
        cost: &CellCost,
        query: &OrdinalBox,
    ) -> Result<Self> {
        let mut model = Self { axes, ..Self::default() };
        let context = plan.array.context();
        for (number, fragment) in plan.array.fragments().iter().enumerate() {
            let Some(domain) = fragment.bounds().and_then(|domain| model.box_of(domain)) else {
                continue;
            };
            if !overlap(&domain, query) {
                continue;
            }
            let dimensions = &plan.array.schema().domain.dimensions;
            let wanted = |dimension: usize, low: &[u8], high: &[u8]| {
                let set = plan.ranges.get(dimension).zip(dimensions.get(dimension));
                set.is_none_or(|(set, dimension)| set.overlaps(dimension, low, high))
            };
            let ranges = fragment.bounds().unwrap_or_default().iter().enumerate();
            if !ranges.into_iter().all(|(dimension, range)| wanted(dimension, &range.low, &range.high)) {
                continue;
            }
            let tiles = to_usize(fragment.footer().sparse_tile_num).unwrap_or(usize::MAX);
            let sizes = cost.var_sizes(context, fragment)?;
            let weight = |tile: usize| {
                let cells = fragment.footer().sparse_tile_cells(to_u64(tile), fragment.schema().capacity);
                let values = weigh(&sizes, tile);
                let bytes = cells.saturating_mul(cost.per_cell()) as f64 + values;
                let touch = if tile == 0 { cost.per_fragment() } else { cost.per_tile() };
                Weight { bytes, touch, tiles: 1.0, cells: cells as f64, values }
            };
            if tiles == 1 {
                model.push(weight(0), &domain, number);
            } else {
                let tree = fragment.rtree(context)?;
                let mbr =
                    |tile: usize| spread_box(&model.axes, &tree, tile).unwrap_or_else(|| domain.clone());
                let found = tree.search(wanted);
                let boxes: Vec<OrdinalBox> = found.iter().map(|tile| mbr(*tile)).collect();
                let tile_box = |at: usize| boxes.get(at).cloned().unwrap_or_default();
                let weight = |at: usize| found.get(at).map_or_else(Weight::default, |tile| weight(*tile));
                model.push_tiles(found.len(), number, weight, tile_box, query);
            }
            fragment.forget();
        }
        Ok(model)
    }

    fn push_tiles(
        &mut self,
        tiles: usize,
        fragment: usize,
        weight: impl Fn(usize) -> Weight,
        bounds: impl Fn(usize) -> OrdinalBox,
        query: &OrdinalBox,
    ) {
        let together = tiles.div_ceil(MAX_SPANS).max(1);
        for first in (0..tiles).step_by(together) {
            let mut union: Option<OrdinalBox> = None;
            let mut sum = Weight::default();
            for tile in first..tiles.min(first.saturating_add(together)) {
                let own = bounds(tile);
                if !overlap(&own, query) {
                    continue;
                }
                sum = sum.add(weight(tile));
                union = Some(match union {
                    None => own,
                    Some(union) => {
                        union.iter().zip(&own).map(|(a, b)| (a.0.min(b.0), a.1.max(b.1))).collect()
                    }
                });
            }
            if let Some(union) = union {
                self.push(sum, &union, fragment);
            }
        }
    }

    fn push(&mut self, weight: Weight, bounds: &OrdinalBox, fragment: usize) {
        let bounds = self.positions(bounds);
        let Weight { bytes, touch, tiles, cells, values } = weight;
        self.spans.push(Span { bytes, touch, bounds, fragment, tiles, cells, values });
    }

    /// The cost of a box, if there are `times` as many cells as estimated.
    pub(crate) fn cost(&self, bounds: &OrdinalBox, times: f64) -> u64 {
        let (mut touch, mut bytes) = (0.0, volume(bounds).saturating_mul(self.volume) as f64);
        let ends: Vec<(f64, f64)> = self.positions(bounds);
        for span in &self.spans {
            if let Some(share) = self.share(span, &ends) {
                touch += span.touch;
                bytes += span.bytes * share;
            }
        }
        super::whole(touch + bytes * times)
    }

    /// The fragments, tiles and cells that a box touches.
    pub(crate) fn touched(&self, bounds: &OrdinalBox) -> Touched {
        let ends = self.positions(bounds);
        let mut touched = Touched::default();
        for span in &self.spans {
            if let Some(share) = self.share(span, &ends) {
                touched.fragments.push(span.fragment);
                touched.tiles += share * span.tiles;
                touched.cells += share * span.cells;
            }
        }
        touched.fragments.dedup();
        touched
    }

    /// The part of a query along a dimension that a tile covers, on average.
    pub(crate) fn covered(&self, dimension: usize, query: Option<(u64, u64)>) -> f64 {
        let Some((axis, (low, high))) = self.axes.get(dimension).zip(query) else { return 0.0 };
        let (first, last) = (axis.position(low), axis.position(high));
        let all = half(first, last, axis);
        let (mut tiles, mut covered) = (0.0, 0.0);
        for span in &self.spans {
            let Some((low, high)) = span.bounds.get(dimension) else { continue };
            let (from, to) = (low.max(first), high.min(last));
            let share = if from > to { 0.0 } else { half(from, to, axis) / all };
            covered += span.tiles * share.clamp(0.0, 1.0);
            tiles += span.tiles;
        }
        if tiles > 0.0 { covered / tiles } else { 0.0 }
    }

    /// Tiles and stored cells of all spans.
    pub(crate) fn totals(&self) -> (f64, f64) {
        self.spans.iter().fold((0.0, 0.0), |sum, span| (sum.0 + span.tiles, sum.1 + span.cells))
    }

    /// Approximate maximum of the bytes of a box of one cell. Along each dimension there is a place
    /// where most spans overlap; no cell is in more spans than the smallest of these numbers.
    pub(crate) fn min(&self) -> u64 {
        let along = |(dimension, axis): (usize, &OrdinalAxis)| {
            let mut ends = Vec::with_capacity(self.spans.len().saturating_mul(2));
            for span in &self.spans {
                let (low, high) = span.bounds.get(dimension).copied().unwrap_or_default();
                let share = (axis.step() / 2.0 / half(low, high, axis)).min(1.0);
                // The box has a cell of the span, or it is not read.
                let cell = if span.cells > 0.0 { (span.bytes - span.values) / span.cells } else { 0.0 };
                let bytes = span.touch + (span.bytes * share).max(cell + span.values);
                // A span that ends at a place still overlaps one that begins there.
                ends.extend([(low, false, bytes), (high, true, -bytes)]);
            }
            ends.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            let (mut now, mut max) = (0.0, 0.0f64);
            for (.., bytes) in ends {
                now += bytes;
                max = max.max(now);
            }
            max
        };
        let dimensions = self.axes.iter().enumerate().map(along);
        super::whole(dimensions.reduce(f64::min).unwrap_or(0.0) + self.longest).saturating_add(self.volume)
    }

    /// The share of a span that is in a box; `None` if they do not overlap.
    fn share(&self, span: &Span, ends: &[(f64, f64)]) -> Option<f64> {
        let mut share = 1.0;
        for (axis, ((low, high), (first, last))) in self.axes.iter().zip(span.bounds.iter().zip(ends)) {
            let (from, to) = (low.max(*first), high.min(*last));
            if from > to {
                return None;
            }
            let part = half(from, to, axis) / half(*low, *high, axis);
            if part < 1.0 {
                share *= part;
            }
        }
        Some(share)
    }

    /// Bytes that the model itself takes.
    pub(crate) fn held(&self) -> u64 {
        let each = to_u64(size_of::<Span>().saturating_add(self.axes.len().saturating_mul(16)));
        to_u64(self.spans.capacity()).saturating_mul(each.saturating_add(16))
    }

    fn positions(&self, bounds: &OrdinalBox) -> Vec<(f64, f64)> {
        let axes = self.axes.iter().zip(bounds);
        axes.map(|(axis, span)| (axis.position(span.0), axis.position(span.1))).collect()
    }

    fn box_of(&self, domain: &[Range]) -> Option<OrdinalBox> {
        let axes = self.axes.iter().zip(domain);
        axes.map(|(axis, range)| Some((axis.number(&range.low)?, axis.number(&range.high)?))).collect()
    }
}

fn spread_box(axes: &[OrdinalAxis], tree: &RTree, tile: usize) -> Option<OrdinalBox> {
    let mbr = tree.leaf(tile)?;
    let axes = axes.iter().zip(mbr.ranges());
    axes.map(|(axis, (low, high))| Some((axis.number(low)?, axis.number(high)?))).collect()
}

/// Half the length of an interval, where the length of an integer interval includes both ends. The
/// full length of a real interval may exceed the largest number.
fn half(low: f64, high: f64, axis: &OrdinalAxis) -> f64 {
    (high / 2.0 - low / 2.0) + axis.step() / 2.0
}

/// Bytes that a tile's values of variable length take.
fn weigh(sizes: &VarSizes, tile: usize) -> f64 {
    sizes.iter().map(|(times, list)| list.get(tile).copied().unwrap_or(0).saturating_mul(*times) as f64).sum()
}

fn overlap(a: &OrdinalBox, b: &OrdinalBox) -> bool {
    a.iter().zip(b).all(|(a, b)| a.0 <= b.1 && b.0 <= a.1)
}
