//! A dimension: name, type, domain, tile extent, filters (specification, "Array schema":
//! dimension).

use core::ops::RangeInclusive;

use tdb_codec::{
    CellValNum, Datatype, ErrorKind, FieldRow, FormatVersion, Gate, Native, Physical, PhysicalVisitor,
    Reader, Result, Structure, Wire, Writer, to_u64,
};
use tdb_filters::Pipeline;

use crate::pipeline;

/// The table of a dimension.
pub(crate) static TABLE: Structure = Structure::new(
    "dimension",
    &[
        FieldRow::new("dimension name", Wire::String32),
        FieldRow::new("dimension datatype", Wire::U8).since(Gate::DimensionFiles),
        FieldRow::new("dimension cell val num", Wire::U32)
            .since(Gate::DimensionFiles)
            .note("1, or 0xFFFFFFFF for strings"),
        FieldRow::new("dimension filters", Wire::Structure(&pipeline::TABLE))
            .since(Gate::DimensionFiles)
            .note("none means the coords filters"),
        FieldRow::new("dimension domain size", Wire::U64)
            .since(Gate::DimensionFiles)
            .note("bytes; before, low and high of the domain's datatype"),
        FieldRow::new("dimension domain", Wire::Bytes).each("low and high end; none for strings"),
        FieldRow::new("null tile extent", Wire::U8),
        FieldRow::new("tile extent", Wire::Bytes).when("the flag before is 0"),
    ],
);

/// One dimension of an array's domain. The table of its fields is "dimension" in
/// [`STRUCTURES`](crate::STRUCTURES).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Dimension {
    /// Name, unique among dimensions and attributes.
    pub name: String,
    /// Type of the coordinates.
    pub datatype: Datatype,
    /// [`CellValNum::Var`] for strings, otherwise one.
    pub cell_val_num: CellValNum,
    /// Filters of the dimension's data files; empty means the schema's coords filters (from version
    /// 5).
    pub filters: Pipeline,
    /// Little-endian `low, high`, inclusive; `None` for strings.
    pub domain: Option<(Vec<u8>, Vec<u8>)>,
    /// Little-endian tile extent; `None` if the array has none in this dimension. The extent of a
    /// real dimension may be infinite, 0 or NaN: if no extent is given, libtiledb uses the length
    /// of the domain, which can overflow, and is 0 for a single point.
    pub tile_extent: Option<Vec<u8>>,
}

impl Dimension {
    /// A dimension of numbers with an inclusive domain and no tile extent. Dates and times are
    /// 64-bit numbers; set their type with [`Self::with_datatype`].
    ///
    /// ```
    /// use tdb_codec::Datatype;
    /// use tdb_schema::Dimension;
    ///
    /// let day = Dimension::new("day", 0i64..=36_524).with_datatype(Datatype::DatetimeDay).with_tile(365i64);
    /// assert_eq!((day.last_ordinal(), day.extent_cells()), (Some(36_524), Some(365)));
    /// ```
    pub fn new<T: Native>(name: impl Into<String>, domain: RangeInclusive<T>) -> Self {
        let (low, high) = domain.into_inner();
        Self::fixed(name, Datatype::of::<T>(), le_bytes(low), le_bytes(high))
    }

    /// A dimension of a fixed-size type with an inclusive domain and no tile extent.
    pub fn fixed(
        name: impl Into<String>,
        datatype: Datatype,
        low: impl Into<Vec<u8>>,
        high: impl Into<Vec<u8>>,
    ) -> Self {
        Self {
            name: name.into(),
            datatype,
            cell_val_num: CellValNum::ONE,
            filters: Pipeline::default(),
            domain: Some((low.into(), high.into())),
            tile_extent: None,
        }
    }

    /// A string dimension (`STRING_ASCII`, no domain).
    pub fn string(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            datatype: Datatype::StringAscii,
            cell_val_num: CellValNum::Var,
            filters: Pipeline::default(),
            domain: None,
            tile_extent: None,
        }
    }

    /// The same dimension with a tile extent, given as its little-endian bytes.
    #[must_use]
    pub fn with_tile_bytes(mut self, extent: impl Into<Vec<u8>>) -> Self {
        self.tile_extent = Some(extent.into());
        self
    }

    /// The same dimension with a tile extent, given as a value of the dimension's type.
    #[must_use]
    pub fn with_tile<T: Native>(self, extent: T) -> Self {
        self.with_tile_bytes(le_bytes(extent))
    }

    /// The same dimension with another type of the same size.
    #[must_use]
    pub const fn with_datatype(mut self, datatype: Datatype) -> Self {
        self.datatype = datatype;
        self
    }

    /// The same dimension with its own filters.
    #[must_use]
    pub fn with_filters(mut self, filters: Pipeline) -> Self {
        self.filters = filters;
        self
    }

    /// Whether coordinates are of variable length.
    #[must_use]
    pub const fn is_var(&self) -> bool {
        self.cell_val_num.is_var()
    }

    pub(crate) fn parse(
        reader: &mut Reader<'_>,
        version: FormatVersion,
        domain_datatype: Option<Datatype>,
    ) -> Result<Self> {
        let name = reader.string_u32("dimension name")?;
        let (datatype, cell_val_num, filters) = match domain_datatype {
            Some(datatype) => (datatype, CellValNum::ONE, Pipeline::default()),
            None => {
                let datatype = reader.datatype("dimension datatype")?;
                let start = *reader;
                let code = reader.u32("dimension cell val num")?;
                let cell_val_num = CellValNum::from_code(code).ok_or_else(|| {
                    let value = u64::from(code);
                    start.error("dimension cell val num", ErrorKind::InvalidValue { value })
                })?;
                (datatype, cell_val_num, Pipeline::parse(reader, version)?)
            }
        };
        let size = datatype.size();
        let start = *reader;
        let domain_len = if version.has(Gate::DimensionFiles) {
            reader.u64("dimension domain size")?
        } else {
            to_u64(size.saturating_mul(2))
        };
        let domain = if cell_val_num.is_var() && domain_len == 0 {
            None
        } else if domain_len == to_u64(size.saturating_mul(2)) && !cell_val_num.is_var() {
            let low = reader.take(size, "dimension domain")?.to_vec();
            let high = reader.take(size, "dimension domain")?.to_vec();
            Some((low, high))
        } else {
            let kind = ErrorKind::WrongLength { value: domain_len };
            return Err(start.error("dimension domain size", kind));
        };
        let tile_extent = if reader.bool("null tile extent")? {
            None
        } else {
            Some(reader.take(size, "tile extent")?.to_vec())
        };
        Ok(Self { name, datatype, cell_val_num, filters, domain, tile_extent })
    }

    pub(crate) fn write(&self, writer: &mut Writer, version: FormatVersion) -> Result<()> {
        writer.bytes_u32(self.name.as_bytes(), "dimension name")?;
        if version.has(Gate::DimensionFiles) {
            writer.u8(self.datatype.code());
            writer.u32(self.cell_val_num.code());
            self.filters.write(writer, version)?;
            let len = self.domain.as_ref().map_or(0, |(low, high)| low.len().saturating_add(high.len()));
            writer.u64(to_u64(len));
        }
        if let Some((low, high)) = &self.domain {
            writer.bytes(low);
            writer.bytes(high);
        }
        writer.bool(self.tile_extent.is_none());
        if let Some(extent) = &self.tile_extent {
            writer.bytes(extent);
        }
        Ok(())
    }

    /// The distance of a coordinate from the domain's low end, for integral types (including dates
    /// and times); `None` for reals and strings, or if `value` has the wrong length. For
    /// coordinates below the low end, the distance wraps around to a large number.
    #[must_use]
    pub fn ordinal(&self, value: &[u8]) -> Option<u64> {
        let (low, _) = self.domain.as_ref()?;
        if self.datatype.physical().is_float() {
            return None;
        }
        Some(integer_bits(self, value)?.wrapping_sub(integer_bits(self, low)?))
    }

    /// The coordinate at a distance from the domain's low end: the inverse of [`Self::ordinal`].
    #[must_use]
    pub fn coordinate(&self, ordinal: u64) -> Option<Vec<u8>> {
        let (low, _) = self.domain.as_ref()?;
        let bits = integer_bits(self, low)?.wrapping_add(ordinal);
        Some(bits.to_le_bytes().get(..self.datatype.size())?.to_vec())
    }

    /// Distance between the ends of a real domain, in the dimension's own precision: infinite if it
    /// is more than the largest finite number. `None` for other types.
    #[must_use]
    pub(crate) fn real_length(&self) -> Option<Vec<u8>> {
        let (low, high) = self.domain.as_ref()?;
        match self.datatype.physical() {
            Physical::F32 => Some((f32::from_le(high)? - f32::from_le(low)?).to_le_bytes().to_vec()),
            Physical::F64 => Some((f64::from_le(high)? - f64::from_le(low)?).to_le_bytes().to_vec()),
            _ => None,
        }
    }

    /// Distance between the ends of an integral domain: its number of cells minus one.
    #[must_use]
    pub fn last_ordinal(&self) -> Option<u64> {
        self.ordinal(&self.domain.as_ref()?.1)
    }

    /// Whether the number of coordinates of an integral dimension fits its type. Where a dimension
    /// has no tile extent, libtiledb takes that number for it.
    #[must_use]
    pub fn fits_its_type(&self) -> bool {
        let bits = u32::try_from(self.datatype.size().saturating_mul(8)).unwrap_or(0);
        let bits = bits.saturating_sub(u32::from(self.datatype.physical().is_signed_integer()));
        let most = 1u64.checked_shl(bits).map_or(u64::MAX, |count| count - 1);
        self.last_ordinal().is_none_or(|last| last < most)
    }

    /// The tile extent of an integral dimension as a number of cells; `None` if there is none.
    #[must_use]
    pub fn extent_cells(&self) -> Option<u64> {
        if self.datatype.physical().is_float() {
            return None;
        }
        let extent = integer_bits(self, self.tile_extent.as_ref()?)?;
        // Extents are stored in the dimension's type, so the sign extension of narrow types is
        // removed.
        let bits = u32::try_from(self.datatype.size().saturating_mul(8)).ok()?;
        Some(if bits >= 64 { extent } else { extent & ((1u64 << bits) - 1) })
    }
}

fn le_bytes<T: Native>(value: T) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(T::SIZE);
    value.write_le(&mut bytes);
    bytes
}

/// The value sign- or zero-extended to 64 bits.
fn integer_bits(dimension: &Dimension, value: &[u8]) -> Option<u64> {
    if value.len() != dimension.datatype.size() {
        return None;
    }
    let signed = dimension.datatype.physical().is_signed_integer();
    let negative = signed && value.last().is_some_and(|byte| byte & 0x80 != 0);
    let mut bytes = if negative { [0xff; 8] } else { [0; 8] };
    bytes.get_mut(..value.len())?.copy_from_slice(value);
    Some(u64::from_le_bytes(bytes))
}

/// A coordinate or cell value as text, in the notation of its type.
pub(crate) fn show(datatype: Datatype, value: &[u8]) -> String {
    struct Show<'a>(&'a [u8]);
    impl PhysicalVisitor for Show<'_> {
        type Output = String;
        fn visit<T: Native>(self) -> String {
            T::from_le(self.0).map_or_else(String::new, |value| format!("{value:?}"))
        }
    }
    datatype.physical().visit(Show(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinals_count_from_the_low_end_of_signed_and_unsigned_domains() {
        let dimension = Dimension::fixed("x", Datatype::Int8, (-128i8).to_le_bytes(), 127i8.to_le_bytes());
        assert_eq!(dimension.ordinal(&(-128i8).to_le_bytes()), Some(0));
        assert_eq!(dimension.ordinal(&127i8.to_le_bytes()), Some(255));
        assert_eq!(dimension.coordinate(255), Some(127i8.to_le_bytes().to_vec()));
        assert_eq!(dimension.last_ordinal(), Some(255));
        let dimension = Dimension::fixed("x", Datatype::Uint64, 1u64.to_le_bytes(), u64::MAX.to_le_bytes());
        assert_eq!(dimension.last_ordinal(), Some(u64::MAX - 1));
        assert_eq!(dimension.ordinal(&[0; 4]), None);
    }

    #[test]
    fn a_dimension_has_the_datatype_of_its_numbers() {
        let datatypes = [
            Dimension::new("x", 0i8..=1),
            Dimension::new("x", 0u8..=1),
            Dimension::new("x", 0i16..=1),
            Dimension::new("x", 0u16..=1),
            Dimension::new("x", 0i32..=1),
            Dimension::new("x", 0u32..=1),
            Dimension::new("x", 0i64..=1),
            Dimension::new("x", 0u64..=1),
            Dimension::new("x", 0f32..=1.0),
            Dimension::new("x", 0f64..=1.0),
        ]
        .map(|dimension| dimension.datatype.name());
        let expected = ["INT8", "UINT8", "INT16", "UINT16", "INT32", "UINT32", "INT64", "UINT64"];
        assert_eq!(datatypes[..8], expected);
        assert_eq!(datatypes[8..], ["FLOAT32", "FLOAT64"]);
        assert!(!Dimension::new("x", 0i8..=1).is_var() && Dimension::string("s").is_var());
    }

    #[test]
    fn extents_and_counts_are_numbers_of_cells() {
        // An extent above the maximum of a signed type is unsigned all the same.
        assert_eq!(Dimension::new("x", -100i8..=99).with_tile_bytes([200]).extent_cells(), Some(200));
        assert_eq!(Dimension::new("x", 0u64..=9).with_tile(u64::MAX).extent_cells(), Some(u64::MAX));
        assert_eq!(Dimension::new("x", 0u64..=9).extent_cells(), None);
        assert_eq!(Dimension::new("x", 0f64..=9.0).with_tile(3f64).extent_cells(), None);
        let real = Dimension::new("x", 0f32..=9.0);
        assert_eq!((real.last_ordinal(), real.ordinal(&1f32.to_le_bytes())), (None, None));
        assert_eq!(real.real_length(), Some(9f32.to_le_bytes().to_vec()));
        assert_eq!(Dimension::new("x", -1.5f64..=2.0).real_length(), Some(3.5f64.to_le_bytes().to_vec()));
        assert_eq!(Dimension::new("x", 0u8..=9).real_length(), None);
        let string = Dimension::string("s");
        assert_eq!((string.last_ordinal(), string.coordinate(0), string.real_length()), (None, None, None));
        assert_eq!(Dimension::new("x", 10u16..=90).coordinate(300), Some(310u16.to_le_bytes().to_vec()));
    }

    #[test]
    fn a_domain_fits_its_type_if_its_number_of_cells_does() {
        assert!(Dimension::new("x", 0i8..=126).fits_its_type(), "127 cells");
        assert!(!Dimension::new("x", 0i8..=127).fits_its_type(), "128 cells");
        assert!(Dimension::new("x", 1u8..=255).fits_its_type(), "255 cells");
        assert!(!Dimension::new("x", 0u8..=255).fits_its_type(), "256 cells");
        assert!(Dimension::new("x", 1u64..=u64::MAX).fits_its_type());
        assert!(!Dimension::new("x", 0u64..=u64::MAX).fits_its_type());
        assert!(!Dimension::new("x", -1i64..=i64::MAX - 1).fits_its_type());
        assert!(Dimension::new("x", 0f32..=1.0).fits_its_type());
    }

    #[test]
    fn strings_have_no_domain_and_numbers_have_one_of_two_values() {
        let version = FormatVersion::CURRENT;
        for (dimension, size) in [(Dimension::string("s"), 2u64), (Dimension::new("s", 0u8..=9), 0)] {
            let mut writer = Writer::new();
            dimension.write(&mut writer, version).unwrap();
            let mut bytes = writer.into_vec();
            let parse = |bytes: &[u8]| Dimension::parse(&mut Reader::new(bytes), version, None);
            assert_eq!(parse(&bytes).unwrap(), dimension);
            // The size of the domain is behind the name, the type, the count and an empty pipeline.
            let at = 4 + 1 + 1 + 4 + 8;
            bytes[at..at + 8].copy_from_slice(&size.to_le_bytes());
            let error = parse(&bytes).unwrap_err();
            let kind = ErrorKind::WrongLength { value: size };
            assert_eq!((error.what, error.offset, error.kind), ("dimension domain size", at as u64, kind));
        }
    }

    #[test]
    fn values_are_shown_in_the_notation_of_their_type() {
        assert_eq!(show(Datatype::Int16, &(-3i16).to_le_bytes()), "-3");
        assert_eq!(show(Datatype::Float64, &0.5f64.to_le_bytes()), "0.5");
        assert_eq!(show(Datatype::Int16, &[1]), "");
    }
}
