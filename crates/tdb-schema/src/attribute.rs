//! An attribute: the values of each cell (specification, "Array schema": attribute).

use tdb_codec::{
    CellValNum, DataOrder, Datatype, ErrorKind, FieldRow, FormatVersion, Gate, Native, Reader, Result,
    Structure, Wire, Writer,
};
use tdb_filters::Pipeline;

use crate::pipeline;

/// The table of an attribute.
pub(crate) static TABLE: Structure = Structure::new(
    "attribute",
    &[
        FieldRow::new("attribute name", Wire::String32).note("empty, or `__attr` by 1.x, if anonymous"),
        FieldRow::new("attribute datatype", Wire::U8),
        FieldRow::new("attribute cell val num", Wire::U32).note("0xFFFFFFFF for variable length"),
        FieldRow::new("attribute filters", Wire::Structure(&pipeline::TABLE)),
        FieldRow::new("fill value", Wire::String64)
            .since(Gate::FillValues)
            .note("a cell, or one value for variable length"),
        FieldRow::new("nullable", Wire::U8).since(Gate::Nullable),
        FieldRow::new("fill value validity", Wire::U8).since(Gate::Nullable),
        FieldRow::new("attribute order", Wire::U8).since(Gate::OrderedAttributes),
        FieldRow::new("attribute enumeration name", Wire::String32)
            .since(Gate::Enumerations)
            .note("empty for none"),
    ],
);

/// The name that libtiledb 1.x used for an attribute without a name, and for its file. Later
/// versions reserve this name.
pub const OLD_ANONYMOUS: &str = "__attr";

/// Largest number of values in a fixed-size cell. Such a cell is buffered whole (the fill value of
/// old schemas is built from the count), so a hostile count must not determine an allocation.
const MAX_VALUES_PER_CELL: u32 = 1 << 24;

/// One attribute of an array. The table of its fields is "attribute" in
/// [`STRUCTURES`](crate::STRUCTURES).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Attribute {
    /// Name; empty (or `__attr` in arrays of libtiledb 1.x) for the anonymous attribute.
    pub name: String,
    /// Type of the values.
    pub datatype: Datatype,
    /// Number of values in a cell.
    pub cell_val_num: CellValNum,
    /// Filters of the attribute's values.
    pub filters: Pipeline,
    /// Little-endian value of cells that were never written: a whole cell, or one element for
    /// var-length attributes.
    pub fill_value: Vec<u8>,
    /// Whether cells may be null.
    pub nullable: bool,
    /// Validity of cells that were never written, for nullable attributes: 0 is null.
    pub fill_validity: u8,
    /// Guaranteed order of the values in a dense 1-D array.
    pub order: DataOrder,
    /// The enumeration into which the cells are indices.
    pub enumeration: Option<String>,
}

impl Attribute {
    /// An attribute of one number of a Rust type, with the default fill value, not nullable,
    /// without filters.
    ///
    /// ```
    /// use tdb_codec::{CellValNum, Datatype};
    /// use tdb_schema::Attribute;
    ///
    /// let attribute = Attribute::of::<f32>("temperature");
    /// assert_eq!(attribute, Attribute::new("temperature", Datatype::Float32, CellValNum::ONE));
    /// ```
    pub fn of<T: Native>(name: impl Into<String>) -> Self {
        Self::new(name, Datatype::of::<T>(), CellValNum::ONE)
    }

    /// An attribute of texts in UTF-8, of any length.
    pub fn string(name: impl Into<String>) -> Self {
        Self::new(name, Datatype::StringUtf8, CellValNum::Var)
    }

    /// An attribute of a type that is known at run time, with the default fill value, not nullable,
    /// without filters.
    pub fn new(name: impl Into<String>, datatype: Datatype, cell_val_num: CellValNum) -> Self {
        Self {
            name: name.into(),
            datatype,
            cell_val_num,
            filters: Pipeline::default(),
            fill_value: default_fill_cell(datatype, cell_val_num),
            nullable: false,
            fill_validity: 0,
            order: DataOrder::Unordered,
            enumeration: None,
        }
    }

    /// The same attribute with filters.
    #[must_use]
    pub fn with_filters(mut self, filters: Pipeline) -> Self {
        self.filters = filters;
        self
    }

    /// The same attribute, with cells that may be null. Cells that were never written are null.
    #[must_use]
    pub const fn with_nulls(mut self) -> Self {
        self.nullable = true;
        self
    }

    /// The same attribute with another value for cells that were never written: the little-endian
    /// bytes of a cell.
    #[must_use]
    pub fn with_fill(mut self, value: impl Into<Vec<u8>>) -> Self {
        self.fill_value = value.into();
        self
    }

    /// The same attribute, with cells that are indices into an enumeration.
    #[must_use]
    pub fn with_enumeration(mut self, name: impl Into<String>) -> Self {
        self.enumeration = Some(name.into());
        self
    }

    /// The same attribute with a guaranteed order of its values.
    #[must_use]
    pub const fn with_order(mut self, order: DataOrder) -> Self {
        self.order = order;
        self
    }

    /// Whether cells are of variable length.
    #[must_use]
    pub const fn is_var(&self) -> bool {
        self.cell_val_num.is_var()
    }

    pub(crate) fn parse(reader: &mut Reader<'_>, version: FormatVersion) -> Result<Self> {
        let name = reader.string_u32("attribute name")?;
        let datatype = reader.datatype("attribute datatype")?;
        let start = *reader;
        let code = reader.u32("attribute cell val num")?;
        let cell_val_num = CellValNum::from_code(code).ok_or_else(|| {
            start.error("attribute cell val num", ErrorKind::InvalidValue { value: u64::from(code) })
        })?;
        // A cell is buffered whole, so its size is bounded before it is used in a multiplication.
        if let CellValNum::Fixed(count) = cell_val_num
            && count.get() > MAX_VALUES_PER_CELL
        {
            let kind = ErrorKind::LimitExceeded { size: u64::from(count.get()) };
            return Err(start.error("attribute cell val num", kind));
        }
        let filters = Pipeline::parse(reader, version)?;
        let fill_value = if version.has(Gate::FillValues) {
            let start = *reader;
            let bytes = reader.bytes_u64("fill value")?;
            if !fill_len_is_right(bytes.len(), datatype, cell_val_num) {
                let value = tdb_codec::to_u64(bytes.len());
                return Err(start.error("fill value size", ErrorKind::WrongLength { value }));
            }
            bytes.to_vec()
        } else {
            default_fill_cell(datatype, cell_val_num)
        };
        let (nullable, fill_validity) = if version.has(Gate::Nullable) {
            (reader.bool("nullable")?, reader.u8("fill value validity")?)
        } else {
            (false, 0)
        };
        let order = if version.has(Gate::OrderedAttributes) {
            reader.code("attribute order", DataOrder::from_code)?
        } else {
            DataOrder::Unordered
        };
        let enumeration = if version.has(Gate::Enumerations) {
            Some(reader.string_u32("attribute enumeration name")?).filter(|name| !name.is_empty())
        } else {
            None
        };
        Ok(Self {
            name,
            datatype,
            cell_val_num,
            filters,
            fill_value,
            nullable,
            fill_validity,
            order,
            enumeration,
        })
    }

    pub(crate) fn write(&self, writer: &mut Writer, version: FormatVersion) -> Result<()> {
        let old_anonymous = self.name.is_empty() && !version.has(Gate::DimensionFiles);
        let name = if old_anonymous { OLD_ANONYMOUS } else { self.name.as_str() };
        writer.bytes_u32(name.as_bytes(), "attribute name")?;
        writer.u8(self.datatype.code());
        writer.u32(self.cell_val_num.code());
        self.filters.write(writer, version)?;
        if version.has(Gate::FillValues) {
            writer.bytes_u64(&self.fill_value);
        }
        if version.has(Gate::Nullable) {
            writer.bool(self.nullable);
            writer.u8(self.fill_validity);
        }
        if version.has(Gate::OrderedAttributes) {
            writer.u8(self.order.code());
        }
        if version.has(Gate::Enumerations) {
            let name = self.enumeration.as_deref().unwrap_or_default();
            writer.bytes_u32(name.as_bytes(), "attribute enumeration name")?;
        }
        Ok(())
    }
}

pub(crate) fn fill_len_is_right(len: usize, datatype: Datatype, cell_val_num: CellValNum) -> bool {
    match cell_val_num {
        CellValNum::Fixed(count) => {
            usize::try_from(count.get()).ok().and_then(|count| count.checked_mul(datatype.size()))
                == Some(len)
        }
        CellValNum::Var => len != 0 && len.is_multiple_of(datatype.size()),
    }
}

/// The default fill value of a whole cell: repeated for multi-value cells, one element for
/// var-length cells.
fn default_fill_cell(datatype: Datatype, cell_val_num: CellValNum) -> Vec<u8> {
    let one = datatype.default_fill();
    match cell_val_num {
        CellValNum::Fixed(count) => one.repeat(usize::try_from(count.get()).unwrap_or(usize::MAX)),
        CellValNum::Var => one,
    }
}

#[cfg(test)]
mod tests {
    use core::num::NonZeroU32;

    use super::*;

    #[test]
    fn multi_value_cells_repeat_the_fill_value_and_var_cells_hold_one_element() {
        let two = CellValNum::Fixed(NonZeroU32::new(2).unwrap());
        assert_eq!(Attribute::new("a", Datatype::Uint8, two).fill_value, [0xff, 0xff]);
        assert_eq!(Attribute::new("a", Datatype::Char, CellValNum::Var).fill_value, [0x80]);
    }

    #[test]
    fn a_hostile_cell_val_num_does_not_become_an_allocation() {
        let attribute = Attribute::new("a", Datatype::Uint8, CellValNum::ONE);
        let version = FormatVersion::OLDEST;
        let mut writer = Writer::new();
        attribute.write(&mut writer, version).unwrap();
        let mut bytes = writer.into_vec();
        bytes[6..10].copy_from_slice(&0xffff_fffeu32.to_le_bytes());
        let error = Attribute::parse(&mut Reader::new(&bytes), version).unwrap_err();
        assert_eq!((error.offset, error.what), (6, "attribute cell val num"));
    }

    #[test]
    fn an_attribute_is_what_it_was_made_of() {
        let attribute = Attribute::new("a", Datatype::Uint8, CellValNum::Var)
            .with_nulls()
            .with_fill([7])
            .with_enumeration("e")
            .with_order(DataOrder::Increasing);
        assert!(attribute.is_var() && attribute.nullable);
        assert_eq!((attribute.fill_value.as_slice(), attribute.order), (&[7][..], DataOrder::Increasing));
        assert_eq!(attribute.enumeration.as_deref(), Some("e"));
        assert!(!Attribute::new("a", Datatype::Uint8, CellValNum::ONE).is_var());
    }

    #[test]
    fn a_cell_may_have_16_million_values_and_no_more() {
        let version = FormatVersion::OLDEST;
        let parse = |count: u32| {
            let mut writer = Writer::new();
            Attribute::new("a", Datatype::Uint8, CellValNum::ONE).write(&mut writer, version).unwrap();
            let mut bytes = writer.into_vec();
            bytes[6..10].copy_from_slice(&count.to_le_bytes());
            Attribute::parse(&mut Reader::new(&bytes), version)
        };
        assert_eq!(parse(1 << 24).unwrap().fill_value.len(), 1 << 24);
        let kind = ErrorKind::LimitExceeded { size: (1 << 24) + 1 };
        assert_eq!(parse((1 << 24) + 1).unwrap_err().kind, kind);
        assert_eq!(parse(0).unwrap_err().kind, ErrorKind::InvalidValue { value: 0 });
    }

    #[test]
    fn a_fill_value_is_a_cell_or_some_values_of_variable_length() {
        let two = CellValNum::Fixed(NonZeroU32::new(2).unwrap());
        let right = |len, count| fill_len_is_right(len, Datatype::Int16, count);
        assert!(right(4, two) && !right(2, two) && !right(8, two));
        assert!(right(2, CellValNum::Var) && right(4, CellValNum::Var));
        assert!(!right(0, CellValNum::Var) && !right(3, CellValNum::Var));
        let mut attribute = Attribute::new("a", Datatype::Int16, two);
        attribute.fill_value = vec![0; 3];
        let mut writer = Writer::new();
        attribute.write(&mut writer, FormatVersion::CURRENT).unwrap();
        let bytes = writer.into_vec();
        let error = Attribute::parse(&mut Reader::new(&bytes), FormatVersion::CURRENT).unwrap_err();
        assert_eq!((error.what, error.kind), ("fill value size", ErrorKind::WrongLength { value: 3 }));
    }
}
