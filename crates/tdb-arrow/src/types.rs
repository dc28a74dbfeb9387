//! The table of types: the Arrow type of each TileDB datatype, and the reverse.
//!
//! The page `docs/tables/arrow.md` is made from [`rows`] and [`arrow_rows`].

use std::sync::Arc;

use arrow_schema::{DataType, Field, TimeUnit};
use tdb_array::schema::{CellValNum, Datatype, Physical};

use crate::options::{Booleans, Chars, Days, Offsets, Options, Text};

/// Name of the values in lists.
const ITEM: &str = "item";

/// The Arrow form of one value of a datatype.
#[derive(Clone, Debug, PartialEq)]
enum Value {
    /// A number of the same size, stored in the same way.
    Number(DataType),
    /// A bit.
    Boolean,
    /// A byte of UTF-8.
    Text,
    /// An arbitrary byte.
    Byte,
}

/// The table: for each datatype, the form of one value, and a remark.
fn value(datatype: Datatype) -> (Value, &'static str) {
    use DataType as A;
    use Datatype as D;
    const WIDE: &str = "UTF-16 and UTF-32 code units; Arrow has UTF-8 only";
    const UNIT: &str = "Arrow does not have this unit; `tdb:datatype` names it";
    let (data_type, remark) = match datatype {
        D::Int8 => (A::Int8, ""),
        D::Uint8 => (A::UInt8, ""),
        D::Int16 => (A::Int16, ""),
        D::Uint16 => (A::UInt16, ""),
        D::Int32 => (A::Int32, ""),
        D::Uint32 => (A::UInt32, ""),
        D::Int64 => (A::Int64, ""),
        D::Uint64 => (A::UInt64, ""),
        D::Float32 => (A::Float32, ""),
        D::Float64 => (A::Float64, ""),
        D::StringUtf16 | D::StringUcs2 => (A::UInt16, WIDE),
        D::StringUtf32 | D::StringUcs4 => (A::UInt32, WIDE),
        D::DatetimeDay => (A::Int64, "`Days::Date32`: Date32, copied and checked"),
        D::DatetimeSec => (A::Timestamp(TimeUnit::Second, None), ""),
        D::DatetimeMs => (A::Timestamp(TimeUnit::Millisecond, None), ""),
        D::DatetimeUs => (A::Timestamp(TimeUnit::Microsecond, None), ""),
        D::DatetimeNs => (A::Timestamp(TimeUnit::Nanosecond, None), ""),
        D::TimeSec => (A::Duration(TimeUnit::Second), ""),
        D::TimeMs => (A::Duration(TimeUnit::Millisecond), ""),
        D::TimeUs => (A::Duration(TimeUnit::Microsecond), ""),
        D::TimeNs => (A::Duration(TimeUnit::Nanosecond), ""),
        D::DatetimeYear
        | D::DatetimeMonth
        | D::DatetimeWeek
        | D::DatetimeHr
        | D::DatetimeMin
        | D::DatetimePs
        | D::DatetimeFs
        | D::DatetimeAs
        | D::TimeHr
        | D::TimeMin
        | D::TimePs
        | D::TimeFs
        | D::TimeAs => (A::Int64, UNIT),
        D::Bool => return (Value::Boolean, "copied: one bit per value; `Booleans::UInt8` does not copy"),
        D::StringAscii | D::StringUtf8 => {
            return (Value::Text, "checked to be UTF-8; `Text::Binary`: LargeBinary");
        }
        D::Char => return (Value::Byte, "`Chars::Utf8`: LargeUtf8"),
        D::Any | D::Blob | D::GeomWkb | D::GeomWkt => return (Value::Byte, ""),
        // A type of a later version of the format.
        later => (machine(later.physical()), UNIT),
    };
    (Value::Number(data_type), remark)
}

/// The Arrow type of a machine number.
const fn machine(physical: Physical) -> DataType {
    match physical {
        Physical::I8 => DataType::Int8,
        Physical::U8 => DataType::UInt8,
        Physical::I16 => DataType::Int16,
        Physical::U16 => DataType::UInt16,
        Physical::I32 => DataType::Int32,
        Physical::U32 => DataType::UInt32,
        Physical::I64 => DataType::Int64,
        Physical::U64 => DataType::UInt64,
        Physical::F32 => DataType::Float32,
        Physical::F64 => DataType::Float64,
    }
}

/// The Arrow type of the values of this datatype, if each of them is a value of an Arrow array;
/// `None` if they are bytes.
fn number(datatype: Datatype, options: &Options) -> Option<DataType> {
    match value(datatype).0 {
        Value::Number(_) if datatype == Datatype::DatetimeDay && options.days == Days::Date32 => {
            Some(DataType::Date32)
        }
        Value::Number(number) => Some(number),
        Value::Boolean if options.booleans == Booleans::UInt8 => Some(DataType::UInt8),
        Value::Boolean => Some(DataType::Boolean),
        Value::Text | Value::Byte => None,
    }
}

/// The unit of the timestamps that cells of this type are in Arrow, if they are.
pub(crate) fn unit_of(datatype: Datatype, cell_val_num: CellValNum) -> Option<TimeUnit> {
    match value(datatype).0 {
        Value::Number(DataType::Timestamp(unit, None)) if cell_val_num == CellValNum::ONE => Some(unit),
        _ => None,
    }
}

/// Whether values are bytes that form texts or blobs.
pub(crate) fn is_bytes(datatype: Datatype) -> bool {
    matches!(value(datatype).0, Value::Text | Value::Byte)
}

/// The Arrow type of a field.
pub(crate) fn data_type(datatype: Datatype, cell_val_num: CellValNum, options: &Options) -> DataType {
    let large = options.offsets != Offsets::Small;
    let list = |number, length| {
        let item = Arc::new(Field::new(ITEM, number, false));
        match length {
            Some(length) => DataType::FixedSizeList(item, length),
            None if large => DataType::LargeList(item),
            None => DataType::List(item),
        }
    };
    let text = match datatype {
        Datatype::StringAscii | Datatype::StringUtf8 => options.text == Text::Utf8,
        Datatype::Char => options.chars == Chars::Utf8,
        _ => false,
    };
    match (number(datatype, options), cell_val_num) {
        (Some(number), CellValNum::ONE) => number,
        // No schema has cells with so many values that the count needs more than 31 bits.
        (Some(number), CellValNum::Fixed(count)) => list(number, i32::try_from(count.get()).ok()),
        (Some(number), CellValNum::Var) => list(number, None),
        (None, CellValNum::Fixed(count)) => {
            DataType::FixedSizeBinary(i32::try_from(count.get()).unwrap_or(i32::MAX))
        }
        (None, CellValNum::Var) => match (text, options.offsets) {
            (true, Offsets::Large) => DataType::LargeUtf8,
            (true, Offsets::Small) => DataType::Utf8,
            (true, Offsets::Views) => DataType::Utf8View,
            (false, Offsets::Large) => DataType::LargeBinary,
            (false, Offsets::Small) => DataType::Binary,
            (false, Offsets::Views) => DataType::BinaryView,
        },
    }
}

/// How the values of an Arrow array are converted to those of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Passage {
    /// Without conversion.
    Same,
    /// From 32 to 64 bits.
    Widened,
    /// A byte per bit.
    Unpacked,
}

/// How values of an Arrow type are converted to values of a datatype; `None` if they cannot be.
pub(crate) fn passage(arrow: &DataType, datatype: Datatype) -> Option<Passage> {
    use DataType as A;
    let own = infer_value(arrow).ok();
    let same_stored = || {
        let physical = own.filter(|own| matches!(value(*own).0, Value::Number(_)))?.physical();
        // Plain integers fit every datatype that is stored as integers with the same sign: days,
        // code units, bytes.
        let one_byte = is_bytes(datatype) && matches!(arrow, A::Int8 | A::UInt8);
        let plain = arrow.is_integer() && (physical == datatype.physical() || one_byte);
        plain.then_some(Passage::Same)
    };
    match arrow {
        A::Date32 => (datatype == Datatype::DatetimeDay).then_some(Passage::Widened),
        A::Time32(_) => (own == Some(datatype)).then_some(Passage::Widened),
        A::Boolean => (datatype == Datatype::Bool).then_some(Passage::Unpacked),
        _ if own == Some(datatype) => Some(Passage::Same),
        _ => same_stored(),
    }
}

/// The datatype for single values of an Arrow type.
///
/// # Errors
/// Advice for a type that has none.
fn infer_value(arrow: &DataType) -> Result<Datatype, &'static str> {
    use DataType as A;
    use Datatype as D;
    Ok(match arrow {
        A::Int8 => D::Int8,
        A::UInt8 => D::Uint8,
        A::Int16 => D::Int16,
        A::UInt16 => D::Uint16,
        A::Int32 => D::Int32,
        A::UInt32 => D::Uint32,
        A::Int64 => D::Int64,
        A::UInt64 => D::Uint64,
        A::Float32 => D::Float32,
        A::Float64 => D::Float64,
        A::Boolean => D::Bool,
        // Values are times of UTC whatever the zone is, which is metadata of an array.
        A::Timestamp(TimeUnit::Second, _) => D::DatetimeSec,
        A::Timestamp(TimeUnit::Millisecond, _) | A::Date64 => D::DatetimeMs,
        A::Timestamp(TimeUnit::Microsecond, _) => D::DatetimeUs,
        A::Timestamp(TimeUnit::Nanosecond, _) => D::DatetimeNs,
        A::Date32 => D::DatetimeDay,
        A::Duration(TimeUnit::Second) | A::Time32(TimeUnit::Second) => D::TimeSec,
        A::Duration(TimeUnit::Millisecond) | A::Time32(TimeUnit::Millisecond) => D::TimeMs,
        A::Duration(TimeUnit::Microsecond) | A::Time64(TimeUnit::Microsecond) => D::TimeUs,
        A::Duration(TimeUnit::Nanosecond) | A::Time64(TimeUnit::Nanosecond) => D::TimeNs,
        A::Decimal32(..) | A::Decimal64(..) | A::Decimal128(..) | A::Decimal256(..) => {
            return Err("cast it to Float64, or to an integer of a smaller unit");
        }
        A::Float16 => return Err("cast it to Float32"),
        A::Interval(_) => return Err("cast it to Duration"),
        A::RunEndEncoded(..) => return Err("expand it to a plain column"),
        A::Struct(_) => return Err("make each of its fields a column"),
        A::Null => return Err("leave it out, or cast it to the type that it should have"),
        A::ListView(_) | A::LargeListView(_) => return Err("cast it to LargeList"),
        A::List(_) | A::LargeList(_) | A::FixedSizeList(..) => {
            return Err("cells are lists of numbers: flatten the inner lists");
        }
        _ => return Err("a cell has one value, or a list of numbers: split it into several columns"),
    })
}

/// The datatype of a new field for an Arrow type, and its number of values per cell. Not for
/// dictionaries.
///
/// # Errors
/// Advice for a type that has none.
pub(crate) fn infer(arrow: &DataType) -> Result<(Datatype, CellValNum), &'static str> {
    use DataType as A;
    let fixed = |count: i32| {
        let count = u32::try_from(count).ok().and_then(CellValNum::from_code);
        count.filter(|count| !count.is_var()).ok_or("cells must have at least one value")
    };
    Ok(match arrow {
        A::Utf8 | A::LargeUtf8 | A::Utf8View => (Datatype::StringUtf8, CellValNum::Var),
        A::Binary | A::LargeBinary | A::BinaryView => (Datatype::Blob, CellValNum::Var),
        A::FixedSizeBinary(count) => (Datatype::Blob, fixed(*count)?),
        A::List(item) | A::LargeList(item) => (infer_value(item.data_type())?, CellValNum::Var),
        A::FixedSizeList(item, count) => (infer_value(item.data_type())?, fixed(*count)?),
        _ => (infer_value(arrow)?, CellValNum::ONE),
    })
}

/// Whether a column of an Arrow type can become a field. Dictionaries are treated like their
/// values.
pub(crate) fn fits(arrow: &DataType, datatype: Datatype, cell_val_num: CellValNum) -> bool {
    use DataType as A;
    let item = |item: &Field| passage(item.data_type(), datatype).is_some();
    match (arrow, cell_val_num) {
        (A::Dictionary(_, values), _) => fits(values, datatype, cell_val_num),
        (
            A::Utf8 | A::LargeUtf8 | A::Utf8View | A::Binary | A::LargeBinary | A::BinaryView,
            CellValNum::Var,
        ) => is_bytes(datatype),
        (A::FixedSizeBinary(size), CellValNum::Fixed(count)) => {
            is_bytes(datatype) && u32::try_from(*size) == Ok(count.get())
        }
        (A::FixedSizeList(field, size), CellValNum::Fixed(count)) => {
            item(field) && u32::try_from(*size) == Ok(count.get())
        }
        (A::List(field) | A::LargeList(field), CellValNum::Var) => item(field),
        (_, CellValNum::ONE) => passage(arrow, datatype).is_some(),
        _ => false,
    }
}

/// A row of the table for readers: a datatype, and the Arrow types of its cells with the default
/// options.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Row {
    /// The datatype.
    pub datatype: Datatype,
    /// The type for one value per cell.
    pub one: DataType,
    /// The type for several values per cell: here two.
    pub several: DataType,
    /// The type for cells of variable length.
    pub variable: DataType,
    /// Further information.
    pub remark: &'static str,
}

/// The table from TileDB to Arrow, in the order of the datatypes' codes.
pub fn rows() -> impl Iterator<Item = Row> {
    rows_with(Options::new())
}

/// The same table with these options.
pub fn rows_with(options: Options) -> impl Iterator<Item = Row> {
    let two = CellValNum::from_code(2).unwrap_or(CellValNum::ONE);
    Datatype::all().map(move |datatype| Row {
        datatype,
        one: data_type(datatype, CellValNum::ONE, &options),
        several: data_type(datatype, two, &options),
        variable: data_type(datatype, CellValNum::Var, &options),
        remark: value(datatype).1,
    })
}

/// The table from Arrow to TileDB, for a new field without metadata: an Arrow type, and its
/// datatype and number of values per cell, or what to do instead.
pub fn arrow_rows() -> impl Iterator<Item = (DataType, Result<(Datatype, CellValNum), &'static str>)> {
    use DataType as A;
    use arrow_schema::IntervalUnit;
    let item = |item| Arc::new(Field::new(ITEM, item, true));
    let units = [TimeUnit::Second, TimeUnit::Millisecond, TimeUnit::Microsecond, TimeUnit::Nanosecond];
    let [s, ms, us, ns] = units;
    let mut types = vec![A::Boolean, A::Int8, A::UInt8, A::Int16, A::UInt16, A::Int32, A::UInt32, A::Int64];
    types.extend([A::UInt64, A::Float32, A::Float64, A::Date32, A::Date64]);
    types.extend(units.map(|unit| A::Timestamp(unit, None)));
    types.extend([A::Timestamp(ns, Some("UTC".into())), A::Timestamp(ns, Some("Europe/Paris".into()))]);
    types.extend(units.map(A::Duration));
    types.extend([A::Time32(s), A::Time32(ms), A::Time64(us), A::Time64(ns)]);
    types.extend([A::Utf8, A::LargeUtf8, A::Utf8View, A::Binary, A::LargeBinary, A::BinaryView]);
    types.extend([A::FixedSizeBinary(2), A::List(item(A::Int32)), A::LargeList(item(A::Float64))]);
    types.extend([A::FixedSizeList(item(A::Float32), 2), A::List(item(A::Utf8))]);
    types.extend([A::List(item(A::List(item(A::Int32)))), A::ListView(item(A::Int32))]);
    types.extend([A::Float16, A::Decimal128(38, 10), A::Interval(IntervalUnit::MonthDayNano)]);
    let run_ends = Arc::new(Field::new("run_ends", A::Int32, false));
    types.extend([A::RunEndEncoded(run_ends, item(A::Int32)), A::Struct(vec![item(A::Int32)].into())]);
    types.push(A::Null);
    types.into_iter().map(|arrow| {
        let inferred = infer(&arrow);
        (arrow, inferred)
    })
}

/// A field's type in the terms of the format, for messages.
pub(crate) fn describe(datatype: Datatype, cell_val_num: CellValNum) -> String {
    match cell_val_num {
        CellValNum::ONE => datatype.name().to_owned(),
        CellValNum::Fixed(count) => format!("{count} {datatype} per cell"),
        CellValNum::Var => format!("{datatype} of variable length"),
    }
}
