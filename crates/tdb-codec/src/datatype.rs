//! Datatype codes, sizes, physical types and units: one table (specification, "Array schema":
//! datatype).

use core::fmt;

use crate::Gate;

/// A value type of the format. The discriminant is the wire code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the names are the specification's; the table below holds the rest")]
#[repr(u8)]
#[non_exhaustive]
pub enum Datatype {
    Int32 = 0,
    Int64 = 1,
    Float32 = 2,
    Float64 = 3,
    Char = 4,
    Int8 = 5,
    Uint8 = 6,
    Int16 = 7,
    Uint16 = 8,
    Uint32 = 9,
    Uint64 = 10,
    StringAscii = 11,
    StringUtf8 = 12,
    StringUtf16 = 13,
    StringUtf32 = 14,
    StringUcs2 = 15,
    StringUcs4 = 16,
    Any = 17,
    DatetimeYear = 18,
    DatetimeMonth = 19,
    DatetimeWeek = 20,
    DatetimeDay = 21,
    DatetimeHr = 22,
    DatetimeMin = 23,
    DatetimeSec = 24,
    DatetimeMs = 25,
    DatetimeUs = 26,
    DatetimeNs = 27,
    DatetimePs = 28,
    DatetimeFs = 29,
    DatetimeAs = 30,
    TimeHr = 31,
    TimeMin = 32,
    TimeSec = 33,
    TimeMs = 34,
    TimeUs = 35,
    TimeNs = 36,
    TimePs = 37,
    TimeFs = 38,
    TimeAs = 39,
    Blob = 40,
    Bool = 41,
    GeomWkb = 42,
    GeomWkt = 43,
}

/// The machine type a datatype's values are stored as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names say what they are")]
pub enum Physical {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    F32,
    F64,
}

impl Physical {
    /// Size in bytes: 1, 2, 4 or 8.
    #[must_use]
    pub const fn size(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
        }
    }

    /// Whether values are signed integers.
    #[must_use]
    pub const fn is_signed_integer(self) -> bool {
        matches!(self, Self::I8 | Self::I16 | Self::I32 | Self::I64)
    }

    /// Whether values are floating-point.
    #[must_use]
    pub const fn is_float(self) -> bool {
        matches!(self, Self::F32 | Self::F64)
    }
}

/// The class of a datatype. Filters, fill values and query conditions treat all datatypes of a
/// class alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DatatypeClass {
    /// `CHAR`: a byte that is neither a number nor a string.
    Char,
    /// Integers and `BOOL`.
    Integer,
    /// `FLOAT32`, `FLOAT64`.
    Real,
    /// `STRING_*`.
    String,
    /// `ANY`.
    Any,
    /// Points in time: signed 64-bit counts of a unit since 1970-01-01.
    Datetime,
    /// Times of day and durations: signed 64-bit counts of a unit.
    Time,
    /// `BLOB`, `GEOM_*`: opaque bytes.
    Byte,
}

struct Row {
    datatype: Datatype,
    name: &'static str,
    physical: Physical,
    class: DatatypeClass,
    unit: &'static str,
}

const fn row(
    datatype: Datatype,
    name: &'static str,
    physical: Physical,
    class: DatatypeClass,
    unit: &'static str,
) -> Row {
    Row { datatype, name, physical, class, unit }
}

/// The table of datatypes. Row `i` has code `i`; a test checks this.
const TABLE: [Row; 44] = {
    use Datatype as D;
    use DatatypeClass as C;
    use Physical as P;
    [
        row(D::Int32, "INT32", P::I32, C::Integer, ""),
        row(D::Int64, "INT64", P::I64, C::Integer, ""),
        row(D::Float32, "FLOAT32", P::F32, C::Real, ""),
        row(D::Float64, "FLOAT64", P::F64, C::Real, ""),
        row(D::Char, "CHAR", P::I8, C::Char, ""),
        row(D::Int8, "INT8", P::I8, C::Integer, ""),
        row(D::Uint8, "UINT8", P::U8, C::Integer, ""),
        row(D::Int16, "INT16", P::I16, C::Integer, ""),
        row(D::Uint16, "UINT16", P::U16, C::Integer, ""),
        row(D::Uint32, "UINT32", P::U32, C::Integer, ""),
        row(D::Uint64, "UINT64", P::U64, C::Integer, ""),
        row(D::StringAscii, "STRING_ASCII", P::U8, C::String, ""),
        row(D::StringUtf8, "STRING_UTF8", P::U8, C::String, ""),
        row(D::StringUtf16, "STRING_UTF16", P::U16, C::String, ""),
        row(D::StringUtf32, "STRING_UTF32", P::U32, C::String, ""),
        row(D::StringUcs2, "STRING_UCS2", P::U16, C::String, ""),
        row(D::StringUcs4, "STRING_UCS4", P::U32, C::String, ""),
        row(D::Any, "ANY", P::U8, C::Any, ""),
        row(D::DatetimeYear, "DATETIME_YEAR", P::I64, C::Datetime, "year"),
        row(D::DatetimeMonth, "DATETIME_MONTH", P::I64, C::Datetime, "month"),
        row(D::DatetimeWeek, "DATETIME_WEEK", P::I64, C::Datetime, "week"),
        row(D::DatetimeDay, "DATETIME_DAY", P::I64, C::Datetime, "day"),
        row(D::DatetimeHr, "DATETIME_HR", P::I64, C::Datetime, "hr"),
        row(D::DatetimeMin, "DATETIME_MIN", P::I64, C::Datetime, "min"),
        row(D::DatetimeSec, "DATETIME_SEC", P::I64, C::Datetime, "sec"),
        row(D::DatetimeMs, "DATETIME_MS", P::I64, C::Datetime, "ms"),
        row(D::DatetimeUs, "DATETIME_US", P::I64, C::Datetime, "us"),
        row(D::DatetimeNs, "DATETIME_NS", P::I64, C::Datetime, "ns"),
        row(D::DatetimePs, "DATETIME_PS", P::I64, C::Datetime, "ps"),
        row(D::DatetimeFs, "DATETIME_FS", P::I64, C::Datetime, "fs"),
        row(D::DatetimeAs, "DATETIME_AS", P::I64, C::Datetime, "as"),
        row(D::TimeHr, "TIME_HR", P::I64, C::Time, "hr"),
        row(D::TimeMin, "TIME_MIN", P::I64, C::Time, "min"),
        row(D::TimeSec, "TIME_SEC", P::I64, C::Time, "sec"),
        row(D::TimeMs, "TIME_MS", P::I64, C::Time, "ms"),
        row(D::TimeUs, "TIME_US", P::I64, C::Time, "us"),
        row(D::TimeNs, "TIME_NS", P::I64, C::Time, "ns"),
        row(D::TimePs, "TIME_PS", P::I64, C::Time, "ps"),
        row(D::TimeFs, "TIME_FS", P::I64, C::Time, "fs"),
        row(D::TimeAs, "TIME_AS", P::I64, C::Time, "as"),
        row(D::Blob, "BLOB", P::U8, C::Byte, ""),
        row(D::Bool, "BOOL", P::U8, C::Integer, ""),
        row(D::GeomWkb, "GEOM_WKB", P::U8, C::Byte, ""),
        row(D::GeomWkt, "GEOM_WKT", P::U8, C::Byte, ""),
    ]
};

impl Datatype {
    /// All datatypes in code order.
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE.iter().map(|row| row.datatype)
    }

    /// From the wire code.
    #[must_use]
    pub fn from_code(code: u8) -> Option<Self> {
        TABLE.get(usize::from(code)).map(|row| row.datatype)
    }

    /// From the specification's name, e.g. `STRING_ASCII`, in any case.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        TABLE.iter().find(|row| row.name.eq_ignore_ascii_case(name)).map(|row| row.datatype)
    }

    /// The wire code.
    #[must_use]
    pub const fn code(self) -> u8 {
        self as u8
    }

    const fn row(self) -> &'static Row {
        // The table has a row for every code, in code order (tested below), so the fallback is
        // never used.
        const FALLBACK: Row = row(Datatype::Any, "ANY", Physical::U8, DatatypeClass::Any, "");
        match TABLE.as_slice().split_at_checked(self as usize) {
            Some((_, [row, ..])) => row,
            _ => &FALLBACK,
        }
    }

    /// The specification's name, e.g. `STRING_ASCII`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.row().name
    }

    /// The machine type of one value.
    #[must_use]
    pub const fn physical(self) -> Physical {
        self.row().physical
    }

    /// Size of one value in bytes: 1, 2, 4 or 8.
    #[must_use]
    pub const fn size(self) -> usize {
        self.row().physical.size()
    }

    /// The class, by which filters and conditions treat it.
    #[must_use]
    pub const fn class(self) -> DatatypeClass {
        self.row().class
    }

    /// The gate that introduced it; `None` if every version has it. It is the first version for
    /// which every release that wrote that version knows the datatype.
    #[must_use]
    pub const fn gate(self) -> Option<Gate> {
        match self {
            Self::Blob => Some(Gate::BlobType),
            Self::Bool => Some(Gate::BoolType),
            Self::GeomWkb | Self::GeomWkt => Some(Gate::GeometryTypes),
            _ if self.is_time() => Some(Gate::TimeTypes),
            _ => None,
        }
    }

    /// The unit of a datetime or time type (`"ms"`, `"day"`, …), else `""`.
    #[must_use]
    pub const fn unit(self) -> &'static str {
        self.row().unit
    }

    /// Whether this is one of the `STRING_*` types.
    #[must_use]
    pub const fn is_string(self) -> bool {
        matches!(self.class(), DatatypeClass::String)
    }

    /// Whether values are points in time.
    #[must_use]
    pub const fn is_datetime(self) -> bool {
        matches!(self.class(), DatatypeClass::Datetime)
    }

    /// Whether values are times of day or durations.
    #[must_use]
    pub const fn is_time(self) -> bool {
        matches!(self.class(), DatatypeClass::Time)
    }

    /// The little-endian bytes of the default fill value of one value: the type's minimum for
    /// signed integers, dates and times, maximum for unsigned ones, quiet NaN for floats, `0x80`
    /// for `CHAR`, zero for everything else.
    #[must_use]
    pub fn default_fill(self) -> Vec<u8> {
        match self.class() {
            DatatypeClass::Char => vec![0x80],
            DatatypeClass::Real if self.size() == 4 => 0x7fc0_0000u32.to_le_bytes().to_vec(),
            DatatypeClass::Real => 0x7ff8_0000_0000_0000u64.to_le_bytes().to_vec(),
            DatatypeClass::Integer | DatatypeClass::Datetime | DatatypeClass::Time if self != Self::Bool => {
                if self.physical().is_signed_integer() {
                    let mut bytes = vec![0; self.size()];
                    if let Some(last) = bytes.last_mut() {
                        *last = 0x80;
                    }
                    bytes
                } else {
                    vec![0xff; self.size()]
                }
            }
            _ => vec![0; self.size()],
        }
    }
}

impl fmt::Display for Datatype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_sits_at_its_code() {
        for (code, row) in TABLE.iter().enumerate() {
            assert_eq!(usize::from(row.datatype.code()), code, "{}", row.name);
            assert_eq!(Datatype::from_code(row.datatype.code()), Some(row.datatype));
            assert_eq!(Datatype::from_name(row.name), Some(row.datatype));
            assert_eq!(row.datatype.name(), row.name);
            assert_eq!(row.datatype.default_fill().len(), row.datatype.size());
        }
        assert_eq!(Datatype::from_code(44), None);
    }

    #[test]
    fn default_fill_values_are_those_of_libtiledb() {
        assert_eq!(Datatype::Int32.default_fill(), i32::MIN.to_le_bytes());
        assert_eq!(Datatype::DatetimeNs.default_fill(), i64::MIN.to_le_bytes());
        assert_eq!(Datatype::Uint16.default_fill(), u16::MAX.to_le_bytes());
        assert_eq!(Datatype::Float32.default_fill(), [0, 0, 0xc0, 0x7f]);
        assert_eq!(Datatype::Float64.default_fill(), [0, 0, 0, 0, 0, 0, 0xf8, 0x7f]);
        assert_eq!(Datatype::Char.default_fill(), [0x80]);
        assert_eq!(Datatype::Bool.default_fill(), [0]);
        assert_eq!(Datatype::StringAscii.default_fill(), [0]);
    }

    #[test]
    fn machine_types_say_their_size_and_kind() {
        use Physical::{F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
        let rows = [(1, [I8, U8].as_slice()), (2, &[I16, U16]), (4, &[I32, U32, F32]), (8, &[I64, U64, F64])];
        for (size, types) in rows {
            assert!(types.iter().all(|physical| physical.size() == size), "{types:?}");
        }
        let all = || rows.iter().flat_map(|(_, types)| types.iter().copied());
        assert!(all().filter(|physical| physical.is_signed_integer()).eq([I8, I16, I32, I64]));
        assert!(all().filter(|physical| physical.is_float()).eq([F32, F64]));
    }

    #[test]
    fn datatypes_belong_to_classes() {
        let of = |is: fn(Datatype) -> bool| Datatype::all().filter(|datatype| is(*datatype)).count();
        assert_eq!(Datatype::all().count(), 44);
        assert_eq!((of(Datatype::is_string), of(Datatype::is_datetime), of(Datatype::is_time)), (6, 13, 9));
        assert!(Datatype::StringUcs4.is_string() && !Datatype::Char.is_string());
        assert!(Datatype::DatetimeYear.is_datetime() && !Datatype::TimeHr.is_datetime());
        assert!(Datatype::TimeAs.is_time() && !Datatype::DatetimeAs.is_time());
        let units = [Datatype::DatetimeMonth, Datatype::TimeMs, Datatype::Int64].map(Datatype::unit);
        assert_eq!(units, ["month", "ms", ""]);
        assert_eq!(Datatype::Float32.to_string(), "FLOAT32");
        assert_eq!(Datatype::from_name("string_utf8"), Some(Datatype::StringUtf8));
        assert_eq!(Datatype::from_name("STRING"), None);
    }

    #[test]
    fn later_datatypes_have_a_gate() {
        for (datatype, gate) in [
            (Datatype::DatetimeNs, None),
            (Datatype::Int8, None),
            (Datatype::TimeNs, Some(Gate::TimeTypes)),
            (Datatype::Blob, Some(Gate::BlobType)),
            (Datatype::Bool, Some(Gate::BoolType)),
            (Datatype::GeomWkb, Some(Gate::GeometryTypes)),
            (Datatype::GeomWkt, Some(Gate::GeometryTypes)),
        ] {
            assert_eq!(datatype.gate(), gate, "{datatype}");
        }
    }
}
