//! Counts the cells that a delete would remove.

use crate::Result;
use crate::aggregate::AggregateValue;
use crate::array::Array;
use crate::expression::{Aggregate, QueryCondition};

/// The number of cells that a delete by a condition affects; see [`Array::delete_counts`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeleteCounts {
    /// The cells of the array.
    pub cells: u64,
    /// The cells that satisfy the condition.
    pub satisfying: u64,
    /// The cells that the delete removes: in addition to those that satisfy the condition, those
    /// for which it is unknown.
    pub removed: u64,
}

impl DeleteCounts {
    /// The cells that would be removed although they do not satisfy the condition: they are null or
    /// NaN in one of its fields, or older than that field.
    #[must_use]
    pub const fn unknown(&self) -> u64 {
        self.removed.saturating_sub(self.satisfying)
    }
}

impl Array {
    /// Counts the cells that a delete by this condition would remove from the array as it was
    /// opened.
    ///
    /// The format stores which cells stay: those that satisfy the negated condition. A cell for
    /// which the condition is unknown satisfies neither, and is removed.
    ///
    /// ```
    /// use tdb_array::{Array, field};
    ///
    /// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../xtask/fixtures/arrays/2.30.0/sparse2d_rr");
    /// let array = Array::open(path)?;
    /// # let name = array.schema().attributes[0].name.clone();
    /// let counts = array.delete_counts(&field(name).gt(5))?;
    /// assert!(counts.removed >= counts.satisfying && counts.cells >= counts.removed);
    /// # Ok::<(), tdb_array::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Read::aggregate`](crate::Read::aggregate).
    pub fn delete_counts(&self, condition: &QueryCondition) -> Result<DeleteCounts> {
        let count = |condition: Option<QueryCondition>| -> Result<u64> {
            let read = match condition {
                Some(condition) => self.read().condition(condition),
                None => self.read(),
            };
            let counted = read.aggregate([Aggregate::count()])?;
            Ok(counted.first().and_then(AggregateValue::as_u64).unwrap_or(0))
        };
        let (cells, satisfying) = (count(None)?, count(Some(condition.clone()))?);
        let staying = count(Some(!condition.clone()))?;
        Ok(DeleteCounts { cells, satisfying, removed: cells.saturating_sub(staying) })
    }
}
