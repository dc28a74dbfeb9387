//! Divides a query into parts of about equal cost; each part is a query.
//!
//! Parts are boxes that follow each other in the order of the result, so all versions of a cell are
//! in the same part. The cost of a box is computed from metadata: the bytes of the tiles it touches
//! (`tiles.rs`), spread evenly over the area they cover (`weight.rs`) along dimensions as
//! whole numbers (`axis.rs`). `cut.rs` chooses where to cut.

mod axis;
mod cut;
mod thresholds;
mod tiles;
mod weight;

use tdb_codec::{ArrayType, Layout, to_u64};
use tdb_order::{KeyPart, parts, reals};
use tdb_schema::Range;

use self::axis::Axis;
use self::cut::{Cutting, Item};
use self::tiles::Touched;
use crate::Result;
use crate::plan::Plan;
use crate::prefetch::prefetch_sections;
use crate::requested::Bounds;
use crate::stream::{OrdinalAxis, OrdinalBox, bounds_of, order_of, ordinal_axes, several, volume};

/// The intervals that a query asks for in each dimension, in the order they are asked for; `None`
/// for the whole dimension.
pub type Ranges = Vec<Option<Vec<Bounds>>>;

/// The ranges of a query, checked, in the form of requested ranges.
pub fn ranges(plan: &Plan) -> Ranges {
    let sets = plan.ranges.iter().zip(&plan.array.schema().domain.dimensions);
    sets.map(|(set, dimension)| (!set.is_all()).then(|| set.iter(dimension).collect())).collect()
}

/// The ranges of at most `max` parts of a query, in the order of its result if it has one; empty if
/// the query is not cut.
pub fn partitions(plan: &Plan, max: usize) -> Result<Vec<Ranges>> {
    if max < 2 {
        return Ok(Vec::new());
    }
    if let Some(prefetched) = &plan.array.context().prefetched
        && plan.array.schema().array_type == ArrayType::Sparse
    {
        prefetch_sections(plan, prefetched)?;
    }
    let found = match plan.array.schema().array_type {
        ArrayType::Dense => dense(plan, max),
        ArrayType::Sparse => sparse(plan, max)?,
    };
    let mut found = found.unwrap_or_default();
    // There may be no string between two others.
    found.retain(|ranges| ranges.iter().flatten().all(|asked| !asked.is_empty()));
    Ok(if found.len() < 2 { Vec::new() } else { found })
}

/// Parts of a dense query. Its cells weigh what they take in the result, and in addition the bytes
/// that fragments store of them, spread evenly.
fn dense(plan: &Plan, max: usize) -> Option<Vec<Ranges>> {
    let ordinal_axes = ordinal_axes(plan)?;
    let all = bounds_of(plan, &ordinal_axes)?;
    let weight = volume(&all).saturating_mul(tiles::bytes_of_cell(plan)) as f64;
    let mut items = vec![Item { bounds: all.clone(), weight }];
    let places = several(plan);
    for fragment in plan.array.fragments().iter().filter(|_| !places) {
        let stored = tiles::stored_bytes(plan, fragment) as f64;
        items.extend(fragment.bounds().and_then(|domain| in_query(domain, &ordinal_axes, &all, stored)));
    }
    let axes: Vec<Axis> = ordinal_axes
        .iter()
        .zip(&all)
        .map(|(ordinals, (low, high))| Axis::dense(ordinals.clone(), *low, *high))
        .collect();
    let parts = parts(plan.array.schema(), order_of(plan));
    let mut cutting = Cutting { axes: &axes, parts: &parts, dense: true, done: Vec::new() };
    cutting.cut(&all, &items, max, 0);
    let boxes = cutting.done.iter();
    if places {
        return boxes.map(|bounds| at_places(plan, &ordinal_axes, bounds, &all)).collect();
    }
    boxes.map(|bounds| within(plan, &axes, bounds, &all)).collect()
}

/// The part of a fragment's box that a query asks for, with its share of the bytes that the
/// fragment stores.
fn in_query(domain: &[Range], ordinal_axes: &[OrdinalAxis], all: &OrdinalBox, stored: f64) -> Option<Item> {
    let mut item = Item { bounds: Vec::with_capacity(ordinal_axes.len()), weight: stored };
    for ((range, ordinals), (first, last)) in domain.iter().zip(ordinal_axes).zip(all) {
        let (low, high) = (ordinals.number(&range.low)?, ordinals.number(&range.high)?);
        let (from, to) = (low.max(*first), high.min(*last));
        let cells =
            |low: u64, high: u64| high.checked_sub(low).map(|last| to_u64(1).saturating_add(last) as f64);
        item.weight *= cells(from, to)? / cells(low, high)?;
        item.bounds.push((from, to));
    }
    Some(item)
}

/// Parts of a sparse query.
fn sparse(plan: &Plan, max: usize) -> Result<Option<Vec<Ranges>>> {
    let Touched { tiles, unordered } = tiles::touched(plan)?;
    let dimensions = &plan.array.schema().domain.dimensions;
    let mut axes = Vec::with_capacity(dimensions.len());
    for (index, (dimension, set)) in dimensions.iter().zip(&plan.ranges).enumerate() {
        let along = tiles.iter().filter_map(|tile| tile.bounds.get(index));
        let Some(axis) = Axis::new(dimension, set, along) else { return Ok(None) };
        axes.push(axis);
    }
    let all: OrdinalBox = axes.iter().map(Axis::bounds).collect();
    let number = |(axis, (range, (first, last))): (&Axis, (&Range, &(u64, u64)))| {
        let (low, high) = (axis.number(&range.low)?, axis.number(&range.high)?);
        // Ends of rectangles that are out of order are corrected.
        Some((low.clamp(*first, *last), high.clamp(low.clamp(*first, *last), *last)))
    };
    // Weights decide where to cut, so that a tile without a place only makes parts less equal.
    let items = tiles.iter().filter_map(|tile| {
        let bounds = axes.iter().zip(tile.bounds.iter().zip(&all)).map(number).collect::<Option<_>>()?;
        Some(Item { bounds, weight: tile.weight })
    });
    let items: Vec<Item> = items.collect();
    let parts = cut_along(plan, &unordered);
    let mut cutting = Cutting { axes: &axes, parts: &parts, dense: false, done: Vec::new() };
    cutting.cut(&all, &items, max, 0);
    Ok(cutting.done.iter().map(|bounds| within(plan, &axes, bounds, &all)).collect())
}

/// The parts of the order that a sparse query may be cut along. Without an order, they are those of
/// the tile order, since tiles are read whole.
fn cut_along(plan: &Plan, unordered: &[bool]) -> Vec<KeyPart> {
    let schema = plan.array.schema();
    let parts = parts(schema, order_of(plan));
    let cannot = |part: &KeyPart| unordered.get(part.dimension()).copied().unwrap_or(false);
    let tile = |part: &KeyPart| match part {
        KeyPart::Tile(index) => schema.domain.dimensions.get(*index).is_none_or(reals::tiles_ascend),
        _ => true,
    };
    match plan.order {
        Layout::RowMajor | Layout::ColMajor | Layout::GlobalOrder => {
            parts.into_iter().filter(tile).take_while(|part| !cannot(part)).collect()
        }
        _ => parts.into_iter().filter(tile).filter(|part| !cannot(part)).collect(),
    }
}

/// The ranges of a query in a box; `None` if they cannot be computed, and the query is not cut.
fn within(plan: &Plan, axes: &[Axis], bounds: &OrdinalBox, all: &OrdinalBox) -> Option<Ranges> {
    let mut ranges = ranges(plan);
    let dimensions = &plan.array.schema().domain.dimensions;
    for (index, (axis, (span, whole))) in axes.iter().zip(bounds.iter().zip(all)).enumerate() {
        if span == whole {
            continue;
        }
        // Ends of the whole query stay as they were asked for, including open ends.
        let low = if span.0 == whole.0 { None } else { Some(axis.low(span.0)?) };
        let high = if span.1 == whole.1 { None } else { Some(axis.high(span.1)?) };
        let (set, dimension) = (plan.ranges.get(index)?, dimensions.get(index)?);
        *ranges.get_mut(index)? = Some(set.cut(dimension, &Bounds { low, high }).collect());
    }
    Some(ranges)
}

/// The ranges at some positions of the sequences that were asked for; `None` as for [`within`].
fn at_places(
    plan: &Plan,
    ordinal_axes: &[OrdinalAxis],
    bounds: &OrdinalBox,
    all: &OrdinalBox,
) -> Option<Ranges> {
    let mut ranges = ranges(plan);
    let dimensions = &plan.array.schema().domain.dimensions;
    for (index, (ordinals, (span, whole))) in ordinal_axes.iter().zip(bounds.iter().zip(all)).enumerate() {
        if span == whole {
            continue;
        }
        let own = dimensions.get(index)?;
        let ends = ordinals.at(span.0, span.1).into_iter();
        // An end without a coordinate would be open, and cells would be in two parts.
        let ends = ends.map(|(low, high)| {
            Some(Bounds { low: Some(own.coordinate(low)?), high: Some(own.coordinate(high)?) })
        });
        *ranges.get_mut(index)? = Some(ends.collect::<Option<_>>()?);
    }
    Some(ranges)
}
