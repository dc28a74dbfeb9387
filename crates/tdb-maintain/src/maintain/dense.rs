//! Consolidation of dense fragments: their common box, read a slab of tiles at a time.

use std::sync::Arc;

use tdb_codec::{Layout, to_u64};
use tdb_schema::{ArraySchema, FieldKind, Range};

use super::Tell;
use super::fragments::{Job, open};
use crate::write::{BoxPlan, CheckedColumn, Merged, append_box};
use crate::{Array, Column, Error, FragmentWriter, Result, Snapshot};

/// One side of a box, in cells from the low end of the domain, both ends included.
type Side = (u64, u64);

/// Writes the new fragments; adds each one's folder to `folders` when it is complete.
pub(super) fn run(job: &Job<'_>, folders: &mut Vec<String>, tell: &mut Tell<'_>) -> Result<()> {
    let schema = job.writer.schema();
    let inputs: Vec<String> = job.inputs.iter().map(|fragment| fragment.folder().to_owned()).collect();
    let key = job.array.schema_key().to_owned();
    // Cells outside of the current domain are not read, but may be when it grows.
    let all = Arc::new(ArraySchema { current_domain: None, ..schema.clone() });
    let source = open(job.writer)?.restricted(&inputs, all, key);
    let sides = source.non_empty_domain().and_then(|union| ordinals(schema, &union)).ok_or_else(|| {
        Error::refused("consolidation", "the fragments' domains do not match the array's dimensions")
    })?;
    let extents: Vec<u64> = (0..sides.len()).map(|index| extent(schema, index)).collect();
    let mut order: Vec<usize> = (0..sides.len()).collect();
    if schema.tile_order == Layout::ColMajor {
        order.reverse();
    }
    let tile_cells = extents.iter().fold(1u64, |cells, extent| cells.saturating_mul(*extent));
    let parts = parts(job, &sides, &extents, &order);
    let slabs: Vec<Vec<Vec<Side>>> =
        parts.iter().map(|part| slabs(job, part, &extents, &order, tile_cells)).collect();
    let total = slabs.iter().map(Vec::len).fold(0, |sum, count| sum + to_u64(count)).max(1);
    let mut done = 0u64;
    for (index, (part, slabs)) in parts.iter().zip(&slabs).enumerate() {
        let merged = Merged::new(job.part(index)?);
        let mut fragment =
            FragmentWriter::dense_merged(job.writer, ranges(schema, part), tile_cells, merged)?;
        for slab in slabs {
            append(&source, schema, slab, &mut fragment)?;
            done = done.saturating_add(1);
            tell(done.min(total.saturating_sub(1)), total)?;
        }
        folders.push(fragment.finish_unmarked()?);
    }
    Ok(())
}

fn ordinals(schema: &ArraySchema, ranges: &[Range]) -> Option<Vec<Side>> {
    let pairs = ranges.iter().zip(&schema.domain.dimensions);
    pairs
        .map(|(range, dimension)| Some((dimension.ordinal(&range.low)?, dimension.ordinal(&range.high)?)))
        .collect()
}

fn ranges(schema: &ArraySchema, sides: &[Side]) -> Vec<Range> {
    let pairs = sides.iter().zip(&schema.domain.dimensions);
    let value = |dimension: &tdb_schema::Dimension, at| dimension.coordinate(at).unwrap_or_default();
    pairs
        .map(|((low, high), dimension)| Range::new(value(dimension, *low), value(dimension, *high)))
        .collect()
}

fn extent(schema: &ArraySchema, index: usize) -> u64 {
    let Some(dimension) = schema.domain.dimensions.get(index) else { return 1 };
    let whole = dimension.last_ordinal().map_or(1, |last| last.saturating_add(1));
    dimension.extent_cells().unwrap_or(whole).max(1)
}

/// First and last tile of a side.
fn tiles((low, high): Side, extent: u64) -> (u64, u64) {
    (low.checked_div(extent).unwrap_or(0), high.checked_div(extent).unwrap_or(0))
}

/// The part of a side that is in some of its tiles.
fn cut((low, high): Side, extent: u64, first: u64, last: u64) -> Side {
    let start = first.saturating_mul(extent);
    let end = last.saturating_add(1).saturating_mul(extent).saturating_sub(1);
    (low.max(start), high.min(end))
}

/// The boxes of the new fragments: whole rows of tiles of the slowest dimension, as many for each as the size limit
/// allows.
fn parts(job: &Job<'_>, sides: &[Side], extents: &[u64], order: &[usize]) -> Vec<Vec<Side>> {
    let limit = job.settings.fragment_bytes;
    let Some((index, side, extent)) = order
        .first()
        .and_then(|index| Some((*index, *sides.get(*index)?, *extents.get(*index)?)))
        .filter(|_| limit != u64::MAX)
    else {
        return vec![sides.to_vec()];
    };
    let bytes = job.inputs.iter().fold(0u64, |sum, fragment| sum.saturating_add(fragment.size()));
    let (first, last) = tiles(side, extent);
    let rows = last.saturating_sub(first).saturating_add(1);
    let per_row = bytes.checked_div(rows).unwrap_or(0).max(1);
    let step = limit.checked_div(per_row).unwrap_or(1).max(1);
    split(sides, index, side, extent, step)
}

/// A box cut along one side, after every `step` tiles.
fn split(sides: &[Side], index: usize, side: Side, extent: u64, step: u64) -> Vec<Vec<Side>> {
    let (mut tile, last) = tiles(side, extent);
    let mut boxes = Vec::new();
    while tile <= last {
        let end = tile.saturating_add(step.saturating_sub(1)).min(last);
        let mut part = sides.to_vec();
        if let Some(slot) = part.get_mut(index) {
            *slot = cut(side, extent, tile, end);
        }
        boxes.push(part);
        tile = end.saturating_add(1);
    }
    boxes
}

/// A box cut into runs of consecutive tiles that fit the memory.
fn slabs(job: &Job<'_>, part: &[Side], extents: &[u64], order: &[usize], tile_cells: u64) -> Vec<Vec<Side>> {
    let cell = job.writer.schema().attributes.iter().fold(0u64, |sum, attribute| {
        let field = job.writer.schema().field(&attribute.name).and_then(|field| field.cell_size());
        sum.saturating_add(to_u64(field.unwrap_or(VAR_CELL)).saturating_add(1))
    });
    let room = job.settings.memory.checked_div(tile_cells.saturating_mul(cell).saturating_mul(2).max(1));
    let max = room.unwrap_or(1).max(1);
    let mut boxes = vec![part.to_vec()];
    // From the slowest dimension on, until each box has few enough tiles.
    for (at, index) in order.iter().enumerate() {
        let inner = order.iter().skip(at.saturating_add(1));
        let count = |index: &usize| {
            let side = part.get(*index).copied().unwrap_or_default();
            let (first, last) = tiles(side, extents.get(*index).copied().unwrap_or(1));
            last.saturating_sub(first).saturating_add(1)
        };
        let inner = inner.map(count).fold(1u64, u64::saturating_mul);
        let step = max.checked_div(inner).unwrap_or(0).max(1);
        let (Some(side), Some(extent)) = (part.get(*index), extents.get(*index)) else { continue };
        boxes = boxes.iter().flat_map(|sides| split(sides, *index, *side, *extent, step)).collect();
        if inner <= max {
            break;
        }
    }
    boxes
}

/// The assumed number of bytes of a cell of variable length.
const VAR_CELL: usize = 64;

fn append(
    array: &Snapshot,
    schema: &ArraySchema,
    slab: &[Side],
    fragment: &mut FragmentWriter<'_>,
) -> Result<()> {
    let domain = ranges(schema, slab);
    let array = Array::from(array.clone());
    let mut read = array.read().fields(schema.attributes.iter().map(|attribute| attribute.name.clone()));
    for (range, dimension) in domain.iter().zip(&schema.domain.dimensions) {
        read = read.range_bytes(&dimension.name, Some(range.low.clone()), Some(range.high.clone()));
    }
    let read = read.order(Layout::RowMajor).collect()?;
    let plan = BoxPlan::new(schema, &domain)?;
    let cells = plan.cells;
    if read.len() != cells {
        let why = format!("{} cells were read of a box of {cells}", read.len());
        return Err(Error::refused("consolidation", why));
    }
    let columns: Vec<Column> = read.into_columns();
    let checked: Vec<CheckedColumn<'_>> = columns
        .iter()
        .enumerate()
        .map(|(index, column)| CheckedColumn::of(FieldKind::Attribute(index), column, cells))
        .collect();
    append_box(fragment, schema, plan, Layout::RowMajor, &checked)
}
