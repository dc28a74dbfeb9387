//! The type of a column of a result, and the fill value of its field.

use tdb_codec::{Buffer, CellValNum, Datatype};
use tdb_schema::{ArraySchema, Attribute, Field, FieldKind};

use crate::Column;

/// The type of a result column, and the fill value for cells that no fragment has.
#[derive(Clone, Debug)]
pub struct ColumnSpec {
    /// The field's name.
    pub name: String,
    /// The type of its values.
    pub datatype: Datatype,
    /// How many values a cell has.
    pub cell_val_num: CellValNum,
    /// Whether cells may be null.
    pub nullable: bool,
    /// Bytes of a cell; `None` for var-length columns.
    pub cell_size: Option<usize>,
    /// The bytes of a cell that no fragment has.
    pub fill: Vec<u8>,
    /// Its validity: 0 if it is null.
    pub fill_validity: u8,
}

impl ColumnSpec {
    /// The specification for a field of a schema.
    pub fn new(schema: &ArraySchema, field: &Field<'_>) -> Self {
        let (fill, fill_validity) = match field.kind {
            // The field is one of this schema, so that the attribute exists.
            FieldKind::Attribute(index) => schema
                .attributes
                .get(index)
                .map(|attribute| (attribute.fill_value.clone(), attribute.fill_validity))
                .unwrap_or_default(),
            FieldKind::Dimension(_) => (vec![0; field.datatype.size()], 1),
        };
        Self {
            name: field.name.to_owned(),
            datatype: field.datatype,
            cell_val_num: field.cell_val_num,
            nullable: field.nullable,
            cell_size: field.cell_size(),
            fill,
            fill_validity,
        }
    }

    /// The field of a fragment's schema for this column: the one with the same name and type.
    pub fn own_field(&self, schema: &ArraySchema, kind: FieldKind) -> Option<FieldKind> {
        match kind {
            FieldKind::Attribute(_) => {
                let same = |attribute: &Attribute| {
                    attribute.name == self.name
                        && attribute.datatype == self.datatype
                        && attribute.cell_val_num == self.cell_val_num
                };
                schema.attributes.iter().position(same).map(FieldKind::Attribute)
            }
            FieldKind::Dimension(_) => Some(kind),
        }
    }

    /// Makes the finished column.
    pub fn column(self, data: Buffer, offsets: Option<Vec<u64>>, validity: Option<Vec<u8>>) -> Column {
        Column {
            name: self.name,
            datatype: self.datatype,
            cell_val_num: self.cell_val_num,
            data,
            offsets,
            validity,
            codes: None,
        }
    }
}
