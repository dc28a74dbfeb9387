//! Consolidation of dense fragments: their common box, read a slab of tiles at a time.

use std::sync::Arc;

use tdb_codec::{Layout, to_u64, to_usize};
use tdb_schema::{ArraySchema, Dimension, FieldKind, Range};

use crate::job::{ConsolidationJob, open};
use crate::plan::ReportProgress;
use crate::thresholds::VAR_CELL_BYTES;
use crate::write::{BoxPlan, CheckedColumn, Merged, append_box};
use crate::{Array, Column, Error, FragmentWriter, OrInternal, QueryError, Result, Snapshot};

/// One side of a box, in cells from the low end of the domain, both ends included.
type Side = (u64, u64);

/// Writes the new fragments; adds each one's folder to `folders` when it is complete.
pub(super) fn run(
    job: &ConsolidationJob<'_>,
    folders: &mut Vec<String>,
    tell: &mut ReportProgress<'_>,
) -> Result<()> {
    let schema = job.writer.schema();
    let inputs: Vec<String> = job.inputs.iter().map(|fragment| fragment.folder().to_owned()).collect();
    let key = job.array.schema_key().to_owned();
    // Cells outside of the current domain are not read, but may be when it grows.
    let mut all = schema.clone();
    all.current_domain = None;
    let source = open(job.writer)?.restricted(&inputs, Arc::new(all), key);
    let sides = source.non_empty_domain().and_then(|union| ordinals(schema, &union)).ok_or_else(|| {
        Error::refused("consolidation", "the fragments' domains do not match the array's dimensions")
    })?;
    let extents = schema.domain.dimensions.iter().map(extent).collect::<Result<Vec<u64>>>()?;
    if sides.len() != extents.len() {
        return Err(Error::internal("a dimension without a side of the box"));
    }
    let mut order: Vec<usize> = (0..sides.len()).collect();
    if schema.tile_order == Layout::ColMajor {
        order.reverse();
    }
    let tile_cells = extents.iter().try_fold(1u64, |cells, extent| cells.checked_mul(*extent));
    let tile_cells = tile_cells.ok_or(QueryError::TooLarge { cells: u128::MAX })?;
    let parts = parts(job, &sides, &extents, &order)?;
    let slabs = parts.iter().map(|part| slabs(job, part, &extents, &order, tile_cells));
    let slabs = slabs.collect::<Result<Vec<Vec<Vec<Side>>>>>()?;
    let total = slabs.iter().map(Vec::len).fold(0, |sum, count| sum + to_u64(count)).max(1);
    let mut done = 0u64;
    for (index, (part, slabs)) in parts.iter().zip(&slabs).enumerate() {
        let merged = Merged::new(job.part(index)?);
        let mut fragment =
            FragmentWriter::dense_merged(job.writer, ranges(schema, part)?, tile_cells, merged)?;
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

fn ranges(schema: &ArraySchema, sides: &[Side]) -> Result<Vec<Range>> {
    let pairs = sides.iter().zip(&schema.domain.dimensions);
    let range = |((low, high), dimension): (&Side, &Dimension)| {
        Some(Range::new(dimension.coordinate(*low)?, dimension.coordinate(*high)?))
    };
    let ranges: Option<Vec<Range>> = pairs.map(range).collect();
    ranges.or_internal("a box without coordinates in a dimension")
}

/// The cells of a tile along a dimension; all, if it has no tiles.
fn extent(dimension: &Dimension) -> Result<u64> {
    match dimension.extent_cells() {
        Some(extent) => Ok(extent.max(1)),
        None => {
            let last = dimension.last_ordinal().or_internal("a dense dimension without whole numbers")?;
            Ok(last.checked_add(1).ok_or(QueryError::TooLarge { cells: u128::MAX })?)
        }
    }
}

/// First and last tile of a side.
fn tiles((low, high): Side, extent: u64) -> (u64, u64) {
    (low.checked_div(extent).unwrap_or(0), high.checked_div(extent).unwrap_or(0))
}

/// The part of a side that is in its tiles `first..=last`.
fn cut((low, high): Side, extent: u64, first: u64, last: u64) -> Result<Side> {
    let start = first.checked_mul(extent).or_internal("a tile that begins behind all cells")?;
    // The last tile may end behind the last cell that has a number.
    let end = last.checked_add(1).and_then(|next| next.checked_mul(extent));
    Ok((low.max(start), end.and_then(|end| end.checked_sub(1)).map_or(high, |end| high.min(end))))
}

/// The boxes of the new fragments: whole rows of tiles of the slowest dimension, as many for each
/// as the size limit allows.
fn parts(
    job: &ConsolidationJob<'_>,
    sides: &[Side],
    extents: &[u64],
    order: &[usize],
) -> Result<Vec<Vec<Side>>> {
    let limit = job.settings.fragment_bytes;
    if limit == u64::MAX {
        return Ok(vec![sides.to_vec()]);
    }
    let slowest = order.first().and_then(|index| Some((*index, *sides.get(*index)?, *extents.get(*index)?)));
    let (index, side, extent) = slowest.or_internal("a box without its slowest side")?;
    let bytes = job.inputs.iter().fold(0u64, |sum, fragment| sum.saturating_add(fragment.size()));
    let (first, last) = tiles(side, extent);
    let rows = last.saturating_sub(first).saturating_add(1);
    let per_row = bytes.checked_div(rows).unwrap_or(0).max(1);
    let step = limit.checked_div(per_row).unwrap_or(1).max(1);
    split(sides, index, side, extent, step)
}

/// A box cut along one side, after every `step` tiles.
fn split(sides: &[Side], index: usize, side: Side, extent: u64, step: u64) -> Result<Vec<Vec<Side>>> {
    let (first, last) = tiles(side, extent);
    // No box has more tiles than a `usize`.
    let step = to_usize(step).unwrap_or(usize::MAX);
    let part = |tile: u64| {
        let end = tile.saturating_add(to_u64(step.saturating_sub(1))).min(last);
        let mut part = sides.to_vec();
        *part.get_mut(index).or_internal("a box without the side that is cut")? =
            cut(side, extent, tile, end)?;
        Ok(part)
    };
    (first..=last).step_by(step.max(1)).map(part).collect()
}

/// A box cut into runs of consecutive tiles that fit the memory.
fn slabs(
    job: &ConsolidationJob<'_>,
    part: &[Side],
    extents: &[u64],
    order: &[usize],
    tile_cells: u64,
) -> Result<Vec<Vec<Side>>> {
    let cell = job.writer.schema().attributes.iter().fold(0u64, |sum, attribute| {
        let field = job.writer.schema().field(&attribute.name).and_then(|field| field.cell_size());
        sum.saturating_add(to_u64(field.unwrap_or(VAR_CELL_BYTES)).saturating_add(1))
    });
    let room = job.settings.memory.checked_div(tile_cells.saturating_mul(cell).saturating_mul(2).max(1));
    let max = room.unwrap_or(1).max(1);
    let mut boxes = vec![part.to_vec()];
    // From the slowest dimension on, until each box has few enough tiles.
    for (at, index) in order.iter().enumerate() {
        let inner = order.iter().skip(at.saturating_add(1));
        let count = |index: &usize| {
            let (side, extent) = part.get(*index).zip(extents.get(*index))?;
            let (first, last) = tiles(*side, *extent);
            Some(last.saturating_sub(first).saturating_add(1))
        };
        let inner = inner.map(count).try_fold(1u64, |all, count| Some(all.saturating_mul(count?)));
        let inner = inner.or_internal("a box without one of its sides")?;
        let step = max.checked_div(inner).unwrap_or(0).max(1);
        let both = part.get(*index).zip(extents.get(*index));
        let (side, extent) = both.or_internal("a box without one of its sides")?;
        let cut = boxes.iter().map(|sides| split(sides, *index, *side, *extent, step));
        boxes = cut.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect();
        if inner <= max {
            break;
        }
    }
    Ok(boxes)
}

fn append(
    array: &Snapshot,
    schema: &ArraySchema,
    slab: &[Side],
    fragment: &mut FragmentWriter<'_>,
) -> Result<()> {
    let domain = ranges(schema, slab)?;
    let array = Array::from_snapshot(array.clone());
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
    let names = schema.attributes.iter().map(|attribute| attribute.name.as_str());
    if !names.eq(columns.iter().map(|column| &*column.name)) {
        return Err(Error::internal("a result without a column of each attribute, in order"));
    }
    let checked: Vec<CheckedColumn<'_>> = columns
        .iter()
        .enumerate()
        .map(|(index, column)| CheckedColumn::of(FieldKind::Attribute(index), column, cells))
        .collect();
    append_box(fragment, schema, plan, Layout::RowMajor, &checked)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_side_that_ends_at_the_last_number_is_cut_completely() {
        let last = u64::MAX;
        let cut = |side: Side, extent| split(&[side], 0, side, extent, 1).unwrap().concat();
        assert_eq!(cut((last - 1, last), 1), [(last - 1, last - 1), (last, last)]);
        assert_eq!(cut((last - 4, last), 2), [(last - 4, last - 4), (last - 3, last - 2), (last - 1, last)]);
        assert_eq!(cut((0, last), last), [(0, last - 1), (last, last)]);
    }

    #[test]
    fn a_side_is_cut_after_a_number_of_tiles() {
        let boxes = split(&[(0, 3), (5, 29)], 1, (5, 29), 10, 2).unwrap();
        assert_eq!(boxes, [[(0, 3), (5, 19)], [(0, 3), (20, 29)]]);
    }
}
