//! The places at which a tile can be cut without cutting one of its chunks.

use tdb_codec::to_usize;
use tdb_filters::Pipeline;

use super::space::Space;

/// The distance between cuts of a tile that divide no chunk, in rows of cells.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ChunkRows(pub(super) usize);

impl ChunkRows {
    /// As many cells along the slowest dimension of a tile as a chunk holds, in the field with the
    /// longest chunks. Fields are given by the size of their cells, and their filters.
    pub(crate) fn of<'f>(space: &Space, fields: impl Iterator<Item = (usize, &'f Pipeline)>) -> Self {
        let slow = space.slowest();
        let cells = space.tile_strides.get(slow).copied().unwrap_or(1).max(1);
        let rows = fields.map(|(size, pipeline)| {
            let chunk = pipeline.usual_chunk(false).map(u64::from).and_then(to_usize).unwrap_or(usize::MAX);
            chunk.checked_div(cells.saturating_mul(size)).unwrap_or(1)
        });
        Self(rows.max().unwrap_or(1))
    }
}
