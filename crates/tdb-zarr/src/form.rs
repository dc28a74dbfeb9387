//! Which data type of Zarr shows a type of TileDB, and what the documents say about it.

use serde_json::{Value, json};
use tdb_array::schema::{CellValNum, Datatype, DatatypeClass, Physical};
use tdb_text::value::{cell_json, text_of};

use crate::base64;

/// A data type of Zarr.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Numbers.
    Number(Physical),
    /// Truth values, a byte each.
    Bool,
    /// Points in time, or spans of time, in a unit of numpy.
    Time { unit: &'static str, is_span: bool },
    /// Bytes of a fixed number, padded with zeros.
    Terminated(u32),
    /// Bytes of a fixed number.
    Raw(u32),
    /// Texts of a fixed number of characters, of four bytes each.
    Wide(u32),
    /// Texts of any length.
    Text,
    /// Bytes of any number.
    Bytes,
}

/// How a field is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shown {
    /// The type of the field.
    pub(crate) datatype: Datatype,
    /// The type of Zarr.
    pub(crate) form: Form,
    /// The values of a cell, if they are a further dimension.
    pub(crate) inner: Option<u32>,
}

impl Shown {
    /// How cells of a type are shown, or why they cannot be.
    pub(crate) fn of(datatype: Datatype, count: CellValNum) -> Result<Self, String> {
        let count = match count {
            CellValNum::Fixed(count) => Some(count.get()),
            CellValNum::Var => None,
        };
        let whole = |form| Ok(Self { datatype, form, inner: None });
        let value = match (datatype.class(), count) {
            (DatatypeClass::String, None) => return whole(Form::Text),
            (DatatypeClass::String, Some(count)) => {
                return whole(match datatype.physical() {
                    // Units of UTF-16 are not characters.
                    Physical::U16 => Form::Text,
                    Physical::U32 => Form::Wide(count),
                    _ => Form::Terminated(count),
                });
            }
            (DatatypeClass::Char, Some(count)) => return whole(Form::Terminated(count)),
            (DatatypeClass::Byte | DatatypeClass::Any, Some(count)) => return whole(Form::Raw(count)),
            (DatatypeClass::Byte, None) if datatype == Datatype::GeomWkt => return whole(Form::Text),
            (DatatypeClass::Char | DatatypeClass::Byte | DatatypeClass::Any, None) => {
                return whole(Form::Bytes);
            }
            (DatatypeClass::Integer, _) if datatype == Datatype::Bool => Form::Bool,
            (DatatypeClass::Integer | DatatypeClass::Real, _) => Form::Number(datatype.physical()),
            (DatatypeClass::Datetime, _) => Form::Time { unit: numpy_unit(datatype), is_span: false },
            (DatatypeClass::Time, _) => Form::Time { unit: numpy_unit(datatype), is_span: true },
            _ => return Err(format!("Zarr has no type for {datatype}")),
        };
        match count {
            Some(count) => Ok(Self { datatype, form: value, inner: (count > 1).then_some(count) }),
            None => Err(format!("a cell has any number of {datatype} values, and Zarr has no lists")),
        }
    }

    /// The validity of cells: a truth value each.
    pub(crate) const fn validity() -> Self {
        Self { datatype: Datatype::Bool, form: Form::Bool, inner: None }
    }

    /// Bytes of a cell in a chunk, if they are as many in each.
    pub(crate) fn cell_bytes(&self) -> Option<usize> {
        let value = match self.form {
            Form::Number(physical) => physical.size(),
            Form::Bool => 1,
            Form::Time { .. } => 8,
            Form::Terminated(bytes) | Form::Raw(bytes) => usize::try_from(bytes).ok()?,
            Form::Wide(characters) => usize::try_from(characters).ok()?.checked_mul(4)?,
            Form::Text | Form::Bytes => return None,
        };
        value.checked_mul(usize::try_from(self.inner.unwrap_or(1)).ok()?)
    }

    /// The data type in `zarr.json`.
    pub(crate) fn v3_type(&self) -> Value {
        let bytes = |name: &str, bytes: u64| json!({"name": name, "configuration": {"length_bytes": bytes}});
        match self.form {
            Form::Number(physical) => json!(number_name(physical)),
            Form::Bool => json!("bool"),
            Form::Time { unit, is_span } => {
                let name = if is_span { "numpy.timedelta64" } else { "numpy.datetime64" };
                json!({"name": name, "configuration": {"unit": unit, "scale_factor": 1}})
            }
            Form::Terminated(count) => bytes("null_terminated_bytes", u64::from(count)),
            Form::Raw(count) => bytes("raw_bytes", u64::from(count)),
            Form::Wide(count) => bytes("fixed_length_utf32", u64::from(count) * 4),
            Form::Text => json!("string"),
            Form::Bytes => json!("variable_length_bytes"),
        }
    }

    /// The codec in `zarr.json` that makes bytes of cells.
    pub(crate) fn v3_codec(&self) -> Value {
        match self.form {
            Form::Text => json!({"name": "vlen-utf8"}),
            Form::Bytes => json!({"name": "vlen-bytes"}),
            _ => json!({"name": "bytes", "configuration": {"endian": "little"}}),
        }
    }

    /// The data type in `.zarray`.
    pub(crate) fn v2_type(&self) -> String {
        match self.form {
            Form::Number(physical) => {
                let kind = match physical {
                    physical if physical.is_float() => 'f',
                    physical if physical.is_signed_integer() => 'i',
                    _ => 'u',
                };
                let order = if physical.size() == 1 { '|' } else { '<' };
                format!("{order}{kind}{}", physical.size())
            }
            Form::Bool => "|b1".to_owned(),
            Form::Time { unit, is_span } => format!("<{}8[{unit}]", if is_span { 'm' } else { 'M' }),
            Form::Terminated(count) => format!("|S{count}"),
            Form::Raw(count) => format!("|V{count}"),
            Form::Wide(count) => format!("<U{count}"),
            Form::Text | Form::Bytes => "|O".to_owned(),
        }
    }

    /// The filters in `.zarray`: they make bytes of texts.
    pub(crate) fn v2_filters(&self) -> Value {
        match self.form {
            Form::Text => json!([{"id": "vlen-utf8"}]),
            Form::Bytes => json!([{"id": "vlen-bytes"}]),
            _ => Value::Null,
        }
    }

    /// The fill value in documents: of `fill`, which are the bytes of a cell, the first value.
    pub(crate) fn fill(&self, fill: &[u8]) -> Value {
        let value = fill.get(..self.datatype.size()).unwrap_or(fill);
        let integer = || {
            let bytes: Option<[u8; 8]> = value.try_into().ok();
            json!(bytes.map_or(0, i64::from_le_bytes))
        };
        match self.form {
            Form::Number(_) => match cell_json(self.datatype, CellValNum::ONE, value) {
                Value::String(text) if text == "inf" => json!("Infinity"),
                Value::String(text) if text == "-inf" => json!("-Infinity"),
                other => other,
            },
            Form::Bool => json!(value.first().is_some_and(|byte| *byte != 0)),
            Form::Time { .. } => integer(),
            Form::Terminated(_) | Form::Raw(_) | Form::Bytes => json!(base64::encode(fill)),
            // A fill value that is no text is never needed: its chunks are always made.
            Form::Wide(_) | Form::Text => json!(text_of(self.datatype, fill).as_deref().unwrap_or("")),
        }
    }

    /// Whether the fill value in documents says all of `fill`, so that a chunk of nothing else can
    /// be left out.
    pub(crate) fn says_all(&self, fill: &[u8]) -> bool {
        let size = self.datatype.size();
        match self.form {
            Form::Number(_) | Form::Time { .. } | Form::Bool => {
                let mut values = fill.chunks(size);
                let first = values.next();
                values.all(|value| Some(value) == first)
            }
            Form::Wide(_) | Form::Text => text_of(self.datatype, fill).is_some(),
            Form::Terminated(_) | Form::Raw(_) | Form::Bytes => true,
        }
    }
}

const fn number_name(physical: Physical) -> &'static str {
    match physical {
        Physical::I8 => "int8",
        Physical::U8 => "uint8",
        Physical::I16 => "int16",
        Physical::U16 => "uint16",
        Physical::I32 => "int32",
        Physical::U32 => "uint32",
        Physical::I64 => "int64",
        Physical::U64 => "uint64",
        Physical::F32 => "float32",
        Physical::F64 => "float64",
    }
}

/// The unit of a date or time as numpy calls it.
fn numpy_unit(datatype: Datatype) -> &'static str {
    match datatype.unit() {
        "year" => "Y",
        "month" => "M",
        "week" => "W",
        "day" => "D",
        "hr" => "h",
        "min" => "m",
        "sec" => "s",
        finer => finer,
    }
}

#[cfg(test)]
mod tests {
    use core::num::NonZeroU32;

    use super::*;

    fn fixed(count: u32) -> CellValNum {
        CellValNum::Fixed(NonZeroU32::new(count).unwrap())
    }

    #[test]
    fn every_type_has_one_in_both_versions_or_a_reason_why_not() {
        let said = |datatype, count| {
            let shown = Shown::of(datatype, count).unwrap();
            (shown.v2_type(), shown.v3_type(), shown.cell_bytes())
        };
        assert_eq!(said(Datatype::Uint8, fixed(1)), ("|u1".to_owned(), json!("uint8"), Some(1)));
        assert_eq!(said(Datatype::Float32, fixed(3)), ("<f4".to_owned(), json!("float32"), Some(12)));
        assert_eq!(said(Datatype::Bool, fixed(1)), ("|b1".to_owned(), json!("bool"), Some(1)));
        let day = json!({"name": "numpy.datetime64", "configuration": {"unit": "D", "scale_factor": 1}});
        assert_eq!(said(Datatype::DatetimeDay, fixed(1)), ("<M8[D]".to_owned(), day, Some(8)));
        let span = json!({"name": "numpy.timedelta64", "configuration": {"unit": "us", "scale_factor": 1}});
        assert_eq!(said(Datatype::TimeUs, fixed(1)), ("<m8[us]".to_owned(), span, Some(8)));
        assert_eq!(said(Datatype::Char, fixed(5)).0, "|S5");
        assert_eq!(said(Datatype::Blob, fixed(2)).0, "|V2");
        assert_eq!(
            (said(Datatype::StringUtf32, fixed(2)).0, said(Datatype::StringUcs2, fixed(2)).0),
            ("<U2".to_owned(), "|O".to_owned())
        );
        assert_eq!(said(Datatype::StringAscii, CellValNum::Var), ("|O".to_owned(), json!("string"), None));
        assert_eq!(said(Datatype::GeomWkb, CellValNum::Var).1, json!("variable_length_bytes"));
        let refused = Shown::of(Datatype::Int32, CellValNum::Var).unwrap_err();
        assert_eq!(refused, "a cell has any number of INT32 values, and Zarr has no lists");
    }

    #[test]
    fn fill_values_are_exact_and_one_that_is_not_said_is_known() {
        let fill = |datatype, count, bytes: &[u8]| {
            let shown = Shown::of(datatype, count).unwrap();
            (shown.fill(bytes), shown.says_all(bytes))
        };
        assert_eq!(fill(Datatype::Int64, fixed(1), &i64::MIN.to_le_bytes()), (json!(i64::MIN), true));
        assert_eq!(fill(Datatype::Uint64, fixed(1), &u64::MAX.to_le_bytes()), (json!(u64::MAX), true));
        assert_eq!(fill(Datatype::Float32, fixed(1), &f32::NAN.to_le_bytes()).0, json!("NaN"));
        assert_eq!(fill(Datatype::Float64, fixed(1), &f64::NEG_INFINITY.to_le_bytes()).0, json!("-Infinity"));
        assert_eq!(fill(Datatype::DatetimeNs, fixed(1), &i64::MIN.to_le_bytes()).0, json!(i64::MIN));
        assert_eq!(fill(Datatype::Bool, fixed(1), &[1]).0, json!(true));
        assert_eq!(fill(Datatype::Char, fixed(1), &[0x80]).0, json!("gA=="));
        assert_eq!(fill(Datatype::StringUtf8, CellValNum::Var, &[0]), (json!("\0"), true));
        assert_eq!(fill(Datatype::StringUtf8, CellValNum::Var, &[0x80]), (json!(""), false));
        assert_eq!(fill(Datatype::Int8, fixed(2), &[7, 8]), (json!(7), false));
        assert_eq!(fill(Datatype::Int8, fixed(2), &[7, 7]), (json!(7), true));
    }
}
