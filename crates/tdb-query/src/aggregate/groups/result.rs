//! Groups and their values, as callers get them.

use tdb_codec::{Buffer, CellValNum, Datatype, Native, PhysicalVisitor};

use crate::expression::Aggregate;
use crate::{Cells, Column};

/// The groups of a query's cells, and aggregates of each. Their order is nearly that in which they first appear in the array, and does not
/// depend on the number of threads.
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
    /// Its values: `UINT64` for counts, the 64-bit type of the field's kind for sums, `FLOAT64` for means, and the field's own type for
    /// extremes. Null if all cells of the group are.
    pub column: Column,
    /// Whether a sum of integers does not fit in 64 bits. Its value is then the limit that it exceeded.
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

    /// The values, if the aggregate's are integers: `None` for those that are null.
    #[must_use]
    pub fn integers(&self) -> Option<Vec<Option<i128>>> {
        let physical = self.column.datatype.physical();
        let integer = |bytes: &[u8]| crate::coordinate::integer(bytes, physical.is_signed_integer());
        (!physical.is_float() && self.column.cell_val_num == CellValNum::ONE).then(|| self.each(integer))
    }

    /// The values, if the aggregate's are real numbers: `None` for those that are null.
    #[must_use]
    pub fn reals(&self) -> Option<Vec<Option<f64>>> {
        struct ToFloat<'a>(&'a [u8]);
        impl PhysicalVisitor for ToFloat<'_> {
            type Output = f64;
            fn visit<T: Native>(self) -> f64 {
                T::from_le(self.0).map_or(f64::NAN, T::to_f64)
            }
        }
        let physical = self.column.datatype.physical();
        let real = |bytes: &[u8]| physical.visit(ToFloat(bytes));
        (physical.is_float() && self.column.cell_val_num == CellValNum::ONE).then(|| self.each(real))
    }

    fn each<V>(&self, value: impl Fn(&[u8]) -> V) -> Vec<Option<V>> {
        let cells = self.column.bytes().chunks_exact(self.column.datatype.size());
        let valid = cells.enumerate().map(|(group, cell)| (!self.column.is_null(group)).then_some(cell));
        valid.map(|cell| cell.map(&value)).collect()
    }
}
