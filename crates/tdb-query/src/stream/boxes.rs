//! Divides a query into boxes that follow each other in the order of its result.
//!
//! If boxes would be nearly empty (for example, because one value of a real dimension touches more
//! tiles than a batch has room for), there would be far too many of them: the rest is then divided
//! by the keys of its cells (`keyed.rs`).

use std::sync::Arc;

use tdb_codec::{ArrayType, to_u64};
use tdb_schema::Dimension;

use super::cost::CellCost;
use super::cut::{Bounds, Cutter, Piece};
use super::keyed::{Keyed, MOST_LOOKS_AT_BOX};
use super::keys::Taken;
use super::line::Line;
use super::plan::{Part, What};
use super::spread::Spread;
use crate::asked::Ends;
use crate::order::window::KeyOrder;
use crate::order::{CellOrder, parts};
use crate::plan::Plan;
use crate::ranges::RangeSet;
use crate::share::{Room, smallest};
use crate::{OrInternal, Result};

/// The boxes of a query that are still to be read.
#[derive(Clone, Debug)]
pub(super) struct Boxes {
    cutter: Cutter,
    spread: Spread,
    lines: Vec<Line>,
    all: Bounds,
    order: CellOrder,
    /// Whether the lines' numbers are places in the sequence that was asked for.
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
    keyed: Option<Keyed>,
}

/// A dimension in which a part covers less than the whole query.
#[derive(Debug)]
pub(super) struct Narrowed {
    dimension: usize,
    to: To,
}

#[derive(Debug)]
enum To {
    Ends(Ends),
    /// Intervals in the order of the result.
    Exactly(RangeSet),
}

/// A box is barren if it has fewer cells than this, by estimate or as read.
const FEW_CELLS: u64 = 16;
/// This many barren boxes are read before cells are taken by keys, for which their coordinates are
/// decoded a second time.
const MOST_BARREN: u64 = 256;
/// The same if a condition may be the reason for empty boxes.
const MOST_BARREN_OF_CONDITION: u64 = 1024;

impl Boxes {
    /// The boxes of a query; `None` if it has no cells.
    pub(super) fn new(
        plan: &Plan,
        cost: &CellCost,
        lines: Vec<Line>,
        order: CellOrder,
    ) -> Result<Option<Self>> {
        let Some(all) = bounds_of(plan, &lines) else { return Ok(None) };
        let schema = plan.array.schema();
        let dense = schema.array_type == ArrayType::Dense;
        let places = dense && several(plan);
        let spread = if places {
            Spread::places(plan, lines.clone(), cost)?
        } else if dense {
            Spread::dense(plan, lines.clone(), cost, &all)?
        } else {
            Spread::sparse(plan, lines.clone(), cost, &all)?
        };
        let cutter = Cutter::new(lines.clone(), parts(schema, order), all.clone(), dense);
        // Tiles of dense arrays are counted by their cells, whether or not fragments have them.
        let dense_tiles = dense.then(|| space_tiles(plan, &all, places));
        let (touched, barren, keyed) = (Vec::new(), 0, None);
        let cells = 0;
        Ok(Some(Self {
            cutter,
            spread,
            lines,
            all,
            order,
            places,
            dense_tiles,
            touched,
            barren,
            cells,
            keyed,
        }))
    }

    /// Approximate number of tiles and cells of all boxes.
    pub(super) fn totals(&self) -> (u64, u64) {
        let (tiles, cells) = self.spread.totals();
        match self.dense_tiles {
            Some(tiles) => (super::whole(tiles), volume(&self.all)),
            None => (super::whole(tiles), super::whole(cells)),
        }
    }

    /// About how often a tile is read, on average, if boxes have this room.
    pub(super) fn repeats(&self, room: u64) -> f64 {
        let boxes = self.spread.cost(&self.all, 1.0) as f64 / room.max(1) as f64;
        let along = self.cutter.first_dimension().zip(Some(boxes)).filter(|(_, boxes)| *boxes > 1.0);
        along.map_or(1.0, |(dimension, boxes)| {
            1.0 + (boxes - 1.0) * self.spread.covered(dimension, self.all.get(dimension).copied())
        })
    }

    /// Bytes that the plan itself takes, without what is taken by keys.
    pub(super) fn held(&self) -> u64 {
        self.spread.held()
    }

    /// Approximate bytes of the most expensive of the smallest boxes.
    pub(super) fn min(&self) -> u64 {
        self.spread.min()
    }

    /// The next box, or a window of one, in a share of the room. `scale` computes the share, and
    /// `times` is its inverse.
    pub(super) fn next(
        &mut self,
        plan: &Plan,
        cost: &CellCost,
        room: Room,
        scale: impl Fn(u64) -> u64,
        times: f64,
    ) -> Result<Option<Part>> {
        let max = if plan.condition.is_some() { MOST_BARREN_OF_CONDITION } else { MOST_BARREN };
        while self.keyed.is_some() || self.barren >= max {
            if let Some(keyed) = &mut self.keyed {
                keyed.check_pace(&room, MOST_LOOKS_AT_BOX)?;
                if let Some(part) = keyed.next(plan, cost, &room, &scale)? {
                    return Ok(Some(part));
                }
                self.keyed = None;
            }
            if self.barren >= max {
                let Some(bounds) = self.cutter.take() else { return Ok(None) };
                let narrowed = self.narrowed(plan, &bounds)?;
                let order = KeyOrder::new(plan.array.schema(), self.order);
                self.keyed = Some(Keyed::new(plan, cost, order, room.bytes(), narrowed)?);
            }
        }
        let fit = |bounds: &Bounds| self.spread.cost(bounds, times) <= room.bytes();
        let Some(piece) = self.cutter.next(fit) else { return Ok(None) };
        let spread = self.spread.touched(&piece.bounds);
        let (touched, mut tiles) = (spread.fragments, spread.tiles);
        let (fixed, fetched) = if let Some(all) = self.dense_tiles {
            let cells = volume(&piece.bounds);
            tiles = all * cells as f64 / volume(&self.all).max(1) as f64;
            (cells.saturating_mul(cost.per_decoded_cell()), cells.saturating_mul(cost.per_fetched_cell()))
        } else {
            (super::whole(cost.per_fragment()).saturating_mul(to_u64(touched.len())), 0)
        };
        self.cells = super::whole(spread.cells);
        let narrowed = self.narrowed(plan, &piece.bounds)?;
        let room = Arc::new(room);
        let over = room.charge(fixed).and_then(|()| room.set_aside(fetched));
        if let Err(error) = over {
            if self.cutter.put_back(piece) {
                return self.next(plan, cost, room.again(), scale, times * 2.0);
            }
            return Err(smallest(error).into());
        }
        Ok(Some(Part { what: What::Box(piece), narrowed, room, tiles, touched }))
    }

    fn narrowed(&self, plan: &Plan, bounds: &Bounds) -> Result<Arc<Vec<Narrowed>>> {
        let mut narrowed = Vec::new();
        let dimensions = self.lines.iter().zip(&plan.array.schema().domain.dimensions).enumerate();
        for ((dimension, (line, own)), (span, all)) in dimensions.zip(bounds.iter().zip(&self.all)) {
            if span == all {
                continue;
            }
            let to = if self.places {
                let ends = line
                    .at(span.0, span.1)
                    .into_iter()
                    .map(|(low, high)| Ok(Ends { low: own.coordinate(low), high: own.coordinate(high) }));
                To::Exactly(RangeSet::new(own, ends)?)
            } else {
                // Ends of the whole query stay as they were asked for, including open ends.
                let low = if span.0 == all.0 { None } else { line.low(span.0) };
                let high = if span.1 == all.1 { None } else { line.high(span.1) };
                To::Ends(Ends { low, high })
            };
            narrowed.push(Narrowed { dimension, to });
        }
        Ok(Arc::new(narrowed))
    }

    /// Takes a box back, to be cut smaller. Fails if that is not possible.
    pub(super) fn put_back(&mut self, piece: Piece) -> bool {
        self.cutter.put_back(piece)
    }

    /// Takes a window of a box back, to be cut smaller. Fails if that is not possible.
    pub(super) fn put_back_window(&mut self, taken: Taken) -> bool {
        self.keyed.as_mut().is_some_and(|keyed| keyed.put_back(taken))
    }

    /// Continues after a part. Returns the fragments that are done.
    pub(super) fn done(&mut self, part: &Part) -> Vec<usize> {
        let touched = &part.touched;
        let mut gone = core::mem::replace(&mut self.touched, touched.clone());
        let taken = match &part.what {
            What::Window(taken, _) => Some(taken),
            _ => None,
        };
        if taken.is_none() && self.dense_tiles.is_none() {
            let barren = self.cells.min(part.room.cells()) < FEW_CELLS;
            self.barren = if barren { self.barren.saturating_add(1) } else { self.barren.saturating_sub(1) };
        }
        match (taken, &mut self.keyed) {
            (Some(taken), Some(keyed)) => {
                gone.extend(touched);
                keyed.advance(taken);
                gone.retain(|fragment| !keyed.has_fragment(*fragment));
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
            To::Ends(ends) => plan = plan.narrowed(*dimension, ends)?,
            To::Exactly(set) => {
                let slot = plan.ranges.get_mut(*dimension);
                slot.or_internal("a part without its dimension")?.clone_from(set);
            }
        }
    }
    Ok(plan)
}

/// Whether some dimension is asked for in several intervals.
pub(crate) fn several(plan: &Plan) -> bool {
    let dimensions = &plan.array.schema().domain.dimensions;
    plan.ranges.iter().zip(dimensions).any(|(set, dimension)| set.len(dimension).is_some_and(|len| len != 1))
}

/// The dimensions as lines; `None` if one is of strings.
pub(crate) fn lines_of(plan: &Plan) -> Option<Vec<Line>> {
    let schema = plan.array.schema();
    let dense = schema.array_type == ArrayType::Dense;
    let places = dense && several(plan);
    let lines = schema.domain.dimensions.iter().zip(&plan.ranges).map(|(dimension, set)| {
        let line = Line::new(dimension)?;
        Some(if places { line.asked(&set.ordinals(dimension)?) } else { line })
    });
    lines.collect()
}

/// The box that contains all of a query's cells; `None` if it has none. For sparse arrays it is
/// limited to the domains of the fragments.
pub(crate) fn bounds_of(plan: &Plan, lines: &[Line]) -> Option<Bounds> {
    let schema = plan.array.schema();
    if schema.array_type == ArrayType::Dense && several(plan) {
        return lines.iter().map(|line| Some((0, line.places().checked_sub(1)?))).collect();
    }
    let stored = match schema.array_type {
        ArrayType::Dense => None,
        ArrayType::Sparse => Some(plan.array.bounds()?),
    };
    let mut bounds = Vec::with_capacity(lines.len());
    for (index, (line, dimension)) in lines.iter().zip(&schema.domain.dimensions).enumerate() {
        let (first, last) = match (&stored, &dimension.domain) {
            (Some(stored), _) => stored.get(index).map(|range| (&range.low, &range.high))?,
            (None, domain) => domain.as_ref().map(|(first, last)| (first, last))?,
        };
        let (mut low, mut high) = (line.number(first)?, line.number(last)?);
        // The first and last interval of a sorted set; all sets are sorted here.
        let set = plan.ranges.get(index)?;
        let ends = set.iter(dimension).next().zip(set.iter(dimension).last());
        let (begin, end) = ends?;
        low = low.max(begin.low.and_then(|value| line.number(&value)).unwrap_or(0));
        high = high.min(end.high.and_then(|value| line.number(&value)).unwrap_or(u64::MAX));
        if low > high {
            return None;
        }
        bounds.push((low, high));
    }
    Some(bounds)
}

/// Approximate number of space tiles in a box.
fn space_tiles(plan: &Plan, bounds: &Bounds, places: bool) -> f64 {
    let extents = plan.array.schema().domain.dimensions.iter().map(Dimension::extent_cells);
    let tiles = bounds.iter().zip(extents).map(|((low, high), extent)| {
        let Some(extent) = extent else { return 1.0 };
        // A sequence of places may begin anywhere in a tile.
        let tile = |number: u64| number.checked_div(extent).unwrap_or(0);
        let (first, last) =
            if places { (0, tile(high.saturating_sub(*low))) } else { (tile(*low), tile(*high)) };
        last.saturating_sub(first).saturating_add(1) as f64
    });
    tiles.product()
}

/// Number of cells of a box.
pub(crate) fn volume(bounds: &Bounds) -> u64 {
    let counts = bounds.iter().map(|(low, high)| high.saturating_sub(*low).saturating_add(1));
    counts.fold(1, u64::saturating_mul)
}
