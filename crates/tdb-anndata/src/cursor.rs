//! The cells of an array with one axis, from the first to the last one, chunk by chunk.

use tdb_zarr_files::{ArrayReader, Block, Blocks};

use crate::error::{Result, internal};

/// A place in an array.
#[derive(Debug)]
pub(crate) struct Cursor<'a> {
    blocks: Blocks<'a>,
    /// Bytes of a cell; of cells of any length, nothing.
    size: Option<usize>,
    block: Option<Block>,
    /// Cells of the block, and those that were taken.
    cells: usize,
    at: usize,
}

/// Texts back to back, and where each begins and the last one ends.
pub(crate) type Texts<'c> = (&'c [u8], &'c [u64]);

impl<'a> Cursor<'a> {
    /// The first cell.
    pub(crate) fn new(array: &'a ArrayReader) -> Self {
        Self { blocks: array.blocks(), size: array.cell_bytes(), block: None, cells: 0, at: 0 }
    }

    /// Cells that can be taken at once; none at the end.
    pub(crate) fn available(&mut self) -> Result<usize> {
        while self.at == self.cells {
            self.block = None;
            let Some(block) = self.blocks.next() else { return Ok(0) };
            let block = block?;
            let cells = block.shape.first().copied().and_then(|cells| usize::try_from(cells).ok());
            self.cells = cells.ok_or_else(|| internal("a chunk without axes"))?;
            self.at = 0;
            self.block = Some(block);
        }
        Ok(self.cells - self.at)
    }

    /// Bytes that are in memory.
    pub(crate) fn held(&self) -> u64 {
        let bytes = self.block.as_ref().map_or(0, |block| {
            block.values.len() + block.offsets.as_ref().map_or(0, |offsets| offsets.len() * 8)
        });
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }

    /// Takes cells of a fixed size.
    pub(crate) fn take(&mut self, count: usize) -> Result<&[u8]> {
        let (from, size) = (self.advance(count)?, self.size.unwrap_or(0));
        let bytes = self.block.as_ref().map_or(&[][..], |block| &block.values);
        let found = from.checked_mul(size).zip((from + count).checked_mul(size));
        let found = found.and_then(|(start, end)| bytes.get(start..end));
        found.ok_or_else(|| internal("a chunk has fewer cells than it should"))
    }

    /// Takes cells of any length.
    pub(crate) fn take_texts(&mut self, count: usize) -> Result<Texts<'_>> {
        let from = self.advance(count)?;
        let block = self.block.as_ref().ok_or_else(|| internal("cells without a chunk"))?;
        let offsets = block.offsets.as_deref().unwrap_or_default().get(from..=from + count);
        let offsets = offsets.ok_or_else(|| internal("a chunk has fewer texts than it should"))?;
        Ok((&block.values, offsets))
    }

    /// The number in the chunk of the first of so many cells.
    fn advance(&mut self, count: usize) -> Result<usize> {
        let from = self.at;
        let end = from.checked_add(count).filter(|end| *end <= self.cells);
        self.at = end.ok_or_else(|| internal("more cells are taken than there are"))?;
        Ok(from)
    }
}

/// A text of a run of them.
pub(crate) fn text<'c>((bytes, offsets): Texts<'c>, at: usize) -> Option<&'c [u8]> {
    let ends = offsets.get(at).zip(offsets.get(at.checked_add(1)?))?;
    bytes.get(usize::try_from(*ends.0).ok()?..usize::try_from(*ends.1).ok()?)
}
