//! Reads the columns of a dense result.

use tdb_codec::Layout;
use tdb_schema::FieldKind;

use super::fixed_column::fixed_column;
use super::mask::Masked;
use super::overlay::Overlay;
use super::partial_column::PartialColumn;
use super::region::Region;
use super::sources::{FieldSources, Written};
use super::space::Space;
use super::var_column::var_column;
use super::{by_tile, prefetch};
use crate::buffers::{check_room, room_for, split_exactly};
use crate::plan::{NO_FIELD, Plan};
use crate::spec::ColumnSpec;
use crate::{Cells, Column, OrInternal, Result};

/// Reads the columns of the result: `regions` are the parts in which it is made, `rows` those in
/// which the condition was applied.
pub(super) fn columns(
    plan: &Plan,
    space: &Space,
    (regions, rows): (&[Region], &[Region]),
    overlays: &[Option<Overlay>],
    masked: Option<&Masked>,
) -> Result<Cells> {
    let array = &plan.array;
    let context = array.context();
    let wanted = masked.map(|masked| masked.wanted.as_slice());
    let fetch = |known: &[PartialColumn]| prefetch::columns(plan, (space, rows), overlays, wanted, known);
    let mut partial = match masked.map(Masked::columns) {
        Some(mut known) => fetch(&known).map(|()| core::mem::take(&mut *known))?,
        None => fetch(&[]).map(|()| Vec::new())?,
    };
    partial.extend(by_tile::decode(plan, space, (regions, rows), overlays, wanted, &partial)?);
    let mut columns = Vec::with_capacity(plan.fields.len());
    for kind in &plan.fields {
        let field = array.schema().field_of(*kind).or_internal(NO_FIELD)?;
        let spec = ColumnSpec::new(array.schema(), &field);
        let column = match kind {
            FieldKind::Dimension(index) => coordinates(space, regions, *index, spec)?,
            FieldKind::Attribute(_) => {
                let sources =
                    FieldSources::open(context, array.fragments(), overlays, space.query(), *kind, &spec)?;
                let at = partial.iter().position(|partial| partial.kind == *kind);
                let partial = at.map(|at| partial.swap_remove(at)).filter(PartialColumn::has_cells);
                if spec.cell_size.is_some() {
                    // A field that the condition has looked at is continued in the same regions.
                    let regions = if partial.is_some() { rows } else { regions };
                    fixed_column(plan, space, regions, &sources, (wanted, partial), (*kind, spec))?
                } else {
                    var_column(plan, space, rows, &sources, (wanted, partial), (*kind, spec))?
                }
            }
        };
        columns.push(match space.arrangement() {
            Some(arrangement) => {
                let arranged = arrangement.apply(column)?;
                let validity = arranged.validity().map_or(0, <[u8]>::len);
                context.counters.copied(arranged.bytes().len().saturating_add(validity));
                arranged
            }
            None => column,
        });
    }
    let selected = plan.marks.then(|| selection(plan, space, rows, overlays, wanted)).transpose()?;
    let (cells, counts) = space.result();
    let shape = (space.order != Layout::GlobalOrder).then(|| counts.to_vec());
    Ok(Cells { len: cells, shape, order: space.order, columns, selected })
}

/// The coordinates of every cell in one dimension.
fn coordinates(space: &Space, regions: &[Region], dimension: usize, spec: ColumnSpec) -> Result<Column> {
    let size = spec.datatype.size();
    let mut data = room_for(space.bytes(size)?)?;
    for region in regions {
        each_coordinate(space, region, dimension, |value| data.extend_from_slice(value))?;
    }
    let validity = spec.nullable.then(|| vec![1; space.cells()]);
    Ok(spec.column(data, None, validity))
}

/// Runs a function on the bytes of the coordinate of each of a region's cells in one dimension.
pub(super) fn each_coordinate(
    space: &Space,
    region: &Region,
    dimension: usize,
    mut take: impl FnMut(&[u8]),
) -> Result<()> {
    const NO_DIMENSION: &str = "a region lacks a dimension";
    let of = space.dimensions().get(dimension).or_internal(NO_DIMENSION)?;
    let axis = region.axis(dimension).or_internal(NO_DIMENSION)?;
    let stride = region.strides.get(dimension).copied().or_internal(NO_DIMENSION)?.max(1);
    let mut along = Vec::with_capacity(axis.count());
    for ordinal in axis.runs().iter().flat_map(|run| run.low..=run.high) {
        along.push(of.coordinate(ordinal).or_internal("an ordinal has no coordinate")?);
    }
    // The region repeats each coordinate for the cells of the dimensions behind, and all of
    // them for those before.
    let repeated = along.iter().flat_map(|value| core::iter::repeat_n(value, stride)).cycle();
    repeated.take(region.cells()).for_each(|value| take(value));
    Ok(())
}

/// Which cells of the result were written and are wanted, a byte per cell.
fn selection(
    plan: &Plan,
    space: &Space,
    regions: &[Region],
    overlays: &[Option<Overlay>],
    wanted: Option<&[u8]>,
) -> Result<Vec<u8>> {
    check_room(space.bytes(1)?)?;
    let mut selected = vec![0; space.cells()];
    let pieces = split_exactly(&mut selected, regions.iter().map(Region::cells))?;
    let written = Written::new(plan.array.fragments(), overlays)?;
    for (region, piece) in regions.iter().zip(pieces) {
        written.paint(region, piece)?;
    }
    if let Some(wanted) = wanted {
        for (slot, _) in selected.iter_mut().zip(wanted).filter(|(_, wanted)| **wanted == 0) {
            *slot = 0;
        }
    }
    match space.arrangement() {
        Some(arrangement) => arrangement.bytes(&selected),
        None => Ok(selected),
    }
}
