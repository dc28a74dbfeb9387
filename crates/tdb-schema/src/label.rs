//! Dimension labels: names for the positions of a dimension, stored in a separate array.

use tdb_codec::{
    CellValNum, DataOrder, Datatype, ErrorKind, FieldRow, Gate, Reader, Result, Structure, Wire, Writer,
    to_u64,
};

/// The table of a dimension label.
pub(crate) static TABLE: Structure = Structure::new(
    "dimension label",
    &[
        FieldRow::new("label dimension index", Wire::U32),
        FieldRow::new("label name", Wire::String32),
        FieldRow::new("label URI is relative", Wire::U8),
        FieldRow::new("label URI", Wire::String64),
        FieldRow::new("label attribute name", Wire::String32),
        FieldRow::new("label order", Wire::U8).note("1 increasing, 2 decreasing"),
        FieldRow::new("label datatype", Wire::U8),
        FieldRow::new("label cell val num", Wire::U32),
        FieldRow::new("label is external", Wire::U8),
    ],
)
.since(Gate::DimensionLabels);

/// A dimension label (version 18 on). The label's values are in a 1-D dense array below the array's
/// folder. The table of its fields is "dimension label" in [`STRUCTURES`](crate::STRUCTURES).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct DimensionLabel {
    /// Index of the dimension that it labels.
    pub dimension: u32,
    /// Name, unique among dimensions, attributes and labels.
    pub name: String,
    /// Whether `uri` is relative to the array.
    pub relative: bool,
    /// The URI of the label's array.
    pub uri: String,
    /// The attribute of that array that contains the values.
    pub attribute: String,
    /// Order of the values along the dimension.
    pub order: DataOrder,
    /// Type of the values.
    pub datatype: Datatype,
    /// Number of values in a cell.
    pub cell_val_num: CellValNum,
    /// Whether the label's array is external: it does not belong to this array.
    pub external: bool,
}

impl DimensionLabel {
    /// A label of a dimension, whose values increase: the attribute `label` of the array at `uri`,
    /// a path relative to this array's folder.
    pub fn new(
        dimension: u32,
        name: impl Into<String>,
        uri: impl Into<String>,
        datatype: Datatype,
        cell_val_num: CellValNum,
    ) -> Self {
        Self {
            dimension,
            name: name.into(),
            relative: true,
            uri: uri.into(),
            attribute: "label".to_owned(),
            order: DataOrder::Increasing,
            datatype,
            cell_val_num,
            external: false,
        }
    }

    pub(crate) fn parse(reader: &mut Reader<'_>) -> Result<Self> {
        let dimension = reader.u32("label dimension index")?;
        let name = reader.string_u32("label name")?;
        let relative = reader.bool("label URI is relative")?;
        let uri = reader.string_u64("label URI")?;
        let attribute = reader.string_u32("label attribute name")?;
        let order = reader.code("label order", DataOrder::from_code)?;
        let datatype = reader.datatype("label datatype")?;
        let start = *reader;
        let code = reader.u32("label cell val num")?;
        let cell_val_num = CellValNum::from_code(code).ok_or_else(|| {
            start.error("label cell val num", ErrorKind::InvalidValue { value: u64::from(code) })
        })?;
        let external = reader.bool("label is external")?;
        Ok(Self { dimension, name, relative, uri, attribute, order, datatype, cell_val_num, external })
    }

    pub(crate) fn write(&self, writer: &mut Writer) -> Result<()> {
        writer.u32(self.dimension);
        writer.bytes_u32(self.name.as_bytes(), "label name")?;
        writer.bool(self.relative);
        writer.u64(to_u64(self.uri.len()));
        writer.bytes(self.uri.as_bytes());
        writer.bytes_u32(self.attribute.as_bytes(), "label attribute name")?;
        writer.u8(self.order.code());
        writer.u8(self.datatype.code());
        writer.u32(self.cell_val_num.code());
        writer.bool(self.external);
        Ok(())
    }
}
