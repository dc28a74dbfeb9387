//! Columns of dimensions as coordinates.

use arrow_array::RecordBatch;
use tdb_array::schema::{ArraySchema, ArrayType, Attribute, Dimension, Domain, Range};

use crate::error::Result;
use crate::mapping::{ArrowCells, Mapping};
use crate::options::Options;

/// Turns the columns of dimensions into coordinates, also those of dense arrays, of which
/// [`Mapping::write_batch`] leaves them out.
///
/// ```
/// use std::sync::Arc;
/// use arrow_array::{Int32Array, RecordBatch};
/// use tdb_array::schema::{Dimension, Range};
/// use tdb_arrow::Coordinates;
///
/// let x = Dimension::new("x", 0i32..=99);
/// let batch = RecordBatch::try_from_iter([("x", Arc::new(Int32Array::from(vec![7, 3])) as _)])?;
/// let cells = Coordinates::new(core::slice::from_ref(&x))?.of(&batch)?;
/// assert_eq!(cells.cell("x", 1), Some(&3i32.to_le_bytes()[..]));
/// let mut span = None;
/// assert_eq!(cells.span(&x, &mut span), Ok(()));
/// assert_eq!(span, Some(Range::new(3i32.to_le_bytes(), 7i32.to_le_bytes())));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Coordinates {
    mapping: Mapping,
}

impl Coordinates {
    /// For these dimensions.
    ///
    /// # Errors
    /// A dimension of a type that no column has.
    pub fn new(dimensions: &[Dimension]) -> Result<Self> {
        let of = |dimension: &Dimension| {
            Attribute::new(&dimension.name, dimension.datatype, dimension.cell_val_num)
        };
        // The columns of a schema without its dimensions: only the types of attributes matter.
        let domain = Domain::new(vec![Dimension::new("", 0u64..=0)]);
        let schema = ArraySchema::new(ArrayType::Dense, domain);
        let schema = dimensions.iter().map(of).fold(schema, ArraySchema::with_attribute);
        Ok(Self { mapping: Mapping::new(&schema, [], Options::new())? })
    }

    /// The coordinates of the rows of a batch, whose other columns are left out.
    ///
    /// # Errors
    /// A column whose type does not fit its dimension, and a null.
    pub fn of(&self, batch: &RecordBatch) -> Result<ArrowCells> {
        let schema = batch.schema();
        let known = |name: &str| self.mapping.array_schema().attribute(name).is_some();
        let columns: Vec<usize> = (0..batch.num_columns())
            .filter(|at| schema.fields().get(*at).is_some_and(|field| known(field.name())))
            .collect();
        self.mapping.write_batch(&batch.project(&columns)?)
    }
}

impl ArrowCells {
    /// Extends a range so that it has the coordinates of all cells in a dimension.
    ///
    /// # Errors
    /// The first row whose coordinate is outside of the domain.
    pub fn span(&self, dimension: &Dimension, span: &mut Option<Range>) -> Result<(), usize> {
        let domain = dimension.domain.as_ref();
        let domain = domain.map(|(low, high)| Range::new(low.as_slice(), high.as_slice()));
        for row in 0..self.len() {
            let Some(value) = self.cell(&dimension.name, row) else { continue };
            if domain.as_ref().is_some_and(|domain| !domain.contains(dimension.datatype, value)) {
                return Err(row);
            }
            match span {
                Some(span) if span.contains(dimension.datatype, value) => {}
                Some(span) => span.unite(dimension.datatype, &Range::new(value, value)),
                None => *span = Some(Range::new(value, value)),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Int32Array, StringArray};

    use super::*;

    #[test]
    fn a_coordinate_outside_of_the_domain_is_found_and_nulls_are_refused() {
        let x = Dimension::new("x", 0i32..=9);
        let coordinates = Coordinates::new(core::slice::from_ref(&x)).unwrap();
        let batch = |values: Vec<Option<i32>>| {
            let x: ArrayRef = Arc::new(Int32Array::from(values));
            let other: ArrayRef = Arc::new(StringArray::from(vec!["a", "b"]));
            RecordBatch::try_from_iter([("other", other), ("x", x)]).unwrap()
        };
        let mut span = None;
        let cells = coordinates.of(&batch(vec![Some(4), Some(10)])).unwrap();
        assert_eq!(cells.span(&x, &mut span), Err(1));
        assert!(coordinates.of(&batch(vec![Some(4), None])).is_err());
    }
}
