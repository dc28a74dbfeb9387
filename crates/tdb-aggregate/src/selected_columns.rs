//! The columns of the selected cells of one tile, decoded when something looks at them.

use tdb_predicate::{ColumnView, Columns, Program};
use tdb_scan::condition::{Sources, TileColumns};
use tdb_scan::sparse::decode_cache::DecodeCache;
use tdb_scan::sparse::selection::TileSelection;

use crate::buffers::index_of;
use crate::decode_buffers::PooledBuffers;
use crate::{OrInternal, Result};

/// The selected cells of a tile, field by field.
pub(super) struct SelectedColumns<'s> {
    program: &'s Program,
    selection: &'s TileSelection,
    cache: &'s DecodeCache,
    mask: Vec<u8>,
    columns: TileColumns<'s>,
}

impl<'s> SelectedColumns<'s> {
    pub(super) fn new(
        sources: &'s Sources<'_>,
        selection: &'s TileSelection,
        cache: &'s DecodeCache,
        buffers: &'s mut PooledBuffers,
    ) -> Result<Self> {
        let TileSelection { id, tile_cells, .. } = *selection;
        let mut mask = vec![u8::from(selection.cells.is_none()); tile_cells];
        for cell in selection.cells.iter().flatten() {
            *mask.get_mut(index_of(*cell)).or_internal("a selected cell is not in its tile")? = 1;
        }
        let columns = sources.tile(id, tile_cells, buffers)?;
        Ok(Self { program: sources.program, selection, cache, mask, columns })
    }

    /// The number of selected cells.
    pub(super) fn len(&self) -> usize {
        self.selection.count()
    }

    /// Runs a function on a column of a field, its number of cells, and the numbers of the selected
    /// ones (`None` for all). Returns `None` if the fragment does not have the field, so that its
    /// cells have the fill value.
    pub(super) fn with<R>(
        &mut self,
        field: usize,
        run: impl FnOnce(ColumnView<'_>, usize, Option<&[u32]>) -> R,
    ) -> Result<Option<R>> {
        let selection = self.selection;
        let program =
            self.program.fields.get(field).or_internal("a program has no field with this number")?;
        let size = program.spec.cell_size;
        if let Some(kept) = self.cache.take_selected(selection, program.kind) {
            return Ok(Some(run(kept.view().complete(selection.count(), size)?, selection.count(), None)));
        }
        let Some(view) = self.columns.column(field, &self.mask)? else { return Ok(None) };
        let view = view.complete(selection.tile_cells, size)?;
        Ok(Some(run(view, selection.tile_cells, selection.cells.as_deref())))
    }
}
