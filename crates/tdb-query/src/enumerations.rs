//! Enumerations: the values that the numbers in a column represent.

use tdb_codec::{Buffer, Native, PhysicalVisitor, to_u64, to_usize};
use tdb_schema::position;

use crate::buffers::lengths_to_offsets;
use crate::{Array, Column, OrInternal, Result};

impl Array {
    /// The values that the cells of an enumerated attribute's column represent, as a column; `None`
    /// if the column's attribute has no enumeration. A number outside the enumeration becomes null.
    ///
    /// # Errors
    /// A missing or damaged enumeration file.
    pub fn enumerated(&self, column: &Column) -> Result<Option<Column>> {
        let attribute = self.schema().attribute(&column.name);
        let Some(name) = attribute.and_then(|attribute| attribute.enumeration.as_deref()) else {
            return Ok(None);
        };
        let Some(enumeration) = self.enumeration(name)? else { return Ok(None) };
        let numbers = column.datatype.physical().visit(Numbers(column))?;
        let mut data = Buffer::new();
        let mut lengths = Vec::with_capacity(numbers.len().saturating_add(1));
        let mut validity = Vec::with_capacity(numbers.len());
        // The value of a null cell of fixed size has no meaning, but it must have bytes.
        let filler = match enumeration.cell_val_num {
            tdb_codec::CellValNum::Fixed(count) => {
                vec![
                    0;
                    enumeration.datatype.size().saturating_mul(to_usize(u64::from(count.get())).unwrap_or(1))
                ]
            }
            tdb_codec::CellValNum::Var => Vec::new(),
        };
        for (cell, number) in numbers.into_iter().enumerate() {
            let value = number.filter(|_| !column.is_null(cell)).and_then(|number| enumeration.value(number));
            validity.push(u8::from(value.is_some()));
            let value = value.unwrap_or(&filler);
            data.extend_from_slice(value);
            lengths.push(to_u64(value.len()));
        }
        lengths.push(0);
        lengths_to_offsets(&mut lengths)?;
        let nullable = column.validity.is_some() || validity.contains(&0);
        Ok(Some(Column {
            name: column.name.clone(),
            datatype: enumeration.datatype,
            cell_val_num: enumeration.cell_val_num,
            data,
            offsets: enumeration.cell_val_num.is_var().then_some(lengths),
            validity: nullable.then_some(validity),
            codes: None,
        }))
    }
}

/// The cells of an integral column as indexes; `None` for negative ones.
struct Numbers<'a>(&'a Column);

impl PhysicalVisitor for Numbers<'_> {
    type Output = Result<Vec<Option<usize>>>;

    fn visit<T: Native>(self) -> Self::Output {
        let values: &[T] = self.0.data.values().or_internal("a column does not consist of whole values")?;
        Ok(values.iter().map(|code| position(*code)).collect())
    }
}
