//! Groups and their values, as callers get them.

use tdb_codec::{Buffer, CellValNum, Datatype, Native, PhysicalVisitor};

use crate::expression::Aggregate;
use crate::{Cells, Column};

/// The groups of a query's cells, and aggregates of each. Their order does not depend on the number
/// of threads: it is nearly that in which they first appear in the array, and where they are very
/// many, an order of hashes.
#[derive(Clone, Debug)]
pub struct Grouped {
    pub(super) keys: Cells,
    pub(super) values: Vec<GroupedValues>,
}

/// The values of an aggregate, one a group.
#[derive(Clone, Debug)]
pub struct GroupedValues {
    /// The aggregate that was computed.
    pub aggregate: Aggregate,
    /// Its values: `UINT64` for counts, the 64-bit type of the field's kind for sums, `FLOAT64` for
    /// means, and the field's own type for extremes. Null if all cells of the group are.
    pub column: Column,
    /// Whether a sum of integers does not fit in 64 bits. Its value is then the limit that it
    /// exceeded.
    pub overflowed: bool,
    /// Whether NaNs were left out of extremes.
    pub has_nan: bool,
}

impl Grouped {
    /// The number of groups.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether there are no groups, because there are no cells.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The keys: a column for each, with the value of each group.
    #[must_use]
    pub const fn keys(&self) -> &Cells {
        &self.keys
    }

    /// The values of the aggregates, in the order in which they were asked for.
    #[must_use]
    pub fn values(&self) -> &[GroupedValues] {
        &self.values
    }

    /// The keys, and the values of the aggregates.
    #[must_use]
    pub fn into_parts(self) -> (Cells, Vec<GroupedValues>) {
        (self.keys, self.values)
    }
}

impl GroupedValues {
    /// The number of cells of each group.
    pub(super) fn counts(aggregate: &Aggregate, counts: &[u64]) -> Self {
        let column = Column {
            name: aggregate.to_string(),
            datatype: Datatype::Uint64,
            cell_val_num: CellValNum::ONE,
            data: Buffer::from(counts.to_vec()),
            offsets: None,
            validity: None,
            codes: None,
        };
        Self { aggregate: aggregate.clone(), column, overflowed: false, has_nan: false }
    }

    /// Whether the aggregate's values are real numbers: means, and sums and extremes of real
    /// fields.
    #[must_use]
    pub const fn are_reals(&self) -> bool {
        self.column.datatype.physical().is_float()
    }

    /// The value of a group, if the aggregate's are integers. `None` if it is null, and if there is
    /// no such group.
    #[must_use]
    pub fn integer(&self, group: usize) -> Option<i128> {
        if self.are_reals() {
            return None;
        }
        let (cell, signed) = (self.cell(group)?, self.column.datatype.physical().is_signed_integer());
        Some(match <[u8; 8]>::try_from(cell) {
            Ok(bytes) if signed => i64::from_le_bytes(bytes).into(),
            Ok(bytes) => u64::from_le_bytes(bytes).into(),
            Err(_) => crate::coordinate::integer(cell, signed),
        })
    }

    /// The value of a group, if the aggregate's are real numbers. `None` if it is null, and if
    /// there is no such group.
    #[must_use]
    pub fn real(&self, group: usize) -> Option<f64> {
        struct ToFloat<'a>(&'a [u8]);
        impl PhysicalVisitor for ToFloat<'_> {
            type Output = f64;
            fn visit<T: Native>(self) -> f64 {
                T::from_le(self.0).map_or(f64::NAN, T::to_f64)
            }
        }
        let cell = self.cell(group).filter(|_| self.are_reals())?;
        Some(self.column.datatype.physical().visit(ToFloat(cell)))
    }

    /// The values, if the aggregate's are integers: `None` for those that are null.
    #[must_use]
    pub fn integers(&self) -> Option<Vec<Option<i128>>> {
        (!self.are_reals() && self.are_numbers()).then(|| self.each(|group| self.integer(group)))
    }

    /// The values, if the aggregate's are real numbers: `None` for those that are null.
    #[must_use]
    pub fn reals(&self) -> Option<Vec<Option<f64>>> {
        (self.are_reals() && self.are_numbers()).then(|| self.each(|group| self.real(group)))
    }

    /// Whether each value is one number.
    fn are_numbers(&self) -> bool {
        self.column.cell_val_num == CellValNum::ONE
    }

    /// The bytes of a group's value that is one number and not null.
    fn cell(&self, group: usize) -> Option<&[u8]> {
        let size = self.column.datatype.size();
        let start = group.checked_mul(size).filter(|_| self.are_numbers() && !self.column.is_null(group))?;
        self.column.bytes().get(start..start.checked_add(size)?)
    }

    fn each<V>(&self, value: impl Fn(usize) -> V) -> Vec<V> {
        let groups = self.column.bytes().len().checked_div(self.column.datatype.size());
        (0..groups.unwrap_or(0)).map(value).collect()
    }
}
