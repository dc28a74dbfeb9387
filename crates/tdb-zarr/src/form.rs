//! Which data type of Zarr shows a type of TileDB, and what the documents say about it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tdb_array::schema::{CellValNum, Datatype, DatatypeClass, Physical};
use tdb_text::value::{cell_json, text_of};

use crate::thresholds::{MAX_CHUNK_BYTES, MAX_FILL_BYTES};

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
        let whole = |form| Self { datatype, form, inner: None }.limited();
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
            Some(count) => Self { datatype, form: value, inner: (count > 1).then_some(count) }.limited(),
            None => Err(format!("a cell has any number of {datatype} values, and Zarr has no lists")),
        }
    }

    /// The same, if chunks and documents can have such cells. Nothing else limits the size of a
    /// cell: it is a number in a schema.
    fn limited(self) -> Result<Self, String> {
        let bytes = self.wide_cell_bytes().unwrap_or(0);
        match self.form {
            Form::Terminated(_) | Form::Raw(_) | Form::Wide(_) if bytes > MAX_FILL_BYTES => Err(format!(
                "a cell has {bytes} bytes, and a fill value, which Zarr's documents say, has \
                 {MAX_FILL_BYTES} at most"
            )),
            _ if bytes > MAX_CHUNK_BYTES => {
                Err(format!("a cell has {bytes} bytes, and a chunk has {MAX_CHUNK_BYTES} at most"))
            }
            _ => Ok(self),
        }
    }

    /// Whether cells are numbers, truth values or times, of 8 bytes at most if each has one.
    pub(crate) const fn is_of_numbers(&self) -> bool {
        matches!(self.form, Form::Number(_) | Form::Bool | Form::Time { .. })
    }

    /// The validity of cells: a truth value each.
    pub(crate) const fn validity() -> Self {
        Self { datatype: Datatype::Bool, form: Form::Bool, inner: None }
    }

    /// How codes of categories in a type are shown: signed, since -1 is none.
    pub(crate) fn codes(stored: Physical) -> Result<Self, String> {
        let datatype = match stored {
            Physical::I8 => Datatype::Int8,
            Physical::U8 | Physical::I16 => Datatype::Int16,
            Physical::U16 | Physical::I32 => Datatype::Int32,
            // A code that the signed type lacks is none of any category.
            Physical::U32 | Physical::I64 | Physical::U64 => Datatype::Int64,
            Physical::F32 | Physical::F64 => return Err("its categories are numbered by reals".to_owned()),
        };
        Self::of(datatype, CellValNum::ONE)
    }

    /// Bytes of a cell in a chunk, if they are as many in each.
    pub(crate) fn cell_bytes(&self) -> Option<usize> {
        self.wide_cell_bytes().and_then(|bytes| usize::try_from(bytes).ok())
    }

    /// [`Self::cell_bytes`] of cells that memory may not have.
    fn wide_cell_bytes(&self) -> Option<u64> {
        let value = match self.form {
            Form::Number(physical) => u64::try_from(physical.size()).ok()?,
            Form::Bool => 1,
            Form::Time { .. } => 8,
            Form::Terminated(bytes) | Form::Raw(bytes) => bytes.into(),
            Form::Wide(characters) => u64::from(characters) * 4,
            Form::Text | Form::Bytes => return None,
        };
        Some(value.saturating_mul(self.inner.unwrap_or(1).into()))
    }

    /// A fill value of zeros, for fields that have none: of several values in a cell, the first.
    pub(crate) fn zeros(&self) -> Vec<u8> {
        vec![0; Self { inner: None, ..*self }.cell_bytes().unwrap_or(0)]
    }

    /// A fill value, or the first of several equal ones: a schema may have many thousands in a
    /// cell.
    pub(crate) fn short<'f>(&self, fill: &'f [u8]) -> &'f [u8] {
        match self.inner {
            Some(_) if self.says_all(fill) => fill.get(..self.datatype.size()).unwrap_or(fill),
            _ => fill,
        }
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
            // A fill value that is too long, or that is no text, is never needed: its chunks are
            // always made.
            Form::Bytes | Form::Text if is_long(fill) => json!(""),
            Form::Terminated(_) | Form::Raw(_) | Form::Bytes => json!(STANDARD.encode(fill)),
            Form::Wide(_) | Form::Text => json!(text_of(self.datatype, fill).as_deref().unwrap_or("")),
        }
    }

    /// Whether all readers take the fill value in documents as it is meant, so that a chunk of
    /// nothing else need not be made. Those in JavaScript read numbers as doubles, and bytes in
    /// base64 as text.
    pub(crate) fn is_plain(&self, fill: &[u8]) -> bool {
        let is_double = |number: u64| {
            let digits = u64::BITS.saturating_sub(number.leading_zeros());
            digits.saturating_sub(number.trailing_zeros()) <= f64::MANTISSA_DIGITS
        };
        let value = fill.get(..self.datatype.size()).unwrap_or(fill);
        let bytes: Option<[u8; 8]> = value.try_into().ok();
        let plain = match self.form {
            Form::Number(Physical::U64) => bytes.is_none_or(|bytes| is_double(u64::from_le_bytes(bytes))),
            Form::Number(Physical::I64) | Form::Time { .. } => {
                bytes.is_none_or(|bytes| is_double(i64::from_le_bytes(bytes).unsigned_abs()))
            }
            Form::Terminated(_) => false,
            _ => true,
        };
        plain && self.says_all(fill)
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
            Form::Bytes | Form::Text if is_long(fill) => false,
            Form::Wide(_) | Form::Text => text_of(self.datatype, fill).is_some(),
            Form::Terminated(_) | Form::Raw(_) | Form::Bytes => true,
        }
    }
}

/// Whether documents cannot have a fill value of any length.
fn is_long(fill: &[u8]) -> bool {
    u64::try_from(fill.len()).is_ok_and(|bytes| bytes > MAX_FILL_BYTES)
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
    fn cells_that_chunks_or_documents_cannot_have_are_refused_by_their_size() {
        let most = u32::MAX - 1;
        let size =
            |datatype, count| Shown::of(datatype, fixed(count)).map(|shown| shown.cell_bytes().unwrap());
        let chunk = |bytes: u64| Err(format!("a cell has {bytes} bytes, and a chunk has 268435456 at most"));
        assert_eq!(size(Datatype::Float64, most), chunk(8 * u64::from(most)));
        assert_eq!(size(Datatype::DatetimeDay, (1 << 25) + 1), chunk((1 << 28) + 8));
        assert_eq!(size(Datatype::Float64, 1 << 25), Ok(1 << 28));
        let document = |bytes: u64| {
            Err(format!(
                "a cell has {bytes} bytes, and a fill value, which Zarr's documents say, has 1048576 at most"
            ))
        };
        assert_eq!(size(Datatype::Char, most), document(most.into()));
        assert_eq!(size(Datatype::Blob, (1 << 20) + 1), document((1 << 20) + 1));
        assert_eq!(size(Datatype::StringUtf32, most), document(4 * u64::from(most)));
        assert_eq!(size(Datatype::StringUtf32, 1 << 18), Ok(1 << 20));
    }

    #[test]
    fn fill_values_are_kept_as_short_as_they_say_all() {
        let shown = |datatype, count| Shown::of(datatype, count).unwrap();
        let numbers = shown(Datatype::Float64, fixed(1 << 24));
        assert_eq!((numbers.zeros().len(), shown(Datatype::Char, fixed(5)).zeros().len()), (8, 5));
        assert_eq!((numbers.short(&[1; 1 << 20]), numbers.short(&[1, 2, 3])), (&[1; 8][..], &[1, 2, 3][..]));
        assert_eq!(shown(Datatype::Char, fixed(3)).short(&[1; 3]), [1; 3]);
        let text = shown(Datatype::StringUtf8, CellValNum::Var);
        assert!(text.zeros().is_empty());
        let long = vec![b'x'; (1 << 20) + 1];
        assert_eq!((text.fill(&long), text.says_all(&long)), (json!(""), false));
        assert_eq!(
            (text.fill(&long[1..]).as_str().unwrap().len(), text.says_all(&long[1..])),
            (1 << 20, true)
        );
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

    #[test]
    fn fill_values_that_javascript_reads_otherwise_are_not_plain() {
        let plain =
            |datatype, fill: &[u8]| Shown::of(datatype, fixed(1)).is_ok_and(|shown| shown.is_plain(fill));
        for (number, expected) in [
            (0, true),
            (1, true),
            ((1 << 53) + 1, false),
            (1 << 63, true),
            (3 << 62, true),
            (u64::MAX, false),
        ] {
            assert_eq!(plain(Datatype::Uint64, &number.to_le_bytes()), expected, "{number}");
        }
        for (number, expected) in [(i64::MIN, true), (i64::MAX, false), (-1, true), (-(1 << 53) - 1, false)] {
            assert_eq!(plain(Datatype::Int64, &number.to_le_bytes()), expected, "{number}");
        }
        assert!(plain(Datatype::Uint8, &[0xff]) && !plain(Datatype::Char, &[0x80]));
        assert!(!Shown::of(Datatype::Int8, fixed(2)).unwrap().is_plain(&[7, 8]));
    }
}
