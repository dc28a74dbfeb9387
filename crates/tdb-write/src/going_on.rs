//! Whether the fragment of a stream can go on with the next cells.
//!
//! Cells that come row by row are not in the array's global order, where a row of space tiles comes
//! tile by tile. But the cells of a row of tiles are complete when the next one begins: those are
//! written, the others kept, and the fragment goes on with both once more have come. Streams of
//! other orders would gain nothing: the first time that a fragment cannot go on is the last one
//! that a stream tries.

use core::cmp::Ordering;

use tdb_codec::Layout;
use tdb_order::{KeyPart, compare_part};
use tdb_schema::{ArraySchema, Dimension};

use crate::buffers::index_of;
use crate::column::CheckedColumn;
use crate::sorted::GlobalOrder;
use crate::thresholds::KEPT_INVERSE;
use crate::{OrInternal, Result};

/// What is known of the fragment that a stream writes.
#[derive(Debug)]
pub(super) struct GoingOn {
    dimensions: Vec<Dimension>,
    /// The parts of the global order, most significant first: cells that are equal in the first one
    /// are in one row of tiles. None if fragments do not go on.
    parts: Vec<KeyPart>,
    /// The coordinates of the last cell of the fragment, if there are cells in it.
    last: Option<Vec<Vec<u8>>>,
}

impl GoingOn {
    pub(super) fn new(schema: &ArraySchema) -> Self {
        let (dimensions, mut parts) = GlobalOrder::new(schema).into_parts();
        if schema.cell_order == Layout::Hilbert {
            parts.clear();
        }
        Self { dimensions, parts, last: None }
    }

    /// Whether a fragment was begun that cannot go on with these cells. Then none does any more.
    pub(super) fn has_ended(&mut self, coordinates: &[CheckedColumn<'_>], order: &[u32]) -> Result<bool> {
        let Some((last, first)) = self.last.as_ref().zip(order.first()) else { return Ok(false) };
        for part in &self.parts {
            let before = last.get(part.dimension()).or_internal("a last cell without a coordinate")?;
            match self.compare(*part, before, coordinate(coordinates, *part, *first)?)? {
                Ordering::Less => return Ok(false),
                Ordering::Equal => {}
                Ordering::Greater => break,
            }
        }
        self.parts.clear();
        self.last = None;
        Ok(true)
    }

    /// How many cells of an order are written now, so that the fragment can go on: the others may
    /// be behind cells that come later. All of them if it cannot.
    pub(super) fn complete(
        &self,
        coordinates: &[CheckedColumn<'_>],
        order: &[u32],
        tile_cells: usize,
    ) -> Result<usize> {
        let Some(part) = self.parts.first().copied() else { return Ok(order.len()) };
        let newest = order.iter().max().or_internal("an order without cells")?;
        let newest = coordinate(coordinates, part, *newest)?;
        let mut wrong = None;
        let before = order.partition_point(|cell| {
            let found = coordinate(coordinates, part, *cell).and_then(|one| self.compare(part, one, newest));
            found.unwrap_or_else(|error| {
                wrong = Some(error);
                Ordering::Less
            }) == Ordering::Less
        });
        if let Some(error) = wrong {
            return Err(error);
        }
        // Without whole tiles, all cells are over.
        let over = before.checked_rem(tile_cells).unwrap_or(before);
        let whole = before.checked_sub(over).or_internal("fewer cells than are over")?;
        let kept = order.len().checked_sub(whole).or_internal("more complete cells than cells")?;
        Ok(if kept > order.len() / KEPT_INVERSE { order.len() } else { whole })
    }

    /// Notes the cells that were written; `None` if the fragment ended with them.
    pub(super) fn wrote(&mut self, coordinates: &[CheckedColumn<'_>], last: Option<u32>) -> Result<()> {
        let cell = |cell: u32| {
            let of = |column: &CheckedColumn<'_>| column.cell(index_of(cell)).map(<[u8]>::to_vec);
            let all: Option<Vec<_>> = coordinates.iter().map(of).collect();
            all.or_internal("a column without the last cell of a fragment")
        };
        self.last = last.map(cell).transpose()?;
        Ok(())
    }

    fn compare(&self, part: KeyPart, a: &[u8], b: &[u8]) -> Result<Ordering> {
        let dimension = self.dimensions.get(part.dimension());
        Ok(compare_part(part, dimension.or_internal("a part of the order without a dimension")?, a, b))
    }
}

/// The coordinate of a cell that a part of the order looks at.
fn coordinate<'a>(coordinates: &[CheckedColumn<'a>], part: KeyPart, cell: u32) -> Result<&'a [u8]> {
    let column = coordinates.get(part.dimension()).or_internal("a dimension without coordinates")?;
    column.cell(index_of(cell)).or_internal("a column without a cell of the order")
}
