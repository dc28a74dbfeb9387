//! The memory that cells of a fixed size are painted into.

use crate::buffers::fill_cells;
use crate::spec::ColumnSpec;

/// The memory that the cells of a fixed-size field in a region are painted into.
pub(crate) struct Target<'t> {
    pub(crate) values: &'t mut [u8],
    pub(crate) validity: Option<&'t mut [u8]>,
    /// A cell with 0 here gets the fill value.
    pub(crate) wanted: Option<&'t [u8]>,
    /// Which of the region's space tiles are painted already, in their order; tiles after the last
    /// entry are not.
    pub(crate) tiles_done: &'t [bool],
}

impl Target<'_> {
    /// Gives neighbouring cells the fill value.
    pub(super) fn fill(&mut self, spec: &ColumnSpec, to: usize, cells: usize) -> Option<()> {
        let (size, end) = (spec.cell_size?, to.checked_add(cells)?);
        fill_cells(self.values.get_mut(to.checked_mul(size)?..end.checked_mul(size)?)?, &spec.fill);
        if let Some(validity) = &mut self.validity {
            validity.get_mut(to..end)?.fill(spec.fill_validity);
        }
        Some(())
    }
}
