//! Boxes of a dense array, cut at tile boundaries.

use tdb_array::schema::ArraySchema;
use tdb_array::{Array, ArrayWriter, Read, Write};
use tdb_schema::{Dimension, Range};

use crate::bounds::Bounds;
use crate::ranges::QueryRanges;

/// A box of cells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DenseBox {
    sides: Vec<Side>,
}

/// The extent of a box along one dimension, in cells from the domain's low end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Side {
    low: u64,
    high: u64,
    extent: u64,
}

impl Side {
    const fn cells(self) -> u64 {
        self.high.saturating_sub(self.low).saturating_add(1)
    }

    /// The number of the tile that contains a cell.
    fn tile(self, cell: u64) -> u64 {
        cell.checked_div(self.extent).unwrap_or(0)
    }

    /// Two halves of whole tiles, if there are at least two tiles.
    fn split(self) -> Option<(Self, Self)> {
        let (first, last) = (self.tile(self.low), self.tile(self.high));
        let tiles = last.checked_sub(first).filter(|tiles| *tiles > 0)?;
        let cut = first.checked_add(tiles.div_ceil(2))?.checked_mul(self.extent)?;
        Some((Self { high: cut.checked_sub(1)?, ..self }, Self { low: cut, ..self }))
    }
}

impl DenseBox {
    /// The requested part of an array, restricted to the area that was written; `None` if nothing
    /// was.
    pub(crate) fn of_query(array: &Array, asked: &QueryRanges) -> Result<Option<Self>, String> {
        let schema = array.schema();
        if let Some((label, _)) = asked.labels.first() {
            return Err(format!(
                "--range {label}: the part of a dense array to copy must be given by its dimensions"
            ));
        }
        let Some(written) = array.bounds() else { return Ok(None) };
        let mut sides = Vec::with_capacity(written.len());
        for (index, (dimension, written)) in schema.domain.dimensions.iter().zip(&written).enumerate() {
            let whole = Bounds::default();
            let range = match asked.dimensions.get(index).map_or(&[][..], Vec::as_slice) {
                [] => &whole,
                [range] => range,
                _ => {
                    return Err(format!(
                        "dimension {:?} has several ranges, but a copy is one box",
                        dimension.name
                    ));
                }
            };
            let current = schema.current_domain.as_ref().and_then(|current| current.ranges.get(index));
            match side(dimension, [Some(written), current], range)? {
                Some(side) => sides.push(side),
                None => return Ok(None),
            }
        }
        Ok(Some(Self { sides }))
    }

    /// The number of its cells.
    pub(super) fn cells(&self) -> u64 {
        self.sides.iter().map(|side| side.cells()).fold(1, u64::saturating_mul)
    }

    /// The low and the high end of each dimension.
    pub(crate) fn ends(&self, dimensions: &[Dimension]) -> Vec<(Vec<u8>, Vec<u8>)> {
        let end = |dimension: &Dimension, at| dimension.coordinate(at).unwrap_or_default();
        let ends = |(side, dimension): (&Side, _)| (end(dimension, side.low), end(dimension, side.high));
        self.sides.iter().zip(dimensions).map(ends).collect()
    }

    /// A read of its cells.
    pub(super) fn read(&self, array: &Array) -> Read {
        let dimensions = &array.schema().domain.dimensions;
        dimensions.iter().zip(self.ends(dimensions)).fold(array.read(), |read, (dimension, (low, high))| {
            read.range_bytes(&dimension.name, Some(low), Some(high))
        })
    }

    /// A write of its cells.
    pub(super) fn write<'w>(&self, dimensions: &[Dimension], writer: &'w ArrayWriter) -> Write<'w> {
        dimensions
            .iter()
            .zip(self.ends(dimensions))
            .fold(writer.write(), |write, (dimension, (low, high))| {
                write.range_bytes(&dimension.name, Some(low), Some(high))
            })
    }

    /// The memory of its cells, as far as it is known before they are read: without the bytes of
    /// values of variable length.
    pub(super) fn bytes(&self, schema: &ArraySchema) -> u64 {
        let cell = schema.attributes.iter().map(|attribute| {
            let size = schema.field(&attribute.name).and_then(|field| field.cell_size());
            // Offsets of cells of variable length, and validity.
            let size = size.and_then(|size| u64::try_from(size).ok()).unwrap_or(8);
            size.saturating_add(u64::from(attribute.nullable))
        });
        self.cells().saturating_mul(cell.fold(0, u64::saturating_add))
    }

    /// Two halves along the first dimension with more than one tile.
    pub(super) fn split(&self) -> Option<(Self, Self)> {
        let (index, (low, high)) =
            self.sides.iter().enumerate().find_map(|(index, side)| Some((index, side.split()?)))?;
        let with = |side: Side| {
            let mut sides = self.sides.clone();
            sides.get_mut(index).into_iter().for_each(|slot| *slot = side);
            Self { sides }
        };
        Some((with(low), with(high)))
    }
}

/// The intersection of the requested range, the domain and all bounds; `None` if it is empty.
fn side(dimension: &Dimension, bounds: [Option<&Range>; 2], asked: &Bounds) -> Result<Option<Side>, String> {
    let name = &dimension.name;
    let Some((first, end)) = &dimension.domain else {
        return Err(format!("dimension {name:?} has no domain"));
    };
    let compare = |a: &[u8], b: &[u8]| Range::compare(dimension.datatype, a, b);
    let ends = [(asked.low.as_ref(), end), (Some(first), asked.high.as_ref().unwrap_or(end))];
    if ends.into_iter().any(|(low, high)| low.is_some_and(|low| compare(low, high).is_gt())) {
        return Ok(None);
    }
    let ordinal = |value: &[u8]| {
        let value = if compare(value, first).is_lt() { first } else { value };
        let value = if compare(value, end).is_gt() { end } else { value };
        let ordinal = dimension.ordinal(value);
        ordinal.ok_or_else(|| format!("a coordinate of dimension {name:?} is not of its type"))
    };
    let last = dimension.last_ordinal().unwrap_or(0);
    let extent = dimension.extent_cells().unwrap_or_else(|| last.saturating_add(1));
    let mut side = Side { low: 0, high: last, extent };
    let bounds = bounds.into_iter().flatten().map(|range| (Some(&range.low), Some(&range.high)));
    for (low, high) in bounds.chain([(asked.low.as_ref(), asked.high.as_ref())]) {
        side.low = low.map_or(Ok(0), |low| ordinal(low))?.max(side.low);
        side.high = high.map_or(Ok(last), |high| ordinal(high))?.min(side.high);
    }
    Ok((side.low <= side.high).then_some(side))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_are_cut_at_tiles_until_there_is_one() {
        let side = |low, high| Side { low, high, extent: 10 };
        assert_eq!(side(5, 34).split(), Some((side(5, 19), side(20, 34))));
        assert_eq!(side(0, 19).split(), Some((side(0, 9), side(10, 19))));
        assert_eq!(side(10, 19).split(), None);
        let plane = DenseBox { sides: vec![side(3, 7), side(8, 11)] };
        let (first, second) = plane.split().unwrap();
        assert_eq!(first.sides, [side(3, 7), side(8, 9)]);
        assert_eq!(second.sides, [side(3, 7), side(10, 11)]);
        assert_eq!(first.split(), None);
        let huge = Side { low: 0, high: u64::MAX, extent: 1 };
        assert!(huge.split().is_some());
    }
}
