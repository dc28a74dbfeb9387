//! A column of a dense result whose cells have a fixed size.

use tdb_schema::FieldKind;

use super::decode_work;
use super::partial_column::{PartialCells, PartialColumn};
use super::region::{Region, split_validity, split_wanted};
use super::sources::FieldSources;
use super::space::Space;
use super::target::Target;
use crate::buffers::{fill_cells, split_exactly, unfilled};
use crate::decode_buffers::PooledBuffers;
use crate::plan::Plan;
use crate::spec::ColumnSpec;
use crate::{Column, Result, parallel};

/// Reads the column, or what is missing of it. Cells that are not wanted get the fill value.
pub(super) fn fixed_column(
    plan: &Plan,
    space: &Space,
    regions: &[Region],
    sources: &FieldSources<'_>,
    (wanted, partial): (Option<&[u8]>, Option<PartialColumn>),
    (kind, spec): (FieldKind, ColumnSpec),
) -> Result<Column> {
    let context = plan.array.context();
    let size = spec.cell_size.unwrap_or(0);
    let (mut data, mut validity, tiles_done) = match partial {
        Some(PartialColumn { cells: PartialCells::Fixed { values, validity, .. }, tiles_done, .. }) => {
            (values, validity, tiles_done)
        }
        _ => {
            let len = space.bytes(size)?;
            // What will be put in order is not the finished column.
            let is_finished = space.arrangement().is_none();
            let values = if is_finished { plan.column_buffer(&spec.name, len)? } else { unfilled(len)? };
            (values, spec.nullable.then(|| vec![0; space.cells()]), Vec::new())
        }
    };
    let pieces = split_exactly(data.as_mut_slice(), regions.iter().map(|r| r.cells().saturating_mul(size)))?;
    let validities = split_validity(&mut validity, regions)?;
    let rest = validities.into_iter().zip(split_wanted(wanted, regions)?);
    let tiles_done = tiles_done.iter().map(Vec::as_slice).chain(core::iter::repeat(&[][..]));
    let jobs: Vec<_> = regions.iter().zip(pieces.into_iter().zip(rest)).zip(tiles_done).collect();
    parallel::run(
        decode_work::threads(plan, space, regions, [(kind, sources)]),
        jobs,
        PooledBuffers::sharing(context.threads, regions.len()),
        |((region, (values, (validity, wanted))), tiles_done), buffers| {
            let mut target = Target { values, validity, wanted, tiles_done };
            sources.paint_fixed(context, space, region, &spec, &mut target, buffers)?;
            target.fill_unwanted(&spec);
            Ok(())
        },
    )?;
    Ok(spec.column(data, None, validity))
}

impl Target<'_> {
    /// Fills the cells that are not wanted.
    fn fill_unwanted(&mut self, spec: &ColumnSpec) {
        let Some(wanted) = self.wanted else { return };
        fill_values(self.values, spec.cell_size.unwrap_or(0), &spec.fill, wanted);
        fill_validity(self.validity.as_deref_mut(), wanted, spec);
    }
}

/// Gives the fill value to the cells that are not wanted: for numbers a choice without a branch,
/// since which cells a condition leaves cannot be predicted.
fn fill_values(values: &mut [u8], size: usize, fill: &[u8], wanted: &[u8]) {
    /// The same for numbers of one width.
    macro_rules! numbers {
        ($number:ty) => {
            if let Ok(fill) = fill.try_into().map(<$number>::from_le_bytes) {
                for (slot, wanted) in values.as_chunks_mut().0.iter_mut().zip(wanted) {
                    let own = <$number>::from_le_bytes(*slot);
                    *slot = if *wanted == 0 { fill } else { own }.to_le_bytes();
                }
            }
        };
    }
    match (size, fill.len()) {
        (1, 1) => numbers!(u8),
        (2, 2) => numbers!(u16),
        (4, 4) => numbers!(u32),
        (8, 8) => numbers!(u64),
        _ => {
            let cells = values.chunks_exact_mut(size.max(1)).zip(wanted);
            cells.filter(|(_, wanted)| **wanted == 0).for_each(|(slot, _)| fill_cells(slot, fill));
        }
    }
}

/// Sets the validity of cells that are not wanted to that of the fill value.
pub(super) fn fill_validity(validity: Option<&mut [u8]>, wanted: &[u8], spec: &ColumnSpec) {
    for (slot, _) in validity.into_iter().flatten().zip(wanted).filter(|(_, wanted)| **wanted == 0) {
        *slot = spec.fill_validity;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_of_any_size_that_are_not_wanted_get_the_fill_value_and_no_others() {
        let wanted = [1u8, 0, 0, 1, 0];
        for size in [1usize, 2, 3, 4, 8, 12] {
            let fill: Vec<u8> = (200..).take(size).collect();
            let mut values: Vec<u8> = (0..).take(size * wanted.len()).collect();
            let expected: Vec<u8> = values
                .chunks_exact(size)
                .zip(wanted)
                .flat_map(|(own, wanted)| if wanted == 0 { fill.as_slice() } else { own }.to_vec())
                .collect();
            fill_values(&mut values, size, &fill, &wanted);
            assert_eq!(values, expected, "cells of {size} bytes");
        }
    }
}
