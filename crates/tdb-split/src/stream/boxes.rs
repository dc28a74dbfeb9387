//! Divides a query into boxes that follow each other in the order of its result.
//!
//! If boxes would be nearly empty (for example, because one value of a real dimension touches more
//! tiles than a batch has room for), there would be far too many of them: the rest is then divided
//! by the keys of its cells (`key_ranges.rs`).

use std::sync::Arc;

use tdb_codec::{ArrayType, to_u64};
use tdb_order::key_range::KeyOrder;
use tdb_order::{CellOrder, KeyPart, parts, reals};
use tdb_schema::{ArraySchema, Dimension};

use super::cost::CellCost;
use super::cost_model::CostModel;
use super::cut::{CutBox, Cutter, OrdinalBox};
use super::key_ranges::KeyRanges;
use super::key_samples::SampledRange;
use super::ordinal_axis::{OrdinalAxis, interval_len};
use super::plan::{Part, PartSource};
use super::thresholds::{
    MAX_BARREN_BOXES, MAX_BARREN_BOXES_WITH_CONDITION, MAX_LISTINGS_OF_BOX, MIN_CELLS_OF_BOX,
};
use crate::batch_scope::{Reservation, smallest};
use crate::plan::Plan;
use crate::ranges::RangeSet;
use crate::requested::Bounds;
use crate::sparse::candidate::rounds;
use crate::{OrInternal, Result};

/// The boxes of a query that are still to be read.
#[derive(Clone, Debug)]
pub(super) struct Boxes {
    cutter: Cutter,
    model: CostModel,
    axes: Vec<OrdinalAxis>,
    all: OrdinalBox,
    order: CellOrder,
    /// Whether the numbers of the axes are positions in the sequence that was asked for.
    places: bool,
    /// The number of space tiles in all boxes of a dense array.
    dense_tiles: Option<f64>,
    /// Fragments that the last box touched.
    touched: Vec<usize>,
    /// The number of barren boxes, minus the number of others.
    barren: u64,
    /// Estimated cells of the last box.
    cells: u64,
    /// The box that is currently divided by keys.
    key_ranges: Option<KeyRanges>,
}

/// A dimension in which a part covers less than the whole query.
#[derive(Debug)]
pub(super) struct Narrowed {
    dimension: usize,
    to: To,
}

#[derive(Debug)]
enum To {
    Bounds(Bounds),
    /// Intervals in the order of the result.
    Exactly(RangeSet),
}

impl Boxes {
    /// The boxes of a query; `None` if it has no cells.
    pub(super) fn new(
        plan: &Plan,
        cost: &CellCost,
        axes: Vec<OrdinalAxis>,
        order: CellOrder,
    ) -> Result<Option<Self>> {
        let Some(all) = bounds_of(plan, &axes) else { return Ok(None) };
        let schema = plan.array.schema();
        let dense = schema.array_type == ArrayType::Dense;
        let places = dense && several(plan);
        let model = if places {
            CostModel::places(plan, axes.clone(), cost)?
        } else if dense {
            CostModel::dense(plan, axes.clone(), cost, &all)?
        } else {
            CostModel::sparse(plan, axes.clone(), cost, &all)?
        };
        let cutter = Cutter::new(axes.clone(), parts(schema, order), all.clone(), dense);
        // Tiles of dense arrays are counted by their cells, whether or not fragments have them.
        let dense_tiles = dense.then(|| space_tiles(plan, &all, places));
        let (touched, barren, key_ranges) = (Vec::new(), 0, None);
        let cells = 0;
        Ok(Some(Self {
            cutter,
            model,
            axes,
            all,
            order,
            places,
            dense_tiles,
            touched,
            barren,
            cells,
            key_ranges,
        }))
    }

    /// Approximate number of tiles and cells of all boxes.
    pub(super) fn totals(&self) -> (u64, u64) {
        let (tiles, cells) = self.model.totals();
        match self.dense_tiles {
            Some(tiles) => (super::whole(tiles), volume(&self.all)),
            None => (super::whole(tiles), super::whole(cells)),
        }
    }

    /// About how often a tile is read, on average, if boxes have this room.
    pub(super) fn repeats(&self, room: u64) -> f64 {
        let boxes = self.model.cost(&self.all, 1.0) as f64 / room.max(1) as f64;
        let along = self.cutter.first_dimension().zip(Some(boxes)).filter(|(_, boxes)| *boxes > 1.0);
        along.map_or(1.0, |(dimension, boxes)| {
            1.0 + (boxes - 1.0) * self.model.covered(dimension, self.all.get(dimension).copied())
        })
    }

    /// Bytes that the plan itself takes, without what is taken by keys.
    pub(super) fn held(&self) -> u64 {
        self.model.held()
    }

    /// Approximate bytes of the most expensive of the smallest boxes.
    pub(super) fn min(&self) -> u64 {
        self.model.min()
    }

    /// The next box, or a key range of one, in a share of the room. `scale` computes the share, and
    /// `times` is its inverse.
    pub(super) fn next(
        &mut self,
        plan: &Plan,
        cost: &CellCost,
        room: Reservation,
        scale: impl Fn(u64) -> u64,
        times: f64,
    ) -> Result<Option<Part>> {
        let max = if plan.condition.is_some() { MAX_BARREN_BOXES_WITH_CONDITION } else { MAX_BARREN_BOXES };
        while self.key_ranges.is_some() || self.barren >= max {
            if let Some(key_ranges) = &mut self.key_ranges {
                key_ranges.check_pace(&room, MAX_LISTINGS_OF_BOX)?;
                if let Some(part) = key_ranges.next(plan, cost, &room, &scale)? {
                    return Ok(Some(part));
                }
                self.key_ranges = None;
            }
            if self.barren >= max {
                let Some(bounds) = self.cutter.take() else { return Ok(None) };
                let narrowed = self.narrowed(plan, &bounds)?;
                let order = KeyOrder::new(plan.array.schema(), self.order);
                self.key_ranges = Some(KeyRanges::new(plan, cost, order, room.bytes(), narrowed)?);
            }
        }
        let fit = |bounds: &OrdinalBox| self.model.cost(bounds, times) <= room.bytes();
        let Some(piece) = self.cutter.next(fit)? else { return Ok(None) };
        let model = self.model.touched(&piece.bounds);
        let (touched, mut tiles) = (model.fragments, model.tiles);
        let (fixed, fetched) = if let Some(all) = self.dense_tiles {
            let cells = volume(&piece.bounds);
            tiles = all * cells as f64 / volume(&self.all).max(1) as f64;
            (cells.saturating_mul(cost.per_decoded_cell()), cells.saturating_mul(cost.per_fetched_cell()))
        } else {
            (super::whole(cost.per_fragment()).saturating_mul(to_u64(touched.len())), 0)
        };
        self.cells = super::whole(model.cells);
        let narrowed = self.narrowed(plan, &piece.bounds)?;
        let room = Arc::new(room);
        let over = room.reserve(fixed).and_then(|()| room.set_aside(fetched));
        if let Err(error) = over {
            if self.cutter.put_back(piece)? {
                return self.next(plan, cost, room.unreserved(), scale, times * 2.0);
            }
            return Err(smallest(error).into());
        }
        Ok(Some(Part { source: PartSource::Box(piece), narrowed, room, tiles, touched }))
    }

    fn narrowed(&self, plan: &Plan, bounds: &OrdinalBox) -> Result<Arc<Vec<Narrowed>>> {
        let mut narrowed = Vec::new();
        let dimensions = self.axes.iter().zip(&plan.array.schema().domain.dimensions).enumerate();
        for ((dimension, (axis, own)), (span, all)) in dimensions.zip(bounds.iter().zip(&self.all)) {
            if span == all {
                continue;
            }
            let to = if self.places {
                let end = |number: u64| own.coordinate(number).or_internal(NO_COORDINATE).map(Some);
                let ends = axis.at(span.0, span.1).into_iter();
                let ends = ends.map(|(low, high)| Ok(Bounds { low: end(low)?, high: end(high)? }));
                let ends: Vec<Bounds> = ends.collect::<Result<_>>()?;
                To::Exactly(RangeSet::new(own, ends.into_iter().map(Ok))?)
            } else {
                // Ends of the whole query stay as they were asked for, including open ends.
                let end = |is_open: bool, coordinate: Option<Vec<u8>>| match is_open {
                    true => Ok(None),
                    false => coordinate.or_internal(NO_COORDINATE).map(Some),
                };
                let low = end(span.0 == all.0, axis.low(span.0))?;
                let high = end(span.1 == all.1, axis.high(span.1))?;
                To::Bounds(Bounds { low, high })
            };
            narrowed.push(Narrowed { dimension, to });
        }
        Ok(Arc::new(narrowed))
    }

    /// Takes a box back, to be cut smaller. Fails if that is not possible.
    pub(super) fn put_back(&mut self, piece: CutBox) -> Result<bool> {
        self.cutter.put_back(piece)
    }

    /// Takes a key range of a box back, to be cut smaller. Fails if that is not possible.
    pub(super) fn put_back_key_range(&mut self, sampled: SampledRange) -> bool {
        self.key_ranges.as_mut().is_some_and(|key_ranges| key_ranges.put_back(sampled))
    }

    /// Continues after a part. Returns the fragments that are done.
    pub(super) fn done(&mut self, part: &Part) -> Vec<usize> {
        let touched = &part.touched;
        let mut gone = core::mem::replace(&mut self.touched, touched.clone());
        let sampled = match &part.source {
            PartSource::KeyRange(sampled, _) => Some(sampled),
            _ => None,
        };
        if sampled.is_none() && self.dense_tiles.is_none() {
            let barren = self.cells.min(part.room.cells()) < MIN_CELLS_OF_BOX;
            self.barren = if barren { self.barren.saturating_add(1) } else { self.barren.saturating_sub(1) };
        }
        match (sampled, &mut self.key_ranges) {
            (Some(sampled), Some(key_ranges)) => {
                gone.extend(touched);
                key_ranges.advance(sampled);
                gone.retain(|fragment| !key_ranges.has_fragment(*fragment));
            }
            _ => gone.retain(|fragment| touched.binary_search(fragment).is_err()),
        }
        gone
    }
}

/// Restricts a query to a part in these dimensions.
pub(super) fn narrow(whole: &Plan, narrowed: &[Narrowed]) -> Result<Plan> {
    let mut plan = whole.clone();
    for Narrowed { dimension, to } in narrowed {
        match to {
            To::Bounds(ends) => plan = plan.narrowed(*dimension, ends)?,
            To::Exactly(set) => {
                let slot = plan.ranges.get_mut(*dimension);
                slot.or_internal("a part without its dimension")?.clone_from(set);
            }
        }
    }
    Ok(plan)
}

/// The internal error of a box whose end has no coordinate: an open end would return cells twice.
const NO_COORDINATE: &str = "the end of a box has no coordinate";

/// Whether some dimension is asked for in several intervals.
pub(crate) fn several(plan: &Plan) -> bool {
    let dimensions = &plan.array.schema().domain.dimensions;
    plan.ranges.iter().zip(dimensions).any(|(set, dimension)| set.len(dimension).is_some_and(|len| len != 1))
}

/// The dimensions as ordinal axes; `None` if one is of strings.
pub(crate) fn ordinal_axes(plan: &Plan) -> Option<Vec<OrdinalAxis>> {
    let schema = plan.array.schema();
    let dense = schema.array_type == ArrayType::Dense;
    let places = dense && several(plan);
    let axes = schema.domain.dimensions.iter().zip(&plan.ranges).map(|(dimension, set)| {
        let axis = OrdinalAxis::new(dimension)?;
        Some(if places { axis.asked(&set.ordinals(dimension)?) } else { axis })
    });
    axes.collect()
}

/// The box that contains all of a query's cells; `None` if it has none. For sparse arrays it is
/// limited to the domains of the fragments.
pub(crate) fn bounds_of(plan: &Plan, axes: &[OrdinalAxis]) -> Option<OrdinalBox> {
    let schema = plan.array.schema();
    if schema.array_type == ArrayType::Dense && several(plan) {
        return axes.iter().map(|axis| Some((0, axis.places().checked_sub(1)?))).collect();
    }
    let stored = match schema.array_type {
        ArrayType::Dense => None,
        ArrayType::Sparse => Some(plan.array.bounds()?),
    };
    let mut bounds = Vec::with_capacity(axes.len());
    for (index, (axis, dimension)) in axes.iter().zip(&schema.domain.dimensions).enumerate() {
        let (first, last) = match (&stored, &dimension.domain) {
            (Some(stored), _) => stored.get(index).map(|range| (&range.low, &range.high))?,
            (None, domain) => domain.as_ref().map(|(first, last)| (first, last))?,
        };
        let (mut low, mut high) = (axis.number(first)?, axis.number(last)?);
        // The first and last interval of a sorted set; all sets are sorted here.
        let set = plan.ranges.get(index)?;
        let ends = set.iter(dimension).next().zip(set.iter(dimension).last());
        let (begin, end) = ends?;
        low = low.max(begin.low.and_then(|value| axis.number(&value)).unwrap_or(0));
        high = high.min(end.high.and_then(|value| axis.number(&value)).unwrap_or(u64::MAX));
        if low > high {
            return None;
        }
        bounds.push((low, high));
    }
    Some(bounds)
}

/// Approximate number of space tiles in a box.
fn space_tiles(plan: &Plan, bounds: &OrdinalBox, places: bool) -> f64 {
    let extents = plan.array.schema().domain.dimensions.iter().map(Dimension::extent_cells);
    let tiles = bounds.iter().zip(extents).map(|((low, high), extent)| {
        let Some(extent) = extent else { return 1.0 };
        // A sequence of places may begin anywhere in a tile.
        let tile = |number: u64| number.checked_div(extent).unwrap_or(0);
        let (first, last) =
            if places { (0, tile(high.saturating_sub(*low))) } else { (tile(*low), tile(*high)) };
        interval_len(first, last) as f64
    });
    tiles.product()
}

/// Number of cells of a box; `u64::MAX` if there are more.
pub(crate) fn volume(bounds: &OrdinalBox) -> u64 {
    let counts = bounds.iter().map(|(low, high)| interval_len(*low, *high));
    counts.fold(1, u64::saturating_mul)
}

/// Whether the cells between two coordinates of a dimension are consecutive in an order.
pub(super) fn has_boxes(schema: &ArraySchema, order: CellOrder) -> bool {
    let ascends = |part: &KeyPart| match part {
        KeyPart::Tile(index) => schema.domain.dimensions.get(*index).is_none_or(reals::tiles_ascend),
        KeyPart::Cell(_) | KeyPart::Bytes(_) => true,
    };
    order != CellOrder::Hilbert && parts(schema, order).iter().all(ascends)
}

/// Whether rectangles do not show where all cells are, so that boxes would miss some. A cell may be
/// at NaN in a dimension of which no range is asked for: libtiledb stores such cells, and they are
/// in no interval. A filter that rounds coordinates moves them a little.
pub(super) fn may_lie_outside(plan: &Plan) -> bool {
    let schema = plan.array.schema();
    let mut dimensions = schema.domain.dimensions.iter().zip(&plan.ranges).enumerate();
    dimensions.any(|(index, (dimension, set))| {
        dimension.datatype.physical().is_float() && (set.is_all() || rounds(schema, index))
    })
}
