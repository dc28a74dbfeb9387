//! Selected cells in the form that the sorter needs.

use tdb_order::{CellBatch, CoordinatesRef, replaced, replaced_by_keys};
use tdb_schema::Dimension;

use super::selection::{Coordinates, TileSelection};
use crate::plan::Plan;
use crate::{Column, OrInternal, Result};

impl Coordinates {
    /// The coordinates as the sorter takes them.
    pub fn as_ref(&self) -> CoordinatesRef<'_> {
        CoordinatesRef { values: self.values.as_slice(), offsets: self.offsets.as_deref() }
    }
}

/// The cells of selections that contain their coordinates.
pub(crate) fn own(selections: &[TileSelection]) -> Vec<CellBatch<'_>> {
    let coordinates = |selection| -> Vec<_> {
        let selection: &TileSelection = selection;
        selection.coordinates.iter().map(Coordinates::as_ref).collect()
    };
    selections.iter().map(|selection| batch(selection, coordinates(selection))).collect()
}

/// The numbers of the selected cells that others replace, counted across selections, ascending.
pub fn replaced_among(plan: &Plan, selections: &[TileSelection]) -> Result<Vec<u32>> {
    let threads = plan.array.context().threads;
    let keyed = selections.iter().map(|own| Some((batch(own, Vec::new()), own.keys.as_deref()?)));
    match keyed.collect::<Option<Vec<_>>>() {
        Some(keyed) => replaced_by_keys(threads, keyed),
        None => replaced(threads, plan.array.schema(), own(selections)),
    }
}

/// There are fewer staged coordinates than selected cells.
const FEWER: &str = "a selected cell has no staged coordinates";

/// The cells of selections whose coordinates are staged: one column per dimension.
pub(super) fn staged<'a>(
    dimensions: &[Dimension],
    selections: &'a [TileSelection],
    columns: &'a [Column],
) -> Result<Vec<CellBatch<'a>>> {
    let mut start = 0usize;
    let batches = selections.iter().map(|selection| {
        let end = start.saturating_add(selection.count());
        let part = |(column, dimension): (&'a Column, &Dimension)| match column.offsets() {
            Some(offsets) => {
                let offsets = offsets.get(start..end.saturating_add(1)).or_internal(FEWER)?;
                Ok(CoordinatesRef { values: column.bytes(), offsets: Some(offsets) })
            }
            None => {
                let size = dimension.datatype.size();
                let bytes = start.saturating_mul(size)..end.saturating_mul(size);
                let values = column.bytes().get(bytes).or_internal(FEWER)?;
                Ok(CoordinatesRef { values, offsets: None })
            }
        };
        let coordinates = columns.iter().zip(dimensions).map(part).collect::<Result<_>>()?;
        start = end;
        Ok(batch(selection, coordinates))
    });
    batches.collect()
}

fn batch<'a>(selection: &'a TileSelection, coordinates: Vec<CoordinatesRef<'a>>) -> CellBatch<'a> {
    CellBatch {
        coordinates,
        cells: selection.count(),
        fragment: selection.id.fragment,
        timestamps: selection.timestamps.as_deref(),
        written: selection.written,
    }
}
