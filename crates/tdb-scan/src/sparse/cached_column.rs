//! A decoded column of some cells of a tile, in the form in which it is cached.

use tdb_codec::{Buffer, to_u64};
use tdb_predicate::ColumnView;

use crate::buffers::zeroed;
use crate::plan::CACHED_COLUMN_BYTES;
use crate::{Error, Result};

/// Cells of one field of one tile.
#[derive(Debug)]
pub struct CachedColumn {
    /// The number of cells.
    pub(crate) cells: usize,
    pub(crate) values: Buffer,
    /// For var-length fields, one more offset than cells.
    pub(crate) offsets: Option<Vec<u64>>,
    /// For nullable fields, a byte per cell.
    pub(crate) validity: Option<Vec<u8>>,
}

impl CachedColumn {
    /// Bytes of its values and its validity.
    pub(super) fn content(&self) -> usize {
        self.values.len().saturating_add(self.validity.as_ref().map_or(0, Vec::len))
    }

    /// Approximate bytes that it takes.
    pub(crate) fn held(&self) -> u64 {
        let offsets = self.offsets.as_ref().map_or(0, |offsets| offsets.len().saturating_mul(8));
        let validity = self.validity.as_ref().map_or(0, Vec::len);
        CACHED_COLUMN_BYTES
            .saturating_add(to_u64(self.values.len().saturating_add(offsets).saturating_add(validity)))
    }

    /// Its cells, as a column view.
    pub fn view(&self) -> ColumnView<'_> {
        let (offsets, validity) = (self.offsets.as_deref(), self.validity.as_deref());
        ColumnView { values: self.values.as_slice(), offsets, codes: None, validity, present: None }
    }

    /// Moves its cells to the places of the ones in `flags`; the values at the other places do not
    /// matter.
    ///
    /// # Errors
    /// [`Error::Internal`](crate::Error::Internal) if there are not as many ones as cells.
    pub(super) fn widened(self, flags: &[u8]) -> Result<Self> {
        if flags.iter().filter(|flag| **flag != 0).count() != self.cells {
            return Err(Error::internal("a kept cell has no place among those that are selected"));
        }
        let validity = self.validity.map(|narrow| {
            let mut wide = vec![0; flags.len()];
            let slots = wide.iter_mut().zip(flags).filter(|(_, flag)| **flag != 0);
            slots.zip(narrow).for_each(|((slot, _), valid)| *slot = valid);
            wide
        });
        let (values, offsets) = match self.offsets {
            // The added cells have no values.
            Some(narrow) => {
                let mut next = narrow.iter().copied();
                let first = next.next().unwrap_or(0);
                let mut end = first;
                let ends = flags.iter().map(|flag| {
                    if *flag != 0 {
                        end = next.next().unwrap_or(end);
                    }
                    end
                });
                (self.values, Some(core::iter::once(first).chain(ends).collect()))
            }
            None => {
                let size = self.values.len().checked_div(self.cells).unwrap_or(0);
                let mut wide = zeroed(flags.len().saturating_mul(size))?;
                let cells = self.values.as_slice().chunks_exact(size.max(1));
                let slots = wide.as_mut_slice().chunks_exact_mut(size.max(1)).zip(flags);
                let slots = slots.filter(|(_, flag)| **flag != 0);
                slots.zip(cells).for_each(|((slot, _), cell)| slot.copy_from_slice(cell));
                (wide, None)
            }
        };
        Ok(Self { cells: flags.len(), values, offsets, validity })
    }
}
