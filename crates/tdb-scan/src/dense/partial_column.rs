//! Columns of a dense result of which some space tiles are decoded already: the fields that a
//! condition has looked at, so that nothing is decoded twice, and the columns of `by_tile`.

use core::sync::atomic::{AtomicU64, Ordering};

use tdb_codec::{Buffer, to_u64};
use tdb_schema::FieldKind;

use super::cell_map::CellMap;
use super::part_columns::Painted;
use super::region::{Region, split_validity};
use super::space::Space;
use crate::Result;
use crate::buffers::{VarTile, split_exactly, zeroed};
use crate::plan::{CACHED_COLUMN_BYTES, MAX_CACHED_BYTES, Plan};
use crate::spec::ColumnSpec;

/// A column of the result that contains the cells that were decoded so far.
#[derive(Debug)]
pub(super) struct PartialColumn {
    pub(super) kind: FieldKind,
    /// Its number among the fields that were decoded.
    field: usize,
    pub(super) cells: PartialCells,
    /// For each region, which of its space tiles are in the column, in their order.
    pub(super) tiles_done: Vec<Vec<bool>>,
}

/// The cells of such a column.
#[derive(Debug)]
pub(super) enum PartialCells {
    /// Cells of a fixed size, in their places.
    Fixed { size: usize, values: Buffer, validity: Option<Vec<u8>> },
    /// Cells of variable length: for each region the number of a space tile and its cells. Their
    /// places are known only when all values are there.
    Var(Vec<Vec<(usize, KeptCells)>>),
}

/// The cells of variable length of a part of a space tile.
#[derive(Debug)]
pub(super) struct KeptCells {
    pub(super) tile: VarTile,
    pub(super) validity: Option<Vec<u8>>,
    /// Their places in the region.
    pub(super) map: CellMap,
}

/// Limits the memory for variable-length cells that the condition decoded and the result can reuse.
/// They are held for all tiles at once, on top of the result. A query with a memory budget plans
/// for one tile at a time, so it keeps none and decodes these cells again.
#[derive(Debug)]
pub(super) struct KeptBudget {
    most: u64,
    held: AtomicU64,
}

impl KeptBudget {
    pub(super) fn of(plan: &Plan) -> Self {
        Self {
            most: if plan.scope.reservation.is_some() { 0 } else { MAX_CACHED_BYTES },
            held: AtomicU64::new(0),
        }
    }

    /// Whether there is room at all.
    pub(super) const fn any(&self) -> bool {
        self.most > 0
    }

    fn try_reserve(&self, bytes: u64) -> bool {
        let more = bytes.saturating_add(CACHED_COLUMN_BYTES);
        let after = |held: u64| held.checked_add(more).filter(|after| *after <= self.most);
        self.held.fetch_update(Ordering::Relaxed, Ordering::Relaxed, after).is_ok()
    }
}

impl PartialColumn {
    /// Whether it has any cells yet.
    pub(super) fn has_cells(&self) -> bool {
        self.tiles_done.iter().flatten().any(|tiles_done| *tiles_done)
    }
}

/// Columns of the result without cells, of those of some fields that are returned and that are
/// stored.
pub(super) fn new_columns<'f>(
    plan: &Plan,
    fields: impl Iterator<Item = (FieldKind, &'f ColumnSpec)>,
    space: &Space,
    regions: &[Region],
) -> Result<Vec<PartialColumn>> {
    let mut columns = Vec::new();
    for (field, (kind, spec)) in fields.enumerate() {
        if !plan.fields.contains(&kind) || !matches!(kind, FieldKind::Attribute(_)) {
            continue;
        }
        let cells = match spec.cell_size {
            Some(size) => PartialCells::Fixed {
                size,
                values: zeroed(space.bytes(size)?)?,
                validity: spec.nullable.then(|| vec![0; space.cells()]),
            },
            None => PartialCells::Var(regions.iter().map(|_| Vec::new()).collect()),
        };
        let tiles_done = regions.iter().map(|_| Vec::new()).collect();
        columns.push(PartialColumn { kind, field, cells, tiles_done });
    }
    Ok(columns)
}

/// A region's part of a [`PartialColumn`] column.
pub(super) struct PartialColumnPart<'b> {
    /// The number of the field among those that are decoded.
    pub(super) field: usize,
    cells: PartialCellsPart<'b>,
    tiles_done: &'b mut Vec<bool>,
}

enum PartialCellsPart<'b> {
    Fixed { size: usize, values: &'b mut [u8], validity: Option<&'b mut [u8]> },
    Var(&'b mut Vec<(usize, KeptCells)>),
}

impl PartialColumnPart<'_> {
    /// Takes over the cells of a part of the next space tile, if they were decoded. Returns the
    /// bytes that it copied. Cells of variable length are only kept if some of them are `wanted`,
    /// and as far as there is room.
    pub(super) fn take(
        &mut self,
        kept_budget: &KeptBudget,
        map: &CellMap,
        own: &mut Option<Painted>,
        wanted: bool,
    ) -> Result<usize> {
        match &mut self.cells {
            PartialCellsPart::Fixed { size, values, validity } => {
                let copied = own.as_ref().map(|own| copy(own, map, *size, values, validity.as_deref_mut()));
                self.tiles_done.push(copied.is_some());
                copied.unwrap_or(Ok(0))
            }
            PartialCellsPart::Var(kept) => {
                // The map of several ranges is a list of them, which is held for each tile.
                let is_box = matches!(map, CellMap::Box(_));
                let fits = |own: &Painted| is_box && kept_budget.try_reserve(to_u64(own.held()));
                let own = if own.as_ref().is_some_and(|own| wanted && fits(own)) { own.take() } else { None };
                let number = self.tiles_done.len();
                self.tiles_done.push(own.is_some());
                kept.extend(own.map(|own| (number, own.keep(map.clone()))));
                Ok(0)
            }
        }
    }
}

/// Copies cells of fixed size to their places. Returns the bytes.
fn copy(
    own: &Painted,
    map: &CellMap,
    size: usize,
    values: &mut [u8],
    validity: Option<&mut [u8]>,
) -> Result<usize> {
    map.copy(own.values.as_slice(), values, size)?;
    let Some((validity, valid)) = validity.zip(own.validity.as_deref()) else {
        return Ok(own.values.len());
    };
    map.copy(valid, validity, 1)?;
    Ok(own.values.len().saturating_add(valid.len()))
}

/// The parts of such columns, region by region.
pub(super) fn split_columns<'b>(
    partial: &'b mut [PartialColumn],
    regions: &[Region],
) -> Result<Vec<Vec<PartialColumnPart<'b>>>> {
    let mut parts: Vec<Vec<PartialColumnPart<'b>>> = regions.iter().map(|_| Vec::new()).collect();
    for PartialColumn { field, cells, tiles_done, .. } in partial {
        let cells: Vec<PartialCellsPart<'b>> = match cells {
            PartialCells::Fixed { size, values, validity } => {
                let size = *size;
                let bytes = regions.iter().map(|region| region.cells().saturating_mul(size));
                let values = split_exactly(values.as_mut_slice(), bytes)?;
                let own = values.into_iter().zip(split_validity(validity, regions)?);
                own.map(|(values, validity)| PartialCellsPart::Fixed { size, values, validity }).collect()
            }
            PartialCells::Var(kept) => kept.iter_mut().map(PartialCellsPart::Var).collect(),
        };
        for (parts, (cells, tiles_done)) in parts.iter_mut().zip(cells.into_iter().zip(tiles_done)) {
            parts.push(PartialColumnPart { field: *field, cells, tiles_done });
        }
    }
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_kept_until_the_room_is_taken_and_each_counts_more_than_its_bytes() {
        let kept_budget = KeptBudget { most: 2 * (1000 + CACHED_COLUMN_BYTES) + 10, held: AtomicU64::new(0) };
        assert!(kept_budget.any() && kept_budget.try_reserve(1000) && kept_budget.try_reserve(1000));
        assert!(
            !kept_budget.try_reserve(0),
            "the next piece has no room for what it takes besides its bytes"
        );
        assert!(!kept_budget.try_reserve(u64::MAX));
        let none = KeptBudget { most: 0, held: AtomicU64::new(0) };
        assert!(!none.any() && !none.try_reserve(0));
    }
}
