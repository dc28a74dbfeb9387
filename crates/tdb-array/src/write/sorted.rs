//! The order that cells of a sparse fragment must have, and what else is asked of their coordinates.

use core::cmp::Ordering;

use tdb_codec::{Layout, to_u64};
use tdb_schema::{ArraySchema, Dimension, FieldKind, Range};

use super::column::CheckedColumn;
use crate::WriteError;
use crate::query::show_coordinate;
use crate::sparse::hilbert;
use crate::sparse::order::{self, CellOrder, Part};

/// The global order of an array's cells, and the last cell that was seen.
#[derive(Debug)]
pub(super) struct GlobalOrder {
    dimensions: Vec<Dimension>,
    /// What may be written, one interval a dimension; `None` for strings without bounds.
    bounds: Vec<Option<Range>>,
    parts: Vec<Part>,
    hilbert: bool,
    duplicates: bool,
    last: Option<Vec<Vec<u8>>>,
    /// Cells seen so far.
    cells: u64,
}

impl GlobalOrder {
    pub(super) fn new(schema: &ArraySchema) -> Self {
        let dimensions = schema.domain.dimensions.clone();
        let hilbert = schema.cell_order == Layout::Hilbert;
        let parts = order::parts(schema, CellOrder::of(Layout::GlobalOrder, schema));
        let bounds = match &schema.current_domain {
            Some(current) => current.ranges.iter().cloned().map(Some).collect(),
            None => dimensions
                .iter()
                .map(|dimension| dimension.domain.clone().map(|(low, high)| Range::new(low, high)))
                .collect(),
        };
        let duplicates = schema.allows_duplicates;
        Self { dimensions, bounds, parts, hilbert, duplicates, last: None, cells: 0 }
    }

    /// Checks `cells` cells that follow those checked before.
    pub(super) fn check(&mut self, columns: &[CheckedColumn<'_>], cells: usize) -> Result<(), WriteError> {
        let mut coordinates: Vec<&CheckedColumn<'_>> = Vec::with_capacity(self.dimensions.len());
        for index in 0..self.dimensions.len() {
            coordinates.extend(columns.iter().find(|column| column.kind == FieldKind::Dimension(index)));
        }
        let cell = |index: usize| -> Vec<&[u8]> {
            coordinates.iter().map(|column| column.cell(index).unwrap_or_default()).collect()
        };
        let last = self.last.take();
        let mut before: Option<Vec<&[u8]>> =
            last.as_ref().map(|cell| cell.iter().map(Vec::as_slice).collect());
        for index in 0..cells {
            let number = self.cells.saturating_add(to_u64(index));
            let now = cell(index);
            self.check_bounds(&now, number)?;
            if let Some(before) = &before {
                match self.compare(before, &now) {
                    Ordering::Less => {}
                    Ordering::Greater => return Err(WriteError::NotSorted { cell: number }),
                    Ordering::Equal if self.duplicates || *before != now => {}
                    Ordering::Equal => {
                        return Err(WriteError::Duplicate { first: number.saturating_sub(1) });
                    }
                }
            }
            before = Some(now);
        }
        let kept = before.map(|cell| cell.into_iter().map(<[u8]>::to_vec).collect());
        self.last = kept;
        self.cells = self.cells.saturating_add(to_u64(cells));
        Ok(())
    }

    fn check_bounds(&self, cell: &[&[u8]], number: u64) -> Result<(), WriteError> {
        for ((dimension, bounds), value) in self.dimensions.iter().zip(&self.bounds).zip(cell) {
            if bounds.as_ref().is_some_and(|bounds| !bounds.contains(dimension.datatype, value)) {
                let value = show_coordinate(dimension, value);
                return Err(WriteError::OutsideDomain {
                    dimension: dimension.name.clone(),
                    cell: number,
                    value,
                });
            }
        }
        Ok(())
    }

    fn compare(&self, a: &[&[u8]], b: &[&[u8]]) -> Ordering {
        if self.hilbert {
            let order = self.hilbert_value(a).cmp(&self.hilbert_value(b));
            if order != Ordering::Equal {
                return order;
            }
        }
        for part in &self.parts {
            let (Part::Tile(index) | Part::Cell(index)) = *part;
            let (Some(dimension), Some(a), Some(b)) =
                (self.dimensions.get(index), a.get(index), b.get(index))
            else {
                continue;
            };
            let order = order::compare_part(*part, dimension, a, b);
            if order != Ordering::Equal {
                return order;
            }
        }
        Ordering::Equal
    }

    fn hilbert_value(&self, cell: &[&[u8]]) -> u64 {
        let bits = hilbert::bits(self.dimensions.len());
        let buckets = self.dimensions.iter().zip(cell);
        let mut point: Vec<u64> =
            buckets.map(|(dimension, value)| hilbert::bucket(dimension, value, bits)).collect();
        hilbert::value(&mut point, bits)
    }
}
