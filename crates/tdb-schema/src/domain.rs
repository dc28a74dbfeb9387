//! The domain: the list of dimensions (specification, "Array schema": domain).

use tdb_codec::{
    ArrayType, Datatype, FieldRow, FormatVersion, Gate, Reader, Result, Structure, Wire, Writer,
};

use crate::{Dimension, dimension};

/// The table of a domain.
pub(crate) static TABLE: Structure = Structure::new(
    "domain",
    &[
        FieldRow::new("domain datatype", Wire::U8).until(Gate::DimensionFiles).note("of all dimensions"),
        FieldRow::new("dimension count", Wire::U32),
        FieldRow::new("dimensions", Wire::Structure(&dimension::TABLE)).each("dimension"),
    ],
);

/// The dimensions of an array, in order. The table of its fields is "domain" in
/// [`STRUCTURES`](crate::STRUCTURES).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Domain {
    /// The dimensions; in row-major order, the first one changes slowest.
    pub dimensions: Vec<Dimension>,
}

impl Domain {
    /// A domain of these dimensions.
    #[must_use]
    pub const fn new(dimensions: Vec<Dimension>) -> Self {
        Self { dimensions }
    }

    /// The names of a dimension that numbers the rows of a table, in the order in which they are
    /// tried; later ones have a number behind the last one (`row_number_2`).
    pub const ROW_NAMES: [&str; 2] = ["row", "row_number"];

    /// The only dimension of an array of this type, if it numbers the rows of a table as that of an
    /// array does which was imported without coordinates.
    ///
    /// ```
    /// use tdb_codec::ArrayType;
    /// use tdb_schema::{Dimension, Domain};
    ///
    /// let domain = Domain::new(vec![Dimension::new("row", 0u64..=999)]);
    /// assert!(domain.row_numbers(ArrayType::Sparse).is_some());
    /// assert!(Domain::new(vec![Dimension::new("x", 0u64..=999)]).row_numbers(ArrayType::Sparse).is_none());
    /// ```
    #[must_use]
    pub fn row_numbers(&self, of: ArrayType) -> Option<&Dimension> {
        let [dimension] = self.dimensions.as_slice() else { return None };
        let name = dimension.name.as_str();
        let numbered = Self::ROW_NAMES.last().is_some_and(|last| name.starts_with(last));
        let datatype = if of == ArrayType::Sparse { Datatype::Uint64 } else { Datatype::Int64 };
        let is_named = numbered || Self::ROW_NAMES.contains(&name);
        (is_named && dimension.datatype == datatype).then_some(dimension)
    }

    pub(crate) fn parse(reader: &mut Reader<'_>, version: FormatVersion) -> Result<Self> {
        let datatype =
            if version.has(Gate::DimensionFiles) { None } else { Some(reader.datatype("domain datatype")?) };
        // A dimension takes at least a name length and the extent flag.
        let count = reader.count_u32(5, "dimension count")?;
        let mut dimensions = Vec::with_capacity(count);
        for _ in 0..count {
            dimensions.push(Dimension::parse(reader, version, datatype)?);
        }
        Ok(Self { dimensions })
    }

    pub(crate) fn write(&self, writer: &mut Writer, version: FormatVersion) -> Result<()> {
        if !version.has(Gate::DimensionFiles) {
            writer.u8(self.dimensions.first().map_or(0, |dimension| dimension.datatype.code()));
        }
        writer.len_u32(self.dimensions.len(), "dimension count")?;
        self.dimensions.iter().try_for_each(|dimension| dimension.write(writer, version))
    }
}
