//! Attributes whose values have a defined order: the values of dimension labels.

use core::cmp::Ordering;

use tdb_codec::{DataOrder, Native, PhysicalVisitor, to_u64};
use tdb_schema::{ArraySchema, FieldKind};

use crate::column::CheckedColumn;
use crate::{OrInternal, Result, WriteError};

/// Returns an error if cells of ordered attributes are not in their order. Only dense arrays with
/// one dimension have such attributes, so neighbours in the columns are neighbours in the array. No
/// value may appear twice; cells of other writes are not checked. Both is as in libtiledb, which
/// also accepts a NaN.
pub(super) fn check(schema: &ArraySchema, columns: &[CheckedColumn<'_>]) -> Result<()> {
    for column in columns {
        let FieldKind::Attribute(index) = column.kind else { continue };
        let attribute = schema.attributes.get(index).or_internal("a column without an attribute")?;
        let wanted = match attribute.order {
            DataOrder::Unordered => continue,
            DataOrder::Increasing => Ordering::Less,
            DataOrder::Decreasing => Ordering::Greater,
        };
        let wrong = if column.cell_size.is_some() {
            attribute.datatype.physical().visit(FirstAgainst { values: column.values, wanted })
        } else {
            // A column that was checked has all of its cells.
            let cell = |index: usize| column.cell(index).unwrap_or_default();
            (1..column.cells).find(|index| cell(index.wrapping_sub(1)).cmp(cell(*index)) != wanted)
        };
        if let Some(cell) = wrong {
            return Err(WriteError::NotInOrder { field: attribute.name.clone(), cell: to_u64(cell) }.into());
        }
    }
    Ok(())
}

/// Finds the first value that is out of order with the previous one.
struct FirstAgainst<'a> {
    values: &'a [u8],
    wanted: Ordering,
}

impl PhysicalVisitor for FirstAgainst<'_> {
    type Output = Option<usize>;

    fn visit<T: Native>(self) -> Option<usize> {
        let values = self.values.chunks_exact(T::SIZE).map(T::from_le);
        let pairs = values.clone().zip(values.skip(1));
        let mut orders = pairs.map(|(before, value)| before.partial_cmp(&value));
        orders.position(|order| order != Some(self.wanted)).map(|at| at.saturating_add(1))
    }
}
