//! The order that cells of a sparse fragment must have, and what else is asked of their coordinates.

use core::cmp::Ordering;

use tdb_codec::{Layout, Native, PhysicalVisitor, to_u64};
use tdb_schema::{ArraySchema, Dimension, FieldKind, Range};

use super::column::CheckedColumn;
use crate::WriteError;
use crate::query::show_coordinate;
use crate::sparse::hilbert;

/// A key of an order, most significant first.
#[derive(Clone, Copy, Debug)]
enum Part {
    /// Index of the space tile along a dimension.
    Tile(usize),
    /// Coordinate in a dimension.
    Cell(usize),
}

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
        let directed = |layout: Layout, part: fn(usize) -> Part| -> Vec<Part> {
            let all = 0..dimensions.len();
            if layout == Layout::ColMajor { all.rev().map(part).collect() } else { all.map(part).collect() }
        };
        let hilbert = schema.cell_order == Layout::Hilbert;
        let mut parts = Vec::new();
        if !hilbert {
            parts = directed(schema.tile_order, Part::Tile);
            let tiled = |index: usize| dimensions.get(index).is_some_and(|d| d.tile_extent.is_some());
            parts.retain(|part| matches!(part, Part::Tile(index) if tiled(*index)));
        }
        // Ties of a Hilbert order are broken row by row.
        parts.extend(directed(if hilbert { Layout::RowMajor } else { schema.cell_order }, Part::Cell));
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
            let order = match part {
                Part::Tile(_) => tile_index(dimension, a).total_cmp(tile_index(dimension, b)),
                Part::Cell(_) if dimension.is_var() => compare_strings(a, b),
                Part::Cell(_) => Range::compare(dimension.datatype, a, b),
            };
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

/// Strings as libtiledb on x86 orders the cells it writes: by signed bytes, shorter prefix first.
fn compare_strings(a: &[u8], b: &[u8]) -> Ordering {
    let signed = |byte: &u8| byte.cast_signed();
    a.iter().map(signed).cmp(b.iter().map(signed))
}

/// Index of a space tile along a dimension.
#[derive(Clone, Copy, Debug)]
enum TileIndex {
    Whole(u64),
    Real(f64),
}

impl TileIndex {
    fn total_cmp(self, other: Self) -> Ordering {
        match (self, other) {
            (Self::Whole(a), Self::Whole(b)) => a.cmp(&b),
            (Self::Real(a), Self::Real(b)) => a.total_cmp(&b),
            _ => Ordering::Equal,
        }
    }
}

fn tile_index(dimension: &Dimension, value: &[u8]) -> TileIndex {
    if let (Some(ordinal), Some(extent)) = (dimension.ordinal(value), dimension.extent_cells()) {
        return TileIndex::Whole(ordinal.checked_div(extent).unwrap_or(0));
    }
    struct Number<'a>(&'a [u8]);
    impl PhysicalVisitor for Number<'_> {
        type Output = f64;
        fn visit<T: Native>(self) -> f64 {
            T::from_le(self.0).map_or(0.0, T::to_f64)
        }
    }
    let number = |bytes: &[u8]| dimension.datatype.physical().visit(Number(bytes));
    let low = dimension.domain.as_ref().map_or(0.0, |(low, _)| number(low));
    let extent = dimension.tile_extent.as_deref().map_or(1.0, number);
    TileIndex::Real(((number(value) - low) / extent).trunc())
}
