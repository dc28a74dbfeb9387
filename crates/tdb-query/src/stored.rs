//! How many cells an array has, as far as the footers of its fragments tell.

use tdb_codec::ArrayType;
use tdb_scan::overlap::FragmentOverlap;
use tdb_schema::{Dimension, Range};

use crate::Array;

/// A number of cells, which nobody counted ([`Array::stored_cells`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredCells {
    /// The number.
    pub cells: u64,
    /// Whether a read of the whole array returns as many. If not, some of them may be deleted,
    /// older versions of others, or outside of the current domain or the window, and it returns at
    /// most so many.
    pub is_exact: bool,
}

impl Array {
    /// The number of cells, from the footers of the fragments alone: of a dense array those of its
    /// [`bounds`](Self::bounds), of a sparse one those that were written, which a read of all of it
    /// returns if the number is exact. `None` if 64 bits cannot count them; of a sparse array, only
    /// damaged footers say so.
    ///
    /// ```
    /// use tdb_array::Array;
    ///
    /// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../xtask/fixtures/arrays/2.30.0/quickstart");
    /// let stored = Array::open(path)?.stored_cells().ok_or("too many")?;
    /// assert_eq!((stored.cells, stored.is_exact), (16, true));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn stored_cells(&self) -> Option<StoredCells> {
        let dimensions = &self.schema().domain.dimensions;
        if self.schema().array_type == ArrayType::Dense {
            let Some(bounds) = self.bounds() else { return Some(StoredCells { cells: 0, is_exact: true }) };
            let side = |(range, dimension): (&Range, &Dimension)| {
                let (low, high) = (dimension.ordinal(&range.low)?, dimension.ordinal(&range.high)?);
                high.checked_sub(low)?.checked_add(1)
            };
            let mut sides = bounds.iter().zip(dimensions).map(side);
            let cells = sides.try_fold(1u64, |cells, side| cells.checked_mul(side?))?;
            return Some(StoredCells { cells, is_exact: true });
        }
        let fragments = self.fragments();
        let mut counts = fragments.iter().map(|fragment| fragment.cell_count());
        let cells = counts.try_fold(0u64, u64::checked_add)?;
        // A fragment with the times of its cells has several versions of some, or cells that a
        // window leaves out; one with marks of deletes has cells that are gone.
        let plain = fragments
            .iter()
            .all(|fragment| !fragment.footer().has_timestamps && !fragment.footer().has_delete_metadata);
        let inside = (0..dimensions.len()).all(|at| self.is_inside_current_domain(at));
        // A fault there proves nothing, so the number counts as one at most.
        let apart = || FragmentOverlap::new(self.schema(), fragments, |_| true);
        let is_exact = plain && inside && !self.has_deletes() && apart().is_ok_and(|found| !found.any());
        Some(StoredCells { cells, is_exact })
    }
}
