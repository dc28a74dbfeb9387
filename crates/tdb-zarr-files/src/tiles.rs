//! The tiles of an array that is imported.

use crate::boxes::count;
use crate::document::ArrayDocument;
use crate::error::Problem;
use crate::thresholds::{TEXT_CELL, TEXT_TILE};

/// The shape of an array and of its tiles, of which each is a chunk, or the part of one that is
/// inside of the array.
#[derive(Clone, Debug)]
pub(crate) struct Tiles {
    /// The lengths of the array: at least one.
    pub(crate) lengths: Vec<u64>,
    /// The lengths of a tile.
    pub(crate) extents: Vec<u64>,
    /// The lengths of a chunk, which may be longer than the array.
    pub(crate) chunk: Vec<u64>,
    /// Whether the array has no axes in Zarr.
    pub(crate) is_scalar: bool,
    /// Bytes of a cell, if all have as many.
    pub(crate) size: Option<usize>,
    /// Bytes of a cell of such an array where codecs make most of it.
    pub(crate) widest: usize,
    /// The bytes of a cell that was never written.
    pub(crate) fill: Vec<u8>,
    /// Bytes that a row of tiles may have.
    pub(crate) room: u64,
}

impl Tiles {
    /// The tiles of an array.
    pub(crate) fn of(document: &ArrayDocument, room: u64) -> Result<Self, Problem> {
        let is_scalar = document.shape.is_empty();
        let or_one = |lengths: &[u64]| if is_scalar { vec![1] } else { lengths.to_vec() };
        let (lengths, chunk) = (or_one(&document.shape), or_one(document.chunk()));
        if lengths.contains(&0) {
            return Err(Problem::unsupported(
                "an axis has no positions, and dimensions of arrays have at least one",
            ));
        }
        let extents = lengths.iter().zip(&chunk).map(|(length, chunk)| *length.min(chunk)).collect();
        let (size, widest) = (document.element.size(), document.chain.widest);
        Ok(Self { lengths, extents, chunk, is_scalar, size, widest, fill: document.fill.clone(), room })
    }

    /// The positions of tiles along an axis: the first, and the number behind the last.
    pub(crate) fn span(&self, axis: usize, (low, high): (u64, u64)) -> Option<(u64, u64)> {
        let (length, extent) = (self.lengths.get(axis)?, self.extents.get(axis)?);
        let start = low.checked_mul(*extent).filter(|start| start < length)?;
        Some((start, high.checked_add(1)?.checked_mul(*extent).map_or(*length, |end| end.min(*length))))
    }

    /// The spans of a box of tiles.
    pub(crate) fn spans(&self, ends: &[(u64, u64)]) -> Option<Vec<(u64, u64)>> {
        ends.iter().enumerate().map(|(axis, ends)| self.span(axis, *ends)).collect()
    }

    /// Bytes of a chunk, where codecs make most of it; without the texts in it.
    pub(crate) fn chunk_bytes(&self) -> u64 {
        let cell = self.size.map_or(TEXT_CELL, |_| u64::try_from(self.widest).unwrap_or(u64::MAX));
        self.chunk.iter().fold(cell, |bytes, length| bytes.saturating_mul(*length))
    }

    /// Bytes of the cells of a box of tiles; without the texts in them.
    pub(crate) fn bytes(&self, ends: &[(u64, u64)]) -> Option<u64> {
        let cell = self.size.map_or(Ok(TEXT_CELL), u64::try_from).ok()?;
        let spans = self.spans(ends)?;
        let cells = spans.iter().try_fold(cell, |bytes, (start, end)| bytes.checked_mul(end - start))?;
        let each = if self.size.is_none() { TEXT_TILE } else { 0 };
        count(ends).checked_mul(each)?.checked_add(cells)
    }
}
