//! SQL literals as values of TileDB fields, if they can be converted without loss.

use datafusion::arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use tdb_array::query::Operand;

/// A value that cells are compared with. It is never a NaN.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    /// Also dates and times, in the field's unit.
    Integer(i128),
    /// A floating-point number, exact in the field's type.
    Real(f64),
    /// Text or bytes.
    Bytes(Vec<u8>),
    /// A boolean.
    Boolean(bool),
}

impl Value {
    /// The value as an operand of a condition.
    pub(crate) fn operand(&self) -> Operand {
        match self {
            Self::Integer(value) => Operand::Int(*value),
            Self::Real(value) => Operand::Float(*value),
            Self::Bytes(value) => Operand::Bytes(value.clone()),
            Self::Boolean(value) => Operand::Bool(*value),
        }
    }
}

/// A literal as a value of a column of this type. `None` if it is null, NaN, or of another type:
/// DataFusion itself casts literals to the types of columns where that is lossless.
pub(crate) fn value_of(literal: &ScalarValue, column: &DataType) -> Option<Value> {
    use ScalarValue as S;
    if let S::Dictionary(_, inner) = literal {
        return value_of(inner, column);
    }
    let column = match column {
        DataType::Dictionary(_, values) => values,
        plain => plain,
    };
    let texts = [DataType::Utf8, DataType::LargeUtf8, DataType::Utf8View];
    let blobs = [DataType::Binary, DataType::LargeBinary, DataType::BinaryView];
    let given = literal.data_type();
    let same_kind = |kind: &[DataType; 3]| kind.contains(column) && kind.contains(&given);
    if *column != given && !same_kind(&texts) && !same_kind(&blobs) {
        return None;
    }
    Some(match literal {
        S::Boolean(value) => Value::Boolean((*value)?),
        S::Int8(value) => Value::Integer((*value)?.into()),
        S::Int16(value) => Value::Integer((*value)?.into()),
        S::Int32(value) | S::Date32(value) | S::Time32Second(value) | S::Time32Millisecond(value) => {
            Value::Integer((*value)?.into())
        }
        S::Int64(value)
        | S::Date64(value)
        | S::Time64Microsecond(value)
        | S::Time64Nanosecond(value)
        | S::TimestampSecond(value, _)
        | S::TimestampMillisecond(value, _)
        | S::TimestampMicrosecond(value, _)
        | S::TimestampNanosecond(value, _)
        | S::DurationSecond(value)
        | S::DurationMillisecond(value)
        | S::DurationMicrosecond(value)
        | S::DurationNanosecond(value) => Value::Integer((*value)?.into()),
        S::UInt8(value) => Value::Integer((*value)?.into()),
        S::UInt16(value) => Value::Integer((*value)?.into()),
        S::UInt32(value) => Value::Integer((*value)?.into()),
        S::UInt64(value) => Value::Integer((*value)?.into()),
        S::Float32(value) => Value::Real(value.filter(|value| !value.is_nan())?.into()),
        S::Float64(value) => Value::Real(value.filter(|value| !value.is_nan())?),
        S::Utf8(value) | S::LargeUtf8(value) | S::Utf8View(value) => {
            Value::Bytes(value.as_ref()?.as_bytes().to_vec())
        }
        S::Binary(value) | S::LargeBinary(value) | S::BinaryView(value) => Value::Bytes(value.clone()?),
        _ => return None,
    })
}
