//! The cells of one tile of one field, before they are filtered.

use core::ops::Range as Cells;

use tdb_schema::FieldKind;

use crate::{Error, Result};

/// Cells of one tile in the order they are stored.
#[derive(Clone, Copy, Debug)]
pub struct TileCells<'a> {
    /// Number of cells, padding included.
    pub count: usize,
    /// The values, one after another.
    pub values: &'a [u8],
    /// The start of each cell in `values`, for var-length fields; the first is 0.
    pub offsets: &'a [u64],
    /// A byte for each cell, for nullable fields.
    pub validity: &'a [u8],
    /// Runs of cells that are not padding, ascending; `None` if all are.
    pub runs: Option<&'a [Cells<usize>]>,
}

impl<'a> TileCells<'a> {
    /// The runs of cells that are not padding.
    pub fn written(&self) -> impl Iterator<Item = Cells<usize>> + use<'a> {
        let all = self.runs.is_none().then_some(0..self.count);
        // Either these runs, or one run of all cells.
        self.runs.unwrap_or_default().iter().cloned().chain(all)
    }

    /// Checks that there is a value of every cell, and a validity of every cell or of none.
    /// `cell_size` is `None` for var-length fields.
    pub(super) fn check(&self, cell_size: Option<usize>) -> Result<()> {
        let has_values = match cell_size {
            Some(size) => self.count.checked_mul(size) == Some(self.values.len()),
            None => self.offsets.len() == self.count,
        };
        let has_validity = self.validity.is_empty() || self.validity.len() == self.count;
        let has_runs = self.runs.is_none_or(|runs| runs.iter().all(|run| run.end <= self.count));
        match has_values && has_validity && has_runs {
            true => Ok(()),
            false => Err(Error::internal("a tile without all of its cells")),
        }
    }

    /// A cell of a var-length field.
    pub fn var_cell(&self, index: usize) -> Option<&'a [u8]> {
        let start = tdb_codec::to_usize(*self.offsets.get(index)?)?;
        let end = match self.offsets.get(index.checked_add(1)?) {
            Some(end) => tdb_codec::to_usize(*end)?,
            None => self.values.len(),
        };
        self.values.get(start..end)
    }
}

/// Provides the cells of tiles to a writer.
pub(crate) trait TileSource: Sync {
    /// The cells of tile `tile` of the source in a field, either borrowed or assembled in `room`.
    fn cells<'s>(&'s self, field: FieldKind, tile: usize, room: &'s mut TileBuffers)
    -> Result<TileCells<'s>>;
}

/// Buffers that a thread keeps between tiles.
#[derive(Debug, Default)]
pub(crate) struct TileBuffers {
    pub values: Vec<u8>,
    pub offsets: Vec<u64>,
    pub validity: Vec<u8>,
    pub runs: Vec<Cells<usize>>,
}
